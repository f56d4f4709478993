/*  doctor.c -- `doctor`: checks everything between this command line and a running job, and suggests remedies. */
#include <stdlib.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/commands/doctor_jobs.h"
#include "client/commands/doctor_sites.h"
#include "client/invocation/brokers.h"
#include "client/invocation/settings.h"
#include "client/output/columns.h"
#include "client/output/humanise.h"
#include "client/transport/response.h"
#include "client/transport/retry.h"
#include "federation/base/clock.h"

enum { SKEW_FINE_MS = 5000 };

static void check_settings(helio_checkup_t *self)
{
    const helio_settings_t *settings = self->client->settings;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    for (size_t i = 0; i < HELIO_SETTINGS_FILES && settings->files[i]; i++)
        helio_buffer_printf(&text, "%s%s", i ? ", " : "", settings->files[i]);
    if (!text.size)
        helio_buffer_text(&text, "no file; only options and environment");
    if (settings->context[0])
        helio_buffer_printf(&text, " (context %s)", settings->context);
    helio_checkup_good(self, "settings", text.data);
}

static bool is_plain_and_far(const char *url)
{
    return strncmp(url, "http://", 7) == 0 && strncmp(url + 7, "127.", 4) != 0 &&
           strncmp(url + 7, "localhost", 9) != 0 && strncmp(url + 7, "[::1]", 5) != 0;
}

static void check_token(helio_checkup_t *self)
{
    const helio_settings_t *settings = self->client->settings;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (settings->withheld_from[0]) {
        helio_buffer_printf(&text, "the token from %s is for another broker than the one in ./.helio.yaml",
                            settings->withheld_from);
        helio_checkup_bad(self, HELIO_EXIT_FORBIDDEN, "token", text.data,
                          "give --broker URL yourself, or put a token beside that URL");
    } else if (settings->token_missing[0]) {
        helio_buffer_printf(&text, "the file %s, which %s names, does not exist", settings->token_missing,
                            settings->token_from);
        helio_checkup_bad(self, HELIO_EXIT_FORBIDDEN, "token", text.data, HELIO_SETTINGS_TOKEN_REMEDY);
    } else if (!settings->token[0]) {
        helio_checkup_bad(self, HELIO_EXIT_FORBIDDEN, "token", "none",
                          "set HELIO_TOKEN or `token_file:`; an administrator creates a token with `helio token add`");
    } else {
        helio_buffer_printf(&text, "from %s", settings->token_from);
        helio_checkup_good(self, "token", text.data);
        if (is_plain_and_far(settings->broker))
            helio_checkup_bad(self, HELIO_EXIT_FAILURE, "secrecy", "the token travels unencrypted",
                              "use an https:// URL");
    }
}

static void check_clock(helio_checkup_t *self, int64_t date_wall_ms)
{
    if (!date_wall_ms)
        return;
    int64_t skew_ms = helio_clock_wall_ms() - date_wall_ms;
    char human[HELIO_HUMAN_SIZE], text[96];
    helio_human_duration((double)(skew_ms < 0 ? -skew_ms : skew_ms) / 1000, human);
    (void)snprintf(text, sizeof text, "%s %s the broker's clock", human, skew_ms < 0 ? "behind" : "ahead of");
    if (skew_ms > SKEW_FINE_MS || skew_ms < -SKEW_FINE_MS)
        helio_checkup_bad(self, HELIO_EXIT_FAILURE, "clock", text,
                          "synchronise this machine's clock (timedatectl set-ntp true)");
    else
        helio_checkup_good(self, "clock", "agrees with the broker's clock");
}

/*  The broker's sentence says what is missing: its database, or the way to the one that leads. */
static void say_not_ready(helio_checkup_t *self, const helio_response_t *response)
{
    HELIO_AUTO(helio_json_clear) json_t *problem = NULL;
    char text[640];
    if (response->body.size)
        problem = json_loadb(response->body.data, response->body.size, 0, NULL);
    const char *detail = helio_output_string(problem, "detail");
    (void)snprintf(text, sizeof text, "the broker runs, but does not accept jobs now%s%.500s", detail[0] ? ": " : "",
                   detail);
    helio_checkup_bad(
        self, HELIO_EXIT_UNREACHABLE, "ready", text,
        "unless it has only just started, its operator finds the cause in its log; `helio-broker check` tests the "
        "database that `database:` of the broker's settings names");
}

static void check_ready(helio_checkup_t *self)
{
    HELIO_AUTO(helio_response_clear) helio_response_t response = {0}, any = {0};
    helio_error_t err;
    helio_rc rc = helio_checkup_ask(self, self->broker, "/readyz", &response, &err);
    if (rc == HELIO_OK && response.status == 200)
        helio_checkup_good(self, "ready", "the broker is the leader and reaches its database");
    else if (helio_checkup_ask(self, self->broker, "/readyz?role=any", &any, &err) == HELIO_OK && any.status == 200)
        helio_checkup_good(self, "ready", "the broker is a follower, and forwards to the leader");
    else
        say_not_ready(self, any.body.size ? &any : &response);
}

/*  False when no broker answers; the remaining checks are then skipped. */
static bool check_broker(helio_checkup_t *self)
{
    helio_client_t *client = self->client;
    HELIO_AUTO(helio_response_clear) helio_response_t response = {0};
    helio_error_t err;
    char text[160];
    helio_rc rc = HELIO_UNAVAILABLE;
    for (uint32_t i = 1; rc != HELIO_OK && i <= helio_remote_broker_count(client->remote); i++)
        rc = helio_checkup_ask(self, self->broker = i, "/healthz", &response,
                               &err); /* those before it are named one by one later */
    if (rc != HELIO_OK) {
        helio_checkup_bad(
            self, helio_response_exit_of_rc(rc), "broker", err.text,
            rc == HELIO_INVALID
                ? "name the certificates to trust with --ca-file or `ca_file:`"
                : "check that it runs there, and start it if not (`systemctl start helio-broker`; in a quickstart "
                  "`deploy/quickstart.sh`); `helio-broker check` tests its settings; if it runs, see whether this network reaches it");
        return false;
    }
    if (response.status != 200) {
        (void)snprintf(text, sizeof text, "%.100s answers with status %ld",
                       helio_remote_broker(client->remote, self->broker), response.status);
        helio_checkup_bad(self, HELIO_EXIT_UNREACHABLE, "broker", text,
                          "check that this is the URL of a Heliostat broker");
        return false;
    }
    (void)snprintf(text, sizeof text, "%.120s (from %.30s)", client->settings->broker, client->settings->broker_from);
    helio_checkup_good(self, "broker", text);
    check_clock(self, response.date_wall_ms);
    check_ready(self);
    return true;
}

static void check_version(helio_checkup_t *self, const char *broker)
{
    char text[128];
    (void)snprintf(text, sizeof text, "helio has version %s, the broker %.40s", HELIO_PROGRAM_VERSION, broker);
    if (strcmp(broker, HELIO_PROGRAM_VERSION) == 0 || !broker[0])
        helio_checkup_good(self, "version", HELIO_PROGRAM_VERSION);
    else
        helio_checkup_note(self, "version", text, "commands that only one of the two versions knows will fail");
}

/*  Returns whether it is an administrator. */
static bool check_identity(helio_checkup_t *self)
{
    long status;
    HELIO_AUTO(helio_json_clear) json_t *who = helio_checkup_look(self, "/v1/whoami", &status);
    char text[256];
    if (!who) {
        (void)snprintf(text, sizeof text, "the broker answers with status %ld", status);
        helio_checkup_bad(self, status ? helio_response_exit(status) : HELIO_EXIT_UNREACHABLE, "identity", text,
                          status == 401 ? "the token is wrong, expired or revoked: ask an administrator for another"
                                        : "try again shortly");
        return false;
    }
    char expires[HELIO_HUMAN_SIZE];
    helio_human_time(helio_output_string(who, "expires_at|expires"), expires);
    (void)snprintf(text, sizeof text, "user %.60s of tenant %.60s, role %.30s%s%.40s",
                   helio_output_string(who, "user|user_name"), helio_output_string(who, "tenant"),
                   helio_output_string(who, "role"), expires[0] ? ", valid until " : "", expires);
    helio_checkup_good(self, "identity", text);
    check_version(self, helio_output_string(who, "version"));
    return strcmp(helio_output_string(who, "role"), "admin") == 0;
}

/*  What one of several brokers says of itself. */
typedef struct said {
    helio_rc rc;
    helio_error_t err; /* unless rc is HELIO_OK */
    long status;
    json_t *reply;
} said_t;

static void ask_of_itself(const helio_checkup_t *self, uint32_t broker, said_t *ret_said)
{
    HELIO_AUTO(helio_response_clear) helio_response_t response = {0};
    ret_said->rc = helio_checkup_ask(self, broker, "/v1/broker", &response, &ret_said->err);
    ret_said->status = response.status;
    if (ret_said->rc == HELIO_OK && response.status == 200)
        ret_said->reply = json_loadb(response.body.data ? response.body.data : "", response.body.size, 0, NULL);
}

static bool has_role(const said_t *said, const char *role)
{
    return strcmp(helio_output_string(said->reply, "role"), role) == 0;
}

/*  One of several brokers: its URL, what it is, and its release. leader: the URL of the one that leads; "" = none of
 *  them says so. */
static void check_one_of_several(helio_checkup_t *self, const char *url, const said_t *said, const char *leader)
{
    char text[640];
    if (said->rc != HELIO_OK || said->status != 200) {
        bool away = said->rc != HELIO_OK || helio_status_is_transient(said->status);
        (void)snprintf(text, sizeof text, "%.200s answers with status %ld", url, said->status);
        helio_checkup_note(self, "broker", said->rc != HELIO_OK ? said->err.text : text,
                           away ? "requests go to the other brokers meanwhile" : NULL);
        return;
    }
    bool follows = has_role(said, "follower");
    (void)snprintf(text, sizeof text, "%.200s: %.20s, epoch %.0f, version %.40s%s%.200s", url,
                   helio_output_string(said->reply, "role"), helio_output_number(said->reply, "epoch", 0),
                   helio_output_string(said->reply, "version"), follows ? ", follows " : "",
                   !follows    ? ""
                   : leader[0] ? leader
                               : helio_output_string(said->reply, "leader"));
    if (follows && !json_is_true(json_object_get(said->reply, "forwards")))
        helio_checkup_bad(
            self, HELIO_EXIT_FAILURE, "broker", text,
            "it cannot forward requests: /readyz?role=any there says why; often `advertise_http` is missing or wrong in "
            "the settings of the leader");
    else
        helio_checkup_good(self, "broker", text);
}

static void check_several(helio_checkup_t *self)
{
    const helio_remote_t *remote = self->client->remote;
    uint32_t count = helio_remote_broker_count(remote);
    said_t said[HELIO_BROKERS_MAX] = {0};
    const char *leader = "";
    for (uint32_t i = 0; count > 1 && i < count; i++) {
        ask_of_itself(self, i + 1, &said[i]);
        if (has_role(&said[i], "leader"))
            leader = helio_remote_broker(remote, i + 1);
    }
    for (uint32_t i = 0; count > 1 && i < count; i++) {
        check_one_of_several(self, helio_remote_broker(remote, i + 1), &said[i], leader);
        json_decref(said[i].reply);
    }
}

int helio_cmd_doctor(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *found = json_array();
    helio_checkup_t checkup = {.client = client, .found = found};
    check_settings(&checkup);
    if (!client->settings->broker[0])
        helio_checkup_bad(&checkup, HELIO_EXIT_USAGE, "broker", "no broker is set",
                          "use --broker URL, set HELIO_BROKER, or put `broker: URL` into ~/.config/helio/config.yaml");
    check_token(&checkup);
    if (client->settings->broker[0] && check_broker(&checkup)) {
        check_several(&checkup);
        if (client->settings->token[0]) { /* else the check of the token has said all */
            helio_doctor_sites(&checkup, check_identity(&checkup));
            helio_doctor_jobs(&checkup);
        }
    }
    if (client->output.format > HELIO_FORMAT_WIDE &&
        helio_output_rows(&client->output, found, helio_columns_of_checks) != HELIO_OK)
        return HELIO_EXIT_OWN;
    return checkup.code;
}
