/*  database.c -- what is stored before the first leader starts, and how a batch is written. */
#include "simulator/database/database_rows.h"

sim_database_t *sim_database_new(const sim_database_preset_t *preset)
{
    sim_database_t *self = helio_new(1, sizeof *self);
    self->arena = helio_arena_new();
    self->tenants = preset->tenants;
    self->tenant_count = preset->tenant_count;
    for (uint32_t i = 0; i < preset->queue_count; i++)
        database_named_put(self, HELIO_BROKER_FX_ROW_QUEUE, &preset->queues[i]);
    return self;
}

static void apply(sim_database_t *self, const helio_effect_t *row)
{
    database_jobs_put(self, row->kind, row->payload);
    database_ledger_put(self, row->kind, row->payload);
    database_named_put(self, row->kind, row->payload);
    if (row->kind == HELIO_BROKER_FX_ROW_DECISION)
        self->decision_id = ((const helio_row_decision_t *)row->payload)->decision_id;
}

/*  In the order of the real store: jobs first, then the last state of each key, then everything else as it came. */
void database_apply(sim_database_t *self, const rows_t *batch, helio_uuid_t open_from)
{
    static const uint32_t order[] = {HELIO_BROKER_FX_ROW_JOB, HELIO_BROKER_FX_ROW_PLACEMENT,
                                     HELIO_BROKER_FX_ROW_HOURLY_PRICE};
    for (size_t pass = 0; pass < sizeof order / sizeof order[0]; pass++)
        for (uint32_t i = 0; i < batch->count; i++)
            if (batch->items[i].kind == order[pass])
                apply(self, &batch->items[i]);
    for (uint32_t i = 0; i < batch->count; i++) {
        const helio_effect_t *row = &batch->items[i];
        if (row->kind == HELIO_BROKER_FX_ROW_JOB || row->kind == HELIO_BROKER_FX_ROW_PLACEMENT ||
            row->kind == HELIO_BROKER_FX_ROW_HOURLY_PRICE)
            continue;
        bool last = true;
        for (uint32_t k = i + 1; row->kind == HELIO_BROKER_FX_ROW_STATE && k < batch->count && last; k++)
            last = batch->items[k].kind != HELIO_BROKER_FX_ROW_STATE ||
                   !helio_job_key_equal(((const helio_row_state_t *)batch->items[k].payload)->key,
                                        ((const helio_row_state_t *)row->payload)->key);
        if (last)
            apply(self, row);
    }
    self->open_from = open_from;
}
