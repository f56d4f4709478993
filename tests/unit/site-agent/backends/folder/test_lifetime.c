/*  test_lifetime.c -- until when the touch of a claim counts, and that no shim that can live is beyond that. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "federation/model/attempt.h"
#include "site-agent/backends/folder/lifetime.h"

enum { SLACK = HELIO_LIFETIME_SLACK_MS, GRACE_MAX = HELIO_JOB_GRACE_MAX_MS };

static void a_touch_counts_until_limit_and_grace_are_over_or_those_of_a_stop(void **state)
{
    (void)state;
    static const struct {
        helio_lifetime_t life;
        uint64_t limit_ms, grace_ms;
        int64_t until_ms;
    } cases[] = {
        {{.claimed_ms = 1000, .seen_ms = 1000}, 100000, 50000, 1000 + 153000 + SLACK},
        {{.claimed_ms = 1000, .seen_ms = 900000}, 100000, 50000, 900000 + 51000 + SLACK}, /* a new agent */
        {{.claimed_ms = 1000, .seen_ms = 1000}, 0, 50000, INT64_MAX},
        {{0}, 100000, 50000, INT64_MAX}, /* not claimed: nothing is touched */
        {{.claimed_ms = 1000, .seen_ms = 1000}, UINT64_MAX, 0, INT64_MAX},
        {{.claimed_ms = 1000, .seen_ms = 1000}, INT64_MAX / 2, HELIO_JOB_GRACE_MAX_MS, INT64_MAX / 2},
        {{.claimed_ms = 1000, .seen_ms = 1000, .stop_ms = 9000, .stop_mode = HELIO_STOP_MODE_GRACE},
         36000000,
         50000,
         9000 + 51000 + SLACK},
        {{.claimed_ms = 1000, .seen_ms = 1000, .stop_ms = 9000, .stop_mode = HELIO_STOP_MODE_KILL},
         36000000,
         50000,
         9000 + SLACK},
        {{.claimed_ms = 1000, .seen_ms = 1000, .stop_ms = 9000, .stop_mode = HELIO_STOP_MODE_GRACE},
         0,
         50000,
         9000 + GRACE_MAX + GRACE_MAX / 50 + SLACK},
        {{.claimed_ms = 1000, .seen_ms = 1000, .stop_ms = 9000000, .stop_mode = HELIO_STOP_MODE_KILL},
         100000,
         0,
         1000 + 102000 + SLACK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t until_ms = helio_lifetime_until_ms(&cases[i].life, cases[i].limit_ms, cases[i].grace_ms);
        if (cases[i].until_ms == INT64_MAX / 2)
            assert_true(until_ms > INT64_MAX / 2);
        else
            assert_int_equal(until_ms, cases[i].until_ms);
    }
}

static void a_claim_is_as_old_as_the_journal_says_if_that_can_be(void **state)
{
    (void)state;
    static const struct {
        int64_t former_ms, claimed_ms;
    } cases[] = {{0, 5000}, {3000, 3000}, {9000, 5000}}; /* the last is of another run of the machine */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_lifetime_t life = {0};
        helio_lifetime_claimed(&life, cases[i].former_ms, 5000);
        helio_lifetime_claimed(&life, 1, 6000);
        assert_true(life.claimed_ms == cases[i].claimed_ms && life.seen_ms == 5000);
    }
}

static void a_harder_stop_counts_anew_and_the_same_does_not(void **state)
{
    (void)state;
    helio_lifetime_t life = {0};
    helio_lifetime_stopped(&life, HELIO_STOP_MODE_GRACE, 5000);
    helio_lifetime_stopped(&life, HELIO_STOP_MODE_GRACE, 6000);
    assert_int_equal(life.stop_ms, 5000);
    helio_lifetime_stopped(&life, HELIO_STOP_MODE_KILL, 7000);
    assert_true(life.stop_ms == 7000 && life.stop_mode == HELIO_STOP_MODE_KILL);
}

/* ---- shims --------------------------------------------------------------------------------------------- */

static uint64_t seed = 0x9e3779b97f4a7c15U;

static int64_t pick(int64_t below)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (int64_t)((seed >> 24) % (uint64_t)below);
}

enum { STEP = 5000 };

typedef struct shim {
    int64_t limit_ms, grace_ms, clock_ms, kill_at_ms, paused_ms;
    bool still; /* its machine is paused, and its clock with it */
} shim_t;

/*  False: nothing of it runs any more. *ret_touches: it is not paused. */
static bool shim_lives(shim_t *self, bool stopped, uint32_t mode, bool *ret_touches)
{
    if (!self->paused_ms && pick(60) == 0)
        self->paused_ms = STEP * ((self->still ? 12 : 1) + pick(pick(2) ? 20 : 400));
    *ret_touches = !self->paused_ms;
    self->clock_ms += self->paused_ms && self->still ? 0 : STEP;
    if (self->paused_ms) {
        self->paused_ms -= STEP;
        return true;
    }
    if (!self->kill_at_ms && (self->clock_ms >= self->limit_ms || stopped))
        self->kill_at_ms = self->clock_ms + self->grace_ms;
    if (stopped && mode == HELIO_STOP_MODE_KILL && self->kill_at_ms > self->clock_ms)
        self->kill_at_ms = self->clock_ms;
    return !self->kill_at_ms || self->clock_ms < self->kill_at_ms + STEP;
}

/*  A shim that is paused at any times, for any lengths (at least a minute if its clock stands still); and its agent, which
 *  may restart: its journal has the claim, and the stop comes again. Every touch must count. */
static void every_touch_of_a_shim_counts(void **state)
{
    (void)state;
    uint32_t touched = 0;
    for (int round = 0; round < 3000; round++) {
        int64_t stop_at_ms = pick(2) ? STEP * pick(600) : INT64_MAX;
        int64_t restart_at_ms = pick(2) ? STEP * pick(600) : INT64_MAX, seen_ms = STEP;
        uint32_t mode = pick(2) ? HELIO_STOP_MODE_GRACE : HELIO_STOP_MODE_KILL;
        bool touches = false;
        shim_t shim = {.limit_ms = STEP * (1 + pick(400)),
                       .grace_ms = STEP * pick(100),
                       .still = restart_at_ms == INT64_MAX && pick(2)};
        helio_lifetime_t life = {0};
        helio_lifetime_claimed(&life, 0, seen_ms);
        for (int64_t now_ms = 2 * STEP; shim_lives(&shim, now_ms >= stop_at_ms, mode, &touches); now_ms += STEP) {
            if (now_ms == restart_at_ms) {
                int64_t former_ms = life.claimed_ms;
                life = (helio_lifetime_t){0};
                helio_lifetime_claimed(&life, former_ms, now_ms);
                seen_ms = now_ms;
            }
            if (now_ms >= stop_at_ms)
                helio_lifetime_stopped(&life, mode, now_ms);
            if (!touches)
                continue;
            helio_lifetime_touched(&life, now_ms - seen_ms, now_ms);
            seen_ms = now_ms;
            touched++;
            if (now_ms >= helio_lifetime_until_ms(&life, (uint64_t)shim.limit_ms, (uint64_t)shim.grace_ms))
                fail_msg("round %d: the touch at %lld does not count (limit %lld, grace %lld, stop %lld, restart %lld)",
                         round, (long long)now_ms, (long long)shim.limit_ms, (long long)shim.grace_ms,
                         (long long)stop_at_ms, (long long)restart_at_ms);
        }
    }
    assert_true(touched > 300000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_touch_counts_until_limit_and_grace_are_over_or_those_of_a_stop),
        cmocka_unit_test(a_claim_is_as_old_as_the_journal_says_if_that_can_be),
        cmocka_unit_test(a_harder_stop_counts_anew_and_the_same_does_not),
        cmocka_unit_test(every_touch_of_a_shim_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
