/*  tenants.c -- `tenants`: home site and weight of tenants. */
#include <stdlib.h>
#include <string.h>

#include "client/commands/change.h"
#include "client/commands/commands.h"
#include "client/commands/listing.h"

int helio_cmd_tenants(helio_client_t *client)
{
    return helio_listing(client, "/v1/tenants", "tenants", helio_columns_of_tenants);
}

int helio_cmd_tenants_set(helio_client_t *client)
{
    const char *tenant = client->arguments->words[0], *home = helio_client_value(client, HELIO_OPTION_HOME);
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    json_t *body = json_pack("{s:s}", "tenant", tenant);
    json_t *site = home && strcmp(home, "none") != 0 ? json_string(home) : json_null();
    bool good = body && site && (!home || json_object_set(body, "home", site) == 0);
    json_decref(site);
    if (!good) {
        json_decref(body);
        return helio_client_fail(client, HELIO_EXIT_USAGE, "the names are not UTF-8");
    }
    if (!helio_change_weight(client, body)) {
        json_decref(body);
        return HELIO_EXIT_USAGE;
    }
    int code = helio_ask_post(client, "/v1/tenants", body, &reply);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "%s %s", tenant, helio_output_string(reply, "status"));
    return code;
}
