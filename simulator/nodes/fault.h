/*  fault.h -- what can go wrong in the virtual world, and how often each of it did. */
#ifndef HELIO_SIMULATOR_NODES_FAULT_H
#define HELIO_SIMULATOR_NODES_FAULT_H

#include "simulator/engine/engine.h"

#define SIM_FAULT_TABLE(X)                                                                                   \
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
    X(START_FAILED, "backend could not start an attempt")                                                    \
    X(SUSPENDED, "attempt suspended by its site")                                                            \
    X(SITE_DIED, "site without power")
#define SIM_FAULT_ENUMERATOR(name, text) SIM_FAULT_##name,
typedef enum sim_fault { SIM_FAULT_TABLE(SIM_FAULT_ENUMERATOR) SIM_FAULT_COUNT } sim_fault_t;

typedef struct sim_faults {
    uint64_t counts[SIM_FAULT_COUNT];
} sim_faults_t;

const char *sim_fault_name(sim_fault_t fault);
void sim_fault_count(sim_faults_t *self, const sim_engine_t *engine, sim_fault_t fault);

#endif
