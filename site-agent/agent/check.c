#include "site-agent/agent/check.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/net/curve.h"
#include "federation/net/dialer.h"
#include "site-agent/agent/gpus.h"
#include "site-agent/agent/host.h"
#include "site-agent/feeds/feeds.h"
#include "site-agent/feeds/secret.h"
#include "site-agent/journal/inspect.h"
#include "site-agent/uplink/question.h"

enum { HANDSHAKE_MS = 5000, TEXT_SIZE = 700 };

typedef struct tally {
    uint32_t failed;
} tally_t;

static void line(tally_t *tally, const char *what, helio_rc rc, const char *detail)
{
    if (rc != HELIO_OK)
        tally->failed++;
    (void)printf("%s %s: %s\n", rc == HELIO_OK ? "✔" : "✗", what, detail);
    (void)fflush(stdout);
}

static void check_state_dir(tally_t *tally, const helio_agent_settings_t *settings)
{
    helio_error_t err = {0};
    helio_rc rc = helio_state_dir_inspect(settings->state_dir.data, &err);
    line(tally, "state_dir", rc, rc == HELIO_OK ? settings->state_dir.data : err.text);
    if (rc != HELIO_OK)
        return;
    char text[HELIO_JOURNAL_INSPECT_SIZE];
    rc = helio_journal_inspect(settings->state_dir.data, text, &err);
    line(tally, "journal", rc, rc == HELIO_OK ? text : err.text);
}

static helio_rc check_key(tally_t *tally, const helio_agent_settings_t *settings, helio_keypair_t *ret_pair)
{
    helio_error_t err = {0};
    char text[TEXT_SIZE];
    helio_rc rc = helio_keypair_load(settings->key_file.data, ret_pair, &err);
    if (rc == HELIO_OK)
        (void)snprintf(text, sizeof text, "%.500s, public key %s", settings->key_file.data,
                       ret_pair->public_key);
    line(tally, "key_file", rc, rc == HELIO_OK ? text : err.text);
    return rc;
}

/* ---- brokers ------------------------------------------------------------------------------------------- */

typedef struct knock {
    bool connected, failed, answered;
    helio_rc rc; /* of the answer */
    char why[300];
    char fault[200]; /* of the versions */
} knock_t;

static void on_connected(void *arg, const char *endpoint)
{
    (void)endpoint;
    ((knock_t *)arg)->connected = true;
}

static void on_failed(void *arg, const char *endpoint, const char *why)
{
    knock_t *knock = arg;
    (void)endpoint;
    knock->failed = true;
    (void)helio_text_copy(helio_text_of(why), knock->why, sizeof knock->why);
}

static void on_message(void *arg, helio_text_t frame)
{
    knock_t *knock = arg;
    if (helio_question_answer(frame, &knock->rc, knock->why, sizeof knock->why, knock->fault, sizeof knock->fault))
        knock->answered = true;
}

/*  An ordinary HELLO would replace the session of a running agent. A HELLO of a version that does not exist opens no
 * session; the broker checks the site's name first, and reports a key that belongs to another site. */
static helio_rc ask_name(helio_dialer_t *dialer, helio_loop_t *loop, const helio_site_profile_t *site,
                         knock_t *knock, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
    helio_rc rc = helio_question_frame(site, &frame, err);
    if (rc == HELIO_OK)
        rc = helio_dialer_send(dialer, helio_buffer_view(&frame));
    int64_t until_ms = helio_clock_boot_ms() + HANDSHAKE_MS;
    while (rc == HELIO_OK && !knock->answered && !knock->failed && helio_clock_boot_ms() < until_ms)
        rc = helio_loop_turn(loop, 100, err);
    if (rc == HELIO_OK && knock->answered && knock->rc == HELIO_FORBIDDEN)
        return helio_fail(err, HELIO_FORBIDDEN, "%s: `name:` in the site file, or the key", knock->why);
    if (rc == HELIO_OK && knock->answered && knock->fault[0])
        return helio_fail(err, HELIO_VERSION, "%s", knock->fault);
    return rc;
}

static helio_rc shake_hands(const helio_dialer_target_t *target, const char *secret_key,
                            const helio_site_profile_t *site, helio_error_t *err)
{
    helio_net_t *net = NULL;
    helio_loop_t *loop = NULL;
    helio_dialer_t *dialer = NULL;
    knock_t knock = {0};
    helio_dialer_options_t options = {.targets = target,
                                      .target_count = 1,
                                      .secret_key = secret_key,
                                      .connect_ms = HANDSHAKE_MS,
                                      .linger_ms = -1,
                                      .on_message = on_message,
                                      .on_connected = on_connected,
                                      .on_failed = on_failed,
                                      .arg = &knock};
    helio_rc rc = helio_net_new(0, &net, err);
    if (rc == HELIO_OK)
        rc = helio_loop_new(&loop, err);
    if (rc == HELIO_OK)
        rc = helio_dialer_new(net, loop, &options, &dialer, err);
    int64_t until_ms = helio_clock_boot_ms() + HANDSHAKE_MS;
    while (rc == HELIO_OK && !knock.connected && !knock.failed && helio_clock_boot_ms() < until_ms)
        rc = helio_loop_turn(loop, 100, err);
    if (rc == HELIO_OK && !knock.connected)
        rc = helio_fail(
            err, HELIO_UNAVAILABLE,
            "%s: %s; check the address, the firewall, broker_key, and that the broker knows this site "
            "(helio keys add NAME PUBLIC_KEY)",
            target->endpoint, knock.failed ? knock.why : "no answer within 5 s");
    if (rc == HELIO_OK)
        rc = ask_name(dialer, loop, site, &knock, err);
    helio_dialer_destroy(&dialer);
    if (loop)
        helio_loop_destroy(&loop);
    if (net)
        helio_net_destroy(&net);
    return rc;
}

static void check_brokers(tally_t *tally, const helio_agent_settings_t *settings, const helio_keypair_t *keys)
{
    helio_error_t err = {0};
    char broker_key[HELIO_CURVE_SIZE], what[64], endpoint[300];
    helio_rc rc = helio_agent_broker_key(settings, broker_key, &err);
    line(tally, "broker_key", rc, rc == HELIO_OK ? broker_key : err.text);
    for (uint32_t i = 0; rc == HELIO_OK && keys && i < settings->brokers.count; i++) {
        (void)helio_text_copy(settings->brokers.items[i].text, endpoint, sizeof endpoint);
        (void)snprintf(what, sizeof what, "broker %u", i + 1);
        helio_dialer_target_t target = {endpoint, broker_key};
        helio_rc one = shake_hands(&target, keys->secret_key, &settings->site, &err);
        line(tally, what, one, one == HELIO_OK ? endpoint : err.text);
    }
}

/* ---- users and backend --------------------------------------------------------------------------------- */

static helio_rc check_user(const helio_user_rule_t *user, char text[TEXT_SIZE])
{
    char name[64];
    (void)helio_text_copy(user->unix_user, name, sizeof name);
    errno = 0;
    const struct passwd *account = getpwnam(name);
    int head = snprintf(text, TEXT_SIZE, "%.*s/%.*s as %s", HELIO_TEXT_ARGS(user->tenant),
                        HELIO_TEXT_ARGS(user->user), name);
    const char *fault = NULL;
    if (!account)
        fault = ": there is no such account; useradd it, or name another";
    else if (account->pw_uid == 0 && !user->allow_root)
        fault = ": root is refused unless the entry says allow_root: true";
    else if (geteuid() != 0 && account->pw_uid != geteuid())
        fault = ": an agent that is not root can start jobs as its own account only";
    if (fault)
        (void)snprintf(text + head, (size_t)(TEXT_SIZE - head), "%s", fault);
    return fault ? HELIO_INVALID : HELIO_OK;
}

static void check_users(tally_t *tally, const helio_agent_settings_t *settings)
{
    char text[TEXT_SIZE];
    if (settings->rules.users.count == 0)
        line(tally, "users", HELIO_INVALID,
             "no user can run jobs here; add for example users: [{tenant: nlp, user: \"*\", unix: nlp-jobs}]");
    for (uint32_t i = 0; i < settings->rules.users.count; i++) {
        helio_rc rc = check_user(&settings->rules.users.items[i], text);
        line(tally, "user", rc, text);
    }
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void check_gpus(tally_t *tally, const helio_agent_settings_t *settings)
{
    char text[TEXT_SIZE];
    uint64_t gpus = 0, nodes = 0;
    for (uint32_t p = 0; p < settings->site.pools.count; p++) {
        const helio_pool_t *pool = &settings->site.pools.items[p];
        gpus += (uint64_t)pool->nodes * pool->gpus_per_node;
        nodes += pool->nodes;
    }
    helio_arena_t *arena = helio_arena_new();
    helio_text_t found = helio_site_gpus_text(settings, NULL, arena);
    (void)snprintf(text, sizeof text, "%llu GPU%s on %llu node%s in %u pool%s; of this machine: %.*s",
                   (unsigned long long)gpus, plural(gpus), (unsigned long long)nodes, plural(nodes),
                   settings->site.pools.count, plural(settings->site.pools.count), HELIO_TEXT_ARGS(found));
    helio_arena_destroy(&arena);
    if (nodes == 0)
        (void)snprintf(text, sizeof text, "the site file declares no nodes: add pools");
    line(tally, "gpus", nodes ? HELIO_OK : HELIO_INVALID, text);
}

static void ignore_event(void *arg, const helio_aev_backend_t *event)
{
    (void)arg;
    (void)event;
}

static void check_backend(tally_t *tally, const helio_agent_settings_t *settings,
                          helio_make_backend_fn *make_backend)
{
    helio_error_t err = {0};
    char text[TEXT_SIZE];
    helio_backend_sink_t sink = {.on_event = ignore_event};
    helio_backend_t *backend = NULL;
    helio_rc rc = make_backend(settings, &sink, &backend, &err);
    if (rc == HELIO_OK && backend->class->check)
        rc = backend->class->check(backend, &err);
    (void)snprintf(text, sizeof text, "%.*s", HELIO_TEXT_ARGS(settings->site.backend));
    line(tally, "backend", rc, rc == HELIO_OK ? text : err.text);
    helio_backend_destroy(&backend);
}

static helio_rc check_secret(tally_t *tally, uint32_t feed, const char *path)
{
    char secret[HELIO_SECRET_MAX], what[32];
    helio_error_t err = {0};
    helio_rc rc = helio_secret_read(path, secret, &err);
    explicit_bzero(secret, sizeof secret);
    (void)snprintf(what, sizeof what, "feeds[%u]", feed);
    if (rc != HELIO_OK)
        line(tally, what, rc, err.text);
    return rc;
}

/*  Asks no source: whether one answers is its own business, and the agent lives with either. */
static void check_feeds(tally_t *tally, const helio_agent_settings_t *settings)
{
    helio_error_t err = {0};
    char text[TEXT_SIZE];
    helio_feeds_t *feeds = NULL;
    helio_feeds_options_t options = {.settings = &settings->feeds, .profile = &settings->site};
    for (uint32_t i = 0; i < settings->feeds.feeds.count; i++) {
        const helio_feed_t *feed = &settings->feeds.feeds.items[i];
        for (uint32_t n = 0; n < feed->secrets.count; n++)
            (void)check_secret(tally, i, feed->secrets.items[n].value.data);
        if (feed->login.password_file.size)
            (void)check_secret(tally, i, feed->login.password_file.data);
    }
    helio_rc rc = helio_feeds_new(&options, &feeds, &err);
    helio_feeds_destroy(&feeds);
    (void)snprintf(text, sizeof text, "%u, tariff of %u line%s, %u window%s, %.*s", settings->feeds.feeds.count,
                   settings->feeds.tariff.count, plural(settings->feeds.tariff.count), settings->feeds.windows.count,
                   plural(settings->feeds.windows.count),
                   HELIO_TEXT_ARGS(settings->site.timezone));
    line(tally, "feeds", rc, rc == HELIO_OK ? text : err.text);
}

static void cluster_line(void *arg, const char *what, helio_rc rc, const char *detail)
{
    line(arg, what, rc, detail);
}

uint32_t helio_agent_check(const helio_agent_settings_t *settings, bool probe,
                           helio_make_backend_fn *make_backend)
{
    tally_t tally = {0};
    char text[TEXT_SIZE];
    (void)snprintf(text, sizeof text, "site %.*s", HELIO_TEXT_ARGS(settings->site.name));
    line(&tally, "config", HELIO_OK, text);
    check_state_dir(&tally, settings);
    HELIO_AUTO(helio_keypair_wipe) helio_keypair_t keys = {0};
    helio_rc rc = check_key(&tally, settings, &keys);
    check_brokers(&tally, settings, rc == HELIO_OK ? &keys : NULL);
    if (helio_text_is(settings->site.backend, "local")) {
        bool found = access(settings->shim.data, X_OK) == 0;
        (void)snprintf(text, sizeof text, "%.400s%s", settings->shim.data,
                       found ? "" : ": missing or not executable; install helio-shim, or set shim: PATH");
        line(&tally, "shim", found ? HELIO_OK : HELIO_NOT_FOUND, text);
    }
    if (helio_text_is(settings->site.backend, "slurm")) {
        helio_check_cluster(settings, probe, cluster_line, &tally);
    } else {
        check_backend(&tally, settings, make_backend);
        check_gpus(&tally, settings);
    }
    check_feeds(&tally, settings);
    check_users(&tally, settings);
    return tally.failed;
}
