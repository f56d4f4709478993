/*  waiters.c -- a table of what is waited for, each with its holds. */
#include "broker/core/holds/waiters.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "federation/base/memory.h"

waited_t *core_waited_find(waited_t *all, helio_job_key_t on, uint32_t after)
{
    waited_t wanted, *found;
    memset(&wanted.key, 0, sizeof wanted.key);
    wanted.key.on = on;
    wanted.key.after = after;
    HASH_FIND(hh, all, &wanted.key, sizeof wanted.key, found);
    return found;
}

void core_waiter_add(waited_t **all_p, dependency_hold_t *hold, helio_job_key_t on, uint32_t after)
{
    waited_t *waited = core_waited_find(*all_p, on, after);
    if (!waited) {
        waited = helio_new(1, sizeof *waited);
        waited->key.on = on;
        waited->key.after = after;
        HASH_ADD(hh, *all_p, key, sizeof waited->key, waited);
    }
    waiter_t *waiter = helio_new(1, sizeof *waiter);
    waiter->waited = waited;
    waiter->hold = hold;
    DL_APPEND(waited->waiters, waiter);
    DL_APPEND2(hold->waiters, waiter, hold_prev, hold_next);
    hold->waiter_count++;
}

void core_waiter_remove(waited_t **all_p, waiter_t *waiter)
{
    waited_t *waited = waiter->waited;
    DL_DELETE(waited->waiters, waiter);
    DL_DELETE2(waiter->hold->waiters, waiter, hold_prev, hold_next);
    waiter->hold->waiter_count--;
    if (!waited->waiters) {
        HASH_DEL(*all_p, waited);
        free(waited);
    }
    free(waiter);
}
