/*  agent_core.c -- the step function of the agent's core. */
#include "site-agent/core/agent_core.h"

#include <assert.h>
#include <stdlib.h>

#include "site-agent/core/capacity.h"
#include "site-agent/core/lease.h"
#include "site-agent/core/life.h"
#include "site-agent/core/orders.h"
#include "site-agent/core/reports.h"
#include "site-agent/core/session.h"
#include "site-agent/core/summary.h"

helio_agent_core_t *helio_agent_core_new(helio_agent_options_t options, const helio_site_profile_t *profile)
{
    assert(options.attempts_max > 0);
    helio_agent_core_t *self = helio_new(1, sizeof *self);
    self->options = options;
    self->profile_arena = helio_arena_new();
    helio_record_copy(&helio_site_profile_type, self->profile_arena, profile, &self->profile);
    if (options.allocates)
        self->capacity = helio_capacity_new(&self->profile);
    self->known = helio_known_new();
    self->reports = helio_reports_new();
    self->summary = helio_summary_new();
    self->open_batch = 1;
    return self;
}

void helio_agent_core_destroy(helio_agent_core_t **self_p)
{
    helio_agent_core_t *self = *self_p;
    if (!self)
        return;
    while (self->attempts.first)
        helio_attempt_remove(self, self->attempts.first);
    helio_reports_destroy(&self->reports);
    helio_summary_destroy(&self->summary);
    helio_known_destroy(&self->known);
    helio_capacity_destroy(&self->capacity);
    helio_arena_destroy(&self->profile_arena);
    free(self);
    *self_p = NULL;
}

/* ---- loading ------------------------------------------------------------------------------------------- */

static void load_seen(helio_agent_core_t *self, const helio_jrow_seen_t *row)
{
    helio_known_t *known = helio_known_get(self->known, row->key);
    helio_known_raise(known, row->epoch);
    known->wall_ms = row->wall_ms;
}

static void load_meta(helio_agent_core_t *self, const helio_jrow_meta_t *row)
{
    uint64_t report_seq = self->meta.report_seq;
    self->meta = *row;
    if (self->meta.report_seq < report_seq)
        self->meta.report_seq = report_seq;
    self->has_meta = true;
}

/*  First in each step: an agent that was suspended stops what it must before it handles the event. */
static void enforce_lease(helio_agent_core_t *self)
{
    for (uint32_t mode; helio_lease_due(self, &mode);)
        helio_attempts_stop_leased(self, mode);
}

static void loaded(helio_agent_core_t *self, const helio_aev_loaded_t *event)
{
    self->loaded = true;
    self->reconcile_only = event->damaged;
    /* A new journal does not know the numbers that a lost one has used; numbers from the clock are above them. */
    if (!self->has_meta && self->event->wall_ms > 0 && self->meta.report_seq < (uint64_t)self->event->wall_ms * 1024)
        self->meta.report_seq = (uint64_t)self->event->wall_ms * 1024;
    self->loaded_seq = self->meta.report_seq;
    self->meta_changed = !self->has_meta;
    if (!self->meta.memory_since_ms) { /* a new journal, or one of an agent before version 5 */
        self->meta.memory_since_ms = self->event->wall_ms > 0 ? self->event->wall_ms : 1;
        self->meta_changed = true;
    }
    helio_lease_loaded(self);
    helio_reports_loaded(self);
    helio_attempts_loaded(self);
    enforce_lease(self);
}

static void look_at_gpus(helio_agent_core_t *self, const helio_aev_gpus_t *event)
{
    helio_slot_t busy = {.gpus = event->busy};
    if (!self->capacity || event->pool >= self->profile.pools.count ||
        self->profile.pools.items[event->pool].nodes != 1)
        return;
    self->gpus_gone[event->pool] = event->gone;
    uint32_t before = helio_capacity_of_others(self->capacity, event->pool);
    self->figures.gpus_of_others += helio_capacity_leave_to_others(self->capacity, event->pool, &busy) - before;
}

/*  The last word of this process, if it is in session: a full summary, since one that waits for a commit never leaves. */
static void lose_state(helio_agent_core_t *self)
{
    self->state_gone = true;
    helio_summary_ask_all(self);
    if (helio_session_is_open(self))
        helio_summary_send(self);
}

/* ---- stepping ------------------------------------------------------------------------------------------ */

static void sealed(helio_agent_core_t *self, const helio_aev_sealed_t *event)
{
    assert(event->batch == self->open_batch);
    self->open_batch++;
    self->session.dispatch_started = self->session.dispatch_seen;
}

/*  LOADING: while the journal is read. LIVE: afterwards; the clocks are checked too. SEALING: a batch was committed. */
typedef enum when { LOADING, LIVE, SEALING } when_t;

/*  NAME, record, phase, action */
#define HANDLER_TABLE(X)                                                             \
    X(LOAD_META, helio_jrow_meta, LOADING, load_meta(self, event))                   \
    X(LOAD_SEEN, helio_jrow_seen, LOADING, load_seen(self, event))                   \
    X(LOAD_ATTEMPT, helio_jrow_attempt, LOADING, helio_attempt_load(self, event))    \
    X(LOAD_REPORT, helio_report, LOADING, helio_reports_load(self, event))           \
    X(LOADED, helio_aev_loaded, LOADING, loaded(self, event))                        \
    X(TICK, helio_aev_nothing, LIVE, (void)0)                                        \
    X(SEALED, helio_aev_sealed, SEALING, sealed(self, event))                        \
    X(CONNECTED, helio_aev_nothing, LIVE, helio_session_connected(self))             \
    X(DISCONNECTED, helio_aev_nothing, LIVE, helio_session_disconnected(self))       \
    X(WELCOME, helio_aev_welcome, LIVE, helio_session_welcome(self, event))          \
    X(VERDICTS, helio_aev_verdicts, LIVE, helio_session_rulings(self, event))        \
    X(ORDERS, helio_aev_orders, LIVE, helio_orders_take(self, event))                \
    X(STOPS, helio_aev_stops, LIVE, helio_stops_take(self, event))                   \
    X(REPORTS_ACK, helio_aev_ack, LIVE, helio_reports_acknowledge(self, event->seq)) \
    X(RENEWED, helio_aev_renewed, LIVE, helio_session_renewed(self, event))          \
    X(RESYNC, helio_aev_nothing, LIVE, helio_session_resync(self))                   \
    X(BACKEND, helio_aev_backend, LIVE, helio_attempt_backend(self, event))          \
    X(CAPACITY, helio_aev_capacity, LIVE, helio_summary_capacity(self, event))       \
    X(SERIES, helio_aev_series, LIVE, helio_summary_series(self, event))             \
    X(DISK, helio_aev_disk, LIVE, self->disk_full = event->full)                     \
    X(SURVEYED, helio_aev_nothing, LIVE, helio_attempts_surveyed(self))              \
    X(GPUS, helio_aev_gpus, LIVE, look_at_gpus(self, event))                         \
    X(STATE_GONE, helio_aev_nothing, LIVE, lose_state(self))                         \
    X(SIGNALS, helio_aev_signals, LIVE, helio_signals_take(self, event))             \
    X(TAKEN, helio_aev_taken, LIVE, helio_attempts_taken(self, event))               \
    X(EVIDENCE, helio_aev_evidence, LIVE, helio_attempt_evidence(self, event))

#define X(NAME, record, when, call)                                      \
    static void on_##NAME(helio_agent_core_t *self, const void *payload) \
    {                                                                    \
        const record##_t *event = payload;                               \
        (void)self;                                                      \
        (void)event;                                                     \
        call;                                                            \
    }
HANDLER_TABLE(X)
#undef X

static const struct {
    void (*handle)(helio_agent_core_t *self, const void *payload);
    const helio_record_type_t *type;
    when_t when;
} handlers[] = {
#define X(NAME, record, when, call) [HELIO_AGENT_EV_##NAME] = {on_##NAME, &record##_type, when},
    HANDLER_TABLE(X)
#undef X
};
#define X(NAME, record, when, call) +1
_Static_assert(0 HANDLER_TABLE(X) == HELIO_AGENT_EVENT_COUNT, "every event has a handler");
#undef X

void helio_agent_core_step(helio_agent_core_t *self, const helio_event_t *event, helio_effects_t *effects)
{
    assert(event->kind < HELIO_AGENT_EVENT_COUNT);
    assert(handlers[event->kind].type == helio_agent_events[event->kind].type);
    assert(!self->event); /* the core is never stepped from within a step */
    when_t when = handlers[event->kind].when;
    assert(self->loaded == (when != LOADING));
    helio_effects_reset(effects);
    self->event = event;
    self->effects = effects;
    if (when == LIVE) {
        enforce_lease(self);
        helio_known_sweep(self->known, event->now_ms, event->wall_ms);
    }
    handlers[event->kind].handle(self, event->payload);
    if (when == LIVE)
        helio_session_tick(self);
    helio_lease_tell(self);
    if (self->meta_changed)
        helio_agent_emit(self, HELIO_AGENT_FX_ROW_META, &self->meta);
    self->meta_changed = false;
    int64_t session_ms = helio_session_wake_ms(self), lease_ms = helio_lease_wake_ms(self);
    effects->wake_ms = session_ms < lease_ms ? session_ms : lease_ms;
    self->event = NULL;
    self->effects = NULL;
}

void helio_agent_core_check(const helio_agent_core_t *self)
{
    assert(!self->event);
    helio_attempts_check(self);
    helio_reports_check(self);
    helio_session_check(self);
}

void helio_agent_core_figures(const helio_agent_core_t *self, helio_agent_figures_t *ret_figures)
{
    *ret_figures = self->figures;
    ret_figures->attempts = self->attempts.count;
    ret_figures->reports_pending = helio_reports_count(self);
    ret_figures->in_session = helio_session_is_open(self);
    ret_figures->open_batch = self->open_batch;
    ret_figures->reconcile_only = self->reconcile_only;
    ret_figures->surveying = !self->surveyed;
    ret_figures->found_unknown = self->attempts.found > 0;
}
