/*  tally.c -- adds the rows of each step to the totals of /metrics. */
#include "broker/engine/tally.h"

#include "federation/base/number.h"

const helio_bounds_t helio_tally_placing_bounds = {10,
                                                   {100, 250, 500, 1000, 2500, 5000, 10000, 25000, 100000, 1000000}};

/*  A counter never falls: what a reversal takes back is not counted when the next use is. */
static void count(helio_tally_sum_t *self, uint64_t amount, bool reversed)
{
    if (reversed) {
        self->reversed += amount;
        return;
    }
    uint64_t counted = helio_lesser_u64(amount, self->reversed);
    self->reversed -= counted;
    self->total += amount - counted;
}

static void take_ledger(helio_tally_t *self, const helio_row_ledger_t *row)
{
    bool reversed = row->part == HELIO_LEDGER_REVERSAL;
    count(&self->gpu_ms, row->gpu_ms, reversed);
    count(&self->energy_j, row->energy_j, reversed);
    count(&self->carbon_mg, row->carbon_mg, reversed);
    self->cost_micro_usd += reversed ? -row->cost_micro_usd : row->cost_micro_usd;
}

/*  Average and marginal intensity cannot be compared: without a shared kind, no saving is counted. */
static void compare(helio_tally_baseline_t *self, const helio_row_baseline_t *row, helio_text_t site, helio_text_t kind,
                    uint64_t carbon_mg, int64_t micro_usd)
{
    if (!site.size)
        return;
    if (kind.size && !helio_text_is(kind, "mixed"))
        self->carbon_mg_saved += (int64_t)carbon_mg - (int64_t)row->carbon_mg;
    self->micro_usd_saved += micro_usd - row->cost_micro_usd;
}

static void take_baseline(helio_tally_t *self, const helio_row_baseline_t *row)
{
    compare(&self->home, row, row->home_site, row->home_carbon_kind, row->home_carbon_mg, row->home_cost_micro_usd);
    compare(&self->earliest_start, row, row->earliest_site, row->earliest_carbon_kind, row->earliest_carbon_mg,
            row->earliest_cost_micro_usd);
}

static void take_candidate(helio_tally_t *self, const helio_row_candidate_t *row)
{
    for (uint32_t why = HELIO_REJECTION_NONE + 1; row->rejected_reason.size && why < HELIO_REJECTION_COUNT; why++)
        if (helio_text_is(row->rejected_reason, helio_rejection_name(why))) {
            self->rejected[why]++;
            return;
        }
}

void helio_tally_step(helio_tally_t *self, const helio_effects_t *effects, uint64_t step_us)
{
    bool placed = false;
    for (uint32_t i = 0; i < effects->count; i++) {
        const helio_effect_t *effect = &effects->items[i];
        if (effect->kind == HELIO_BROKER_FX_ROW_LEDGER)
            take_ledger(self, effect->payload);
        else if (effect->kind == HELIO_BROKER_FX_ROW_BASELINE)
            take_baseline(self, effect->payload);
        else if (effect->kind == HELIO_BROKER_FX_ROW_CANDIDATE)
            take_candidate(self, effect->payload);
        placed = placed || effect->kind == HELIO_BROKER_FX_ROW_PLACEMENT;
    }
    if (placed)
        helio_histogram_add(&self->placing_us, &helio_tally_placing_bounds, step_us);
}
