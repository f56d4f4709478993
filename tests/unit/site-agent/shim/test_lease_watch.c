/*  A lease on another machine: never believed longer than it lasts, whatever the two clocks do. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "site-agent/shim/lease_watch.h"

enum { LEASE_MS = 60000, KILL_MS = 75000, TOLERANCE_MS = 2000 };

/*  The writer writes at true time t with a UTC that is off; the reader looks with a UTC that is off
 * otherwise, and a boot time that began elsewhere. */
static helio_lease_t written(uint64_t number, int64_t true_ms, int64_t writer_off_ms)
{
    return (helio_lease_t){.number = number,
                           .written_wall_ms = 1000000000000 + true_ms + writer_off_ms,
                           .stop_in_ms = LEASE_MS,
                           .kill_in_ms = KILL_MS};
}

static const int64_t boot_zero_ms = -5000000; /* the reader's boot time at true time 0, negated */

static void look(helio_lease_watch_t *watch, const helio_lease_t *lease, int64_t true_ms, int64_t took_ms,
                 int64_t reader_off_ms)
{
    helio_lease_watch_see(watch, lease, true_ms - boot_zero_ms, true_ms + took_ms - boot_zero_ms,
                          1000000000000 + true_ms + took_ms + reader_off_ms);
}

static int64_t stop_true_ms(const helio_lease_watch_t *watch)
{
    return watch->stop_boot_ms + boot_zero_ms;
}

static void lease__before_the_first_change_the_wall_clocks_count(void **state)
{
    (void)state;
    helio_lease_watch_t watch = {.boot_id = "here", .tolerance_ms = TOLERANCE_MS};
    helio_lease_t lease = written(7, 1000, 0);
    look(&watch, &lease, 5000, 3, 0);
    assert_int_equal(stop_true_ms(&watch), 1000 + LEASE_MS - TOLERANCE_MS);
    assert_int_equal(watch.kill_boot_ms - watch.stop_boot_ms, KILL_MS - LEASE_MS);
    look(&watch, &lease, 20000, 3, 0); /* unchanged: not renewed */
    assert_int_equal(stop_true_ms(&watch), 1000 + LEASE_MS - TOLERANCE_MS);
}

static void lease__within_the_tolerance_it_is_never_late(void **state)
{
    (void)state;
    for (int64_t off = -TOLERANCE_MS; off <= TOLERANCE_MS; off += 500) {
        helio_lease_watch_t watch = {.boot_id = "here", .tolerance_ms = TOLERANCE_MS};
        helio_lease_t lease = written(1, 0, 0);
        look(&watch, &lease, 30000, 0, off);
        assert_true(stop_true_ms(&watch) <= LEASE_MS);
        assert_true(stop_true_ms(&watch) >= LEASE_MS - 2 * TOLERANCE_MS);
    }
}

/*  Once the number has changed, no pair of clocks makes the watch late. Each row holds the offsets of the two
 *  clocks. */
static void lease__after_a_change_it_is_never_late_whatever_the_clocks_show(void **state)
{
    (void)state;
    const int64_t offs[] = {0, 1, -1, 1999, -1999, 3600000, -3600000, 400LL * 86400000, -400LL * 86400000};
    const size_t count = sizeof offs / sizeof offs[0];
    for (size_t w = 0; w < count; w++)
        for (size_t r = 0; r < count; r++) {
            helio_lease_watch_t watch = {.boot_id = "here", .tolerance_ms = TOLERANCE_MS};
            int64_t written_ms = 0;
            helio_lease_t lease = written(1, 0, offs[w]);
            look(&watch, &lease, 100, 5, offs[r]);
            for (uint64_t number = 2; number < 20; number++) {
                /* renewed every 17 s, seen by a look a second; the reader's clock jumps at each renewal */
                written_ms += 17000;
                look(&watch, &lease, written_ms - 300, 5, offs[r]);
                lease = written(number, written_ms, offs[(w + number) % count]);
                look(&watch, &lease, written_ms + 700, 5, offs[(r + number * 3) % count]);
                assert_true(stop_true_ms(&watch) <= written_ms + LEASE_MS);
                assert_true(watch.kill_boot_ms + boot_zero_ms <= written_ms + KILL_MS);
            }
        }
}

static void lease__a_late_reader_gains_no_time(void **state)
{
    (void)state;
    helio_lease_watch_t watch = {.boot_id = "here", .tolerance_ms = TOLERANCE_MS};
    helio_lease_t lease = written(1, 0, -3600000);
    look(&watch, &lease, 0, 0, 0);
    lease = written(2, 1000, 7200000);  /* its writer's clock has jumped ahead */
    look(&watch, &lease, 500000, 0, 0); /* seen long after it was written */
    assert_true(stop_true_ms(&watch) <= 0 + LEASE_MS);
}

static void lease__correct_clocks_lose_only_the_tolerance_and_one_read(void **state)
{
    (void)state;
    helio_lease_watch_t watch = {.boot_id = "here", .tolerance_ms = TOLERANCE_MS};
    helio_lease_t lease = written(1, 0, 0);
    look(&watch, &lease, 100, 1, 0);
    look(&watch, &lease, 14100, 1, 0);
    lease = written(2, 15000, 0);
    look(&watch, &lease, 15100, 1, 0);
    assert_int_equal(stop_true_ms(&watch), 15000 - TOLERANCE_MS + LEASE_MS);
    watch.tolerance_ms = 0;
    lease = written(3, 30000, 0);
    look(&watch, &lease, 30100, 1, 0);
    assert_int_equal(stop_true_ms(&watch), 15100 + LEASE_MS); /* the last look at number 2 */
}

static void lease__an_old_file_that_comes_back_renews_nothing(void **state)
{
    (void)state;
    helio_lease_watch_t watch = {.boot_id = "here", .tolerance_ms = 0};
    helio_lease_t five = written(5, 0, 0), six = written(6, 1000, 0), none = {0};
    look(&watch, &six, 1100, 1, 0);
    int64_t stop_ms = stop_true_ms(&watch);
    five.written_wall_ms += 86400000;
    look(&watch, &five, 2000, 1, 0);
    assert_int_equal(stop_true_ms(&watch), stop_ms);
    look(&watch, &none, 3000, 1, 0);
    assert_int_equal(stop_true_ms(&watch), stop_ms);
}

static void lease__of_this_boot_is_exact_and_of_another_boot_is_ignored(void **state)
{
    (void)state;
    helio_lease_watch_t watch = {.boot_id = "here", .tolerance_ms = TOLERANCE_MS};
    helio_lease_t lease = {.stop_boot_ms = 100, .kill_boot_ms = 200, .boot_id = "there"};
    helio_lease_watch_see(&watch, &lease, 1, 2, 3);
    assert_int_equal(watch.stop_boot_ms, 0);
    memcpy(lease.boot_id, "here", 5);
    helio_lease_watch_see(&watch, &lease, 1, 2, 3);
    assert_int_equal(watch.stop_boot_ms, 100);
    assert_int_equal(watch.kill_boot_ms, 200);
    lease.stop_boot_ms = 50; /* a shorter one, too */
    helio_lease_watch_see(&watch, &lease, 1, 2, 3);
    assert_int_equal(watch.stop_boot_ms, 50);
}

static void lease__text_round_trips_in_both_forms_and_never_in_part(void **state)
{
    (void)state;
    helio_lease_t forms[3] = {
        {.stop_boot_ms = -1, .kill_boot_ms = 2, .boot_id = "b"}, written(9, 1, 2), written(9, 1, 2)};
    forms[2].stop_boot_ms = 5;
    forms[2].kill_boot_ms = 6;
    memcpy(forms[2].boot_id, "b", 2);
    for (int i = 0; i < 3; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_lease_t back;
        helio_lease_text(&forms[i], &text);
        assert_int_equal(helio_lease_parse(helio_buffer_view(&text), (helio_text_t){0}, &back), HELIO_OK);
        assert_memory_equal(&back, &forms[i], sizeof back);
        for (uint32_t cut = 0; cut < text.size; cut++) {
            helio_rc rc = helio_lease_parse((helio_text_t){text.data, cut}, (helio_text_t){0}, &back);
            if (rc == HELIO_OK) /* at most one of the forms, whole but perhaps for digits of its last number */
                assert_true(back.number == 0 || back.stop_in_ms == LEASE_MS);
        }
    }
    helio_lease_t back;
    assert_int_equal(helio_lease_parse(HELIO_TEXT("number=0\nwritten_wall_ms=1\nstop_in_ms=1\nkill_in_ms=1\n"),
                                       (helio_text_t){0}, &back),
                     HELIO_INVALID);
    assert_int_equal(helio_lease_parse(HELIO_TEXT(""), (helio_text_t){0}, &back), HELIO_INVALID);
}

/*  A copy that the agent does not know has no name in it. */
static void lease__is_for_the_attempts_that_it_names(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_lease_t lease = written(9, 1, 2), back = {.number = 7};
    helio_lease_text(&lease, &text);
    assert_int_equal(helio_lease_parse(helio_buffer_view(&text), HELIO_TEXT("helio-a-1"), &back), HELIO_NOT_FOUND);
    helio_lease_name_text(HELIO_TEXT("helio-a-11"), &text);
    helio_lease_name_text(HELIO_TEXT("helio-b-1"), &text);
    assert_int_equal(helio_lease_parse(helio_buffer_view(&text), HELIO_TEXT("helio-a-1"), &back), HELIO_NOT_FOUND);
    assert_int_equal(back.number, 7); /* untouched */
    assert_int_equal(helio_lease_parse(helio_buffer_view(&text), HELIO_TEXT("helio-a-11"), &back), HELIO_OK);
    assert_int_equal(helio_lease_parse(helio_buffer_view(&text), HELIO_TEXT("helio-b-1"), &back), HELIO_OK);
    assert_int_equal(helio_lease_parse(helio_buffer_view(&text), HELIO_TEXT(""), &back), HELIO_OK);
    assert_int_equal(back.number, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lease__before_the_first_change_the_wall_clocks_count),
        cmocka_unit_test(lease__within_the_tolerance_it_is_never_late),
        cmocka_unit_test(lease__after_a_change_it_is_never_late_whatever_the_clocks_show),
        cmocka_unit_test(lease__a_late_reader_gains_no_time),
        cmocka_unit_test(lease__correct_clocks_lose_only_the_tolerance_and_one_read),
        cmocka_unit_test(lease__an_old_file_that_comes_back_renews_nothing),
        cmocka_unit_test(lease__of_this_boot_is_exact_and_of_another_boot_is_ignored),
        cmocka_unit_test(lease__text_round_trips_in_both_forms_and_never_in_part),
        cmocka_unit_test(lease__is_for_the_attempts_that_it_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
