/*  The tables of the model: states of a job, and the words that files, rows and messages share. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "federation/model/attempt.h"
#include "federation/model/site.h"

static void state__queued_is_first_and_stored_values_do_not_change(void **state)
{
    (void)state;
    static const char *const stored[] = {"queued",    "offered",   "accepted", "starting",  "running",
                                         "suspended", "stopping",  "suspect",  "succeeded", "failed",
                                         "timeout",   "cancelled", "lost",     "held"};
    assert_int_equal(HELIO_JOB_STATE_COUNT, sizeof stored / sizeof stored[0]);
    for (uint32_t s = 0; s < HELIO_JOB_STATE_COUNT; s++)
        assert_string_equal(helio_job_state_name(s), stored[s]);
}

static void state__every_one_can_be_reached_from_queued(void **state)
{
    (void)state;
    uint32_t reached = 1U << HELIO_JOB_QUEUED, before = 0;
    while (reached != before) {
        before = reached;
        for (uint32_t s = 0; s < HELIO_JOB_STATE_COUNT; s++)
            if (before >> s & 1)
                reached |= helio_job_state_edge_mask(s);
    }
    assert_int_equal(reached, (1U << HELIO_JOB_STATE_COUNT) - 1);
}

static void state__a_terminal_one_is_left_by_no_edge_and_every_other_one_can_end(void **state)
{
    (void)state;
    uint32_t ends = 0, before = 1;
    for (uint32_t s = 0; s < HELIO_JOB_STATE_COUNT; s++) {
        assert_true(helio_job_state_is_terminal(s) == (helio_job_state_edge_mask(s) == 0));
        assert_false(helio_job_state_is_terminal(s) && helio_job_state_is_live(s));
        ends |= helio_job_state_is_terminal(s) ? 1U << s : 0;
    }
    while (ends != before) {
        before = ends;
        for (uint32_t s = 0; s < HELIO_JOB_STATE_COUNT; s++)
            if (helio_job_state_edge_mask(s) & before)
                ends |= 1U << s;
    }
    assert_int_equal(ends, (1U << HELIO_JOB_STATE_COUNT) - 1);
}

static void state__edge_mask_and_reason_agree_and_nothing_leads_to_itself(void **state)
{
    (void)state;
    for (uint32_t from = 0; from < HELIO_JOB_STATE_COUNT; from++)
        for (uint32_t to = 0; to < HELIO_JOB_STATE_COUNT; to++) {
            bool listed = helio_job_state_edge(from, to);
            assert_true(listed == ((helio_job_state_edge_mask(from) >> to & 1) != 0));
            assert_true(listed == (helio_job_state_edge_why(from, to) != NULL));
            assert_false(listed && from == to);
            assert_false(listed && !helio_job_state_edge_why(from, to)[0]);
        }
}

/*  The promises of the table, in the words of the delivery document. */
static void state__a_live_attempt_needs_proof_of_its_end(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < HELIO_JOB_STATE_COUNT; s++) {
        if (!helio_job_state_is_live(s))
            continue;
        if (s != HELIO_JOB_SUSPECT) {
            assert_true(helio_job_state_edge(s, HELIO_JOB_SUSPECT)); /* any site may fall silent */
            assert_true(helio_job_state_edge(HELIO_JOB_SUSPECT, s)); /* and come back */
        }
        if (s != HELIO_JOB_STOPPING)
            assert_true(helio_job_state_edge(s, HELIO_JOB_STOPPING));
    }
    /* only a stop that was answered, or a site that was given up, cancels what a site has */
    for (uint32_t s = 0; s < HELIO_JOB_STATE_COUNT; s++)
        if (helio_job_state_edge(s, HELIO_JOB_CANCELLED))
            assert_true(!helio_job_state_is_live(s) || s == HELIO_JOB_STOPPING || s == HELIO_JOB_SUSPECT);
    for (uint32_t s = 0; s < HELIO_JOB_STATE_COUNT; s++)
        if (helio_job_state_edge(s, HELIO_JOB_LOST))
            assert_int_equal(s, HELIO_JOB_SUSPECT);
    /* an end is a report of a site that is heard, about an attempt that was started */
    static const uint32_t ends[] = {HELIO_JOB_SUCCEEDED, HELIO_JOB_FAILED, HELIO_JOB_TIMEOUT};
    static const uint32_t before[] = {HELIO_JOB_QUEUED, HELIO_JOB_OFFERED, HELIO_JOB_ACCEPTED, HELIO_JOB_SUSPECT,
                                      HELIO_JOB_HELD};
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
        for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++)
            assert_false(helio_job_state_edge(before[i], ends[k]));
    assert_int_equal(helio_job_state_edge_mask(HELIO_JOB_HELD), 1U << HELIO_JOB_QUEUED | 1U << HELIO_JOB_CANCELLED);
}

static void state__outside_the_table_is_unknown_and_leads_nowhere(void **state)
{
    (void)state;
    static const uint32_t outside[] = {HELIO_JOB_STATE_COUNT, 31, 32, UINT32_MAX};
    for (int i = 0; i < 4; i++) {
        assert_string_equal(helio_job_state_name(outside[i]), "unknown");
        assert_false(helio_job_state_is_live(outside[i]) || helio_job_state_is_terminal(outside[i]));
        assert_int_equal(helio_job_state_edge_mask(outside[i]), 0);
        assert_false(helio_job_state_edge(HELIO_JOB_QUEUED, outside[i]));
    }
    uint32_t kept = 77;
    assert_int_equal(helio_job_state_of(HELIO_TEXT("Queued"), &kept), HELIO_NOT_FOUND);
    assert_int_equal(helio_job_state_of(HELIO_TEXT(""), &kept), HELIO_NOT_FOUND);
    assert_int_equal(helio_job_state_of(HELIO_TEXT("unknown"), &kept), HELIO_NOT_FOUND);
    assert_int_equal(kept, 77);
}

typedef struct vocabulary {
    const char *name;
    uint32_t count;
    const char *(*word)(uint32_t value);
    helio_rc (*of)(helio_text_t word, uint32_t *ret_value);
} vocabulary_t;

static const vocabulary_t vocabularies[] = {
    {"job state", HELIO_JOB_STATE_COUNT, helio_job_state_name, helio_job_state_of},
    {"job kind", HELIO_JOB_KIND_COUNT, helio_job_kind_name, helio_job_kind_of},
    {"tier", HELIO_TIER_COUNT, helio_tier_name, helio_tier_of},
    {"site loss", HELIO_SITE_LOSS_COUNT, helio_site_loss_name, helio_site_loss_of},
    {"interconnect", HELIO_INTERCONNECT_COUNT, helio_interconnect_name, helio_interconnect_of},
    {"sharing", HELIO_SHARING_COUNT, helio_sharing_name, helio_sharing_of},
    {"goal", HELIO_GOAL_COUNT, helio_goal_name, helio_goal_of},
    {"better site", HELIO_BETTER_SITE_COUNT, helio_better_site_name, helio_better_site_of},
    {"spot", HELIO_SPOT_COUNT, helio_spot_name, helio_spot_of},
    {"data mode", HELIO_DATA_MODE_COUNT, helio_data_mode_name, helio_data_mode_of},
    {"signal", HELIO_SIGNAL_COUNT, helio_signal_name, helio_signal_of},
    {"site state", HELIO_SITE_STATE_COUNT, helio_site_state_name, helio_site_state_of},
    {"report kind", HELIO_REPORT_KIND_COUNT, helio_report_kind_name, helio_report_kind_of},
    {"verdict", HELIO_VERDICT_COUNT, helio_verdict_name, helio_verdict_of},
    {"stop mode", HELIO_STOP_MODE_COUNT, helio_stop_mode_name, helio_stop_mode_of},
};

static void words__are_unique_lower_case_and_map_back_to_their_value(void **state)
{
    (void)state;
    for (size_t v = 0; v < sizeof vocabularies / sizeof vocabularies[0]; v++) {
        const vocabulary_t *voc = &vocabularies[v];
        for (uint32_t i = 0; i < voc->count; i++) {
            const char *word = voc->word(i);
            if (!word[0] || strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-_") != strlen(word))
                fail_msg("%s: '%s'", voc->name, word);
            uint32_t value = UINT32_MAX;
            assert_int_equal(voc->of(helio_text_of(word), &value), HELIO_OK);
            assert_int_equal(value, i);
            for (uint32_t k = 0; k < i; k++)
                assert_string_not_equal(word, voc->word(k));
        }
        assert_string_equal(voc->word(voc->count), "unknown");
        assert_string_equal(voc->word(UINT32_MAX), "unknown");
        uint32_t kept = 5;
        assert_int_equal(voc->of(HELIO_TEXT("no such word"), &kept), HELIO_NOT_FOUND);
        assert_int_equal(voc->of((helio_text_t){0}, &kept), HELIO_NOT_FOUND);
        assert_int_equal(kept, 5);
    }
}

static void words__of_site_loss_are_those_of_the_delivery_document(void **state)
{
    (void)state;
    assert_string_equal(helio_site_loss_name(0), "strict"); /* what is not said is the safest */
    assert_string_equal(helio_site_loss_name(HELIO_SITE_LOSS_LEASE), "lease");
    assert_string_equal(helio_site_loss_name(HELIO_SITE_LOSS_EAGER), "eager");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state__queued_is_first_and_stored_values_do_not_change),
        cmocka_unit_test(state__every_one_can_be_reached_from_queued),
        cmocka_unit_test(state__a_terminal_one_is_left_by_no_edge_and_every_other_one_can_end),
        cmocka_unit_test(state__edge_mask_and_reason_agree_and_nothing_leads_to_itself),
        cmocka_unit_test(state__a_live_attempt_needs_proof_of_its_end),
        cmocka_unit_test(state__outside_the_table_is_unknown_and_leads_nowhere),
        cmocka_unit_test(words__are_unique_lower_case_and_map_back_to_their_value),
        cmocka_unit_test(words__of_site_loss_are_those_of_the_delivery_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
