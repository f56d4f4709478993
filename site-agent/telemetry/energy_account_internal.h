/*  energy_account_internal.h -- the state of the account, in memory and on disk. */
#ifndef HELIO_TELEMETRY_ENERGY_ACCOUNT_INTERNAL_H
#define HELIO_TELEMETRY_ENERGY_ACCOUNT_INTERNAL_H

#include <math.h>

#include "site-agent/telemetry/energy_account.h"

typedef struct account_hour {
    int64_t hour; /* since 1970; 0 = none */
    double joules[HELIO_ENERGY_ACCOUNT_METER];
    int32_t covered_ms[HELIO_ENERGY_ACCOUNT_METER];
    bool estimated;
} account_hour_t;

typedef struct account_use {
    bool known;
    uint32_t total, ours, others;
} account_use_t;

typedef struct account_pool {
    char name[33];
    account_use_t use;
    account_hour_t hours[HELIO_ENERGY_ACCOUNT_HOURS]; /* by hour modulo */
} account_pool_t;

typedef struct account_gpu {
    char holder[HELIO_ENERGY_ACCOUNT_NAME_SIZE]; /* "" = no attempt of the federation */
    bool known, busy;
    uint64_t mj;   /* last reading, or when it was taken */
    int64_t at_ms; /* 0 = never */
} account_gpu_t;

typedef struct account_meter {
    bool known, cumulative, news;
    char source[65];
    helio_energy_account_reading_t last;
} account_meter_t;

struct helio_energy_account {
    const helio_site_profile_t *profile;
    const helio_nvml_t *nvml;
    char *state_dir;
    double pue;
    int64_t began_ms, tick_ms;
    int64_t told_hour;
    account_gpu_t gpus[HELIO_NVML_GPUS_MAX];
    uint32_t gpu_count;
    account_meter_t meter; /* its hours are the first part of pools[profile->pools.count] */
    account_pool_t *pools;
};

static inline bool helio_energy_account_is_pue(double pue)
{
    const helio_signal_range_t range = helio_signal_range(HELIO_SIGNAL_PUE);
    return isfinite(pue) && pue >= range.least && pue <= range.most;
}

/*  energy_account_file.c: loads the stored account, if a valid one exists. */
void helio_energy_account_load(helio_energy_account_t *self, int64_t wall_ms);

#endif
