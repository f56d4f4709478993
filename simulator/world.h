/*  world.h -- the fault campaign: a virtual federation in one thread. The cores are real; clocks, network, database,
 *  journals and processes are virtual.
 *
 *  One 64-bit seed decides everything: the same seed gives the same run, event by event. Time is true time in ms;
 *  every node has a boot clock that drifts and a wall clock that is skewed and may jump. The workload and the faults are
 *  drawn from the seed. After every step the promises are checked; the first broken one ends the run.
 *
 *  The promises that are tested are those of the cores and the release queue; sockets, SQL and msgpack have tests of
 *  their own.
 */
#ifndef HELIO_SIMULATOR_WORLD_H
#define HELIO_SIMULATOR_WORLD_H

#include "simulator/checks/checks.h"
#include "simulator/nodes/fault.h"

/*  What a seed means changes when a disturbance is added. Each such change is a generation, and the older ones can still
 *  be run: 1 = the first; 2 = some worlds have suspended attempts, sites that lose their power, and slow
 *  messages. */
enum { WORLD_GENERATION = 2 };

typedef struct world_options {
    uint64_t seed;
    uint32_t generation; /* 1 .. WORLD_GENERATION; 0 = the newest */
    uint32_t jobs;     /* submissions */
    int64_t faults_ms; /* faults are drawn until then; afterwards everything heals */
    bool trace;        /* print every event */
} world_options_t;

typedef struct world_result {
    const char *violation; /* "" = all promises kept */
    uint64_t hash;         /* of all events: equal for equal seeds */
    uint64_t steps;
    sim_sights_t sights;
    sim_faults_t faults;
    uint64_t edges[HELIO_JOB_STATE_COUNT]; /* transitions that were seen: bit to */
    uint32_t jobs_over;
    int64_t virtual_ms;
} world_result_t;

typedef struct world world_t;

world_t *world_new(world_options_t options);
void world_destroy(world_t **self_p);
/*  Runs to quiescence. The result's text lives as long as the world. */
world_result_t world_run(world_t *self);

#endif
