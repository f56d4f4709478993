/*  portion.h -- what one batch of the store takes of changes of many jobs at once, whoever asks for them.
 *
 *  One request or one end can change a million tasks, and their rows would keep everybody else's commits waiting. So each
 *  batch takes a bounded number of such changes, and the next one goes on. Single jobs and small arrays wait for none of
 *  it. What makes the rest durable: requests/array_commands.h, holds/due_holds.h. */
#ifndef HELIO_BROKER_CORE_STATE_PORTION_H
#define HELIO_BROKER_CORE_STATE_PORTION_H

#include "broker/core/state/nouns.h"
#include "federation/base/memory.h"

enum {
    CORE_PORTION_MAX = 1000,     /* jobs that are changed in one batch */
    CORE_PORTION_PAUSE_MS = 1000 /* after which more are, though the batch is still open */
};

/*  Zero-initialised. */
typedef struct portion {
    uint64_t batch; /* in which jobs were changed last */
    int64_t since_ms;
    uint32_t count;   /* of jobs changed in this batch, or since then */
    bool holds_first; /* dependency holds come before commands, which is so every other time */
} portion_t;

bool core_portion_has_room(helio_broker_core_t *self);
void core_portion_take(helio_broker_core_t *self); /* one job was changed */
bool core_portion_is_for_holds(helio_broker_core_t *self);

#endif
