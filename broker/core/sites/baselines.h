/*  baselines.h -- baselines: what a finished job would have used elsewhere. */
#ifndef HELIO_BROKER_CORE_SITES_BASELINES_H
#define HELIO_BROKER_CORE_SITES_BASELINES_H

#include "broker/core/forecast/prices.h"
#include "broker/core/state/nouns.h"
#include "broker/model/rows_job.h"
#include "federation/model/attempt.h"

/*  Writes the baselines of a job that ended. bill: the charge of its last attempt. */
void core_baseline_write(helio_broker_core_t *self, const job_t *job, const helio_report_t *report, const bill_t *bill);
void core_baseline_load(helio_broker_core_t *self, const helio_row_earliest_start_t *row);

#endif
