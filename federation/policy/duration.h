/*  duration.h -- how long will it run? Quantiles of the past runs of the same kind of work. Pure.
 *
 *  Asked of the runs of the same tenant, user and job name; where those are fewer than
 * HELIO_DURATION_RUNS_MIN, of the tenant and user, then of the tenant's jobs of that kind (train, batch,
 * ...). Those two speak for jobs of the same size alone: as many GPUs to a power of two, and a time limit to a power
 * of four, since a minute's CPU job says nothing of four hours on eight GPUs; and only with HELIO_DURATION_OTHERS_MIN
 * runs. Nothing known: the time limit stands. Names count without their numbers, so that "finetune-17" is a
 * run of "finetune".
 *
 *  A sample is a run from its begin to its own end: success, or the time limit, which it would at least have
 * reached. An attempt that failed, was stopped or was cancelled says nothing of how long success takes: it is
 * counted, and shown.
 *
 *  Runs are kept as if on an A100, by the weights that shares use (fair_share.h), so that a run on one model
 * predicts one on another. That is the ratio of dense 16-bit throughput of data sheets: right for training
 * that keeps its GPUs busy; too much of a difference for work that waits for its input, its network or the
 * host. The number of GPUs does not count.
 *
 *  One owner. Memory is bounded: HELIO_DURATION_NAMES + HELIO_DURATION_OTHERS keys of HELIO_DURATION_RUNS
 * each; the one that ran longest ago goes first. Asking changes nothing, so the same runs in the same order
 * give the same answers.
 */
#ifndef HELIO_POLICY_DURATION_H
#define HELIO_POLICY_DURATION_H

#include "federation/base/memory.h"

enum {
    HELIO_DURATION_RUNS = 32,    /* of a key; the weight of a run halves with every 16 after it */
    HELIO_DURATION_RUNS_MIN = 3, /* fewer are no answer */
    HELIO_DURATION_OTHERS_MIN = 8, /* of jobs that share no name */
    HELIO_DURATION_NAMES = 8192, /* keys (tenant, user, name) */
    HELIO_DURATION_OTHERS =
        4096, /* keys (tenant, user, size) and (tenant, kind, size): a flood of names does not drive them out */
    HELIO_DURATION_HISTORY = 20000, /* ends that a new leader reads: load_run (schema/queries/load.sql) */
    HELIO_DURATION_STEM_MAX = 64,
    HELIO_DURATION_KEY_MAX = 192
};

/*  What an answer rests on; the number is stored. */
#define HELIO_DURATION_BASIS_TABLE(X) X(NONE, "") X(NAME, "name") X(USER, "user") X(KIND, "kind")
#define HELIO_DURATION_BASIS_ENUMERATOR_(name, word) HELIO_DURATION_BASIS_##name,
typedef enum helio_duration_basis {
    HELIO_DURATION_BASIS_TABLE(HELIO_DURATION_BASIS_ENUMERATOR_) HELIO_DURATION_BASIS_COUNT
} helio_duration_basis_t;
const char *helio_duration_basis_name(uint32_t basis);

/*  Whose run: views, not kept. Bounds as in a job's row: a longer text is cut. */
typedef struct helio_runner {
    helio_text_t tenant;
    helio_text_t user;
    helio_text_t name; /* the job's, with or without its numbers; "" = it has none */
    uint32_t kind;
    uint32_t gpus; /* over all nodes */
    uint64_t limit_ms;
} helio_runner_t;

/*  As on an A100, in ms; p50 <= p75 <= p90. */
typedef struct helio_duration {
    uint64_t p50_ms; /* 0 = nothing is known */
    uint64_t p75_ms;
    uint64_t p90_ms;
    uint32_t basis;
    uint32_t runs;   /* samples that it rests on */
    uint32_t failed; /* of the key's last 32 ends */
} helio_duration_t;

typedef struct helio_durations helio_durations_t;

helio_durations_t *helio_durations_new(void);
void helio_durations_destroy(helio_durations_t **self_p);

/*  An attempt that was the job's first and its last. whole: it is a sample; else it only counts as failed.
 * weight_milli: of the GPU's model (helio_gpu_weight_milli). Work: constant. */
void helio_durations_note(helio_durations_t *self, const helio_runner_t *runner, uint64_t run_ms,
                          uint32_t weight_milli, bool whole);
helio_duration_t helio_durations_expect(const helio_durations_t *self, const helio_runner_t *runner);
uint32_t helio_durations_keys(const helio_durations_t *self);

/*  The name without what counts its runs: numbers at the end go, others become '#', and so do words of eight
 * or more hexadecimal digits with a number among them; "" when nothing else is left. Returns its size; not
 * terminated. */
uint32_t helio_duration_stem(helio_text_t name, char ret_stem[HELIO_DURATION_STEM_MAX]);

/*  Of a figure on an A100 at a model of this weight: never more than the limit, which stands where nothing is
 * known (0). A faster model is never slower. */
uint64_t helio_duration_at(uint64_t normal_ms, uint32_t weight_milli, uint64_t limit_ms);
/*  To the nearest power of the square root of two, so that jobs of about the same length share a class; 0
 * stays. */
uint64_t helio_duration_step(uint64_t normal_ms);

#endif
