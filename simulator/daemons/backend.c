/*  backend.c -- the virtual processes of all sites: they start, run, are suspended, end, and vanish. */
#include "simulator/daemons/backend.h"

#include <stdlib.h>
#include <string.h>

#include "federation/reason/codes.h"

enum {
    LIMIT_EXIT_CODE = 124,
    STOPPED_EXIT_CODE = 143,
    LEAVE_MS = 3000,
    KILL_MS = 1,
    BEAT_MS = 1000 /* a killed shim proves its run up to its last sign of life */
};

struct sim_backend {
    sim_engine_t *engine;
    const sim_host_t *const *hosts;
    sim_backend_options_t options;
    sim_faults_t *faults;
    const sim_script_t *script;
    void *script_arg;
    sim_backend_fn *tell;
    void *tell_arg;
    sim_run_t *runs;
    int64_t *lease_ends_boot_ms; /* one a site: for what starts */
    bool at_once;                /* during a survey, which an agent waits for */
};

sim_backend_t *sim_backend_new(const sim_backend_setup_t *setup)
{
    sim_backend_t *self = helio_new(1, sizeof *self);
    *self = (sim_backend_t){.engine = setup->engine,
                            .hosts = setup->hosts,
                            .options = setup->options,
                            .faults = setup->faults,
                            .script = setup->script,
                            .script_arg = setup->script_arg,
                            .tell = setup->tell,
                            .tell_arg = setup->tell_arg};
    self->options.leave_ms = setup->options.leave_ms ? setup->options.leave_ms : LEAVE_MS;
    self->lease_ends_boot_ms = helio_new(setup->site_count, sizeof(int64_t));
    return self;
}

void sim_backend_destroy(sim_backend_t **self_p)
{
    sim_backend_t *self = *self_p;
    if (!self)
        return;
    sim_run_t *run, *next;
    HASH_ITER(hh, self->runs, run, next)
    {
        HASH_DEL(self->runs, run);
        free(run);
    }
    free(self->lease_ends_boot_ms);
    free(self);
    *self_p = NULL;
}

const sim_run_t *sim_backend_runs(const sim_backend_t *self)
{
    return self->runs;
}

static sim_run_t *find(const sim_backend_t *self, helio_job_key_t key, uint32_t epoch)
{
    sim_run_t probe, *run;
    memset(&probe.id, 0, sizeof probe.id);
    probe.id.key = key;
    probe.id.epoch = epoch;
    HASH_FIND(hh, self->runs, &probe.id, sizeof probe.id, run);
    return run;
}

static void on_tell(void *arg, sim_happening_t *item)
{
    sim_backend_t *self = arg;
    if (sim_host_lives(self->hosts[item->site], item))
        self->tell(self->tell_arg, item->site, item->payload);
}

/*  Usually soon; sometimes the backend is slow. Reports of one attempt keep their order. */
static void tell(sim_backend_t *self, uint32_t site, const helio_aev_backend_t *event)
{
    sim_run_t *run = find(self, event->key, event->epoch);
    if (run && run->orphan && event->word != HELIO_BACKEND_REPORT_ABSENT)
        return;
    if (self->at_once) {
        self->tell(self->tell_arg, site, event);
        return;
    }
    int64_t now_ms = sim_now_ms(self->engine);
    int64_t at_ms = now_ms + (sim_chance(self->engine, self->options.slow) ? sim_between(self->engine, 1000, 90000)
                                                                           : sim_between(self->engine, 1, 20));
    if (run) {
        at_ms = at_ms > run->said_ms ? at_ms : run->said_ms;
        run->said_ms = at_ms;
    }
    sim_happening_t *item = sim_later(self->engine, at_ms - now_ms, on_tell, self);
    item->site = site;
    item->generation = self->hosts[site]->life;
    item->payload = sim_copy(self->engine, &helio_aev_backend_type, event);
}

static void tell_word(sim_backend_t *self, const sim_run_t *run, uint32_t word)
{
    helio_aev_backend_t event = {
        .key = run->id.key, .epoch = run->id.epoch, .word = word, .started_wall_ms = run->started_wall_ms};
    tell(self, run->site, &event);
}

/*  Reports the state of an attempt. A suspended one is reported as started first. */
static void tell_of(sim_backend_t *self, const sim_run_t *run)
{
    helio_aev_backend_t event = {
        .key = run->id.key, .epoch = run->id.epoch, .started_wall_ms = run->started_wall_ms, .gpus = run->gpus};
    if (run->failed_to_start) {
        event.word = HELIO_BACKEND_REPORT_FAILED_TO_START;
        event.cause = HELIO_CAUSE_START_FAILED;
        event.explanation = HELIO_TEXT("drawn");
    } else if (run->lost) {
        event.word = HELIO_BACKEND_REPORT_VANISHED;
        uint64_t proven_ms = run->run_ms - run->run_ms % BEAT_MS;
        event.run_ms = run->silent ? 0 : proven_ms;
        event.estimated = event.run_ms > 0;
        event.ended_wall_ms = run->started_wall_ms + (int64_t)proven_ms;
    } else if (run->running) {
        event.word = HELIO_BACKEND_REPORT_STARTED;
    } else {
        event.word = HELIO_BACKEND_REPORT_ENDED;
        event.exit_code = run->exit_code;
        event.limit_reached = run->limit;
        event.stopped = run->stopped;
        event.saved_run_ms = run->stopped ? run->run_ms - run->run_ms % 1000 : 0; /* the job saves once a second */
        event.run_ms = run->run_ms;
        event.ended_wall_ms = run->started_wall_ms + (int64_t)run->run_ms;
    }
    tell(self, run->site, &event);
    if (run->suspended)
        tell_word(self, run, HELIO_BACKEND_REPORT_SUSPENDED);
}

static void leave_suspension(sim_backend_t *self, sim_run_t *run)
{
    int64_t for_ms = sim_now_ms(self->engine) - run->suspended_ms;
    run->suspended = false;
    run->held_ms += for_ms;
    run->ends_ms += for_ms;
}

static void end(sim_backend_t *self, sim_run_t *run)
{
    if (!run->running)
        return;
    if (run->suspended)
        leave_suspension(self, run);
    run->running = false;
    run->ended = true;
    run->over_ms = sim_now_ms(self->engine);
    run->run_ms = (uint64_t)(run->over_ms - run->began_ms - run->held_ms);
    tell_of(self, run);
}

static void on_end(void *arg, sim_happening_t *item)
{
    sim_run_t *run = item->payload;
    if (!run->running || run->stopped || run->suspended || item->at_ms < run->ends_ms)
        return;
    run->limit = run->program.limit_hits;
    run->exit_code = run->limit ? LIMIT_EXIT_CODE : run->program.exit_code;
    end(arg, run);
}

static void on_stopped(void *arg, sim_happening_t *item)
{
    end(arg, item->payload);
}

/*  A kill, or the end of a lease, cuts short the time that a job takes to leave, where jobs take long. */
static void stop(sim_backend_t *self, sim_run_t *run, int64_t delay_ms)
{
    bool cuts_short = delay_ms == KILL_MS && self->options.leave_ms > LEAVE_MS;
    if (!run->running || (run->stopped && !cuts_short))
        return;
    run->stopped = true;
    run->exit_code = STOPPED_EXIT_CODE;
    sim_later(self->engine, delay_ms, on_stopped, self)->payload = run;
}

static void keep_slots(sim_backend_t *self, sim_run_t *run, const helio_afx_start_t *start)
{
    helio_arena_t *arena = sim_arena(self->engine);
    run->slot_count = start->slots.count;
    run->slots = helio_arena_alloc(arena, start->slots.count, sizeof *run->slots);
    for (uint32_t i = 0; i < start->slots.count; i++)
        helio_record_copy(&helio_slot_type, arena, &start->slots.items[i], &run->slots[i]);
}

void sim_backend_start(sim_backend_t *self, uint32_t site, const helio_afx_start_t *start)
{
    const helio_order_t *order = &start->order;
    sim_run_t *run = find(self, order->key, order->epoch);
    if (run && !run->forgotten && !run->orphan) { /* found by its name: it exists already */
        tell_of(self, run);
        return;
    }
    if (run) {
        run->times++; /* its folder was tidied away, so nothing prevents a second run any more */
        return;
    }
    run = helio_new(1, sizeof *run);
    run->id.key = order->key;
    run->id.epoch = order->epoch;
    run->site = site;
    run->program = self->script->program(self->script_arg, order->source);
    run->gpus = order->nodes * order->gpus_per_node;
    run->on_site_loss = order->on_site_loss;
    run->times = 1;
    run->began_ms = sim_now_ms(self->engine);
    run->started_wall_ms = sim_wall_ms(self->engine, &self->hosts[site]->clock);
    run->lease_boot_ms = self->lease_ends_boot_ms[site];
    keep_slots(self, run, start);
    HASH_ADD(hh, self->runs, id, sizeof run->id, run);
    if (sim_now_ms(self->engine) < self->options.trouble_ms && sim_chance(self->engine, self->options.no_start)) {
        sim_fault_count(self->faults, self->engine, SIM_FAULT_START_FAILED);
        run->failed_to_start = true;
        tell_of(self, run);
        return;
    }
    run->running = true;
    run->ends_ms = run->began_ms + run->program.duration_ms;
    sim_later(self->engine, run->program.duration_ms, on_end, self)->payload = run;
    tell_of(self, run);
}

void sim_backend_adopt(sim_backend_t *self, uint32_t site, const helio_afx_start_t *start)
{
    sim_run_t *run = find(self, start->order.key, start->order.epoch);
    if (run && !run->forgotten && !run->orphan) {
        tell_of(self, run);
        return;
    }
    helio_aev_backend_t event = {
        .key = start->order.key, .epoch = start->order.epoch, .word = HELIO_BACKEND_REPORT_ABSENT};
    tell(self, site, &event);
}

void sim_backend_stop(sim_backend_t *self, uint32_t site, const helio_stop_t *order)
{
    sim_run_t *run = find(self, order->key, order->epoch);
    if (run && run->orphan)
        run = NULL;
    if (run && run->running) {
        stop(self, run,
             order->mode == HELIO_STOP_MODE_KILL ? KILL_MS : sim_between(self->engine, 1, self->options.leave_ms));
        return;
    }
    if (run) {
        tell_of(self, run);
        return;
    }
    helio_aev_backend_t event = {.key = order->key, .epoch = order->epoch, .word = HELIO_BACKEND_REPORT_ABSENT};
    tell(self, site, &event);
}

void sim_backend_forget(sim_backend_t *self, const helio_afx_forget_t *forget)
{
    sim_run_t *run = find(self, forget->key, forget->epoch);
    if (run)
        run->forgotten = true;
}

static void on_lease_end(void *arg, sim_happening_t *item)
{
    sim_backend_t *self = arg;
    int64_t boot_ms = sim_boot_ms(self->engine, &self->hosts[item->site]->clock);
    for (sim_run_t *run = self->runs; run; run = run->hh.next) {
        if (run->site != item->site || !run->running || run->on_site_loss == HELIO_SITE_LOSS_STRICT ||
            boot_ms < run->lease_boot_ms)
            continue;
        if (run->orphan && run->suspended)
            leave_suspension(self, run);
        stop(self, run, KILL_MS);
    }
}

void sim_backend_lease(sim_backend_t *self, uint32_t site, const helio_afx_lease_t *lease)
{
    for (uint32_t i = 0; i < lease->attempts.count; i++) {
        sim_run_t *run = find(self, lease->attempts.items[i].key, lease->attempts.items[i].epoch);
        if (run && run->site == site)
            run->lease_boot_ms = lease->deadline_boot_ms;
    }
    self->lease_ends_boot_ms[site] = lease->deadline_boot_ms;
    int64_t delay_ms = sim_delay_ms(self->engine, &self->hosts[site]->clock, lease->deadline_boot_ms);
    sim_later(self->engine, delay_ms, on_lease_end, self)->site = site;
}

void sim_backend_survey(sim_backend_t *self, uint32_t site)
{
    self->at_once = true;
    for (sim_run_t *run = self->runs; run; run = run->hh.next)
        if (run->site == site && !run->forgotten && !run->orphan) {
            run->found = true;
            tell_of(self, run);
        }
    self->at_once = false;
}

void sim_backend_orphan_all(sim_backend_t *self, uint32_t site)
{
    for (sim_run_t *run = self->runs; run; run = run->hh.next) {
        if (run->site != site || run->orphan)
            continue;
        run->orphan = true;
        if (run->running)
            sim_fault_count(self->faults, self->engine, SIM_FAULT_ORPHANED);
    }
}

static void lose(sim_backend_t *self, sim_run_t *run)
{
    run->lost = true;
    run->silent = run->began_ms % 2; /* the site states times, and no length */
    sim_fault_count(self->faults, self->engine, SIM_FAULT_ATTEMPT_LOST);
    end(self, run);
}

void sim_backend_lose_one(sim_backend_t *self, uint32_t site)
{
    for (sim_run_t *run = self->runs; run; run = run->hh.next)
        if (run->site == site && run->running && !run->stopped) {
            lose(self, run);
            return;
        }
}

void sim_backend_lose_all(sim_backend_t *self, uint32_t site)
{
    for (sim_run_t *run = self->runs; run; run = run->hh.next)
        if (run->site == site && run->running)
            lose(self, run);
}

static bool can_be_suspended(const sim_run_t *run, uint32_t site)
{
    return run->site == site && run->running && !run->stopped && !run->suspended;
}

static void on_resume(void *arg, sim_happening_t *item)
{
    sim_backend_t *self = arg;
    sim_run_t *run = item->payload;
    if (!run->running || !run->suspended)
        return;
    leave_suspension(self, run);
    sim_later(self->engine, run->ends_ms - sim_now_ms(self->engine), on_end, self)->payload = run;
    tell_word(self, run, HELIO_BACKEND_REPORT_RESUMED);
}

void sim_backend_suspend(sim_backend_t *self, uint32_t site, uint64_t rank, int64_t for_ms)
{
    uint64_t count = 0;
    for (const sim_run_t *run = self->runs; run; run = run->hh.next)
        count += can_be_suspended(run, site);
    if (!count)
        return;
    sim_run_t *run = self->runs;
    for (uint64_t before = rank % count; before || !can_be_suspended(run, site); run = run->hh.next)
        before -= can_be_suspended(run, site);
    run->suspended = true;
    run->suspended_ms = sim_now_ms(self->engine);
    sim_fault_count(self->faults, self->engine, SIM_FAULT_SUSPENDED);
    sim_later(self->engine, for_ms, on_resume, self)->payload = run;
    tell_word(self, run, HELIO_BACKEND_REPORT_SUSPENDED);
}
