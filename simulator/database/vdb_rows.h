/*  vdb_rows.h -- the tables of the virtual database. Only simulator/database includes it. */
#ifndef HELIO_SIMULATOR_VDB_ROWS_H
#define HELIO_SIMULATOR_VDB_ROWS_H

#include <uthash.h>

#include "simulator/database/vdb.h"

typedef struct attempt_key {
    helio_job_key_t key;
    uint32_t epoch;
} attempt_key_t;

typedef struct vjob {
    helio_uuid_t job;
    helio_row_job_t row;
    uint32_t open_tasks;
    helio_row_edit_t *edit; /* in the arena; NULL = never edited */
    UT_hash_handle hh;
} vjob_t;

typedef struct vstate {
    helio_job_key_t key;
    helio_row_state_t row;
    UT_hash_handle hh;
} vstate_t;

/*  One entry an attempt: placed, ended, booked. */
typedef struct vattempt {
    attempt_key_t id;
    bool placed;
    uint32_t gpus; /* placed with */
    helio_text_t gpu_model;
    bool ended;
    bool completes;
    bool has_earliest_start;
    helio_row_earliest_start_t least;
    helio_row_transfer_t transfer;
    helio_row_expected_use_t expected_use;
    bool fenced;                   /* what is booked of it */
    int64_t last_day_ms;           /* of the days that it is booked in the last, and GPU time in that */
    uint64_t last_day_gpu_ms;
    bool transferred; /* booked */
    uint64_t gpu_ms;
    int64_t booked_hours[64];
    uint32_t booked;
    UT_hash_handle hh;
} vattempt_t;

/*  What the ledger says of a task's attempts that were not fenced, and whether it was held against its baselines. */
typedef struct vuse {
    helio_job_key_t key;
    helio_vdb_use_t use;
    bool compared;
    UT_hash_handle hh;
} vuse_t;

typedef struct vhourly_price {
    uint64_t hourly_price_id;
    helio_row_hourly_price_t row;
    UT_hash_handle hh;
} vhourly_price_t;

/*  A row that is found by its name, in the arena. */
typedef struct vnamed {
    char name[512];
    void *row;
    UT_hash_handle hh;
} vnamed_t;

typedef struct vquota {
    char name[80];
    helio_row_quota_t row;
    uint32_t peak; /* of its burst limit, since it was asked for */
    UT_hash_handle hh;
} vquota_t;

/*  A job that was over with its first attempt. */
typedef struct vrun {
    helio_job_key_t key;
    helio_text_t gpu_model;
    uint64_t run_ms;
} vrun_t;

typedef struct rows {
    helio_effect_t *items;
    uint32_t count, capacity;
} rows_t;

struct helio_vdb {
    helio_arena_t *arena; /* rows live as long as the database */
    const helio_row_tenant_t *tenants;
    uint32_t tenant_count;
    vjob_t *jobs;
    vstate_t *states;
    vattempt_t *attempts;
    vuse_t *uses;
    vhourly_price_t *hourly_prices;
    vnamed_t *actuals, *issues, *sites, *pools, *queues, *rules, *groups, *data, *links, *budgets;
    vquota_t *quotas;
    helio_row_usage_t *usage; /* one a ledger row */
    uint32_t usage_count, usage_capacity;
    helio_row_spent_t *spent; /* one a ledger row, its hour for its day */
    uint32_t spent_count, spent_capacity;
    vrun_t *runs; /* in order of their ends */
    uint32_t run_count, run_capacity;
    helio_row_dependency_t *dependencies; /* in order of their commit */
    uint32_t dependency_count, dependency_capacity;
    rows_t open, flight;
    bool in_flight;
    helio_uuid_t open_from, flight_open_from; /* committed; of the batch in flight */
    helio_uuid_t newest_job;
    uint64_t epoch;
    uint64_t transition_seq;
    uint64_t decision_id;
    uint64_t edges[HELIO_JOB_STATE_COUNT];
    char violation[256];
};

/*  The first broken promise stands; later ones are dropped. */
void vdb_violate(helio_vdb_t *self, const char *sentence, helio_job_key_t key, uint32_t epoch);

vjob_t *vdb_job(const helio_vdb_t *self, helio_uuid_t id); /* NULL = none */
vattempt_t *vdb_attempt(const helio_vdb_t *self, helio_job_key_t key, uint32_t epoch); /* NULL = none */
vattempt_t *vdb_attempt_get(helio_vdb_t *self, helio_job_key_t key, uint32_t epoch); /* made when new */

/* vdb_jobs.c, vdb_ledger.c, vdb_named.c: each applies the committed rows of its kinds and ignores the others */
void vdb_jobs_put(helio_vdb_t *self, uint32_t kind, const void *row);
void vdb_ledger_put(helio_vdb_t *self, uint32_t kind, const void *row);
void vdb_named_put(helio_vdb_t *self, uint32_t kind, const void *row);

#endif
