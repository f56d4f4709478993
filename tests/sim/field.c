/*  field.c -- steps a broker core with obedient sites, and checks orders, capacity, quotas and deadlines after each
 *  step. */
#include "tests/sim/field.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/reason/sentence.h"

enum { CHECKED_STEPS = 8 }; /* one step of this many: the check walks hundreds of jobs */

enum { LOOK_MS = 10 * FIELD_SECOND, IDLE_MS = 60 * FIELD_SECOND };

static const int64_t origin_ms = INT64_C(1772323200000); /* 2026-03-01T00:00:00Z */
static const char *const queues[FIELD_QUEUES] = {"express", "standard", "batch"};
const char *const field_tenants[FIELD_TENANTS] = {"ada", "bob", "cyd", "dan", "eve"};

uint64_t field_below(field_t *self, uint64_t bound)
{
    return helio_rng_below(&self->rng, bound);
}

int64_t field_wall_ms(const field_t *self)
{
    return origin_ms + self->now_ms;
}

void field_violate(field_t *self, const char *format, ...)
{
    va_list args;
    if (self->violation[0])
        return;
    va_start(args, format);
    (void)vsnprintf(self->violation, sizeof self->violation, format, args);
    va_end(args);
}

/* ---- by the rows -------------------------------------------------------------------------------------------- */

static field_job_t *job_of(field_t *self, helio_job_key_t key)
{
    for (uint32_t i = self->job_count; i-- > 0;)
        if (helio_uuid_equal(self->jobs[i].key.job, key.job))
            return &self->jobs[i];
    return NULL;
}

/*  A job that left its site holds no GPUs any more; a job at a site holds GPUs. */
static void check_quotas(field_t *self)
{
    uint64_t held[FIELD_TENANTS][FIELD_QUEUES + 1] = {0};
    for (uint32_t i = 0; i < self->job_count; i++) {
        const field_job_t *job = &self->jobs[i];
        if (!helio_job_state_is_live(job->state))
            continue;
        held[job->tenant][job->queue] += job->gpus;
        held[job->tenant][FIELD_QUEUES] += job->gpus;
    }
    for (uint32_t t = 0; t < FIELD_TENANTS; t++) {
        for (uint32_t q = 0; q <= FIELD_QUEUES; q++) {
            field_quota_t *quota = &self->quotas[t][q];
            if (held[t][q] > quota->burst && held[t][q] > quota->held)
                field_violate(self, "%s holds %llu GPUs in %s, the limit is %u", field_tenants[t],
                              (unsigned long long)held[t][q], q < FIELD_QUEUES ? queues[q] : "all queues",
                              quota->burst);
            quota->held = held[t][q];
        }
        self->gpus[t] = held[t][FIELD_QUEUES];
    }
}

static void find_place(const field_t *self, helio_text_t site, helio_text_t pool, uint32_t *ret_site,
                       uint32_t *ret_pool)
{
    *ret_site = *ret_pool = 0;
    while (*ret_site < self->site_count && !helio_text_is(site, self->sites[*ret_site].name))
        (*ret_site)++;
    while (*ret_site < self->site_count && !helio_text_is(pool, self->sites[*ret_site].pool_names[*ret_pool]))
        (*ret_pool)++;
}

static void on_placement(field_t *self, const helio_row_placement_t *row)
{
    field_job_t *job = job_of(self, row->key);
    if (!job) {
        field_violate(self, "a job was placed that was never submitted");
        return;
    }
    find_place(self, row->site, row->pool, &job->site, &job->pool);
    job->gpus = row->gpus;
    job->epoch = row->epoch;
    job->planned_ms = row->start_ms;
    if (job->placed_ms < 0)
        job->placed_ms = self->now_ms;
    self->placements++;
    int64_t ends = field_wall_ms(self) + (int64_t)(row->transfer_ms + row->expected_high_ms);
    if (job->spec.deadline_wall_ms && ends > job->spec.deadline_wall_ms)
        field_violate(self, "job %u was placed although it is expected to end %lld ms after its deadline",
                      (uint32_t)(job - self->jobs), (long long)(ends - job->spec.deadline_wall_ms));
    if (row->expected_high_ms > job->spec.time_limit_ms)
        field_violate(self, "job %u is expected to run beyond its limit", (uint32_t)(job - self->jobs));
}

static void mail(field_t *self, uint32_t site, const helio_report_t *report)
{
    if (self->mail_count == self->mail_capacity) {
        self->mail_capacity = self->mail_capacity ? self->mail_capacity * 2 : 64;
        self->mail = helio_grow(self->mail, self->mail_capacity, sizeof *self->mail);
    }
    helio_report_t *copy = helio_arena_alloc(self->arena, 1, sizeof *copy);
    *copy = *report;
    copy->seq = ++self->sites[site].report_seq;
    copy->wall_ms = field_wall_ms(self);
    self->mail[self->mail_count++] = (helio_event_t){.kind = site, .payload = copy};
}

static void tell(field_t *self, const field_job_t *job, uint32_t kind)
{
    helio_report_t report = {.key = job->key, .epoch = job->epoch, .kind = kind};
    if (kind == HELIO_REPORT_KIND_RUNNING)
        report.started_wall_ms = field_wall_ms(self);
    if (kind == HELIO_REPORT_KIND_ENDED || kind == HELIO_REPORT_KIND_STOPPED) {
        report.started_wall_ms = origin_ms + job->began_ms;
        report.ended_wall_ms = field_wall_ms(self);
        report.run_ms = (uint64_t)(self->now_ms - job->began_ms);
        report.gpu_ms = report.run_ms * job->gpus;
        report.limit_reached = kind == HELIO_REPORT_KIND_ENDED && report.run_ms >= job->spec.time_limit_ms;
        report.exit_code = report.limit_reached ? 124 : 0;
    }
    mail(self, job->site, &report);
}

/*  All or nothing, on the fullest nodes that have room: as agents allocate. */
static bool pack(field_site_t *site, field_job_t *job, const helio_order_t *order)
{
    uint32_t left = order->nodes;
    memset(job->taken, 0, sizeof job->taken);
    for (uint32_t k = order->gpus_per_node; k <= FIELD_GPUS_MAX; k++)
        for (uint32_t n = 0; n < FIELD_NODES_MAX && left; n++)
            if (site->free[job->pool][n] == k && !job->taken[n] && n < site->pools[job->pool].nodes) {
                job->taken[n] = order->gpus_per_node;
                left--;
            }
    for (uint32_t n = 0; n < FIELD_NODES_MAX && !left; n++)
        site->free[job->pool][n] -= job->taken[n];
    return !left;
}

static bool asked(const field_job_t *job, const helio_pool_t *pool, uint32_t gpus)
{
    for (uint32_t i = 0; i < job->spec.gpus.count; i++) {
        const helio_gpu_ask_t *ask = &job->spec.gpus.items[i];
        if (ask->count == gpus && (!ask->model.size || helio_text_equal(ask->model, pool->gpu)))
            return true;
    }
    return false;
}

static void on_order(field_t *self, const helio_fx_order_t *fx)
{
    field_job_t *job = job_of(self, fx->order.key);
    field_site_t *site = &self->sites[fx->peer - 1];
    const helio_order_t *order = &fx->order;
    site->dispatch_seen = order->dispatch_seq;
    uint32_t index = job ? (uint32_t)(job - self->jobs) : UINT32_MAX;
    if (!job || job->at_site || fx->peer - 1 != job->site || order->epoch != job->epoch) {
        field_violate(self, "job %u is ordered twice, or where it was not placed", index);
        return;
    }
    if (order->nodes != job->spec.nodes || !asked(job, &site->pools[job->pool], order->gpus_per_node) ||
        order->nodes * order->gpus_per_node != job->gpus)
        field_violate(self, "job %u is ordered with other resources than requested: %u nodes of %u GPUs", index,
                      order->nodes, order->gpus_per_node);
    if (!pack(site, job, order))
        field_violate(self, "job %u does not fit at %s/%s: %u nodes of %u GPUs", index, site->name,
                      site->pool_names[job->pool], order->nodes, order->gpus_per_node);
    job->at_site = true;
    job->began_ms = self->now_ms;
    job->ends_ms = self->now_ms + (int64_t)job->run_ms;
    tell(self, job, HELIO_REPORT_KIND_ACCEPTED);
    tell(self, job, HELIO_REPORT_KIND_STARTING);
    tell(self, job, HELIO_REPORT_KIND_RUNNING);
}

/*  The worst that a job can do: it uses the whole of its grace, unless it ends before. */
static void on_stop(field_t *self, const helio_fx_stop_t *fx)
{
    field_job_t *job = job_of(self, fx->stop.key);
    if (!job || !job->at_site || job->epoch != fx->stop.epoch)
        return;
    int64_t grace_ms = fx->stop.mode == HELIO_STOP_MODE_KILL ? 0
                       : job->spec.checkpoint_grace_ms       ? (int64_t)job->spec.checkpoint_grace_ms
                                                             : 30 * FIELD_SECOND;
    self->preemptions++;
    if (self->now_ms + grace_ms < job->ends_ms) {
        job->ends_ms = self->now_ms + grace_ms;
        job->waits_ms = 1; /* stopped; it did not end by itself */
    }
}

static void leave(field_t *self, field_job_t *job)
{
    for (uint32_t n = 0; n < FIELD_NODES_MAX; n++)
        self->sites[job->site].free[job->pool][n] += job->taken[n];
    job->at_site = false;
    tell(self, job, job->waits_ms ? HELIO_REPORT_KIND_STOPPED : HELIO_REPORT_KIND_ENDED);
    job->waits_ms = 0;
}

/*  By its limit it ends too late. Only the broker knows whether it is also expected to. */
static bool may_be_late(const field_t *self, const field_job_t *job)
{
    return job->spec.deadline_wall_ms &&
           field_wall_ms(self) + (int64_t)job->spec.time_limit_ms > job->spec.deadline_wall_ms;
}

/*  A job that fits nowhere, or would end after its deadline, is refused at once; no other job is. */
static void on_reply(field_t *self, const helio_fx_reply_t *reply)
{
    field_job_t *job = reply->call == self->submitting ? &self->jobs[self->job_count - 1] : NULL;
    if (job && job->hopeless && reply->rc == HELIO_OK)
        field_violate(self, "job %u fits nowhere and was accepted", self->job_count - 1);
    if (reply->rc != HELIO_OK && !(job && (job->hopeless || may_be_late(self, job))))
        field_violate(self, "a good request was refused with %d", (int)reply->rc);
    if (job && reply->rc != HELIO_OK)
        job->state = HELIO_JOB_CANCELLED;
    if (reply->rc == HELIO_OK && reply->jobs.count)
        self->jobs[self->job_count - 1].key = (helio_job_key_t){reply->jobs.items[0].job, HELIO_NO_TASK};
}

/* ---- steps --------------------------------------------------------------------------------------------- */

static void trace_transition(const field_t *self, const field_job_t *job, const helio_row_transition_t *row)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t why = {0};
    helio_sentences(&row->why, &why);
    printf("%9lld  job %u %s -> %s %.*s\n", (long long)self->now_ms, (uint32_t)(job - self->jobs),
           helio_job_state_name(row->from), helio_job_state_name(row->to), HELIO_TEXT_ARGS(helio_buffer_view(&why)));
}

static void take(field_t *self, const helio_effect_t *effect)
{
    if (effect->kind == HELIO_BROKER_FX_ROW_TRANSITION) {
        const helio_row_transition_t *row = effect->payload;
        field_job_t *job = job_of(self, row->key);
        if (job)
            job->state = row->to;
        if (self->trace && job)
            trace_transition(self, job, row);
    } else if (effect->kind == HELIO_BROKER_FX_ROW_PLACEMENT) {
        on_placement(self, effect->payload);
    } else if (effect->kind == HELIO_BROKER_FX_ORDER) {
        on_order(self, effect->payload);
    } else if (effect->kind == HELIO_BROKER_FX_STOP) {
        on_stop(self, effect->payload);
    } else if (effect->kind == HELIO_BROKER_FX_REPLY) {
        on_reply(self, effect->payload);
    } else if (effect->kind == HELIO_BROKER_FX_REFUSAL) {
        field_violate(self, "a site was refused");
    }
}

static void step(field_t *self, uint32_t kind, const void *payload)
{
    static const helio_ev_nothing_t nothing = {0};
    if (self->violation[0])
        return;
    helio_event_t event = {kind, 1000000 + self->now_ms, field_wall_ms(self), payload ? payload : &nothing};
    helio_broker_core_step(self->core, &event, self->effects);
    if (self->steps % CHECKED_STEPS == 0)
        helio_broker_core_check(self->core);
    self->steps++;
    for (uint32_t i = 0; i < self->effects->count; i++) {
        const helio_effect_t *effect = &self->effects->items[i];
        self->hash = helio_record_hash(helio_broker_effects[effect->kind].type, effect->payload,
                                       helio_hash(self->hash, &effect->kind, sizeof effect->kind));
        take(self, effect);
    }
    if (self->effects->count)
        check_quotas(self);
}

static void post(field_t *self)
{
    for (uint32_t i = 0; i < self->mail_count; i++) { /* grows meanwhile */
        helio_report_t report = *(const helio_report_t *)self->mail[i].payload;
        helio_ev_site_reports_t event = {.peer = self->mail[i].kind + 1, .reports = {&report, 1}};
        step(self, HELIO_BROKER_EV_SITE_REPORTS, &event);
    }
    self->mail_count = 0;
}

static void summary(field_t *self, uint32_t index)
{
    field_site_t *site = &self->sites[index];
    helio_pool_capacity_t pools[FIELD_POOLS_MAX];
    uint32_t free_nodes[FIELD_POOLS_MAX][FIELD_GPUS_MAX + 1] = {0};
    for (uint32_t i = 0; i < site->profile.pools.count; i++) {
        const helio_pool_t *pool = &site->pools[i];
        uint32_t total = pool->nodes * pool->gpus_per_node, left = 0;
        for (uint32_t n = 0; n < pool->nodes; n++) {
            left += site->free[i][n];
            free_nodes[i][site->free[i][n]]++;
        }
        pools[i] = (helio_pool_capacity_t){.pool = pool->name,
                                           .nodes_up = pool->nodes,
                                           .gpus_total = total,
                                           .gpus_allocated = total - left,
                                           .free_nodes = {free_nodes[i], pool->gpus_per_node + 1}};
    }
    helio_ev_site_summary_t event = {.peer = index + 1,
                                     .summary = {.seq = ++site->summary_seq,
                                                 .wall_ms = field_wall_ms(self),
                                                 .dispatch_seen = site->dispatch_seen,
                                                 .pools = {pools, site->profile.pools.count},
                                                 .power_w = -1}};
    step(self, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

/*  When nothing runs, a job that can run starts at once. So no job waits longer than all others take one after
 *  another. */
static void check_idle(field_t *self)
{
    bool busy = false, waits = false;
    for (uint32_t i = 0; i < self->job_count; i++) {
        const field_job_t *job = &self->jobs[i];
        busy = busy || helio_job_state_is_live(job->state);
        waits = waits || (job->state == HELIO_JOB_QUEUED && !job->hopeless && !job->spec.deadline_wall_ms &&
                          self->now_ms >= job->submit_ms + (int64_t)job->spec.flexible_ms);
    }
    if (busy || !waits)
        self->idle_ms = -1;
    else if (self->idle_ms < 0)
        self->idle_ms = self->now_ms;
    else if (self->now_ms - self->idle_ms > IDLE_MS)
        field_violate(self, "no job has run for a minute although pending jobs fit");
}

static void look(field_t *self)
{
    post(self);
    for (uint32_t i = 0; i < self->site_count; i++)
        summary(self, i);
    step(self, HELIO_BROKER_EV_TICK, NULL);
    post(self);
    check_idle(self);
}

void field_run(field_t *self, int64_t ms)
{
    int64_t until = self->now_ms + ms;
    look(self);
    while (self->now_ms < until && !self->violation[0]) {
        int64_t next = self->now_ms + LOOK_MS < until ? self->now_ms + LOOK_MS : until;
        int64_t wake = self->effects->wake_ms < INT64_MAX ? self->effects->wake_ms - 1000000 : next;
        next = wake < next ? wake : next;
        for (uint32_t i = 0; i < self->job_count; i++)
            if (self->jobs[i].at_site && self->jobs[i].ends_ms < next)
                next = self->jobs[i].ends_ms;
        next = next > self->now_ms ? next : self->now_ms + 1;
        for (uint32_t t = 0; t < FIELD_TENANTS; t++)
            self->gpu_ms[t] += (double)self->gpus[t] * (double)(next - self->now_ms);
        self->now_ms = next;
        for (uint32_t i = 0; i < self->job_count; i++)
            if (self->jobs[i].at_site && self->jobs[i].ends_ms <= next)
                leave(self, &self->jobs[i]);
        look(self);
    }
}

/* ---- creation ----------------------------------------------------------------------------------------------- */

field_t *field_new(uint64_t seed, bool trace)
{
    field_t *self = helio_new(1, sizeof *self);
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(10000) * FIELD_HOUR; /* sites report every ten seconds, over days */
    *self = (field_t){.seed = seed, .rng = {seed}, .idle_ms = -1, .trace = trace};
    (void)helio_rng_next(&self->rng);
    self->arena = helio_arena_new();
    self->core = helio_broker_core_new(options);
    self->effects = helio_effects_new();
    self->jobs = helio_new(FIELD_JOBS_MAX, sizeof *self->jobs);
    helio_row_federation_t federation = {.incarnation = 3, .broker_epoch = 7, .seed = 42};
    step(self, HELIO_BROKER_EV_LOAD_FEDERATION, &federation);
    for (uint32_t t = 0; t < FIELD_TENANTS; t++) {
        helio_row_tenant_t row = {.tenant = helio_text_of(field_tenants[t])};
        step(self, HELIO_BROKER_EV_LOAD_TENANT, &row);
        for (uint32_t q = 0; q <= FIELD_QUEUES; q++)
            self->quotas[t][q].burst = UINT32_MAX;
    }
    for (uint32_t q = 0; q < FIELD_QUEUES; q++) {
        helio_row_queue_t row = {helio_text_of(queues[q]), 900 - 400 * q, HELIO_TIER_CRITICAL - q, FIELD_HOUR, false};
        step(self, HELIO_BROKER_EV_LOAD_QUEUE, &row);
    }
    /*  Jobs larger than the default quota of critical work must be able to end: here only the limits that are set later
     *  apply. */
    helio_row_quota_t each = {.tenant = HELIO_TEXT("*"),
                              .queue = helio_text_of(queues[0]),
                              .burst_gpus = HELIO_QUOTA_UNLIMITED,
                              .weight_milli = HELIO_QUOTA_WEIGHT_DEFAULT};
    step(self, HELIO_BROKER_EV_LOAD_QUOTA, &each);
    step(self, HELIO_BROKER_EV_LOADED, NULL);
    return self;
}

void field_destroy(field_t **self_p)
{
    field_t *self = *self_p;
    helio_broker_core_destroy(&self->core);
    helio_effects_destroy(&self->effects);
    helio_arena_destroy(&self->arena);
    free(self->mail);
    free(self->jobs);
    free(self);
    *self_p = NULL;
}

field_site_t *field_site(field_t *self)
{
    field_site_t *site = &self->sites[self->site_count++];
    (void)snprintf(site->name, sizeof site->name, "site-%02u", self->site_count);
    site->profile = (helio_site_profile_t){.name = helio_text_of(site->name),
                                           .backend = HELIO_TEXT("local"),
                                           .region = HELIO_TEXT("EU-XX"),
                                           .pue = 1,
                                           .carbon_g_per_kwh = 100,
                                           .containers = true,
                                           .leases = true,
                                           .pools = {site->pools, 0}};
    return site;
}

helio_pool_t *field_pool(field_t *self, field_site_t *site, const char *gpu, uint32_t nodes, uint32_t gpus, double usd)
{
    (void)self;
    uint32_t index = site->profile.pools.count++;
    (void)snprintf(site->pool_names[index], sizeof site->pool_names[index], "p%u", index);
    site->pools[index] = (helio_pool_t){.name = helio_text_of(site->pool_names[index]),
                                        .gpu = helio_text_of(gpu),
                                        .gpu_memory_bytes = UINT64_C(80) << 30,
                                        .nodes = nodes,
                                        .max_nodes = nodes,
                                        .gpus_per_node = gpus,
                                        .price_usd_per_gpu_h = usd,
                                        .base_w = 700};
    for (uint32_t n = 0; n < nodes; n++)
        site->free[index][n] = gpus;
    return &site->pools[index];
}

void field_join(field_t *self, uint32_t site)
{
    helio_ev_site_hello_t hello = {.site = self->sites[site].profile.name,
                                   .peer = site + 1,
                                   .agent_version = HELIO_TEXT("0.1.0"),
                                   .profile = self->sites[site].profile};
    step(self, HELIO_BROKER_EV_SITE_HELLO, &hello);
    helio_ev_site_inventory_t inventory = {.peer = site + 1, .last = true};
    step(self, HELIO_BROKER_EV_SITE_INVENTORY, &inventory);
    summary(self, site);
}

field_job_t *field_job(field_t *self, const char *gpu, uint32_t gpus, uint32_t nodes, uint64_t limit_ms,
                       uint64_t run_ms)
{
    field_job_t *job = &self->jobs[self->job_count];
    *job = (field_job_t){.queue = 1, .run_ms = run_ms, .placed_ms = -1, .site = FIELD_SITES_MAX};
    job->spec = (helio_job_spec_t){.nodes = nodes, .time_limit_ms = limit_ms, .goal = HELIO_GOAL_BALANCED};
    job->spec.gpus.items = helio_arena_alloc(self->arena, 8, sizeof *job->spec.gpus.items);
    job->spec.gpus.items[0] = (helio_gpu_ask_t){.model = helio_text_of(gpu), .count = gpus};
    job->spec.gpus.count = 1;
    return job;
}

void field_submit(field_t *self, field_job_t *job)
{
    job->spec.queue = helio_text_of(queues[job->queue]);
    job->submit_ms = self->now_ms;
    job->state = HELIO_JOB_QUEUED;
    helio_submission_t document = {.source = helio_arena_printf(self->arena, "document %u", self->job_count),
                                   .spec = job->spec};
    helio_ev_submit_t event = {.call = ++self->calls,
                               .tenant = helio_text_of(field_tenants[job->tenant]),
                               .user = HELIO_TEXT("u"),
                               .jobs = {&document, 1}};
    self->job_count++;
    self->submitting = event.call;
    step(self, HELIO_BROKER_EV_SUBMIT, &event);
}

void field_quota(field_t *self, uint32_t tenant, uint32_t queue, uint32_t guaranteed, uint32_t burst,
                 uint32_t weight_milli)
{
    helio_ev_quota_t event = {.call = ++self->calls,
                              .actor = HELIO_TEXT("user:ops/operator"),
                              .role = HELIO_ROLE_OPERATOR,
                              .tenant = helio_text_of(field_tenants[tenant]),
                              .queue = helio_text_of(queue < FIELD_QUEUES ? queues[queue] : ""),
                              .guaranteed_given = true,
                              .guaranteed_gpus = guaranteed,
                              .burst_given = true,
                              .burst_gpus = burst == UINT32_MAX ? HELIO_QUOTA_UNLIMITED : burst,
                              .weight_given = queue == FIELD_QUEUES,
                              .weight_milli = weight_milli};
    self->quotas[tenant][queue].burst = burst;
    step(self, HELIO_BROKER_EV_QUOTA, &event);
}

bool field_is_over(const field_t *self, const field_job_t *job)
{
    (void)self;
    return helio_job_state_is_terminal(job->state);
}

bool field_all_over(const field_t *self)
{
    for (uint32_t i = 0; i < self->job_count; i++)
        if (!field_is_over(self, &self->jobs[i]) && !self->jobs[i].hopeless)
            return false;
    return true;
}
