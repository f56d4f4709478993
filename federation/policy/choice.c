/*  choice.c -- filters a pool for a class, and scores its starts now and later. */
#include "federation/policy/choice.h"

#include <stddef.h>
#include <string.h>

#include "federation/policy/spot.h"

/*  Greedy matching with one backtracking point: the last '*'. */
bool helio_pattern_match(helio_text_t pattern, helio_text_t text)
{
    uint32_t p = 0, t = 0, star = UINT32_MAX, star_t = 0;
    while (t < text.size) {
        if (p < pattern.size && pattern.data[p] == '*') {
            star = p++;
            star_t = t;
        } else if (p < pattern.size && pattern.data[p] == text.data[t]) {
            p++;
            t++;
        } else if (star != UINT32_MAX) {
            p = star + 1;
            t = ++star_t;
        } else {
            return false;
        }
    }
    while (p < pattern.size && pattern.data[p] == '*')
        p++;
    return p == pattern.size;
}

bool helio_patterns_allow(const helio_string_t *patterns, uint32_t count, helio_text_t text)
{
    bool any_plain = false, matched = false;
    for (uint32_t i = 0; i < count; i++) {
        helio_text_t pattern = patterns[i].text;
        if (pattern.size && pattern.data[0] == '!') {
            if (helio_pattern_match((helio_text_t){pattern.data + 1, pattern.size - 1}, text))
                return false;
        } else {
            any_plain = true;
            matched = matched || helio_pattern_match(pattern, text);
        }
    }
    return !any_plain || matched;
}

bool helio_region_is_within(helio_text_t region, helio_text_t asked)
{
    bool below = asked.size && region.size > asked.size && region.data[asked.size] == '-' &&
                 helio_text_equal(asked, (helio_text_t){region.data, asked.size});
    return below || helio_pattern_match(asked, region);
}

/*  Data residency. As for sites, exclusion wins: "EU, !EU-PL" and "!EU" exclude everything below the excluded
 *  region. */
static bool regions_allow(const helio_requirement_t *want, helio_text_t region)
{
    bool any_plain = false, matched = false;
    for (uint32_t i = 0; i < want->regions.count; i++) {
        helio_text_t asked = want->regions.items[i].text;
        if (asked.size && asked.data[0] == '!') {
            if (helio_region_is_within(region, (helio_text_t){asked.data + 1, asked.size - 1}))
                return false;
        } else {
            any_plain = true;
            matched = matched || helio_region_is_within(region, asked);
        }
    }
    return !any_plain || matched;
}

static bool backends_allow(const helio_requirement_t *want, helio_text_t backend)
{
    for (uint32_t i = 0; i < want->backends.count; i++)
        if (helio_text_equal(want->backends.items[i].text, backend))
            return true;
    return want->backends.count == 0;
}

static helio_rejection_t ask_fits(const helio_requirement_t *want, const helio_gpu_ask_t *ask, const helio_pool_t *pool)
{
    uint32_t nodes = helio_pool_nodes_most(pool);
    helio_text_t model = helio_gpu_model(pool->gpu), slice = helio_gpu_slice(pool->gpu);
    bool named = ask->model.size || ask->mig.size; /* otherwise any GPU that is large enough, whole or sliced */
    if ((ask->model.size && !helio_text_equal(ask->model, model)) || !pool->gpus_per_node ||
        (named && !helio_text_equal(ask->mig, slice)) || ask->memory_bytes > pool->gpu_memory_bytes)
        return HELIO_REJECTION_NO_SUCH_GPU;
    bool asked_for = ask->mig.size && pool->sharing == HELIO_SHARING_MIG;
    if (pool->sharing > want->sharing && !asked_for)
        return HELIO_REJECTION_NO_SHARING;
    if (ask->count > pool->gpus_per_node || want->nodes > nodes)
        return HELIO_REJECTION_TOO_SMALL;
    return HELIO_REJECTION_NONE;
}

/*  The first alternative that the pool could ever run; otherwise the rejection of the alternative that came
 *  furthest. */
static helio_rejection_t fits_ever(const helio_requirement_t *want, const helio_pool_t *pool, helio_candidate_t *c)
{
    uint32_t nodes = helio_pool_nodes_most(pool);
    helio_rejection_t miss = HELIO_REJECTION_NONE;
    for (uint32_t i = 0; i < want->gpus.count; i++) {
        helio_rejection_t r = ask_fits(want, &want->gpus.items[i], pool);
        if (r == HELIO_REJECTION_NONE) {
            c->ask = i;
            c->gpus_per_node = want->gpus.items[i].count;
            miss = HELIO_REJECTION_NONE;
            break;
        }
        miss = r > miss ? r : miss;
    }
    if (miss != HELIO_REJECTION_NONE)
        return miss;
    /* undeclared CPUs or memory of a pool are not checked */
    if (want->nodes > nodes || (pool->cpus_per_node && want->cpus > pool->cpus_per_node) ||
        (pool->memory_bytes_per_node && want->memory_bytes > pool->memory_bytes_per_node))
        return HELIO_REJECTION_TOO_SMALL;
    if (want->interconnect != HELIO_INTERCONNECT_ANY && pool->interconnect < want->interconnect)
        return HELIO_REJECTION_NO_INTERCONNECT;
    if (!want->gpus.count && pool->sharing > want->sharing)
        return HELIO_REJECTION_NO_SHARING;
    return HELIO_REJECTION_NONE;
}

/* ---- names of the local scheduler ------------------------------------------------------------------------- */

static bool is_listed(helio_text_t values, helio_text_t word)
{
    for (uint32_t at = 0, end; at < values.size; at = end + 1) {
        for (end = at; end < values.size && values.data[end] != ',';)
            end++;
        if (helio_text_equal((helio_text_t){values.data + at, end - at}, word))
            return true;
    }
    return false;
}

/*  The next word of a list of partitions or of an expression of features ("a100&(ib|roce)*2"): *at is moved behind
 *  it. Counts, negations and what it may contain beside words are left out. */
static helio_text_t next_word(helio_text_t text, uint32_t *at)
{
    static const char apart[] = ",&|()[]* \t";
    while (*at < text.size && strchr(apart, text.data[*at])) {
        bool count = text.data[(*at)++] == '*';
        while (count && *at < text.size && text.data[*at] >= '0' && text.data[*at] <= '9')
            (*at)++;
    }
    uint32_t from = *at;
    while (*at < text.size && !strchr(apart, text.data[*at]))
        (*at)++;
    return (helio_text_t){text.data + from, *at - from};
}

enum { NAMES_MAX = 32 }; /* of one expression; a longer one costs too much, and is left to the cluster */

/*  Whether the pool has what is asked for: of partitions and of alternatives one, of features all. An expression that
 *  may mean more than that is left to the cluster. */
static bool has_names(helio_text_t values, helio_text_t asked, bool any)
{
    uint32_t at = 0;
    for (uint32_t count = 0; count < NAMES_MAX; count++) {
        helio_text_t word = next_word(asked, &at);
        if (!word.size)
            return !count || !any; /* none of the alternatives, or all of the features */
        bool has = word.data[0] == '!' || is_listed(values, word);
        if (has == any)
            return has;
    }
    return true;
}

helio_missing_name_t helio_choice_missing_name(const helio_requirement_t *want, const helio_pool_t *pool)
{
    bool alternatives = want->constraint.size && (memchr(want->constraint.data, '|', want->constraint.size) ||
                                                  memchr(want->constraint.data, '[', want->constraint.size));
    const struct {
        helio_text_t option, value;
        bool any;
    } asked[] = {{HELIO_TEXT("partition"), want->partition, true},
                 {HELIO_TEXT("constraint"), want->constraint, alternatives}};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++)
        for (uint32_t k = 0; asked[i].value.size && k < pool->options.count; k++) {
            const helio_pool_option_t *has = &pool->options.items[k];
            if (helio_text_equal(has->option, asked[i].option) && !has_names(has->values, asked[i].value, asked[i].any))
                return (helio_missing_name_t){asked[i].option, asked[i].value, has->values};
        }
    return (helio_missing_name_t){0};
}

helio_candidate_t helio_choice_filter(const helio_requirement_t *want, const helio_site_profile_t *site,
                                      const helio_pool_t *pool)
{
    helio_candidate_t c = {0};
    if (!helio_patterns_allow(want->sites.items, want->sites.count, site->name))
        c.rejection = HELIO_REJECTION_SITE_PATTERN;
    else if (!regions_allow(want, site->region))
        c.rejection = HELIO_REJECTION_RESIDENCY;
    else if (!backends_allow(want, site->backend))
        c.rejection = HELIO_REJECTION_BACKEND;
    else
        c.rejection = fits_ever(want, pool, &c);
    if (c.rejection == HELIO_REJECTION_NONE && want->nodes > 1 && !helio_site_runs_gangs(site, pool))
        c.rejection = HELIO_REJECTION_TOO_SMALL; /* its adapter starts no gangs */
    if (want->whole_nodes && helio_text_is(site->backend, "slurm"))
        c.gpus_per_node = pool->gpus_per_node; /* Slurm allocates all of them */
    if (c.rejection == HELIO_REJECTION_NONE && want->container && !site->containers)
        c.rejection = HELIO_REJECTION_NO_CONTAINER_RUNTIME;
    if (c.rejection == HELIO_REJECTION_NONE && want->lease && !site->leases)
        c.rejection = HELIO_REJECTION_NO_LEASES;
    if (c.rejection == HELIO_REJECTION_NONE && !helio_spot_allows(want, pool))
        c.rejection = HELIO_REJECTION_NO_SPOT;
    if (c.rejection == HELIO_REJECTION_NONE && !helio_site_maps(site, want->tenant))
        c.rejection = HELIO_REJECTION_NO_USER_MAPPING;
    if (c.rejection == HELIO_REJECTION_NONE && helio_choice_missing_name(want, pool).option.size)
        c.rejection = HELIO_REJECTION_NO_SUCH_NAME;
    return c;
}

static uint64_t intensity(const helio_pool_forecast_t *pool_forecast, const helio_plan_t *plan)
{
    if (plan->energy_j)
        return helio_plan_mg_per_kwh(plan);
    return (uint64_t)pool_forecast->carbon[helio_pool_forecast_hour(pool_forecast, plan->start_ms)];
}

/*  Inputs of the checks of a start, beside those of its score. */
typedef struct bounds {
    const helio_requirement_t *want;
    const helio_site_now_t *now;
    helio_work_t high; /* as if it took run_high_ms */
} bounds_t;

/*  Including the transfer of the job's data. */
static int64_t takes_ms(const bounds_t *bounds)
{
    return (int64_t)(bounds->now->extras.transfer.ms + bounds->high.run_ms);
}

static bool caps_need_a_plan(const helio_requirement_t *want)
{
    return want->max_cost_micro_usd || want->max_carbon_mg_per_kwh;
}

/*  A start at `start_ms`, scored as if at `weighed_ms`, checked against the job's deadline and caps. */
static helio_rejection_t caps(const bounds_t *bounds, int64_t start_ms, int64_t weighed_ms, helio_plan_t *ret_high)
{
    const helio_requirement_t *want = bounds->want;
    const helio_pool_forecast_t *pool_forecast = bounds->now->pool_forecast;
    *ret_high = (helio_plan_t){0};
    if (caps_need_a_plan(want))
        *ret_high = helio_plan_of(pool_forecast, &bounds->high, &bounds->now->extras, weighed_ms);
#ifdef HELIO_MUTANT_deadline_ignored
    (void)start_ms;
#else
    if (want->deadline_wall_ms && start_ms + takes_ms(bounds) > want->deadline_wall_ms)
        return HELIO_REJECTION_DEADLINE;
#endif
    int64_t cost = ret_high->cost_micro_usd + bounds->now->extras.transfer.egress_micro_usd;
    if (want->max_cost_micro_usd && cost > (int64_t)want->max_cost_micro_usd)
        return HELIO_REJECTION_COST_CAP;
    /* an unknown intensity cannot be shown to be below a cap */
    if (want->max_carbon_mg_per_kwh &&
        (!pool_forecast->carbon_from.known || intensity(pool_forecast, ret_high) > want->max_carbon_mg_per_kwh))
        return HELIO_REJECTION_CARBON_CAP;
    return HELIO_REJECTION_NONE;
}

int64_t helio_choice_worth(const helio_plan_t *later, const helio_plan_t *now, int64_t wall_ms, bool held)
{
    return later->score_micro_usd + helio_plan_patience(now, later, later->start_ms - wall_ms, held);
}

int64_t helio_choice_rank(const helio_plan_t *later, const helio_plan_t *now, int64_t wall_ms, bool held)
{
    return helio_choice_worth(later, now, wall_ms, held) - (held ? helio_plan_switch_margin(now) : 0);
}

/*  The last hour at which a deferred start may begin; with `any`, regardless of the job's `flexible`. */
static int64_t latest_start(const bounds_t *bounds, bool any)
{
    const helio_requirement_t *want = bounds->want;
    int64_t wall_ms = bounds->now->wall_ms;
    int64_t latest = wall_ms + (int64_t)HELIO_START_AHEAD_H * HELIO_HOUR_MS;
    if (!any && want->free_until_ms < latest)
        latest = want->free_until_ms;
    if (want->deadline_wall_ms && want->deadline_wall_ms - takes_ms(bounds) < latest)
        latest = want->deadline_wall_ms - takes_ms(bounds);
    return latest;
}

static void look_ahead(const bounds_t *bounds, const helio_work_t *work, helio_candidate_t *c)
{
    const helio_site_now_t *now = bounds->now;
    bool capped = c->rejection != HELIO_REJECTION_NONE;
    int64_t allowed = latest_start(bounds, false), latest = latest_start(bounds, capped);
    int64_t best = INT64_MAX, t = now->wall_ms - now->wall_ms % HELIO_HOUR_MS + HELIO_HOUR_MS;
    helio_plan_t high;
    for (; t <= latest && !(t > allowed && c->not_before_ms); t += HELIO_HOUR_MS) {
        if (caps(bounds, t, t, &high) != HELIO_REJECTION_NONE)
            continue;
        helio_plan_t plan = helio_plan_of(now->pool_forecast, work, &now->extras, t);
        if (capped && !c->not_before_ms)
            c->not_before_ms = t;
        int64_t rank = helio_choice_rank(&plan, &c->now, now->wall_ms, t == now->held_start_ms);
        if (t <= allowed && rank < best) {
            best = rank;
            c->later = plan;
        }
    }
}

/*  The score of a start that does not wait in the site's own queue. */
static int64_t unqueued_score(const helio_work_t *work, const helio_site_now_t *now, int64_t start_ms)
{
    helio_extras_t extras = now->extras;
    extras.queue_wait_ms = 0;
    return helio_plan_of(now->pool_forecast, work, &extras, start_ms).score_micro_usd;
}

helio_candidate_t helio_choice_judge(const helio_requirement_t *want, const helio_site_profile_t *site,
                                     const helio_pool_t *pool, const helio_site_now_t *given)
{
    helio_candidate_t c = helio_choice_filter(want, site, pool);
    if (c.rejection == HELIO_REJECTION_NONE && given->extras.no_link)
        c.rejection = HELIO_REJECTION_NO_LINK;
    if (c.rejection != HELIO_REJECTION_NONE)
        return c;
    c.transfer = given->extras.transfer;
    int64_t step_ms = given->wall_ms - given->wall_ms % HELIO_SCORE_STEP_MS;
    c.run_ms = helio_requirement_run_ms(want, pool->gpu);
    c.run_high_ms = helio_requirement_run_high_ms(want, pool->gpu);
    c.redo_ppm = helio_spot_redo_ppm(want, pool, c.run_ms);
    helio_site_now_t whole = *given;
    whole.extras.redo_ppm = c.redo_ppm;
    const helio_site_now_t *now = &whole;
    helio_work_t work = {
        .gpus = (uint64_t)c.gpus_per_node * want->nodes,
        .run_ms = c.run_ms,
        .prices = {want->carbon_price_micro_usd_per_t, want->wait_price_micro_usd_per_gpu_h,
                   want->scarcity_price_micro_usd_per_gpu_h},
        .now_ms = step_ms,
        .free_until_ms = want->free_until_ms,
        .objective = now->objective,
    };
    bounds_t bounds = {want, now, work};
    bounds.high.run_ms = c.run_high_ms;
    helio_plan_t high;
    c.now = helio_plan_of(now->pool_forecast, &work, &now->extras, step_ms);
    c.spot_micro_usd = c.now.spot_micro_usd;
    c.queue_wait_ms = now->extras.queue_wait_ms;
    c.queue_micro_usd = c.queue_wait_ms ? c.now.score_micro_usd - unqueued_score(&work, now, step_ms) : 0;
    c.rejection = caps(&bounds, now->wall_ms, step_ms, &high);
    c.high_cost_micro_usd = high.cost_micro_usd;
    c.high_mg_per_kwh = helio_plan_mg_per_kwh(&high);
    if ((now->ready || now->away) && !now->draining &&
        (want->free_until_ms > now->wall_ms || c.rejection != HELIO_REJECTION_NONE))
        look_ahead(&bounds, &work, &c);
    if (c.rejection == HELIO_REJECTION_NONE && now->draining)
        c.rejection = HELIO_REJECTION_DRAINING;
    if (c.rejection == HELIO_REJECTION_NONE && !now->ready)
        c.rejection = HELIO_REJECTION_SITE_SILENT;
    return c;
}
