/*  slurm_status_files.c -- reads the status files of one attempt: claimed, alive, started, done. */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "site-agent/backends/slurm/slurm_internal.h"

enum { BEAT_SILENT_MS = 30000 };

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
        if (helio_text_is(poll->ours[i]->name, attempt->name) && helio_text_is(poll->ours[i]->id, id) &&
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

static void read_claim(helio_slurm_attempt_t *attempt, int folder)
{
    helio_claim_t claim;
    helio_rc rc = helio_folder_claim(folder, &claim, NULL);
    if (rc == HELIO_NOT_FOUND)
        return;
    if (rc == HELIO_OK && claim.shim.pid == 0) {
        attempt->closed = true;
        return;
    }
    attempt->claimed = true; /* also when it is damaged: it is claimed */
    take_claimant(attempt, rc == HELIO_OK ? claim.scheduler_id : "");
}

static void read_started(helio_slurm_attempt_t *attempt, int folder)
{
    helio_started_t *started = helio_new(1, sizeof *started);
    if (helio_folder_started(folder, started, NULL) == HELIO_OK)
        attempt->started_wall_ms =
            helio_slurm_begun_wall_ms(attempt, started->wall_ms ? started->wall_ms : attempt->backend->now_wall_ms);
    free(started);
}

static void note_beat(helio_slurm_attempt_t *attempt, int folder)
{
    int64_t ns = 0;
    if (helio_folder_beat(folder, &ns) || (attempt->beat_ms && ns == attempt->beat_ns))
        return;
    attempt->beat_ns = ns;
    attempt->beat_ms = attempt->backend->now_boot_ms ? attempt->backend->now_boot_ms : 1;
}

bool helio_slurm_is_alive(const helio_slurm_attempt_t *attempt)
{
    return attempt->claimed && attempt->beat_ms && attempt->backend->now_boot_ms - attempt->beat_ms < BEAT_SILENT_MS;
}

static void end_by_done(helio_slurm_attempt_t *attempt, const helio_done_t *done, const helio_progress_t *progress)
{
    attempt->end = (helio_aev_backend_t){.exit_code = done->exit_code,
                                         .limit_reached = done->limit_reached,
                                         .stopped = done->stopped,
                                         .started_wall_ms = done->started_wall_ms,
                                         .ended_wall_ms = done->ended_wall_ms,
                                         .run_ms = done->run_ms,
                                         .units_done = done->failed ? 0 : progress->units,
                                         .saved_run_ms = done->failed ? 0 : progress->saved_run_ms};
    if (done->failed) {
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, done->cause, "%s", done->explanation);
        return;
    }
    bool asked = attempt->stop_mode != HELIO_SLURM_NO_STOP || done->cause == HELIO_CAUSE_LEASE_EXPIRED;
    /* Slurm kills process by process, and helio-shim may outlive its ranks long enough to report it. */
    bool signalled = !done->stopped && (done->exit_code == 128 + SIGKILL || done->exit_code == 128 + SIGTERM);
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
    if ((!attempt->claimed && !attempt->closed) || attempt->unproven)
        read_claim(attempt, folder);
    if (!attempt->claimed)
        return;
    note_beat(attempt, folder);
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
        !helio_slurm_awaits_slurm(attempt, &done)) {
        helio_progress_t progress = helio_folder_progress(folder, &done);
        end_by_done(attempt, &done, &progress);
    }
}

bool helio_slurm_look(helio_slurm_attempt_t *attempt, bool *ret_folder)
{
    int folder = -1;
    helio_rc rc = helio_folders_open(attempt->backend->folders, attempt->name, &folder, NULL);
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
    int folder = -1;
    if (attempt->closed)
        return HELIO_OK;
    helio_rc rc = helio_folders_open(attempt->backend->folders, attempt->name, &folder, err);
    if (rc)
        return rc;
    if (folder < 0) { /* no shim can run what does not exist */
        attempt->closed = true;
        return HELIO_OK;
    }
    rc = helio_folder_close_unclaimed(folder, err);
    if (rc == HELIO_OK)
        attempt->closed = true;
    if (rc == HELIO_CONFLICT)
        read_claim(attempt, folder);
    (void)close(folder);
    if (rc == HELIO_CONFLICT && attempt->closed)
        return HELIO_OK; /* by a former agent */
    return rc;
}
