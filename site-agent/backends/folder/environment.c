/*  environment.c -- the environment of the ranks of an attempt, made from nothing. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/reason/codes.h"
#include "site-agent/backends/folder/internal.h"
#include "site-agent/shim/variables.h"

enum { SECRET_MAX = 64 << 10, ENV_NAMES_MAX = 1024 };

typedef struct variable {
    helio_text_t name, value;
} variable_t;

typedef struct environment {
    helio_arena_t *arena;
    variable_t items[ENV_NAMES_MAX];
    uint32_t count;
} environment_t;

static bool is_name(helio_text_t name)
{
    for (uint32_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return name.size > 0;
}

/*  The last entry of a name counts. */
static helio_rc set(environment_t *self, helio_text_t name, helio_text_t value, helio_error_t *err)
{
    if (!is_name(name) || (value.size && memchr(value.data, '\0', value.size)))
        return helio_fail(err, HELIO_INVALID, "'%.*s' cannot be an environment variable", HELIO_TEXT_ARGS(name));
    uint32_t at = 0;
    while (at < self->count && !helio_text_equal(self->items[at].name, name))
        at++;
    if (at == ENV_NAMES_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "more than %d environment variables", ENV_NAMES_MAX);
    self->items[at] = (variable_t){helio_arena_text(self->arena, name), helio_arena_text(self->arena, value)};
    self->count += at == self->count;
    return HELIO_OK;
}

/*  Every variable that Heliostat sets is in the table of variables. */
typedef struct given {
    helio_variable_t variable;
    helio_text_t value;
} given_t;

static helio_rc give(environment_t *self, helio_variable_t variable, helio_text_t value, helio_error_t *err)
{
    return set(self, helio_text_of(helio_variable_name(variable)), value, err);
}

static helio_rc read_secret(const helio_job_rules_t *rules, helio_text_t unix_user, helio_text_t name,
                            helio_buffer_t *out, helio_error_t *err)
{
    if (!is_name(name) || !unix_user.size || unix_user.data[0] == '.' || memchr(unix_user.data, '/', unix_user.size))
        return helio_fail(err, HELIO_INVALID, "'%.*s' cannot be a secret's name", HELIO_TEXT_ARGS(name));
    char path[HELIO_FOLDER_PATH_SIZE];
    (void)snprintf(path, sizeof path, "%.*s/%.*s", HELIO_TEXT_ARGS(rules->secrets), HELIO_TEXT_ARGS(unix_user));
    struct stat top;
    char root[HELIO_FOLDER_PATH_SIZE];
    if (!rules->secrets.size || !helio_text_copy(rules->secrets, root, sizeof root) || stat(root, &top))
        return helio_fail(err, HELIO_NOT_FOUND, "'%.*s': the site keeps no secrets", HELIO_TEXT_ARGS(name));
    if (top.st_mode & 077 || top.st_uid != geteuid())
        return helio_fail(err, HELIO_FORBIDDEN, "the site's folder of secrets is open to others");
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char file[257];
    helio_rc rc = HELIO_NOT_FOUND;
    size_t before = out->size;
    if (folder >= 0 && helio_text_copy(name, file, sizeof file))
        rc = helio_status_file_read(folder, file, SECRET_MAX, out, NULL);
    if (folder >= 0)
        (void)close(folder);
    if (rc)
        return helio_fail(err, rc, "'%.*s' is not kept here for this user", HELIO_TEXT_ARGS(name));
    if (out->size > before && out->data[out->size - 1] == '\n') /* editors end files so */
        out->data[--out->size] = '\0';
    return HELIO_OK;
}

static helio_rc set_asked(const helio_folder_job_t *job, environment_t *env, uint32_t *ret_cause, helio_error_t *err)
{
    const helio_job_rules_t *rules = &job->folders->rules;
    const helio_backend_task_t *task = job->task;
    helio_text_t unix_user = helio_text_of(job->account->name);
    for (uint32_t i = 0; i < task->spec->env.count; i++) {
        const helio_pair_t *pair = &task->spec->env.items[i];
        helio_rc rc = helio_variable_is_ours(pair->name) ? HELIO_OK : set(env, pair->name, pair->value, err);
        if (rc)
            return rc;
    }
    for (uint32_t i = 0; i < task->spec->secrets.count; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t value = {0};
        helio_text_t name = task->spec->secrets.items[i].text;
        helio_rc rc = read_secret(rules, unix_user, name, &value, err);
        if (!rc && task->spec->image.size && value.size && memchr(value.data, '\n', value.size))
            rc = helio_fail(
                err, HELIO_INVALID,
                "'%.*s' has several lines, which others could read where a container's runtime starts: keep it "
                "in one line, such as base64 makes",
                HELIO_TEXT_ARGS(name));
        if (rc)
            *ret_cause = HELIO_CAUSE_MISSING_SECRET;
        else if (!helio_variable_is_ours(name))
            rc = set(env, name, helio_buffer_view(&value), err);
        if (value.size)
            explicit_bzero(value.data, value.size);
        if (rc)
            return rc;
    }
    return HELIO_OK;
}

/*  HELIO_NODES and HELIO_HOSTS of a scheduler's allocation are set by the shim. */
static helio_rc set_nodes(const helio_folder_job_t *job, environment_t *env, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t hosts = {0};
    for (uint32_t i = 0; i < job->ranks; i++)
        helio_buffer_text(&hosts, i ? ",localhost" : "localhost");
    helio_rc rc = give(env, HELIO_VARIABLE_NODES, helio_arena_printf(env->arena, "%u", job->ranks), err);
    return rc ? rc : give(env, HELIO_VARIABLE_HOSTS, helio_buffer_view(&hosts), err);
}

static helio_rc give_all(environment_t *env, const given_t *items, size_t count, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    for (size_t i = 0; i < count && !rc; i++)
        rc = give(env, items[i].variable, items[i].value, err);
    return rc;
}

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

/*  What makes the job's programs keep to their share. A pool that is shared so has one node, and each job one slot list. */
static helio_rc set_share(const helio_folder_job_t *job, environment_t *env, helio_error_t *err)
{
    const helio_pool_devices_t *devices = job->how->devices;
    if (!devices || !devices->mps_pipe.size || !job->how->slot_count || !job->how->slots[0].gpus.count)
        return HELIO_OK;
    uint32_t percent = helio_devices_percent(devices, &job->how->slots[0]);
    const given_t own[] = {{HELIO_VARIABLE_MPS_PIPE, devices->mps_pipe},
                           {HELIO_VARIABLE_MPS_PERCENT, helio_arena_printf(env->arena, "%u", percent)}};
    helio_text_t memory = helio_devices_memory(devices, &job->how->slots[0], env->arena);
    helio_rc rc = give_all(env, own, COUNT(own), err);
    return rc || !memory.size ? rc : give(env, HELIO_VARIABLE_MPS_MEMORY, memory, err);
}

static helio_rc set_helio(const helio_folder_job_t *job, environment_t *env, helio_error_t *err)
{
    const helio_order_t *order = job->task->order;
    char id[HELIO_ID_SIZE];
    helio_uuid_text(order->key.job, id);
    const given_t own[] = {
        {HELIO_VARIABLE_JOB_ID, helio_text_of(id)},
        {HELIO_VARIABLE_EPOCH, helio_arena_printf(env->arena, "%u", order->epoch)},
        {HELIO_VARIABLE_SITE, job->folders->site},
        {HELIO_VARIABLE_CHECKPOINT_DIR, job->places.checkpoints},
        {HELIO_VARIABLE_OUTPUT_DIR, job->places.output},
        {HELIO_VARIABLE_RESUME, order->resume ? HELIO_TEXT("1") : HELIO_TEXT("0")},
        {HELIO_VARIABLE_REPORT, helio_arena_printf(env->arena, "%.*s/report", HELIO_TEXT_ARGS(job->places.folder))},
    };
    helio_rc rc = give_all(env, own, COUNT(own), err);
    if (!rc && order->key.task != HELIO_NO_TASK)
        rc = give(env, HELIO_VARIABLE_ARRAY_INDEX, helio_arena_printf(env->arena, "%d", order->key.task), err);
    if (!rc)
        rc = set_share(job, env, err);
    return rc || !job->ranks ? rc : set_nodes(job, env, err);
}

/* ---- variables for scripts of a batch system ---------------------------------------------------------- */

static uint32_t task_step(const helio_job_spec_t *spec)
{
    uint32_t step = spec->tasks.count > 1 ? spec->tasks.items[1] - spec->tasks.items[0] : 1;
    for (uint32_t i = 2; i < spec->tasks.count; i++)
        if (spec->tasks.items[i] - spec->tasks.items[i - 1] != step)
            return 1;
    return step;
}

/*  Scripts make file names from it: one number for all tasks and attempts of an array, wherever they run. It is derived
 *  from the job's id, and lies above the numbers that a cluster gives its jobs. */
static helio_text_t array_number(const helio_folder_job_t *job, helio_arena_t *arena)
{
    const uint8_t *bytes = job->task->order->key.job.bytes;
    uint64_t number = 0;
    for (size_t i = sizeof job->task->order->key.job.bytes - 8; i < sizeof job->task->order->key.job.bytes; i++)
        number = number << 8 | bytes[i];
    return helio_arena_printf(arena, "%llu", (unsigned long long)(1000000000 + number % 1000000000));
}

/*  The variables for this task's place in its array. */
static helio_rc set_array(const helio_folder_job_t *job, environment_t *env, helio_error_t *err)
{
    const helio_job_spec_t *spec = job->task->spec;
    if (job->task->order->key.task == HELIO_NO_TASK || !spec->tasks.count)
        return HELIO_OK;
    const given_t own[] = {
        {HELIO_VARIABLE_ARRAY_JOB_ID, array_number(job, env->arena)},
        {HELIO_VARIABLE_ARRAY_TASK_ID, helio_arena_printf(env->arena, "%d", job->task->order->key.task)},
        {HELIO_VARIABLE_ARRAY_TASK_COUNT, helio_arena_printf(env->arena, "%u", spec->tasks.count)},
        {HELIO_VARIABLE_ARRAY_TASK_MIN, helio_arena_printf(env->arena, "%u", spec->tasks.items[0])},
        {HELIO_VARIABLE_ARRAY_TASK_MAX, helio_arena_printf(env->arena, "%u", spec->tasks.items[spec->tasks.count - 1])},
        {HELIO_VARIABLE_ARRAY_TASK_STEP, helio_arena_printf(env->arena, "%u", task_step(spec))},
    };
    return give_all(env, own, COUNT(own), err);
}

/*  The job's name is that of its script, whatever the attempt's own name is. Without Slurm the other variables are
 *  those of a job of one task on one node called localhost. */
static helio_rc set_batch(const helio_folder_job_t *job, environment_t *env, helio_error_t *err)
{
    const helio_order_t *order = job->task->order;
    helio_text_t title = job->task->spec->name;
    helio_rc rc = set_array(job, env, err);
    if (!rc)
        rc = give(env, HELIO_VARIABLE_JOB_NAME, title.size ? title : helio_text_of(job->name), err);
    if (!rc)
        rc = give(env, HELIO_VARIABLE_SUBMIT_DIR, job->places.workdir, err);
    if (rc || job->how->launcher == HELIO_LAUNCHER_SLURM)
        return rc;
    static const helio_text_t one = {"1", 1}, zero = {"0", 1};
    const given_t own[] = {{HELIO_VARIABLE_SLURM_JOB_ID, helio_text_of(job->name)},
                           {HELIO_VARIABLE_SLURM_NNODES, one},
                           {HELIO_VARIABLE_SLURM_JOB_NUM_NODES, one},
                           {HELIO_VARIABLE_SLURM_NTASKS, one},
                           {HELIO_VARIABLE_SLURM_JOB_NODELIST, HELIO_TEXT("localhost")},
                           {HELIO_VARIABLE_SLURM_NODEID, zero},
                           {HELIO_VARIABLE_SLURM_PROCID, zero},
                           {HELIO_VARIABLE_SLURM_LOCALID, zero}};
    rc = give_all(env, own, COUNT(own), err);
    if (!rc && order->cpus_per_node)
        rc = give(env, HELIO_VARIABLE_SLURM_CPUS_PER_TASK, helio_arena_printf(env->arena, "%u", order->cpus_per_node),
                  err);
    return rc;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static helio_rc fill(const helio_folder_job_t *job, environment_t *env, uint32_t *ret_cause, helio_error_t *err)
{
    const given_t base[] = {{HELIO_VARIABLE_PATH, job->folders->rules.path},
                            {HELIO_VARIABLE_HOME, helio_text_of(job->account->home)},
                            {HELIO_VARIABLE_USER, helio_text_of(job->account->name)},
                            {HELIO_VARIABLE_LANG, HELIO_TEXT("C.UTF-8")}};
    helio_rc rc = give_all(env, base, COUNT(base), err);
    if (!rc)
        rc = set_asked(job, env, ret_cause, err);
    if (!rc && job->how->batch_script)
        rc = set_batch(job, env, err);
    return rc ? rc : set_helio(job, env, err);
}

helio_rc helio_folder_environment(const helio_folder_job_t *job, helio_buffer_t *out, uint32_t *ret_cause,
                                  helio_error_t *err)
{
    environment_t *env = helio_new(1, sizeof *env);
    env->arena = helio_arena_new();
    helio_rc rc = fill(job, env, ret_cause, err);
    for (uint32_t i = 0; i < env->count && !rc; i++) {
        helio_buffer_append(out, env->items[i].name.data, env->items[i].name.size);
        helio_buffer_append(out, "=", 1);
        helio_buffer_append(out, env->items[i].value.data, env->items[i].value.size);
        helio_buffer_append(out, "", 1);
    }
    helio_arena_destroy(&env->arena);
    free(env);
    return rc;
}
