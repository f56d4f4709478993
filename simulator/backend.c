/*  backend.c -- the processes of the virtual world: they outlive their agent, keep the proof of their end, and stop
 *  by themselves when their site's lease has run out. This is the ground truth that the ledger is compared with. */
#include <string.h>

#include "simulator/internal.h"

run_t *backend_find(world_t *self, helio_job_key_t key, uint32_t epoch)
{
    run_t probe, *run;
    memset(&probe.id, 0, sizeof probe.id);
    probe.id.key = key;
    probe.id.epoch = epoch;
    HASH_FIND(hh, self->runs, &probe.id, sizeof probe.id, run);
    return run;
}

static void on_say(world_t *self, happening_t *item)
{
    agent_node_t *agent = &self->agents[item->node];
    if (agent->up && item->generation == agent->life)
        agent_step(self, item->node, HELIO_AGENT_EV_BACKEND, item->payload);
}

/*  Usually soon; now and then a backend is slow to say. What it says of one attempt keeps its order. */
static void say(world_t *self, uint32_t site, const helio_aev_backend_t *event)
{
    run_t *run = backend_find(self, event->key, event->epoch);
    int64_t at =
        self->now_ms + (world_chance(self, 0.05) ? world_between(self, 1000, 90000) : world_between(self, 1, 20));
    if (run) {
        at = at > run->said_ms ? at : run->said_ms;
        run->said_ms = at;
    }
    happening_t *item = world_later(self, at - self->now_ms, on_say);
    item->node = site;
    item->generation = self->agents[site].life;
    item->payload = world_copy(self, &helio_aev_backend_type, event);
}

static void say_of(world_t *self, const run_t *run)
{
    helio_aev_backend_t event = {.key = run->id.key, .epoch = run->id.epoch, .started_wall_ms = run->started_wall_ms};
    if (run->failed_to_start) {
        event.word = HELIO_BACKEND_WORD_FAILED_TO_START;
        event.reason = HELIO_TEXT("StartFailed: drawn");
    } else if (run->lost) {
        event.word = HELIO_BACKEND_WORD_VANISHED;
        event.run_ms = run->run_ms;
        event.ended_wall_ms = run->started_wall_ms + (int64_t)run->run_ms;
    } else if (run->running) {
        event.word = HELIO_BACKEND_WORD_STARTED;
    } else {
        event.word = HELIO_BACKEND_WORD_ENDED;
        event.exit_code = run->exit_code;
        event.limit_reached = run->limit;
        event.stopped = run->stopped;
        event.saved_run_ms = run->stopped ? run->run_ms - run->run_ms % 1000 : 0; /* a second's steps */
        event.run_ms = run->run_ms;
        event.ended_wall_ms = run->started_wall_ms + (int64_t)run->run_ms;
    }
    say(self, run->site, &event);
}

static void end(world_t *self, run_t *run)
{
    if (!run->running)
        return;
    run->running = false;
    run->ended = true;
    run->over_ms = self->now_ms;
    run->run_ms = (uint64_t)(run->over_ms - run->began_ms);
    say_of(self, run);
}

static void on_end(world_t *self, happening_t *item)
{
    run_t *run = item->payload;
    if (!run->running || run->stopped)
        return;
    const wjob_t *job = &self->jobs[run->job];
    run->limit = job->limit_hits;
    run->exit_code = run->limit ? 124 : (int32_t)job->exit_code;
    end(self, run);
}

static void on_stopped(world_t *self, happening_t *item)
{
    end(self, item->payload);
}

static void stop(world_t *self, run_t *run, int64_t delay_ms)
{
    if (!run->running || run->stopped)
        return;
    run->stopped = true;
    run->exit_code = 143;
    happening_t *item = world_later(self, delay_ms, on_stopped);
    item->payload = run;
}

void backend_start(world_t *self, uint32_t site, const helio_afx_start_t *start)
{
    const helio_order_t *order = &start->order;
    run_t *run = backend_find(self, order->key, order->epoch);
    if (run && !run->forgotten) { /* looked up by its name: it is here already */
        say_of(self, run);
        return;
    }
    if (run) {
        run->times++; /* its traces were tidied away: nothing could hold this back any more */
        return;
    }
    run = helio_new(1, sizeof *run);
    run->id.key = order->key;
    run->id.epoch = order->epoch;
    run->site = site;
    run->job = (uint32_t)(workload_of(self, order->source) - self->jobs);
    run->gpus = order->nodes * order->gpus_per_node;
    run->on_site_loss = order->on_site_loss;
    run->times = 1;
    run->began_ms = self->now_ms;
    run->started_wall_ms = world_wall_ms(self, &self->agents[site].clock);
    run->slot_count = start->slots.count;
    for (uint32_t i = 0; i < start->slots.count && i < WORLD_NODES_PER_SITE; i++) {
        run->slots[i] = start->slots.items[i];
        for (uint32_t g = 0; g < run->slots[i].gpus.count && g < WORLD_GPUS_PER_NODE; g++)
            run->slot_gpus[i][g] = run->slots[i].gpus.items[g];
        run->slots[i].gpus.items = run->slot_gpus[i];
    }
    HASH_ADD(hh, self->runs, id, sizeof run->id, run);
    if (self->now_ms < self->options.faults_ms && world_chance(self, 0.02)) {
        world_fault(self, WORLD_FAULT_START_FAILED);
        run->failed_to_start = true;
        say_of(self, run);
        return;
    }
    run->running = true;
    const wjob_t *job = &self->jobs[run->job];
    happening_t *item = world_later(self, job->limit_hits ? (int64_t)job->limit_ms : job->duration_ms, on_end);
    item->payload = run;
    say_of(self, run);
}

void backend_adopt(world_t *self, uint32_t site, const helio_afx_start_t *start)
{
    run_t *run = backend_find(self, start->order.key, start->order.epoch);
    if (run && !run->forgotten) {
        say_of(self, run);
        return;
    }
    helio_aev_backend_t event = {
        .key = start->order.key, .epoch = start->order.epoch, .word = HELIO_BACKEND_WORD_ABSENT};
    say(self, site, &event);
}

void backend_stop(world_t *self, uint32_t site, const helio_stop_t *order)
{
    run_t *run = backend_find(self, order->key, order->epoch);
    if (run && run->running) {
        stop(self, run, order->mode == HELIO_STOP_MODE_KILL ? 1 : world_between(self, 1, 3000));
        return;
    }
    if (run) {
        say_of(self, run);
        return;
    }
    helio_aev_backend_t event = {.key = order->key, .epoch = order->epoch, .word = HELIO_BACKEND_WORD_ABSENT};
    say(self, site, &event);
}

void backend_forget(world_t *self, uint32_t site, const helio_afx_forget_t *forget)
{
    (void)site;
    run_t *run = backend_find(self, forget->key, forget->epoch);
    if (run)
        run->forgotten = true;
}

static void on_lease_end(world_t *self, happening_t *item)
{
    agent_node_t *agent = &self->agents[item->node];
    if (world_boot_ms(self, &agent->clock) < agent->lease_deadline_boot_ms)
        return;
    for (run_t *run = self->runs; run; run = run->hh.next)
        if (run->site == item->node && run->running && run->on_site_loss != HELIO_SITE_LOSS_STRICT)
            stop(self, run, 1);
}

void backend_lease(world_t *self, uint32_t site, int64_t deadline_boot_ms)
{
    agent_node_t *agent = &self->agents[site];
    agent->lease_deadline_boot_ms = deadline_boot_ms;
    int64_t at = world_true_ms(self, &agent->clock, deadline_boot_ms);
    happening_t *item = world_later(self, at - self->now_ms, on_lease_end);
    item->node = site;
}

void backend_lose_one(world_t *self, uint32_t site)
{
    for (run_t *run = self->runs; run; run = run->hh.next)
        if (run->site == site && run->running && !run->stopped) {
            run->lost = true;
            world_fault(self, WORLD_FAULT_ATTEMPT_LOST);
            end(self, run);
            return;
        }
}
