/*  database_rows.c -- looks up jobs and attempts of the virtual database, and records the first violation. */
#include "simulator/database/database_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FREE_TABLE(type, head)             \
    do {                                   \
        type *entry_, *next_;              \
        HASH_ITER(hh, head, entry_, next_) \
        {                                  \
            HASH_DEL(head, entry_);        \
            free(entry_);                  \
        }                                  \
    } while (0)

void sim_database_destroy(sim_database_t **self_p)
{
    sim_database_t *self = *self_p;
    if (!self)
        return;
    FREE_TABLE(vjob_t, self->jobs);
    FREE_TABLE(vstate_t, self->states);
    FREE_TABLE(vattempt_t, self->attempts);
    FREE_TABLE(vuse_t, self->uses);
    FREE_TABLE(vhourly_price_t, self->hourly_prices);
    FREE_TABLE(vquota_t, self->quotas);
    FREE_TABLE(vnamed_t, self->actuals);
    FREE_TABLE(vnamed_t, self->issues);
    FREE_TABLE(vnamed_t, self->sites);
    FREE_TABLE(vnamed_t, self->pools);
    FREE_TABLE(vnamed_t, self->queues);
    FREE_TABLE(vnamed_t, self->rules);
    FREE_TABLE(vnamed_t, self->groups);
    FREE_TABLE(vnamed_t, self->data);
    FREE_TABLE(vnamed_t, self->links);
    FREE_TABLE(vnamed_t, self->curtailments);
    FREE_TABLE(vnamed_t, self->budgets);
    FREE_TABLE(vnamed_t, self->classes);
    free(self->usage);
    free(self->spent);
    free(self->runs);
    free(self->dependencies);
    helio_arena_destroy(&self->arena);
    free(self);
    *self_p = NULL;
}

const char *sim_database_violation(const sim_database_t *self)
{
    return self->violation;
}

void database_violate(sim_database_t *self, const char *sentence, helio_job_key_t key, uint32_t epoch)
{
    char text[HELIO_KEY_SIZE];
    helio_job_key_text(key, text);
    if (!self->violation[0])
        (void)snprintf(self->violation, sizeof self->violation, "%s: %s epoch %u", sentence, text, epoch);
}

vjob_t *database_job(const sim_database_t *self, helio_uuid_t id)
{
    vjob_t *job;
    HASH_FIND(hh, self->jobs, &id, sizeof id, job);
    return job;
}

vattempt_t *database_attempt(const sim_database_t *self, helio_job_key_t key, uint32_t epoch)
{
    attempt_key_t id;
    memset(&id, 0, sizeof id);
    id.key = key;
    id.epoch = epoch;
    vattempt_t *attempt;
    HASH_FIND(hh, self->attempts, &id, sizeof id, attempt);
    return attempt;
}

vattempt_t *database_attempt_get(sim_database_t *self, helio_job_key_t key, uint32_t epoch)
{
    vattempt_t *attempt = database_attempt(self, key, epoch);
    if (!attempt) {
        attempt = helio_new(1, sizeof *attempt);
        attempt->id.key = key;
        attempt->id.epoch = epoch;
        HASH_ADD(hh, self->attempts, id, sizeof attempt->id, attempt);
    }
    return attempt;
}
