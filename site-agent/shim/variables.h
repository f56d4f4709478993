/*  variables.h -- every environment variable that a job is given, in one table from which the names in code and
 *  docs/reference/environment.md come. A job's environment starts empty: variables outside the table are the job's own
 *  (`env` and `secrets` of its job file). Pure. */
#ifndef HELIO_SHIM_VARIABLES_H
#define HELIO_SHIM_VARIABLES_H

#include "federation/base/memory.h"

typedef enum helio_variable_kind {
    HELIO_VARIABLE_OURS,    /* set by Heliostat; the job file cannot set it */
    HELIO_VARIABLE_DEFAULT, /* set by Heliostat unless the job file sets it */
    HELIO_VARIABLE_BATCH,   /* for scripts that came through `helio sbatch`; the job file cannot set it */
    HELIO_VARIABLE_PASSED,  /* passed on from Slurm's own environment unless the job file sets it */
    HELIO_VARIABLE_DROPPED, /* Slurm's, and not passed on */
    HELIO_VARIABLE_KINDS
} helio_variable_kind_t;

/*  X (ID, name, kind, when, meaning) */
/* clang-format off */
#define HELIO_VARIABLE_TABLE(X) \
    X(JOB_ID, "HELIO_JOB_ID", OURS, "always", \
      "The job's id. All attempts of a job have it, and all tasks of an array.") \
    X(ARRAY_INDEX, "HELIO_ARRAY_INDEX", OURS, "the job is a task of an array", "The task's index.") \
    X(EPOCH, "HELIO_EPOCH", OURS, "always", \
      "The attempt's number: 1 for the first, higher for each later one.") \
    X(SITE, "HELIO_SITE", OURS, "always", "The name of the site that runs the attempt.") \
    X(RESUME, "HELIO_RESUME", OURS, "always", \
      "`1` if the attempt must continue from a checkpoint of an earlier attempt, otherwise `0`.") \
    X(OUTPUT_DIR, "HELIO_OUTPUT_DIR", OURS, "always", \
      "A directory for this attempt's results, and the working directory unless the job file names one.") \
    X(CHECKPOINT_DIR, "HELIO_CHECKPOINT_DIR", OURS, "always", \
      "A directory for checkpoints. All attempts of the job, or of the task, at this site share it. " \
      "Heliostat never removes it.") \
    X(REPORT, "HELIO_REPORT", OURS, "always", \
      "A file to which the job appends lines of JSON: `units` is the work done so far, " \
      "`checkpoint` of the last line names a saved state.") \
    X(NODES, "HELIO_NODES", OURS, "always", "The number of nodes.") \
    X(NODE_RANK, "HELIO_NODE_RANK", OURS, "always", "This node's number, from 0.") \
    X(HOSTS, "HELIO_HOSTS", OURS, "always", \
      "The nodes' names in order of rank, separated by commas: `localhost` where no scheduler chose them. " \
      "A list that would be too long is in Slurm's short form.") \
    X(GPUS, "HELIO_GPUS", OURS, "always", "The number of GPUs on this node.") \
    X(CUDA_DEVICES, "CUDA_VISIBLE_DEVICES", OURS, "always", \
      "The GPUs of this node that the job can use; empty if none. A MIG slice is named by its UUID.") \
    X(MPS_PIPE, "CUDA_MPS_PIPE_DIRECTORY", OURS, "the pool is shared by MPS", \
      "The directory of the pool's MPS daemon.") \
    X(MPS_PERCENT, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", OURS, "the same", \
      "The job's share of the compute units of a GPU, in per cent.") \
    X(MPS_MEMORY, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", OURS, "the same, at a site with the backend `local`", \
      "The job's share of the memory of each of its GPUs.") \
    X(PATH, "PATH", DEFAULT, "always", \
      "`agent.path` of the site file. A batch script at a Slurm site also finds the directory of `srun` at its end.") \
    X(HOME, "HOME", DEFAULT, "always", "The home directory of the Unix user that runs the job.") \
    X(USER, "USER", DEFAULT, "always", "The name of that user.") \
    X(LANG, "LANG", DEFAULT, "always", "`C.UTF-8`.") \
    X(TMPDIR, "TMPDIR", DEFAULT, "a batch script at a Slurm site", "As Slurm sets it.") \
    X(JOB_NAME, "SLURM_JOB_NAME", BATCH, "always", "The job's name; of a job without one, the attempt's name.") \
    X(SUBMIT_DIR, "SLURM_SUBMIT_DIR", BATCH, "always", "The working directory.") \
    X(ARRAY_JOB_ID, "SLURM_ARRAY_JOB_ID", BATCH, "the job is a task of an array", \
      "A number that all tasks and attempts of the array share, above any job number of Slurm's.") \
    X(ARRAY_TASK_ID, "SLURM_ARRAY_TASK_ID", BATCH, "the job is a task of an array", "The task's index.") \
    X(ARRAY_TASK_COUNT, "SLURM_ARRAY_TASK_COUNT", BATCH, "the job is a task of an array", "The number of tasks.") \
    X(ARRAY_TASK_MIN, "SLURM_ARRAY_TASK_MIN", BATCH, "the job is a task of an array", "The lowest index.") \
    X(ARRAY_TASK_MAX, "SLURM_ARRAY_TASK_MAX", BATCH, "the job is a task of an array", "The highest index.") \
    X(ARRAY_TASK_STEP, "SLURM_ARRAY_TASK_STEP", BATCH, "the job is a task of an array", \
      "The distance between two indices; 1 where it varies.") \
    X(SLURM_JOB_ID, "SLURM_JOB_ID", BATCH, "the site has no Slurm", "The attempt's name. Slurm itself sets a number.") \
    X(SLURM_NNODES, "SLURM_NNODES", BATCH, "the site has no Slurm", "`1`.") \
    X(SLURM_JOB_NUM_NODES, "SLURM_JOB_NUM_NODES", BATCH, "the site has no Slurm", "`1`.") \
    X(SLURM_NTASKS, "SLURM_NTASKS", BATCH, "the site has no Slurm", "`1`.") \
    X(SLURM_JOB_NODELIST, "SLURM_JOB_NODELIST", BATCH, "the site has no Slurm", "`localhost`.") \
    X(SLURM_NODEID, "SLURM_NODEID", BATCH, "the site has no Slurm", "`0`.") \
    X(SLURM_PROCID, "SLURM_PROCID", BATCH, "the site has no Slurm", "`0`.") \
    X(SLURM_LOCALID, "SLURM_LOCALID", BATCH, "the site has no Slurm", "`0`.") \
    X(SLURM_CPUS_PER_TASK, "SLURM_CPUS_PER_TASK", BATCH, "the site has no Slurm, and the job requests CPUs", \
      "The CPUs per node that the job requests.") \
    X(SLURM, "SLURM_*", PASSED, "the site runs Slurm", "All other variables of that prefix, as Slurm sets them.") \
    X(GPU_DEVICE_ORDINAL, "GPU_DEVICE_ORDINAL", PASSED, "Slurm sets it", "GPUs of this node, for OpenCL and ROCm.") \
    X(ROCR_VISIBLE_DEVICES, "ROCR_VISIBLE_DEVICES", PASSED, "Slurm sets it", "GPUs of this node, for ROCm.") \
    X(ZE_AFFINITY_MASK, "ZE_AFFINITY_MASK", PASSED, "Slurm sets it", "GPUs of this node, for oneAPI.") \
    X(SLURMD_NODENAME, "SLURMD_NODENAME", PASSED, "Slurm sets it", "The node's name in Slurm.") \
    X(SLURM_EXPORT_ENV, "SLURM_EXPORT_ENV", DROPPED, "", \
      "It says what an `srun` in the job passes on to its own tasks, which get all of the job's variables.") \
    X(SLURM_GET_USER_ENV, "SLURM_GET_USER_ENV", DROPPED, "", "It would have an `srun` in the job load a login environment.")
/* clang-format on */

#define HELIO_VARIABLE_ENUMERATOR(id, name, kind, when, meaning) HELIO_VARIABLE_##id,
typedef enum helio_variable { HELIO_VARIABLE_TABLE(HELIO_VARIABLE_ENUMERATOR) HELIO_VARIABLE_COUNT } helio_variable_t;

typedef struct helio_variable_doc {
    const char *name; /* "SLURM_*" is a prefix */
    helio_variable_kind_t kind;
    const char *when; /* "" = always, or never */
    const char *meaning;
} helio_variable_doc_t;

extern const helio_variable_doc_t helio_variables[HELIO_VARIABLE_COUNT];

static inline const char *helio_variable_name(helio_variable_t variable)
{
    return helio_variables[variable].name;
}

/*  The row of a name, by itself or by its prefix; NULL: the job's own. */
const helio_variable_doc_t *helio_variable_find(helio_text_t name);
/*  Whether a scheduler that hands out GPUs, or parts of them, sets it for the shim, which then passes it on. */
bool helio_variable_is_scheduled(const helio_variable_doc_t *row);
/*  Whether a job file's value for it is ignored. */
bool helio_variable_is_ours(helio_text_t name);

/*  docs/reference/environment.md. */
void helio_variables_page(helio_buffer_t *page);

#endif
