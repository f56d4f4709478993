/*  slurm.h -- the backend `slurm`: attempts are batch jobs of a Slurm cluster, driven by its own commands on a submit
 *  host. Each attempt is one Slurm job with the name that helio_attempt_name makes; inside it helio-shim runs the
 *  ranks.
 *
 *  Sources of truth, strongest first:
 *    1. the attempt's folder on the shared file system: `claim` (the shim that holds it runs, and no other ever will,
 *       so a job that Slurm holds twice runs once), `started`, `done`;
 *    2. Slurm's accounting (sacct), if the cluster keeps it;
 *    3. Slurm's queue (squeue; scontrol show job).
 *  Silence is not a source: a list that could not be read, that is damaged, or that came from a controller in trouble
 *  changes nothing. "Not in the queue" alone never is an end.
 *
 *  Submission. The folder is made and synced first, then sbatch runs. If the folder exists already, sbatch may have
 *  been called: then the backend waits for a list of jobs that was requested later. If a job of that name exists, the
 *  backend adopts it. If none does, it claims the folder for no shim, which no late job can undo, and only then makes
 *  the folder anew.
 *
 *  One squeue a poll covers all jobs of the cluster (columns of fixed width: about 283 bytes a job where JSON takes
 *  3,600; measured with the cluster of deploy/slurm-lab). It runs at most once a second, after a pause of ten times the
 *  duration of the last one.
 *
 *  A job counts as an attempt's if it has its name and its user: any user can give a job any name.
 *
 *  The backend reports what a pending job waits for (WAITING). It withdraws a pending job that can never start, or that
 *  the site keeps from starting for `withdraw`: it closes the folder first, so that the job cannot begin afterwards.
 *
 *  The shim touches its claim every five seconds. While it does, nothing that Slurm reports or fails to report ends the
 *  attempt (a node given up, a job renamed). The shim obeys the file `stop` in its folder, which needs no controller.
 */
#ifndef HELIO_BACKENDS_SLURM_H
#define HELIO_BACKENDS_SLURM_H

#include "site-agent/backends/backend.h"
#include "site-agent/backends/rules.h"

/*  Which nodes make up a pool of the site: those of a partition that have GPUs of a type. */
typedef struct helio_slurm_pool {
    helio_text_t pool;      /* name of a pool of the site file */
    helio_text_t partition; /* "" = the cluster's default partition */
    /* GRES type, as in gpu:<type>:<count>; "" = the pool's `gpu` in lower case, with '_' for '/'; "*" = any; "shard",
     * "mps" = these resources */
    helio_text_t gres;
    uint32_t units; /* of "shard" or "mps" in one of the pool's GPUs; 0 = 1 */
    /* What a job gets for each of its GPUs unless it says more: what the node has that has least for each. 0 = the
     * share of the pool's figures. Not in the site file. */
    uint32_t cpus_per_gpu;
    uint64_t memory_bytes_per_gpu;
} helio_slurm_pool_t;

typedef struct helio_slurm_settings {
    helio_text_t shared;   /* folder that the submit host and all nodes see under the same path; "" = none: refused */
    helio_text_t conf;     /* SLURM_CONF; "" = Slurm's own default */
    helio_text_t commands; /* folder of sbatch, squeue, …; "" = found by PATH */
    uint64_t poll_ms;      /* 1000..60000 */
    uint64_t timeout_ms;   /* of one command */
    uint64_t clock_tolerance_ms;
    uint64_t prolog_ms;   /* longest time from Slurm's start of a job to its first program; 0 = unknown */
    uint64_t ahead_ms;    /* the next attempt may be queued that long before the expected end of one; 0 = never */
    uint64_t withdraw_ms; /* a job that the cluster keeps from starting for so long is withdrawn; 0 = never */
    struct {
        helio_slurm_pool_t *items;
        uint32_t count;
    } pools;
    struct {
        helio_string_t *items; /* further long options that a job's `slurm:` part can pass, without "--" */
        uint32_t count;
    } options;
    helio_text_t shim; /* path of helio-shim on the nodes; "" = the agent puts a copy into `shared` */
} helio_slurm_settings_t;

/*  The group `slurm` of a site file's `agent:` part. */
extern const helio_spec_table_t helio_slurm_settings_table;

typedef struct helio_slurm_options {
    const helio_site_profile_t *site; /* deep copies, as all members */
    const helio_job_rules_t *rules;
    const helio_slurm_settings_t *settings;
    const char *shim; /* helio-shim of this machine, to be copied */
    uint64_t lease_margin_ms;
    helio_backend_sink_t sink;
} helio_slurm_options_t;

HELIO_MUST_CHECK helio_rc helio_slurm_new(const helio_slurm_options_t *options, helio_backend_t **ret_backend,
                                          helio_error_t *err);

/*  Fills what the site file leaves out from the cluster (nodes, gpus_per_node, cpus_per_node, node_memory of each pool;
 *  the pools themselves if the file has none: one for each partition and GRES type; prolog_ms). Waits for the commands.
 *  Texts are allocated in the arena. INVALID: the file contradicts the cluster; UNAVAILABLE: the controller cannot be
 *  asked and the file alone does not suffice. */
HELIO_MUST_CHECK helio_rc helio_slurm_fill_site(helio_site_profile_t *site, helio_slurm_settings_t *settings,
                                                helio_arena_t *arena, helio_error_t *err);

/*  ---- helio-agent check ---- */

/*  One line each, in order: what was checked, whether it is correct, and the detail or the remedy. probe: also submits
 *  a job of one minute to each pool, which proves the shared folder, the shim, the user and the clock there. */
typedef void helio_slurm_check_fn(void *arg, const char *what, helio_rc rc, const char *detail);
void helio_slurm_check(const helio_slurm_options_t *options, bool probe, helio_slurm_check_fn *line, void *arg);

#endif
