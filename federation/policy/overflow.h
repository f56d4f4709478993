/*  overflow.h -- an ordered list of steps, each a set of sites: a step opens when the wait at the steps before it grows
 *  too long. Pure.
 *
 *      steps   = step *(";" step)
 *      step    = part *("," part)
 *      part    = pattern / "after=" duration / "max-price=" USD per GPU-hour
 *
 *      "home-*; eu-*, !eu-test, after=10m; cloud, after=30m, max-price=3"
 *
 *  Patterns are those of placement.sites. A site belongs to the first step that names it; a site that no step names is
 *  not used. Jobs go to the first open step that has capacity.
 */
#ifndef HELIO_POLICY_OVERFLOW_H
#define HELIO_POLICY_OVERFLOW_H

#include "federation/policy/choice.h"

enum {
    HELIO_OVERFLOW_STEPS_MAX = 8,
    HELIO_OVERFLOW_PATTERNS_MAX = 8, /* per step */
    HELIO_OVERFLOW_TEXT_MAX = 1024,
    HELIO_OVERFLOW_AFTER_MAX_D = 30,
    HELIO_OVERFLOW_PRICE_MAX = 10000 /* USD */
};

typedef struct helio_overflow_step {
    helio_string_t patterns[HELIO_OVERFLOW_PATTERNS_MAX];
    uint32_t pattern_count;
    uint64_t after_ms;
    int64_t max_price_micro_usd; /* per GPU-hour; 0 = no limit */
} helio_overflow_step_t;

typedef struct helio_overflow {
    helio_overflow_step_t steps[HELIO_OVERFLOW_STEPS_MAX];
    uint32_t count;
} helio_overflow_t;

/*  Patterns are views into the text. A step must not open before the previous one. HELIO_INVALID: the error's text
 *  names the step and the cause; HELIO_TOO_BIG. */
HELIO_MUST_CHECK helio_rc helio_overflow_parse(helio_text_t text, helio_overflow_t *ret_overflow, helio_error_t *err);

/*  Index of the step that the site belongs to; self->count if none. */
uint32_t helio_overflow_step_of(const helio_overflow_t *self, helio_text_t site);

/*  A step is alive if one of its pools could start the job: the site is neither silent nor drained, and the job
 *  fits. */
bool helio_overflow_is_alive(const helio_candidate_t *candidate);

/*  Number of open steps, at least one: steps whose `after` has passed, and steps with no alive step before them (bit
 *  i of alive: step i). */
uint32_t helio_overflow_open(const helio_overflow_t *self, uint32_t alive, int64_t waited_ms);

/*  Cost of a plan per GPU-hour; 0 for a job without GPUs. */
int64_t helio_overflow_price(const helio_plan_t *plan, uint64_t gpus, uint64_t run_ms);

/*  The patterns of a step, "cloud, !cloud-b", into the buffer. */
void helio_overflow_name(const helio_overflow_step_t *step, char *ret_text, size_t size);

#endif
