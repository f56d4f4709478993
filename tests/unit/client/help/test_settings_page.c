/*  The page of settings is that of the tables, and its example is a file that can be read. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/help/help.h"
#include "client/invocation/settings.h"
#include "tests/support/folder.h"
#include "tests/support/golden.h"

static void page__is_that_of_the_tables(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t page = {0};
    helio_settings_page(&page);
    golden_check("docs/reference/config.md", helio_buffer_view(&page));
}

static void put(const char *path, helio_text_t text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text.data, 1, text.size, file), text.size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

/*  The page's block of YAML. */
static helio_text_t example_of(const helio_buffer_t *page)
{
    static const char begin[] = "```yaml\n";
    const char *from = strstr(page->data, begin);
    assert_non_null(from);
    from += sizeof begin - 1;
    const char *to = strstr(from, "```");
    assert_non_null(to);
    return (helio_text_t){from, (uint32_t)(to - from)};
}

static void load(const char *root, const char *variable, helio_arena_t *arena, helio_settings_t *ret_settings)
{
    char config[128];
    (void)snprintf(config, sizeof config, "XDG_CONFIG_HOME=%s", root);
    char *environment[] = {config, (char *)(uintptr_t)variable, NULL};
    helio_client_io_t io = {.environment = environment, .interrupt_fd = -1};
    helio_command_line_t line;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t complaint = {0};
    helio_command_line_init(&line, &helio_client_options, arena);
    if (helio_settings_load(&io, &line, arena, ret_settings, &complaint) != HELIO_OK)
        fail_msg("%s", complaint.data);
}

static void example__parses_to_the_documented_values(void **state)
{
    (void)state;
    char root[] = "/tmp/helio-settings-page-XXXXXX", path[128];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t page = {0};
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    helio_settings_t settings;
    helio_settings_page(&page);
    assert_non_null(mkdtemp(root));
    (void)snprintf(path, sizeof path, "%s/helio", root);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/helio/config.yaml", root);
    put(path, example_of(&page));
    (void)snprintf(path, sizeof path, "%s/helio/token-production", root);
    put(path, HELIO_TEXT("hel_production\n"));
    (void)snprintf(path, sizeof path, "%s/helio/token-test", root);
    put(path, HELIO_TEXT("hel_test\n"));
    load(root, NULL, arena, &settings);
    assert_string_equal(settings.context, "production");
    assert_string_equal(settings.broker, "https://broker.example");
    assert_string_equal(settings.token, "hel_production");
    assert_string_equal(settings.output, "wide");
    assert_int_equal(settings.timeout_ms, 20000);
    load(root, "HELIO_CONTEXT=test", arena, &settings);
    assert_string_equal(settings.broker, "https://broker.test.example:8443");
    assert_string_equal(settings.token, "hel_test");
    (void)snprintf(path, sizeof path, "%s/helio/test-ca.pem", root);
    assert_string_equal(settings.ca_file, path);
    assert_int_equal(folder_remove(root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page__is_that_of_the_tables),
        cmocka_unit_test(example__parses_to_the_documented_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
