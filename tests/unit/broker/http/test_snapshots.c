/*  test_snapshots.c -- there is one snapshot at a time, from its reading until its client has it. */
#include "tests/unit/broker/http/server_testing.h"

#include "broker/store/reader.h"

enum { LARGE = 32 << 20, TRIES = 2000 };

static void check_refused(void)
{
    assert_int_equal(r.status, 503);
    assert_string_equal(reply_header(&r, "Retry-After"), "2");
    assert_contains(r.body, "\"SnapshotUnderWay\"");
    assert_contains(r.body, "one at a time");
}

/*  The client can have the last byte a moment before the broker knows that it has. */
static void check_granted_soon(const char *path)
{
    for (int i = 0; i < TRIES; i++) {
        ask(w, &r, "GET", path, w->admin.text, "", NULL);
        if (r.status == 200)
            break;
        (void)poll(NULL, 0, 5);
    }
    assert_int_equal(r.status, 200);
}

static void snapshot__is_refused_while_the_database_reads_another(void **state)
{
    (void)state;
    script_read(w, HELIO_READ_SNAPSHOT, HELIO_BUSY, NULL);
    ask(w, &r, "GET", "/v1/snapshot", w->operator_.text, "", NULL);
    check_refused();
    script_read(w, HELIO_READ_SNAPSHOT, HELIO_OK, "HELIOSNAP");
    ask(w, &r, "GET", "/v1/snapshot", w->operator_.text, "", NULL);
    assert_int_equal(r.status, 200);
    check_granted_soon("/v1/snapshot?hours=24");
}

static void snapshot__is_refused_while_another_one_is_sent_and_lists_are_not(void **state)
{
    (void)state;
    char *large = helio_new(LARGE + 1, 1);
    memset(large, 'x', LARGE);
    script_read(w, HELIO_READ_SNAPSHOT, HELIO_OK, large);
    script_read(w, "read_sites", HELIO_OK, "[]");
    client_t *c = client_up(w);
    client_ask(c, "GET", "/v1/snapshot", w->operator_.text, "", NULL);
    assert_true(client_head(c, &r)); /* and reads no further */
    assert_int_equal(r.status, 200);
    ask(w, &r, "GET", "/v1/snapshot", w->admin.text, "", NULL);
    check_refused();
    ask(w, &r, "GET", "/v1/sites", w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    client_down(c);
    script_read(w, HELIO_READ_SNAPSHOT, HELIO_OK, "HELIOSNAP");
    check_granted_soon("/v1/snapshot");
    free(large);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(snapshot__is_refused_while_the_database_reads_another),
        TEST(snapshot__is_refused_while_another_one_is_sent_and_lists_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
