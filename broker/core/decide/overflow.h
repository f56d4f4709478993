/*  overflow.h -- overflow groups: which of the steps of its group a class can use now. A step is some sites, which open
 *  to the class together. */
#ifndef HELIO_BROKER_CORE_DECIDE_OVERFLOW_H
#define HELIO_BROKER_CORE_DECIDE_OVERFLOW_H

#include <uthash.h>

#include "broker/core/decide/evaluate.h"
#include "broker/core/state/nouns.h"
#include "broker/core/state/option.h"
#include "broker/model/rows_policy.h"
#include "federation/base/error.h"
#include "federation/base/memory.h"
#include "federation/policy/overflow.h"
#include "federation/reason/detail.h"

struct overflow {
    char name[33];
    char queue[33];  /* "" = of every queue */
    char tenant[33]; /* "" = of every tenant */
    char text[HELIO_OVERFLOW_TEXT_MAX + 1];
    helio_overflow_t steps; /* views into text */
    UT_hash_handle hh;
};

/*  Sets the option's step, and rejects its starts that cost more than the step allows, or whose site is in no step. */
void core_overflow_judge(helio_broker_core_t *self, job_class_t *class, option_t *option);
/*  Sets how many steps are open to the head of the class. Before anything is chosen for it. */
void core_overflow_open(helio_broker_core_t *self, const evaluation_t *e);
bool core_overflow_is_closed(const job_class_t *class, const option_t *option);
const char *core_overflow_name(const job_class_t *class); /* precondition: it has a group */
/*  Wall clock: when the next step opens to the head; 0 = all are open. */
int64_t core_overflow_due_ms(const job_class_t *class);
/*  Which step opens next, and when; code NONE: all are open. */
helio_detail_t core_overflow_next(helio_broker_core_t *self, const job_class_t *class);
/*  Why the option is closed or rejected. */
helio_detail_t core_overflow_detail(helio_broker_core_t *self, const job_class_t *class, const option_t *option);
void core_overflow_load(helio_broker_core_t *self, const helio_row_overflow_t *row);
overflows_t *core_overflows_new(void);
void core_overflows_destroy(overflows_t **self_p);
void core_overflows_changed(helio_broker_core_t *self); /* the group of each class is looked up again */
const overflow_t *core_overflow_first(const helio_broker_core_t *self);
uint32_t core_overflow_count(const helio_broker_core_t *self);
overflow_t *core_overflow_find(helio_broker_core_t *self, helio_text_t name);
void core_overflow_drop(helio_broker_core_t *self, overflow_t *group);
/*  Sets a group from its row. HELIO_INVALID: its steps do not parse; then nothing changes. */
helio_rc core_overflow_put(helio_broker_core_t *self, const helio_row_overflow_t *row, helio_error_t *err);

#endif
