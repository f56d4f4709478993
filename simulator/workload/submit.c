/*  submit.c -- tenants submit each job again until they are answered, cancel some, and now and then use a key twice. */
#include "simulator/workload/internal.h"

enum { REPLY_PATIENCE_MS = 5000, CLASH_AFTER_MS = 20000 };

/*  As the shell does it: what is durable now, of jobs whose ids were answered. False: one has no id yet. */
static bool look_up(const sim_workload_t *self, sim_job_t *job)
{
    for (uint32_t i = 0; i < job->after_count; i++) {
        helio_job_key_t on = sim_workload_on(self, &job->afters[i]);
        if (!self->jobs[job->afters[i].job].answered)
            return false;
        job->depends[i] =
            (helio_dependency_t){HELIO_TEXT("a"), job->afters[i].after, helio_vdb_found(self->vdb, on), on};
    }
    job->submission.depends.items = job->depends;
    job->submission.depends.count = job->after_count;
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
    if (!sim_broker_is_up(self->broker) || !look_up(self, job))
        return;
    helio_submission_t one = job->submission;
    helio_ev_submit_t submit = {.call = SUBMIT_CALL + item->number,
                                .tenant = helio_text_of(job->tenant),
                                .user = HELIO_TEXT("ana"),
                                .jobs = {&one, 1}};
    sim_broker_take(self->broker, HELIO_BROKER_EV_SUBMIT, &submit);
}

/*  The same key for another document: refused, and nothing is stored. */
static void on_clash(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    sim_job_t *job = &self->jobs[item->number];
    if (!sim_broker_is_up(self->broker) || !job->answered)
        return;
    static const char other[32] = "another document";
    helio_submission_t one = job->submission;
    one.spec_hash = (helio_text_t){other, sizeof other};
    helio_ev_submit_t submit = {.call = CLASH_CALL + item->number,
                                .tenant = helio_text_of(job->tenant),
                                .user = HELIO_TEXT("ana"),
                                .jobs = {&one, 1}};
    sim_broker_take(self->broker, HELIO_BROKER_EV_SUBMIT, &submit);
}

static void on_cancel(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    sim_job_t *job = &self->jobs[item->number];
    if (job->cancelled)
        return;
    sim_happening_t *again = sim_later(self->engine, REPLY_PATIENCE_MS, on_cancel, self);
    again->number = item->number;
    if (!sim_broker_is_up(self->broker) || !job->answered)
        return;
    helio_ev_command_t cancel = {.call = CANCEL_CALL + item->number,
                                 .tenant = helio_text_of(job->tenant),
                                 .user = HELIO_TEXT("ana"),
                                 .key = {job->id, HELIO_NO_TASK}};
    sim_broker_take(self->broker, HELIO_BROKER_EV_CANCEL, &cancel);
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
        for (uint32_t i = 0; i < job->after_count; i++)
            if (job->depends[i].found == HELIO_FOUND_OPEN &&
                helio_vdb_found(self->vdb, job->depends[i].on) != HELIO_FOUND_OPEN)
                return; /* looked up again by and by */
        sim_violate(self->engine, "a submission was to look again before there was anything new to see");
        return;
    }
    if (reply->rc == HELIO_INFEASIBLE && helio_text_is(reply->reason, "Deadline") && !job->answered) {
        job->deadline_ms = 0;
        job->submission.spec.deadline_wall_ms = 0; /* nothing of it was stored: it is asked for again, without */
        return;
    }
    if (reply->rc != HELIO_OK || reply->jobs.count != 1) {
        workload_refused(self, reply, "a good submission was refused");
        return;
    }
    helio_uuid_t id = reply->jobs.items[0].job;
    if (!helio_vdb_has_job(self->vdb, id))
        sim_violate(self->engine, "a submission was answered before its job was durable");
    if (job->answered && !helio_uuid_equal(job->id, id))
        sim_violate(self->engine, "one idempotency key gave two jobs");
    job->answered = true;
    job->id = id;
}
