/*  durations.c -- how well runs are predicted: a trace of jobs, one line each on standard input, is replayed in order
 *  of submission; a run is known from its end on. Prints the share of runs at or below p90, and the median absolute
 *  logarithmic error of p50, beside two simpler predictions for the same runs: the limit alone, and the mean of the
 *  user's earlier runs.
 *
 *  Lines: job_id,submit_unix,duration_s,gpus,nodes,gpu_type,cpus,user,team,state,kind,queue_wait_s (after a header).
 *  The traces name neither users nor jobs: the team stands for the user, and role (the end of the job id, if it has
 *  one) and number of GPUs for the name. All jobs get one limit, a day; longer runs end there.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/policy/duration.h"

enum { COLUMNS = 12, LIMIT_MS = 86400000, WEIGHT = 1000, USERS_MAX = 4096, BASES = HELIO_DURATION_BASIS_COUNT };

typedef struct run {
    int64_t submit_ms, end_ms;
    uint64_t run_ms;
    char user[40], name[40];
} run_t;

typedef struct mean {
    char user[40];
    double sum_ms;
    uint64_t count;
} mean_t;

typedef struct tally {
    uint64_t count, below_p90, by_basis[BASES];
    double *ours, *limit, *mean;
} tally_t;

/*  Letters instead of digits: the number of GPUs distinguishes jobs here, and numbers are removed from names. */
static void name_of(char *const *cell, char ret_name[40])
{
    const char *role = strrchr(cell[0], '-');
    (void)snprintf(ret_name, 40, "%s%s", role ? role + 1 : "gpus", cell[3]);
    for (char *c = ret_name; *c; c++)
        if (*c >= '0' && *c <= '9')
            *c = (char)('A' + (*c - '0'));
}

static run_t *read_runs(size_t *ret_count)
{
    run_t *runs = NULL;
    char *line = NULL;
    size_t capacity = 0, room = 0, count = 0;
    if (getline(&line, &capacity, stdin) < 0 || strncmp(line, "job_id,submit_unix,duration_s", 29) != 0) {
        fprintf(stderr, "bench_durations: stdin is no trace of jobs\n");
        exit(2);
    }
    while (getline(&line, &capacity, stdin) > 0) {
        char *rest = line, *cell[COLUMNS];
        for (uint32_t i = 0; i < COLUMNS; i++)
            if (!(cell[i] = strsep(&rest, ",\r\n"))) {
                fprintf(stderr, "bench_durations: a line with too few columns\n");
                exit(2);
            }
        if (count == room)
            runs = helio_grow(runs, room = room ? room * 2 : 1024, sizeof *runs);
        double seconds = strtod(cell[2], NULL);
        run_t *run = &runs[count++];
        run->submit_ms = (int64_t)strtoll(cell[1], NULL, 10) * 1000;
        run->run_ms = seconds * 1000 < LIMIT_MS ? (uint64_t)(seconds * 1000) : LIMIT_MS;
        run->run_ms = run->run_ms ? run->run_ms : 1;
        run->end_ms = run->submit_ms + (int64_t)run->run_ms;
        (void)snprintf(run->user, sizeof run->user, "%s", cell[8]);
        name_of(cell, run->name);
    }
    free(line);
    *ret_count = count;
    return runs;
}

static int by_submit(const void *a, const void *b)
{
    const run_t *x = a, *y = b;
    return (x->submit_ms > y->submit_ms) - (x->submit_ms < y->submit_ms);
}

static int by_end(const void *a, const void *b)
{
    const run_t *x = *(const run_t *const *)a, *y = *(const run_t *const *)b;
    return (x->end_ms > y->end_ms) - (x->end_ms < y->end_ms);
}

static mean_t *mean_of(mean_t *means, const char *user)
{
    uint32_t i = 0;
    while (i < USERS_MAX - 1 && means[i].user[0] && strcmp(means[i].user, user) != 0)
        i++;
    (void)snprintf(means[i].user, sizeof means[i].user, "%s", user[0] ? user : "-");
    return &means[i];
}

static double error(double predicted_ms, uint64_t run_ms)
{
    return fabs(log(predicted_ms / (double)run_ms));
}

static void judge(tally_t *tally, const helio_durations_t *durations, mean_t *means, const run_t *run)
{
    const char *user = run->user[0] ? run->user : "-";
    helio_runner_t runner = {HELIO_TEXT("trace"), helio_text_of(user), helio_text_of(run->name), 0, 0, 0};
    helio_duration_t expected = helio_durations_expect(durations, &runner);
    const mean_t *mean = mean_of(means, user);
    tally->by_basis[expected.basis]++;
    if (!expected.basis)
        return;
    /* as in a decision: by classes of length, on a GPU model, below the limit */
    uint64_t p50 = helio_duration_at(helio_duration_step(expected.p50_ms), WEIGHT, LIMIT_MS),
             p90 = helio_duration_at(helio_duration_step(expected.p90_ms), WEIGHT, LIMIT_MS);
    tally->below_p90 += run->run_ms <= p90;
    tally->ours[tally->count] = error((double)p50, run->run_ms);
    tally->limit[tally->count] = error(LIMIT_MS, run->run_ms);
    tally->mean[tally->count] = error(mean->count ? mean->sum_ms / (double)mean->count : LIMIT_MS, run->run_ms);
    tally->count++;
}

static void learn(helio_durations_t *durations, mean_t *means, const run_t *run)
{
    const char *user = run->user[0] ? run->user : "-";
    helio_runner_t runner = {HELIO_TEXT("trace"), helio_text_of(user), helio_text_of(run->name), 0, 0, 0};
    helio_durations_note(durations, &runner, run->run_ms, WEIGHT, true);
    mean_t *mean = mean_of(means, user);
    mean->sum_ms += (double)run->run_ms;
    mean->count++;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, uint64_t count)
{
    qsort(values, count, sizeof *values, by_size);
    return count ? values[count / 2] : NAN;
}

int main(int argc, char **argv)
{
    size_t count, known = 0;
    run_t *runs = read_runs(&count);
    qsort(runs, count, sizeof *runs, by_submit);
    run_t **ends = helio_new(count ? count : 1, sizeof *ends);
    for (size_t i = 0; i < count; i++)
        ends[i] = &runs[i];
    qsort(ends, count, sizeof *ends, by_end);
    tally_t tally = {.ours = helio_new(count + 1, sizeof(double)),
                     .limit = helio_new(count + 1, sizeof(double)),
                     .mean = helio_new(count + 1, sizeof(double))};
    helio_durations_t *durations = helio_durations_new();
    mean_t *means = helio_new(USERS_MAX, sizeof *means);
    for (size_t i = 0; i < count; i++) {
        for (; known < count && ends[known]->end_ms <= runs[i].submit_ms; known++)
            learn(durations, means, ends[known]);
        judge(&tally, durations, means, &runs[i]);
    }
    double ours = median(tally.ours, tally.count), mean = median(tally.mean, tally.count);
    printf("%-12s %6llu runs, %llu foreseen (by name %llu, user %llu); at or below p90 %.1f %%; median |ln "
           "error| %.2f, "
           "mean of user %.2f, limit %.2f\n",
           argc > 1 ? argv[1] : "trace", (unsigned long long)count, (unsigned long long)tally.count,
           (unsigned long long)tally.by_basis[HELIO_DURATION_BASIS_NAME],
           (unsigned long long)tally.by_basis[HELIO_DURATION_BASIS_USER],
           tally.count ? 100.0 * (double)tally.below_p90 / (double)tally.count : 0, ours, mean,
           median(tally.limit, tally.count));
    helio_durations_destroy(&durations);
    free(means);
    free(tally.ours);
    free(tally.limit);
    free(tally.mean);
    free(ends);
    free(runs);
    return 0;
}
