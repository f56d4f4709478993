/*  recorded.h -- documents for the tests of the Kubernetes backend: written beside the test, or recorded with a real API
 *  server (HELIO_DATA; without it the test is skipped). Freed after each test. */
#ifndef HELIO_TESTS_RECORDED_H
#define HELIO_TESTS_RECORDED_H

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/one_arena.h"

static json_t *documents; /* a list that holds what a test has read */

static inline int begin_documents(void **state)
{
    documents = json_array();
    return begin(state);
}

static inline int end_documents(void **state)
{
    json_decref(documents);
    documents = NULL;
    return end(state);
}

/*  Quotes are written as ' so that a document can be read in a C file. */
static inline json_t *written(const char *text)
{
    char *quoted = strdup(text);
    for (char *at = quoted; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    json_error_t why;
    json_t *document = json_loads(quoted, JSON_DECODE_ANY, &why);
    if (!document)
        fail_msg("%s: %s", why.text, text);
    free(quoted);
    json_array_append_new(documents, document);
    return document;
}

/*  The bytes of a recorded body: "core/10-node-list". */
static inline helio_text_t recorded_bytes(const char *name)
{
    const char *data = getenv("HELIO_DATA");
    const char *path =
        helio_arena_string(arena, helio_arena_printf(arena, "%s/kubernetes/%s.body", data ? data : "", name));
    FILE *file = fopen(path, "re");
    if (!file) {
        print_message("SKIPPED: recordings of a Kubernetes API: HELIO_DATA names no folder with kubernetes/%s.body\n",
                      name);
        skip();
    }
    char *bytes = helio_arena_alloc(arena, 1 << 20, 1);
    size_t size = fread(bytes, 1, (1 << 20) - 1, file);
    (void)fclose(file);
    return (helio_text_t){bytes, (uint32_t)size};
}

static inline json_t *recorded(const char *name)
{
    helio_text_t bytes = recorded_bytes(name);
    json_t *document = json_loadb(bytes.data, bytes.size, 0, NULL);
    assert_non_null(document);
    json_array_append_new(documents, document);
    return document;
}

static inline json_t *items(json_t *list)
{
    json_t *found = json_object_get(list, "items");
    assert_true(json_is_array(found));
    return found;
}

#define DOCUMENT_TEST(name) cmocka_unit_test_setup_teardown(name, begin_documents, end_documents)

#endif
