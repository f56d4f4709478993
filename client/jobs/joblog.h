/*  joblog.h -- a job's output on standard output while it runs, attempt by attempt, each byte once.
 *
 *  Moves with helio_remote_pump. A stream that breaks is opened again where it broke.
 */
#ifndef HELIO_CLIENT_JOBLOG_H
#define HELIO_CLIENT_JOBLOG_H

#include "client/invocation/client.h"

typedef struct helio_joblog helio_joblog_t;

/*  from_first: also of attempts that were over before anything was known of the job; else from the one that is then. */
helio_joblog_t *helio_joblog_new(const helio_client_t *client, const char *id, bool from_first);
void helio_joblog_destroy(helio_joblog_t **self_p);

/*  What is known of the job: its attempt (0 = none yet), whether there can be output, whether it is over. */
void helio_joblog_update(helio_joblog_t *self, uint32_t epoch, bool started, bool over);
/*  Opens and ends streams as due; never waits. */
void helio_joblog_turn(helio_joblog_t *self);
/*  The job is over and its output was printed to the end, or could not be. */
bool helio_joblog_is_done(const helio_joblog_t *self);
/*  The end of the output is missing: standard error has said so. */
bool helio_joblog_is_cut(const helio_joblog_t *self);
uint64_t helio_joblog_bytes(const helio_joblog_t *self);

#endif
