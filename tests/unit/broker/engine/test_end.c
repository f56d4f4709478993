/*  test_end.c -- an engine that stops while its database is away, and what the next one gets at its start. */
#include "tests/unit/broker/engine/engine_testing.h"

static void engine__stopping_without_its_database_answers_every_call_once(void **state)
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

/* ---- who may come in ----------------------------------------------------------------------------------- */

typedef struct heard {
    const char *conninfo;
    uint32_t tokens, users, leading;
    int64_t revoked_ms, disabled_ms; /* as last told */
    bool durable;                    /* whenever it was acknowledged, the database had it */
    bool late;                       /* told after the start */
} heard_t;

static void hear_token(void *arg, const helio_row_token_t *token)
{
    heard_t *heard = arg;
    heard->tokens++;
    heard->revoked_ms = token->revoked_ms;
    heard->durable =
        heard->durable &&
        count_of(heard->conninfo, token->revoked_ms ? "select count(*) from helio.tokens where revoked_at is not null"
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
    helio_engine_listener_t listener = {.on_transition = hear_transition,
                                        .on_token = hear_token,
                                        .on_principal = hear_user,
                                        .on_leading = hear_leading,
                                        .arg = heard};
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

/* ---- while the database is away ------------------------------------------------------------------------------ */

enum { SUBMISSIONS_MAX = 3000 };

/*  Submits jobs until one is refused, and returns their number. What was taken before is not answered. */
static uint32_t submit_until_refused(broker_t *broker, submission_t *jobs, const char *source)
{
    for (uint32_t i = 0; i < SUBMISSIONS_MAX; i++) {
        submit(broker, &jobs[i], source);
        if (i % 10 == 9)
            (void)figures_of(broker); /* what was posted before was taken */
        for (uint32_t at = i < 10 ? 0 : i - 10; at <= i; at++)
            if (answered_within(&jobs[at].asked, 0)) {
                (void)figures_of(broker);
                return i + 1;
            }
    }
    fail_msg("all of %d submissions were taken", SUBMISSIONS_MAX);
    return 0;
}

/*  Answers in any order, since some are refused at once: those that were taken come after the commit. */
static void check_backlog(void **state, uint32_t batch_rows_max, const char *source, uint32_t least, uint32_t most)
{
    broker_t broker;
    prepare(&broker, fresh(state), next_port(state));
    broker.batch_rows_max = batch_rows_max;
    start(&broker);
    await_ready(&broker);
    helio_pg_kill(*state);
    submission_t *jobs = helio_new(SUBMISSIONS_MAX, sizeof *jobs), last;
    uint32_t count = submit_until_refused(&broker, jobs, source), taken = 0;
    asked_t drain = {.call = {.kind = HELIO_CALL_EVENT, .event = HELIO_BROKER_EV_DRAIN}};
    helio_ev_site_command_t order = {
        .site = HELIO_TEXT("nowhere"), .actor = HELIO_TEXT("user:demo/ada"), .role = HELIO_ROLE_ADMIN};
    drain.call.payload = &order;
    post(&broker, &drain); /* a command is still taken */
    (void)figures_of(&broker);
    assert_false(answered_within(&drain, 0) && drain.code == HELIO_DETAIL_DATABASE_BEHIND);
    helio_pg_start(*state);
    for (uint32_t i = 0; i < count; i++) {
        await(&jobs[i].asked);
        assert_true(jobs[i].asked.rc == HELIO_OK ||
                    (jobs[i].asked.rc == HELIO_BUSY && jobs[i].asked.code == HELIO_DETAIL_DATABASE_BEHIND));
        taken += jobs[i].asked.rc == HELIO_OK;
        finish(&jobs[i]);
    }
    await(&drain);
    assert_in_range(taken, least, most);
    assert_int_equal(count_of(broker.conninfo, "select count(*) from helio.jobs"), taken);
    submit(&broker, &last, source);
    await(&last.asked);
    assert_int_equal(last.asked.rc, HELIO_OK);
    finish(&last);
    free(jobs);
    stop(&broker);
    clean(&broker);
}

/*  Five batches of ten rows and the row that exceeds them; and one batch may be under way when the database is lost. */
static void engine__what_waits_for_the_database_is_bounded_by_its_rows(void **state)
{
    check_backlog(state, 10, hello_job, 10, 61);
}

/*  Five batches of 16 MiB, whatever their rows, and likewise one under way. */
static void engine__what_waits_for_the_database_is_bounded_by_its_bytes(void **state)
{
    enum { RUN = 120000 };
    char *source = helio_new(RUN + 1000, 1);
    int size = snprintf(source, 1000, "{name: large, gpu: \"H100:1\", time: 1m, run: \"");
    memset(source + size, 'x', RUN);
    (void)snprintf(source + size + RUN, 10, "\"}");
    check_backlog(state, 0, source, 500, (96 << 20) / RUN + 1);
    free(source);
}

static void engine__listeners_get_durable_tokens_and_users_and_all_of_them_at_start(void **state)
{
    static const char hash[32] = {1, 2, 3};
    broker_t broker;
    heard_t heard;
    prepare(&broker, fresh(state), next_port(state));
    assert_int_equal(helio_store_put_tenant(broker.conninfo, "acme", NULL, NULL, NULL), HELIO_OK);
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
    helio_ev_principal_t user = {
        .actor = HELIO_TEXT("user:root"),
        .principal = {.tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .disabled_ms = helio_clock_wall_ms()}};
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
        cmocka_unit_test(engine__stopping_without_its_database_answers_every_call_once),
        cmocka_unit_test(engine__what_waits_for_the_database_is_bounded_by_its_rows),
        cmocka_unit_test(engine__what_waits_for_the_database_is_bounded_by_its_bytes),
        cmocka_unit_test(engine__listeners_get_durable_tokens_and_users_and_all_of_them_at_start),
    };
    return cmocka_run_group_tests(tests, up, down);
}
