/*  submit.c -- tenants submit each job again until it is answered, cancel some, and sometimes use a key twice. */
#include "simulator/workload/internal.h"

enum { REPLY_PATIENCE_MS = 5000, CLASH_AFTER_MS = 20000 };

/*  As the HTTP shell finds dependencies: the durable states of jobs whose ids were answered. False: one has no id
 *  yet. */
static bool look_up(const sim_workload_t *self, sim_job_t *job)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < job->after_count; i++) {
        const sim_after_t *after = &job->afters[i];
        if (!self->jobs[after->job].answered)
            return false;
        for (uint32_t task = 0; task < (after->after == HELIO_AFTER_TASK ? job->tasks : 1); task++) {
            helio_job_key_t on = sim_workload_on(self, after, (int32_t)task);
            job->depends[count++] =
                (helio_dependency_t){HELIO_TEXT("a"), after->after, sim_database_found(self->database, on), on};
        }
    }
    job->submission.depends.items = job->depends;
    job->submission.depends.count = count;
    return true;
}

static void on_submit(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    sim_job_t *job = &self->jobs[item->number];
    if (job->answered)
        return;
    sim_happening_t *again =
        sim_later(self->engine, sim_between(self->engine, REPLY_PATIENCE_MS / 2, REPLY_PATIENCE_MS), on_submit, self);
    again->number = item->number;
    if (!workload_broker(self) || !look_up(self, job))
        return;
    helio_submission_t one = job->submission;
    helio_ev_submit_t submit = {.call = SUBMIT_CALL + item->number,
                                .tenant = helio_text_of(job->tenant),
                                .user = HELIO_TEXT("ana"),
                                .jobs = {&one, 1}};
    job->asked++;
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_SUBMIT, &submit);
}

/*  Uses the same key for another document: it is refused, and nothing is stored. */
static void on_clash(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    sim_job_t *job = &self->jobs[item->number];
    if (!workload_broker(self) || !job->answered)
        return;
    static const char other[32] = "another document";
    helio_submission_t one = job->submission;
    one.spec_hash = (helio_text_t){other, sizeof other};
    helio_ev_submit_t submit = {.call = CLASH_CALL + item->number,
                                .tenant = helio_text_of(job->tenant),
                                .user = HELIO_TEXT("ana"),
                                .jobs = {&one, 1}};
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_SUBMIT, &submit);
}

static void on_cancel(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    sim_job_t *job = &self->jobs[item->number];
    if (job->cancelled)
        return;
    sim_happening_t *again = sim_later(self->engine, REPLY_PATIENCE_MS, on_cancel, self);
    again->number = item->number;
    if (!workload_broker(self) || !job->answered)
        return;
    helio_ev_command_t cancel = {.call = CANCEL_CALL + item->number,
                                 .tenant = helio_text_of(job->tenant),
                                 .actor = HELIO_TEXT("user:acme/ana"),
                                 .key = {job->id, HELIO_NO_TASK}};
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_CANCEL, &cancel);
}

void workload_submit(sim_workload_t *self, uint32_t index)
{
    const sim_job_t *job = &self->jobs[index];
    sim_later(self->engine, job->submit_ms, on_submit, self)->number = index;
    if (job->cancel_ms)
        sim_later(self->engine, job->cancel_ms, on_cancel, self)->number = index;
    if (sim_chance(self->engine, 0.05))
        sim_later(self->engine, job->submit_ms + CLASH_AFTER_MS, on_clash, self)->number = index;
}

void workload_cancel_answered(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    self->jobs[reply->call - CANCEL_CALL].cancelled = reply->rc == HELIO_OK || reply->rc == HELIO_NOT_FOUND;
}

void workload_clash_answered(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    if (reply->rc != HELIO_CONFLICT)
        sim_violate(self->engine, "a used idempotency key took another document");
}

void workload_submit_answered(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    sim_job_t *job = &self->jobs[reply->call - SUBMIT_CALL];
    if (reply->rc == HELIO_BUSY && helio_text_is(reply->reason, "Gated")) {
        if (job->asked > 1)
            return; /* a late reply to an earlier submission: what that one had looked up is gone */
        for (uint32_t i = 0; i < job->submission.depends.count; i++)
            if (job->depends[i].found == HELIO_FOUND_OPEN &&
                sim_database_found(self->database, job->depends[i].on) != HELIO_FOUND_OPEN)
                return; /* looked up again after a while */
        sim_violate(self->engine, "a submission was told to look up its dependencies again although none had changed");
        return;
    }
    if (reply->rc == HELIO_INFEASIBLE && helio_text_is(reply->reason, "Deadline") && !job->answered) {
        job->deadline_ms = 0;
        job->submission.spec.deadline_wall_ms = 0; /* nothing of it was stored: it is submitted again, without */
        return;
    }
    if (reply->rc != HELIO_OK || reply->jobs.count != 1) {
        workload_refused(self, reply, "a good submission was refused");
        return;
    }
    helio_uuid_t id = reply->jobs.items[0].job;
    if (!sim_database_has_job(self->database, id))
        sim_violate(self->engine, "a submission was answered before its job was durable");
    if (job->answered && !helio_uuid_equal(job->id, id))
        sim_violate(self->engine, "one idempotency key gave two jobs");
    job->answered = true;
    job->id = id;
}
