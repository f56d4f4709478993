/*  inner.h -- what the files around one running attempt share (run.c, start.c). */
#ifndef HELIO_SHIM_INNER_H
#define HELIO_SHIM_INNER_H

#include "site-agent/shim/gang.h"
#include "site-agent/shim/lease.h"
#include "site-agent/shim/output.h"
#include "site-agent/shim/ranks.h"
#include "site-agent/shim/run.h"

typedef enum helio_shim_phase {
    HELIO_SHIM_RUNNING,
    HELIO_SHIM_STOPPING,
    HELIO_SHIM_KILLING
} helio_shim_phase_t;

typedef struct helio_shim {
    const helio_shim_call_t *call;
    int folder;
    int status_files;     /* where claim, started and done are: the folder, or one of a rank in it */
    uint32_t rank; /* of several nodes */
    helio_plan_t plan;
    helio_buffer_t plan_text; /* the plan's views point here */
    bool head;                /* its one child is srun, which starts a shim on each node */
    bool env_there;           /* the file with the environment, which may hold secrets */
    helio_ranks_t ranks;
    helio_output_t output;
    int signals;
    helio_shim_phase_t phase;
    int64_t started_boot_ms;
    int64_t kill_at_ms;    /* STOPPING */
    int64_t killing_ms;    /* KILLING: since when */
    uint32_t kill_steps;   /* KILLING, of a head: means that were used */
    int64_t lease_read_ms; /* when to read it again */
    int64_t gang_poll_ms;  /* when to look at the others again */
    int64_t beat_ms;       /* when to show life, and to look for a word, again */
    helio_lease_watch_t lease;
    bool childless;
    helio_done_t done;
} helio_shim_t;

/*  start.c: makes the processes and lets them go. On failure not one instruction of the job ran, and the
 * error's text is why; children may exist for a moment. */
HELIO_MUST_CHECK helio_rc helio_shim_start(helio_shim_t *self, helio_error_t *err);
void helio_shim_read_lease(helio_shim_t *self, int64_t now_ms);

#endif
