/*  lines.h -- where waiting classes stand: either among those that each round judges, or in a line.
 *
 *  In a line are the classes of one account that only room for one need can help (round/blocked.h), in the order in
 *  which jobs of that account are placed. A round looks at a line only if a pool has room for its need, and then only at
 *  its first class. */
#ifndef HELIO_BROKER_CORE_STATE_LINES_H
#define HELIO_BROKER_CORE_STATE_LINES_H

#include <uthash.h>

#include "broker/core/state/nouns.h"
#include "federation/base/heap.h"

/*  One that has become empty is kept until the lines are dissolved: a round can be about to look at it, and the account
 *  will soon have such a class again. */
struct line {
    need_t *need;
    account_t *account;
    helio_heap_t classes;
    UT_hash_handle hh;   /* in the need, by account */
    line_t *prev, *next; /* of the account */
};

/*  The class is in no line, and has a waiting job: it leaves those that each round judges. */
void core_line_enter(helio_broker_core_t *self, job_class_t *class, need_t *need);
/*  It is judged in the next round. */
void core_line_leave(helio_broker_core_t *self, job_class_t *class);
/*  All its classes leave it; the line and perhaps its need are freed. */
void core_line_dissolve(helio_broker_core_t *self, line_t *line);
void core_lines_dissolve(helio_broker_core_t *self); /* all */
job_class_t *core_line_first(const line_t *line);    /* NULL = it is empty */
/*  Its waiting jobs are others than before: it finds its place again. */
void core_class_queue_changed(helio_broker_core_t *self, job_class_t *class);
/*  Whether `holds` is true of any class with waiting jobs, in no particular order; most classes have none. */
typedef bool core_class_test_fn(const job_class_t *class, void *arg);
bool core_any_waiting_class(const helio_broker_core_t *self, core_class_test_fn *holds, void *arg);
/*  Asserts that every class is where it belongs. */
void core_lines_check(const helio_broker_core_t *self);

#endif
