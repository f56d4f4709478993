/*  change.h -- what a rehearsal changes: a site is down, drained or curtailed, prices, nodes, a quota. */
#ifndef HELIO_SIMULATOR_REHEARSAL_CHANGE_H
#define HELIO_SIMULATOR_REHEARSAL_CHANGE_H

#include "simulator/rehearsal/copy.h"

enum { REH_CHANGES_MAX = 32 };

/*  NAME, word, form of what follows "WORD=". */
#define REH_CHANGE_TABLE(X)                  \
    X(DOWN, "down", "SITE[:DURATION]")       \
    X(DRAIN, "drain", "SITE")                \
    X(PRICE, "price", "SITE:FACTOR")         \
    X(NODES, "nodes", "SITE/POOL:N")         \
    X(QUOTA, "quota", "TENANT[/QUEUE]:GPUS") \
    X(GOAL, "goal", "TENANT:GOAL")           \
    X(CURTAIL, "curtail", "SITE:SHARE[:DURATION]")
typedef enum reh_change_kind {
#define X(NAME, word, form) REH_CHANGE_##NAME,
    REH_CHANGE_TABLE(X)
#undef X
        REH_CHANGE_COUNT
} reh_change_kind_t;

typedef struct reh_change {
    reh_change_kind_t kind;
    const char *text;          /* as it was given */
    helio_text_t name, second; /* site and pool, or tenant and queue; second "" = none */
    double factor;
    uint32_t number; /* nodes, GPUs, helio_goal_t, or percent */
    int64_t for_ms;  /* DOWN, CURTAIL; 0 = until the end */
} reh_change_t;

/*  The text must outlive the change. HELIO_INVALID: no change has this form; the text says which there are. */
HELIO_MUST_CHECK helio_rc reh_change_parse(const char *text, reh_change_t *ret_change, helio_error_t *err);
/*  Alters the rows of a copy: prices, nodes, goals. HELIO_NOT_FOUND: no such site, pool or tenant. What the
 *  others do happens while the copy runs (run.c). */
HELIO_MUST_CHECK helio_rc reh_change_apply(const reh_change_t *self, reh_copy_t *copy, helio_error_t *err);

#endif
