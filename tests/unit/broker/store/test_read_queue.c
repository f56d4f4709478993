/*  test_read_queue.c -- which read gets the next connection to the database. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "broker/store/read_queue.h"

static helio_read_t reads[2048];
static uint32_t used;

static helio_read_t *ask(helio_read_queue_t *queue, const char *owner, const char *query)
{
    helio_read_t *read = &reads[used++];
    *read = (helio_read_t){.query = query, .owner = owner};
    assert_int_equal(helio_read_queue_push(queue, read, 7), HELIO_OK);
    assert_int_equal(read->posted_ms, 7);
    return read;
}

static int up(void **state)
{
    used = 0;
    *state = helio_read_queue_new(4);
    return 0;
}

static int down(void **state)
{
    helio_read_queue_t *queue = *state;
    while (helio_read_queue_drain(queue))
        ;
    helio_read_queue_destroy(&queue);
    return 0;
}

static void reads__of_a_tenant_with_many_do_not_delay_the_one_of_another(void **state)
{
    helio_read_queue_t *queue = *state;
    for (int i = 0; i < 24; i++)
        (void)ask(queue, "acme", "read_job");
    const helio_read_t *other = ask(queue, "globex", "read_job");
    const helio_read_t *first = helio_read_queue_pop(queue), *second = helio_read_queue_pop(queue);
    assert_string_equal(first->owner, "acme");
    assert_ptr_equal(second, other);
    helio_read_queue_ran(queue, first);
    helio_read_queue_ran(queue, second);
}

static void reads__of_one_tenant_leave_a_connection_free(void **state)
{
    helio_read_queue_t *queue = *state;
    const helio_read_t *running[3];
    for (int i = 0; i < 24; i++)
        (void)ask(queue, "acme", "read_job");
    for (int i = 0; i < 3; i++)
        assert_non_null(running[i] = helio_read_queue_pop(queue));
    assert_null(helio_read_queue_pop(queue));
    const helio_read_t *other = ask(queue, "globex", "read_job");
    assert_ptr_equal(helio_read_queue_pop(queue), other);
    helio_read_queue_ran(queue, other);
    for (int i = 0; i < 3; i++)
        helio_read_queue_ran(queue, running[i]);
    assert_non_null(other = helio_read_queue_pop(queue));
    helio_read_queue_ran(queue, other);
}

static void reads__that_are_heavy_leave_half_of_the_connections_to_the_light(void **state)
{
    helio_read_queue_t *queue = *state;
    static const char *const owners[] = {"a", "b", "c", "d", "e", "f"};
    const helio_read_t *running[2];
    for (size_t i = 0; i < 6; i++)
        (void)ask(queue, owners[i], "read_report");
    for (int i = 0; i < 2; i++)
        assert_non_null(running[i] = helio_read_queue_pop(queue));
    assert_null(helio_read_queue_pop(queue));
    const helio_read_t *light = ask(queue, "f", "read_job");
    assert_ptr_equal(helio_read_queue_pop(queue), light); /* before the heavy one of the same owner */
    helio_read_queue_ran(queue, light);
    helio_read_queue_ran(queue, running[0]);
    const helio_read_t *next = helio_read_queue_pop(queue);
    assert_string_equal(next->owner, "c");
    helio_read_queue_ran(queue, next);
    helio_read_queue_ran(queue, running[1]);
}

static void reads__that_wait_are_bounded_for_each_tenant(void **state)
{
    helio_read_queue_t *queue = *state;
    for (int i = 0; i < HELIO_READ_QUEUE_OWNER_MAX; i++)
        (void)ask(queue, "acme", "read_job");
    helio_read_t more = {.query = "read_job", .owner = "acme"};
    assert_int_equal(helio_read_queue_push(queue, &more, 0), HELIO_BUSY);
    (void)ask(queue, "globex", "read_job");
    (void)ask(queue, NULL, "read_sites");
}

/*  Snapshots take no connection of the others, and there is one at a time. */
static void reads__a_snapshot_has_a_lane_of_its_own(void **state)
{
    helio_read_queue_t *queue = *state;
    const helio_read_t *first = ask(queue, "ops", HELIO_READ_SNAPSHOT), *running[2];
    helio_read_t more = {.query = HELIO_READ_SNAPSHOT, .owner = "others"};
    assert_int_equal(helio_read_queue_push(queue, &more, 0), HELIO_BUSY); /* it waits */
    assert_null(helio_read_queue_pop(queue));
    assert_ptr_equal(helio_read_queue_pop_snapshot(queue), first);
    assert_null(helio_read_queue_pop_snapshot(queue));
    assert_int_equal(helio_read_queue_push(queue, &more, 0), HELIO_BUSY); /* it runs */
    (void)ask(queue, "a", "read_report");
    (void)ask(queue, "b", "read_report");
    for (int i = 0; i < 2; i++)
        assert_non_null(running[i] = helio_read_queue_pop(queue)); /* as many lists as without it */
    helio_read_queue_ran(queue, first);
    for (int i = 0; i < 2; i++)
        helio_read_queue_ran(queue, running[i]);
    assert_int_equal(helio_read_queue_push(queue, &more, 0), HELIO_OK);
    assert_ptr_equal(helio_read_queue_drain(queue), &more);
}

/*  A name that no query has would make its reads light without anybody noticing. */
static void reads__lists_and_reports_are_heavy_and_one_job_is_not(void **state)
{
    (void)state;
    static const char *const heavy[] = {"read_jobs",         "read_audit",   "read_report",
                                        "read_audit_verify", "read_balance", "read_history"};
    for (size_t i = 0; i < sizeof heavy / sizeof heavy[0]; i++)
        assert_true(helio_read_is_heavy(&(helio_read_t){.query = heavy[i]}));
    assert_false(helio_read_is_heavy(&(helio_read_t){.query = "read_job"}));
    assert_false(helio_read_is_heavy(&(helio_read_t){.query = "read_events"}));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(reads__of_a_tenant_with_many_do_not_delay_the_one_of_another),
        TEST(reads__of_one_tenant_leave_a_connection_free),
        TEST(reads__that_are_heavy_leave_half_of_the_connections_to_the_light),
        TEST(reads__that_wait_are_bounded_for_each_tenant),
        TEST(reads__a_snapshot_has_a_lane_of_its_own),
        TEST(reads__lists_and_reports_are_heavy_and_one_job_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
