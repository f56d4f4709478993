/*  listing.h -- the output of Slurm's commands, as values. Pure: texts in, structs out. Lists lie in the arena; the
 *  texts in them are views into what was read. A text that does not read as expected is INVALID as a whole, and the
 *  results stay as they were: half a list is not a list. JSON, or an error message in place of rows, never means
 *  "none". Only squeue and sacct can print nothing at all, which means no jobs; the caller must check that the command
 *  succeeded.
 *
 *  The commands are run with LC_ALL=C, TZ=UTC and SLURM_TIME_FORMAT=%s, so that times are seconds since 1970. "N/A",
 *  "Unknown", "NONE" and "(null)" are read as unknown (0 or "").
 */
#ifndef HELIO_BACKENDS_SLURM_LISTING_H
#define HELIO_BACKENDS_SLURM_LISTING_H

#include "federation/base/memory.h"

/*  Slurm's job states that matter here (the long names of squeue and sacct; sacct's "CANCELLED by 1000"). */
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
    X(OTHER, "OTHER", LIVE) /* a state of another release of Slurm: only its existence is known */
typedef enum helio_slurm_state {
#define HELIO_SLURM_STATE_ENUMERATOR(name, word, life) HELIO_SLURM_##name,
    HELIO_SLURM_STATE_TABLE(HELIO_SLURM_STATE_ENUMERATOR) HELIO_SLURM_STATE_COUNT
} helio_slurm_state_t;
bool helio_slurm_state_is_over(helio_slurm_state_t state);
const char *helio_slurm_state_name(helio_slurm_state_t state);

/*  ---- jobs: squeue ---- */

/*  The format of squeue: `squeue --noheader --all --states=all --array --Format=<this>` (--Format, not --format: only
 *  its fields tell what --gpus requested, and they are the same from Slurm 20.11 to 25.11).
 *
 *  Every user of the cluster can put '|' and line breaks into a job's name and (a refused job stays listed for a while)
 *  into the type of a GRES. So all fields that users or plugins write come first, in columns of a fixed width in bytes,
 *  which are read without looking for separators. The columns without a width follow; they hold Slurm's own words.
 *  Names longer than the column are cut; attempts' names are not that long.
 */
extern const char helio_slurm_jobs_format[];

typedef struct helio_slurm_job {
    /* "123", "123_4", "123+1" (part of a larger job), "123_[4-9%2]"; also in a Slurm federation */
    helio_text_t id;
    helio_slurm_state_t state;
    helio_text_t reason;    /* "Resources", "JobHeldAdmin", …, or a sentence, cut; "" = none */
    helio_text_t partition; /* a pending job can name several: "main,urgent" */
    uint32_t nodes;
    uint32_t gpus_per_node; /* requested or allocated; 0 = none, or requested per job, so that it can differ by node */
    uint32_t gpus;          /* of all nodes; 0 = none or unknown (requested per socket, without slurmdbd) */
    helio_text_t gpu_type;  /* "" = any */
    int64_t start_s, end_s; /* UTC; expected ones of pending jobs; 0 = unknown or no end */
    helio_text_t node_list; /* as Slurm writes it, "eu-n[1-2]"; "" = none yet */
    helio_text_t planned;   /* of pending jobs: the nodes on which the scheduler expects to start them at start_s */
    helio_text_t name;      /* without blanks at its end */
    uint32_t uid;           /* its user: any user can give a job any name */
} helio_slurm_job_t;

typedef struct helio_slurm_jobs {
    helio_slurm_job_t *items;
    uint32_t count;
} helio_slurm_jobs_t;
HELIO_MUST_CHECK helio_rc helio_slurm_read_jobs(helio_text_t text, helio_arena_t *arena, helio_slurm_jobs_t *ret_jobs,
                                                helio_error_t *err);

/*  ---- who submitted what: squeue --noheader --all --states=all --array --Format=<helio_slurm_marks_format> ----
 *  Of the script only as many bytes are listed as a mark has. */

typedef struct helio_slurm_mark {
    helio_text_t name;
    helio_text_t script; /* begins so */
    uint32_t uid;
} helio_slurm_mark_t;

typedef struct helio_slurm_marks {
    helio_slurm_mark_t *items;
    uint32_t count;
} helio_slurm_marks_t;
void helio_slurm_marks_format(uint32_t script_bytes, char *ret_format, size_t capacity);
HELIO_MUST_CHECK helio_rc helio_slurm_read_marks(helio_text_t text, uint32_t script_bytes, helio_arena_t *arena,
                                                 helio_slurm_marks_t *ret_marks, helio_error_t *err);

/*  ---- nodes: scontrol --details --oneliner show node ("No nodes in the system": none) ----
 *  Without --details Slurm does not say what is in use: then nodes with jobs count as full. */

enum { HELIO_SLURM_GRES_MAX = 8 };

/*  What a type of the list of a node's GPUs is: GPUs ("h100", ""), slices of GPUs, which Slurm lists as GPUs, too
 *  ("a100_1g.5gb"), or shares of GPUs: the resources "shard" and "mps", which have these names in place of a type. */
typedef enum helio_slurm_part { HELIO_SLURM_WHOLE, HELIO_SLURM_SLICE, HELIO_SLURM_SHARE } helio_slurm_part_t;
helio_slurm_part_t helio_slurm_part_of(helio_text_t type);

typedef struct helio_slurm_gres {
    helio_text_t type; /* "" = untyped */
    uint32_t count;
    /* Of shares Slurm can say on how many GPUs some are in use, and not how many are: then it is that number. */
    uint32_t used;
    uint32_t whole; /* shares: those of GPUs that jobs have as a whole, among used */
} helio_slurm_gres_t;

typedef struct helio_slurm_node {
    helio_text_t name;
    helio_text_t partitions; /* "main,urgent" */
    helio_text_t features;
    helio_text_t reason;
    /*  GPUs of which shares are in use count as used, and so do the shares of GPUs that are in use. */
    helio_slurm_gres_t gpus[HELIO_SLURM_GRES_MAX];
    uint32_t gpu_kinds;
    uint32_t cpus, cpus_allocated;                 /* available to jobs */
    uint64_t memory_bytes, memory_allocated_bytes; /* likewise */
    bool up;       /* it answers and can run jobs: not DOWN, NOT_RESPONDING, FAIL, POWERED_DOWN, INVAL, FUTURE, … */
    bool closed;   /* DRAIN, REBOOT_REQUESTED, …, or an unknown word: what runs goes on, nothing new starts */
    bool reserved; /* RESERVED, MAINTENANCE: a part of it, perhaps all, belongs to an active reservation */
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
    helio_text_t qos;   /* whose limits all of its jobs have; "" = none */
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
                                                      helio_slurm_partitions_t *ret_partitions, helio_error_t *err);

/*  ---- reservations: scontrol --oneliner show reservation ("No reservations in the system": none) ---- */

typedef struct helio_slurm_reservation {
    helio_text_t name;
    int64_t start_s, end_s;
    helio_text_t nodes; /* hostlist */
    bool maintenance;   /* flag MAINT or IGNORE_JOBS */
    uint32_t cpus;      /* of all nodes together; fewer than they have: not whole nodes. 0 = not given */
    uint32_t gpus;      /* likewise; where Slurm can reserve them */
} helio_slurm_reservation_t;

typedef struct helio_slurm_reservations {
    helio_slurm_reservation_t *items;
    uint32_t count;
} helio_slurm_reservations_t;
HELIO_MUST_CHECK helio_rc helio_slurm_read_reservations(helio_text_t text, helio_arena_t *arena,
                                                        helio_slurm_reservations_t *ret_reservations,
                                                        helio_error_t *err);

/*  ---- QOS and associations: scontrol --oneliner show assoc_mgr flags=qos,assoc users=… (without accounting: none) ----
 *  users: their associations, and those of the accounts above. */

#define HELIO_SLURM_NO_LIMIT UINT32_MAX

/*  What a limit leaves. */
typedef struct helio_slurm_room {
    uint32_t gpus, cpus, jobs;
} helio_slurm_room_t;
helio_slurm_room_t helio_slurm_room_unlimited(void);
helio_slurm_room_t helio_slurm_room_both(helio_slurm_room_t a, helio_slurm_room_t b);

typedef struct helio_slurm_qos {
    helio_text_t name;
    uint64_t max_time_ms;    /* of one job; 0 = unlimited */
    helio_slurm_room_t left; /* of its group limits */
    helio_text_t users;      /* their own, as Slurm writes them */
} helio_slurm_qos_t;
/*  Of the limits that each user has. Slurm lists users that have run something. */
helio_slurm_room_t helio_slurm_room_of_user(const helio_slurm_qos_t *qos, uint32_t uid);

/*  Of an account, or of a user in an account. */
typedef struct helio_slurm_association {
    helio_text_t account;
    helio_text_t user;      /* "" = that of the account itself */
    helio_text_t parent;    /* of an account; "" = none */
    helio_text_t partition; /* it holds there alone; "" = everywhere */
    uint32_t uid;           /* UINT32_MAX = not given */
    bool is_default;        /* of the user's */
    helio_slurm_room_t left;
} helio_slurm_association_t;

typedef struct helio_slurm_associations {
    helio_slurm_association_t *items;
    uint32_t count;
} helio_slurm_associations_t;
HELIO_MUST_CHECK helio_rc helio_slurm_read_associations(helio_text_t text, helio_arena_t *arena,
                                                        helio_slurm_associations_t *ret_all, helio_error_t *err);
/*  Whether Slurm enforces these limits, by `scontrol show config`. */
bool helio_slurm_read_enforced(helio_text_t config);

typedef struct helio_slurm_all_qos {
    helio_slurm_qos_t *items;
    uint32_t count;
} helio_slurm_all_qos_t;
HELIO_MUST_CHECK helio_rc helio_slurm_read_qos(helio_text_t text, helio_arena_t *arena, helio_slurm_all_qos_t *ret_qos,
                                               helio_error_t *err);

/*  ---- accounting: sacct --noheader --allocations --duplicates --format=<helio_slurm_ends_format> ----
 *  Not with --parsable: the columns have fixed widths for the same reason as squeue's. */

extern const char helio_slurm_ends_format[];

typedef struct helio_slurm_end {
    helio_text_t id;
    helio_text_t name;
    helio_slurm_state_t state;
    int64_t submit_s, start_s, end_s; /* 0 = unknown */
    uint32_t exit_code;               /* of the batch script */
    uint32_t exit_signal;
    int64_t cancelled_by; /* uid; -1 = none, or not given */
    uint32_t uid;         /* its user; UINT32_MAX = not given */
} helio_slurm_end_t;

typedef struct helio_slurm_ends {
    helio_slurm_end_t *items;
    uint32_t count;
} helio_slurm_ends_t;
HELIO_MUST_CHECK helio_rc helio_slurm_read_ends(helio_text_t text, helio_arena_t *arena, helio_slurm_ends_t *ret_ends,
                                                helio_error_t *err);

/*  ---- scontrol --oneliner show job ID: the last query of one job that left the queue ----
 *
 *  One job only, and only one whose name could be an attempt's: letters, digits, '-', '_' and '.'. Any other name can
 *  be forged text, and is INVALID.
 */

typedef struct helio_slurm_detail {
    helio_text_t id;
    helio_text_t name;
    helio_slurm_state_t state;
    helio_text_t reason;
    uint32_t exit_code, exit_signal;
    int64_t start_s, end_s;
    uint32_t uid; /* its user */
} helio_slurm_detail_t;
HELIO_MUST_CHECK helio_rc helio_slurm_read_detail(helio_text_t text, helio_slurm_detail_t *ret_detail,
                                                  helio_error_t *err);

/*  ---- small texts ---- */

/*  sbatch --parsable: "123" or "123;cluster". */
HELIO_MUST_CHECK helio_rc helio_slurm_read_submitted(helio_text_t text, char ret_id[32]);
/*  What an error message of a command means. */
typedef enum helio_slurm_trouble {
    /* controller down, slow or restarting, authentication service down, time-outs: the job's state is unknown; ask
     * again */
    HELIO_SLURM_UNREACHABLE,
    HELIO_SLURM_UNKNOWN_JOB, /* "Invalid job id specified" and the like, from a controller that answered */
    HELIO_SLURM_REFUSED,     /* the controller refused this request, and would refuse it again */
    HELIO_SLURM_BUSY,        /* refused for now: too many jobs, rate limits */
    HELIO_SLURM_ALREADY_OVER /* of scancel: the job is over, or about to be */
} helio_slurm_trouble_t;
/*  An unknown message is UNREACHABLE, since it proves nothing. So a caller that submits must bound its repeats. */
helio_slurm_trouble_t helio_slurm_trouble_of(helio_text_t complaint);

#endif
