/*  energy_account.h -- the energy of a site that no job is charged for, hour by hour, beside its meter's readings.
 *
 *  In a pool whose GPUs are measured, the counters are used: the energy of a GPU between two readings belongs to the
 *  attempt that holds it, or else is idle, or foreign if others compute on it. In other pools the model is used, with
 *  the number of GPUs that each party holds. Nothing here is computed from the meter, and the meter knows nothing of
 *  jobs.
 *      idle       unused GPUs: counters, or idle_w
 *      foreign    GPUs that others use: counters, or base_w + slope_w
 *      overhead   hosts that no job is charged for, times PUE, and (PUE - 1) times idle and foreign
 *      meter      the site's own meter, for everything together
 *
 *  Jobs are in the ledger with their PUE. Where GPUs are measured, a job is charged for its GPUs alone, and the hosts
 *  (host_w for each GPU, in use or not) are overhead. Elsewhere its host is in the model, and overhead has host_w for
 *  each GPU that others use.
 *
 *  The account is stored in a file at each take and give and once a minute. An agent that was killed continues from the
 *  file, since the counters have counted meanwhile. Thread: one owner. Times are Unix ms.
 */
#ifndef HELIO_TELEMETRY_ENERGY_ACCOUNT_H
#define HELIO_TELEMETRY_ENERGY_ACCOUNT_H

#include "federation/model/site.h"
#include "site-agent/telemetry/nvml.h"

enum { HELIO_ENERGY_ACCOUNT_HOURS = 168, HELIO_ENERGY_ACCOUNT_NAME_SIZE = 64 };

/* clang-format off */
#define HELIO_ENERGY_ACCOUNT_PART_TABLE(X) \
    X(IDLE, "idle")                        \
    X(FOREIGN, "foreign")                  \
    X(OVERHEAD, "overhead")                \
    X(METER, "meter")
/* clang-format on */
#define HELIO_ENERGY_ACCOUNT_PART_ENUMERATOR(name, word) HELIO_ENERGY_ACCOUNT_##name,
typedef enum helio_energy_account_part {
    HELIO_ENERGY_ACCOUNT_PART_TABLE(HELIO_ENERGY_ACCOUNT_PART_ENUMERATOR) HELIO_ENERGY_ACCOUNT_PARTS
} helio_energy_account_part_t;

typedef struct helio_energy_account helio_energy_account_t;

typedef struct helio_energy_account_options {
    const helio_site_profile_t *profile; /* borrowed */
    /* borrowed; measures the GPUs of the only pool (agent/gpus.h). NULL = the model is used */
    const helio_nvml_t *nvml;
    const char *state_dir; /* for the account over a restart; NULL = none */
    int64_t wall_ms;
} helio_energy_account_options_t;

/*  If the stored account is missing, damaged or of another site, a new one begins: the hours before are unknown. */
helio_energy_account_t *helio_energy_account_new(const helio_energy_account_options_t *options);
void helio_energy_account_destroy(
    helio_energy_account_t **self_p); /* writes nothing: what is not stored yet is measured again */
/*  IO: it could not be written. The account continues; only a restart would lose something. */
HELIO_MUST_CHECK helio_rc helio_energy_account_save(helio_energy_account_t *self, helio_error_t *err);

/*  Called about every ten seconds, and before an hour is published. */
void helio_energy_account_tick(helio_energy_account_t *self, int64_t wall_ms);
/*  Applies from now on. */
void helio_energy_account_pue(helio_energy_account_t *self, double pue);
/*  GPUs of a pool that is not measured: of nodes that are up, held by the federation, held by others. */
void helio_energy_account_use(helio_energy_account_t *self, uint32_t pool, uint32_t total, uint32_t ours,
                              uint32_t others);

/*  Called before anything of the attempt runs on these GPUs. Has no effect if they are not measured. */
void helio_energy_account_take(helio_energy_account_t *self, const char *attempt, const uint32_t *gpus, uint32_t count,
                               int64_t wall_ms);
/*  The attempt is over since ended_ms. Returns the J that it used; 0 = unknown: the ledger models it. The energy of its
 *  GPUs since its end, before this call, is assumed to be at idle_w; if that time is more than a tenth of the run (and
 *  ten seconds), the energy of the run is unknown. ran: false = the energy of its GPUs was idle. */
uint64_t helio_energy_account_give(helio_energy_account_t *self, const char *attempt, bool ran, int64_t ended_ms,
                                   int64_t wall_ms);

/*  Readings of the site's meter, in any order: those up to the newest known one are skipped. cumulative: kWh so far;
 *  otherwise the mean W from this reading to the next. If two readings are over three hours apart, the time between is
 *  unknown. */
typedef struct helio_energy_account_reading {
    int64_t time_ms;
    double value;
} helio_energy_account_reading_t;
void helio_energy_account_read(helio_energy_account_t *self, helio_energy_account_reading_t *readings, uint32_t count,
                               bool cumulative, helio_text_t source, int64_t wall_ms);

/*  True once after each hour that ended, and after readings that completed an hour: something is to be published. */
bool helio_energy_account_news(helio_energy_account_t *self, int64_t wall_ms);
/*  Mean W of the hours that are over, a series of power_watts for each pool and part (its kind), and one of the meter;
 *  -1 = unknown. At most 3 x pools + 1 series. */
uint32_t helio_energy_account_series(const helio_energy_account_t *self, int64_t wall_ms, helio_arena_t *arena,
                                     helio_series_t *ret_series);

#endif
