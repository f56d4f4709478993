/*  slurm_status_files.c -- reads the status files of one attempt: claimed, alive, started, done. */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "site-agent/backends/slurm/slurm_internal.h"

/*  The folder and its contents are the job's user's: a value is used only if it is a number. */
static bool is_id(const char *text)
{
    size_t size = strspn(text, "0123456789+_");
    return size && size < HELIO_SLURM_ID_SIZE && text[size] == '\0' && isdigit((unsigned char)text[0]);
}

static bool is_listed_as(helio_slurm_attempt_t *attempt, const char *id)
{
    const helio_slurm_poll_t *poll = &attempt->backend->poll;
    for (uint32_t i = 0; i < poll->ours_count; i++)
        if (helio_text_is(poll->ours[i]->name, attempt->held.name) && helio_text_is(poll->ours[i]->id, id) &&
            helio_slurm_is_ours(attempt, poll->ours[i]->uid))
            return true;
    return false;
}

/*  The claim names the Slurm job that runs it: it must be one that Slurm listed under the attempt's name, if it listed
 *  any. Whoever else claimed it, nothing more can be run through the folder. */
static void take_claimant(helio_slurm_attempt_t *attempt, const char *id)
{
    bool known = attempt->id[0] != '\0';
    attempt->unproven = known && strcmp(attempt->id, id) != 0 && !(is_id(id) && is_listed_as(attempt, id));
    if (!attempt->unproven && is_id(id))
        (void)helio_text_copy(helio_text_of(id), attempt->id, sizeof attempt->id);
}

static void note_taken(helio_slurm_attempt_t *attempt, helio_folder_taken_t taken, const helio_claim_t *claim)
{
    attempt->closed = attempt->closed || taken == HELIO_FOLDER_CLOSED;
    if (taken != HELIO_FOLDER_TAKEN)
        return;
    attempt->claimed = true;
    take_claimant(attempt, claim->scheduler_id);
}

static void read_started(helio_slurm_attempt_t *attempt, int folder)
{
    helio_started_t *started = helio_new(1, sizeof *started);
    if (helio_folder_started(folder, started, NULL) == HELIO_OK)
        attempt->started_wall_ms =
            helio_slurm_begun_wall_ms(attempt, started->wall_ms ? started->wall_ms : attempt->backend->now_wall_ms);
    free(started);
}

bool helio_slurm_is_alive(const helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    return attempt->claimed && helio_beat_is_fresh(&attempt->beat, self->now_boot_ms) &&
           self->now_boot_ms < helio_lifetime_until_ms(&attempt->life, attempt->limit_ms, attempt->grace_ms);
}

static void end_by_done(helio_slurm_attempt_t *attempt, int folder, const helio_done_t *done)
{
    attempt->end = helio_folder_end(folder, done);
    if (done->failed) {
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, done->cause, "%s", done->explanation);
        return;
    }
    bool asked = attempt->stop_mode != HELIO_SLURM_NO_STOP || done->cause == HELIO_CAUSE_LEASE_EXPIRED;
    /* Slurm kills process by process, and helio-shim may outlive its ranks long enough to report it. */
    bool killed = done->exit_code == 128 + SIGKILL || done->exit_code == 128 + SIGTERM;
#ifndef HELIO_MUTANT_success_though_cancelled
    killed = killed || helio_slurm_was_cut_short(&attempt->seen);
#endif
    bool signalled = !done->stopped && killed;
    if ((!done->stopped && !signalled) || done->limit_reached || asked) {
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_ENDED, done->cause, "%s", done->explanation);
        return;
    }
    /* Told to stop, but not by this agent: Slurm knows who did it at the site. */
    if (attempt->phase != HELIO_SLURM_AT_LEAVING)
        helio_slurm_leave(attempt);
    attempt->leaving.done_read = true;
    attempt->leaving.signalled = signalled;
}

static void on_status_files(helio_slurm_attempt_t *attempt, int folder)
{
    helio_done_t done;
    helio_claim_t claim;
    if ((!attempt->claimed && !attempt->closed) || attempt->unproven) {
        helio_folder_taken_t taken = helio_folder_taken(folder, &claim);
        note_taken(attempt, taken, &claim);
    }
    if (!attempt->claimed)
        return;
    helio_lifetime_claimed(&attempt->life, attempt->witness.former.claimed_boot_ms, attempt->backend->now_boot_ms);
    helio_lifetime_touched(&attempt->life, helio_beat_note(&attempt->beat, folder, attempt->backend->now_boot_ms),
                           attempt->backend->now_boot_ms);
    helio_slurm_tell_evidence(attempt); /* before STARTED: what the journal has as started, it has as claimed */
    if (!attempt->started_wall_ms && !attempt->unproven)
        read_started(attempt, folder);
    if (attempt->phase != HELIO_SLURM_AT_RUNNING && attempt->phase != HELIO_SLURM_AT_LEAVING) {
        if (attempt->phase != HELIO_SLURM_AT_QUEUED) {
            helio_slurm_advance(attempt, HELIO_SLURM_AT_QUEUED);
            attempt->since_list = attempt->backend->poll.asked + 1;
        }
        if (attempt->started_wall_ms)
            helio_slurm_advance(attempt, HELIO_SLURM_AT_RUNNING);
    }
    if (attempt->started_wall_ms)
        helio_slurm_say_started(attempt);
    if (!attempt->leaving.done_read && !attempt->unproven && helio_folder_done(folder, &done, NULL) == HELIO_OK &&
        !helio_slurm_awaits_slurm(attempt, &done) && !helio_slurm_awaits_times(attempt, &done))
        end_by_done(attempt, folder, &done);
}

bool helio_slurm_look(helio_slurm_attempt_t *attempt, bool *ret_folder)
{
    int folder = -1;
    helio_rc rc = helio_folders_open(attempt->backend->folders, attempt->held.name, &folder, NULL);
    attempt->locked =
        rc == HELIO_FORBIDDEN || (!rc && folder < 0 && attempt->marked && attempt->phase > HELIO_SLURM_AT_UNSURE);
    *ret_folder = folder >= 0 || attempt->locked;
    if (rc)
        return attempt->locked;
    if (folder < 0)
        return true;
    helio_slurm_note_owner(attempt, folder);
    on_status_files(attempt, folder);
    (void)close(folder);
    return true;
}

helio_rc helio_slurm_close(helio_slurm_attempt_t *attempt, helio_error_t *err)
{
    helio_folder_taken_t taken;
    helio_claim_t claim = {0};
    if (attempt->closed)
        return HELIO_OK;
    helio_rc rc = helio_folders_close(attempt->backend->folders, attempt->held.name, &taken, &claim, err);
    note_taken(attempt, taken, &claim);
    return rc;
}
