/*  site.h -- a site that runs on from what it said last: the nodes of an agent, attempts, reports and summaries.
 *
 *  What jobs of others held stays held. Series go on as they were issued last. */
#ifndef HELIO_SIMULATOR_REHEARSAL_SITE_H
#define HELIO_SIMULATOR_REHEARSAL_SITE_H

#include "broker/model/effects.h"
#include "federation/base/heap.h"
#include "simulator/rehearsal/copy.h"
#include "site-agent/core/capacity.h"

typedef struct reh_attempt reh_attempt_t;
struct reh_attempt {
    helio_heap_item_t item; /* of those that run, by their end */
    reh_attempt_t *prev, *next;
    uint64_t number; /* in the order of their starts */
    uint32_t site;
    helio_order_t order; /* its texts live as long as the run */
    helio_slot_t *slots;
    uint32_t slot_count;
    int64_t started_ms, works_ms, ends_ms; /* works: after the transfer and the restart */
};

typedef struct reh_site {
    const reh_site_copy_t *copy;
    helio_site_profile_t profile; /* with the nodes that are up */
    helio_capacity_t *capacity;
    reh_attempt_t *attempts;
    uint32_t running;
    helio_holding_t *lost; /* what ended in an outage, or on nodes that it has no more: not reported yet */
    uint32_t lost_count;
    uint64_t dispatch_seen, summary_seq, report_seq;
    helio_report_t *reports; /* not sent yet */
    uint32_t report_count;
    bool changed; /* since its last summary */
    bool up;
    int64_t back_ms; /* when it comes back; INT64_MAX = never */
} reh_site_t;

void reh_site_init(reh_site_t *self, const reh_site_copy_t *copy, bool up, helio_arena_t *arena);
void reh_site_clear(reh_site_t *self);

/*  What it runs when the rehearsal begins. NULL: there is no room for it, and it reports a failed node. The caller sets
 *  site and ends_ms. */
reh_attempt_t *reh_site_adopt(reh_site_t *self, const helio_order_t *order, int64_t started_ms, int64_t wall_ms);
/*  What jobs of others hold: after all were adopted. */
void reh_site_leave_to_others(reh_site_t *self);
/*  Starts the attempt of an order; NULL: it refuses. The caller sets site, works_ms and ends_ms. */
reh_attempt_t *reh_site_start(reh_site_t *self, const helio_order_t *order, int64_t wall_ms);
/*  Each frees its nodes and the attempt. saved_ms: of its run, what a later attempt need not run again. */
void reh_site_end(reh_site_t *self, reh_attempt_t *attempt, int64_t wall_ms);
void reh_site_stop(reh_site_t *self, reh_attempt_t *attempt, uint64_t saved_ms, int64_t wall_ms);
/*  With the power of the site, whose agent finds that it vanished when it is back. */
void reh_site_kill(reh_site_t *self, reh_attempt_t *attempt, int64_t wall_ms);
/*  The answer to a stop of what it does not run. */
void reh_site_report_gone(reh_site_t *self, const helio_stop_t *stop, int64_t wall_ms);

helio_ev_site_inventory_t reh_site_inventory(const reh_site_t *self, helio_arena_t *arena);
helio_site_summary_t reh_site_summary(reh_site_t *self, int64_t wall_ms, bool with_series, helio_arena_t *arena);

#endif
