/*  watcher.h -- says a job's states on standard error as they change, and how long they are waited for: what `run`,
 *  `wait` and `logs -f` share. */
#ifndef HELIO_CLIENT_WATCHER_H
#define HELIO_CLIENT_WATCHER_H

#include "client/jobs/follow.h"
#include "client/jobs/joblog.h"

typedef struct helio_watcher {
    helio_client_t *client;
    helio_joblog_t *log; /* NULL = states alone */
    bool ends_only;      /* say only what is final or needs somebody */
    int64_t deadline_ms; /* INT64_MAX = none */
} helio_watcher_t;

/*  A helio_follow_fn whose arg is a helio_watcher_t. */
void helio_watcher_on_change(void *arg, const helio_followed_t *job);

/*  From --timeout; false after having said why not. */
HELIO_MUST_CHECK bool helio_watcher_take_deadline(helio_watcher_t *self);
/*  How long to wait in one turn. */
uint32_t helio_watcher_wait_ms(const helio_watcher_t *self);
bool helio_watcher_is_late(const helio_watcher_t *self);

/*  A held job stands until somebody releases it: nothing for a program to wait for, unless --keep-waiting is given. Why
 *  it is held, and what releases it, was said when it became so. OK: goes on. */
HELIO_MUST_CHECK int helio_watcher_leave_held(helio_client_t *client, const helio_follow_t *follow);

#endif
