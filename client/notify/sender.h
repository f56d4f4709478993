/*  sender.h -- attempts at targets: signed requests, and commands. Nothing blocks. Thread: one owner.
 *
 *  A request carries the headers of Standard Webhooks: webhook-id, webhook-timestamp, and webhook-signature, which is
 *  "v1," and base64 of HMAC-SHA256 over "id.timestamp.body". Certificates are checked, and no redirect is followed.
 */
#ifndef HELIO_CLIENT_NOTIFY_SENDER_H
#define HELIO_CLIENT_NOTIFY_SENDER_H

#include "client/notify/config.h"
#include "client/notify/core/outbox.h"

typedef struct helio_sender helio_sender_t;

/*  An attempt has ended. complaint: what went wrong, without URLs and secrets; "" = nothing. */
typedef void helio_sender_done_fn(void *arg, helio_outbox_attempt_t attempt, const helio_outbox_outcome_t *outcome,
                                  const char *complaint);

/*  environment: of this process, of which commands get PATH, HOME, LANG and TZ. All of it is borrowed. */
HELIO_MUST_CHECK helio_rc helio_sender_new(const helio_notify_config_t *config, char *const *environment,
                                           helio_sender_done_fn *done, void *arg, helio_sender_t **ret_sender,
                                           helio_error_t *err);
void helio_sender_destroy(helio_sender_t **self_p); /* ends attempts that are under way; `done` is not called */

/*  Every attempt ends with one call of `done`, from helio_sender_process alone. */
void helio_sender_start(helio_sender_t *self, helio_outbox_attempt_t attempt, const char *id, helio_text_t message);

int helio_sender_fd(const helio_sender_t *self);          /* readable when process has work to do */
int64_t helio_sender_next_ms(const helio_sender_t *self); /* CLOCK_BOOTTIME; INT64_MAX: never */
void helio_sender_process(helio_sender_t *self, int64_t now_boot_ms);
uint32_t helio_sender_under_way(const helio_sender_t *self);

/*  "v1,…" of a body; exposed for tests. */
void helio_sender_sign(helio_text_t secret, const char *id, int64_t wall_s, helio_text_t body, helio_buffer_t *out);

#endif
