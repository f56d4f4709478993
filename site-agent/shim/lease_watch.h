/*  lease_watch.h -- computes from a lease file the latest time at which an attempt can still run, by this machine's
 *  boot clock. plan.h describes the file. Pure: the caller gives the clocks. */
#ifndef HELIO_SHIM_LEASE_WATCH_H
#define HELIO_SHIM_LEASE_WATCH_H

#include "site-agent/shim/plan.h"

/*  Before the first lease is read, boot_id and tolerance_ms are set and the rest is 0, so that both deadlines have
 *  passed. */
typedef struct helio_lease_watch {
    char boot_id[HELIO_BOOT_ID_SIZE]; /* of this machine */
    uint64_t tolerance_ms;            /* largest difference between the writer's clock and this machine's */
    int64_t stop_boot_ms;             /* CLOCK_BOOTTIME of this machine */
    int64_t kill_boot_ms;
    uint64_t number;      /* of the last file that was written for any machine; 0 = none was read */
    int64_t looked_at_ms; /* when the last read of `number` began */
} helio_lease_watch_t;

/*  Takes the contents of the file. asked_boot_ms: before the file was opened; now_boot_ms, now_wall_ms: after it was
 *  read. A file with a lower number than the last one is an old copy, and is ignored. */
void helio_lease_watch_see(helio_lease_watch_t *self, const helio_lease_t *lease, int64_t asked_boot_ms,
                           int64_t now_boot_ms, int64_t now_wall_ms);

#endif
