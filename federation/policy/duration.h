/*  duration.h -- predicts run times: quantiles of past runs of the same kind of work. Pure.
 *
 *  The prediction uses the runs of the same tenant, user and job name. If those are fewer than HELIO_DURATION_RUNS_MIN,
 *  it uses the runs of the tenant and user, then those of the tenant's jobs of the same kind (train, eval, ...). These
 *  two count only jobs of the same size and need HELIO_DURATION_OTHERS_MIN runs. Jobs have the same size if their GPU
 *  counts are equal to a power of two and their time limits to a power of four: a one-minute CPU job does not predict
 *  four hours on eight GPUs. Without enough runs the time limit is used. Numbers are removed from names: "finetune-17"
 *  is a run of "finetune".
 *
 *  A run predicts a job only if their limits are comparable, that is, if neither is more than double the other: what a
 *  test of a minute took says nothing about a job of a day, whatever its name.
 *
 *  A limit may say more than past runs: for each run the share of its limit is kept too, and where the shares of a key
 *  lie closer together than its runs, the prediction is that share of the job's own limit. That limit is at least half
 *  the smallest of the key's limits and at most double the largest.
 *
 *  A sample is a run from its beginning to its own end: success, or the time limit, which is a lower bound. Attempts
 *  that failed, were stopped or were cancelled do not predict how long success takes; they are counted and shown.
 *
 *  Runs are stored as if on an A100, scaled by the weights of fair share (fair_share.h), so that a run on one model
 *  predicts a run on another. The weights are ratios of dense 16-bit throughput from data sheets. That is right for
 *  training that keeps its GPUs busy, and exaggerates the difference for work that waits for input, network or host.
 *  The number of GPUs is not used, but for jobs without any: their runs are stored as they are.
 *
 *  One owner. Memory is bounded: HELIO_DURATION_NAMES + HELIO_DURATION_OTHERS keys with HELIO_DURATION_RUNS runs each;
 *  the key whose last run is oldest is dropped first. Queries change nothing, so that the same runs in the same order
 *  give the same answers.
 */
#ifndef HELIO_POLICY_DURATION_H
#define HELIO_POLICY_DURATION_H

#include "federation/base/keyed_hash.h"
#include "federation/base/memory.h"

enum {
    HELIO_DURATION_RUNS = 32,      /* per key; the weight of a run halves with every 16 later runs */
    HELIO_DURATION_RUNS_MIN = 3,   /* fewer runs give no prediction */
    HELIO_DURATION_OTHERS_MIN = 8, /* the same for jobs that do not share a name */
    HELIO_DURATION_NAMES = 8192,   /* keys (tenant, user, name) */
    HELIO_DURATION_OTHERS =
        4096, /* keys (tenant, user, size) and (tenant, kind, size): a flood of names does not displace them */
    HELIO_DURATION_HISTORY = 20000, /* ended jobs that a new leader reads: load_run (schema/queries/load.sql) */
    HELIO_DURATION_STEM_MAX = 64,
    HELIO_DURATION_KEY_MAX = 192
};

/*  What a prediction is based on. The number is stored: append only. */
#define HELIO_DURATION_BASIS_TABLE(X) X(NONE, "") X(NAME, "name") X(USER, "user") X(KIND, "kind")
#define HELIO_DURATION_BASIS_ENUMERATOR_(name, word) HELIO_DURATION_BASIS_##name,
typedef enum helio_duration_basis {
    HELIO_DURATION_BASIS_TABLE(HELIO_DURATION_BASIS_ENUMERATOR_) HELIO_DURATION_BASIS_COUNT
} helio_duration_basis_t;
const char *helio_duration_basis_name(uint32_t basis);

/*  The properties of a run that select its key. Views, not kept. Bounds as in a job's row: longer texts are
 *  truncated. */
typedef struct helio_runner {
    helio_text_t tenant;
    helio_text_t user;
    helio_text_t name; /* of the job, with or without numbers; "" = none */
    uint32_t kind;
    uint32_t gpus; /* over all nodes */
    uint64_t limit_ms;
} helio_runner_t;

/*  As on an A100, in ms; p50 <= p75 <= p90. */
typedef struct helio_duration {
    uint64_t p50_ms; /* 0 = no prediction */
    uint64_t p75_ms;
    uint64_t p90_ms;
    uint32_t basis;
    uint32_t runs;   /* number of samples used */
    uint32_t failed; /* failures among the key's last 32 ends */
} helio_duration_t;

typedef struct helio_durations helio_durations_t;

helio_durations_t *helio_durations_new(void);
void helio_durations_destroy(helio_durations_t **self_p);
/*  What keys the hashes of its tables, since users choose their keys; before anything is recorded. */
void helio_durations_secret(helio_durations_t *self, const helio_hash_key_t *secret);

/*  Records a job that ended with its first attempt. whole: the run is a sample; otherwise it only counts as failed.
 *  weight_milli: of the GPU model (helio_gpu_weight_milli). Constant time. */
void helio_durations_note(helio_durations_t *self, const helio_runner_t *runner, uint64_t run_ms, uint32_t weight_milli,
                          bool whole);
helio_duration_t helio_durations_expect(const helio_durations_t *self, const helio_runner_t *runner);
/*  The p90 by which deadlines and caps are checked: of runs of the same name alone. Runs of other names say what to
 *  expect of a new job, but not that it may start. 0 = the time limit. */
uint64_t helio_duration_bound_ms(uint32_t basis, uint64_t p90_ms);
uint32_t helio_durations_keys(const helio_durations_t *self);

/*  The name without counters: trailing numbers are removed; other numbers become '#', and so do words of eight or more
 *  hexadecimal digits that contain a decimal digit. "" if nothing else is left. Returns the size; not terminated. */
uint32_t helio_duration_stem(helio_text_t name, char ret_stem[HELIO_DURATION_STEM_MAX]);

/*  The weight of a run on GPUs of that model. A job without GPUs takes as long beside one model as beside another. */
uint32_t helio_duration_weight_milli(bool has_gpus, helio_text_t model);
/*  The run time on a model of this weight, from the figure on an A100: at most the limit, and the limit itself if
 *  the figure is unknown (0). A faster model never gets a longer time. */
uint64_t helio_duration_at(uint64_t normal_ms, uint32_t weight_milli, uint64_t limit_ms);
/*  Rounds to the nearest power of the square root of two, so that jobs of similar length share a class; 0 stays 0. */
uint64_t helio_duration_step(uint64_t normal_ms);

#endif
