/*  test_streams.c -- event streams and logs. */
#include "tests/unit/broker/http/server_testing.h"

#define EVENT(seq) "{\"seq\":" #seq ",\"id\":\"01j9a0000000000000000000aa\",\"to\":\"running\"}"

static client_t *follow(const char *token, const char *headers)
{
    client_t *c = client_up(w);
    client_ask(c, "GET", "/v1/events", token, headers, NULL);
    assert_true(client_head(c, &r));
    return c;
}

/*  By asking, as long as it takes; each question is answered, so this ends. */
static void await_streams(int count)
{
    char line[64];
    (void)snprintf(line, sizeof line, "\nhelio_http_streams %d\n", count);
    do
        ask(w, &r, "GET", "/metrics", w->operator_.text, "", NULL);
    while (!strstr(r.body, line));
}

/* ---- events -------------------------------------------------------------------------------------------- */

static void events__begin_now_and_carry_durable_transitions(void **state)
{
    (void)state;
    script_read(w, "read_last_event", HELIO_OK, "{\"seq\" : 41}");
    script_read(w, "read_events", HELIO_OK, "[" EVENT(42) "]");
    client_t *c = follow(w->user.text, "");
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_header(&r, "Content-Type"), "text/event-stream");
    assert_true(client_until(c, ": after 41\n\n"));
    world_transition(w, 42, HELIO_JOB_RUNNING);
    assert_true(client_until(c, "id: 42\nevent: transition\ndata: " EVENT(42) "\n\n"));
    assert_string_equal(w->last_params[0], "41");
    assert_string_equal(w->last_params[1], "acme");
    script_read(w, "read_events", HELIO_OK, "[" EVENT(43) "," EVENT(44) "]");
    world_transition(w, 44, HELIO_JOB_SUCCEEDED);
    assert_true(client_until(c, "id: 44\n"));
    assert_string_equal(w->last_params[0], "42");
    client_down(c);
}

/*  Its own engine commits nothing: what it sees of the leader's last transition wakes its streams. */
static void events__of_a_follower_carry_what_the_leader_made_durable(void **state)
{
    (void)state;
    world_follow(w, "http://10.0.0.7:7480", 41);
    script_read(w, "read_last_event", HELIO_OK, "{\"seq\":41}");
    script_read(w, "read_events", HELIO_OK, "[" EVENT(42) "]");
    client_t *c = follow(w->user.text, "");
    assert_true(client_until(c, ": after 41\n\n"));
    world_follow(w, "http://10.0.0.7:7480", 42);
    assert_true(client_until(c, "id: 42\n"));
    assert_int_equal(w->forwarded.count, 0);
    client_down(c);
}

static void events__a_reconnect_gets_what_it_missed(void **state)
{
    (void)state;
    script_read(w, "read_last_event", HELIO_OK, "{\"seq\":9}");
    script_read(w, "read_events", HELIO_OK, "[" EVENT(8) "," EVENT(9) "]");
    client_t *c = follow(w->operator_.text, "Last-Event-ID: 7\r\n");
    assert_true(client_until(c, "id: 8\n"));
    assert_true(client_until(c, "id: 9\n"));
    assert_string_equal(w->last_params[0], "7");
    assert_string_equal(w->last_params[1], "<null>");
    client_down(c);
}

static void events__a_subscriber_that_is_too_far_behind_gets_resync(void **state)
{
    (void)state;
    script_read(w, "read_last_event", HELIO_OK, "{\"seq\":500000}");
    client_t *c = follow(w->user.text, "Last-Event-ID: 7\r\n");
    assert_true(client_until(c, "id: 500000\nevent: resync\n"));
    client_down(c);
    c = follow(w->user.text, "Last-Event-ID: 500001\r\n"); /* from the future: another life of the database */
    assert_true(client_until(c, "id: 500000\nevent: resync\n"));
    client_down(c);
    ask(w, &r, "GET", "/v1/events", w->user.text, "Last-Event-ID: seven\r\n", NULL);
    assert_int_equal(r.status, 400);
}

static void events__a_read_that_fails_is_repeated(void **state)
{
    (void)state;
    script_read(w, "read_last_event", HELIO_OK, "{\"seq\":1}");
    script_read(w, "read_events", HELIO_UNAVAILABLE, NULL);
    client_t *c = follow(w->user.text, "");
    world_transition(w, 2, HELIO_JOB_RUNNING);
    (void)pthread_mutex_lock(&w->mutex);
    while (strcmp(w->last_query, "read_events") != 0)
        (void)pthread_cond_wait(&w->changed, &w->mutex);
    (void)pthread_mutex_unlock(&w->mutex);
    script_read(w, "read_events", HELIO_OK, "[" EVENT(2) "]");
    assert_true(client_until(c, "id: 2\n"));
    client_down(c);
}

static void events__no_database_at_the_start_is_503(void **state)
{
    (void)state;
    script_read(w, "read_last_event", HELIO_UNAVAILABLE, NULL);
    ask(w, &r, "GET", "/v1/events", w->user.text, "", NULL);
    assert_int_equal(r.status, 503);
    await_streams(0);
}

static void events__a_revoked_token_ends_its_streams(void **state)
{
    (void)state;
    script_read(w, "read_last_event", HELIO_OK, "{\"seq\":1}");
    client_t *c = follow(w->user.text, "");
    assert_true(client_until(c, ": after 1\n\n"));
    world_put_token(w, &w->user, "acme", "user", 0, 9);
    assert_true(client_until(c, "0\r\n\r\n")); /* the last chunk */
    client_down(c);
    await_streams(0);
}

static void events__a_disabled_user_ends_its_streams(void **state)
{
    (void)state;
    script_read(w, "read_last_event", HELIO_OK, "{\"seq\":1}");
    client_t *c = follow(w->user.text, "");
    assert_true(client_until(c, ": after 1\n\n"));
    w->listener.on_principal(w->listener.arg, &(helio_row_principal_t){HELIO_TEXT("acme"), HELIO_TEXT("ana"), 9});
    assert_true(client_until(c, "0\r\n\r\n"));
    client_down(c);
    await_streams(0);
}

static void events__a_client_that_hangs_up_is_noticed(void **state)
{
    (void)state;
    script_read(w, "read_last_event", HELIO_OK, "{\"seq\":1}");
    client_t *c = follow(w->user.text, "");
    assert_true(client_until(c, ": after 1\n\n"));
    await_streams(1);
    client_down(c);
    await_streams(0); /* nothing is ever sent to it: no failed write tells */
}

static void events__the_number_of_streams_is_bounded(void **state)
{
    (void)state;
    world_t *own = w;
    w = world_up_with((helio_http_options_t){.subscribers_max = 1});
    script_read(w, "read_last_event", HELIO_OK, "{\"seq\":1}");
    client_t *c = follow(w->user.text, "");
    assert_int_equal(r.status, 200);
    ask(w, &r, "GET", "/v1/events", w->user.text, "", NULL);
    assert_int_equal(r.status, 503);
    client_down(c);
    world_down(w);
    w = own;
}

static void events__one_user_or_tenant_does_not_take_every_place(void **state)
{
    (void)state;
    world_t *own = w;
    w = world_up_with((helio_http_options_t){.subscribers_max = 8});
    helio_token_fresh_t another = {0};
    world_put_user(w, &another, "acme", "bea");
    script_read(w, "read_last_event", HELIO_OK, "{\"seq\":1}");
    client_t *held[5];
    held[0] = follow(w->user.text, "");
    held[1] = follow(w->user.text, "");
    ask(w, &r, "GET", "/v1/events", w->user.text, "", NULL);
    assert_int_equal(r.status, 429);
    assert_contains(r.body, "UserStreamsFull");
    held[2] = follow(another.text, "");
    held[3] = follow(another.text, "");
    assert_int_equal(r.status, 200);
    helio_token_fresh_t third = {0};
    world_put_user(w, &third, "acme", "cleo");
    ask(w, &r, "GET", "/v1/jobs/01j9a0000000000000000000aa/logs", third.text, "", NULL);
    assert_int_equal(r.status, 429);
    assert_contains(r.body, "TenantStreamsFull");
    held[4] = follow(w->other.text, "");
    assert_int_equal(r.status, 200);
    assert_true(client_is_silent(held[0]) || client_until(held[0], ": after 1")); /* nobody's stream ended */
    await_streams(5);
    for (int i = 0; i < 5; i++)
        client_down(held[i]);
    await_streams(0);
    world_down(w);
    w = own;
}

static void events__stopping_ends_streams(void **state)
{
    (void)state;
    script_read(w, "read_last_event", HELIO_OK, "{\"seq\":1}");
    client_t *c = follow(w->user.text, "");
    assert_true(client_until(c, ": after 1\n\n"));
    helio_http_stop(w->http);
    while (client_receive(c)) /* it ends */
        c->size = 0;
    client_down(c);
}

/* ---- logs ---------------------------------------------------------------------------------------------- */

#define WHERE(site, epoch, state)                                                                            \
    "{\"id\":\"01j9a0000000000000000000aa\",\"task\":-1,\"array\":false,\"site\":" site ",\"epoch\":" #epoch \
    ",\"state\":\"" state "\"}"
#define LOGS "/v1/jobs/01j9a0000000000000000000aa/logs"

static void log_piece(const char *text, bool end)
{
    w->log_pieces[w->log_count] = text;
    w->log_ends[w->log_count++] = end;
}

static void logs__come_from_the_site_that_has_them(void **state)
{
    (void)state;
    script_read(w, "read_job_where", HELIO_OK, WHERE("\"lulea\"", 3, "running"));
    log_piece("epoch 1\n", false);
    log_piece("epoch 2\n", false);
    log_piece("", false);
    ask(w, &r, "GET", LOGS "?offset=100", w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, "epoch 1\nepoch 2\n");
    assert_string_equal(reply_header(&r, "X-Helio-Log-Offset"), "100");
    assert_string_equal(reply_header(&r, "X-Helio-Log-Epoch"), "3");
    assert_true(w->log_offset == 116);
    assert_int_equal(w->log_epoch, 3);
    assert_string_equal(w->last_params[1], "acme");
}

static void logs__begin_with_their_last_lines(void **state)
{
    (void)state;
    script_read(w, "read_job_where", HELIO_OK, WHERE("\"lulea\"", 3, "succeeded"));
    log_piece("f a line\nepoch 1\nepoch 2\n", false);
    log_piece("epoch 3\n", false);
    log_piece("", true);
    ask(w, &r, "GET", LOGS "?tail=2", w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, "epoch 1\nepoch 2\nepoch 3\n");
    assert_string_equal(reply_header(&r, "X-Helio-Log-Offset"), "1009");
    assert_true(w->log_offset == 1033 && !w->log_from_end);
    script_read(w, "read_job_where", HELIO_OK, WHERE("\"lulea\"", 3, "running"));
    w->log_rc = HELIO_VERSION;
    ask(w, &r, "GET", LOGS "?tail=2&follow=1", w->user.text, "", NULL);
    assert_int_equal(r.status, 409);
    assert_contains(r.body, "\"LogTailUnknown\"");
    assert_true(w->log_from_end);
    ask(w, &r, "GET", LOGS "?tail=10001", w->user.text, "", NULL);
    assert_int_equal(r.status, 400);
}

static void logs__follow_a_job_to_its_next_attempt_and_its_end(void **state)
{
    (void)state;
    script_read(w, "read_job_where", HELIO_OK, WHERE("\"lulea\"", 1, "running"));
    log_piece("first", false);
    log_piece("", false);
    log_piece(" try\n", true);
    client_t *c = client_up(w);
    client_ask(c, "GET", LOGS "?follow=1", w->user.text, "", NULL);
    assert_true(client_head(c, &r));
    assert_true(client_until(c, " try\n"));
    (void)pthread_mutex_lock(&w->mutex);
    log_piece("second try\n", true);
    log_piece("", true);
    (void)pthread_mutex_unlock(&w->mutex);
    script_read(w, "read_job_where", HELIO_OK, WHERE("\"oregon\"", 2, "succeeded"));
    assert_true(client_until(c, "second try\n"));
    assert_int_equal(w->log_epoch, 2);
    assert_true(client_until(c, "0\r\n\r\n"));
    client_down(c);
}

static void logs__of_a_job_that_never_ran_are_not_found_and_followed_are_empty(void **state)
{
    (void)state;
    script_read(w, "read_job_where", HELIO_OK, WHERE("null", 0, "queued"));
    ask(w, &r, "GET", LOGS, w->user.text, "", NULL);
    assert_int_equal(r.status, 404);
    assert_contains(r.body, "\"LogNeverPlaced\"");
    script_read(w, "read_attempt_where", HELIO_OK, WHERE("null", 99, "succeeded"));
    ask(w, &r, "GET", LOGS "?epoch=99", w->user.text, "", NULL);
    assert_int_equal(r.status, 404);
    assert_contains(r.body, "has no attempt 99");
    script_read(w, "read_job_where", HELIO_OK, WHERE("null", 0, "cancelled"));
    ask(w, &r, "GET", LOGS "?follow=1", w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(r.body_size, 0);
}

static void logs__that_cannot_be_read_are_a_problem_not_an_empty_text(void **state)
{
    (void)state;
    script_read(w, "read_job_where", HELIO_OK, WHERE("\"lulea\"", 1, "succeeded"));
    w->log_rc = HELIO_UNAVAILABLE;
    ask(w, &r, "GET", LOGS, w->user.text, "", NULL);
    assert_int_equal(r.status, 503);
    assert_contains(r.body, "\"code\":\"LogSiteAway\",\"params\":{\"site\":\"lulea\"}");
    script_read(
        w, "read_job_where", HELIO_OK,
        "{\"id\":\"01j9a0000000000000000000aa\",\"site\":\"lulea\",\"epoch\":1,\"state\":\"running\",\"silent_s\":20}");
    ask(w, &r, "GET", LOGS, w->user.text, "", NULL);
    assert_int_equal(r.status, 503);
    assert_contains(r.body, "the log is at lulea, which has been silent for 20s; try again");
    script_read(w, "read_job_where", HELIO_OK, WHERE("\"lulea\"", 1, "succeeded"));
    w->log_rc = HELIO_NOT_FOUND;
    ask(w, &r, "GET", LOGS, w->user.text, "", NULL);
    assert_int_equal(r.status, 404);
    script_read(w, "read_job_where", HELIO_NOT_FOUND, NULL);
    ask(w, &r, "GET", LOGS, w->user.text, "", NULL);
    assert_int_equal(r.status, 404);
    script_read(w, "read_job_where", HELIO_OK,
                "{\"id\":\"01j9a0000000000000000000aa\",\"array\":true,\"state\":\"queued\"}");
    ask(w, &r, "GET", LOGS, w->user.text, "", NULL);
    assert_int_equal(r.status, 409);
    script_read(w, "read_job_where", HELIO_OK, "{\"ambiguous\":[\"a\"]}");
    ask(w, &r, "GET", LOGS, w->user.text, "", NULL);
    assert_int_equal(r.status, 409);
    script_read(w, "read_job_where", HELIO_OK, "nonsense");
    ask(w, &r, "GET", LOGS, w->user.text, "", NULL);
    assert_int_equal(r.status, 500);
    await_streams(0);
}

static void logs__that_are_followed_survive_a_silent_site(void **state)
{
    (void)state;
    script_read(w, "read_attempt_where", HELIO_OK, WHERE("\"lulea\"", 1, "running"));
    log_piece("before\n", false);
    log_piece(NULL, false);
    log_piece(NULL, false);
    log_piece("after\n", true);
    client_t *c = client_up(w);
    client_ask(c, "GET", LOGS "?follow=1&epoch=1", w->user.text, "", NULL);
    assert_true(client_head(c, &r));
    assert_true(client_until(c, "before\n"));
    assert_true(client_until(c, "after\n"));
    assert_true(client_until(c, "0\r\n\r\n"));
    client_down(c);
}

static void logs__of_a_past_attempt_come_from_its_own_site_and_end(void **state)
{
    (void)state;
    script_read(w, "read_attempt_where", HELIO_OK,
                "{\"id\":\"01j9a0000000000000000000aa\",\"array\":false,\"site\":\"lulea\",\"epoch\":2,\"newest\":3,"
                "\"state\":\"running\"}");
    log_piece("old\n", false);
    log_piece("", false);
    ask(w, &r, "GET", LOGS "?follow=1&epoch=2", w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, "old\n");
    assert_string_equal(w->last_params[2], "2");
    assert_int_equal(w->log_epoch, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(events__begin_now_and_carry_durable_transitions),
        TEST(events__of_a_follower_carry_what_the_leader_made_durable),
        TEST(events__a_reconnect_gets_what_it_missed),
        TEST(events__a_subscriber_that_is_too_far_behind_gets_resync),
        TEST(events__a_read_that_fails_is_repeated),
        TEST(events__no_database_at_the_start_is_503),
        TEST(events__a_revoked_token_ends_its_streams),
        TEST(events__a_disabled_user_ends_its_streams),
        TEST(events__a_client_that_hangs_up_is_noticed),
        TEST(events__the_number_of_streams_is_bounded),
        TEST(events__one_user_or_tenant_does_not_take_every_place),
        TEST(events__stopping_ends_streams),
        TEST(logs__come_from_the_site_that_has_them),
        TEST(logs__begin_with_their_last_lines),
        TEST(logs__follow_a_job_to_its_next_attempt_and_its_end),
        TEST(logs__of_a_job_that_never_ran_are_not_found_and_followed_are_empty),
        TEST(logs__that_cannot_be_read_are_a_problem_not_an_empty_text),
        TEST(logs__that_are_followed_survive_a_silent_site),
        TEST(logs__of_a_past_attempt_come_from_its_own_site_and_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
