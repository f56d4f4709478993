/*  inspect.c -- what an attempt's folder and the processes of this machine tell of it together. */
#include <string.h>
#include <unistd.h>

#include "site-agent/backends/local/inner.h"

/*  A claim is there. The end mark is looked for again after the shim was seen dead: it may have been written
 * between. */
static helio_rc look_at_claimed(helio_local_t *self, const char *name, helio_local_inspect_t *look,
                                helio_error_t *err)
{
    helio_claim_t claim;
    helio_rc rc = helio_folder_claim(look->folder, &claim, err);
    if (rc)
        return rc;
    if (claim.shim.pid == 0) {
        helio_folders_remove(self->folders, name);
        look->found = HELIO_LOCAL_ABSENT;
        return HELIO_OK;
    }
    look->shim = claim.shim;
    look->other_boot = strcmp(claim.boot_id, self->boot_id) != 0;
    look->found = !look->other_boot && helio_process_alive(claim.shim) ? HELIO_LOCAL_ALIVE : HELIO_LOCAL_DEAD;
    if (look->found == HELIO_LOCAL_DEAD && helio_status_file_exists(look->folder, "done")) {
        look->found = HELIO_LOCAL_DONE;
        return helio_folder_done(look->folder, &look->done, err);
    }
    return HELIO_OK;
}

static helio_rc look_inside(helio_local_t *self, const char *name, helio_local_inspect_t *look,
                            helio_error_t *err)
{
    if (helio_status_file_exists(look->folder, "done")) {
        look->found = HELIO_LOCAL_DONE;
        return helio_folder_done(look->folder, &look->done, err);
    }
    if (!helio_status_file_exists(look->folder, "claim")) {
#ifdef HELIO_MUTANT_unclaimed_is_absent
        look->found = HELIO_LOCAL_ABSENT;
        return HELIO_OK;
#endif
        helio_rc rc = helio_folder_close_unclaimed(look->folder, err);
        if (rc && rc != HELIO_CONFLICT)
            return rc;
    }
    return look_at_claimed(self, name, look, err);
}

helio_rc helio_local_inspect(helio_local_t *self, const char *name, helio_local_inspect_t *ret_look,
                          helio_error_t *err)
{
    helio_local_inspect_t look = {.found = HELIO_LOCAL_ABSENT};
    helio_rc rc = helio_folders_open(self->folders, name, &look.folder, err);
    if (rc)
        return rc;
    rc = look.folder < 0 ? HELIO_OK : look_inside(self, name, &look, err);
    if (look.folder >= 0 && (rc || look.found == HELIO_LOCAL_ABSENT)) {
        (void)close(look.folder);
        look.folder = -1;
    }
    if (!rc)
        *ret_look = look;
    return rc;
}

int64_t helio_local_started_wall_ms(int folder)
{
    helio_started_t started;
    return helio_folder_started(folder, &started, NULL) == HELIO_OK ? started.wall_ms : 0;
}

bool helio_local_kill_left(int folder)
{
    helio_started_t started = {0};
    if (helio_folder_started(folder, &started, NULL))
        return true; /* the ranks were still at the gate, and left when the shim did */
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_plan_t plan = {.uid = (uint32_t)-1};
    if (helio_status_file_read(folder, "plan", HELIO_STATUS_FILE_MAX, &text, NULL) == HELIO_OK)
        (void)!helio_plan_parse(helio_buffer_view(&text), &plan, NULL);
    char mark[4200];
    bool marked = plan.mark.size && helio_text_copy(plan.mark, mark, sizeof mark);
    return helio_process_kill_left(started.ranks, started.rank_count, plan.uid, marked ? mark : NULL) == 0;
}
