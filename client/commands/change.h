/*  change.h -- builds the JSON object of a change from options and arguments, and sends it to the broker.
 *
 *  Each helio_change_… adds one member. If its value is invalid, it prints why and returns false. An absent option adds
 *  nothing and is no error.
 */
#ifndef HELIO_CLIENT_CHANGE_H
#define HELIO_CLIENT_CHANGE_H

#include "client/transport/response.h"

bool helio_change_text(const helio_client_t *client, uint32_t option, const char *key, json_t *body);
/*  An argument of the command line; errors call it `what`. */
bool helio_change_name(const helio_client_t *client, const char *word, const char *what, const char *key, json_t *body);
/*  Every value of a repeated option, as a list. */
bool helio_change_texts(const helio_client_t *client, uint32_t option, const char *key, json_t *body);
bool helio_change_whole(const helio_client_t *client, uint32_t option, const char *key, json_t *body);
/*  A number from 0 to 1e9. */
bool helio_change_number(const helio_client_t *client, uint32_t option, const char *key, json_t *body);
/*  A duration, as seconds rounded up. */
bool helio_change_seconds(const helio_client_t *client, uint32_t option, const char *key, json_t *body);
/*  --weight */
bool helio_change_weight(const helio_client_t *client, json_t *body);

/*  Sends the body (NULL = none) and prints "`what`: STATUS". Returns the exit code. */
HELIO_MUST_CHECK int helio_change_send(const helio_client_t *client, const char *method, const char *path,
                                       const json_t *body, const char *what);
/*  Sends a DELETE and prints "removed `name`". */
HELIO_MUST_CHECK int helio_change_remove(const helio_client_t *client, const char *path, const char *name);

#endif
