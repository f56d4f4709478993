/*  energy_account.c -- accounts the energy of GPUs by counters or by the model, and the readings of the meter, by
 *  hour. */
#include "site-agent/telemetry/energy_account.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/number.h"
#include "site-agent/telemetry/energy_account_internal.h"

enum { LATE_MS = 10000, GAP_MS = 3 * 3600000, BLIND_MS = 600000 };
static const int64_t HOUR_MS = 3600000;

/* ---- creation and end --------------------------------------------------------------------------------------- */

helio_energy_account_t *helio_energy_account_new(const helio_energy_account_options_t *options)
{
    helio_energy_account_t *self = helio_new(1, sizeof *self);
    self->profile = options->profile;
    self->nvml = options->nvml && options->profile->pools.count ? options->nvml : NULL;
    self->state_dir = options->state_dir ? helio_strdup(options->state_dir) : NULL;
    self->pue = 1;
    helio_energy_account_pue(self, options->profile->pue);
    self->began_ms = self->tick_ms = options->wall_ms;
    self->told_hour = INT64_MIN;
    self->pools = helio_new(options->profile->pools.count + 1, sizeof *self->pools);
    for (uint32_t p = 0; p < options->profile->pools.count; p++) /* the meter's entry has none */
        (void)helio_text_copy(options->profile->pools.items[p].name, self->pools[p].name, sizeof self->pools[p].name);
    if (self->nvml)
        self->gpu_count = options->profile->pools.items[0].gpus_per_node;
    if (self->gpu_count > HELIO_NVML_GPUS_MAX)
        self->gpu_count = HELIO_NVML_GPUS_MAX;
    helio_energy_account_load(self, options->wall_ms);
    return self;
}

void helio_energy_account_destroy(helio_energy_account_t **self_p)
{
    helio_energy_account_t *self = *self_p;
    if (!self)
        return;
    free(self->pools);
    free(self->state_dir);
    free(self);
    *self_p = NULL;
}

/* ---- hours --------------------------------------------------------------------------------------------- */

/*  The entry of the hour, emptied if it held another hour; NULL: the hour is too old to be kept. */
static account_hour_t *hour_at(helio_energy_account_t *self, uint32_t pool, int64_t hour)
{
    account_hour_t *kept = &self->pools[pool].hours[(uint64_t)hour % HELIO_ENERGY_ACCOUNT_HOURS];
    if (kept->hour == hour)
        return kept;
    if (kept->hour > hour)
        return NULL;
    *kept = (account_hour_t){.hour = hour};
    return kept;
}

/*  Adds the energy of [from, to) to its hours, in proportion to time. */
static void spread(helio_energy_account_t *self, uint32_t pool, uint32_t part, double joules, int64_t from_ms,
                   int64_t to_ms, bool estimated)
{
    int64_t whole_ms = to_ms - from_ms;
    if (whole_ms <= 0) { /* at one instant */
        whole_ms = 1;
        to_ms = from_ms + 1;
    }
    for (int64_t at_ms = from_ms; at_ms < to_ms;) {
        int64_t hour = helio_floor(at_ms, HOUR_MS), next_ms = (hour + 1) * HOUR_MS;
        int64_t until_ms = next_ms < to_ms ? next_ms : to_ms;
        account_hour_t *kept = hour_at(self, pool, hour);
        if (kept) {
            kept->joules[part] += joules * (double)(until_ms - at_ms) / (double)whole_ms;
            kept->covered_ms[part] += (int32_t)(until_ms - at_ms);
            kept->estimated |= estimated;
        }
        at_ms = until_ms;
    }
}

/*  The energy of GPUs, and what the building adds to it. */
static void add(helio_energy_account_t *self, uint32_t pool, uint32_t part, double joules, int64_t from_ms,
                int64_t to_ms, bool estimated)
{
    spread(self, pool, part, joules, from_ms, to_ms, estimated);
    spread(self, pool, HELIO_ENERGY_ACCOUNT_OVERHEAD, (self->pue - 1) * joules, from_ms, to_ms, estimated);
}

static void add_hosts(helio_energy_account_t *self, uint32_t pool, uint32_t gpus, int64_t from_ms, int64_t to_ms)
{
    double watts = self->profile->pools.items[pool].host_w * gpus;
    spread(self, pool, HELIO_ENERGY_ACCOUNT_OVERHEAD, self->pue * watts * (double)(to_ms - from_ms) / 1000, from_ms,
           to_ms, false);
}

/* ---- measured GPUs ------------------------------------------------------------------------------------- */

static double idle_j(const helio_energy_account_t *self, int64_t from_ms, int64_t to_ms)
{
    return to_ms > from_ms ? self->profile->pools.items[0].idle_w * (double)(to_ms - from_ms) / 1000 : 0;
}

/*  A GPU that no attempt holds, since it was last read. Without a counter (it stopped answering, or the machine was
 *  rebooted) the model is used. */
static void read_free(helio_energy_account_t *self, uint32_t index, int64_t wall_ms)
{
    account_gpu_t *gpu = &self->gpus[index];
    uint64_t mj = 0;
    bool known = helio_nvml_energy_mj(self->nvml, index, &mj) == HELIO_OK;
    bool counted = known && gpu->known && mj >= gpu->mj;
    bool busy = helio_nvml_busy(self->nvml, index);
    if (gpu->at_ms) {
        double joules = counted ? (double)(mj - gpu->mj) / 1000 : idle_j(self, gpu->at_ms, wall_ms);
        add(self, 0, busy && gpu->busy ? HELIO_ENERGY_ACCOUNT_FOREIGN : HELIO_ENERGY_ACCOUNT_IDLE, joules, gpu->at_ms,
            wall_ms, !counted);
    }
    gpu->busy = busy;
    gpu->known = known;
    gpu->mj = mj;
    gpu->at_ms = wall_ms;
}

void helio_energy_account_take(helio_energy_account_t *self, const char *attempt, const uint32_t *gpus, uint32_t count,
                               int64_t wall_ms)
{
    if (!self->nvml)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (gpus[i] >= self->gpu_count)
            continue;
        account_gpu_t *gpu = &self->gpus[gpus[i]];
        if (gpu->holder[0]) /* the former holder is gone */
            (void)helio_energy_account_give(self, gpu->holder, false, wall_ms, wall_ms);
        read_free(self, gpus[i], wall_ms);
        (void)helio_text_copy(helio_text_of(attempt), gpu->holder, sizeof gpu->holder);
    }
    (void)!helio_energy_account_save(self, NULL);
}

/*  Ends the holding of one GPU; false: what the attempt used on it is unknown. */
static bool give_one(helio_energy_account_t *self, uint32_t index, bool ran, int64_t ended_ms, int64_t wall_ms,
                     double *joules)
{
    account_gpu_t *gpu = &self->gpus[index];
    uint64_t mj = 0;
    bool known = helio_nvml_energy_mj(self->nvml, index, &mj) == HELIO_OK;
    bool counted = known && gpu->known && mj >= gpu->mj;
    int64_t since_ms = ended_ms > gpu->at_ms ? ended_ms : gpu->at_ms, late_ms = wall_ms - since_ms;
    double delta = counted ? (double)(mj - gpu->mj) / 1000 : 0;
    bool told = counted && ran && (double)late_ms <= fmax(LATE_MS, (double)(since_ms - gpu->at_ms) / 10);
    if (!ran && counted) {
        add(self, 0, HELIO_ENERGY_ACCOUNT_IDLE, delta, gpu->at_ms, wall_ms, false);
    } else {
        double late_j = idle_j(self, since_ms, wall_ms);
        late_j = counted && late_j > delta ? delta : late_j;
        if (late_ms > 0)
            add(self, 0, HELIO_ENERGY_ACCOUNT_IDLE, late_j, since_ms, wall_ms, late_ms > LATE_MS);
        *joules += delta - late_j;
    }
    *gpu = (account_gpu_t){.known = known, .mj = mj, .at_ms = wall_ms};
    return told;
}

uint64_t helio_energy_account_give(helio_energy_account_t *self, const char *attempt, bool ran, int64_t ended_ms,
                                   int64_t wall_ms)
{
    char name[HELIO_ENERGY_ACCOUNT_NAME_SIZE]; /* it can be the GPU's own */
    double joules = 0;
    uint32_t held = 0, told = 0;
    (void)helio_text_copy(helio_text_of(attempt), name, sizeof name);
    ended_ms = ended_ms < wall_ms ? ended_ms : wall_ms;
    for (uint32_t i = 0; i < self->gpu_count; i++) {
        if (strcmp(self->gpus[i].holder, name) != 0)
            continue;
        held++;
        told += give_one(self, i, ran, ended_ms, wall_ms, &joules);
    }
    if (held)
        (void)!helio_energy_account_save(self, NULL);
    return held && told == held && joules > 0 ? (uint64_t)joules : 0;
}

/* ---- by the clock -------------------------------------------------------------------------------------- */

void helio_energy_account_pue(helio_energy_account_t *self, double pue)
{
    if (helio_energy_account_is_pue(pue))
        self->pue = pue;
}

void helio_energy_account_use(helio_energy_account_t *self, uint32_t pool, uint32_t total, uint32_t ours,
                              uint32_t others)
{
    if (pool < self->profile->pools.count)
        self->pools[pool].use = (account_use_t){true, total, ours, others};
}

static void tick_model(helio_energy_account_t *self, uint32_t p, int64_t from_ms, int64_t to_ms)
{
    const account_use_t *use = &self->pools[p].use;
    const helio_pool_t *pool = &self->profile->pools.items[p];
    if (!use->known)
        return;
    uint32_t total = use->total, ours = use->ours < total ? use->ours : total;
    uint32_t others = use->others < total - ours ? use->others : total - ours;
    double seconds = (double)(to_ms - from_ms) / 1000;
    bool blind = to_ms - from_ms > BLIND_MS; /* the agent did not run: as before */
    add(self, p, HELIO_ENERGY_ACCOUNT_IDLE, pool->idle_w * (total - ours - others) * seconds, from_ms, to_ms, blind);
    add(self, p, HELIO_ENERGY_ACCOUNT_FOREIGN, (pool->base_w + pool->slope_w) * others * seconds, from_ms, to_ms,
        blind);
    add_hosts(self, p, others, from_ms, to_ms);
}

/*  The wall clock was set back. Hours that it shows again would count twice, and hours that it showed too early would
 *  hold the places of those that come: both are emptied. */
static void set_back(helio_energy_account_t *self, int64_t wall_ms)
{
    int64_t hour = helio_floor(wall_ms, HOUR_MS);
    self->began_ms = wall_ms;
    self->meter.known = false;
    for (uint32_t p = 0; p <= self->profile->pools.count; p++)
        for (uint32_t h = 0; h < HELIO_ENERGY_ACCOUNT_HOURS; h++)
            if (self->pools[p].hours[h].hour >= hour)
                self->pools[p].hours[h] = (account_hour_t){0};
    for (uint32_t i = 0; i < self->gpu_count; i++)
        if (self->gpus[i].at_ms > wall_ms)
            self->gpus[i].at_ms = self->gpus[i].holder[0] ? wall_ms : 0;
}

void helio_energy_account_tick(helio_energy_account_t *self, int64_t wall_ms)
{
    int64_t from_ms = self->tick_ms;
    if (from_ms - wall_ms > LATE_MS) /* less is a step of a time service */
        set_back(self, wall_ms);
    if (wall_ms - from_ms >
        HELIO_ENERGY_ACCOUNT_HOURS * HOUR_MS) { /* the clock was set, or the agent did not run for too long */
        self->began_ms = wall_ms;
        for (uint32_t i = 0; i < self->gpu_count; i++)
            self->gpus[i].at_ms = self->gpus[i].holder[0] ? self->gpus[i].at_ms : 0;
        from_ms = wall_ms;
    }
    self->tick_ms = wall_ms;
    for (uint32_t i = 0; i < self->gpu_count; i++)
        if (!self->gpus[i].holder[0])
            read_free(self, i, wall_ms);
    if (wall_ms <= from_ms)
        return;
    if (self->nvml)
        add_hosts(self, 0, self->gpu_count, from_ms, wall_ms);
    else
        for (uint32_t p = 0; p < self->profile->pools.count; p++)
            tick_model(self, p, from_ms, wall_ms);
}

/* ---- the meter ----------------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const helio_energy_account_reading_t *left = a, *right = b;
    return (left->time_ms > right->time_ms) - (left->time_ms < right->time_ms);
}

/*  The meter's hours follow those of the last pool. */
static void read_one(helio_energy_account_t *self, const helio_energy_account_reading_t *reading, bool cumulative)
{
    account_meter_t *meter = &self->meter;
    int64_t dt_ms = reading->time_ms - meter->last.time_ms;
    bool joins = meter->known && dt_ms <= GAP_MS && (!cumulative || reading->value >= meter->last.value);
    double joules =
        cumulative ? (reading->value - meter->last.value) * 3.6e6 : meter->last.value * (double)dt_ms / 1000;
    if (joins)
        spread(self, self->profile->pools.count, HELIO_ENERGY_ACCOUNT_IDLE, joules, meter->last.time_ms,
               reading->time_ms, false);
    meter->known = true;
    meter->last = *reading;
    meter->news |= joins && helio_floor(reading->time_ms, HOUR_MS) > helio_floor(reading->time_ms - dt_ms, HOUR_MS);
}

void helio_energy_account_read(helio_energy_account_t *self, helio_energy_account_reading_t *readings, uint32_t count,
                               bool cumulative, helio_text_t source, int64_t wall_ms)
{
    if (self->meter.cumulative != cumulative) { /* another meter */
        self->meter.known = false;
        self->meter.cumulative = cumulative;
    }
    char name[sizeof self->meter.source] = "";
    (void)helio_text_copy(source, name, sizeof name);
    memcpy(self->meter.source, name, sizeof name);
    if (count)
        qsort(readings, count, sizeof *readings, by_time);
    for (uint32_t i = 0; i < count; i++)
        if (isfinite(readings[i].value) && readings[i].time_ms <= wall_ms &&
            (!self->meter.known || readings[i].time_ms > self->meter.last.time_ms))
            read_one(self, &readings[i], cumulative);
}

/* ---- publication --------------------------------------------------------------------------------------------- */

bool helio_energy_account_news(helio_energy_account_t *self, int64_t wall_ms)
{
    int64_t hour = helio_floor(wall_ms, HOUR_MS);
    bool news = self->meter.news || hour != self->told_hour;
    self->meter.news = false;
    self->told_hour = hour;
    return news;
}

static bool has_power(const helio_pool_t *pool)
{
    return pool->idle_w > 0 || pool->base_w > 0 || pool->slope_w > 0;
}

/*  Mean W of an hour that is over; -1 if it is incomplete. A part without any energy is 0 once the whole hour was
 *  observed. */
static double watts_of(const helio_energy_account_t *self, uint32_t pool, uint32_t part, bool meter, int64_t hour)
{
    const account_hour_t *kept = &self->pools[pool].hours[(uint64_t)hour % HELIO_ENERGY_ACCOUNT_HOURS];
    if (meter)
        return kept->hour == hour && kept->covered_ms[part] == HOUR_MS ? kept->joules[part] / 3600 : -1;
    if (hour * HOUR_MS < self->began_ms || (hour + 1) * HOUR_MS > self->tick_ms)
        return -1;
    return kept->hour == hour ? fmax(kept->joules[part] / 3600, 0) : 0;
}

static bool add_series(const helio_energy_account_t *self, uint32_t pool, uint32_t part, bool meter, int64_t now_hour,
                       helio_arena_t *arena, helio_series_t *series)
{
    /* the entry of the hour before belongs to the current hour */
    int64_t first = now_hour - HELIO_ENERGY_ACCOUNT_HOURS + 1;
    while (first < now_hour && watts_of(self, pool, part, meter, first) < 0)
        first++;
    if (first == now_hour)
        return false;
    double *values = helio_arena_alloc(arena, (size_t)(now_hour - first), sizeof *values);
    for (int64_t hour = first; hour < now_hour; hour++) {
        const account_hour_t *kept = &self->pools[pool].hours[(uint64_t)hour % HELIO_ENERGY_ACCOUNT_HOURS];
        values[hour - first] = watts_of(self, pool, part, meter, hour);
        series->estimated |= kept->hour == hour && kept->estimated;
    }
    series->signal = HELIO_SIGNAL_POWER;
    series->issued_wall_ms = now_hour * HOUR_MS;
    series->start_wall_ms = first * HOUR_MS;
    series->step_s = 3600;
    series->values = (helio_f64s_t){values, (uint32_t)(now_hour - first)};
    return true;
}

uint32_t helio_energy_account_series(const helio_energy_account_t *self, int64_t wall_ms, helio_arena_t *arena,
                                     helio_series_t *ret_series)
{
#define WORD(name, word) word,
    static const char *const words[] = {HELIO_ENERGY_ACCOUNT_PART_TABLE(WORD)};
    int64_t hour = helio_floor(wall_ms, HOUR_MS);
    uint32_t count = 0;
    for (uint32_t p = 0; p < self->profile->pools.count; p++)
        for (uint32_t part = 0; part < HELIO_ENERGY_ACCOUNT_METER; part++) {
            helio_series_t series = {.pool = self->profile->pools.items[p].name,
                                     .kind = helio_text_of(words[part]),
                                     .source = self->nvml ? HELIO_TEXT("nvml") : HELIO_TEXT("model")};
            bool told = self->nvml || (self->pools[p].use.known && has_power(&self->profile->pools.items[p]));
            if (told && add_series(self, p, part, false, hour, arena, &series))
                ret_series[count++] = series;
        }
    helio_series_t meter = {.kind = helio_text_of(words[HELIO_ENERGY_ACCOUNT_METER]),
                            .source = helio_text_of(self->meter.source)};
    if (add_series(self, self->profile->pools.count, HELIO_ENERGY_ACCOUNT_IDLE, true, hour, arena, &meter))
        ret_series[count++] = meter;
    return count;
}
