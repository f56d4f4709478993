/*  sim_faults -- runs the virtual federation over many seeds. Exit 1 at the first seed that breaks a promise.
 *
 *      sim_faults --seeds A..B [--twice] [--expect-violation] [--regressions FILE] [--jobs N] [--minutes M] [--hashes]
 *                 [--edges] [--generation G]
 *      sim_faults --seed N [--trace]
 *
 *  --edges: fail unless each edge of federation/model/job_state.def was taken, but for those of the list below.
 *  --generation: what a seed meant before a disturbance was added (world.h); a regression SEED/G is of generation G.
 *  --hashes: print a hash of each seed's messages and effects. A change that only moves code changes no hash.
 *  --twice: every seed twice, the two runs must be equal. --expect-violation: for mutants; passes as soon as a
 *  promise is broken (or an assert falls) and fails when none is. Each seed of a mutant runs in a child process.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "simulator/world.h"

typedef struct settings {
    uint64_t first, last;
    bool trace, twice, expect_violation, hashes, edges;
    uint32_t generation;
    const char *regressions;
    uint32_t jobs;
    int64_t minutes;
} settings_t;

typedef struct totals {
    uint64_t runs, steps, jobs;
    sim_sights_t sights;
    int64_t virtual_ms;
    sim_faults_t faults;
    uint64_t edges[HELIO_JOB_STATE_COUNT];
} totals_t;

static world_options_t options_of(const settings_t *settings, uint64_t seed)
{
    return (world_options_t){.seed = seed,
                             .generation = settings->generation,
                             .jobs = settings->jobs,
                             .faults_ms = settings->minutes * 60000,
                             .trace = settings->trace};
}

static bool run_seed(const settings_t *settings, uint64_t seed, totals_t *totals)
{
    world_t *world = world_new(options_of(settings, seed));
    world_result_t result = world_run(world);
    bool good = !result.violation[0];
    if (!good && !settings->expect_violation)
        printf("seed %" PRIu64 ": %s (after %" PRIu64 " steps, %" PRId64 " ms)\n", seed, result.violation, result.steps,
               result.virtual_ms);
    if (settings->hashes)
        printf("%" PRIu64 " %016" PRIx64 " %" PRIu64 "\n", seed, result.hash, result.steps);
    totals->runs++;
    totals->steps += result.steps;
    totals->jobs += result.jobs_over;
    totals->sights.preemptions += result.sights.preemptions;
    totals->sights.migrations += result.sights.migrations;
    totals->sights.arrivals += result.sights.arrivals;
    totals->sights.attested += result.sights.attested;
    totals->virtual_ms += result.virtual_ms;
    for (uint32_t i = 0; i < SIM_FAULT_COUNT; i++)
        totals->faults.counts[i] += result.faults.counts[i];
    totals->sights.expected_use += result.sights.expected_use;
    totals->sights.admitted += result.sights.admitted;
    for (uint32_t i = 0; i < HELIO_JOB_STATE_COUNT; i++)
        totals->edges[i] |= result.edges[i];
    if (good && settings->twice) {
        world_t *again = world_new(options_of(settings, seed));
        world_result_t second = world_run(again);
        if (second.hash != result.hash || second.steps != result.steps) {
            printf("seed %" PRIu64 ": two runs differ (%" PRIu64 " and %" PRIu64 " steps)\n", seed, result.steps,
                   second.steps);
            good = false;
        }
        world_destroy(&again);
    }
    world_destroy(&world);
    return good;
}

/*  True when the child found a violation or died by an assert. */
static bool mutant_caught(const settings_t *settings, uint64_t seed)
{
    (void)fflush(stdout);
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        exit(2);
    }
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) /* an assert's text is what is hoped for here */
            _exit(2);
        totals_t totals = {0};
        _exit(run_seed(settings, seed, &totals) ? 0 : 1);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static bool regressions(const settings_t *settings, totals_t *totals)
{
    FILE *file = fopen(settings->regressions, "r");
    if (!file) {
        perror(settings->regressions);
        return false;
    }
    char line[256];
    bool good = true;
    while (good && fgets(line, sizeof line, file))
        if (line[0] >= '0' && line[0] <= '9') {
            char *end = NULL;
            settings_t one = *settings;
            uint64_t seed = strtoull(line, &end, 10);
            if (*end == '/')
                one.generation = (uint32_t)strtoul(end + 1, NULL, 10);
            good = run_seed(&one, seed, totals);
        }
    (void)fclose(file);
    return good;
}

/*  Edges that the campaign cannot take. Either no code takes them: jobs are held only by a report of their site; an end
 *  first moves its job to where an end can be (catch_up) or out of SUSPECT (take_report). Or they need reports that got
 *  lost with a damaged journal, which virtual agents do not have, or twenty sites that fall silent; those are taken by
 *  the unit tests of the broker's core that are named. */
#define NO_CODE "no code takes it"
#define PRODUCT "product__no_report_in_any_state_leads_astray takes it"
static const struct {
    uint32_t from, to;
    const char *why;
} untaken[] = {
    {HELIO_JOB_QUEUED, HELIO_JOB_HELD, NO_CODE},
    {HELIO_JOB_ACCEPTED, HELIO_JOB_FAILED, NO_CODE},
    {HELIO_JOB_SUSPECT, HELIO_JOB_SUCCEEDED, NO_CODE},
    {HELIO_JOB_SUSPECT, HELIO_JOB_FAILED, NO_CODE},
    {HELIO_JOB_SUSPECT, HELIO_JOB_TIMEOUT, NO_CODE},
    {HELIO_JOB_OFFERED, HELIO_JOB_STARTING, PRODUCT},
    {HELIO_JOB_OFFERED, HELIO_JOB_RUNNING, PRODUCT},
    {HELIO_JOB_ACCEPTED, HELIO_JOB_RUNNING, PRODUCT},
    {HELIO_JOB_ACCEPTED, HELIO_JOB_QUEUED,
     "lost__counts_at_every_state_and_writes_an_attempt_that_does_not_complete "
     "takes it"},
    {HELIO_JOB_ACCEPTED, HELIO_JOB_HELD, "lost__twice_before_it_ran_a_minute_holds_it_until_it_is_released takes it"},
    {HELIO_JOB_SUSPECT, HELIO_JOB_LOST, "loss__of_twenty_sites_is_the_end_of_it takes it"},
};

static const char *why_untaken(uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < sizeof untaken / sizeof untaken[0]; i++)
        if (untaken[i].from == from && untaken[i].to == to)
            return untaken[i].why;
    return NULL;
}

/*  True: each edge was taken or is on the list, and none of the list was taken. */
static bool print_edges(const totals_t *totals)
{
    bool good = true;
    uint32_t seen = 0, listed = 0;
    for (uint32_t from = 0; from < HELIO_JOB_STATE_COUNT; from++)
        for (uint32_t to = 0; to < HELIO_JOB_STATE_COUNT; to++) {
            bool hit = totals->edges[from] >> to & 1;
            const char *why = why_untaken(from, to);
            listed += helio_job_state_edge(from, to);
            seen += hit;
            good = good && (!helio_job_state_edge(from, to) || hit == !why);
            if (helio_job_state_edge(from, to) && !hit)
                printf("          not seen: %s -> %s%s%s\n", helio_job_state_name(from), helio_job_state_name(to),
                       why ? ": " : "", why ? why : "");
            else if (hit && why)
                printf("          seen, and on the list of those that cannot be: %s -> %s\n",
                       helio_job_state_name(from), helio_job_state_name(to));
        }
    printf("          %u of %u transitions\n", seen, listed);
    return good;
}

static void print_totals(const totals_t *totals, int64_t wall_ms)
{
    for (uint32_t i = 0; i < SIM_FAULT_COUNT; i++)
        printf("%8" PRIu64 "  %s\n", totals->faults.counts[i], sim_fault_name(i));
    printf("%8" PRIu64 "  running jobs told to make room\n", totals->sights.preemptions);
    printf("%8" PRIu64 "  running jobs told to leave for a better site, %" PRIu64 " placed there\n",
           totals->sights.migrations, totals->sights.arrivals);
    printf("%8" PRIu64 "  jobs of sites that were attested dead\n", totals->sights.attested);
    printf("%8" PRIu64 "  placements with a run that was foreseen, %" PRIu64
           " of them in time for a deadline by that alone\n",
           totals->sights.expected_use, totals->sights.admitted);
    printf("%" PRIu64 " seeds, %" PRIu64 " jobs, %" PRIu64 " events, %.1f virtual hours, %.1f s, "
           "%.1f seeds/s: every promise kept\n",
           totals->runs, totals->jobs, totals->steps, (double)totals->virtual_ms / 3.6e6, (double)wall_ms / 1000,
           (double)totals->runs * 1000 / (double)(wall_ms ? wall_ms : 1));
}

static bool parse(int argc, char **argv, settings_t *settings)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        char *end = NULL;
        if (!strcmp(argv[i], "--trace"))
            settings->trace = true;
        else if (!strcmp(argv[i], "--twice"))
            settings->twice = true;
        else if (!strcmp(argv[i], "--hashes"))
            settings->hashes = true;
        else if (!strcmp(argv[i], "--edges"))
            settings->edges = true;
        else if (!strcmp(argv[i], "--expect-violation"))
            settings->expect_violation = true;
        else if (!value)
            return false;
        else if (!strcmp(argv[i], "--seed"))
            settings->first = settings->last = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--regressions"))
            settings->regressions = argv[++i];
        else if (!strcmp(argv[i], "--generation"))
            settings->generation = (uint32_t)strtoul(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--jobs"))
            settings->jobs = (uint32_t)strtoul(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--minutes"))
            settings->minutes = strtoll(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--seeds")) {
            settings->first = strtoull(argv[++i], &end, 10);
            if (strncmp(end, "..", 2) != 0)
                return false;
            settings->last = strtoull(end + 2, NULL, 10);
        } else
            return false;
    }
    return settings->last >= settings->first;
}

int main(int argc, char **argv)
{
    settings_t settings = {.first = 1, .last = 500, .jobs = 24, .minutes = 4};
    if (!parse(argc, argv, &settings)) {
        fprintf(stderr, "usage: sim_faults [--seeds A..B | --seed N] [--trace] [--twice] [--expect-violation] "
                        "[--regressions FILE] [--jobs N] [--minutes M] [--hashes] [--edges] [--generation G]\n");
        return 2;
    }
    int64_t began = helio_clock_boot_ms();
    totals_t totals = {0};
    if (settings.expect_violation) {
        for (uint64_t seed = settings.first; seed <= settings.last; seed++)
            if (mutant_caught(&settings, seed)) {
                printf("the seeded bug was caught by seed %" PRIu64 "\n", seed);
                return 0;
            }
        printf("the seeded bug survived %" PRIu64 " seeds\n", settings.last - settings.first + 1);
        return 1;
    }
    for (uint64_t seed = settings.first; seed <= settings.last; seed++)
        if (!run_seed(&settings, seed, &totals))
            return 1;
    if (settings.regressions && !regressions(&settings, &totals))
        return 1;
    bool every_edge = print_edges(&totals);
    print_totals(&totals, helio_clock_boot_ms() - began);
    return settings.edges && !every_edge;
}
