/*  world.h -- a virtual federation in one thread: real cores, virtual clocks, network, database, journals and
 *  processes.
 *
 *  One 64-bit seed decides everything: the same seed gives the same run, event by event. Time is true time in ms;
 *  every node has a boot clock that drifts and a wall clock that is skewed and may jump. Faults are drawn from the
 *  seed. After every step the invariants are checked (invariants.c); the first violation ends the run.
 *
 *  The promises that are tested are those of the cores and the release queue; sockets, SQL and msgpack have tests of
 *  their own.
 */
#ifndef HELIO_SIMULATOR_WORLD_H
#define HELIO_SIMULATOR_WORLD_H

#include "broker/release/release.h"
#include "federation/base/rng.h"
#include "simulator/database/vdb.h"
#include "site-agent/core/agent_core.h"

enum { WORLD_SITES_MAX = 4, WORLD_JOBS_MAX = 256, WORLD_NODES_PER_SITE = 3, WORLD_GPUS_PER_NODE = 4 };

#define WORLD_FAULT_TABLE(X)                                                                                 \
    X(BROKER_CRASH, "broker crash")                                                                          \
    X(COMMIT_LOST, "commit lost with the broker")                                                            \
    X(COMMIT_ARRIVED, "commit arrived, broker gone")                                                         \
    X(DATABASE_OUTAGE, "database outage")                                                                    \
    X(AGENT_CRASH, "agent crash")                                                                            \
    X(JOURNAL_LOST, "journal batch lost with the agent")                                                     \
    X(CONNECTION_LOST, "connection lost")                                                                    \
    X(PARTITION, "partition")                                                                                \
    X(LONG_SILENCE, "partition beyond the lease")                                                            \
    X(AGENT_PAUSED, "agent paused")                                                                          \
    X(WALL_JUMP, "wall clock jump")                                                                          \
    X(ATTEMPT_LOST, "backend lost an attempt")                                                               \
    X(START_FAILED, "backend could not start an attempt")
#define WORLD_FAULT_ENUMERATOR(name, text) WORLD_FAULT_##name,
typedef enum world_fault { WORLD_FAULT_TABLE(WORLD_FAULT_ENUMERATOR) WORLD_FAULT_COUNT } world_fault_t;

typedef struct world_options {
    uint64_t seed;
    uint32_t jobs;       /* submissions */
    int64_t faults_ms;   /* faults are drawn until then; afterwards everything heals */
    bool trace;          /* print every event */
} world_options_t;

typedef struct world_result {
    const char *violation; /* "" = all promises kept */
    uint64_t hash;         /* of all events: equal for equal seeds */
    uint64_t steps;
    uint64_t evictions; /* running jobs that were told to make room */
    uint64_t moves;     /* that were told to leave for a better site; arrivals: and were placed there */
    uint64_t arrivals;
    uint64_t faults[WORLD_FAULT_COUNT];
    uint64_t edges[HELIO_JOB_STATE_COUNT]; /* transitions that were seen */
    uint64_t foreseen; /* placements whose p90 is below their limit */
    uint64_t admitted; /* of those, ones that by their limit would have come too late for their deadline */
    uint32_t jobs_over;
    int64_t virtual_ms;
} world_result_t;

typedef struct world world_t;

world_t *world_new(world_options_t options);
void world_destroy(world_t **self_p);
/*  Runs to quiescence. The result's text lives as long as the world. */
world_result_t world_run(world_t *self);

#endif
