/*  `doctor`: checks everything between this command line and a running job, and suggests remedies. */
#include <string.h>

#include "client/commands/commands.h"
#include "client/invocation/settings.h"
#include "client/output/humanise.h"
#include "client/transport/response.h"
#include "federation/base/clock.h"

enum { SKEW_FINE_MS = 5000 };

typedef struct checkup {
    helio_client_t *client;
    int code; /* of the first check that failed */
} checkup_t;

static void line(const checkup_t *self, const char *mark, const char *what, const char *text,
                 const char *remedy)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
    helio_safe_text(text, false, &safe);
    fprintf(self->client->io->out, "%s %-9s %s\n", mark, what, safe.data ? safe.data : "");
    if (remedy)
        fprintf(self->client->io->out, "%12shelp: %s\n", "", remedy);
}

static void good(const checkup_t *self, const char *what, const char *text)
{
    line(self, "✔", what, text, NULL);
}

static void bad(checkup_t *self, int code, const char *what, const char *text, const char *remedy)
{
    line(self, "✗", what, text, remedy);
    if (self->code == HELIO_EXIT_OK)
        self->code = code;
}

static void check_settings(checkup_t *self)
{
    const helio_settings_t *settings = self->client->settings;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    for (size_t i = 0; i < HELIO_SETTINGS_FILES && settings->files[i]; i++)
        helio_buffer_printf(&text, "%s%s", i ? ", " : "", settings->files[i]);
    if (!text.size)
        helio_buffer_text(&text, "no file; only options and environment");
    if (settings->context[0])
        helio_buffer_printf(&text, " (context %s)", settings->context);
    good(self, "settings", text.data);
}

static bool is_plain_and_far(const char *url)
{
    return strncmp(url, "http://", 7) == 0 && strncmp(url + 7, "127.", 4) != 0 &&
           strncmp(url + 7, "localhost", 9) != 0 && strncmp(url + 7, "[::1]", 5) != 0;
}

static void check_token(checkup_t *self)
{
    const helio_settings_t *settings = self->client->settings;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (settings->withheld_from[0]) {
        helio_buffer_printf(&text, "the token from %s is for another broker than the one in ./.helio.yaml",
                            settings->withheld_from);
        bad(self, HELIO_EXIT_FORBIDDEN, "token", text.data,
            "give --broker URL yourself, or put a token beside that URL");
    } else if (!settings->token[0]) {
        bad(self, HELIO_EXIT_FORBIDDEN, "token", "none",
            "set HELIO_TOKEN or `token_file:`; an administrator creates a token with `helio token add`");
    } else {
        helio_buffer_printf(&text, "from %s", settings->token_from);
        good(self, "token", text.data);
        if (is_plain_and_far(settings->broker))
            bad(self, HELIO_EXIT_FAILURE, "secrecy", "the token travels unencrypted", "use an https:// URL");
    }
}

static void check_clock(checkup_t *self, int64_t date_wall_ms)
{
    if (!date_wall_ms)
        return;
    int64_t skew_ms = helio_clock_wall_ms() - date_wall_ms;
    char human[HELIO_HUMAN_SIZE], text[96];
    helio_human_duration((double)(skew_ms < 0 ? -skew_ms : skew_ms) / 1000, human);
    (void)snprintf(text, sizeof text, "%s %s the broker's clock", human, skew_ms < 0 ? "behind" : "ahead of");
    if (skew_ms > SKEW_FINE_MS || skew_ms < -SKEW_FINE_MS)
        bad(self, HELIO_EXIT_FAILURE, "clock", text,
            "synchronise this machine's clock (timedatectl set-ntp true)");
    else
        good(self, "clock", "agrees with the broker's clock");
}

/*  The broker's sentence says what is missing: its database, or leadership. */
static void say_not_ready(checkup_t *self, helio_rc rc, const helio_response_t *response)
{
    HELIO_AUTO(helio_json_clear) json_t *problem = NULL;
    char text[256];
    if (rc == HELIO_OK && response->body.size)
        problem = json_loadb(response->body.data, response->body.size, 0, NULL);
    const char *detail = helio_output_string(problem, "detail");
    (void)snprintf(text, sizeof text, "the broker runs, but takes no jobs now%s%.160s", detail[0] ? ": " : "", detail);
    bad(self, HELIO_EXIT_UNREACHABLE, "ready", text,
        "unless it has only just started, its operator finds the cause in its log; `helio-broker check` tests the "
        "database that `database:` of the broker's settings names");
}

/*  False when no broker answers; the remaining checks are then skipped. */
static bool check_broker(checkup_t *self)
{
    helio_client_t *client = self->client;
    HELIO_AUTO(helio_response_clear) helio_response_t response = {0};
    helio_error_t err;
    char text[160];
    helio_rc rc = helio_remote_call(client->remote, &(helio_request_t){.path = "/healthz", .once = true},
                                    &response, &err);
    if (rc != HELIO_OK) {
        bad(self, helio_response_exit_of_rc(rc), "broker", err.text,
            rc == HELIO_INVALID ? "name the certificates to trust with --ca-file or `ca_file:`"
                                : "check that it runs there and that this network reaches it");
        return false;
    }
    if (response.status != 200) {
        (void)snprintf(text, sizeof text, "%.100s answers %ld", client->settings->broker, response.status);
        bad(self, HELIO_EXIT_UNREACHABLE, "broker", text, "check that this is the URL of a Heliostat broker");
        return false;
    }
    (void)snprintf(text, sizeof text, "%.120s (from %.30s)", client->settings->broker,
                   client->settings->broker_from);
    good(self, "broker", text);
    check_clock(self, response.date_wall_ms);
    rc = helio_remote_call(client->remote, &(helio_request_t){.path = "/readyz", .once = true}, &response,
                           &err);
    if (rc == HELIO_OK && response.status == 200)
        good(self, "ready", "the broker leads and reaches its database");
    else
        say_not_ready(self, rc, &response);
    return true;
}

/*  Returns a JSON reply, or NULL and *ret_status. */
static json_t *look(checkup_t *self, const char *path, long *ret_status)
{
    HELIO_AUTO(helio_response_clear) helio_response_t response = {0};
    helio_error_t err;
    *ret_status = 0;
    if (helio_remote_call(self->client->remote, &(helio_request_t){.path = path}, &response, &err) !=
        HELIO_OK)
        return NULL;
    *ret_status = response.status;
    return response.status == 200
               ? json_loadb(response.body.data ? response.body.data : "", response.body.size, 0, NULL)
               : NULL;
}

static void check_version(checkup_t *self, const char *broker)
{
    char text[128];
    (void)snprintf(text, sizeof text, "helio has version %s, the broker %.40s", HELIO_PROGRAM_VERSION, broker);
    if (strcmp(broker, HELIO_PROGRAM_VERSION) == 0 || !broker[0])
        good(self, "version", HELIO_PROGRAM_VERSION);
    else
        line(self, "!", "version", text, "commands that only one of the two versions knows will fail");
}

static void check_identity(checkup_t *self)
{
    long status;
    HELIO_AUTO(helio_json_clear) json_t *who = look(self, "/v1/whoami", &status);
    char text[256];
    if (!who) {
        (void)snprintf(text, sizeof text, "the broker answers %ld", status);
        bad(self, status ? helio_response_exit(status) : HELIO_EXIT_UNREACHABLE, "identity", text,
            status == 401 ? "the token is wrong, expired or revoked: ask an administrator for another"
                          : "try again shortly");
        return;
    }
    const char *expires = helio_output_string(who, "expires_at|expires");
    (void)snprintf(text, sizeof text, "user %.60s of tenant %.60s, role %.30s%s%.40s",
                   helio_output_string(who, "user|user_name"), helio_output_string(who, "tenant"),
                   helio_output_string(who, "role"), expires[0] ? ", valid until " : "", expires);
    good(self, "identity", text);
    check_version(self, helio_output_string(who, "version"));
}

static void check_sites(checkup_t *self)
{
    long status;
    HELIO_AUTO(helio_json_clear) json_t *reply = look(self, "/v1/sites", &status);
    const json_t *sites = json_is_array(reply) ? reply : json_object_get(reply, "sites");
    size_t i, ready = 0, refused = 0, count = json_array_size(sites);
    json_t *site;
    char text[96], some[48] = "";
    if (!json_is_array(sites))
        return; /* the check of the identity has reported why */
    json_array_foreach(sites, i, site)
    {
        ready += strcmp(helio_output_string(site, "state"), "ready") == 0;
        refused += helio_output_string(site, "refused")[0] != '\0';
    }
    if (refused)
        (void)snprintf(some, sizeof some, ", %zu refused", refused);
    (void)snprintf(text, sizeof text, "%zu of %zu ready%s", ready, count, some);
    if (refused)
        bad(self, ready ? HELIO_EXIT_OK : HELIO_EXIT_FAILURE, "sites", text, "`helio sites` shows why they are "
            "refused");
    else if (ready)
        good(self, "sites", text);
    else
        bad(self, HELIO_EXIT_FAILURE, "sites", text,
            count ? "`helio sites` shows since when; the logs of their agents say why"
                  : "an administrator admits one with `helio keys add SITE KEY`");
}

int helio_cmd_doctor(helio_client_t *client)
{
    checkup_t checkup = {.client = client};
    check_settings(&checkup);
    if (!client->settings->broker[0])
        bad(&checkup, HELIO_EXIT_USAGE, "broker", "none is set",
            "use --broker URL, set HELIO_BROKER, or put `broker: URL` into ~/.config/helio/config.yaml");
    check_token(&checkup);
    if (client->settings->broker[0] && check_broker(&checkup)) {
        check_identity(&checkup);
        check_sites(&checkup);
    }
    return checkup.code;
}
