/*  step.c -- one step of the core: an event goes in, and its effects go to the store, to the release queue or straight
 *  to a site. */
#include <assert.h>

#include "broker/engine/internal.h"
#include "federation/base/clock.h"

void helio_engine_fail(helio_engine_t *self, const helio_error_t *err)
{
    if (self->fatal.code == HELIO_OK)
        self->fatal = *err;
}

void helio_engine_read_clock(helio_engine_t *self)
{
    int64_t now_ms = helio_clock_boot_ms();
    if (now_ms > self->now_ms)
        self->now_ms = now_ms;
}

uint32_t helio_engine_backlog(const helio_engine_t *self)
{
    uint64_t rows = helio_store_open_rows(self->store) * UINT64_C(100) / self->options.batch_rows_max;
    uint64_t bytes = helio_store_open_bytes(self->store) * UINT64_C(100) / HELIO_ENGINE_BATCH_BYTES;
    uint64_t most = rows > bytes ? rows : bytes;
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

/*  Rows that listeners follow once they are durable. They wait in the same queue as the replies, so the core's order is
 *  kept. */
static bool is_followed(uint32_t kind)
{
    return kind == HELIO_BROKER_FX_ROW_TRANSITION || kind == HELIO_BROKER_FX_ROW_TOKEN ||
           kind == HELIO_BROKER_FX_ROW_SITE || kind == HELIO_BROKER_FX_ROW_SITE_KEY ||
           kind == HELIO_BROKER_FX_ROW_PRINCIPAL;
}

static void carry_out(helio_engine_t *self)
{
    for (uint32_t i = 0; i < self->effects->count; i++) {
        const helio_effect_t *effect = &self->effects->items[i];
        switch (effect->release) {
        case HELIO_RELEASE_ROW:
            helio_store_append(self->store, effect);
            if (is_followed(effect->kind))
                helio_release_queue_hold(self->held, effect);
            break;
        case HELIO_RELEASE_HELD:
            helio_release_queue_hold(self->held, effect);
            break;
        case HELIO_RELEASE_FREE:
            helio_engine_leave(self, effect);
            break;
        }
    }
}

void helio_engine_step(helio_engine_t *self, uint32_t kind, const void *payload)
{
    assert(!self->stepping);
    if (self->fatal.code != HELIO_OK)
        return; /* the engine is stopping: nothing may follow an event that could not be recorded */
    helio_error_t err = {0};
    helio_engine_read_clock(self);
    helio_event_t event = {kind, self->now_ms, helio_clock_wall_ms(), payload};
    if (self->recorder && helio_recorder_event(self->recorder, &event, &err) != HELIO_OK) {
        helio_engine_fail(self, &err);
        return;
    }
    self->stepping = true;
    helio_effects_reset(self->effects);
    int64_t began_us = helio_clock_boot_us();
    helio_broker_core_step(self->core, &event, self->effects);
    uint64_t step_us = (uint64_t)(helio_clock_boot_us() - began_us);
    if (step_us > self->step_us_max)
        self->step_us_max = step_us;
    self->step_us_sum += step_us;
    self->steps_total++;
    helio_tally_step(&self->tally, self->effects, step_us);
    self->wake_ms = self->effects->wake_ms; /* the newest value replaces the older one */
    if (self->recorder && helio_recorder_effects(self->recorder, self->effects, &err) != HELIO_OK)
        helio_engine_fail(self, &err);
    carry_out(self);
    self->stepping = false;
}
