/*  foresee.c -- when a closed gate opens, as far as limits tell. */
#include <string.h>

#include "broker/core/evaluation.h"

/*  The latest end of a job that is at a site; 0 = it has no such end yet. */
static int64_t end_of(const helio_broker_core_t *self, const job_t *job)
{
    return job && job->site && helio_job_state_is_live(job->state) ? core_job_end_ms(self, job) : 0;
}

/*  The same of a job, a task or a whole array. *ret_known becomes false when some end is not foreseen. */
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

static const char *text_of(helio_broker_core_t *self, uint32_t jobs, int64_t jobs_end_ms, bool known,
                           int64_t not_before_ms)
{
    const char *text = "";
    if (jobs)
        text = core_printf(self, "after %u job%s that it depends on, ", jobs, jobs == 1 ? "" : "s");
    if (jobs && known)
        text = core_printf(self, "%sover by %s at the latest, by %s", text,
                           core_minute_text(self, jobs_end_ms), jobs == 1 ? "its limit" : "their limits");
    else if (jobs)
        text = core_printf(self, "%swhich %s not started, so nobody knows when", text,
                           jobs == 1 ? "has" : "have not all");
    if (not_before_ms)
        text = core_printf(self, "%s%snot before %s", text, jobs ? "; " : "",
                           core_minute_text(self, not_before_ms));
    return text;
}

static foresight_t foresight_of(helio_broker_core_t *self, uint32_t jobs, int64_t jobs_end_ms, bool known,
                                int64_t not_before_ms)
{
    foresight_t found = {.earliest_ms = not_before_ms,
                         .text = text_of(self, jobs, jobs_end_ms, known, not_before_ms)};
    if (known)
        found.latest_ms = jobs_end_ms > not_before_ms ? jobs_end_ms : not_before_ms;
    return found;
}

foresight_t core_gate_foresee(helio_broker_core_t *self, const helio_submission_t *job)
{
    int64_t not_before_ms = job->spec.not_before_wall_ms > self->wall_ms ? job->spec.not_before_wall_ms : 0,
            end_ms = 0;
    uint32_t jobs = 0;
    bool known = true;
    for (uint32_t i = 0; i < job->depends.count; i++) {
        const helio_dependency_t *depend = &job->depends.items[i];
        if (depend->found != HELIO_FOUND_OPEN)
            continue;
        int64_t latest_ms = latest_end(self, depend->on, &known);
        end_ms = latest_ms > end_ms ? latest_ms : end_ms;
        jobs++;
    }
    return foresight_of(self, jobs, end_ms, known, not_before_ms);
}

void core_gate_expect(helio_broker_core_t *self, const submission_t *submission,
                      helio_prospect_t *ret_prospect)
{
    const gate_t *gate = submission->gate;
    int64_t end_ms = 0;
    bool known = true;
    for (const waiter_t *w = gate->waiters; w; w = w->gate_next) {
        int64_t latest_ms = latest_end(self, w->waited->key.on, &known);
        end_ms = latest_ms > end_ms ? latest_ms : end_ms;
    }
    foresight_t found = foresight_of(self, gate->waiter_count, end_ms, known, gate->not_before_ms);
    ret_prospect->earliest_ms = found.earliest_ms ? found.earliest_ms : self->wall_ms;
    ret_prospect->basis = core_cut(core_printf(self, "%s; then when there is room", found.text), 256);
}
