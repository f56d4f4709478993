/*  jobs.c -- what the tenants of the virtual world submit, drawn from the seed. A kind of job that was added later
 *  draws with sim_draw, so that the worlds of older seeds stay as they were. */
#include <stdio.h>
#include <string.h>

#include "simulator/workload/internal.h"

bool sim_has_tiers(uint64_t seed)
{
    return seed % 3 != 0;
}

static void make_gpus(sim_workload_t *self, helio_job_spec_t *spec)
{
    if (sim_chance(self->engine, 0.15))
        return; /* a CPU job */
    bool gang = sim_chance(self->engine, 0.2);
    spec->gpus.items = helio_arena_alloc(sim_arena(self->engine), 1, sizeof(helio_gpu_ask_t));
    spec->gpus.count = 1;
    spec->gpus.items[0] = (helio_gpu_ask_t){
        .model = HELIO_TEXT("H100"), .count = gang ? SIM_GPUS_PER_NODE : (uint32_t)sim_between(self->engine, 1, 3)};
    spec->nodes = gang && sim_chance(self->engine, 0.5) ? 2 : 1;
}

static void make_tasks(sim_workload_t *self, sim_job_t *job, helio_job_spec_t *spec)
{
    job->tasks = 1;
    if (!sim_chance(self->engine, 0.12))
        return;
    job->tasks = (uint32_t)sim_between(self->engine, 2, SIM_TASKS_MAX);
    spec->tasks.items = helio_arena_alloc(sim_arena(self->engine), job->tasks, sizeof(uint32_t));
    spec->tasks.count = job->tasks;
    for (uint32_t i = 0; i < job->tasks; i++)
        spec->tasks.items[i] = i;
    spec->tasks_at_once = (uint32_t)sim_between(self->engine, 0, 3);
}

/*  One of the few submissions before it, of the same tenant. */
static bool make_after(sim_workload_t *self, uint32_t index, helio_after_t after, sim_after_t *ret_after)
{
    uint32_t at = (uint32_t)sim_between(self->engine, index > 8 ? index - 8 : 0, index - 1);
    while (at && self->jobs[at].tenant != self->jobs[index].tenant)
        at--;
    const sim_job_t *on = &self->jobs[at];
    if (on->tenant != self->jobs[index].tenant)
        return false;
    bool one = on->submission.spec.tasks.count && sim_chance(self->engine, 0.4);
    *ret_after = (sim_after_t){after, at, one ? (int32_t)sim_between(self->engine, 0, on->tasks - 1) : HELIO_NO_TASK};
    return true;
}

/*  In a seventh of the worlds. By draws of its own: the others keep their runs. */
static bool make_after_start(sim_workload_t *self, uint32_t index, sim_after_t *ret_after)
{
    enum { START_DRAW = 83, NEAR = 4 };
    uint64_t draw = sim_draw(self->engine, START_DRAW, index);
    uint32_t back = 1 + (uint32_t)(draw / 64 % NEAR);
    if (sim_seed(self->engine) % 7 != 3 || draw % 4 || index < back)
        return false;
    const sim_job_t *on = &self->jobs[index - back];
    bool one = on->submission.spec.tasks.count && draw / 1024 % 2;
    int32_t task = one ? (int32_t)(draw / 4096 % on->tasks) : HELIO_NO_TASK;
    *ret_after = (sim_after_t){HELIO_AFTER_START, index - back, task};
    return on->tenant == self->jobs[index].tenant;
}

/*  In another seventh, likewise: an array after the nearest one before it that has as many tasks. */
static bool make_after_task(sim_workload_t *self, uint32_t index, sim_after_t *ret_after)
{
    enum { TASK_DRAW = 84, NEAR = 40 };
    const sim_job_t *job = &self->jobs[index];
    if (sim_seed(self->engine) % 7 != 5 || !job->submission.spec.tasks.count ||
        sim_draw(self->engine, TASK_DRAW, index) % 4 == 0)
        return false;
    for (uint32_t at = index; at-- > 0 && index - at <= NEAR;) {
        const sim_job_t *on = &self->jobs[at];
        *ret_after = (sim_after_t){HELIO_AFTER_TASK, at, HELIO_NO_TASK};
        if (on->tenant == job->tenant && on->submission.spec.tasks.count >= job->submission.spec.tasks.count)
            return true;
    }
    return false;
}

/*  Chains, fan-outs and dead ends. The broker never reads the names in the document, so they stay empty. */
static void make_dependencies(sim_workload_t *self, uint32_t index, helio_job_spec_t *spec)
{
    sim_job_t *job = &self->jobs[index];
    uint32_t counts[HELIO_AFTER_COUNT] = {0};
    uint32_t most = index && sim_chance(self->engine, 0.3) ? (uint32_t)sim_between(self->engine, 1, SIM_AFTERS_MAX) : 0;
    for (helio_after_t after = HELIO_AFTER_OK; after <= HELIO_AFTER_NOT_OK; after++)
        while (job->after_count < most && sim_chance(self->engine, 0.4) &&
               make_after(self, index, after, &job->afters[job->after_count])) {
            counts[after]++;
            job->after_count++;
        }
    if (job->after_count < SIM_AFTERS_MAX && make_after_start(self, index, &job->afters[job->after_count])) {
        counts[HELIO_AFTER_START]++;
        job->after_count++;
    }
    if (job->after_count < SIM_AFTERS_MAX && make_after_task(self, index, &job->afters[job->after_count])) {
        counts[HELIO_AFTER_TASK]++;
        job->after_count++;
    }
    spec->after_ok.items = spec->after_any.items = spec->after_not_ok.items = spec->after_start.items =
        spec->after_task.items = helio_arena_alloc(sim_arena(self->engine), SIM_AFTERS_MAX, sizeof(helio_string_t));
    spec->after_ok.count = counts[HELIO_AFTER_OK];
    spec->after_any.count = counts[HELIO_AFTER_ANY];
    spec->after_not_ok.count = counts[HELIO_AFTER_NOT_OK];
    spec->after_start.count = counts[HELIO_AFTER_START];
    spec->after_task.count = counts[HELIO_AFTER_TASK];
    if (sim_chance(self->engine, 0.1))
        spec->not_before_wall_ms =
            sim_true_wall_ms(self->engine) + job->submit_ms + sim_between(self->engine, -20000, 120000);
}

/*  Best-effort work is long and takes whole nodes, so that preemption has victims. */
static void make_tier(sim_workload_t *self, uint32_t index, helio_job_spec_t *spec)
{
    uint64_t draw = sim_draw(self->engine, 5, index);
    sim_job_t *job = &self->jobs[index];
    if (draw % 8 < 5)
        spec->queue = draw % 8 < 3 ? HELIO_TEXT("spare") : HELIO_TEXT("urgent");
    if (draw % 8 < 3 || draw % 8 == 7) {
        job->duration_ms += (int64_t)(draw / 1024 % 60000);
        job->limit_ms = job->limit_hits ? (uint64_t)job->duration_ms : job->limit_ms;
        spec->time_limit_ms = job->limit_ms;
        if (spec->gpus.count)
            spec->gpus.items[0].count = SIM_GPUS_PER_NODE;
    }
    if (draw / 8 % 2)
        spec->checkpoint_signal = HELIO_TEXT("USR1");
    spec->checkpoint_grace_ms = draw / 16 % 3 * 2000;
    spec->checkpoint_every_ms = draw / 64 % 4 * 5000;
}

/*  In crowded worlds jobs are long and wide, and urgent ones come late. So these find no place, and their preemptions
 *  have several victims. */
static void make_crowd(sim_workload_t *self, uint32_t index, helio_job_spec_t *spec)
{
    enum { CROWD_DRAW = 77, LEAST_MS = 60000, SPREAD_MS = 240000, LATE_MS = 300000 };
    sim_job_t *job = &self->jobs[index];
    uint64_t draw = sim_draw(self->engine, CROWD_DRAW, index) >> 16;
    bool urgent = helio_text_is(spec->queue, "urgent");
    if (!self->crowded || !spec->gpus.count)
        return;
    spec->nodes = urgent && draw % 2 ? 2 : spec->nodes;
    spec->gpus.items[0].count = urgent ? SIM_GPUS_PER_NODE : 1 + (uint32_t)(draw / 2 % SIM_GPUS_PER_NODE);
    if (urgent) {
        job->submit_ms += (int64_t)(draw / 64 % LATE_MS);
        return;
    }
    job->duration_ms += LEAST_MS + (int64_t)(draw / 64 % SPREAD_MS);
    job->limit_ms = job->limit_hits ? (uint64_t)job->duration_ms : job->limit_ms;
    spec->time_limit_ms = job->limit_ms;
}

/*  Far below the limit of most jobs: the job starts only if enough runs like it were short. A job that cannot meet its
 *  deadline is cancelled. */
static void make_deadline(sim_workload_t *self, uint32_t index, helio_job_spec_t *spec)
{
    sim_job_t *job = &self->jobs[index];
    uint64_t draw = sim_draw(self->engine, 17, index);
    if (draw % 5)
        return;
    int64_t within_ms = (int64_t)(draw / 5 % 600000);
    spec->deadline_wall_ms = sim_true_wall_ms(self->engine) + job->submit_ms + within_ms;
    if (!job->cancel_ms)
        job->cancel_ms = job->submit_ms + within_ms + 60000;
}

/*  In half of the worlds, half of the jobs. */
static bool asks_for_better_site(const sim_workload_t *self, uint32_t index)
{
    return sim_seed(self->engine) % 2 == 1 && sim_draw(self->engine, 20, index) % 2 == 0;
}

void workload_make_job(sim_workload_t *self, uint32_t index)
{
    sim_job_t *job = &self->jobs[index];
    helio_job_spec_t *spec = &job->submission.spec;
    *spec = (helio_job_spec_t){.queue = sim_chance(self->engine, 0.7) ? HELIO_TEXT("standard") : HELIO_TEXT("batch"),
                               .nodes = 1,
                               .run = HELIO_TEXT("true"),
                               .goal = HELIO_GOAL_BALANCED};
    make_gpus(self, spec);
    make_tasks(self, job, spec);
    spec->on_site_loss = (uint32_t)sim_between(self->engine, 0, HELIO_SITE_LOSS_COUNT - 1);
    spec->retries = (uint32_t)sim_between(self->engine, 0, 2);
    job->exit_code = sim_chance(self->engine, 0.2) ? (uint32_t)sim_between(self->engine, 1, 100) : 0;
    job->duration_ms =
        sim_chance(self->engine, 0.1) ? sim_between(self->engine, 100000, 400000) : sim_between(self->engine, 1, 20000);
    job->limit_hits = sim_chance(self->engine, 0.07);
    job->limit_ms = job->limit_hits ? (uint64_t)job->duration_ms : 3600000;
    spec->time_limit_ms = job->limit_ms;
    job->tenant = sim_chance(self->engine, 0.5) ? "red" : "blue";
    (void)snprintf(job->key, sizeof job->key, "key-%u", index);
    (void)snprintf(job->source, sizeof job->source, "%u", index);
    memcpy(job->hash, &index, sizeof index);
    job->submission.source = helio_text_of(job->source);
    job->submission.spec_hash = (helio_text_t){(const char *)job->hash, sizeof job->hash};
    job->submission.idempotency_key = helio_text_of(job->key);
    job->submit_ms = sim_between(self->engine, 0, self->faults_ms * 3 / 4);
    if (sim_hours_differ(sim_seed(self->engine)) && sim_draw(self->engine, 1, index) % 3 == 0) {
        spec->goal = HELIO_GOAL_GREEN;
        spec->flexible_ms = 600000;
    }
    if (sim_has_tiers(sim_seed(self->engine)))
        make_tier(self, index, spec);
    make_crowd(self, index, spec);
    static const char *const names[] = {"", "train-1", "train-2", "sweep", "eval_7"};
    spec->name = helio_text_of(names[sim_draw(self->engine, 15, index) % 5]);
    spec->kind = (uint32_t)(sim_draw(self->engine, 16, index) % HELIO_JOB_KIND_COUNT);
    if (sim_chance(self->engine, 0.15))
        job->cancel_ms = job->submit_ms + sim_between(self->engine, 1, 30000);
    make_deadline(self, index, spec);
    make_dependencies(self, index, spec);
    workload_data_reads(self, index, spec);
    job->queue = spec->queue;
    job->deadline_ms = spec->deadline_wall_ms;
    if (asks_for_better_site(self, index))
        spec->on_better_site = HELIO_BETTER_SITE_CHECKPOINT;
}
