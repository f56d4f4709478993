/*  dependency_eta.c -- when a dependency hold ends, as far as time limits tell. */
#include "broker/core/requests/dependency_eta.h"

#include "broker/core/holds/dependencies.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/why.h"

/*  The latest end of a job that is at a site; 0 = unknown. */
static int64_t end_of(const helio_broker_core_t *self, const job_t *job)
{
    return job && job->site && helio_job_state_is_live(job->state) ? core_job_end_ms(self, job) : 0;
}

/*  The latest end of a job, a task or a whole array. *ret_known becomes false if some end is unknown. */
static int64_t latest_end(helio_broker_core_t *self, helio_job_key_t on, bool *ret_known)
{
    const job_t *job = core_job_find(self, on);
    const submission_t *array = on.task == HELIO_NO_TASK && !job ? core_array_find(self, on.job) : NULL;
    int64_t latest_ms = job ? end_of(self, job) : 0;
    *ret_known = *ret_known && (array || !job || latest_ms);
    for (uint32_t i = 0; array && i < array->row.tasks.count; i++) {
        job = core_job_find(self, (helio_job_key_t){on.job, (int32_t)array->row.tasks.items[i]});
        int64_t end_ms = end_of(self, job);
        *ret_known = *ret_known && (!job || end_ms);
        latest_ms = end_ms > latest_ms ? end_ms : latest_ms;
    }
    return latest_ms;
}

/*  The begin time of the job that is waited for, if success is required, because that needs a start. 0 = none. */
static int64_t begin_of(helio_broker_core_t *self, helio_job_key_t on, uint32_t after)
{
    const job_t *job = core_job_find(self, on);
    const submission_t *array = on.task == HELIO_NO_TASK && !job ? core_array_find(self, on.job) : NULL;
    const submission_t *submission = job ? job->submission : array;
    bool starts = after == HELIO_AFTER_OK || after == HELIO_AFTER_TASK;
    const dependency_hold_t *hold = submission && starts ? submission->hold : NULL;
    return hold ? hold->not_before_ms : 0;
}

/*  What is known of the jobs that it waits for. */
typedef struct awaited {
    uint32_t jobs;
    int64_t begin_ms; /* they cannot begin before; 0 = any time */
    int64_t end_ms;   /* they are over by then, if known */
    bool known;
} awaited_t;

static void await(helio_broker_core_t *self, helio_job_key_t on, uint32_t after, awaited_t *awaited)
{
    int64_t end_ms = latest_end(self, on, &awaited->known), begin_ms = begin_of(self, on, after);
    awaited->end_ms = end_ms > awaited->end_ms ? end_ms : awaited->end_ms;
    awaited->begin_ms = begin_ms > awaited->begin_ms ? begin_ms : awaited->begin_ms;
    awaited->known = awaited->known && after != HELIO_AFTER_START; /* an end says nothing of a start */
    awaited->jobs++;
}

static helio_details_t why_of(helio_broker_core_t *self, const awaited_t *awaited, int64_t not_before_ms)
{
    helio_details_t why = {0};
    helio_value_t jobs = helio_value_number(awaited->jobs);
    if (awaited->jobs && awaited->known)
        core_why_add(self, &why,
                     CORE_DETAIL(self, HELIO_DETAIL_START_DEPENDENCIES_END, jobs, helio_value_number(awaited->end_ms)));
    else if (awaited->jobs)
        core_why_add(
            self, &why,
            CORE_DETAIL(self, HELIO_DETAIL_START_DEPENDENCIES_OPEN, jobs, helio_value_number(awaited->begin_ms)));
    if (not_before_ms)
        core_why_add(self, &why, CORE_DETAIL(self, HELIO_DETAIL_BEGIN_TIME, helio_value_number(not_before_ms)));
    return why;
}

static dependency_eta_t foresight_of(helio_broker_core_t *self, const awaited_t *awaited, int64_t not_before_ms)
{
    dependency_eta_t found = {.earliest_ms = awaited->begin_ms > not_before_ms ? awaited->begin_ms : not_before_ms,
                              .why = why_of(self, awaited, not_before_ms)};
    if (awaited->known)
        found.latest_ms = awaited->end_ms > not_before_ms ? awaited->end_ms : not_before_ms;
    return found;
}

dependency_eta_t core_dependencies_eta(helio_broker_core_t *self, const helio_submission_t *job)
{
    int64_t not_before_ms = job->spec.not_before_wall_ms > self->wall_ms ? job->spec.not_before_wall_ms : 0;
    awaited_t awaited = {.known = true};
    for (uint32_t i = 0; i < job->depends.count; i++) {
        const helio_dependency_t *depend = &job->depends.items[i];
        if (depend->found == HELIO_FOUND_OPEN && core_dependencies_held(self, depend->on))
            await(self, depend->on, depend->after, &awaited);
    }
    return foresight_of(self, &awaited, not_before_ms);
}

int64_t core_dependencies_expect(helio_broker_core_t *self, const job_t *job, helio_start_estimate_t *ret_estimate)
{
    const dependency_hold_t *holds[] = {job->submission->hold, job->hold};
    awaited_t awaited = {.known = true};
    bool in_turn = false;
    for (size_t i = 0; i < sizeof holds / sizeof holds[0]; i++) {
        in_turn |= holds[i] && holds[i]->over;
        for (const waiter_t *w = holds[i] ? holds[i]->waiters : NULL; w; w = w->hold_next)
            await(self, w->waited->key.on, w->waited->key.after, &awaited);
    }
    dependency_eta_t found = foresight_of(self, &awaited, holds[0] ? holds[0]->not_before_ms : 0);
    ret_estimate->earliest_ms = found.earliest_ms ? found.earliest_ms : self->wall_ms;
    if (in_turn)
        core_why_add(self, &found.why, HELIO_DETAIL0(HELIO_DETAIL_GOES_ON_IN_TURN));
    ret_estimate->basis = found.why;
    return found.latest_ms;
}
