/*  orders.c -- the broker's orders and stops. The checks come in the order of the guarantees: another incarnation than
 *  the session's is ignored, a repeated order changes nothing, an older epoch never starts. */
#include "site-agent/core/orders.h"

#include "federation/reason/codes.h"
#include "site-agent/core/lease.h"
#include "site-agent/core/life.h"
#include "site-agent/core/reports.h"

/*  Reports that a broker does not acknowledge must not fill the disk. Above this number, new orders are refused. */
enum { PENDING_MAX = 200000 };

static void refuse(helio_agent_core_t *self, const helio_order_t *order, helio_cause_t cause, const char *explanation)
{
    self->figures.refusals_total++;
    helio_epoch_seen(self, helio_known_get(self->known, order->key), order->epoch);
    helio_report_t report = {.key = order->key,
                             .epoch = order->epoch,
                             .kind = HELIO_REPORT_KIND_REFUSED,
                             .cause = cause,
                             .explanation = helio_text_of(explanation)};
    helio_reports_add(self, &report);
}

/*  Why nothing can start now; NONE = it can. */
static helio_cause_t not_ready(const helio_agent_core_t *self, const helio_order_t *order, const char **ret_explanation)
{
    *ret_explanation = NULL;
    if (self->reconcile_only)
        *ret_explanation = "the site's journal was damaged and is being reconciled";
    else if (self->state_gone)
        *ret_explanation = "the site's state folder is gone";
    else if (self->disk_full)
        *ret_explanation = "the disk of the site's state is full";
    else if (!helio_session_is_open(self))
        *ret_explanation = "the inventory is not closed";
    else if (!self->surveyed)
        *ret_explanation = "the site does not yet know what runs here";
    else if (self->capacity && self->attempts.found) /* elsewhere the cluster's scheduler knows its size */
        *ret_explanation = "an attempt of unknown size runs here";
    else if (order->on_site_loss != HELIO_SITE_LOSS_STRICT && !helio_lease_is_valid(self))
        *ret_explanation = "the site holds no lease";
    if (*ret_explanation)
        return HELIO_CAUSE_NOT_READY;
    *ret_explanation = "the site holds as many attempts as it can";
    return self->attempts.count >= self->options.attempts_max ? HELIO_CAUSE_TOO_MANY : HELIO_CAUSE_NONE;
}

/*  Takes capacity if the core allocates. Elsewhere the cluster's scheduler has a queue, so only an order that the pool
 *  can never hold is refused. */
static helio_rc place(helio_agent_core_t *self, const helio_order_t *order, helio_slot_t **ret_slots,
                      uint32_t *ret_count, helio_error_t *err)
{
    if (self->capacity)
        return helio_capacity_take(self->capacity, order, ret_slots, ret_count, err);
    uint32_t p = helio_site_pool_index(&self->profile, order->pool);
    if (p == UINT32_MAX)
        return helio_fail(err, HELIO_NOT_FOUND, "no pool '%.*s'", HELIO_TEXT_ARGS(order->pool));
    const helio_pool_t *pool = &self->profile.pools.items[p];
    uint32_t most = helio_pool_nodes_most(pool);
    if (order->nodes == 0 || order->nodes > most || order->gpus_per_node > pool->gpus_per_node)
        return helio_fail(err, HELIO_INFEASIBLE, "%u nodes with %u GPUs requested, but the pool has %u with %u",
                          order->nodes, order->gpus_per_node, most, pool->gpus_per_node);
    return HELIO_OK;
}

static void accept(helio_agent_core_t *self, uint64_t incarnation, const helio_order_t *order)
{
    helio_slot_t *slots = NULL;
    uint32_t slot_count = 0;
    helio_error_t err;
    helio_rc rc = place(self, order, &slots, &slot_count, &err);
    if (rc != HELIO_OK) {
        refuse(self, order, rc == HELIO_NOT_FOUND ? HELIO_CAUSE_NO_SUCH_POOL : HELIO_CAUSE_NO_CAPACITY, err.text);
        return;
    }
    helio_attempt_t *attempt = helio_attempt_add(self, incarnation, order, slots, slot_count);
    helio_epoch_seen(self, attempt->known, order->epoch);
    helio_attempt_row(self, attempt);
    helio_report_t report = {.key = order->key, .epoch = order->epoch, .kind = HELIO_REPORT_KIND_ACCEPTED};
    helio_reports_add(self, &report);
    helio_attempt_start(self, attempt);
}

static void take_order(helio_agent_core_t *self, uint64_t incarnation, const helio_order_t *order)
{
    self->figures.orders_total++;
    if (helio_session_is_open(self) && self->session.dispatch_seen < order->dispatch_seq)
        self->session.dispatch_seen = order->dispatch_seq;
    const helio_known_t *known = helio_known_find(self->known, order->key);
    if (known && known->epoch == order->epoch) {
        self->figures.replays_total++;
        /* Over and acknowledged: only a broker with an older database orders it again, and it needs another epoch. */
        if (!helio_reports_resend(self, order->key, order->epoch) &&
            !helio_attempt_find(self, order->key, order->epoch))
            refuse(self, order, HELIO_CAUSE_STALE_EPOCH, "that attempt has already ended here");
        return;
    }
#ifndef HELIO_MUTANT_epoch_ignored
    if (known && order->epoch < known->epoch) {
        refuse(self, order, HELIO_CAUSE_STALE_EPOCH, "");
        return;
    }
#endif
    const char *explanation;
    helio_cause_t cause = not_ready(self, order, &explanation);
    if (cause != HELIO_CAUSE_NONE)
        refuse(self, order, cause, explanation);
    else
        accept(self, incarnation, order);
}

void helio_orders_take(helio_agent_core_t *self, const helio_aev_orders_t *orders)
{
    if (orders->incarnation != self->meta.incarnation || helio_reports_count(self) > PENDING_MAX) {
        self->figures.ignored_total++;
        return;
    }
    for (uint32_t i = 0; i < orders->orders.count; i++)
        take_order(self, orders->incarnation, &orders->orders.items[i]);
}

/*  An attempt that is not here has stopped, and a late order must not start it. Whether it is here is known once the
 *  backend has reported all that it holds: until then there is no answer, and the broker asks again. */
static void stop_unknown(helio_agent_core_t *self, const helio_stop_t *stop)
{
    bool known = self->surveyed;
#ifdef HELIO_MUTANT_unknown_is_not_here
    known = true;
#endif
    if (!helio_session_is_open(self) || self->reconcile_only || !known || helio_reports_count(self) > PENDING_MAX) {
        self->figures.ignored_total++;
        return;
    }
    if (helio_reports_resend(self, stop->key, stop->epoch))
        return;
    helio_epoch_seen(self, helio_known_get(self->known, stop->key), stop->epoch);
    helio_report_t report = {
        .key = stop->key, .epoch = stop->epoch, .kind = HELIO_REPORT_KIND_STOPPED, .cause = HELIO_CAUSE_NOT_HERE};
    helio_reports_add(self, &report);
}

void helio_stops_take(helio_agent_core_t *self, const helio_aev_stops_t *stops)
{
    for (uint32_t i = 0; i < stops->stops.count; i++) {
        const helio_stop_t *stop = &stops->stops.items[i];
        helio_attempt_t *attempt = helio_attempt_find(self, stop->key, stop->epoch);
        if (!attempt) {
            stop_unknown(self, stop);
        } else if (attempt->over) {
            if (helio_session_is_open(self))
                (void)helio_reports_resend(self, stop->key, stop->epoch);
        } else {
            uint32_t cause = stop->cause == HELIO_CAUSE_NONE ? HELIO_CAUSE_STOPPED : stop->cause; /* an older broker */
            helio_attempt_stop(self, attempt, stop->mode, cause, stop->reason);
        }
    }
}

void helio_signals_take(helio_agent_core_t *self, const helio_aev_signals_t *signals)
{
    for (uint32_t i = 0; i < signals->signals.count; i++) {
        const helio_attempt_signal_t *signal = &signals->signals.items[i];
        const helio_attempt_t *attempt = helio_attempt_find(self, signal->key, signal->epoch);
#ifdef HELIO_MUTANT_signal_in_any_state
        if (attempt)
#else
        if (attempt && !attempt->over && attempt->state == HELIO_JOB_RUNNING)
#endif
            helio_agent_emit(self, HELIO_AGENT_FX_SIGNAL, signal);
        else
            self->figures.ignored_total++;
    }
}
