/*  sim_faults -- runs the virtual federation over many seeds. Exit 1 at the first seed that breaks a promise.
 *      sim_faults --seeds A..B [--twice] [--expect-violation] [--regressions FILE] [--jobs N] [--minutes M] [--hashes]
 *                 [--edges] [--faults] [--all] [--workers N] [--generation G]
 *      sim_faults --seed N [--trace]
 *
 *  --edges: fails unless each edge of federation/model/job_state.def was taken, except for those of the list below.
 *  --faults: fails unless each kind of fault struck. --all: goes on after a seed that broke a promise, and fails in the
 *  end. --workers: that many processes share the seeds.
 *  --generation: what a seed meant before a disturbance was added (world.h); a regression SEED/G is of generation G.
 *  --hashes: prints a hash of each seed's messages and effects. A change that only moves code changes no hash. --twice:
 *  runs every seed twice; the two runs must be equal. --expect-violation: for mutants; passes as soon as a promise is
 *  broken (or an assert fails), and fails if none is. Each seed of a mutant runs in a child process.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "simulator/world.h"

typedef struct settings {
    uint64_t first, last;
    bool trace, twice, expect_violation, hashes, edges, faults, all;
    uint32_t generation;
    const char *regressions;
    uint32_t jobs, workers;
    int64_t minutes;
} settings_t;

typedef struct totals {
    bool good;
    uint64_t runs, steps, jobs;
    sim_seen_t seen;
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
                             .trace = settings->trace,
                             .hash = settings->hashes || settings->twice};
}

/*  Adds what one world, or the worlds of one worker, have shown. */
static void add(totals_t *totals, const totals_t *part)
{
    totals->runs += part->runs;
    totals->steps += part->steps;
    totals->jobs += part->jobs;
    totals->virtual_ms += part->virtual_ms;
    totals->seen.preemptions += part->seen.preemptions;
    totals->seen.migrations += part->seen.migrations;
    totals->seen.arrivals += part->seen.arrivals;
    totals->seen.hastened += part->seen.hastened;
    totals->seen.attested += part->seen.attested;
    totals->seen.curtailed += part->seen.curtailed;
    totals->seen.expected_use += part->seen.expected_use;
    totals->seen.admitted += part->seen.admitted;
    totals->seen.quotas_missed += part->seen.quotas_missed;
    totals->seen.windows_missed += part->seen.windows_missed;
    for (uint32_t i = 0; i < SIM_FAULT_COUNT; i++)
        totals->faults.counts[i] += part->faults.counts[i];
    for (uint32_t i = 0; i < HELIO_JOB_STATE_COUNT; i++)
        totals->edges[i] |= part->edges[i];
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
    totals_t part = {.runs = 1,
                     .steps = result.steps,
                     .jobs = result.jobs_over,
                     .seen = result.seen,
                     .virtual_ms = result.virtual_ms,
                     .faults = result.faults};
    memcpy(part.edges, result.edges, sizeof part.edges);
    add(totals, &part);
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

static bool run_seeds(const settings_t *settings, uint64_t first, uint64_t step, totals_t *totals)
{
    bool good = true;
    for (uint64_t seed = first; seed <= settings->last && (good || settings->all); seed += step)
        good = run_seed(settings, seed, totals) && good;
    return good;
}

/*  Each worker is a process that takes every workers-th seed and writes its totals into the pipe when it ends. */
static void work(const settings_t *settings, uint32_t worker, int pipe)
{
    totals_t totals = {0};
    totals.good = run_seeds(settings, settings->first + worker, settings->workers, &totals);
    (void)fflush(stdout);
    _exit(write(pipe, &totals, sizeof totals) == (ssize_t)sizeof totals ? 0 : 2);
}

/*  True: every worker ended, and none of its seeds broke a promise. */
static bool share_seeds(const settings_t *settings, totals_t *totals)
{
    int ends[2];
    (void)fflush(stdout);
    if (pipe(ends) != 0) {
        perror("pipe");
        return false;
    }
    bool good = true;
    for (uint32_t i = 0; i < settings->workers; i++) {
        pid_t child = fork();
        if (child == 0)
            work(settings, i, ends[1]);
        good = good && child > 0;
    }
    (void)close(ends[1]);
    totals_t part;
    uint32_t heard = 0;
    while (read(ends[0], &part, sizeof part) == (ssize_t)sizeof part) { /* written at once: it is below PIPE_BUF */
        add(totals, &part);
        good = good && part.good;
        heard++;
    }
    (void)close(ends[0]);
    while (wait(NULL) > 0)
        ;
    return good && heard == settings->workers;
}
_Static_assert(sizeof(totals_t) <= 4096, "the totals of two workers would mix in the pipe");

/*  True if the child found a violation or died by an assert. */
static bool mutant_caught(const settings_t *settings, uint64_t seed)
{
    (void)fflush(stdout);
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        exit(2);
    }
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) /* a failed assert is expected here; its text is not shown */
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

/*  Edges that the campaign need not take. They need reports that are lost alone, or twenty sites that fall silent: few
 *  seeds take them, or none, and the named unit tests of the broker's core do. */
static const struct {
    uint32_t from, to;
    const char *why;
} rare[] = {
    {HELIO_JOB_OFFERED, HELIO_JOB_STARTING, "product__every_report_in_every_state_has_its_listed_result takes it"},
    {HELIO_JOB_ACCEPTED, HELIO_JOB_HELD, "lost__twice_within_a_minute_holds_the_job_until_it_is_released takes it"},
    {HELIO_JOB_SUSPECT, HELIO_JOB_LOST, "loss__of_twenty_sites_ends_the_job_as_lost takes it"},
};

static const char *why_rare(uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++)
        if (rare[i].from == from && rare[i].to == to)
            return rare[i].why;
    return NULL;
}

/*  True: each edge was taken or is on the list. */
static bool print_edges(const totals_t *totals)
{
    bool good = true;
    uint32_t seen = 0, listed = 0;
    for (uint32_t from = 0; from < HELIO_JOB_STATE_COUNT; from++)
        for (uint32_t to = 0; to < HELIO_JOB_STATE_COUNT; to++) {
            bool hit = totals->edges[from] >> to & 1;
            seen += hit;
            if (!helio_job_state_edge(from, to))
                continue;
            listed++;
            if (hit)
                continue;
            const char *why = why_rare(from, to);
            good = good && why;
            printf("          not seen: %s -> %s%s%s\n", helio_job_state_name(from), helio_job_state_name(to),
                   why ? ": " : "", why ? why : "");
        }
    printf("          %u of %u transitions\n", seen, listed);
    return good;
}

/*  True: each kind of fault struck. */
static bool print_faults(const totals_t *totals)
{
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < SIM_FAULT_COUNT; i++) {
        printf("%8" PRIu64 "  %s\n", totals->faults.counts[i], sim_fault_name(i));
        kinds += totals->faults.counts[i] > 0;
    }
    printf("          %u of %d kinds of faults\n", kinds, SIM_FAULT_COUNT);
    return kinds == SIM_FAULT_COUNT;
}

static void print_totals(const totals_t *totals, int64_t wall_ms)
{
    printf("%8" PRIu64 "  running jobs preempted\n", totals->seen.preemptions);
    printf("%8" PRIu64 "  running jobs migrated, %" PRIu64 " placed there\n", totals->seen.migrations,
           totals->seen.arrivals);
    printf("%8" PRIu64 "  stops of jobs that were cancelled without grace before\n", totals->seen.hastened);
    printf("%8" PRIu64 "  jobs of sites that were attested dead\n", totals->seen.attested);
    printf("%8" PRIu64 "  jobs stopped because their site was curtailed\n", totals->seen.curtailed);
    printf("%8" PRIu64 "  placements with a predicted run time, %" PRIu64
           " of them in time for a deadline only by the prediction\n",
           totals->seen.expected_use, totals->seen.admitted);
    printf("%8" PRIu64 "  classes that waited for a start at a site that a new leader missed\n",
           totals->seen.windows_missed);
    printf("%8" PRIu64 "  quotas that changed while a new leader missed a site\n", totals->seen.quotas_missed);
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
        else if (!strcmp(argv[i], "--all"))
            settings->all = true;
        else if (!strcmp(argv[i], "--faults"))
            settings->faults = true;
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
        else if (!strcmp(argv[i], "--workers"))
            settings->workers = (uint32_t)strtoul(argv[++i], NULL, 10);
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
    return settings->last >= settings->first && settings->workers > 0;
}

int main(int argc, char **argv)
{
    settings_t settings = {.first = 1, .last = 500, .jobs = 24, .workers = 1, .minutes = 4};
    if (!parse(argc, argv, &settings)) {
        fprintf(stderr,
                "usage: sim_faults [--seeds A..B | --seed N] [--trace] [--twice] [--expect-violation] "
                "[--regressions FILE] [--jobs N] [--minutes M] [--hashes] [--edges] [--faults] [--all] [--workers N] "
                "[--generation G]\n");
        return 2;
    }
    /* each step frees what it took: without this a tenth of the time goes into giving memory back and taking it again */
    (void)mallopt(M_TRIM_THRESHOLD, 64 << 20);
    (void)mallopt(M_TOP_PAD, 1 << 20);
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
    if (!(settings.workers > 1 ? share_seeds(&settings, &totals) : run_seeds(&settings, settings.first, 1, &totals)))
        return 1;
    if (settings.regressions && !regressions(&settings, &totals))
        return 1;
    bool every_edge = print_edges(&totals);
    bool every_fault = print_faults(&totals);
    print_totals(&totals, helio_clock_boot_ms() - began);
    return (settings.edges && !every_edge) || (settings.faults && !every_fault);
}
