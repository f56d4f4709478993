/*  internal.h -- the state of one running attempt, shared by run.c, claim.c and start.c. */
#ifndef HELIO_SHIM_INTERNAL_H
#define HELIO_SHIM_INTERNAL_H

#include "site-agent/shim/gang.h"
#include "site-agent/shim/lease_watch.h"
#include "site-agent/shim/output.h"
#include "site-agent/shim/ranks.h"
#include "site-agent/shim/run.h"

typedef enum helio_shim_phase { HELIO_SHIM_RUNNING, HELIO_SHIM_STOPPING, HELIO_SHIM_KILLING } helio_shim_phase_t;

typedef struct helio_shim {
    const helio_shim_call_t *call;
    int folder;
    int status_files; /* where claim, started and done are: the folder, or the folder of a rank in it */
    uint32_t rank;    /* of several nodes */
    helio_plan_t plan;
    helio_buffer_t plan_text; /* the plan's views point here */
    bool head;                /* its only child is srun, or an adapter's launcher, which starts a shim on each node */
    bool env_there;           /* the file with the environment, which may hold secrets */
    helio_ranks_t ranks;
    helio_output_t output;
    int signals;
    int leash;         /* of the guardian; -1 = none */
    char cgroup[4096]; /* path of the ranks' control group; "" = none */
    helio_shim_phase_t phase;
    int64_t started_boot_ms;
    int64_t kill_at_ms;    /* STOPPING */
    int64_t killing_ms;    /* KILLING: start time */
    uint32_t kill_steps;   /* KILLING, of a head: how far it has escalated */
    int64_t lease_read_ms; /* next read of the lease */
    int64_t gang_poll_ms;  /* next read of the other side's file */
    int64_t beat_ms;       /* next sign of life, and next check for the files `stop` and `signals` */
    int64_t signal_seen;   /* number of the last line of `signals` that was obeyed */
    helio_lease_watch_t lease;
    bool childless;
    helio_done_t done;
} helio_shim_t;

/*  start.c: creates the processes and releases them. On failure not one instruction of the job ran, and the error's
 *  text is why; children can exist for a moment. */
HELIO_MUST_CHECK helio_rc helio_shim_start(helio_shim_t *self, helio_error_t *err);
void helio_shim_read_lease(helio_shim_t *self, int64_t now_ms);

/*  claim.c. CONFLICT: another shim runs this attempt. */
HELIO_MUST_CHECK helio_rc helio_shim_claim(helio_shim_t *self, helio_error_t *err);
bool helio_shim_folder_was_removed(const helio_shim_t *self);
/*  Goes on with a copy of the folder that was put back in its place: it has this shim's claim, and the agent waits for
 *  an end there. NOT_FOUND: there is none. */
HELIO_MUST_CHECK helio_rc helio_shim_take_copy(helio_shim_t *self, helio_error_t *err);

#endif
