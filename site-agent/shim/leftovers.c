/*  leftovers.c -- finds what is left of an attempt by its control group, its sessions, and the mark in its environment.
 */
#include "site-agent/shim/leftovers.h"

#include "site-agent/shim/cgroup.h"
#include "site-agent/shim/plan.h"

enum { PATH_SIZE = 4096, MARK_SIZE = PATH_SIZE + 100 };

/*  The ranks as `started` lists them. Without that file they were still waiting to be released, and end with the
 *  shim. */
static void read_started(int folder, helio_started_t *ret_started)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (helio_status_file_read(folder, "started", HELIO_STATUS_FILE_MAX, &text, NULL) == HELIO_OK)
        (void)!helio_started_parse(helio_buffer_view(&text), ret_started);
}

static bool kill_group(const char *path)
{
    if (!helio_cgroup_kill(path))
        return false;
    helio_cgroup_remove(path);
    return true;
}

bool helio_leftovers_kill(int folder)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_started_t started = {0};
    helio_plan_t plan = {.uid = (uint32_t)-1, .gid = (uint32_t)-1};
    read_started(folder, &started);
    if (helio_status_file_read(folder, "plan", HELIO_STATUS_FILE_MAX, &text, NULL) == HELIO_OK)
        (void)!helio_plan_parse(helio_buffer_view(&text), &plan, NULL);
    char mark[MARK_SIZE], cgroup[PATH_SIZE];
    bool marked = plan.mark.size && helio_text_copy(plan.mark, mark, sizeof mark);
    bool grouped = plan.cgroup.size && helio_text_copy(plan.cgroup, cgroup, sizeof cgroup);
    bool empty = !grouped || kill_group(cgroup);
    if (!started.rank_count)
        return empty;
    const helio_account_t account = {plan.uid, plan.gid};
    size_t found = helio_process_kill_left(started.ranks, started.rank_count, account, marked ? mark : NULL);
    return empty && found == 0;
}
