/*  test_memory.c -- agents that come back with another journal or an older copy of it, and second agents of a site. */
#include "tests/unit/broker/core/silence_testing.h"

enum { LEASE_MS = 15 * 60000, SILENT_MS = 60000 };

typedef struct agent {
    uint8_t boot;
    int64_t since_ms;
    uint64_t mark;
} agent_t;

static const agent_t FIRST = {1, 1000, 50};

/*  former: the process that it proves to have ended; 0 = none. */
static void say_hello_after(uint64_t peer, agent_t agent, uint8_t former)
{
    helio_ev_site_hello_t event = {.site = north->name,
                                   .peer = peer,
                                   .boot_id = {{agent.boot}},
                                   .profile = *north,
                                   .memory_since_ms = agent.since_ms,
                                   .memory_mark = agent.mark,
                                   .former_boot_id = {{former}}};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_SITE_HELLO, &event);
}

static void say_hello(uint64_t peer, agent_t agent)
{
    say_hello_after(peer, agent, 0);
}

static void come_back(uint64_t peer, agent_t agent, helio_holding_t *holdings, uint32_t count)
{
    harness_gone(h, NORTH);
    say_hello(peer, agent);
    harness_inventory(h, peer, holdings, count);
}

static int begin_known(void **state)
{
    (void)begin_joined(state);
    come_back(NORTH, FIRST, NULL, 0);
    harness_summary(h, NORTH, north, 0, 0);
    return 0;
}

static bool is_doubted(helio_job_key_t key)
{
    const helio_row_state_t *row = harness_row(h, key);
    return row->state == HELIO_JOB_SUSPECT && helio_details_find(&row->why, HELIO_DETAIL_SITE_MEMORY_LOST);
}

static void say_stopped(uint64_t peer, helio_job_key_t key, uint32_t cause)
{
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_STOPPED);
    report.cause = cause;
    harness_report(h, peer, &report);
}

/* ---- memory --------------------------------------------------------------------------------------------- */

static const agent_t changed[] = {
    {2, 2000, 5},    /* deleted: another journal */
    {2, 2000, 5000}, /* the same; its numbers are higher, since they come from the clock */
    {2, 1000, 50},   /* a copy as of the last HELLO */
    {2, 1000, 20},   /* an older copy */
};
enum { CHANGED = sizeof changed / sizeof changed[0] };

static void memory__lost_leaves_a_strict_job_suspect_until_its_end_is_proven(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CHANGED; i++) {
        if (i) {
            (void)end(NULL);
            (void)begin_known(NULL);
        }
        helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
        helio_job_key_t offered = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_OFFERED);
        come_back(NORTH_AGAIN, changed[i], NULL, 0);
        assert_true(is_doubted(key) && is_doubted(offered));
        say_stopped(NORTH_AGAIN, key, HELIO_CAUSE_NOT_HERE);
        harness_say(h, NORTH_AGAIN, offered, 1, HELIO_REPORT_KIND_REFUSED);
        harness_renew(h, SOUTH);
        harness_wait(h, 2 * LEASE_MS);
        assert_true(is_doubted(key) && is_doubted(offered));
        say_hello(NORTH_AGAIN + 1, (agent_t){2, changed[i].since_ms, 9000});
        harness_inventory(h, NORTH_AGAIN + 1, NULL, 0); /* it has not come to remember since */
        assert_true(is_doubted(key));
        say_stopped(NORTH_AGAIN + 1, key, HELIO_CAUSE_FENCED);
        assert_int_not_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
    }
}

static void memory__intact_is_believed(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    come_back(NORTH_AGAIN, (agent_t){2, 1000, 9000}, NULL, 0);
    assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
    say_stopped(NORTH_AGAIN, key, HELIO_CAUSE_NOT_HERE);
    assert_int_not_equal(harness_state(h, key), HELIO_JOB_STOPPING);
    assert_false(is_doubted(key));
}

static void memory__is_compared_with_the_reports_too(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_STARTING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_RUNNING);
    report.seq = 300;
    harness_report(h, NORTH, &report);
    come_back(NORTH_AGAIN, (agent_t){2, 1000, 299}, NULL, 0);
    assert_true(is_doubted(key));
}

static void memory__lost_is_still_lost_when_the_session_ends_before_its_inventory(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    harness_gone(h, NORTH);
    say_hello(NORTH_AGAIN, changed[0]);
    harness_gone(h, NORTH_AGAIN);
    say_hello(NORTH_AGAIN + 1, (agent_t){2, 2000, 6});
    harness_gone(h, NORTH_AGAIN + 1);
    say_hello(NORTH_AGAIN + 2, (agent_t){3, 2000, 7});
    harness_inventory(h, NORTH_AGAIN + 2, NULL, 0);
    assert_true(is_doubted(key));
}

static void memory__lost_is_made_up_for_by_what_the_agent_found(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    helio_holding_t holding = {.key = key, .epoch = 1, .state = HELIO_JOB_RUNNING};
    come_back(NORTH_AGAIN, changed[0], &holding, 1);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    harness_gone(h, NORTH_AGAIN);
    come_back(NORTH_AGAIN + 1, (agent_t){4, 3000, 1}, NULL, 0);
    assert_true(is_doubted(key));
    harness_say(h, NORTH_AGAIN + 1, key, 1, HELIO_REPORT_KIND_RUNNING); /* found late */
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
}

static void memory__lost_requeues_eager_jobs_at_once_and_lease_jobs_when_their_lease_is_over(void **state)
{
    (void)state;
    helio_job_key_t eager = job_of(HELIO_SITE_LOSS_EAGER, HELIO_JOB_RUNNING);
    helio_job_key_t lease = job_of(HELIO_SITE_LOSS_LEASE, HELIO_JOB_RUNNING);
    come_back(NORTH_AGAIN, changed[0], NULL, 0);
    assert_int_not_equal(harness_state(h, eager), HELIO_JOB_SUSPECT);
    assert_true(is_doubted(lease));
    for (int64_t ms = 0; ms < LEASE_MS; ms += 50000) {
        harness_renew(h, NORTH_AGAIN); /* which lengthens no lease of the time before */
        harness_wait(h, 50000);
        assert_true(is_doubted(lease));
    }
    harness_renew(h, NORTH_AGAIN);
    harness_wait(h, 50000);
    assert_int_not_equal(harness_state(h, lease), HELIO_JOB_SUSPECT);
}

static void memory__lost_is_shown_and_can_be_attested(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    helio_job_key_t held = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    helio_holding_t holding = {.key = held, .epoch = 1, .state = HELIO_JOB_RUNNING};
    come_back(NORTH_AGAIN, changed[0], &holding, 1);
    const helio_row_site_t *row = NULL, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_SITE)))
        last = row;
    assert_true(last && last->memory_lost_ms > 0 && last->memory_since_ms == 2000);
    helio_ev_site_command_t attest = {.call = 77,
                                      .actor = HELIO_TEXT("user:ops/ada"),
                                      .role = HELIO_ROLE_OPERATOR,
                                      .site = north->name,
                                      .reason = HELIO_TEXT("looked with ps")};
    harness_step(h, HELIO_BROKER_EV_ATTEST, &attest);
    assert_int_not_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
    assert_int_equal(harness_state(h, held), HELIO_JOB_RUNNING);
    harness_renew(h, NORTH_AGAIN);
    harness_wait(h, 2000);
    last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_SITE)))
        last = helio_text_is(row->site, "north") ? row : last;
    assert_true(last && last->memory_lost_ms == 0);
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_ATTEST, &attest); /* nothing is in doubt any more */
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_int_equal(reply->rc, HELIO_CONFLICT);
}

/* ---- what ran there is charged -------------------------------------------------------------------------------- */

enum { RAN_MS = 200000 };

/*  They run for RAN_MS, then north's agent ends. */
static void run_and_end(void)
{
    for (int64_t ms = 0; ms < RAN_MS; ms += 10000) {
        harness_wait(h, 10000);
        harness_renew(h, NORTH);
        harness_renew(h, SOUTH);
    }
    harness_gone(h, NORTH);
}

/*  An agent that remembers nothing comes, a minute later. */
static void forget(void)
{
    run_and_end();
    harness_wait(h, 60000);
    say_hello(NORTH_AGAIN, changed[0]);
    harness_inventory(h, NORTH_AGAIN, NULL, 0);
}

/*  North is heard for so long, without the job. */
static void be_heard(int64_t ms)
{
    for (; ms > 0; ms -= 50000) {
        harness_renew(h, NORTH_AGAIN);
        harness_wait(h, 50000);
    }
}

static void take_over(void)
{
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    h = next;
    north = harness_site(h, "north");
    harness_pool(h, north, "a", "H100", 1000, 8, 2.0);
}

static void attest(void)
{
    helio_ev_site_command_t event = {.call = 77,
                                     .actor = HELIO_TEXT("user:ops/ada"),
                                     .role = HELIO_ROLE_OPERATOR,
                                     .site = north->name,
                                     .reason = HELIO_TEXT("looked with ps")};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_ATTEST, &event);
}

/*  Its only attempt is over and estimated, up to the last message of the session in which it ran. */
static void expect_charged_once(helio_job_key_t key)
{
    uint64_t gpu_ms = 0;
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_true(attempt && helio_job_key_equal(attempt->key, key) && attempt->epoch == 1 && attempt->fenced &&
                attempt->kind == HELIO_REPORT_KIND_LOST && attempt->basis == HELIO_ATTEMPT_GIVEN_UP);
    assert_null(harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT));
    for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER)); gpu_ms += row->gpu_ms)
        assert_true(row->estimated && row->part == HELIO_LEDGER_ESTIMATE && row->epoch == 1 &&
                    helio_job_key_equal(row->key, key));
    assert_in_range(gpu_ms, RAN_MS - 1000, RAN_MS + 1000);
    assert_int_equal(harness_row(h, key)->gpu_ms, 0); /* its figures are without attempts that were fenced */
    assert_int_not_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
}

static void forgotten__eager_run_is_charged_at_once(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_EAGER, HELIO_JOB_RUNNING);
    run_and_end(); /* it would be silent before a minute is over */
    say_hello(NORTH_AGAIN, changed[0]);
    harness_inventory(h, NORTH_AGAIN, NULL, 0);
    expect_charged_once(key);
}

static void forgotten__lease_run_is_charged_when_its_lease_is_over(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_LEASE, HELIO_JOB_RUNNING);
    forget();
    assert_true(is_doubted(key));
    assert_null(harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT));
    harness_clear(h);
    while (harness_state(h, key) == HELIO_JOB_SUSPECT)
        be_heard(50000);
    expect_charged_once(key);
}

static void forgotten__strict_run_is_charged_when_it_is_attested(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    forget();
    be_heard(2 * LEASE_MS);
    attest();
    expect_charged_once(key);
}

/*  The next leader knows of the site only when it was last heard, which was long after it had forgotten the job. */
static void forgotten__run_is_charged_by_the_next_leader_up_to_the_loss(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    forget();
    be_heard(2 * LEASE_MS);
    come_back(NORTH_AGAIN + 1, (agent_t){7, 9000, 1}, NULL,
              0); /* and forgot again: the site's row tells the last loss */
    take_over();
    harness_wait(h, SILENT_MS);
    attest();
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_true(attempt && attempt->epoch == 1);
    assert_in_range(attempt->run_ms, RAN_MS - 1000, RAN_MS + 61000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
}

/*  The report that it runs was the agent's last message. */
static void forgotten__run_is_never_free(void **state)
{
    (void)state;
    for (int rebuilt = 0; rebuilt < 2; rebuilt++) {
        if (rebuilt) {
            (void)end(NULL);
            (void)begin_known(NULL);
        }
        helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
        harness_gone(h, NORTH);
        harness_wait(h, 5000);
        say_hello(NORTH_AGAIN, changed[0]);
        harness_inventory(h, NORTH_AGAIN, NULL, 0);
        if (rebuilt) {
            take_over();
            harness_wait(h, SILENT_MS);
        }
        attest();
        const helio_row_ledger_t *row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER);
        assert_true(row && row->estimated && row->gpu_ms >= 1000 && row->gpu_ms <= 6000);
        assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    }
}

/*  Nobody saw it run, and nobody attests that it did not: the report of its end, if one comes, is what it is
 *  charged. */
static void forgotten__attempt_that_was_not_seen_to_run_stays_open_for_its_report(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_EAGER, HELIO_JOB_ACCEPTED);
    harness_gone(h, NORTH);
    say_hello(NORTH_AGAIN, changed[0]);
    harness_inventory(h, NORTH_AGAIN, NULL, 0);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    assert_null(harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT));
    harness_wait(h, 20000);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_STOPPED);
    report.run_ms = report.gpu_ms = 15000;
    report.started_wall_ms = harness_wall_ms(h) - 15000;
    harness_clear(h);
    harness_report(h, NORTH_AGAIN, &report);
    const helio_row_ledger_t *row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER);
    assert_true(row && row->fenced && row->gpu_ms > 0 && !row->estimated);
}

/* ---- two agents ----------------------------------------------------------------------------------------- */

static uint64_t refused_peer(uint32_t rc)
{
    const helio_fx_peer_t *fx = harness_take(h, HELIO_BROKER_FX_REFUSAL);
    if (fx)
        assert_int_equal(fx->rc, rc);
    return fx ? fx->peer : 0;
}

static void second_agent__is_refused_while_the_first_lives(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    for (int i = 0; i < 10; i++) {
        harness_renew(h, NORTH);
        harness_wait(h, 14000);
        say_hello(NORTH_AGAIN, (agent_t){2, 2000, 5});
        assert_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
        assert_int_equal(refused_peer(HELIO_CONFLICT), NORTH_AGAIN);
    }
    harness_inventory(h, NORTH_AGAIN, NULL, 0); /* of nobody */
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ENDED); /* the first has its session still */
    assert_int_not_equal(harness_state(h, key), HELIO_JOB_RUNNING);
}

static void second_agent__that_is_the_restarted_first_waits_for_its_silence_at_most(void **state)
{
    (void)state;
    const agent_t again = {2, 1000, 9000};
    say_hello(NORTH_AGAIN, again); /* its former connection still looks alive */
    assert_int_equal(refused_peer(HELIO_CONFLICT), NORTH_AGAIN);
    harness_wait(h, 15000);
    say_hello(NORTH_AGAIN, again);
    assert_non_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
    harness_gone(h, NORTH_AGAIN);
    say_hello(NORTH_AGAIN + 1, (agent_t){3, 1000, 9001}); /* its connection has ended */
    assert_non_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
    say_hello(NORTH_AGAIN + 2, (agent_t){3, 1000, 9002}); /* the same process on a new connection */
    assert_non_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
}

/* ---- a new leader ----------------------------------------------------------------------------------------- */

static void clone__is_refused_by_the_next_leader_too_until_the_first_is_silent(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    helio_holding_t holding = {.key = key, .epoch = 1, .state = HELIO_JOB_RUNNING};
    const agent_t clones[] = {{2, 1000, 60}, {2, 1000, 20}, {2, 2000, 5}}; /* a copy, an older one, another journal */
    take_over();
    for (size_t i = 0; i < sizeof clones / sizeof clones[0]; i++) {
        say_hello(NORTH_AGAIN, clones[i]);
        assert_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
        assert_int_equal(refused_peer(HELIO_CONFLICT), NORTH_AGAIN);
        harness_wait(h, 15000);
    }
    say_hello(NORTH_AGAIN, clones[0]);
    assert_int_equal(refused_peer(HELIO_CONFLICT), NORTH_AGAIN);
    say_hello(NORTH, (agent_t){1, 1000, 70}); /* the first itself */
    assert_non_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
    harness_inventory(h, NORTH, &holding, 1);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    say_hello(NORTH_AGAIN, clones[0]);
    assert_int_equal(refused_peer(HELIO_CONFLICT), NORTH_AGAIN);
}

static void clone__of_an_agent_that_is_silent_is_its_successor(void **state)
{
    (void)state;
    take_over();
    harness_wait(h, 60000);
    say_hello(NORTH_AGAIN, (agent_t){2, 1000, 60});
    assert_non_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
}

/*  Broker and agent start together, and the agent has another process than before. */
static void successor__of_the_awaited_process_is_admitted_at_once(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    helio_holding_t holding = {.key = key, .epoch = 1, .state = HELIO_JOB_RUNNING};
    take_over();
    say_hello_after(NORTH_AGAIN, (agent_t){2, 1000, 60}, 1);
    assert_non_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
    harness_inventory(h, NORTH_AGAIN, &holding, 1);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    take_over(); /* and again: this leader awaits the successor */
    say_hello_after(NORTH, (agent_t){3, 1000, 70}, 1);
    assert_int_equal(refused_peer(HELIO_CONFLICT), NORTH);
    say_hello_after(NORTH, (agent_t){3, 1000, 70}, 2);
    assert_non_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
}

/*  A copy of the state directory proves the end of what ended before it was made: of no process that is in session. */
static void successor__of_another_process_or_of_none_waits(void **state)
{
    (void)state;
    const uint8_t proved[] = {0, 3, 2}; /* none; one before the former leader's; itself */
    take_over();
    for (size_t i = 0; i < sizeof proved / sizeof proved[0]; i++) {
        say_hello_after(NORTH_AGAIN, (agent_t){2, 1000, 60}, proved[i]);
        assert_int_equal(refused_peer(HELIO_CONFLICT), NORTH_AGAIN);
        assert_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
    }
}

/*  What the leader hears itself counts more than what a process says of another. */
static void successor__of_a_process_that_the_leader_hears_is_a_second_agent(void **state)
{
    (void)state;
    harness_renew(h, NORTH);
    say_hello_after(NORTH_AGAIN, (agent_t){2, 1000, 60}, 1);
    assert_int_equal(refused_peer(HELIO_CONFLICT), NORTH_AGAIN);
    take_over();
    say_hello_after(NORTH, (agent_t){1, 1000, 60}, 0);
    assert_non_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
    say_hello_after(NORTH_AGAIN, (agent_t){2, 1000, 61}, 1);
    assert_int_equal(refused_peer(HELIO_CONFLICT), NORTH_AGAIN);
}

/*  It is the same machine, so it is admitted; its journal is another, or an older copy, so it proves nothing of jobs. */
static void successor__without_its_memory_is_admitted_and_doubted(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CHANGED; i++) {
        if (i) {
            (void)end(NULL);
            (void)begin_known(NULL);
        }
        helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
        take_over();
        say_hello_after(NORTH_AGAIN, changed[i], 1);
        assert_non_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
        harness_inventory(h, NORTH_AGAIN, NULL, 0);
        assert_true(is_doubted(key));
    }
}

/*  It said that it ends, before the leader did: what comes is its successor. A connection that broke says nothing. */
static void clone__is_no_question_where_the_first_had_said_goodbye(void **state)
{
    (void)state;
    harness_step(h, HELIO_BROKER_EV_SITE_GONE, &(helio_ev_site_gone_t){.peer = NORTH, .bye = true});
    take_over();
    say_hello(NORTH_AGAIN, (agent_t){2, 1000, 60});
    assert_non_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
}

/*  Its session ended with its silence. The leader after that awaits it no more than this one did. */
static void clone__is_no_question_where_the_first_was_silent_before_the_takeover(void **state)
{
    (void)state;
    for (int connected = 0; connected < 2; connected++) { /* 0: its connection broke; 1: it hangs */
        if (connected) {
            (void)end(NULL);
            (void)begin_known(NULL);
        } else {
            harness_gone(h, NORTH);
        }
        harness_wait(h, 61000);
        take_over();
        say_hello(NORTH_AGAIN, (agent_t){2, 1000, 60});
        assert_non_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
    }
}

/*  The leader that awaited it without success tells the next one. */
static void clone__is_no_question_after_a_leader_that_never_heard_the_first(void **state)
{
    (void)state;
    take_over();
    harness_wait(h, 59000);
    take_over(); /* that one did not wait for long enough to say anything */
    say_hello(NORTH_AGAIN, (agent_t){2, 1000, 60});
    assert_int_equal(refused_peer(HELIO_CONFLICT), NORTH_AGAIN);
    harness_wait(h, 61000);
    take_over();
    say_hello(NORTH_AGAIN, (agent_t){2, 1000, 60});
    assert_non_null(harness_take(h, HELIO_BROKER_FX_WELCOME));
}

/*  A leader that is there for a moment knows nobody, and passes on what it knows. */
static void clone__is_refused_after_two_takeovers(void **state)
{
    (void)state;
    take_over();
    say_hello(NORTH_AGAIN, (agent_t){2, 1000, 60});
    assert_int_equal(refused_peer(HELIO_CONFLICT), NORTH_AGAIN);
    take_over();
    say_hello(NORTH_AGAIN, (agent_t){2, 1000, 60});
    assert_int_equal(refused_peer(HELIO_CONFLICT), NORTH_AGAIN);
}

static const helio_start_estimate_t *explained(helio_job_key_t key)
{
    const helio_fx_reply_t *reply = harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_OPERATOR, key);
    assert_int_equal(reply->rc, HELIO_OK);
    return &reply->start_estimate;
}

/*  Neither calls a site silent that is not; only the lease has an end that is known. */
static void explain__of_a_doubted_job_names_its_site_and_the_end_of_its_lease(void **state)
{
    (void)state;
    static const struct {
        uint32_t policy;
        bool silent, ends;
        const char *fact;
    } cases[] = {
        {HELIO_SITE_LOSS_STRICT, false, false, "StartMemoryLost site=north"},
        {HELIO_SITE_LOSS_LEASE, false, true, "StartMemoryLost site=north until="},
        {HELIO_SITE_LOSS_STRICT, true, false, "StartSiteSilent"},
        {HELIO_SITE_LOSS_LEASE, true, true, "StartLeaseEnds until="},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (i) {
            (void)end(NULL);
            (void)begin_known(NULL);
        }
        helio_job_key_t key = job_of(cases[i].policy, HELIO_JOB_RUNNING);
        if (cases[i].silent)
            harness_wait(h, 61000);
        else
            come_back(NORTH_AGAIN, changed[0], NULL, 0);
        const helio_start_estimate_t *p = explained(key);
        const char *facts = harness_facts(h, p->basis);
        if (strncmp(facts, cases[i].fact, strlen(cases[i].fact)) != 0)
            fail_msg("%u: %s", i, facts);
        assert_int_equal(p->earliest_ms != 0, cases[i].ends);
        if (cases[i].ends)
            assert_true(p->earliest_ms > p->at_ms && p->earliest_ms <= p->at_ms + 2 * LEASE_MS);
    }
}

int main(void)
{
#define MEMORY(name) cmocka_unit_test_setup_teardown(name, begin_known, end)
    const struct CMUnitTest tests[] = {
        MEMORY(memory__lost_leaves_a_strict_job_suspect_until_its_end_is_proven),
        MEMORY(memory__intact_is_believed),
        MEMORY(memory__is_compared_with_the_reports_too),
        MEMORY(memory__lost_is_still_lost_when_the_session_ends_before_its_inventory),
        MEMORY(memory__lost_is_made_up_for_by_what_the_agent_found),
        MEMORY(memory__lost_requeues_eager_jobs_at_once_and_lease_jobs_when_their_lease_is_over),
        MEMORY(memory__lost_is_shown_and_can_be_attested),
        MEMORY(forgotten__eager_run_is_charged_at_once),
        MEMORY(forgotten__lease_run_is_charged_when_its_lease_is_over),
        MEMORY(forgotten__strict_run_is_charged_when_it_is_attested),
        MEMORY(forgotten__run_is_charged_by_the_next_leader_up_to_the_loss),
        MEMORY(forgotten__run_is_never_free),
        MEMORY(forgotten__attempt_that_was_not_seen_to_run_stays_open_for_its_report),
        MEMORY(explain__of_a_doubted_job_names_its_site_and_the_end_of_its_lease),
        MEMORY(second_agent__is_refused_while_the_first_lives),
        MEMORY(second_agent__that_is_the_restarted_first_waits_for_its_silence_at_most),
        MEMORY(clone__is_refused_by_the_next_leader_too_until_the_first_is_silent),
        MEMORY(clone__of_an_agent_that_is_silent_is_its_successor),
        MEMORY(successor__of_the_awaited_process_is_admitted_at_once),
        MEMORY(successor__of_another_process_or_of_none_waits),
        MEMORY(successor__of_a_process_that_the_leader_hears_is_a_second_agent),
        MEMORY(successor__without_its_memory_is_admitted_and_doubted),
        MEMORY(clone__is_no_question_where_the_first_had_said_goodbye),
        MEMORY(clone__is_no_question_where_the_first_was_silent_before_the_takeover),
        MEMORY(clone__is_no_question_after_a_leader_that_never_heard_the_first),
        MEMORY(clone__is_refused_after_two_takeovers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
