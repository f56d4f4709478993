/*  backend.h -- the processes of all sites: they outlive their agent, keep the proof of their end, and stop by
 *  themselves when their site's lease has run out. This is the ground truth that the ledger is compared with.
 */
#ifndef HELIO_SIMULATOR_NODES_BACKEND_H
#define HELIO_SIMULATOR_NODES_BACKEND_H

#include <uthash.h>

#include "simulator/engine/host.h"
#include "simulator/nodes/fault.h"
#include "simulator/nodes/moments.h"
#include "site-agent/core/agent_core.h"

typedef struct sim_backend sim_backend_t;

/*  What truly ran at a site: one attempt. Never forgotten. */
typedef struct sim_run {
    struct {
        helio_job_key_t key;
        uint32_t epoch;
    } id;
    uint32_t site;
    sim_program_t program;
    uint32_t gpus;
    uint32_t on_site_loss;
    helio_slot_t *slots; /* in the engine's arena */
    uint32_t slot_count;
    bool running, ended, forgotten, stopped, limit, lost, failed_to_start, suspended;
    int32_t exit_code;
    int64_t began_ms, over_ms, said_ms; /* true time */
    int64_t ends_ms;                    /* by itself, unless it is suspended again */
    int64_t suspended_ms;               /* when it was suspended last; held_ms: how long it was, in all */
    int64_t held_ms;
    int64_t started_wall_ms;
    uint64_t run_ms;
    uint32_t times; /* how often processes were made for it */
    UT_hash_handle hh;
} sim_run_t;

/*  What a backend tells the agent of its site, as long as that agent lives. */
typedef void sim_backend_fn(void *arg, uint32_t site, const helio_aev_backend_t *event);

typedef struct sim_backend_options {
    double slow;        /* how often a backend takes a second to 90 to tell something */
    double no_start;    /* how often it cannot start an attempt ... */
    int64_t trouble_ms; /* ... until then */
} sim_backend_options_t;

typedef struct sim_backend_setup {
    sim_engine_t *engine;
    const sim_host_t *const *hosts; /* of the agents, by site */
    uint32_t site_count;
    sim_backend_options_t options;
    sim_faults_t *faults;
    const sim_script_t *script;
    void *script_arg;
    sim_backend_fn *tell;
    void *tell_arg;
} sim_backend_setup_t;

sim_backend_t *sim_backend_new(const sim_backend_setup_t *setup); /* copied; what it points to outlives the backend */
void sim_backend_destroy(sim_backend_t **self_p);

void sim_backend_start(sim_backend_t *self, uint32_t site, const helio_afx_start_t *start);
void sim_backend_adopt(sim_backend_t *self, uint32_t site, const helio_afx_start_t *start);
void sim_backend_stop(sim_backend_t *self, uint32_t site, const helio_stop_t *stop);
void sim_backend_forget(sim_backend_t *self, const helio_afx_forget_t *forget);
void sim_backend_lease(sim_backend_t *self, uint32_t site, int64_t deadline_boot_ms);
void sim_backend_lose_one(sim_backend_t *self, uint32_t site); /* a running attempt vanishes, if there is one */
void sim_backend_lose_all(sim_backend_t *self, uint32_t site);
/*  The site suspends the running attempt of this rank, counted around, for a while: its time stands still, and its GPUs
 *  stay taken. Nothing happens when none runs. */
void sim_backend_suspend(sim_backend_t *self, uint32_t site, uint64_t rank, int64_t for_ms);

/*  All runs in the order of their starts, by hh.next. */
const sim_run_t *sim_backend_runs(const sim_backend_t *self);

#endif
