/*  job_command.h -- commands on the job that the path names. A whole id goes straight to the core, so commands work
 *  while reads do not. A part of an id is looked up first. */
#ifndef HELIO_BROKER_HTTP_ROUTES_JOB_COMMAND_H
#define HELIO_BROKER_HTTP_ROUTES_JOB_COMMAND_H

#include "broker/http/request/request_context.h"

typedef struct helio_job_verb {
    uint32_t event;
    uint32_t status;  /* of the response when the core has accepted it */
    const char *done; /* "cancelled", for the message that a finished job cannot be */
    /*  The event's payload, in the arena of the operation that is awaited next. what: as given to helio_job_command. */
    void *(*payload)(helio_request_context_t *context, helio_job_key_t key, const void *what);
    /*  Answers when the core has accepted it. NULL: {"id": …, "status": …}. */
    void (*answer)(helio_request_context_t *context, const helio_result_t *result, const void *what);
} helio_job_verb_t;

/*  Runs a command. what: data for the verb, in the request's arena; NULL = none. */
void helio_job_command(helio_request_context_t *context, const helio_job_verb_t *verb, const void *what);
/*  The payload of a command that consists of tenant, user, role and job. */
void *helio_job_command_payload(helio_request_context_t *context, helio_job_key_t key, const void *nothing);

/*  Whether the path's parameter can be a job's id, or a part of one. False: a problem was answered. */
enum { HELIO_JOB_WORD_MAX = 46 }; /* the longest that can: a UUID and a task */
bool helio_job_id_check(helio_request_context_t *context);

#endif
