/*  budget.h -- what a tenant can use in a day, a week or a month: GPU-hours, money, carbon. Pure.
 *
 *      budget = amount unit "/" period / "none" / "none " unit
 *      unit   = "gpu-h" / "USD" / "t" / "kg"          period = "day" / "week" / "month"
 *
 *  Periods follow the UTC calendar, and weeks begin on Monday: each period begins with an hour of the ledger, so that
 *  each ledger row belongs to exactly one period. Amounts are integers: GPU milliseconds, micro-dollars, milligrams.
 */
#ifndef HELIO_POLICY_BUDGET_H
#define HELIO_POLICY_BUDGET_H

#include "federation/base/memory.h"

/*  NAME, word, unit. The number is stored: append only. */
#define HELIO_BUDGET_KIND_TABLE(X) X(GPU, "gpu", "gpu-h") X(MONEY, "money", "USD") X(CARBON, "carbon", "t")
#define HELIO_BUDGET_KIND_ENUMERATOR_(name, word, unit) HELIO_BUDGET_##name,
typedef enum helio_budget_kind {
    HELIO_BUDGET_KIND_TABLE(HELIO_BUDGET_KIND_ENUMERATOR_) HELIO_BUDGET_KINDS
} helio_budget_kind_t;
const char *helio_budget_kind_name(uint32_t kind);

/*  How much of a budget is used: less than four fifths, less than all, all. */
#define HELIO_BUDGET_LEVEL_TABLE(X) X(LOW, "low") X(HIGH, "high") X(FULL, "full")
#define HELIO_BUDGET_LEVEL_ENUMERATOR_(name, word) HELIO_BUDGET_LEVEL_##name,
typedef enum helio_budget_level {
    HELIO_BUDGET_LEVEL_TABLE(HELIO_BUDGET_LEVEL_ENUMERATOR_) HELIO_BUDGET_LEVELS
} helio_budget_level_t;
const char *helio_budget_level_name(uint32_t level);
helio_budget_level_t helio_budget_level(int64_t limit, int64_t left);

/*  NONE: no budget is set. The number is stored: append only. */
#define HELIO_PERIOD_TABLE(X) X(NONE, "") X(DAY, "day") X(WEEK, "week") X(MONTH, "month")
#define HELIO_PERIOD_ENUMERATOR_(name, word) HELIO_PERIOD_##name,
typedef enum helio_period { HELIO_PERIOD_TABLE(HELIO_PERIOD_ENUMERATOR_) HELIO_PERIOD_COUNT } helio_period_t;
const char *helio_period_name(uint32_t period);

#define HELIO_BUDGET_AMOUNT_MAX INT64_C(1000000000000000) /* of each kind: 277 million GPU-hours, a billion dollars */
enum { HELIO_BUDGET_TEXT_SIZE = 48, HELIO_BUDGETS_GIVEN_MAX = 8 };

typedef struct helio_budget {
    int64_t limit;
    uint32_t period; /* helio_period_t; NONE = no budget */
} helio_budget_t;

/*  A parsed request: for one kind, or, with kind HELIO_BUDGET_KINDS, for all kinds at once; only "none" is of that
 *  form. */
typedef struct helio_budget_ask {
    uint32_t kind;
    helio_budget_t budget;
} helio_budget_ask_t;

/*  HELIO_INVALID: the error's text says what is wrong and suggests what was meant. */
HELIO_MUST_CHECK helio_rc helio_budget_parse(helio_text_t text, helio_budget_ask_t *ret_ask, helio_error_t *err);
/*  The inverse of parsing: "5000 gpu-h/month", "none gpu-h". */
void helio_budget_text(uint32_t kind, helio_budget_t budget, char ret_text[HELIO_BUDGET_TEXT_SIZE]);
/*  For people: "4,980", in the unit of the limit, rounded down to about four digits; and the unit: "GPU-hours", "USD",
 *  "kg CO2e". */
void helio_budget_figure(uint32_t kind, int64_t limit, int64_t amount, char ret_text[HELIO_BUDGET_TEXT_SIZE]);
const char *helio_budget_unit(uint32_t kind, int64_t limit);
int64_t helio_budget_milli(uint32_t kind, int64_t limit, int64_t amount); /* thousandths of that unit */

/*  The beginning of the period that contains the time, and of the next period, in Unix ms. period: not NONE. */
int64_t helio_period_begin(uint32_t period, int64_t wall_ms);
int64_t helio_period_next(uint32_t period, int64_t wall_ms);
/*  "2026-11-21", "the week of 2026-11-16", "November 2026". */
void helio_period_text(uint32_t period, int64_t begin_ms, char ret_text[HELIO_BUDGET_TEXT_SIZE]);

/*  The expected use of a run: `of` is spread evenly over run_ms from start_ms on. The use continues at that rate until
 *  last_ms have passed, whether that is longer or shorter than run_ms. */
typedef struct helio_spend {
    int64_t of[HELIO_BUDGET_KINDS]; /* 0 to HELIO_SPEND_MAX each */
    int64_t start_ms;
    uint64_t run_ms; /* 0 = all of it at start_ms */
    uint64_t last_ms;
} helio_spend_t;
#define HELIO_SPEND_MAX INT64_C(10000000000000) /* of one run: a million such runs can be added up without overflow */

/*  The use of one kind within [begin_ms, end_ms). The parts of consecutive periods add up to the whole. */
int64_t helio_spend_within(const helio_spend_t *self, uint32_t kind, int64_t begin_ms, int64_t end_ms);
/*  The largest use within any interval of that length. */
int64_t helio_spend_densest(const helio_spend_t *self, uint32_t kind, int64_t length_ms);
/*  The earliest start at which at most `left` of the run's use falls before end_ms: between self->start_ms and
 *  end_ms. */
int64_t helio_spend_fits_ms(const helio_spend_t *self, uint32_t kind, int64_t left, int64_t end_ms);

#endif
