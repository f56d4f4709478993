/*  look.c -- the status files of one attempt: claimed, alive, started, done; and closing its folder. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "site-agent/backends/exec/internal.h"

static void note_taken(helio_exec_attempt_t *attempt, helio_folder_taken_t taken)
{
    attempt->closed = attempt->closed || taken == HELIO_FOLDER_CLOSED;
    attempt->claimed = attempt->claimed || taken == HELIO_FOLDER_TAKEN;
}

static void read_started(helio_exec_attempt_t *attempt, int folder)
{
    helio_started_t *started = helio_new(1, sizeof *started);
    if (helio_folder_started(folder, started, NULL) == HELIO_OK)
        attempt->started_wall_ms =
            helio_exec_begun_wall_ms(attempt, started->wall_ms > 0 ? started->wall_ms : attempt->backend->now_wall_ms);
    free(started);
}

bool helio_exec_is_alive(const helio_exec_attempt_t *attempt)
{
    const helio_exec_t *self = attempt->backend;
    return attempt->claimed && helio_beat_is_fresh(&attempt->beat, self->now_boot_ms) &&
           self->now_boot_ms < helio_lifetime_until_ms(&attempt->life, attempt->limit_ms, attempt->grace_ms);
}

/*  Told to stop, and not by this agent: the engine, or somebody at the site, ended it. */
static uint32_t cause_of(const helio_exec_attempt_t *attempt, const helio_done_t *done)
{
    bool ours = attempt->stop_mode != HELIO_EXEC_NO_STOP || done->limit_reached;
    if (done->cause != HELIO_CAUSE_NONE || !done->stopped || ours)
        return done->cause;
    return attempt->listed.cause != HELIO_CAUSE_NONE ? attempt->listed.cause : HELIO_CAUSE_SITE_CANCELLED;
}

static void end_by_done(helio_exec_attempt_t *attempt, int folder, const helio_done_t *done)
{
    attempt->end = helio_folder_end(folder, done);
    helio_exec_end(attempt, done->failed ? HELIO_BACKEND_REPORT_FAILED_TO_START : HELIO_BACKEND_REPORT_ENDED,
                   cause_of(attempt, done), "%s", done->explanation);
}

static void on_status_files(helio_exec_attempt_t *attempt, int folder)
{
    helio_done_t done;
    helio_claim_t claim;
    if (!attempt->claimed && !attempt->closed)
        note_taken(attempt, helio_folder_taken(folder, &claim));
    if (!attempt->claimed)
        return;
    helio_lifetime_claimed(&attempt->life, attempt->witness.former.claimed_boot_ms, attempt->backend->now_boot_ms);
    helio_lifetime_touched(&attempt->life, helio_beat_note(&attempt->beat, folder, attempt->backend->now_boot_ms),
                           attempt->backend->now_boot_ms);
    helio_exec_tell_evidence(attempt); /* before STARTED: what the journal has as started, it has as claimed */
    if (!attempt->started_wall_ms)
        read_started(attempt, folder);
    if (attempt->phase < HELIO_EXEC_AT_HELD) {
        helio_exec_advance(attempt, HELIO_EXEC_AT_HELD);
        attempt->since_list = attempt->backend->poll.asked + 1;
    }
    if (attempt->started_wall_ms)
        helio_exec_say_started(attempt);
    if (helio_folder_done(folder, &done, NULL) == HELIO_OK)
        end_by_done(attempt, folder, &done);
}

bool helio_exec_look(helio_exec_attempt_t *attempt, bool *ret_folder)
{
    int folder = -1;
    helio_rc rc = helio_folders_open(attempt->backend->folders, attempt->held.name, &folder, NULL);
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
    helio_folder_taken_t taken;
    helio_claim_t claim;
    helio_rc rc = helio_folders_close(attempt->backend->folders, attempt->held.name, &taken, &claim, NULL);
    note_taken(attempt, taken);
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
