/*  held.c -- the table of a backend's attempts. */
#include "site-agent/backends/held.h"

#include <assert.h>
#include <utlist.h>

void *helio_held_find(const helio_held_table_t *self, helio_job_key_t key, uint32_t epoch)
{
    const helio_attempt_id_t id = {key, epoch};
    helio_held_t *attempt;
    HASH_FIND(hh, self->by_id, &id, sizeof id, attempt);
    return attempt;
}

void *helio_held_add(helio_held_table_t *self, helio_job_key_t key, uint32_t epoch, size_t size)
{
    assert(size >= sizeof(helio_held_t) && !helio_held_find(self, key, epoch));
    helio_held_t *attempt = helio_new(1, size);
    attempt->id = (helio_attempt_id_t){key, epoch};
    helio_attempt_name(key, epoch, attempt->name);
    HASH_ADD(hh, self->by_id, id, sizeof attempt->id, attempt);
    DL_PREPEND2(self->first, attempt, before, after);
    self->count++;
    return attempt;
}

void helio_held_remove(helio_held_table_t *self, helio_held_t *attempt)
{
    HASH_DEL(self->by_id, attempt);
    DL_DELETE2(self->first, attempt, before, after);
    self->count--;
}
