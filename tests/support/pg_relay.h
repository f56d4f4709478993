/*  pg_relay.h -- a relay between a client of PostgreSQL and the fixture's server, which breaks where a test says.
 *
 *      pg_relay_t *relay = pg_relay_up (helio_pg_database (pg));
 *      …   whatever connects to pg_relay_conninfo (relay) speaks to that database
 *      pg_relay_break (relay, (pg_relay_fault_t){PG_RELAY_FRONT, 5, PG_RELAY_CUT});   at the fifth message from now on
 *      …   pg_relay_down (&relay);
 *
 *  The relay knows where messages of the protocol begin and end, and carries one connection at a time: a new one waits
 *  until the server has ended the session before it, except while that one lingers. It has a thread of its own; its
 *  functions belong to the test's thread.
 */
#ifndef HELIO_TESTS_PG_RELAY_H
#define HELIO_TESTS_PG_RELAY_H

#include <stdint.h>

typedef struct pg_relay pg_relay_t;

typedef enum pg_relay_side {
    PG_RELAY_FRONT, /* what the client sends */
    PG_RELAY_BACK   /* what the server sends */
} pg_relay_side_t;

typedef enum pg_relay_how {
    PG_RELAY_CUT,   /* the message does not pass, and both connections end */
    PG_RELAY_HALF,  /* its first half passes, and both connections end */
    PG_RELAY_STALL, /* it does not pass, nor does anything after it, in either direction, until the client hangs up */
    PG_RELAY_LINGER /* as CUT for the client; the server does not learn of it before pg_relay_release */
} pg_relay_how_t;

typedef struct pg_relay_fault {
    pg_relay_side_t side;
    uint32_t at; /* which message of that side: 1 = the next; of a later fault, the first of the next connection */
    pg_relay_how_t how;
} pg_relay_fault_t;

pg_relay_t *pg_relay_up(const char *conninfo);
void pg_relay_down(pg_relay_t **self_p);
const char *pg_relay_conninfo(const pg_relay_t *self);

/*  Adds a fault behind those that are yet to come, at most eight. */
void pg_relay_break(pg_relay_t *self, pg_relay_fault_t fault);
uint32_t pg_relay_faults(pg_relay_t *self); /* that have happened */
void pg_relay_heal(pg_relay_t *self);       /* those that are yet to come do not */
void pg_relay_release(pg_relay_t *self);    /* the server learns of the end of a connection that lingers */

/*  How many messages a side has sent since the last call. */
uint32_t pg_relay_count(pg_relay_t *self, pg_relay_side_t side);

#endif
