/*  Who may preempt whom, and which of those that run are the least loss. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "federation/base/rng.h"
#include "federation/policy/victim_set.h"

enum { BEST = HELIO_TIER_BEST_EFFORT, STANDARD = HELIO_TIER_STANDARD, CRITICAL = HELIO_TIER_CRITICAL };
#define NOBODY HELIO_VICTIM_NO_OWNER

static void victims__tiers_preempt_as_in_the_table(void **state)
{
    (void)state;
    static const struct {
        uint32_t preempting, victim;
        bool by_tier, by_reclaim;
    } rows[] = {
        {BEST, BEST, false, true},    {BEST, STANDARD, false, false},    {BEST, CRITICAL, false, false},
        {STANDARD, BEST, true, true}, {STANDARD, STANDARD, false, true}, {STANDARD, CRITICAL, false, false},
        {CRITICAL, BEST, true, true}, {CRITICAL, STANDARD, true, true},  {CRITICAL, CRITICAL, false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(helio_preempt_allowed(rows[i].preempting, rows[i].victim, false), rows[i].by_tier);
        assert_int_equal(helio_preempt_allowed(rows[i].preempting, rows[i].victim, true), rows[i].by_reclaim);
    }
}

static void victims__work_lost_is_bounded_by_the_checkpoints(void **state)
{
    (void)state;
    assert_int_equal(helio_preempt_lost_ms(9000, 0, false, 30000), 9000); /* tells of none: all of it */
    assert_int_equal(helio_preempt_lost_ms(9000, 4000, false, 30000), 4000);
    assert_int_equal(helio_preempt_lost_ms(3000, 4000, false, 30000), 3000);
    assert_int_equal(helio_preempt_lost_ms(90000, 60000, true, 30000), 30000); /* saves when it is signalled */
    assert_int_equal(helio_preempt_lost_ms(90000, 0, true, 30000), 30000);
}

static void victims__declaring_no_checkpoints_gives_no_protection(void **state)
{
    (void)state;
    uint64_t most = HELIO_PREEMPT_LOST_MAX_MS, day = 86400000;
    assert_int_equal(helio_preempt_lost_ms(most - 1, 0, false, 30000), most - 1);
    assert_int_equal(helio_preempt_lost_ms(day, 0, false, 30000), most);
    assert_int_equal(helio_preempt_lost_ms(day, day, false, 30000), most);
    assert_int_equal(helio_preempt_lost_ms(day, 0, true, day), most); /* a day's grace neither */
    assert_int_equal(helio_preempt_lost_ms(day, most, false, 30000), most);
}

static void victims__only_standard_work_becomes_immune(void **state)
{
    (void)state;
    assert_false(helio_preempt_is_immune(STANDARD, HELIO_PREEMPT_TIMES_MAX - 1));
    assert_true(helio_preempt_is_immune(STANDARD, HELIO_PREEMPT_TIMES_MAX));
    assert_false(helio_preempt_is_immune(BEST, 200));
}

static void victims__patience_is_the_lost_work_within_bounds(void **state)
{
    (void)state;
    assert_int_equal(helio_preempt_patience_ms(0, 8, true), 0);
    assert_int_equal(helio_preempt_patience_ms(8 * 3000, 8, true), 3000);
    assert_int_equal(helio_preempt_patience_ms(8 * 3600000, 8, true), HELIO_PREEMPT_PATIENCE_RECLAIM_MS);
    assert_int_equal(helio_preempt_patience_ms(8 * 3600000, 8, false), HELIO_PREEMPT_PATIENCE_TIER_MS);
    assert_int_equal(helio_preempt_patience_ms(5000, 0, false), 5000); /* a job without GPUs */
}

static void victims__every_reason_has_a_word(void **state)
{
    (void)state;
    for (uint32_t why = 0; why < HELIO_PREEMPT_CAUSE_COUNT; why++) {
        uint32_t back = 99;
        assert_int_equal(helio_preempt_cause_of(helio_text_of(helio_preempt_cause_name(why)), &back), HELIO_OK);
        assert_int_equal(back, why);
    }
    assert_string_equal(helio_preempt_cause_name(HELIO_PREEMPT_CAUSE_COUNT), "unknown");
    uint32_t untouched = 7;
    assert_int_equal(helio_preempt_cause_of(HELIO_TEXT("weather"), &untouched), HELIO_NOT_FOUND);
    assert_int_equal(untouched, 7);
}

/*  Room on one node: so many GPUs are needed. */
typedef struct need {
    const helio_victim_t *victims;
    uint32_t gpus;
} need_t;

static bool fits(void *arg, const uint32_t *chosen, uint32_t count)
{
    const need_t *need = arg;
    uint32_t gpus = 0;
    for (uint32_t i = 0; i < count; i++)
        gpus += need->victims[chosen[i]].gpus;
    return gpus >= need->gpus;
}

static helio_victim_t of(uint32_t tier, uint32_t gpus, uint64_t lost)
{
    return (helio_victim_t){.tier = tier, .gpus = gpus, .lost_gpu_ms = lost, .owners = {NOBODY, NOBODY}};
}

static helio_victims_t choose(const helio_victim_t *victims, uint32_t count, const uint64_t *spare, uint32_t owners,
                              uint32_t gpus)
{
    need_t need = {victims, gpus};
    return helio_victims_choose(victims, count, spare, owners, fits, &need);
}

static bool has(const helio_victims_t *set, uint32_t index)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (set->chosen[i] == index)
            return true;
    return false;
}

static void victims__a_lower_tier_is_preempted_first_whatever_it_loses(void **state)
{
    (void)state;
    helio_victim_t v[] = {of(STANDARD, 4, 1), of(BEST, 4, 1000000), of(STANDARD, 4, 2)};
    helio_victims_t set = choose(v, 3, NULL, 0, 4);
    assert_int_equal(set.count, 1);
    assert_true(has(&set, 1));
    assert_int_equal(set.worst_tier, BEST);
}

static void victims__are_the_fewest_gpus_with_the_least_lost_work(void **state)
{
    (void)state;
    helio_victim_t v[] = {of(BEST, 64, 0), of(BEST, 4, 500), of(BEST, 4, 400), of(BEST, 4, 600)};
    helio_victims_t set = choose(v, 4, NULL, 0, 8);
    assert_int_equal(set.count, 2); /* not the gang of 64, though it loses nothing */
    assert_true(has(&set, 1) && has(&set, 2));
    assert_int_equal(set.gpus, 8);
    assert_int_equal(set.lost_gpu_ms, 900);
}

static void victims__no_victim_is_unnecessary(void **state)
{
    (void)state;
    helio_victim_t v[] = {of(BEST, 1, 1), of(BEST, 2, 2), of(BEST, 8, 3)};
    helio_victims_t set = choose(v, 3, NULL, 0, 8);
    assert_int_equal(set.count, 1);
    assert_true(has(&set, 2));
}

static void victims__the_tenant_with_the_highest_share_and_its_youngest_job_give_first(void **state)
{
    (void)state;
    helio_victim_t v[] = {of(BEST, 2, 5), of(BEST, 2, 5), of(BEST, 2, 5)};
    v[1].share = 10;
    v[0].age = 0;
    v[2].age = 2;
    helio_victims_t set = choose(v, 3, NULL, 0, 2);
    assert_true(set.count == 1 && has(&set, 1));
    v[1].share = 0;
    v[1].age = 1;
    set = choose(v, 3, NULL, 0, 2);
    assert_true(set.count == 1 && has(&set, 2));
}

static void victims__a_job_that_is_already_leaving_costs_nothing(void **state)
{
    (void)state;
    helio_victim_t v[] = {of(BEST, 4, 1), of(BEST, 4, 900000)};
    v[1].leaves = true;
    helio_victims_t set = choose(v, 2, NULL, 0, 4);
    assert_true(set.count == 1 && set.leaving == 1 && has(&set, 1));
    assert_int_equal(set.gpus, 0);
}

static void victims__no_tenant_is_taken_below_its_guarantee(void **state)
{
    (void)state;
    helio_victim_t v[] = {of(STANDARD, 4, 1), of(STANDARD, 4, 2), of(STANDARD, 4, 3)};
    v[0].owners[0] = v[1].owners[0] = 0;
    v[2].owners[0] = 1;
    uint64_t spare[] = {4, 8};
    helio_victims_t set = choose(v, 3, spare, 2, 8);
    assert_int_equal(set.count, 2);
    assert_true(has(&set, 0) && has(&set, 2));
    spare[1] = 3;
    assert_int_equal(choose(v, 3, spare, 2, 8).count, 0);
}

static void victims__the_set_is_empty_without_need_or_without_a_solution(void **state)
{
    (void)state;
    helio_victim_t v[] = {of(BEST, 4, 1)};
    assert_int_equal(choose(v, 1, NULL, 0, 0).count, 0);
    assert_int_equal(choose(v, 1, NULL, 0, 5).count, 0);
    assert_int_equal(choose(v, 0, NULL, 0, 1).count, 0);
}

/*  Against every subset of few: it always finds one if there is one, none in it can be spared, and the tier is the
 *  least. */
static void victims__random_sets_are_minimal_and_of_the_least_tier(void **state)
{
    (void)state;
    helio_rng_t rng = {.state = 7};
    for (uint32_t round = 0; round < 3000; round++) {
        helio_victim_t v[8];
        uint32_t count = 1 + (uint32_t)helio_rng_below(&rng, 8), need = 1 + (uint32_t)helio_rng_below(&rng, 16);
        uint64_t spare[2] = {helio_rng_below(&rng, 12), helio_rng_below(&rng, 12)};
        for (uint32_t i = 0; i < count; i++) {
            v[i] = of((uint32_t)helio_rng_below(&rng, 2), 1 + (uint32_t)helio_rng_below(&rng, 8),
                      helio_rng_below(&rng, 100));
            v[i].age = i;
            if (v[i].tier == STANDARD)
                v[i].owners[0] = (uint32_t)helio_rng_below(&rng, 2);
        }
        helio_victims_t set = choose(v, count, spare, 2, need);
        need_t all = {v, need};
        for (uint32_t i = 0; i < set.count; i++) {
            uint32_t without[8], left = 0;
            for (uint32_t k = 0; k < set.count; k++)
                if (k != i)
                    without[left++] = set.chosen[k];
            assert_false(fits(&all, without, left));
        }
        uint32_t best[8], bests = 0;
        for (uint32_t i = 0; i < count; i++)
            if (v[i].tier == BEST)
                best[bests++] = i;
        if (fits(&all, best, bests))
            assert_true(set.count && set.worst_tier == BEST);
        uint64_t taken[2] = {0};
        for (uint32_t i = 0; i < set.count; i++)
            if (v[set.chosen[i]].owners[0] != NOBODY)
                taken[v[set.chosen[i]].owners[0]] += v[set.chosen[i]].gpus;
        assert_true(taken[0] <= spare[0] && taken[1] <= spare[1]);
        assert_true(!set.count || fits(&all, set.chosen, set.count));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(victims__tiers_preempt_as_in_the_table),
        cmocka_unit_test(victims__work_lost_is_bounded_by_the_checkpoints),
        cmocka_unit_test(victims__declaring_no_checkpoints_gives_no_protection),
        cmocka_unit_test(victims__only_standard_work_becomes_immune),
        cmocka_unit_test(victims__patience_is_the_lost_work_within_bounds),
        cmocka_unit_test(victims__every_reason_has_a_word),
        cmocka_unit_test(victims__a_lower_tier_is_preempted_first_whatever_it_loses),
        cmocka_unit_test(victims__are_the_fewest_gpus_with_the_least_lost_work),
        cmocka_unit_test(victims__no_victim_is_unnecessary),
        cmocka_unit_test(victims__the_tenant_with_the_highest_share_and_its_youngest_job_give_first),
        cmocka_unit_test(victims__a_job_that_is_already_leaving_costs_nothing),
        cmocka_unit_test(victims__no_tenant_is_taken_below_its_guarantee),
        cmocka_unit_test(victims__the_set_is_empty_without_need_or_without_a_solution),
        cmocka_unit_test(victims__random_sets_are_minimal_and_of_the_least_tier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
