/*  screen.h -- shows frames on a terminal, one after another. It restores the terminal at the end, at a signal that
 *  ends the program, and while the program is stopped (Ctrl-Z).
 *
 *  One thread, one screen at a time. helio_screen_wait reads signals from a descriptor; no signal handlers are
 *  installed.
 */
#ifndef HELIO_CLIENT_SCREEN_H
#define HELIO_CLIENT_SCREEN_H

#include "client/invocation/client.h"

typedef struct helio_screen helio_screen_t;

typedef struct helio_screen_size {
    uint32_t width, height; /* 0 = unknown, or no end */
} helio_screen_size_t;

typedef enum helio_screen_event {
    HELIO_SCREEN_REFRESH, /* the time has passed, or the user asks for it (space) */
    HELIO_SCREEN_RESIZED,
    HELIO_SCREEN_QUIT /* q, Ctrl-C, the end of input */
} helio_screen_event_t;

/*  live: frames replace one another on an alternate screen, and keys are read; otherwise frames are printed one
 *  after another. A signal that ends the program takes effect in helio_screen_wait. */
helio_screen_t *helio_screen_new(const helio_client_io_t *io, bool live);
void helio_screen_destroy(helio_screen_t **self_p);

helio_screen_size_t helio_screen_size(const helio_screen_t *self);
/*  Shows lines, each cut at the width of the screen; colours are kept. HELIO_IO when the stream fails. */
HELIO_MUST_CHECK helio_rc helio_screen_show(helio_screen_t *self, const char *text);
helio_screen_event_t helio_screen_wait(helio_screen_t *self, uint32_t ms);

/*  Appends at most `width` columns of the line (0 = all of it), with its escape sequences; returns the rest. */
const char *helio_screen_cut(const char *line, uint32_t width, helio_buffer_t *out);

#endif
