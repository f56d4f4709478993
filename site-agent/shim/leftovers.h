/*  leftovers.h -- ends what is left of an attempt whose shim is gone, or does not answer. */
#ifndef HELIO_SHIM_LEFTOVERS_H
#define HELIO_SHIM_LEFTOVERS_H

#include <stdbool.h>

/*  Kills every process of the attempt that this folder is of, which the agent or its own user has prepared on this
 *  machine since it was started. True: nothing of it is left. Otherwise call it again. */
bool helio_leftovers_kill(int folder);

#endif
