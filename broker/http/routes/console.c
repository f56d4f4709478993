/*  console.c -- the console's files, from memory. The page asks the API for everything that it shows, with the token of
 *  the user who signs in; the files themselves are public.
 *
 *  The names of the files never change, so caches ask for each of them anew and mostly get 304. A page and its parts are
 *  then always of the same release, however many brokers of several releases answer. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "broker/http/request/request.h"
#include "broker/http/routes/console_files.h"
#include "broker/http/routes/routes.h"

#define POLICY                                                                                                       \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " \
    "form-action 'none'; frame-ancestors 'none'"

/* ---- lists in headers ---------------------------------------------------------------------------------- */

typedef struct entry {
    const char *text;
    size_t size;  /* of the value */
    size_t whole; /* with its parameters */
} entry_t;

/*  The next entry of a list such as `gzip;q=0.5, br`; false at its end. */
static bool next_entry(const char **list, entry_t *ret_entry)
{
    const char *at = *list + strspn(*list, " \t,");
    size_t whole = strcspn(at, ",");
    *list = at + whole;
    *ret_entry = (entry_t){at, strcspn(at, ",; \t"), whole};
    return whole > 0;
}

/*  `;q=0`, `; q=0.0` */
static bool is_refused(const entry_t *entry)
{
    const char *semicolon = memchr(entry->text, ';', entry->whole);
    if (!semicolon)
        return false;
    const char *at = semicolon + 1 + strspn(semicolon + 1, " \t");
    if (tolower((unsigned char)at[0]) != 'q' || at[1] != '=' || at[2] != '0')
        return false;
    return strspn(at + 2, "0.") == strcspn(at + 2, ",; \t");
}

static bool takes_gzip(const char *accept_encoding)
{
    entry_t entry;
    while (accept_encoding && next_entry(&accept_encoding, &entry))
        if (entry.size == 4 && strncasecmp(entry.text, "gzip", 4) == 0)
            return !is_refused(&entry);
    return false;
}

/*  `*`, or a list of tags, weak or not. */
static bool has_tag(const char *if_none_match, const char *tag)
{
    entry_t entry;
    while (if_none_match && next_entry(&if_none_match, &entry)) {
        size_t weak = strncmp(entry.text, "W/", 2) == 0 ? 2 : 0;
        if (entry.size - weak == strlen(tag) && memcmp(entry.text + weak, tag, strlen(tag)) == 0)
            return true;
        if (entry.size == 1 && entry.text[0] == '*')
            return true;
    }
    return false;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static const helio_console_file_t *file_named(const char *name)
{
    for (const helio_console_file_t *file = helio_console_files; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return file;
    return NULL;
}

/*  NULL: a problem was answered. */
static const helio_console_file_t *find(helio_request_context_t *self, const char *name)
{
    const helio_console_file_t *file = file_named(name);
    if (!file) {
        HELIO_PROBLEM0(self, 404, PATH_UNKNOWN);
        return NULL;
    }
    helio_text_t bare = {file->type, (uint32_t)strcspn(file->type, ";")};
    const char *type = helio_arena_string(self->arena, bare), *accept = self->received.accept;
    if (!accept || helio_accepts(accept, type))
        return file;
    HELIO_PROBLEM(self, 406, NOT_ACCEPTABLE, helio_value_string(type));
    return NULL;
}

static void serve(helio_request_context_t *self, const char *name)
{
    const helio_console_file_t *file = find(self, name);
    if (!file)
        return;
    bool gzip = takes_gzip(self->received.accept_encoding);
    char tag[64];
    (void)snprintf(tag, sizeof tag, "\"%s%s\"", file->etag, gzip ? "-gzip" : "");
    self->cache_control = "no-cache";
    helio_request_context_header(self, "ETag", tag);
    helio_request_context_header(self, "Vary", "Accept-Encoding");
    helio_request_context_header(self, "Content-Security-Policy", POLICY);
    helio_request_context_header(self, "Referrer-Policy", "no-referrer");
    if (has_tag(self->received.if_none_match, tag)) {
        helio_response_text(self, 304, file->type, "");
        return;
    }
    if (gzip)
        helio_request_context_header(self, "Content-Encoding", "gzip");
    helio_response_bytes(self, 200, file->type, gzip ? file->gzip : file->plain);
}

void helio_console_page(helio_request_context_t *self)
{
    serve(self, "index.html");
}

void helio_console_file(helio_request_context_t *self)
{
    serve(self, self->parameter);
}

/*  Relative, so that it is right below the path that a proxy puts before it. */
void helio_console_enter(helio_request_context_t *self)
{
    helio_request_context_header(self, "Location", "console/");
    helio_response_text(self, 302, "text/html; charset=utf-8",
                        "<!doctype html>\n<title>Heliostat</title>\n<a href=\"console/\">The console</a>\n");
}
