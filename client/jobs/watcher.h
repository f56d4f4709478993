/*  watcher.h -- prints the states of jobs on standard error as they change, and limits how long to wait: shared by
 *  `run`, `wait` and `logs -f`. */
#ifndef HELIO_CLIENT_WATCHER_H
#define HELIO_CLIENT_WATCHER_H

#include "client/jobs/follow.h"
#include "client/jobs/joblog.h"

typedef struct helio_watcher {
    helio_client_t *client;
    helio_joblog_t *log; /* NULL = only states */
    bool ends_only;      /* print only final states and those that need an operator */
    int64_t deadline_ms; /* INT64_MAX = none */
} helio_watcher_t;

/*  A helio_follow_fn whose arg is a helio_watcher_t. */
void helio_watcher_on_change(void *arg, const helio_followed_t *job);

/*  Reads --timeout; false after a message if it is invalid. */
HELIO_MUST_CHECK bool helio_watcher_take_deadline(helio_watcher_t *self);
/*  How long to wait in one turn. */
uint32_t helio_watcher_wait_ms(const helio_watcher_t *self);
bool helio_watcher_is_late(const helio_watcher_t *self);

/*  A held job needs an operator, so waiting for it is pointless, unless --keep-waiting is given. The reason and the
 *  remedy were printed when the job became held. OK: continue. */
HELIO_MUST_CHECK int helio_watcher_leave_held(helio_client_t *client, const helio_follow_t *follow);

#endif
