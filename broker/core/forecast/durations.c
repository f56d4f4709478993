/*  durations.c -- how long jobs will run, by how long similar jobs ran.
 *
 *  The expectation is computed once, when a job is submitted, and stored with it. So a job keeps its class and what its
 *  user saw, under any leader. The core learns from every job that is over with its first attempt. A job that was
 *  placed again can have resumed from a checkpoint, and its total run time is not reported. */
#include "broker/core/forecast/durations.h"

#include "broker/core/state/core.h"
#include "broker/core/state/submissions.h"

void core_run_expect(const helio_broker_core_t *self, helio_row_job_t *row)
{
    helio_runner_t runner = {row->tenant, row->user, row->name, row->kind, row->gpus, row->time_limit_ms};
    helio_duration_t expected = helio_durations_expect(self->durations, &runner);
    row->expected_ms = expected.p50_ms;
    row->expected_high_ms = expected.p90_ms;
    row->expected_runs = expected.runs;
    row->expected_failed = expected.failed;
    row->expected_basis = expected.basis;
}

void core_run_record(helio_broker_core_t *self, const job_t *job, const helio_report_t *report)
{
    if (job->attempts != 1 || !report->run_ms)
        return;
    const submission_row_t *row = &job->submission->row;
    const helio_requirement_t *want = &job->submission->class->want;
    helio_runner_t runner = {row->tenant,       row->user, row->name, row->kind, helio_requirement_gpus(want),
                             row->time_limit_ms};
    bool whole = report->kind == HELIO_REPORT_KIND_ENDED && (report->limit_reached || report->exit_code == 0);
    helio_text_t model = job->pool ? job->pool->info.gpu : (helio_text_t){0};
    helio_durations_note(self->durations, &runner, report->run_ms, helio_duration_weight_milli(runner.gpus > 0, model),
                         whole);
}

void core_run_load(helio_broker_core_t *self, const helio_row_run_t *row)
{
    helio_runner_t runner = {row->tenant, row->user, row->name, row->kind, row->gpus, row->time_limit_ms};
    helio_durations_note(self->durations, &runner, row->run_ms,
                         helio_duration_weight_milli(runner.gpus > 0, row->gpu_model), row->whole);
}

helio_text_t core_run_basis_text(helio_arena_t *arena, const helio_row_job_t *row)
{
    char stem[HELIO_DURATION_STEM_MAX];
    if (row->expected_basis == HELIO_DURATION_BASIS_NAME)
        return helio_arena_text(arena, (helio_text_t){stem, helio_duration_stem(row->name, stem)});
    if (row->expected_basis == HELIO_DURATION_BASIS_USER)
        return row->user;
    return row->expected_basis == HELIO_DURATION_BASIS_KIND ? helio_text_of(helio_job_kind_name(row->kind))
                                                            : (helio_text_t){0};
}
