/*  test_check.c -- `helio-agent --check`: one line for each thing that running needs; what is missing fails
 * its own line and no other. The broker is a real server in a thread of its own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/net/curve.h"
#include "federation/net/server.h"
#include "federation/wire/codec.h"
#include "federation/wire/messages.h"
#include "site-agent/agent/check.h"
#include "tests/support/captured.h"
#include "tests/support/folder.h"

typedef struct world {
    char folder[40];
    helio_keypair_t broker, agent;
    helio_server_t *server;
    helio_msg_refusal_t refusal; /* the broker's answer */
    char endpoint[64];
    pthread_t thread;
    _Atomic bool ready, over;
    uint32_t hellos;
    char out[16384];
} world_t;

static world_t world;

/* ---- the broker ---------------------------------------------------------------------------------------- */

static void broker_hears(void *arg, uint64_t peer, helio_text_t principal, helio_text_t frame)
{
    (void)arg;
    (void)principal;
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t answer = {0};
    uint32_t message = 0;
    void *record = NULL;
    if (helio_wire_decode(frame, arena, &message, &record, NULL) != HELIO_OK || message != HELIO_MSG_HELLO)
        abort();
    world.hellos++;
    if (helio_wire_encode(HELIO_MSG_REFUSAL, &world.refusal, &answer, NULL) != HELIO_OK ||
        helio_server_send(world.server, peer, helio_buffer_view(&answer)) != HELIO_OK)
        abort();
}

static void *serve(void *arg)
{
    helio_net_t *net = NULL;
    helio_loop_t *loop = NULL;
    helio_error_t err = {0};
    helio_server_options_t options = {.endpoint = "tcp://127.0.0.1:*",
                                      .secret_key = world.broker.secret_key,
                                      .on_message = broker_hears,
                                      .linger_ms = -1};
    if (helio_net_new(0, &net, &err) != HELIO_OK || helio_loop_new(&loop, &err) != HELIO_OK ||
        helio_server_new(net, loop, &options, &world.server, &err) != HELIO_OK ||
        helio_server_allow(world.server, helio_text_of(world.agent.public_key), HELIO_TEXT("site:lulea"), &err) !=
            HELIO_OK)
        abort();
    (void)snprintf(world.endpoint, sizeof world.endpoint, "%s", helio_server_endpoint(world.server));
    world.ready = true;
    while (!world.over)
        if (helio_loop_turn(loop, 5, &err) != HELIO_OK)
            abort();
    helio_server_destroy(&world.server);
    helio_loop_destroy(&loop);
    helio_net_destroy(&net);
    return arg;
}

/* ---- the site ------------------------------------------------------------------------------------------ */

static char *path_of(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", world.folder, name);
    return path;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(path_of(name), "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path_of(name), mode), 0);
}

static void make_folder(const char *name, mode_t mode)
{
    assert_int_equal(mkdir(path_of(name), mode), 0);
    assert_int_equal(chmod(path_of(name), mode), 0);
}

static int begin(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    (void)snprintf(world.folder, sizeof world.folder, "/tmp/helio-check-XXXXXX");
    assert_non_null(mkdtemp(world.folder));
    assert_int_equal(helio_keypair_new(&world.broker, NULL), HELIO_OK);
    assert_int_equal(helio_keypair_new(&world.agent, NULL), HELIO_OK);
    assert_int_equal(helio_keypair_save(&world.agent, path_of("agent.key"), NULL), HELIO_OK);
    helio_keypair_t stranger;
    assert_int_equal(helio_keypair_new(&stranger, NULL), HELIO_OK);
    assert_int_equal(helio_keypair_save(&stranger, path_of("stranger.key"), NULL), HELIO_OK);
    assert_int_equal(helio_keypair_save(&stranger, path_of("open.key"), NULL), HELIO_OK);
    assert_int_equal(chmod(path_of("open.key"), 0644), 0);
    write_file("helio-shim", "#!/bin/sh\n", 0755);
    write_file("no-shim", "", 0644);
    write_file("secret", "token\n", 0600);
    write_file("hours.csv", "time,grams\n", 0644);
    write_file("known-secret", "token\n", 0644);
    make_folder("state", 0711);
    make_folder("open-state", 0777);
    make_folder("damaged-state", 0711);
    write_file("damaged-state/journal.db", "this is no journal, and long enough to be looked at as one", 0600);
    world.refusal =
        (helio_msg_refusal_t){HELIO_VERSION, HELIO_TEXT("no"), HELIO_PROTOCOL_VERSION, HELIO_PROTOCOL_VERSION_MIN};
    assert_int_equal(pthread_create(&world.thread, NULL, serve, NULL), 0);
    while (!world.ready)
        (void)usleep(1000);
    return 0;
}

static int end(void **state)
{
    (void)state;
    world.over = true;
    assert_int_equal(pthread_join(world.thread, NULL), 0);
    return folder_remove(world.folder);
}

/*  What differs from a site that lacks nothing; NULL = nothing. */
typedef struct site {
    const char *backend, *state_dir, *key_file, *broker, *shim, *users, *pools, *more;
} site_t;

static uint32_t check(const site_t *site)
{
    char text[4096], users[200];
    const struct passwd *self = getpwuid(geteuid());
    assert_non_null(self);
    (void)snprintf(users, sizeof users, "[{tenant: demo, user: \"*\", unix: %s, allow_root: true}]", self->pw_name);
    (void)snprintf(text, sizeof text,
                   "name: lulea\nbackend: %s\ncarbon_g_per_kwh: 24\n"
                   "pools: %s\n"
                   "agent:\n  state_dir: %s\n  broker: [\"%s\"]\n  broker_key: \"%s\"\n  key_file: %s\n  shim: %s\n"
                   "  users: %s\n%s",
                   site->backend ? site->backend : "local",
                   site->pools ? site->pools : "[{name: gpu, gpu: H100, memory: 80GB, nodes: 2, gpus_per_node: 4}]",
                   site->state_dir ? site->state_dir : "state", site->broker ? site->broker : world.endpoint,
                   world.broker.public_key, site->key_file ? site->key_file : "agent.key",
                   site->shim ? site->shim : "helio-shim", site->users ? site->users : users,
                   site->more ? site->more : "");
    write_file("site.yaml", text, 0600);
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t complaint = {0};
    helio_agent_settings_t settings;
    if (helio_agent_settings_load(path_of("site.yaml"), arena, &settings, &complaint) != HELIO_OK)
        fail_msg("%s", complaint.data);
    captured_t out = capture_begin(stdout);
    uint32_t failed = helio_agent_check(&settings, false);
    capture_end(out, stdout, world.out, sizeof world.out);
    return failed;
}

/*  The names of the lines that failed, in order: "key_file broker 1". */
static void failed_lines(char *ret_names, size_t size)
{
    size_t used = 0;
    ret_names[0] = '\0';
    for (const char *at = world.out; (at = strstr(at, "✗ ")); at++)
        used += (size_t)snprintf(ret_names + used, size - used, "%s%.*s", used ? ", " : "",
                                 (int)strcspn(at + strlen("✗ "), ":"), at + strlen("✗ "));
}

static void assert_fails(const site_t *site, const char *expected)
{
    char names[256];
    uint32_t failed = check(site), commas = 0;
    failed_lines(names, sizeof names);
    if (strcmp(names, expected) != 0)
        fail_msg("'%s' failed, not '%s':\n%s", names, expected, world.out);
    for (const char *c = names; *c; c++)
        commas += *c == ',';
    assert_int_equal(failed, names[0] ? commas + 1 : 0);
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void check__of_a_complete_site_fails_no_line(void **state)
{
    (void)state;
    assert_fails(&(site_t){0}, "");
    assert_int_equal(world.hellos, 1);
    static const char *const lines[] = {"config", "state_dir", "journal", "key_file", "broker_key", "broker 1",
                                        "shim",   "backend",   "gpus",    "feeds",    "user"};
    char mark[32];
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        (void)snprintf(mark, sizeof mark, "✔ %s: ", lines[i]);
        if (!strstr(world.out, mark))
            fail_msg("no line '%s' in\n%s", mark, world.out);
    }
}

static void check__advises_on_a_pool_without_a_price(void **state)
{
    (void)state;
    static const struct {
        const char *price, *more;
        bool missing;
    } pools[] = {{"", "", true},
                 {", price_usd_per_gpu_h: 0", "", true},
                 {", owned: false", "", true},
                 {", price_usd_per_gpu_h: 2.5", "", false},
                 {", owned: true", "electricity_usd_per_kwh: 0.1\n", false},
                 {", owned: false", "electricity_usd_per_kwh: 0.1\n", true}};
    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "[{name: gpu, gpu: H100, memory: 80GB, nodes: 2, gpus_per_node: 4%s}]",
                       pools[i].price);
        assert_fails(&(site_t){.pools = text, .more = pools[i].more}, "");
        assert_int_equal(strstr(world.out, "! pool gpu: nothing gives its price") != NULL, pools[i].missing);
    }
}

/*  What the agent works without is said, and fails nothing; a group that the site file names has to exist. */
static void check__advises_on_disks_and_control_groups(void **state)
{
    (void)state;
    assert_fails(&(site_t){0}, "");
    assert_non_null(strstr(world.out, "state/output shares a file system with the agent's state"));
    assert_non_null(strstr(world.out, "state/checkpoints shares a file system with the agent's state"));
    assert_true(strstr(world.out, "! cgroup: ") || strstr(world.out, "✔ cgroup: "));
    assert_fails(&(site_t){.more = "  cgroup: no/such/group\n"}, "cgroup");
    if (geteuid() != 0)
        return;
    make_folder("state/output", 0711);
    assert_int_equal(mount("tmpfs", path_of("state/output"), "tmpfs", 0, "size=64k"), 0);
    uint32_t failed = check(&(site_t){0});
    assert_int_equal(umount2(path_of("state/output"), MNT_DETACH), 0);
    assert_int_equal(failed, 0);
    assert_null(strstr(world.out, "state/output shares"));
    assert_non_null(strstr(world.out, "state/checkpoints shares"));
}

#define FEED(secret) \
    "  feeds: [{signal: carbon, source: http-json, map: electricitymaps, secrets: {auth-token: " secret "}}]\n"

#define FILE_FEED(file) "  feeds: [{signal: carbon, source: csv, path: " file ", value_column: grams}]\n"

#define POOL(gpu, more) "[{name: gpu, gpu: " gpu ", memory: 80GB, nodes: 2, gpus_per_node: 4" more "}]"
#define POWER "{idle_w: 140, base_w: 300, slope_w: 800, host_w: 300}"

static const struct {
    site_t site;
    const char *failed;
} sites[] = {
    {{.state_dir = "open-state"}, "state_dir"},
    {{.state_dir = "damaged-state"}, "journal"},
    {{.more = FEED("secret")}, ""},
    {{.more = FEED("known-secret")}, "feeds[0]"},
    {{.more = FEED("no-secret")}, "feeds[0]"},
    {{.more = FILE_FEED("hours.csv")}, ""},
    {{.more = FILE_FEED("no-hours.csv")}, "feeds[0]"},
    {{.key_file = "none.key"}, "key_file"}, /* and without a key the check does not dial the broker */
    {{.key_file = "open.key"}, "key_file"},
    {{.key_file = "stranger.key"}, "broker 1"},
    {{.broker = "tcp://127.0.0.1:1"}, "broker 1"},
    {{.shim = "no-shim"}, "shim, backend"}, /* which cannot work without it */
    {{.shim = "nothing"}, "shim, backend"},
    {{.users = "[{tenant: demo, user: \"*\", unix: no-such-account-here}]"}, "user"},
    {{.users = "[{tenant: demo, user: \"*\", unix: root}]"}, "user"},
    {{.users = "[{user: \"*\", unix: root, allow_root: true}]"}, "user"},
    {{.users = "[{tenant: a, unix: root, allow_root: true}, {tenant: b, unix: root, allow_root: true, shared: true}]"},
     "user"},
    {{.users = "[]"}, "backend, users"},
    {{.pools = POOL("B300", "")}, "pool gpu"},
    {{.pools = POOL("B300", ", price_usd_per_gpu_h: 6")}, "pool gpu"},
    {{.pools = POOL("B300", ", power: " POWER)}, "pool gpu"},
    {{.pools = POOL("B300", ", owned: true, power: " POWER)}, "pool gpu"},
    {{.pools = POOL("B300", ", price_usd_per_gpu_h: 6, power: " POWER)}, ""},
    {{.pools = POOL("B300", ", owned: true, power: " POWER), .more = "electricity_usd_per_kwh: 0.1\n"}, ""},
    {{.pools = POOL("A100", "")}, ""},
};

static void check__fails_only_the_line_of_what_is_missing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sites / sizeof sites[0]; i++)
        assert_fails(&sites[i].site, sites[i].failed);
    assert_fails(&(site_t){.key_file = "none.key"}, "key_file");
    assert_non_null(strstr(world.out, "none.key: key file not found; `helio-agent keygen "));
    assert_fails(&(site_t){.users = "[{tenant: demo, user: \"*\", unix: no-such-account-here}]"}, "user");
    assert_non_null(strstr(world.out, "demo/* as no-such-account-here: the account does not exist; `useradd --system "
                                      "no-such-account-here` adds it, or name another"));
}

/*  What is good for a trial only is said, and fails nothing. */
static void check__of_accounts_says_what_is_for_a_trial_only(void **state)
{
    (void)state;
    static const struct {
        const char *users, *advice[2], *unsaid;
    } cases[] = {
        {"[{tenant: demo, user: \"*\", unix: nobody}]",
         {"! user: jobs of demo run as nobody", "`useradd --system demo-jobs`"},
         "several tenants"},
        {"[{user: \"*\", unix: nobody, shared: true}]",
         {"! user: jobs of several tenants run as nobody", "else name an account for each"},
         NULL},
        {"[{tenant: a, unix: bin, shared: true}, {tenant: b, unix: bin, shared: true}]",
         {"! user: jobs of several tenants run as bin", "for a trial, or for tenants who trust one another"},
         "as nobody"},
        {"[{tenant: a, unix: bin}, {tenant: b, unix: daemon}]", {"a/* as bin", "b/* as daemon"}, "for a trial"},
    };
    for (size_t i = 0; geteuid() == 0 && i < sizeof cases / sizeof cases[0]; i++) {
        assert_fails(&(site_t){.users = cases[i].users}, "");
        for (size_t k = 0; k < 2; k++)
            if (!strstr(world.out, cases[i].advice[k]))
                fail_msg("case %zu: no '%s' in\n%s", i, cases[i].advice[k], world.out);
        if (cases[i].unsaid && strstr(world.out, cases[i].unsaid))
            fail_msg("case %zu: '%s' in\n%s", i, cases[i].unsaid, world.out);
    }
}

#define SPOT                                                                                        \
    "[{name: spot, gpu: H100, memory: 80GB, nodes: 0, gpus_per_node: 8, owned: false, spot: true, " \
    "spot_usd_per_gpu_h: 1.1, price_usd_per_gpu_h: 2.7, interruptions_per_h: 0.02}]"

/*  Of a site with an adapter, other lines fail here: no adapter is there. */
static void check__fails_the_line_of_a_notice_folder_that_others_can_write(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *line;
    } cases[] = {
        {"notices", "✔ notice spot: "},
        {"open-notices", "✗ notice spot: "},
        {"no-notices", "✗ notice spot: "},
    };
    make_folder("notices", 0755);
    make_folder("open-notices", 0777);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char more[300];
        (void)snprintf(more, sizeof more,
                       "  exec: {command: [/no/adapter], folder: state}\n"
                       "  scale: [{pool: spot, max: 2, command: [/no/provider], notice: %s}]\n",
                       cases[i].folder);
        (void)check(&(site_t){.backend = "exec", .pools = SPOT, .more = more});
        if (!strstr(world.out, cases[i].line))
            fail_msg("no '%s' in\n%s", cases[i].line, world.out);
    }
}

/*  The first run makes state_dir; the check makes nothing, or the folder could belong to whoever ran it. */
static void check__of_a_site_that_never_ran_fails_no_line_and_makes_nothing(void **state)
{
    (void)state;
    assert_fails(&(site_t){.state_dir = "never-run"}, "");
    assert_int_not_equal(access(path_of("never-run"), F_OK), 0);
    assert_fails(&(site_t){.state_dir = "state"}, "");
    assert_int_not_equal(access(path_of("state/attempts"), F_OK), 0);
}

static void check__asks_the_broker_whether_it_accepts_the_site(void **state)
{
    (void)state;
    world.refusal.rc = HELIO_FORBIDDEN; /* the key is another site's */
    assert_fails(&(site_t){0}, "broker 1");
    world.refusal =
        (helio_msg_refusal_t){HELIO_VERSION, HELIO_TEXT("no"), HELIO_PROTOCOL_VERSION + 2, HELIO_PROTOCOL_VERSION + 1};
    assert_fails(&(site_t){0}, "broker 1");
    world.refusal.protocol_min = HELIO_PROTOCOL_VERSION_MIN;
    assert_fails(&(site_t){0}, "");
    assert_int_equal(world.hellos, 3);
}

static void backend__is_the_one_that_the_site_file_names(void **state)
{
    (void)state;
    helio_agent_settings_t settings = {.site.name = HELIO_TEXT("lulea"),
                                       .site.backend = HELIO_TEXT("kubernetes"),
                                       .state_dir = helio_text_of(path_of("state")),
                                       .shim = HELIO_TEXT("/bin/true")};
    const helio_backend_sink_t sink = {0};
    helio_backend_t *backend = NULL;
    assert_int_equal(helio_make_backend(&settings, &sink, &backend, NULL), HELIO_INVALID);
    assert_null(backend);
    settings.site.backend = HELIO_TEXT("local");
    assert_int_equal(helio_make_backend(&settings, &sink, &backend, NULL), HELIO_OK);
    assert_string_equal(backend->class->name, "local");
    helio_backend_destroy(&backend);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(check__of_a_complete_site_fails_no_line),
        CASE(check__advises_on_disks_and_control_groups),
        CASE(check__advises_on_a_pool_without_a_price),
        CASE(check__fails_only_the_line_of_what_is_missing),
        CASE(check__of_accounts_says_what_is_for_a_trial_only),
        CASE(check__fails_the_line_of_a_notice_folder_that_others_can_write),
        CASE(check__of_a_site_that_never_ran_fails_no_line_and_makes_nothing),
        CASE(check__asks_the_broker_whether_it_accepts_the_site),
        CASE(backend__is_the_one_that_the_site_file_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
