/*  events.c -- what a backend reports. */
#include "site-agent/backends/events.h"

#include <string.h>

void helio_held_report(const helio_backend_sink_t *sink, const helio_held_t *attempt, const char *local_id,
                       helio_aev_backend_t event)
{
    event.key = attempt->id.key;
    event.epoch = attempt->id.epoch;
    event.local_id = helio_text_of(local_id);
    sink->on_event(sink->arg, &event);
}

void helio_explanation_flatten(char *text)
{
    size_t size = strlen(text), at = size;
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    while (at && ((unsigned char)text[at - 1] & 0xc0) == 0x80)
        at--;
    if (!at || ((unsigned char)text[at - 1] & 0x80) == 0)
        return;
    unsigned char lead = (unsigned char)text[at - 1];
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (at - 1 + length > size)
        text[at - 1] = '\0';
}

void helio_silence_report(helio_silence_t *self, const helio_backend_sink_t *sink, bool silent, int64_t unanswered_ms,
                          int64_t now_boot_ms)
{
    if (silent == self->silent)
        return;
    self->silent = silent;
    int64_t from_ms = silent && unanswered_ms ? unanswered_ms : now_boot_ms;
    uint64_t for_ms = (uint64_t)(now_boot_ms - (silent ? from_ms : self->since_ms));
    if (silent)
        self->since_ms = from_ms;
    if (sink->on_silence)
        sink->on_silence(sink->arg, silent, for_ms);
}
