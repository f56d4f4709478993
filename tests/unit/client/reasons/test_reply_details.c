/*  test_reply_details.c -- codes and parameters of a reply, whatever a broker of another release, or none at all,
 *  sends. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "client/reasons/reply_details.h"
#include "federation/base/clock.h"

static json_t *parsed(const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    if (!json)
        fail_msg("no JSON: %s", text);
    return json;
}

#define LATE "{\"code\":\"SiteLate\",\"params\":{}}"
#define QUOTA \
    "{\"code\":\"QuotaInUse\",\"params\":{\"tenant\":\"acme\",\"used_gpus\":7,\"limit_gpus\":8,\"needed_gpus\":2}}"

static const char *const strange[] = {"{}",
                                      "{\"details\":null}",
                                      "{\"details\":7}",
                                      "{\"details\":\"SiteLate\"}",
                                      "{\"details\":{\"code\":\"SiteLate\"}}",
                                      "{\"details\":[]}",
                                      "{\"details\":[null]}",
                                      "{\"details\":[[]]}",
                                      "{\"details\":[{}]}",
                                      "{\"details\":[{\"code\":7}]}",
                                      "{\"details\":[{\"code\":null,\"params\":null}]}",
                                      "{\"details\":[{\"code\":\"\"}]}",
                                      "{\"details\":[{\"code\":\"sitelate\"}]}",
                                      "[]",
                                      "7",
                                      "null"};

static void details__are_found_by_their_code_alone(void **state)
{
    (void)state;
    static const struct {
        const char *object;
        bool late, quota;
    } cases[] = {
        {"{\"details\":[" LATE "]}", true, false},
        {"{\"details\":[" QUOTA "," LATE "]}", true, true},
        {"{\"details\":[{\"code\":\"OfANewerBroker\"}," LATE "]}", true, false},
        {"{\"details\":[null,7," LATE "]}", true, false},
        {"{\"detail\":\"not tried for now: the site is late to report\"}", false, false}, /* a sentence is no code */
        {"{\"details\":[{\"code\":\"SiteLate\"}]}", true, false},                         /* without parameters */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *json = parsed(cases[i].object);
        assert_int_equal(helio_reply_has_detail(json, HELIO_DETAIL_SITE_LATE), cases[i].late);
        assert_int_equal(helio_reply_has_detail(json, HELIO_DETAIL_QUOTA_IN_USE), cases[i].quota);
        json_decref(json);
    }
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        json_t *json = parsed(strange[i]);
        for (uint32_t code = 1; code < HELIO_DETAIL_CODE_COUNT; code++)
            if (helio_reply_has_detail(json, (helio_detail_code_t)code))
                fail_msg("%s has %s", strange[i], helio_detail_entry(code)->word);
        json_decref(json);
    }
    assert_false(helio_reply_has_detail(NULL, HELIO_DETAIL_SITE_LATE));
}

static void params__are_those_of_the_first_detail_that_has_one(void **state)
{
    (void)state;
    json_t *list =
        parsed("[" LATE "," QUOTA ",{\"code\":\"X\",\"params\":{\"tenant\":\"other\",\"until\":null}},7,null]");
    assert_string_equal(json_string_value(helio_reply_param(list, "tenant")), "acme");
    assert_int_equal(json_integer_value(helio_reply_param(list, "limit_gpus")), 8);
    assert_true(json_is_null(helio_reply_param(list, "until")));
    assert_null(helio_reply_param(list, "Tenant"));
    assert_null(helio_reply_param(list, ""));
    assert_null(helio_reply_param(NULL, "tenant"));
    json_decref(list);
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        json_t *json = parsed(strange[i]);
        assert_null(helio_reply_param(json_object_get(json, "details"), "tenant"));
        assert_null(helio_reply_param(json, "tenant")); /* not a list at all */
        json_decref(json);
    }
}

static void sentences__are_those_of_the_codes_that_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *list, *text;
    } cases[] = {
        {"[" LATE "]", "not tried for now: the site is late to report"},
        {"[" QUOTA "," LATE "]",
         "quota of acme: 7 of 8 GPUs in use, it needs 2; not tried for now: the site is late to report"},
        {"[" LATE ",{\"code\":\"OfANewerBroker\",\"params\":{}}]", "not tried for now: the site is late to report"},
        {"[]", ""},
        {"null", ""},
        {"7", ""},
        {"{}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *list = parsed(cases[i].list);
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_reply_sentences(list, &text);
        assert_string_equal(text.data ? text.data : "", cases[i].text);
        json_decref(list);
    }
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t none = {0};
    helio_reply_sentences(NULL, &none);
    assert_int_equal(none.size, 0);
}

static void details__are_equal_if_there_are_some_and_they_are_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"{\"details\":[" LATE "]}", "{\"details\":[" LATE "]}", true},
        {"{\"details\":[" QUOTA "]}", "{\"details\":[" QUOTA "]}", true},
        {"{\"details\":[" QUOTA "," LATE "]}", "{\"details\":[" LATE "," QUOTA "]}", false}, /* the first dominates */
        {"{\"details\":[" LATE "]}", "{\"details\":[" LATE "," LATE "]}", false},
        {"{\"details\":[]}", "{\"details\":[]}", false},
        {"{}", "{}", false},
        {"{\"details\":null}", "{\"details\":null}", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *a = parsed(cases[i].a), *b = parsed(cases[i].b);
        assert_int_equal(helio_reply_details_equal(a, b), cases[i].equal);
        assert_int_equal(helio_reply_details_equal(b, a), cases[i].equal);
        json_decref(a);
        json_decref(b);
    }
}

/*  Times that have passed are left out, and nothing else is. */
static void sentence__without_past_times(void **state)
{
    (void)state;
    static const struct {
        const char *details, *text; /* NULL: "detail" is the best text */
    } cases[] = {
        {"[{\"code\":\"NoGPUFree\",\"params\":{\"until\":\"2026-03-01T01:00:00Z\"}}]", "no GPU is free"},
        {"[{\"code\":\"NoGPUFree\",\"params\":{\"until\":\"2026-03-01T02:00:00Z\"}}]", "no GPU is free"}, /* just now */
        {"[{\"code\":\"NoGPUFree\",\"params\":{\"until\":\"2026-03-01T02:00:01Z\"}}]", NULL},
        {"[{\"code\":\"NoGPUFree\",\"params\":{}}]", NULL},
        {"[{\"code\":\"GPUsFree\",\"params\":{\"free_gpus\":2,\"until\":\"2026-03-01T01:00:00Z\",\"needed_gpus\":8}}]",
         "only 2 of 8 GPUs are free"},
        {"[{\"code\":\"AboveMaxCost\",\"params\":{\"cost_usd\":12,\"max_cost_usd\":10,\"until\":\"2026-03-01T01:00:00Z\"}}]",
         "$12.00 > max_cost $10.00"},
        {"[{\"code\":\"BoundEnds\",\"params\":{\"until\":\"2026-03-01T01:00:00Z\"}}]",
         ""}, /* it was all that it said */
        {"[" LATE ",{\"code\":\"NoGPUFree\",\"params\":{\"until\":\"2026-03-01T01:00:00Z\"}}]",
         "not tried for now: the site is late to report; no GPU is free"},
        {"[{\"code\":\"OfANewerBroker\"},{\"code\":\"NoGPUFree\",\"params\":{\"until\":\"2026-03-01T01:00:00Z\"}}]",
         NULL},
        {"[]", NULL},
        {"null", NULL},
        {"7", NULL},
    };
    int64_t now_ms;
    assert_int_equal(helio_rfc3339_parse(HELIO_TEXT("2026-03-01T02:00:00Z"), &now_ms), HELIO_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char object[600];
        (void)snprintf(object, sizeof object, "{\"details\":%s}", cases[i].details);
        json_t *json = parsed(object);
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        bool told = helio_reply_sentence_without_past(json, now_ms, &text);
        if (told != (cases[i].text != NULL) || strcmp(text.data ? text.data : "", told ? cases[i].text : "") != 0)
            fail_msg("case %zu: %d \"%s\"", i, told, text.data);
        json_decref(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(details__are_found_by_their_code_alone),
        cmocka_unit_test(params__are_those_of_the_first_detail_that_has_one),
        cmocka_unit_test(sentences__are_those_of_the_codes_that_are_known),
        cmocka_unit_test(details__are_equal_if_there_are_some_and_they_are_the_same),
        cmocka_unit_test(sentence__without_past_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
