/*  session.c -- HELLO, WELCOME, inventory, verdicts, then everything else; and the clocks of an open session. */
#include "site-agent/core/session.h"

#include <assert.h>

#include "federation/reason/codes.h"
#include "site-agent/core/lease.h"
#include "site-agent/core/life.h"
#include "site-agent/core/reports.h"
#include "site-agent/core/summary.h"

enum {
    HOLDINGS_PER_MESSAGE = 1000,
    CLOCK_LEAST_MS = 100,
    CLOCK_MOST_MS = 3600 * 1000,
    HURRY = 5 /* times as soon, at most */
};

static void close_session(helio_agent_core_t *self)
{
    self->session.phase = HELIO_SESSION_NONE;
    /* dispatches are numbered per session */
    self->session.dispatch_seen = self->session.dispatch_started = self->session.dispatch_reported = 0;
    helio_summary_forget_session(self);
}

void helio_session_connected(helio_agent_core_t *self)
{
    close_session(self);
    self->session.phase = HELIO_SESSION_HELLO;
    self->session.hello_ms = self->event->now_ms;
    /* A copy of the journal shows a lower number than the broker has seen. Until a first session was open, what was
     * reported since the start does not count: an older copy could come above that number by what it found. */
    uint64_t mark = self->has_opened ? self->meta.report_seq + 1 : ++self->loaded_seq;
    if (self->meta.report_seq < mark) {
        self->meta.report_seq = mark;
        self->meta_changed = true;
    }
    helio_afx_hello_t hello = {.incarnation_seen = self->meta.incarnation,
                               .broker_epoch_seen = self->meta.broker_epoch,
                               .reconcile_only = self->reconcile_only,
                               .memory_since_ms = self->meta.memory_since_ms,
                               .memory_mark = mark};
    helio_agent_emit(self, HELIO_AGENT_FX_SEND_HELLO, &hello);
}

void helio_session_disconnected(helio_agent_core_t *self)
{
    close_session(self);
}

static void send_inventory(helio_agent_core_t *self)
{
    const helio_attempt_t *attempt = self->attempts.first;
    uint32_t left = self->attempts.count;
    do {
        uint32_t count = left < HOLDINGS_PER_MESSAGE ? left : HOLDINGS_PER_MESSAGE;
        helio_afx_inventory_t part = {0};
        part.holdings.items = helio_arena_alloc(self->effects->arena, count, sizeof *part.holdings.items);
        part.holdings.count = count;
        for (uint32_t i = 0; i < count; i++, attempt = attempt->next)
            part.holdings.items[i] = (helio_holding_t){attempt->order.key, attempt->order.epoch, attempt->state,
                                                       attempt->order.dispatch_seq};
        left -= count;
        part.last = left == 0;
        helio_agent_emit(self, HELIO_AGENT_FX_SEND_INVENTORY, &part);
    } while (left);
}

/*  The agent ignores a broker that is older than the newest one it has seen: its database may have been rolled
 * back. */
static bool is_stale(const helio_agent_core_t *self, const helio_aev_welcome_t *welcome)
{
    return welcome->incarnation < self->meta.incarnation ||
           (welcome->incarnation == self->meta.incarnation && welcome->broker_epoch < self->meta.broker_epoch);
}

static uint64_t clamp_clock(uint64_t ms)
{
    return ms < CLOCK_LEAST_MS ? CLOCK_LEAST_MS : ms > CLOCK_MOST_MS ? CLOCK_MOST_MS : ms;
}

void helio_session_welcome(helio_agent_core_t *self, const helio_aev_welcome_t *welcome)
{
    if (self->session.phase != HELIO_SESSION_HELLO || is_stale(self, welcome)) {
        self->figures.ignored_total++;
        return;
    }
    self->session.welcome = *welcome;
    self->session.welcome.renew_ms = clamp_clock(welcome->renew_ms);
    self->session.welcome.summary_ms = clamp_clock(welcome->summary_ms);
    if (welcome->incarnation != self->meta.incarnation || welcome->broker_epoch != self->meta.broker_epoch) {
        self->meta.incarnation = welcome->incarnation;
        self->meta.broker_epoch = welcome->broker_epoch;
        self->meta_changed = true;
    }
    /* This journal is an older copy: its numbers go on above those that the newer one has used. */
    if (self->meta.report_seq < welcome->memory_mark && welcome->memory_mark <= INT64_MAX) {
        self->meta.report_seq = welcome->memory_mark;
        self->meta_changed = true;
    }
    self->session.phase = HELIO_SESSION_INVENTORY;
    send_inventory(self);
}

static void renew(helio_agent_core_t *self)
{
    self->session.next_renew_ms = self->event->now_ms + (int64_t)self->session.welcome.renew_ms;
    helio_afx_renew_t ask = {self->event->now_ms};
    helio_agent_emit(self, HELIO_AGENT_FX_SEND_RENEW, &ask);
}

static void summarise(helio_agent_core_t *self)
{
    self->session.summarised_ms = self->event->now_ms;
    self->session.next_summary_ms = self->event->now_ms + (int64_t)self->session.welcome.summary_ms;
    helio_summary_send(self);
}

/*  Every attempt has its verdict: messages that waited for that are sent, reports first. */
static void open_session(helio_agent_core_t *self)
{
    self->session.phase = HELIO_SESSION_OPEN;
    self->has_opened = true;
    self->reconcile_only = false;
    helio_reports_resend_all(self);
    /* The broker answered a HELLO after the agent sent it, so a lease from that time is one that it has granted. */
    helio_lease_grant(self, self->session.hello_ms, self->session.welcome.lease_ms);
    renew(self);
    helio_summary_ask_all(self);
    helio_attempts_start_due(self);
    summarise(self);
}

static void rule(helio_agent_core_t *self, const helio_attempt_verdict_t *attempt_verdict)
{
    helio_attempt_t *attempt = helio_attempt_find(self, attempt_verdict->key, attempt_verdict->epoch);
    if (!attempt || attempt->over)
        return;
    if (attempt_verdict->verdict == HELIO_VERDICT_KEEP) {
        self->lease_changed = self->lease_changed || (attempt->found && !attempt->kept && self->meta.lease_boot_ms);
        attempt->kept = attempt->found;
        return;
    }
    if (attempt_verdict->verdict == HELIO_VERDICT_FENCED) {
        attempt->fenced = true;
        /* A newer copy of the agent runs elsewhere, or may: this one must not write at the same time. */
        helio_attempt_stop(self, attempt, HELIO_STOP_MODE_KILL, HELIO_CAUSE_FENCED, (helio_text_t){0});
    } else {
        helio_attempt_stop(self, attempt, HELIO_STOP_MODE_GRACE, HELIO_CAUSE_RULED, (helio_text_t){0});
    }
}

void helio_session_rulings(helio_agent_core_t *self, const helio_aev_verdicts_t *verdicts)
{
    if (self->session.phase != HELIO_SESSION_INVENTORY) {
        self->figures.ignored_total++;
        return;
    }
    for (uint32_t i = 0; i < verdicts->verdicts.count; i++)
        rule(self, &verdicts->verdicts.items[i]);
    if (verdicts->last)
        open_session(self);
}

void helio_session_renewed(helio_agent_core_t *self, const helio_aev_renewed_t *renewed)
{
    if (!helio_session_is_open(self))
        return;
    helio_lease_grant(self, renewed->sent_boot_ms, renewed->lease_ms);
    helio_attempts_start_due(self);
}

void helio_session_resync(helio_agent_core_t *self)
{
    helio_summary_ask_all(self);
    self->session.next_summary_ms = self->event->now_ms;
}

/*  A site that can offer more does not wait for the time of its next summary. */
static int64_t summary_due_ms(const helio_agent_core_t *self)
{
    const helio_session_t *session = &self->session;
    int64_t due_ms = session->next_summary_ms;
#ifndef HELIO_MUTANT_offers_wait_for_their_turn
    int64_t soon_ms = session->summarised_ms + (int64_t)session->welcome.summary_ms / HURRY;
    if (soon_ms < due_ms && helio_summary_offers_more(self))
        due_ms = soon_ms;
#endif
    return due_ms;
}

void helio_session_tick(helio_agent_core_t *self)
{
    if (!helio_session_is_open(self))
        return;
    if (self->event->now_ms >= self->session.next_renew_ms)
        renew(self);
    if (self->event->now_ms >= summary_due_ms(self))
        summarise(self);
}

int64_t helio_session_wake_ms(const helio_agent_core_t *self)
{
    if (!helio_session_is_open(self))
        return INT64_MAX;
    int64_t renew_ms = self->session.next_renew_ms, summary_ms = summary_due_ms(self);
    return renew_ms < summary_ms ? renew_ms : summary_ms;
}

void helio_session_check(const helio_agent_core_t *self)
{
    const helio_session_t *session = &self->session;
    assert(session->phase == HELIO_SESSION_NONE || self->loaded);
    assert(session->phase != HELIO_SESSION_OPEN || !self->reconcile_only);
    assert(session->dispatch_reported <= session->dispatch_started);
    assert(session->dispatch_started <= session->dispatch_seen);
}
