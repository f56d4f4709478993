/*  presence.h -- the lines that the broker logs when a site connects, becomes silent, and returns: from the rows of
 *  sites, once they are durable. At most ten a second. */
#ifndef HELIO_BROKER_ENGINE_PRESENCE_H
#define HELIO_BROKER_ENGINE_PRESENCE_H

#include "broker/model/rows_site.h"
#include "federation/base/log.h"

typedef struct helio_presence helio_presence_t;

/*  since_ms: when this broker began to lead, wall clock. What rows say of the time before is not news.
 *  silent_after_ms: what the core calls silent. */
helio_presence_t *helio_presence_new(int64_t since_ms, uint64_t silent_after_ms);
void helio_presence_destroy(helio_presence_t **self_p);

/*  Logs `site_connected`, `site_silent` or `site_returned` when the row says so; most rows of a site say nothing new.
 *  wall_ms: now. */
void helio_presence_log(helio_presence_t *self, helio_log_t *log, const helio_row_site_t *row, int64_t wall_ms);

#endif
