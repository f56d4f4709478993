/*  test_witness.c -- what an attempt is charged, whatever its status files, its scheduler's times and the clocks say, also
 *  after a restart of the agent: the journal has what the one before it saw. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "federation/reason/codes.h"
#include "site-agent/backends/folder/witness.h"

#define HOUR_MS INT64_C(3600000)
#define MINUTE_MS INT64_C(60000)
#define WALL INT64_C(1790000000000)
#define BOOT (100 * HOUR_MS)
#define LAUNCH INT64_C(10000)
#define SLACK INT64_C(15000)

/*  As if its agent had been asked, and had seen it, so long ago: what a new agent reads. 0 = never. */
static helio_evidence_t journal_of(int64_t asked_ago_ms, int64_t shown_ago_ms, int64_t shown_for_ms)
{
    helio_evidence_t evidence = {.shown_for_ms = (uint64_t)shown_for_ms};
    if (asked_ago_ms) {
        evidence.asked_wall_ms = WALL - asked_ago_ms;
        evidence.asked_boot_ms = BOOT - asked_ago_ms;
    }
    if (shown_ago_ms) {
        evidence.shown_wall_ms = WALL - shown_ago_ms;
        evidence.shown_boot_ms = BOOT - shown_ago_ms;
    }
    return evidence;
}

static helio_charged_t charged_of(const helio_witness_t *witness)
{
    return (helio_charged_t){.witness = witness,
                             .claimed = true,
                             .launch_ms = LAUNCH,
                             .scheduler = "the engine",
                             .now_boot_ms = BOOT,
                             .now_wall_ms = WALL};
}

/*  What is charged if `done` says so; 0: no file shows a run. */
static uint64_t charge_of(const helio_charged_t *what, uint64_t said_ms)
{
    char explanation[HELIO_CHARGE_TEXT_SIZE] = "";
    helio_aev_backend_t end = {.word = said_ms ? HELIO_BACKEND_REPORT_ENDED : HELIO_BACKEND_REPORT_FAILED_TO_START,
                               .run_ms = said_ms,
                               .ended_wall_ms = what->now_wall_ms};
    if (said_ms)
        end.started_wall_ms = what->now_wall_ms - (int64_t)(said_ms < 100 * HOUR_MS ? said_ms : 100 * HOUR_MS);
    helio_charge(what, &end, explanation);
    assert_true(end.run_ms == said_ms || explanation[0]);
    assert_true(end.started_wall_ms <= end.ended_wall_ms && end.ended_wall_ms <= what->now_wall_ms);
    return end.run_ms;
}

static uint64_t least_of(const helio_charged_t *what)
{
    return charge_of(what, 1);
}

static uint64_t most_of(const helio_charged_t *what)
{
    return charge_of(what, INT64_MAX / 2);
}

/* ---- the scheduler's times ----------------------------------------------------------------------------- */

static void no_run_is_longer_than_the_time_since_its_submission_whatever_the_scheduler_says(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++)
        for (int ended = 0; ended < 2; ended++) {
            helio_witness_t witness = {.start_ms = WALL - 10 * HOUR_MS, .end_ms = ended ? WALL : 0};
            const helio_evidence_t journal = journal_of(HOUR_MS, 0, 0);
            helio_charged_t what = charged_of(&witness);
            if (own)
                what.asked_ms = BOOT - HOUR_MS;
            else
                helio_witness_recall(&witness, &journal);
            helio_witness_shown(&witness, BOOT - 2000);
            helio_witness_shown(&witness, BOOT);
            assert_int_equal(most_of(&what), HOUR_MS + SLACK);
            assert_true(least_of(&what) <= (uint64_t)HOUR_MS);
            assert_true(charge_of(&what, 0) <= (uint64_t)HOUR_MS);
        }
}

static void a_begin_that_is_too_late_shortens_no_run_that_lists_showed(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++)
        for (int ended = 0; ended < 2; ended++) {
            helio_witness_t witness = {.start_ms = WALL - MINUTE_MS, .end_ms = ended ? WALL : 0};
            const helio_evidence_t journal = journal_of(3 * HOUR_MS, 2 * HOUR_MS, 0);
            helio_charged_t what = charged_of(&witness);
            helio_witness_shown(&witness, own ? BOOT - 2 * HOUR_MS : BOOT - 2000);
            helio_witness_shown(&witness, BOOT);
            if (own)
                what.asked_ms = BOOT - 3 * HOUR_MS;
            else
                helio_witness_recall(&witness, &journal);
            assert_int_equal(least_of(&what), 2 * HOUR_MS - LAUNCH - SLACK);
            assert_int_equal(most_of(&what), ended ? 2 * HOUR_MS - LAUNCH - SLACK : 3 * HOUR_MS + SLACK);
        }
}

/* ---- hidden runs --------------------------------------------------------------------------------------- */

/*  The scheduler tells no times, and a new agent's lists show it for four seconds, or not at all. */
static void a_run_that_hides_is_charged_for_what_an_earlier_agent_saw(void **state)
{
    (void)state;
    static const struct {
        bool listed;
        int64_t shown_for_ms, expected_ms;
    } cases[] = {{true, 0, 2 * HOUR_MS - LAUNCH - SLACK},
                 {true, HOUR_MS, 2 * HOUR_MS - LAUNCH - SLACK},
                 {false, HOUR_MS, HOUR_MS - LAUNCH - SLACK},
                 {false, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_witness_t witness = {0};
        const helio_evidence_t journal = journal_of(3 * HOUR_MS, 2 * HOUR_MS, cases[i].shown_for_ms);
        helio_witness_recall(&witness, &journal);
        if (cases[i].listed) {
            helio_witness_shown(&witness, BOOT - 4000);
            helio_witness_shown(&witness, BOOT);
        }
        const helio_charged_t what = charged_of(&witness);
        assert_int_equal(charge_of(&what, 0), cases[i].expected_ms);
    }
}

/*  Its folder is empty, and an earlier agent had seen its claim: it ended `ended_ago_ms` ago, as the engine says, or a new
 *  agent's list showed it so long ago, or only the journal knows. */
static void a_run_whose_claim_the_journal_has_is_charged_from_the_claim_on(void **state)
{
    (void)state;
    static const struct {
        int64_t claimed_ago_ms, shown_for_ms, listed_ago_ms, ended_ago_ms, boot_ms, expected_ms;
    } cases[] = {
        {40000, 0, 1000, 0, BOOT, 39000},     {40000, 0, 0, 3000, BOOT, 37000},
        {60000, 15000, 0, 0, BOOT, 10000}, /* lists showed it from 65 s ago on, for 15 s */
        {65000, 15000, 0, 0, BOOT, 15000},    {40000, 0, 0, 0, BOOT, 0},
        {40000, 0, 1000, 0, 1800000, 0},      /* the machine restarted: the claim's time is of its former run */
        {4000000, 0, 1000, 0, BOOT, HOUR_MS}, /* no run is longer than since its submission */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_evidence_t journal = journal_of(HOUR_MS, cases[i].shown_for_ms ? 65000 : 0, cases[i].shown_for_ms);
        helio_witness_t witness = {0};
        char explanation[HELIO_CHARGE_TEXT_SIZE] = "the engine does not list it any more";
        journal.claimed_boot_ms = BOOT - cases[i].claimed_ago_ms;
        helio_witness_recall(&witness, &journal);
        if (cases[i].listed_ago_ms)
            helio_witness_shown(&witness, cases[i].boot_ms - cases[i].listed_ago_ms);
        if (cases[i].ended_ago_ms)
            helio_witness_ended(&witness, WALL - cases[i].ended_ago_ms, WALL);
        helio_charged_t what = charged_of(&witness);
        what.claimed = false;
        what.now_boot_ms = cases[i].boot_ms;
        helio_aev_backend_t end = {
            .word = HELIO_BACKEND_REPORT_VANISHED, .cause = HELIO_CAUSE_VANISHED, .ended_wall_ms = WALL};
        helio_charge(&what, &end, explanation);
        if ((int64_t)end.run_ms != cases[i].expected_ms)
            fail_msg("case %zu: %llu ms, '%s'", i, (unsigned long long)end.run_ms, explanation);
        assert_int_equal(end.word, HELIO_BACKEND_REPORT_VANISHED);
        assert_int_equal(end.cause, end.run_ms ? HELIO_CAUSE_DOUBTED : HELIO_CAUSE_VANISHED);
        assert_int_equal(end.ended_wall_ms - end.started_wall_ms, end.run_ms);
        assert_true(end.started_wall_ms > 0);
    }
}

/*  A run of less than a minute can be all that the journal knows of it. */
static void the_journal_gets_the_first_seconds_of_a_run_soon(void **state)
{
    (void)state;
    helio_witness_t witness = {0};
    helio_evidence_t evidence;
    uint32_t told = 0;
    for (int64_t ms = 0; ms <= MINUTE_MS; ms += 1000) {
        helio_witness_shown(&witness, BOOT + ms);
        told += helio_witness_news(&witness, 0, BOOT + ms, WALL + ms, &evidence);
        assert_true((int64_t)evidence.shown_for_ms > ms - SLACK);
    }
    assert_int_equal(told, 5);
}

static void the_journal_gets_what_is_new_and_not_each_list(void **state)
{
    (void)state;
    helio_witness_t witness = {0};
    helio_evidence_t evidence;
    uint32_t told = 0;
    assert_false(helio_witness_news(&witness, 0, BOOT, WALL, &evidence));
    for (int64_t ms = 0; ms <= 24 * HOUR_MS; ms += 10000) {
        helio_witness_shown(&witness, BOOT + ms);
        told += helio_witness_news(&witness, ms >= 30000 ? BOOT + 30000 : 0, BOOT + ms, WALL + ms, &evidence);
        assert_true(evidence.shown_wall_ms == WALL && evidence.shown_boot_ms == BOOT);
        assert_true((int64_t)evidence.shown_for_ms <= ms && (int64_t)evidence.shown_for_ms >= ms * 4 / 5 - MINUTE_MS);
    }
    assert_int_equal(evidence.claimed_boot_ms, BOOT + 30000);
    assert_in_range(told, 20, 50);
    helio_witness_t next = {0}; /* a new agent goes on with it */
    helio_witness_recall(&next, &evidence);
    assert_true(helio_witness_was_shown(&next) && !helio_witness_was_shown(&witness));
    assert_false(helio_witness_news(&next, BOOT + 30000, BOOT + 25 * HOUR_MS, WALL + 25 * HOUR_MS, &evidence));
    helio_witness_shown(&next, BOOT + 40 * HOUR_MS);
    assert_true(helio_witness_news(&next, 0, BOOT + 40 * HOUR_MS, WALL + 40 * HOUR_MS, &evidence));
    assert_int_equal(evidence.shown_for_ms, 40 * HOUR_MS);
    assert_int_equal(evidence.claimed_boot_ms, BOOT + 30000);
}

/* ---- clocks -------------------------------------------------------------------------------------------- */

static void neither_a_clock_that_is_set_nor_a_machine_that_restarts_makes_a_false_charge(void **state)
{
    (void)state;
    static const struct {
        int64_t set_ms;  /* the wall clock meanwhile */
        int64_t boot_ms; /* of the machine's clock now; 0: it goes on */
        int64_t least_ms, most_ms;
    } cases[] = {{0, 0, 2 * HOUR_MS, 3 * HOUR_MS},
                 {5 * HOUR_MS, 0, 2 * HOUR_MS, 8 * HOUR_MS},
                 {-5 * HOUR_MS, 0, 2 * HOUR_MS, 3 * HOUR_MS},
                 {0, HOUR_MS, 2 * HOUR_MS, 3 * HOUR_MS},               /* it restarted an hour ago */
                 {0, BOOT - HOUR_MS, HOUR_MS, 3 * HOUR_MS},            /* and long ago */
                 {5 * HOUR_MS, BOOT - HOUR_MS, HOUR_MS, 8 * HOUR_MS}}; /* both: never more than it was shown */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_witness_t witness = {0};
        const helio_evidence_t journal = journal_of(3 * HOUR_MS, 2 * HOUR_MS, 0);
        helio_witness_recall(&witness, &journal);
        helio_charged_t what = charged_of(&witness);
        what.now_wall_ms = WALL + cases[i].set_ms;
        what.now_boot_ms = cases[i].boot_ms ? cases[i].boot_ms : BOOT;
        helio_witness_shown(&witness, what.now_boot_ms);
        assert_int_equal(least_of(&what), cases[i].least_ms - LAUNCH - SLACK);
        assert_int_equal(most_of(&what), cases[i].most_ms + SLACK);
    }
}

/*  An older agent's journal: only its job's id has a time, if any. */
static void a_journal_of_an_older_agent_bounds_nothing(void **state)
{
    (void)state;
    helio_witness_t witness = {.start_ms = WALL - 2 * HOUR_MS};
    const helio_evidence_t nothing = {0};
    helio_witness_recall(&witness, &nothing);
    helio_witness_recall(&witness, NULL);
    const helio_charged_t what = charged_of(&witness);
    assert_int_equal(most_of(&what), 2 * HOUR_MS + 2 * SLACK);
    assert_int_equal(least_of(&what), 1);
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static uint64_t seed = 0x9e3779b97f4a7c15U;

static int64_t pick(int64_t below)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (int64_t)((seed >> 24) % (uint64_t)below);
}

static int64_t maybe(int64_t value)
{
    return pick(3) ? value : 0;
}

static void the_least_is_never_more_than_the_most(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        helio_witness_t witness = {.start_ms = maybe(WALL - pick(20 * HOUR_MS) + HOUR_MS)};
        const helio_evidence_t journal = {.asked_wall_ms = maybe(WALL - pick(10 * HOUR_MS) + HOUR_MS),
                                          .asked_boot_ms = BOOT - pick(10 * HOUR_MS) + HOUR_MS,
                                          .shown_wall_ms = maybe(WALL - pick(10 * HOUR_MS) + HOUR_MS),
                                          .shown_boot_ms = BOOT - pick(10 * HOUR_MS) + HOUR_MS,
                                          .shown_for_ms = (uint64_t)maybe(pick(10 * HOUR_MS)),
                                          .claimed_boot_ms = maybe(BOOT - pick(10 * HOUR_MS) + HOUR_MS)};
        if (pick(2))
            helio_witness_recall(&witness, &journal);
        if (witness.start_ms && pick(2))
            helio_witness_ended(&witness, witness.start_ms + pick(20 * HOUR_MS), WALL);
        helio_charged_t what = charged_of(&witness);
        what.asked_ms = maybe(BOOT - pick(10 * HOUR_MS));
        int64_t from_ms = what.asked_ms ? what.asked_ms : BOOT - 10 * HOUR_MS;
        if (pick(2)) {
            helio_witness_shown(&witness, from_ms + pick(BOOT - from_ms + 1));
            helio_witness_shown(&witness, witness.first_ms + pick(BOOT - witness.first_ms + 1));
            what.started_ms = maybe(witness.first_ms);
        }
        uint64_t least = least_of(&what), most = most_of(&what);
        if (least > most)
            fail_msg("case %d: at least %llu ms, at most %llu", i, (unsigned long long)least, (unsigned long long)most);
        char explanation[HELIO_CHARGE_TEXT_SIZE] = "";
        helio_aev_backend_t gone = {.word = HELIO_BACKEND_REPORT_VANISHED, .ended_wall_ms = WALL};
        helio_charge(&what, &gone, explanation);
        assert_true(gone.run_ms <= most);
        assert_true(gone.started_wall_ms <= gone.ended_wall_ms && gone.ended_wall_ms <= WALL);
        if (what.asked_ms && !witness.former.shown_for_ms && !witness.former.shown_wall_ms)
            assert_true(most <= (uint64_t)(BOOT - what.asked_ms + SLACK));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_run_is_longer_than_the_time_since_its_submission_whatever_the_scheduler_says),
        cmocka_unit_test(a_begin_that_is_too_late_shortens_no_run_that_lists_showed),
        cmocka_unit_test(a_run_that_hides_is_charged_for_what_an_earlier_agent_saw),
        cmocka_unit_test(a_run_whose_claim_the_journal_has_is_charged_from_the_claim_on),
        cmocka_unit_test(the_journal_gets_the_first_seconds_of_a_run_soon),
        cmocka_unit_test(the_journal_gets_what_is_new_and_not_each_list),
        cmocka_unit_test(neither_a_clock_that_is_set_nor_a_machine_that_restarts_makes_a_false_charge),
        cmocka_unit_test(a_journal_of_an_older_agent_bounds_nothing),
        cmocka_unit_test(the_least_is_never_more_than_the_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
