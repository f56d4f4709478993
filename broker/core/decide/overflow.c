/*  overflow.c -- overflow groups: which steps of its list are open to a class (federation/policy/overflow.h).
 *
 *  The wait that counts is the time that the head of the class has spent in its queue. That is a fact, whereas an
 *  expected wait would rest on time limits, which most jobs stay far below. A job that returns from a site where it ran
 *  waits anew. */
#include "broker/core/decide/overflow.h"

#include <stdlib.h>
#include <string.h>

#include "broker/core/decide/evaluate.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/option.h"
#include "broker/core/state/why.h"

struct overflows {
    overflow_t *groups;
    uint64_t version; /* counts changes of the groups */
};

overflows_t *core_overflows_new(void)
{
    overflows_t *self = helio_new(1, sizeof *self);
    self->version = 1;
    return self;
}

void core_overflows_destroy(overflows_t **self_p)
{
    overflows_t *self = *self_p;
    overflow_t *group, *next;
    HASH_ITER(hh, self->groups, group, next)
    {
        HASH_DEL(self->groups, group);
        free(group);
    }
    free(self);
    *self_p = NULL;
}

const overflow_t *core_overflow_first(const helio_broker_core_t *self)
{
    return self->overflows->groups;
}

uint32_t core_overflow_count(const helio_broker_core_t *self)
{
    return HASH_COUNT(self->overflows->groups);
}

void core_overflows_changed(helio_broker_core_t *self)
{
    self->overflows->version++;
}

static bool is_bound(const overflow_t *group, const job_class_t *class)
{
    return (!group->queue[0] || strcmp(group->queue, class->queue->name) == 0) &&
           (!group->tenant[0] || helio_text_is(class->want.tenant, group->tenant));
}

/*  The most specific group that applies: of its tenant and queue, of its tenant, of its queue. */
static const overflow_t *find_group(const helio_broker_core_t *self, const job_class_t *class)
{
    const overflow_t *best = NULL;
    int best_rank = 0;
    for (const overflow_t *group = self->overflows->groups; group; group = group->hh.next) {
        int rank = (group->tenant[0] ? 2 : 0) + (group->queue[0] ? 1 : 0);
        if (rank > best_rank && is_bound(group, class)) {
            best = group;
            best_rank = rank;
        }
    }
    return best;
}

static const overflow_t *group_of(const helio_broker_core_t *self, job_class_t *class)
{
    if (class->overflow_version != self->overflows->version) {
        class->overflow_version = self->overflows->version;
        class->overflow = find_group(self, class);
    }
    return class->overflow;
}

/* ---- judging ------------------------------------------------------------------------------------------- */

void core_overflow_judge(helio_broker_core_t *self, job_class_t *class, option_t *option)
{
    const overflow_t *group = group_of(self, class);
    if (!group)
        return;
    helio_candidate_t *c = &option->c;
    option->step = helio_overflow_step_of(&group->steps, helio_text_of(option->site->name));
    int64_t most = option->step < group->steps.count ? group->steps.steps[option->step].max_price_micro_usd : -1;
    uint64_t gpus = core_option_gpus(class, option), run_ms = class->want.time_limit_ms;
    if (!most)
        return;
    if (c->later.start_ms && (most < 0 || helio_overflow_price(&c->later, gpus, run_ms) > most))
        c->later = (helio_plan_t){0};
    if (c->rejection == HELIO_REJECTION_NONE && (most < 0 || helio_overflow_price(&c->now, gpus, run_ms) > most))
        c->rejection = HELIO_REJECTION_OVERFLOW;
}

static int64_t waited_ms(const helio_broker_core_t *self, const job_class_t *class)
{
    const job_t *head = class->waiting;
    return head && self->wall_ms > head->ready_ms ? self->wall_ms - head->ready_ms : 0;
}

void core_overflow_open(helio_broker_core_t *self, const evaluation_t *e)
{
    job_class_t *class = e->class;
    const overflow_t *group = group_of(self, class);
    class->open_steps = group ? helio_overflow_open(&group->steps, e->alive, waited_ms(self, class)) : 1;
}

bool core_overflow_is_closed(const job_class_t *class, const option_t *option)
{
    return class->overflow && option->step >= class->open_steps;
}

const char *core_overflow_name(const job_class_t *class)
{
    return class->overflow->name;
}

int64_t core_overflow_due_ms(const job_class_t *class)
{
    const overflow_t *group = class->overflow;
    if (!group || !class->waiting || class->open_steps >= group->steps.count)
        return 0;
    return class->waiting->ready_ms + (int64_t)group->steps.steps[class->open_steps].after_ms;
}

/* ---- why --------------------------------------------------------------------------------------------- */

/*  The wait of the head is given in steps, so that it does not change a row every second. */
static helio_detail_t opens(helio_broker_core_t *self, const job_class_t *class, uint32_t index)
{
    char name[128];
    const helio_overflow_step_t *step = &class->overflow->steps.steps[index];
    bool seconds = step->after_ms < 120000 && step->after_ms % 60000;
    int64_t waited = waited_ms(self, class), told_ms = seconds ? 10000 : 60000;
    helio_overflow_name(step, name, sizeof name);
    return CORE_DETAIL(self, HELIO_DETAIL_OVERFLOW_OPENS, helio_value_string(name),
                       helio_value_number((int64_t)step->after_ms), helio_value_number(waited - waited % told_ms));
}

helio_detail_t core_overflow_next(helio_broker_core_t *self, const job_class_t *class)
{
    return core_overflow_due_ms(class) ? opens(self, class, class->open_steps) : (helio_detail_t){0};
}

helio_detail_t core_overflow_detail(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    const overflow_t *group = class->overflow;
    helio_value_t name = helio_value_string(group->name);
    if (option->step >= group->steps.count)
        return CORE_DETAIL(self, HELIO_DETAIL_OVERFLOW_NOT_NAMED, name);
    if (option->c.rejection != HELIO_REJECTION_OVERFLOW)
        return opens(self, class, option->step);
    const helio_overflow_step_t *step = &group->steps.steps[option->step];
    int64_t price = helio_overflow_price(&option->c.now, core_option_gpus(class, option), class->want.time_limit_ms);
    return CORE_DETAIL(self, HELIO_DETAIL_OVERFLOW_PRICE, helio_value_number(price),
                       helio_value_number(step->max_price_micro_usd), name);
}

/* ---- setting groups ---------------------------------------------------------------------------------------- */

overflow_t *core_overflow_find(helio_broker_core_t *self, helio_text_t name)
{
    overflow_t *group;
    HASH_FIND(hh, self->overflows->groups, name.data, name.size, group);
    return group;
}

void core_overflow_drop(helio_broker_core_t *self, overflow_t *group)
{
    HASH_DEL(self->overflows->groups, group);
    free(group);
}

helio_rc core_overflow_put(helio_broker_core_t *self, const helio_row_overflow_t *row, helio_error_t *err)
{
    overflow_t *group = helio_new(1, sizeof *group), *before = core_overflow_find(self, row->name);
    (void)helio_text_copy(row->name, group->name, sizeof group->name);
    (void)helio_text_copy(row->queue, group->queue, sizeof group->queue);
    (void)helio_text_copy(row->tenant, group->tenant, sizeof group->tenant);
    (void)helio_text_copy(row->steps, group->text, sizeof group->text);
    helio_rc rc = helio_overflow_parse(helio_text_of(group->text), &group->steps, err);
    if (rc != HELIO_OK) {
        free(group);
        return rc;
    }
    if (before)
        core_overflow_drop(self, before);
    HASH_ADD_KEYPTR(hh, self->overflows->groups, group->name, strlen(group->name), group);
    return HELIO_OK;
}

/* ---- a new leader, and the end ------------------------------------------------------------------------- */

/*  The row was checked when it was set. */
void core_overflow_load(helio_broker_core_t *self, const helio_row_overflow_t *row)
{
    (void)!core_overflow_put(self, row, NULL);
}
