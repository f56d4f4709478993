/*  prepare.c -- from an order to a folder that a shim can run. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/file.h"
#include "federation/reason/codes.h"
#include "site-agent/backends/folder/internal.h"

/* ---- the user ------------------------------------------------------------------------------------------ */

static helio_rc look_up_account(helio_text_t unix_user, helio_unix_account_t *ret_account, helio_error_t *err)
{
    enum { SIZE = 1 << 16 };
    struct passwd entry, *found = NULL;
    char name[sizeof ret_account->name];
    char *text = helio_new(SIZE, 1);
    bool fits = helio_text_copy(unix_user, name, sizeof name);
    int rc = fits ? getpwnam_r(name, &entry, text, SIZE, &found) : 0;
    if (found) {
        *ret_account = (helio_unix_account_t){.uid = entry.pw_uid, .gid = entry.pw_gid};
        (void)snprintf(ret_account->name, sizeof ret_account->name, "%s", name);
        (void)snprintf(ret_account->home, sizeof ret_account->home, "%s", entry.pw_dir);
    }
    free(text);
    if (found)
        return HELIO_OK;
    if (rc)
        return helio_fail(err, HELIO_NOT_FOUND, "the Unix user '%.63s' cannot be looked up here: %s", name,
                          strerror(rc));
    return helio_fail(
        err, HELIO_NOT_FOUND,
        "the Unix account '%.63s' does not exist here; the site's operator adds it (`useradd`), or names another "
        "under `agent.users`",
        name);
}

helio_rc helio_folders_account(const helio_folders_t *self, const helio_order_t *order,
                               helio_unix_account_t *ret_account, helio_error_t *err)
{
    helio_user_rule_t line;
    helio_rc rc = helio_job_rules_user(&self->rules, order->tenant, order->user, &line);
    if (rc == HELIO_FORBIDDEN)
        return helio_fail(err, rc,
                          "jobs of another tenant run as '%.*s', too; the site gives tenant '%.*s' an account "
                          "of its own, or says shared: true",
                          HELIO_TEXT_ARGS(line.unix_user), HELIO_TEXT_ARGS(order->tenant));
    if (rc)
        return helio_fail(err, HELIO_FORBIDDEN, "the site names no Unix user for '%.*s' of tenant '%.*s'",
                          HELIO_TEXT_ARGS(order->user), HELIO_TEXT_ARGS(order->tenant));
    helio_unix_account_t account;
    rc = look_up_account(line.unix_user, &account, err);
    if (rc)
        return rc;
    if (account.uid == 0 && !(line.allow_root && helio_text_is(line.unix_user, "root")))
        return helio_fail(err, HELIO_FORBIDDEN, "'%s' is root, which needs allow_root", account.name);
    if (geteuid() != 0 && account.uid != geteuid())
        return helio_fail(err, HELIO_FORBIDDEN, "an agent that is not root cannot become '%s'", account.name);
    account.slurm_account = line.account;
    *ret_account = account;
    return HELIO_OK;
}

/*  One look-up for all lines: an account with two names has its first one. */
static bool is_mapped(const helio_job_rules_t *rules, uid_t uid)
{
    enum { SIZE = 1 << 16 };
    struct passwd entry, *found = NULL;
    char *text = helio_new(SIZE, 1);
    (void)getpwuid_r(uid, &entry, text, SIZE, &found);
    bool mapped = false;
    for (uint32_t i = 0; found && !mapped && i < rules->users.count; i++)
        mapped = helio_text_is(rules->users.items[i].unix_user, found->pw_name);
    free(text);
    return mapped;
}

/*  Whether an output folder of any attempt of that job is there, and then the user who owns the last one found. Attempts
 *  of a job run as one user. */
static bool find_owner(const helio_folders_t *self, const char *name, uid_t *ret_owner)
{
    size_t job = (size_t)(strrchr(name, '-') - name) + 1; /* up to the epoch */
    int fd = openat(self->root_fd, "output", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *output = fd >= 0 ? fdopendir(fd) : NULL;
    if (!output)
        helio_close(&fd);
    bool found = false;
    for (const struct dirent *entry; output && (entry = readdir(output));) {
        struct stat status;
        if (strncmp(entry->d_name, name, job) != 0 || fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        found = true;
        *ret_owner = status.st_uid;
    }
    if (output)
        (void)closedir(output);
    return found;
}

bool helio_folders_may_run_as(const helio_folders_t *self, const char *name, uid_t uid)
{
    uid_t owner;
    if (uid == 0 || (geteuid() != 0 && uid == geteuid()))
        return true;
    return find_owner(self, name, &owner) ? owner == uid : is_mapped(&self->rules, uid);
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

static uint32_t signal_number(helio_text_t name)
{
    static const struct {
        const char *name;
        int number;
    } known[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"TERM", SIGTERM}, {"INT", SIGINT},
                 {"HUP", SIGHUP},   {"QUIT", SIGQUIT}, {"CONT", SIGCONT}, {"ALRM", SIGALRM}};
    if (name.size > 3 && memcmp(name.data, "SIG", 3) == 0)
        name = (helio_text_t){name.data + 3, name.size - 3};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (helio_text_is(name, known[i].name))
            return (uint32_t)known[i].number;
    return 0;
}

/*  What each rank sees. */
static helio_rc fill_ranks(const helio_folder_job_t *job, helio_arena_t *arena, helio_plan_t *plan, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    for (uint32_t i = 0; i < job->ranks && i < job->how->slot_count && !rc; i++)
        rc = helio_devices_visible(job->how->devices, &job->how->slots[i], arena, &plan->ranks[i], err);
    return rc;
}

/*  apptainer takes a registry's image by its URI. */
static helio_text_t image_of(const helio_folder_job_t *job, helio_arena_t *arena)
{
    helio_text_t image = job->task->spec->image;
    bool plain = image.data[0] != '/' && !memmem(image.data, image.size, "://", 3);
    if (plain && helio_text_is(job->folders->rules.containers.runtime, "apptainer"))
        return helio_arena_printf(arena, "docker://%.*s", HELIO_TEXT_ARGS(image));
    return image;
}

/*  Where the attempt has a control group, the container's processes stay in it, and in its bounds. */
static helio_rc fill_container(const helio_folder_job_t *job, helio_arena_t *arena, helio_plan_t *plan,
                               helio_error_t *err)
{
    const helio_container_rules_t *rules = &job->folders->rules.containers;
    helio_container_words_t words;
    if (!job->task->spec->image.size)
        return HELIO_OK;
    helio_rc rc = helio_container_template(rules, arena, &words, err);
    if (rc)
        return rc;
    plan->image = image_of(job, arena);
    plan->runtime_path =
        job->folders->rules.path.size ? job->folders->rules.path : HELIO_TEXT("/usr/local/bin:/usr/bin:/bin");
    plan->runtime_home = helio_arena_text(arena, helio_text_of(job->account->home));
    if (helio_text_is(rules->runtime, "apptainer")) /* its own way, for values of any form */
        plan->runtime_prefix = HELIO_TEXT("APPTAINERENV_");
    for (uint32_t i = 0; i < words.count; i++) {
        plan->container[plan->container_count++] = words.items[i].text;
        if (helio_text_is(rules->runtime, "podman") && i == 1 && plan->cgroup.size)
            plan->container[plan->container_count++] = HELIO_TEXT("--cgroups=disabled");
    }
    for (uint32_t i = 0; i < rules->mounts.count; i++)
        plan->mounts[plan->mount_count++] = rules->mounts.items[i].text;
    return HELIO_OK;
}

static_assert((uint32_t)HELIO_PLAN_GRACE_MAX_MS == (uint32_t)HELIO_JOB_GRACE_MAX_MS, "the shim keeps the same bound");

static void fill_plan(const helio_folder_job_t *job, helio_arena_t *arena, helio_plan_t *plan)
{
    const helio_job_spec_t *spec = job->task->spec;
    const helio_order_t *order = job->task->order;
    const helio_job_rules_t *rules = &job->folders->rules;
    const helio_folder_how_t *how = job->how;
    *plan = (helio_plan_t){
        .uid = job->account->uid,
        .gid = job->account->gid,
        .user = helio_text_of(job->account->name),
        .workdir = job->places.workdir,
        .mark = helio_arena_printf(arena, "HELIO_OUTPUT_DIR=%.*s", HELIO_TEXT_ARGS(job->places.output)),
        .time_limit_ms = order->time_limit_ms,
        .grace_ms = helio_job_grace_ms(spec, rules->grace_ms),
        .log_max_bytes = rules->log_max_bytes,
        .checkpoint_signal = signal_number(spec->checkpoint_signal),
        .rank_count = job->ranks,
        .launcher = how->launcher,
        .nodes = order->nodes ? order->nodes : 1,
        .batch_script = how->batch_script,
        .stdout_path = how->stdout_path,
        .stderr_path = how->stderr_path,
        .truncate = how->truncate,
        .srun = how->srun,
        .clock_tolerance_ms = how->clock_tolerance_ms,
        .setuid_programs = rules->setuid_programs && how->launcher == HELIO_LAUNCHER_LOCAL,
    };
    if (how->cgroup)
        plan->cgroup = helio_text_of(how->cgroup);
    if (order->on_site_loss != HELIO_SITE_LOSS_STRICT)
        plan->lease = helio_text_of(how->lease);
    if (plan->lease.size)
        plan->lease_name = helio_text_of(job->name);
}

/* ---- the folders --------------------------------------------------------------------------------------- */

/*  Why the ownership of a file could not be changed, with the remedy. */
static helio_rc not_given(const helio_folders_t *self, const char *what, const char *user, helio_error_t *err)
{
    bool squashed = self->users_own && errno == EPERM;
    return helio_fail(err, HELIO_IO, "cannot give %s to '%s': %s%s", what, user, strerror(errno),
                      squashed ? " (does the file server turn root into nobody? export the shared folder to "
                                 "this host with no_root_squash, or run the agent as that user)"
                               : "");
}

/*  A folder of the user's own. If it exists it must be the user's already. The parent is the agent's, so no other user
 *  can have put a link there. */
static helio_rc make_user_folder(const helio_folder_job_t *job, helio_text_t path, helio_arena_t *arena,
                                 helio_error_t *err)
{
    const helio_unix_account_t *account = job->account;
    const char *name = helio_arena_string(arena, path);
    if (mkdir(name, 0700) == 0) {
        if (geteuid() != 0 || lchown(name, account->uid, account->gid) == 0)
            return HELIO_OK;
        helio_rc rc = not_given(job->folders, "a folder", account->name, err);
        (void)rmdir(name); /* otherwise the next attempt would take it for another user's */
        return rc;
    }
    struct stat status;
    if (errno != EEXIST || lstat(name, &status))
        return helio_fail(err, HELIO_IO, "cannot make a folder: %s", strerror(errno));
    if (!S_ISDIR(status.st_mode) || status.st_uid != account->uid)
        return helio_fail(err, HELIO_FORBIDDEN, "the job's checkpoints belong to another Unix user than '%s'",
                          account->name);
    return HELIO_OK;
}

/*  Writes a file of the attempt, which becomes the user's if `theirs`. Its name is durable once the whole folder is. */
static helio_rc put(const helio_folder_job_t *job, int folder, const char *name, helio_text_t text, mode_t mode,
                    bool theirs, helio_error_t *err)
{
    helio_error_t why = {0};
    helio_rc rc = helio_status_file_put(folder, name, text, mode, &why);
    if (rc)
        return helio_fail(err, rc, "%s", why.text);
    if (theirs && geteuid() == 0 && fchownat(folder, name, job->account->uid, job->account->gid, AT_SYMLINK_NOFOLLOW))
        return not_given(job->folders, name, job->account->name, err);
    return HELIO_OK;
}

static helio_rc fill_folder(const helio_folder_job_t *job, int folder, helio_text_t env, const helio_plan_t *plan,
                            helio_error_t *err)
{
    bool users_own = job->folders->users_own;
    helio_rc rc = put(job, folder, "run", job->task->spec->run, 0500, true, err);
    if (!rc)
        rc = put(job, folder, "report", (helio_text_t){0}, 0600, true, err);
    if (!rc)
        rc = put(job, folder, "env", env, 0600, users_own, err);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_plan_text(plan, &text);
    if (!rc)
        rc = put(job, folder, "plan", helio_buffer_view(&text), 0600, users_own, err);
    /* Only now, so that nothing was written into another user's folder. */
    if (!rc && users_own && geteuid() == 0 && fchown(folder, job->account->uid, job->account->gid))
        rc = not_given(job->folders, "the attempt's folder", job->account->name, err);
    if (!rc && fsync(folder))
        rc = helio_fail(err, HELIO_IO, "the attempt's folder: %s", strerror(errno));
    return rc;
}

static helio_rc make_attempt_folder(const helio_folders_t *self, const char *name, int *ret_folder, helio_error_t *err)
{
    mode_t mode = self->users_own ? 0700 : 0711;
    if (mkdirat(self->attempts_fd, name, mode))
        return helio_fail(err, HELIO_IO, "cannot make the attempt's folder: %s", strerror(errno));
    int folder = openat(self->attempts_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 || fchmod(folder, mode) || fsync(self->attempts_fd)) {
        helio_rc rc = helio_fail(err, HELIO_IO, "the attempt's folder: %s", strerror(errno));
        if (folder >= 0)
            (void)close(folder);
        (void)unlinkat(self->attempts_fd, name, AT_REMOVEDIR);
        return rc;
    }
    *ret_folder = folder;
    return HELIO_OK;
}

static helio_rc prepare_with(helio_folders_t *self, const helio_folder_job_t *job, helio_text_t env,
                             helio_arena_t *arena, helio_error_t *err)
{
    helio_rc rc = make_user_folder(job, job->places.output, arena, err);
    if (!rc)
        rc = make_user_folder(job, job->places.checkpoints, arena, err);
    if (rc)
        return rc;
    helio_plan_t *plan = helio_arena_alloc(arena, 1, sizeof *plan);
    fill_plan(job, arena, plan);
    rc = fill_ranks(job, arena, plan, err);
    if (!rc)
        rc = fill_container(job, arena, plan, err);
    if (rc)
        return rc;
    int folder = -1;
    rc = make_attempt_folder(self, job->name, &folder, err);
    if (rc)
        return rc;
    rc = fill_folder(job, folder, env, plan, err);
    (void)close(folder);
    if (rc)
        helio_folders_remove(self, job->name);
    return rc;
}

/*  One rank for each node that the core has chosen. A scheduler makes its own ranks; a batch script starts once. */
static uint32_t ranks_of(const helio_backend_task_t *task, const helio_folder_how_t *how)
{
    if (how->launcher != HELIO_LAUNCHER_LOCAL)
        return 0;
    if (how->batch_script)
        return 1;
    return how->slot_count ? how->slot_count : task->order->nodes ? task->order->nodes : 1;
}

static bool is_one_line(helio_text_t path)
{
    for (uint32_t i = 0; i < path.size; i++)
        if ((unsigned char)path.data[i] < ' ' || path.data[i] == 127)
            return false;
    return path.size < HELIO_FOLDER_PATH_SIZE;
}

static helio_rc check(const helio_job_rules_t *rules, const helio_backend_task_t *task, const helio_folder_how_t *how,
                      uint32_t *ret_cause, helio_error_t *err)
{
    if (task->spec->image.size && !rules->containers.runtime.size) {
        *ret_cause = HELIO_CAUSE_NO_CONTAINER_RUNTIME;
        return helio_fail(err, HELIO_INFEASIBLE, "this site runs no container images");
    }
    if (task->spec->image.size && (task->spec->image.data[0] == '-' || !is_one_line(task->spec->image))) {
        *ret_cause = HELIO_CAUSE_BAD_OPTION;
        return helio_fail(err, HELIO_INVALID, "the image's name begins with '-', or has control characters");
    }
    if (ranks_of(task, how) > HELIO_PLAN_RANKS_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "more than %d nodes on one machine", HELIO_PLAN_RANKS_MAX);
    if (how->workdir.size && how->workdir.data[0] != '/')
        return helio_fail(err, HELIO_INVALID, "the working directory must be an absolute path");
    if (!is_one_line(how->workdir) || !is_one_line(how->stdout_path) || !is_one_line(how->stderr_path))
        return helio_fail(err, HELIO_INVALID, "a path of the job has control characters");
    return HELIO_OK;
}

helio_rc helio_folders_prepare(helio_folders_t *self, const helio_backend_task_t *task, const char *name,
                               const helio_folder_how_t *how, uint32_t *ret_cause, helio_error_t *err)
{
    helio_unix_account_t account;
    *ret_cause = HELIO_CAUSE_START_FAILED; /* where most of it would be written */
    helio_rc rc = check(&self->rules, task, how, ret_cause, err);
    if (rc)
        return rc;
    rc = helio_folders_account(self, task->order, &account, err);
    if (rc) {
        *ret_cause = HELIO_CAUSE_NO_USER_MAPPING;
        return rc;
    }
    helio_arena_t *arena = helio_arena_new();
    int job_chars = (int)(strrchr(name, '-') - name); /* without the epoch */
    helio_folder_job_t job = {
        .folders = self,
        .task = task,
        .how = how,
        .name = name,
        .account = &account,
        .places = {helio_arena_printf(arena, "%s/attempts/%s", self->root, name),
                   helio_arena_printf(arena, "%s/output/%s", self->root, name),
                   helio_arena_printf(arena, "%s/checkpoints/%.*s", self->root, job_chars, name), how->workdir},
        .ranks = ranks_of(task, how),
    };
    if (!how->workdir.size)
        job.places.workdir = job.places.output;
    helio_buffer_t env = {0};
    rc = helio_folder_environment(&job, &env, ret_cause, err);
    if (!rc)
        rc = prepare_with(self, &job, helio_buffer_view(&env), arena, err);
    if (env.size) /* secrets may be among it */
        explicit_bzero(env.data, env.size);
    helio_buffer_clear(&env);
    helio_arena_destroy(&arena);
    return rc;
}

bool helio_job_is_batch_script(const helio_job_spec_t *spec)
{
    for (uint32_t i = 0; i < spec->slurm.count; i++)
        if (helio_text_is(spec->slurm.items[i].name, "launch"))
            return helio_text_is(spec->slurm.items[i].value, "batch");
    return false;
}
