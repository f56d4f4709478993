/*  dependency_check.c -- what has become of the jobs that others wait for, and whether they can be waited for. */
#include <assert.h>

#include "broker/core/holds/dependencies.h"
#include "broker/core/holds/recent_ends.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/why.h"

enum { NAMED_MAX = 3 /* jobs with a detail of their own */ };

const submission_t *core_dependencies_held(helio_broker_core_t *self, helio_job_key_t on)
{
    const job_t *job = core_job_find(self, on);
    if (job)
        return job->submission;
    return on.task == HELIO_NO_TASK ? core_array_find(self, on.job) : NULL;
}

static bool has_started(helio_broker_core_t *self, helio_job_key_t on, const submission_t *submission)
{
    const job_t *job = core_job_find(self, on);
    return job ? job->start_told : !submission->unstarted_tasks;
}

helio_found_t core_dependency_now(helio_broker_core_t *self, helio_job_key_t on, uint32_t after, helio_found_t found)
{
    const submission_t *submission = core_dependencies_held(self, on);
    if (!submission)
        return found == HELIO_FOUND_OPEN ? core_recent_end(self, on) : found;
    bool unsatisfiable = on.task == HELIO_NO_TASK && submission->failed_tasks && after == HELIO_AFTER_OK;
    if (after == HELIO_AFTER_START && has_started(self, on, submission))
        return HELIO_FOUND_OK;
    return unsatisfiable ? HELIO_FOUND_NOT_OK : HELIO_FOUND_OPEN;
}

static bool needs_success(uint32_t after)
{
    return after == HELIO_AFTER_OK || after == HELIO_AFTER_TASK;
}

bool core_dependency_fails(uint32_t after, helio_found_t how)
{
    return how == HELIO_FOUND_OK ? after == HELIO_AFTER_NOT_OK : how != HELIO_FOUND_OPEN && needs_success(after);
}

const helio_dependency_t *core_dependencies_failed(helio_broker_core_t *self, const helio_submission_t *job)
{
    for (uint32_t i = 0; i < job->depends.count; i++) {
        const helio_dependency_t *depend = &job->depends.items[i];
        helio_found_t how = core_dependency_now(self, depend->on, depend->after, depend->found);
        if (depend->after != HELIO_AFTER_TASK && core_dependency_fails(depend->after, how))
            return depend;
    }
    return NULL;
}

const char *core_dependency_outcome(uint32_t after)
{
    return after == HELIO_AFTER_NOT_OK ? "succeeded" : "did not succeed";
}

helio_details_t core_dependency_hold_why(helio_broker_core_t *self, const dependency_hold_t *hold)
{
    static const char *const events[HELIO_AFTER_COUNT] = {"succeed", "end", "end without success", "start", "succeed"};
    helio_details_t why = {0};
    uint32_t named = 0;
    for (const waiter_t *w = hold->waiters; w && named < NAMED_MAX; w = w->hold_next, named++) {
        char id[HELIO_KEY_SIZE];
        helio_job_key_text(w->waited->key.on, id);
        core_why_add(self, &why,
                     CORE_DETAIL(self, HELIO_DETAIL_DEPENDENCY, helio_value_string(id),
                                 helio_value_string(events[w->waited->key.after])));
    }
    if (hold->waiter_count > named)
        core_why_add(self, &why,
                     CORE_DETAIL(self, HELIO_DETAIL_DEPENDENCY_MORE, helio_value_number(hold->waiter_count - named)));
    if (hold->not_before_ms)
        core_why_add(self, &why, CORE_DETAIL(self, HELIO_DETAIL_BEGIN_TIME, helio_value_number(hold->not_before_ms)));
    return why;
}

helio_details_t core_dependency_failed_why(helio_broker_core_t *self, const dependency_hold_t *hold)
{
    char id[HELIO_KEY_SIZE];
    helio_job_key_text(hold->failed_on, id);
    return CORE_WHY(self, HELIO_DETAIL_DEPENDENCY_FAILED, helio_value_string(id),
                    helio_value_string(core_dependency_outcome(hold->failed_after)));
}

static bool is_foreign(helio_broker_core_t *self, helio_text_t tenant, helio_job_key_t on)
{
    const submission_t *submission = core_dependencies_held(self, on);
    if (!submission)
        submission = core_array_find(self, on.job);
    return submission && !helio_text_equal(submission->row.tenant, tenant);
}

static const char *const after_names[HELIO_AFTER_COUNT] = {"after_ok", "after_any", "after_not_ok", "after_start",
                                                           "after_task"};

/*  number: of the job among several, of which none is stored then; 0 = it is the only one. */
static void refuse(helio_broker_core_t *self, uint64_t call, helio_detail_t fault, uint32_t number)
{
    if (number)
        core_reply_nothing_stored(self, call, HELIO_INVALID, HELIO_REASON_INVALID, fault);
    else
        core_reply(self, call, HELIO_INVALID, HELIO_REASON_INVALID, fault);
}

/*  It ended since it was looked up, under another leader or long ago. */
static bool has_ended_unheard(helio_broker_core_t *self, const helio_dependency_t *depend)
{
    return depend->found == HELIO_FOUND_OPEN && !core_dependencies_held(self, depend->on) &&
           core_recent_end(self, depend->on) == HELIO_FOUND_OPEN;
}

static bool check_dependency(helio_broker_core_t *self, const helio_ev_submit_t *event,
                             const helio_dependency_t *depend, const char *path, uint32_t number)
{
    const helio_value_t at = helio_value_string(path), word = helio_value_text(depend->word),
                        job = helio_value_number(number);
    if (depend->found == HELIO_FOUND_UNKNOWN || is_foreign(self, event->tenant, depend->on)) {
        refuse(self, event->call, CORE_DETAIL(self, HELIO_DETAIL_DEPENDS_UNKNOWN, at, word, job), number);
        return false;
    }
    if (depend->found == HELIO_FOUND_AMBIGUOUS) {
        refuse(self, event->call, CORE_DETAIL(self, HELIO_DETAIL_DEPENDS_AMBIGUOUS, at, word, job), number);
        return false;
    }
    if (has_ended_unheard(self, depend)) {
        core_reply_nothing_stored(self, event->call, HELIO_BUSY, HELIO_REASON_GATED,
                                  CORE_DETAIL(self, HELIO_DETAIL_DEPENDS_ENDED, at, word, job));
        return false;
    }
    return true;
}

bool core_dependencies_check(helio_broker_core_t *self, const helio_ev_submit_t *event, const helio_submission_t *job,
                             uint32_t number)
{
    const helio_job_spec_t *spec = &job->spec;
    assert(job->depends.count == spec->after_ok.count + spec->after_any.count + spec->after_not_ok.count +
                                     spec->after_start.count + spec->after_task.count * spec->tasks.count);
    uint32_t places[HELIO_AFTER_COUNT] = {0};
    for (uint32_t i = 0; i < job->depends.count; i++) {
        const helio_dependency_t *depend = &job->depends.items[i];
        uint32_t place = places[depend->after]++,
                 entry = depend->after == HELIO_AFTER_TASK ? place / spec->tasks.count : place;
        if (!check_dependency(self, event, depend,
                              core_printf(self, "depends.%s[%u]", after_names[depend->after], entry), number))
            return false;
    }
    return true;
}
