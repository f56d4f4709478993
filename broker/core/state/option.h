/*  option.h -- an option: one pool judged for one class. */
#ifndef HELIO_BROKER_CORE_STATE_OPTION_H
#define HELIO_BROKER_CORE_STATE_OPTION_H

#include "broker/core/state/nouns.h"
#include "federation/policy/choice.h"

typedef struct option {
    site_t *site;
    pool_t *pool;
    helio_candidate_t c;
    bool home;
    uint64_t facts; /* the site's facts when it was judged */
    uint32_t step;  /* of the class's overflow group; 0 without one */
    bool price_unknown;
    int64_t unknown_micro_usd; /* part of the risk of its plans: for the unknown price */
} option_t;

/*  The wall-clock time for which a start is judged: now, or the earliest start of a plan's job. */
int64_t core_judged_ms(const helio_broker_core_t *self, const job_class_t *class);
/*  On all its nodes. */
uint32_t core_option_gpus(const job_class_t *class, const option_t *option);
/*  Whether its queue has the class's current priority level at that site. If not, it is placed there at a lower
 *  level. */
bool core_is_at_priority_level(const job_class_t *class, const option_t *option);
const char *core_place_text(helio_broker_core_t *self, const option_t *option); /* "lulea/h100" */

#endif
