/*  slurm_charge.c -- what Slurm shows of an attempt, for what it is charged (site-agent/backends/folder/witness.h): when
 *  sbatch was called, in which lists Slurm showed the job on its nodes, and Slurm's own start and end of it.
 */
#include "site-agent/backends/slurm/slurm_internal.h"

enum {
    LEFT_OUT_MS = 30000, /* status files are checked every ten seconds */
    AWAIT_MS = 15000
};

/* ---- observations -------------------------------------------------------------------------------------------- */

bool helio_slurm_shows_run(const helio_slurm_seen_t *seen)
{
    return seen->live && (seen->state == HELIO_SLURM_RUNNING || seen->state == HELIO_SLURM_SUSPENDED ||
                          seen->state == HELIO_SLURM_STOPPED || seen->state == HELIO_SLURM_SIGNALING);
}

void helio_slurm_witness(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    const helio_slurm_seen_t *seen = &attempt->seen;
    bool completing = seen->live && seen->state == HELIO_SLURM_COMPLETING;
    if (!helio_slurm_shows_run(seen) && !((seen->over || completing) && seen->start_s))
        return;
    if (helio_slurm_shows_run(seen))
        helio_witness_shown(&attempt->witness, self->poll.asked_ms);
    if (seen->start_s)
        attempt->witness.start_ms = seen->start_s * 1000;
    if ((seen->over || completing) && seen->end_s)
        helio_witness_ended(&attempt->witness, seen->end_s * 1000, self->now_wall_ms);
}

void helio_slurm_tell_evidence(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    helio_aev_evidence_t event = {.key = attempt->held.id.key, .epoch = attempt->held.id.epoch};
    if (attempt->phase < HELIO_SLURM_AT_OVER && self->sink.on_evidence &&
        helio_witness_news(&attempt->witness, attempt->life.claimed_ms, self->now_boot_ms, self->now_wall_ms,
                           &event.evidence))
        self->sink.on_evidence(self->sink.arg, &event);
}

void helio_slurm_witness_end(helio_slurm_attempt_t *attempt, int64_t start_s, int64_t end_s)
{
    if (start_s && end_s >= start_s) {
        attempt->witness.start_ms = start_s * 1000;
        helio_witness_ended(&attempt->witness, end_s * 1000, attempt->backend->now_wall_ms);
    }
}

bool helio_slurm_is_emptied(const helio_slurm_attempt_t *attempt)
{
    return !attempt->claimed && helio_witness_was_claimed(&attempt->witness);
}

/* ---- charging ------------------------------------------------------------------------------------------ */

static helio_charged_t charged(const helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    uint64_t prolog_ms = self->settings.prolog_ms;
    return (helio_charged_t){.witness = &attempt->witness,
                             .key = attempt->held.id.key,
                             .claimed = attempt->claimed,
                             .asked_ms = attempt->first_ms,
                             .started_ms = attempt->said_started ? attempt->said_started_ms : 0,
                             .launch_ms = prolog_ms ? (int64_t)prolog_ms : HELIO_SLURM_PROLOG_MS,
                             .scheduler = "Slurm",
                             .now_boot_ms = self->now_boot_ms,
                             .now_wall_ms = self->now_wall_ms};
}

int64_t helio_slurm_begun_wall_ms(const helio_slurm_attempt_t *attempt, int64_t said_ms)
{
    helio_charged_t what = charged(attempt);
    return helio_charged_begun_wall_ms(&what, said_ms);
}

void helio_slurm_charge(helio_slurm_attempt_t *attempt)
{
    helio_charged_t what = charged(attempt);
    uint64_t said_ms = attempt->end.run_ms;
    helio_charge(&what, &attempt->end, attempt->explanation);
    if (said_ms && attempt->end.run_ms == said_ms) /* nothing is doubted */
        helio_slurm_count(attempt, what.launch_ms);
}

bool helio_slurm_awaits_slurm(helio_slurm_attempt_t *attempt, const helio_done_t *done)
{
    const helio_slurm_t *self = attempt->backend;
    if (!helio_slurm_shows_run(&attempt->seen) || self->poll.failures || !attempt->said_started ||
        attempt->phase == HELIO_SLURM_AT_LEAVING)
        return false;
    int64_t said_ms = (int64_t)done->run_ms > 0 ? (int64_t)done->run_ms : 0;
    if (self->now_boot_ms - attempt->said_started_ms - said_ms < LEFT_OUT_MS)
        return false;
    if (!attempt->doubted_ms)
        attempt->doubted_ms = self->now_boot_ms ? self->now_boot_ms : 1;
    return self->now_boot_ms - attempt->doubted_ms < AWAIT_MS;
}
