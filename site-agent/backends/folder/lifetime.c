/*  lifetime.c -- until when a shim can touch its claim. */
#include "site-agent/backends/folder/lifetime.h"

#include "federation/base/number.h"

enum { DRIFT = 50 }; /* clocks of two machines differ by less than that part of the time that has passed */

static int64_t after(int64_t from_ms, uint64_t ms)
{
    uint64_t all_ms = ms + ms / DRIFT + HELIO_LIFETIME_SLACK_MS;
    return all_ms < (uint64_t)(INT64_MAX - from_ms) ? from_ms + (int64_t)all_ms : INT64_MAX;
}

static int64_t later(int64_t one_ms, int64_t other_ms)
{
    return one_ms > other_ms ? one_ms : other_ms;
}

void helio_lifetime_claimed(helio_lifetime_t *self, int64_t former_ms, int64_t now_ms)
{
    if (self->seen_ms)
        return;
    self->seen_ms = now_ms ? now_ms : 1;
    self->claimed_ms = former_ms && former_ms < self->seen_ms ? former_ms : self->seen_ms;
}

void helio_lifetime_touched(helio_lifetime_t *self, int64_t silent_ms, int64_t now_ms)
{
    if (silent_ms < HELIO_LIFETIME_SILENCE_MS)
        return;
#ifdef HELIO_MUTANT_suspended_is_dead
    return;
#endif
    self->claimed_ms += silent_ms;
    self->seen_ms += silent_ms;
    if (self->stop_ms)
        self->stop_ms += helio_lesser_i64(silent_ms, now_ms - self->stop_ms);
}

void helio_lifetime_stopped(helio_lifetime_t *self, uint32_t stop_mode, int64_t now_ms)
{
    if (self->stop_ms && self->stop_mode == stop_mode)
        return;
    self->stop_ms = now_ms ? now_ms : 1;
    self->stop_mode = stop_mode;
}

int64_t helio_lifetime_until_ms(const helio_lifetime_t *self, uint64_t limit_ms, uint64_t grace_ms)
{
    int64_t until_ms = INT64_MAX;
#ifndef HELIO_MUTANT_claim_touched_for_ever
    if (limit_ms && self->claimed_ms && limit_ms < UINT64_MAX / 4)
        until_ms = later(after(self->claimed_ms, limit_ms + grace_ms), after(self->seen_ms, grace_ms));
    uint64_t stop_grace_ms = limit_ms ? grace_ms : HELIO_JOB_GRACE_MAX_MS;
    if (self->stop_ms)
        until_ms = helio_lesser_i64(until_ms,
                                    after(self->stop_ms, self->stop_mode == HELIO_STOP_MODE_KILL ? 0 : stop_grace_ms));
#endif
    return until_ms;
}
