/*  brokers.c -- a list of URLs, separated by commas. */
#include "client/invocation/brokers.h"

#include <string.h>

enum { URL_MAX = 1024 };

static helio_text_t trimmed(helio_text_t url)
{
    for (; url.size && url.data[0] == ' '; url.data++)
        url.size--;
    while (url.size && strchr(" /", url.data[url.size - 1]))
        url.size--;
    return url;
}

static bool is_broker(const char *url)
{
    bool good = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
    size_t size = strlen(url);
    for (size_t i = 0; i < size; i++)
        good &= url[i] > ' ' && url[i] <= '~' && !strchr("?#@", url[i]);
    return good && size <= URL_MAX;
}

helio_rc helio_brokers_parse(helio_text_t text, helio_arena_t *arena, helio_brokers_t *ret_brokers)
{
    helio_brokers_t brokers = {.text = ""};
    for (bool more = true; more;) {
        const char *comma = text.size ? memchr(text.data, ',', text.size) : NULL;
        uint32_t size = comma ? (uint32_t)(comma - text.data) : text.size;
        const char *url = helio_arena_string(arena, trimmed((helio_text_t){text.data, size}));
        if (brokers.count == HELIO_BROKERS_MAX || !is_broker(url))
            return HELIO_INVALID;
        brokers.urls[brokers.count] = url;
        brokers.text = brokers.count++ ? helio_arena_printf(arena, "%s, %s", brokers.text, url).data : url;
        more = comma != NULL;
        if (more)
            text = (helio_text_t){comma + 1, text.size - size - 1};
    }
    *ret_brokers = brokers;
    return HELIO_OK;
}
