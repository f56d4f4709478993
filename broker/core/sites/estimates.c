/*  estimates.c -- attempts that were given up: what was charged for them, until their sites report what was
 *  measured. */
#include "broker/core/sites/estimates.h"

#include <stdlib.h>
#include <uthash.h>

#include "broker/core/state/budgets.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/sites.h"
#include "federation/base/memory.h"

/*  A site of a thousand GPUs that is lost for good leaves a few thousand hours. As many as load_estimate and
 *  load_given_up load, which takes half of them for those that nobody saw run. */
enum { HOURS_MAX = 100000, ATTEMPTS_MAX = 100000 };

enum {
    /* An attempt can have ended that long before its site's last message: a report of its end was on its way, or the
     * scheduler had not told of it (a minute each), and the leaders that saw its start and its end can have clocks that are
     * a minute off. */
    SEEN_SLACK_MS = 300000,
    SEEN_DRIFT =
        50, /* the clocks of broker and site drift by less than 1 % each, so the run is shorter by a fiftieth at most */
    /* Of the energy of the estimate for such a run, the least that is believed: GPUs that idle take a tenth of what
     * they take at work, and the estimate has the site's PUE in it, which a meter of GPUs has not. */
    ENERGY_PART = 30
};

typedef struct attempt_id {
    helio_job_key_t key;
    uint32_t epoch;
} attempt_id_t;
_Static_assert(sizeof(attempt_id_t) == sizeof(helio_job_key_t) + sizeof(uint32_t), "hashed: no padding");

typedef struct estimated_hour {
    int64_t hour_ms;
    uint64_t gpu_ms;
    uint64_t energy_j;
    uint64_t carbon_mg;
    int64_t cost_micro_usd;
    uint64_t hourly_price_id;
} estimated_hour_t;

struct estimate {
    attempt_id_t id;
    use_limits_t limits;
    char site[33];
    char tenant[33];
    char pool[33];
    char gpu_model[65];
    char queue[33];
    char provenance[65];
    estimated_hour_t *hours;
    uint32_t count;
    UT_hash_handle hh;
};

static void forget(helio_broker_core_t *self, estimate_t *estimate)
{
    HASH_DEL(self->estimates, estimate);
    self->estimated_hours -= estimate->count;
    free(estimate->hours);
    free(estimate);
}

static estimate_t *find(const helio_broker_core_t *self, helio_job_key_t key, uint32_t epoch)
{
    const attempt_id_t id = {key, epoch};
    estimate_t *estimate;
    HASH_FIND(hh, self->estimates, &id, sizeof id, estimate);
    return estimate;
}

static estimate_t *begin(helio_broker_core_t *self, helio_job_key_t key, uint32_t epoch, helio_text_t site,
                         const use_limits_t *limits)
{
    estimate_t *former = find(self, key, epoch);
    if (former)
        forget(self, former);
    while (HASH_COUNT(self->estimates) >= ATTEMPTS_MAX)
        forget(self, self->estimates);
    estimate_t *estimate = helio_new(1, sizeof *estimate);
    estimate->id = (attempt_id_t){key, epoch};
    estimate->limits = *limits;
    (void)helio_text_copy(site, estimate->site, sizeof estimate->site);
    HASH_ADD(hh, self->estimates, id, sizeof estimate->id, estimate);
    return estimate;
}

static void name(estimate_t *estimate, const helio_row_ledger_t *row)
{
    (void)helio_text_copy(row->tenant, estimate->tenant, sizeof estimate->tenant);
    (void)helio_text_copy(row->pool, estimate->pool, sizeof estimate->pool);
    (void)helio_text_copy(row->gpu_model, estimate->gpu_model, sizeof estimate->gpu_model);
    (void)helio_text_copy(row->queue, estimate->queue, sizeof estimate->queue);
    (void)helio_text_copy(row->provenance, estimate->provenance, sizeof estimate->provenance);
}

void core_estimate_begin(helio_broker_core_t *self, const helio_row_ledger_t *row, const use_limits_t *limits)
{
    name(begin(self, row->key, row->epoch, row->site, limits), row);
}

void core_estimate_load(helio_broker_core_t *self, const helio_row_given_up_t *row)
{
    const use_limits_t limits = {
        .gpus = row->gpus,
        .nodes = row->nodes,
        .time_limit_ms = row->time_limit_ms,
        .from_ms = row->placed_ms,
        .rent_most = core_rent_most(row->planned_micro_usd, row->gpus * row->expected_ms),
    };
    const helio_row_ledger_t names = {
        .tenant = row->tenant, .queue = row->queue, .pool = row->pool, .gpu_model = row->gpu_model};
    name(begin(self, row->key, row->epoch, row->site, &limits), &names);
}

void core_estimate_note(helio_broker_core_t *self, const helio_row_ledger_t *row)
{
    while (self->estimated_hours >= HOURS_MAX)
        forget(self, self->estimates);
    estimate_t *estimate = find(self, row->key, row->epoch);
    if (!estimate)
        return;
    name(estimate, row);
    estimate->hours = helio_grow(estimate->hours, estimate->count + 1, sizeof *estimate->hours);
    estimate->hours[estimate->count++] = (estimated_hour_t){row->hour_ms,   row->gpu_ms,         row->energy_j,
                                                            row->carbon_mg, row->cost_micro_usd, row->hourly_price_id};
    self->estimated_hours++;
}

static estimate_t *find_at(const helio_broker_core_t *self, const site_t *site, const helio_report_t *report)
{
    estimate_t *estimate = find(self, report->key, report->epoch);
    return estimate && helio_text_is(helio_text_of(site->name), estimate->site) ? estimate : NULL;
}

bool core_estimate_is_noted(const helio_broker_core_t *self, const site_t *site, const helio_report_t *report)
{
    const estimate_t *estimate = find_at(self, site, report);
    return estimate && estimate->count;
}

bool core_estimate_limits(const helio_broker_core_t *self, const site_t *site, const helio_report_t *report,
                          use_limits_t *ret_limits)
{
    const estimate_t *estimate = find_at(self, site, report);
    if (estimate)
        *ret_limits = estimate->limits;
    return estimate != NULL;
}

uint32_t core_estimate_hours(const estimate_t *estimate)
{
    return estimate->count;
}

estimate_t *core_estimate_find(const helio_broker_core_t *self, const site_t *site, const helio_report_t *report)
{
    return report->run_ms ? find_at(self, site, report) : NULL;
}

/*  How long the broker had proof that it ran. */
static uint64_t seen_ms(const estimate_t *estimate)
{
    uint64_t gpu_ms = 0;
    for (uint32_t i = 0; i < estimate->count; i++)
        gpu_ms += estimate->hours[i].gpu_ms;
    if (estimate->limits.gpus)
        return gpu_ms / estimate->limits.gpus;
    return estimate->count > 2 ? (uint64_t)(estimate->count - 2) * HELIO_HOUR_MS : 0;
}

static uint64_t least_run_ms(const estimate_t *estimate)
{
    uint64_t seen = seen_ms(estimate), explained = seen / SEEN_DRIFT + SEEN_SLACK_MS;
#ifdef HELIO_MUTANT_correction_erases
    return 0;
#endif
    return seen > explained ? seen - explained : 0;
}

/*  What its GPUs took at least in that time; 0 = it had none. */
static uint64_t least_energy_j(const estimate_t *estimate, uint64_t gpu_ms)
{
    double energy_j = 0, estimated_ms = 0;
    for (uint32_t i = 0; i < estimate->count; i++) {
        energy_j += (double)estimate->hours[i].energy_j;
        estimated_ms += (double)estimate->hours[i].gpu_ms;
    }
#ifdef HELIO_MUTANT_correction_of_no_energy
    return 0;
#endif
    return estimated_ms > 0 ? (uint64_t)(energy_j / ENERGY_PART * ((double)gpu_ms / estimated_ms)) : 0;
}

/*  The run is longer than its two times: it ends later, but not after now, nor does it begin before its placement. */
static void stretch(const helio_broker_core_t *self, const estimate_t *estimate, helio_report_t *report)
{
    const int64_t run_ms = (int64_t)report->run_ms;
    if (report->ended_wall_ms - report->started_wall_ms >= run_ms)
        return;
    if (report->started_wall_ms > self->wall_ms - run_ms)
        report->started_wall_ms = self->wall_ms - run_ms;
    if (report->started_wall_ms < estimate->limits.from_ms)
        report->started_wall_ms = estimate->limits.from_ms;
    report->ended_wall_ms = report->started_wall_ms + run_ms;
}

void core_estimate_bound(helio_broker_core_t *self, const estimate_t *estimate, helio_report_t *report)
{
    const helio_report_t said = *report;
    const uint64_t least_ms = least_run_ms(estimate);
    if (report->run_ms < least_ms) {
        report->run_ms = least_ms;
        report->energy_j = 0;
        stretch(self, estimate, report);
    }
#ifndef HELIO_MUTANT_correction_of_few_gpus
    report->gpu_ms = report->run_ms * estimate->limits.gpus;
#endif
    const uint64_t least_j = least_energy_j(estimate, report->gpu_ms);
    if (report->energy_j && report->energy_j < least_j)
        report->energy_j = least_j;
    if (report->run_ms == said.run_ms && report->gpu_ms == said.gpu_ms && report->energy_j == said.energy_j)
        return;
    report->estimated = true;
    if (said.gpu_ms) /* else the agent found it without its order, and does not know its size */
        self->figures.illegal_reports_total++;
}

helio_row_ledger_t core_estimate_reverse(helio_broker_core_t *self, estimate_t *estimate)
{
    helio_arena_t *arena = self->effects->arena;
    const helio_row_ledger_t common = {
        .key = estimate->id.key,
        .epoch = estimate->id.epoch,
        .tenant = helio_arena_text(arena, helio_text_of(estimate->tenant)),
        .site = helio_arena_text(arena, helio_text_of(estimate->site)),
        .pool = helio_arena_text(arena, helio_text_of(estimate->pool)),
        .gpu_model = helio_arena_text(arena, helio_text_of(estimate->gpu_model)),
        .queue = helio_arena_text(arena, helio_text_of(estimate->queue)),
        .provenance = helio_arena_text(arena, helio_text_of(estimate->provenance)),
        .fenced = true,
        .estimated = true,
        .part = HELIO_LEDGER_REVERSAL,
    };
    for (uint32_t i = 0; i < estimate->count; i++) {
        const estimated_hour_t *hour = &estimate->hours[i];
        helio_row_ledger_t row = common;
        row.hour_ms = hour->hour_ms;
        row.gpu_ms = hour->gpu_ms;
        row.energy_j = hour->energy_j;
        row.carbon_mg = hour->carbon_mg;
        row.cost_micro_usd = hour->cost_micro_usd;
        row.hourly_price_id = hour->hourly_price_id;
#ifndef HELIO_MUTANT_estimate_stays_charged
        core_emit(self, HELIO_BROKER_FX_ROW_LEDGER, &row);
#endif
        core_budget_charge(self, &row);
    }
    bool charged = estimate->count;
    forget(self, estimate);
    if (charged && self->calendar.any) /* classes that wait for a budget are asked again */
        core_capacity_changed(self);
    return common;
}

void core_estimates_free(helio_broker_core_t *self)
{
    while (self->estimates)
        forget(self, self->estimates);
}
