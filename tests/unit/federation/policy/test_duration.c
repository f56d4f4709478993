/*  How long will it run? */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "federation/base/rng.h"
#include "federation/policy/duration.h"
#include "federation/policy/fair_share.h"
#include "federation/policy/requirement.h"

enum { MINUTE = 60000, A100 = 1000 };

static helio_durations_t *d;

static int begin(void **state)
{
    (void)state;
    d = helio_durations_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    helio_durations_destroy(&d);
    return 0;
}

static helio_runner_t runner(const char *tenant, const char *user, const char *name)
{
    return (helio_runner_t){helio_text_of(tenant), helio_text_of(user), helio_text_of(name), HELIO_JOB_KIND_TRAIN, 8,
                            4 * 60 * MINUTE};
}

static void ran(const char *user, const char *name, uint64_t minutes)
{
    helio_runner_t who = runner("acme", user, name);
    helio_durations_note(d, &who, minutes * MINUTE, A100, true);
}

static helio_duration_t expected(const char *user, const char *name)
{
    helio_runner_t who = runner("acme", user, name);
    return helio_durations_expect(d, &who);
}

static void stem__is_the_name_without_its_numbers(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"finetune", "finetune"},
        {"finetune-17", "finetune"},
        {"finetune_v2.3", "finetune_v"},
        {"llama-7b-ft-3", "llama-#b-ft"},
        {"sweep[12]", "sweep"},
        {"lr0.001-train", "lr#.#-train"},
        {"train-3fa85f64", "train"},
        {"3fa85f64-train", "#-train"},
        {"deadbeefed", "deadbeefed"},   /* a word: it has no number */
        {"train-cafe12", "train-cafe"}, /* too short for an id */
        {"2026-11-21", ""},
        {"", ""},
        {"---", ""},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char stem[HELIO_DURATION_STEM_MAX];
        uint32_t size = helio_duration_stem(helio_text_of(table[i][0]), stem);
        assert_true(helio_text_is((helio_text_t){stem, size}, table[i][1]));
    }
}

static void stem__of_a_stem_is_itself_within_the_bound(void **state)
{
    (void)state;
    static const char letters[] = "abcdefx0123456789-_. #";
    helio_rng_t rng = {5};
    for (int round = 0; round < 200000; round++) {
        char name[100], once[HELIO_DURATION_STEM_MAX], twice[HELIO_DURATION_STEM_MAX];
        uint32_t size = (uint32_t)helio_rng_below(&rng, round % 2 ? 12 : sizeof name);
        for (uint32_t i = 0; i < size; i++)
            name[i] = letters[helio_rng_below(&rng, sizeof letters - 1)];
        uint32_t first = helio_duration_stem((helio_text_t){name, size}, once);
        assert_true(first <= size && first <= HELIO_DURATION_STEM_MAX);
        uint32_t second = helio_duration_stem((helio_text_t){once, first}, twice);
        assert_true(helio_text_equal((helio_text_t){once, first}, (helio_text_t){twice, second}));
    }
}

static void expect__needs_three_runs(void **state)
{
    (void)state;
    assert_int_equal(expected("ada", "finetune").p50_ms, 0);
    ran("ada", "finetune-1", 40);
    ran("ada", "finetune-2", 42);
    assert_int_equal(expected("ada", "finetune-3").basis, HELIO_DURATION_BASIS_NONE);
    ran("ada", "finetune-3", 50);
    helio_duration_t e = expected("ada", "finetune-4");
    assert_int_equal(e.basis, HELIO_DURATION_BASIS_NAME);
    assert_int_equal(e.runs, 3);
    assert_int_equal(e.p50_ms, 42 * MINUTE);
    assert_int_equal(e.p90_ms, 50 * MINUTE);
}

static void expect__falls_back_to_the_user_and_then_to_the_kind(void **state)
{
    (void)state;
    for (int i = 0; i < 7; i++)
        ran("ada", i % 2 ? "a" : "", 20);                                    /* a job need not have a name */
    assert_int_equal(expected("ada", "z").basis, HELIO_DURATION_BASIS_NONE); /* seven of her runs are too few */
    ran("bob", "c", 30);
    assert_int_equal(expected("eve", "z").basis, HELIO_DURATION_BASIS_KIND);
    assert_int_equal(expected("eve", "z").p50_ms, 20 * MINUTE);
    assert_int_equal(expected("ada", "z").basis, HELIO_DURATION_BASIS_KIND);
    ran("ada", "", 60);
    assert_int_equal(expected("ada", "z").basis, HELIO_DURATION_BASIS_USER);
    assert_int_equal(expected("ada", "").p50_ms, 20 * MINUTE);
    helio_runner_t other = runner("other", "ada", "a");
    assert_int_equal(helio_durations_expect(d, &other).basis, HELIO_DURATION_BASIS_NONE);
}

/*  Runs of 8 GPUs and four hours say nothing about a job of one GPU, or of a minute; under its name they tell about any
 *  number of GPUs, but not about a limit below half or above double theirs. */
static void expect__uses_only_jobs_of_the_same_size(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        ran("ada", "a", 20);
    static const struct {
        uint32_t gpus;
        uint64_t limit_ms;
        bool told, told_by_name;
    } rows[] = {
        {8, 240 * MINUTE, true, true},    {15, 270 * MINUTE, true, true},     {16, 240 * MINUTE, false, true},
        {7, 240 * MINUTE, false, true},   {0, 240 * MINUTE, false, true},     {8, 5 * MINUTE, false, false},
        {8, 6000 * MINUTE, false, false}, {1, 120 * MINUTE, false, true},     {1, 120 * MINUTE - 1, false, false},
        {1, 480 * MINUTE, false, true},   {1, 480 * MINUTE + 1, false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_runner_t who = runner("acme", "ada", "z"), named = runner("acme", "ada", "a-2");
        who.gpus = named.gpus = rows[i].gpus;
        who.limit_ms = named.limit_ms = rows[i].limit_ms;
        assert_int_equal(helio_durations_expect(d, &who).basis, rows[i].told ? HELIO_DURATION_BASIS_USER : 0);
        assert_int_equal(helio_durations_expect(d, &named).basis, rows[i].told_by_name ? HELIO_DURATION_BASIS_NAME : 0);
    }
}

static void expect__follows_recent_runs(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        ran("ada", "train", 600);
    assert_int_equal(expected("ada", "train").p50_ms, 600 * MINUTE);
    for (int i = 0; i < 14; i++)
        ran("ada", "train", 10);
    helio_duration_t e = expected("ada", "train");
    assert_int_equal(e.runs, HELIO_DURATION_RUNS);
    assert_int_equal(e.p50_ms, 10 * MINUTE); /* 14 of 32, and the younger weigh more */
    assert_int_equal(e.p90_ms, 600 * MINUTE);
    for (int i = 0; i < 18; i++)
        ran("ada", "train", 10);
    assert_int_equal(expected("ada", "train").p90_ms, 10 * MINUTE); /* the old ones are gone */
}

static void expect__failures_are_counted_and_are_no_samples(void **state)
{
    (void)state;
    helio_runner_t who = runner("acme", "ada", "train");
    for (int i = 0; i < 5; i++)
        helio_durations_note(d, &who, 1, A100, false);
    assert_int_equal(helio_durations_expect(d, &who).basis, HELIO_DURATION_BASIS_NONE);
    for (int i = 0; i < 4; i++)
        ran("ada", "train", 30);
    helio_duration_t e = helio_durations_expect(d, &who);
    assert_int_equal(e.p50_ms, 30 * MINUTE);
    assert_int_equal(e.runs, 4);
    assert_int_equal(e.failed, 5);
    for (int i = 0; i < 32; i++)
        ran("ada", "train", 30);
    assert_int_equal(helio_durations_expect(d, &who).failed, 0); /* long ago */
}

static void expect__a_run_on_one_model_predicts_one_on_another(void **state)
{
    (void)state;
    helio_runner_t who = runner("acme", "ada", "train");
    uint32_t h100 = helio_gpu_weight_milli(HELIO_TEXT("H100"));
    for (int i = 0; i < 3; i++)
        helio_durations_note(d, &who, 60 * MINUTE, h100, true);
    uint64_t normal = helio_durations_expect(d, &who).p50_ms;
    assert_int_equal(helio_duration_at(normal, h100, UINT64_MAX / 2), 60 * MINUTE);
    assert_int_equal(helio_duration_at(normal, A100, UINT64_MAX / 2), 60 * 3170 * (MINUTE / 1000));
    assert_int_equal(helio_duration_at(normal, A100, 90 * MINUTE), 90 * MINUTE); /* no longer than it may */
    assert_int_equal(helio_duration_at(0, h100, 7), 7);                          /* nothing is known */
}

static void property__quantiles_ascend_and_lie_among_the_runs(void **state)
{
    (void)state;
    helio_rng_t rng = {17};
    for (int round = 0; round < 3000; round++) {
        uint64_t least = UINT64_MAX, most = 0, count = 3 + helio_rng_below(&rng, 60);
        helio_durations_destroy(&d);
        d = helio_durations_new();
        helio_runner_t who = runner("acme", "ada", "x");
        for (uint64_t i = 0; i < count; i++) {
            uint64_t ms = UINT64_C(1) << helio_rng_below(&rng, 34);
            helio_durations_note(d, &who, ms, A100, true);
            least = ms < least ? ms : least;
            most = ms > most ? ms : most;
        }
        helio_duration_t e = helio_durations_expect(d, &who);
        assert_true(e.p50_ms >= least && e.p50_ms <= e.p75_ms && e.p75_ms <= e.p90_ms && e.p90_ms <= most);
        assert_true(helio_duration_step(e.p50_ms) <= helio_duration_step(e.p90_ms));
        helio_duration_t again = helio_durations_expect(d, &who);
        assert_true(again.p50_ms == e.p50_ms && again.p90_ms == e.p90_ms && again.runs == e.runs);
    }
}

static void property__a_faster_model_is_never_slower_and_no_run_is_longer_than_its_limit(void **state)
{
    (void)state;
    static const char *const models[] = {"P100", "T4", "L4", "A10", "A100", "L40S", "H100", "MI300X", "B200", "", "X1"};
    enum { MODELS = sizeof models / sizeof models[0] };
    helio_rng_t rng = {23};
    helio_gpu_ask_t ask = {.count = 1};
    for (int round = 0; round < 100000; round++) {
        helio_requirement_t want = {.time_limit_ms =
                                        1 + helio_rng_below(&rng, UINT64_C(1) << helio_rng_below(&rng, 36))};
        uint64_t p50 = helio_rng_below(&rng, UINT64_C(1) << helio_rng_below(&rng, 45));
        want.gpus.items = &ask;
        want.gpus.count = 1;
        helio_requirement_expect(&want, p50, p50 + helio_rng_below(&rng, UINT64_C(1) << 40));
        const char *a = models[helio_rng_below(&rng, MODELS)], *b = models[helio_rng_below(&rng, MODELS)];
        helio_text_t x = helio_text_of(a), y = helio_text_of(b);
        uint64_t at_x = helio_requirement_run_ms(&want, x), at_y = helio_requirement_run_ms(&want, y);
        if (helio_gpu_weight_milli(x) >= helio_gpu_weight_milli(y))
            assert_true(at_x <= at_y);
        assert_true(at_x > 0 && at_x <= want.time_limit_ms);
        assert_true(at_x <= helio_requirement_run_high_ms(&want, x));
    }
}

static void ran_of(uint64_t minutes, uint64_t limit_minutes, const char *name)
{
    helio_runner_t who = runner("acme", "ada", name);
    who.limit_ms = limit_minutes * MINUTE;
    helio_durations_note(d, &who, minutes * MINUTE, A100, true);
}

static helio_duration_t expected_of(uint64_t limit_minutes, const char *name)
{
    helio_runner_t who = runner("acme", "ada", name);
    who.limit_ms = limit_minutes * MINUTE;
    return helio_durations_expect(d, &who);
}

static void expect__follows_the_limits_of_a_user_who_knows_how_long_jobs_take(void **state)
{
    (void)state;
    static const uint64_t minutes[] = {8, 800, 16, 80, 4000, 8, 400};
    for (size_t i = 0; i < sizeof minutes / sizeof minutes[0]; i++)
        ran_of(minutes[i], minutes[i] * 5 / 4, "eval"); /* four fifths of the limit each */
    assert_int_equal(expected_of(1000, "eval").p50_ms, 800 * MINUTE);
    assert_int_equal(expected_of(10, "eval").p90_ms, 8 * MINUTE);
    assert_int_equal(expected_of(10, "eval").runs, 7);
    assert_int_equal(expected_of(10001, "eval").p50_ms, 0); /* far from all limits that the shares are of */
}

/*  Three tests of a second let no job of a day seem short. */
static void expect__of_a_job_of_a_day_is_not_that_of_tests_of_a_minute(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        ran_of(0, 1, "pq");
    assert_true(expected_of(1, "pq").p50_ms > 0);
    assert_int_equal(expected_of(24 * 60, "pq").basis, HELIO_DURATION_BASIS_NONE);
    for (size_t i = 0; i < 3; i++)
        ran_of(900, 24 * 60, "pq");
    assert_int_equal(expected_of(24 * 60, "pq").p50_ms, 900 * MINUTE);
    assert_int_equal(expected_of(24 * 60, "pq").runs, 3);
}

static void expect__ignores_limits_that_say_less_than_the_runs(void **state)
{
    (void)state;
    static const uint64_t limits[] = {60, 1440, 240, 120, 2880, 720};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        ran_of(40 + i, limits[i], "train");
    assert_int_equal(expected_of(1440, "train").p50_ms, 44 * MINUTE); /* of those of 12, 24 and 48 hours */
    assert_int_equal(expected_of(1440, "train").runs, 3);
    assert_int_equal(expected_of(6000, "train").p50_ms, 0); /* of none of them */
    for (size_t i = 0; i < 32; i++)
        ran_of(i % 2 ? 10 : 50, 60, "test"); /* one limit: it does not tell the runs apart */
    assert_int_equal(expected_of(90, "test").p90_ms, 50 * MINUTE);
    ran_of(50, 0, "test");
    assert_int_equal(expected_of(0, "test").p90_ms, 50 * MINUTE);
}

static void bound__is_of_runs_of_the_same_name_alone(void **state)
{
    (void)state;
    assert_int_equal(helio_duration_bound_ms(HELIO_DURATION_BASIS_NAME, 5), 5);
    assert_int_equal(helio_duration_bound_ms(HELIO_DURATION_BASIS_USER, 5), 0);
    assert_int_equal(helio_duration_bound_ms(HELIO_DURATION_BASIS_KIND, 5), 0);
    helio_requirement_t want = {.time_limit_ms = 60 * MINUTE};
    helio_requirement_expect(&want, 5 * MINUTE, 0);
    assert_int_equal(helio_requirement_run_ms(&want, helio_text_of("A100")), helio_duration_step(5 * MINUTE));
    assert_int_equal(helio_requirement_run_high_ms(&want, helio_text_of("A100")), 60 * MINUTE);
}

static void expect__of_the_whole_limit_is_not_rounded_to_less(void **state)
{
    (void)state;
    helio_requirement_t want = {.time_limit_ms = 100 * MINUTE};
    helio_requirement_expect(&want, 100 * MINUTE, 100 * MINUTE);
    assert_int_equal(helio_requirement_run_ms(&want, helio_text_of("A100")), 100 * MINUTE);
    helio_requirement_expect(&want, 50 * MINUTE, 100 * MINUTE);
    assert_int_equal(helio_requirement_run_ms(&want, helio_text_of("A100")), helio_duration_step(50 * MINUTE));
}

static void step__is_within_a_fifth_and_ascends(void **state)
{
    (void)state;
    uint64_t last = 0, steps = 0;
    for (uint64_t ms = 1000; ms < UINT64_C(100) * 86400000; ms += ms / 50) {
        uint64_t step = helio_duration_step(ms);
        assert_true(step >= last && step * 100 >= ms * 83 && step * 100 <= ms * 120);
        assert_int_equal(helio_duration_step(step), step);
        steps += step != last;
        last = step;
    }
    assert_in_range(steps, 40, 50); /* from a second to a hundred days */
    assert_int_equal(helio_duration_step(0), 0);
    assert_true(helio_duration_step(UINT64_MAX) > 0);
}

static void memory__is_bounded_and_names_do_not_displace_users(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        ran("ada", "first", 5);
    char name[16];
    for (uint32_t i = 0; i < 2 * HELIO_DURATION_NAMES; i++) {
        uint32_t n = i;
        for (int c = 0; c < 6; c++, n /= 20)
            name[c] = (char)('g' + n % 20);
        name[6] = '\0';
        helio_runner_t who = runner("flood", "eve", name);
        helio_durations_note(d, &who, MINUTE, A100, true);
    }
    assert_int_equal(helio_durations_keys(d), HELIO_DURATION_NAMES + 4); /* ada, eve, and the kind of two tenants */
    assert_int_equal(expected("ada", "first").basis, HELIO_DURATION_BASIS_USER);
    assert_int_equal(expected("ada", "first").p50_ms, 5 * MINUTE);
}

static void memory__the_key_with_the_oldest_last_run_is_dropped_first(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        ran("ada", "old", 5);
        ran("ada", "kept", 7);
    }
    char name[16];
    for (uint32_t i = 0; i < HELIO_DURATION_NAMES; i++) {
        uint32_t n = i;
        for (int c = 0; c < 6; c++, n /= 20)
            name[c] = (char)('g' + n % 20);
        name[6] = '\0';
        if (i % 1000 == 0)
            ran("ada", "kept", 7);
        ran("bob", name, 1);
    }
    assert_int_equal(expected("ada", "kept").basis, HELIO_DURATION_BASIS_NAME);
    assert_int_equal(expected("ada", "old").basis, HELIO_DURATION_BASIS_USER);
}

static void note__hostile_texts_and_figures_are_bounded(void **state)
{
    (void)state;
    static char text[100000];
    memset(text, 'x', sizeof text);
    helio_text_t longest = {text, sizeof text};
    helio_runner_t who = {longest, longest, longest, UINT32_MAX, UINT32_MAX, UINT64_MAX};
    for (int i = 0; i < 3; i++)
        helio_durations_note(d, &who, UINT64_MAX, UINT32_MAX, true);
    helio_duration_t e = helio_durations_expect(d, &who);
    assert_int_equal(e.basis, HELIO_DURATION_BASIS_NAME);
    assert_true(helio_duration_at(e.p90_ms, 1, 1000) == 1000);
    helio_runner_t nobody = {0};
    helio_durations_note(d, &nobody, 0, 0, true);
    assert_int_equal(helio_durations_expect(d, &nobody).basis, HELIO_DURATION_BASIS_NONE);
    /* no two keys are one, however a text is split */
    helio_runner_t ab = runner("a", "bc", "dd"), cd = runner("ab", "c", "dd");
    for (int i = 0; i < 3; i++)
        helio_durations_note(d, &ab, 1000, A100, true);
    assert_int_equal(helio_durations_expect(d, &cd).basis, HELIO_DURATION_BASIS_NONE);
}

/*  What a new leader reads is written twice: here, and in SQL. */
static void history__is_as_long_as_the_query_says(void **state)
{
    (void)state;
    char text[65536], limit[32];
    FILE *file = fopen(HELIO_SOURCE_DIR "/schema/queries/load.sql", "r");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    assert_int_equal(fclose(file), 0);
    const char *query = strstr(text, "-- name: load_run\n");
    assert_non_null(query);
    (void)snprintf(limit, sizeof limit, " limit %d\n", HELIO_DURATION_HISTORY);
    assert_non_null(strstr(query, limit));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(stem__is_the_name_without_its_numbers),
        CASE(stem__of_a_stem_is_itself_within_the_bound),
        CASE(expect__needs_three_runs),
        CASE(expect__falls_back_to_the_user_and_then_to_the_kind),
        CASE(expect__uses_only_jobs_of_the_same_size),
        CASE(expect__follows_recent_runs),
        CASE(expect__failures_are_counted_and_are_no_samples),
        CASE(expect__a_run_on_one_model_predicts_one_on_another),
        CASE(property__quantiles_ascend_and_lie_among_the_runs),
        CASE(property__a_faster_model_is_never_slower_and_no_run_is_longer_than_its_limit),
        CASE(expect__follows_the_limits_of_a_user_who_knows_how_long_jobs_take),
        CASE(expect__of_a_job_of_a_day_is_not_that_of_tests_of_a_minute),
        CASE(expect__ignores_limits_that_say_less_than_the_runs),
        CASE(bound__is_of_runs_of_the_same_name_alone),
        CASE(expect__of_the_whole_limit_is_not_rounded_to_less),
        CASE(step__is_within_a_fifth_and_ascends),
        CASE(memory__is_bounded_and_names_do_not_displace_users),
        CASE(memory__the_key_with_the_oldest_last_run_is_dropped_first),
        CASE(note__hostile_texts_and_figures_are_bounded),
        CASE(history__is_as_long_as_the_query_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
