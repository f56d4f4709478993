/*  journal.h -- an agent's journal: batches that may be lost with the agent, and the rows that are durable. */
#ifndef HELIO_SIMULATOR_NODES_JOURNAL_H
#define HELIO_SIMULATOR_NODES_JOURNAL_H

#include "simulator/engine/engine.h"
#include "site-agent/core/agent_core.h"

typedef struct sim_journal sim_journal_t;

sim_journal_t *sim_journal_new(sim_engine_t *engine); /* rows live in the engine's arena */
void sim_journal_destroy(sim_journal_t **self_p);

void sim_journal_append(sim_journal_t *self, const helio_effect_t *row); /* to the open batch; copied */
uint32_t sim_journal_open_rows(const sim_journal_t *self);
bool sim_journal_in_flight(const sim_journal_t *self);
void sim_journal_seal(sim_journal_t *self); /* the open batch is in flight */
void sim_journal_commit(sim_journal_t *self);
void sim_journal_crash(sim_journal_t *self, bool arrived); /* the open batch is gone; the one in flight arrived or not */

/*  What an agent that starts is given: LOAD_* events, LOADED excluded. */
typedef void sim_journal_emit_fn(void *arg, uint32_t kind, const void *payload);
void sim_journal_load(const sim_journal_t *self, sim_journal_emit_fn *emit, void *arg);

#endif
