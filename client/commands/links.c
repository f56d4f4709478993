/*  links.c -- `links`: bandwidth and price of transfers between sites. */
#include "client/commands/change.h"
#include "client/commands/commands.h"
#include "client/commands/listing.h"

int helio_cmd_links_list(helio_client_t *client)
{
    return helio_listing(client, "/v1/links", "links", helio_columns_of_links);
}

int helio_cmd_links_set(helio_client_t *client)
{
    const char *from = client->arguments->words[0], *to = client->arguments->words[1];
    HELIO_AUTO(helio_json_clear) json_t *body = json_object();
    uint64_t rtt_ms;
    if (!helio_client_value(client, HELIO_OPTION_GBPS))
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "--gbps is required: the bandwidth of the link\nhelp: "
                                 "such as --gbps 5");
    if (!helio_client_number(client, HELIO_OPTION_RTT, 0, &rtt_ms) ||
        !helio_change_number(client, HELIO_OPTION_GBPS, "gbps", body) ||
        !helio_change_number(client, HELIO_OPTION_EGRESS, "egress_usd_per_gb", body) ||
        !helio_change_name(client, from, "FROM", "from", body) || !helio_change_name(client, to, "TO", "to", body) ||
        json_object_set_new(body, "rtt_ms", json_integer((json_int_t)(rtt_ms & INT64_MAX))) != 0)
        return HELIO_EXIT_USAGE;
    return helio_change_send(client, "PUT", "/v1/links", body,
                             helio_arena_printf(client->arena, "%s -> %s", from, to).data);
}

int helio_cmd_links_rm(helio_client_t *client)
{
    const char *from = client->arguments->words[0], *to = client->arguments->words[1];
    const char *path = helio_path(client, helio_path(client, "/v1/links?from=", from, "&to="), to, "");
    return helio_change_send(client, "DELETE", path, NULL,
                             helio_arena_printf(client->arena, "%s -> %s", from, to).data);
}
