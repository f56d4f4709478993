/*  patience.h -- how long an agent pauses between two connections, and how long it waits for a message of its broker
 *  before it tries another one. Pure: the uplink and the simulator use it. */
#ifndef HELIO_AGENT_PATIENCE_H
#define HELIO_AGENT_PATIENCE_H

#include <stddef.h>
#include <stdint.h>

enum {
    HELIO_PATIENCE_SESSION_MS = 60 * 1000, /* from the connection until the session is open */
    HELIO_PATIENCE_REDIAL_LEAST_MS = 1000, /* between two attempts to connect, at first and in the end */
    HELIO_PATIENCE_REDIAL_MOST_MS = 30 * 1000,
    /* The same where there are several brokers: one of them soon leads. A new leader that loads for long, or whose
     * database is just being promoted, has refused its sites several times by then. */
    HELIO_PATIENCE_REDIAL_SEVERAL_MOST_MS = 5 * 1000
};

/*  The longest pause between two attempts to connect to one of so many brokers. */
int64_t helio_patience_redial_most_ms(size_t brokers);
/*  For an open session: without any message for this time, the broker is given up. renew_ms: of its WELCOME. */
int64_t helio_patience_silence_ms(uint64_t renew_ms);

#endif
