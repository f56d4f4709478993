/*  local_prepare.c -- from an order to a folder that a shim can run. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/backends/local_inner.h"

enum { SECRET_MAX = 64 << 10, PATH_SIZE = 4096, ENV_NAMES_MAX = 1024 };

/*  Who it runs as. */
typedef struct account {
    uid_t uid;
    gid_t gid;
    char name[65];
    char home[PATH_SIZE];
} account_t;

/* ---- the user --------------------------------------------------------------------------------------------
 */

static helio_rc look_up_account(helio_text_t unix_user, account_t *ret_account, helio_error_t *err)
{
    enum { SIZE = 1 << 16 };
    struct passwd entry, *found = NULL;
    char name[65];
    char *text = helio_new(SIZE, 1);
    bool fits = helio_text_copy(unix_user, name, sizeof name);
    int rc = fits ? getpwnam_r(name, &entry, text, SIZE, &found) : 0;
    if (found) {
        *ret_account = (account_t){.uid = entry.pw_uid, .gid = entry.pw_gid};
        (void)snprintf(ret_account->name, sizeof ret_account->name, "%s", name);
        (void)snprintf(ret_account->home, sizeof ret_account->home, "%s", entry.pw_dir);
    }
    free(text);
    if (found)
        return HELIO_OK;
    return helio_fail(err, HELIO_NOT_FOUND,
                      "NoUserMapping: the Unix user '%.64s' cannot be looked up here%s%s", name,
                      rc ? ": " : "", rc ? strerror(rc) : "");
}

static helio_rc map_user(const helio_local_t *self, const helio_order_t *order, account_t *ret_account,
                         helio_error_t *err)
{
    helio_local_user_t line;
    if (helio_local_user_of(&self->settings, order->tenant, order->user, &line))
        return helio_fail(err, HELIO_FORBIDDEN,
                          "NoUserMapping: the site names no Unix user for '%.*s' of tenant '%.*s'",
                          HELIO_TEXT_ARGS(order->user), HELIO_TEXT_ARGS(order->tenant));
    account_t account;
    helio_rc rc = look_up_account(line.unix_user, &account, err);
    if (rc)
        return rc;
    if (account.uid == 0 && !(line.allow_root && helio_text_is(line.unix_user, "root")))
        return helio_fail(err, HELIO_FORBIDDEN, "NoUserMapping: '%s' is root, which needs allow_root",
                          account.name);
    if (geteuid() != 0 && account.uid != geteuid())
        return helio_fail(err, HELIO_FORBIDDEN, "NoUserMapping: an agent that is not root cannot become '%s'",
                          account.name);
    *ret_account = account;
    return HELIO_OK;
}

/* ---- the environment -------------------------------------------------------------------------------------
 */

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

/*  The last one to set a name decides. */
static helio_rc set(environment_t *self, helio_text_t name, helio_text_t value, helio_error_t *err)
{
    if (!is_name(name) || (value.size && memchr(value.data, '\0', value.size)))
        return helio_fail(err, HELIO_INVALID, "StartFailed: '%.*s' cannot be an environment variable",
                          HELIO_TEXT_ARGS(name));
    uint32_t at = 0;
    while (at < self->count && !helio_text_equal(self->items[at].name, name))
        at++;
    if (at == ENV_NAMES_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "StartFailed: more than %d environment variables",
                          ENV_NAMES_MAX);
    self->items[at] = (variable_t){helio_arena_text(self->arena, name), helio_arena_text(self->arena, value)};
    self->count += at == self->count;
    return HELIO_OK;
}

static bool is_ours(helio_text_t name)
{
    return (name.size >= 6 && memcmp(name.data, "HELIO_", 6) == 0) ||
           helio_text_is(name, "CUDA_VISIBLE_DEVICES");
}

helio_rc helio_local_secret(const helio_local_t *self, helio_text_t unix_user, helio_text_t name,
                            helio_buffer_t *out, helio_error_t *err)
{
    if (!is_name(name) || !unix_user.size || unix_user.data[0] == '.' ||
        memchr(unix_user.data, '/', unix_user.size))
        return helio_fail(err, HELIO_INVALID, "MissingSecret: '%.*s' cannot be a secret's name",
                          HELIO_TEXT_ARGS(name));
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "%.*s/%.*s", HELIO_TEXT_ARGS(self->settings.secrets),
                   HELIO_TEXT_ARGS(unix_user));
    struct stat top;
    char root[PATH_SIZE];
    if (!self->settings.secrets.size || !helio_text_copy(self->settings.secrets, root, sizeof root) ||
        stat(root, &top))
        return helio_fail(err, HELIO_NOT_FOUND, "MissingSecret: '%.*s' (the site keeps none)",
                          HELIO_TEXT_ARGS(name));
    if (top.st_mode & 077 || top.st_uid != geteuid())
        return helio_fail(err, HELIO_FORBIDDEN,
                          "MissingSecret: the site's folder of secrets is open to others");
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char file[257];
    helio_rc rc = HELIO_NOT_FOUND;
    size_t before = out->size;
    if (folder >= 0 && helio_text_copy(name, file, sizeof file))
        rc = helio_mark_read(folder, file, SECRET_MAX, out, NULL);
    if (folder >= 0)
        (void)close(folder);
    if (rc)
        return helio_fail(err, rc, "MissingSecret: '%.*s' is not kept here for this user",
                          HELIO_TEXT_ARGS(name));
    if (out->size > before && out->data[out->size - 1] == '\n') /* as editors leave it */
        out->data[--out->size] = '\0';
    return HELIO_OK;
}

static helio_rc set_asked(const helio_local_t *self, const helio_backend_task_t *task, helio_text_t unix_user,
                          environment_t *env, helio_error_t *err)
{
    for (uint32_t i = 0; i < task->spec->env.count; i++) {
        const helio_pair_t *pair = &task->spec->env.items[i];
        helio_rc rc = is_ours(pair->name) ? HELIO_OK : set(env, pair->name, pair->value, err);
        if (rc)
            return rc;
    }
    for (uint32_t i = 0; i < task->spec->secrets.count; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t value = {0};
        helio_text_t name = task->spec->secrets.items[i].text;
        helio_rc rc = helio_local_secret(self, unix_user, name, &value, err);
        if (!rc && !is_ours(name))
            rc = set(env, name, helio_buffer_view(&value), err);
        if (value.size)
            explicit_bzero(value.data, value.size);
        if (rc)
            return rc;
    }
    return HELIO_OK;
}

/*  Places of one attempt; texts in the environment's arena. */
typedef struct places {
    helio_text_t folder, output, checkpoints;
} places_t;

static helio_rc set_helio(const helio_local_t *self, const helio_backend_task_t *task, const places_t *places,
                          uint32_t ranks, environment_t *env, helio_error_t *err)
{
    const helio_order_t *order = task->order;
    char id[HELIO_ID_SIZE];
    helio_uuid_text(order->key.job, id);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t hosts = {0};
    for (uint32_t i = 0; i < ranks; i++)
        helio_buffer_text(&hosts, i ? ",localhost" : "localhost");
    const variable_t own[] = {
        {HELIO_TEXT("HELIO_JOB_ID"), helio_text_of(id)},
        {HELIO_TEXT("HELIO_EPOCH"), helio_arena_printf(env->arena, "%u", order->epoch)},
        {HELIO_TEXT("HELIO_SITE"), self->options.site},
        {HELIO_TEXT("HELIO_NODES"), helio_arena_printf(env->arena, "%u", ranks)},
        {HELIO_TEXT("HELIO_HOSTS"), helio_buffer_view(&hosts)},
        {HELIO_TEXT("HELIO_CHECKPOINT_DIR"), places->checkpoints},
        {HELIO_TEXT("HELIO_OUTPUT_DIR"), places->output},
        {HELIO_TEXT("HELIO_RESUME"), order->resume ? HELIO_TEXT("1") : HELIO_TEXT("0")},
        {HELIO_TEXT("HELIO_REPORT"),
         helio_arena_printf(env->arena, "%.*s/report", HELIO_TEXT_ARGS(places->folder))},
    };
    helio_rc rc = HELIO_OK;
    for (size_t i = 0; i < sizeof own / sizeof own[0] && !rc; i++)
        rc = set(env, own[i].name, own[i].value, err);
    if (!rc && order->key.task != HELIO_NO_TASK)
        rc = set(env, HELIO_TEXT("HELIO_ARRAY_INDEX"), helio_arena_printf(env->arena, "%d", order->key.task),
                 err);
    return rc;
}

static helio_rc fill_environment(const helio_local_t *self, const helio_backend_task_t *task,
                                 const account_t *account, const places_t *places, uint32_t ranks,
                                 environment_t *env, helio_error_t *err)
{
    const variable_t base[] = {{HELIO_TEXT("PATH"), self->settings.path},
                               {HELIO_TEXT("HOME"), helio_text_of(account->home)},
                               {HELIO_TEXT("USER"), helio_text_of(account->name)},
                               {HELIO_TEXT("LANG"), HELIO_TEXT("C.UTF-8")}};
    helio_rc rc = HELIO_OK;
    for (size_t i = 0; i < sizeof base / sizeof base[0] && !rc; i++)
        rc = set(env, base[i].name, base[i].value, err);
    if (!rc)
        rc = set_asked(self, task, helio_text_of(account->name), env, err);
    return rc ? rc : set_helio(self, task, places, ranks, env, err);
}

/* ---- the plan --------------------------------------------------------------------------------------------
 */

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

static helio_text_t gpu_list(helio_arena_t *arena, const helio_slot_t *slot)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    for (uint32_t i = 0; i < slot->gpus.count; i++)
        helio_buffer_printf(&text, "%s%u", i ? "," : "", slot->gpus.items[i]);
    return helio_arena_text(arena, helio_buffer_view(&text));
}

static void fill_plan(const helio_local_t *self, const helio_backend_task_t *task, const account_t *account,
                      const places_t *places, uint32_t ranks, helio_arena_t *arena, helio_plan_t *plan)
{
    const helio_job_spec_t *spec = task->spec;
    *plan = (helio_plan_t){
        .uid = account->uid,
        .gid = account->gid,
        .user = helio_text_of(account->name),
        .workdir = places->output,
        .mark = helio_arena_printf(arena, "HELIO_OUTPUT_DIR=%.*s", HELIO_TEXT_ARGS(places->output)),
        .time_limit_ms = task->order->time_limit_ms,
        .grace_ms = spec->checkpoint_grace_ms ? spec->checkpoint_grace_ms : self->settings.grace_ms,
        .log_max_bytes = self->settings.log_max_bytes,
        .checkpoint_signal = signal_number(spec->checkpoint_signal),
        .rank_count = ranks,
    };
    if (task->order->on_site_loss != HELIO_SITE_LOSS_STRICT)
        plan->lease = helio_arena_printf(arena, "%s/lease", self->options.state_dir);
    for (uint32_t i = 0; i < ranks; i++)
        plan->ranks[i] = i < task->slot_count ? gpu_list(arena, &task->slots[i]) : (helio_text_t){0};
}

/* ---- the folders -----------------------------------------------------------------------------------------
 */

/*  A folder of the user's own. One that exists must be theirs already: the parent is ours, so nobody else can
 * have put a link there. */
static helio_rc make_user_folder(helio_text_t path, const account_t *account, helio_arena_t *arena,
                                 helio_error_t *err)
{
    const char *name = helio_arena_string(arena, path);
    if (mkdir(name, 0700) == 0) {
        if (geteuid() == 0 && lchown(name, account->uid, account->gid))
            return helio_fail(err, HELIO_IO, "StartFailed: cannot give a folder to '%s': %s", account->name,
                              strerror(errno));
        return HELIO_OK;
    }
    struct stat status;
    if (errno != EEXIST || lstat(name, &status))
        return helio_fail(err, HELIO_IO, "StartFailed: cannot make a folder: %s", strerror(errno));
    if (!S_ISDIR(status.st_mode) || status.st_uid != account->uid)
        return helio_fail(err, HELIO_FORBIDDEN,
                          "StartFailed: the job's checkpoints belong to another Unix user than '%s'",
                          account->name);
    return HELIO_OK;
}

static helio_rc give(int folder, const char *name, const account_t *account, helio_error_t *err)
{
    if (geteuid() == 0 && fchownat(folder, name, account->uid, account->gid, AT_SYMLINK_NOFOLLOW))
        return helio_fail(err, HELIO_IO, "cannot give '%s' to '%s': %s", name, account->name,
                          strerror(errno));
    return HELIO_OK;
}

static helio_rc fill_folder(int folder, const helio_backend_task_t *task, const account_t *account,
                            const environment_t *env, const helio_plan_t *plan, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_rc rc = helio_mark_write(folder, "run", task->spec->run, 0500, err);
    if (!rc)
        rc = give(folder, "run", account, err);
    if (!rc)
        rc = helio_mark_write(folder, "report", (helio_text_t){0}, 0600, err);
    if (!rc)
        rc = give(folder, "report", account, err);
    for (uint32_t i = 0; i < env->count; i++) {
        helio_buffer_printf(&text, "%.*s=", HELIO_TEXT_ARGS(env->items[i].name));
        helio_buffer_append(&text, env->items[i].value.data, env->items[i].value.size);
        helio_buffer_append(&text, "", 1);
    }
    if (!rc)
        rc = helio_mark_write(folder, "env", helio_buffer_view(&text), 0600, err);
    if (text.size) /* secrets may be among it */
        explicit_bzero(text.data, text.size);
    helio_buffer_reset(&text);
    helio_plan_text(plan, &text);
    return rc ? rc : helio_mark_write(folder, "plan", helio_buffer_view(&text), 0600, err);
}

static helio_rc make_attempt_folder(helio_local_t *self, const char *name, int *ret_folder,
                                    helio_error_t *err)
{
    if (mkdirat(self->attempts_fd, name, 0711))
        return helio_fail(err, HELIO_IO, "StartFailed: cannot make the attempt's folder: %s",
                          strerror(errno));
    int folder = openat(self->attempts_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 || fchmod(folder, 0711) || fsync(self->attempts_fd)) {
        helio_rc rc = helio_fail(err, HELIO_IO, "StartFailed: the attempt's folder: %s", strerror(errno));
        if (folder >= 0)
            (void)close(folder);
        return rc;
    }
    *ret_folder = folder;
    return HELIO_OK;
}

static helio_rc prepare_with(helio_local_t *self, const helio_backend_task_t *task, const char *name,
                             const account_t *account, environment_t *env, helio_error_t *err)
{
    uint32_t ranks = task->slot_count ? task->slot_count : task->order->nodes ? task->order->nodes : 1;
    if (ranks > HELIO_PLAN_RANKS_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "StartFailed: more than %d nodes on one machine",
                          HELIO_PLAN_RANKS_MAX);
    const char *state = self->options.state_dir;
    int job_chars = (int)(strrchr(name, '-') - name); /* without the epoch */
    places_t places = {helio_arena_printf(env->arena, "%s/attempts/%s", state, name),
                       helio_arena_printf(env->arena, "%s/output/%s", state, name),
                       helio_arena_printf(env->arena, "%s/checkpoints/%.*s", state, job_chars, name)};
    helio_rc rc = fill_environment(self, task, account, &places, ranks, env, err);
    if (!rc)
        rc = make_user_folder(places.output, account, env->arena, err);
    if (!rc)
        rc = make_user_folder(places.checkpoints, account, env->arena, err);
    if (rc)
        return rc;
    helio_plan_t plan;
    fill_plan(self, task, account, &places, ranks, env->arena, &plan);
    int folder = -1;
    rc = make_attempt_folder(self, name, &folder, err);
    if (rc)
        return rc;
    helio_error_t why = {0};
    rc = fill_folder(folder, task, account, env, &plan, &why);
    (void)close(folder);
    if (rc) {
        helio_local_remove(self, name);
        return helio_fail(err, rc, "StartFailed: %s", why.text);
    }
    return HELIO_OK;
}

helio_rc helio_local_prepare(helio_local_t *self, const helio_backend_task_t *task, const char *name,
                             helio_error_t *err)
{
    if (task->spec->image.size)
        return helio_fail(err, HELIO_INFEASIBLE, "NoContainerRuntime: this site runs no container images");
    account_t account;
    helio_rc rc = map_user(self, task->order, &account, err);
    if (rc)
        return rc;
    environment_t *env = helio_new(1, sizeof *env);
    env->arena = helio_arena_new();
    rc = prepare_with(self, task, name, &account, env, err);
    helio_arena_destroy(&env->arena);
    free(env);
    return rc;
}
