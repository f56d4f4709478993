/*  placements.c -- the promises on placements and orders, checked when a placement is decided and when its order
 *  leaves. */
#include "simulator/checks/internal.h"

bool checks_has_come(const sim_checks_t *self, const sim_after_t *after, int32_t task)
{
    helio_job_key_t on = sim_workload_on(self->workload, after, task);
    helio_found_t found = sim_database_found(self->database, on);
    if (after->after == HELIO_AFTER_START)
        return found != HELIO_FOUND_OPEN || sim_database_has_started(self->database, on);
    bool success = after->after == HELIO_AFTER_OK || after->after == HELIO_AFTER_TASK;
    return found != HELIO_FOUND_OPEN && found != (success                              ? HELIO_FOUND_NOT_OK
                                                  : after->after == HELIO_AFTER_NOT_OK ? HELIO_FOUND_OK
                                                                                       : HELIO_FOUND_OPEN);
}

static bool has_begun(const sim_checks_t *self, const sim_job_t *job)
{
    const helio_u32s_t *tasks = &job->submission.spec.tasks;
    for (uint32_t i = 0; i < tasks->count; i++)
        if (sim_database_has_placement(self->database, (helio_job_key_t){job->given, (int32_t)tasks->items[i]}, 1))
            return true;
    return false;
}

/*  No job is expected to run longer than its limit, and no job starts that would most likely end after its deadline. */
static void check_expected(sim_checks_t *self, const sim_job_t *job, const helio_row_placement_t *row, int64_t wall_ms)
{
    int64_t deadline_ms = job->deadline_ms;
    if (!row->expected_ms || row->expected_ms > row->expected_high_ms || row->expected_high_ms > job->limit_ms)
        sim_violate(self->engine, "a run of at most %llu ms is expected to take %llu to %llu",
                    (unsigned long long)job->limit_ms, (unsigned long long)row->expected_ms,
                    (unsigned long long)row->expected_high_ms);
    if (deadline_ms && wall_ms + (int64_t)row->expected_high_ms > deadline_ms)
        sim_violate(self->engine, "a job was placed that is expected to end %lld ms after its deadline",
                    (long long)(wall_ms + (int64_t)row->expected_high_ms - deadline_ms));
    if (row->expected_high_ms < job->limit_ms)
        self->seen.expected_use++;
    if (deadline_ms && wall_ms + (int64_t)job->limit_ms > deadline_ms)
        self->seen.admitted++;
}

/*  Times are by the clock of the leader that decides. A hold that ended stays so when that clock is set back, and under
 *  the next leader, whose clock can be behind. Once an array has begun, its other tasks may start without waiting for
 *  not_before again. */
void checks_placement(sim_checks_t *self, const helio_row_placement_t *row, int64_t wall_ms)
{
    for (uint32_t i = 0; i < sim_workload_count(self->workload); i++) {
        const sim_job_t *job = sim_workload_job(self->workload, i);
        if (helio_uuid_equal(job->given, row->key.job))
            check_expected(self, job, row, wall_ms);
        if (row->epoch == 1 && helio_uuid_equal(job->given, row->key.job) &&
            self->latest_wall_ms < job->submission.spec.not_before_wall_ms && !has_begun(self, job) &&
            !sim_database_hold_has_ended(self->database, job->given))
            sim_violate(self->engine, "a job was placed %lld ms before its time",
                        (long long)(job->submission.spec.not_before_wall_ms - wall_ms));
    }
}

void checks_hold(sim_checks_t *self, const helio_row_dependency_hold_t *row)
{
    const sim_job_t *job = row->opened_ms ? sim_workload_given(self->workload, row->job) : NULL;
    if (job && self->latest_wall_ms < job->submission.spec.not_before_wall_ms)
        sim_violate(self->engine, "the hold of a job ended %lld ms before its time",
                    (long long)(job->submission.spec.not_before_wall_ms - self->latest_wall_ms));
}

void checks_order(sim_checks_t *self, const helio_order_t *order)
{
    if (!sim_database_has_placement(self->database, order->key, order->epoch))
        sim_violate(self->engine, "an order left before its placement was durable");
    const sim_job_t *job = sim_workload_of(self->workload, order->source);
    for (uint32_t i = 0; i < job->after_count; i++)
        if (!checks_has_come(self, &job->afters[i], order->key.task))
            sim_violate(self->engine, "an order left before the dependencies of its job were satisfied");
}
