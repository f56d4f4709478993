/*  database_ledger.c -- rows of the ledger, of its hourly prices, and of the baselines; the use of budgets. */
#include "simulator/database/database_rows.h"

static const int64_t DAY_MS = 86400000;

static vuse_t *use_of(sim_database_t *self, helio_job_key_t key)
{
    vuse_t *use;
    HASH_FIND(hh, self->uses, &key, sizeof key, use);
    if (!use) {
        use = helio_new(1, sizeof *use);
        use->key = key;
        HASH_ADD(hh, self->uses, key, sizeof use->key, use);
    }
    return use;
}

static bool differ(double a, double b)
{
    return a - b > 2 || b - a > 2; /* fractions are carried from hour to hour */
}

/*  Every ledger row must follow from its own hourly price. */
static void check_hourly_price(sim_database_t *self, const helio_row_ledger_t *row)
{
    vhourly_price_t *hourly_price;
    HASH_FIND(hh, self->hourly_prices, &row->hourly_price_id, sizeof row->hourly_price_id, hourly_price);
    if (!hourly_price || hourly_price->row.hour_ms != row->hour_ms ||
        !helio_text_equal(hourly_price->row.site, row->site)) {
        database_violate(self, "an hour of the ledger has no hourly price", row->key, row->epoch);
        return;
    }
    const helio_row_hourly_price_t *r = &hourly_price->row;
    double joules = (double)row->gpu_ms / 1000 * r->watts_per_gpu * r->pue, kwh = joules / 3.6e6;
    double cost = (double)row->gpu_ms / 3.6e6 * r->price_usd_per_gpu_h + kwh * r->electricity_usd_per_kwh;
    if (differ((double)row->energy_j, joules) || differ((double)row->carbon_mg, kwh * r->carbon_g_per_kwh * 1000) ||
        differ((double)row->cost_micro_usd, cost * 1e6))
        database_violate(self, "an hour of the ledger does not follow from its hourly price", row->key, row->epoch);
}

static void put_hourly_price(sim_database_t *self, const helio_row_hourly_price_t *row)
{
    vhourly_price_t *hourly_price;
    HASH_FIND(hh, self->hourly_prices, &row->hourly_price_id, sizeof row->hourly_price_id, hourly_price);
    if (hourly_price) {
        if (!helio_record_equal(&helio_row_hourly_price_type, &hourly_price->row, row))
            database_violate(self, "one hourly price was stored with two contents",
                             (helio_job_key_t){.task = HELIO_NO_TASK}, 0);
        return;
    }
    hourly_price = helio_new(1, sizeof *hourly_price);
    hourly_price->hourly_price_id = row->hourly_price_id;
    hourly_price->row = *row;
    HASH_ADD(hh, self->hourly_prices, hourly_price_id, sizeof hourly_price->hourly_price_id, hourly_price);
}

static void put_baseline(sim_database_t *self, const helio_row_baseline_t *row)
{
    vuse_t *use = use_of(self, row->key);
    if (use->compared)
        database_violate(self, "a job was compared with its baselines twice", row->key, 0);
    use->compared = true;
    if (use->use.energy_j != row->energy_j || use->use.carbon_mg != row->carbon_mg ||
        use->use.cost_micro_usd != row->cost_micro_usd)
        database_violate(self, "the use compared with the baselines is not that of the ledger", row->key, 0);
}

static void add_use(sim_database_t *self, const helio_row_ledger_t *row)
{
    sim_database_use_t *use = &use_of(self, row->key)->use;
    use->gpu_ms += row->gpu_ms;
    use->energy_j += row->energy_j;
    use->carbon_mg += row->carbon_mg;
    use->cost_micro_usd += row->cost_micro_usd;
}

/*  Budgets of money count no cost below zero. */
static int64_t charged_money(const helio_row_ledger_t *row)
{
    return row->cost_micro_usd > 0 ? row->cost_micro_usd : 0;
}

/*  Budgets are compared with these rows. The hour stands for its day, since both belong to the same budget periods. */
static void add_spent(sim_database_t *self, const helio_row_ledger_t *row)
{
    if (self->spent_count == self->spent_capacity) {
        self->spent_capacity = self->spent_capacity ? self->spent_capacity * 2 : 64;
        self->spent = helio_grow(self->spent, self->spent_capacity, sizeof *self->spent);
    }
    self->spent[self->spent_count++] = (helio_row_spent_t){.tenant = row->tenant,
                                                           .queue = row->queue,
                                                           .day_ms = row->hour_ms,
                                                           .gpu_ms = row->gpu_ms,
                                                           .cost_micro_usd = charged_money(row),
                                                           .carbon_mg = row->carbon_mg};
}

/*  A transfer is charged once an attempt, at the cost of the placement. */
static void put_transfer(sim_database_t *self, vattempt_t *attempt, const helio_row_ledger_t *row)
{
    const helio_row_transfer_t *placed = &attempt->transfer;
    if (attempt->transferred)
        return;
    attempt->transferred = true;
    add_spent(self, row);
    if (!attempt->ended || row->gpu_ms)
        database_violate(self, "a transfer without the end of its attempt", row->key, row->epoch);
    if (row->fenced)
        return; /* the broker may have forgotten what the transfer of an older placement cost */
    if (row->energy_j != placed->energy_j || row->carbon_mg != placed->carbon_mg ||
        row->cost_micro_usd != placed->egress_micro_usd)
        database_violate(self, "a transfer is not charged as it was placed", row->key, row->epoch);
    add_use(self, row);
}

/*  A row counts that fits the basis of its attempt. */
static bool fits(const vattempt_t *attempt, const helio_row_ledger_t *row)
{
    if (row->part == HELIO_LEDGER_USE)
        return !row->fenced || attempt->basis == HELIO_ATTEMPT_REPORTED;
    return attempt->basis == HELIO_ATTEMPT_CORRECTED ||
           (attempt->basis == HELIO_ATTEMPT_GIVEN_UP && row->part == HELIO_LEDGER_ESTIMATE);
}

/*  Notes it. False: it was before. */
static bool is_new(sim_database_t *self, vattempt_t *attempt, const helio_row_ledger_t *row)
{
    for (uint32_t i = 0; i < attempt->charged; i++)
        if (attempt->charged_hours[i].hour_ms == row->hour_ms && attempt->charged_hours[i].part == row->part)
            return false;
    if (attempt->charged == sizeof attempt->charged_hours / sizeof attempt->charged_hours[0]) {
        database_violate(self, "an attempt has more hours than are kept here", row->key, row->epoch);
        return false;
    }
    attempt->charged_hours[attempt->charged].hour_ms = row->hour_ms;
    attempt->charged_hours[attempt->charged++].part = row->part;
    if (row->part == HELIO_LEDGER_ESTIMATE && attempt->estimate_count < 64)
        attempt->estimates[attempt->estimate_count++] = row;
    return true;
}

/*  Takes back the estimate of that hour, in every sum. */
static void put_reversal(sim_database_t *self, vattempt_t *attempt, const helio_row_ledger_t *row)
{
    helio_row_ledger_t estimate = *row;
    estimate.part = HELIO_LEDGER_ESTIMATE;
    bool found = false;
    for (uint32_t i = 0; i < attempt->estimate_count; i++)
        found = found || helio_record_equal(&helio_row_ledger_type, attempt->estimates[i], &estimate);
    if (!found)
        database_violate(self, "a reversal of what was not estimated", row->key, row->epoch);
    attempt->gpu_ms -= row->gpu_ms;
    for (uint32_t i = 0; i < self->usage_count; i++) {
        helio_row_usage_t *usage = &self->usage[i];
        if (usage->hour_ms != row->hour_ms || usage->gpu_ms != row->gpu_ms ||
            !helio_text_equal(usage->tenant, row->tenant) || !helio_text_equal(usage->gpu_model, row->gpu_model))
            continue;
        usage->gpu_ms = 0;
        break;
    }
    for (uint32_t i = 0; i < self->spent_count; i++) {
        helio_row_spent_t *spent = &self->spent[i];
        if (spent->day_ms != row->hour_ms || spent->gpu_ms != row->gpu_ms || spent->carbon_mg != row->carbon_mg ||
            !helio_text_equal(spent->tenant, row->tenant) || !helio_text_equal(spent->queue, row->queue))
            continue;
        spent->gpu_ms = spent->carbon_mg = 0;
        spent->cost_micro_usd -= charged_money(row);
        break;
    }
}

static void put_ledger(sim_database_t *self, const helio_row_ledger_t *row)
{
    vattempt_t *attempt = database_attempt_get(self, row->key, row->epoch);
    if (row->part == HELIO_LEDGER_TRANSFER) {
        put_transfer(self, attempt, row);
        return;
    }
    bool corrects = row->part == HELIO_LEDGER_REVERSAL || row->part == HELIO_LEDGER_MEASURED;
    if (corrects && attempt->basis != HELIO_ATTEMPT_CORRECTED)
        database_violate(self, "an attempt is corrected without a report", row->key, row->epoch);
    if (!fits(attempt, row) || !is_new(self, attempt, row))
        return;
    check_hourly_price(self, row);
    if (row->part == HELIO_LEDGER_REVERSAL) {
        put_reversal(self, attempt, row);
        return;
    }
    attempt->gpu_ms += row->gpu_ms;
    attempt->fenced = row->fenced;
    int64_t day_ms = row->hour_ms - row->hour_ms % DAY_MS;
    attempt->last_day_gpu_ms = row->gpu_ms + (day_ms == attempt->last_day_ms ? attempt->last_day_gpu_ms : 0);
    attempt->last_day_ms = day_ms;
    if (self->usage_count == self->usage_capacity) {
        self->usage_capacity = self->usage_capacity ? self->usage_capacity * 2 : 64;
        self->usage = helio_grow(self->usage, self->usage_capacity, sizeof *self->usage);
    }
    self->usage[self->usage_count++] = (helio_row_usage_t){row->tenant, row->gpu_model, row->hour_ms, row->gpu_ms};
    add_spent(self, row);
    if (row->fenced)
        return;
    add_use(self, row);
}

void database_ledger_put(sim_database_t *self, uint32_t kind, const void *row)
{
    if (kind == HELIO_BROKER_FX_ROW_LEDGER)
        put_ledger(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_HOURLY_PRICE)
        put_hourly_price(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_BASELINE)
        put_baseline(self, row);
}

/*  The part of the expected GPU time that falls into the day. */
static int64_t expected_in(const vattempt_t *attempt, int64_t day_ms)
{
    const helio_row_expected_use_t *row = &attempt->expected_use;
    int64_t start_ms = row->start_ms + (int64_t)row->transfer_ms, end_ms = start_ms + (int64_t)row->expected_ms;
    start_ms = start_ms > day_ms ? start_ms : day_ms;
    end_ms = end_ms < day_ms + DAY_MS ? end_ms : day_ms + DAY_MS;
    return end_ms > start_ms ? (end_ms - start_ms) * attempt->gpus : 0;
}

int64_t sim_database_spends(const sim_database_t *self, const char *tenant, int64_t day_ms)
{
    int64_t sum = 0;
    for (const vattempt_t *attempt = self->attempts; attempt; attempt = attempt->hh.next) {
        const vjob_t *job = database_job(self, attempt->id.key.job);
        if (!attempt->placed || !job || !helio_text_is(job->row.tenant, tenant))
            continue;
        helio_row_state_t state = sim_database_state(self, attempt->id.key).row;
        int64_t expected_use = expected_in(attempt, day_ms);
        bool migrated =
            state.migrations > 0; /* it left for a place that it was sure of: what it had run is not asked again */
        bool counts = attempt->last_day_ms == day_ms && !attempt->fenced && !migrated;
        int64_t used = counts ? (int64_t)attempt->last_day_gpu_ms : 0;
        bool live = helio_job_state_is_live(state.state) && state.epoch == attempt->id.epoch;
        sum += live || used > expected_use ? expected_use : used;
    }
    return sum;
}

uint64_t sim_database_ledger_gpu_ms(const sim_database_t *self, helio_job_key_t key, uint32_t epoch)
{
    const vattempt_t *attempt = database_attempt(self, key, epoch);
    return attempt ? attempt->gpu_ms : 0;
}

sim_database_use_t sim_database_use(const sim_database_t *self, helio_job_key_t key)
{
    vuse_t *use;
    HASH_FIND(hh, self->uses, &key, sizeof key, use);
    return use ? use->use : (sim_database_use_t){0};
}

bool sim_database_is_compared(const sim_database_t *self, helio_job_key_t key)
{
    vuse_t *use;
    HASH_FIND(hh, self->uses, &key, sizeof key, use);
    return use && use->compared;
}

void sim_database_each_hourly_price(const sim_database_t *self, sim_database_hourly_price_fn *visit, void *arg)
{
    for (const vhourly_price_t *hourly_price = self->hourly_prices; hourly_price; hourly_price = hourly_price->hh.next)
        visit(arg, &hourly_price->row);
}
