/*  test_engine.c -- virtual time, the two kinds of random numbers, and clocks that drift. */
#include "simulator/engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "simulator/engine/host.h"

enum { HAPPENINGS = 500 };

typedef struct log {
    sim_engine_t *engine;
    uint64_t numbers[2 * HAPPENINGS];
    int64_t at_ms[2 * HAPPENINGS];
    uint32_t count;
} log_t;

static void note(void *arg, sim_happening_t *happening)
{
    log_t *log = arg;
    log->at_ms[log->count] = sim_now_ms(log->engine);
    log->numbers[log->count++] = happening->number;
}

static sim_engine_t *engine_of(uint64_t seed)
{
    return sim_engine_new((sim_engine_options_t){.seed = seed, .wall_ms = 1000000});
}

static void happenings_come_by_time_and_then_in_the_order_of_their_making(void **state)
{
    (void)state;
    log_t log = {.engine = engine_of(7)};
    for (uint64_t i = 0; i < HAPPENINGS; i++)
        sim_later(log.engine, sim_between(log.engine, 0, 50), note, &log)->number = i;
    while (sim_engine_step(log.engine))
        ;
    assert_int_equal(log.count, HAPPENINGS);
    for (uint32_t i = 1; i < log.count; i++) {
        assert_true(log.at_ms[i] >= log.at_ms[i - 1]);
        assert_true(log.at_ms[i] > log.at_ms[i - 1] || log.numbers[i] > log.numbers[i - 1]);
    }
    sim_engine_destroy(&log.engine);
    assert_null(log.engine);
}

static void a_delay_below_zero_is_none(void **state)
{
    (void)state;
    log_t log = {.engine = engine_of(7)};
    sim_later(log.engine, -5, note, &log)->number = 1;
    assert_true(sim_engine_step(log.engine));
    assert_int_equal(log.at_ms[0], 0);
    assert_false(sim_engine_step(log.engine));
    sim_engine_destroy(&log.engine);
}

static void put_off_once(void *arg, sim_happening_t *happening)
{
    const log_t *log = arg;
    if (sim_now_ms(log->engine) < 30)
        sim_again(log->engine, happening, 20);
    else
        note(arg, happening);
}

static void the_same_happening_once_more_carries_all_that_it_carried(void **state)
{
    (void)state;
    log_t log = {.engine = engine_of(7)};
    sim_later(log.engine, 10, put_off_once, &log)->number = 42;
    while (sim_engine_step(log.engine))
        ;
    assert_int_equal(log.count, 1);
    assert_int_equal(log.numbers[0], 42);
    assert_int_equal(log.at_ms[0], 30);
    sim_engine_destroy(&log.engine);
}

static void a_draw_moves_no_other_and_depends_on_the_seed(void **state)
{
    (void)state;
    sim_engine_t *plain = engine_of(7), *drawn = engine_of(7), *other = engine_of(8);
    uint64_t draw = sim_draw(drawn, 1, 2);
    assert_int_equal(sim_draw(drawn, 1, 2), draw);
    assert_int_not_equal(sim_draw(drawn, 2, 1), draw);
    assert_int_not_equal(sim_draw(other, 1, 2), draw);
    for (int i = 0; i < 100; i++)
        assert_int_equal(sim_next(plain), sim_next(drawn));
    sim_engine_destroy(&plain);
    sim_engine_destroy(&drawn);
    sim_engine_destroy(&other);
}

static void a_clock_shows_what_it_will_show_when_the_delay_is_over(void **state)
{
    (void)state;
    sim_engine_t *engine = engine_of(7);
    log_t log = {.engine = engine};
    for (int i = 0; i < 100; i++) {
        sim_clock_t clock = sim_clock_of(engine);
        int64_t due_ms = sim_boot_ms(engine, &clock) + sim_between(engine, 0, 100000);
        log.count = 0;
        (void)sim_later(engine, sim_delay_ms(engine, &clock, due_ms), note, &log);
        assert_true(sim_engine_step(engine));
        int64_t shown_ms = sim_boot_ms(engine, &clock);
        assert_true(shown_ms >= due_ms && shown_ms <= due_ms + 2);
        assert_int_equal(sim_delay_ms(engine, &clock, shown_ms - 10), 0);
    }
    sim_engine_destroy(&engine);
}

static void the_first_broken_promise_stands(void **state)
{
    (void)state;
    sim_engine_t *engine = engine_of(7);
    assert_string_equal(sim_violation(engine), "");
    sim_violate(engine, "%s", "one");
    sim_violate(engine, "%s", "two");
    assert_string_equal(sim_violation(engine), "one");
    sim_engine_destroy(&engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(happenings_come_by_time_and_then_in_the_order_of_their_making),
        cmocka_unit_test(a_delay_below_zero_is_none),
        cmocka_unit_test(the_same_happening_once_more_carries_all_that_it_carried),
        cmocka_unit_test(a_draw_moves_no_other_and_depends_on_the_seed),
        cmocka_unit_test(a_clock_shows_what_it_will_show_when_the_delay_is_over),
        cmocka_unit_test(the_first_broken_promise_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
