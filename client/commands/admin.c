/*  Commands of administrators: site keys, tokens, the audit. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/transport/answer.h"
#include "client/output/columns.h"
#include "client/commands/commands.h"

enum { KEY_CHARS = 40, PAGE_ROWS = 1000, ROWS_BY_DEFAULT = 100 };

/*  The key itself, or the first such word of a file (agents write `public-key = "…"`). */
static bool find_key(const char *text, char ret_key[KEY_CHARS + 1])
{
    static const char z85[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    for (const char *at = text; *at;) {
        size_t size = strspn(at, z85);
        if (size == KEY_CHARS) {
            (void)helio_text_copy((helio_text_t){at, KEY_CHARS}, ret_key, KEY_CHARS + 1);
            return true;
        }
        at += size ? size : 1;
    }
    return false;
}

static int read_key(helio_client_t *client, const char *word, char ret_key[KEY_CHARS + 1])
{
    if (strlen(word) == KEY_CHARS && find_key(word, ret_key))
        return HELIO_EXIT_OK;
    char text[4096];
    FILE *stream = fopen(word, "re");
    if (!stream)
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "%.200s: neither a public key of 40 characters nor a file that can be read: %s", word,
            strerror(errno));
    size_t size = fread(text, 1, sizeof text - 1, stream);
    text[size] = '\0';
    (void)fclose(stream);
    if (strstr(text, "secret"))
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "%.200s holds a secret key; the broker needs the public one alone", word);
    if (!find_key(text, ret_key))
        return helio_client_fail(client, HELIO_EXIT_USAGE, "%.200s holds no public key", word);
    return HELIO_EXIT_OK;
}

int helio_cmd_keys_add(helio_client_t *client)
{
    char key[KEY_CHARS + 1];
    const char *site = client->arguments->words[0];
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    int code = read_key(client, client->arguments->words[1], key);
    if (code != HELIO_EXIT_OK)
        return code;
    json_t *body = json_pack("{s:s, s:s}", "site", site, "public_key", key);
    if (!body)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "the site's name is not UTF-8");
    code = helio_ask_post(client, "/v1/sites", body, &answer);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "%s may connect with that key", site);
    return code;
}

int helio_cmd_keys_new(helio_client_t *client)
{
    return helio_client_fail(
        client, HELIO_EXIT_USAGE,
        "key pairs are made where they are used\nhelp: at the site, `helio-agent keygen PATH`; then "
        "here `helio keys add SITE` with the public key it prints");
}

int helio_cmd_token_add(helio_client_t *client)
{
    const char *tenant = helio_client_value(client, HELIO_OPTION_TENANT);
    const char *user = helio_client_value(client, HELIO_OPTION_USER);
    const char *role = helio_client_value(client, HELIO_OPTION_ROLE);
    uint64_t ttl_ms;
    if (!tenant || !user)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "--tenant and --user say whose token it is");
    if (!helio_client_duration(client, HELIO_OPTION_TTL, UINT64_C(90) * 86400000, &ttl_ms))
        return HELIO_EXIT_USAGE;
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    json_t *body = json_pack("{s:s, s:s, s:s, s:I}", "tenant", tenant, "user", user, "role",
                             role ? role : "user", "ttl_s", (json_int_t)(ttl_ms / 1000));
    if (!body)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "tenant and user are not UTF-8");
    int code = helio_ask_post(client, "/v1/tokens", body, &answer);
    if (code != HELIO_EXIT_OK)
        return code;
    const char *token = helio_output_string(answer, "token");
    if (!token[0])
        return helio_client_fail(client, HELIO_EXIT_OWN,
                                 "the broker's answer holds no token; versions differ?");
    if (client->output.format > HELIO_FORMAT_WIDE && client->output.format != HELIO_FORMAT_NAME)
        return helio_output_object(&client->output, answer, helio_columns_of_tokens()) == HELIO_OK
                   ? HELIO_EXIT_OK
                   : HELIO_EXIT_OWN;
    fprintf(client->io->out, "%s\n", token);
    const char *note = helio_output_string(answer, "note");
    if (note[0])
        helio_client_say(client, "%.400s", note);
    helio_client_say(client, "This is the only time that it is shown: keep it in a file of mode 0600.");
    return HELIO_EXIT_OK;
}

int helio_cmd_token_revoke(helio_client_t *client)
{
    int worst = HELIO_EXIT_OK;
    for (uint32_t i = 0; i < client->arguments->word_count; i++) {
        const char *id = client->arguments->words[i];
        HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
        helio_request_t request = {.method = "DELETE", .path = helio_path(client, "/v1/tokens/", id, "")};
        int code = helio_ask(client, &request, &answer);
        if (code == HELIO_EXIT_OK)
            helio_client_say(client, "revoked %s", id);
        else
            worst = code;
        if (code == HELIO_EXIT_UNREACHABLE || code == HELIO_EXIT_INTERRUPTED)
            break;
    }
    return worst;
}

static int set_disabled(helio_client_t *client, bool disabled)
{
    const char *tenant = helio_client_value(client, HELIO_OPTION_TENANT);
    const char *user = client->arguments->words[0];
    if (!tenant)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "--tenant says whose user it is");
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    json_t *body = json_pack("{s:s, s:s, s:b}", "tenant", tenant, "user", user, "disabled", disabled);
    if (!body)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "tenant and user are not UTF-8");
    int code = helio_ask_post(client, "/v1/principals", body, &answer);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, disabled ? "disabled %s: no token of it opens anything" : "enabled %s",
                         user);
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

static int audit_page(helio_client_t *client, uint64_t limit, json_int_t *before, json_t *rows)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    json_t *list;
    helio_buffer_printf(&path, "/v1/audit?limit=%llu", (unsigned long long)limit);
    if (*before)
        helio_buffer_printf(&path, "&cursor=%lld", (long long)*before);
    int code = helio_ask_get(client, path.data, &answer);
    if (code == HELIO_EXIT_OK)
        code = helio_answer_list(client, answer, "entries", &list);
    if (code != HELIO_EXIT_OK)
        return code;
    json_int_t next = json_integer_value(json_object_get(answer, "next"));
    *before = json_array_size(list) && next != *before ? next : 0;
    if (json_array_extend(rows, list) != 0)
        abort();
    return HELIO_EXIT_OK;
}

int helio_cmd_audit(helio_client_t *client)
{
    uint64_t limit;
    if (!helio_client_number(client, HELIO_OPTION_LIMIT, ROWS_BY_DEFAULT, &limit))
        return HELIO_EXIT_USAGE;
    if (limit == 0)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "--limit is at least 1");
    if (helio_client_has(client, HELIO_OPTION_ALL))
        limit = UINT64_MAX;
    HELIO_AUTO(helio_json_clear) json_t *rows = json_array();
    json_int_t before = 0;
    do {
        uint64_t left = limit - json_array_size(rows);
        int code = audit_page(client, left < PAGE_ROWS ? left : PAGE_ROWS, &before, rows);
        if (code != HELIO_EXIT_OK)
            return code;
    } while (before && json_array_size(rows) < limit);
    helio_rc rc = helio_output_rows(&client->output, rows, helio_columns_of_audit());
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

int helio_cmd_audit_verify(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    int code = helio_ask_get(client, "/v1/audit/verify", &answer);
    if (code != HELIO_EXIT_OK)
        return code;
    if (helio_output_object(&client->output, answer, helio_columns_of_audit_chain()) != HELIO_OK)
        return HELIO_EXIT_OWN;
    const json_t *broken_at = json_object_get(answer, "broken_at");
    if (!json_is_null(broken_at))
        return helio_client_fail(client, HELIO_EXIT_FAILURE,
                                 "entry %lld does not follow from the one before it: one of them was changed, or "
                                 "what stood between them was taken away",
                                 (long long)json_integer_value(broken_at));
    helio_client_say(client, "the chain is whole");
    return HELIO_EXIT_OK;
}
