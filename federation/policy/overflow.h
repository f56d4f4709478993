/*  overflow.h -- an ordered list of places: the next ones open when the wait at those before grows too long.
 * Pure.
 *
 *      steps   = step *(";" step)
 *      step    = part *("," part)
 *      part    = pattern / "after=" duration / "max-price=" USD per GPU-hour
 *
 *      "home-*; eu-*, !eu-test, after=10m; cloud, after=30m, max-price=3"
 *
 *  Patterns are those of placement.sites. A site belongs to the first step that names it, and to no step when
 * none does: then it is not used. Of the steps that are open, jobs go to the first that has room.
 */
#ifndef HELIO_POLICY_OVERFLOW_H
#define HELIO_POLICY_OVERFLOW_H

#include "federation/policy/choice.h"

enum {
    HELIO_OVERFLOW_STEPS_MAX = 8,
    HELIO_OVERFLOW_PATTERNS_MAX = 8, /* of a step */
    HELIO_OVERFLOW_TEXT_MAX = 1024,
    HELIO_OVERFLOW_AFTER_MAX_D = 30,
    HELIO_OVERFLOW_PRICE_MAX = 10000 /* USD */
};

typedef struct helio_overflow_step {
    helio_string_t patterns[HELIO_OVERFLOW_PATTERNS_MAX];
    uint32_t pattern_count;
    uint64_t after_ms;
    int64_t max_price_micro_usd; /* per GPU-hour; 0 = any */
} helio_overflow_step_t;

typedef struct helio_overflow {
    helio_overflow_step_t steps[HELIO_OVERFLOW_STEPS_MAX];
    uint32_t count;
} helio_overflow_t;

/*  Its patterns are views into the text. No step may open before the one that it follows. HELIO_INVALID: the
 * text says which step and why; HELIO_TOO_BIG. */
HELIO_MUST_CHECK helio_rc helio_overflow_parse(helio_text_t text, helio_overflow_t *ret_overflow,
                                               helio_error_t *err);

/*  Index of the step that the site belongs to; self->count when it belongs to none. */
uint32_t helio_overflow_step_of(const helio_overflow_t *self, helio_text_t site);

/*  What can become of a start at a pool of the step, for helio_overflow_open: a site that is silent or
 * drained, or that can never start the job, offers nothing. */
bool helio_overflow_is_alive(const helio_candidate_t *candidate);

/*  How many steps are open, at least one: those whose `after` has passed, and those before which no step is
 * alive (bit i of alive: step i). */
uint32_t helio_overflow_open(const helio_overflow_t *self, uint32_t alive, int64_t waited_ms);

/*  What a plan costs per GPU-hour; 0 for a job without GPUs. */
int64_t helio_overflow_price(const helio_plan_t *plan, uint64_t gpus, uint64_t run_ms);

/*  "cloud, !cloud-b", into the buffer. */
void helio_overflow_name(const helio_overflow_step_t *step, char *ret_text, size_t size);

#endif
