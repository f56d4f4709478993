/*  recent_ends.c -- a table by key, in the order in which they ended. */
#include "broker/core/holds/recent_ends.h"

#include <stdlib.h>
#include <uthash.h>

#include "broker/core/state/core.h"
#include "federation/base/memory.h"

struct recent_end {
    helio_job_key_t on;
    helio_found_t how;
    UT_hash_handle hh;
};

static recent_end_t *find(const helio_broker_core_t *self, helio_job_key_t on)
{
    recent_end_t *found;
    HASH_FIND(hh, self->recent_ends, &on, sizeof on, found);
    return found;
}

static void forget_oldest(helio_broker_core_t *self)
{
    recent_end_t *oldest = self->recent_ends;
    HASH_DEL(self->recent_ends, oldest);
    free(oldest);
}

void core_recent_ends_add(helio_broker_core_t *self, helio_job_key_t on, helio_found_t how)
{
    if (find(self, on)) /* the first end is the one that counts */
        return;
    recent_end_t *end = helio_new(1, sizeof *end);
    end->on = on;
    end->how = how;
#ifdef HELIO_MUTANT_recent_end_is_success
    end->how = HELIO_FOUND_OK;
#endif
    HASH_ADD(hh, self->recent_ends, on, sizeof end->on, end);
    if (HASH_COUNT(self->recent_ends) > CORE_RECENT_ENDS_MAX)
        forget_oldest(self);
}

helio_found_t core_recent_end(const helio_broker_core_t *self, helio_job_key_t on)
{
    const recent_end_t *end = find(self, on);
    return end ? end->how : HELIO_FOUND_OPEN;
}

void core_recent_ends_free(helio_broker_core_t *self)
{
    while (self->recent_ends)
        forget_oldest(self);
}
