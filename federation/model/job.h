/*  job.h -- the job specification, as parsed and validated by federation/spec.
 *
 *  Every text is a view into the arena of the parser. Units are in the names; 0 or "" means "not set" unless a comment
 *  says otherwise. The exact bytes from the user travel beside the specification and are never re-encoded.
 */
#ifndef HELIO_MODEL_JOB_H
#define HELIO_MODEL_JOB_H

#include "federation/base/record.h"
#include "federation/model/label.h"

/*  Enumerations as tables: C name, word in files. The order is the stored value: append only. */
/* clang-format off */
#define HELIO_JOB_KIND_TABLE(X) \
    X(TRAIN, "train")           \
    X(INFER, "infer")           \
    X(EVAL, "eval")             \
    X(SWEEP, "sweep")           \
    X(DEBUG, "debug")           \
    X(SERVICE, "service")
/* clang-format on */
#define HELIO_TIER_TABLE(X) X(BEST_EFFORT, "best-effort") X(STANDARD, "standard") X(CRITICAL, "critical")
#define HELIO_SITE_LOSS_TABLE(X) X(STRICT, "strict") X(LEASE, "lease") X(EAGER, "eager")
#define HELIO_INTERCONNECT_TABLE(X) X(ANY, "any") X(NVLINK, "nvlink") X(IB, "ib")
/*  From most to least isolated: a job that tolerates one value tolerates all values before it. */
#define HELIO_SHARING_TABLE(X) X(NONE, "none") X(MIG, "mig") X(MPS, "mps") X(TIMESLICE, "timeslice")
/* clang-format off */
#define HELIO_GOAL_TABLE(X) \
    X(FAST, "fast")         \
    X(CHEAP, "cheap")       \
    X(BALANCED, "balanced") \
    X(GREEN, "green")       \
    X(FOLLOW_THE_SUN, "follow-the-sun")
/* clang-format on */
#define HELIO_BETTER_SITE_TABLE(X) X(STAY, "stay") X(CHECKPOINT, "checkpoint")
#define HELIO_SPOT_TABLE(X) X(AUTO, "auto") X(NEVER, "never") X(ALLOW, "allow")
#define HELIO_DATA_MODE_TABLE(X) X(RO, "ro") X(RW, "rw")

#define HELIO_ENUM_DECLARE(name, PREFIX, TABLE)                                       \
    typedef enum name { TABLE(PREFIX##_ENUMERATOR) PREFIX##_COUNT } name##_t;         \
    /* The word of a value ("unknown" outside the table), and the value of a word. */ \
    const char *name##_name(uint32_t value);                                          \
    HELIO_MUST_CHECK helio_rc name##_of(helio_text_t word, uint32_t *ret_value);

#define HELIO_JOB_KIND_ENUMERATOR(name, word) HELIO_JOB_KIND_##name,
#define HELIO_TIER_ENUMERATOR(name, word) HELIO_TIER_##name,
#define HELIO_SITE_LOSS_ENUMERATOR(name, word) HELIO_SITE_LOSS_##name,
#define HELIO_INTERCONNECT_ENUMERATOR(name, word) HELIO_INTERCONNECT_##name,
#define HELIO_SHARING_ENUMERATOR(name, word) HELIO_SHARING_##name,
#define HELIO_GOAL_ENUMERATOR(name, word) HELIO_GOAL_##name,
#define HELIO_BETTER_SITE_ENUMERATOR(name, word) HELIO_BETTER_SITE_##name,
#define HELIO_SPOT_ENUMERATOR(name, word) HELIO_SPOT_##name,
#define HELIO_DATA_MODE_ENUMERATOR(name, word) HELIO_DATA_MODE_##name,

HELIO_ENUM_DECLARE(helio_job_kind, HELIO_JOB_KIND, HELIO_JOB_KIND_TABLE)
HELIO_ENUM_DECLARE(helio_tier, HELIO_TIER, HELIO_TIER_TABLE)
HELIO_ENUM_DECLARE(helio_site_loss, HELIO_SITE_LOSS, HELIO_SITE_LOSS_TABLE)
HELIO_ENUM_DECLARE(helio_interconnect, HELIO_INTERCONNECT, HELIO_INTERCONNECT_TABLE)
HELIO_ENUM_DECLARE(helio_sharing, HELIO_SHARING, HELIO_SHARING_TABLE)
HELIO_ENUM_DECLARE(helio_goal, HELIO_GOAL, HELIO_GOAL_TABLE)
HELIO_ENUM_DECLARE(helio_better_site, HELIO_BETTER_SITE, HELIO_BETTER_SITE_TABLE)
HELIO_ENUM_DECLARE(helio_spot, HELIO_SPOT, HELIO_SPOT_TABLE)
HELIO_ENUM_DECLARE(helio_data_mode, HELIO_DATA_MODE, HELIO_DATA_MODE_TABLE)

/*  Limits of a job file. */
#define HELIO_JOB_TIME_MAX_MS INT64_C(31622400000) /* of a time limit: 366 days */

enum {
    HELIO_JOB_SOURCE_MAX = 256 << 10, /* bytes of one job document */
    HELIO_JOB_NAME_MAX = 63,
    HELIO_JOB_GRACE_MAX_MS = 3600000, /* of `checkpoint.grace`, and of a site's `grace` */
    HELIO_JOB_RUN_MAX = 128 << 10,
    HELIO_JOB_GPUS_PER_NODE_MAX = 64,
    HELIO_JOB_NODES_MAX = 10000,
    HELIO_JOB_ARRAY_MAX = 10000, /* tasks of one array */
    HELIO_JOB_LIST_MAX = 256,    /* env, secrets, data, sites, regions, depends: entries each */
    HELIO_JOB_AFTER_TASK_MAX = 4 /* depends.after_task: each is a dependency of every task */
};

/*  One way to satisfy `gpu`: a model ("" = any), a count per node, a minimum memory, a MIG slice ("" = whole GPUs). */
#define HELIO_GPU_ASK_FIELDS(F, R)                                                 \
    F(R, TEXT, model, 32, _)                                                       \
    F(R, U32, count, HELIO_JOB_GPUS_PER_NODE_MAX, _) /* per node */                \
    F(R, U64, memory_bytes, 0, _)                    /* least memory of one GPU */ \
    F(R, TEXT, mig, 16, _)                           /* "1g.10gb" */
HELIO_RECORD_DECLARE(helio_gpu_ask, HELIO_GPU_ASK_FIELDS)

#define HELIO_PAIR_FIELDS(F, R) \
    F(R, TEXT, name, 256, _)    \
    F(R, TEXT, value, 65536, _)
HELIO_RECORD_DECLARE(helio_pair, HELIO_PAIR_FIELDS)

#define HELIO_STRING_FIELDS(F, R) F(R, TEXT, text, 256, _)
HELIO_RECORD_DECLARE(helio_string, HELIO_STRING_FIELDS)

#define HELIO_DATA_ASK_FIELDS(F, R) \
    F(R, TEXT, uri, 1024, _)        \
    F(R, U64, size_bytes, 0, _)     \
    F(R, U32, mode, HELIO_DATA_MODE_COUNT - 1, _)
HELIO_RECORD_DECLARE(helio_data_ask, HELIO_DATA_ASK_FIELDS)

#define HELIO_JOB_SPEC_FIELDS(F, R)                                                                             \
    F(R, TEXT, name, HELIO_JOB_NAME_MAX, _)                                                                     \
    F(R, TEXT, queue, 32, _)                                                                                    \
    F(R, U32, kind, HELIO_JOB_KIND_COUNT - 1, _)                                                                \
    F(R, TEXT, home, 32, _)            /* site; "" = the tenant's home site */                                  \
    F(R, LIST, gpus, 8, helio_gpu_ask) /* alternatives; none = a CPU job */                                     \
    F(R, BOOL, gpus_any, 0, _)         /* alternatives without preference; otherwise in order of preference */  \
    F(R, U32, nodes, HELIO_JOB_NODES_MAX, _)                                                                    \
    F(R, U32, cpus, 4096, _)      /* per node; 0 = not set */                                                   \
    F(R, U64, memory_bytes, 0, _) /* per node; 0 = not set */                                                   \
    F(R, U32, interconnect, HELIO_INTERCONNECT_COUNT - 1, _)                                                    \
    F(R, U64, time_limit_ms, 0, _) /* 0 = not set: the queue's default */                                       \
    F(R, U32, sharing, HELIO_SHARING_COUNT - 1, _)                                                              \
    F(R, TEXT, image, 512, _)                                                                                   \
    F(R, LIST, env, HELIO_JOB_LIST_MAX, helio_pair)                                                             \
    F(R, LIST, secrets, HELIO_JOB_LIST_MAX, helio_string) /* names only */                                      \
    F(R, LIST, data, HELIO_JOB_LIST_MAX, helio_data_ask)                                                        \
    F(R, TEXT, run, HELIO_JOB_RUN_MAX, _)                                                                       \
    F(R, TEXT, checkpoint_signal, 16, _) /* "USR1"; "" = none */                                                \
    F(R, U64, checkpoint_grace_ms, 0, _)                                                                        \
    F(R, U64, checkpoint_every_ms, 0, _)                                                                        \
    F(R, U32, on_site_loss, HELIO_SITE_LOSS_COUNT - 1, _)                                                       \
    F(R, U32, retries, 100, _) /* after the job's own failures */                                               \
    F(R, U32, goal, HELIO_GOAL_COUNT - 1, _)                                                                    \
    F(R, BOOL, prices_set, 0, _) /* the two prices below replace the goal's */                                  \
    F(R, I64, carbon_price_micro_usd_per_t, 0, _)                                                               \
    F(R, I64, wait_price_micro_usd_per_gpu_h, 0, _)                                                             \
    F(R, U64, flexible_ms, 0, _)                                                                                \
    F(R, I64, deadline_wall_ms, 0, _)                   /* 0 = none */                                          \
    F(R, LIST, sites, HELIO_JOB_LIST_MAX, helio_string) /* patterns; "!x" excludes */                           \
    F(R, LIST, regions, HELIO_JOB_LIST_MAX, helio_string)                                                       \
    F(R, U64, max_cost_micro_usd, 0, _)    /* 0 = no limit */                                                   \
    F(R, U64, max_carbon_mg_per_kwh, 0, _) /* 0 = no limit */                                                   \
    F(R, U32, on_better_site, HELIO_BETTER_SITE_COUNT - 1, _)                                                   \
    F(R, U32S, tasks, HELIO_JOB_ARRAY_MAX, _)        /* array indices, ascending; none = not an array */        \
    F(R, U32, tasks_at_once, HELIO_JOB_ARRAY_MAX, _) /* 0 = no limit */                                         \
    F(R, LIST, after_ok, HELIO_JOB_LIST_MAX, helio_string)                                                      \
    F(R, LIST, slurm, 64, helio_pair)                                                                           \
    F(R, LIST, kubernetes, 64, helio_pair)                                                                      \
    F(R, LIST, backends, 8, helio_string)                      /* kinds of sites that may run it; none = all */ \
    F(R, I64, not_before_wall_ms, 0, _)                        /* earliest start; 0 = none */                   \
    F(R, LIST, after_any, HELIO_JOB_LIST_MAX, helio_string)    /* must have ended, with any result */           \
    F(R, LIST, after_not_ok, HELIO_JOB_LIST_MAX, helio_string) /* must have ended without success */            \
    F(R, LIST, after_start, HELIO_JOB_LIST_MAX, helio_string)  /* must have started, or have ended */           \
    F(R, U32, spot, HELIO_SPOT_COUNT - 1, _) /* capacity that can be taken away: AUTO = with checkpoints */     \
    F(R, LIST, after_task, HELIO_JOB_AFTER_TASK_MAX, helio_string) /* arrays, task by task */                   \
    F(R, LIST, labels, HELIO_LABELS_MAX, helio_pair, 10)
HELIO_RECORD_DECLARE(helio_job_spec, HELIO_JOB_SPEC_FIELDS)

/*  From the polite signal to KILL, for a job whose document says nothing by default_ms: never more than
 *  HELIO_JOB_GRACE_MAX_MS. */
uint64_t helio_job_grace_ms(const helio_job_spec_t *spec, uint64_t default_ms);

#endif
