/*  plan_tasks.c -- for a planned array: how many of its tasks would start now, and what holds the others. */
#include "broker/core/requests/plan_tasks.h"

#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/limits.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/budget_starts.h"
#include "broker/core/state/core.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/why.h"

typedef struct start {
    uint32_t tasks;     /* with capacity and quota */
    bool quota_is_less; /* than the capacity that is left */
} start_t;

/*  Takes task by task from what is free, best pool first. What sites reserve is checked for the first task only, so the
 *  true number can be smaller. */
static start_t start_of(helio_broker_core_t *self, const evaluation_t *e, uint32_t most)
{
    const job_class_t *class = e->class;
    const helio_requirement_t *want = &class->want;
    uint32_t left = core_quota_left(class);
    start_t start = {0};
    for (uint32_t i = 0; i < e->feasible; i++) {
        const option_t *o = &e->options[i];
        uint32_t gpus = core_option_gpus(class, o);
        free_nodes_t room = o->pool->free;
        if (!core_has_room(self, class, o))
            continue;
        while (start.tasks < most &&
               core_room_take(o->pool, &room, want->nodes, o->c.gpus_per_node, want->cpus, want->memory_bytes)) {
            if (gpus > left) {
                start.quota_is_less = true;
                break;
            }
            left -= left == HELIO_QUOTA_UNLIMITED ? 0 : gpus;
            start.tasks++;
        }
    }
    return start;
}

/*  Why not all tasks start, if more than one does. */
static helio_details_t limit_of(helio_broker_core_t *self, const evaluation_t *e, const option_t *chosen,
                                uint32_t tasks, uint32_t at_once, uint32_t *ret_now)
{
    uint32_t most = at_once && at_once < tasks ? at_once : tasks;
    uint32_t paid = core_budget_room(self, e->class, chosen, &chosen->c.now, most);
    start_t start = start_of(self, e, paid);
    uint64_t gpus = (uint64_t)core_option_gpus(e->class, chosen) * tasks;
    *ret_now = start.tasks;
    if (start.tasks == tasks)
        return CORE_WHY0(self, HELIO_DETAIL_TASKS_ALL);
    helio_value_t now = helio_value_number(start.tasks);
    if (start.quota_is_less) {
        helio_details_t why = CORE_WHY(self, HELIO_DETAIL_TASKS_SOME, now),
                        quota = core_quota_details(self, e->class, gpus < UINT32_MAX ? (uint32_t)gpus : UINT32_MAX);
        core_why_join(self, &why, &quota);
        return why;
    }
    if (start.tasks < paid)
        return CORE_WHY(self, HELIO_DETAIL_TASKS_CAPACITY, now);
    if (paid < most)
        return CORE_WHY(self, HELIO_DETAIL_TASKS_BUDGET, now, helio_value_text(e->class->want.tenant));
    return CORE_WHY(self, HELIO_DETAIL_TASKS_THROTTLE, now);
}

void core_plan_tasks(helio_broker_core_t *self, const evaluation_t *e, const choice_t *choice,
                     const helio_job_spec_t *spec, helio_planned_t *plan)
{
    uint32_t tasks = spec->tasks.count;
    helio_details_t why = CORE_WHY0(self, HELIO_DETAIL_TASKS_NONE);
    plan->tasks = tasks;
    plan->tasks_now = 0;
    if (!tasks || e->class->judged_ms)
        why = (helio_details_t){0};
    else if (choice->later && choice->room < tasks)
        why = CORE_WHY(self, HELIO_DETAIL_TASKS_SOME_THEN, helio_value_number(choice->room));
    else if (choice->later)
        why = CORE_WHY0(self, HELIO_DETAIL_TASKS_ALL_THEN);
    else if (choice->now)
        why = limit_of(self, e, choice->now, tasks, spec->tasks_at_once, &plan->tasks_now);
    plan->tasks_details = why;
}
