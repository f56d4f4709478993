/*  difference.c -- compares two runs job by job, and adds up by tenant. */
#include "simulator/rehearsal/difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t WAIT_LEAST_MS = 60000; /* a wait that differs by less is none: the broker decides by the second */
static const double COST_LEAST = 0.01;      /* of the cost, for a job that is not more expensive for its rounding */
static const double MS_PER_H = 3600000, J_PER_KWH = 3600000;

/*  ---- jobs ---- */

static void add(uint32_t *effects, reh_effect_t effect, bool is)
{
    *effects |= is ? UINT32_C(1) << effect : 0;
}

static bool never(const reh_life_t *life)
{
    return !life->ran_before && !life->started_ms && !reh_life_is_over(life);
}

static uint32_t effects_of(const reh_result_t *before, const reh_result_t *after, const reh_life_t *a,
                           const reh_life_t *b)
{
    uint32_t effects = 0;
    int64_t waits_ms = b->waited_ms - a->waited_ms;
    double dearer = (double)(b->cost_micro_usd - a->cost_micro_usd),
           least = COST_LEAST * fabs((double)a->cost_micro_usd);
    bool late_before = reh_life_is_late(a, before->until_ms), late = reh_life_is_late(b, after->until_ms);
    bool both_ended = a->ended_ms && b->ended_ms; /* the ledger has the use of runs that ended */
    add(&effects, REH_EFFECT_LATE, late && !late_before);
    add(&effects, REH_EFFECT_NEVER, never(b) && !never(a));
    add(&effects, REH_EFFECT_INTERRUPTED, b->interrupted && !a->interrupted);
    add(&effects, REH_EFFECT_PREEMPTED, b->preemptions > a->preemptions);
    add(&effects, REH_EFFECT_STOPPED, b->curtailed > a->curtailed);
    add(&effects, REH_EFFECT_MOVES, b->ran_before && strcmp(a->site, b->site) != 0);
    add(&effects, REH_EFFECT_WAITS, waits_ms >= WAIT_LEAST_MS);
    add(&effects, REH_EFFECT_ELSEWHERE,
        b->first_site[0] && a->first_site[0] && strcmp(a->first_site, b->first_site) != 0);
    add(&effects, REH_EFFECT_DEARER, both_ended && dearer > 0 && dearer > least);
    add(&effects, REH_EFFECT_SOONER, waits_ms <= -WAIT_LEAST_MS);
    add(&effects, REH_EFFECT_CHEAPER, both_ended && dearer < 0 && -dearer > least);
    add(&effects, REH_EFFECT_IN_TIME, late_before && !late);
    return effects;
}

static uint32_t worst(uint32_t effects)
{
    uint32_t i = 0;
    while (!(effects >> i & 1))
        i++;
    return i;
}

static int by_effect(const void *a_, const void *b_)
{
    const reh_changed_job_t *a = a_, *b = b_;
    uint32_t x = worst(a->effects), y = worst(b->effects);
    int order = helio_uuid_compare(a->after->origin.job, b->after->origin.job);
    if (x != y)
        return x < y ? -1 : 1;
    return order ? order : (a->after->key.task > b->after->key.task) - (a->after->key.task < b->after->key.task);
}

static void compare_jobs(reh_difference_t *self)
{
    self->jobs = helio_new(HASH_COUNT(self->after->lives.all) + 1, sizeof *self->jobs);
    for (const reh_life_t *b = self->after->lives.all; b; b = b->hh.next) {
        const reh_life_t *a = reh_lives_find_origin(&self->before->lives, b->origin);
        uint32_t effects = a ? effects_of(self->before, self->after, a, b) : 0;
        if (effects)
            self->jobs[self->job_count++] = (reh_changed_job_t){a, b, effects, reh_lives_why(&self->after->lives, b)};
    }
    qsort(self->jobs, self->job_count, sizeof *self->jobs, by_effect);
    self->open_before = self->before->lives.open;
    self->open_after = self->after->lives.open;
}

/*  ---- tenants ---- */

static helio_text_t tenant_of(const reh_life_t *life)
{
    return life->job ? life->job->load->row.tenant : (helio_text_t){0};
}

static reh_changed_tenant_t *find_tenant(reh_difference_t *self, helio_text_t name)
{
    for (uint32_t i = 0; i < self->tenant_count; i++)
        if (helio_text_equal(self->tenants[i].tenant, name))
            return &self->tenants[i];
    self->tenants = helio_grow(self->tenants, self->tenant_count + 2, sizeof *self->tenants);
    self->tenants[self->tenant_count] = (reh_changed_tenant_t){.tenant = name};
    return &self->tenants[self->tenant_count++];
}

static void add_life(reh_account_t *account, const reh_result_t *result, const reh_life_t *life)
{
    double gpus = life->job ? life->job->load->row.gpus : 0;
    account->late += reh_life_is_late(life, result->until_ms);
    account->waited_gpu_h += gpus * (double)life->waited_ms / MS_PER_H;
    account->gpu_h += (double)life->gpu_ms / MS_PER_H;
    account->kwh += (double)life->energy_j / J_PER_KWH;
    account->carbon_kg += (double)life->carbon_mg / 1e6;
    account->cost_usd += (double)life->cost_micro_usd / 1e6;
}

static void add_lives(reh_difference_t *self)
{
    for (const reh_life_t *life = self->before->lives.all; life; life = life->hh.next)
        add_life(&find_tenant(self, tenant_of(life))->before, self->before, life);
    for (const reh_life_t *life = self->after->lives.all; life; life = life->hh.next)
        add_life(&find_tenant(self, tenant_of(life))->after, self->after, life);
}

static void add_account(reh_account_t *self, const reh_account_t *more)
{
    self->late += more->late;
    self->waited_gpu_h += more->waited_gpu_h;
    self->gpu_h += more->gpu_h;
    self->kwh += more->kwh;
    self->carbon_kg += more->carbon_kg;
    self->cost_usd += more->cost_usd;
}

static int by_name(const void *a_, const void *b_)
{
    const reh_changed_tenant_t *a = a_, *b = b_;
    uint32_t least = a->tenant.size < b->tenant.size ? a->tenant.size : b->tenant.size;
    int order = least ? memcmp(a->tenant.data, b->tenant.data, least) : 0;
    return order ? order : (a->tenant.size > b->tenant.size) - (a->tenant.size < b->tenant.size);
}

static void add_up(reh_difference_t *self)
{
    reh_changed_tenant_t all = {.tenant = HELIO_TEXT("all")};
    for (uint32_t i = 0; i < self->tenant_count; i++) {
        const reh_changed_tenant_t *tenant = &self->tenants[i];
        all.jobs += tenant->jobs;
        add_account(&all.before, &tenant->before);
        add_account(&all.after, &tenant->after);
    }
    self->tenants = helio_grow(self->tenants, self->tenant_count + 1, sizeof *self->tenants);
    self->tenants[self->tenant_count++] = all;
}

void reh_difference_init(reh_difference_t *self, const reh_result_t *before, const reh_result_t *after)
{
    *self = (reh_difference_t){.before = before, .after = after};
    compare_jobs(self);
    add_lives(self);
    for (uint32_t i = 0; i < self->job_count; i++)
        find_tenant(self, tenant_of(self->jobs[i].after))->jobs++;
    if (self->tenant_count)
        qsort(self->tenants, self->tenant_count, sizeof *self->tenants, by_name);
    add_up(self);
}

void reh_difference_clear(reh_difference_t *self)
{
    free(self->jobs);
    free(self->tenants);
}
