/*  advertised.c -- the advertised URL, as given or from the address on which the broker listens. */
#include "broker/program/advertised.h"

#include <string.h>

enum { URL_MAX = 255 };

static bool begins(helio_text_t text, const char *prefix)
{
    size_t size = strlen(prefix);
    return text.size >= size && memcmp(text.data, prefix, size) == 0;
}

static bool ends(helio_text_t text, const char *suffix)
{
    size_t size = strlen(suffix);
    return text.size >= size && memcmp(text.data + text.size - size, suffix, size) == 0;
}

/*  Everything that can stand in front of a path. */
static bool is_origin(helio_text_t url)
{
    for (uint32_t i = 0; i < url.size; i++)
        if (url.data[i] <= ' ' || url.data[i] > '~' || strchr("?#@\\", url.data[i]))
            return false;
    return url.size <= URL_MAX;
}

static bool names_no_broker(helio_text_t listen)
{
    return begins(listen, "0.0.0.0:") || begins(listen, "[::]:") || ends(listen, ":0");
}

helio_rc helio_advertised_url(helio_text_t advertise, helio_text_t listen, helio_arena_t *arena, helio_text_t *ret_url,
                              helio_error_t *err)
{
    helio_text_t url = advertise.size ? advertise : names_no_broker(listen) ? (helio_text_t){0} : listen;
    bool has_scheme = begins(url, "http://") || begins(url, "https://");
    if (url.size && !has_scheme)
        url = helio_arena_printf(arena, "http://%.*s", HELIO_TEXT_ARGS(url));
    bool has_port = has_scheme || memchr(url.data ? url.data + 5 : "", ':', url.size ? url.size - 5 : 0);
    if (advertise.size && (!is_origin(url) || !has_port))
        return helio_fail(err, HELIO_INVALID,
                          "advertise_http must be ADDRESS:PORT or a URL such as https://broker-a.example, not '%.*s'",
                          HELIO_TEXT_ARGS(advertise));
    *ret_url = helio_arena_text(arena, url);
    return HELIO_OK;
}

bool helio_advertised_is_local(helio_text_t url)
{
    static const char *const local[] = {"http://127.",  "http://[::1]",  "http://localhost",
                                        "https://127.", "https://[::1]", "https://localhost"};
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
        if (begins(url, local[i]))
            return true;
    return false;
}
