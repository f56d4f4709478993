/*  overflow.c -- `overflow`: which further sites jobs may use as their wait grows. */
#include "client/commands/change.h"
#include "client/commands/commands.h"
#include "client/commands/listing.h"

int helio_cmd_overflow_list(helio_client_t *client)
{
    return helio_listing(client, "/v1/overflows", "overflows", helio_columns_of_overflows);
}

int helio_cmd_overflow_set(helio_client_t *client)
{
    const char *name = client->arguments->words[0];
    const helio_option_values_t *given = &client->arguments->values[HELIO_OPTION_STEP];
    HELIO_AUTO(helio_json_clear) json_t *body = json_object();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t steps = {0};
    if (!helio_client_has(client, HELIO_OPTION_QUEUE) && !helio_client_has(client, HELIO_OPTION_TENANT))
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "--queue, --tenant or both are required\nhelp: they say "
                                 "which jobs the group is for");
    if (!given->count)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "at least one --step is required\nhelp: such as --step 'home-*' --step "
                                 "'cloud,after=30m,max-price=3'");
    for (uint32_t i = 0; i < given->count; i++)
        helio_buffer_printf(&steps, "%s%s", i ? "; " : "", given->items[i]);
    if (!helio_change_text(client, HELIO_OPTION_QUEUE, "queue", body) ||
        !helio_change_text(client, HELIO_OPTION_TENANT, "tenant", body) ||
        !helio_change_name(client, steps.data, "--step", "steps", body))
        return HELIO_EXIT_USAGE;
    const char *what = helio_arena_printf(client->arena, "%s: %s", name, steps.data).data;
    return helio_change_send(client, "PUT", helio_path(client, "/v1/overflows/", name, ""), body, what);
}

int helio_cmd_overflow_rm(helio_client_t *client)
{
    const char *name = client->arguments->words[0];
    return helio_change_remove(client, helio_path(client, "/v1/overflows/", name, ""), name);
}
