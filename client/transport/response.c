/*  response.c -- sends one request, and turns a failure into a message, a remedy and an exit code. */
#include "client/transport/response.h"

#include <stdlib.h>
#include <string.h>

#include "client/invocation/command.h"
#include "client/invocation/settings.h"
#include "client/output/humanise.h"
#include "client/output/instant.h"
#include "client/reasons/reply_details.h"
#include "client/transport/escape.h"

int helio_response_exit(long status)
{
    if (status >= 200 && status < 300)
        return HELIO_EXIT_OK;
    switch (status) {
    case 400:
    case 413:
        return HELIO_EXIT_USAGE;
    case 401:
    case 403:
        return HELIO_EXIT_FORBIDDEN;
    case 404:
    case 410:
        return HELIO_EXIT_NOT_FOUND;
    case 409:
    case 412:
        return HELIO_EXIT_CONFLICT;
    case 422:
        return HELIO_EXIT_INFEASIBLE;
    case 502:
    case 503:
        return HELIO_EXIT_UNREACHABLE;
    case 408:
    case 504:
        return HELIO_EXIT_TIMEOUT;
    default:
        return HELIO_EXIT_FAILURE;
    }
}

int helio_response_exit_of_rc(helio_rc rc)
{
    switch ((int)rc) {
    case HELIO_OK:
        return HELIO_EXIT_OK;
    case HELIO_UNAVAILABLE:
    case HELIO_INVALID: /* an untrusted certificate: no broker can be used */
        return HELIO_EXIT_UNREACHABLE;
    case HELIO_TIMEOUT:
        return HELIO_EXIT_TIMEOUT;
    case HELIO_BUSY:
        return HELIO_EXIT_INTERRUPTED;
    default:
        return HELIO_EXIT_FAILURE;
    }
}

void helio_json_clear(json_t **json_p)
{
    json_decref(*json_p);
    *json_p = NULL;
}

int helio_response_print_rc(const helio_client_t *client, helio_rc rc, const helio_error_t *err)
{
    int code = helio_response_exit_of_rc(rc);
    if (rc == HELIO_BUSY)
        return code; /* the user pressed Ctrl-C and needs no message */
    const char *help = "";
    if (rc == HELIO_UNAVAILABLE)
        help = "\nhelp: check that the broker runs there (`helio doctor`), or name another with --broker URL, "
               "HELIO_BROKER or `broker:` in the settings";
    else if (rc == HELIO_TIMEOUT)
        help = "\nhelp: raise the limit of a request: `timeout:` in the settings";
    else if (rc == HELIO_INVALID)
        help = "\nhelp: name the certificates to trust with --ca-file";
    return helio_client_fail(client, code, "%s%s", err->text, help);
}

/*  The command that lists the known names, by the first word of the failed command. */
static const struct {
    const char *command, *help;
} lists[] = {
    {"token", ""},
    {"tenants", "\nhelp: `helio tenants` lists the tenants"},
    {"quota", "\nhelp: `helio quota` lists the tenants and their quotas"},
    {"links", "\nhelp: `helio links list` lists the links"},
    {"data", "\nhelp: `helio data list` lists the prefixes"},
    {"overflow", "\nhelp: `helio overflow list` lists the groups"},
    {"queues", "\nhelp: `helio queues` lists the queues"},
};

static const char *where_listed(const char *command)
{
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (strncmp(command, lists[i].command, strlen(lists[i].command)) == 0)
            return lists[i].help;
    return "\nhelp: `helio ls` lists jobs, `helio sites` lists sites";
}

/*  Whether the problem has one of those codes. A broker of release 0.1 sends no codes: it can be any. */
static bool may_be(const json_t *problem, const helio_detail_code_t *codes, size_t count)
{
    if (!json_array_size(json_object_get(problem, "details")))
        return true;
    for (size_t i = 0; i < count; i++)
        if (helio_reply_has_detail(problem, codes[i]))
            return true;
    return false;
}
#define MAY_BE(problem, ...)                                    \
    may_be(problem, (const helio_detail_code_t[]){__VA_ARGS__}, \
           sizeof((const helio_detail_code_t[]){__VA_ARGS__}) / sizeof(helio_detail_code_t))

/*  For the first list of `placement` that no site answers to; nothing where the reply suggests another word. */
static const char *where_named(const helio_client_t *client, const json_t *problem)
{
    size_t i;
    json_t *detail;
    json_array_foreach(json_object_get(problem, "details"), i, detail)
    {
        if (helio_detail_code_of(helio_text_of(helio_output_string(detail, "code"))) != HELIO_DETAIL_NO_SITE_MATCHES)
            continue;
        const json_t *params = json_object_get(detail, "params");
        if (helio_output_string(params, "suggestion")[0])
            return "";
        if (strcmp(client->command->name, "sbatch") == 0 &&
            strcmp(helio_output_string(params, "path"), "placement.backends") == 0)
            return "\nhelp: `#HELIO placement: {backends: [local, slurm]}` in the script also admits sites without "
                   "Slurm";
        return "\nhelp: `helio sites -o wide` lists the sites, with their regions and backends";
    }
    return "";
}

/*  The remedy for a failed request, if the reply's own sentence gives none. */
static const char *remedy(const helio_client_t *client, long status, const json_t *problem)
{
    const helio_settings_t *settings = client->settings;
    if (status == 401 && settings->withheld_from[0])
        return "\nhelp: your token is for another broker than the one in ./.helio.yaml; give --broker URL yourself, "
               "or put a token beside that URL";
    if (status == 401 && !settings->token[0])
        return "\nhelp: set HELIO_TOKEN, or `token_file:` in the settings; an administrator creates a token with "
               "`helio token add`";
    if (status == 401 && !MAY_BE(problem, HELIO_DETAIL_TOKEN_INVALID))
        return "\nhelp: `helio doctor` shows where the token comes from";
    if (status == 401)
        return "\nhelp: the token is wrong, expired or revoked; `helio doctor` shows where it comes from";
    if (status == 403 && MAY_BE(problem, HELIO_DETAIL_ROLE_NEEDED, HELIO_DETAIL_NEEDS_OPERATOR))
        return "\nhelp: this requires another role; `helio doctor` shows the role of your token";
    if (status == 404 && client->arguments->word_count &&
        MAY_BE(problem, HELIO_DETAIL_NO_SUCH_THING, HELIO_DETAIL_NO_SUCH_JOB_ID, HELIO_DETAIL_USER_UNKNOWN))
        return where_listed(client->command->name);
    if (status == 422)
        return where_named(client, problem);
    if (status == 503 &&
        MAY_BE(problem, HELIO_DETAIL_BROKER_STARTING, HELIO_DETAIL_BROKER_UNAVAILABLE, HELIO_DETAIL_TOKENS_NOT_LOADED))
        return "\nhelp: the broker is starting, or cannot reach its database; try again shortly";
    return "";
}

/*  Several job ids begin or end like the given one. */
static int print_ambiguous(const helio_client_t *client, const json_t *ids, int code)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t list = {0};
    size_t i;
    json_t *id;
    json_array_foreach(ids, i, id)
    {
        if (i == 20) {
            helio_buffer_text(&list, "\n  …");
            break;
        }
        helio_buffer_printf(&list, "\n  %.64s", json_string_value(id) ? json_string_value(id) : "?");
    }
    return helio_client_fail(client, code, "several jobs match; type more of the id:%s", list.data);
}

/*  What the broker says of itself, where its refusal names several causes; "" = nothing. */
static void ask_cause(const helio_client_t *client, helio_buffer_t *out)
{
    enum { CAUSE_WITHIN_MS = 2000 };
    const helio_request_t request = {.method = "GET", .path = "/readyz", .once = true, .within_ms = CAUSE_WITHIN_MS};
    HELIO_AUTO(helio_response_clear) helio_response_t response = {0};
    helio_error_t err;
    if (!client->remote || helio_remote_call(client->remote, &request, &response, &err) != HELIO_OK ||
        response.status != 503 || !response.body.size)
        return;
    HELIO_AUTO(helio_json_clear)
    json_t *problem = json_loadb(response.body.data, response.body.size, 0, NULL);
    const char *detail = helio_output_string(problem, "detail");
    if (detail[0])
        helio_buffer_printf(out, "the broker cannot do this at the moment (%.400s)", detail);
}

int helio_response_print_error(const helio_client_t *client, long status, helio_text_t body, uint64_t retry_after_ms)
{
    int code = helio_response_exit(status);
    HELIO_AUTO(helio_json_clear)
    json_t *problem = json_loadb(body.size ? body.data : "", body.size, 0, NULL);
    const char *diagnostic = helio_output_string(problem, "diagnostic");
    if (diagnostic[0]) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
        helio_safe_text(diagnostic, true, &safe);
        fprintf(client->io->err, "%s%s", safe.data, safe.data[safe.size - 1] == '\n' ? "" : "\n");
        return code;
    }
    const json_t *ambiguous = json_object_get(problem, "ambiguous");
    if (json_is_array(ambiguous) && json_array_size(ambiguous))
        return print_ambiguous(client, ambiguous, code);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t cause = {0};
    if (status == 503 && helio_reply_has_detail(problem, HELIO_DETAIL_BROKER_UNAVAILABLE))
        ask_cause(client, &cause);
    const char *detail = cause.size ? cause.data : helio_output_string(problem, "detail|title");
    const char *reason = helio_output_string(problem, "reason");
    char wait[80] = "";
    if (retry_after_ms) {
        char human[HELIO_HUMAN_SIZE];
        helio_human_duration((double)retry_after_ms / 1000, human);
        (void)snprintf(wait, sizeof wait, "\nhelp: try again in %s", human);
    }
    if (!detail[0])
        return helio_client_fail(client, code, "the broker answers with status %ld%s%s%s%s", status,
                                 reason[0] ? " " : "", reason, remedy(client, status, problem), wait);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t told = {0};
    helio_instants_in(client->output.zone, client->output.wall_ms, detail, &told);
    return helio_client_fail(client, code, "%s%s%s%s%s%s", told.data, reason[0] ? " (" : "", reason,
                             reason[0] ? ")" : "", wait[0] ? wait : remedy(client, status, problem), "");
}

/*  A cancel was sent again for want of an answer, as while another broker takes over, and the job has been cancelled: what
 *  was asked for is done. json_decref it; NULL = something else was refused. */
static json_t *done_before(const helio_request_t *request, const helio_response_t *response)
{
    if (!response->repeated || response->status != 409 || !request->method || strcmp(request->method, "DELETE") != 0)
        return NULL;
    HELIO_AUTO(helio_json_clear)
    json_t *problem = json_loadb(response->body.data, response->body.size, 0, NULL);
    if (!helio_reply_has_detail(problem, HELIO_DETAIL_JOB_WAS_CANCELLED))
        return NULL;
    const char *id = json_string_value(helio_reply_param(json_object_get(problem, "details"), "job_id"));
    return json_pack("{s:s}", "id", id ? id : "");
}

int helio_ask(const helio_client_t *client, const helio_request_t *request, json_t **ret_json)
{
    HELIO_AUTO(helio_response_clear) helio_response_t response = {0};
    helio_error_t err;
    helio_rc rc = helio_remote_call(client->remote, request, &response, &err);
    if (rc != HELIO_OK)
        return helio_response_print_rc(client, rc, &err);
    if ((*ret_json = done_before(request, &response)) != NULL)
        return HELIO_EXIT_OK;
    if (response.status < 200 || response.status > 299)
        return helio_response_print_error(client, response.status, helio_buffer_view(&response.body),
                                          response.retry_after_ms);
    json_error_t where;
    json_t *json =
        response.body.size ? json_loadb(response.body.data, response.body.size, JSON_DECODE_ANY, &where) : json_null();
    if (!json)
        return helio_client_fail(client, HELIO_EXIT_OWN, "the answer from %s is not JSON: %s", client->settings->broker,
                                 where.text);
    *ret_json = json;
    return HELIO_EXIT_OK;
}

int helio_ask_get(const helio_client_t *client, const char *path, json_t **ret_json)
{
    return helio_ask(client, &(helio_request_t){.path = path}, ret_json);
}

int helio_ask_post(const helio_client_t *client, const char *path, json_t *body, json_t **ret_json)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (body)
        helio_output_json(body, false, &text);
    json_decref(body);
    return helio_ask(client, &(helio_request_t){.method = "POST", .path = path, .body = helio_buffer_view(&text)},
                     ret_json);
}

int helio_response_list(const helio_client_t *client, const json_t *reply, const char *key, json_t **ret_list)
{
    const json_t *list = json_is_array(reply) ? reply : json_object_get(reply, key);
    if (!json_is_array(list))
        return helio_client_fail(client, HELIO_EXIT_OWN,
                                 "the broker's answer has no list of %s; do the versions of helio and the broker "
                                 "differ?",
                                 key);
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        if (!json_is_object(item))
            return helio_client_fail(client, HELIO_EXIT_OWN, "the broker's list of %s has an invalid entry", key);
    }
    *ret_list = (json_t *)(uintptr_t)list;
    return HELIO_EXIT_OK;
}

const char *helio_path(const helio_client_t *client, const char *before, const char *component, const char *after)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    helio_buffer_text(&path, before);
    helio_url_escape(component, &path);
    helio_buffer_text(&path, after);
    return helio_arena_string(client->arena, helio_buffer_view(&path));
}
