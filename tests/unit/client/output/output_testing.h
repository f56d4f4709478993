/*  output_testing.h -- what helio prints for rows or for one object, as text. */
#ifndef HELIO_TESTS_CLIENT_OUTPUT_TESTING_H
#define HELIO_TESTS_CLIENT_OUTPUT_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/output/output.h"
#include "federation/base/clock.h"

/*  The caller frees the text. */
static inline char *print_json(const json_t *json, helio_format_t format, bool colour, bool object,
                               helio_columns_t columns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    helio_output_t output = {.stream = stream, .format = format, .colour = colour};
    assert_int_equal(helio_rfc3339_parse(HELIO_TEXT("2026-11-22T07:02:03Z"), &output.wall_ms), HELIO_OK);
    helio_rc rc = object ? helio_output_object(&output, json, columns) : helio_output_rows(&output, json, columns);
    assert_int_equal(rc, HELIO_OK);
    assert_int_equal(fclose(stream), 0);
    char *copy = strdup(text); /* the compiler takes the stream's own text for one that ended with this function */
    free(text);
    return copy;
}

static inline char *print_text(const char *json_text, helio_format_t format, bool colour, bool object,
                               helio_columns_t columns)
{
    json_t *json = json_loads(json_text, 0, NULL);
    assert_non_null(json);
    char *text = print_json(json, format, colour, object, columns);
    json_decref(json);
    return text;
}

#endif
