/*  hostlist.h -- Slurm's way to write many node names: "eu-n[1-2,04-06],login1". Pure. */
#ifndef HELIO_SHIM_HOSTLIST_H
#define HELIO_SHIM_HOSTLIST_H

#include "federation/base/memory.h"

/*  Calls fn for each name in order, until it returns false; a name lives for the call. INVALID: not a hostlist, or more
 *  than `most` names (the caller's bound, since a few bytes can mean millions). */
typedef bool helio_hostlist_fn(void *arg, helio_text_t name);
HELIO_MUST_CHECK helio_rc helio_hostlist_each(helio_text_t list, uint32_t most, helio_hostlist_fn *fn, void *arg);

#endif
