/*  start_estimate.h -- what the broker foresees of a job that has not started, as lines for people. */
#ifndef HELIO_CLIENT_START_ESTIMATE_H
#define HELIO_CLIENT_START_ESTIMATE_H

#include <jansson.h>

#include "client/invocation/client.h"

/*  "Title             text": what comes from the broker never drives the terminal. */
void helio_print_line(const helio_client_t *client, const char *title, const char *text);

/*  "expected", "ahead" and "hints" of an answer, as far as they are there. True when hints were printed. id:
 * of a job that waits, so that a hint may name the edit that does it; "" = none. */
bool helio_start_estimate_print(const helio_client_t *client, const json_t *reply, const char *id);

#endif
