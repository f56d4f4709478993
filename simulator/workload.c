/*  workload.c -- what the tenants of the virtual world ask for, and that they ask again until they are answered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/internal.h"

enum { ANSWER_PATIENCE_MS = 5000 };

wjob_t *workload_of(world_t *self, helio_text_t source)
{
    char text[64];
    (void)helio_text_copy(source, text, sizeof text);
    return &self->jobs[strtoul(text, NULL, 10)];
}

wjob_t *workload_given(world_t *self, helio_uuid_t id)
{
    for (uint32_t i = 0; i < self->job_count; i++)
        if (helio_uuid_equal(self->jobs[i].given, id))
            return &self->jobs[i];
    return NULL;
}

void workload_parse(world_t *self, helio_text_t source, helio_job_spec_t *ret_spec)
{
    *ret_spec = workload_of(self, source)->submission.spec;
}

static void make_gpus(world_t *self, helio_job_spec_t *spec)
{
    if (world_chance(self, 0.15))
        return; /* a CPU job */
    bool gang = world_chance(self, 0.2);
    spec->gpus.items = helio_arena_alloc(self->arena, 1, sizeof(helio_gpu_ask_t));
    spec->gpus.count = 1;
    spec->gpus.items[0] = (helio_gpu_ask_t){
        .model = HELIO_TEXT("H100"), .count = gang ? WORLD_GPUS_PER_NODE : (uint32_t)world_between(self, 1, 3)};
    spec->nodes = gang && world_chance(self, 0.5) ? 2 : 1;
}

static void make_tasks(world_t *self, wjob_t *job, helio_job_spec_t *spec)
{
    job->tasks = 1;
    if (!world_chance(self, 0.12))
        return;
    job->tasks = (uint32_t)world_between(self, 2, 6);
    spec->tasks.items = helio_arena_alloc(self->arena, job->tasks, sizeof(uint32_t));
    spec->tasks.count = job->tasks;
    for (uint32_t i = 0; i < job->tasks; i++)
        spec->tasks.items[i] = i;
    spec->tasks_at_once = (uint32_t)world_between(self, 0, 3);
}

/*  One of the few before it, of the same tenant. */
static bool make_after(world_t *self, uint32_t index, helio_after_t after, wafter_t *ret_after)
{
    uint32_t at = (uint32_t)world_between(self, index > 8 ? index - 8 : 0, index - 1);
    while (at && self->jobs[at].tenant != self->jobs[index].tenant)
        at--;
    const wjob_t *on = &self->jobs[at];
    if (on->tenant != self->jobs[index].tenant)
        return false;
    bool one = on->submission.spec.tasks.count && world_chance(self, 0.4);
    *ret_after = (wafter_t){after, at, one ? (int32_t)world_between(self, 0, on->tasks - 1) : HELIO_NO_TASK};
    return true;
}

/*  Chains, fans and dead ends. What the words are is not looked at. */
static void make_gate(world_t *self, uint32_t index, helio_job_spec_t *spec)
{
    wjob_t *job = &self->jobs[index];
    uint32_t counts[HELIO_AFTER_COUNT] = {0};
    uint32_t most = index && world_chance(self, 0.3) ? (uint32_t)world_between(self, 1, WORLD_AFTERS_MAX) : 0;
    for (helio_after_t after = HELIO_AFTER_OK; after < HELIO_AFTER_COUNT; after++)
        while (job->after_count < most && world_chance(self, 0.4) &&
               make_after(self, index, after, &job->afters[job->after_count])) {
            counts[after]++;
            job->after_count++;
        }
    spec->after_ok.items = spec->after_any.items = spec->after_not_ok.items =
        helio_arena_alloc(self->arena, WORLD_AFTERS_MAX, sizeof(helio_word_t));
    spec->after_ok.count = counts[HELIO_AFTER_OK];
    spec->after_any.count = counts[HELIO_AFTER_ANY];
    spec->after_not_ok.count = counts[HELIO_AFTER_NOT_OK];
    drift_t truth = {0};
    if (world_chance(self, 0.1))
        spec->not_before_wall_ms =
            world_wall_ms(self, &truth) + job->submit_ms + world_between(self, -20000, 120000);
}

/*  Work that gives way is long and takes whole nodes, so that there is something to take. */
static void make_tier(world_t *self, uint32_t index, helio_job_spec_t *spec)
{
    uint64_t draw = world_draw(self, 5, index);
    wjob_t *job = &self->jobs[index];
    if (draw % 8 < 5)
        spec->queue = draw % 8 < 3 ? HELIO_TEXT("spare") : HELIO_TEXT("urgent");
    if (draw % 8 < 3 || draw % 8 == 7) {
        job->duration_ms += (int64_t)(draw / 1024 % 60000);
        job->limit_ms = job->limit_hits ? (uint64_t)job->duration_ms : job->limit_ms;
        spec->time_limit_ms = job->limit_ms;
        if (spec->gpus.count)
            spec->gpus.items[0].count = WORLD_GPUS_PER_NODE;
    }
    if (draw / 8 % 2)
        spec->checkpoint_signal = HELIO_TEXT("USR1");
    spec->checkpoint_grace_ms = draw / 16 % 3 * 2000;
    spec->checkpoint_every_ms = draw / 64 % 4 * 5000;
}

/*  Far below the limit of most: it starts only if enough runs like it were short. Who comes too late is cancelled. */
static void make_deadline(world_t *self, uint32_t index, helio_job_spec_t *spec)
{
    wjob_t *job = &self->jobs[index];
    uint64_t draw = world_draw(self, 17, index);
    drift_t truth = {0};
    if (draw % 5)
        return;
    int64_t within_ms = (int64_t)(draw / 5 % 600000);
    spec->deadline_wall_ms = world_wall_ms(self, &truth) + job->submit_ms + within_ms;
    if (!job->cancel_ms)
        job->cancel_ms = job->submit_ms + within_ms + 60000;
}

static void make_one(world_t *self, uint32_t index)
{
    wjob_t *job = &self->jobs[index];
    helio_job_spec_t *spec = &job->submission.spec;
    *spec = (helio_job_spec_t){.queue = world_chance(self, 0.7) ? HELIO_TEXT("standard") : HELIO_TEXT("batch"),
                               .nodes = 1,
                               .run = HELIO_TEXT("true"),
                               .goal = HELIO_GOAL_BALANCED};
    make_gpus(self, spec);
    make_tasks(self, job, spec);
    spec->on_site_loss = (uint32_t)world_between(self, 0, HELIO_SITE_LOSS_COUNT - 1);
    spec->retries = (uint32_t)world_between(self, 0, 2);
    job->exit_code = world_chance(self, 0.2) ? (uint32_t)world_between(self, 1, 100) : 0;
    job->duration_ms = world_chance(self, 0.1) ? world_between(self, 100000, 400000) : world_between(self, 1, 20000);
    job->limit_hits = world_chance(self, 0.07);
    job->limit_ms = job->limit_hits ? (uint64_t)job->duration_ms : 3600000;
    spec->time_limit_ms = job->limit_ms;
    job->tenant = world_chance(self, 0.5) ? "red" : "blue";
    (void)snprintf(job->key, sizeof job->key, "key-%u", index);
    (void)snprintf(job->source, sizeof job->source, "%u", index);
    memcpy(job->hash, &index, sizeof index);
    job->submission.source = helio_text_of(job->source);
    job->submission.spec_hash = (helio_text_t){(const char *)job->hash, sizeof job->hash};
    job->submission.idempotency_key = helio_text_of(job->key);
    job->submit_ms = world_between(self, 0, self->options.faults_ms * 3 / 4);
    if (world_has_windows(self) && world_draw(self, 1, index) % 3 == 0) {
        spec->goal = HELIO_GOAL_GREEN;
        spec->flexible_ms = 600000;
    }
    if (world_has_tiers(self))
        make_tier(self, index, spec);
    static const char *const names[] = {"", "train-1", "train-2", "sweep", "eval_7"};
    spec->name = helio_text_of(names[world_draw(self, 15, index) % 5]);
    spec->kind = (uint32_t)(world_draw(self, 16, index) % HELIO_JOB_KIND_COUNT);
    if (world_chance(self, 0.15))
        job->cancel_ms = job->submit_ms + world_between(self, 1, 30000);
    make_deadline(self, index, spec);
    make_gate(self, index, spec);
    data_reads(self, index, spec);
    job->queue = spec->queue;
    job->deadline_ms = spec->deadline_wall_ms;
    if (moves_asks(self, index))
        spec->on_better_site = HELIO_BETTER_SITE_CHECKPOINT;
}

helio_job_key_t workload_on(const world_t *self, const wafter_t *after)
{
    return (helio_job_key_t){self->jobs[after->job].id, after->task};
}

/*  As the shell does it: what is durable now, of jobs whose ids were answered. False: one has no id yet. */
static bool look_up(const world_t *self, wjob_t *job)
{
    for (uint32_t i = 0; i < job->after_count; i++) {
        helio_job_key_t on = workload_on(self, &job->afters[i]);
        if (!self->jobs[job->afters[i].job].answered)
            return false;
        job->depends[i] =
            (helio_dependency_t){HELIO_TEXT("a"), job->afters[i].after, helio_vdb_found(self->vdb, on), on};
    }
    job->submission.depends.items = job->depends;
    job->submission.depends.count = job->after_count;
    return true;
}

static void on_submit(world_t *self, happening_t *item)
{
    wjob_t *job = &self->jobs[item->number];
    if (job->answered)
        return;
    happening_t *again = world_later(self, world_between(self, ANSWER_PATIENCE_MS / 2, ANSWER_PATIENCE_MS), on_submit);
    again->number = item->number;
    if (!self->broker.up || !look_up(self, job))
        return;
    helio_submission_t one = job->submission;
    helio_ev_submit_t submit = {.call = item->number + 1,
                                .tenant = helio_text_of(job->tenant),
                                .user = HELIO_TEXT("ana"),
                                .jobs = {&one, 1}};
    broker_step(self, HELIO_BROKER_EV_SUBMIT, &submit);
}

/*  The same key for another document: refused, and nothing is stored. */
static void on_clash(world_t *self, happening_t *item)
{
    wjob_t *job = &self->jobs[item->number];
    if (!self->broker.up || !job->answered)
        return;
    static const char other[32] = "another document";
    helio_submission_t one = job->submission;
    one.spec_hash = (helio_text_t){other, sizeof other};
    helio_ev_submit_t submit = {.call = 2 * WORLD_JOBS_MAX + item->number,
                                .tenant = helio_text_of(job->tenant),
                                .user = HELIO_TEXT("ana"),
                                .jobs = {&one, 1}};
    broker_step(self, HELIO_BROKER_EV_SUBMIT, &submit);
}

static void on_cancel(world_t *self, happening_t *item)
{
    wjob_t *job = &self->jobs[item->number];
    if (job->cancelled)
        return;
    happening_t *again = world_later(self, ANSWER_PATIENCE_MS, on_cancel);
    again->number = item->number;
    if (!self->broker.up || !job->answered)
        return;
    helio_ev_command_t cancel = {.call = WORLD_JOBS_MAX + item->number,
                                 .tenant = helio_text_of(job->tenant),
                                 .user = HELIO_TEXT("ana"),
                                 .key = {job->id, HELIO_NO_TASK}};
    broker_step(self, HELIO_BROKER_EV_CANCEL, &cancel);
}

void workload_make(world_t *self)
{
    quotas_make(self);
    budgets_make(self);
    data_make(self);
    queues_make(self);
    edits_make(self);
    looks_make(self);
    self->job_count = self->options.jobs < WORLD_JOBS_MAX ? self->options.jobs : WORLD_JOBS_MAX;
    for (uint32_t i = 0; i < self->job_count; i++) {
        make_one(self, i);
        world_later(self, self->jobs[i].submit_ms, on_submit)->number = i;
        if (self->jobs[i].cancel_ms)
            world_later(self, self->jobs[i].cancel_ms, on_cancel)->number = i;
        if (world_chance(self, 0.05))
            world_later(self, self->jobs[i].submit_ms + 20000, on_clash)->number = i;
    }
}

void workload_answer(world_t *self, const helio_fx_answer_t *answer)
{
    if (answer->call >= BUDGETS_CALL) {
        budgets_answer(self, answer);
        return;
    }
    if (answer->call >= RELEASES_CALL)
        return;
    if (answer->call >= QUEUES_CALL) {
        queues_answer(self, answer);
        return;
    }
    if (answer->call >= EDITS_CALL) {
        edits_answer(self, answer);
        return;
    }
    if (answer->call >= DATA_CALL) {
        data_answer(self, answer);
        return;
    }
    if (answer->call >= QUOTAS_CALL) {
        quotas_answer(self, answer);
        return;
    }
    if (answer->call >= 2 * WORLD_JOBS_MAX) {
        if (answer->rc != HELIO_CONFLICT)
            world_violate(self, "a used idempotency key took another document");
        return;
    }
    if (answer->call > self->job_count) { /* of a cancel */
        wjob_t *job = &self->jobs[answer->call - WORLD_JOBS_MAX];
        job->cancelled = answer->rc == HELIO_OK || answer->rc == HELIO_NOT_FOUND;
        return;
    }
    wjob_t *job = &self->jobs[answer->call - 1];
    if (answer->rc == HELIO_BUSY && helio_text_is(answer->reason, "Gated")) {
        for (uint32_t i = 0; i < job->after_count; i++)
            if (job->depends[i].found == HELIO_FOUND_OPEN &&
                helio_vdb_found(self->vdb, job->depends[i].on) != HELIO_FOUND_OPEN)
                return; /* looked up again by and by */
        world_violate(self, "a submission was to look again before there was anything new to see");
        return;
    }
    if (answer->rc == HELIO_INFEASIBLE && helio_text_is(answer->reason, "Deadline") && !job->answered) {
        job->deadline_ms = 0;
        job->submission.spec.deadline_wall_ms = 0; /* nothing of it was stored: it is asked for again, without */
        return;
    }
    if (answer->rc != HELIO_OK || answer->jobs.count != 1) {
        world_violate(self, "a good submission was refused: %.*s", HELIO_TEXT_ARGS(answer->text));
        return;
    }
    helio_uuid_t id = answer->jobs.items[0].job;
    if (!helio_vdb_has_job(self->vdb, id))
        world_violate(self, "a submission was answered before its job was durable");
    if (job->answered && !helio_uuid_equal(job->id, id))
        world_violate(self, "one idempotency key gave two jobs");
    job->answered = true;
    job->id = id;
}

typedef struct done_arg {
    world_t *world;
    bool done;
} done_arg_t;

static void look(void *arg, helio_job_key_t key, const helio_row_job_t *row)
{
    (void)row;
    done_arg_t *look_arg = arg;
    if (!helio_job_state_is_terminal(helio_vdb_state(look_arg->world->vdb, key).row.state))
        look_arg->done = false;
}

void workload_release_held(world_t *self)
{
    if (!self->broker.up)
        return;
    for (uint32_t i = 0; i < self->job_count; i++) {
        if (!self->jobs[i].answered)
            continue;
        helio_ev_command_t release = {.call = RELEASES_CALL,
                                      .user = HELIO_TEXT("operator"),
                                      .role = HELIO_ROLE_OPERATOR,
                                      .key = {self->jobs[i].id, HELIO_NO_TASK}};
        broker_step(self, HELIO_BROKER_EV_RELEASE, &release);
    }
}

bool workload_done(world_t *self)
{
    for (uint32_t i = 0; i < self->job_count; i++)
        if (!self->jobs[i].answered)
            return false;
    done_arg_t arg = {self, true};
    helio_vdb_each_task(self->vdb, look, &arg);
    for (uint32_t i = 0; arg.done && i < self->site_count; i++) {
        helio_agent_figures_t figures;
        if (!self->agents[i].up)
            return false;
        helio_agent_core_figures(self->agents[i].core, &figures);
        arg.done = figures.attempts == 0 && figures.reports_pending == 0;
    }
    return arg.done;
}
