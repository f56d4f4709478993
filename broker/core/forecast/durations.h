/*  durations.h -- how long a job will run, by the runs before it. */
#ifndef HELIO_BROKER_CORE_FORECAST_DURATIONS_H
#define HELIO_BROKER_CORE_FORECAST_DURATIONS_H

#include "broker/core/state/nouns.h"
#include "broker/model/rows_job.h"
#include "federation/base/memory.h"
#include "federation/model/attempt.h"

/*  Of a job that is submitted: fills in the row's expected_*. */
void core_run_expect(const helio_broker_core_t *self, helio_row_job_t *row);
/*  The job's end, which this report tells of: before its use is added to what it used before. */
void core_run_record(helio_broker_core_t *self, const job_t *job, const helio_report_t *report);
void core_run_load(helio_broker_core_t *self, const helio_row_run_t *row);
/*  Whose runs an expectation rests on: "finetune"; of the row, or of the table of kinds. */
helio_text_t core_run_of(helio_arena_t *arena, const helio_row_job_t *row);

#endif
