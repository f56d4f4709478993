/*  intake.h -- reads the events of the broker in their order, and what else must be known of each.
 *
 *  An event counts as read when everything before it and itself were taken. So the caller can store the cursor together
 *  with what it took, and nothing is lost however this process ends. Of an event that somebody may want, the job is
 *  asked for; several jobs at a time, but they are taken in the order of the events. When events are too many to be
 *  held, the stream is left, and read on from there later. When the broker has no longer what came after the cursor, it
 *  says so (`resync`), and the jobs themselves are read.
 */
#ifndef HELIO_CLIENT_NOTIFY_INTAKE_H
#define HELIO_CLIENT_NOTIFY_INTAKE_H

#include "client/notify/core/happening.h"
#include "client/notify/store.h"
#include "client/transport/remote.h"
#include "federation/base/log.h"

typedef struct helio_intake helio_intake_t;

typedef struct helio_intake_hooks {
    void *arg;
    /*  Something happened. Borrowed. A failure ends the process. */
    helio_rc (*take)(void *arg, const helio_happening_t *happening, helio_error_t *err);
    /*  A transition was read, in whatever order: for those who remember jobs. */
    void (*seen)(void *arg, const json_t *transition);
} helio_intake_hooks_t;

/*  All of it is borrowed. */
helio_intake_t *helio_intake_new(helio_remote_t *remote, const helio_notify_settings_t *settings,
                                 const helio_notify_cursor_t *cursor, const helio_intake_hooks_t *hooks,
                                 helio_log_t *log);
void helio_intake_destroy(helio_intake_t **self_p); /* before the remote */

/*  Does what can be done. HELIO_FORBIDDEN: the broker has refused from the start, with this answer. */
HELIO_MUST_CHECK helio_rc helio_intake_turn(helio_intake_t *self, int64_t now_ms, helio_error_t *err);
const helio_stream_t *helio_intake_refusal(const helio_intake_t *self);
/*  When to turn again even if nothing came. */
int64_t helio_intake_due_ms(const helio_intake_t *self);
/*  Up to where everything was taken. */
helio_notify_cursor_t helio_intake_cursor(const helio_intake_t *self);

#endif
