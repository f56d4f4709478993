/*  user.c -- `user`: lists users and sites, disables and enables users. */
#include <stdlib.h>

#include "client/commands/commands.h"
#include "client/commands/listing.h"

static int set_disabled(helio_client_t *client, bool disabled)
{
    const char *tenant = helio_client_value(client, HELIO_OPTION_TENANT);
    const char *user = client->arguments->words[0];
    if (!tenant)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "--tenant is required: the tenant of the user");
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    json_t *body = json_pack("{s:s, s:s, s:b}", "tenant", tenant, "user", user, "disabled", disabled);
    if (!body)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "tenant and user are not UTF-8");
    int code = helio_ask_post(client, "/v1/principals", body, &reply);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, disabled ? "disabled %s: all its tokens are refused" : "enabled %s", user);
    return code;
}

int helio_cmd_user_disable(helio_client_t *client)
{
    return set_disabled(client, true);
}

int helio_cmd_user_enable(helio_client_t *client)
{
    return set_disabled(client, false);
}

int helio_cmd_user_ls(helio_client_t *client)
{
    return helio_listing(client, "/v1/principals", "principals", helio_columns_of_principals);
}
