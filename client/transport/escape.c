/*  escape.c -- percent-encoding. */
#include "client/transport/escape.h"

#include <string.h>

void helio_url_escape(const char *text, helio_buffer_t *out)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (const char *at = text; *at; at++) {
        if (strchr(safe, *at))
            helio_buffer_append(out, at, 1);
        else
            helio_buffer_printf(out, "%%%02X", (unsigned char)*at);
    }
}
