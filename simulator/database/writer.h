/*  writer.h -- a leader's session with the virtual database, as broker/store has it: the leader lock, the open batch,
 *  and the batch in flight, whose number is written in its own transaction.
 *
 *  What the server does (lead, commit, end) and what the leader knows (answered) are apart, since a connection can
 *  break between the two.
 */
#ifndef HELIO_SIMULATOR_DATABASE_WRITER_H
#define HELIO_SIMULATOR_DATABASE_WRITER_H

#include "simulator/database/database.h"

typedef struct sim_writer sim_writer_t;

sim_writer_t *sim_writer_new(sim_database_t *database); /* the database outlives it */
void sim_writer_destroy(sim_writer_t **self_p);

/*  Opens a session and becomes leader, with an epoch of its own. False: another session has the lock. grants_ms: the
 *  longest lease that it will grant. */
bool sim_writer_lead(sim_writer_t *self, int64_t now_ms, uint64_t grants_ms);
bool sim_writer_is_newest(const sim_writer_t *self); /* it led, and no other leader came after it */
uint64_t sim_writer_epoch(const sim_writer_t *self); /* of its leadership */

/*  The open batch, and the batch in flight, with the open mark (helio_broker_core_open_from). */
void sim_writer_append(sim_writer_t *self, const helio_effect_t *effect);
uint32_t sim_writer_open_rows(const sim_writer_t *self);
void sim_writer_seal(sim_writer_t *self, helio_uuid_t open_from);
bool sim_writer_in_flight(const sim_writer_t *self);
uint64_t sim_writer_batch(const sim_writer_t *self); /* the number of the batch that was sealed last */

/*  The batch in flight reaches the server, which writes all of it or nothing. */
typedef enum sim_written {
    SIM_WRITTEN,
    SIM_WRITTEN_NOT,   /* the session has ended: what was sent is not read */
    SIM_WRITTEN_FENCED /* HE001: another broker has become leader, or this is not its next batch */
} sim_written_t;
sim_written_t sim_writer_commit(sim_writer_t *self);
void sim_writer_answered(sim_writer_t *self); /* the leader knows that its batch is written */

/*  The server ends the session, which frees the lock. */
void sim_writer_end_session(sim_writer_t *self);
/*  The session loses its lock and lives on, as behind a pooler that resets it. */
bool sim_writer_lose_lock(sim_writer_t *self); /* false: it had none */
bool sim_writer_has_session(const sim_writer_t *self);

/*  After the end of its session: a new one, and what became of the batch in flight. */
typedef enum sim_resumed {
    SIM_RESUMED,         /* it leads on; nothing was in flight */
    SIM_RESUMED_WRITTEN, /* it leads on, and the batch in flight is written */
    SIM_RESUMED_LOST,    /* it leads on, and that batch has to be sent again */
    SIM_RESUMED_LOCKED,  /* another session has the lock */
    SIM_RESUMED_FENCED   /* another broker has become leader */
} sim_resumed_t;
sim_resumed_t sim_writer_resume(sim_writer_t *self);

/*  The leader died: its batches are lost, and its session ends; silently: the server does not learn of it. */
void sim_writer_crash(sim_writer_t *self, bool silently);

#endif
