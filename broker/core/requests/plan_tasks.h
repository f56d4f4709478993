/*  plan_tasks.h -- how many tasks of a planned array would start now. */
#ifndef HELIO_BROKER_CORE_REQUESTS_PLAN_TASKS_H
#define HELIO_BROKER_CORE_REQUESTS_PLAN_TASKS_H

#include "broker/core/decide/evaluate.h"
#include "broker/core/state/nouns.h"
#include "broker/model/effects.h"
#include "federation/model/job.h"

/*  Fills in tasks, tasks_now and tasks_details. Must follow the choice directly, because the options are in the scratch
 *  of evaluation. */
void core_plan_tasks(helio_broker_core_t *self, const evaluation_t *e, const choice_t *choice,
                     const helio_job_spec_t *spec, helio_planned_t *plan);

#endif
