/*  start_estimate.h -- lines about when a waiting job is expected to start, and what would let it start sooner. */
#ifndef HELIO_CLIENT_START_ESTIMATE_H
#define HELIO_CLIENT_START_ESTIMATE_H

#include <jansson.h>

#include "client/invocation/client.h"

/*  Prints "Title             text". Control characters of the broker's text never reach the terminal. */
void helio_print_line(const helio_client_t *client, const char *title, const char *text);

/*  The title of hints: "To start sooner", or "To make it run" for a job that no wait lets start. */
const char *helio_hint_title(const json_t *reply);

/*  Prints that the site of the job is silent, if the reply says so. */
void helio_print_silence(const helio_client_t *client, const json_t *reply);

/*  Prints "expected", "ahead" and "hints" of a reply, where present. True if it printed hints. id: of a waiting job,
 *  for the `helio edit` command that carries out a hint; "" = none. */
bool helio_start_estimate_print(const helio_client_t *client, const json_t *reply, const char *id);

#endif
