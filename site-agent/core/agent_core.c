/*  agent_core.c -- the one function that everything goes through. */
#include "site-agent/core/agent_core.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "site-agent/core/lease.h"
#include "site-agent/core/life.h"
#include "site-agent/core/orders.h"
#include "site-agent/core/reports.h"
#include "site-agent/core/session.h"
#include "site-agent/core/summary.h"

helio_agent_core_t *helio_agent_core_new(helio_agent_options_t options, const helio_site_profile_t *profile)
{
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

/*  Before anything else in each step: an agent that was asleep stops what it must before it listens. */
static void enforce_lease(helio_agent_core_t *self)
{
    for (uint32_t mode; helio_lease_due(self, &mode);)
        helio_attempts_stop_leased(self, mode);
}

static void loaded(helio_agent_core_t *self, const helio_aev_loaded_t *event)
{
    self->loaded = true;
    self->reconcile_only = event->damaged;
    /* A new journal does not know the numbers that a lost one has used: the clock is ahead of them. */
    if (!self->has_meta && self->event->wall_ms > 0 &&
        self->meta.report_seq < (uint64_t)self->event->wall_ms * 1024)
        self->meta.report_seq = (uint64_t)self->event->wall_ms * 1024;
    self->meta_changed = !self->has_meta;
    helio_lease_loaded(self);
    helio_reports_loaded(self);
    helio_attempts_loaded(self);
    enforce_lease(self);
}

static bool step_load(helio_agent_core_t *self, const helio_event_t *event)
{
    switch (event->kind) {
    case HELIO_AGENT_EV_LOAD_META:
        load_meta(self, event->payload);
        break;
    case HELIO_AGENT_EV_LOAD_SEEN:
        load_seen(self, event->payload);
        break;
    case HELIO_AGENT_EV_LOAD_ATTEMPT:
        helio_attempt_load(self, event->payload);
        break;
    case HELIO_AGENT_EV_LOAD_REPORT:
        helio_reports_load(self, event->payload);
        break;
    case HELIO_AGENT_EV_LOADED:
        loaded(self, event->payload);
        break;
    default:
        return false;
    }
    return true;
}

/* ---- stepping ------------------------------------------------------------------------------------------ */

static void dispatch(helio_agent_core_t *self, const helio_event_t *event)
{
    switch ((helio_agent_event_t)event->kind) {
    case HELIO_AGENT_EV_SEALED:
        assert(((const helio_aev_sealed_t *)event->payload)->batch == self->open_batch);
        self->open_batch++;
        self->session.dispatch_started = self->session.dispatch_seen;
        break;
    case HELIO_AGENT_EV_TICK:
        break;
    case HELIO_AGENT_EV_CONNECTED:
        helio_session_connected(self);
        break;
    case HELIO_AGENT_EV_DISCONNECTED:
        helio_session_disconnected(self);
        break;
    case HELIO_AGENT_EV_WELCOME:
        helio_session_welcome(self, event->payload);
        break;
    case HELIO_AGENT_EV_RULINGS:
        helio_session_rulings(self, event->payload);
        break;
    case HELIO_AGENT_EV_ORDERS:
        helio_orders_take(self, event->payload);
        break;
    case HELIO_AGENT_EV_STOPS:
        helio_stops_take(self, event->payload);
        break;
    case HELIO_AGENT_EV_REPORTS_ACK:
        helio_reports_acknowledge(self, ((const helio_aev_ack_t *)event->payload)->seq);
        break;
    case HELIO_AGENT_EV_RENEWED:
        helio_session_renewed(self, event->payload);
        break;
    case HELIO_AGENT_EV_RESYNC:
        helio_session_resync(self);
        break;
    case HELIO_AGENT_EV_BACKEND:
        helio_attempt_backend(self, event->payload);
        break;
    case HELIO_AGENT_EV_CAPACITY:
        helio_summary_capacity(self, event->payload);
        break;
    case HELIO_AGENT_EV_SERIES:
        helio_summary_series(self, event->payload);
        break;
    case HELIO_AGENT_EV_LOAD_META:
    case HELIO_AGENT_EV_LOAD_SEEN:
    case HELIO_AGENT_EV_LOAD_ATTEMPT:
    case HELIO_AGENT_EV_LOAD_REPORT:
    case HELIO_AGENT_EV_LOADED:
    case HELIO_AGENT_EVENT_COUNT:
        assert(false);
    }
}

void helio_agent_core_step(helio_agent_core_t *self, const helio_event_t *event, helio_effects_t *effects)
{
    helio_effects_reset(effects);
    self->event = event;
    self->effects = effects;
    if (!step_load(self, event)) {
        assert(self->loaded);
        if (event->kind != HELIO_AGENT_EV_SEALED) {
            enforce_lease(self);
            helio_known_sweep(self->known, event->now_ms, event->wall_ms);
        }
        dispatch(self, event);
        if (event->kind != HELIO_AGENT_EV_SEALED)
            helio_session_tick(self);
    } else {
        assert(event->kind == HELIO_AGENT_EV_LOADED || !self->loaded);
    }
    if (self->meta_changed)
        helio_agent_emit(self, HELIO_AGENT_FX_ROW_META, &self->meta);
    self->meta_changed = false;
    int64_t session_ms = helio_session_wake_ms(self), lease_ms = helio_lease_wake_ms(self);
    effects->wake_ms = session_ms < lease_ms ? session_ms : lease_ms;
    self->event = NULL;
    self->effects = NULL;
}

void helio_agent_core_figures(const helio_agent_core_t *self, helio_agent_figures_t *ret_figures)
{
    *ret_figures = self->figures;
    ret_figures->attempts = self->attempts.count;
    ret_figures->reports_pending = helio_reports_count(self);
    ret_figures->in_session = helio_session_is_open(self);
    ret_figures->open_batch = self->open_batch;
    ret_figures->reconcile_only = self->reconcile_only;
    ret_figures->found_unknown = self->attempts.found > 0;
}
