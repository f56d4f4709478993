/*  read_queue.c -- owners in a circle, each with its light and heavy reads. An owner is there while it has reads that
 *  wait or run. Beside them, the snapshot. */
#include "broker/store/read_queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { LIGHT, HEAVY, LANES };

/*  Queries whose cost grows with the number of jobs, days or log entries. */
static const char *const heavy[] = {"read_jobs",   "read_audit",   "read_audit_verify",  "read_report",
                                    "read_totals", "read_balance", "read_forecasts_now", "read_balance_now",
                                    "read_quotas", "read_queues",  "read_retention",     "read_forecast",
                                    "read_history"};

typedef struct owner owner_t;
struct owner {
    char *name;
    helio_read_t *lanes[LANES];
    uint32_t waiting, running;
    owner_t *prev, *next;
};

struct helio_read_queue {
    owner_t *owners; /* whose turn it is, first */
    uint32_t waiting, waiting_max;
    uint32_t heavy_running, heavy_max;
    uint32_t owner_running_max;
    helio_read_t *snapshot; /* that waits; NULL = none */
    bool snapshot_runs;
};

bool helio_read_is_heavy(const helio_read_t *read)
{
    for (size_t i = 0; i < sizeof heavy / sizeof heavy[0]; i++)
        if (strcmp(read->query, heavy[i]) == 0)
            return true;
    return false;
}

bool helio_read_is_snapshot(const helio_read_t *read)
{
    return strcmp(read->query, HELIO_READ_SNAPSHOT) == 0;
}

helio_read_queue_t *helio_read_queue_new(uint32_t connections)
{
    helio_read_queue_t *self = helio_new(1, sizeof *self);
    self->waiting_max = connections * HELIO_READ_QUEUE_EACH_THREAD;
    self->heavy_max = connections > 1 ? connections / 2 : 1;
    self->owner_running_max = connections > 1 ? connections - 1 : 1;
    return self;
}

void helio_read_queue_destroy(helio_read_queue_t **self_p)
{
    if (!*self_p)
        return;
    assert(!(*self_p)->owners && !(*self_p)->snapshot);
    free(*self_p);
    *self_p = NULL;
}

static owner_t *find(const helio_read_queue_t *self, const helio_read_t *read)
{
    const char *name = read->owner ? read->owner : "";
    owner_t *owner = self->owners;
    while (owner && strcmp(owner->name, name) != 0)
        owner = owner->next;
    return owner;
}

static void forget_if_done(helio_read_queue_t *self, owner_t *owner)
{
    if (owner->waiting || owner->running)
        return;
    DL_DELETE(self->owners, owner);
    free(owner->name);
    free(owner);
}

static helio_rc push_snapshot(helio_read_queue_t *self, helio_read_t *read, int64_t now_ms)
{
#ifndef HELIO_MUTANT_snapshots_at_once
    if (self->snapshot || self->snapshot_runs)
        return HELIO_BUSY;
#endif
    read->posted_ms = now_ms;
    self->snapshot = read;
    return HELIO_OK;
}

helio_rc helio_read_queue_push(helio_read_queue_t *self, helio_read_t *read, int64_t now_ms)
{
    if (helio_read_is_snapshot(read))
        return push_snapshot(self, read, now_ms);
    owner_t *owner = find(self, read);
    bool has_enough = read->owner && owner && owner->waiting >= HELIO_READ_QUEUE_OWNER_MAX;
    if (self->waiting >= self->waiting_max || has_enough)
        return HELIO_BUSY;
    if (!owner) {
        owner = helio_new(1, sizeof *owner);
        owner->name = helio_strdup(read->owner ? read->owner : "");
        DL_APPEND(self->owners, owner);
    }
    read->posted_ms = now_ms;
    DL_APPEND(owner->lanes[helio_read_is_heavy(read)], read);
    owner->waiting++;
    self->waiting++;
    return HELIO_OK;
}

static helio_read_t *take(helio_read_queue_t *self, owner_t *owner, int lane)
{
    helio_read_t *read = owner->lanes[lane];
    DL_DELETE(owner->lanes[lane], read);
    owner->waiting--;
    self->waiting--;
    return read;
}

static helio_read_t *take_allowed(helio_read_queue_t *self, owner_t *owner)
{
    if (owner->running >= self->owner_running_max)
        return NULL;
    if (owner->lanes[LIGHT])
        return take(self, owner, LIGHT);
    return owner->lanes[HEAVY] && self->heavy_running < self->heavy_max ? take(self, owner, HEAVY) : NULL;
}

helio_read_t *helio_read_queue_pop(helio_read_queue_t *self)
{
    for (owner_t *owner = self->owners; owner; owner = owner->next) {
        helio_read_t *read = take_allowed(self, owner);
        if (!read)
            continue;
        owner->running++;
        self->heavy_running += helio_read_is_heavy(read);
        DL_DELETE(self->owners, owner); /* the others come first now */
        DL_APPEND(self->owners, owner);
        return read;
    }
    return NULL;
}

helio_read_t *helio_read_queue_pop_snapshot(helio_read_queue_t *self)
{
    helio_read_t *read = self->snapshot;
    self->snapshot = NULL;
    self->snapshot_runs = self->snapshot_runs || read;
    return read;
}

void helio_read_queue_ran(helio_read_queue_t *self, const helio_read_t *read)
{
    if (helio_read_is_snapshot(read)) {
        self->snapshot_runs = false;
        return;
    }
    owner_t *owner = find(self, read);
    assert(owner && owner->running);
    owner->running--;
    self->heavy_running -= helio_read_is_heavy(read);
    forget_if_done(self, owner);
}

helio_read_t *helio_read_queue_drain(helio_read_queue_t *self)
{
    helio_read_t *snapshot = self->snapshot;
    self->snapshot = NULL;
    if (snapshot)
        return snapshot;
    for (owner_t *owner = self->owners; owner; owner = owner->next) {
        if (!owner->waiting)
            continue;
        helio_read_t *read = take(self, owner, owner->lanes[LIGHT] ? LIGHT : HEAVY);
        forget_if_done(self, owner);
        return read;
    }
    return NULL;
}
