/*  requirement.c -- makes the requirement of a job, and compares and prints requirements. */
#include "federation/policy/requirement.h"

#include "federation/policy/duration.h"
#include "federation/policy/prices.h"
#include "federation/policy/spot.h"

static const uint64_t FLEXIBLE_MAX_MS = UINT64_C(366) * 86400000;

int64_t helio_requirement_free_until(uint64_t flexible_ms, int64_t submitted_ms)
{
    const int64_t hour_ms = 3600000;
    uint64_t flexible = flexible_ms < FLEXIBLE_MAX_MS ? flexible_ms : FLEXIBLE_MAX_MS;
    int64_t until = submitted_ms + (int64_t)flexible;
    until -= until % hour_ms;
    return until > submitted_ms ? until : 0;
}

HELIO_RECORD_DEFINE(helio_requirement, HELIO_REQUIREMENT_FIELDS)

/*  --exclusive; --exclusive=user shares nodes among the user's jobs. */
static bool is_exclusive(const helio_job_spec_t *spec)
{
    for (uint32_t i = 0; i < spec->slurm.count; i++)
        if (helio_text_is(spec->slurm.items[i].name, "exclusive"))
            return spec->slurm.items[i].value.size == 0;
    return false;
}

static helio_text_t slurm_option(const helio_job_spec_t *spec, const char *name)
{
    for (uint32_t i = 0; i < spec->slurm.count; i++)
        if (helio_text_is(spec->slurm.items[i].name, name))
            return spec->slurm.items[i].value;
    return (helio_text_t){0};
}

helio_requirement_t helio_requirement_of(const helio_job_spec_t *spec, helio_text_t tenant, helio_text_t home,
                                         uint64_t time_limit_ms, int64_t submitted_ms)
{
    helio_prices_t prices = helio_prices_of(spec);
    helio_requirement_t self = {
        .tenant = tenant,
        .queue = spec->queue,
        .home = home,
        .gpus_any = spec->gpus_any,
        .nodes = spec->nodes ? spec->nodes : 1,
        .cpus = spec->cpus || spec->gpus.count ? spec->cpus : 1,
        .memory_bytes = spec->memory_bytes,
        .interconnect = spec->interconnect,
        .sharing = spec->sharing,
        .container = spec->image.size > 0,
        .lease = spec->on_site_loss != HELIO_SITE_LOSS_STRICT,
        .spot = helio_spot_consents(spec),
        .spot_lost_ms = helio_spot_lost_ms(spec),
        .time_limit_ms = time_limit_ms,
        .grace_ms = helio_job_grace_ms(spec, 0),
        .deadline_wall_ms = spec->deadline_wall_ms,
        .max_cost_micro_usd = spec->max_cost_micro_usd,
        .max_carbon_mg_per_kwh = spec->max_carbon_mg_per_kwh,
        .carbon_price_micro_usd_per_t = prices.carbon_micro_usd_per_t,
        .wait_price_micro_usd_per_gpu_h = prices.wait_micro_usd_per_gpu_h,
        .scarcity_price_micro_usd_per_gpu_h = prices.scarcity_micro_usd_per_gpu_h,
        .free_until_ms = helio_requirement_free_until(spec->flexible_ms, submitted_ms),
        .whole_nodes = is_exclusive(spec),
        .partition = slurm_option(spec, "partition"),
        .constraint = slurm_option(spec, "constraint"),
    };
    self.gpus.items = spec->gpus.items;
    self.gpus.count = spec->gpus.count;
    self.sites.items = spec->sites.items;
    self.sites.count = spec->sites.count;
    self.regions.items = spec->regions.items;
    self.regions.count = spec->regions.count;
    self.backends.items = spec->backends.items;
    self.backends.count = spec->backends.count;
    self.data.items = spec->data.items;
    self.data.count = spec->data.count;
    return self;
}

/*  A run that is expected to last as long as its limit is not rounded to less than that: the limit is part of the class
 *  anyway. */
static uint64_t step_of(const helio_requirement_t *self, uint64_t normal_ms)
{
    uint64_t step = helio_duration_step(normal_ms);
    return normal_ms >= self->time_limit_ms && step < self->time_limit_ms ? self->time_limit_ms : step;
}

void helio_requirement_expect(helio_requirement_t *self, uint64_t p50_ms, uint64_t p90_ms)
{
    self->expected_ms = step_of(self, p50_ms);
    self->expected_high_ms = p50_ms && p90_ms ? step_of(self, p90_ms > p50_ms ? p90_ms : p50_ms) : 0;
}

static uint32_t weight_at(const helio_requirement_t *self, helio_text_t gpu_model)
{
    return helio_duration_weight_milli(self->gpus.count > 0, gpu_model);
}

uint64_t helio_requirement_run_ms(const helio_requirement_t *self, helio_text_t gpu_model)
{
    return helio_duration_at(self->expected_ms, weight_at(self, gpu_model), self->time_limit_ms);
}

uint64_t helio_requirement_run_high_ms(const helio_requirement_t *self, helio_text_t gpu_model)
{
    return helio_duration_at(self->expected_high_ms, weight_at(self, gpu_model), self->time_limit_ms);
}

uint64_t helio_requirement_longest_ms(const helio_requirement_t *self)
{
#ifdef HELIO_MUTANT_grace_beyond_budget
    return self->time_limit_ms;
#endif
    return self->time_limit_ms + self->grace_ms;
}

uint32_t helio_requirement_gpus(const helio_requirement_t *self)
{
    return self->gpus.count ? self->gpus.items[0].count * self->nodes : 0;
}

helio_text_t helio_requirement_text(const helio_requirement_t *self, helio_arena_t *arena)
{
    helio_text_t text = {"", 0};
    for (uint32_t i = 0; i < self->gpus.count; i++) {
        const helio_gpu_ask_t *ask = &self->gpus.items[i];
        text = helio_arena_printf(arena, "%.*s%s%u×%.*s%s%.*s", HELIO_TEXT_ARGS(text), i ? " or " : "", ask->count,
                                  HELIO_TEXT_ARGS(ask->model.size ? ask->model : HELIO_TEXT("GPU")),
                                  ask->mig.size ? "/" : "", HELIO_TEXT_ARGS(ask->mig));
        if (ask->memory_bytes)
            text = helio_arena_printf(arena, "%.*s of %.4g GB", HELIO_TEXT_ARGS(text), (double)ask->memory_bytes / 1e9);
    }
    if (!self->gpus.count)
        text = helio_arena_printf(arena, "%u CPU", self->cpus ? self->cpus : 1);
    if (self->nodes > 1)
        text = helio_arena_printf(arena, "%.*s on each of %u nodes", HELIO_TEXT_ARGS(text), self->nodes);
    return text;
}
