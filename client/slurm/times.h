/*  times.h -- instants as sacct takes them. Pure. */
#ifndef HELIO_CLIENT_SLURM_TIMES_H
#define HELIO_CLIENT_SLURM_TIMES_H

#include "federation/energy/zone.h"

/*  "2026-03-01", "2026-03-01T12:00", "2026-03-01T12:00:05", "today", "now", "now-2days", in the zone (NULL = UTC). */
bool helio_slurm_time(const char *word, const helio_zone_t *zone, int64_t now_ms, int64_t *ret_ms);

#endif
