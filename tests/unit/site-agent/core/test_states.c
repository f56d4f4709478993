/*  The full product of what an attempt can be and what can happen to it, against one table; and that table's
 * words against the broker's. */
#include "harness.h"

#include "site-agent/core/attempts.h"

typedef enum what { NONE, DUE, STARTING, RUNNING, STANDING, STOPPING, KILLING, OVER, WHAT_COUNT } what_t;
static const char *const what_words[] = {"none",     "due",      "starting", "running",
                                         "standing", "stopping", "killing",  "over"};

typedef enum happening {
    SAME_ORDER,
    OLDER_ORDER,
    STOP_GRACE,
    STOP_KILL,
    STARTED,
    ENDED,
    ENDED_STOPPED,
    FAILED_TO_START,
    VANISHED,
    ABSENT,
    WAITING,
    SUSPENDED,
    RESUMED,
    LEASE_ENDS,
    GONE_AND_BACK, /* disconnected, connected, ruled KEEP */
    FENCED,        /* disconnected, connected, ruled FENCED */
    RESTART,
    HAPPENING_COUNT
} happening_t;

static const char *const happening_words[] = {
    "same order",    "older order",     "stop",          "kill",   "started", "ended",
    "ended by stop", "failed to start", "vanished",      "absent", "waiting", "suspended",
    "resumed",       "lease ends",      "gone and back", "fenced", "restart"};

enum { NO_REPORT = 99 };
#define NO_CALL UINT32_MAX

typedef struct expectation {
    what_t after;
    uint32_t report; /* a new one, or NO_REPORT */
    uint32_t call;   /* of the backend, or NO_CALL */
} expectation_t;

#define R(kind) HELIO_REPORT_KIND_##kind
#define FX(kind) HELIO_AGENT_FX_##kind
#define SAME(state)               \
    {                             \
        state, NO_REPORT, NO_CALL \
    }

static const expectation_t table[WHAT_COUNT][HAPPENING_COUNT] = {
    [NONE] = {[SAME_ORDER] = {STARTING, R(STARTING), FX(START)},
              [OLDER_ORDER] = {NONE, R(REFUSED), NO_CALL},
              [STOP_GRACE] = {NONE, R(STOPPED), NO_CALL},
              [STOP_KILL] = {NONE, R(STOPPED), NO_CALL},
              [STARTED] = {RUNNING, R(RUNNING), NO_CALL}, /* found: held and shown */
              [ENDED] = SAME(NONE),
              [ENDED_STOPPED] = SAME(NONE),
              [FAILED_TO_START] = {OVER, R(LOST), NO_CALL}, /* found: the proof of its end */
              [VANISHED] = {OVER, R(LOST), NO_CALL},
              [ABSENT] = SAME(NONE),
              [WAITING] = SAME(NONE),
              [SUSPENDED] = SAME(NONE),
              [RESUMED] = SAME(NONE),
              [LEASE_ENDS] = SAME(NONE),
              [GONE_AND_BACK] = SAME(NONE),
              [FENCED] = SAME(NONE),
              [RESTART] = SAME(NONE)},
    [DUE] = {[SAME_ORDER] = SAME(DUE),
             [OLDER_ORDER] = {DUE, R(REFUSED), NO_CALL},
             [STOP_GRACE] = {OVER, R(STOPPED), NO_CALL},
             [STOP_KILL] = {OVER, R(STOPPED), NO_CALL},
             [STARTED] = {RUNNING, R(RUNNING), NO_CALL},
             [ENDED] = {OVER, R(ENDED), NO_CALL},
             [ENDED_STOPPED] = {OVER, R(STOPPED), NO_CALL},
             [FAILED_TO_START] = {OVER, R(LOST), NO_CALL},
             [VANISHED] = {OVER, R(LOST), NO_CALL},
             [ABSENT] = SAME(DUE),
             [WAITING] = {DUE, R(STARTING), NO_CALL},
             [SUSPENDED] = SAME(DUE),
             [RESUMED] = SAME(DUE),
             [LEASE_ENDS] = SAME(DUE),
             [GONE_AND_BACK] = {STARTING, NO_REPORT, FX(START)},
             [FENCED] = {OVER, R(STOPPED), NO_CALL},
             [RESTART] = {STARTING, NO_REPORT, FX(ADOPT)}},
    [STARTING] = {[SAME_ORDER] = SAME(STARTING),
                  [OLDER_ORDER] = {STARTING, R(REFUSED), NO_CALL},
                  [STOP_GRACE] = {STOPPING, NO_REPORT, FX(STOP)},
                  [STOP_KILL] = {KILLING, NO_REPORT, FX(STOP)},
                  [STARTED] = {RUNNING, R(RUNNING), NO_CALL},
                  [ENDED] = {OVER, R(ENDED), NO_CALL},
                  [ENDED_STOPPED] = {OVER, R(STOPPED), NO_CALL},
                  [FAILED_TO_START] = {OVER, R(LOST), NO_CALL},
                  [VANISHED] = {OVER, R(LOST), NO_CALL},
                  [ABSENT] = {STARTING, NO_REPORT, FX(START)},
                  [WAITING] = {STARTING, R(STARTING), NO_CALL},
                  [SUSPENDED] = SAME(STARTING),
                  [RESUMED] = SAME(STARTING),
                  [LEASE_ENDS] = {STOPPING, NO_REPORT, FX(STOP)},
                  [GONE_AND_BACK] = SAME(STARTING),
                  [FENCED] = {KILLING, NO_REPORT, FX(STOP)},
                  [RESTART] = {STARTING, NO_REPORT, FX(ADOPT)}},
    [RUNNING] = {[SAME_ORDER] = SAME(RUNNING),
                 [OLDER_ORDER] = {RUNNING, R(REFUSED), NO_CALL},
                 [STOP_GRACE] = {STOPPING, NO_REPORT, FX(STOP)},
                 [STOP_KILL] = {KILLING, NO_REPORT, FX(STOP)},
                 [STARTED] = SAME(RUNNING),
                 [ENDED] = {OVER, R(ENDED), NO_CALL},
                 [ENDED_STOPPED] = {OVER, R(STOPPED), NO_CALL},
                 [FAILED_TO_START] = {OVER, R(LOST), NO_CALL},
                 [VANISHED] = {OVER, R(LOST), NO_CALL},
                 [ABSENT] = {OVER, R(LOST), NO_CALL},
                 [WAITING] = SAME(RUNNING),
                 [SUSPENDED] = {STANDING, R(SUSPENDED), NO_CALL},
                 [RESUMED] = SAME(RUNNING),
                 [LEASE_ENDS] = {STOPPING, NO_REPORT, FX(STOP)},
                 [GONE_AND_BACK] = SAME(RUNNING),
                 [FENCED] = {KILLING, NO_REPORT, FX(STOP)},
                 [RESTART] = {RUNNING, NO_REPORT, FX(ADOPT)}},
    [STANDING] = {[SAME_ORDER] = SAME(STANDING),
                  [OLDER_ORDER] = {STANDING, R(REFUSED), NO_CALL},
                  [STOP_GRACE] = {STOPPING, NO_REPORT, FX(STOP)},
                  [STOP_KILL] = {KILLING, NO_REPORT, FX(STOP)},
                  [STARTED] = {RUNNING, R(RUNNING), NO_CALL},
                  [ENDED] = {OVER, R(ENDED), NO_CALL},
                  [ENDED_STOPPED] = {OVER, R(STOPPED), NO_CALL},
                  [FAILED_TO_START] = {OVER, R(LOST), NO_CALL},
                  [VANISHED] = {OVER, R(LOST), NO_CALL},
                  [ABSENT] = {OVER, R(LOST), NO_CALL},
                  [WAITING] = SAME(STANDING),
                  [SUSPENDED] = SAME(STANDING),
                  [RESUMED] = {RUNNING, R(RUNNING), NO_CALL},
                  [LEASE_ENDS] = {STOPPING, NO_REPORT, FX(STOP)},
                  [GONE_AND_BACK] = SAME(STANDING),
                  [FENCED] = {KILLING, NO_REPORT, FX(STOP)},
                  [RESTART] = {STANDING, NO_REPORT, FX(ADOPT)}},
    [STOPPING] = {[SAME_ORDER] = SAME(STOPPING),
                  [OLDER_ORDER] = {STOPPING, R(REFUSED), NO_CALL},
                  [STOP_GRACE] = SAME(STOPPING),
                  [STOP_KILL] = {KILLING, NO_REPORT, FX(STOP)},
                  [STARTED] = {STOPPING, NO_REPORT, FX(STOP)},
                  [ENDED] = {OVER, R(ENDED), NO_CALL},
                  [ENDED_STOPPED] = {OVER, R(STOPPED), NO_CALL},
                  [FAILED_TO_START] = {OVER, R(STOPPED), NO_CALL},
                  [VANISHED] = {OVER, R(STOPPED), NO_CALL},
                  [ABSENT] = {OVER, R(STOPPED), NO_CALL},
                  [WAITING] = SAME(STOPPING),
                  [SUSPENDED] = SAME(STOPPING),
                  [RESUMED] = SAME(STOPPING),
                  [LEASE_ENDS] = SAME(STOPPING),
                  [GONE_AND_BACK] = SAME(STOPPING),
                  [FENCED] = {KILLING, NO_REPORT, FX(STOP)},
                  [RESTART] = {STOPPING, NO_REPORT, FX(STOP)} /* after ADOPT */},
    [KILLING] = {[SAME_ORDER] = SAME(KILLING),
                 [OLDER_ORDER] = {KILLING, R(REFUSED), NO_CALL},
                 [STOP_GRACE] = SAME(KILLING),
                 [STOP_KILL] = SAME(KILLING),
                 [STARTED] = {KILLING, NO_REPORT, FX(STOP)},
                 [ENDED] = {OVER, R(ENDED), NO_CALL},
                 [ENDED_STOPPED] = {OVER, R(STOPPED), NO_CALL},
                 [FAILED_TO_START] = {OVER, R(STOPPED), NO_CALL},
                 [VANISHED] = {OVER, R(STOPPED), NO_CALL},
                 [ABSENT] = {OVER, R(STOPPED), NO_CALL},
                 [WAITING] = SAME(KILLING),
                 [SUSPENDED] = SAME(KILLING),
                 [RESUMED] = SAME(KILLING),
                 [LEASE_ENDS] = SAME(KILLING),
                 [GONE_AND_BACK] = SAME(KILLING),
                 [FENCED] = SAME(KILLING),
                 [RESTART] = {KILLING, NO_REPORT, FX(STOP)}},
    [OVER] = {[SAME_ORDER] = SAME(OVER),
              [OLDER_ORDER] = {OVER, R(REFUSED), NO_CALL},
              [STOP_GRACE] = SAME(OVER),
              [STOP_KILL] = SAME(OVER),
              [STARTED] = SAME(OVER),
              [ENDED] = SAME(OVER),
              [ENDED_STOPPED] = SAME(OVER),
              [FAILED_TO_START] = SAME(OVER),
              [VANISHED] = SAME(OVER),
              [ABSENT] = SAME(OVER),
              [WAITING] = SAME(OVER),
              [SUSPENDED] = SAME(OVER),
              [RESUMED] = SAME(OVER),
              [LEASE_ENDS] = SAME(OVER),
              [GONE_AND_BACK] = SAME(OVER),
              [FENCED] = SAME(OVER),
              [RESTART] = SAME(OVER)},
};

static void reach(site_t *site, what_t what)
{
    open_session(site);
    helio_order_t order = order_of(1, 5, 1, 2);
    order.on_site_loss = HELIO_SITE_LOSS_LEASE;
    if (what == NONE) { /* an older epoch is over and acknowledged, so that an epoch is known */
        order.epoch = 4;
        give(site, &order);
        backend_says(site, 1, 4, HELIO_BACKEND_REPORT_ENDED);
        acknowledge(site, last_seq(site));
    } else {
        give(site, &order);
    }
    if (what == RUNNING || what == STANDING || what == STOPPING || what == KILLING || what == OVER)
        backend_says(site, 1, 5, HELIO_BACKEND_REPORT_STARTED);
    if (what == STANDING)
        backend_says(site, 1, 5, HELIO_BACKEND_REPORT_SUSPENDED);
    if (what == STOPPING || what == KILLING)
        stop_it(site, 1, 5, what == STOPPING ? HELIO_STOP_MODE_GRACE : HELIO_STOP_MODE_KILL);
    if (what == OVER)
        backend_says(site, 1, 5, HELIO_BACKEND_REPORT_ENDED);
    commit(site);
    if (what == DUE) { /* the backend has never heard of it, and no session is open to start it again */
        step(site, HELIO_AGENT_EV_DISCONNECTED, NULL);
        backend_says(site, 1, 5, HELIO_BACKEND_REPORT_ABSENT);
        commit(site);
    }
    clear_log(site);
}

static void reconnect(site_t *site, uint32_t verdict)
{
    step(site, HELIO_AGENT_EV_DISCONNECTED, NULL);
    open_until_inventory(site);
    rule_on(site, 1, 5, verdict, true);
}

static void happen(site_t *site, happening_t happening)
{
    helio_order_t order = order_of(1, 5, 1, 2);
    helio_aev_backend_t stopped = backend_of(1, 5, HELIO_BACKEND_REPORT_ENDED);
    stopped.stopped = true;
    switch (happening) {
    case SAME_ORDER:
        give(site, &order);
        break;
    case OLDER_ORDER:
        order.epoch = 3;
        give(site, &order);
        break;
    case STOP_GRACE:
        stop_it(site, 1, 5, HELIO_STOP_MODE_GRACE);
        break;
    case STOP_KILL:
        stop_it(site, 1, 5, HELIO_STOP_MODE_KILL);
        break;
    case STARTED:
        backend_says(site, 1, 5, HELIO_BACKEND_REPORT_STARTED);
        break;
    case ENDED:
        backend_says(site, 1, 5, HELIO_BACKEND_REPORT_ENDED);
        break;
    case ENDED_STOPPED:
        step(site, HELIO_AGENT_EV_BACKEND, &stopped);
        break;
    case FAILED_TO_START:
        backend_says(site, 1, 5, HELIO_BACKEND_REPORT_FAILED_TO_START);
        break;
    case VANISHED:
        backend_says(site, 1, 5, HELIO_BACKEND_REPORT_VANISHED);
        break;
    case ABSENT:
        backend_says(site, 1, 5, HELIO_BACKEND_REPORT_ABSENT);
        break;
    case WAITING:
        backend_says(site, 1, 5, HELIO_BACKEND_REPORT_WAITING);
        break;
    case SUSPENDED:
        backend_says(site, 1, 5, HELIO_BACKEND_REPORT_SUSPENDED);
        break;
    case RESUMED:
        backend_says(site, 1, 5, HELIO_BACKEND_REPORT_RESUMED);
        break;
    case LEASE_ENDS:
        later(site, 900000 - 60000);
        break;
    case GONE_AND_BACK:
        reconnect(site, HELIO_VERDICT_KEEP);
        break;
    case FENCED:
        reconnect(site, HELIO_VERDICT_FENCED);
        break;
    case RESTART:
        restart(site);
        break;
    case HAPPENING_COUNT:
        fail();
    }
}

static what_t what_is(const site_t *site)
{
    const helio_attempt_t *attempt = helio_attempt_find(site->core, key_of(1), 5);
    if (!attempt)
        return NONE;
    if (attempt->over)
        return OVER;
    if (attempt->start_due)
        return DUE;
    if (attempt->state == HELIO_JOB_STARTING)
        return STARTING;
    if (attempt->state == HELIO_JOB_RUNNING)
        return RUNNING;
    if (attempt->state == HELIO_JOB_SUSPENDED)
        return STANDING;
    assert_int_equal(attempt->state, HELIO_JOB_STOPPING);
    return attempt->stop_mode == HELIO_STOP_MODE_KILL ? KILLING : STOPPING;
}

static uint32_t last_report(const site_t *site)
{
    for (uint32_t i = site->log_count; i-- > 0;)
        if (site->log[i].kind == HELIO_AGENT_FX_ROW_REPORT)
            return ((helio_report_t *)site->log[i].record)->kind;
    return NO_REPORT;
}

static uint32_t last_call(const site_t *site)
{
    for (uint32_t i = site->log_count; i-- > 0;) {
        uint32_t kind = site->log[i].kind;
        if (kind == HELIO_AGENT_FX_START || kind == HELIO_AGENT_FX_ADOPT || kind == HELIO_AGENT_FX_STOP)
            return kind;
    }
    return NO_CALL;
}

static void attempt__every_event_in_every_state_follows_the_table(void **state)
{
    (void)state;
    static site_t site;
    for (uint32_t w = 0; w < WHAT_COUNT; w++)
        for (uint32_t h = 0; h < HAPPENING_COUNT; h++) {
            /* The order must carry epoch 5 here, so that "none" accepts it and knows epoch 4. */
            site_begin(&site);
            reach(&site, (what_t)w);
            assert_int_equal(what_is(&site), w);
            happen(&site, (happening_t)h);
            const expectation_t *expected = &table[w][h];
            if (what_is(&site) != expected->after || last_report(&site) != expected->report ||
                last_call(&site) != expected->call)
                fail_msg("%s + %s: %s, report %u, call %u; expected %s, report %u, call %u", what_words[w],
                         happening_words[h], what_words[what_is(&site)], last_report(&site), last_call(&site),
                         what_words[expected->after], expected->report, expected->call);
            site_end(&site);
        }
}

static void attempt__keeps_its_state_over_a_restart_after_any_event(void **state)
{
    (void)state;
    static site_t site;
    for (uint32_t w = 0; w < WHAT_COUNT; w++)
        for (uint32_t h = 0; h < HAPPENING_COUNT; h++) {
            site_begin(&site);
            reach(&site, (what_t)w);
            happen(&site, (happening_t)h);
            commit(&site);
            what_t before = what_is(&site);
            restart(&site);
            what_t after = what_is(&site);
            /* What waits to be started again is looked up again; with its lease over, only to be stopped. */
            if (before == DUE)
                before = h == LEASE_ENDS ? STOPPING : STARTING;
            if (after != before)
                fail_msg("%s + %s: %s became %s", what_words[w], happening_words[h], what_words[before],
                         what_words[after]);
            site_end(&site);
        }
}

static void attempt__states_are_live_job_states_in_the_brokers_table(void **state)
{
    (void)state;
    static const uint32_t states[] = {
#define STATE(name) HELIO_JOB_##name,
#include "site-agent/core/attempt_state.def"
    };
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        assert_true(helio_job_state_is_live(states[i]));
}

static void attempt__edges_are_edges_of_the_brokers_table(void **state)
{
    (void)state;
    static const struct {
        uint32_t from, to;
    } edges[] = {
#define EDGE(from, to, why) {HELIO_JOB_##from, HELIO_JOB_##to},
#include "site-agent/core/attempt_state.def"
    };
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        if (!helio_job_state_edge(edges[i].from, edges[i].to))
            fail_msg("%s -> %s is not the broker's", helio_job_state_name(edges[i].from),
                     helio_job_state_name(edges[i].to));
}

static bool broker_takes(uint32_t from, uint32_t report)
{
    if (report == HELIO_REPORT_KIND_ENDED)
        return helio_job_state_edge(from, HELIO_JOB_SUCCEEDED) && helio_job_state_edge(from, HELIO_JOB_FAILED) &&
               helio_job_state_edge(from, HELIO_JOB_TIMEOUT);
    if (report == HELIO_REPORT_KIND_LOST)
        return helio_job_state_edge(from, HELIO_JOB_QUEUED) && helio_job_state_edge(from, HELIO_JOB_HELD);
    /* STOPPED: the broker is stopping it, or sees the lease end by SUSPECT */
    return from == HELIO_JOB_STOPPING || helio_job_state_edge(from, HELIO_JOB_STOPPING);
}

static void attempt__ends_are_ends_that_the_broker_accepts(void **state)
{
    (void)state;
    static const struct {
        uint32_t from, report;
    } ends[] = {
#define END(from, report, why) {HELIO_JOB_##from, HELIO_REPORT_KIND_##report},
#include "site-agent/core/attempt_state.def"
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (!broker_takes(ends[i].from, ends[i].report))
            fail_msg("%s ends as %s", helio_job_state_name(ends[i].from), helio_report_kind_name(ends[i].report));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempt__every_event_in_every_state_follows_the_table),
        cmocka_unit_test(attempt__keeps_its_state_over_a_restart_after_any_event),
        cmocka_unit_test(attempt__states_are_live_job_states_in_the_brokers_table),
        cmocka_unit_test(attempt__edges_are_edges_of_the_brokers_table),
        cmocka_unit_test(attempt__ends_are_ends_that_the_broker_accepts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
