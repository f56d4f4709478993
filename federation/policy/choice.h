/*  choice.h -- where a class can run: filter, then score. Pure: everything it needs is an argument.
 *
 *  The reason of a verdict is one of a closed list, in order of precedence. Its group is the pending reason of a job
 *  that has no better candidate (Invalid > Forbidden > NeverFits > Gated > PolicyCap > WaitingForCapacity > …;
 *  federation/reason/codes.h).
 */
#ifndef HELIO_POLICY_CHOICE_H
#define HELIO_POLICY_CHOICE_H

#include "federation/model/site.h"
#include "federation/policy/requirement.h"
#include "federation/policy/terms.h"
#include "federation/reason/codes.h"

#define HELIO_POLICY_VERSION "terms-7"

/*  The changing state of a site and pool, in addition to the static profile. */
typedef struct helio_site_now {
    bool ready; /* in session, heard from recently, capacity known */
    bool away;  /* not ready, but it was a moment ago: starts in later hours are planned by its last forecast */
    bool draining;
    int64_t wall_ms;
    const helio_pool_forecast_t *pool_forecast; /* the pool's */
    helio_extras_t extras;
    int64_t held_start_ms; /* the start at this pool that the class already waits for; 0 = none */
    uint32_t objective;    /* helio_objective_t */
} helio_site_now_t;

typedef struct helio_candidate {
    helio_rejection_t rejection; /* of a start now. The caller sets NO_CAPACITY: it knows what it has placed */
    uint32_t ask;                /* index of the GPU alternative that fits; the preferred one unless gpus_any */
    uint32_t gpus_per_node;
    uint64_t run_ms;      /* expected there (p50, duration.h), for the plans; the time limit where nothing is known */
    uint64_t run_high_ms; /* p90: for deadline and caps */
    int64_t high_cost_micro_usd; /* of a run of that length, started now; 0 = no cap needs it */
    uint64_t high_mg_per_kwh;
    helio_plan_t now;          /* a start now; none if the pool never fits */
    int64_t queue_wait_ms;     /* of a start now, in the site's own queue */
    int64_t queue_micro_usd;   /* what that adds to now's score */
    uint64_t redo_ppm;         /* of spot capacity: the share of the run that is done again (spot.h) */
    int64_t spot_micro_usd;    /* what that adds to now's score */
    helio_plan_t later;        /* the best later start; none: it may not wait, or no start meets the caps */
    helio_transfer_t transfer; /* of its data, before either */
    int64_t not_before_ms;     /* if rejected by a cap: the first later start that meets all caps; 0 = none known */
} helio_candidate_t;

/*  Could the pool ever run it, and may it run there? Only rejection, ask and gpus_per_node of the result are set. */
helio_candidate_t helio_choice_filter(const helio_requirement_t *want, const helio_site_profile_t *site,
                                      const helio_pool_t *pool);

/*  The option of the job's `slurm` part whose value the pool does not have; option "" = none. The result views `want`
 *  and `pool`. */
typedef struct helio_missing_name {
    helio_text_t option, value;
    helio_text_t names; /* those that it has, separated by commas */
} helio_missing_name_t;
helio_missing_name_t helio_choice_missing_name(const helio_requirement_t *want, const helio_pool_t *pool);

/*  Filters and scores one pool of one site: a start now, and starts at the beginning of the hours ahead within the
 *  free waiting time, at most HELIO_START_AHEAD_H and none that would end after the deadline. A class that may not
 *  wait gets no later start, however much it would save. Caps are checked for each start, as if the run took
 *  run_high_ms. O(alternatives + patterns + hours). */
helio_candidate_t helio_choice_judge(const helio_requirement_t *want, const helio_site_profile_t *site,
                                     const helio_pool_t *pool, const helio_site_now_t *now);

/*  The score of a later start plus the saving that its wait requires, compared with `now`, the best plan that could
 *  start immediately. The class waits if the result is less than now's score. held: the class already waits for it,
 *  and half of that saving is enough, so that forecast noise does not end the wait. */
int64_t helio_choice_worth(const helio_plan_t *later, const helio_plan_t *now, int64_t wall_ms, bool held);
/*  The same for comparing later starts, least first, with a margin for the held one, so that noise does not move the
 *  job to another window either. */
int64_t helio_choice_rank(const helio_plan_t *later, const helio_plan_t *now, int64_t wall_ms, bool held);

/*  Shell-style pattern with '*' only; matches the whole text. */
bool helio_pattern_match(helio_text_t pattern, helio_text_t text);
/*  A list of patterns: "!p" excludes; if the list has plain patterns, one of them must match. An empty list allows
 *  all. */
bool helio_patterns_allow(const helio_string_t *patterns, uint32_t count, helio_text_t text);

/*  "EU" matches "EU" and everything below it, "EU-…". Patterns are allowed. */
bool helio_region_is_within(helio_text_t region, helio_text_t asked);

#endif
