/*  place.h -- decision rounds (place.c), and the overflow groups that they heed (overflow.c). */
#ifndef HELIO_BROKER_CORE_PLACE_H
#define HELIO_BROKER_CORE_PLACE_H

#include "broker/core/nouns.h"

enum {
    ROUND_PLACEMENTS_MAX = 2000, /* one decision round; the rest waits for the next tick */
    DECISION_REUSE_MS = 60000 /* an unchanged evaluation of a class is not written again before */
};

/* place.c: decision rounds */
void core_round(helio_broker_core_t *self);
void core_look(helio_broker_core_t *self); /* at the clock: what classes wait for may be due */
int64_t core_look_wake_ms(const helio_broker_core_t *self, int64_t at_most);
void core_order(helio_broker_core_t *self, job_t *job); /* (again) instruct the site of an offered job */
void core_stop(helio_broker_core_t *self, job_t *job, helio_stop_mode_t mode, const char *reason);

/* overflow.c: overflow groups (their part in an evaluation: evaluation.h) */
void core_on_overflow(helio_broker_core_t *self, const helio_ev_overflow_t *event);
void core_overflow_load(helio_broker_core_t *self, const helio_row_overflow_t *row);
void core_overflows_free(helio_broker_core_t *self);

#endif
