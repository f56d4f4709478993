/*  known.h -- the job keys that a site remembers: a hash table with the highest epoch of each.
 *
 *  A key is kept as long as it has attempts here, and for 30 days after its last order or stop. Pure; one owner.
 */
#ifndef HELIO_AGENT_KNOWN_H
#define HELIO_AGENT_KNOWN_H

#include "site-agent/core/agent_core.h"

typedef struct helio_attempt helio_attempt_t;

typedef struct helio_known {
    helio_job_key_t key;
    uint32_t epoch;  /* the highest accepted or refused */
    uint32_t killed; /* an epoch that was over here and found running: it was told to stop, by this agent's process */
    int64_t wall_ms;
    helio_attempt_t *attempts; /* of any epoch: an old one can still be stopping */
    struct helio_known *next;  /* next in the bucket */
} helio_known_t;

typedef struct helio_known_table helio_known_table_t;

helio_known_table_t *helio_known_new(void);
void helio_known_destroy(helio_known_table_t **self_p); /* does not free the attempts */

helio_known_t *helio_known_find(const helio_known_table_t *self, helio_job_key_t key); /* NULL: unknown key */
helio_known_t *helio_known_get(helio_known_table_t *self, helio_job_key_t key);        /* creates it if missing */
/*  Raises the epoch; it never goes down. */
void helio_known_raise(helio_known_t *known, uint32_t epoch);
/*  Once an hour: drops keys that are older than 30 days and have no attempt. */
void helio_known_sweep(helio_known_table_t *self, int64_t now_ms, int64_t wall_ms);

#endif
