/*  simulator.h -- helio-simulate, the program that `simulate` and `rehearse` execute. */
#ifndef HELIO_CLIENT_SIMULATOR_H
#define HELIO_CLIENT_SIMULATOR_H

#include "client/invocation/client.h"

#define HELIO_SIMULATOR "helio-simulate"

/*  Becomes that program, the one beside helio before those of PATH. argv ends with NULL. Returns only if there is none:
 *  the exit code, after a message. */
int helio_simulator_execute(const helio_client_t *client, const char *const *argv);
/*  `drain --dry-run` (rehearse.c). */
int helio_rehearse_drain(helio_client_t *client);
/*  `curtail --dry-run`, for the time that --for says. */
int helio_rehearse_curtail(helio_client_t *client, uint32_t percent);

#endif
