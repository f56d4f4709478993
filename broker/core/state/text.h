/*  text.h -- times, durations and money in words. */
#ifndef HELIO_BROKER_CORE_STATE_TEXT_H
#define HELIO_BROKER_CORE_STATE_TEXT_H

#include "broker/core/state/nouns.h"

const char *core_minute_text(helio_broker_core_t *self, int64_t wall_ms); /* "2026-03-01T14:00Z" */
const char *core_second_text(helio_broker_core_t *self, int64_t wall_ms); /* "2026-03-01T14:00:05Z", rounded up */
const char *core_span_text(helio_broker_core_t *self, uint64_t ms);               /* "4h30m", rounded up */
const char *core_money_text(helio_broker_core_t *self, int64_t micro_usd); /* "$12.30" */

#endif
