/*  start.c -- from a claimed folder to processes that run. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/shim/batch.h"
#include "site-agent/shim/container.h"
#include "site-agent/shim/environment.h"
#include "site-agent/shim/guardian.h"
#include "site-agent/shim/internal.h"
#include "site-agent/shim/kept_environment.h"
#include "site-agent/shim/lease_file.h"
#include "site-agent/shim/pattern.h"
#include "site-agent/shim/slurm.h"

enum { ENV_MAX = 16 << 20, LEASE_READ_MS = 1000, PATH_SIZE = 4096 };

/*  The inputs of the processes. */
typedef struct kit {
    helio_arena_t *arena;
    helio_environment_t base; /* of the attempt, the same for all ranks */
    char *const *argvs[HELIO_PLAN_RANKS_MAX];
    char *const *envs[HELIO_PLAN_RANKS_MAX];
    int files[HELIO_PLAN_RANKS_MAX]; /* with the variables of a container; -1 = none */
    uint32_t count;
    int writers[HELIO_OUTPUT_STREAMS];
} kit_t;

void helio_shim_read_lease(helio_shim_t *self, int64_t now_ms)
{
    if (!self->plan.lease.size || now_ms < self->lease_read_ms)
        return;
    self->lease_read_ms = now_ms + LEASE_READ_MS;
    helio_lease_file_read(&self->plan, &self->lease);
}

static helio_rc write_started(helio_shim_t *self, helio_error_t *err)
{
    helio_started_t started = {.wall_ms = helio_clock_wall_ms(), .boot_ms = helio_clock_boot_ms()};
    for (; started.rank_count < self->ranks.count; started.rank_count++)
        started.ranks[started.rank_count] = self->ranks.items[started.rank_count].leader;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_started_text(&started, &text);
    helio_rc rc = helio_status_file_write(self->status_files, "started", helio_buffer_view(&text), 0600, err);
    self->done.started_wall_ms = started.wall_ms;
    self->started_boot_ms = started.boot_ms;
    return rc;
}

/* ---- environment --------------------------------------------------------------------------------------------- */

/*  In memory, because a secret may be among the variables. -1: there are none for it. */
static helio_rc make_env_file(const helio_container_job_t *job, int *ret_file, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t lines = {0};
    helio_container_variables(job, &lines);
    *ret_file = -1;
    if (!lines.size)
        return HELIO_OK;
    *ret_file = memfd_create("env", MFD_CLOEXEC);
    bool good = *ret_file >= 0 && write(*ret_file, lines.data, lines.size) == (ssize_t)lines.size;
    explicit_bzero(lines.data, lines.size);
    return good ? HELIO_OK : helio_fail(err, HELIO_IO, "the container's variables: %s", strerror(errno));
}

/*  The command of a container, and its runtime's own environment. The plan of a former agent, of which a scheduler may
 *  still hold some, has no path for it. */
static helio_rc contain(helio_shim_t *self, kit_t *kit, const helio_environment_t *env, char ***ret_argv,
                        helio_environment_t *ret_env, helio_error_t *err)
{
    bool former = !self->plan.runtime_path.size && self->plan.launcher != HELIO_LAUNCHER_LOCAL;
    helio_container_job_t job = {.plan = &self->plan,
                                 .folder = self->call->folder,
                                 .env = env,
                                 .own = helio_ranks_program_is_own(self->call->folder)};
    helio_rc rc = make_env_file(&job, &kit->files[kit->count], err);
    if (kit->files[kit->count] >= 0)
        job.env_file = HELIO_RANKS_FILE_PATH;
    if (!former)
        *ret_env = helio_container_environment(&job);
    const char *path = helio_environment_get(ret_env, HELIO_VARIABLE_PATH);
    return rc ? rc : helio_container_argv(&job, path, kit->arena, ret_argv, err);
}

/*  The program of one more rank, itself or in a container. */
static helio_rc add_rank(helio_shim_t *self, kit_t *kit, const helio_environment_t *env, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    char **argv = NULL;
    helio_environment_t own = *env;
    kit->files[kit->count] = -1;
    if (self->plan.image.size) {
        rc = contain(self, kit, env, &argv, &own, err);
    } else {
        argv = helio_ranks_program(kit->arena, self->call->folder);
    }
    kit->argvs[kit->count] = argv;
    kit->envs[kit->count] = own.items;
    kit->count++; /* even on failure: its file is to be closed */
    return rc;
}

static helio_rc equip_local(helio_shim_t *self, kit_t *kit, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    while (kit->count < self->plan.rank_count && !rc) {
        helio_environment_t env = helio_environment_copy(&kit->base);
        helio_environment_set_rank(&env, kit->count, self->plan.ranks[kit->count]);
        rc = add_rank(self, kit, &env, err);
    }
    return rc;
}

static helio_rc equip_head(helio_shim_t *self, kit_t *kit, helio_error_t *err)
{
    helio_environment_t env = {.arena = kit->arena};
    char *const *own = self->call->environ_list;
    char **argv = NULL;
    helio_rc rc;
    if (self->plan.launcher == HELIO_LAUNCHER_BATCH) {
        rc = helio_batch_launch(own, self->call->program, self->call->folder, kit->arena, &argv, &env, err);
    } else {
        helio_slurm_own_environment(own, &env);
        rc = helio_slurm_srun(&self->plan, own, self->call->program, self->call->folder, kit->arena, &argv, err);
    }
    kit->argvs[kit->count] = argv;
    kit->files[kit->count] = -1;
    kit->envs[kit->count++] = env.items;
    return rc ? rc : helio_gang_make(self->folder, self->plan.nodes, err);
}

static helio_rc equip(helio_shim_t *self, kit_t *kit, helio_error_t *err)
{
    if (self->head)
        return equip_head(self, kit, err);
    if (self->plan.launcher == HELIO_LAUNCHER_LOCAL)
        return equip_local(self, kit, err);
    helio_rc rc = HELIO_OK;
    if (self->plan.launcher == HELIO_LAUNCHER_BATCH)
        helio_batch_rank_environment(self->call->environ_list, self->plan.batch_script ? 1 : self->plan.nodes,
                                     self->rank, &kit->base);
    else
        rc = helio_slurm_rank_environment(&self->plan, self->call->environ_list, self->rank, &kit->base, err);
    return rc ? rc : add_rank(self, kit, &kit->base, err);
}

/* ---- output -------------------------------------------------------------------------------------------- */

static helio_rc open_copy(helio_shim_t *self, const kit_t *kit, uint32_t stream, helio_text_t pattern,
                          helio_error_t *err)
{
    char host[65] = "", user[65];
    (void)gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = '\0';
    (void)helio_text_copy(self->plan.user, user, sizeof user);
    const char *title = helio_environment_get(&kit->base, HELIO_VARIABLE_JOB_NAME);
    if (!title)
        title = helio_environ_get(self->call->environ_list, HELIO_VARIABLE_JOB_NAME);
    const char *task = helio_environment_get(&kit->base, HELIO_VARIABLE_ARRAY_INDEX);
    helio_pattern_t values = {helio_slurm_job_id(self->call->environ_list),
                              task,
                              title ? title : "",
                              user,
                              host,
                              helio_environment_get(&kit->base, HELIO_VARIABLE_ARRAY_JOB_ID)};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {.max = PATH_SIZE - 1};
    if (pattern.data[0] != '/')
        helio_buffer_printf(&path, "%.*s/", HELIO_TEXT_ARGS(self->plan.workdir));
    helio_pattern_fill(&values, pattern, &path);
    if (path.overflow)
        return helio_fail(err, HELIO_TOO_BIG, "the path of the job's standard output is too long");
    return helio_output_copy(&self->output, stream, path.data, self->plan.truncate, err);
}

/*  A rank of several nodes prints into the output that srun gave its shim; srun carries it to the head. */
static helio_rc open_output(helio_shim_t *self, kit_t *kit, helio_error_t *err)
{
    const helio_plan_t *plan = &self->plan;
    if (self->call->mode == HELIO_SHIM_RANK) {
        kit->writers[0] = 1;
        kit->writers[1] = 2;
        return HELIO_OK;
    }
    helio_rc rc = helio_output_open(self->folder, plan->log_max_bytes, plan->stderr_path.size > 0, &self->output,
                                    kit->writers, err);
    if (!rc && plan->stdout_path.size)
        rc = open_copy(self, kit, 0, plan->stdout_path, err);
    if (!rc && plan->stderr_path.size)
        rc = open_copy(self, kit, 1, plan->stderr_path, err);
    return rc;
}

static void close_writers(kit_t *kit)
{
    if (kit->writers[0] > 2)
        (void)close(kit->writers[0]);
    if (kit->writers[1] > 2 && kit->writers[1] != kit->writers[0])
        (void)close(kit->writers[1]);
}

/* ---- the start ----------------------------------------------------------------------------------------- */

static helio_rc read_plan(helio_shim_t *self, helio_error_t *err)
{
    helio_rc rc = helio_status_file_read(self->folder, "plan", HELIO_STATUS_FILE_MAX, &self->plan_text, err);
    if (!rc)
        rc = helio_plan_parse(helio_buffer_view(&self->plan_text), &self->plan, err);
    if (rc)
        return rc;
    bool local = self->plan.launcher == HELIO_LAUNCHER_LOCAL;
    bool batch = self->plan.launcher == HELIO_LAUNCHER_BATCH;
    bool rank = self->call->mode == HELIO_SHIM_RANK && !local;
    if (!rank && (local != (self->call->mode == HELIO_SHIM_LOCAL) || batch != (self->call->mode == HELIO_SHIM_BATCH)))
        return helio_fail(err, HELIO_INVALID, "the plan is for another launcher");
    if (!local && geteuid() != self->plan.uid)
        return helio_fail(err, HELIO_FORBIDDEN, "the scheduler runs the job as user %u and not as '%.*s' (%u)",
                          (unsigned)geteuid(), HELIO_TEXT_ARGS(self->plan.user), self->plan.uid);
    self->head = !local && !rank && self->plan.nodes > 1 && !self->plan.batch_script;
    self->lease.tolerance_ms = self->plan.clock_tolerance_ms;
    if (!helio_text_copy(self->plan.cgroup, self->cgroup, sizeof self->cgroup))
        return helio_fail(err, HELIO_TOO_BIG, "the path of the job's control group is too long");
    return HELIO_OK;
}

/*  A scheduler watches over the shims that it starts; those of this machine have a guardian each. It comes first, so
 *  that it is not among the descendants that the shim reaps. */
static helio_rc take_charge(helio_shim_t *self, helio_error_t *err)
{
    const helio_ward_t ward = {.folder = self->folder, .plan = &self->plan, .lease = &self->lease};
    helio_rc rc = HELIO_OK;
#ifndef HELIO_MUTANT_shim_unguarded
    if (self->call->mode == HELIO_SHIM_LOCAL)
        rc = helio_guardian_start(&ward, &self->leash, err);
#endif
#ifndef HELIO_MUTANT_orphans_left
    if (!rc && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
        rc = helio_fail(err, HELIO_UNAVAILABLE, "cannot become a subreaper: %s", strerror(errno));
#endif
    return rc;
}

/*  Nothing may start that would have to be stopped at once. */
static helio_rc may_start(helio_shim_t *self, helio_error_t *err)
{
    helio_shim_read_lease(self, helio_clock_boot_ms());
    if (self->plan.lease.size && helio_clock_boot_ms() >= self->lease.stop_boot_ms)
        return helio_fail(err, HELIO_FENCED, "the lease ended before the job began");
    uint64_t grace_ms;
    if (self->call->mode == HELIO_SHIM_RANK && helio_gang_hear(self->folder, &grace_ms) != HELIO_GANG_GO)
        return helio_fail(err, HELIO_TIMEOUT, "stopped before it began");
    return HELIO_OK;
}

static helio_rc release(helio_shim_t *self, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
#ifndef HELIO_MUTANT_started_unwritten
    rc = write_started(self, err);
#endif
    if (!rc && self->call->mode == HELIO_SHIM_RANK)
        rc = helio_gang_tell(self->folder, self->rank, false, 0, err);
    if (!rc)
        return helio_ranks_release(&self->ranks, err);
    (void)close(self->ranks.gate); /* the waiting children end */
    (void)unlinkat(self->status_files, "started", 0);
    return rc;
}

static helio_rc start_with(helio_shim_t *self, kit_t *kit, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t env = {0};
    helio_rc rc = helio_status_file_read(self->folder, "env", ENV_MAX, &env, err);
    self->env_there = rc == HELIO_OK;
    if (!rc)
        helio_environment_read(&kit->base, helio_buffer_view(&env));
    if (!rc)
        rc = may_start(self, err);
    if (!rc)
        rc = open_output(self, kit, err);
    if (!rc)
        rc = equip(self, kit, err);
    if (rc)
        return rc;
    if (!self->head)
        helio_kept_environment_keep(&kit->base);
    helio_ranks_start_t start = {.plan = &self->plan,
                                 .argvs = kit->argvs,
                                 .envs = kit->envs,
                                 .files = kit->files,
                                 .count = kit->count,
                                 .cgroup = self->cgroup[0] ? self->cgroup : NULL,
                                 .is_srun = self->head,
                                 .output = kit->writers[0],
                                 .errors = kit->writers[1]};
    rc = helio_ranks_prepare(&start, &self->ranks, err);
    close_writers(kit);
    kit->writers[0] = kit->writers[1] = -1;
    if (rc)
        return rc;
    if (self->call->mode != HELIO_SHIM_RANK && !self->head) {
        (void)unlinkat(self->folder, "env", 0); /* the ranks have it; secrets do not stay on disk */
        self->env_there = false;
    }
    return release(self, err);
}

helio_rc helio_shim_start(helio_shim_t *self, helio_error_t *err)
{
    helio_rc rc = helio_done_reserve(self->status_files, err);
    if (!rc)
        rc = read_plan(self, err);
    if (!rc)
        rc = take_charge(self, err);
    if (rc)
        return rc;
    kit_t *kit = helio_new(1, sizeof *kit);
    kit->arena = helio_arena_new();
    kit->base.arena = kit->arena;
    kit->writers[0] = kit->writers[1] = -1;
    rc = start_with(self, kit, err);
    close_writers(kit);
    for (uint32_t i = 0; i < kit->count; i++)
        if (kit->files[i] >= 0)
            (void)close(kit->files[i]);
    helio_arena_destroy(&kit->arena);
    free(kit);
    return rc;
}
