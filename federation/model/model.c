/*  model.c -- the descriptions and tables behind the model's headers. */
#include <stdlib.h>
#include <string.h>

#include "federation/model/attempt.h"
#include "federation/model/job.h"
#include "federation/model/site.h"

HELIO_RECORD_DEFINE(helio_gpu_ask, HELIO_GPU_ASK_FIELDS)
HELIO_RECORD_DEFINE(helio_pair, HELIO_PAIR_FIELDS)
HELIO_RECORD_DEFINE(helio_string, HELIO_STRING_FIELDS)
HELIO_RECORD_DEFINE(helio_data_ask, HELIO_DATA_ASK_FIELDS)
HELIO_RECORD_DEFINE(helio_job_spec, HELIO_JOB_SPEC_FIELDS)
HELIO_RECORD_DEFINE(helio_pool_option, HELIO_POOL_OPTION_FIELDS)
HELIO_RECORD_DEFINE(helio_pool, HELIO_POOL_FIELDS)
HELIO_RECORD_DEFINE(helio_site_profile, HELIO_SITE_PROFILE_FIELDS)
HELIO_RECORD_DEFINE(helio_pool_demand, HELIO_POOL_DEMAND_FIELDS)
HELIO_RECORD_DEFINE(helio_pool_capacity, HELIO_POOL_CAPACITY_FIELDS)
HELIO_RECORD_DEFINE(helio_series, HELIO_SERIES_FIELDS)
HELIO_RECORD_DEFINE(helio_site_summary, HELIO_SITE_SUMMARY_FIELDS)
HELIO_RECORD_DEFINE(helio_order, HELIO_ORDER_FIELDS)
HELIO_RECORD_DEFINE(helio_report, HELIO_REPORT_FIELDS)
HELIO_RECORD_DEFINE(helio_holding, HELIO_HOLDING_FIELDS)
HELIO_RECORD_DEFINE(helio_attempt_verdict, HELIO_ATTEMPT_VERDICT_FIELDS)
HELIO_RECORD_DEFINE(helio_stop, HELIO_STOP_FIELDS)
HELIO_RECORD_DEFINE(helio_attempt_signal, HELIO_ATTEMPT_SIGNAL_FIELDS)
HELIO_RECORD_DEFINE(helio_argument, HELIO_ARGUMENT_FIELDS)

static const char *word_at(const char *const *words, uint32_t count, uint32_t value)
{
    return value < count ? words[value] : "unknown";
}

#define WORD(name, word) word,
#define ENUM_DEFINE(name, PREFIX, TABLE)                                        \
    static const char *const name##_names[] = {TABLE(WORD)};                    \
    const char *name##_name(uint32_t value)                                     \
    {                                                                           \
        return word_at(name##_names, PREFIX##_COUNT, value);                    \
    }                                                                           \
    helio_rc name##_of(helio_text_t word, uint32_t *ret_value)                  \
    {                                                                           \
        return helio_text_among(word, name##_names, PREFIX##_COUNT, ret_value); \
    }

ENUM_DEFINE(helio_job_kind, HELIO_JOB_KIND, HELIO_JOB_KIND_TABLE)
ENUM_DEFINE(helio_tier, HELIO_TIER, HELIO_TIER_TABLE)
ENUM_DEFINE(helio_site_loss, HELIO_SITE_LOSS, HELIO_SITE_LOSS_TABLE)
ENUM_DEFINE(helio_interconnect, HELIO_INTERCONNECT, HELIO_INTERCONNECT_TABLE)
ENUM_DEFINE(helio_sharing, HELIO_SHARING, HELIO_SHARING_TABLE)
ENUM_DEFINE(helio_goal, HELIO_GOAL, HELIO_GOAL_TABLE)
ENUM_DEFINE(helio_better_site, HELIO_BETTER_SITE, HELIO_BETTER_SITE_TABLE)
ENUM_DEFINE(helio_spot, HELIO_SPOT, HELIO_SPOT_TABLE)
ENUM_DEFINE(helio_data_mode, HELIO_DATA_MODE, HELIO_DATA_MODE_TABLE)
ENUM_DEFINE(helio_signal, HELIO_SIGNAL, HELIO_SIGNAL_TABLE)
ENUM_DEFINE(helio_feed_state, HELIO_FEED_STATE, HELIO_FEED_STATE_TABLE)
ENUM_DEFINE(helio_site_state, HELIO_SITE_STATE, HELIO_SITE_STATE_TABLE)
ENUM_DEFINE(helio_report_kind, HELIO_REPORT_KIND, HELIO_REPORT_KIND_TABLE)
ENUM_DEFINE(helio_verdict, HELIO_VERDICT, HELIO_VERDICT_TABLE)
ENUM_DEFINE(helio_stop_mode, HELIO_STOP_MODE, HELIO_STOP_MODE_TABLE)
ENUM_DEFINE(helio_job_signal, HELIO_JOB_SIGNAL, HELIO_JOB_SIGNAL_TABLE)
ENUM_DEFINE(helio_signal_to, HELIO_SIGNAL_TO, HELIO_SIGNAL_TO_TABLE)
ENUM_DEFINE(helio_channel_kind, HELIO_CHANNEL_KIND, HELIO_CHANNEL_KIND_TABLE)
ENUM_DEFINE(helio_channel_stream, HELIO_CHANNEL_STREAM, HELIO_CHANNEL_STREAM_TABLE)

static const char *const state_names[] = {
#define STATE(name, word, live, terminal) word,
#include "federation/model/job_state.def"
};

static const struct {
    bool live;
    bool terminal;
} state_traits[] = {
#define STATE(name, word, live, terminal) {live, terminal},
#include "federation/model/job_state.def"
};

static const struct {
    uint32_t from;
    uint32_t to;
    const char *why;
} edges[] = {
#define EDGE(from, to, why) {HELIO_JOB_##from, HELIO_JOB_##to, why},
#include "federation/model/job_state.def"
};

const char *helio_job_state_name(uint32_t state)
{
    return word_at(state_names, HELIO_JOB_STATE_COUNT, state);
}

helio_rc helio_job_state_of(helio_text_t word, uint32_t *ret_state)
{
    return helio_text_among(word, state_names, HELIO_JOB_STATE_COUNT, ret_state);
}

bool helio_job_state_is_live(uint32_t state)
{
    return state < HELIO_JOB_STATE_COUNT && state_traits[state].live;
}

bool helio_job_state_is_terminal(uint32_t state)
{
    return state < HELIO_JOB_STATE_COUNT && state_traits[state].terminal;
}

const char *helio_job_state_edge_why(uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        if (edges[i].from == from && edges[i].to == to)
            return edges[i].why;
    return NULL;
}

bool helio_job_state_edge(uint32_t from, uint32_t to)
{
    return helio_job_state_edge_why(from, to) != NULL;
}

uint32_t helio_job_state_edge_mask(uint32_t from)
{
    uint32_t mask = 0;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        if (edges[i].from == from)
            mask |= 1U << edges[i].to;
    return mask;
}

static uint32_t slash_of(helio_text_t gpu)
{
    uint32_t at = 0;
    while (at < gpu.size && gpu.data[at] != '/')
        at++;
    return at;
}

bool helio_site_runs_gangs(const helio_site_profile_t *site, const helio_pool_t *pool)
{
    if (!helio_text_is(site->backend, "exec"))
        return true;
    for (uint32_t i = 0; i < pool->options.count; i++)
        if (helio_text_is(pool->options.items[i].option, HELIO_POOL_OPTION_GANGS))
            return helio_text_is(pool->options.items[i].values, "yes");
    return false;
}

uint32_t helio_pool_nodes_most(const helio_pool_t *pool)
{
    return pool->elastic && pool->max_nodes > pool->nodes ? pool->max_nodes : pool->nodes;
}

double helio_pool_rent_usd(const helio_pool_t *pool)
{
    return pool->spot && pool->spot_usd_per_gpu_h > 0 ? pool->spot_usd_per_gpu_h : pool->price_usd_per_gpu_h;
}

helio_text_t helio_gpu_model(helio_text_t gpu)
{
    return (helio_text_t){gpu.data, slash_of(gpu)};
}

helio_text_t helio_gpu_slice(helio_text_t gpu)
{
    uint32_t at = slash_of(gpu);
    return at < gpu.size ? (helio_text_t){gpu.data + at + 1, gpu.size - at - 1} : (helio_text_t){0};
}

uint32_t helio_gpu_sevenths(helio_text_t gpu)
{
    helio_text_t slice = helio_gpu_slice(gpu);
    bool named = slice.size > 1 && slice.data[0] >= '1' && slice.data[0] <= '7' && slice.data[1] == 'g';
    return named ? (uint32_t)(slice.data[0] - '0') : 7;
}

helio_signal_range_t helio_signal_range(uint32_t signal)
{
    static const helio_signal_range_t ranges[HELIO_SIGNAL_COUNT] = {
        [HELIO_SIGNAL_FREE_GPUS] = {0, 1e7, true},
        /* Of a GPU-hour; as site files have it. The dearest GPUs come to tens of dollars */
        [HELIO_SIGNAL_PRICE] = {0, 1e4, false},
        /* Grids come to a few dollars. The least is about the lowest limit of an exchange, that of the European intraday
         * market: -9,999 EUR/MWh (ACER's decision of 14 November 2017 on harmonised maximum and minimum clearing prices
         * for single intraday coupling) */
        [HELIO_SIGNAL_ELECTRICITY] = {-10, 100, false},
        [HELIO_SIGNAL_CARBON] = {0, 1e5, true},
        [HELIO_SIGNAL_PUE] = {1, 10, true},
        [HELIO_SIGNAL_POWER] = {0, 2e9, true}, /* of a site: a gigawatt is the largest possible */
        [HELIO_SIGNAL_RESERVED] = {0, 1e7, false},
    };
    return signal < HELIO_SIGNAL_COUNT ? ranges[signal] : (helio_signal_range_t){-2e9, 2e9, false};
}

static int by_name(const void *a_, const void *b_)
{
    const helio_text_t a = ((const helio_string_t *)a_)->text, b = ((const helio_string_t *)b_)->text;
    uint32_t least = a.size < b.size ? a.size : b.size;
    int order = least ? memcmp(a.data, b.data, least) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

void helio_site_tenants_sort(helio_site_profile_t *profile)
{
    if (profile->tenants.count)
        qsort(profile->tenants.items, profile->tenants.count, sizeof *profile->tenants.items, by_name);
}

bool helio_site_maps(const helio_site_profile_t *profile, helio_text_t tenant)
{
    const helio_string_t all = {HELIO_TEXT("*")}, own = {tenant}, *items = profile->tenants.items;
    uint32_t count = profile->tenants.count;
    return !profile->tenants_reported || (count && (bsearch(&own, items, count, sizeof *items, by_name) ||
                                                    bsearch(&all, items, count, sizeof *items, by_name)));
}

uint64_t helio_job_grace_ms(const helio_job_spec_t *spec, uint64_t default_ms)
{
    uint64_t grace_ms = spec->checkpoint_grace_ms ? spec->checkpoint_grace_ms : default_ms;
#ifdef HELIO_MUTANT_grace_without_end
    return grace_ms;
#endif
    return grace_ms < HELIO_JOB_GRACE_MAX_MS ? grace_ms : HELIO_JOB_GRACE_MAX_MS;
}
