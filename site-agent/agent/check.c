/*  check.c -- `helio-agent --check`: the lines on settings, state directory, brokers, users, backend and feeds. */
#include "site-agent/agent/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/energy/power.h"
#include "federation/net/curve.h"
#include "federation/net/dialer.h"
#include "site-agent/agent/gpus.h"
#include "site-agent/agent/host.h"
#include "site-agent/agent/users.h"
#include "site-agent/feeds/feeds.h"
#include "site-agent/feeds/secret.h"
#include "site-agent/journal/inspect.h"
#include "site-agent/scale/notices.h"
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

/*  Something that the agent works without. It does not count as failed. */
static void advise(const char *what, const char *detail)
{
    (void)printf("! %s: %s\n", what, detail);
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
        (void)snprintf(text, sizeof text, "%.500s, public key %s", settings->key_file.data, ret_pair->public_key);
    else if (rc == HELIO_NOT_FOUND)
        (void)snprintf(text, sizeof text, "%.250s; `helio-agent keygen %.250s` creates it", err.text,
                       settings->key_file.data);
    else
        (void)snprintf(text, sizeof text, "%.600s", err.text);
    line(tally, "key_file", rc, text);
    return rc;
}

/* ---- brokers ------------------------------------------------------------------------------------------- */

typedef struct knock {
    bool connected, failed, answered;
    helio_rc rc; /* of the reply */
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
 *  session; the broker checks the site's name first, and reports a key that belongs to another site. */
static helio_rc ask_name(helio_dialer_t *dialer, helio_loop_t *loop, const helio_site_profile_t *site, knock_t *knock,
                         helio_error_t *err)
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
        rc = helio_fail(err, HELIO_UNAVAILABLE,
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

/*  What is good for a trial, and not for tenants who need not trust one another, or the machine's other programs. */
static void advise_on_account(const helio_job_rules_t *rules, const helio_user_rule_t *user)
{
    char text[TEXT_SIZE];
    (void)snprintf(
        text, sizeof text,
        "jobs of several tenants run as %.*s: they can read and change one another's files, and forge one "
        "another's results; for a trial, or for tenants who trust one another: else name an account for each",
        HELIO_TEXT_ARGS(user->unix_user));
    if (user->shared && helio_job_rules_meet(rules, user))
        advise("user", text);
    (void)snprintf(text, sizeof text,
                   "jobs of %.*s run as nobody, an account that other programs share: use it for a trial only; "
                   "`useradd --system %.*s-jobs`, and name that account",
                   HELIO_TEXT_ARGS(user->tenant), helio_text_is(user->tenant, "*") ? 6 : (int)user->tenant.size,
                   helio_text_is(user->tenant, "*") ? "tenant" : user->tenant.data);
    if (helio_text_is(user->unix_user, "nobody"))
        advise("user", text);
}

static void check_users(tally_t *tally, const helio_agent_settings_t *settings)
{
    char text[HELIO_USER_CHECK_SIZE];
    if (settings->rules.users.count == 0)
        line(tally, "users", HELIO_INVALID,
             "no user can run jobs here; add for example users: [{tenant: nlp, user: \"*\", unix: nlp-jobs}]");
    for (uint32_t i = 0; i < settings->rules.users.count; i++) {
        helio_rc rc = helio_user_check(&settings->rules, &settings->rules.users.items[i], text);
        line(tally, "user", rc, text);
        advise_on_account(&settings->rules, &settings->rules.users.items[i]);
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

/*  Missing power is assumed at the highest of all models, and a missing price is unknown: the site file has to state
 *  both for a new model. A price of 0 counts as missing; a feed or a tariff can give it. */
static void check_prices(tally_t *tally, const helio_agent_settings_t *settings)
{
    char what[80], text[TEXT_SIZE];
    bool tariff = settings->feeds.tariff.count > 0 || settings->site.electricity_usd_per_kwh != 0;
    bool price_feed = false;
    for (uint32_t i = 0; i < settings->feeds.feeds.count; i++) {
        uint32_t signal = settings->feeds.feeds.items[i].signal;
        tariff = tariff || signal == HELIO_FEED_ELECTRICITY;
        price_feed = price_feed || signal == HELIO_FEED_PRICE;
    }
    for (uint32_t i = 0; i < settings->site.pools.count; i++) {
        const helio_pool_t *pool = &settings->site.pools.items[i];
        bool price = helio_pool_rent_usd(pool) != 0 || price_feed || (pool->owned && tariff);
        if (!pool->gpu.size)
            continue;
        (void)snprintf(what, sizeof what, "pool %.*s", HELIO_TEXT_ARGS(pool->name));
        if (helio_power_of(pool->gpu)) {
            if (!price)
                advise(what,
                       "nothing gives its price, so that its runs are charged nothing and `helio explain` shows the "
                       "price as unknown: set price_usd_per_gpu_h, or owned with electricity_usd_per_kwh");
            continue;
        }
        if (!pool->gpus_per_node)
            continue;
        bool power = !helio_pool_power_is_assumed(pool);
        if (power && price)
            (void)snprintf(text, sizeof text, "%.*s: power and price are given", HELIO_TEXT_ARGS(pool->gpu));
        else
            (void)snprintf(
                text, sizeof text,
                "%.*s is not a model of docs/reference/power.md, and the site file has no %s%s%s: set %s%s%s",
                HELIO_TEXT_ARGS(pool->gpu), power ? "" : "power", !power && !price ? " and no " : "",
                price ? "" : "price", power ? "" : "power: {idle_w, base_w, slope_w, host_w}",
                !power && !price ? ", " : "",
                price ? "" : "price_usd_per_gpu_h, or owned with electricity_usd_per_kwh");
        line(tally, what, power && price ? HELIO_OK : HELIO_INVALID, text);
    }
}

static void check_backend(tally_t *tally, const helio_agent_settings_t *settings)
{
    helio_error_t err = {0};
    char text[TEXT_SIZE];
    helio_rc rc = helio_check_backend(settings, &err);
    (void)snprintf(text, sizeof text, "%.*s", HELIO_TEXT_ARGS(settings->site.backend));
    line(tally, "backend", rc, rc == HELIO_OK ? text : err.text);
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

/*  A file that is not there is a slip of a pen more often than a source that is down. */
static void check_file(tally_t *tally, uint32_t feed, const char *path)
{
    char what[32], text[TEXT_SIZE];
    (void)snprintf(what, sizeof what, "feeds[%u]", feed);
    if (access(path, R_OK) == 0)
        return;
    int fault = errno;
    (void)snprintf(text, sizeof text, "%.500s: %s; set path to the file that the source writes, or write it", path,
                   strerror(fault));
    line(tally, what, fault == ENOENT ? HELIO_NOT_FOUND : HELIO_FORBIDDEN, text);
}

/*  Asks no source over the network. One may be down for a while, and the agent works without it. */
static void check_feeds(tally_t *tally, const helio_agent_settings_t *settings)
{
    helio_error_t err = {0};
    char text[TEXT_SIZE];
    helio_feeds_t *feeds = NULL;
    helio_feeds_options_t options = {.settings = &settings->feeds, .profile = &settings->site};
    for (uint32_t i = 0; i < settings->feeds.feeds.count; i++) {
        const helio_feed_t *feed = &settings->feeds.feeds.items[i];
        if (feed->source == HELIO_SOURCE_CSV)
            check_file(tally, i, feed->path.data);
        for (uint32_t n = 0; n < feed->secrets.count; n++)
            (void)check_secret(tally, i, feed->secrets.items[n].value.data);
        if (feed->login.password_file.size)
            (void)check_secret(tally, i, feed->login.password_file.data);
    }
    helio_rc rc = helio_feeds_new(&options, &feeds, &err);
    helio_feeds_destroy(&feeds);
    (void)snprintf(text, sizeof text, "%u, tariff of %u line%s, %u window%s, %.*s", settings->feeds.feeds.count,
                   settings->feeds.tariff.count, plural(settings->feeds.tariff.count), settings->feeds.windows.count,
                   plural(settings->feeds.windows.count), HELIO_TEXT_ARGS(settings->site.timezone));
    line(tally, "feeds", rc, rc == HELIO_OK ? text : err.text);
}

static void cluster_line(void *arg, const char *what, helio_rc rc, const char *detail)
{
    line(arg, what, rc, detail);
}

/*  A group that the site file names must exist; without one named, jobs can run without. */
static void check_cgroups(tally_t *tally, const helio_agent_settings_t *settings)
{
    helio_error_t err = {0};
    char text[HELIO_CHECK_TEXT_SIZE];
    helio_rc rc = helio_check_cgroups(settings, text, &err);
    if (rc == HELIO_OK || settings->cgroup.size)
        line(tally, "cgroup", rc, rc == HELIO_OK ? text : err.text);
    else
        advise("cgroup", err.text);
}

/*  Jobs write below state_dir: their outputs and checkpoints. The nearest folder that exists stands for one that the
 *  first run makes. */
static void check_disks(const helio_agent_settings_t *settings)
{
    static const char *const rooms[] = {"output", "checkpoints"};
    char path[TEXT_SIZE], text[TEXT_SIZE + 300];
    struct stat state, room;
    if (stat(settings->state_dir.data, &state))
        return;
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        (void)snprintf(path, sizeof path, "%.500s/%s", settings->state_dir.data, rooms[i]);
        if (stat(path, &room) == 0 && room.st_dev != state.st_dev)
            continue;
        (void)snprintf(
            text, sizeof text,
            "%s shares a file system with the agent's state: a job that fills it keeps others from starting; "
            "mount a file system of its own there, or set quotas",
            path);
        advise("disk", text);
    }
}

/*  Folders of interruption notices. */
static void check_notices(tally_t *tally, const helio_agent_settings_t *settings)
{
    char what[80];
    for (uint32_t i = 0; i < settings->scale.count; i++) {
        const helio_scale_rule_t *rule = &settings->scale.items[i];
        helio_error_t err = {0};
        if (!rule->notice.size)
            continue;
        helio_rc rc = helio_notices_check(rule->notice.data, &err);
        (void)snprintf(what, sizeof what, "notice %.*s", HELIO_TEXT_ARGS(rule->pool));
        line(tally, what, rc, rc == HELIO_OK ? rule->notice.data : err.text);
    }
}

/*  What owners of jobs can do in them while they run. */
static void check_channels(tally_t *tally, const helio_agent_settings_t *settings)
{
    char text[TEXT_SIZE];
    const helio_channels_settings_t *channels = &settings->channels;
    uint32_t kinds = helio_channels_settings_kinds(channels);
    bool can = helio_text_is(settings->site.backend, "local") || helio_text_is(settings->site.backend, "slurm");
    bool commands = kinds & 1U << HELIO_CHANNEL_KIND_COMMAND, ports = kinds & 1U << HELIO_CHANNEL_KIND_PORT;
    if (!can)
        (void)snprintf(text, sizeof text, "none: the backend %.*s cannot enter jobs",
                       HELIO_TEXT_ARGS(settings->site.backend));
    else if (!kinds)
        (void)snprintf(text, sizeof text, "none: the site file allows none");
    else
        (void)snprintf(
            text, sizeof text, "%s%s%s; at most %u at once, each for %llu min, and for %llu min without a byte",
            commands ? "commands" : "", commands && ports ? " and " : "", ports ? "ports" : "", channels->most,
            (unsigned long long)(channels->limit_ms / 60000), (unsigned long long)(channels->idle_ms / 60000));
    line(tally, "channels", HELIO_OK, text);
}

uint32_t helio_agent_check(const helio_agent_settings_t *settings, bool probe)
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
    bool pods = helio_text_is(settings->site.backend, "kubernetes");
    if (pods || helio_text_is(settings->site.backend, "slurm") || helio_text_is(settings->site.backend, "exec")) {
        helio_check_cluster(settings, probe, cluster_line, &tally);
    } else {
        check_backend(&tally, settings);
        check_cgroups(&tally, settings);
        check_disks(settings);
        helio_check_containers(settings, cluster_line, &tally);
        check_gpus(&tally, settings);
        helio_check_shares(settings, cluster_line, advise, &tally);
    }
    check_channels(&tally, settings);
    check_notices(&tally, settings);
    check_feeds(&tally, settings);
    check_prices(&tally, settings);
    if (!pods) /* they run as their images say */
        check_users(&tally, settings);
    return tally.failed;
}
