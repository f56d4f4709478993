/*  snapshot_read.h -- the snapshot of broker/snapshot, read by one transaction over a reader's connection. */
#ifndef HELIO_BROKER_STORE_SNAPSHOT_READ_H
#define HELIO_BROKER_STORE_SNAPSHOT_READ_H

#include "broker/snapshot/snapshot.h"
#include "broker/store/session.h"

/*  All parts but the options. hours: NULL, or of the time that is over, as decimal digits. The connection is idle, blocking
 *  and not in pipeline mode. */
HELIO_MUST_CHECK helio_rc helio_snapshot_read(PGconn *connection, const char *hours, helio_buffer_t *out,
                                              helio_error_t *err);

#endif
