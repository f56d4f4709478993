/*  internal.h -- the state of one run, for the files that are one run together: run.c, what is due when, and
 *  attempts.c, what starts, ends and stops at sites. */
#ifndef HELIO_SIMULATOR_REHEARSAL_INTERNAL_H
#define HELIO_SIMULATOR_REHEARSAL_INTERNAL_H

#include "simulator/rehearsal/run.h"
#include "simulator/rehearsal/site.h"

typedef struct reh_run {
    const reh_copy_t *copy;
    reh_lives_t lives;
    helio_broker_core_t *core;
    helio_effects_t *effects;
    helio_arena_t *arena; /* of the event */
    helio_arena_t *kept;  /* orders, stops and what sites hold: as long as the run */
    reh_site_t *sites;    /* as in the copy; peer i + 1 is site i */
    helio_heap_t ends;
    int64_t beat_ms;          /* sites renew their leases so often */
    int64_t wall_ms, wake_ms; /* wake: the core wants to be asked */
    uint64_t attempts;
    uint32_t next_job;        /* of those of a time that is over */
    helio_fx_order_t *orders; /* not carried out yet */
    helio_fx_stop_t *stops;
    uint32_t order_count, stop_count;
    bool loaded;
} reh_run_t;

/*  What the sites run when the rehearsal begins. */
void reh_attempts_adopt(reh_run_t *self);
void reh_attempts_start(reh_run_t *self, const helio_fx_order_t *fx);
void reh_attempts_stop(reh_run_t *self, const helio_fx_stop_t *fx);
void reh_attempts_take_ends(reh_run_t *self);
/*  All that runs at the site ends with it, without a word until it is back. */
void reh_attempts_kill(reh_run_t *self, uint32_t site);
int64_t reh_attempts_next_ms(const reh_run_t *self); /* INT64_MAX = nothing runs */

#endif
