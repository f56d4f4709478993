/*  run.c -- hands the core what is due at each second, and carries out what it wants. */
#include "simulator/experiment/run.h"

#include <stdlib.h>

#include "federation/base/number.h"
#include "federation/policy/pool_forecast.h"
#include "simulator/experiment/internal.h"

enum {
    CHECK_MS = 300000, /* while something waits, the core is asked this often; verdicts hold as long (prices.h) */
    QUIET_MS = 10000,  /* the core is not asked oftener when it only watches: as often as it looks for migrations */
    BEAT_MS = 30000,   /* sites renew their leases, twice within the time after which they are silent */
    TICKS_MAX = 1000
};
static const uint64_t FOREVER_MS = UINT64_C(3660) * 86400000; /* sites are neither silent nor without their lease */
static const int64_t GIVE_UP_MS = INT64_C(60) * 86400000;     /* nothing has started for so long */

static bool ends_before(helio_heap_item_t *a_, helio_heap_item_t *b_)
{
    const exp_attempt_t *a = HELIO_HEAP_OWNER(a_, exp_attempt_t, item), *b = HELIO_HEAP_OWNER(b_, exp_attempt_t, item);
    return a->ends_ms != b->ends_ms ? a->ends_ms < b->ends_ms : a->number < b->number;
}

/*  Carries out orders and stops; then all sites say what has changed. */
static void answer(exp_run_t *self)
{
    while (self->order_count || self->stop_count) {
        uint32_t orders = self->order_count, stops = self->stop_count;
        for (uint32_t i = 0; i < orders; i++)
            exp_attempts_start(self, &self->orders[i]);
        for (uint32_t i = 0; i < stops; i++)
            exp_attempts_stop(self, &self->stops[i]);
        self->order_count = self->stop_count = 0;
        helio_arena_reset(self->pending);
        exp_attempts_take_local(self);
        for (uint32_t i = 0; i < self->world->fleet->count; i++) {
            exp_send_reports(self, i);
            if (self->sites[i].changed)
                exp_send_summary(self, i, false);
        }
    }
}

static void speak(exp_run_t *self, bool hour)
{
    bool beat = self->beats && self->wall_ms % BEAT_MS == 0;
    for (uint32_t i = 0; i < self->world->fleet->count; i++) {
        exp_send_reports(self, i);
        if (hour || self->sites[i].changed)
            exp_send_summary(self, i, hour);
        const helio_ev_site_renew_t renew = {.peer = i + 1};
        if (beat && !self->sites[i].down)
            exp_step(self, HELIO_BROKER_EV_SITE_RENEW, &renew);
    }
}

static void tick(exp_run_t *self)
{
    uint32_t ticks = 0;
    int64_t now_ms = exp_now_ms(self), wake_ms;
    do {
        exp_step(self, HELIO_BROKER_EV_TICK, NULL);
        wake_ms = self->effects->wake_ms;
        answer(self);
        wake_ms = helio_lesser_i64(wake_ms, self->effects->wake_ms);
    } while (wake_ms <= now_ms && ++ticks < TICKS_MAX);
    self->wake_ms = wake_ms == INT64_MAX ? INT64_MAX : self->wall_ms + wake_ms - now_ms;
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
    const exp_local_trace_t *local = self->world->local;
    helio_heap_item_t *first = helio_heap_first(&self->ends);
    int64_t at_ms = helio_lesser_i64(helio_hour_of(self->wall_ms) + HELIO_HOUR_MS, wake_ms(self));
    if (self->waiting)
        at_ms = helio_lesser_i64(at_ms, self->wall_ms - self->wall_ms % CHECK_MS + CHECK_MS);
    if (first)
        at_ms = helio_lesser_i64(at_ms, HELIO_HEAP_OWNER(first, exp_attempt_t, item)->ends_ms);
    if (self->next_job < trace->count)
        at_ms = helio_lesser_i64(at_ms, trace->jobs[self->next_job].submit_ms);
    if (local && self->next_local < local->count)
        at_ms = helio_lesser_i64(at_ms, local->jobs[self->next_local].submit_ms);
    if (self->beats)
        at_ms = helio_lesser_i64(at_ms, self->wall_ms - self->wall_ms % BEAT_MS + BEAT_MS);
    at_ms = helio_lesser_i64(helio_lesser_i64(at_ms, self->cloud_ms), self->outage_ms);
    return at_ms > self->wall_ms ? at_ms : self->wall_ms + 1;
}

/*  ---- begin and end ---- */

static void run_open(exp_run_t *self)
{
    helio_broker_options_t options = helio_broker_options_default();
    self->beats = exp_fleet_has_outages(self->world->fleet);
    self->clouds = exp_fleet_has_instances(self->world->fleet);
    self->cloud_ms = INT64_MAX;
    if (!self->beats)
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
    if (self->world->reserves)
        self->reserved =
            helio_new(exp_fleet_pool_number(self->world->fleet, self->world->fleet->count, 0), sizeof(uint32_t));
    self->ends.before = ends_before;
    self->began_ms = self->wall_ms = self->latest_ms = helio_hour_of(self->world->trace->jobs[0].submit_ms);
    exp_submissions_load(self);
    for (uint32_t i = 0; i < self->world->fleet->count; i++) {
        exp_site_init(&self->sites[i], self->world, i, self->policy->knows, self->wall_ms);
        exp_send_hello(self, i);
    }
    exp_outages_find_next(self);
}

static void run_close(exp_run_t *self)
{
    for (uint32_t i = 0; i < self->world->fleet->count; i++)
        exp_site_clear(&self->sites[i]);
    free(self->sites);
    free(self->lives);
    free(self->reserved);
    free(self->orders);
    free(self->stops);
    free(self->dead);
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
        if (hour)
            exp_reserved_renew(&self);
        exp_attempts_take_ends(&self);
        exp_outages_take(&self);
        exp_clouds_take(&self);
        exp_attempts_take_local(&self);
        speak(&self, hour && self.wall_ms > self.began_ms);
        exp_submissions_take(&self);
        tick(&self);
        if (hour && progress)
            progress(arg, policy->name, self.over, world->trace->count);
        bool idle = self.next_job == world->trace->count && !self.ends.count;
        if (self.over == world->trace->count || (idle && self.wall_ms - self.latest_ms > GIVE_UP_MS))
            break;
        int64_t from_ms = self.wall_ms;
        exp_clouds_find_next(&self);
        self.wall_ms = next_ms(&self);
        exp_reserved_account(&self, from_ms);
    }
    exp_clouds_close(&self);
    exp_attempts_close(&self);
    exp_result_close(ret_result, world);
    run_close(&self);
}
