/*  policies.h -- the policies that can be compared: a name for what the core minimises, what jobs ask for, and what sites
 *  publish (docs/decisions/0007-simulate.md). */
#ifndef HELIO_SIMULATOR_EXPERIMENT_POLICIES_H
#define HELIO_SIMULATOR_EXPERIMENT_POLICIES_H

#include "federation/model/job.h"
#include "federation/policy/terms.h"

typedef struct exp_policy {
    const char *name;
    helio_objective_t objective;
    helio_goal_t goal;     /* of every job; matters where all terms count */
    bool at_home;          /* every job asks for its home site alone */
    bool publishes_static; /* sites publish last year's mean in place of forecasts */
    bool moves;            /* jobs that make checkpoints go on at a better site */
    const char *doc;
} exp_policy_t;

extern const exp_policy_t exp_policies[];
extern const uint32_t exp_policy_count;

/*  A list "isolated,least-wait" as rows; each once. ret_rows has room for exp_policy_count. */
HELIO_MUST_CHECK helio_rc exp_policies_parse(const char *list, const exp_policy_t **ret_rows, uint32_t *ret_count,
                                             helio_error_t *err);

#endif
