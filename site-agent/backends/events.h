/*  events.h -- what a backend reports through its sink: events of an attempt, their explanations, and whether the
 *  cluster's scheduler answers. */
#ifndef HELIO_BACKENDS_EVENTS_H
#define HELIO_BACKENDS_EVENTS_H

#include "site-agent/backends/held.h"

/*  Reports an event of an attempt that its scheduler knows as `local_id`. */
void helio_held_report(const helio_backend_sink_t *sink, const helio_held_t *attempt, const char *local_id,
                       helio_aev_backend_t event);

/*  Explanations are written to reports and logs: makes the text one line of printable, whole UTF-8 characters. Its last
 *  character goes if it has been cut. */
void helio_explanation_flatten(char *text);

/*  Whether the scheduler answers; zero-initialised, it does. */
typedef struct helio_silence {
    bool silent; /* as it was reported */
    int64_t since_ms;
} helio_silence_t;
/*  Reports a change, and only that. unanswered_ms: the time of the first request that it left unanswered; 0 = none. */
void helio_silence_report(helio_silence_t *self, const helio_backend_sink_t *sink, bool silent, int64_t unanswered_ms,
                          int64_t now_boot_ms);

#endif
