/*  life.c -- batches, releases and ticks within one life of a virtual daemon. */
#include "simulator/daemons/life.h"

void sim_life_begin(sim_life_t *self, const helio_step_kind_t *effect_kinds)
{
    *self = (sim_life_t){.effects = helio_effects_new(),
                         .release = helio_release_queue_new(effect_kinds),
                         .open_batch = 1,
                         .wake_ms = INT64_MAX};
}

void sim_life_end(sim_life_t *self)
{
    helio_effects_destroy(&self->effects);
    helio_release_queue_destroy(&self->release);
}

void sim_life_set_wake(sim_life_t *self, sim_engine_t *engine, const sim_host_t *host, sim_happening_fn *on_tick,
                       void *arg)
{
    if (self->effects->wake_ms == INT64_MAX || self->effects->wake_ms == self->wake_ms)
        return;
    self->wake_ms = self->effects->wake_ms;
    sim_happening_t *tick = sim_later(engine, sim_delay_ms(engine, &host->clock, self->wake_ms), on_tick, arg);
    tick->generation = host->life;
    tick->number = (uint64_t)self->wake_ms;
}

bool sim_life_wants(const sim_life_t *self, const sim_host_t *host, const sim_happening_t *tick)
{
    return sim_host_lives(host, tick) && (int64_t)tick->number == self->wake_ms;
}

uint64_t sim_life_seal(sim_life_t *self, sim_engine_t *engine, const sim_host_t *host, int64_t delay_ms,
                       sim_happening_fn *on_committed, void *arg)
{
    sim_happening_t *commit = sim_later(engine, delay_ms, on_committed, arg);
    commit->generation = host->life;
    commit->number = self->open_batch;
    return self->open_batch++;
}

void sim_life_release(sim_life_t *self, uint64_t open_rows, helio_release_fn *on_released, void *arg)
{
    uint64_t durable = helio_release_durable(self->committed, self->open_batch, open_rows);
    (void)helio_release_queue_release(self->release, durable, on_released, arg);
}
