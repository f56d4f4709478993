/*  watch.c -- what an inventory and the clock mean for one attempt. The folder is read before the inventory counts. */
#include <stdio.h>

#include "site-agent/backends/exec/internal.h"

enum {
    FOLDER_EVERY_MS = 2000, /* the status files report starts and ends also between inventories */
    SAY_AFTER_MS = 5000,    /* most attempts start before a person could read what they wait for */
    SAY_EVERY_MS = 60000,
    MISSING_TIMES = 3, /* inventories that do not list it, ... */
    MISSING_MS = 5000, /* ... and time, before it counts as over */
    DONE_MS = 10000    /* a status file can appear here a little after the engine reports that its writer has ended */
};

/* ---- by an inventory ---------------------------------------------------------------------------------------- */

static uint32_t weight(const helio_exec_listed_t *listed)
{
    return listed->live ? 2U + (listed->state != HELIO_EXEC_WAITING) : listed->over ? 1U : 0U;
}

/*  The engine can hold several jobs of one name: submitted twice. The one that came furthest counts: the others find the
 *  folder claimed and end. */
void helio_exec_note(helio_exec_attempt_t *attempt, const helio_exec_seen_t *seen)
{
    helio_exec_listed_t listed = {.live = seen->state != HELIO_EXEC_ENDED,
                                  .over = seen->state == HELIO_EXEC_ENDED,
                                  .state = seen->state,
                                  .cause = seen->cause,
                                  .begun_ms = seen->begun_ms,
                                  .ended_ms = seen->ended_ms};
    (void)helio_text_copy(seen->reason, listed.reason, sizeof listed.reason);
    if (seen->node.size < sizeof listed.node)
        (void)helio_text_copy(seen->node, listed.node, sizeof listed.node);
    if (weight(&listed) <= weight(&attempt->listed))
        return;
    attempt->listed = listed;
    (void)helio_text_copy(seen->id, attempt->id, sizeof attempt->id);
}

static void take_up(helio_exec_attempt_t *attempt)
{
    helio_exec_advance(attempt, HELIO_EXEC_AT_HELD);
    if (attempt->listed.over)
        helio_exec_advance(attempt, HELIO_EXEC_AT_LEAVING);
}

/*  Nothing of it ran, and no job of its name exists. */
static void nowhere(helio_exec_attempt_t *attempt, bool folder)
{
    bool ran = helio_witness_was_shown(&attempt->witness) || helio_exec_is_emptied(attempt);
    if (attempt->hidden || (!attempt->to_start && ran)) { /* it may have run */
        attempt->claimed = attempt->claimed || attempt->hidden;
        helio_exec_advance(attempt, HELIO_EXEC_AT_HELD);
        helio_exec_advance(attempt, HELIO_EXEC_AT_LEAVING);
        return;
    }
    if (folder && !attempt->closed) {
        helio_rc rc = helio_exec_close(attempt);
        if (rc == HELIO_CONFLICT)
            helio_exec_advance(attempt, HELIO_EXEC_AT_HELD);
        if (rc)
            return;
    }
    if (attempt->to_start)
        helio_exec_submit(attempt);
    else if (attempt->stop_mode != HELIO_EXEC_NO_STOP && attempt->witness.first_ms) /* its stop ended it */
        helio_exec_end_unstarted(attempt);
    else
        helio_exec_end(attempt, HELIO_BACKEND_REPORT_ABSENT, HELIO_CAUSE_NONE, "%s", "");
}

/*  The journal does not know it, and no shim has begun it: it would begin although the broker may be told that it is not
 *  here. If the engine shows it running, its program may have removed the claim: then it is over when the engine ended it. */
static void end_unordered(helio_exec_attempt_t *attempt)
{
    helio_rc rc = helio_exec_close(attempt);
    bool runs = rc == HELIO_OK && helio_exec_shows_run(attempt);
    if (rc == HELIO_CONFLICT || runs)
        helio_exec_advance(attempt, HELIO_EXEC_AT_HELD);
    if (runs) {
        attempt->unordered = true;
        helio_exec_cancel(attempt, true);
    }
    if (rc || runs)
        return;
    attempt->end = (helio_aev_backend_t){.ended_wall_ms = attempt->backend->now_wall_ms};
    helio_exec_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_WITHDRAWN,
                   "the agent lost its journal before it began");
}

static void looking_on_list(helio_exec_attempt_t *attempt)
{
    bool folder = false;
    if (!helio_exec_look(attempt, &folder) || attempt->phase != HELIO_EXEC_AT_LOOKING)
        return;
    bool open = folder && !attempt->closed, listed = attempt->listed.live || attempt->listed.over;
    if (open && !attempt->hidden && attempt->surveyed && !attempt->known)
        end_unordered(attempt);
    else if (open && listed)
        take_up(attempt);
    else if (!attempt->listed.live)
        nowhere(attempt, folder);
    else if (attempt->to_start || !attempt->known || attempt->stop_mode != HELIO_EXEC_NO_STOP ||
             attempt->listed.state == HELIO_EXEC_WAITING)
        helio_exec_cancel(attempt, true); /* it can claim nothing; the next inventory tells */
    /* Else it may be running, and its folder is not to be seen from here: it is not absent while it is listed. */
}

static void unsure_on_list(helio_exec_attempt_t *attempt)
{
    bool folder = false;
    if (!helio_exec_look(attempt, &folder) || attempt->phase != HELIO_EXEC_AT_UNSURE)
        return;
    if (attempt->listed.live || attempt->listed.over) {
        take_up(attempt);
    } else {
        attempt->absent = true;
        attempt->due_ms = 0;
    }
}

static void say_waits(helio_exec_attempt_t *attempt)
{
    int64_t now_ms = attempt->backend->now_boot_ms;
    bool is_new = strcmp(attempt->said, attempt->listed.reason) != 0;
    if (now_ms - attempt->waits_ms < SAY_AFTER_MS || (attempt->said_ms && now_ms - attempt->said_ms < SAY_EVERY_MS) ||
        (attempt->said_ms && !is_new))
        return;
    attempt->said_ms = now_ms;
    memcpy(attempt->said, attempt->listed.reason, sizeof attempt->said);
    helio_exec_say(attempt, HELIO_BACKEND_REPORT_WAITING, HELIO_CAUSE_WAITS_IN_CLUSTER,
                   attempt->said[0] ? attempt->said : "the engine has not started it");
}

/*  True: it was withdrawn, and is OVER. */
static bool waiting_on_list(helio_exec_attempt_t *attempt)
{
    const helio_exec_t *self = attempt->backend;
    if (!attempt->listed.live || attempt->listed.state != HELIO_EXEC_WAITING || attempt->claimed ||
        helio_exec_is_emptied(attempt)) {
        attempt->waits_ms = 0;
        return false;
    }
    if (!attempt->waits_ms)
        attempt->waits_ms = self->now_boot_ms ? self->now_boot_ms : 1;
    int64_t withdraw_ms = (int64_t)self->settings.withdraw_ms;
    if (withdraw_ms && self->now_boot_ms - attempt->waits_ms >= withdraw_ms &&
        attempt->stop_mode == HELIO_EXEC_NO_STOP && helio_exec_close(attempt) == HELIO_OK) {
        helio_exec_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_WITHDRAWN, "%s",
                       attempt->listed.reason[0] ? attempt->listed.reason : "the engine did not start it in time");
        return true;
    }
    say_waits(attempt);
    return false;
}

static void suspension_on_list(helio_exec_attempt_t *attempt)
{
    bool suspended = attempt->listed.live && attempt->listed.state == HELIO_EXEC_SUSPENDED;
    if (!attempt->said_started || attempt->phase != HELIO_EXEC_AT_HELD || suspended == attempt->suspended)
        return;
    if (!suspended && !attempt->listed.live)
        return;
    attempt->suspended = suspended;
    if (suspended)
        helio_exec_say(attempt, HELIO_BACKEND_REPORT_SUSPENDED, HELIO_CAUSE_SITE_SUSPENDED, attempt->listed.reason);
    else
        helio_exec_say(attempt, HELIO_BACKEND_REPORT_RESUMED, HELIO_CAUSE_NONE, "");
}

static void held_on_list(helio_exec_attempt_t *attempt)
{
    bool folder = false;
    if (!helio_exec_look(attempt, &folder) || attempt->phase != HELIO_EXEC_AT_HELD || waiting_on_list(attempt))
        return;
    suspension_on_list(attempt);
    if (attempt->closed && helio_exec_shows_run(attempt)) /* no shim starts through a closed folder */
        helio_exec_cancel(attempt, true);
    if (!attempt->listed.live)
        helio_exec_advance(attempt, HELIO_EXEC_AT_LEAVING);
}

static void count_missing(helio_exec_attempt_t *attempt)
{
    if (attempt->listed.live || attempt->listed.over)
        attempt->missing = 0;
    else if (attempt->missing++ == 0)
        attempt->missing_ms = attempt->backend->now_boot_ms;
}

void helio_exec_on_list(helio_exec_attempt_t *attempt)
{
    count_missing(attempt);
    helio_exec_witness(attempt);
    helio_exec_tell_evidence(attempt);
    attempt->backend->next_ms = 0;
    switch (attempt->phase) {
    case HELIO_EXEC_AT_LOOKING:
        looking_on_list(attempt);
        break;
    case HELIO_EXEC_AT_UNSURE:
        unsure_on_list(attempt);
        break;
    case HELIO_EXEC_AT_HELD:
        held_on_list(attempt);
        break;
    case HELIO_EXEC_AT_LEAVING:
        if (attempt->listed.live) {
            helio_exec_advance(attempt, HELIO_EXEC_AT_HELD);
            attempt->stop_due_ms = 0;
        }
        attempt->due_ms = 0;
        break;
    case HELIO_EXEC_AT_GONE:
        helio_exec_gone_on_list(attempt); /* can free it */
        break;
    case HELIO_EXEC_AT_SUBMITTING:
    case HELIO_EXEC_AT_OVER:
    case HELIO_EXEC_AT_COUNT:
        break;
    }
}

/* ---- an end without `done` ---------------------------------------------------------------------------------- */

/*  By the engine's word, else by the shim's last sign of life. */
static void set_times(helio_exec_attempt_t *attempt)
{
    const helio_exec_t *self = attempt->backend;
    helio_aev_backend_t *end = &attempt->end;
    int64_t silent_ms = attempt->beat.seen_ms ? self->now_boot_ms - attempt->beat.seen_ms : 0;
    end->started_wall_ms = attempt->started_wall_ms;
    end->ended_wall_ms = attempt->listed.ended_ms ? attempt->listed.ended_ms : self->now_wall_ms - silent_ms;
    int64_t ran_ms = end->ended_wall_ms - end->started_wall_ms;
    end->run_ms = end->started_wall_ms && ran_ms > 0 ? (uint64_t)ran_ms : 0;
    end->estimated = end->run_ms > 0;
}

static void end_unproven(helio_exec_attempt_t *attempt)
{
    uint32_t cause = attempt->listed.cause;
    const char *why = attempt->listed.reason[0] ? attempt->listed.reason
                      : attempt->listed.over    ? "the engine says that it is over"
                                                : "the engine does not list it any more";
    if (attempt->started_wall_ms || attempt->hidden || helio_exec_is_emptied(attempt)) {
        set_times(attempt);
        helio_exec_end(attempt, HELIO_BACKEND_REPORT_VANISHED, cause ? cause : HELIO_CAUSE_VANISHED, "%s", why);
    } else { /* `started` is written before the program runs */
        helio_exec_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, cause ? cause : HELIO_CAUSE_START_FAILED, "%s",
                       why);
    }
}

/*  No shim has claimed it: it can begin nothing any more when its folder is closed. */
static void end_unclaimed(helio_exec_attempt_t *attempt)
{
    const char *how = attempt->unordered
                          ? "the agent lost its journal, and had the engine end it; no status file shows a run"
                      : attempt->cancel_ms ? "the agent had the engine end it; no status file shows a run"
                                           : "the engine ended it before it began";
    (void)snprintf(attempt->trouble, sizeof attempt->trouble, "%s%s%.100s", how, attempt->listed.reason[0] ? ": " : "",
                   attempt->listed.reason);
    if (attempt->stop_mode != HELIO_EXEC_NO_STOP && helio_exec_close(attempt) == HELIO_OK)
        helio_exec_end_unstarted(attempt);
    else
        helio_exec_give_up(attempt, attempt->unordered      ? HELIO_CAUSE_WITHDRAWN
                                    : attempt->listed.cause ? (helio_cause_t)attempt->listed.cause
                                                            : HELIO_CAUSE_START_FAILED);
}

static void leaving_serve(helio_exec_attempt_t *attempt)
{
    const helio_exec_t *self = attempt->backend;
    bool folder = false;
    attempt->due_ms = self->now_boot_ms + HELIO_EXEC_AGAIN_MS;
    if (!helio_exec_look(attempt, &folder) || attempt->phase != HELIO_EXEC_AT_LEAVING)
        return;
    bool over = attempt->listed.over ||
                (attempt->missing >= MISSING_TIMES && self->now_boot_ms - attempt->missing_ms >= MISSING_MS);
    if (!over || helio_exec_is_alive(attempt))
        return;
    bool emptied = helio_exec_is_emptied(attempt);
    if (emptied && folder && !attempt->hidden && helio_exec_close(attempt) != HELIO_OK)
        return; /* another copy of it must not begin */
    if (attempt->claimed || attempt->hidden || emptied) {
        if (self->now_boot_ms - attempt->since_ms >= DONE_MS)
            end_unproven(attempt);
        return;
    }
    end_unclaimed(attempt);
}

/* ---- what is due by the clock -------------------------------------------------------------------------- */

/*  By the last inventory, whenever it was asked for. */
static bool is_listed(const helio_exec_attempt_t *attempt)
{
    const helio_exec_answer_t *answer = &attempt->backend->poll.answer;
    for (uint32_t i = 0; i < answer->attempt_count; i++)
        if (helio_job_key_equal(answer->attempts[i].key, attempt->held.id.key) &&
            answer->attempts[i].epoch == attempt->held.id.epoch)
            return true;
    return false;
}

/*  The folder is made before the adapter is asked: without a folder it never was, and through a closed one nothing of it
 *  starts. Then any inventory without it proves its absence. */
static void looking_serve(helio_exec_attempt_t *attempt)
{
    const helio_exec_t *self = attempt->backend;
    bool folder = false;
    attempt->due_ms = self->now_boot_ms + HELIO_EXEC_AGAIN_MS;
    if (!helio_exec_look(attempt, &folder) || attempt->phase != HELIO_EXEC_AT_LOOKING)
        return;
    if (!attempt->to_start) {
        attempt->due_ms = INT64_MAX;
        return;
    }
    bool silent = !self->poll.heard || self->poll.failures;
    if ((!folder || attempt->closed) && self->poll.heard && !is_listed(attempt)) {
        helio_exec_submit(attempt);
    } else if (silent && self->now_boot_ms - attempt->since_ms >= HELIO_EXEC_GIVE_UP_MS) {
        if (!attempt->trouble[0])
            (void)snprintf(attempt->trouble, sizeof attempt->trouble, "the adapter gave no inventory for a minute");
        helio_exec_give_up(attempt, HELIO_CAUSE_SUBMIT_FAILED);
    }
}

static void held_serve(helio_exec_attempt_t *attempt)
{
    bool folder = false;
    attempt->due_ms = attempt->backend->now_boot_ms + FOLDER_EVERY_MS;
    (void)helio_exec_look(attempt, &folder);
    if (attempt->phase == HELIO_EXEC_AT_OVER)
        attempt->due_ms = 0;
}

static void serve_phase(helio_exec_attempt_t *attempt)
{
    switch (attempt->phase) {
    case HELIO_EXEC_AT_LOOKING:
        looking_serve(attempt);
        break;
    case HELIO_EXEC_AT_UNSURE:
        helio_exec_unsure_serve(attempt);
        break;
    case HELIO_EXEC_AT_HELD:
        held_serve(attempt);
        break;
    case HELIO_EXEC_AT_LEAVING:
        leaving_serve(attempt);
        break;
    case HELIO_EXEC_AT_SUBMITTING:
    case HELIO_EXEC_AT_OVER:
    case HELIO_EXEC_AT_GONE:
    case HELIO_EXEC_AT_COUNT:
        attempt->due_ms = INT64_MAX;
        break;
    }
}

void helio_exec_serve(helio_exec_attempt_t *attempt)
{
    const helio_exec_t *self = attempt->backend;
    if (!attempt->since_ms) /* start and adopt get no time */
        attempt->since_ms = self->now_boot_ms;
    if (attempt->stop_mode != HELIO_EXEC_NO_STOP && attempt->phase < HELIO_EXEC_AT_OVER)
        helio_exec_stop_serve(attempt);
    if (attempt->phase != HELIO_EXEC_AT_OVER && attempt->due_ms <= self->now_boot_ms)
        serve_phase(attempt);
    if (attempt->phase == HELIO_EXEC_AT_OVER)
        helio_exec_say_end(attempt);
}
