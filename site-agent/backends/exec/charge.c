/*  charge.c -- what the engine shows of an attempt, for what it is charged (site-agent/backends/folder/witness.h): when the
 *  adapter was asked to submit it, in which inventories the engine showed it running, and the engine's own begin and end.
 */
#include "site-agent/backends/exec/internal.h"

bool helio_exec_shows_run(const helio_exec_attempt_t *attempt)
{
    return attempt->listed.live && attempt->listed.state != HELIO_EXEC_WAITING;
}

void helio_exec_witness(helio_exec_attempt_t *attempt)
{
    const helio_exec_t *self = attempt->backend;
    const helio_exec_listed_t *listed = &attempt->listed;
    if (helio_exec_shows_run(attempt))
        helio_witness_shown(&attempt->witness, self->poll.asked_ms);
    bool ran = helio_exec_shows_run(attempt) || listed->over;
    if (ran && listed->begun_ms)
        attempt->witness.start_ms = listed->begun_ms;
    if (listed->over && listed->ended_ms && listed->ended_ms >= listed->begun_ms)
        helio_witness_ended(&attempt->witness, listed->ended_ms, self->now_wall_ms);
}

void helio_exec_tell_evidence(helio_exec_attempt_t *attempt)
{
    const helio_exec_t *self = attempt->backend;
    helio_aev_evidence_t event = {.key = attempt->held.id.key, .epoch = attempt->held.id.epoch};
    if (attempt->phase < HELIO_EXEC_AT_OVER && self->sink.on_evidence &&
        helio_witness_news(&attempt->witness, attempt->life.claimed_ms, self->now_boot_ms, self->now_wall_ms,
                           &event.evidence))
        self->sink.on_evidence(self->sink.arg, &event);
}

bool helio_exec_is_emptied(const helio_exec_attempt_t *attempt)
{
    return !attempt->claimed && helio_witness_was_claimed(&attempt->witness);
}

static helio_charged_t charged(const helio_exec_attempt_t *attempt)
{
    const helio_exec_t *self = attempt->backend;
    return (helio_charged_t){.witness = &attempt->witness,
                             .key = attempt->held.id.key,
                             .claimed = attempt->claimed,
                             .asked_ms = attempt->first_ms,
                             .started_ms = attempt->said_started_ms,
                             .launch_ms = (int64_t)self->settings.prolog_ms,
                             .scheduler = "the engine",
                             .now_boot_ms = self->now_boot_ms,
                             .now_wall_ms = self->now_wall_ms};
}

int64_t helio_exec_begun_wall_ms(const helio_exec_attempt_t *attempt, int64_t said_ms)
{
    helio_charged_t what = charged(attempt);
    return helio_charged_begun_wall_ms(&what, said_ms);
}

void helio_exec_charge(helio_exec_attempt_t *attempt)
{
    helio_charged_t what = charged(attempt);
    helio_charge(&what, &attempt->end, attempt->explanation);
}
