/*  token.c -- `token`: creates, lists and revokes tokens. */
#include <stdlib.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/commands/listing.h"

int helio_cmd_token_add(helio_client_t *client)
{
    const char *tenant = helio_client_value(client, HELIO_OPTION_TENANT);
    const char *user = helio_client_value(client, HELIO_OPTION_USER);
    const char *role = helio_client_value(client, HELIO_OPTION_ROLE);
    uint64_t ttl_ms;
    if (!tenant || !user)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "--tenant and --user are required: whose token it is");
    if (!helio_client_duration(client, HELIO_OPTION_TTL, UINT64_C(90) * 86400000, &ttl_ms))
        return HELIO_EXIT_USAGE;
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    json_t *body = json_pack("{s:s, s:s, s:s, s:I}", "tenant", tenant, "user", user, "role", role ? role : "user",
                             "ttl_s", (json_int_t)(ttl_ms / 1000));
    if (!body)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "tenant and user are not UTF-8");
    int code = helio_ask_post(client, "/v1/tokens", body, &reply);
    if (code != HELIO_EXIT_OK)
        return code;
    const char *token = helio_output_string(reply, "token");
    if (!token[0])
        return helio_client_fail(client, HELIO_EXIT_OWN,
                                 "the broker's answer holds no token; do the versions of helio and the broker differ?");
    if (client->output.format > HELIO_FORMAT_WIDE && client->output.format != HELIO_FORMAT_NAME)
        return helio_output_object(&client->output, reply, helio_columns_of_tokens) == HELIO_OK ? HELIO_EXIT_OK
                                                                                                : HELIO_EXIT_OWN;
    fprintf(client->io->out, "%s\n", token);
    const char *note = helio_output_string(reply, "note");
    if (note[0])
        helio_client_say(client, "%.400s", note);
    helio_client_say(client, "A token of %.64s of tenant %.64s, with the role %.16s.", user, tenant,
                     role ? role : "user");
    helio_client_say(client, "The token is shown only this once: store it in a file of mode 0600.");
    return HELIO_EXIT_OK;
}

int helio_cmd_token_revoke(helio_client_t *client)
{
    int worst = HELIO_EXIT_OK;
    for (uint32_t i = 0; i < client->arguments->word_count; i++) {
        const char *id = client->arguments->words[i];
        HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
        helio_request_t request = {.method = "DELETE", .path = helio_path(client, "/v1/tokens/", id, "")};
        int code = helio_ask(client, &request, &reply);
        if (code == HELIO_EXIT_OK)
            helio_client_say(client, "revoked %s", id);
        else
            worst = code;
        if (code == HELIO_EXIT_UNREACHABLE || code == HELIO_EXIT_INTERRUPTED)
            break;
    }
    return worst;
}

int helio_cmd_token_ls(helio_client_t *client)
{
    return helio_listing(client, "/v1/tokens", "tokens", helio_columns_of_tokens);
}
