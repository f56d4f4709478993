/*  slurm_charge.c -- what an attempt is charged: the times of its status files, as far as they are plausible.
 *
 *  The folder belongs to the job's user, who can write false times into it to pay less, or for another reason. So the
 *  times of the status files are compared with what users cannot write: when sbatch was called, in which lists Slurm
 *  showed the job on its nodes, and Slurm's own start and end of it. A figure outside these bounds is replaced by the
 *  nearest one inside, and the attempt's explanation says so.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "site-agent/backends/slurm/slurm_internal.h"

enum {
    SLACK_MS = 15000,    /* tolerance for times of several clocks and of lists */
    WHOLE_MS = 2000,     /* and for Slurm's own start and end: one clock, in whole seconds */
    LEFT_OUT_MS = 30000, /* status files are checked every ten seconds */
    AWAIT_MS = 15000,
    MOVED_MS = 60000 /* for an hour that is only shown */
};

/* ---- observations -------------------------------------------------------------------------------------------- */

bool helio_slurm_shows_run(const helio_slurm_seen_t *seen)
{
    return seen->live && (seen->state == HELIO_SLURM_RUNNING || seen->state == HELIO_SLURM_SUSPENDED ||
                          seen->state == HELIO_SLURM_STOPPED || seen->state == HELIO_SLURM_SIGNALING);
}

/*  No end is later than now: a list can have an expected one. */
static void note_end(helio_slurm_attempt_t *attempt, int64_t end_s)
{
    int64_t now_s = attempt->backend->now_wall_ms / 1000;
    attempt->witness.end_s = end_s < now_s ? end_s : now_s;
}

void helio_slurm_witness(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    helio_slurm_witness_t *witness = &attempt->witness;
    const helio_slurm_seen_t *seen = &attempt->seen;
    if (!helio_slurm_shows_run(seen) && !(seen->over && seen->start_s))
        return;
    if (helio_slurm_shows_run(seen)) {
        if (!witness->first_ms)
            witness->first_ms = self->poll.asked_ms;
        witness->last_ms = self->poll.asked_ms;
    }
    if (seen->start_s)
        witness->start_s = seen->start_s;
    if (seen->over && seen->end_s)
        note_end(attempt, seen->end_s);
}

void helio_slurm_witness_end(helio_slurm_attempt_t *attempt, int64_t start_s, int64_t end_s)
{
    if (start_s && end_s >= start_s) {
        attempt->witness.start_s = start_s;
        note_end(attempt, end_s);
    }
}

/* ---- bounds -------------------------------------------------------------------------------------------- */

/*  No attempt is older than its job, whose id holds the time. 0: the id holds no plausible time. */
static int64_t birth_wall_ms(const helio_slurm_attempt_t *attempt)
{
    int64_t ms = 0;
    for (int i = 0; i < 6; i++)
        ms = ms << 8 | attempt->held.id.key.job.bytes[i];
    return ms <= attempt->backend->now_wall_ms ? ms : 0;
}

/*  The earliest time at which it can have begun; for display. */
static int64_t earliest_wall_ms(const helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    int64_t at_ms = birth_wall_ms(attempt);
    if (attempt->witness.start_s)
        at_ms = attempt->witness.start_s * 1000;
    else if (attempt->first_ms)
        at_ms = self->now_wall_ms - (self->now_boot_ms - attempt->first_ms);
    at_ms = at_ms < self->now_wall_ms ? at_ms - SLACK_MS : self->now_wall_ms - SLACK_MS;
    return at_ms > 0 ? at_ms : 0;
}

/*  By one clock each: since its submission; between Slurm's start and end. Only without both, by two clocks. */
static uint64_t most_ms(const helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    const helio_slurm_witness_t *witness = &attempt->witness;
    int64_t ms =
        attempt->first_ms ? self->now_boot_ms - attempt->first_ms : self->now_wall_ms - earliest_wall_ms(attempt);
    if (witness->start_s && witness->end_s && (witness->end_s - witness->start_s) * 1000 < ms)
        ms = (witness->end_s - witness->start_s) * 1000;
    return ms > 0 ? (uint64_t)(ms + SLACK_MS) : SLACK_MS;
}

/*  From Slurm's start of a job to its first program. Its end is that of the program: epilogs do not count. */
static int64_t prolog_ms(const helio_slurm_attempt_t *attempt)
{
    uint64_t ms = attempt->backend->settings.prolog_ms;
    return ms ? (int64_t)ms : HELIO_SLURM_PROLOG_MS;
}

/*  Slurm showed it on its nodes: from then on, or, if another agent submitted it, from Slurm's start. */
static int64_t shown_ms(const helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    const helio_slurm_witness_t *witness = &attempt->witness;
    if (!witness->first_ms)
        return 0;
    int64_t from_ms = witness->first_ms;
    if (!attempt->first_ms && witness->start_s)
        from_ms = self->now_boot_ms - (self->now_wall_ms - witness->start_s * 1000);
    from_ms += prolog_ms(attempt);
    if (attempt->said_started && attempt->said_started_ms < from_ms)
        from_ms = attempt->said_started_ms;
    return witness->last_ms - from_ms;
}

/*  The time on its nodes as Slurm showed it, without the time before the first program. */
static uint64_t earliest_ms(const helio_slurm_attempt_t *attempt)
{
    const helio_slurm_witness_t *witness = &attempt->witness;
    int64_t ms = shown_ms(attempt) - SLACK_MS;
    if (witness->start_s && witness->end_s) {
        int64_t own_ms = (witness->end_s - witness->start_s) * 1000 - prolog_ms(attempt) - WHOLE_MS;
        ms = own_ms > ms ? own_ms : ms;
    }
    return ms > 0 ? (uint64_t)ms : 0;
}

static int64_t between(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

int64_t helio_slurm_begun_wall_ms(const helio_slurm_attempt_t *attempt, int64_t said_ms)
{
    return between(said_ms, earliest_wall_ms(attempt), attempt->backend->now_wall_ms);
}

bool helio_slurm_awaits_slurm(helio_slurm_attempt_t *attempt, const helio_done_t *done)
{
    const helio_slurm_t *self = attempt->backend;
    if (!helio_slurm_shows_run(&attempt->seen) || self->poll.failures || !attempt->said_started ||
        attempt->phase == HELIO_SLURM_AT_LEAVING)
        return false;
    int64_t left_out_ms = self->now_boot_ms - attempt->said_started_ms - between((int64_t)done->run_ms, 0, INT64_MAX);
    if (left_out_ms < LEFT_OUT_MS)
        return false;
    if (!attempt->doubted_ms)
        attempt->doubted_ms = self->now_boot_ms ? self->now_boot_ms : 1;
    return self->now_boot_ms - attempt->doubted_ms < AWAIT_MS;
}

/* ---- charging ------------------------------------------------------------------------------------------ */

static void say_doubt(helio_slurm_attempt_t *attempt, const char *doubt)
{
    char before[sizeof attempt->explanation];
    (void)snprintf(before, sizeof before, "%s", attempt->explanation);
    if (attempt->end.cause == HELIO_CAUSE_NONE)
        attempt->end.cause = HELIO_CAUSE_DOUBTED;
    int size =
        snprintf(attempt->explanation, sizeof attempt->explanation, "%.110s%s%s", before, before[0] ? "; " : "", doubt);
    assert(size < (int)sizeof attempt->explanation);
    (void)size;
}

/*  Its status files show no run; its user can have removed them. Slurm's lists and times show whether it was on its nodes
 *  for longer than it takes to start. A node that failed meanwhile, and no shim had claimed it: it never started. */
static void doubt_unstarted(helio_slurm_attempt_t *attempt)
{
    helio_aev_backend_t *end = &attempt->end;
    uint64_t ran_ms = earliest_ms(attempt);
    char said[sizeof attempt->explanation];
    if (!ran_ms || (!attempt->claimed && end->cause == HELIO_CAUSE_NODE_FAILED))
        return;
#ifdef HELIO_MUTANT_unclaimed_is_free
    if (!attempt->claimed)
        return;
#endif
    (void)helio_cause_text(end->cause, helio_text_of(attempt->explanation), said, sizeof said);
    (void)snprintf(attempt->explanation, sizeof attempt->explanation,
                   "its status file shows no run, but Slurm showed it on its nodes: %llu ms are charged%s%.120s%s",
                   (unsigned long long)ran_ms, said[0] ? " (" : "", said, said[0] ? ")" : "");
    end->cause = HELIO_CAUSE_DOUBTED;
    if (end->word == HELIO_BACKEND_REPORT_FAILED_TO_START)
        end->word = HELIO_BACKEND_REPORT_VANISHED;
    end->run_ms = ran_ms;
    end->ended_wall_ms = attempt->backend->now_wall_ms;
    end->started_wall_ms = helio_slurm_begun_wall_ms(attempt, end->ended_wall_ms - (int64_t)ran_ms);
}

void helio_slurm_charge(helio_slurm_attempt_t *attempt)
{
    helio_aev_backend_t *end = &attempt->end;
    if (end->word != HELIO_BACKEND_REPORT_ABSENT && !end->started_wall_ms && !end->run_ms)
        doubt_unstarted(attempt);
    if ((end->word != HELIO_BACKEND_REPORT_ENDED && end->word != HELIO_BACKEND_REPORT_VANISHED) ||
        (!end->started_wall_ms && !end->run_ms))
        return;
    int64_t now_ms = attempt->backend->now_wall_ms, early_ms = earliest_wall_ms(attempt),
            said_start_ms = end->started_wall_ms, said_end_ms = end->ended_wall_ms;
    uint64_t said_ms = end->run_ms, least = earliest_ms(attempt), most = most_ms(attempt);
    end->ended_wall_ms = between(said_end_ms, early_ms, now_ms);
    end->started_wall_ms = between(said_start_ms, early_ms, end->ended_wall_ms);
    end->run_ms = said_ms > most ? most : said_ms < least ? least : said_ms;
    bool moved = said_start_ms - end->started_wall_ms > MOVED_MS || said_end_ms - end->ended_wall_ms > MOVED_MS ||
                 end->started_wall_ms - said_start_ms > MOVED_MS || end->ended_wall_ms - said_end_ms > MOVED_MS;
    char doubt[132];
    if (end->run_ms != said_ms)
        (void)snprintf(
            doubt, sizeof doubt, "its status file shows %llu ms, but by Slurm and the agent it ran %s %llu ms",
            (unsigned long long)said_ms, said_ms > most ? "at most" : "at least", (unsigned long long)end->run_ms);
    else if (moved)
        (void)snprintf(doubt, sizeof doubt, "its status files give times at which it was not on its nodes");
    else
        return;
    say_doubt(attempt, doubt);
}
