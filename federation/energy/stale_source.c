/*  stale_source.c -- writes and reads the sources of series whose feeds fail. */
#include "federation/energy/stale_source.h"

#include <string.h>

#include "federation/base/clock.h"

static const char *const marks[] = {", last good ", ", no data since "};
enum { LAST_GOOD, NO_DATA, MARKS };
enum { HOUR_SIZE = 13 }; /* "2026-11-20T06", which a Z follows */

static helio_text_t stale(helio_arena_t *arena, helio_text_t feed, const char *mark, int64_t since_ms)
{
    char time[HELIO_RFC3339_SIZE];
    helio_rfc3339(since_ms, time);
    return helio_arena_printf(arena, "%.*s%s%.*sZ", HELIO_TEXT_ARGS(feed), mark, HOUR_SIZE, time);
}

helio_text_t helio_source_last_good(helio_arena_t *arena, helio_text_t feed, int64_t last_ms)
{
    return stale(arena, feed, marks[LAST_GOOD], last_ms);
}

helio_text_t helio_source_no_data(helio_arena_t *arena, helio_text_t feed, int64_t since_ms)
{
    return stale(arena, feed, marks[NO_DATA], since_ms);
}

/*  The mark is looked for at the text's end, because a feed may have any name. */
bool helio_source_is_stale(helio_text_t source, int64_t *ret_since_ms)
{
    for (uint32_t i = 0; i < MARKS; i++) {
        uint32_t mark = (uint32_t)strlen(marks[i]), tail = mark + HOUR_SIZE + 1;
        if (source.size < tail || memcmp(source.data + source.size - tail, marks[i], mark) != 0 ||
            source.data[source.size - 1] != 'Z')
            continue;
        char time[] = "0000-00-00T00:00:00Z";
        memcpy(time, source.data + source.size - HOUR_SIZE - 1, HOUR_SIZE);
        return helio_rfc3339_parse(helio_text_of(time), ret_since_ms) == HELIO_OK;
    }
    return false;
}
