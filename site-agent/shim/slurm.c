/*  slurm.c -- what a shim takes from Slurm's environment, and the command line of srun. */
#include "site-agent/shim/slurm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "site-agent/shim/hostlist.h"
#include "site-agent/shim/variables.h"

enum { PATH_SIZE = 4096, HOSTS_MAX_BYTES = 100000 };

/*  The part of Slurm's environment that a rank gets. */
static bool is_passed(helio_text_t name)
{
    const helio_variable_doc_t *row = helio_variable_find(name);
    return row && (row->kind == HELIO_VARIABLE_PASSED || row->kind == HELIO_VARIABLE_BATCH ||
                   helio_variable_is_scheduled(row));
}

static void add_missing(char *const *list, helio_environment_t *env)
{
    for (size_t i = 0; list && list[i]; i++) {
        const char *equals = strchr(list[i], '=');
        char name[256];
        size_t size = equals ? (size_t)(equals - list[i]) : 0;
        if (!size || size >= sizeof name || !is_passed((helio_text_t){list[i], (uint32_t)size}))
            continue;
        memcpy(name, list[i], size);
        name[size] = '\0';
        helio_environment_add(env, name, helio_text_of(equals + 1));
    }
}

const char *helio_slurm_job_id(char *const *environ_list)
{
    const char *id = helio_environ_get(environ_list, HELIO_VARIABLE_SLURM_JOB_ID);
    return id ? id : "";
}

bool helio_slurm_node_rank(char *const *environ_list, uint32_t *ret_rank)
{
    int64_t rank;
    const char *text = helio_environ_get(environ_list, HELIO_VARIABLE_SLURM_NODEID);
    if (!text || !helio_status_file_number(helio_text_of(text), 0, HELIO_PLAN_NODES_MAX - 1, &rank))
        return false;
    *ret_rank = (uint32_t)rank;
    return true;
}

/* ---- a rank's environment ------------------------------------------------------------------------------ */

typedef struct hosts {
    helio_buffer_t text;
    uint32_t count;
} hosts_t;

static bool add_host(void *arg, helio_text_t name)
{
    hosts_t *hosts = arg;
    helio_buffer_printf(&hosts->text, "%s%.*s", hosts->count ? "," : "", HELIO_TEXT_ARGS(name));
    hosts->count++;
    return true;
}

static helio_rc set_hosts(char *const *list, helio_environment_t *env, helio_error_t *err)
{
    const char *nodes = helio_environ_get(list, HELIO_VARIABLE_SLURM_JOB_NODELIST);
    hosts_t hosts = {0};
    hosts.text.max = HOSTS_MAX_BYTES; /* the kernel accepts 128 KiB for one variable */
    helio_rc rc = HELIO_OK;
    if (!nodes || helio_hostlist_each(helio_text_of(nodes), HELIO_PLAN_NODES_MAX, add_host, &hosts))
        rc = helio_fail(err, HELIO_INVALID, "Slurm's list of nodes makes no sense: '%.200s'", nodes ? nodes : "");
    else {
        char count[16];
        (void)snprintf(count, sizeof count, "%u", hosts.count);
        helio_environment_set(env, HELIO_VARIABLE_NODES, helio_text_of(count));
        /* With so many nodes and such long names, SLURM_JOB_NODELIST gives the same, shorter. */
        helio_environment_set(env, HELIO_VARIABLE_HOSTS,
                              hosts.text.overflow ? helio_text_of(nodes) : helio_buffer_view(&hosts.text));
    }
    helio_buffer_clear(&hosts.text);
    return rc;
}

static bool is_executable(const char *folder, size_t size, const char *program, char ret_path[PATH_SIZE])
{
    int length = snprintf(ret_path, PATH_SIZE, "%.*s/%s", (int)size, folder, program);
    return length > 0 && length < PATH_SIZE && ret_path[0] == '/' && access(ret_path, X_OK) == 0;
}

static bool find_program(const char *path, const char *program, char ret_path[PATH_SIZE])
{
    while (path && *path) {
        size_t size = strcspn(path, ":");
        if (size < PATH_SIZE / 2 && is_executable(path, size, program, ret_path))
            return true;
        path += size + (path[size] == ':');
    }
    return false;
}

/*  The PATH with which Slurm started the shim comes first: the agent's own, and the folder of its commands. */
static bool find_srun(const helio_plan_t *plan, char *const *list, char ret_path[PATH_SIZE])
{
    static const char usual[] = "/usr/local/bin:/usr/bin:/bin:/opt/slurm/bin:/usr/local/slurm/bin";
    if (plan->srun.size)
        return helio_text_copy(plan->srun, ret_path, PATH_SIZE);
    return find_program(helio_environ_get(list, HELIO_VARIABLE_PATH), "srun", ret_path) ||
           find_program(usual, "srun", ret_path);
}

/*  A script for a batch system calls srun, which a site may keep outside every job's PATH. */
static void make_srun_reachable(const helio_plan_t *plan, char *const *list, helio_environment_t *env)
{
    char path[PATH_SIZE], longer[2 * PATH_SIZE];
    const char *own = helio_environment_get(env, HELIO_VARIABLE_PATH);
    if (!find_srun(plan, list, path))
        return;
    char *slash = strrchr(path, '/');
    char found[PATH_SIZE];
    if (!slash || slash == path || find_program(own, "srun", found))
        return;
    *slash = '\0';
    (void)snprintf(longer, sizeof longer, "%s%s%s", own ? own : "", own ? ":" : "", path);
    helio_environment_set(env, HELIO_VARIABLE_PATH, helio_text_of(longer));
}

helio_rc helio_slurm_rank_environment(const helio_plan_t *plan, char *const *environ_list, uint32_t rank,
                                      helio_environment_t *env, helio_error_t *err)
{
    add_missing(environ_list, env);
    helio_rc rc = set_hosts(environ_list, env, err);
    if (rc)
        return rc;
    const char *devices = helio_environ_get(environ_list, HELIO_VARIABLE_CUDA_DEVICES);
    helio_text_t gpus = helio_text_of(devices ? devices : "");
    helio_environment_set(env, HELIO_VARIABLE_CUDA_DEVICES, gpus);
    helio_environment_set_number(env, HELIO_VARIABLE_NODE_RANK, rank);
    helio_environment_set_number(env, HELIO_VARIABLE_GPUS, helio_device_count(gpus));
    if (!plan->batch_script)
        return HELIO_OK;
    if (helio_environment_get(env, HELIO_VARIABLE_ARRAY_TASK_ID) &&
        !helio_environment_get(env, HELIO_VARIABLE_ARRAY_JOB_ID))
        helio_environment_set(env, HELIO_VARIABLE_ARRAY_JOB_ID, helio_text_of(helio_slurm_job_id(environ_list)));
    const char *tmp = helio_environ_get(environ_list, HELIO_VARIABLE_TMPDIR);
    if (tmp && !helio_environment_get(env, HELIO_VARIABLE_TMPDIR))
        helio_environment_set(env, HELIO_VARIABLE_TMPDIR, helio_text_of(tmp));
    make_srun_reachable(plan, environ_list, env);
    return HELIO_OK;
}

/* ---- srun ---------------------------------------------------------------------------------------------- */

void helio_slurm_own_environment(char *const *environ_list, helio_environment_t *env)
{
    const char *path = helio_environ_get(environ_list, HELIO_VARIABLE_PATH);
    helio_environment_set(env, HELIO_VARIABLE_PATH, helio_text_of(path ? path : "/usr/local/bin:/usr/bin:/bin"));
    add_missing(environ_list, env);
}

/*  `--exact` is given with `--cpus-per-task`, without which newer releases bind a task to one core. */
helio_rc helio_slurm_srun(const helio_plan_t *plan, char *const *environ_list, const char *program, const char *folder,
                          helio_arena_t *arena, char ***ret_argv, helio_error_t *err)
{
    enum { ARGS_MAX = 20 };
    char path[PATH_SIZE];
    if (!find_srun(plan, environ_list, path))
        return helio_fail(err, HELIO_NOT_FOUND,
                          "srun is not found on this node, neither by Slurm's PATH nor where it usually is");
    const char *cpus = helio_environ_get(environ_list, HELIO_VARIABLE_SLURM_CPUS_PER_TASK);
    helio_text_t words[ARGS_MAX] = {
        helio_text_of(path),
        helio_arena_printf(arena, "--nodes=%u", plan->nodes),
        helio_arena_printf(arena, "--ntasks=%u", plan->nodes),
        HELIO_TEXT("--ntasks-per-node=1"),
        HELIO_TEXT("--kill-on-bad-exit=1"),
        HELIO_TEXT("--export=ALL"), /* in srun's own environment, which contains only Slurm's variables */
        HELIO_TEXT("--mpi=none"),
        HELIO_TEXT("--input=none"),
        HELIO_TEXT("--chdir=/"),
    };
    uint32_t count = 9;
    if (cpus && *cpus)
        words[count++] = helio_arena_printf(arena, "--cpus-per-task=%s", cpus);
    words[count++] = helio_text_of(program);
    words[count++] = HELIO_TEXT("--rank");
    words[count++] = helio_text_of(folder);
    char **argv = helio_arena_alloc(arena, count + 1, sizeof *argv);
    for (uint32_t i = 0; i < count; i++) {
        argv[i] = helio_arena_alloc(arena, (size_t)words[i].size + 1, 1);
        memcpy(argv[i], words[i].data, words[i].size);
    }
    *ret_argv = argv;
    return HELIO_OK;
}
