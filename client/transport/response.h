/*  response.h -- one request to the broker: its JSON reply, or a message on standard error and an exit code. */
#ifndef HELIO_CLIENT_RESPONSE_H
#define HELIO_CLIENT_RESPONSE_H

#include <jansson.h>

#include "client/transport/remote.h"

/*  The exit code for a status; HELIO_EXIT_OK for 2xx. */
int helio_response_exit(long status);
/*  The same for a request without a reply. */
int helio_response_exit_of_rc(helio_rc rc);

/*  Sends the request. On success it returns the parsed body, which the caller releases (JSON null for an empty
 *  body); also if a cancel had to be repeated and the job has been cancelled. Otherwise it prints what went wrong and returns the exit code. */
HELIO_MUST_CHECK int helio_ask(const helio_client_t *client, const helio_request_t *request, json_t **ret_json);

/*  GET of a path. */
HELIO_MUST_CHECK int helio_ask_get(const helio_client_t *client, const char *path, json_t **ret_json);
/*  POST of an object (NULL = empty), which is consumed; not repeated when the answer is lost. */
HELIO_MUST_CHECK int helio_ask_post(const helio_client_t *client, const char *path, json_t *body, json_t **ret_json);

/*  Prints the error of a failed request, with a remedy; returns the exit code. */
int helio_response_print_error(const helio_client_t *client, long status, helio_text_t body, uint64_t retry_after_ms);
/*  The same for a request without a reply. */
int helio_response_print_rc(const helio_client_t *client, helio_rc rc, const helio_error_t *err);

/*  The list in a reply: the reply itself, or its member `key`. Borrowed; its items are objects. */
HELIO_MUST_CHECK int helio_response_list(const helio_client_t *client, const json_t *reply, const char *key,
                                         json_t **ret_list);

/*  json_decref for HELIO_AUTO. */
void helio_json_clear(json_t **json_p);

/*  A path in the arena: the component between the two is escaped. */
const char *helio_path(const helio_client_t *client, const char *before, const char *component, const char *after);

#endif
