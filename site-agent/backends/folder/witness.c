/*  witness.c -- what an attempt is charged. */
#include "site-agent/backends/folder/witness.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "federation/reason/codes.h"

enum {
    SLACK_MS = 15000,     /* tolerance for times of several clocks and of lists */
    WHOLE_MS = 2000,      /* and for the scheduler's own start and end: one clock, in whole seconds */
    CLOCKS_MS = 600000,   /* and for what the scheduler's clock shows, where that decides no charge */
    MOVED_MS = 60000,     /* for an hour that is only shown */
    TELL_MS = 60000,      /* the time for which it was shown is journalled when it has grown by so much, ... */
    TELL_SOON_MS = 15000, /* ... of a shorter run by this, ... */
    TELL_PART = 4         /* ... and by that part of itself */
};

static int64_t longer(int64_t one_ms, int64_t other_ms)
{
    return one_ms > other_ms ? one_ms : other_ms;
}

/* ---- times of the journal ----------------------------------------------------------------------------------- */

/*  The time since then, and not more. */
static int64_t at_least_since(int64_t wall_ms, int64_t boot_ms, int64_t now_wall_ms, int64_t now_boot_ms)
{
    return now_boot_ms >= boot_ms ? now_boot_ms - boot_ms : longer(now_wall_ms - wall_ms, 0);
}

/*  The time since then, and not less; negative: unknown. */
static int64_t at_most_since(int64_t wall_ms, int64_t boot_ms, int64_t now_wall_ms, int64_t now_boot_ms)
{
    return longer(now_wall_ms - wall_ms, now_boot_ms - boot_ms);
}

/* ---- observations -------------------------------------------------------------------------------------------- */

void helio_witness_recall(helio_witness_t *self, const helio_evidence_t *evidence)
{
    if (evidence)
        self->former = self->told = *evidence;
}

void helio_witness_shown(helio_witness_t *self, int64_t asked_ms)
{
    if (!self->first_ms)
        self->first_ms = asked_ms;
    self->last_ms = asked_ms;
}

void helio_witness_ended(helio_witness_t *self, int64_t end_ms, int64_t now_wall_ms)
{
    self->end_ms = end_ms < now_wall_ms ? end_ms : now_wall_ms;
}

bool helio_witness_was_shown(const helio_witness_t *self)
{
    return self->former.shown_wall_ms != 0;
}

bool helio_witness_was_claimed(const helio_witness_t *self)
{
#ifdef HELIO_MUTANT_claim_is_forgotten
    return false && self;
#else
    return self->former.claimed_boot_ms != 0;
#endif
}

/*  When the first list showed it, by this machine's clock of today. This agent's lists showed it, or earlier ones. */
static int64_t first_shown_ms(const helio_witness_t *self, int64_t now_wall_ms, int64_t now_boot_ms)
{
    const helio_evidence_t *former = &self->former;
    return former->shown_wall_ms
               ? now_boot_ms - at_least_since(former->shown_wall_ms, former->shown_boot_ms, now_wall_ms, now_boot_ms)
               : self->first_ms;
}

bool helio_witness_news(helio_witness_t *self, int64_t claimed_ms, int64_t now_boot_ms, int64_t now_wall_ms,
                        helio_evidence_t *ret_evidence)
{
    helio_evidence_t now = self->told;
    if (claimed_ms)
        now.claimed_boot_ms = claimed_ms;
    if (self->first_ms && !now.shown_wall_ms) {
        now.shown_boot_ms = self->first_ms;
        now.shown_wall_ms = now_wall_ms - (now_boot_ms - self->first_ms);
    }
    int64_t for_ms = self->last_ms ? self->last_ms - first_shown_ms(self, now_wall_ms, now_boot_ms) : 0;
    int64_t told_ms = (int64_t)self->told.shown_for_ms;
    if (for_ms >= told_ms + told_ms / TELL_PART && for_ms >= told_ms + (told_ms < TELL_MS ? TELL_SOON_MS : TELL_MS))
        now.shown_for_ms = (uint64_t)for_ms;
    bool news = memcmp(&now, &self->told, sizeof now) != 0;
    self->told = now;
    *ret_evidence = now;
    return news;
}

/* ---- bounds -------------------------------------------------------------------------------------------- */

/*  No attempt is older than its job, whose id holds the time. 0: the id holds no plausible time. */
static int64_t birth_wall_ms(const helio_charged_t *self)
{
    int64_t ms = 0;
    for (int i = 0; i < 6; i++)
        ms = ms << 8 | self->key.job.bytes[i];
    return ms <= self->now_wall_ms ? ms : 0;
}

/*  Since it was submitted; negative: unknown. */
static int64_t asked_for_ms(const helio_charged_t *self)
{
    const helio_evidence_t *former = &self->witness->former;
    if (self->asked_ms)
        return self->now_boot_ms - self->asked_ms;
#ifndef HELIO_MUTANT_begun_before_submission
    if (former->asked_wall_ms)
        return at_most_since(former->asked_wall_ms, former->asked_boot_ms, self->now_wall_ms, self->now_boot_ms);
#endif
    return -1;
}

/*  No run is longer: since its submission, or, of an older agent's, since the submission of its job. */
static int64_t longest_ms(const helio_charged_t *self)
{
    int64_t ms = asked_for_ms(self);
    return ms >= 0 ? ms : self->now_wall_ms - birth_wall_ms(self);
}

/*  The earliest time at which it can have begun; for display. */
static int64_t earliest_wall_ms(const helio_charged_t *self)
{
    int64_t start_ms = self->witness->start_ms, at_ms = self->now_wall_ms - longest_ms(self);
    if (start_ms)
        at_ms = longer(start_ms, at_ms - CLOCKS_MS);
    at_ms = at_ms < self->now_wall_ms ? at_ms - SLACK_MS : self->now_wall_ms - SLACK_MS;
    return at_ms > 0 ? at_ms : 0;
}

/*  When an earlier agent saw its claim, by this machine's clock of today; 0: unknown. After a restart of the machine that
 *  is later than it was. */
static int64_t was_claimed_ms(const helio_charged_t *self)
{
    int64_t at_ms = helio_witness_was_claimed(self->witness) ? self->witness->former.claimed_boot_ms : 0;
    return at_ms <= self->now_boot_ms ? at_ms : 0;
}

/*  The scheduler showed it on its nodes, or a shim had claimed it: from then on, or, if another agent submitted it, from the scheduler's start. */
static int64_t shown_ms(const helio_charged_t *self)
{
    const helio_witness_t *witness = self->witness;
    int64_t former_ms = (int64_t)witness->former.shown_for_ms - self->launch_ms;
#ifdef HELIO_MUTANT_shown_is_forgotten
    former_ms = 0;
#endif
    if (!witness->last_ms)
        return former_ms;
    int64_t from_ms = first_shown_ms(witness, self->now_wall_ms, self->now_boot_ms);
    if (!self->asked_ms && witness->start_ms) {
        int64_t start_ms = self->now_boot_ms - (self->now_wall_ms - witness->start_ms);
        from_ms = start_ms < from_ms ? start_ms : from_ms;
    }
    int64_t claimed_ms = was_claimed_ms(self);
    if (claimed_ms && claimed_ms < from_ms)
        from_ms = claimed_ms;
    from_ms = longer(from_ms, self->now_boot_ms - longest_ms(self)) + self->launch_ms;
    if (self->started_ms && self->started_ms < from_ms)
        from_ms = self->started_ms;
    return longer(former_ms, witness->last_ms - from_ms);
}

/*  The time on its nodes as the scheduler showed it, without the time before the first program. The scheduler's end is
 *  that of the program: epilogs do not count. */
static uint64_t least_ms(const helio_charged_t *self)
{
    const helio_witness_t *witness = self->witness;
    int64_t ms = shown_ms(self) - SLACK_MS;
    if (witness->start_ms && witness->end_ms) {
        int64_t own_ms = witness->end_ms - witness->start_ms, most_ms = longest_ms(self);
        own_ms = (own_ms < most_ms ? own_ms : most_ms) - self->launch_ms - WHOLE_MS;
        ms = longer(ms, own_ms);
    }
    return ms > 0 ? (uint64_t)ms : 0;
}

/*  A shim had claimed it, and its user has removed its status files: from the claim until the last list that showed it, of
 *  this agent or of an earlier one, or until the scheduler's end of it. */
static uint64_t claimed_ms(const helio_charged_t *self)
{
    const helio_witness_t *witness = self->witness;
    const helio_evidence_t *former = &witness->former;
    int64_t from_ms = was_claimed_ms(self), until_ms = witness->last_ms;
    int64_t late_ms = former->claimed_boot_ms - former->shown_boot_ms;
    int64_t ms = (int64_t)former->shown_for_ms - longer(late_ms, 0);
    if (witness->end_ms)
        until_ms = longer(until_ms, self->now_boot_ms - (self->now_wall_ms - witness->end_ms));
    if (from_ms && until_ms)
        ms = longer(ms, until_ms - from_ms);
    int64_t most_ms = longest_ms(self);
    ms = ms < most_ms ? ms : most_ms;
    return ms > 0 ? (uint64_t)ms : 0;
}

/*  By one clock each: since its submission; between the scheduler's start and end. Only without both, by two clocks. Never
 *  below the least: lists go before times that contradict them. */
static uint64_t most_ms(const helio_charged_t *self, uint64_t least)
{
    const helio_witness_t *witness = self->witness;
    int64_t ms = asked_for_ms(self);
    if (ms < 0)
        ms = self->now_wall_ms - earliest_wall_ms(self);
    if (witness->start_ms && witness->end_ms && witness->end_ms - witness->start_ms < ms)
        ms = witness->end_ms - witness->start_ms;
    uint64_t most = ms > 0 ? (uint64_t)(ms + SLACK_MS) : SLACK_MS;
    return most > least ? most : least;
}

static int64_t between(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

int64_t helio_charged_begun_wall_ms(const helio_charged_t *self, int64_t said_ms)
{
    return between(said_ms, earliest_wall_ms(self), self->now_wall_ms);
}

/* ---- charging ------------------------------------------------------------------------------------------ */

static void say_doubt(helio_aev_backend_t *end, char explanation[HELIO_CHARGE_TEXT_SIZE], const char *doubt)
{
    char before[HELIO_CHARGE_TEXT_SIZE];
    (void)snprintf(before, sizeof before, "%s", explanation);
    if (end->cause == HELIO_CAUSE_NONE)
        end->cause = HELIO_CAUSE_DOUBTED;
    int size = snprintf(explanation, HELIO_CHARGE_TEXT_SIZE, "%.110s%s%s", before, before[0] ? "; " : "", doubt);
    assert(size < HELIO_CHARGE_TEXT_SIZE);
    (void)size;
}

/*  Its status files are gone, and the lists tell nothing of it: it began, and no time is known. Its end must not be now:
 *  nobody ran it while no agent was there. */
static void end_as_it_began(const helio_charged_t *self, helio_aev_backend_t *end)
{
    int64_t claimed_at_ms = was_claimed_ms(self), for_ms = claimed_at_ms ? self->now_boot_ms - claimed_at_ms : 0;
    end->started_wall_ms = end->ended_wall_ms = helio_charged_begun_wall_ms(self, self->now_wall_ms - for_ms);
}

/*  Its status files show no run; its user can have removed them. The scheduler's lists and times show whether it was on its
 *  nodes for longer than it takes to start. A node that failed meanwhile, and no shim had claimed it: it never started. */
static void doubt_unstarted(const helio_charged_t *self, helio_aev_backend_t *end,
                            char explanation[HELIO_CHARGE_TEXT_SIZE])
{
    bool gone = helio_witness_was_claimed(self->witness) && end->word == HELIO_BACKEND_REPORT_VANISHED;
    uint64_t ran_ms = least_ms(self), begun_ms = gone ? claimed_ms(self) : 0;
    char said[HELIO_CHARGE_TEXT_SIZE];
    ran_ms = ran_ms > begun_ms ? ran_ms : begun_ms;
    if (!ran_ms && gone)
        end_as_it_began(self, end);
    if (!ran_ms || (!self->claimed && !gone && end->cause == HELIO_CAUSE_NODE_FAILED))
        return;
#ifdef HELIO_MUTANT_unclaimed_is_free
    if (!self->claimed)
        return;
#endif
    (void)helio_cause_text(end->cause, helio_text_of(explanation), said, sizeof said);
    (void)snprintf(explanation, HELIO_CHARGE_TEXT_SIZE,
                   "its status file shows no run, but %.20s showed it on its nodes: %llu ms are charged%s%.120s%s",
                   self->scheduler, (unsigned long long)ran_ms, said[0] ? " (" : "", said, said[0] ? ")" : "");
    if (gone)
        (void)snprintf(explanation, HELIO_CHARGE_TEXT_SIZE,
                       "its status files are gone, but a shim had begun it: %llu ms are charged%s%.120s%s",
                       (unsigned long long)ran_ms, said[0] ? " (" : "", said, said[0] ? ")" : "");
    end->cause = HELIO_CAUSE_DOUBTED;
    if (end->word == HELIO_BACKEND_REPORT_FAILED_TO_START)
        end->word = HELIO_BACKEND_REPORT_VANISHED;
    end->run_ms = ran_ms;
    end->ended_wall_ms = self->now_wall_ms;
    end->started_wall_ms = helio_charged_begun_wall_ms(self, end->ended_wall_ms - (int64_t)ran_ms);
}

static bool is_far(int64_t one_ms, int64_t other_ms)
{
    return one_ms - other_ms > MOVED_MS || other_ms - one_ms > MOVED_MS;
}

void helio_charge(const helio_charged_t *self, helio_aev_backend_t *end, char explanation[HELIO_CHARGE_TEXT_SIZE])
{
    if (end->word != HELIO_BACKEND_REPORT_ABSENT && !end->started_wall_ms && !end->run_ms)
        doubt_unstarted(self, end, explanation);
    if ((end->word != HELIO_BACKEND_REPORT_ENDED && end->word != HELIO_BACKEND_REPORT_VANISHED) ||
        (!end->started_wall_ms && !end->run_ms))
        return;
    int64_t early_ms = earliest_wall_ms(self), said_start_ms = end->started_wall_ms, said_end_ms = end->ended_wall_ms;
    uint64_t said_ms = end->run_ms, least = least_ms(self), most = most_ms(self, least);
    end->ended_wall_ms = between(said_end_ms, early_ms, self->now_wall_ms);
    end->started_wall_ms = between(said_start_ms, early_ms, end->ended_wall_ms);
    end->run_ms = said_ms > most ? most : said_ms < least ? least : said_ms;
    char doubt[144];
    if (end->run_ms != said_ms)
        (void)snprintf(doubt, sizeof doubt,
                       "its status file shows %llu ms, but by %.20s and the agent it ran %s %llu ms",
                       (unsigned long long)said_ms, self->scheduler, said_ms > most ? "at most" : "at least",
                       (unsigned long long)end->run_ms);
    else if (is_far(said_start_ms, end->started_wall_ms) || is_far(said_end_ms, end->ended_wall_ms))
        (void)snprintf(doubt, sizeof doubt, "its status files give times at which it was not on its nodes");
    else
        return;
    say_doubt(end, explanation, doubt);
}
