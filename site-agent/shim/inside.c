/*  inside.c -- reads the files of an attempt, and /proc. */
#include "site-agent/shim/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "federation/base/file.h"
#include "site-agent/shim/gang.h"

/* ---- the attempt --------------------------------------------------------------------------------------- */

static helio_rc read_plan(int folder, helio_inside_t *inside, helio_error_t *err)
{
    helio_rc rc = helio_status_file_read(folder, "plan", HELIO_STATUS_FILE_MAX, &inside->plan_text, err);
    if (!rc)
        rc = helio_plan_parse(helio_buffer_view(&inside->plan_text), &inside->plan, err);
    if (rc)
        return rc;
    const helio_plan_t *plan = &inside->plan;
    if (!helio_text_copy(plan->cgroup, inside->cgroup, sizeof inside->cgroup) ||
        !helio_text_copy(plan->user, inside->user, sizeof inside->user) ||
        !helio_text_copy(plan->workdir, inside->workdir, sizeof inside->workdir))
        return helio_fail(err, HELIO_TOO_BIG, "a path of the attempt is too long");
    if (plan->launcher == HELIO_LAUNCHER_BATCH)
        return helio_fail(err, HELIO_INVALID, "jobs of this kind of site cannot be entered");
    return HELIO_OK;
}

/*  Where the node's shim has its files. *ret_files is the folder itself, or another one that the caller closes. */
static helio_rc open_status_files(int folder, const helio_inside_t *inside, int *ret_files, helio_error_t *err)
{
    const helio_plan_t *plan = &inside->plan;
    bool gang = plan->launcher == HELIO_LAUNCHER_SLURM && plan->nodes > 1 && !plan->batch_script;
    uint32_t nodes = plan->launcher == HELIO_LAUNCHER_LOCAL ? plan->rank_count : gang ? plan->nodes : 1;
    if (inside->node >= nodes)
        return helio_fail(err, HELIO_NOT_FOUND, "the attempt has processes on %u node%s, and no node %u", nodes,
                          nodes == 1 ? "" : "s", inside->node);
    *ret_files = folder;
    return gang ? helio_gang_open(folder, inside->node, ret_files, err) : HELIO_OK;
}

static helio_rc read_claim(int files, helio_inside_t *inside, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_claim_t claim;
    char boot_id[HELIO_BOOT_ID_SIZE];
    helio_process_boot_id(boot_id);
    if (helio_status_file_exists(files, "done"))
        return helio_fail(err, HELIO_NOT_FOUND, "the attempt has ended");
    if (helio_status_file_read(files, "claim", HELIO_STATUS_FILE_MAX, &text, NULL) ||
        helio_claim_parse(helio_buffer_view(&text), &claim))
        return helio_fail(err, HELIO_NOT_FOUND, "the attempt has not started yet");
    if (strcmp(claim.boot_id, boot_id) != 0)
        return helio_fail(err, HELIO_NOT_FOUND, "the attempt does not run on this machine");
    inside->shim = claim.shim;
    memcpy(inside->scheduler_id, claim.scheduler_id, sizeof inside->scheduler_id);
    inside->over = claim.shim.pid > 0 ? pidfd_open(claim.shim.pid, 0) : -1;
    /* Opened first and compared then: while it is open, its number cannot be reused. */
    if (inside->over < 0 || !helio_process_alive(claim.shim))
        return helio_fail(err, HELIO_NOT_FOUND, "the attempt has ended");
    return HELIO_OK;
}

helio_rc helio_inside_find(const char *folder, uint32_t node, helio_inside_t *ret_inside, helio_error_t *err)
{
    *ret_inside = (helio_inside_t){.node = node, .over = -1, .keeper = geteuid()};
    if (!helio_text_copy(helio_text_of(folder), ret_inside->folder, sizeof ret_inside->folder))
        return helio_fail(err, HELIO_TOO_BIG, "a path of the attempt is too long");
    HELIO_AUTO(helio_close) int top = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return helio_fail(err, HELIO_NOT_FOUND, "the attempt's folder is gone: %s", strerror(errno));
    int files = -1;
    helio_rc rc = read_plan(top, ret_inside, err);
    if (!rc)
        rc = open_status_files(top, ret_inside, &files, err);
    if (!rc)
        rc = read_claim(files, ret_inside, err);
    if (files != top)
        helio_close(&files);
    if (rc)
        helio_inside_clear(ret_inside);
    return rc;
}

void helio_inside_clear(helio_inside_t *self)
{
    helio_close(&self->over);
    helio_buffer_clear(&self->plan_text);
}

/* ---- its processes ------------------------------------------------------------------------------------- */

typedef struct list {
    helio_arena_t *arena;
    pid_t *pids;
    size_t count, capacity;
} list_t;

typedef struct steps {
    const helio_inside_t *inside;
    list_t *list;
} steps_t;

static void add(list_t *list, pid_t pid)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? list->capacity * 2 : 64;
        pid_t *longer = helio_arena_alloc(list->arena, list->capacity, sizeof *longer);
        if (list->count)
            memcpy(longer, list->pids, list->count * sizeof *longer);
        list->pids = longer;
    }
    list->pids[list->count++] = pid;
}

static void add_process(void *arg, pid_t pid)
{
    add(arg, pid);
}

static void add_group(list_t *list, const char *cgroup)
{
    char path[4200];
    (void)snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
    FILE *file = fopen(path, "re");
    long pid;
    while (file && fscanf(file, "%ld", &pid) == 1)
        if (pid > 0)
            add(list, (pid_t)pid);
    if (file)
        (void)fclose(file);
}

/*  By what Slurm has written into its environment. Its user can write the same into others of the user's own. */
static bool add_step(void *arg, const helio_process_info_t *info)
{
    steps_t *steps = arg;
    char id[sizeof steps->inside->scheduler_id];
    if (info->state == 'Z' || helio_process_owner(info->process.pid) != (int64_t)steps->inside->plan.uid ||
        !helio_process_entry(info->process.pid, "SLURM_JOB_ID=", id, sizeof id) ||
        strcmp(id, steps->inside->scheduler_id) != 0)
        return false;
    add(steps->list, info->process.pid);
    return true;
}

/*  A command of a channel is watched by a shim of its own, which keeps below it whatever the command leaves behind. */
static bool add_entered(void *arg, const helio_process_info_t *info)
{
    steps_t *steps = arg;
    char word[sizeof steps->inside->folder];
    pid_t pid = info->process.pid;
    if (info->state == 'Z' || !helio_process_argument(pid, 1, word, sizeof word) || strcmp(word, "--enter") != 0 ||
        !helio_process_argument(pid, 2, word, sizeof word) || strcmp(word, steps->inside->folder) != 0 ||
        helio_process_owner(pid) != steps->inside->keeper)
        return false;
    helio_process_below(pid, add_process, steps->list);
    return true;
}

pid_t *helio_inside_processes(const helio_inside_t *self, helio_arena_t *arena, size_t *ret_count)
{
    list_t list = {.arena = arena};
    helio_process_below(self->shim.pid, add_process, &list);
    if (self->cgroup[0])
        add_group(&list, self->cgroup);
    steps_t steps = {self, &list};
    if (self->plan.launcher == HELIO_LAUNCHER_SLURM && self->scheduler_id[0])
        (void)helio_process_each(add_step, &steps);
    if (self->plan.launcher == HELIO_LAUNCHER_LOCAL)
        (void)helio_process_each(add_entered, &steps);
    *ret_count = list.count;
    return list.pids;
}
