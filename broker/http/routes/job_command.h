/*  job_command.h -- commands on the job that the path names. A whole id goes straight to the core, so that commands work
 *  while reads do not; a part of one is looked up first. */
#ifndef HELIO_BROKER_HTTP_ROUTES_JOB_COMMAND_H
#define HELIO_BROKER_HTTP_ROUTES_JOB_COMMAND_H

#include "broker/http/request/request_context.h"

typedef struct helio_job_verb {
    uint32_t event;
    uint32_t status;  /* when the core has taken it */
    const char *done; /* "cancelled": a job that is over cannot be */
    /*  The event's payload, in the arena of the operation to be awaited next. what: of helio_job_command. */
    void *(*payload)(helio_request_context_t *context, helio_job_key_t key, const void *what);
} helio_job_verb_t;

/*  what: for the verb, in the exchange's arena; NULL = nothing. */
void helio_job_command(helio_request_context_t *context, const helio_job_verb_t *verb, const void *what);
/*  The payload of commands that say nothing but who, as what, and which job. */
void *helio_job_command_payload(helio_request_context_t *context, helio_job_key_t key, const void *nothing);

bool helio_job_id_check(helio_request_context_t *context); /* the path's parameter may be a job's id; false: answered */
const char *helio_job_of_path(const helio_request_context_t *context); /* "job 01k9…", for people */

#endif
