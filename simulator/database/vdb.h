/*  vdb.h -- the virtual database: what PostgreSQL promises, and nothing more. A batch is applied whole or not at all;
 *  unique constraints and the check of transitions hold; a restarted broker is given what the store would load.
 *
 *  A broken promise of the broker is a violation: the sentence is kept and the run ends.
 */
#ifndef HELIO_SIMULATOR_VDB_H
#define HELIO_SIMULATOR_VDB_H

#include "broker/model/effects.h"
#include "broker/model/events.h"

typedef struct helio_vdb helio_vdb_t;

typedef struct helio_vdb_state {
    helio_row_state_t row; /* QUEUED at epoch 0 when no row was ever written */
    bool written;
} helio_vdb_state_t;

/*  What is stored before the first leader comes. */
typedef struct helio_vdb_preset {
    const helio_row_tenant_t *tenants; /* they and their texts outlive the database */
    uint32_t tenant_count;
    const helio_row_queue_t *queues; /* their texts outlive the database */
    uint32_t queue_count;
} helio_vdb_preset_t;

helio_vdb_t *helio_vdb_new(const helio_vdb_preset_t *preset);
void helio_vdb_destroy(helio_vdb_t **self_p);

/*  The batch under construction, the one that was sent, and its two possible fates. */
void helio_vdb_append(helio_vdb_t *self, const helio_effect_t *effect);
uint32_t helio_vdb_open_rows(const helio_vdb_t *self);
/*  The open batch is in flight, with the mark of the open jobs (helio_broker_core_open_from). */
void helio_vdb_seal(helio_vdb_t *self, helio_uuid_t open_from);
bool helio_vdb_in_flight(const helio_vdb_t *self);
void helio_vdb_commit(helio_vdb_t *self);
/*  The broker died: the open batch is gone; the one in flight arrived or not. */
void helio_vdb_crash(helio_vdb_t *self, bool arrived);

/*  A takeover: raises the epoch and hands over LOAD_* events, LOADED excluded. parse gives a job's spec back. */
typedef void helio_vdb_parse_fn(void *arg, helio_text_t source, helio_job_spec_t *ret_spec);
typedef void helio_vdb_emit_fn(void *arg, uint32_t kind, const void *payload);
void helio_vdb_load(helio_vdb_t *self, uint64_t seed, helio_vdb_parse_fn *parse, helio_vdb_emit_fn *emit, void *arg);

/*  What is durable. */
bool helio_vdb_has_job(const helio_vdb_t *self, helio_uuid_t job);
bool helio_vdb_has_placement(const helio_vdb_t *self, helio_job_key_t key, uint32_t epoch);
helio_vdb_state_t helio_vdb_state(const helio_vdb_t *self, helio_job_key_t key);
const helio_row_edit_t *helio_vdb_edit(const helio_vdb_t *self, helio_uuid_t job); /* NULL: never edited */
/*  As a look at a dependency: UNKNOWN, OPEN, OK or NOT_OK. */
helio_found_t helio_vdb_found(const helio_vdb_t *self, helio_job_key_t on);
uint64_t helio_vdb_ledger_gpu_ms(const helio_vdb_t *self, helio_job_key_t key, uint32_t epoch);
/*  Of the task's attempts that were not fenced, by the ledger. */
typedef struct helio_vdb_use {
    uint64_t gpu_ms, energy_j, carbon_mg;
    int64_t cost_micro_usd;
} helio_vdb_use_t;
helio_vdb_use_t helio_vdb_use(const helio_vdb_t *self, helio_job_key_t key);
bool helio_vdb_is_compared(const helio_vdb_t *self, helio_job_key_t key); /* with its baselines */
typedef void helio_vdb_hourly_price_fn(void *arg, const helio_row_hourly_price_t *hourly_prices);
void helio_vdb_each_hourly_price(const helio_vdb_t *self, helio_vdb_hourly_price_fn *visit, void *arg);
uint32_t helio_vdb_completions(const helio_vdb_t *self, helio_job_key_t key);
typedef void helio_vdb_job_fn(void *arg, helio_job_key_t key, const helio_row_job_t *job);
void helio_vdb_each_task(const helio_vdb_t *self, helio_vdb_job_fn *visit, void *arg);
uint64_t helio_vdb_edges_seen(const helio_vdb_t *self, uint32_t from); /* bit to */

/*  A tenant's GPUs by the newest placements of its jobs that are at a site; queue "" = in all. */
uint64_t helio_vdb_gpus(const helio_vdb_t *self, const char *tenant, const char *queue);
/*  The highest burst limit that was in force since this was asked last, and the one that is. */
uint32_t helio_vdb_burst(helio_vdb_t *self, const char *tenant, const char *queue);

/*  The tenant's budget of GPU time in all its queues, in ms. False: it has none. */
bool helio_vdb_budget(const helio_vdb_t *self, const char *tenant, int64_t *ret_limit);
/*  GPU time of a day: what was foreseen of the tenant's jobs at sites when they were placed, and of attempts that ended
 *  as much of that as they used. Fenced ones, which others may have been started in place of, do not count. */
int64_t helio_vdb_spends(const helio_vdb_t *self, const char *tenant, int64_t day_ms);

/*  "" while every promise was kept. */
const char *helio_vdb_violation(const helio_vdb_t *self);

#endif
