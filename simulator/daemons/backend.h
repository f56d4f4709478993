/*  backend.h -- the processes of all sites: they outlive their agent, keep the proof of their end, and stop by
 *  themselves when the lease that was granted to them has run out. The ledger is compared with this ground truth. */
#ifndef HELIO_SIMULATOR_DAEMONS_BACKEND_H
#define HELIO_SIMULATOR_DAEMONS_BACKEND_H

#include <uthash.h>

#include "simulator/engine/host.h"
#include "simulator/daemons/fault.h"
#include "simulator/daemons/moments.h"
#include "site-agent/core/agent_core.h"

typedef struct sim_backend sim_backend_t;

/*  What truly ran at a site: one attempt. Never removed. */
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
    bool silent; /* lost: its length is not reported */
    bool found;  /* by an agent that had lost its memory */
    bool orphan; /* its agent lost its memory and cannot find it: nothing is heard of it any more */
    int32_t exit_code;
    int64_t began_ms, over_ms, said_ms; /* true time */
    int64_t ends_ms;                    /* by itself, unless it is suspended again */
    int64_t suspended_ms;               /* start of the current suspension; held_ms: total time of the former ones */
    int64_t held_ms;
    int64_t lease_boot_ms; /* by its site's clock: what it was granted last */
    int64_t started_wall_ms;
    uint64_t run_ms;
    uint32_t times; /* how often its processes were started */
    UT_hash_handle hh;
} sim_run_t;

/*  Reports to the agent of a site while that agent is up. */
typedef void sim_backend_fn(void *arg, uint32_t site, const helio_aev_backend_t *event);

typedef struct sim_backend_options {
    double slow;        /* probability that a report takes 1 to 90 s */
    double no_start;    /* probability that an attempt fails to start ... */
    int64_t trouble_ms; /* ... until then */
    int64_t leave_ms;   /* the longest time that a job takes to end after a stop; 0 = 3 s */
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
void sim_backend_lease(sim_backend_t *self, uint32_t site, const helio_afx_lease_t *lease);
void sim_backend_lose_one(sim_backend_t *self, uint32_t site); /* one running attempt vanishes, if any runs */
void sim_backend_lose_all(sim_backend_t *self, uint32_t site);
/*  Reports at once what the site holds, as if each attempt had been adopted: a survey of an agent without memory. */
void sim_backend_survey(sim_backend_t *self, uint32_t site);
/*  What runs there now can be found by no agent any more. No lease prolongs it, if no agent knows it. */
void sim_backend_orphan_all(sim_backend_t *self, uint32_t site);
/*  The site suspends the running attempt with index `rank` (modulo their number) for for_ms: its time stands still, and
 *  its GPUs stay in use. Has no effect when none runs. */
void sim_backend_suspend(sim_backend_t *self, uint32_t site, uint64_t rank, int64_t for_ms);

/*  All runs in the order of their starts, linked by hh.next. */
const sim_run_t *sim_backend_runs(const sim_backend_t *self);

#endif
