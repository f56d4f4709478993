#include "site-agent/backends/local.h"

#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/backends/local_inner.h"

enum { STATE_DIR_MAX = 3000, SWEEP_MS = 60000, EVENTS_MAX = 256 };

static helio_local_t *local_of(helio_backend_t *base)
{
    return (helio_local_t *)(void *)base;
}

/* ---- orders ----------------------------------------------------------------------------------------------
 */

/*  What cannot be told now is looked up again from process: the attempt waits with a shim that does not
 * exist. */
static helio_local_attempt_t *look_up(helio_local_t *self, helio_job_key_t key, uint32_t epoch,
                                      helio_local_found_t *ret_found)
{
    helio_local_attempt_t *attempt = helio_local_add(self, key, epoch);
    helio_local_look_t look;
    *ret_found = HELIO_LOCAL_DEAD;
    if (helio_local_look(self, attempt->name, &look, NULL)) {
        attempt->state = HELIO_LOCAL_LEFT;
        return attempt;
    }
    *ret_found = look.found;
    helio_local_take(self, attempt, &look);
    return attempt;
}

/*  Which GPUs to count, and their counters now: before anything runs on them. */
static void note_energy(const helio_local_t *self, helio_local_attempt_t *attempt,
                        const helio_backend_task_t *task)
{
    attempt->gpu_count = 0;
    for (uint32_t i = 0; self->options.energy_mj && i < task->slot_count; i++)
        for (uint32_t j = 0; j < task->slots[i].gpus.count && attempt->gpu_count < HELIO_PLAN_GPUS_MAX; j++) {
            uint32_t gpu = task->slots[i].gpus.items[j], at = attempt->gpu_count;
            if (!self->options.energy_mj(self->options.energy_arg, gpu, &attempt->gpu_mj[at])) {
                attempt->gpu_count = 0;
                return;
            }
            attempt->gpus[attempt->gpu_count++] = gpu;
        }
}

static void local_start(helio_backend_t *base, const helio_backend_task_t *task)
{
    helio_local_t *self = local_of(base);
    const helio_order_t *order = task->order;
    helio_local_found_t found;
    if (helio_local_find(self, order->key, order->epoch)) /* its events come, or have come, by themselves */
        return;
    helio_local_attempt_t *attempt = look_up(self, order->key, order->epoch, &found);
    if (found != HELIO_LOCAL_ABSENT)
        return;
    helio_error_t why = {0};
    helio_rc rc = helio_local_prepare(self, task, attempt->name, &why);
    if (!rc) {
        note_energy(self, attempt, task);
        rc = helio_local_spawn(self, attempt, &why);
        if (rc)
            helio_local_remove(self, attempt->name);
    }
    if (rc)
        helio_local_say_end(attempt, HELIO_BACKEND_WORD_FAILED_TO_START, why.text);
}

static void local_adopt(helio_backend_t *base, const helio_backend_task_t *task)
{
    helio_local_t *self = local_of(base);
    helio_local_found_t found;
    if (!helio_local_find(self, task->order->key, task->order->epoch))
        (void)look_up(self, task->order->key, task->order->epoch, &found);
}

static void local_stop(helio_backend_t *base, const helio_stop_t *stop)
{
    helio_local_t *self = local_of(base);
    helio_local_found_t found;
    helio_local_attempt_t *attempt = helio_local_find(self, stop->key, stop->epoch);
    if (!attempt)
        attempt = look_up(self, stop->key, stop->epoch, &found);
    helio_local_signal(attempt, stop->mode);
}

static void local_forget(helio_backend_t *base, helio_job_key_t key, uint32_t epoch)
{
    helio_local_t *self = local_of(base);
    char name[HELIO_ATTEMPT_NAME_SIZE], text[32];
    helio_attempt_name(key, epoch, name);
    int folder = openat(self->attempts_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    (void)snprintf(text, sizeof text, "%lld", (long long)helio_clock_wall_ms());
    if (!helio_mark_exists(folder, "forget")) /* what cannot be marked is kept: no harm */
        (void)!helio_mark_write(folder, "forget", helio_text_of(text), 0600, NULL);
    (void)close(folder);
}

static void local_survey(helio_backend_t *base)
{
    helio_local_t *self = local_of(base);
    int again = openat(self->attempts_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again >= 0 ? fdopendir(again) : NULL;
    if (!list) {
        if (again >= 0)
            (void)close(again);
        return;
    }
    for (struct dirent *entry; (entry = readdir(list));) {
        helio_job_key_t key;
        uint32_t epoch;
        char mark[300];
        if (helio_attempt_name_parse(helio_text_of(entry->d_name), &key, &epoch))
            continue;
        (void)snprintf(mark, sizeof mark, "%.255s/forget", entry->d_name);
        helio_local_found_t found;
        if (!helio_mark_exists(self->attempts_fd, mark) && !helio_local_find(self, key, epoch))
            (void)look_up(self, key, epoch, &found);
    }
    (void)closedir(list);
}

/*  The core's deadline is its lease's end minus min (margin, lease / 4), and it kills a quarter of that
 * before the end. From the time that is left, the margin can only be underestimated: a shim alone kills early
 * rather than late. */
static helio_rc local_lease(helio_backend_t *base, int64_t deadline_boot_ms, helio_error_t *err)
{
    helio_local_t *self = local_of(base);
    int64_t left_ms = deadline_boot_ms - helio_clock_boot_ms();
    int64_t third = left_ms > 0 ? left_ms / 3 : 0;
    int64_t margin =
        (int64_t)self->options.lease_margin_ms < third ? (int64_t)self->options.lease_margin_ms : third;
    helio_lease_t lease = {.stop_boot_ms = deadline_boot_ms,
                           .kill_boot_ms = deadline_boot_ms + margin / 4 * 3};
    memcpy(lease.boot_id, self->boot_id, sizeof lease.boot_id);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_lease_text(&lease, &text);
    return helio_mark_write(self->state_fd, "lease", helio_buffer_view(&text), 0600, err);
}

/* ---- output ----------------------------------------------------------------------------------------------
 */

static bool is_over(helio_local_t *self, helio_job_key_t key, uint32_t epoch, int folder)
{
    if (helio_mark_exists(folder, "done"))
        return true;
    if (helio_local_find(self, key, epoch))
        return false;
    helio_claim_t claim;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    return helio_mark_read(folder, "claim", 4096, &text, NULL) == HELIO_OK &&
           helio_claim_parse(helio_buffer_view(&text), &claim) == HELIO_OK &&
           (strcmp(claim.boot_id, self->boot_id) != 0 || !helio_process_alive(claim.shim));
}

static helio_rc read_piece(int folder, uint64_t offset, size_t max, helio_buffer_t *out, uint64_t *ret_next,
                           helio_error_t *err)
{
    *ret_next = offset;
    int log = openat(folder, "log", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (log < 0)
        return errno == ENOENT ? HELIO_OK
                               : helio_fail(err, HELIO_IO, "cannot open the log: %s", strerror(errno));
    char piece[16384];
    while (max && offset <= INT64_MAX / 2) {
        ssize_t got = pread(log, piece, max < sizeof piece ? max : sizeof piece, (off_t)offset);
        if (got <= 0)
            break;
        helio_buffer_append(out, piece, (size_t)got);
        offset += (uint64_t)got;
        max -= (size_t)got;
    }
    (void)close(log);
    *ret_next = offset;
    return HELIO_OK;
}

static helio_rc local_log_read(helio_backend_t *base, helio_job_key_t key, uint32_t epoch, uint64_t offset,
                               size_t max, helio_buffer_t *out, uint64_t *ret_next, bool *ret_end,
                               helio_error_t *err)
{
    helio_local_t *self = local_of(base);
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(key, epoch, name);
    int folder = openat(self->attempts_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return helio_fail(err, HELIO_NOT_FOUND, "no output of %s is kept here", name);
    bool over =
        is_over(self, key, epoch, folder); /* before reading: what is written after it would be missed */
    uint64_t next;
    helio_rc rc = read_piece(folder, offset, max, out, &next, err);
    (void)close(folder);
    if (rc)
        return rc;
    *ret_next = next;
    *ret_end = over && next - offset < max;
    return HELIO_OK;
}

/* ---- the loop's side -------------------------------------------------------------------------------------
 */

static int local_fd(const helio_backend_t *base)
{
    return ((const helio_local_t *)(const void *)base)->epoll;
}

static int64_t local_next_ms(const helio_backend_t *base)
{
    return ((const helio_local_t *)(const void *)base)->next_ms;
}

static void local_process(helio_backend_t *base, int64_t now_boot_ms, int64_t now_wall_ms)
{
    helio_local_t *self = local_of(base);
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(self->epoll, events, EVENTS_MAX, 0);
    for (int i = 0; i < count; i++)
        ((helio_local_attempt_t *)events[i].data.ptr)->due_ms = 0;
    self->next_ms = INT64_MAX;
    /* A callback may add attempts (at the front) but never removes one: only serving it does. */
    for (helio_local_attempt_t *attempt = self->first, *after; attempt; attempt = after) {
        after = attempt->after;
        if (attempt->due_ms <= now_boot_ms)
            helio_local_serve(self, attempt, now_boot_ms, now_wall_ms);
    }
    if (now_boot_ms >= self->sweep_ms) {
        self->sweep_ms = now_boot_ms + SWEEP_MS;
        helio_local_sweep(self, now_wall_ms);
    }
    int64_t next = self->next_ms < self->sweep_ms ? self->next_ms : self->sweep_ms;
    for (const helio_local_attempt_t *attempt = self->first; attempt; attempt = attempt->after)
        next = attempt->due_ms < next ? attempt->due_ms : next;
    self->next_ms = next;
}

/* ---- check -----------------------------------------------------------------------------------------------
 */

static helio_rc local_check(helio_backend_t *base, helio_error_t *err)
{
    const helio_local_t *self = local_of(base);
    struct stat status;
    if (access(self->options.shim, X_OK))
        return helio_fail(err, HELIO_NOT_FOUND, "helio-shim cannot be executed at '%s': %s",
                          self->options.shim, strerror(errno));
    if (!self->settings.users.count)
        return helio_fail(err, HELIO_INVALID,
                          "`users` names nobody: every job would be refused (NoUserMapping)");
    if (geteuid() == 0 && (fstat(self->state_fd, &status) || !(status.st_mode & 001)))
        return helio_fail(err, HELIO_FORBIDDEN, "'%s' cannot be entered by jobs' users: chmod o+x it",
                          self->options.state_dir);
    char path[STATE_DIR_MAX];
    if (self->settings.secrets.size && (!helio_text_copy(self->settings.secrets, path, sizeof path) ||
                                        stat(path, &status) || status.st_mode & 077))
        return helio_fail(err, HELIO_FORBIDDEN, "the folder of secrets must exist with mode 0700");
    return HELIO_OK;
}

/* ---- life ------------------------------------------------------------------------------------------------
 */

static void local_destroy(helio_backend_t *base)
{
    helio_local_t *self = local_of(base);
    while (self->first) {
        helio_local_attempt_t *attempt = self->first;
        helio_local_unlink(self, attempt);
        helio_local_free(attempt);
    }
    if (self->state_fd >= 0)
        (void)close(self->state_fd);
    if (self->attempts_fd >= 0)
        (void)close(self->attempts_fd);
    if (self->epoll >= 0)
        (void)close(self->epoll);
    helio_arena_destroy(&self->arena);
    free(self);
}

static const helio_backend_class_t local_class = {
    .name = "local",
    .allocates = true,
    .start = local_start,
    .adopt = local_adopt,
    .stop = local_stop,
    .forget = local_forget,
    .survey = local_survey,
    .lease = local_lease,
    .log_read = local_log_read,
    .check = local_check,
    .fd = local_fd,
    .next_ms = local_next_ms,
    .process = local_process,
    .destroy = local_destroy,
};

static void copy_settings(helio_local_t *self, const helio_local_settings_t *from)
{
    self->settings = *from;
    self->settings.secrets = helio_arena_text(self->arena, from->secrets);
    self->settings.path = helio_arena_text(self->arena, from->path);
    self->settings.users.items =
        helio_arena_alloc(self->arena, from->users.count + 1, sizeof *from->users.items);
    for (uint32_t i = 0; i < from->users.count; i++) {
        const helio_local_user_t *line = &from->users.items[i];
        self->settings.users.items[i] = (helio_local_user_t){
            helio_arena_text(self->arena, line->tenant), helio_arena_text(self->arena, line->user),
            helio_arena_text(self->arena, line->unix_user), line->allow_root};
    }
    self->options.settings = &self->settings;
}

static helio_rc open_folders(helio_local_t *self, helio_error_t *err)
{
    const char *names[] = {"attempts", "output", "checkpoints"};
    self->state_fd = open(self->options.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (self->state_fd < 0)
        return helio_fail(err, HELIO_IO, "cannot open '%s': %s", self->options.state_dir, strerror(errno));
    for (int i = 0; i < 3; i++) {
        if (mkdirat(self->state_fd, names[i], 0711) && errno != EEXIST)
            return helio_fail(err, HELIO_IO, "cannot make '%s' in '%s': %s", names[i],
                              self->options.state_dir, strerror(errno));
        if (fchmodat(self->state_fd, names[i], 0711,
                     0)) /* entered by jobs' users, listed by nobody; whatever the umask */
            return helio_fail(err, HELIO_IO, "'%s' in '%s': %s", names[i], self->options.state_dir,
                              strerror(errno));
    }
    self->attempts_fd = openat(self->state_fd, "attempts", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (self->attempts_fd < 0 || self->epoll < 0 || fsync(self->state_fd))
        return helio_fail(err, HELIO_IO, "cannot open the attempts: %s", strerror(errno));
    return HELIO_OK;
}

helio_rc helio_local_new(const helio_local_options_t *options, helio_backend_t **ret_backend,
                         helio_error_t *err)
{
    if (!options->state_dir || options->state_dir[0] != '/' || strlen(options->state_dir) > STATE_DIR_MAX ||
        strchr(options->state_dir, '\n') || !options->shim || options->shim[0] != '/')
        return helio_fail(err, HELIO_INVALID, "the state folder and helio-shim need absolute paths");
    helio_local_t *self = helio_new(1, sizeof *self);
    self->base.class = &local_class;
    self->arena = helio_arena_new();
    self->state_fd = self->attempts_fd = self->epoll = -1;
    self->options = *options;
    self->options.state_dir = helio_arena_string(self->arena, helio_text_of(options->state_dir));
    self->options.shim = helio_arena_string(self->arena, helio_text_of(options->shim));
    self->options.site = helio_arena_text(self->arena, options->site);
    copy_settings(self, options->settings);
    helio_process_boot_id(self->boot_id);
    helio_rc rc = open_folders(self, err);
    helio_backend_t *backend = &self->base;
    if (rc)
        helio_backend_destroy(&backend);
    else
        *ret_backend = backend;
    return rc;
}
