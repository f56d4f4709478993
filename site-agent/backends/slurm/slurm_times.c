/*  slurm_times.c -- Slurm's own times of an attempt, and when its status files are looked at.
 *
 *  The file `done` tells how an attempt ended, and one of the next lists when: it is awaited for a moment, because the
 *  ledger counts as the site's accounting does. What the attempt leaves is offered at once. */
#include "site-agent/backends/slurm/slurm_internal.h"

enum {
    AWAIT_TIMES_MS = 3000, /* longer than until the next list */
    WHOLE_MS = 2000,       /* Slurm's start and end are whole seconds */
    HALF_MS = 500,         /* what a time that is cut to whole seconds is too early, on average */
    LOOK_LEAST_MS = 250,
    LOOK_MOST_MS = 10000,
    LOOK_SHARE = 32, /* of the time that it has run: an end is seen late by so much of it at most */
    BRISK_LOOK_MS = 500
};

/* ---- an end that only its status files tell ------------------------------------------------------------------ */

static void notice(helio_slurm_attempt_t *attempt, const helio_done_t *done)
{
    helio_slurm_t *self = attempt->backend;
    int64_t ended_ms = done->ended_wall_ms < self->now_wall_ms ? done->ended_wall_ms : self->now_wall_ms;
    attempt->noticed_ms = self->now_boot_ms ? self->now_boot_ms : 1;
    attempt->noticed_list = self->poll.asked + 1;
    if (attempt->started_wall_ms && ended_ms >= attempt->started_wall_ms)
        helio_slurm_note_run(attempt, ended_ms - attempt->started_wall_ms, true);
    self->poll.capacity_due = true;
}

static int64_t awaited_until_ms(const helio_slurm_attempt_t *attempt)
{
    return attempt->noticed_ms + (int64_t)attempt->backend->settings.poll_ms + AWAIT_TIMES_MS;
}

bool helio_slurm_awaits_times(helio_slurm_attempt_t *attempt, const helio_done_t *done)
{
    const helio_slurm_t *self = attempt->backend;
    if (done->failed || done->stopped || attempt->stop_mode != HELIO_SLURM_NO_STOP || self->poll.failures ||
        attempt->phase == HELIO_SLURM_AT_LEAVING)
        return false;
    if (!attempt->noticed_ms)
        notice(attempt, done);
    bool can_come = self->poll.heard < attempt->noticed_list || attempt->seen.live;
    return can_come && !attempt->seen.over && self->now_boot_ms < awaited_until_ms(attempt);
}

void helio_slurm_await_no_times(helio_slurm_t *self)
{
    for (helio_slurm_attempt_t *attempt = helio_slurm_first(self); attempt; attempt = helio_slurm_after(attempt))
        if (attempt->noticed_ms && attempt->phase < HELIO_SLURM_AT_LEAVING)
            attempt->due_ms = 0;
}

bool helio_slurm_was_cut_short(const helio_slurm_seen_t *seen)
{
    return seen->over && (seen->state == HELIO_SLURM_CANCELLED || seen->state == HELIO_SLURM_PREEMPTED);
}

/* ---- charging ------------------------------------------------------------------------------------------------ */

static int64_t clock_tolerance_ms(const helio_slurm_attempt_t *attempt)
{
    return (int64_t)attempt->backend->settings.clock_tolerance_ms + WHOLE_MS;
}

/*  What Slurm counts. 0: it does not tell. A list can show an expected end: none is much later than the shim's. */
static int64_t slurms_ms(const helio_slurm_attempt_t *attempt)
{
    const helio_witness_t *witness = &attempt->witness;
    if (!witness->start_ms)
        return 0;
    int64_t shims_ms = attempt->end.ended_wall_ms, latest_ms = shims_ms + clock_tolerance_ms(attempt);
    int64_t end_ms = witness->end_ms ? witness->end_ms : shims_ms - HALF_MS;
    return (end_ms < latest_ms ? end_ms : latest_ms) - witness->start_ms;
}

/*  Longer than by the shim by what comes before the shim, at most, and not longer than since sbatch was called. Shorter
 *  only by what whole seconds make of it: a cancelled job keeps its GPUs after Slurm's end of it. */
static int64_t counted_ms(const helio_slurm_attempt_t *attempt, int64_t launch_ms)
{
    int64_t said_ms = (int64_t)attempt->end.run_ms, counted = slurms_ms(attempt), most = said_ms + launch_ms + WHOLE_MS;
    int64_t since_ms = attempt->backend->now_boot_ms - attempt->first_ms;
    if (attempt->first_ms && since_ms < most)
        most = since_ms;
#ifndef HELIO_MUTANT_slurm_counts_without_bound
    counted = counted < most ? counted : most;
#endif
    return counted <= 0 || counted + WHOLE_MS < said_ms ? said_ms : counted;
}

void helio_slurm_count(helio_slurm_attempt_t *attempt, int64_t launch_ms)
{
    helio_aev_backend_t *end = &attempt->end;
    if ((end->word != HELIO_BACKEND_REPORT_ENDED && end->word != HELIO_BACKEND_REPORT_VANISHED) || !end->run_ms)
        return;
    int64_t counted = counted_ms(attempt, launch_ms);
    end->run_ms = (uint64_t)counted;
    if (end->started_wall_ms && end->ended_wall_ms - counted < end->started_wall_ms)
        end->started_wall_ms = end->ended_wall_ms - counted;
}

/* ---- when to look -------------------------------------------------------------------------------------------- */

int64_t helio_slurm_look_ms(const helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    int64_t pause_ms = LOOK_MOST_MS;
    if (attempt->noticed_ms)
        pause_ms = awaited_until_ms(attempt) - self->now_boot_ms;
    else if (attempt->phase == HELIO_SLURM_AT_RUNNING && attempt->started_wall_ms)
        pause_ms = (self->now_wall_ms - attempt->started_wall_ms) / LOOK_SHARE;
    else if (helio_slurm_is_brisk(self))
        pause_ms = BRISK_LOOK_MS;
    pause_ms = pause_ms < LOOK_LEAST_MS ? LOOK_LEAST_MS : pause_ms > LOOK_MOST_MS ? LOOK_MOST_MS : pause_ms;
    return (self->now_boot_ms + pause_ms) / LOOK_LEAST_MS * LOOK_LEAST_MS + LOOK_LEAST_MS; /* many at one time */
}
