/*  sim_properties -- the promises on whole runs, over random fleets and jobs. Exit 1 at the first seed that breaks a
 *  promise.
 *      sim_properties --seeds A..B [--only PROPERTY] [--sites N] [--jobs N] [--trace] [--hashes] [--expect-violation]
 *
 *  --hashes: prints a hash of the effects of each seed and property. A change that only moves code changes no hash. A
 *  seed reproduces a run; fewer --sites and --jobs shrink it (the first N stay the same). --expect-violation: for
 *  mutants.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/field.h"

typedef struct settings {
    uint64_t first, last;
    const char *only;
    uint32_t sites, jobs;
    bool trace, expect_violation, hashes;
} settings_t;

typedef struct verdict {
    char violation[320];
    uint64_t steps, placements, preemptions;
    uint64_t hash; /* of all effects */
} verdict_t;

static const char *const models[] = {"H100", "A100", "L40S"};

static void end(field_t **field_p, verdict_t *verdict)
{
    field_t *field = *field_p;
    if (!verdict->violation[0])
        memcpy(verdict->violation, field->violation, sizeof verdict->violation);
    verdict->steps += field->steps;
    verdict->placements += field->placements;
    verdict->preemptions += field->preemptions;
    verdict->hash = helio_hash(verdict->hash, &field->hash, sizeof field->hash);
    field_destroy(field_p);
}

/* ---- random fleets and jobs: each draws numbers of its own, so that a smaller fleet keeps its first sites ---- */

static helio_rng_t of(uint64_t seed, uint64_t what, uint64_t which)
{
    helio_rng_t rng = {seed * UINT64_C(0x9e3779b97f4a7c15) ^ what << 48 ^ which << 32};
    (void)helio_rng_next(&rng);
    return rng;
}

static void make_sites(field_t *field, const settings_t *settings)
{
    helio_rng_t rng = of(field->seed, 1, 0);
    uint32_t count = 1 + (uint32_t)helio_rng_below(&rng, helio_rng_below(&rng, 2) ? 4 : FIELD_SITES_MAX);
    for (uint32_t s = 0; s < count && s < settings->sites; s++) {
        field_site_t *site = field_site(field);
        helio_rng_t mine = of(field->seed, 2, s);
        uint32_t pools = 1 + (uint32_t)helio_rng_below(&mine, FIELD_POOLS_MAX);
        site->profile.carbon_g_per_kwh = 20 + (double)helio_rng_below(&mine, 100000) / 128;
        site->profile.electricity_usd_per_kwh = (double)helio_rng_below(&mine, 100000) / 4e5;
        for (uint32_t p = 0; p < pools; p++) {
            helio_pool_t *pool = field_pool(
                field, site, models[helio_rng_below(&mine, 3)], 1 + (uint32_t)helio_rng_below(&mine, FIELD_NODES_MAX),
                UINT32_C(1) << helio_rng_below(&mine, 4), (double)helio_rng_below(&mine, 100000) / 2e4);
            pool->owned = !helio_rng_below(&mine, 3);
        }
    }
}

static void join_all(field_t *field, uint64_t shift)
{
    for (uint32_t i = 0; i < field->site_count; i++)
        field_join(field, (uint32_t)((i + shift) % field->site_count));
}

static bool fits_somewhere(const field_t *field, const field_job_t *job)
{
    for (uint32_t s = 0; s < field->site_count; s++)
        for (uint32_t p = 0; p < field->sites[s].profile.pools.count; p++) {
            const helio_pool_t *pool = &field->sites[s].pools[p];
            for (uint32_t i = 0; i < job->spec.gpus.count; i++) {
                const helio_gpu_ask_t *ask = &job->spec.gpus.items[i];
                if ((!ask->model.size || helio_text_equal(ask->model, pool->gpu)) &&
                    ask->count <= pool->gpus_per_node && job->spec.nodes <= pool->nodes)
                    return true;
            }
        }
    return false;
}

/*  Jobs of all kinds: gangs, alternatives, goals, tiers, flexible ones, deadlines, checkpoints, jobs that can migrate,
 *  jobs that fit nowhere. */
static field_job_t *make_job(field_t *field, uint32_t index)
{
    helio_rng_t rng = of(field->seed, 3, index);
    uint64_t limit = 2 * FIELD_MINUTE + helio_rng_below(&rng, 58) * FIELD_MINUTE;
    uint64_t run = FIELD_MINUTE + 1 + helio_rng_below(&rng, limit - FIELD_MINUTE);
    uint32_t nodes = helio_rng_below(&rng, 4) ? 1 : 1 + (uint32_t)helio_rng_below(&rng, 4);
    field_job_t *job = field_job(field, helio_rng_below(&rng, 4) ? models[helio_rng_below(&rng, 3)] : "",
                                 UINT32_C(1) << helio_rng_below(&rng, 4), nodes, limit, run);
    job->tenant = (uint32_t)helio_rng_below(&rng, FIELD_TENANTS);
    job->queue = (uint32_t)helio_rng_below(&rng, FIELD_QUEUES);
    job->spec.goal = (uint32_t)helio_rng_below(&rng, HELIO_GOAL_COUNT);
    if (!helio_rng_below(&rng, 3))
        job->spec.gpus.items[job->spec.gpus.count++] =
            (helio_gpu_ask_t){.model = helio_text_of(models[helio_rng_below(&rng, 3)]), .count = 1};
    if (!helio_rng_below(&rng, 4))
        job->spec.flexible_ms = helio_rng_below(&rng, 3 * FIELD_HOUR);
    if (!helio_rng_below(&rng, 4))
        job->spec.deadline_wall_ms = field_wall_ms(field) + (int64_t)(limit / 2 + helio_rng_below(&rng, 3 * limit));
    if (!helio_rng_below(&rng, 3)) {
        job->spec.checkpoint_every_ms = 5 * FIELD_MINUTE;
        job->spec.checkpoint_grace_ms = 1000 + helio_rng_below(&rng, FIELD_MINUTE);
        job->spec.on_better_site = index % 2 ? HELIO_BETTER_SITE_CHECKPOINT : HELIO_BETTER_SITE_STAY;
    }
    job->hopeless = !fits_somewhere(field, job);
    return job;
}

/*  Never below the largest job, so that every job can end. */
static void change_quota(field_t *field)
{
    uint32_t tenant = (uint32_t)field_below(field, FIELD_TENANTS),
             queue = (uint32_t)field_below(field, FIELD_QUEUES + 1);
    uint32_t burst = 32 + (uint32_t)field_below(field, 16), owed = (uint32_t)field_below(field, 24);
    field_quota(field, tenant, queue, owed, burst, 500 + (uint32_t)field_below(field, 4000));
}

static uint32_t jobs_of(const settings_t *settings, uint64_t seed)
{
    helio_rng_t rng = of(seed, 4, 0);
    uint32_t count = 10 + (uint32_t)helio_rng_below(&rng, 70);
    return count < settings->jobs ? count : settings->jobs;
}

static field_t *run_all(const settings_t *settings, uint64_t seed, uint64_t shift)
{
    field_t *field = field_new(seed, settings->trace);
    make_sites(field, settings);
    join_all(field, shift % field->site_count);
    uint32_t count = jobs_of(settings, seed);
    for (uint32_t i = 0; i < count; i++) {
        if (seed % 2 && i % 4 == 0)
            change_quota(field);
        field_submit(field, make_job(field, i));
        if (field_below(field, 3) == 0)
            field_run(field, (int64_t)field_below(field, 4 * FIELD_MINUTE));
    }
    return field;
}

/* ---- properties ---------------------------------------------------------------------------------------- */

/*  Capacity by the sites' own packing, whole gangs, quotas at every commit, deadlines at every placement; and every job
 *  ends, in at most the time that all jobs take one after another, each up to six times, with a minute between them. */
static void property_run(const settings_t *settings, uint64_t seed, verdict_t *verdict)
{
    field_t *field = run_all(settings, seed, 0);
    int64_t bound_ms = field->now_ms;
    for (uint32_t i = 0; i < field->job_count; i++)
        bound_ms += (int64_t)field->jobs[i].run_ms + 2 * FIELD_MINUTE;
    bound_ms = field->now_ms + 6 * (bound_ms - field->now_ms) + 3 * FIELD_HOUR;
    while (!field_all_over(field) && field->now_ms < bound_ms && !field->violation[0]) {
        bool waits = false; /* those whose deadline has passed wait for ever */
        for (uint32_t i = 0; i < field->job_count; i++) {
            const field_job_t *job = &field->jobs[i];
            waits = waits || !(field_is_over(field, job) || job->hopeless ||
                               (job->spec.deadline_wall_ms && job->state == HELIO_JOB_QUEUED));
        }
        if (!waits)
            break;
        field_run(field, 10 * FIELD_MINUTE);
    }
    for (uint32_t i = 0; i < field->job_count; i++) {
        const field_job_t *job = &field->jobs[i];
        if (field->now_ms >= bound_ms && !job->hopeless && !job->spec.deadline_wall_ms && !field_is_over(field, job))
            field_violate(field, "job %u is not over after all the time that there is", i);
    }
    end(&field, verdict);
}

/*  The same events give the same effects; and the order in which sites register changes no placement. */
static void property_determinism(const settings_t *settings, uint64_t seed, verdict_t *verdict)
{
    field_t *a = run_all(settings, seed, 0), *b = run_all(settings, seed, 0),
            *c = run_all(settings, seed, 1 + seed % 7);
    if (a->hash != b->hash)
        field_violate(a, "the same events had other effects");
    for (uint32_t i = 0; i < a->job_count; i++)
        if (a->jobs[i].site != c->jobs[i].site || a->jobs[i].pool != c->jobs[i].pool ||
            a->jobs[i].placed_ms != c->jobs[i].placed_ms) {
            field_violate(a, "job %u goes to %u/p%u, and to %u/p%u when sites register in another order", i,
                          a->jobs[i].site, a->jobs[i].pool, c->jobs[i].site, c->jobs[i].pool);
            break;
        }
    end(&a, verdict);
    end(&b, verdict);
    end(&c, verdict);
}

/*  One job without similar runs, in an idle fleet: it starts at once if its limit ends before its deadline, and is
 *  refused otherwise. */
static void property_admission(const settings_t *settings, uint64_t seed, verdict_t *verdict)
{
    field_t *field = field_new(seed, settings->trace);
    make_sites(field, settings);
    join_all(field, 0);
    field_job_t *job = make_job(field, 0);
    int64_t slack_ms = (int64_t)field_below(field, 20 * FIELD_MINUTE) - 10 * FIELD_MINUTE;
    job->spec.flexible_ms = 0;
    job->spec.deadline_wall_ms = field_wall_ms(field) + (int64_t)job->spec.time_limit_ms + slack_ms;
    if (job->spec.deadline_wall_ms <= field_wall_ms(field))
        job->spec.deadline_wall_ms = field_wall_ms(field) + 1;
    bool feasible = slack_ms >= 0 && !job->hopeless;
    field_submit(field, job);
    if (!feasible && !field_is_over(field, job))
        field_violate(field, "a job with %lld ms to spare was accepted", (long long)slack_ms);
    field_run(field, 20 * FIELD_SECOND);
    if (!field->violation[0] && feasible != (job->placed_ms >= 0))
        field_violate(field, "a job with %lld ms to spare was%s placed", (long long)slack_ms, feasible ? " not" : "");
    if (feasible && job->placed_ms > FIELD_SECOND)
        field_violate(field, "a job with %lld ms to spare was placed after %lld", (long long)slack_ms,
                      (long long)job->placed_ms);
    end(&field, verdict);
}

/*  What makes a site better in all hours: its rent, its tariff and its intensity, or one of them. */
static void better(field_site_t *site, uint64_t how)
{
    for (uint32_t p = 0; p < site->profile.pools.count && how != 1; p++)
        site->pools[p].price_usd_per_gpu_h *= 0.7;
    if (how != 1)
        site->profile.electricity_usd_per_kwh *= 0.7;
    if (how != 0)
        site->profile.carbon_g_per_kwh *= 0.7;
}

/*  Identical jobs of equal length, all submitted at the start: how many of them each site has run. site = the better
 *  one. */
static field_t *run_equal(const settings_t *settings, uint64_t seed, uint32_t site, uint32_t jobs, uint32_t counts[])
{
    field_t *field = field_new(seed, settings->trace);
    make_sites(field, settings);
    if (site < field->site_count)
        better(&field->sites[site], seed % 3);
    join_all(field, 0);
    for (uint32_t i = 0; i < jobs; i++) {
        field_job_t *job = make_job(field, 0);
        job->spec.deadline_wall_ms = 0;
        job->spec.flexible_ms = 0;
        if (jobs > 1) { /* of equal weight and length */
            job->spec.nodes = 1;
            job->spec.gpus.count = 1;
            job->spec.gpus.items[0].count = 1;
        }
        job->hopeless = !fits_somewhere(field, job);
        field_submit(field, job);
    }
    for (uint32_t i = 0; i < 40 && !field_all_over(field) && !field->violation[0]; i++)
        field_run(field, FIELD_HOUR / 4);
    memset(counts, 0, FIELD_SITES_MAX * sizeof *counts);
    for (uint32_t i = 0; i < field->job_count; i++)
        if (field->jobs[i].site < FIELD_SITES_MAX)
            counts[field->jobs[i].site]++;
    return field;
}

/*  A site that becomes cheaper or cleaner loses no jobs: neither its only job, nor any of many. */
static void property_monotone(const settings_t *settings, uint64_t seed, verdict_t *verdict)
{
    for (uint32_t jobs = 1; jobs <= 41 && jobs <= settings->jobs; jobs += 40) {
        uint32_t before[FIELD_SITES_MAX], after[FIELD_SITES_MAX], site = 0;
        field_t *a = run_equal(settings, seed, FIELD_SITES_MAX, jobs, before);
        while (jobs == 1 && site < a->site_count && !before[site])
            site++;
        if (jobs > 1)
            site = (uint32_t)(seed % a->site_count);
        field_t *b = run_equal(settings, seed, site, jobs, after);
        if (site < a->site_count && after[site] < before[site])
            field_violate(b, "%s had %u of %u jobs, and %u when it is %s", a->sites[site].name, before[site], jobs,
                          after[site],
                          seed % 3 == 0   ? "cheaper"
                          : seed % 3 == 1 ? "cleaner"
                                          : "cheaper and cleaner");
        end(&a, verdict);
        end(&b, verdict);
    }
}

/*  Tenants that always have pending jobs, on one kind of GPU. */
static void backlog(field_t *field, uint32_t tenant, uint32_t count, uint32_t gpus)
{
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < field->job_count; i++)
        waiting += field->jobs[i].tenant == tenant && field->jobs[i].state == HELIO_JOB_QUEUED;
    for (; waiting < count && field->job_count < FIELD_JOBS_MAX; waiting++) {
        uint64_t run = FIELD_MINUTE + field_below(field, 9 * FIELD_MINUTE);
        field_job_t *job = field_job(field, "H100", gpus, 1, 12 * FIELD_MINUTE, run);
        job->tenant = tenant;
        field_submit(field, job);
    }
}

static field_t *one_pool(const settings_t *settings, uint64_t seed)
{
    field_t *field = field_new(seed, settings->trace);
    uint32_t sites = 1 + (uint32_t)field_below(field, 3);
    for (uint32_t s = 0; s < sites; s++)
        (void)field_pool(field, field_site(field), "H100", 2 + (uint32_t)field_below(field, 3), 8, 1 + s);
    join_all(field, 0);
    return field;
}

enum { FAIR_PER_CENT = 3, FAIR_MS = FIELD_HOUR * 3 / 2 };

/*  Shares of GPU time follow the weights over an hour and a half, within 3 % of the whole and one of the largest jobs,
 *  also in a flood. */
static void property_fair(const settings_t *settings, uint64_t seed, verdict_t *verdict)
{
    field_t *field = one_pool(settings, seed);
    uint32_t tenants = 2 + (uint32_t)field_below(field, FIELD_TENANTS - 1), gpus[FIELD_TENANTS];
    double weights[FIELD_TENANTS], total = 0, used = 0, fleet = 0, error = 0;
    for (uint32_t s = 0; s < field->site_count; s++)
        fleet += field->sites[s].pools[0].nodes * 8;
    for (uint32_t t = 0; t < tenants; t++) {
        uint32_t weight = 1 + (uint32_t)field_below(field, 3);
        weights[t] = weight;
        total += weight;
        gpus[t] = UINT32_C(1) << field_below(field, 2);
        error = FAIR_PER_CENT + 100 * gpus[t] / fleet > error ? FAIR_PER_CENT + 100 * gpus[t] / fleet : error;
        field_quota(field, t, FIELD_QUEUES, 0, UINT32_MAX, weight * 1000);
    }
    uint32_t flood = field_below(field, 2) ? 400 : 30;
    for (int64_t until = field->now_ms + FAIR_MS; field->now_ms < until && !field->violation[0];) {
        for (uint32_t t = 0; t < tenants; t++)
            backlog(field, t, t ? 30 : flood, gpus[t]);
        field_run(field, FIELD_MINUTE);
    }
    for (uint32_t t = 0; t < tenants; t++)
        used += field->gpu_ms[t];
    for (uint32_t t = 0; t < tenants && !field->violation[0]; t++) {
        double share = 100 * field->gpu_ms[t] / used, due = 100 * weights[t] / total;
        if (share > due + error || share < due - error)
            field_violate(field, "%s had %.1f %% of the time, its weight entitles it to %.1f %%", field_tenants[t],
                          share, due);
    }
    end(&field, verdict);
}

/*  A tenant that asks for its guarantee has it within the grace of the jobs that hold it, and half a minute. */
static void property_guarantee(const settings_t *settings, uint64_t seed, verdict_t *verdict)
{
    field_t *field = one_pool(settings, seed);
    uint32_t owed = 2 + (uint32_t)field_below(field, 12);
    field_quota(field, 1, FIELD_QUEUES, owed, UINT32_MAX, 1000);
    backlog(field, 0, 300, 1);
    field_run(field, 2 * FIELD_MINUTE);
    backlog(field, 1, owed + 20, 1);
    int64_t asked_ms = field->now_ms;
    while (field->gpus[1] < owed && field->now_ms < asked_ms + FIELD_MINUTE && !field->violation[0])
        field_run(field, FIELD_SECOND);
    if (field->gpus[1] < owed)
        field_violate(field, "a minute after its request %s has %llu of %u GPUs", field_tenants[1],
                      (unsigned long long)field->gpus[1], owed);
    end(&field, verdict);
}

/*  A gang at the head of the queue starts at the latest when all jobs that ran at its submission have reached their
 *  limits, whatever is submitted after it. */
static void property_gang(const settings_t *settings, uint64_t seed, verdict_t *verdict)
{
    field_t *field = one_pool(settings, seed);
    backlog(field, 0, 60 + (uint32_t)field_below(field, 100), 1 + (uint32_t)field_below(field, 2));
    field_run(field, 3 * FIELD_MINUTE + (int64_t)field_below(field, 5 * FIELD_MINUTE));
    field_job_t *gang = field_job(field, "H100", 8, 2, 12 * FIELD_MINUTE, 5 * FIELD_MINUTE);
    gang->tenant = 1;
    field_submit(field, gang);
    int64_t asked_ms = field->now_ms;
    while (gang->placed_ms < 0 && field->now_ms < asked_ms + 13 * FIELD_MINUTE && !field->violation[0]) {
        backlog(field, 0, 60, 1);
        field_run(field, FIELD_MINUTE / 2);
    }
    if (gang->placed_ms < 0)
        field_violate(field, "a gang waits longer than the limits of the jobs that ran at its submission");
    end(&field, verdict);
}

/* ---- the campaign -------------------------------------------------------------------------------------- */

/*  Every seed, or one of several: the last three are long runs. */
static const struct {
    const char *name;
    void (*check)(const settings_t *settings, uint64_t seed, verdict_t *verdict);
    uint32_t every;
} properties[] = {
    {"run", property_run, 1},
    {"determinism", property_determinism, 5},
    {"admission", property_admission, 1},
    {"monotone", property_monotone, 1},
    {"fair", property_fair, 10},
    {"guarantee", property_guarantee, 5},
    {"gang", property_gang, 5},
};
enum { PROPERTIES = sizeof properties / sizeof properties[0] };

static bool run_seed(const settings_t *settings, uint64_t seed, verdict_t totals[PROPERTIES])
{
    for (uint32_t i = 0; i < PROPERTIES; i++) {
        if (seed % properties[i].every || (settings->only && strcmp(settings->only, properties[i].name) != 0))
            continue;
        verdict_t verdict = {.violation = ""};
        properties[i].check(settings, seed, &verdict);
        if (settings->hashes)
            printf("%" PRIu64 " %s %016" PRIx64 " %" PRIu64 "\n", seed, properties[i].name, verdict.hash,
                   verdict.steps);
        totals[i].steps += verdict.steps;
        totals[i].placements += verdict.placements;
        totals[i].preemptions += verdict.preemptions;
        if (verdict.violation[0]) {
            printf("seed %" PRIu64 ", %s: %s\n", seed, properties[i].name, verdict.violation);
            return false;
        }
    }
    return true;
}

/*  True if the child found a violation or died by an assert. */
static bool is_caught(const settings_t *settings, uint64_t seed, verdict_t totals[PROPERTIES])
{
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        bool good = run_seed(settings, seed, totals);
        (void)fflush(stdout);
        _exit(good ? 0 : 1);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && status != 0;
}

static bool parse(int argc, char **argv, settings_t *settings)
{
    *settings = (settings_t){.first = 1, .last = 500, .sites = FIELD_SITES_MAX, .jobs = UINT32_MAX};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        char *rest = NULL;
        if (!strcmp(argv[i], "--trace")) {
            settings->trace = true;
        } else if (!strcmp(argv[i], "--hashes")) {
            settings->hashes = true;
        } else if (!strcmp(argv[i], "--expect-violation")) {
            settings->expect_violation = true;
        } else if (!strcmp(argv[i], "--seeds")) {
            settings->first = settings->last = strtoull(value, &rest, 10);
            if (rest[0] == '.' && rest[1] == '.')
                settings->last = strtoull(rest + 2, NULL, 10);
            i++;
        } else if (!strcmp(argv[i], "--only")) {
            settings->only = value;
            i++;
        } else if (!strcmp(argv[i], "--sites") || !strcmp(argv[i], "--jobs")) {
            uint32_t count = (uint32_t)strtoul(value, NULL, 10);
            *(strcmp(argv[i], "--sites") ? &settings->jobs : &settings->sites) = count ? count : 1;
            i++;
        } else {
            return false;
        }
    }
    return settings->first > 0 && settings->first <= settings->last;
}

int main(int argc, char **argv)
{
    settings_t settings;
    verdict_t totals[PROPERTIES] = {0};
    if (!parse(argc, argv, &settings)) {
        fprintf(stderr, "usage: sim_properties --seeds A..B [--only PROPERTY] [--sites N] [--jobs N] [--trace] "
                        "[--hashes] [--expect-violation]\n");
        return 2;
    }
    uint32_t bad = 0;
    for (uint64_t seed = settings.first; seed <= settings.last; seed++) {
        if (settings.expect_violation && is_caught(&settings, seed, totals)) {
            printf("seed %" PRIu64 " catches it\n", seed);
            return 0;
        }
        if (!settings.expect_violation && !run_seed(&settings, seed, totals))
            bad++;
    }
    for (uint32_t i = 0; i < PROPERTIES && !settings.expect_violation; i++)
        printf("%-12s %9" PRIu64 " steps %8" PRIu64 " placements %6" PRIu64 " stops\n", properties[i].name,
               totals[i].steps, totals[i].placements, totals[i].preemptions);
    if (settings.expect_violation)
        printf("no seed broke a promise\n");
    return bad || settings.expect_violation ? 1 : 0;
}
