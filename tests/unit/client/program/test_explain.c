/*  What `helio explain` makes of the answers in tests/golden/explain (tests/unit/broker/http/test_explain.c
 * writes them): NAME.txt. HELIO_GOLDEN_WRITE=1 writes instead of comparing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <jansson.h>
#include <locale.h>

#include "tests/support/golden.h"
#include "tests/unit/client/program/broker_double.h"
#include "tests/unit/client/program/run_client.h"

#define KEPT "tests/golden/explain/"

static char *content_of(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    if (getdelim(&text, &size, '\0', file) < 0)
        fail_msg("%s is empty", path);
    fclose(file);
    return text;
}

static char *explained(const char *answer, const char *format)
{
    const rule_t rules[] = {{"GET /v1/jobs/abcdefgh/explain ", 0, 200, NULL, answer, WHOLE, 0}, {0}};
    broker_double_t *broker = broker_double_new(rules);
    char url[64], *out = NULL, *err = NULL;
    (void)snprintf(url, sizeof url, "HELIO_BROKER=http://127.0.0.1:%d", broker->port);
    char token[] = "HELIO_TOKEN=hel_abcdef_secret", *environment[] = {url, token, (char *)(uintptr_t) "TZ=UTC", NULL};
    int code = run_client(WORDS("explain", "abcdefgh", "-o", format), "", environment, NO_PRESSES, &out, &err);
    broker_double_stop(broker);
    assert_int_equal(broker_double_count(broker, "GET "), 1);
    broker_double_destroy(&broker);
    if (code != 0)
        fail_msg("exit %d: %s", code, err);
    free(err);
    return out;
}

static void explain__prints_the_golden_text_for_every_stored_reply(void **state)
{
    (void)state;
    DIR *folder = opendir(HELIO_SOURCE_DIR "/" KEPT);
    struct dirent *entry;
    int answers = 0;
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        char path[512];
        size_t size = strlen(entry->d_name);
        if (size < 6 || strcmp(entry->d_name + size - 5, ".json") != 0)
            continue;
        (void)snprintf(path, sizeof path, HELIO_SOURCE_DIR "/" KEPT "%s", entry->d_name);
        char *answer = content_of(path), *text = explained(answer, "table"), *json = explained(answer, "json");
        (void)snprintf(path, sizeof path, KEPT "%.*s.txt", (int)(size - 5), entry->d_name);
        golden_check(path, helio_text_of(text));
        for (const char *key = "\"expected\"\0\"ahead\"\0\"hints\"\0\"candidates\"\0"; *key; key += strlen(key) + 1)
            assert_non_null(strstr(json, key)); /* nothing of the answer is kept from programs */
        free(answer);
        free(text);
        free(json);
        answers++;
    }
    closedir(folder);
    assert_true(answers >= 6);
}

/*  A broker of the release before calls the term `move`, and one of this release calls it both. */
static void explain__the_disruption_term_is_the_same_whatever_the_broker_calls_it(void **state)
{
    (void)state;
    char *answer = content_of(HELIO_SOURCE_DIR "/" KEPT "better-site.json");
    json_t *older = json_loads(answer, 0, NULL), *newer = json_loads(answer, 0, NULL), *candidate;
    size_t i;
    assert_true(older && newer);
    json_array_foreach(json_object_get(older, "candidates"), i, candidate)
        assert_int_equal(json_object_del(json_object_get(candidate, "terms"), "disruption"), 0);
    json_array_foreach(json_object_get(newer, "candidates"), i, candidate)
        assert_int_equal(json_object_del(json_object_get(candidate, "terms"), "move"), 0);
    char *of_older = json_dumps(older, 0), *of_newer = json_dumps(newer, 0);
    char *text = explained(answer, "table"), *older_text = explained(of_older, "table"),
         *newer_text = explained(of_newer, "table");
    assert_non_null(strstr(text, ", disruption -$0.73\n"));
    assert_string_equal(older_text, text);
    assert_string_equal(newer_text, text);
    free(text);
    free(older_text);
    free(newer_text);
    free(of_older);
    free(of_newer);
    free(answer);
    json_decref(older);
    json_decref(newer);
}

int main(void)
{
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explain__prints_the_golden_text_for_every_stored_reply),
        cmocka_unit_test(explain__the_disruption_term_is_the_same_whatever_the_broker_calls_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
