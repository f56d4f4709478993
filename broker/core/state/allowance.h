/*  allowance.h -- how often a site can change what it reports of one kind. It earns changes with time, and can save up
 *  two sets, since a new session brings everything at once. What is beyond that is left out, and asked for again later.
 *  */
#ifndef HELIO_BROKER_CORE_STATE_ALLOWANCE_H
#define HELIO_BROKER_CORE_STATE_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct allowance {
    int64_t used, at_ms;
    bool shed; /* something was left out since it was asked for last */
} allowance_t;

/*  set: the changes that are earned in five minutes, the interval at which feeds are read at most. False: the change is to
 *  be left out. */
bool core_allowance_take(allowance_t *self, int64_t now_ms, uint32_t set);
/*  So many changes, or none of them. */
bool core_allowance_take_all(allowance_t *self, int64_t now_ms, uint32_t set, uint32_t count);
/*  True once after something was left out, when there is room again for a whole set. */
bool core_allowance_is_back(allowance_t *self, int64_t now_ms, uint32_t set);

#endif
