/*  vdb_ledger.c -- rows of the ledger, of the rates that they were made with, and of the baselines. */
#include "simulator/database/vdb_rows.h"

static const int64_t DAY_MS = 86400000;

static vuse_t *use_of(helio_vdb_t *self, helio_job_key_t key)
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

/*  Every row follows from its own rates. */
static void check_hourly_price(helio_vdb_t *self, const helio_row_ledger_t *row)
{
    vhourly_price_t *hourly_prices;
    HASH_FIND(hh, self->hourly_prices, &row->hourly_price_id, sizeof row->hourly_price_id, hourly_prices);
    if (!hourly_prices || hourly_prices->row.hour_ms != row->hour_ms ||
        !helio_text_equal(hourly_prices->row.site, row->site)) {
        vdb_violate(self, "an hour of the ledger without its rates", row->key, row->epoch);
        return;
    }
    const helio_row_hourly_price_t *r = &hourly_prices->row;
    double joules = (double)row->gpu_ms / 1000 * r->watts_per_gpu * r->pue, kwh = joules / 3.6e6;
    double cost = (double)row->gpu_ms / 3.6e6 * r->price_usd_per_gpu_h + kwh * r->electricity_usd_per_kwh;
    if (differ((double)row->energy_j, joules) || differ((double)row->carbon_mg, kwh * r->carbon_g_per_kwh * 1000) ||
        differ((double)row->cost_micro_usd, cost * 1e6))
        vdb_violate(self, "an hour of the ledger is not what its rates say", row->key, row->epoch);
}

static void put_hourly_price(helio_vdb_t *self, const helio_row_hourly_price_t *row)
{
    vhourly_price_t *hourly_prices;
    HASH_FIND(hh, self->hourly_prices, &row->hourly_price_id, sizeof row->hourly_price_id, hourly_prices);
    if (hourly_prices) {
        if (!helio_record_equal(&helio_row_hourly_price_type, &hourly_prices->row, row))
            vdb_violate(self, "rates of one number differ", (helio_job_key_t){.task = HELIO_NO_TASK}, 0);
        return;
    }
    hourly_prices = helio_new(1, sizeof *hourly_prices);
    hourly_prices->hourly_price_id = row->hourly_price_id;
    hourly_prices->row = *row;
    HASH_ADD(hh, self->hourly_prices, hourly_price_id, sizeof hourly_prices->hourly_price_id, hourly_prices);
}

static void put_baseline(helio_vdb_t *self, const helio_row_baseline_t *row)
{
    vuse_t *use = use_of(self, row->key);
    if (use->compared)
        vdb_violate(self, "a job was held against its baselines twice", row->key, 0);
    use->compared = true;
    if (use->use.energy_j != row->energy_j || use->use.carbon_mg != row->carbon_mg ||
        use->use.cost_micro_usd != row->cost_micro_usd)
        vdb_violate(self, "what is held against the baselines is not what the ledger has", row->key, 0);
}

static void add_use(helio_vdb_t *self, const helio_row_ledger_t *row)
{
    helio_vdb_use_t *use = &use_of(self, row->key)->use;
    use->gpu_ms += row->gpu_ms;
    use->energy_j += row->energy_j;
    use->carbon_mg += row->carbon_mg;
    use->cost_micro_usd += row->cost_micro_usd;
}

/*  What budgets are held against; its hour belongs to the same periods as its day. */
static void add_spent(helio_vdb_t *self, const helio_row_ledger_t *row)
{
    if (self->spent_count == self->spent_capacity) {
        self->spent_capacity = self->spent_capacity ? self->spent_capacity * 2 : 64;
        self->spent = helio_grow(self->spent, self->spent_capacity, sizeof *self->spent);
    }
    self->spent[self->spent_count++] = (helio_row_spent_t){.tenant = row->tenant,
                                                           .queue = row->queue,
                                                           .day_ms = row->hour_ms,
                                                           .gpu_ms = row->gpu_ms,
                                                           .cost_micro_usd = row->cost_micro_usd,
                                                           .carbon_mg = row->carbon_mg};
}

/*  Once an attempt, as it was placed. */
static void put_transfer(helio_vdb_t *self, vattempt_t *attempt, const helio_row_ledger_t *row)
{
    const helio_row_transfer_t *placed = &attempt->transfer;
    if (attempt->transferred)
        return;
    attempt->transferred = true;
    add_spent(self, row);
    if (!attempt->ended || row->gpu_ms)
        vdb_violate(self, "a transfer without the end of its attempt", row->key, row->epoch);
    if (row->fenced)
        return; /* of an older placement the broker may not know any more what it cost */
    if (row->energy_j != placed->energy_j || row->carbon_mg != placed->carbon_mg ||
        row->cost_micro_usd != placed->egress_micro_usd)
        vdb_violate(self, "a transfer is not charged as it was placed", row->key, row->epoch);
    add_use(self, row);
}

static void put_ledger(helio_vdb_t *self, const helio_row_ledger_t *row)
{
    vattempt_t *attempt = vdb_attempt_get(self, row->key, row->epoch);
    if (helio_text_is(row->provenance, "transfer")) {
        put_transfer(self, attempt, row);
        return;
    }
    for (uint32_t i = 0; i < attempt->booked; i++)
        if (attempt->booked_hours[i] == row->hour_ms)
            return;
    if (attempt->booked < sizeof attempt->booked_hours / sizeof attempt->booked_hours[0])
        attempt->booked_hours[attempt->booked++] = row->hour_ms;
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
    check_hourly_price(self, row);
    if (row->fenced)
        return;
    add_use(self, row);
}

void vdb_ledger_put(helio_vdb_t *self, uint32_t kind, const void *row)
{
    if (kind == HELIO_BROKER_FX_ROW_LEDGER)
        put_ledger(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_HOURLY_PRICE)
        put_hourly_price(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_BASELINE)
        put_baseline(self, row);
}

/*  Of the GPU time that was foreseen, what falls into the day. */
static int64_t expected_in(const vattempt_t *attempt, int64_t day_ms)
{
    const helio_row_expected_use_t *row = &attempt->expected_use;
    int64_t start_ms = row->start_ms + (int64_t)row->transfer_ms, end_ms = start_ms + (int64_t)row->expected_ms;
    start_ms = start_ms > day_ms ? start_ms : day_ms;
    end_ms = end_ms < day_ms + DAY_MS ? end_ms : day_ms + DAY_MS;
    return end_ms > start_ms ? (end_ms - start_ms) * attempt->gpus : 0;
}

int64_t helio_vdb_spends(const helio_vdb_t *self, const char *tenant, int64_t day_ms)
{
    int64_t sum = 0;
    for (const vattempt_t *attempt = self->attempts; attempt; attempt = attempt->hh.next) {
        const vjob_t *job = vdb_job(self, attempt->id.key.job);
        if (!attempt->placed || !job || !helio_text_is(job->row.tenant, tenant))
            continue;
        helio_row_state_t state = helio_vdb_state(self, attempt->id.key).row;
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

uint64_t helio_vdb_ledger_gpu_ms(const helio_vdb_t *self, helio_job_key_t key, uint32_t epoch)
{
    const vattempt_t *attempt = vdb_attempt(self, key, epoch);
    return attempt ? attempt->gpu_ms : 0;
}

helio_vdb_use_t helio_vdb_use(const helio_vdb_t *self, helio_job_key_t key)
{
    vuse_t *use;
    HASH_FIND(hh, self->uses, &key, sizeof key, use);
    return use ? use->use : (helio_vdb_use_t){0};
}

bool helio_vdb_is_compared(const helio_vdb_t *self, helio_job_key_t key)
{
    vuse_t *use;
    HASH_FIND(hh, self->uses, &key, sizeof key, use);
    return use && use->compared;
}

void helio_vdb_each_hourly_price(const helio_vdb_t *self, helio_vdb_hourly_price_fn *visit, void *arg)
{
    for (const vhourly_price_t *hourly_prices = self->hourly_prices; hourly_prices;
         hourly_prices = hourly_prices->hh.next)
        visit(arg, &hourly_prices->row);
}
