/*  test_settings.c -- the site file as the agent reads it, the lock on the state directory, and the messages to the
 *  supervisor. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "federation/net/curve.h"
#include "site-agent/agent/host.h"
#include "site-agent/agent/settings.h"
#include "tests/support/folder.h"
#include "tests/support/golden.h"

static char directory[64];
static helio_arena_t *arena;

static int begin(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof directory, "/tmp/helio-settings-XXXXXX");
    arena = helio_arena_new();
    return mkdtemp(directory) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    helio_arena_destroy(&arena);
    return folder_remove(directory);
}

static const char *write_file(const char *name, const char *text)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

static const char good[] =
    "name: north\n"
    "backend: local\n"
    "carbon_g_per_kwh: 24\n"
    "pools:\n"
    "  - {name: h100, gpu: H100, memory: 80GB, nodes: 2, gpus_per_node: 4, price_usd_per_gpu_h: 2.5}\n"
    "agent:\n"
    "  state_dir: state\n"
    "  broker: [\"tcp://127.0.0.1:7443\"]\n"
    "  broker_key: broker.pub\n"
    "  key_file: agent.key\n"
    "  shim: /opt/helio-shim\n"
    "  users: [{tenant: demo, user: \"*\", unix: nobody}]\n";

static void settings__are_read_with_paths_beside_the_file(void **state)
{
    (void)state;
    helio_agent_settings_t settings;
    helio_buffer_t complaint = {0};
    char expected[96];
    assert_int_equal(helio_agent_settings_load(write_file("site.yaml", good), arena, &settings, &complaint), HELIO_OK);
    (void)snprintf(expected, sizeof expected, "%s/state", directory);
    assert_string_equal(settings.state_dir.data, expected);
    (void)snprintf(expected, sizeof expected, "%s/agent.key", directory);
    assert_string_equal(settings.key_file.data, expected);
    assert_string_equal(settings.shim.data, "/opt/helio-shim");
    assert_true(helio_text_is(settings.site.name, "north"));
    assert_true(settings.site.leases); /* the shims enforce them */
    assert_int_equal(settings.site.pools.count, 1);
    assert_int_equal(settings.brokers.count, 1);
    assert_int_equal(settings.rules.users.count, 1);
    assert_true(helio_site_maps(&settings.site, HELIO_TEXT("demo"))); /* the broker is told so */
    assert_false(helio_site_maps(&settings.site, HELIO_TEXT("other")));
    assert_int_equal(settings.attempts_max, 10000);
    assert_int_equal(settings.kill_margin_ms, 60000);
    assert_int_equal(settings.log_level, 1);
    helio_buffer_clear(&complaint);
}

static void settings__the_broker_is_told_which_tenants_have_a_user(void **state)
{
    (void)state;
    static const struct {
        const char *users;
        uint32_t count;
        bool acme, zeta;
    } cases[] = {
        {"[]", 0, false, false},
        {"[{tenant: zeta, unix: a}, {tenant: acme, user: ada, unix: b}, {tenant: acme, unix: c}]", 2, true, true},
        {"[{tenant: acme, unix: a}, {user: root, unix: b, shared: true}]", 2, true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_agent_settings_t settings;
        helio_buffer_t complaint = {0};
        char text[2000];
        (void)snprintf(text, sizeof text, "%.*s  users: %s\n", (int)(strstr(good, "  users:") - good), good,
                       cases[i].users);
        if (helio_agent_settings_load(write_file("site.yaml", text), arena, &settings, &complaint) != HELIO_OK)
            fail_msg("%s", complaint.data);
        assert_true(settings.site.tenants_reported);
        assert_int_equal(settings.site.tenants.count, cases[i].count);
        assert_int_equal(helio_site_maps(&settings.site, HELIO_TEXT("acme")), cases[i].acme);
        assert_int_equal(helio_site_maps(&settings.site, HELIO_TEXT("zeta")), cases[i].zeta);
        helio_buffer_clear(&complaint);
    }
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t many = {0}, complaint = {0};
    helio_buffer_printf(&many, "%.*s  users:\n", (int)(strstr(good, "  users:") - good), good);
    for (int i = 0; i <= HELIO_SITE_TENANTS_MAX; i++)
        helio_buffer_printf(&many, "  - {tenant: t%d, unix: a, shared: true}\n", i);
    helio_agent_settings_t settings;
    if (helio_agent_settings_load(write_file("site.yaml", many.data), arena, &settings, &complaint) != HELIO_OK)
        fail_msg("%s", complaint.data);
    assert_false(settings.site.tenants_reported); /* more than a message holds: the site itself refuses */
    assert_true(helio_site_maps(&settings.site, HELIO_TEXT("nobody")));
}

static void settings__an_unknown_time_zone_names_its_line_and_the_remedy(void **state)
{
    (void)state;
    static const char *const zones[] = {"Europe/Lulea", "CEST"};
    for (size_t i = 0; i < sizeof zones / sizeof zones[0]; i++) {
        helio_agent_settings_t settings;
        helio_buffer_t complaint = {0};
        char text[2000], expected[200];
        (void)snprintf(text, sizeof text, "%stimezone: %s\n", good, zones[i]);
        assert_int_not_equal(helio_agent_settings_load(write_file("site.yaml", text), arena, &settings, &complaint),
                             HELIO_OK);
        (void)snprintf(expected, sizeof expected,
                       "%s/site.yaml:13: error: timezone: this machine does not know the time zone '%s'", directory,
                       zones[i]);
        if (strncmp(complaint.data, expected, strlen(expected)) != 0 || !strstr(complaint.data, "tzdata"))
            fail_msg("%s", complaint.data);
        helio_buffer_clear(&complaint);
    }
}

static void settings__complete_power_and_read_feeds_tariff_and_windows(void **state)
{
    (void)state;
    helio_agent_settings_t settings;
    helio_buffer_t complaint = {0};
    char text[2000], expected[96];
    (void)snprintf(text, sizeof text,
                   "%s  feeds: [{signal: carbon, source: csv, path: de.csv}]\n"
                   "  tariff: [{when: \"22:00-06:00\", usd_per_kwh: 0.1}]\n"
                   "windows: [{pool: h100, reserve_gpus: 2, when: \"Mon..Fri 08:00-20:00\"}]\n",
                   good);
    assert_int_equal(helio_agent_settings_load(write_file("site.yaml", text), arena, &settings, &complaint), HELIO_OK);
    const helio_pool_t *pool = &settings.site.pools.items[0];
    assert_true(pool->base_w == 175 && pool->slope_w == 420 && pool->idle_w == 84); /* by the table of facts */
    assert_true(settings.feeds.feeds.count == 1 && settings.feeds.tariff.count == 1 &&
                settings.feeds.windows.count == 1);
    (void)snprintf(expected, sizeof expected, "%s/de.csv", directory);
    assert_string_equal(settings.feeds.feeds.items[0].path.data, expected);
    helio_buffer_clear(&complaint);
}

/*  The site file on the page about energy is one that an agent takes. */
static void settings__the_documents_site_file_is_accepted(void **state)
{
    (void)state;
    char page[32768];
    FILE *file = fopen(HELIO_SOURCE_DIR "/docs/energy.md", "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    char *text = strstr(page, "```yaml\n");
    assert_non_null(text);
    text += strlen("```yaml\n");
    char *over = strstr(text, "```");
    assert_non_null(over);
    *over = '\0';
    helio_agent_settings_t settings;
    helio_buffer_t complaint = {0};
    if (helio_agent_settings_load(write_file("site.yaml", text), arena, &settings, &complaint) != HELIO_OK)
        fail_msg("%s", complaint.data);
    assert_true(settings.feeds.feeds.count == 2 && settings.feeds.windows.count == 2 &&
                settings.feeds.tariff.count == 1);
    helio_buffer_clear(&complaint);
}

/*  The blocks of the page about clouds, each made a whole site file by what it leaves out. */
static void settings__the_blocks_of_the_page_about_clouds_are_accepted(void **state)
{
    (void)state;
    char page[32768], file[4096];
    FILE *pages = fopen(HELIO_SOURCE_DIR "/docs/sites/cloud.md", "r");
    assert_non_null(pages);
    page[fread(page, 1, sizeof page - 1, pages)] = '\0';
    assert_int_equal(fclose(pages), 0);
    uint32_t blocks = 0, spot = 0, prices = 0;
    for (char *at = page, *text; (text = strstr(at, "```yaml\n")); blocks++) {
        text += strlen("```yaml\n");
        char *over = strstr(text, "```"), *agent = strstr(text, "agent:\n");
        assert_true(over && agent && agent < over);
        *over = '\0';
        at = over + 1;
        bool pools = strstr(text, "pools:") != NULL, exec = strstr(text, "  exec:") != NULL;
        agent[0] = '\0';
        (void)snprintf(file, sizeof file,
                       "name: cloud\nbackend: exec\n%s%sagent:\n  broker: [\"tcp://b:1\"]\n"
                       "  broker_key: k\n%s%s",
                       text,
                       pools ? ("")
                             : ("pools: [{name: a100, gpu: A100, nodes: 1, gpus_per_node: 8}, "
                                "{name: a100-spot, gpu: A100, nodes: 1, gpus_per_node: 8}]\n"),
                       exec ? "" : "  exec: {command: [/bin/a], folder: /tmp}\n", agent + strlen("agent:\n"));
        helio_agent_settings_t settings;
        helio_buffer_t complaint = {0};
        if (helio_agent_settings_load(write_file("site.yaml", file), arena, &settings, &complaint) != HELIO_OK)
            fail_msg("%s\n%s", complaint.data, file);
        spot += settings.site.pools.items[0].spot;
        prices += settings.feeds.feeds.count;
        helio_buffer_clear(&complaint);
    }
    assert_int_equal(blocks, 4);
    assert_int_equal(spot, 1);
    assert_int_equal(prices, 2);
}

static void settings__errors_have_a_line_and_a_suggestion(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"name: x\nagent:\n  brokr: [a]\n", "did you mean 'broker'"},
        {"name: x\nagent:\n  broker: [a]\n  broker_key: k\n  attempts_max: 0\n", ":5:"},
        {"name: x\nagnt: {}\n", "did you mean 'agent'"},
        {"name: x\nagent:\n  broker_key: k\n", "broker"},
        {"name: x\nagent:\n  broker: [a]\n  broker_key: k\n  users: [{tenant: t}]\n", "unix"},
        {"name: x\nagent:\n  broker: [a]\n  broker_key: k\n  feeds: [{signal: carbn, source: csv}]\n",
         "did you mean 'carbon'"},
        {"name: x\nagent:\n  broker: [a]\n  broker_key: k\n  feeds: [{signal: carbon, source: csv}]\n",
         "feeds[0]: source csv needs a path"},
        {"name: x\nagent:\n  broker: [a]\n  broker_key: k\n  tariff: [{when: Mon, usd_per_kwh: 1}]\n",
         "at character 4"},
        {"name: x\nwindows: [{pool: p, reserve_gpus: 1}]\nagent:\n  broker: [a]\n  broker_key: k\n",
         "windows[0]: the site has no pool 'p'"},
        {"name: x\nbackend: local\ncontainers: true\nagent:\n  broker: [a]\n  broker_key: k\n",
         ":3: error: containers: true"},
        {"name: x\nbackend: local\nagent:\n  broker: [a]\n  broker_key: k\n  containers: dockr\n", "podman"},
        {"name: x\nbackend: local\nagent:\n  broker: [a]\n  broker_key: k\n  containers: command\n",
         "container_command"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_agent_settings_t settings;
        helio_buffer_t complaint = {0};
        assert_int_not_equal(
            helio_agent_settings_load(write_file("bad.yaml", cases[i].text), arena, &settings, &complaint), HELIO_OK);
        if (!strstr(complaint.data, cases[i].says))
            fail_msg("case %zu: '%s' says nothing of '%s'", i, complaint.data, cases[i].says);
        helio_buffer_clear(&complaint);
    }
}

/*  A job with an image must not be sent to a site that would refuse it. */
static void settings__a_runtime_that_is_not_installed_is_not_told_to_the_broker(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        bool told;
    } cases[] = {{"/bin/sh", true}, {"/no/such/runtime", false}};
    for (size_t i = 0; i < 2; i++) {
        char text[400];
        helio_agent_settings_t settings;
        helio_buffer_t complaint = {0};
        (void)snprintf(text, sizeof text,
                       "name: x\nbackend: local\nagent:\n  broker: [a]\n  broker_key: k\n  containers: command\n"
                       "  container_command: [%s, \"{image}\", \"{program}\"]\n",
                       cases[i].command);
        if (helio_agent_settings_load(write_file("site.yaml", text), arena, &settings, &complaint) != HELIO_OK)
            fail_msg("%s", complaint.data);
        assert_int_equal(settings.site.containers, cases[i].told);
        helio_buffer_clear(&complaint);
    }
}

static void settings__name_a_missing_file(void **state)
{
    (void)state;
    helio_agent_settings_t settings;
    helio_buffer_t complaint = {0};
    assert_int_equal(helio_agent_settings_load("/nonexistent/site.yaml", arena, &settings, &complaint),
                     HELIO_NOT_FOUND);
    assert_non_null(strstr(complaint.data, "/nonexistent/site.yaml"));
    helio_buffer_clear(&complaint);
}

static void broker_key__is_a_value_or_the_last_line_of_a_file(void **state)
{
    (void)state;
    helio_keypair_t pair;
    char text[128], key[41] = "";
    assert_int_equal(helio_keypair_new(&pair, NULL), HELIO_OK);
    helio_agent_settings_t settings = {.broker_key = helio_text_of(pair.public_key)};
    assert_int_equal(helio_agent_broker_key(&settings, key, NULL), HELIO_OK);
    assert_string_equal(key, pair.public_key);
    (void)snprintf(text, sizeof text, "wrote broker.key\n%s\n", pair.public_key);
    settings.broker_key = helio_text_of(write_file("broker.pub", text));
    key[0] = '\0';
    assert_int_equal(helio_agent_broker_key(&settings, key, NULL), HELIO_OK);
    assert_string_equal(key, pair.public_key);
    static const char *const bad[] = {"", "\n", "hello\n", "0123456789012345678901234567890123456789x\n"};
    helio_error_t err;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        settings.broker_key = helio_text_of(write_file("broker.pub", bad[i]));
        assert_int_equal(helio_agent_broker_key(&settings, key, &err), HELIO_INVALID);
        assert_non_null(strstr(err.text, "helio-broker keygen"));
    }
    settings.broker_key = HELIO_TEXT("/nonexistent/broker.pub");
    assert_int_equal(helio_agent_broker_key(&settings, key, &err), HELIO_NOT_FOUND);
}

static void state_dir__is_made_for_us_and_locked_against_a_second_agent(void **state)
{
    (void)state;
    char path[96];
    (void)snprintf(path, sizeof path, "%s/state", directory);
    int fd = -1, second = -1;
    helio_error_t err;
    assert_int_equal(helio_state_dir_lock(path, &fd, &err), HELIO_OK);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0711);
    assert_int_equal(helio_state_dir_lock(path, &second, &err), HELIO_CONFLICT);
    assert_non_null(strstr(err.text, "another agent runs with state_dir"));
    assert_int_equal(close(fd), 0);
    assert_int_equal(helio_state_dir_lock(path, &fd, &err), HELIO_OK);
    assert_int_equal(close(fd), 0);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(helio_state_dir_lock(path, &fd, &err), HELIO_FORBIDDEN);
    assert_non_null(strstr(err.text, "chmod go-w"));
    assert_int_equal(helio_state_dir_lock("/nonexistent/a/b", &fd, &err), HELIO_IO);
}

static void notify__reaches_the_supervisors_socket(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", directory);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
    helio_notify("READY=1");
    char text[32] = "";
    assert_int_equal(recv(fd, text, sizeof text - 1, MSG_DONTWAIT), 7);
    assert_string_equal(text, "READY=1");
    assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
    helio_notify("READY=1"); /* nobody asked */
    assert_int_equal(recv(fd, text, sizeof text - 1, MSG_DONTWAIT), -1);
    assert_int_equal(close(fd), 0);
}

static void reference__the_page_is_that_of_the_tables(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t page = {0};
    helio_agent_reference(&page);
    golden_check("docs/reference/agent.md", helio_buffer_view(&page));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(settings__are_read_with_paths_beside_the_file),
        TEST(settings__the_broker_is_told_which_tenants_have_a_user),
        TEST(settings__an_unknown_time_zone_names_its_line_and_the_remedy),
        TEST(settings__complete_power_and_read_feeds_tariff_and_windows),
        TEST(settings__the_documents_site_file_is_accepted),
        TEST(settings__the_blocks_of_the_page_about_clouds_are_accepted),
        TEST(settings__errors_have_a_line_and_a_suggestion),
        TEST(settings__a_runtime_that_is_not_installed_is_not_told_to_the_broker),
        TEST(settings__name_a_missing_file),
        TEST(reference__the_page_is_that_of_the_tables),
        TEST(broker_key__is_a_value_or_the_last_line_of_a_file),
        TEST(state_dir__is_made_for_us_and_locked_against_a_second_agent),
        TEST(notify__reaches_the_supervisors_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
