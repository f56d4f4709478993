/*  slurm_stop.c -- stopping an attempt, and cancelling what Slurm still holds of one that is over.
 *
 *  An attempt that no shim has claimed is stopped by closing its folder, whatever the controller does: it is over from
 *  then on, and cancelling its job is only tidying. If Slurm shows it on its nodes, its program may run and have removed
 *  the claim: then it is over when Slurm has ended it. A claimed attempt is told by a signal to its shim, repeated until
 *  scancel could deliver it, and, if that does not end it in time, by Slurm's own cancelling. scancel gets the name
 *  beside the number, since a controller that lost its memory gives numbers again.
 */
#include <stdio.h>

#include <unistd.h>

#include "site-agent/backends/slurm/slurm_internal.h"

enum {
    AGAIN_MS = 2000,
    AGAIN_SLOW_MS = 10000,
    GRACE_MORE_MS = 60000, /* after the job's grace, for the shim to end everything */
    KILL_MORE_MS = 30000,
    GONE_STUCK_MS = 15000,
    GONE_UNSURE_MS = 120000,
    GONE_MOST_MS = 3600000
};

/* ---- signals to the shim ------------------------------------------------------------------------------------ */

/*  scancel also exits with 0 when it found nothing; then the lists will tell. */
static bool was_said(const helio_command_result_t *result)
{
    if (!result->spawned || result->timed_out)
        return false;
    if (result->exit_code == 0 && result->complaint.size == 0)
        return true;
    helio_slurm_trouble_t trouble = helio_slurm_trouble_of(result->complaint);
    return trouble == HELIO_SLURM_ALREADY_OVER || trouble == HELIO_SLURM_UNKNOWN_JOB;
}

static void on_signalled(void *arg, const helio_command_result_t *result)
{
    helio_slurm_attempt_t *attempt = arg;
    helio_slurm_t *self = attempt->backend;
    attempt->stop_out = false;
    self->next_ms = 0;
    if (attempt->stop_again) { /* a harder stop was requested meanwhile */
        attempt->stop_again = false;
        attempt->stop_due_ms = 0;
    } else if (!was_said(result)) {
        attempt->stop_due_ms =
            self->now_boot_ms + (self->now_boot_ms - attempt->stop_ms < 60000 ? AGAIN_MS : AGAIN_SLOW_MS);
    } else {
        bool kill = attempt->stop_mode == HELIO_STOP_MODE_KILL || attempt->stop_sent;
        attempt->stop_due_ms = self->now_boot_ms + (kill ? KILL_MORE_MS : (int64_t)attempt->grace_ms + GRACE_MORE_MS);
        attempt->stop_sent = true;
    }
}

static void send_stop(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    if (!attempt->id[0] || attempt->stop_out || self->now_boot_ms < attempt->stop_due_ms)
        return;
    bool sent;
    /* Slurm passes no signal to a suspended job; its own cancelling resumes it. */
    bool suspended = attempt->seen.live && attempt->seen.state == HELIO_SLURM_SUSPENDED;
    if (attempt->stop_sent || suspended) /* its grace is over */
        sent = helio_slurm_scancel(attempt, NULL, NULL, attempt->id, on_signalled);
    else
        sent = helio_slurm_scancel(attempt, "--batch",
                                   attempt->stop_mode == HELIO_STOP_MODE_KILL ? "--signal=USR2" : "--signal=TERM",
                                   attempt->id, on_signalled);
    attempt->stop_out = sent;
    if (!sent)
        attempt->stop_due_ms = self->now_boot_ms + AGAIN_MS;
}

/* ---- one attempt --------------------------------------------------------------------------------------- */

/*  True: it is over. */
static bool close_and_end(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    helio_rc rc = helio_slurm_close(attempt, NULL);
    attempt->locked = rc == HELIO_FORBIDDEN;
    if (rc == HELIO_OK && !helio_slurm_shows_run(&attempt->seen)) {
        helio_slurm_end_unstarted(attempt);
        return true;
    }
    if (rc == HELIO_OK) { /* the lists have it cancelled: helio_slurm_on_list */
        if (attempt->phase != HELIO_SLURM_AT_QUEUED)
            helio_slurm_advance(attempt, HELIO_SLURM_AT_QUEUED);
        attempt->stop_due_ms = INT64_MAX;
        return false;
    }
    if (rc == HELIO_CONFLICT && attempt->phase != HELIO_SLURM_AT_QUEUED)
        helio_slurm_advance(attempt, HELIO_SLURM_AT_QUEUED);
    attempt->stop_due_ms = rc == HELIO_CONFLICT ? 0 : self->now_boot_ms + AGAIN_MS;
    return false;
}

/*  Without a folder it was never submitted. It is over if it was to be started; otherwise the look-up goes on, to
 *  report ABSENT. */
static void stop_looking(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    bool folder = false;
    if (!helio_slurm_look(attempt, &folder)) {
        attempt->stop_due_ms = self->now_boot_ms + AGAIN_MS;
        return;
    }
    if (attempt->phase != HELIO_SLURM_AT_LOOKING)
        return;
    if ((folder && !attempt->closed) || attempt->to_start)
        (void)close_and_end(attempt);
    else
        attempt->stop_due_ms = INT64_MAX;
}

void helio_slurm_stop_serve(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    if (self->now_boot_ms < attempt->stop_due_ms)
        return;
    /* The file also reaches the shim while the controller is away, or knows the job by another name. */
    if (attempt->claimed && !attempt->closed) {
        helio_folders_mark_stop(self->folders, attempt->held.name, attempt->stop_mode, &attempt->stop_marked);
        helio_lifetime_stopped(&attempt->life, attempt->stop_mode, self->now_boot_ms);
    }
    if (attempt->phase == HELIO_SLURM_AT_LOOKING)
        stop_looking(attempt);
    if (attempt->phase == HELIO_SLURM_AT_SUBMITTING || attempt->phase == HELIO_SLURM_AT_UNSURE ||
        (attempt->phase == HELIO_SLURM_AT_QUEUED && !attempt->claimed && !attempt->locked))
        if (close_and_end(attempt))
            return;
    if ((attempt->phase == HELIO_SLURM_AT_QUEUED || attempt->phase == HELIO_SLURM_AT_RUNNING) &&
        (attempt->claimed || attempt->locked))
        send_stop(attempt);
    else if (attempt->phase == HELIO_SLURM_AT_LEAVING)
        attempt->stop_due_ms = INT64_MAX;
}

/* ---- afterwards ---------------------------------------------------------------------------------------- */

void helio_slurm_gone_on_list(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    int64_t for_ms = self->now_boot_ms - attempt->gone_ms;
    const helio_slurm_seen_t *held = attempt->seen.live ? &attempt->seen : attempt->other.live ? &attempt->other : NULL;
    if (!held) {
        /* An sbatch that has not returned can still have left a request with the controller. */
        bool unsure = attempt->sbatch_out || (attempt->first_ms && !attempt->id[0] && for_ms < GONE_UNSURE_MS);
        if (!unsure)
            helio_slurm_remove(attempt);
    } else if (held->state == HELIO_SLURM_PENDING) {
        helio_slurm_cancel_pending(attempt, held->id);
    } else if (for_ms >= GONE_MOST_MS) {
        helio_slurm_remove(attempt);
    } else if (for_ms >= GONE_STUCK_MS && !attempt->cancel_out) {
        /* Nothing that runs now is charged: no KillWait, which the plain form grants. */
        if (attempt->gone_killed)
            helio_slurm_cancel_held(attempt, held->id);
        else
            helio_slurm_cancel_at_once(attempt, held->id);
        attempt->gone_killed = true;
    }
}

helio_slurm_attempt_t *helio_slurm_leftover(helio_slurm_t *self, helio_job_key_t key, uint32_t epoch)
{
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_claim_t claim;
    int folder = -1;
    helio_attempt_name(key, epoch, name);
    if (helio_folders_open(self->folders, name, &folder, NULL) || folder < 0)
        return NULL;
    bool closed = helio_folder_taken(folder, &claim) == HELIO_FOLDER_CLOSED;
    (void)close(folder);
    if (!closed)
        return NULL;
    helio_slurm_attempt_t *attempt = helio_slurm_add(self, key, epoch);
    attempt->closed = true;
    attempt->since_list = self->poll.heard;
    attempt->gone_ms = self->now_boot_ms;
    helio_slurm_advance(attempt, HELIO_SLURM_AT_OVER);
    helio_slurm_advance(attempt, HELIO_SLURM_AT_GONE);
    return attempt;
}
