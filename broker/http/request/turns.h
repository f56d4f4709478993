/*  turns.h -- whose large body is read next, and whose list of jobs is carried out next. Small ones come before large ones,
 *  and tenants share the time: what a tenant had done counts against what it sends next, as long as others wait. No
 *  request waits for ever, because each one that is done brings all others closer. Pure; one thread. */
#ifndef HELIO_BROKER_HTTP_REQUEST_TURNS_H
#define HELIO_BROKER_HTTP_REQUEST_TURNS_H

#include <stdint.h>

/*  A waiting caller, which owns it. */
typedef struct helio_turn {
    const char *tenant;
    uint64_t size; /* by what it costs: bytes of a body, jobs of a list. A few bytes can be thousands of jobs */
    int64_t since_ms;
    void *owner;
    /*  Private. */
    uint64_t place; /* in units of size */
    struct helio_turn *next;
} helio_turn_t;

typedef struct helio_turns {
    helio_turn_t *first; /* in the order in which they came */
    uint64_t place;      /* of the last one that was taken */
} helio_turns_t;

void helio_turns_enter(helio_turns_t *self, helio_turn_t *turn);
helio_turn_t *helio_turns_next(helio_turns_t *self); /* it has left; NULL: none waits */
/*  One that waits since since_ms or longer; it has left. NULL: none. */
helio_turn_t *helio_turns_overdue(helio_turns_t *self, int64_t since_ms);

#endif
