/*  attempts.c -- the life of one attempt. Every change of state goes through advance() or finish(), which
 * hold the table of attempt_state.def, and is a row of the same batch that its effects wait for.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "site-agent/core/inner.h"

static const struct {
    uint32_t from, to;
} edges[] = {
#define EDGE(from, to, why) {HELIO_JOB_##from, HELIO_JOB_##to},
#include "site-agent/core/attempt_state.def"
};

static const struct {
    uint32_t from, report;
} ends[] = {
#define END(from, report, why) {HELIO_JOB_##from, HELIO_REPORT_KIND_##report},
#include "site-agent/core/attempt_state.def"
};

bool helio_attempt_edge(uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        if (edges[i].from == from && edges[i].to == to)
            return true;
    return false;
}

bool helio_attempt_may_end(uint32_t from, uint32_t report)
{
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (ends[i].from == from && ends[i].report == report)
            return true;
    return false;
}

bool helio_attempt_leased(const helio_attempt_t *attempt)
{
    return attempt->order.on_site_loss != HELIO_SITE_LOSS_STRICT;
}

/* ---- holding ------------------------------------------------------------------------------------------- */

helio_attempt_t *helio_attempt_find(const helio_agent_core_t *self, helio_job_key_t key, uint32_t epoch)
{
    const helio_known_t *known = helio_known_find(self, key);
    for (helio_attempt_t *attempt = known ? known->attempts : NULL; attempt; attempt = attempt->sibling)
        if (attempt->order.epoch == epoch)
            return attempt;
    return NULL;
}

static helio_text_t keep(char **at, helio_text_t text)
{
    char *copy = *at;
    if (text.size)
        memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    *at += text.size + 1;
    return (helio_text_t){copy, text.size};
}

helio_attempt_t *helio_attempt_add(helio_agent_core_t *self, uint64_t incarnation, const helio_order_t *order,
                                   helio_slot_t *slots, uint32_t slot_count)
{
    size_t bytes = (size_t)order->tenant.size + order->user.size + order->pool.size + order->source.size + 4;
    helio_attempt_t *attempt = helio_new(1, sizeof *attempt + bytes);
    attempt->order = *order;
    char *at = attempt->bytes;
    attempt->order.tenant = keep(&at, order->tenant);
    attempt->order.user = keep(&at, order->user);
    attempt->order.pool = keep(&at, order->pool);
    attempt->order.source = keep(&at, order->source);
    attempt->incarnation = incarnation;
    attempt->state = HELIO_JOB_ACCEPTED;
    attempt->slots = slots;
    attempt->slot_count = slot_count;
    attempt->known = helio_known_get(self, order->key);
    attempt->sibling = attempt->known->attempts;
    attempt->known->attempts = attempt;
    attempt->prev = self->last;
    if (self->last)
        self->last->next = attempt;
    else
        self->first = attempt;
    self->last = attempt;
    self->attempt_count++;
    self->leased_count += helio_attempt_leased(attempt);
    return attempt;
}

void helio_attempt_remove(helio_agent_core_t *self, helio_attempt_t *attempt)
{
    for (helio_attempt_t **at = &attempt->known->attempts; *at; at = &(*at)->sibling)
        if (*at == attempt) {
            *at = attempt->sibling;
            break;
        }
    if (attempt->prev)
        attempt->prev->next = attempt->next;
    else
        self->first = attempt->next;
    if (attempt->next)
        attempt->next->prev = attempt->prev;
    else
        self->last = attempt->prev;
    self->attempt_count--;
    free(attempt->slots);
    free(attempt);
}

void helio_attempt_row(helio_agent_core_t *self, const helio_attempt_t *attempt)
{
    helio_jrow_attempt_t row = {
        .incarnation = attempt->incarnation,
        .order = attempt->order,
        .state = attempt->state,
        .stop_mode = attempt->stop_mode,
        .fenced = attempt->fenced,
        .started_wall_ms = attempt->started_wall_ms,
        .slots = {attempt->slots, attempt->slot_count},
        .stop_reason = helio_text_of(attempt->stop_reason),
    };
    helio_agent_emit(self, HELIO_AGENT_FX_ROW_ATTEMPT, &row);
}

/* ---- moving -------------------------------------------------------------------------------------------- */

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

static void count_out(helio_agent_core_t *self, const helio_attempt_t *attempt)
{
    self->leased_count -= helio_attempt_leased(attempt);
    if (attempt->found)
        self->found_count--;
}

static void finish(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_report_t *report)
{
    assert(!attempt->over && helio_attempt_may_end(attempt->state, report->kind));
    attempt->over = true;
    attempt->start_due = false;
    if (self->capacity)
        helio_capacity_give_back(self->capacity, &attempt->order, attempt->slots, attempt->slot_count);
    count_out(self, attempt);
    helio_reports_add(self, report);
}

static void call_backend(helio_agent_core_t *self, uint32_t effect, const helio_attempt_t *attempt)
{
    helio_afx_start_t call = {.order = attempt->order, .slots = {attempt->slots, attempt->slot_count}};
    helio_agent_emit(self, effect, &call);
}

/*  Also again, for an attempt that the backend has never heard of: the report was made the first time. */
void helio_attempt_start(helio_agent_core_t *self, helio_attempt_t *attempt)
{
    attempt->start_due = false;
    if (attempt->state == HELIO_JOB_ACCEPTED) {
        advance(self, attempt, HELIO_JOB_STARTING);
        helio_report_t report = report_of(attempt, HELIO_REPORT_KIND_STARTING);
        helio_reports_add(self, &report);
    }
    call_backend(self, HELIO_AGENT_FX_START, attempt);
}

static void tell_stop(helio_agent_core_t *self, const helio_attempt_t *attempt)
{
    helio_stop_t stop = {.key = attempt->order.key,
                         .epoch = attempt->order.epoch,
                         .mode = attempt->stop_mode,
                         .reason = helio_text_of(attempt->stop_reason)};
    helio_agent_emit(self, HELIO_AGENT_FX_STOP, &stop);
}

void helio_attempt_stop(helio_agent_core_t *self, helio_attempt_t *attempt, uint32_t mode, const char *reason)
{
    if (attempt->over)
        return;
    if (attempt->start_due) { /* the backend has nothing of it, and never will */
        helio_report_t report = report_of(attempt, HELIO_REPORT_KIND_STOPPED);
        report.reason = helio_text_of(reason);
        finish(self, attempt, &report);
        return;
    }
    bool stopping = attempt->state == HELIO_JOB_STOPPING;
    if (stopping && (attempt->stop_mode == HELIO_STOP_MODE_KILL || mode == HELIO_STOP_MODE_GRACE))
        return;
    attempt->stop_mode = mode;
    if (!stopping) {
        (void)helio_text_copy(helio_text_of(reason), attempt->stop_reason, sizeof attempt->stop_reason);
        advance(self, attempt, HELIO_JOB_STOPPING);
    } else {
        helio_attempt_row(self, attempt);
    }
    tell_stop(self, attempt);
}

/* ---- what the backend says ----------------------------------------------------------------------------- */

static void resume(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
    advance(self, attempt, HELIO_JOB_RUNNING);
    helio_report_t report = report_of(attempt, HELIO_REPORT_KIND_RUNNING);
    report.local_id = event->local_id;
    helio_reports_add(self, &report);
}

static void on_started(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
    if (attempt->state == HELIO_JOB_RUNNING)
        return;                                  /* adopted: known already */
    if (attempt->state == HELIO_JOB_SUSPENDED) { /* adopted: if it still stands still, that is said next */
        resume(self, attempt, event);
        return;
    }
    attempt->started_wall_ms = event->started_wall_ms;
    attempt->start_due = false;
    if (attempt->state == HELIO_JOB_STOPPING) {
        /* The order to stop may have been lost with the former agent, or have met nothing yet. */
        helio_attempt_row(self, attempt);
        tell_stop(self, attempt);
        return;
    }
    if (attempt->state == HELIO_JOB_ACCEPTED)
        helio_attempt_start(self, attempt);
    advance(self, attempt, HELIO_JOB_RUNNING);
    helio_report_t report = report_of(attempt, HELIO_REPORT_KIND_RUNNING);
    report.local_id = event->local_id;
    helio_reports_add(self, &report);
}

/*  Nothing changes but what the broker can tell of it. */
static void on_waiting(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
    if (attempt->state != HELIO_JOB_STARTING)
        return;
    helio_report_t report = report_of(attempt, HELIO_REPORT_KIND_STARTING);
    report.reason = event->reason;
    report.local_id = event->local_id;
    helio_reports_add(self, &report);
}

static void on_suspended(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
    if (attempt->state != HELIO_JOB_RUNNING)
        return;
    advance(self, attempt, HELIO_JOB_SUSPENDED);
    helio_report_t report = report_of(attempt, HELIO_REPORT_KIND_SUSPENDED);
    report.reason = event->reason;
    report.local_id = event->local_id;
    helio_reports_add(self, &report);
}

static uint64_t gpus_of(const helio_attempt_t *attempt)
{
    return (uint64_t)attempt->order.nodes * attempt->order.gpus_per_node;
}

/*  ended, stopped or lost: by what the backend says and by what we had asked of it. */
static uint32_t end_kind(const helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
    bool stopping = attempt->state == HELIO_JOB_STOPPING;
    if (event->word == HELIO_BACKEND_WORD_ENDED)
        return event->stopped ? HELIO_REPORT_KIND_STOPPED : HELIO_REPORT_KIND_ENDED;
    return stopping ? HELIO_REPORT_KIND_STOPPED : HELIO_REPORT_KIND_LOST;
}

static helio_text_t end_reason(const helio_attempt_t *attempt, const helio_aev_backend_t *event,
                               uint32_t kind)
{
    if (kind == HELIO_REPORT_KIND_STOPPED && attempt->stop_reason[0])
        return helio_text_of(attempt->stop_reason);
    if (event->reason.size)
        return event->reason;
    if (kind != HELIO_REPORT_KIND_LOST)
        return (helio_text_t){0};
    return event->word == HELIO_BACKEND_WORD_FAILED_TO_START ? HELIO_TEXT("StartFailed")
                                                             : HELIO_TEXT("Vanished");
}

static void on_end(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
    if (attempt->state == HELIO_JOB_ACCEPTED) /* it ran under a former agent whose journal did not tell */
        advance(self, attempt, HELIO_JOB_STARTING);
    if (attempt->state == HELIO_JOB_SUSPENDED) /* what stands still cannot end */
        advance(self, attempt, HELIO_JOB_RUNNING);
    uint32_t kind = end_kind(attempt, event);
    helio_report_t report = report_of(attempt, kind);
    if (event->started_wall_ms)
        report.started_wall_ms = event->started_wall_ms;
    report.exit_code = event->exit_code;
    report.limit_reached = event->limit_reached;
    report.ended_wall_ms = event->ended_wall_ms ? event->ended_wall_ms : self->event->wall_ms;
    report.run_ms = event->run_ms;
    report.gpu_ms = event->run_ms * gpus_of(attempt);
    report.energy_j = event->energy_j;
    report.units_done = event->units_done;
    report.saved_run_ms = event->saved_run_ms < event->run_ms ? event->saved_run_ms : event->run_ms;
    report.reason = end_reason(attempt, event, kind);
    report.local_id = event->local_id;
    finish(self, attempt, &report);
}

static void on_absent(helio_agent_core_t *self, helio_attempt_t *attempt, const helio_aev_backend_t *event)
{
    if (attempt->state != HELIO_JOB_STARTING && attempt->state != HELIO_JOB_ACCEPTED) {
        on_end(self, attempt, event);
        return;
    }
    if (self->session == HELIO_SESSION_OPEN && (!helio_attempt_leased(attempt) || helio_lease_is_valid(self)))
        helio_attempt_start(self, attempt);
    else
        attempt->start_due = true;
}

/*  The backend runs what the journal does not know (it was damaged): hold it, show it, let the broker rule.
 */
static void on_found(helio_agent_core_t *self, const helio_aev_backend_t *event)
{
    helio_order_t order = {.key = event->key, .epoch = event->epoch};
    helio_attempt_t *attempt = helio_attempt_add(self, self->meta.incarnation, &order, NULL, 0);
    attempt->found = true;
    attempt->state = HELIO_JOB_RUNNING;
    attempt->started_wall_ms = event->started_wall_ms;
    self->found_count++;
    helio_known_t *known = attempt->known;
    if (known->epoch < event->epoch)
        known->epoch = event->epoch;
    known->wall_ms = self->event->wall_ms;
    helio_jrow_seen_t seen = {known->key, known->epoch, known->wall_ms};
    helio_agent_emit(self, HELIO_AGENT_FX_ROW_SEEN, &seen);
    helio_attempt_row(self, attempt);
}

void helio_attempt_backend(helio_agent_core_t *self, const helio_aev_backend_t *event)
{
    helio_attempt_t *attempt = helio_attempt_find(self, event->key, event->epoch);
    if (!attempt && event->word == HELIO_BACKEND_WORD_STARTED)
        on_found(self, event);
    if (!attempt || attempt->over)
        return;
    switch ((helio_backend_word_t)event->word) {
    case HELIO_BACKEND_WORD_STARTED:
        on_started(self, attempt, event);
        break;
    case HELIO_BACKEND_WORD_ABSENT:
        on_absent(self, attempt, event);
        break;
    case HELIO_BACKEND_WORD_WAITING:
        on_waiting(self, attempt, event);
        break;
    case HELIO_BACKEND_WORD_SUSPENDED:
        on_suspended(self, attempt, event);
        break;
    case HELIO_BACKEND_WORD_RESUMED:
        if (attempt->state == HELIO_JOB_SUSPENDED)
            resume(self, attempt, event);
        break;
    case HELIO_BACKEND_WORD_ENDED:
    case HELIO_BACKEND_WORD_FAILED_TO_START:
    case HELIO_BACKEND_WORD_VANISHED:
        on_end(self, attempt, event);
        break;
    case HELIO_BACKEND_WORD_COUNT:
        assert(false);
    }
}

/* ---- a restart ----------------------------------------------------------------------------------------- */

void helio_attempts_loaded(helio_agent_core_t *self)
{
    for (const helio_pending_t *pending = self->pending_first; pending; pending = pending->next) {
        const helio_report_t *report = &pending->report;
        helio_attempt_t *attempt =
            helio_report_is_end(report->kind) ? helio_attempt_find(self, report->key, report->epoch) : NULL;
        if (!attempt || attempt->over)
            continue;
        attempt->over = true;
        count_out(self, attempt);
    }
    for (helio_attempt_t *attempt = self->first; attempt; attempt = attempt->next) {
        if (attempt->over)
            continue; /* its GPUs were free again, and may be another's by now */
        if (self->capacity)
            helio_capacity_retake(self->capacity, &attempt->order, attempt->slots, attempt->slot_count);
        if (attempt->state == HELIO_JOB_ACCEPTED)
            attempt->start_due = true; /* the backend was never called */
        else
            call_backend(self, HELIO_AGENT_FX_ADOPT, attempt);
        if (attempt->state == HELIO_JOB_STOPPING)
            tell_stop(self, attempt); /* the former agent may have died before it could */
    }
}

void helio_attempt_load(helio_agent_core_t *self, const helio_jrow_attempt_t *row)
{
    assert(row->state >= HELIO_JOB_ACCEPTED && row->state <= HELIO_JOB_STOPPING);
    helio_attempt_t *attempt =
        helio_attempt_add(self, row->incarnation, &row->order,
                          helio_slots_copy(row->slots.items, row->slots.count), row->slots.count);
    attempt->state = row->state;
    attempt->stop_mode = row->stop_mode;
    attempt->fenced = row->fenced;
    attempt->started_wall_ms = row->started_wall_ms;
    (void)helio_text_copy(row->stop_reason, attempt->stop_reason, sizeof attempt->stop_reason);
    attempt->found = row->order.pool.size == 0;
    self->found_count += attempt->found;
    if (attempt->known->epoch < row->order.epoch)
        attempt->known->epoch = row->order.epoch;
}
