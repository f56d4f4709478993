/*  energy_account.h -- where a site's energy went that no job is charged for, hour by hour, beside what its meter says.
 *
 *  Of a pool whose GPUs are measured the counters tell: what a GPU took between two readings belongs to the attempt
 *  that holds it, or else to nobody (idle), or to whoever else computes on it (foreign). Of other pools the model
 *  tells, by how many GPUs are whose. Nothing here is computed from the meter, and the meter knows nothing of jobs.
 *
 *      idle      GPUs that nobody uses: counters, or idle_w
 *      foreign   GPUs that others use: counters, or base_w + slope_w
 *      overhead  hosts that no job is charged for, times PUE, and (PUE - 1) times idle and foreign
 *      meter     what the site's own meter says of all of it
 *
 *  Jobs are in the ledger with their PUE. Where GPUs are measured a job is charged for its GPUs alone, and the hosts
 *  (host_w for each GPU, in use or not) are overhead; elsewhere its host is in the model, and overhead has host_w for
 *  each GPU that others use.
 *
 *  Kept in a file at each take and give and once a minute, so that a killed agent goes on where the file stands: the
 *  counters have counted meanwhile. Thread: one owner. Times are Unix ms.
 */
#ifndef HELIO_TELEMETRY_ENERGY_ACCOUNT_H
#define HELIO_TELEMETRY_ENERGY_ACCOUNT_H

#include "federation/model/site.h"
#include "site-agent/telemetry/nvml.h"

enum { HELIO_ENERGY_ACCOUNT_HOURS = 168, HELIO_ENERGY_ACCOUNT_NAME_SIZE = 64 };

#define HELIO_ENERGY_ACCOUNT_PART_TABLE(X) \
    X(IDLE, "idle") X(FOREIGN, "foreign") X(OVERHEAD, "overhead") X(METER, "meter")
#define HELIO_ENERGY_ACCOUNT_PART_ENUMERATOR(name, word) HELIO_ENERGY_ACCOUNT_##name,
typedef enum helio_energy_account_part {
    HELIO_ENERGY_ACCOUNT_PART_TABLE(HELIO_ENERGY_ACCOUNT_PART_ENUMERATOR) HELIO_ENERGY_ACCOUNT_PARTS
} helio_energy_account_part_t;

typedef struct helio_energy_account helio_energy_account_t;

typedef struct helio_energy_account_options {
    const helio_site_profile_t *profile; /* borrowed */
    const helio_nvml_t *nvml; /* borrowed; measures the GPUs of the only pool (agent/gpus.h). NULL = the model tells */
    const char *state_dir;    /* for the memory over a restart; NULL = none */
    int64_t wall_ms;
} helio_energy_account_options_t;

/*  A memory that is missing, damaged or of another site begins anew: the hours before it are not known. */
helio_energy_account_t *helio_energy_account_new(const helio_energy_account_options_t *options);
void helio_energy_account_destroy(
    helio_energy_account_t **self_p); /* writes nothing: what is not kept yet is measured again */
/*  IO: it could not be written; it goes on, and only a restart would notice. */
HELIO_MUST_CHECK helio_rc helio_energy_account_save(helio_energy_account_t *self, helio_error_t *err);

/*  By the clock, every ten seconds or so, and before an hour is told. */
void helio_energy_account_tick(helio_energy_account_t *self, int64_t wall_ms);
/*  What holds from here on. */
void helio_energy_account_pue(helio_energy_account_t *self, double pue);
/*  GPUs of a pool that is not measured: of nodes that are up, held by the federation, held by others. */
void helio_energy_account_use(helio_energy_account_t *self, uint32_t pool, uint32_t total, uint32_t ours,
                              uint32_t others);

/*  Before anything of the attempt runs on these GPUs. Nothing to do where they are not measured. */
void helio_energy_account_take(helio_energy_account_t *self, const char *attempt, const uint32_t *gpus, uint32_t count,
                               int64_t wall_ms);
/*  It is over since ended_ms. Returns what it took, in J; 0 = not known: the ledger models it. What its GPUs took
 *  since its end, while nobody looked, is taken for idle_w; where that is more than a tenth of the run (and ten
 *  seconds), nothing is known of the run. ran: false = what its GPUs took meanwhile was idle. */
uint64_t helio_energy_account_give(helio_energy_account_t *self, const char *attempt, bool ran, int64_t ended_ms,
                                   int64_t wall_ms);

/*  Readings of the site's meter, in any order: those up to the newest known are passed over. cumulative: kWh so far;
 *  else the mean W from this reading to the next. Over three hours between two nothing is known of them. */
typedef struct helio_energy_account_reading {
    int64_t time_ms;
    double value;
} helio_energy_account_reading_t;
void helio_energy_account_read(helio_energy_account_t *self, helio_energy_account_reading_t *readings, uint32_t count,
                               bool cumulative, helio_text_t source, int64_t wall_ms);

/*  True once after each hour that ended, and after readings that made an hour whole: there is something to tell. */
bool helio_energy_account_news(helio_energy_account_t *self, int64_t wall_ms);
/*  Mean W of the hours that are over, a series of power_watts each pool and part (its kind), and one of the meter;
 *  -1 = not known. At most 3 x pools + 1 of them. */
uint32_t helio_energy_account_series(const helio_energy_account_t *self, int64_t wall_ms, helio_arena_t *arena,
                                     helio_series_t *ret_series);

#endif
