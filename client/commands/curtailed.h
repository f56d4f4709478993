/*  curtailed.h -- says of sites that they are curtailed now: to which share of their GPU power, and until when. */
#ifndef HELIO_CLIENT_COMMANDS_CURTAILED_H
#define HELIO_CLIENT_COMMANDS_CURTAILED_H

#include <jansson.h>

#include "client/invocation/client.h"

/*  Appends "lulea is curtailed to 60 % of its GPU power until 2026-11-22T19:00:00Z (in 2h00m)", of a row with `site`,
 *  `curtailed_to_percent` and `curtailed_until`. False: it is not curtailed. */
bool helio_curtailed_tell(const helio_client_t *client, const json_t *row, helio_buffer_t *out);
/*  A line for each curtailed site of the rows, of which several can be of one site; an empty line before the first. */
void helio_curtailed_say(const helio_client_t *client, const json_t *rows, FILE *out);

#endif
