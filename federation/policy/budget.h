/*  budget.h -- what a tenant may spend in a day, a week or a month: GPU-hours, money, carbon. Pure.
 *
 *      budget = amount unit "/" period / "none" / "none " unit
 *      unit   = "gpu-h" / "USD" / "t" / "kg"          period = "day" / "week" / "month"
 *
 *  Periods are of the UTC calendar, weeks begin on Monday: each begins with an hour of the ledger, so that
 * what is booked belongs to one of them exactly. Amounts are integers: GPU milliseconds, micro-dollars,
 * milligrams.
 */
#ifndef HELIO_POLICY_BUDGET_H
#define HELIO_POLICY_BUDGET_H

#include "federation/base/memory.h"

/*  NAME, word, unit. The number is stored. */
#define HELIO_BUDGET_KIND_TABLE(X) X(GPU, "gpu", "gpu-h") X(MONEY, "money", "USD") X(CARBON, "carbon", "t")
#define HELIO_BUDGET_KIND_ENUMERATOR_(name, word, unit) HELIO_BUDGET_##name,
typedef enum helio_budget_kind {
    HELIO_BUDGET_KIND_TABLE(HELIO_BUDGET_KIND_ENUMERATOR_) HELIO_BUDGET_KINDS
} helio_budget_kind_t;
const char *helio_budget_kind_name(uint32_t kind);

/*  How much of one is gone: less than four fifths, less than all, all. */
#define HELIO_BUDGET_LEVEL_TABLE(X) X(LOW, "low") X(HIGH, "high") X(FULL, "full")
#define HELIO_BUDGET_LEVEL_ENUMERATOR_(name, word) HELIO_BUDGET_LEVEL_##name,
typedef enum helio_budget_level {
    HELIO_BUDGET_LEVEL_TABLE(HELIO_BUDGET_LEVEL_ENUMERATOR_) HELIO_BUDGET_LEVELS
} helio_budget_level_t;
const char *helio_budget_level_name(uint32_t level);
helio_budget_level_t helio_budget_level(int64_t limit, int64_t left);

/*  NONE: there is no such budget. The number is stored. */
#define HELIO_PERIOD_TABLE(X) X(NONE, "") X(DAY, "day") X(WEEK, "week") X(MONTH, "month")
#define HELIO_PERIOD_ENUMERATOR_(name, word) HELIO_PERIOD_##name,
typedef enum helio_period { HELIO_PERIOD_TABLE(HELIO_PERIOD_ENUMERATOR_) HELIO_PERIOD_COUNT } helio_period_t;
const char *helio_period_name(uint32_t period);

#define HELIO_BUDGET_AMOUNT_MAX \
    INT64_C(1000000000000000) /* of each kind: 277 million GPU-hours, a billion dollars */
enum { HELIO_BUDGET_TEXT_SIZE = 48, HELIO_BUDGETS_GIVEN_MAX = 8 };

typedef struct helio_budget {
    int64_t limit;
    uint32_t period; /* helio_period_t; NONE = no budget */
} helio_budget_t;

/*  What was asked for: of one kind, or (kind HELIO_BUDGET_KINDS) of all of them at once, which only "none"
 * is. */
typedef struct helio_budget_ask {
    uint32_t kind;
    helio_budget_t budget;
} helio_budget_ask_t;

/*  HELIO_INVALID: the text says what is wrong, and what was meant perhaps. */
HELIO_MUST_CHECK helio_rc helio_budget_parse(helio_text_t text, helio_budget_ask_t *ret_ask,
                                             helio_error_t *err);
/*  Back: "5000 gpu-h/month", "none gpu-h". */
void helio_budget_text(uint32_t kind, helio_budget_t budget, char ret_text[HELIO_BUDGET_TEXT_SIZE]);
/*  Of people: "4,980", in the unit in which the limit is said; and the unit: "GPU-hours", "USD", "kg CO2e".
 * Rounded down to about four digits. */
void helio_budget_figure(uint32_t kind, int64_t limit, int64_t amount, char ret_text[HELIO_BUDGET_TEXT_SIZE]);
const char *helio_budget_unit(uint32_t kind, int64_t limit);
int64_t helio_budget_milli(uint32_t kind, int64_t limit, int64_t amount); /* thousandths of that unit */

/*  Unix ms: the begin of the period that the time is in, and that of the next one. period: not NONE. */
int64_t helio_period_begin(uint32_t period, int64_t wall_ms);
int64_t helio_period_next(uint32_t period, int64_t wall_ms);
/*  "2026-11-21", "the week of 2026-11-16", "November 2026". */
void helio_period_text(uint32_t period, int64_t begin_ms, char ret_text[HELIO_BUDGET_TEXT_SIZE]);

/*  What is foreseen of a run: `of` is spent evenly over run_ms from start_ms on. It goes on at that rate
 * until last_ms have passed, should it run for longer or shorter than that. */
typedef struct helio_spend {
    int64_t of[HELIO_BUDGET_KINDS]; /* 0 to HELIO_SPEND_MAX each */
    int64_t start_ms;
    uint64_t run_ms; /* 0 = all at once */
    uint64_t last_ms;
} helio_spend_t;
#define HELIO_SPEND_MAX \
    INT64_C(10000000000000) /* of one run: so much, and a million of them, can be added up */

/*  Of one kind, within [begin_ms, end_ms). The parts of periods that follow on from each other add up to the
 * whole. */
int64_t helio_spend_within(const helio_spend_t *self, uint32_t kind, int64_t begin_ms, int64_t end_ms);
/*  The most that falls into any time of that length. */
int64_t helio_spend_densest(const helio_spend_t *self, uint32_t kind, int64_t length_ms);
/*  From when on such a run could start so that at most `left` falls before end_ms: at most end_ms, not before
 * self->start_ms. */
int64_t helio_spend_fits_ms(const helio_spend_t *self, uint32_t kind, int64_t left, int64_t end_ms);

#endif
