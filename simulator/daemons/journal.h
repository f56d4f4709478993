/*  journal.h -- an agent's journal: batches that can be lost with the agent, and the rows that are durable. */
#ifndef HELIO_SIMULATOR_DAEMONS_JOURNAL_H
#define HELIO_SIMULATOR_DAEMONS_JOURNAL_H

#include "simulator/engine/engine.h"
#include "site-agent/core/agent_core.h"

typedef struct sim_journal sim_journal_t;

sim_journal_t *sim_journal_new(sim_engine_t *engine); /* rows live in the engine's arena */
void sim_journal_destroy(sim_journal_t **self_p);

void sim_journal_append(sim_journal_t *self, const helio_effect_t *row); /* adds to the open batch; copied */
uint32_t sim_journal_open_rows(const sim_journal_t *self);
bool sim_journal_in_flight(const sim_journal_t *self);
void sim_journal_seal(sim_journal_t *self); /* puts the open batch in flight */
void sim_journal_commit(sim_journal_t *self);
/*  The open batch is lost; the one in flight is applied if `arrived`, else lost too. */
void sim_journal_crash(sim_journal_t *self, bool arrived);
void sim_journal_wipe(sim_journal_t *self); /* all rows are lost */

/*  Emits what a starting agent is given: LOAD_* events, without LOADED. */
typedef void sim_journal_emit_fn(void *arg, uint32_t kind, const void *payload);
void sim_journal_load(const sim_journal_t *self, sim_journal_emit_fn *emit, void *arg);

/*  What it holds now, without the batches; the caller destroys it. And back: what was written since is forgotten. NULL:
 *  everything is. */
sim_journal_t *sim_journal_copy(const sim_journal_t *self);
void sim_journal_restore(sim_journal_t *self, const sim_journal_t *copy);

#endif
