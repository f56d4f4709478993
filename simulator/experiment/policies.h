/*  policies.h -- the policies that can be compared, as rows of one table (docs/decisions/0011-policies-as-rows.md):
 *
 *  rank     in which order waiting jobs are considered;
 *  admit    which sites a job asks for;
 *  score    what a start costs: which terms of the broker's score count, and at which prices;
 *  knows    what sites publish of the hours ahead, and what is known of durations: it is what scores are made from;
 *  choose   whether the choice stands until the job ends, or is made again while it runs.
 *
 *  Each value is something that users, operators and sites can say in production too; the broker's core has no branch for
 *  simulations. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_POLICIES_H
#define HELIO_SIMULATOR_EXPERIMENT_POLICIES_H

#include "federation/model/job.h"
#include "federation/policy/terms.h"

typedef enum exp_rank {
    EXP_RANK_SHARES,  /* each team is a tenant, with its quotas and its share */
    EXP_RANK_ARRIVAL, /* one tenant has all jobs: first come, first served, in each queue */
} exp_rank_t;

typedef enum exp_admit {
    EXP_ADMIT_ANY,  /* the sites that the trace allows */
    EXP_ADMIT_HOME, /* the home site alone */
} exp_admit_t;

typedef enum exp_knows {
    EXP_KNOWS_FORECAST, /* the past, and forecasts as issued */
    EXP_KNOWS_MEAN,     /* the mean of the year before, and nothing that changes by the hour */
    EXP_KNOWS_FREE,     /* as FORECAST, and how many GPUs will be free, by the limits of what runs */
    EXP_KNOWS_TRUTH,    /* the hours ahead as they will be, and the durations of jobs: an upper end, not a policy */
} exp_knows_t;

typedef enum exp_choose {
    EXP_CHOOSE_ONCE,
    EXP_CHOOSE_AGAIN, /* jobs that make checkpoints go on at a better site */
} exp_choose_t;

typedef struct exp_policy {
    const char *name;
    exp_rank_t rank;
    exp_admit_t admit;
    helio_objective_t objective;
    helio_goal_t goal; /* of every job; matters where all terms count */
    exp_knows_t knows;
    exp_choose_t choose;
    const char *doc;
} exp_policy_t;

extern const exp_policy_t exp_policies[];
extern const uint32_t exp_policy_count;

/*  Its score depends on the prices of carbon and of waiting that the user may set. */
bool exp_policy_is_priced(const exp_policy_t *self);

const exp_policy_t *exp_policy_find(helio_text_t name); /* NULL: there is none */

/*  A list "isolated,least-wait" as rows; each once. ret_rows has room for exp_policy_count. */
HELIO_MUST_CHECK helio_rc exp_policies_parse(const char *list, const exp_policy_t **ret_rows, uint32_t *ret_count,
                                             helio_error_t *err);

#endif
