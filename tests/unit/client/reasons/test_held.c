/*  test_held.c -- of a held job every site of the table says how the job's attempts ended there, or why it had none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "client/output/output.h"
#include "client/reasons/held.h"
#include "client/reasons/why.h"

#define PLACED(epoch, site)                                                                                       \
    "{\"epoch\":" epoch ",\"from\":\"queued\",\"to\":\"offered\",\"reason\":\"placed at " site "\",\"details\":[" \
    "{\"code\":\"PlacedAt\",\"params\":{\"site\":\"" site "\",\"victims\":0}}]},"
#define ENDED(epoch, to, details) \
    "{\"epoch\":" epoch ",\"from\":\"starting\",\"to\":\"" to "\",\"reason\":\"as it came\",\"details\":" details "}"
#define NO_USER(site) \
    "{\"code\":\"SiteSays\",\"params\":{\"site\":\"" site "\",\"cause\":\"NoUserMapping\",\"explanation\":\"no 'x'\"}}"
#define HELD ",{\"code\":\"HeldAfterFailures\",\"params\":{}}"
#define CANDIDATE(site, more) \
    "{\"site\":\"" site "\",\"pool\":\"a\",\"cost_usd\":1,\"carbon_g\":1,\"score_usd\":1" more "}"
#define SUBMITTED "{\"epoch\":0,\"from\":null,\"to\":\"queued\",\"reason\":null,\"details\":null},"
#define RELEASED "{\"epoch\":1,\"from\":\"held\",\"to\":\"queued\",\"reason\":\"released\",\"details\":[]},"

static const char *attempts(const char *history, const char *site)
{
    static char text[256];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    json_t *reply = json_object();
    json_t *entries = json_loads(history, 0, NULL);
    assert_non_null(entries);
    assert_int_equal(json_object_set_new(reply, "history", entries), 0);
    helio_held_attempts(reply, site, &out);
    json_decref(reply);
    (void)snprintf(text, sizeof text, "%s", out.data ? out.data : "");
    return text;
}

static void attempts__are_told_by_the_site_that_they_were_placed_at(void **state)
{
    (void)state;
    static const struct {
        const char *history, *site, *expected;
    } cases[] = {
        {"[" SUBMITTED PLACED("1", "north") ENDED("1", "held", "[" NO_USER("north") HELD "]") "]", "north",
         "its attempt here ended: NoUserMapping: no 'x'"},
        {"[" SUBMITTED PLACED("1", "north") ENDED("1", "held", "[" NO_USER("north") HELD "]") "]", "south", ""},
        {"[" SUBMITTED PLACED("1", "north") ENDED("1", "queued", "[" NO_USER("north") "]") "," PLACED("2", "north")
             ENDED("2", "held", "[{\"code\":\"LeaseExpired\",\"params\":{}}]") "]",
         "north", "2 attempts here ended, the last: its lease expired while the site was silent"},
        /* the text as it came, where there is nothing else, or a code of a later release */
        {"[" PLACED("1", "north") ENDED("1", "held", "null") "]", "north", "its attempt here ended: as it came"},
        {"[" PLACED("1", "north") ENDED("1", "held", "[{\"code\":\"OfTomorrow\",\"params\":{}}]") "]", "north",
         "its attempt here ended: as it came"},
        /* attempts that ended before the release had another cause */
        {"[" PLACED("1", "north") ENDED("1", "held", "[" NO_USER("north") "]") "," RELEASED PLACED("2", "south")
             ENDED("2", "held", "[" NO_USER("south") "]") "]",
         "north", ""},
        {"[]", "north", ""},
        {"[7,null,{\"to\":\"offered\"},{\"to\":\"held\",\"from\":\"starting\"}]", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(attempts(cases[i].history, cases[i].site), cases[i].expected) != 0)
            fail_msg("case %zu: \"%s\"", i, attempts(cases[i].history, cases[i].site));
}

/*  North was tried last, and was "the only one that can run it" by the decision that placed it there. */
static void rows__of_a_held_job_mark_no_choice_and_say_something_of_every_site(void **state)
{
    (void)state;
    json_t *reply = json_loads(
        "{\"state\":\"held\",\"reason\":\"held\",\"chosen\":\"north\",\"chosen_pool\":\"a\",\"candidates\":[" CANDIDATE("north", "") "," CANDIDATE(
            "south",
            ",\"reason\":\"NoCapacity\",\"detail\":\"not tried again for now\"") "," CANDIDATE("east",
                                                                                               "") "," CANDIDATE("west",
                                                                                                                 ",\"reason\":\"NoSuchGPU\",\"detail\":\"has A100\"") "],\"history\":[" PLACED("1",
                                                                                                                                                                                               "south")
            ENDED("1", "queued", "[" NO_USER("south") "]") "," PLACED("2", "north")
                ENDED("2", "held", "[" NO_USER("north") HELD "]") "]}",
        0, NULL);
    static const char *const expected[] = {"its attempt here ended: NoUserMapping: no 'x'",
                                           "not tried: the job was held first",
                                           "its attempt here ended: NoUserMapping: no 'x'", "NoSuchGPU: has A100"};
    assert_non_null(reply);
    json_t *rows = helio_why_rows(reply, 0);
    assert_int_equal(json_array_size(rows), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(helio_output_string(json_array_get(rows, i), "why"), expected[i]);
        assert_string_equal(helio_output_string(json_array_get(rows, i), "chosen"), " ");
    }
    json_decref(rows);
    json_decref(reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts__are_told_by_the_site_that_they_were_placed_at),
        cmocka_unit_test(rows__of_a_held_job_mark_no_choice_and_say_something_of_every_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
