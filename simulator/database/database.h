/*  database.h -- the virtual database: it keeps the promises of PostgreSQL and makes no others. A batch is applied
 *  whole or not at all; unique constraints and the check of transitions hold; a restarted broker is given what the
 *  store would load.
 *
 *  When the broker breaks a promise, that is a violation: the first sentence is kept and the run ends.
 */
#ifndef HELIO_SIMULATOR_DATABASE_H
#define HELIO_SIMULATOR_DATABASE_H

#include "broker/model/effects.h"
#include "broker/model/events.h"

typedef struct sim_database sim_database_t;

typedef struct sim_database_state {
    helio_row_state_t row; /* QUEUED at epoch 0 if no row was ever written */
    bool written;
} sim_database_state_t;

/*  What is stored before the first leader starts. */
typedef struct sim_database_preset {
    const helio_row_tenant_t *tenants; /* the rows and their texts outlive the database */
    uint32_t tenant_count;
    const helio_row_queue_t *queues; /* their texts outlive the database */
    uint32_t queue_count;
} sim_database_preset_t;

sim_database_t *sim_database_new(const sim_database_preset_t *preset);
void sim_database_destroy(sim_database_t **self_p);

/*  No broker leads. The database forgets some of the placements whose attempts are not over, as a copy does that was
 *  made before them, and begins a new incarnation, in which no broker has a session yet. */
void sim_database_restore(sim_database_t *self, uint64_t draw, int64_t wall_ms);

/*  A takeover, after sim_writer_lead: emits the LOAD_* events, without LOADED. `parse` parses a job's document. */
typedef void sim_database_parse_fn(void *arg, helio_text_t source, helio_job_spec_t *ret_spec);
typedef void sim_database_emit_fn(void *arg, uint32_t kind, const void *payload);
void sim_database_load(sim_database_t *self, uint64_t seed, sim_database_parse_fn *parse, sim_database_emit_fn *emit,
                       void *arg);

/*  What is durable. */
bool sim_database_has_job(const sim_database_t *self, helio_uuid_t job);
bool sim_database_has_placement(const sim_database_t *self, helio_job_key_t key, uint32_t epoch);
/*  Its end is the broker's own estimate, which its site's report has not replaced. */
bool sim_database_was_given_up(const sim_database_t *self, helio_job_key_t key, uint32_t epoch);
bool sim_database_has_forgotten(const sim_database_t *self, helio_job_key_t key, uint32_t epoch);
sim_database_state_t sim_database_state(const sim_database_t *self, helio_job_key_t key);
const helio_row_edit_t *sim_database_edit(const sim_database_t *self, helio_uuid_t job); /* NULL: never edited */
bool sim_database_hold_has_ended(const sim_database_t *self, helio_uuid_t job);          /* its dependency hold */
/*  What a dependency on it finds: UNKNOWN, OPEN, OK or NOT_OK. */
helio_found_t sim_database_found(const sim_database_t *self, helio_job_key_t on);
bool sim_database_has_started(const sim_database_t *self, helio_job_key_t on); /* or ended; of an array, every task */
uint64_t sim_database_ledger_gpu_ms(const sim_database_t *self, helio_job_key_t key, uint32_t epoch);
/*  The sums of the ledger over the task's attempts that were not fenced. */
typedef struct sim_database_use {
    uint64_t gpu_ms, energy_j, carbon_mg;
    int64_t cost_micro_usd;
} sim_database_use_t;
sim_database_use_t sim_database_use(const sim_database_t *self, helio_job_key_t key);
bool sim_database_is_compared(const sim_database_t *self, helio_job_key_t key); /* with its baselines */
typedef void sim_database_hourly_price_fn(void *arg, const helio_row_hourly_price_t *hourly_price);
void sim_database_each_hourly_price(const sim_database_t *self, sim_database_hourly_price_fn *visit, void *arg);
typedef void sim_database_site_fn(void *arg, const helio_row_site_t *site);
void sim_database_each_site(const sim_database_t *self, sim_database_site_fn *visit, void *arg);
typedef void sim_database_class_fn(void *arg, const helio_row_class_t *class);
void sim_database_each_class(const sim_database_t *self, sim_database_class_fn *visit, void *arg);
uint32_t sim_database_completions(const sim_database_t *self, helio_job_key_t key);
bool sim_database_is_over(const sim_database_t *self); /* every stored job is */
typedef void sim_database_job_fn(void *arg, helio_job_key_t key, const helio_row_job_t *job);
void sim_database_each_task(const sim_database_t *self, sim_database_job_fn *visit, void *arg);
uint64_t sim_database_edges_seen(const sim_database_t *self, uint32_t from); /* bit i: an edge to state i */

/*  A tenant's GPUs, by the newest placements of its jobs that are at a site. queue "": of all queues. */
uint64_t sim_database_gpus(const sim_database_t *self, const char *tenant, const char *queue);
/*  The highest burst limit that was in force since the last call, the current one included. */
uint32_t sim_database_burst(sim_database_t *self, const char *tenant, const char *queue);

/*  The tenant's budget of GPU time over all queues, in ms. False: it has none. */
bool sim_database_budget(const sim_database_t *self, const char *tenant, int64_t *ret_limit);
/*  GPU time of one day: the expected use of the tenant's jobs at sites, as of their placement, and for ended attempts
 *  the part of it that they used. Fenced attempts do not count, since another attempt may have replaced them. */
int64_t sim_database_spends(const sim_database_t *self, const char *tenant, int64_t day_ms);

/*  "" while every promise holds */
const char *sim_database_violation(const sim_database_t *self);

#endif
