/*  joblog.h -- prints a job's output while it runs, attempt by attempt, each byte once.
 *
 *  Runs inside helio_remote_pump. A stream that breaks is opened again at the same offset.
 */
#ifndef HELIO_CLIENT_JOBLOG_H
#define HELIO_CLIENT_JOBLOG_H

#include "client/invocation/client.h"

typedef struct helio_joblog helio_joblog_t;

/*  from_first: starts with the first attempt; otherwise with the current one. */
helio_joblog_t *helio_joblog_new(const helio_client_t *client, const char *id, bool from_first);
/*  Begins with the last lines of its first attempt; before the first turn. 0 = with the first line. */
void helio_joblog_tail(helio_joblog_t *self, uint64_t lines);
void helio_joblog_destroy(helio_joblog_t **self_p);

/*  Reports the job's state: its attempt (0 = none yet), whether it can have output, whether it is over. */
void helio_joblog_update(helio_joblog_t *self, uint32_t epoch, bool started, bool over);
/*  Opens and ends streams as due; never waits. */
void helio_joblog_turn(helio_joblog_t *self);
/*  True when the job is over and its output was printed to the end, or cannot be. */
bool helio_joblog_is_done(const helio_joblog_t *self);
/*  True when the end of the output is missing; standard error has said so. */
bool helio_joblog_is_cut(const helio_joblog_t *self);
uint64_t helio_joblog_bytes(const helio_joblog_t *self);

#endif
