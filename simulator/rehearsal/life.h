/*  life.h -- what becomes of each job in a rehearsal, by the rows that the core would write. */
#ifndef HELIO_SIMULATOR_REHEARSAL_LIFE_H
#define HELIO_SIMULATOR_REHEARSAL_LIFE_H

#include "broker/core/broker_core.h"
#include "simulator/rehearsal/copy.h"

typedef struct reh_life {
    UT_hash_handle hh, hh_origin;
    helio_job_key_t key;
    helio_job_key_t origin; /* the same, but in a time that is over: the job's key then */
    const reh_job_copy_t *job;
    int64_t deadline_ms; /* 0 = none */
    uint32_t state;
    int64_t since_ms;                         /* in this state, from the begin of the rehearsal on */
    bool ran_before;                          /* it ran when the rehearsal began */
    bool interrupted;                         /* its site or node went down while it ran */
    char first_site[HELIO_SITE_NAME_MAX + 1]; /* of its first run in the rehearsal, or where it ran before; "" = none */
    char site[HELIO_SITE_NAME_MAX + 1];       /* of its last run */
    char next_site[HELIO_SITE_NAME_MAX + 1];  /* where it is placed */
    int64_t started_ms;                       /* its first run in the rehearsal; 0 = none, or it ran before */
    int64_t ended_ms;                         /* 0 = not yet */
    int64_t waited_ms;                        /* while it did not run and was not over */
    uint32_t preemptions, migrations;         /* in the rehearsal */
    uint32_t curtailed;                       /* how often it was stopped since its site was curtailed */
    helio_buffer_t why;                       /* the job's last transition, as a sentence */

    /*  Its work, for the sites. */
    uint64_t expected_ms, transfer_ms; /* of its next attempt, by its placement */
    double done;                       /* the share of its work that is saved */
    bool ran;

    /*  What the ledger has of it. */
    uint64_t gpu_ms, energy_j, carbon_mg;
    int64_t cost_micro_usd;
} reh_life_t;

typedef struct reh_class {
    UT_hash_handle hh;
    uint64_t id;
    helio_buffer_t why; /* its jobs wait, as a sentence; "" = they do not */
} reh_class_t;

typedef struct reh_lives {
    const reh_copy_t *copy;
    helio_arena_t *arena;
    reh_life_t *all, *by_origin;
    reh_class_t *classes;
    uint32_t open; /* not over */
} reh_lives_t;

/*  Every job of the core that has just loaded the copy. */
void reh_lives_init(reh_lives_t *self, const reh_copy_t *copy, const helio_broker_core_t *core);
void reh_lives_clear(reh_lives_t *self);
reh_life_t *reh_lives_find(const reh_lives_t *self, helio_job_key_t key); /* NULL = unknown */

reh_life_t *reh_lives_find_origin(const reh_lives_t *self, helio_job_key_t origin);
/*  A job of a time that is over was submitted, and has a new id. */
void reh_lives_add(reh_lives_t *self, helio_uuid_t id, const reh_job_copy_t *job, int64_t wall_ms);

/*  Effects of one step; those that are no rows are passed over. */
void reh_lives_take(reh_lives_t *self, const helio_effects_t *effects, int64_t wall_ms);
/*  The end of the rehearsal: what waits has waited until then. */
void reh_lives_close(reh_lives_t *self, int64_t wall_ms);

bool reh_life_is_over(const reh_life_t *self);
/*  It ended after its deadline, or that has passed and it has not ended. */
bool reh_life_is_late(const reh_life_t *self, int64_t until_ms);
/*  Why it waits, as a sentence; "" = it does not, or nothing is known. */
helio_text_t reh_lives_why(const reh_lives_t *self, const reh_life_t *life);

#endif
