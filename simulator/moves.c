/*  moves.c -- the promises on those who leave for a better site: only who asked and tells how it saves, so
 * often at most, and not again within an hour. Watched on the rows that a leader writes. That it runs at one
 * place at a time, that no GPU is held twice and that all comes to its end, invariants.c sees of every job.
 */
#include <stdlib.h>
#include <string.h>

#include "federation/policy/move.h"
#include "simulator/internal.h"

enum { RESIDENCE_MS = HELIO_MOVE_RESIDENCE_MS - HELIO_MOVE_RESIDENCE_MS / 50 }; /* clocks drift by less */

/*  In half of the worlds half of the jobs; those draw nothing from the world's random numbers. */
bool moves_asks(const world_t *self, uint32_t index)
{
    return self->options.seed % 2 == 1 && world_draw(self, 20, index) % 2 == 0;
}

static wmoved_t *moved_of(world_t *self, helio_job_key_t key)
{
    wmoved_t *moved;
    HASH_FIND(hh, self->moved, &key, sizeof key, moved);
    if (!moved) {
        moved = helio_new(1, sizeof *moved);
        moved->key = key;
        HASH_ADD(hh, self->moved, key, sizeof moved->key, moved);
    }
    return moved;
}

static bool begins_with(helio_text_t text, const char *word)
{
    return text.size >= strlen(word) && memcmp(text.data, word, strlen(word)) == 0;
}

static bool contains(helio_text_t text, const char *word)
{
    for (uint32_t i = 0; i + strlen(word) <= text.size; i++)
        if (memcmp(text.data + i, word, strlen(word)) == 0)
            return true;
    return false;
}

void moves_transition(world_t *self, const helio_row_transition_t *row)
{
    self->arrivals += row->to == HELIO_JOB_OFFERED && contains(row->reason, ", moved from ");
    if (row->to != HELIO_JOB_STOPPING || !begins_with(row->reason, "moved from "))
        return;
    const wjob_t *job = workload_given(self, row->key.job);
    if (!job)
        return;
    const helio_job_spec_t *spec = &job->submission.spec;
    if (spec->on_better_site != HELIO_BETTER_SITE_CHECKPOINT ||
        (!spec->checkpoint_signal.size && !spec->checkpoint_every_ms))
        world_violate(self, "a job was moved that did not ask, or does not tell how it saves");
    wmoved_t *moved = moved_of(self, row->key);
    int64_t now_ms = world_boot_ms(self, &self->broker.clock);
    if (moved->at_ms && moved->life == self->broker.life && now_ms - moved->at_ms < RESIDENCE_MS)
        world_violate(self, "a job was moved again after %lld ms", (long long)(now_ms - moved->at_ms));
    moved->life = self->broker.life;
    moved->at_ms = now_ms;
    self->moves++;
}

void moves_state(world_t *self, const helio_row_state_t *row)
{
    if (row->moves > HELIO_MOVE_TIMES_MAX)
        world_violate(self, "a job was moved %u times", row->moves);
}

void moves_free(world_t *self)
{
    wmoved_t *moved, *next;
    HASH_ITER(hh, self->moved, moved, next)
    {
        HASH_DEL(self->moved, moved);
        free(moved);
    }
}
