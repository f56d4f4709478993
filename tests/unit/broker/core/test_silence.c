/*  test_silence.c -- silent sites, and their return. */
#include <stdio.h>

#include "tests/unit/broker/core/silence_testing.h"

/*  South speaks every 20 s, north says nothing; TICKs come when the core requests them. */
static void let_pass(int64_t ms)
{
    for (; ms > 0; ms -= 20000) {
        harness_renew(h, SOUTH);
        harness_wait(h, ms < 20000 ? ms : 20000);
    }
}

static void come_back(uint64_t peer, helio_holding_t *holdings, uint32_t count)
{
    harness_hello(h, peer, north);
    harness_inventory(h, peer, holdings, count);
}

/*  What the transitions of the last step say, as states in a row: "suspect running succeeded". */
static void assert_history(const char *expected)
{
    char said[256] = "";
    for (const helio_row_transition_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_TRANSITION));) {
        size_t used = strlen(said);
        (void)snprintf(said + used, sizeof said - used, "%s%s%s", used ? " " : helio_job_state_name(row->from),
                       used ? "" : " ", helio_job_state_name(row->to));
    }
    assert_string_equal(said, expected);
}

/* ---- silence ------------------------------------------------------------------------------------------- */

static void silence__makes_every_live_job_suspect_after_a_minute_and_not_before(void **state)
{
    (void)state;
    static const uint32_t states[] = {HELIO_JOB_OFFERED, HELIO_JOB_ACCEPTED, HELIO_JOB_STARTING, HELIO_JOB_RUNNING,
                                      HELIO_JOB_SUSPENDED};
    helio_job_key_t keys[5];
    for (int i = 0; i < 5; i++)
        keys[i] = job_of(HELIO_SITE_LOSS_STRICT, states[i]);
    harness_renew(h, NORTH);
    let_pass(59000);
    for (int i = 0; i < 5; i++)
        assert_int_equal(harness_state(h, keys[i]), states[i]);
    let_pass(2000);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(harness_state(h, keys[i]), HELIO_JOB_SUSPECT);
        assert_int_equal(harness_row(h, keys[i])->before, states[i]);
    }
    assert_int_equal(site_state("north"), HELIO_SITE_STATE_SILENT);
}

static void silence__a_connection_restored_within_a_minute_changes_nothing(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_EAGER, HELIO_JOB_RUNNING);
    harness_gone(h, NORTH);
    let_pass(55000);
    helio_holding_t holding = {key, 1, HELIO_JOB_RUNNING, 1};
    come_back(NORTH_AGAIN, &holding, 1);
    let_pass(30000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TRANSITION), 0);
}

static void silence__within_a_session_ends_it_to_get_an_inventory(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    let_pass(62000); /* the connection lives, the agent hangs */
    const helio_fx_peer_t *refusal = harness_take(h, HELIO_BROKER_FX_REFUSAL);
    assert_non_null(refusal);
    assert_int_equal(refusal->peer, NORTH);
    assert_int_equal(refusal->rc, HELIO_TIMEOUT);
    harness_renew(h, NORTH); /* what it still says in the old session does not count */
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
    helio_holding_t holding = {key, 1, HELIO_JOB_RUNNING, 1};
    come_back(NORTH_AGAIN, &holding, 1);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_int_equal(harness_figures(h).sites_ready, 2);
}

static void strict__waits_for_its_site_and_resumes_there(void **state)
{
    (void)state;
    static const uint32_t states[] = {HELIO_JOB_ACCEPTED, HELIO_JOB_STARTING, HELIO_JOB_RUNNING, HELIO_JOB_SUSPENDED};
    helio_job_key_t keys[4];
    helio_holding_t holdings[4];
    for (uint32_t i = 0; i < 4; i++) {
        keys[i] = job_of(HELIO_SITE_LOSS_STRICT, states[i]);
        holdings[i] = (helio_holding_t){keys[i], 1, states[i], i + 1};
    }
    harness_gone(h, NORTH);
    let_pass(3600000);
    for (int i = 0; i < 4; i++)
        assert_int_equal(harness_state(h, keys[i]), HELIO_JOB_SUSPECT);
    come_back(NORTH_AGAIN, holdings, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(harness_state(h, keys[i]), states[i]);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ORDER), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 0);
}

static void strict__an_end_that_a_returning_site_reports_follows_the_return_in_the_history(void **state)
{
    (void)state;
    static const struct {
        uint32_t before;
        int32_t exit_code;
        bool limit_reached;
        const char *history;
    } cases[] = {
        {HELIO_JOB_RUNNING, 0, false, "suspect running succeeded"},
        {HELIO_JOB_RUNNING, 3, false, "suspect running failed"},
        {HELIO_JOB_RUNNING, 124, true, "suspect running timeout"},
        {HELIO_JOB_ACCEPTED, 0, false, "suspect accepted starting succeeded"},
        {HELIO_JOB_SUSPENDED, 0, false, "suspect suspended running succeeded"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        end(NULL);
        begin_joined(NULL);
        helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, cases[i].before);
        harness_gone(h, NORTH);
        let_pass(61000);
        assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
        helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
        report.exit_code = cases[i].exit_code;
        report.limit_reached = cases[i].limit_reached;
        helio_holding_t holding = {key, 1, cases[i].before, 1};
        harness_clear(h);
        come_back(NORTH_AGAIN, &holding, 1);
        harness_report(h, NORTH_AGAIN, &report);
        assert_history(cases[i].history);
    }
}

static void lease__is_placed_again_only_after_its_lease_and_the_margin(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_LEASE, HELIO_JOB_RUNNING);
    harness_renew(h, NORTH);
    harness_gone(h, NORTH);
    /* L = 900 s: expiry is declared at 900 * 1.02 + 10 = 928 s */
    let_pass(927000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
    let_pass(2000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
    assert_int_equal(harness_row(h, key)->epoch, 2);
}

static void lease__a_renewal_just_before_the_silence_moves_the_expiry(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_LEASE, HELIO_JOB_RUNNING);
    for (int i = 0; i < 20; i++) {
        harness_renew(h, NORTH);
        let_pass(40000);
    }
    let_pass(800000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
    let_pass(100000);
    assert_true(harness_state(h, key) != HELIO_JOB_SUSPECT);
}

static void eager__is_placed_elsewhere_at_suspicion(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_EAGER, HELIO_JOB_RUNNING);
    harness_gone(h, NORTH);
    let_pass(61000);
    harness_tick(h);
    assert_int_equal(harness_row(h, key)->epoch, 2);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
    const helio_fx_order_t *order = harness_take(h, HELIO_BROKER_FX_ORDER);
    assert_int_equal(order->peer, SOUTH);
    assert_true(order->order.resume);
}

static void loss__of_twenty_sites_ends_the_job_as_lost(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_EAGER, HELIO_JOB_RUNNING);
    harness_gone(h, NORTH);
    let_pass(62000);
    for (uint64_t turn = 2; turn <= 20; turn++) {
        harness_tick(h);
        assert_int_equal(harness_row(h, key)->epoch, turn);
        assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
        /* both sites lose it by turns: the one that has it falls silent, the other one joins */
        bool at_south = helio_text_is(harness_row(h, key)->site, "south");
        harness_join(h, 100 + turn, at_south ? north : south);
        for (int i = 0; i < 4; i++) {
            harness_renew(h, 100 + turn);
            harness_wait(h, 20000);
        }
    }
    assert_int_equal(harness_state(h, key), HELIO_JOB_LOST);
    assert_int_equal(harness_row(h, key)->attempts, 20);
    assert_false(harness_is_open(h, key));
}

/*  A restored database makes such a series: each attempt number that a site has used before is refused. */
static void loss__of_one_site_after_twenty_refusals_returns_the_job_to_its_queue(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_EAGER, HELIO_JOB_OFFERED);
    for (uint32_t epoch = 1; epoch <= 20; epoch++) {
        uint64_t peer = helio_text_is(harness_row(h, key)->site, "north") ? NORTH : SOUTH;
        harness_say(h, peer, key, epoch, HELIO_REPORT_KIND_REFUSED);
        harness_summary(h, NORTH, north, 1000, 0);
        harness_summary(h, SOUTH, south, 1000, 0);
        harness_wait(h, 2000);
        assert_int_equal(harness_row(h, key)->epoch, epoch + 1);
    }
    harness_gone(h, NORTH);
    harness_gone(h, SOUTH);
    let_pass(62000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    assert_int_equal(harness_row(h, key)->losses, 1);
    assert_true(harness_is_open(h, key));
}

static void cancel__of_a_suspect_job_is_kept_for_the_return_of_its_site(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    harness_gone(h, NORTH);
    let_pass(61000);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 0);
    helio_holding_t holding = {key, 1, HELIO_JOB_RUNNING, 1};
    come_back(NORTH_AGAIN, &holding, 1);
    assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
    const helio_fx_stop_t *stop = harness_take(h, HELIO_BROKER_FX_STOP);
    assert_non_null(stop);
    assert_int_equal(stop->peer, NORTH_AGAIN);
    harness_say(h, NORTH_AGAIN, key, 1, HELIO_REPORT_KIND_STOPPED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_CANCELLED);
}

static void cancel__of_a_suspect_lease_or_eager_job_needs_no_return(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_LEASE, HELIO_JOB_RUNNING);
    harness_gone(h, NORTH);
    let_pass(61000);
    harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
    let_pass(940000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_CANCELLED);
    assert_int_equal(harness_row(h, key)->exit_code, 130);
}

/*  Its agent says HELLO every 20 s, and fails before it has sent its inventory: silence goes on. */
static void silence__is_not_ended_by_sessions_without_an_inventory(void **state)
{
    (void)state;
    helio_job_key_t strict = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    helio_job_key_t eager = job_of(HELIO_SITE_LOSS_EAGER, HELIO_JOB_RUNNING);
    uint64_t peer = NORTH_AGAIN;
    harness_renew(h, NORTH);
    harness_gone(h, NORTH);
    for (int i = 0; i < 2; i++) {
        let_pass(15000);
        harness_hello(h, ++peer, north);
        let_pass(5000);
        harness_gone(h, peer);
    }
    let_pass(18000);
    assert_int_equal(harness_state(h, strict), HELIO_JOB_RUNNING);
    let_pass(4000);
    assert_int_equal(harness_state(h, strict), HELIO_JOB_SUSPECT);
    assert_int_not_equal(harness_row(h, eager)->epoch, 1);
    helio_holding_t holding = {strict, 1, HELIO_JOB_RUNNING, 1};
    harness_hello(h, ++peer, north);
    let_pass(50000); /* it has much to list */
    harness_inventory(h, peer, &holding, 1);
    assert_int_equal(harness_state(h, strict), HELIO_JOB_RUNNING);
}

/*  A site lists nothing, and more is to come, for ever. */
static void silence__is_not_ended_by_an_inventory_without_end(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_EAGER, HELIO_JOB_RUNNING);
    const helio_ev_site_inventory_t page = {.peer = NORTH_AGAIN};
    harness_gone(h, NORTH);
    harness_hello(h, NORTH_AGAIN, north);
    for (int64_t ms = 0; ms < 280000; ms += 20000) {
        harness_step(h, HELIO_BROKER_EV_SITE_INVENTORY, &page);
        let_pass(20000);
    }
    assert_int_equal(harness_row(h, key)->epoch, 1);
    harness_clear(h);
    for (int i = 0; i < 2; i++) {
        harness_step(h, HELIO_BROKER_EV_SITE_INVENTORY, &page);
        let_pass(20000);
    }
    const helio_fx_peer_t *refusal = harness_take(h, HELIO_BROKER_FX_REFUSAL);
    assert_true(refusal && refusal->peer == NORTH_AGAIN && refusal->rc == HELIO_TIMEOUT);
    assert_int_not_equal(harness_row(h, key)->epoch, 1);
}

/* ---- attest -------------------------------------------------------------------------------------------- */

static void attest__frees_the_jobs_of_a_silent_site_and_fences_what_comes_back(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    helio_job_key_t unwanted = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    harness_gone(h, NORTH);
    let_pass(62000);
    harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, unwanted);
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_OPERATOR, "north")->rc, HELIO_OK);
    assert_int_equal(site_state("north"), HELIO_SITE_STATE_LOST);
    assert_int_equal(harness_state(h, unwanted), HELIO_JOB_CANCELLED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    harness_tick(h);
    assert_int_equal(harness_row(h, key)->epoch, 2);
    helio_holding_t holding = {key, 1, HELIO_JOB_RUNNING, 1};
    come_back(NORTH_AGAIN, &holding, 1);
    const helio_fx_verdict_t *attempt_verdict = harness_take(h, HELIO_BROKER_FX_VERDICT);
    assert_int_equal(attempt_verdict->attempt_verdict.verdict, HELIO_VERDICT_FENCED);
    assert_int_equal(site_state("north"), HELIO_SITE_STATE_READY);
}

static void attest__of_a_site_that_is_not_silent_is_a_conflict(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    const helio_fx_reply_t *reply = harness_site_command(h, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_ADMIN, "north");
    assert_int_equal(reply->rc, HELIO_CONFLICT);
    assert_true(
        harness_says(h, &reply->details, "\"AttestNotSilent\",\"params\":{\"site\":\"north\",\"state\":\"ready\"}"));
    (void)harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_OPERATOR, "north");
    reply = harness_site_command(h, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_ADMIN, "north");
    assert_true(harness_says(h, &reply->details, "\"params\":{\"site\":\"north\",\"state\":\"draining\"}"));
    (void)harness_site_command(h, HELIO_BROKER_EV_UNDRAIN, HELIO_ROLE_OPERATOR, "north");
    harness_gone(h, NORTH);
    let_pass(20000); /* people see it as silent by then */
    reply = harness_site_command(h, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_ADMIN, "north");
    assert_int_equal(reply->rc, HELIO_CONFLICT);
    assert_true(harness_says(h, &reply->details, "\"AttestTooEarly\"") &&
                harness_says(h, &reply->details, "\"after_s\":60.0"));
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
}

/*  An order of the leader before it may still be under way to the site, which runs nothing yet. */
static void attest__waits_until_no_order_of_a_former_leader_can_arrive(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_OFFERED);
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    h = next;
    harness_wait(h, 20000);
    const helio_fx_reply_t *reply = harness_site_command(h, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_ADMIN, "north");
    assert_int_equal(reply->rc, HELIO_CONFLICT);
    assert_true(
        harness_says(h, &reply->details,
                     "\"AttestOrderUnderWay\",\"params\":{\"site\":\"north\",\"after_s\":60.0,\"wait_s\":40.0}"));
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    harness_wait(h, 40000);
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_ADMIN, "north")->rc, HELIO_OK);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
}

/*  Its agent says HELLO every 20 s, and fails before it has sent its inventory. */
static void attest__does_not_wait_for_an_agent_that_fails_at_every_start(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    uint64_t peer = NORTH_AGAIN;
    harness_gone(h, NORTH);
    let_pass(62000);
    assert_int_equal(site_state("north"), HELIO_SITE_STATE_SILENT);
    for (int i = 0; i < 5; i++) {
        harness_hello(h, ++peer, north);
        let_pass(10000);
        harness_gone(h, peer);
        let_pass(10000);
    }
    harness_hello(h, ++peer, north);
    harness_clear(h);
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_OPERATOR, "north")->rc, HELIO_OK);
    const helio_fx_peer_t *refusal = harness_take(h, HELIO_BROKER_FX_REFUSAL);
    assert_true(refusal && refusal->peer == peer);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    helio_holding_t holding = {key, 1, HELIO_JOB_RUNNING, 1};
    harness_inventory(h, peer, &holding, 1); /* of the session that has ended */
    assert_int_equal(site_state("north"), HELIO_SITE_STATE_LOST);
    come_back(++peer, &holding, 1);
    const helio_fx_verdict_t *attempt_verdict = harness_take(h, HELIO_BROKER_FX_VERDICT);
    assert_true(attempt_verdict && attempt_verdict->attempt_verdict.verdict == HELIO_VERDICT_FENCED);
}

/*  A session with an inventory can have carried an order to the last. */
static void attest__waits_after_a_session_with_an_inventory(void **state)
{
    (void)state;
    harness_gone(h, NORTH);
    let_pass(62000);
    come_back(NORTH_AGAIN, NULL, 0);
    let_pass(30000);
    harness_renew(h, NORTH_AGAIN);
    harness_gone(h, NORTH_AGAIN);
    let_pass(40000);
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_OPERATOR, "north")->rc, HELIO_CONFLICT);
    let_pass(22000);
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_OPERATOR, "north")->rc, HELIO_OK);
}

/* ---- the inventory ------------------------------------------------------------------------------------- */

typedef enum held { NOT_HELD, HELD, HELD_OLD_EPOCH } held_t;

/*  Each row: what the broker believes, what the site holds, and what follows. */
static void inventory__every_row_of_the_table(void **state)
{
    (void)state;
    static const struct {
        uint32_t believed;
        held_t held;
        uint32_t verdict; /* COUNT = no verdict */
        uint32_t after;
        bool order;
        int stop; /* helio_stop_mode_t; -1 = none */
    } rows[] = {
        {HELIO_JOB_OFFERED, HELD, HELIO_VERDICT_KEEP, HELIO_JOB_OFFERED, false, -1},
        {HELIO_JOB_OFFERED, NOT_HELD, HELIO_VERDICT_COUNT, HELIO_JOB_OFFERED, true, -1},
        {HELIO_JOB_ACCEPTED, HELD, HELIO_VERDICT_KEEP, HELIO_JOB_ACCEPTED, false, -1},
        {HELIO_JOB_ACCEPTED, NOT_HELD, HELIO_VERDICT_COUNT, HELIO_JOB_STOPPING, false, HELIO_STOP_MODE_KILL},
        {HELIO_JOB_STARTING, HELD, HELIO_VERDICT_KEEP, HELIO_JOB_STARTING, false, -1},
        {HELIO_JOB_STARTING, NOT_HELD, HELIO_VERDICT_COUNT, HELIO_JOB_STOPPING, false, HELIO_STOP_MODE_KILL},
        {HELIO_JOB_RUNNING, HELD, HELIO_VERDICT_KEEP, HELIO_JOB_RUNNING, false, -1},
        {HELIO_JOB_RUNNING, NOT_HELD, HELIO_VERDICT_COUNT, HELIO_JOB_STOPPING, false, HELIO_STOP_MODE_KILL},
        {HELIO_JOB_RUNNING, HELD_OLD_EPOCH, HELIO_VERDICT_FENCED, HELIO_JOB_STOPPING, false, HELIO_STOP_MODE_KILL},
        {HELIO_JOB_SUSPENDED, HELD, HELIO_VERDICT_KEEP, HELIO_JOB_SUSPENDED, false, -1},
        {HELIO_JOB_STOPPING, HELD, HELIO_VERDICT_KEEP, HELIO_JOB_STOPPING, false, HELIO_STOP_MODE_GRACE},
        {HELIO_JOB_STOPPING, NOT_HELD, HELIO_VERDICT_COUNT, HELIO_JOB_STOPPING, false, HELIO_STOP_MODE_GRACE},
    };
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        bool was_suspect = i % 2;
        uint32_t believed = rows[i / 2].believed;
        end(NULL);
        begin_joined(NULL);
        helio_job_key_t key =
            job_of(HELIO_SITE_LOSS_STRICT, believed == HELIO_JOB_STOPPING ? HELIO_JOB_RUNNING : believed);
        if (believed == HELIO_JOB_STOPPING)
            harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
        harness_gone(h, NORTH);
        if (was_suspect)
            let_pass(62000);
        assert_int_equal(harness_state(h, key), was_suspect ? HELIO_JOB_SUSPECT : believed);
        harness_clear(h);
        helio_holding_t holding = {key, rows[i / 2].held == HELD_OLD_EPOCH ? 0 : 1, HELIO_JOB_RUNNING, 1};
        come_back(NORTH_AGAIN, &holding, rows[i / 2].held == NOT_HELD ? 0 : 1);
        assert_int_equal(harness_state(h, key), rows[i / 2].after);
        const helio_fx_verdict_t *attempt_verdict = harness_take(h, HELIO_BROKER_FX_VERDICT);
        assert_int_equal(attempt_verdict ? attempt_verdict->attempt_verdict.verdict : HELIO_VERDICT_COUNT,
                         rows[i / 2].verdict);
        assert_null(harness_take(h, HELIO_BROKER_FX_VERDICT));
        const helio_fx_order_t *order = harness_take(h, HELIO_BROKER_FX_ORDER);
        assert_true((order != NULL) == rows[i / 2].order);
        if (order) {
            assert_int_equal(order->order.epoch, 1); /* the same epoch: nothing was placed anew */
            assert_int_equal(order->order.gpus_per_node, 1);
        }
        const helio_fx_stop_t *stop = harness_take(h, HELIO_BROKER_FX_STOP);
        assert_int_equal(stop ? (int)stop->stop.mode : -1, rows[i / 2].stop);
        assert_non_null(harness_take(h, HELIO_BROKER_FX_VERDICTS_DONE));
    }
}

static void inventory__attempts_that_are_unknown_over_or_elsewhere_are_fenced(void **state)
{
    (void)state;
    helio_job_key_t over = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    harness_say(h, NORTH, over, 1, HELIO_REPORT_KIND_ENDED);
    helio_job_key_t running = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING); /* at north */
    helio_job_key_t unknown = {.job = {{1, 2, 3}}, .task = 9};
    helio_holding_t holdings[] = {{over, 1, HELIO_JOB_RUNNING, 1},
                                  {running, 1, HELIO_JOB_RUNNING, 2},
                                  {unknown, 1, HELIO_JOB_RUNNING, 3},
                                  {running, 2, HELIO_JOB_RUNNING, 3}};
    harness_hello(h, SOUTH + 10, south);
    harness_inventory(h, SOUTH + 10, holdings, 4);
    for (int i = 0; i < 4; i++) {
        const helio_fx_verdict_t *attempt_verdict = harness_take(h, HELIO_BROKER_FX_VERDICT);
        assert_int_equal(attempt_verdict->peer, SOUTH + 10);
        assert_int_equal(attempt_verdict->attempt_verdict.verdict, HELIO_VERDICT_FENCED);
        assert_true(helio_job_key_equal(attempt_verdict->attempt_verdict.key, holdings[i].key));
        assert_int_equal(attempt_verdict->attempt_verdict.epoch, holdings[i].epoch);
    }
    assert_int_equal(harness_state(h, running), HELIO_JOB_RUNNING);
}

static void inventory__the_stop_of_a_forgotten_job_brings_it_back_to_the_queue(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    come_back(NORTH_AGAIN, NULL, 0);
    assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_STOPPED);
    report.run_ms = report.gpu_ms = 0;
    report.started_wall_ms = 0;
    harness_report(h, NORTH_AGAIN, &report);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
}

static void inventory__in_parts_gets_verdicts_part_by_part_and_closes_once(void **state)
{
    (void)state;
    helio_job_key_t one = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    helio_job_key_t two = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    helio_holding_t first = {one, 1, HELIO_JOB_RUNNING, 1}, second = {two, 1, HELIO_JOB_RUNNING, 2};
    harness_hello(h, NORTH_AGAIN, north);
    harness_clear(h);
    helio_ev_site_inventory_t part = {.peer = NORTH_AGAIN, .holdings = {&first, 1}, .last = false};
    harness_step(h, HELIO_BROKER_EV_SITE_INVENTORY, &part);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 0); /* the second is not missing yet */
    harness_inventory(h, NORTH_AGAIN, &second, 1);
    harness_inventory(h, NORTH_AGAIN, NULL, 0); /* once is enough */
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_VERDICT), 2);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_VERDICTS_DONE), 1);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 0);
}

static void profile__a_removed_pool_gets_no_jobs_and_its_jobs_end_normally(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    helio_site_profile_t *changed = harness_site(h, "north");
    harness_pool(h, changed, "b", "A100", 1, 4, 1.0);
    harness_hello(h, NORTH_AGAIN, changed);
    helio_holding_t holding = {key, 1, HELIO_JOB_RUNNING, 1};
    harness_inventory(h, NORTH_AGAIN, &holding, 1);
    harness_summary(h, NORTH_AGAIN, changed, 0, 0);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t next = harness_job(h, &spec);
    harness_tick(h);
    assert_true(helio_text_is(harness_row(h, next)->site, "south"));
    harness_say(h, NORTH_AGAIN, key, 1, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUCCEEDED);
    harness_tick(h);
}

/*  Old figures: of a site that was to send newer ones three times, and after ten seconds at the earliest. */
static void stale__after_three_missed_summaries(void **state)
{
    (void)state;
    static const struct {
        uint64_t summary_ms;
        int64_t after_ms;
    } rows[] = {{1000, 10000}, {60000, 180000}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_broker_options_t options = helio_broker_options_default();
        options.summary_ms = rows[i].summary_ms;
        options.silent_after_ms = 3600000;
        harness_end(&h);
        h = harness_begin(&options);
        north = harness_site(h, "north");
        harness_pool(h, north, "a", "H100", 4, 8, 2.0);
        harness_join(h, NORTH, north);
        harness_wait(h, rows[i].after_ms - 1500);
        assert_int_equal(harness_figures(h).sites_ready, 1);
        harness_wait(h, 3000);
        assert_int_equal(harness_figures(h).sites_ready, 0);
        harness_summary(h, NORTH, north, 0, 0);
        assert_int_equal(harness_figures(h).sites_ready, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(silence__makes_every_live_job_suspect_after_a_minute_and_not_before),
        CASE(silence__a_connection_restored_within_a_minute_changes_nothing),
        CASE(silence__within_a_session_ends_it_to_get_an_inventory),
        CASE(stale__after_three_missed_summaries),
        CASE(strict__waits_for_its_site_and_resumes_there),
        CASE(strict__an_end_that_a_returning_site_reports_follows_the_return_in_the_history),
        CASE(lease__is_placed_again_only_after_its_lease_and_the_margin),
        CASE(lease__a_renewal_just_before_the_silence_moves_the_expiry),
        CASE(eager__is_placed_elsewhere_at_suspicion),
        CASE(loss__of_twenty_sites_ends_the_job_as_lost),
        CASE(loss__of_one_site_after_twenty_refusals_returns_the_job_to_its_queue),
        CASE(cancel__of_a_suspect_job_is_kept_for_the_return_of_its_site),
        CASE(cancel__of_a_suspect_lease_or_eager_job_needs_no_return),
        CASE(silence__is_not_ended_by_sessions_without_an_inventory),
        CASE(silence__is_not_ended_by_an_inventory_without_end),
        CASE(attest__frees_the_jobs_of_a_silent_site_and_fences_what_comes_back),
        CASE(attest__of_a_site_that_is_not_silent_is_a_conflict),
        CASE(attest__waits_until_no_order_of_a_former_leader_can_arrive),
        CASE(attest__does_not_wait_for_an_agent_that_fails_at_every_start),
        CASE(attest__waits_after_a_session_with_an_inventory),
        CASE(inventory__every_row_of_the_table),
        CASE(inventory__attempts_that_are_unknown_over_or_elsewhere_are_fenced),
        CASE(inventory__the_stop_of_a_forgotten_job_brings_it_back_to_the_queue),
        CASE(inventory__in_parts_gets_verdicts_part_by_part_and_closes_once),
        CASE(profile__a_removed_pool_gets_no_jobs_and_its_jobs_end_normally),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
