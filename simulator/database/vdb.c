/*  vdb.c -- batches: what is under construction, what was sent, and its two possible fates. */
#include "simulator/database/vdb_rows.h"

helio_vdb_t *helio_vdb_new(const helio_vdb_preset_t *preset)
{
    helio_vdb_t *self = helio_new(1, sizeof *self);
    self->arena = helio_arena_new();
    self->tenants = preset->tenants;
    self->tenant_count = preset->tenant_count;
    for (uint32_t i = 0; i < preset->queue_count; i++)
        vdb_named_put(self, HELIO_BROKER_FX_ROW_QUEUE, &preset->queues[i]);
    return self;
}

void helio_vdb_append(helio_vdb_t *self, const helio_effect_t *effect)
{
    const helio_record_type_t *type = helio_broker_effects[effect->kind].type;
    if (self->open.count == self->open.capacity) {
        self->open.capacity = self->open.capacity ? self->open.capacity * 2 : 64;
        self->open.items = helio_grow(self->open.items, self->open.capacity, sizeof *self->open.items);
    }
    helio_effect_t *copy = &self->open.items[self->open.count++];
    *copy = *effect;
    copy->payload = helio_arena_alloc(self->arena, 1, type->size);
    helio_record_copy(type, self->arena, effect->payload, copy->payload);
}

uint32_t helio_vdb_open_rows(const helio_vdb_t *self)
{
    return self->open.count;
}

bool helio_vdb_in_flight(const helio_vdb_t *self)
{
    return self->in_flight;
}

void helio_vdb_seal(helio_vdb_t *self, helio_uuid_t open_from)
{
    rows_t empty = self->flight;
    empty.count = 0;
    self->flight = self->open;
    self->flight_open_from = open_from;
    self->open = empty;
    self->in_flight = true;
}

static void apply(helio_vdb_t *self, const helio_effect_t *row)
{
    vdb_jobs_put(self, row->kind, row->payload);
    vdb_ledger_put(self, row->kind, row->payload);
    vdb_named_put(self, row->kind, row->payload);
    if (row->kind == HELIO_BROKER_FX_ROW_DECISION)
        self->decision_id = ((const helio_row_decision_t *)row->payload)->decision_id;
}

/*  As the store: jobs first, then the last state of each key, then everything else in order. */
void helio_vdb_commit(helio_vdb_t *self)
{
    static const uint32_t order[] = {HELIO_BROKER_FX_ROW_JOB, HELIO_BROKER_FX_ROW_PLACEMENT,
                                     HELIO_BROKER_FX_ROW_HOURLY_PRICE};
    for (size_t pass = 0; pass < sizeof order / sizeof order[0]; pass++)
        for (uint32_t i = 0; i < self->flight.count; i++)
            if (self->flight.items[i].kind == order[pass])
                apply(self, &self->flight.items[i]);
    for (uint32_t i = 0; i < self->flight.count; i++) {
        const helio_effect_t *row = &self->flight.items[i];
        if (row->kind == HELIO_BROKER_FX_ROW_JOB || row->kind == HELIO_BROKER_FX_ROW_PLACEMENT ||
            row->kind == HELIO_BROKER_FX_ROW_HOURLY_PRICE)
            continue;
        bool last = true;
        for (uint32_t k = i + 1; row->kind == HELIO_BROKER_FX_ROW_STATE && k < self->flight.count && last; k++)
            last = self->flight.items[k].kind != HELIO_BROKER_FX_ROW_STATE ||
                   !helio_job_key_equal(((const helio_row_state_t *)self->flight.items[k].payload)->key,
                                        ((const helio_row_state_t *)row->payload)->key);
        if (last)
            apply(self, row);
    }
    self->open_from = self->flight_open_from;
    self->flight.count = 0;
    self->in_flight = false;
}

void helio_vdb_crash(helio_vdb_t *self, bool arrived)
{
    if (self->in_flight && arrived)
        helio_vdb_commit(self);
    self->flight.count = 0;
    self->in_flight = false;
    self->open.count = 0;
}
