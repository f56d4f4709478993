/*  life.c -- what happens to one attempt: it starts, stops, reports and ends. Every change of state goes through
 *  advance() or finish(), which hold the table of attempt_state.def, and is a row of the same batch that its effects
 *  wait for.
 */
#include "site-agent/core/life.h"

#include <assert.h>

#include "federation/reason/codes.h"
#include "site-agent/core/lease.h"
#include "site-agent/core/reports.h"

/* ---- transitions -------------------------------------------------------------------------------------------- */

static void advance(helio_agent_core_t *self, helio_attempt_t *attempt, uint32_t to)
{
    assert(!attempt->over && helio_attempt_edge(attempt->state, to));
    attempt->state = to;
    helio_attempt_row(self, attempt);
}

static helio_report_t report_of(const helio_attempt_t *attempt, uint32_t kind)
{
    return (helio_report_t){.key = attempt->order.key,
                            .epoch = attempt->order.epoch,
                            .kind = kind,
                            .started_wall_ms = attempt->started_wall_ms};
}

static void finish(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_report_t *report)
{
    assert(!attempt->over && helio_attempt_may_end(attempt->state, report->kind));
    helio_attempt_over(self, attempt);
    if (self->capacity)
        helio_capacity_give_back(self->capacity, &attempt->order, attempt->slots, attempt->slot_count);
    helio_reports_add(self, report);
}

static void call_backend(helio_agent_core_t *self, uint32_t effect, const helio_attempt_t *attempt)
{
    helio_afx_start_t call = {
        .order = attempt->order, .slots = {attempt->slots, attempt->slot_count}, .evidence = attempt->evidence};
    helio_agent_emit(self, effect, &call);
}

static void begin(helio_agent_core_t *self, helio_attempt_t *attempt)
{
    assert(!attempt->over);
    assert(attempt->state == HELIO_JOB_ACCEPTED || attempt->state == HELIO_JOB_STARTING);
    attempt->start_due = false;
    self->lease_changed = self->lease_changed || helio_attempt_leased(attempt); /* it is named before its shim looks */
    if (attempt->state == HELIO_JOB_ACCEPTED) {
        advance(self, attempt, HELIO_JOB_STARTING);
        helio_report_t report = report_of(attempt, HELIO_REPORT_KIND_STARTING);
        helio_reports_add(self, &report);
    }
    call_backend(self, HELIO_AGENT_FX_START, attempt);
}

/*  Also called again for an attempt that the backend does not know: the report was made the first time. Nothing of it
 *  runs, or has run, before this is durable. */
void helio_attempt_start(helio_agent_core_t *self, helio_attempt_t *attempt)
{
    attempt->evidence = (helio_evidence_t){.asked_wall_ms = self->event->wall_ms, .asked_boot_ms = self->event->now_ms};
    if (attempt->state != HELIO_JOB_ACCEPTED) /* else it is in the row of its next state */
        helio_attempt_row(self, attempt);
    begin(self, attempt);
}

static void tell_stop(helio_agent_core_t *self, const helio_attempt_t *attempt)
{
    helio_stop_t stop = {.key = attempt->order.key,
                         .epoch = attempt->order.epoch,
                         .mode = attempt->stop_mode,
                         .reason = helio_text_of(attempt->stop_explanation),
                         .cause = attempt->stop_cause};
    helio_agent_emit(self, HELIO_AGENT_FX_STOP, &stop);
}

void helio_attempt_stop(helio_agent_core_t *self, helio_attempt_t *attempt, uint32_t mode, uint32_t cause,
                        helio_text_t explanation)
{
    assert(mode < HELIO_STOP_MODE_COUNT && cause != HELIO_CAUSE_NONE);
    if (attempt->over)
        return;
    if (attempt->start_due && self->surveyed) { /* the backend has nothing of it, and never will */
        helio_report_t report = report_of(attempt, HELIO_REPORT_KIND_STOPPED);
        report.cause = cause;
        report.explanation = explanation;
        finish(self, attempt, &report);
        return;
    }
    if (attempt->start_due && attempt->state == HELIO_JOB_ACCEPTED) /* it may run, if the journal is an older copy */
        advance(self, attempt, HELIO_JOB_STARTING);
    attempt->start_due = false;
    bool stopping = attempt->state == HELIO_JOB_STOPPING;
    if (stopping && (attempt->stop_mode == HELIO_STOP_MODE_KILL || mode == HELIO_STOP_MODE_GRACE))
        return;
    attempt->stop_mode = mode;
    if (!stopping) {
        helio_attempt_explain_stop(attempt, cause, explanation);
        advance(self, attempt, HELIO_JOB_STOPPING);
    } else {
        helio_attempt_row(self, attempt);
    }
    tell_stop(self, attempt);
}

/* ---- events of the backend ---------------------------------------------------------------------------------- */

/*  Reports the attempt's state, with the cause and the explanation that the backend gave. */
static void tell(helio_agent_core_t *self, const helio_attempt_t *attempt, uint32_t kind,
                 const helio_aev_backend_t *event)
{
    helio_report_t report = report_of(attempt, kind);
    report.local_id = event->local_id;
    if (kind != HELIO_REPORT_KIND_RUNNING) {
        report.cause = event->cause;
        report.explanation = event->explanation;
    }
    helio_reports_add(self, &report);
}

static void run(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
    advance(self, attempt, HELIO_JOB_RUNNING);
    tell(self, attempt, HELIO_REPORT_KIND_RUNNING, event);
}

static void on_started(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
    if (attempt->state == HELIO_JOB_RUNNING)
        return;                                  /* adopted: known already */
    if (attempt->state == HELIO_JOB_SUSPENDED) { /* adopted: if it is still suspended, the next event says so */
        run(self, attempt, event);
        return;
    }
    attempt->started_wall_ms = event->started_wall_ms;
    attempt->start_due = false;
    if (attempt->state == HELIO_JOB_STOPPING) {
        /* The stop may have been lost with the former agent, or have come before the attempt existed. */
        helio_attempt_row(self, attempt);
        tell_stop(self, attempt);
        return;
    }
    if (attempt->state == HELIO_JOB_ACCEPTED) /* the journal is an older copy: when it was told to start is not known */
        begin(self, attempt);
    run(self, attempt, event);
}

/*  The state does not change: the report tells what the job waits for. */
static void on_waiting(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
    if (attempt->state == HELIO_JOB_STARTING)
        tell(self, attempt, HELIO_REPORT_KIND_STARTING, event);
}

static void on_suspended(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
    if (attempt->state != HELIO_JOB_RUNNING)
        return;
    advance(self, attempt, HELIO_JOB_SUSPENDED);
    tell(self, attempt, HELIO_REPORT_KIND_SUSPENDED, event);
}

static void on_resumed(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
    if (attempt->state == HELIO_JOB_SUSPENDED)
        run(self, attempt, event);
}

static uint64_t gpus_of(const helio_attempt_t *attempt)
{
    if (attempt->found)
        return attempt->found_gpus; /* there is no order; if the backend does not know it either, the broker does */
    return (uint64_t)attempt->order.nodes * attempt->order.gpus_per_node;
}

/*  ENDED, STOPPED or LOST, by the backend's event and what the agent had ordered. */
static uint32_t end_kind(const helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
    bool stopping = attempt->state == HELIO_JOB_STOPPING;
    if (event->word == HELIO_BACKEND_REPORT_ENDED)
        return event->stopped ? HELIO_REPORT_KIND_STOPPED : HELIO_REPORT_KIND_ENDED;
    return stopping ? HELIO_REPORT_KIND_STOPPED : HELIO_REPORT_KIND_LOST;
}

/*  If a stop was ordered, it is the cause, whatever the backend reports. */
static void explain_end(const helio_attempt_t *attempt, const helio_aev_backend_t *event, helio_report_t *report)
{
    if (report->kind == HELIO_REPORT_KIND_STOPPED && attempt->stop_cause != HELIO_CAUSE_NONE) {
        report->cause = attempt->stop_cause;
        report->explanation = helio_text_of(attempt->stop_explanation);
        return;
    }
    report->cause = event->cause;
    report->explanation = event->explanation;
    if (report->kind == HELIO_REPORT_KIND_LOST && event->cause == HELIO_CAUSE_NONE)
        report->cause =
            event->word == HELIO_BACKEND_REPORT_FAILED_TO_START ? HELIO_CAUSE_START_FAILED : HELIO_CAUSE_VANISHED;
}

/*  It ran, and the backend knows when, but not for how long. */
static void estimate_run(const helio_aev_backend_t *event, helio_report_t *report)
{
#ifdef HELIO_MUTANT_killed_is_free
    if (event->word == HELIO_BACKEND_REPORT_VANISHED)
        report->run_ms = 0;
    return;
#endif
    bool stated = event->word == HELIO_BACKEND_REPORT_VANISHED && event->ended_wall_ms && report->started_wall_ms;
    if (report->run_ms || !stated || event->ended_wall_ms <= report->started_wall_ms)
        return;
    report->run_ms = (uint64_t)(event->ended_wall_ms - report->started_wall_ms);
    report->estimated = true;
}

static void on_end(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
    if (attempt->state == HELIO_JOB_ACCEPTED) /* it ran under a former agent whose journal did not record it */
        advance(self, attempt, HELIO_JOB_STARTING);
    if (attempt->state == HELIO_JOB_SUSPENDED) /* a suspended attempt cannot end */
        advance(self, attempt, HELIO_JOB_RUNNING);
    uint32_t kind = end_kind(attempt, event);
    helio_report_t report = report_of(attempt, kind);
    if (event->started_wall_ms)
        report.started_wall_ms = event->started_wall_ms;
    if (event->word == HELIO_BACKEND_REPORT_FAILED_TO_START)
        report.started_wall_ms = 0; /* not one instruction of it ran, so there is nothing to charge */
    report.exit_code = event->exit_code;
    report.limit_reached = event->limit_reached;
    report.ended_wall_ms = event->ended_wall_ms ? event->ended_wall_ms : self->event->wall_ms;
    if (event->word == HELIO_BACKEND_REPORT_ABSENT && attempt->started_wall_ms)
        report.ended_wall_ms = 0; /* it ran until some time before this look-up: the broker knows more */
    report.run_ms = event->run_ms;
    report.estimated = event->estimated;
    estimate_run(event, &report);
    report.gpu_ms = report.run_ms * gpus_of(attempt);
    report.energy_j = event->energy_j;
    report.units_done = event->units_done;
    report.saved_run_ms = event->saved_run_ms < event->run_ms ? event->saved_run_ms : event->run_ms;
    explain_end(attempt, event, &report);
    report.local_id = event->local_id;
    finish(self, attempt, &report);
}

static void on_absent(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
#ifndef HELIO_MUTANT_unseen_is_absent
    if (!self->surveyed) {
        attempt->unproven = true;
        return;
    }
#endif
    if (attempt->state != HELIO_JOB_STARTING && attempt->state != HELIO_JOB_ACCEPTED) {
        on_end(self, attempt, event);
        return;
    }
    if (helio_session_is_open(self) && (!helio_attempt_leased(attempt) || helio_lease_is_valid(self)))
        helio_attempt_start(self, attempt);
    else
        attempt->start_due = true;
}

/*  The backend holds what the journal does not know (it was lost, or is an older copy): hold it, report it, and let the
 *  broker decide. An epoch that was reported as over cannot be reported as running: a newer attempt may run
 *  elsewhere. */
static void on_found(helio_agent_core_t *self, const helio_aev_backend_t *event)
{
    helio_known_t *known = helio_known_find(self->known, event->key);
    if (known && event->epoch <= known->epoch) {
        if (event->word != HELIO_BACKEND_REPORT_STARTED || known->killed == event->epoch)
            return; /* nothing of it runs, or that stop is on its way */
        known->killed = event->epoch;
        helio_stop_t stop = {
            .key = event->key, .epoch = event->epoch, .mode = HELIO_STOP_MODE_KILL, .cause = HELIO_CAUSE_FENCED};
        helio_agent_emit(self, HELIO_AGENT_FX_STOP, &stop);
        return;
    }
    helio_order_t order = {.key = event->key, .epoch = event->epoch};
    helio_attempt_t *attempt = helio_attempt_add(self, self->meta.incarnation, &order, NULL, 0);
    attempt->found = true;
    attempt->state = HELIO_JOB_RUNNING;
    attempt->found_gpus = event->gpus;
    attempt->started_wall_ms = event->started_wall_ms;
    self->attempts.found++;
    helio_epoch_seen(self, attempt->known, event->epoch);
    helio_attempt_row(self, attempt);
    if (event->word == HELIO_BACKEND_REPORT_STARTED)
        tell(self, attempt, HELIO_REPORT_KIND_RUNNING, event);
    else
        on_end(self, attempt, event);
}

/*  Words by which a backend shows that an attempt exists, or existed. */
static bool is_found(uint32_t word)
{
    return word == HELIO_BACKEND_REPORT_STARTED || word == HELIO_BACKEND_REPORT_FAILED_TO_START ||
           word == HELIO_BACKEND_REPORT_VANISHED;
}

typedef void on_word_fn(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_aev_backend_t *event);
static on_word_fn *const on_word[HELIO_BACKEND_REPORT_COUNT] = {
    [HELIO_BACKEND_REPORT_STARTED] = on_started,     [HELIO_BACKEND_REPORT_ENDED] = on_end,
    [HELIO_BACKEND_REPORT_FAILED_TO_START] = on_end, [HELIO_BACKEND_REPORT_VANISHED] = on_end,
    [HELIO_BACKEND_REPORT_ABSENT] = on_absent,       [HELIO_BACKEND_REPORT_WAITING] = on_waiting,
    [HELIO_BACKEND_REPORT_SUSPENDED] = on_suspended, [HELIO_BACKEND_REPORT_RESUMED] = on_resumed,
};
_Static_assert(HELIO_BACKEND_REPORT_COUNT == 8, "a new word of backends needs its function here");

void helio_attempt_backend(helio_agent_core_t *self, const helio_aev_backend_t *event)
{
    helio_attempt_t *attempt = helio_attempt_find(self, event->key, event->epoch);
    if (!attempt && is_found(event->word))
        on_found(self, event);
    if (!attempt || attempt->over)
        return;
    if (event->gpus)
        attempt->found_gpus = event->gpus;
    assert(event->word < HELIO_BACKEND_REPORT_COUNT);
    on_word[event->word](self, attempt, event);
}

void helio_attempt_evidence(helio_agent_core_t *self, const helio_aev_evidence_t *event)
{
    helio_attempt_t *attempt = helio_attempt_find(self, event->key, event->epoch);
    if (!attempt || attempt->over)
        return;
    helio_evidence_t before = attempt->evidence;
    attempt->evidence = event->evidence;
    attempt->evidence.asked_wall_ms = before.asked_wall_ms;
    attempt->evidence.asked_boot_ms = before.asked_boot_ms;
    helio_attempt_row(self, attempt);
}

/* ---- a restart ----------------------------------------------------------------------------------------- */

void helio_attempts_loaded(helio_agent_core_t *self)
{
    for (helio_attempt_t *attempt = self->attempts.first; attempt; attempt = attempt->next) {
        if (attempt->over)
            continue; /* its GPUs were free again, and can be another attempt's by now */
        if (self->capacity)
            helio_capacity_retake(self->capacity, &attempt->order, attempt->slots, attempt->slot_count);
        if (attempt->state == HELIO_JOB_ACCEPTED)
            attempt->start_due = true; /* the backend was never called */
        else
            call_backend(self, HELIO_AGENT_FX_ADOPT, attempt);
        if (attempt->state == HELIO_JOB_STOPPING)
            tell_stop(self, attempt); /* the former agent may have died before the call */
    }
}

void helio_attempts_surveyed(helio_agent_core_t *self)
{
    self->surveyed = true;
    for (helio_attempt_t *attempt = self->attempts.first; attempt; attempt = attempt->next) {
        if (attempt->unproven && !attempt->over)
            call_backend(self, HELIO_AGENT_FX_ADOPT, attempt);
        attempt->unproven = false;
    }
    if (helio_session_is_open(self))
        helio_attempts_start_due(self);
}

/* ---- every attempt at once ----------------------------------------------------------------------------- */

void helio_attempts_start_due(helio_agent_core_t *self)
{
    if (!self->surveyed)
        return;
    for (helio_attempt_t *attempt = self->attempts.first; attempt; attempt = attempt->next)
        if (attempt->start_due && (!helio_attempt_leased(attempt) || helio_lease_is_valid(self)))
            helio_attempt_start(self, attempt);
}

void helio_attempts_stop_leased(helio_agent_core_t *self, uint32_t mode)
{
    for (helio_attempt_t *attempt = self->attempts.first; attempt; attempt = attempt->next)
        if (!attempt->over && !attempt->start_due && helio_attempt_leased(attempt))
            helio_attempt_stop(self, attempt, mode, HELIO_CAUSE_LEASE_EXPIRED, (helio_text_t){0});
}

void helio_attempts_taken(helio_agent_core_t *self, const helio_aev_taken_t *event)
{
    for (uint32_t i = 0; i < event->attempts.count; i++) {
        const helio_attempt_ref_t *ref = &event->attempts.items[i];
        helio_attempt_t *attempt = helio_attempt_find(self, ref->key, ref->epoch);
        if (attempt && !attempt->over)
            helio_attempt_stop(self, attempt, HELIO_STOP_MODE_GRACE, HELIO_CAUSE_PREEMPTED, event->explanation);
    }
}
