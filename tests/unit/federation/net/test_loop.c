#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/net/loop.h"

static helio_loop_t *new_loop(void)
{
    helio_loop_t *loop = NULL;
    assert_int_equal(helio_loop_new(&loop, NULL), HELIO_OK);
    return loop;
}

static void turn(helio_loop_t *loop, int64_t timeout_ms)
{
    assert_int_equal(helio_loop_turn(loop, timeout_ms, NULL), HELIO_OK);
}

/*  Appends its letter to a shared text, and may do one more thing. */
typedef struct actor {
    char letter;
    char *text;
    helio_timer_t *timer, *to_disarm, *to_arm, *to_destroy;
    helio_source_t *source, *source_to_destroy;
    int64_t arm_ms;
    int fd;
    bool drain;
    unsigned ready;
} actor_t;

static void act(void *arg)
{
    actor_t *actor = arg;
    size_t length = strlen(actor->text);
    assert_true(length < 60);
    actor->text[length] = actor->letter;
    actor->text[length + 1] = '\0';
    if (actor->to_disarm)
        helio_timer_disarm(actor->to_disarm);
    if (actor->to_arm)
        helio_timer_arm(actor->to_arm, actor->arm_ms, 0);
    if (actor->to_destroy)
        helio_timer_destroy(&actor->to_destroy);
    if (actor->source)
        actor->ready = helio_source_ready(actor->source);
    if (actor->source_to_destroy)
        helio_source_destroy(&actor->source_to_destroy);
    char byte;
    if (actor->drain)
        assert_int_equal(read(actor->fd, &byte, 1), 1);
}

static void loop__timers_fire_by_time_and_among_equals_by_arming(void **state)
{
    (void)state;
    char text[64] = "";
    helio_loop_t *loop = new_loop();
    actor_t actors[8];
    static const int64_t due_ms[8] = {5, 3, 5, 1, 8, 3, 2, 5};
    for (int i = 0; i < 8; i++) {
        actors[i] = (actor_t){.letter = (char)('a' + i), .text = text};
        actors[i].timer = helio_timer_new(loop, act, &actors[i]);
        helio_timer_arm_at(actors[i].timer, due_ms[i]); /* long past: the order alone decides */
        assert_true(helio_timer_is_armed(actors[i].timer));
    }
    turn(loop, 0);
    assert_string_equal(text, "dgbfache");
    turn(loop, 0);
    assert_string_equal(text, "dgbfache"); /* once */
    for (int i = 0; i < 8; i++) {
        assert_false(helio_timer_is_armed(actors[i].timer));
        helio_timer_destroy(&actors[i].timer);
        assert_null(actors[i].timer);
    }
    helio_loop_destroy(&loop);
}

static void loop__a_timer_can_disarm_move_and_destroy_others(void **state)
{
    (void)state;
    char text[64] = "";
    helio_loop_t *loop = new_loop();
    actor_t a = {.letter = 'a', .text = text}, b = {.letter = 'b', .text = text}, c = {.letter = 'c', .text = text};
    a.timer = helio_timer_new(loop, act, &a);
    b.timer = helio_timer_new(loop, act, &b);
    c.timer = helio_timer_new(loop, act, &c);
    a.to_disarm = b.timer;
    a.to_destroy = c.timer;
    helio_timer_arm_at(a.timer, 1);
    helio_timer_arm_at(b.timer, 2);
    helio_timer_arm_at(c.timer, 3);
    turn(loop, 0);
    assert_string_equal(text, "a");
    helio_timer_destroy(&a.timer);
    helio_timer_destroy(&b.timer);
    helio_loop_destroy(&loop);
}

static void loop__a_timer_that_rearms_itself_at_once_does_not_extend_the_turn(void **state)
{
    (void)state;
    char text[64] = "";
    helio_loop_t *loop = new_loop();
    actor_t a = {.letter = 'a', .text = text, .arm_ms = 0}, b = {.letter = 'b', .text = text};
    a.to_arm = a.timer = helio_timer_new(loop, act, &a);
    b.timer = helio_timer_new(loop, act, &b);
    helio_timer_arm_at(a.timer, 1);
    helio_timer_arm_at(b.timer, 2);
    turn(loop, 0);
    assert_string_equal(text, "ab");
    while (strlen(text) < 3)
        turn(loop, 10);
    assert_string_equal(text, "aba");
    helio_timer_destroy(&a.timer);
    helio_timer_destroy(&b.timer);
    helio_loop_destroy(&loop);
}

static void loop__a_periodic_timer_fires_until_disarmed_and_never_early(void **state)
{
    (void)state;
    char text[64] = "";
    helio_loop_t *loop = new_loop();
    actor_t a = {.letter = 'a', .text = text};
    a.timer = helio_timer_new(loop, act, &a);
    int64_t start_ms = helio_clock_boot_ms();
    helio_timer_arm(a.timer, 2, 3);
    while (strlen(text) < 4)
        turn(loop, -1);
    assert_true(helio_clock_boot_ms() - start_ms >= 2 + 3 * 3);
    helio_timer_disarm(a.timer);
    turn(loop, 5);
    assert_string_equal(text, "aaaa");
    helio_timer_destroy(&a.timer);
    helio_loop_destroy(&loop);
}

static void loop__many_timers_keep_their_order_under_moves(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    static helio_timer_t *timers[COUNT];
    char text[64] = "";
    helio_loop_t *loop = new_loop();
    actor_t a = {.letter = 'x', .text = text};
    uint64_t mix = 88172645463325252u;
    for (int i = 0; i < COUNT; i++)
        timers[i] = helio_timer_new(loop, act, &a);
    for (int round = 0; round < 20 * COUNT; round++) {
        mix ^= mix << 13, mix ^= mix >> 7, mix ^= mix << 17;
        helio_timer_t *timer = timers[mix % COUNT];
        if (mix >> 32 & 1)
            helio_timer_arm_at(timer, INT64_MAX / 2 + (int64_t)(mix >> 33 & 0xffff));
        else
            helio_timer_disarm(timer);
    }
    helio_timer_arm_at(timers[COUNT / 2], 1);
    turn(loop, 0);
    assert_string_equal(text, "x"); /* the one that is due, out of all */
    for (int i = 0; i < COUNT; i++)
        helio_timer_destroy(&timers[i]);
    helio_loop_destroy(&loop);
}

static void loop__every_ready_source_is_served_once_a_turn(void **state)
{
    (void)state;
    char text[64] = "";
    helio_loop_t *loop = new_loop();
    actor_t actors[2];
    int pipes[2][2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pipe(pipes[i]), 0);
        assert_int_equal(write(pipes[i][1], "xyz", 3), 3);
        actors[i] = (actor_t){.letter = (char)('a' + i), .text = text, .fd = pipes[i][0], .drain = true};
        actors[i].source = helio_source_new(loop, pipes[i][0], HELIO_LOOP_IN, act, &actors[i]);
    }
    turn(loop, 0);
    assert_string_equal(text, "ab");
    assert_int_equal(actors[0].ready, HELIO_LOOP_IN);
    turn(loop, 0);
    turn(loop, 0);
    turn(loop, 0); /* both are empty by now */
    assert_string_equal(text, "ababab");
    for (int i = 0; i < 2; i++) {
        helio_source_destroy(&actors[i].source);
        (void)close(pipes[i][0]);
        (void)close(pipes[i][1]);
    }
    helio_loop_destroy(&loop);
}

static void loop__a_source_destroyed_by_another_is_not_served_any_more(void **state)
{
    (void)state;
    char text[64] = "";
    helio_loop_t *loop = new_loop();
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    actor_t a = {.letter = 'a', .text = text}, b = {.letter = 'b', .text = text};
    helio_source_t *source_a = helio_source_new(loop, ends[0], HELIO_LOOP_IN, act, &a);
    a.source_to_destroy = helio_source_new(loop, ends[0], HELIO_LOOP_IN, act, &b);
    turn(loop, 0);
    assert_string_equal(text, "a");
    helio_source_destroy(&source_a);
    turn(loop, 0);
    assert_string_equal(text, "a");
    (void)close(ends[0]);
    (void)close(ends[1]);
    helio_loop_destroy(&loop);
}

static void loop__interest_in_writing_can_change(void **state)
{
    (void)state;
    char text[64] = "";
    helio_loop_t *loop = new_loop();
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    actor_t a = {.letter = 'w', .text = text};
    a.source = helio_source_new(loop, ends[1], 0, act, &a);
    turn(loop, 0);
    assert_string_equal(text, "");
    helio_source_interest(a.source, HELIO_LOOP_OUT);
    turn(loop, 0);
    assert_string_equal(text, "w");
    assert_int_equal(a.ready, HELIO_LOOP_OUT);
    helio_source_interest(a.source, 0);
    turn(loop, 0);
    assert_string_equal(text, "w");
    (void)close(ends[0]); /* nobody reads: reported whatever the interest */
    turn(loop, 0);
    assert_true(a.ready & HELIO_LOOP_ERROR);
    helio_source_destroy(&a.source);
    (void)close(ends[1]);
    helio_loop_destroy(&loop);
}

static void *stop_it(void *arg)
{
    helio_loop_stop(arg);
    return NULL;
}

static void loop__is_stopped_from_another_thread_even_before_it_runs(void **state)
{
    (void)state;
    helio_loop_t *loop = new_loop();
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, stop_it, loop), 0);
        assert_int_equal(helio_loop_run(loop, NULL), HELIO_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    helio_loop_destroy(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loop__timers_fire_by_time_and_among_equals_by_arming),
        cmocka_unit_test(loop__a_timer_can_disarm_move_and_destroy_others),
        cmocka_unit_test(loop__a_timer_that_rearms_itself_at_once_does_not_extend_the_turn),
        cmocka_unit_test(loop__a_periodic_timer_fires_until_disarmed_and_never_early),
        cmocka_unit_test(loop__many_timers_keep_their_order_under_moves),
        cmocka_unit_test(loop__every_ready_source_is_served_once_a_turn),
        cmocka_unit_test(loop__a_source_destroyed_by_another_is_not_served_any_more),
        cmocka_unit_test(loop__interest_in_writing_can_change),
        cmocka_unit_test(loop__is_stopped_from_another_thread_even_before_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
