/*  journal.h -- the agent's durable memory: the attempts it holds, the epochs it has seen, the reports it has yet to
 *  send.
 *
 *  SQLite in WAL mode with synchronous=FULL: a batch is one transaction, on disk when helio_journal_commit returns OK.
 *  Rows are kept by kind and identity as canonical bytes (wire/codec.h) with a checksum of their own, since SQLite
 *  notices a torn page but not a flipped bit. Everything is read once at opening. A file that is damaged anywhere is
 *  moved away (journal.damaged-<time>) and a new one is created, which the agent must be told (LOADED.damaged).
 *
 *  After a failed put or commit the state on disk is unknown: end the process, and read the journal anew. Thread: one
 *  owner. The file is locked: a second opener gets HELIO_BUSY.
 */
#ifndef HELIO_JOURNAL_JOURNAL_H
#define HELIO_JOURNAL_JOURNAL_H

#include "site-agent/core/agent_core.h"

typedef struct helio_journal helio_journal_t;

typedef enum helio_journal_state {
    HELIO_JOURNAL_INTACT,
    HELIO_JOURNAL_NEW,    /* none existed */
    HELIO_JOURNAL_DAMAGED /* it was damaged and has been moved away */
} helio_journal_state_t;

/*  `directory` must exist. HELIO_BUSY, HELIO_IO, HELIO_VERSION (written by a newer release). *ret_state: what was
 *  found; err's text describes the damage although the result is OK. Deletes epochs that were seen more than 30 days
 *  before wall_ms. */
HELIO_MUST_CHECK helio_rc helio_journal_open(const char *directory, int64_t wall_ms, helio_journal_t **ret_journal,
                                             helio_journal_state_t *ret_state, helio_error_t *err);
void helio_journal_close(helio_journal_t **self_p); /* drops an open batch */

/*  Calls on_event with the payloads of LOAD_META, LOAD_SEEN, LOAD_ATTEMPT and LOAD_REPORT events, in that order,
 *  reports by number. Payloads live for the call. The caller adds LOADED. */
typedef void helio_journal_load_fn(void *arg, uint32_t event, const void *payload);
HELIO_MUST_CHECK helio_rc helio_journal_load(helio_journal_t *self, helio_journal_load_fn *on_event, void *arg,
                                             helio_error_t *err);

/*  Adds a ROW effect of the agent's core to the open batch. */
HELIO_MUST_CHECK helio_rc helio_journal_put(helio_journal_t *self, const helio_effect_t *row, helio_error_t *err);
/*  Commits the open batch; has no effect if it is empty. */
HELIO_MUST_CHECK helio_rc helio_journal_commit(helio_journal_t *self, helio_error_t *err);

/*  Sets space aside within the journal's own files, so that it can be written while the disk is full: a few thousand
 *  rows beyond those of today. Without room for that it has no effect. No batch is open. */
void helio_journal_reserve(helio_journal_t *self);

/*  Rows put since opening; batches written. */
void helio_journal_counts(const helio_journal_t *self, uint64_t *ret_rows, uint64_t *ret_batches);

#endif
