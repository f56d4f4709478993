/*  curtail.c -- `curtail`, `uncurtail` and `curtailments`: limits on the GPU power of a site, each for a time. */
#include <stdlib.h>
#include <string.h>

#include "client/commands/change.h"
#include "client/commands/commands.h"
#include "client/commands/listing.h"
#include "client/commands/simulator.h"

/*  "60%" or "60". False: a message was printed. */
static bool read_percent(const helio_client_t *client, uint32_t *ret_percent)
{
    const char *text = helio_client_value(client, HELIO_OPTION_TO);
    char *end = NULL;
    long percent = text[0] >= '0' && text[0] <= '9' ? strtol(text, &end, 10) : -1;
    bool whole = percent >= 0 && percent <= 100 && (!*end || strcmp(end, "%") == 0);
    *ret_percent = whole ? (uint32_t)percent : 0;
    if (whole)
        return true;
    (void)helio_client_fail(client, HELIO_EXIT_USAGE, "--to: must be a whole share from 0%% to 100%%, not '%.64s'",
                            text);
    return false;
}

int helio_cmd_uncurtail(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *body = json_object();
    const char *site = client->arguments->words[0];
    if (!helio_change_text(client, HELIO_OPTION_REASON, "reason", body))
        return HELIO_EXIT_USAGE;
    return helio_change_send(client, "POST", helio_path(client, "/v1/sites/", site, "/uncurtail"), body, site);
}

static int rehearse(helio_client_t *client)
{
    uint32_t percent;
    if (!helio_client_has(client, HELIO_OPTION_TO) || helio_client_has(client, HELIO_OPTION_AT))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "--dry-run needs --to, and begins now: without --at\nhelp: helio curtail %.64s --to 60%% "
            "--for 2h --dry-run",
            client->arguments->words[0]);
    return read_percent(client, &percent) ? helio_rehearse_curtail(client, percent) : HELIO_EXIT_USAGE;
}

int helio_cmd_curtail(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *body = json_object();
    const char *site = client->arguments->words[0];
    uint32_t percent;
    if (helio_client_has(client, HELIO_OPTION_DRY_RUN))
        return rehearse(client);
    if (!helio_client_has(client, HELIO_OPTION_TO) || !helio_client_has(client, HELIO_OPTION_FOR) ||
        !helio_client_has(client, HELIO_OPTION_REASON))
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "--to, --for and --reason are required\nhelp: helio curtail %.64s --to 60%% "
                                 "--for 2h --reason 'the grid asks'",
                                 site);
    if (!read_percent(client, &percent) || json_object_set_new(body, "to_percent", json_integer(percent)) != 0 ||
        !helio_change_seconds(client, HELIO_OPTION_FOR, "for_s", body) ||
        !helio_change_text(client, HELIO_OPTION_AT, "at", body) ||
        !helio_change_text(client, HELIO_OPTION_REASON, "reason", body))
        return HELIO_EXIT_USAGE;
    return helio_change_send(client, "POST", helio_path(client, "/v1/sites/", site, "/curtail"), body, site);
}

int helio_cmd_curtailments(helio_client_t *client)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    uint64_t days;
    if (!helio_client_number(client, HELIO_OPTION_DAYS, 7, &days))
        return HELIO_EXIT_USAGE;
    helio_buffer_printf(&path, "?days=%llu%s", (unsigned long long)days, client->arguments->word_count ? "&site=" : "");
    const char *site = client->arguments->word_count ? client->arguments->words[0] : "";
    return helio_listing(
        client, helio_path(client, helio_arena_printf(client->arena, "/v1/curtailments%s", path.data).data, site, ""),
        "curtailments", helio_columns_of_curtailments);
}
