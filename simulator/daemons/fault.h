/*  fault.h -- the kinds of faults of the virtual world, and how often each occurred. simulator/faults injects them. */
#ifndef HELIO_SIMULATOR_DAEMONS_FAULT_H
#define HELIO_SIMULATOR_DAEMONS_FAULT_H

#include "simulator/engine/engine.h"

#define SIM_FAULT_TABLE(X)                                                    \
    X(BROKER_CRASH, "broker crash")                                           \
    X(COMMIT_LOST, "commit lost with the broker")                             \
    X(COMMIT_ARRIVED, "commit arrived, broker gone")                          \
    X(DATABASE_OUTAGE, "database outage")                                     \
    X(AGENT_CRASH, "agent crash")                                             \
    X(JOURNAL_LOST, "journal batch lost with the agent")                      \
    X(CONNECTION_LOST, "connection lost")                                     \
    X(PARTITION, "partition")                                                 \
    X(LONG_SILENCE, "partition beyond the lease")                             \
    X(AGENT_PAUSED, "agent paused")                                           \
    X(WALL_JUMP, "wall clock jump")                                           \
    X(ATTEMPT_LOST, "backend lost an attempt")                                \
    X(START_FAILED, "backend could not start an attempt")                     \
    X(SUSPENDED, "attempt suspended by its site")                             \
    X(SITE_DIED, "site without power")                                        \
    X(JOURNAL_DAMAGED, "journal damaged")                                     \
    X(JOURNAL_OLD, "journal replaced by an older copy")                       \
    X(JOURNAL_GONE, "journal deleted")                                        \
    X(ORPHANED, "attempt that its agent cannot find")                         \
    X(BROKER_VANISHED, "broker gone, its session is not")                     \
    X(BROKER_PAUSED, "broker paused")                                         \
    X(LEADER_PAUSED, "leader paused beyond its session")                      \
    X(LEADER_CUT, "leader cut off from its database")                         \
    X(LEADER_DEAF, "leader that its database hears, but which hears nothing") \
    X(LEADER_MUTE, "leader that hears its database, but is not heard")        \
    X(LOCK_LOST, "session without its leader lock")                           \
    X(SESSION_IDLE, "session ended by the server")                            \
    X(FENCED, "leader that lived was replaced")                               \
    X(DATABASE_RESTART, "database restarted")                                 \
    X(DATABASE_AWAY, "database away for minutes")                             \
    X(UNKNOWN_WRITTEN, "unknown commit that was written")                     \
    X(UNKNOWN_LOST, "unknown commit that was lost")                           \
    X(CUT_FROM_ONE, "site cut off from one broker")                           \
    X(CUT_UP, "site unheard, although it hears")                              \
    X(CUT_DOWN, "site that hears nothing, although it is heard")              \
    X(GIVEN_UP, "broker given up by a site")                                  \
    X(BROKER_WALL_JUMP, "wall clock jump of a broker")                        \
    X(RESTORED, "database restored")                                          \
    X(LEADER_AMID, "leader gone amid a preemption or a migration")            \
    X(SITES_WITH_LEADER, "agents restarted together with the leader")
#define SIM_FAULT_ENUMERATOR(name, text) SIM_FAULT_##name,
typedef enum sim_fault { SIM_FAULT_TABLE(SIM_FAULT_ENUMERATOR) SIM_FAULT_COUNT } sim_fault_t;

typedef struct sim_faults {
    uint64_t counts[SIM_FAULT_COUNT];
} sim_faults_t;

const char *sim_fault_name(sim_fault_t fault);
void sim_fault_count(sim_faults_t *self, const sim_engine_t *engine, sim_fault_t fault);

#endif
