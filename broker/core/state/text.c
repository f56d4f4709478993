/*  text.c -- times, durations and money in words. */
#include "broker/core/state/text.h"

#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "federation/base/clock.h"

/*  "2026-03-01T14:00Z" */
const char *core_minute_text(helio_broker_core_t *self, int64_t wall_ms)
{
    char text[HELIO_RFC3339_SIZE];
    helio_rfc3339(wall_ms, text);
    return core_printf(self, "%.16sZ", text);
}

const char *core_second_text(helio_broker_core_t *self, int64_t wall_ms)
{
    char text[HELIO_RFC3339_SIZE];
    helio_rfc3339(wall_ms + 999, text);
    return core_printf(self, "%.19sZ", text);
}

const char *core_span_text(helio_broker_core_t *self, uint64_t ms)
{
    unsigned long long m = (ms + 59999) / 60000;
    return m < 60 ? core_printf(self, "%llum", m) : core_printf(self, "%lluh%02llum", m / 60, m % 60);
}

const char *core_money_text(helio_broker_core_t *self, int64_t micro_usd)
{
    int64_t cents = ((micro_usd < 0 ? -micro_usd : micro_usd) + 5000) / 10000;
    return core_printf(self, "%s$%lld.%02d", micro_usd < 0 ? "-" : "", (long long)(cents / 100),
                       (int)(cents % 100));
}
