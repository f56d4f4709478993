/*  local_folder.c -- what an attempt's folder tells of it, and tidying it away. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/backends/local_inner.h"

enum { SWEEP_MAX = 256, FILES_MAX = 64, STARTED_MAX = 64 << 10 };

/* ---- looking ---------------------------------------------------------------------------------------------
 */

/*  Nobody has claimed it: claim it for nobody, so that a shim that is still on its way finds it taken, and
 *  put it aside. CONFLICT: a shim was faster. */
static helio_rc close_unclaimed(const helio_local_t *self, int folder, helio_error_t *err)
{
    helio_claim_t nobody = {0};
    memcpy(nobody.boot_id, self->boot_id, sizeof nobody.boot_id);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_claim_text(&nobody, &text);
    return helio_mark_claim(folder, "claim", helio_buffer_view(&text), err);
}

static helio_rc read_claim(int folder, helio_claim_t *ret_claim, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_rc rc = helio_mark_read(folder, "claim", 4096, &text, err);
    if (rc)
        return rc;
    if (helio_claim_parse(helio_buffer_view(&text), ret_claim))
        return helio_fail(err, HELIO_IO, "a claim is damaged");
    return HELIO_OK;
}

static helio_rc read_done(int folder, helio_done_t *ret_done, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_rc rc = helio_mark_read(folder, "done", HELIO_MARK_MAX, &text, err);
    if (rc)
        return rc;
    if (helio_done_parse(helio_buffer_view(&text), ret_done))
        return helio_fail(err, HELIO_IO, "an end mark is damaged");
    return HELIO_OK;
}

/*  A claim is there. The end mark is looked for again after the shim was seen dead: it may have been written
 * between. */
static helio_rc look_at_claimed(helio_local_t *self, const char *name, helio_local_look_t *look,
                                helio_error_t *err)
{
    helio_claim_t claim;
    helio_rc rc = read_claim(look->folder, &claim, err);
    if (rc)
        return rc;
    if (claim.shim.pid == 0) {
        helio_local_remove(self, name);
        look->found = HELIO_LOCAL_ABSENT;
        return HELIO_OK;
    }
    look->shim = claim.shim;
    look->other_boot = strcmp(claim.boot_id, self->boot_id) != 0;
    look->found = !look->other_boot && helio_process_alive(claim.shim) ? HELIO_LOCAL_ALIVE : HELIO_LOCAL_DEAD;
    if (look->found == HELIO_LOCAL_DEAD && helio_mark_exists(look->folder, "done")) {
        look->found = HELIO_LOCAL_DONE;
        return read_done(look->folder, &look->done, err);
    }
    return HELIO_OK;
}

static helio_rc look_inside(helio_local_t *self, const char *name, helio_local_look_t *look,
                            helio_error_t *err)
{
    if (helio_mark_exists(look->folder, "done")) {
        look->found = HELIO_LOCAL_DONE;
        return read_done(look->folder, &look->done, err);
    }
    if (!helio_mark_exists(look->folder, "claim")) {
#ifdef HELIO_MUTANT_unclaimed_is_absent
        look->found = HELIO_LOCAL_ABSENT;
        return HELIO_OK;
#endif
        helio_rc rc = close_unclaimed(self, look->folder, err);
        if (rc && rc != HELIO_CONFLICT)
            return rc;
    }
    return look_at_claimed(self, name, look, err);
}

helio_rc helio_local_look(helio_local_t *self, const char *name, helio_local_look_t *ret_look,
                          helio_error_t *err)
{
    helio_local_look_t look = {.found = HELIO_LOCAL_ABSENT};
    look.folder = openat(self->attempts_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (look.folder < 0 && errno != ENOENT)
        return helio_fail(err, HELIO_IO, "cannot open the folder of %s: %s", name, strerror(errno));
    helio_rc rc = look.folder < 0 ? HELIO_OK : look_inside(self, name, &look, err);
    if (look.folder >= 0 && (rc || look.found == HELIO_LOCAL_ABSENT)) {
        (void)close(look.folder);
        look.folder = -1;
    }
    if (!rc)
        *ret_look = look;
    return rc;
}

static helio_rc read_started(int folder, helio_started_t *ret_started)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_rc rc = helio_mark_read(folder, "started", STARTED_MAX, &text, NULL);
    return rc ? rc : helio_started_parse(helio_buffer_view(&text), ret_started);
}

int64_t helio_local_started_wall_ms(int folder)
{
    helio_started_t started;
    return read_started(folder, &started) == HELIO_OK ? started.wall_ms : 0;
}

bool helio_local_kill_left(int folder)
{
    helio_started_t started = {0};
    if (read_started(folder, &started))
        return true; /* the ranks were still at the gate, and left when the shim did */
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_plan_t plan = {.uid = (uint32_t)-1};
    if (helio_mark_read(folder, "plan", HELIO_MARK_MAX, &text, NULL) == HELIO_OK)
        (void)!helio_plan_parse(helio_buffer_view(&text), &plan, NULL);
    char mark[4200];
    bool marked = plan.mark.size && helio_text_copy(plan.mark, mark, sizeof mark);
    return helio_process_kill_left(started.ranks, started.rank_count, plan.uid, marked ? mark : NULL) == 0;
}

/* ---- tidying ---------------------------------------------------------------------------------------------
 */

void helio_local_remove(helio_local_t *self, const char *name)
{
    int folder = openat(self->attempts_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    DIR *list = fdopendir(folder); /* owns the descriptor */
    if (!list) {
        (void)close(folder);
        return;
    }
    int files = 0;
    for (struct dirent *entry; files < FILES_MAX && (entry = readdir(list));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, "claim") != 0)
            files += unlinkat(folder, entry->d_name, 0) == 0;
    /* The claim goes last: a folder that is half gone must not look like one that was never claimed. */
    (void)unlinkat(folder, "claim", 0);
    (void)closedir(list);
    (void)unlinkat(self->attempts_fd, name, AT_REMOVEDIR);
}

static bool is_due(int attempts, const char *name, uint64_t retention_ms, int64_t now_wall_ms)
{
    int folder = openat(attempts, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return false;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    int64_t since;
    bool due = helio_mark_read(folder, "forget", 64, &text, NULL) == HELIO_OK &&
               helio_mark_number(helio_buffer_view(&text), 0, INT64_MAX / 4, &since) &&
               now_wall_ms - since >= (int64_t)retention_ms;
    (void)close(folder);
    return due;
}

void helio_local_sweep(helio_local_t *self, int64_t now_wall_ms)
{
    int again = openat(self->attempts_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again >= 0 ? fdopendir(again) : NULL;
    if (!list) {
        if (again >= 0)
            (void)close(again);
        return;
    }
    /* From where the last sweep left off: a folder full of what must be kept hides nothing behind it. */
    if (self->sweep_at)
        seekdir(list, self->sweep_at);
    struct dirent *entry = NULL;
    for (int i = 0; i < SWEEP_MAX && (entry = readdir(list)); i++) {
        helio_job_key_t key;
        uint32_t epoch;
        if (helio_attempt_name_parse(helio_text_of(entry->d_name), &key, &epoch) == HELIO_OK &&
            !helio_local_find(self, key, epoch) &&
            is_due(self->attempts_fd, entry->d_name, self->settings.retention_ms, now_wall_ms))
            helio_local_remove(self, entry->d_name);
    }
    self->sweep_at = entry ? telldir(list) : 0;
    (void)closedir(list);
}
