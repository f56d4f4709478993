/*  stop.c -- stopping an attempt, and cancelling what the engine still holds of one that is over.
 *
 *  An attempt that no shim has claimed is stopped by closing its folder, whatever the engine does: it is over from then
 *  on, and cancelling its job is only tidying. If the engine shows it running, or an earlier agent saw a claim, its program
 *  may run and have removed the claim: then it is over when the engine has ended it. A claimed one is told by the file `stop` in its folder, by the adapter
 *  where that carries the folder, and, if that does not end it in time, by the engine's own cancelling.
 */
#include "site-agent/backends/exec/internal.h"

enum {
    CANCEL_AGAIN_MS = 10000,
    GRACE_MORE_MS = 60000, /* after the job's grace, for the shim to end everything */
    KILL_MORE_MS = 30000,
    GONE_UNSURE_MS = 120000,
    GONE_MOST_MS = 3600000
};

static void on_cancelled(void *arg, const helio_command_result_t *result)
{
    helio_exec_attempt_t *attempt = arg;
    (void)result; /* the next inventory tells whether it is gone */
    attempt->cancel_out = false;
}

void helio_exec_cancel(helio_exec_attempt_t *attempt, bool kill)
{
    const helio_exec_t *self = attempt->backend;
    if (attempt->cancel_out || (attempt->cancel_ms && self->now_boot_ms - attempt->cancel_ms < CANCEL_AGAIN_MS))
        return;
    attempt->cancel_out = helio_exec_ask_about(attempt, "cancel", kill ? "kill" : "grace", on_cancelled);
    attempt->cancel_ms = self->now_boot_ms ? self->now_boot_ms : 1;
}

/* ---- one attempt --------------------------------------------------------------------------------------- */

static void close_and_end(helio_exec_attempt_t *attempt)
{
    helio_rc rc = helio_exec_close(attempt);
    bool emptied = helio_exec_is_emptied(attempt) && !attempt->listed.over;
    bool runs = helio_exec_shows_run(attempt) || emptied;
#ifdef HELIO_MUTANT_unclaimed_is_stopped
    runs = false;
#endif
    if (rc == HELIO_OK && !runs) {
        helio_exec_end_unstarted(attempt);
        return;
    }
    bool by_engine = runs && (rc == HELIO_OK || attempt->hidden); /* an inventory tells when it is over */
    if ((rc == HELIO_CONFLICT || by_engine) && attempt->phase < HELIO_EXEC_AT_HELD)
        helio_exec_advance(attempt, HELIO_EXEC_AT_HELD);
    if (by_engine && attempt->listed.live) /* else the next inventory tells, for what it is charged */
        helio_exec_cancel(attempt, true);
    attempt->stop_due_ms = rc == HELIO_CONFLICT ? 0 : attempt->backend->now_boot_ms + HELIO_EXEC_AGAIN_MS;
}

/*  Without a folder it was never submitted. It is over if it was to be started; otherwise the look-up goes on, to report
 *  ABSENT. */
static void stop_looking(helio_exec_attempt_t *attempt)
{
    bool folder = false;
    if (!helio_exec_look(attempt, &folder)) {
        attempt->stop_due_ms = attempt->backend->now_boot_ms + HELIO_EXEC_AGAIN_MS;
        return;
    }
    if (attempt->phase != HELIO_EXEC_AT_LOOKING)
        return;
    if ((folder && !attempt->closed) || attempt->to_start)
        close_and_end(attempt);
    else
        attempt->stop_due_ms = INT64_MAX;
}

static void stop_claimed(helio_exec_attempt_t *attempt)
{
    const helio_exec_t *self = attempt->backend;
    bool kill = attempt->stop_mode == HELIO_STOP_MODE_KILL;
    int64_t most_ms = kill ? KILL_MORE_MS : (int64_t)attempt->grace_ms + GRACE_MORE_MS;
    if (!attempt->stop_ms)
        attempt->stop_ms = self->now_boot_ms;
    bool late = self->now_boot_ms - attempt->stop_ms >= most_ms;
    helio_folders_mark_stop(self->folders, attempt->held.name, attempt->stop_mode, &attempt->stop_marked);
    helio_lifetime_stopped(&attempt->life, attempt->stop_mode, self->now_boot_ms);
    if (late || self->settings.carries)
        helio_exec_cancel(attempt, kill || late);
    attempt->stop_due_ms =
        late || self->settings.carries ? self->now_boot_ms + CANCEL_AGAIN_MS : attempt->stop_ms + most_ms;
}

void helio_exec_stop_serve(helio_exec_attempt_t *attempt)
{
    if (attempt->backend->now_boot_ms < attempt->stop_due_ms)
        return;
    if (attempt->phase == HELIO_EXEC_AT_LOOKING)
        stop_looking(attempt);
    else if (attempt->phase < HELIO_EXEC_AT_LEAVING && !attempt->claimed)
        close_and_end(attempt);
    if ((attempt->phase == HELIO_EXEC_AT_HELD || attempt->phase == HELIO_EXEC_AT_LEAVING) && attempt->claimed)
        stop_claimed(attempt);
    else if (attempt->phase >= HELIO_EXEC_AT_LEAVING)
        attempt->stop_due_ms = INT64_MAX;
}

/* ---- afterwards ---------------------------------------------------------------------------------------- */

void helio_exec_gone_on_list(helio_exec_attempt_t *attempt)
{
    int64_t for_ms = attempt->backend->now_boot_ms - attempt->gone_ms;
    /* A submission that was not answered can still have left a request with the engine. */
    bool unsure = attempt->submit_out || (attempt->first_ms && !attempt->id[0] && for_ms < GONE_UNSURE_MS);
    if (attempt->listed.live && for_ms < GONE_MOST_MS)
        helio_exec_cancel(attempt, true);
    else if (!unsure || for_ms >= GONE_MOST_MS)
        helio_exec_remove(attempt);
}
