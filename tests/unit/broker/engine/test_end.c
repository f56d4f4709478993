/*  test_end.c -- an engine that ends while its database is away, and what the next one is told at its start.
 */
#include "tests/unit/broker/engine/engine_testing.h"

static void engine__that_stops_without_its_database_answers_everybody_once(void **state)
{
    enum { COUNT = 5 };
    broker_t broker, next;
    prepare(&broker, fresh(state), next_port(state));
    start(&broker);
    await_ready(&broker);
    helio_pg_kill(*state);
    submission_t jobs[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        submit(&broker, &jobs[i], hello_job);
    assert_false(answered_within(&jobs[0].asked, 200)); /* they wait for a commit */
    helio_engine_stop(broker.engine);
    for (uint32_t i = 0; i < COUNT; i++) {
        await(&jobs[i].asked);
        assert_int_equal(jobs[i].asked.rc, HELIO_UNAVAILABLE);
        finish(&jobs[i]);
    }
    assert_int_equal(join(&broker), HELIO_OK);
    helio_pg_start(*state);
    assert_int_equal(count_of(broker.conninfo, "select count(*) from helio.jobs"), 0);
    prepare(&next, broker.conninfo, next_port(state));
    start(&next);
    await_ready(&next);
    submit(&next, &jobs[0], hello_job);
    await(&jobs[0].asked);
    assert_int_equal(jobs[0].asked.rc, HELIO_OK);
    finish(&jobs[0]);
    stop(&next);
    clean(&next);
    clean(&broker);
}

/* ---- who may come in
 * --------------------------------------------------------------------------------------- */

typedef struct heard {
    const char *conninfo;
    uint32_t tokens, users, leading;
    int64_t revoked_ms, disabled_ms; /* as last told */
    bool durable;                    /* each time that it was told, the database had it */
    bool late;                       /* told after the start */
} heard_t;

static void hear_token(void *arg, const helio_row_token_t *token)
{
    heard_t *heard = arg;
    heard->tokens++;
    heard->revoked_ms = token->revoked_ms;
    heard->durable =
        heard->durable &&
        count_of(heard->conninfo, token->revoked_ms
                                      ? "select count(*) from helio.tokens where revoked_at is not null"
                                      : "select count(*) from helio.tokens") == 1;
    heard->late = heard->leading > 0;
}

static void hear_user(void *arg, const helio_row_principal_t *user)
{
    heard_t *heard = arg;
    heard->users++;
    heard->disabled_ms = user->disabled_ms;
    heard->durable =
        heard->durable &&
        count_of(heard->conninfo, "select count(*) from helio.principals where disabled_at is not null") == 1;
    heard->late = heard->leading > 0;
}

static void hear_leading(void *arg)
{
    ((heard_t *)arg)->leading++;
}

static void hear_transition(void *arg, const helio_row_transition_t *transition)
{
    (void)arg;
    (void)transition;
}

static void start_with(broker_t *broker, heard_t *heard)
{
    *heard = (heard_t){.conninfo = broker->conninfo, .durable = true};
    helio_engine_options_t options = {.core = helio_broker_options_default(),
                                      .store = {.conninfo = broker->conninfo, .commit_deadline_ms = 2000},
                                      .endpoint = broker->endpoint,
                                      .secret_key_path = broker->key_path};
    helio_engine_listener_t listener = {hear_transition, hear_token, hear_user, hear_leading, heard};
    broker->engine = helio_engine_new(&options, listener, NULL);
    assert_int_equal(pthread_create(&broker->thread, NULL, run, broker), 0);
    await_ready(broker);
}

static void ask(broker_t *broker, uint32_t event, void *payload)
{
    asked_t asked = {.call = {.kind = HELIO_CALL_EVENT, .event = event, .payload = payload}};
    post(broker, &asked);
    await(&asked);
    assert_int_equal(asked.rc, HELIO_OK);
}

static void engine__tells_of_tokens_and_users_when_they_are_durable_and_to_the_next_at_its_start(void **state)
{
    static const char hash[32] = {1, 2, 3};
    broker_t broker;
    heard_t heard;
    prepare(&broker, fresh(state), next_port(state));
    start_with(&broker, &heard);
    assert_int_equal(heard.leading, 1);
    helio_ev_token_t token = {.actor = HELIO_TEXT("user:root"),
                              .token = {.token_id = HELIO_TEXT("000000000001"),
                                        .hash = {hash, sizeof hash},
                                        .tenant = HELIO_TEXT("acme"),
                                        .user = HELIO_TEXT("ada"),
                                        .role = HELIO_TEXT("user"),
                                        .created_ms = helio_clock_wall_ms()}};
    ask(&broker, HELIO_BROKER_EV_TOKEN, &token);
    helio_ev_principal_t user = {.actor = HELIO_TEXT("user:root"),
                                 .principal = {.tenant = HELIO_TEXT("acme"),
                                               .user = HELIO_TEXT("ada"),
                                               .disabled_ms = helio_clock_wall_ms()}};
    ask(&broker, HELIO_BROKER_EV_PRINCIPAL, &user);
    stop(&broker);
    assert_true(heard.tokens == 1 && heard.users == 1 && heard.durable && heard.late);
    assert_true(heard.disabled_ms > 0);

    start_with(&broker, &heard);
    assert_true(heard.tokens == 1 && heard.users == 1 && heard.durable && !heard.late);
    assert_true(heard.revoked_ms == 0 && heard.disabled_ms > 0);
    token.token.revoked_ms = helio_clock_wall_ms();
    ask(&broker, HELIO_BROKER_EV_TOKEN, &token);
    stop(&broker);
    assert_true(heard.tokens == 2 && heard.revoked_ms > 0 && heard.durable);
    clean(&broker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engine__that_stops_without_its_database_answers_everybody_once),
        cmocka_unit_test(
            engine__tells_of_tokens_and_users_when_they_are_durable_and_to_the_next_at_its_start),
    };
    return cmocka_run_group_tests(tests, up, down);
}
