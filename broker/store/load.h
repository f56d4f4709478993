/*  load.h -- the rows that a new leader reads, over any connection. */
#ifndef HELIO_BROKER_STORE_LOAD_H
#define HELIO_BROKER_STORE_LOAD_H

#include "broker/store/session.h"
#include "broker/store/store.h"

/*  As helio_store_load; the connection is idle, blocking and not in pipeline mode. with_jobs false: only what does not
 *  depend on the moment, namely tenants, queues, quotas, budgets, data, links, sites and pools. */
HELIO_MUST_CHECK helio_rc helio_load_each(PGconn *connection, int64_t usage_ms, bool with_jobs,
                                          helio_store_emit_fn *emit, void *arg, helio_error_t *err);

#endif
