/*  options.h -- the options of sbatch, and how each of them is converted.
 *
 *  One table serves #SBATCH lines, SBATCH_* variables and the command line of `helio sbatch`. Pure.
 */
#ifndef HELIO_SBATCH_OPTIONS_H
#define HELIO_SBATCH_OPTIONS_H

#include "federation/base/memory.h"

typedef enum helio_sbatch_argument {
    HELIO_SBATCH_NO,  /* a switch */
    HELIO_SBATCH_YES, /* --x=VALUE, --x VALUE, -xVALUE, -x VALUE */
    HELIO_SBATCH_MAY  /* --x, --x=VALUE, -xVALUE */
} helio_sbatch_argument_t;

typedef enum helio_sbatch_policy {
    HELIO_SBATCH_TURNED, /* becomes a key of the job file */
    HELIO_SBATCH_PASSED, /* for a cluster's own administration: sent to Slurm sites, ignored by others */
    HELIO_SBATCH_NEEDED, /* supported only by Slurm: sent, and pins the job to Slurm sites */
    HELIO_SBATCH_PINNED, /* perhaps not harmless: sent if the job is pinned, otherwise an error */
    HELIO_SBATCH_IDLE,   /* no effect here: a note is printed */
    HELIO_SBATCH_SILENT, /* no effect here, and no note */
    HELIO_SBATCH_REFUSED,
    HELIO_SBATCH_TOOL,  /* handled by the command itself, as sbatch does */
    HELIO_SBATCH_CLIENT /* handled by the command itself, helio's own: only on the command line, never in a script */
} helio_sbatch_policy_t;

/*  id, long name, letter, argument, policy, variable */
#define HELIO_SBATCH_OPTION_TABLE(X)                                                   \
    X(ACCOUNT, "account", 'A', YES, PASSED, "SBATCH_ACCOUNT")                          \
    X(ACCTG_FREQ, "acctg-freq", 0, YES, PINNED, "SBATCH_ACCTG_FREQ")                   \
    X(ARRAY, "array", 'a', YES, TURNED, "SBATCH_ARRAY_INX")                            \
    X(BATCH, "batch", 0, YES, REFUSED, "SBATCH_BATCH")                                 \
    X(BB, "bb", 0, YES, PINNED, NULL)                                                  \
    X(BBF, "bbf", 0, YES, REFUSED, NULL)                                               \
    X(BEGIN, "begin", 'b', YES, TURNED, NULL)                                          \
    X(CHDIR, "chdir", 'D', YES, TURNED, NULL)                                          \
    X(CLUSTER_CONSTRAINT, "cluster-constraint", 0, YES, PINNED, NULL)                  \
    X(CLUSTERS, "clusters", 'M', YES, TURNED, "SBATCH_CLUSTERS")                       \
    X(COMMENT, "comment", 0, YES, PASSED, NULL)                                        \
    X(CONSTRAINT, "constraint", 'C', YES, NEEDED, "SBATCH_CONSTRAINT")                 \
    X(CONTAINER, "container", 0, YES, PINNED, "SBATCH_CONTAINER")                      \
    X(CONTIGUOUS, "contiguous", 0, NO, NEEDED, NULL)                                   \
    X(CORE_SPEC, "core-spec", 'S', YES, PINNED, "SBATCH_CORE_SPEC")                    \
    X(CORES_PER_SOCKET, "cores-per-socket", 0, YES, NEEDED, NULL)                      \
    X(CPU_FREQ, "cpu-freq", 0, YES, PINNED, NULL)                                      \
    X(CPUS_PER_GPU, "cpus-per-gpu", 0, YES, TURNED, "SBATCH_CPUS_PER_GPU")             \
    X(CPUS_PER_TASK, "cpus-per-task", 'c', YES, TURNED, NULL)                          \
    X(DEADLINE, "deadline", 0, YES, TURNED, NULL)                                      \
    X(DELAY_BOOT, "delay-boot", 0, YES, PINNED, "SBATCH_DELAY_BOOT")                   \
    X(DEPENDENCY, "dependency", 'd', YES, TURNED, NULL)                                \
    X(DISTRIBUTION, "distribution", 'm', YES, PASSED, "SBATCH_DISTRIBUTION")           \
    X(ERROR, "error", 'e', YES, TURNED, "SBATCH_ERROR")                                \
    X(EXCLUDE, "exclude", 'x', YES, PASSED, NULL)                                      \
    X(EXCLUSIVE, "exclusive", 0, MAY, NEEDED, "SBATCH_EXCLUSIVE")                      \
    X(EXPORT, "export", 0, YES, TURNED, "SBATCH_EXPORT")                               \
    X(EXPORT_FILE, "export-file", 0, YES, REFUSED, NULL)                               \
    X(EXTRA_NODE_INFO, "extra-node-info", 'B', YES, PINNED, NULL)                      \
    X(GET_USER_ENV, "get-user-env", 0, MAY, IDLE, "SBATCH_GET_USER_ENV")               \
    X(GID, "gid", 0, YES, REFUSED, NULL)                                               \
    X(GPU_BIND, "gpu-bind", 0, YES, PINNED, "SBATCH_GPU_BIND")                         \
    X(GPU_FREQ, "gpu-freq", 0, YES, PINNED, "SBATCH_GPU_FREQ")                         \
    X(GPUS, "gpus", 'G', YES, TURNED, "SBATCH_GPUS")                                   \
    X(GPUS_PER_NODE, "gpus-per-node", 0, YES, TURNED, "SBATCH_GPUS_PER_NODE")          \
    X(GPUS_PER_SOCKET, "gpus-per-socket", 0, YES, REFUSED, NULL)                       \
    X(GPUS_PER_TASK, "gpus-per-task", 0, YES, TURNED, "SBATCH_GPUS_PER_TASK")          \
    X(GRES, "gres", 0, YES, TURNED, "SBATCH_GRES")                                     \
    X(GRES_FLAGS, "gres-flags", 0, YES, IDLE, "SBATCH_GRES_FLAGS")                     \
    X(HELP, "help", 'h', NO, TOOL, NULL)                                               \
    X(HINT, "hint", 0, YES, PASSED, "SBATCH_HINT")                                     \
    X(HOLD, "hold", 'H', NO, REFUSED, NULL)                                            \
    X(IGNORE_PBS, "ignore-pbs", 0, NO, SILENT, "SBATCH_IGNORE_PBS")                    \
    X(INPUT, "input", 'i', YES, TURNED, "SBATCH_INPUT")                                \
    X(JOB_NAME, "job-name", 'J', YES, TURNED, "SBATCH_JOB_NAME")                       \
    X(KILL_ON_INVALID_DEP, "kill-on-invalid-dep", 0, YES, SILENT, NULL)                \
    X(LICENSES, "licenses", 'L', YES, NEEDED, NULL)                                    \
    X(MAIL_TYPE, "mail-type", 0, YES, PASSED, NULL)                                    \
    X(MAIL_USER, "mail-user", 0, YES, PASSED, NULL)                                    \
    X(MCS_LABEL, "mcs-label", 0, YES, PINNED, NULL)                                    \
    X(MEM, "mem", 0, YES, TURNED, "SBATCH_MEM_PER_NODE")                               \
    X(MEM_BIND, "mem-bind", 0, YES, PINNED, "SBATCH_MEM_BIND")                         \
    X(MEM_PER_CPU, "mem-per-cpu", 0, YES, TURNED, "SBATCH_MEM_PER_CPU")                \
    X(MEM_PER_GPU, "mem-per-gpu", 0, YES, TURNED, "SBATCH_MEM_PER_GPU")                \
    X(MINCPUS, "mincpus", 0, YES, TURNED, NULL)                                        \
    X(NETWORK, "network", 0, YES, PINNED, "SBATCH_NETWORK")                            \
    X(NICE, "nice", 0, MAY, PASSED, NULL)                                              \
    X(NO_KILL, "no-kill", 'k', MAY, IDLE, "SBATCH_NO_KILL")                            \
    X(NO_REQUEUE, "no-requeue", 0, NO, TURNED, "SBATCH_NO_REQUEUE")                    \
    X(NODEFILE, "nodefile", 'F', YES, REFUSED, NULL)                                   \
    X(NODELIST, "nodelist", 'w', YES, NEEDED, NULL)                                    \
    X(NODES, "nodes", 'N', YES, TURNED, NULL)                                          \
    X(NTASKS, "ntasks", 'n', YES, TURNED, NULL)                                        \
    X(NTASKS_PER_CORE, "ntasks-per-core", 0, YES, PINNED, NULL)                        \
    X(NTASKS_PER_GPU, "ntasks-per-gpu", 0, YES, TURNED, NULL)                          \
    X(NTASKS_PER_NODE, "ntasks-per-node", 0, YES, TURNED, NULL)                        \
    X(NTASKS_PER_SOCKET, "ntasks-per-socket", 0, YES, NEEDED, NULL)                    \
    X(OPEN_MODE, "open-mode", 0, YES, TURNED, "SBATCH_OPEN_MODE")                      \
    X(OUTPUT, "output", 'o', YES, TURNED, "SBATCH_OUTPUT")                             \
    X(OVERCOMMIT, "overcommit", 'O', NO, PINNED, "SBATCH_OVERCOMMIT")                  \
    X(OVERSUBSCRIBE, "oversubscribe", 's', NO, PASSED, NULL)                           \
    X(PARSABLE, "parsable", 0, NO, TOOL, NULL)                                         \
    X(PARTITION, "partition", 'p', YES, PASSED, "SBATCH_PARTITION")                    \
    X(POWER, "power", 0, YES, PINNED, "SBATCH_POWER")                                  \
    X(PREFER, "prefer", 0, YES, PINNED, NULL)                                          \
    X(PRIORITY, "priority", 0, YES, PINNED, NULL)                                      \
    X(PROFILE, "profile", 0, YES, PINNED, "SBATCH_PROFILE")                            \
    X(PROPAGATE, "propagate", 0, MAY, IDLE, NULL)                                      \
    X(QOS, "qos", 'q', YES, PASSED, "SBATCH_QOS")                                      \
    X(QUIET, "quiet", 'Q', NO, TOOL, NULL)                                             \
    X(REBOOT, "reboot", 0, NO, REFUSED, NULL)                                          \
    X(REQUEUE, "requeue", 0, NO, SILENT, "SBATCH_REQUEUE")                             \
    X(RESERVATION, "reservation", 0, YES, NEEDED, "SBATCH_RESERVATION")                \
    X(SIGNAL, "signal", 0, YES, TURNED, "SBATCH_SIGNAL")                               \
    X(SOCKETS_PER_NODE, "sockets-per-node", 0, YES, NEEDED, NULL)                      \
    X(SPREAD_JOB, "spread-job", 0, NO, PINNED, "SBATCH_SPREAD_JOB")                    \
    X(SWITCHES, "switches", 0, YES, PASSED, "SBATCH_REQ_SWITCH")                       \
    X(TEST_ONLY, "test-only", 0, NO, TOOL, NULL)                                       \
    X(THREAD_SPEC, "thread-spec", 0, YES, PINNED, "SBATCH_THREAD_SPEC")                \
    X(THREADS_PER_CORE, "threads-per-core", 0, YES, NEEDED, "SBATCH_THREADS_PER_CORE") \
    X(TIME, "time", 't', YES, TURNED, "SBATCH_TIMELIMIT")                              \
    X(TIME_MIN, "time-min", 0, YES, IDLE, NULL)                                        \
    X(TMP, "tmp", 0, YES, NEEDED, NULL)                                                \
    X(UID, "uid", 0, YES, REFUSED, NULL)                                               \
    X(USAGE, "usage", 0, NO, TOOL, NULL)                                               \
    X(USE_MIN_NODES, "use-min-nodes", 0, NO, SILENT, "SBATCH_USE_MIN_NODES")           \
    X(VERBOSE, "verbose", 'v', NO, SILENT, NULL)                                       \
    X(VERSION, "version", 'V', NO, TOOL, NULL)                                         \
    X(WAIT, "wait", 'W', NO, TOOL, "SBATCH_WAIT")                                      \
    X(WAIT_ALL_NODES, "wait-all-nodes", 0, YES, IDLE, "SBATCH_WAIT_ALL_NODES")         \
    X(WCKEY, "wckey", 0, YES, PINNED, "SBATCH_WCKEY")                                  \
    X(WRAP, "wrap", 0, YES, TURNED, NULL)                                              \
    X(BROKER, "broker", 0, YES, CLIENT, NULL)                                          \
    X(CONTEXT, "context", 0, YES, CLIENT, NULL)                                        \
    X(TOKEN_FILE, "token-file", 0, YES, CLIENT, NULL)                                  \
    X(CA_FILE, "ca-file", 0, YES, CLIENT, NULL)                                        \
    X(COLOR, "color", 0, YES, CLIENT, NULL)                                            \
    X(IDEMPOTENCY_KEY, "idempotency-key", 0, YES, CLIENT, NULL)

typedef enum helio_sbatch_id {
#define HELIO_SBATCH_ENUMERATOR(id, ...) HELIO_SBATCH_##id,
    HELIO_SBATCH_OPTION_TABLE(HELIO_SBATCH_ENUMERATOR)
#undef HELIO_SBATCH_ENUMERATOR
        HELIO_SBATCH_COUNT
} helio_sbatch_id_t;

typedef struct helio_sbatch_option {
    const char *name;
    char letter;
    helio_sbatch_argument_t argument;
    helio_sbatch_policy_t policy;
    const char *variable; /* NULL = none */
} helio_sbatch_option_t;

const helio_sbatch_option_t *helio_sbatch_option(uint32_t id); /* id < HELIO_SBATCH_COUNT */

/*  By its long name or an unambiguous prefix of it, as getopt_long does; helio's own options only by the whole name.
 *  HELIO_SBATCH_COUNT: unknown; *ret_ambiguous tells whether several options have that prefix. */
uint32_t helio_sbatch_option_named(helio_text_t name, bool *ret_ambiguous);
uint32_t helio_sbatch_option_lettered(char letter); /* HELIO_SBATCH_COUNT: unknown */
/*  The most similar name, NULL = none is similar. */
const char *helio_sbatch_option_suggest(helio_text_t name);

#endif
