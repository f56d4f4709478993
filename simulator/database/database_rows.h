/*  database_rows.h -- the tables of the virtual database. Only simulator/database includes it. */
#ifndef HELIO_SIMULATOR_DATABASE_ROWS_H
#define HELIO_SIMULATOR_DATABASE_ROWS_H

#include <uthash.h>

#include "simulator/database/writer.h"

typedef struct attempt_key {
    helio_job_key_t key;
    uint32_t epoch;
} attempt_key_t;

typedef struct vjob {
    helio_uuid_t job;
    helio_row_job_t row;
    uint32_t open_tasks;
    helio_row_edit_t *edit; /* in the arena; NULL = never edited */
    bool hold_ended;        /* its dependency hold */
    UT_hash_handle hh;
} vjob_t;

typedef struct vstate {
    helio_job_key_t key;
    helio_row_state_t row;
    UT_hash_handle hh;
} vstate_t;

/*  One attempt: how it was placed, how it ended, and what the ledger charges it. */
typedef struct vattempt {
    attempt_key_t id;
    bool placed;
    uint32_t gpus; /* of its placement */
    helio_text_t gpu_model;
    bool ended;
    bool completes;
    uint32_t basis; /* of its end: helio_attempt_basis_t */
    bool forgotten; /* the database is an older copy, which does not have it */
    bool has_earliest_start;
    helio_row_earliest_start_t least;
    helio_row_transfer_t transfer;
    helio_row_expected_use_t expected_use;
    helio_row_given_up_t given_up; /* if it was */
    bool fenced;                   /* as the ledger has it */
    int64_t last_day_ms;           /* the last day that the ledger charges, and the GPU time of that day */
    uint64_t last_day_gpu_ms;
    bool transferred; /* a transfer was charged */
    uint64_t gpu_ms;
    struct {
        int64_t hour_ms;
        uint32_t part;
    } charged_hours[128];
    uint32_t charged;
    const helio_row_ledger_t *estimates[64]; /* what it was charged when it was given up */
    uint32_t estimate_count;
    UT_hash_handle hh;
} vattempt_t;

/*  The sums of the ledger over a task's attempts that were not fenced, and whether its baselines were stored. */
typedef struct vuse {
    helio_job_key_t key;
    sim_database_use_t use;
    bool compared;
    UT_hash_handle hh;
} vuse_t;

typedef struct vhourly_price {
    uint64_t hourly_price_id;
    helio_row_hourly_price_t row;
    UT_hash_handle hh;
} vhourly_price_t;

/*  A row that is found by its name; in the arena. */
typedef struct vnamed {
    char name[512];
    void *row;
    UT_hash_handle hh;
} vnamed_t;

typedef struct vquota {
    char name[80];
    helio_row_quota_t row;
    uint32_t peak; /* of its burst limit, since the last query */
    UT_hash_handle hh;
} vquota_t;

/*  A job that ended with its first attempt. */
typedef struct vrun {
    helio_job_key_t key;
    helio_text_t gpu_model;
    uint64_t run_ms;
} vrun_t;

typedef struct rows {
    helio_effect_t *items;
    uint32_t count, capacity;
} rows_t;

struct sim_database {
    helio_arena_t *arena; /* rows live as long as the database */
    const helio_row_tenant_t *tenants;
    uint32_t tenant_count;
    vjob_t *jobs;
    uint32_t open_tasks; /* of all of them */
    vstate_t *states;
    vattempt_t *attempts;
    vuse_t *uses;
    vhourly_price_t *hourly_prices;
    vnamed_t *actuals, *issues, *sites, *pools, *queues, *rules, *groups, *data, *links, *budgets, *classes,
        *curtailments;
    vquota_t *quotas;
    helio_row_usage_t *usage; /* one for each ledger row */
    uint32_t usage_count, usage_capacity;
    helio_row_spent_t *spent; /* one for each ledger row; day_ms holds the hour */
    uint32_t spent_count, spent_capacity;
    vrun_t *runs; /* in order of their ends */
    uint32_t run_count, run_capacity;
    helio_row_dependency_t *dependencies; /* in order of their commits */
    uint32_t dependency_count, dependency_capacity;
    helio_uuid_t open_from;
    helio_uuid_t newest_job;
    uint64_t restores;
    int64_t restored_ms;
    helio_uuid_t restored_job; /* the newest one then */
    const sim_writer_t *lock;  /* whose session has the leader lock; NULL = nobody's */
    uint64_t epoch;            /* of the newest leader */
    uint64_t last_batch;       /* of that leader */
    uint64_t written_epoch;    /* of the leader that wrote last */
    uint64_t lease_ms;         /* what the newest leader grants */
    int64_t leases_until_ms;   /* no lease of an older leader lasts longer; leases_left_ms: when the newest began */
    uint64_t leases_left_ms;
    uint64_t transition_seq;
    uint64_t decision_id;
    uint64_t edges[HELIO_JOB_STATE_COUNT];
    char violation[256];
};

/*  Keeps the first violation; later ones are dropped. */
void database_violate(sim_database_t *self, const char *sentence, helio_job_key_t key, uint32_t epoch);

vjob_t *database_job(const sim_database_t *self, helio_uuid_t id);                             /* NULL = none */
uint64_t database_time_limit_ms(const vjob_t *job);                                            /* as edited */
vattempt_t *database_attempt(const sim_database_t *self, helio_job_key_t key, uint32_t epoch); /* NULL = none */
vattempt_t *database_attempt_get(sim_database_t *self, helio_job_key_t key, uint32_t epoch);   /* or a new one */

void database_apply(sim_database_t *self, const rows_t *batch, helio_uuid_t open_from); /* a whole batch */

/* database_jobs.c, database_ledger.c, database_named.c: each applies the committed rows of its kinds, and no others */
void database_jobs_put(sim_database_t *self, uint32_t kind, const void *row);
void database_ledger_put(sim_database_t *self, uint32_t kind, const void *row);
void database_named_put(sim_database_t *self, uint32_t kind, const void *row);

#endif
