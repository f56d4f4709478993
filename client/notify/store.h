/*  store.h -- what `helio notify` must not forget: up to where it has read, what waits to be delivered, and what was told
 *  that could be seen again.
 *
 *  SQLite in WAL mode with synchronous=FULL: what was changed is one transaction, on disk when helio_notify_store_commit
 *  returns OK. After a failure the state on disk is unknown: end the process and open the store anew. Thread: one owner.
 *  The file is locked: a second opener gets HELIO_BUSY.
 */
#ifndef HELIO_CLIENT_NOTIFY_STORE_H
#define HELIO_CLIENT_NOTIFY_STORE_H

#include "federation/base/memory.h"

typedef struct helio_notify_store helio_notify_store_t;

/*  The events up to here are in the store, as far as somebody wants them. */
typedef struct helio_notify_cursor {
    bool known;      /* false: nothing was read yet */
    uint64_t last;   /* the number of the last event */
    int64_t seen_ms; /* when the newest of them happened; 0 = unknown */
} helio_notify_cursor_t;

/*  A folder that is missing is made, with mode 0700. HELIO_BUSY, HELIO_IO, HELIO_VERSION (of a newer release), HELIO_PROTOCOL (damaged). What
 *  was told and cannot be seen again is forgotten. */
HELIO_MUST_CHECK helio_rc helio_notify_store_open(const char *directory, int64_t wall_ms,
                                                  helio_notify_store_t **ret_store, helio_error_t *err);
void helio_notify_store_close(helio_notify_store_t **self_p); /* drops what was not committed */

HELIO_MUST_CHECK helio_rc helio_notify_store_cursor(helio_notify_store_t *self, helio_notify_cursor_t *ret_cursor,
                                                    helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_notify_store_set_cursor(helio_notify_store_t *self, const helio_notify_cursor_t *cursor,
                                                        helio_error_t *err);

typedef struct helio_notify_delivery {
    uint64_t number;
    const char *target; /* its name */
    const char *id;     /* of the message */
    const char *about;
    int64_t created_wall_ms;
    helio_text_t message;
} helio_notify_delivery_t;

/*  Number and order are given here. *ret_number: 0 if a message with this id waits for the target already. */
HELIO_MUST_CHECK helio_rc helio_notify_store_add(helio_notify_store_t *self, const helio_notify_delivery_t *delivery,
                                                 uint64_t *ret_number, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_notify_store_delete(helio_notify_store_t *self, uint64_t number, helio_error_t *err);

/*  All deliveries, in order, without their messages. Borrowed for the call. */
typedef void helio_notify_delivery_fn(void *arg, const helio_notify_delivery_t *delivery);
HELIO_MUST_CHECK helio_rc helio_notify_store_load(helio_notify_store_t *self, helio_notify_delivery_fn *on_delivery,
                                                  void *arg, helio_error_t *err);
/*  Appends a message; its id goes into the other buffer. */
HELIO_MUST_CHECK helio_rc helio_notify_store_message(helio_notify_store_t *self, uint64_t number, helio_buffer_t *id,
                                                     helio_buffer_t *message, helio_error_t *err);

/*  Whether it was told. */
HELIO_MUST_CHECK helio_rc helio_notify_store_told(helio_notify_store_t *self, const char *key, bool *ret_told,
                                                  helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_notify_store_tell(helio_notify_store_t *self, const char *key, int64_t forget_wall_ms,
                                                  helio_error_t *err);

/*  Nothing to do if nothing was changed. */
HELIO_MUST_CHECK helio_rc helio_notify_store_commit(helio_notify_store_t *self, helio_error_t *err);

#endif
