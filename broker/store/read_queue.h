/*  read_queue.h -- the reads that wait for a connection, shared out fairly by owner and by cost.
 *
 *  Owners (tenants) take turns, regardless of the number of their reads. Within an owner, light reads go before heavy
 *  ones: heavy are those that read many rows (lists, reports, the audit log). Of the connections, heavy reads get at
 *  most half, and one owner all but one, so that a light read of another owner always finds one soon.
 *
 *  A snapshot of the live state takes none of them: it has a lane and a connection of its own, and there is one at a
 *  time. Pure; not thread-safe. */
#ifndef HELIO_BROKER_STORE_READ_QUEUE_H
#define HELIO_BROKER_STORE_READ_QUEUE_H

#include "broker/store/reader.h"

enum {
    HELIO_READ_QUEUE_OWNER_MAX = 256,    /* waiting reads of one tenant */
    HELIO_READ_QUEUE_EACH_THREAD = 1024, /* waiting reads of all owners, for each connection */
    HELIO_READ_WAIT_MS = 15000           /* no caller waits longer than this for a read */
};

typedef struct helio_read_queue helio_read_queue_t;

helio_read_queue_t *helio_read_queue_new(uint32_t connections); /* without that for snapshots */
void helio_read_queue_destroy(helio_read_queue_t **self_p);     /* empty */

/*  HELIO_BUSY: full, for this owner or for all; of a snapshot: another one
 *  waits or runs. now_ms: boot clock. */
HELIO_MUST_CHECK helio_rc helio_read_queue_push(helio_read_queue_t *self, helio_read_t *read, int64_t now_ms);
/*  The next read that a free connection can run, or NULL: none waits, or all that wait have to. */
helio_read_t *helio_read_queue_pop(helio_read_queue_t *self);
/*  The snapshot that waits, for its own connection, or NULL. */
helio_read_t *helio_read_queue_pop_snapshot(helio_read_queue_t *self);
/*  After a read that was popped, before its `done`. */
void helio_read_queue_ran(helio_read_queue_t *self, const helio_read_t *read);
/*  The next read, regardless of the bounds; it counts as not run. For the end. */
helio_read_t *helio_read_queue_drain(helio_read_queue_t *self);

bool helio_read_is_heavy(const helio_read_t *read);
bool helio_read_is_snapshot(const helio_read_t *read);

#endif
