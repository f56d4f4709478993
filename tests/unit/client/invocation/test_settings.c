/*  Which setting wins, and where a token never goes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/invocation/settings.h"

typedef struct world {
    char root[64];
    char system_path[128];
    char *environment[16];
    int variables;
    helio_command_line_t arguments;
    helio_arena_t *arena;
    helio_settings_t settings;
    helio_buffer_t complaint;
} world_t;

static void put(const char *path, const char *text, mode_t mode)
{
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void put_in(world_t *world, const char *name, const char *text, mode_t mode)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", world->root, name);
    put(path, text, mode);
}

static void set_variable(world_t *world, const char *text)
{
    world->environment[world->variables++] = strdup(text);
}

static void give(world_t *world, const char *option, const char *value)
{
    assert_int_equal(helio_command_line_take(&world->arguments, option, value, NULL), HELIO_OK);
}

static int set_up(void **state)
{
    world_t *world = helio_new(1, sizeof *world);
    char path[160];
    (void)snprintf(world->root, sizeof world->root, "/tmp/helio-settings-XXXXXX");
    if (!mkdtemp(world->root))
        return -1;
    (void)snprintf(path, sizeof path, "%s/config", world->root);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s/config/helio", world->root);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s/here", world->root);
    (void)mkdir(path, 0700);
    (void)snprintf(world->system_path, sizeof world->system_path, "%s/system.yaml", world->root);
    (void)snprintf(path, sizeof path, "XDG_CONFIG_HOME=%s/config", world->root);
    set_variable(world, path);
    world->arena = helio_arena_new();
    helio_command_line_init(&world->arguments, &helio_client_options, world->arena);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    world_t *world = *state;
    static const char *const names[] = {"system.yaml",
                                        "config/helio/config.yaml",
                                        "config/helio/token",
                                        "here/.helio.yaml",
                                        "here/token",
                                        "config/helio",
                                        "config",
                                        "here",
                                        ""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[160];
        (void)snprintf(path, sizeof path, "%s/%s", world->root, names[i]);
        (void)remove(path);
    }
    for (int i = 0; i < world->variables; i++)
        free(world->environment[i]);
    helio_arena_destroy(&world->arena);
    helio_buffer_clear(&world->complaint);
    free(world);
    return 0;
}

static helio_rc load(world_t *world)
{
    char here[160];
    (void)snprintf(here, sizeof here, "%s/here", world->root);
    helio_client_io_t io = {.environment = world->environment,
                            .directory = here,
                            .system_settings = world->system_path,
                            .interrupt_fd = -1};
    helio_buffer_clear(&world->complaint);
    return helio_settings_load(&io, &world->arguments, world->arena, &world->settings, &world->complaint);
}

static void load_well(world_t *world)
{
    if (load(world) != HELIO_OK)
        fail_msg("%s", world->complaint.data);
}

static void load_badly(world_t *world, const char *complaint)
{
    assert_int_equal(load(world), HELIO_INVALID);
    if (!strstr(world->complaint.data, complaint))
        fail_msg("'%s' is not in: %s", complaint, world->complaint.data);
}

static void settings__each_source_precedes_the_next(void **state)
{
    world_t *world = *state;
    load_well(world);
    assert_string_equal(world->settings.broker, "");
    assert_string_equal(world->settings.output, "table");
    put_in(world, "system.yaml", "broker: http://system/\noutput: csv\ntimeout: 5s\n", 0644);
    load_well(world);
    assert_string_equal(world->settings.broker, "http://system");
    put_in(world, "config/helio/config.yaml", "broker: http://user\n", 0600);
    load_well(world);
    assert_string_equal(world->settings.broker, "http://user");
    put_in(world, "here/.helio.yaml", "broker: http://here\n", 0644);
    load_well(world);
    assert_string_equal(world->settings.broker, "http://here");
    set_variable(world, "HELIO_BROKER=http://variable");
    load_well(world);
    assert_string_equal(world->settings.broker, "http://variable");
    assert_string_equal(world->settings.broker_from, "HELIO_BROKER");
    give(world, "broker", "https://flag:8443/base/");
    load_well(world);
    assert_string_equal(world->settings.broker, "https://flag:8443/base");
    assert_string_equal(world->settings.output, "csv");
    assert_int_equal(world->settings.timeout_ms, 5000);
    set_variable(world, "HELIO_OUTPUT=json");
    load_well(world);
    assert_string_equal(world->settings.output, "json");
}

static void settings__contexts_are_chosen_by_flag_variable_or_file(void **state)
{
    world_t *world = *state;
    put_in(world, "config/helio/config.yaml",
           "broker: http://top\ncontext: b\ncontexts:\n"
           "  - {name: a, broker: http://a, token: hel_a}\n  - {name: b, broker: http://b, token_file: token}\n",
           0600);
    put_in(world, "config/helio/token", "hel_b\n", 0600);
    load_well(world);
    assert_string_equal(world->settings.broker, "http://b");
    assert_string_equal(world->settings.token, "hel_b");
    put_in(world, "here/.helio.yaml", "context: a\n", 0644);
    load_well(world);
    assert_string_equal(world->settings.broker, "http://a");
    assert_string_equal(world->settings.token, "hel_a");
    put_in(world, "here/.helio.yaml", "broker: http://here\n", 0644);
    set_variable(world, "HELIO_CONTEXT=b");
    load_well(world);
    assert_string_equal(world->settings.broker, "http://b");
    give(world, "context", "c");
    load_badly(world, "no settings file defines this context");
}

static void settings__a_directory_never_gets_a_token_for_another_broker(void **state)
{
    world_t *world = *state;
    put_in(world, "config/helio/config.yaml", "broker: http://mine\ntoken: hel_mine\n", 0600);
    put_in(world, "here/.helio.yaml", "broker: http://evil\n", 0644);
    load_well(world);
    assert_string_equal(world->settings.broker, "http://evil");
    assert_string_equal(world->settings.token, "");
    assert_string_not_equal(world->settings.withheld_from, "");
    /* The same broker is no other broker, and a flag is the user's own word. */
    put_in(world, "here/.helio.yaml", "broker: http://mine/\n", 0644);
    load_well(world);
    assert_string_equal(world->settings.token, "hel_mine");
    put_in(world, "here/.helio.yaml", "broker: http://evil\n", 0644);
    give(world, "broker", "http://evil");
    load_well(world);
    assert_string_equal(world->settings.token, "hel_mine");
}

static void settings__a_directory_can_have_its_own_token_or_use_the_variable(void **state)
{
    world_t *world = *state;
    put_in(world, "here/.helio.yaml", "broker: http://here\ntoken_file: token\n", 0644);
    put_in(world, "here/token", "hel_here", 0600);
    load_well(world);
    assert_string_equal(world->settings.token, "hel_here");
    set_variable(world, "HELIO_TOKEN=hel_variable");
    load_well(world);
    assert_string_equal(world->settings.token, "hel_variable");
    assert_string_equal(world->settings.token_from, "HELIO_TOKEN");
}

static void settings__a_token_that_others_can_read_is_refused(void **state)
{
    world_t *world = *state;
    put_in(world, "config/helio/config.yaml", "broker: http://b\ntoken_file: token\n", 0644);
    put_in(world, "config/helio/token", "hel_secretly\n", 0640);
    load_badly(world, "other users can read");
    assert_null(strstr(world->complaint.data, "hel_secretly"));
    put_in(world, "config/helio/config.yaml", "broker: http://b\ntoken: hel_secretly\n", 0644);
    load_badly(world, "other users can read");
    assert_null(strstr(world->complaint.data, "hel_secretly"));
}

static void settings__tokens_cannot_forge_headers(void **state)
{
    world_t *world = *state;
    static const char *const bad[] = {"hel_a\r\nX-Evil: 1", "hel a", "hel_\xc3\xa9", "\n", ""};
    put_in(world, "config/helio/config.yaml", "broker: http://b\ntoken_file: token\n", 0644);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put_in(world, "config/helio/token", bad[i], 0600);
        load_badly(world, "holds no token");
    }
}

static void settings__errors_name_the_value_and_its_place(void **state)
{
    world_t *world = *state;
    put_in(world, "config/helio/config.yaml", "brokr: http://b\n", 0600);
    load_badly(world, "config.yaml:1:1");
    load_badly(world, "broker");
    put_in(world, "config/helio/config.yaml", "broker: ftp://b\n", 0600);
    load_badly(world, "must be a URL");
    put_in(world, "config/helio/config.yaml", "broker: http://user:secret@b\n", 0600);
    load_badly(world, "must be a URL");
    put_in(world, "config/helio/config.yaml", "broker: http://b\noutput: toml\n", 0600);
    load_badly(world, "config.yaml: output: 'toml' is not one of table wide json jsonl csv name yaml");
    put_in(world, "config/helio/config.yaml", "broker: http://b\noutput: jsn\n", 0600);
    load_badly(world, "did you mean 'json'?");
    put_in(world, "config/helio/config.yaml", "broker: http://b\noutput: JSON\n", 0600);
    load_badly(world, "did you mean 'json'?");
    put_in(world, "config/helio/config.yaml", "broker: http://b\ncolor: pink\n", 0600);
    load_badly(world, "config.yaml: color: 'pink' is not one of auto always never");
    put_in(world, "config/helio/config.yaml", "broker: http://b\noutput: toml\n", 0600);
    set_variable(world, "HELIO_OUTPUT=tabel"); /* before what the file says */
    load_badly(world, "HELIO_OUTPUT: output: 'tabel' is not one of table");
}

/*  `helio doctor` goes on without it; what needs the broker does not. */
static void settings__a_missing_token_file_is_named_with_what_names_it(void **state)
{
    world_t *world = *state;
    put_in(world, "config/helio/config.yaml", "broker: http://b\ntoken_file: absent\n", 0600);
    load_well(world);
    assert_string_equal(world->settings.token, "");
    assert_non_null(strstr(world->settings.token_missing, "config/helio/absent"));
    assert_non_null(strstr(world->settings.token_from, "config/helio/config.yaml"));
    set_variable(world, "HELIO_TOKEN=hel_abcdef_secret"); /* before what the file says */
    load_well(world);
    assert_string_equal(world->settings.token_missing, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(settings__each_source_precedes_the_next),
        TEST(settings__contexts_are_chosen_by_flag_variable_or_file),
        TEST(settings__a_directory_never_gets_a_token_for_another_broker),
        TEST(settings__a_directory_can_have_its_own_token_or_use_the_variable),
        TEST(settings__a_token_that_others_can_read_is_refused),
        TEST(settings__tokens_cannot_forge_headers),
        TEST(settings__errors_name_the_value_and_its_place),
        TEST(settings__a_missing_token_file_is_named_with_what_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
