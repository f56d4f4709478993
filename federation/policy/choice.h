/*  choice.h -- where a class may run: filter, then score. Pure: everything it needs is an argument.
 *
 *  A verdict's reason is one of a closed list, in order of precedence; its group says what a job waits for when no
 *  candidate is better (interfaces.md: Invalid > Forbidden > NeverFits > Gated > PolicyCap > WaitingForCapacity > …).
 */
#ifndef HELIO_POLICY_CHOICE_H
#define HELIO_POLICY_CHOICE_H

#include "federation/model/site.h"
#include "federation/policy/requirement.h"
#include "federation/policy/terms.h"
#include "federation/reason/codes.h"

#define HELIO_POLICY_VERSION "terms-2"

/*  What of a site and pool changes: asked of the caller beside the static profile. */
typedef struct helio_site_now {
    bool ready; /* in session, heard of lately, its capacity known */
    bool draining;
    int64_t wall_ms;
    const helio_pool_forecast_t *pool_forecast; /* the pool's */
    helio_extras_t extras;
    int64_t held_start_ms; /* the start at this pool that the class waits for already; 0 = none */
} helio_site_now_t;

typedef struct helio_candidate {
    helio_rejection_t rejection; /* of a start now. NO_CAPACITY is the caller's to set: it knows what it has placed */
    uint32_t ask;                /* index of the GPU alternative that fits; preferred first unless gpus_any */
    uint32_t gpus_per_node;
    uint64_t run_ms;      /* expected there (p50, duration.h), for the plans; the time limit where nothing is known */
    uint64_t run_high_ms; /* p90: what deadline and caps are held against */
    int64_t high_cost_micro_usd; /* of a run of that length, started now; 0 = no cap asks for it */
    uint64_t high_mg_per_kwh;
    helio_plan_t now;      /* a start now; none when the pool never fits */
    helio_plan_t later;    /* the best start that may be waited for; none: it may not wait, or none meets the caps */
    helio_transfer_t transfer; /* of its data, before either */
    int64_t not_before_ms; /* rejected by a cap: the first start ahead that meets all caps; 0 = none in sight */
} helio_candidate_t;

/*  Could the pool ever hold it, and may it go there? Of the result only rejection, ask and gpus_per_node count. */
helio_candidate_t helio_choice_filter(const helio_requirement_t *want, const helio_site_profile_t *site,
                                      const helio_pool_t *pool);

/*  Filters and scores one pool of one site: a start now, and the begins of the hours ahead until which the class may
 *  wait for free, at most HELIO_START_AHEAD_H, none that would end after the deadline. A class that may not wait gets
 *  no later start, whatever it would save. Caps are held against each start, as if the run took run_high_ms. Work:
 *  O(alternatives + patterns + hours). */
helio_candidate_t helio_choice_judge(const helio_requirement_t *want, const helio_site_profile_t *site,
                                     const helio_pool_t *pool, const helio_site_now_t *now);

/*  What a later start is worth beside `now`, the best plan that could start at once: its score, and the patience that
 *  the wait asks for. It is waited for if that is less than now's score. held: it is waited for already, and half the
 *  patience suffices, so that the noise of a forecast does not call the job back. */
int64_t helio_choice_worth(const helio_plan_t *later, const helio_plan_t *now, int64_t wall_ms, bool held);
/*  The same to compare later starts by, least first: with a margin for the one that is held, so that noise does not
 *  send the job elsewhere either. */
int64_t helio_choice_rank(const helio_plan_t *later, const helio_plan_t *now, int64_t wall_ms, bool held);

/*  Shell-style pattern with '*' alone, the whole text. */
bool helio_pattern_match(helio_text_t pattern, helio_text_t text);
/*  A list of patterns: "!p" excludes; if any plain pattern is given, one must match. Empty allows all. */
bool helio_patterns_allow(const helio_string_t *patterns, uint32_t count, helio_text_t text);

/*  "EU" is "EU" itself and everything below it, "EU-…". Patterns work too. */
bool helio_region_is_within(helio_text_t region, helio_text_t asked);

#endif
