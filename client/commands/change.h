/*  change.h -- what a command asks the broker to change: an object made from options and words, and its sending.
 *
 *  The helio_change_… of one member say what is wrong with a value and return false; an option that is absent adds
 *  nothing and is fine. */
#ifndef HELIO_CLIENT_CHANGE_H
#define HELIO_CLIENT_CHANGE_H

#include "client/transport/response.h"

bool helio_change_text(const helio_client_t *client, uint32_t option, const char *key, json_t *body);
/*  A word of the command line, which is called `what`. */
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

/*  Sends the body (NULL = none) and says "`what`: STATUS". Returns the exit code. */
HELIO_MUST_CHECK int helio_change_send(const helio_client_t *client, const char *method, const char *path,
                                       const json_t *body, const char *what);
/*  DELETE, and says "removed `name`". */
HELIO_MUST_CHECK int helio_change_remove(const helio_client_t *client, const char *path, const char *name);

#endif
