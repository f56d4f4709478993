/*  run.c -- hands the core what is due at each second, and carries out what it wants. */
#include "simulator/experiment/run.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "broker/core/broker_core.h"
#include "federation/base/number.h"
#include "federation/policy/pool_forecast.h"
#include "federation/reason/sentence.h"
#include "federation/spec/value.h"
#include "simulator/experiment/site.h"

enum {
    RESTART_MS = 60000, /* of a job that goes on from a checkpoint */
    CHECK_MS = 300000,  /* while something waits, the core is asked this often; verdicts hold as long (prices.h) */
    QUIET_MS = 10000,   /* the core is not asked oftener when it only watches: as often as it looks for migrations */
    BOOT_MS = 1000000,
    TICKS_MAX = 1000
};
static const uint64_t FOREVER_MS = UINT64_C(3660) * 86400000; /* sites are neither silent nor without their lease */
static const int64_t GIVE_UP_MS = INT64_C(60) * 86400000;     /* nothing has started for so long */

typedef struct exp_life {
    int64_t first_start_ms; /* 0 = never */
    int64_t left_ms;        /* of its work */
    uint32_t site;          /* of its last attempt */
    bool over;
} exp_life_t;

typedef struct exp_run {
    const exp_world_t *world;
    const exp_policy_t *policy;
    exp_result_t *result;
    helio_broker_core_t *core;
    helio_effects_t *effects;
    helio_arena_t *arena;   /* of the event */
    helio_arena_t *pending; /* of orders and stops */
    exp_site_t *sites;
    exp_life_t *lives;
    helio_heap_t ends;
    int64_t began_ms, wall_ms, latest_ms; /* latest: something started or ended */
    int64_t wake_ms;                      /* wall clock: the core wants to be asked */
    uint64_t attempts;
    uint32_t next_job, waiting, over;
    helio_fx_order_t *orders; /* not carried out yet */
    helio_fx_stop_t *stops;
    uint32_t order_count, stop_count;
} exp_run_t;

static bool ends_before(helio_heap_item_t *a_, helio_heap_item_t *b_)
{
    const exp_attempt_t *a = HELIO_HEAP_OWNER(a_, exp_attempt_t, item), *b = HELIO_HEAP_OWNER(b_, exp_attempt_t, item);
    return a->ends_ms != b->ends_ms ? a->ends_ms < b->ends_ms : a->number < b->number;
}

/*  ---- steps of the core ---- */

static void step(exp_run_t *self, uint32_t kind, const void *payload)
{
    helio_event_t event = {kind, BOOT_MS + self->wall_ms - self->began_ms, self->wall_ms, payload};
    helio_broker_core_step(self->core, &event, self->effects);
    for (uint32_t i = 0; i < self->effects->count; i++) {
        const helio_effect_t *effect = &self->effects->items[i];
        if (effect->kind == HELIO_BROKER_FX_ORDER) {
            self->orders = helio_grow(self->orders, self->order_count + 1, sizeof *self->orders);
            helio_record_copy(&helio_fx_order_type, self->pending, effect->payload, &self->orders[self->order_count++]);
        } else if (effect->kind == HELIO_BROKER_FX_STOP) {
            self->stops = helio_grow(self->stops, self->stop_count + 1, sizeof *self->stops);
            helio_record_copy(&helio_fx_stop_type, self->pending, effect->payload, &self->stops[self->stop_count++]);
        }
    }
}

static void charge(exp_run_t *self, const exp_attempt_t *attempt)
{
    const exp_use_t use = {attempt->site,
                           attempt->pool,
                           attempt->node_count * attempt->gpus_per_node,
                           self->world->trace->jobs[attempt->job].util,
                           attempt->started_ms,
                           self->wall_ms};
    exp_result_add_use(self->result, self->world, &use);
}

/*  The job's document is its number in the trace. */
static void start(exp_run_t *self, const helio_fx_order_t *fx)
{
    uint64_t number;
    helio_rc rc = helio_u64_parse(fx->order.source, &number);
    assert(rc == HELIO_OK && number < self->world->trace->count && fx->peer && fx->peer <= self->world->fleet->count);
    (void)rc;
    exp_life_t *life = &self->lives[number];
    uint32_t site = (uint32_t)fx->peer - 1;
    exp_attempt_t *attempt = exp_site_start(&self->sites[site], &fx->order, self->wall_ms);
    if (!attempt)
        return;
    bool again = life->first_start_ms != 0;
    self->result->placements++;
    self->result->moves += again && life->site != site;
    life->first_start_ms = again ? life->first_start_ms : self->wall_ms;
    life->site = site;
    attempt->job = (uint32_t)number;
    attempt->site = site;
    attempt->number = ++self->attempts;
    attempt->ends_ms = self->wall_ms + life->left_ms + (again ? RESTART_MS : 0);
    helio_heap_put(&self->ends, &attempt->item);
    self->waiting--;
    self->latest_ms = self->wall_ms;
}

static void end(exp_run_t *self, exp_attempt_t *attempt)
{
    exp_life_t *life = &self->lives[attempt->job];
    charge(self, attempt);
    exp_site_end(&self->sites[attempt->site], attempt, HELIO_REPORT_KIND_ENDED, self->wall_ms);
    exp_result_add_end(self->result, &self->world->trace->jobs[attempt->job], life->first_start_ms, self->wall_ms);
    life->over = true;
    self->over++;
    self->latest_ms = self->wall_ms;
    free(attempt);
}

static exp_attempt_t *find(const exp_run_t *self, const helio_stop_t *stop)
{
    for (size_t i = 0; i < self->ends.count; i++) {
        exp_attempt_t *attempt = HELIO_HEAP_OWNER(self->ends.items[i], exp_attempt_t, item);
        if (helio_job_key_equal(attempt->key, stop->key) && attempt->epoch == stop->epoch)
            return attempt;
    }
    return NULL;
}

/*  What it did since its last checkpoint is lost. */
static void stop(exp_run_t *self, const helio_fx_stop_t *fx)
{
    exp_attempt_t *attempt = find(self, &fx->stop);
    if (!attempt)
        return; /* it has just ended */
    int64_t every_ms = self->world->trace->jobs[attempt->job].checkpoint_ms;
    int64_t worked_ms = self->wall_ms - attempt->started_ms;
    exp_life_t *life = &self->lives[attempt->job];
    life->left_ms -= every_ms ? helio_lesser_i64(worked_ms / every_ms * every_ms, life->left_ms) : 0;
    charge(self, attempt);
    exp_site_end(&self->sites[attempt->site], attempt, HELIO_REPORT_KIND_STOPPED, self->wall_ms);
    helio_heap_remove(&self->ends, &attempt->item);
    self->waiting++;
    free(attempt);
}

static void send_reports(exp_run_t *self, uint32_t index)
{
    exp_site_t *site = &self->sites[index];
    for (uint32_t sent = 0; sent < site->report_count; sent += 1000) {
        uint32_t count = site->report_count - sent < 1000 ? site->report_count - sent : 1000;
        helio_ev_site_reports_t event = {.peer = index + 1, .reports = {site->reports + sent, count}};
        step(self, HELIO_BROKER_EV_SITE_REPORTS, &event);
    }
    site->report_count = 0;
}

static void send_summary(exp_run_t *self, uint32_t index, bool with_series)
{
    helio_arena_reset(self->arena);
    helio_ev_site_summary_t event = {
        .peer = index + 1, .summary = exp_site_summary(&self->sites[index], self->wall_ms, with_series, self->arena)};
    step(self, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

/*  Carries out orders and stops; then all sites say what has changed. */
static void answer(exp_run_t *self)
{
    while (self->order_count || self->stop_count) {
        uint32_t orders = self->order_count, stops = self->stop_count;
        for (uint32_t i = 0; i < orders; i++)
            start(self, &self->orders[i]);
        for (uint32_t i = 0; i < stops; i++)
            stop(self, &self->stops[i]);
        self->order_count = self->stop_count = 0;
        helio_arena_reset(self->pending);
        for (uint32_t i = 0; i < self->world->fleet->count; i++) {
            send_reports(self, i);
            if (self->sites[i].changed)
                send_summary(self, i, false);
        }
    }
}

/*  ---- what is due ---- */

static void take_ends(exp_run_t *self)
{
    helio_heap_item_t *first;
    while ((first = helio_heap_first(&self->ends)) &&
           HELIO_HEAP_OWNER(first, exp_attempt_t, item)->ends_ms <= self->wall_ms)
        end(self, HELIO_HEAP_OWNER(helio_heap_take(&self->ends), exp_attempt_t, item));
}

static void speak(exp_run_t *self, bool hour)
{
    for (uint32_t i = 0; i < self->world->fleet->count; i++) {
        send_reports(self, i);
        if (hour || self->sites[i].changed)
            send_summary(self, i, hour);
    }
}

static bool take_reply(exp_run_t *self, const helio_fx_reply_t *reply)
{
    if (reply->rc == HELIO_OK)
        return true;
    if (!self->result->refused++)
        (void)helio_text_copy(helio_sentences_text(&reply->details, self->effects->arena), self->result->refusal,
                              sizeof self->result->refusal);
    return false;
}

/*  False: it was refused. */
static bool submit(exp_run_t *self, uint32_t number)
{
    const exp_job_t *job = &self->world->trace->jobs[number];
    char source[16];
    (void)snprintf(source, sizeof source, "%u", number);
    helio_gpu_ask_t ask = {.model = job->model, .count = job->gpus_per_node};
    helio_string_t home = {self->world->fleet->items[job->home].profile.name};
    helio_submission_t submission = {.source = helio_text_of(source)};
    helio_job_spec_t *spec = &submission.spec;
    *spec = (helio_job_spec_t){.name = job->user.size ? job->user : job->team,
                               .queue = job->queue,
                               .kind = job->kind,
                               .home = home.text,
                               .gpus = {&ask, 1},
                               .nodes = job->nodes,
                               .time_limit_ms = (uint64_t)job->limit_ms,
                               .checkpoint_every_ms = (uint64_t)job->checkpoint_ms,
                               .on_better_site = self->policy->moves && job->checkpoint_ms && !job->pinned
                                                     ? HELIO_BETTER_SITE_CHECKPOINT
                                                     : HELIO_BETTER_SITE_STAY,
                               .goal = self->policy->goal,
                               .flexible_ms = (uint64_t)job->flexible_ms,
                               .deadline_wall_ms = job->deadline_ms};
    spec->sites.items = self->policy->at_home || job->pinned ? &home : job->sites;
    spec->sites.count = self->policy->at_home || job->pinned ? 1 : job->site_count;
    helio_ev_submit_t event = {.call = number + 1,
                               .tenant = job->team,
                               .user = job->user.size ? job->user : job->team,
                               .jobs = {&submission, 1}};
    step(self, HELIO_BROKER_EV_SUBMIT, &event);
    for (uint32_t i = 0; i < self->effects->count; i++)
        if (self->effects->items[i].kind == HELIO_BROKER_FX_REPLY)
            return take_reply(self, self->effects->items[i].payload);
    return false;
}

static void take_submissions(exp_run_t *self)
{
    const exp_trace_t *trace = self->world->trace;
    for (; self->next_job < trace->count && trace->jobs[self->next_job].submit_ms <= self->wall_ms; self->next_job++) {
        self->lives[self->next_job].left_ms = trace->jobs[self->next_job].duration_ms;
        if (submit(self, self->next_job))
            self->waiting++;
        else
            self->over++; /* refused: it never finishes */
    }
}

static void tick(exp_run_t *self)
{
    uint32_t ticks = 0;
    int64_t now_ms = BOOT_MS + self->wall_ms - self->began_ms, wake_ms;
    do {
        step(self, HELIO_BROKER_EV_TICK, NULL);
        wake_ms = self->effects->wake_ms;
        answer(self);
        wake_ms = helio_lesser_i64(wake_ms, self->effects->wake_ms);
    } while (wake_ms <= now_ms && ++ticks < TICKS_MAX);
    self->wake_ms = wake_ms == INT64_MAX ? INT64_MAX : wake_ms - BOOT_MS + self->began_ms;
}

/*  The core looks for lost orders every second, and none is lost here. What it wants sooner is more than that. */
static int64_t wake_ms(const exp_run_t *self)
{
    int64_t quiet_ms = self->wall_ms - self->wall_ms % QUIET_MS + QUIET_MS;
    return self->wake_ms < self->wall_ms + 1000 || self->wake_ms > quiet_ms ? self->wake_ms : quiet_ms;
}

/*  The next time at which something is due. */
static int64_t next_ms(const exp_run_t *self)
{
    const exp_trace_t *trace = self->world->trace;
    helio_heap_item_t *first = helio_heap_first(&self->ends);
    int64_t at_ms = helio_lesser_i64(helio_hour_of(self->wall_ms) + HELIO_HOUR_MS, wake_ms(self));
    if (self->waiting)
        at_ms = helio_lesser_i64(at_ms, self->wall_ms - self->wall_ms % CHECK_MS + CHECK_MS);
    if (first)
        at_ms = helio_lesser_i64(at_ms, HELIO_HEAP_OWNER(first, exp_attempt_t, item)->ends_ms);
    if (self->next_job < trace->count)
        at_ms = helio_lesser_i64(at_ms, trace->jobs[self->next_job].submit_ms);
    return at_ms > self->wall_ms ? at_ms : self->wall_ms + 1;
}

/*  ---- begin and end ---- */

static void load(exp_run_t *self)
{
    const exp_trace_t *trace = self->world->trace;
    helio_row_federation_t federation = {.incarnation = 1, .broker_epoch = 1, .seed = self->world->seed};
    step(self, HELIO_BROKER_EV_LOAD_FEDERATION, &federation);
    for (uint32_t i = 0; i < trace->team_count; i++) {
        helio_row_tenant_t tenant = {.tenant = trace->teams[i]};
        step(self, HELIO_BROKER_EV_LOAD_TENANT, &tenant);
    }
    for (uint32_t i = 0; i < exp_queue_count; i++) {
        const exp_queue_t *queue = &exp_queues[i];
        helio_row_queue_t row = {helio_text_of(queue->name), queue->priority, queue->tier, queue->time_limit_ms, false};
        step(self, HELIO_BROKER_EV_LOAD_QUEUE, &row);
    }
    step(self, HELIO_BROKER_EV_LOADED, NULL);
}

static void join(exp_run_t *self, uint32_t index)
{
    exp_site_t *site = &self->sites[index];
    exp_site_init(site, self->world, index, self->policy->publishes_static, self->wall_ms);
    helio_ev_site_hello_t hello = {.site = site->profile.name,
                                   .peer = index + 1,
                                   .agent_version = HELIO_TEXT(HELIO_PROGRAM_VERSION),
                                   .profile = site->profile};
    helio_ev_site_inventory_t inventory = {.peer = index + 1, .last = true};
    step(self, HELIO_BROKER_EV_SITE_HELLO, &hello);
    step(self, HELIO_BROKER_EV_SITE_INVENTORY, &inventory);
    send_summary(self, index, true);
}

static void run_open(exp_run_t *self)
{
    helio_broker_options_t options = helio_broker_options_default();
    options.lease_ms = options.silent_after_ms = FOREVER_MS;
    options.summary_ms = HELIO_HOUR_MS;
    options.queued_max = options.queued_per_tenant_max = UINT32_MAX;
    options.objective = self->policy->objective;
    self->core = helio_broker_core_new(options);
    self->effects = helio_effects_new();
    self->arena = helio_arena_new();
    self->pending = helio_arena_new();
    self->sites = helio_new(self->world->fleet->count, sizeof *self->sites);
    self->lives = helio_new(self->world->trace->count, sizeof *self->lives);
    self->ends.before = ends_before;
    self->began_ms = self->wall_ms = self->latest_ms = helio_hour_of(self->world->trace->jobs[0].submit_ms);
    load(self);
    for (uint32_t i = 0; i < self->world->fleet->count; i++)
        join(self, i);
}

static void run_close(exp_run_t *self)
{
    helio_heap_item_t *item;
    while ((item = helio_heap_take(&self->ends)))
        free(HELIO_HEAP_OWNER(item, exp_attempt_t, item));
    helio_heap_clear(&self->ends);
    for (uint32_t i = 0; i < self->world->fleet->count; i++)
        exp_site_clear(&self->sites[i]);
    free(self->sites);
    free(self->lives);
    free(self->orders);
    free(self->stops);
    helio_arena_destroy(&self->arena);
    helio_arena_destroy(&self->pending);
    helio_effects_destroy(&self->effects);
    helio_broker_core_destroy(&self->core);
}

void exp_run(const exp_world_t *world, const exp_policy_t *policy, exp_progress_fn *progress, void *arg,
             exp_result_t *ret_result)
{
    exp_run_t self = {.world = world, .policy = policy, .result = ret_result};
    exp_result_init(ret_result, world, policy->name);
    run_open(&self);
    for (;;) {
        bool hour = self.wall_ms % HELIO_HOUR_MS == 0;
        take_ends(&self);
        speak(&self, hour && self.wall_ms > self.began_ms);
        take_submissions(&self);
        tick(&self);
        if (hour && progress)
            progress(arg, policy->name, self.over, world->trace->count);
        bool idle = self.next_job == world->trace->count && !self.ends.count;
        if (self.over == world->trace->count || (idle && self.wall_ms - self.latest_ms > GIVE_UP_MS))
            break;
        self.wall_ms = next_ms(&self);
    }
    exp_result_close(ret_result, world);
    run_close(&self);
}
