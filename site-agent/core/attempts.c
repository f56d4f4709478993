/*  attempts.c -- the attempts that the site holds, their edges and their rows. life.c makes the changes. */
#include "site-agent/core/attempts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/utf8.h"
#include "federation/reason/codes.h"

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

uint32_t helio_agent_core_attempt_state(const helio_agent_core_t *self, helio_job_key_t key, uint32_t epoch)
{
    const helio_attempt_t *attempt = helio_attempt_find(self, key, epoch);
    return attempt && !attempt->over && !attempt->fenced ? attempt->state : HELIO_JOB_QUEUED;
}

bool helio_attempt_leased(const helio_attempt_t *attempt)
{
    return attempt->order.on_site_loss != HELIO_SITE_LOSS_STRICT;
}

/* ---- holding ------------------------------------------------------------------------------------------- */

void helio_epoch_seen(helio_agent_core_t *self, helio_known_t *known, uint32_t epoch)
{
    helio_known_raise(known, epoch);
    known->wall_ms = self->event->wall_ms;
    helio_jrow_seen_t row = {known->key, known->epoch, known->wall_ms};
    helio_agent_emit(self, HELIO_AGENT_FX_ROW_SEEN, &row);
}

helio_attempt_t *helio_attempt_find(const helio_agent_core_t *self, helio_job_key_t key, uint32_t epoch)
{
    const helio_known_t *known = helio_known_find(self->known, key);
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
    assert(!helio_attempt_find(self, order->key, order->epoch));
    assert(!slots == !slot_count);
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
    attempt->known = helio_known_get(self->known, order->key);
    attempt->sibling = attempt->known->attempts;
    attempt->known->attempts = attempt;
    attempt->prev = self->attempts.last;
    if (self->attempts.last)
        self->attempts.last->next = attempt;
    else
        self->attempts.first = attempt;
    self->attempts.last = attempt;
    self->attempts.count++;
    self->attempts.leased += helio_attempt_leased(attempt);
    return attempt;
}

void helio_attempt_remove(helio_agent_core_t *self, helio_attempt_t *attempt)
{
    assert(attempt->over || !self->effects); /* otherwise the core is destroyed, and everything with it */
    for (helio_attempt_t **at = &attempt->known->attempts; *at; at = &(*at)->sibling)
        if (*at == attempt) {
            *at = attempt->sibling;
            break;
        }
    if (attempt->prev)
        attempt->prev->next = attempt->next;
    else
        self->attempts.first = attempt->next;
    if (attempt->next)
        attempt->next->prev = attempt->prev;
    else
        self->attempts.last = attempt->prev;
    self->attempts.count--;
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
        .stop_cause = attempt->stop_cause,
        .stop_explanation = helio_text_of(attempt->stop_explanation),
        .evidence = attempt->evidence,
    };
    helio_agent_emit(self, HELIO_AGENT_FX_ROW_ATTEMPT, &row);
}

/*  The journal takes only whole characters, and the agent ends when a row does not come into it. */
void helio_attempt_explain_stop(helio_attempt_t *attempt, uint32_t cause, helio_text_t explanation)
{
    attempt->stop_cause = cause;
    helio_utf8_show(explanation, attempt->stop_explanation, sizeof attempt->stop_explanation);
    char whole[2 * sizeof attempt->stop_reason];
    helio_text_t reason = helio_cause_text(cause, helio_text_of(attempt->stop_explanation), whole, sizeof whole);
    helio_utf8_show(reason, attempt->stop_reason, sizeof attempt->stop_reason);
}

/*  A row of an agent before version 4 has only the text: the agent's own cause, or what the broker gave. */
static void load_stop(helio_attempt_t *attempt, const helio_jrow_attempt_t *row)
{
    helio_text_t explanation = row->stop_explanation;
    uint32_t cause = row->stop_cause;
    helio_cause_derive(row->stop_reason, &cause, &explanation);
    if (row->state == HELIO_JOB_STOPPING && cause == HELIO_CAUSE_NONE)
        cause = HELIO_CAUSE_STOPPED;
    helio_attempt_explain_stop(attempt, cause, explanation);
}

void helio_attempt_load(helio_agent_core_t *self, const helio_jrow_attempt_t *row)
{
    assert(row->state >= HELIO_JOB_ACCEPTED && row->state <= HELIO_JOB_STOPPING);
    helio_attempt_t *attempt = helio_attempt_add(
        self, row->incarnation, &row->order, helio_slots_copy(row->slots.items, row->slots.count), row->slots.count);
    attempt->state = row->state;
    attempt->stop_mode = row->stop_mode;
    attempt->fenced = row->fenced;
    attempt->started_wall_ms = row->started_wall_ms;
    attempt->evidence = row->evidence;
    load_stop(attempt, row);
    attempt->found = row->order.pool.size == 0;
    self->attempts.found += attempt->found;
    helio_known_raise(attempt->known, row->order.epoch);
}

void helio_attempt_over(helio_agent_core_t *self, helio_attempt_t *attempt)
{
    assert(!attempt->over);
    attempt->over = true;
    attempt->start_due = false;
    self->attempts.leased -= helio_attempt_leased(attempt);
    if (attempt->found)
        self->attempts.found--;
}

/* ---- checking ------------------------------------------------------------------------------------------ */

static void check_one(const helio_agent_core_t *self, const helio_attempt_t *attempt)
{
    assert(attempt->prev ? attempt->prev->next == attempt : self->attempts.first == attempt);
    assert(attempt->next ? attempt->next->prev == attempt : self->attempts.last == attempt);
    assert(helio_attempt_find(self, attempt->order.key, attempt->order.epoch) == attempt);
    assert(attempt->known->epoch >= attempt->order.epoch);
    assert(attempt->state >= HELIO_JOB_ACCEPTED && attempt->state <= HELIO_JOB_STOPPING);
    assert((attempt->state == HELIO_JOB_STOPPING) == (attempt->stop_cause != HELIO_CAUSE_NONE));
    assert(!attempt->over || !attempt->start_due);
    assert(!attempt->start_due || attempt->state <= HELIO_JOB_STARTING);
    if (self->capacity && self->loaded && !attempt->over)
        assert(helio_capacity_holds(self->capacity, &attempt->order, attempt->slots, attempt->slot_count));
}

void helio_attempts_check(const helio_agent_core_t *self)
{
    uint32_t count = 0, leased = 0, found = 0;
    for (const helio_attempt_t *attempt = self->attempts.first; attempt; attempt = attempt->next) {
        check_one(self, attempt);
        count++;
        leased += !attempt->over && helio_attempt_leased(attempt);
        found += !attempt->over && attempt->found;
    }
    assert(count == self->attempts.count);
    assert(leased == self->attempts.leased && found == self->attempts.found);
}
