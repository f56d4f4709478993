/*  rounds.h -- looks, each minute, at what no event tells: deadlines of open jobs, and budgets.
 *
 *  Bounded: of the newest 5000 open jobs, 500 that are new are asked for their deadlines in one round, and the 100
 *  nearest deadlines are judged. A round that fails in between goes on when the broker answers again.
 */
#ifndef HELIO_CLIENT_NOTIFY_ROUNDS_H
#define HELIO_CLIENT_NOTIFY_ROUNDS_H

#include "client/notify/intake.h"

typedef struct helio_rounds helio_rounds_t;

/*  All of it is borrowed. Only what some target wants is looked at. */
helio_rounds_t *helio_rounds_new(helio_remote_t *remote, const helio_notify_settings_t *settings,
                                 const helio_intake_hooks_t *hooks);
void helio_rounds_destroy(helio_rounds_t **self_p); /* before the remote */

HELIO_MUST_CHECK helio_rc helio_rounds_turn(helio_rounds_t *self, int64_t now_ms, helio_error_t *err);
int64_t helio_rounds_due_ms(const helio_rounds_t *self);

/*  A job was edited: its deadline can be another. */
void helio_rounds_forget(helio_rounds_t *self, const char *id);

#endif
