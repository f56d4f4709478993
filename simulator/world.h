/*  world.h -- the fault campaign: a virtual federation in one thread. The cores are real; clocks, network, database,
 *  journals and processes are virtual.
 *
 *  One 64-bit seed decides everything: the same seed gives the same run, event by event. Time is true time in ms; every
 *  node has a boot clock that drifts and a wall clock that is skewed and can jump. The workload and the faults are
 *  drawn from the seed. After every step the promises are checked; the first broken one ends the run.
 *
 *  The promises under test are those of the cores and the release queue. Sockets, SQL and msgpack have tests of their
 *  own.
 */
#ifndef HELIO_SIMULATOR_WORLD_H
#define HELIO_SIMULATOR_WORLD_H

#include "simulator/checks/checks.h"
#include "simulator/daemons/fault.h"

/*  Adding a disturbance changes what a seed means. Each such change begins a generation, and older generations can
 *  still be run: 1 = the first; 2 = some worlds have suspended attempts, sites that lose their power, and slow
 *  messages; 3 = in some worlds agents lose their journals; 4 = two brokers, whose connections break, with settings and
 *  clocks that differ from world to world; 5 = in some worlds the database is restored; 6 = in some worlds leaders end
 *  amid what they have begun, or together with agents, quotas change just after takeovers, the sites are crowded, and
 *  jobs take long to leave; 7 = in some worlds sites are curtailed; 8 = half of the cancelled jobs are cancelled again,
 *  without grace. */
enum { WORLD_GENERATION = 8 };

typedef struct world_options {
    uint64_t seed;
    uint32_t generation; /* 1 .. WORLD_GENERATION; 0 = the newest */
    uint32_t jobs;       /* submissions */
    int64_t faults_ms;   /* faults are drawn until then; afterwards everything heals */
    bool trace;          /* print every event */
    bool hash;           /* hash every event */
} world_options_t;

typedef struct world_result {
    const char *violation; /* "" = every promise holds */
    uint64_t hash;         /* of all events, if asked for: equal for equal seeds */
    uint64_t steps;
    sim_seen_t seen;
    sim_faults_t faults;
    uint64_t edges[HELIO_JOB_STATE_COUNT]; /* transitions that occurred: bit i = to state i */
    uint32_t jobs_over;
    int64_t virtual_ms;
} world_result_t;

typedef struct world world_t;

world_t *world_new(world_options_t options);
void world_destroy(world_t **self_p);
/*  Runs until the world is quiet. The result's text lives as long as the world. */
world_result_t world_run(world_t *self);

#endif
