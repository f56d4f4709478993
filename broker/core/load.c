/*  load.c -- rebuilds the core's state from the database, before any other event. */
#include "broker/core/load.h"

#include <assert.h>
#include <utlist.h>

#include "broker/core/decide/overflow.h"
#include "broker/core/forecast/durations.h"
#include "broker/core/forecast/prices.h"
#include "broker/core/forecast/transfers.h"
#include "broker/core/holds/awaited_sites.h"
#include "broker/core/holds/dependencies.h"
#include "broker/core/holds/migrations.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/requests/edit.h"
#include "broker/core/requests/submit.h"
#include "broker/core/sites/baselines.h"
#include "broker/core/sites/estimates.h"
#include "broker/core/sites/observed_run.h"
#include "broker/core/sites/silence.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/budgets.h"
#include "broker/core/state/catalogue.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/checks.h"
#include "broker/core/state/core.h"
#include "broker/core/state/curtailments.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/queues.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/tenants.h"

/*  Each leader draws different numbers. Otherwise the tails of ids, by which people name jobs, would repeat from one
 *  leader to the next. */
static uint64_t seed_of(const helio_row_federation_t *row)
{
    uint64_t state = helio_hash(HELIO_HASH_SEED, &row->seed, sizeof row->seed);
    state = helio_hash(state, &row->incarnation, sizeof row->incarnation);
    state = helio_hash(state, &row->broker_epoch, sizeof row->broker_epoch);
    return helio_hash(state, row->newest_job.bytes, sizeof row->newest_job.bytes);
}

/*  The seed is never disclosed, so that collisions in a table cannot be computed. */
static void load_secrets(helio_broker_core_t *self, uint64_t seed)
{
    helio_rng_t rng = {.state = ~seed};
    self->secret.words[0] = helio_rng_next(&rng);
    self->secret.words[1] = helio_rng_next(&rng);
    helio_durations_secret(self->durations, &self->secret);
    core_intake_secret(self, seed);
}

static void load_federation(helio_broker_core_t *self, const helio_row_federation_t *row)
{
    self->incarnation = row->incarnation;
    self->broker_epoch = row->broker_epoch;
    self->transition_seq = row->last_transition_seq;
    self->decision_id = row->last_decision_id;
    self->rng.state = seed_of(row);
    load_secrets(self, row->seed);
    self->leases_left_ms = row->leases_left_ms;
    self->restored_ms = row->restored_ms;
    self->restored_job = row->restored_job;
    self->restored_until_ms = row->restored_ms ? self->now_ms + (int64_t)self->options.silent_after_ms : 0;
    core_ids_continue_after(self, row->newest_job);
}

static void load_tenant(helio_broker_core_t *self, const helio_row_tenant_t *row)
{
    tenant_t *tenant = core_tenant_get(self, row->tenant);
    (void)helio_text_copy(row->home_site, tenant->home_site, sizeof tenant->home_site);
}

static void load_site(helio_broker_core_t *self, const helio_row_site_t *row)
{
    site_t *site = core_site_get(self, row->site);
    site->state = row->state == HELIO_SITE_STATE_NEW ? HELIO_SITE_STATE_NEW : HELIO_SITE_STATE_SILENT;
    site->draining = row->draining;
    /* Also a site that is new or given up in this copy of the database: it can have joined after the copy was made. */
    site->unreconciled_ms = row->unreconciled_ms;
    site->awaited = row->unreconciled_ms != 0;
    site->awaited_by = row->awaited_by;
    site->unexpected = row->state == HELIO_SITE_STATE_NEW || row->state == HELIO_SITE_STATE_LOST;
    (void)helio_text_copy(row->drain_reason, site->drain_reason, sizeof site->drain_reason);
    (void)helio_text_copy(row->agent_version, site->agent_version, sizeof site->agent_version);
    (void)helio_text_copy(row->refused, site->refused, sizeof site->refused);
    site->refused_wall_ms = row->refused_ms;
    site->refused_ms = self->now_ms;
    const helio_site_profile_t profile = helio_row_site_profile(row);
    helio_record_copy(&helio_site_profile_type, site->arena, &profile, &site->profile);
    site->heard_ms = self->now_ms; /* a new leader gives every site the full time until it is silent */
    site->orders_ms = self->now_ms;
    site->heard_wall_ms = row->seen_ms;
    core_site_lease(self, site, self->leases_left_ms);
    if (row->state == HELIO_SITE_STATE_READY)
        core_site_await(self, site, true);
    site->memory_since_ms = row->memory_since_ms;
    site->memory_mark = row->memory_mark;
    site->memory_lost_wall_ms = row->memory_lost_ms;
    site->doubt_over_ms = site->lease_over_ms;
    if (helio_uuid_parse(row->agent_process, &site->former_boot_id))
        site->former_boot_id = (helio_uuid_t){0};
    site->row_ms = self->now_ms;
}

static void load_pool(helio_broker_core_t *self, const helio_row_pool_t *row)
{
    site_t *site = core_site_find(self, row->site);
    assert(site);
    if (!row->nodes && !row->max_nodes) /* it is no longer in the site file */
        return;
    const helio_pool_t pool = helio_row_pool_profile(row);
    site->pools = helio_grow(site->pools, site->pool_count + 1, sizeof *site->pools);
    pool_t *slot = &site->pools[site->pool_count++];
    *slot = (pool_t){0};
    helio_record_copy(&helio_pool_type, site->arena, &pool, &slot->info);
}

static void load_job(helio_broker_core_t *self, const helio_ev_load_job_t *event)
{
    helio_row_job_t row = event->row;
    submission_t *submission = core_submission_new(self, &row, &event->spec);
    if (event->row.idempotency_key.size)
        core_key_put(self, event->row.tenant, event->row.idempotency_key, (const uint8_t *)event->row.spec_hash.data,
                     event->row.job);
    if (!event->row.tasks.count)
        (void)core_job_new(self, submission, HELIO_NO_TASK);
    for (uint32_t i = 0; i < event->row.tasks.count; i++)
        (void)core_job_new(self, submission, (int32_t)event->row.tasks.items[i]);
    core_dependencies_load(self, submission, &event->spec);
}

/*  No column: the alternative that the pool satisfies follows from class and pool, as it did at the placement. If the
 *  pool has changed since, the first alternative is the best guess. */
static uint32_t gpus_per_node_of(const job_t *job)
{
    const helio_requirement_t *want = &job->submission->class->want;
    uint32_t gpus = 0;
    if (job->pool)
        gpus = helio_choice_filter(want, &job->site->profile, &job->pool->info).gpus_per_node;
    return gpus || !want->gpus.count ? gpus : want->gpus.items[0].count;
}

/*  Whoever cancels again waits as long as under the last leader, and counts from this one's begin: clocks differ. A broker
 *  that does not know the column leaves it as it was, for attempts that are over and for the next one. */
static void load_haste(const helio_broker_core_t *self, job_t *job, const helio_row_state_t *row)
{
    bool stops =
        job->state == HELIO_JOB_STOPPING || (job->state == HELIO_JOB_SUSPECT && job->before == HELIO_JOB_STOPPING);
#ifndef HELIO_MUTANT_haste_forgotten
    job->haste = stops ? (uint8_t)row->haste : HELIO_HASTE_NONE;
#endif
    job->last->hastened_ms = self->now_ms;
}

/*  States come after all jobs. Queued jobs enter their queues at LOADED, when the other states are known. */
static void load_state(helio_broker_core_t *self, const helio_row_state_t *row)
{
    job_t *job = core_job_find(self, row->key);
    assert(job);
    self->figures.jobs[job->state]--;
    self->figures.jobs[row->state]++;
    job->state = row->state;
    job->before = row->before;
    job->intent = row->intent;
    job->epoch = row->epoch;
    job->attempts = row->attempts;
    job->failures = row->failures;
    job->site_failures = row->site_failures;
    job->exit_code = row->exit_code;
    job->started_ms = row->started_ms;
    job->used = (helio_account_t){row->gpu_ms, row->energy_j, row->carbon_mg, (int64_t)row->cost_micro_usd};
    job->units_done = row->units_done;
    job->saved_ms = row->saved_ms;
    job->last_seen_ms = row->at_ms;
    job->preemptions = row->preemptions < UINT8_MAX ? (uint8_t)row->preemptions : UINT8_MAX;
    job->migrations = row->migrations < UINT8_MAX ? (uint8_t)row->migrations : UINT8_MAX;
    job->losses = row->losses < UINT8_MAX ? (uint8_t)row->losses : UINT8_MAX;
    job->ran = row->gpu_ms > 0 || row->started_ms > 0;
    core_job_set_why(job, &row->why);
    self->figures.jobs_held_by_people += core_job_is_held_by_people(job);
    if (row->site.size)
        core_job_placed_at(job, row->site, row->pool);
    if (helio_job_state_is_live(job->state)) {
        job->site = core_site_find(self, row->site);
        assert(job->site);
        job->pool = core_pool_find(job->site, row->pool);
        job->gpus_per_node = gpus_per_node_of(job);
        core_quota_take(self, job);
        core_preempt_load(job);
        core_migrations_load(self, job);
        core_usage_load_live(self, job);
        core_observed_run_load(self, job);
        load_haste(self, job, row);
        DL_APPEND(job->site->live, job);
    }
    if (helio_job_state_is_live(job->state)) {
        job->fed = true;
        job->submission->fed_tasks++;
    }
    job->submission->begun |= row->epoch > 0;
    if (row->started_ms || helio_job_state_is_terminal(job->state)) {
        job->start_told = true;
        job->submission->unstarted_tasks--;
    }
    if (helio_job_state_is_terminal(job->state)) { /* a finished task of an array that is not over */
        job->submission->unresolved_tasks--;
        job->submission->failed_tasks += job->state != HELIO_JOB_SUCCEEDED;
        core_job_forget(self, job);
    }
}

static void finish(helio_broker_core_t *self)
{
    HASH_SORT(self->jobs, core_job_by_age);
    core_queues_loaded(self);
    for (job_t *job = self->jobs; job; job = job->hh.next) {
        core_dependencies_loaded(self, job);
        if (job->state == HELIO_JOB_QUEUED)
            core_job_enqueue(self, job, false);
    }
    for (job_t *job = self->jobs; job; job = job->hh.next)
        core_dependencies_refuse(self, job);
    core_windows_loaded(self);
    core_preempt_loaded(self);
    core_budgets_recount(self);
    self->loaded = true;
    core_round_due(self);
    core_check_at(self, CORE_CHECK_SITES, self->now_ms + 1000);
}

static void load_key(helio_broker_core_t *self, const helio_row_key_t *row)
{
    core_key_put(self, row->tenant, row->idempotency_key, (const uint8_t *)row->spec_hash.data, row->job);
}

/*  What each kind of event does. broker/model/events.h has their order. */
/* clang-format off */
#define EVENTS(X)                                                                  \
    X(LOAD_FEDERATION, load_federation(self, event->payload))                      \
    X(LOAD_TENANT, load_tenant(self, event->payload))                              \
    X(LOAD_QUEUE, core_quota_of_tier(self, core_queue_load(self, event->payload))) \
    X(LOAD_QUEUE_RULE, core_queue_rule_load(self, event->payload))                 \
    X(LOAD_QUOTA, core_quota_load(self, event->payload))                           \
    X(LOAD_BUDGET, core_budget_load(self, event->payload))                         \
    X(LOAD_SPENT, core_budget_load_spent(self, event->payload))                    \
    X(LOAD_OVERFLOW, core_overflow_load(self, event->payload))                     \
    X(LOAD_USAGE, core_usage_load(self, event->payload))                           \
    X(LOAD_DATA, core_data_load(self, event->payload))                             \
    X(LOAD_LINK, core_link_load(self, event->payload))                             \
    X(LOAD_SITE, load_site(self, event->payload))                                  \
    X(LOAD_POOL, load_pool(self, event->payload))                                  \
    X(LOAD_CURTAILMENT, core_curtailment_load(self, event->payload))               \
    X(LOAD_KEY, load_key(self, event->payload))                                    \
    X(LOAD_JOB, load_job(self, event->payload))                                    \
    X(LOAD_EDIT, core_edit_load(self, event->payload))                             \
    X(LOAD_STATE, load_state(self, event->payload))                                \
    X(LOAD_WAITING, core_dependencies_load_waiting(self, event->payload))                  \
    X(LOAD_ENDED_HOLD, core_dependencies_load_ended(self, event->payload))                  \
    X(LOAD_EARLIEST_START, core_baseline_load(self, event->payload))                        \
    X(LOAD_TRANSFER, core_transfer_load(self, event->payload))                     \
    X(LOAD_EXPECTED_USE, core_budget_load_expected_use(self, event->payload))              \
    X(LOAD_ACTUAL, core_history_load(self, event->payload))                           \
    X(LOAD_SERIES, core_history_load_series(self, event->payload))                    \
    X(LOAD_RUN, core_run_load(self, event->payload))                               \
    X(LOAD_CLASS, core_window_load(self, event->payload))                          \
    X(LOAD_GIVEN_UP, core_estimate_load(self, event->payload))                     \
    X(LOAD_ESTIMATE, core_estimate_note(self, event->payload))                     \
    X(LOADED, finish(self))
/* clang-format on */

#define X(NAME, call) +1
_Static_assert(0 EVENTS(X) == HELIO_BROKER_EV_LOADED + 1, "each kind of event has a row");
#undef X

#define X(NAME, call)                                                              \
    static void take_##NAME(helio_broker_core_t *self, const helio_event_t *event) \
    {                                                                              \
        (void)event;                                                               \
        call;                                                                      \
    }
EVENTS(X)
#undef X

void core_on_load(helio_broker_core_t *self, const helio_event_t *event)
{
    static void (*const takes[HELIO_BROKER_EV_LOADED + 1])(helio_broker_core_t * self, const helio_event_t *event) = {
#define X(NAME, call) [HELIO_BROKER_EV_##NAME] = take_##NAME,
        EVENTS(X)
#undef X
    };
    assert(!self->loaded && takes[event->kind]);
    takes[event->kind](self, event);
}
