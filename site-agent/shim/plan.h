/*  plan.h -- how one attempt is to be run, written by the agent and read by the shim; and which shim runs it.
 *
 *  Plain values; texts are views into the arena or buffer that they were read from.
 */
#ifndef HELIO_SHIM_PLAN_H
#define HELIO_SHIM_PLAN_H

#include "site-agent/shim/status_files.h"
#include "site-agent/shim/process.h"

enum {
    HELIO_PLAN_RANKS_MAX = 256,
    HELIO_PLAN_GPUS_MAX = 64,
    HELIO_PLAN_NODES_MAX = 65536,
    HELIO_PLAN_CONTAINER_MAX = 128,
    HELIO_PLAN_GRACE_MAX_MS = 3600000, /* HELIO_JOB_GRACE_MAX_MS, of a room that the shim does not know */
    HELIO_PLAN_MOUNTS_MAX = 32
};

/*  What creates the attempt's processes.
 *  LOCAL: the shim, one rank for each entry of `ranks`, on this machine.
 *  SLURM: the shim is the batch step's program. One node, or a batch script: one rank, here, with the GPUs that Slurm
 *  gave (CUDA_VISIBLE_DEVICES of the shim's own environment) and Slurm's SLURM_* variables. Several nodes: the shim's
 *  only child is srun with one task a node. Each task is a shim (`helio-shim --rank FOLDER`) that runs the rank of its
 *  SLURM_NODEID under the same rules, with status files of its own in FOLDER/rank-<n>. Only the head shim enforces the
 *  time limit; the others read its commands in the folder (gang.h).
 *  BATCH: the same under an engine that an adapter speaks to (batch.h), without SLURM_* variables: what starts the ranks
 *  of several nodes is the adapter's command in place of srun. */
typedef enum helio_launcher {
    HELIO_LAUNCHER_LOCAL,
    HELIO_LAUNCHER_SLURM,
    HELIO_LAUNCHER_BATCH,
    HELIO_LAUNCHER_COUNT
} helio_launcher_t;

typedef struct helio_plan {
    uint32_t uid;
    uint32_t gid;
    helio_text_t user; /* for initgroups */
    helio_text_t workdir;
    helio_text_t lease; /* path of the site's lease file; "" = none */
    helio_text_t
        lease_name;    /* the attempt obeys it only while it has this name; "" = it needs none (a former agent's) */
    helio_text_t mark; /* "HELIO_OUTPUT_DIR=…": an entry that only this attempt's processes have in their environment */
    uint64_t time_limit_ms; /* 0 = none */
    uint64_t grace_ms;
    uint64_t log_max_bytes;
    uint32_t checkpoint_signal;               /* 0 = TERM */
    helio_text_t ranks[HELIO_PLAN_RANKS_MAX]; /* one for each rank: GPU indexes "0,1", "" = none */
    uint32_t rank_count;                      /* SLURM: 0 */
    helio_launcher_t launcher;
    uint32_t nodes;    /* SLURM: of the allocation */
    bool batch_script; /* `run` starts once, on the first node, for any `nodes` */
    /* the ranks' output goes here as well as to `log`, opened as the job's user and appended to; "" = none; stderr_path
     * "" = with standard output. The shim fills in Slurm's patterns (%j %A %a %x %N %u %%). SLURM only */
    helio_text_t stdout_path, stderr_path;
    bool truncate;               /* those two files are truncated; otherwise they are appended to */
    helio_text_t srun;           /* path of srun; "" = found by PATH. SLURM with several nodes */
    helio_text_t cgroup;         /* LOCAL: path of the control group that the agent has made for the ranks; "" = none */
    bool setuid_programs;        /* LOCAL: a rank may gain rights by the programs that it runs (sudo) */
    uint64_t clock_tolerance_ms; /* largest difference between this node's clock and the lease writer's */
    helio_text_t image;          /* "" = no container */
    helio_text_t container[HELIO_PLAN_CONTAINER_MAX]; /* the template of its command (container.h) */
    uint32_t container_count;
    /* of the runtime's own environment: the site's PATH; the home of the job's user; what each of the job's variables is
     * called in it, before its name, "" = they are not in it */
    helio_text_t runtime_path, runtime_home, runtime_prefix;
    helio_text_t mounts[HELIO_PLAN_MOUNTS_MAX]; /* the site's */
    uint32_t mount_count;
} helio_plan_t;

void helio_plan_text(const helio_plan_t *self, helio_buffer_t *out);
HELIO_MUST_CHECK helio_rc helio_plan_parse(helio_text_t text, helio_plan_t *ret_plan, helio_error_t *err);

/*  claim: the shim of this folder, or none (pid 0): the agent has closed the folder before any shim came. */
typedef struct helio_claim {
    helio_process_t shim;
    char boot_id[HELIO_BOOT_ID_SIZE];
    char host[65];         /* where the shim runs */
    char scheduler_id[65]; /* SLURM_JOB_ID of the job in which it runs; "" = none */
} helio_claim_t;

void helio_claim_text(const helio_claim_t *self, helio_buffer_t *out);
HELIO_MUST_CHECK helio_rc helio_claim_parse(helio_text_t text, helio_claim_t *ret_claim);

/*  started: the leaders of the ranks' sessions. */
typedef struct helio_started {
    int64_t wall_ms;
    int64_t boot_ms;
    helio_process_t ranks[HELIO_PLAN_RANKS_MAX];
    uint32_t rank_count;
} helio_started_t;

void helio_started_text(const helio_started_t *self, helio_buffer_t *out);
HELIO_MUST_CHECK helio_rc helio_started_parse(helio_text_t text, helio_started_t *ret_started);

/*  The lease file: when to stop politely and when to kill. It has two forms:
 *    - for one boot of one machine: CLOCK_BOOTTIME values, exact there and ignored elsewhere (boot_id "" = not given);
 *    - for any machine: the time that was left when it was written (stop_in_ms, kill_in_ms), a number that rises with
 *      every write, and the writer's UTC. A reader computes the deadline in two ways, and the earlier counts: (a) the
 *      writer's UTC + stop_in_ms - the tolerance between clocks; (b) once it has seen the number change: its own boot
 *      time of the *last read of the former number* + stop_in_ms (the write came after that read, so the result is
 *      never late, whatever either clock shows). Before the first change only (a) is known. */
typedef struct helio_lease {
    int64_t stop_boot_ms;
    int64_t kill_boot_ms;
    char boot_id[HELIO_BOOT_ID_SIZE];
    uint64_t number; /* 0 = this form is not given */
    int64_t written_wall_ms;
    int64_t stop_in_ms;
    int64_t kill_in_ms;
} helio_lease_t;

void helio_lease_text(const helio_lease_t *self, helio_buffer_t *out);
/*  After that: one of the attempts that it is for. A copy that the agent does not know has no name in it. */
void helio_lease_name_text(helio_text_t name, helio_buffer_t *out);
enum { HELIO_LEASE_FILE_MAX = 64 << 20 };
/*  NOT_FOUND: it does not have this name; "" is in every lease. */
HELIO_MUST_CHECK helio_rc helio_lease_parse(helio_text_t text, helio_text_t name, helio_lease_t *ret_lease);

#endif
