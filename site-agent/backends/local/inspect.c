/*  inspect.c -- the state of an attempt, from its folder and the processes of this machine together. */
#include <string.h>
#include <unistd.h>

#include "site-agent/backends/local/internal.h"

/*  Reads the end mark, if there is one. A damaged one never becomes readable, so the attempt is treated as one whose
 *  shim left none. */
static helio_rc look_at_done(helio_local_inspect_t *look, helio_error_t *err)
{
    helio_rc rc = helio_folder_done(look->folder, &look->done, err);
    look->done_damaged = rc == HELIO_INVALID;
    if (rc == HELIO_OK)
        look->found = HELIO_LOCAL_DONE;
    return look->done_damaged || rc == HELIO_NOT_FOUND ? HELIO_OK : rc;
}

/*  The folder is claimed. `done` is read again after the shim was seen dead: it may have been written in between. */
static helio_rc look_at_claimed(helio_local_t *self, const char *name, helio_local_inspect_t *look, helio_error_t *err)
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
    return look->found == HELIO_LOCAL_DEAD ? look_at_done(look, err) : HELIO_OK;
}

static helio_rc look_inside(helio_local_t *self, const char *name, helio_local_inspect_t *look, helio_error_t *err)
{
    helio_rc rc = look_at_done(look, err);
    if (rc || look->found == HELIO_LOCAL_DONE)
        return rc;
    if (!helio_status_file_exists(look->folder, "claim")) {
#ifdef HELIO_MUTANT_unclaimed_is_absent
        look->found = HELIO_LOCAL_ABSENT;
        return HELIO_OK;
#endif
        rc = helio_folder_close_unclaimed(look->folder, err);
        if (rc && rc != HELIO_CONFLICT)
            return rc;
    }
    return look_at_claimed(self, name, look, err);
}

helio_rc helio_local_inspect(helio_local_t *self, const char *name, helio_local_inspect_t *ret_look, helio_error_t *err)
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
