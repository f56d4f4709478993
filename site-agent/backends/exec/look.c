/*  look.c -- the status files of one attempt: claimed, alive, started, done; and closing its folder. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "site-agent/backends/exec/internal.h"

enum { BEAT_SILENT_MS = 30000 };

static void read_claim(helio_exec_attempt_t *attempt, int folder)
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
}

static void read_started(helio_exec_attempt_t *attempt, int folder)
{
    helio_started_t *started = helio_new(1, sizeof *started);
    if (helio_folder_started(folder, started, NULL) == HELIO_OK)
        attempt->started_wall_ms = started->wall_ms > 0 ? started->wall_ms : attempt->backend->now_wall_ms;
    free(started);
}

static void note_beat(helio_exec_attempt_t *attempt, int folder)
{
    int64_t ns = 0;
    if (helio_folder_beat(folder, &ns) || (attempt->beat_ms && ns == attempt->beat_ns))
        return;
    attempt->beat_ns = ns;
    attempt->beat_ms = attempt->backend->now_boot_ms ? attempt->backend->now_boot_ms : 1;
}

bool helio_exec_is_alive(const helio_exec_attempt_t *attempt)
{
    return attempt->claimed && attempt->beat_ms && attempt->backend->now_boot_ms - attempt->beat_ms < BEAT_SILENT_MS;
}

/*  Told to stop, and not by this agent: the engine, or somebody at the site, ended it. */
static uint32_t cause_of(const helio_exec_attempt_t *attempt, const helio_done_t *done)
{
    bool ours = attempt->stop_mode != HELIO_EXEC_NO_STOP || done->limit_reached;
    if (done->cause != HELIO_CAUSE_NONE || !done->stopped || ours)
        return done->cause;
    return attempt->listed.cause != HELIO_CAUSE_NONE ? attempt->listed.cause : HELIO_CAUSE_SITE_CANCELLED;
}

static void end_by_done(helio_exec_attempt_t *attempt, const helio_done_t *done, const helio_progress_t *progress)
{
    attempt->end = (helio_aev_backend_t){.exit_code = done->exit_code,
                                         .limit_reached = done->limit_reached,
                                         .stopped = done->stopped,
                                         .started_wall_ms = done->started_wall_ms,
                                         .ended_wall_ms = done->ended_wall_ms,
                                         .run_ms = done->run_ms,
                                         .units_done = done->failed ? 0 : progress->units,
                                         .saved_run_ms = done->failed ? 0 : progress->saved_run_ms};
    helio_exec_end(attempt, done->failed ? HELIO_BACKEND_REPORT_FAILED_TO_START : HELIO_BACKEND_REPORT_ENDED,
                   cause_of(attempt, done), "%s", done->explanation);
}

static void on_status_files(helio_exec_attempt_t *attempt, int folder)
{
    helio_done_t done;
    if (!attempt->claimed && !attempt->closed)
        read_claim(attempt, folder);
    if (!attempt->claimed)
        return;
    note_beat(attempt, folder);
    if (!attempt->started_wall_ms)
        read_started(attempt, folder);
    if (attempt->phase < HELIO_EXEC_AT_HELD) {
        helio_exec_advance(attempt, HELIO_EXEC_AT_HELD);
        attempt->since_list = attempt->backend->poll.asked + 1;
    }
    if (attempt->started_wall_ms)
        helio_exec_say_started(attempt);
    if (helio_folder_done(folder, &done, NULL) == HELIO_OK) {
        helio_progress_t progress = helio_folder_progress(folder, &done);
        end_by_done(attempt, &done, &progress);
    }
}

bool helio_exec_look(helio_exec_attempt_t *attempt, bool *ret_folder)
{
    int folder = -1;
    helio_rc rc = helio_folders_open(attempt->backend->folders, attempt->name, &folder, NULL);
    attempt->hidden = rc == HELIO_FORBIDDEN;
    *ret_folder = folder >= 0 || attempt->hidden;
    if (rc)
        return attempt->hidden;
    if (folder < 0)
        return true;
    if (attempt->phase < HELIO_EXEC_AT_OVER)
        on_status_files(attempt, folder);
    (void)close(folder);
    return true;
}

/* ---- closing ------------------------------------------------------------------------------------------- */

static helio_rc close_here(helio_exec_attempt_t *attempt)
{
    int folder = -1;
    helio_rc rc = helio_folders_open(attempt->backend->folders, attempt->name, &folder, NULL);
    if (rc)
        return HELIO_IO;
    if (folder < 0) { /* no shim can run what does not exist */
        attempt->closed = true;
        return HELIO_OK;
    }
    rc = helio_folder_close_unclaimed(folder, NULL);
    if (rc == HELIO_OK)
        attempt->closed = true;
    if (rc == HELIO_CONFLICT)
        read_claim(attempt, folder);
    (void)close(folder);
    if (rc == HELIO_CONFLICT && attempt->closed)
        return HELIO_OK; /* by a former agent */
    return rc == HELIO_OK || rc == HELIO_CONFLICT ? rc : HELIO_IO;
}

/*  The node's copy was closed first: then this one is, so that it is known after a restart. */
static void on_fenced(void *arg, const helio_command_result_t *result)
{
    helio_exec_attempt_t *attempt = arg;
    helio_exec_answer_t answer = {0};
    helio_arena_t *arena = helio_arena_new();
    attempt->fence_out = false;
    attempt->backend->next_ms = 0;
    bool told = helio_exec_answer(result, arena, &answer, NULL) == HELIO_OK && answer.end.has_fenced;
    helio_arena_destroy(&arena);
    attempt->due_ms = told ? 0 : attempt->backend->now_boot_ms + HELIO_EXEC_AGAIN_MS;
    if (attempt->stop_due_ms != INT64_MAX)
        attempt->stop_due_ms = attempt->due_ms;
    if (told && answer.end.fenced)
        (void)!close_here(attempt);
    else if (told)
        attempt->claimed = true; /* the next inventory brings the claim */
}

helio_rc helio_exec_close(helio_exec_attempt_t *attempt)
{
    if (attempt->closed)
        return HELIO_OK;
    if (attempt->claimed)
        return HELIO_CONFLICT;
    if (!attempt->backend->settings.carries)
        return close_here(attempt);
    if (!attempt->fence_out)
        attempt->fence_out = helio_exec_ask_about(attempt, "fence", NULL, on_fenced);
    return HELIO_BUSY;
}
