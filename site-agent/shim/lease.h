/*  lease.h -- until when a lease lets an attempt run, as its reader may believe it. Pure: clocks are told. */
#ifndef HELIO_SHIM_LEASE_H
#define HELIO_SHIM_LEASE_H

#include "site-agent/shim/plan.h"

/*  Zero-initialised but for the first two: no lease was ever seen, and the deadlines are in the past. */
typedef struct helio_lease_watch {
    char boot_id[HELIO_BOOT_ID_SIZE]; /* of this machine */
    uint64_t tolerance_ms;            /* by which the writer's clock may differ from ours */
    int64_t stop_boot_ms;             /* CLOCK_BOOTTIME of this machine */
    int64_t kill_boot_ms;
    uint64_t number;      /* of the remote form; 0 = none seen */
    int64_t looked_at_ms; /* when the last look at `number` began */
} helio_lease_watch_t;

/*  Takes what the file says. asked_boot_ms: before the file was opened; now_boot_ms, now_wall_ms: after it
 * was read. An older number than the last one changes nothing: it is an old file that has come back. */
void helio_lease_watch_see(helio_lease_watch_t *self, const helio_lease_t *lease, int64_t asked_boot_ms,
                           int64_t now_boot_ms, int64_t now_wall_ms);

#endif
