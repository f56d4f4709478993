/*  listing.h -- what Slurm's commands print, as values. Pure: texts in, structs out. Lists lie in
 * the arena, the texts in them are views into what was read. Whatever does not read as expected is INVALID as
 * a whole, and the results stay as they were: half a list is no list. JSON, or a complaint where rows are
 * expected, is never "none"; only squeue and sacct may print nothing at all, which is no jobs: that
 * the command ended well must be seen by the caller.
 *
 *  The commands are run with LC_ALL=C, TZ=UTC and SLURM_TIME_FORMAT=%s, so that times are seconds since 1970.
 *  "N/A", "Unknown", "NONE" and "(null)" are read as not known (0 or "").
 */
#ifndef HELIO_BACKENDS_SLURM_LISTING_H
#define HELIO_BACKENDS_SLURM_LISTING_H

#include "federation/base/memory.h"

/*  Slurm's job states that matter here (squeue's and sacct's long words; sacct's "CANCELLED by 1000"). */
#define HELIO_SLURM_STATE_TABLE(X)                                        \
    X(PENDING, "PENDING", LIVE)                                           \
    X(CONFIGURING, "CONFIGURING", LIVE)                                   \
    X(RUNNING, "RUNNING", LIVE)                                           \
    X(COMPLETING, "COMPLETING", LIVE) /* its processes are being ended */ \
    X(STAGE_OUT, "STAGE_OUT", LIVE)                                       \
    X(SUSPENDED, "SUSPENDED", LIVE)                                       \
    X(STOPPED, "STOPPED", LIVE)                                           \
    X(SIGNALING, "SIGNALING", LIVE)                                       \
    X(RESIZING, "RESIZING", LIVE)                                         \
    X(REQUEUED, "REQUEUED", LIVE)                                         \
    X(REQUEUE_HOLD, "REQUEUE_HOLD", LIVE)                                 \
    X(REQUEUE_FED, "REQUEUE_FED", LIVE)                                   \
    X(SPECIAL_EXIT, "SPECIAL_EXIT", LIVE)                                 \
    X(RESV_DEL_HOLD, "RESV_DEL_HOLD", LIVE)                               \
    X(COMPLETED, "COMPLETED", OVER)                                       \
    X(CANCELLED, "CANCELLED", OVER)                                       \
    X(FAILED, "FAILED", OVER)                                             \
    X(TIMEOUT, "TIMEOUT", OVER)                                           \
    X(NODE_FAIL, "NODE_FAIL", OVER)                                       \
    X(PREEMPTED, "PREEMPTED", OVER)                                       \
    X(BOOT_FAIL, "BOOT_FAIL", OVER)                                       \
    X(DEADLINE, "DEADLINE", OVER)                                         \
    X(OUT_OF_MEMORY, "OUT_OF_MEMORY", OVER)                               \
    X(REVOKED, "REVOKED", OVER)                                           \
    X(OTHER, "OTHER", LIVE) /* a word of another release of Slurm: nothing is known but that it is there */
typedef enum helio_slurm_state {
#define HELIO_SLURM_STATE_ENUMERATOR(name, word, life) HELIO_SLURM_##name,
    HELIO_SLURM_STATE_TABLE(HELIO_SLURM_STATE_ENUMERATOR) HELIO_SLURM_STATE_COUNT
} helio_slurm_state_t;
bool helio_slurm_state_is_over(helio_slurm_state_t state);
const char *helio_slurm_state_name(helio_slurm_state_t state);

/*  ---- jobs: squeue ---- */

/*  What squeue is to print: `squeue --noheader --all --states=all --array --Format=<this>` (--Format, not
 * --format: only its names tell what was asked by --gpus, and they are the same from Slurm 20.11 to 25.11).
 *
 *  Every user of the cluster may put '|' and line breaks into a job's name and (the refused job stays listed
 * for a while) into the type of a GRES. So whatever users or plugins write comes first and in columns of a
 * fixed width in bytes, which are read without looking for separators; the columns without a width that
 * follow are Slurm's own words. Names longer than the column are cut: no attempt's name is. */
extern const char helio_slurm_jobs_format[];

typedef struct helio_slurm_job {
    helio_text_t id; /* "123", "123_4", "123+1" (part of a larger job), "123_[4-9%2]"; a federation's too */
    helio_slurm_state_t state;
    helio_text_t reason;    /* "Resources", "JobHeldAdmin", …, or a sentence, cut; "" = none */
    helio_text_t partition; /* pending jobs may name several: "main,urgent" */
    uint32_t nodes;
    uint32_t gpus_per_node; /* asked or allocated; 0 = none or told per job, so that it may differ by node */
    uint32_t gpus;          /* of all nodes; 0 = none or not known (asked per socket, without slurmdbd) */
    helio_text_t gpu_type;  /* "" = any */
    int64_t start_s, end_s; /* UTC; of pending jobs the expected ones, 0 = not known or without end */
    helio_text_t node_list; /* as Slurm writes it, "eu-n[1-2]"; "" = none yet */
    helio_text_t planned;   /* of pending jobs: the nodes that the scheduler expects to use at start_s */
    helio_text_t name;      /* without blanks at its end */
    uint32_t uid;           /* whose it is: anybody may give a job any name */
} helio_slurm_job_t;

typedef struct helio_slurm_jobs {
    helio_slurm_job_t *items;
    uint32_t count;
} helio_slurm_jobs_t;
HELIO_MUST_CHECK helio_rc helio_slurm_read_jobs(helio_text_t text, helio_arena_t *arena,
                                                helio_slurm_jobs_t *ret_jobs, helio_error_t *err);

/*  ---- nodes: scontrol --details --oneliner show node ("No nodes in the system": none) ----
 *  Without --details Slurm does not say what is in use: then nodes with jobs count as full. */

enum { HELIO_SLURM_GRES_MAX = 8 };

typedef struct helio_slurm_gres {
    helio_text_t type; /* "" = untyped */
    uint32_t count;
    uint32_t used;
} helio_slurm_gres_t;

typedef struct helio_slurm_node {
    helio_text_t name;
    helio_text_t partitions; /* "main,urgent" */
    helio_text_t features;
    helio_text_t reason;
    /* GRES of the name gpu; whole ones: no MIG slices. Those of which shares (shard, mps) are in use count as
     * used. */
    helio_slurm_gres_t gpus[HELIO_SLURM_GRES_MAX];
    uint32_t gpu_kinds;
    uint32_t cpus, cpus_allocated;                 /* that jobs may have */
    uint64_t memory_bytes, memory_allocated_bytes; /* the same */
    bool up; /* answers and may run jobs: not DOWN, NOT_RESPONDING, FAIL, POWERED_DOWN, INVAL, FUTURE, … */
    bool closed; /* DRAIN, REBOOT_REQUESTED, …, or a word not known: what runs goes on, nothing new starts */
    bool reserved; /* RESERVED, MAINTENANCE: some of it, perhaps all, belongs to a reservation that is active
                    */
    bool idle_off; /* powered down to save energy, and would be started for a job */
} helio_slurm_node_t;

typedef struct helio_slurm_nodes {
    helio_slurm_node_t *items;
    uint32_t count;
} helio_slurm_nodes_t;
HELIO_MUST_CHECK helio_rc helio_slurm_read_nodes(helio_text_t text, helio_arena_t *arena,
                                                 helio_slurm_nodes_t *ret_nodes, helio_error_t *err);

/*  ---- partitions: scontrol --oneliner show partition ("No partitions in the system": none) ---- */

typedef struct helio_slurm_partition {
    helio_text_t name;
    helio_text_t nodes; /* hostlist */
    bool is_default, up;
    uint64_t max_time_ms; /* 0 = unlimited */
    uint32_t max_nodes;   /* 0 = unlimited */
    uint32_t priority_tier;
} helio_slurm_partition_t;

typedef struct helio_slurm_partitions {
    helio_slurm_partition_t *items;
    uint32_t count;
} helio_slurm_partitions_t;
HELIO_MUST_CHECK helio_rc helio_slurm_read_partitions(helio_text_t text, helio_arena_t *arena,
                                                      helio_slurm_partitions_t *ret_partitions,
                                                      helio_error_t *err);

/*  ---- reservations: scontrol --oneliner show reservation ("No reservations in the system": none) ---- */

typedef struct helio_slurm_reservation {
    helio_text_t name;
    int64_t start_s, end_s;
    helio_text_t nodes; /* hostlist */
    bool maintenance;   /* flag MAINT or IGNORE_JOBS */
    uint32_t cpus;      /* of all nodes together; fewer than they have: not whole nodes. 0 = not told */
    uint32_t gpus;      /* the same; where Slurm can reserve them */
} helio_slurm_reservation_t;

typedef struct helio_slurm_reservations {
    helio_slurm_reservation_t *items;
    uint32_t count;
} helio_slurm_reservations_t;
HELIO_MUST_CHECK helio_rc helio_slurm_read_reservations(helio_text_t text, helio_arena_t *arena,
                                                        helio_slurm_reservations_t *ret_reservations,
                                                        helio_error_t *err);

/*  ---- accounting: sacct --noheader --allocations --duplicates --format=<helio_slurm_ends_format> ----
 *  Not with --parsable: the columns have fixed widths for the same reason as squeue's. */

extern const char helio_slurm_ends_format[];

typedef struct helio_slurm_end {
    helio_text_t id;
    helio_text_t name;
    helio_slurm_state_t state;
    int64_t submit_s, start_s, end_s; /* 0 = not known */
    uint32_t exit_code;               /* of the batch script */
    uint32_t exit_signal;
    int64_t cancelled_by; /* uid; -1 = nobody, or not told */
    uint32_t uid;         /* whose it was; UINT32_MAX = not told */
} helio_slurm_end_t;

typedef struct helio_slurm_ends {
    helio_slurm_end_t *items;
    uint32_t count;
} helio_slurm_ends_t;
HELIO_MUST_CHECK helio_rc helio_slurm_read_ends(helio_text_t text, helio_arena_t *arena,
                                                helio_slurm_ends_t *ret_ends, helio_error_t *err);

/*  ---- scontrol --oneliner show job ID: the last look at one job that left the queue ----
 *  One job only, and only one whose name could be an attempt's: letters, digits, '-', '_' and '.'; any other
 * may be forged text, and is INVALID. */

typedef struct helio_slurm_detail {
    helio_text_t id;
    helio_text_t name;
    helio_slurm_state_t state;
    helio_text_t reason;
    uint32_t exit_code, exit_signal;
    int64_t start_s, end_s;
    uint32_t uid; /* whose it is */
} helio_slurm_detail_t;
HELIO_MUST_CHECK helio_rc helio_slurm_read_detail(helio_text_t text, helio_slurm_detail_t *ret_detail,
                                                  helio_error_t *err);

/*  ---- small texts ---- */

/*  sbatch --parsable: "123" or "123;cluster". */
HELIO_MUST_CHECK helio_rc helio_slurm_read_submitted(helio_text_t text, char ret_id[32]);
/*  What a command's complaint means. */
typedef enum helio_slurm_trouble {
    HELIO_SLURM_UNREACHABLE, /* controller down, slow or restarting, authentication service down, time-outs:
                              * may be anything; ask again */
    HELIO_SLURM_UNKNOWN_JOB, /* "Invalid job id specified" and the like, by a controller that answered */
    HELIO_SLURM_REFUSED,     /* the controller said no to this request, and would again */
    HELIO_SLURM_BUSY,        /* said no for now: too many jobs, rate limits */
    HELIO_SLURM_ALREADY_OVER /* of scancel: the job is over, or about to be */
} helio_slurm_trouble_t;
/*  A complaint that is not known is UNREACHABLE: it proves nothing. So a caller that submits bounds its
 * repeats. */
helio_slurm_trouble_t helio_slurm_trouble_of(helio_text_t complaint);

#endif
