/*  lease_file.h -- reads the lease file of a site into a watch. */
#ifndef HELIO_SHIM_LEASE_FILE_H
#define HELIO_SHIM_LEASE_FILE_H

#include "site-agent/shim/lease_watch.h"

/*  The file is opened each time, since the agent replaces it. If it cannot be read, or does not name the attempt, the
 *  last deadline stays, since a deadline only ever moves later. */
void helio_lease_file_read(const helio_plan_t *plan, helio_lease_watch_t *watch);

#endif
