/*  durations.h -- the expected run time of a job, from the runs of jobs like it. */
#ifndef HELIO_BROKER_CORE_FORECAST_DURATIONS_H
#define HELIO_BROKER_CORE_FORECAST_DURATIONS_H

#include "broker/core/state/nouns.h"
#include "broker/model/rows_job.h"
#include "federation/base/memory.h"
#include "federation/model/attempt.h"

/*  Fills in the row's expected_* fields, for a job that is being submitted. */
void core_run_expect(const helio_broker_core_t *self, helio_row_job_t *row);
/*  Learns from a job that is over after its first attempt; other jobs are ignored. */
void core_run_record(helio_broker_core_t *self, const job_t *job, const helio_report_t *report);
void core_run_load(helio_broker_core_t *self, const helio_row_run_t *row);
/*  Whose runs an expectation rests on: a stem of job names ("finetune"), a user or a kind of job; "" = no one's. The
 *  text is in the arena, in the row, or static. */
helio_text_t core_run_basis_text(helio_arena_t *arena, const helio_row_job_t *row);

#endif
