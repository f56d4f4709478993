/*  curtailments.h -- limits on the GPU power of sites, each for a time. They are stored, and end by themselves. */
#ifndef HELIO_BROKER_CORE_STATE_CURTAILMENTS_H
#define HELIO_BROKER_CORE_STATE_CURTAILMENTS_H

#include "broker/core/state/nouns.h"

/*  One that is not over: it has begun, or will. Its row, with texts of its own. */
struct curtailment {
    helio_row_curtailment_t row; /* its views point at what follows */
    char reason[257];
    char actor[HELIO_ACTOR_MAX + 1];
    bool begun;
    bool prepares;              /* it has not begun, and jobs leave for it: they are not replaced */
    bool moved;                 /* its figures are others than in the last row */
    int64_t row_ms;             /* monotonic: when the row was last written; 0 = by a former leader */
    curtailment_t *prev, *next; /* of the site, in the order in which they were set */
};

/*  Takes a copy. */
curtailment_t *core_curtailment_add(helio_broker_core_t *self, site_t *site, const helio_row_curtailment_t *row);
/*  The strictest one in force now, or supposed to be; NULL = the site may use all of its power. */
curtailment_t *core_curtailment_now(const helio_broker_core_t *self, const site_t *site);
/*  The same, of those that jobs leave for already, too: what may start has to fit under it. */
curtailment_t *core_curtailment_binding(const helio_broker_core_t *self, const site_t *site);
/*  Whether some have begun since the last call: they are marked. */
bool core_curtailments_begin(const helio_broker_core_t *self, site_t *site);
uint32_t core_curtailments_count(const site_t *site);
void core_curtailment_write(helio_broker_core_t *self, curtailment_t *curtailment);
void core_curtailment_drop(helio_broker_core_t *self, site_t *site, curtailment_t *curtailment);
void core_curtailments_free(helio_broker_core_t *self, site_t *site);
/*  The last one of a site is loaded even if it is over, for its time. */
void core_curtailment_load(helio_broker_core_t *self, const helio_row_curtailment_t *row);
/*  When the next one begins or ends (wall clock); INT64_MAX = none does. */
int64_t core_curtailments_next_ms(const helio_broker_core_t *self);

#endif
