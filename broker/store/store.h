/*  store.h -- the broker's writer: one connection to PostgreSQL, one batch in flight, one transaction for each batch.
 *
 *  Thread: the engine's. Never blocks after helio_store_open and helio_store_load: the engine's loop drives the socket.
 *
 *  Leadership: open takes a session advisory lock (a broker that does not get it follows). Then it raises the broker
 *  epoch in table `federation` under FOR UPDATE. The incarnation rises if this is another copy of the database: the
 *  system identifier or the WAL timeline has changed, or a batch is missing of which the store knows that it was
 *  durable. With standby_keeps, a later timeline alone is no other copy: a standby was promoted. The transaction of
 *  every batch begins with: update federation set last_batch = n where broker_epoch = e and last_batch = n-1. If that
 *  changes no row, this broker is fenced (HELIO_FENCED: the process must end).
 *
 *  A leader that stands still (a paused machine, a process that was stopped) keeps its connection, and would keep the
 *  lock. So its session has an idle timeout, and it beats several times within that. The server ends the session of one
 *  that does not, and a follower takes over; the old leader finds itself fenced when it wakes. A session amid a batch
 *  is not idle for the server: the follower ends it.
 *
 *  Locks: no statement of the session waits longer for a lock than the greater part of the commit deadline. Then the
 *  server refuses the batch, which is known to be undone; the store sends it again in the same session, and so still
 *  leads. A session that its broker has given up ends by itself, at the server too.
 *
 *  Lost connection: the outcome of the batch in flight is *unknown*. The store reconnects, takes the lock again, reads
 *  last_batch, and either reports the batch committed or sends it again. Nothing is ever answered on an unknown
 *  commit. If the database has become another copy, it notes that there for the next leader, and is fenced. */
#ifndef HELIO_BROKER_STORE_H
#define HELIO_BROKER_STORE_H

#include "broker/model/effects.h"
#include "broker/model/events.h"

typedef struct helio_store helio_store_t;

typedef struct helio_store_options {
    const char *conninfo;        /* libpq connection string; its secrets are never logged */
    uint64_t commit_deadline_ms; /* drops the connection when a commit takes longer; 0 = 10 s */
    uint64_t lease_ms;           /* the longest lease that this leader grants; stored before it grants one */
    uint64_t idle_ms;            /* the server ends the session of a store that hangs for this time; 0 = 15 s */
    int64_t usage_ms;            /* the age of the oldest use in the ledger that helio_store_load reads */
    const char *http;            /* URL at which the other brokers reach this one; NULL or "" = they cannot */
    bool standby_keeps;          /* the operator says: only a standby that has every confirmed commit is promoted */
} helio_store_options_t;

/*  Copies conninfo and http. Connects nothing yet. */
helio_store_t *helio_store_new(helio_store_options_t options);
void helio_store_destroy(helio_store_t **self_p);
/*  Disconnects for good, so that another broker can lead at once. What is not committed is not sent any more. */
void helio_store_close(helio_store_t *self);

/*  A batch that was durable. Of two, the later one is larger from left to right, even if a restore came between them.
 *  */
typedef struct helio_batch_mark {
    uint64_t incarnation;
    uint64_t epoch;
    uint64_t batch;
} helio_batch_mark_t;
/*  What a broker that follows has seen: a database without it has lost commits. */
void helio_store_seen(helio_store_t *self, helio_batch_mark_t mark);

/*  Connects, verifies schema version and checksums, and becomes leader. Blocking, for the start only.
 *  HELIO_UNAVAILABLE: no database (the text says where). HELIO_VERSION: not migrated, or too new (the text names
 *  `helio-broker migrate`). HELIO_BUSY: another broker leads. All can be tried again. */
HELIO_MUST_CHECK helio_rc helio_store_open(helio_store_t *self, helio_error_t *err);

/*  Reads everything that is not over, as LOAD_* events in the order that the core wants, without LOADED. Specs are
 *  parsed from the stored source; one that no longer parses is an error that names the job. Blocking; streams row by
 *  row. A payload is borrowed for the call of emit. */
typedef void helio_store_emit_fn(void *arg, uint32_t kind, const void *payload);
HELIO_MUST_CHECK helio_rc helio_store_load(helio_store_t *self, helio_store_emit_fn *emit, void *arg,
                                           helio_error_t *err);

/*  Adds a ROW effect to the open batch. Copies. STATE rows of one key within a batch collapse to the last. */
void helio_store_append(helio_store_t *self, const helio_effect_t *effect);

uint64_t helio_store_open_batch(const helio_store_t *self); /* the number of the open batch: 1, 2, … */
uint32_t helio_store_open_rows(const helio_store_t *self);
size_t helio_store_open_bytes(const helio_store_t *self);
bool helio_store_can_seal(const helio_store_t *self); /* connected, nothing in flight, the open batch is not empty */
/*  Sends the open batch and opens the next. open_from: what helio_broker_core_open_from returns now, when the rows of
 *  every step so far are in this batch or an older one; it is committed with the batch. */
void helio_store_seal(helio_store_t *self, helio_uuid_t open_from);
uint64_t helio_store_committed(const helio_store_t *self); /* the highest batch that is known to be durable */
bool helio_store_connected(const helio_store_t *self);
/*  The server refuses the batch in flight because its disk is full, or for a similar lack. The batch is kept and sent
 *  again until it is committed. */
bool helio_store_lacks_room(const helio_store_t *self);
/*  The batch in flight waits for a lock that another session has. The store still leads, and tries again and again in
 *  its session. */
bool helio_store_waits(const helio_store_t *self);
/*  Why it is not connected, or what waits for a lock, for the log; "" = neither. */
const char *helio_store_trouble(const helio_store_t *self);

/*  For the loop: the socket (-1 = none; it can change), whether to wait for writability, and when to call process at
 *  the latest (boot clock, ms). */
int helio_store_fd(const helio_store_t *self);
bool helio_store_wants_write(const helio_store_t *self);
int64_t helio_store_next_tick_ms(const helio_store_t *self);
/*  Progresses as far as possible without blocking. HELIO_FENCED and HELIO_INVALID are fatal (the database refused a
 *  row: a bug; err names the statement). All other failures heal by themselves. */
HELIO_MUST_CHECK helio_rc helio_store_process(helio_store_t *self, int64_t now_ms, helio_error_t *err);

typedef struct helio_store_figures {
    uint64_t batches_total;
    uint64_t rows_total;
    uint64_t reconnects_total;
    uint64_t commit_us_sum; /* from seal to commit */
    uint64_t commit_us_last;
} helio_store_figures_t;
void helio_store_figures(const helio_store_t *self, helio_store_figures_t *ret_figures);

/*  Schema migrations: forward-only numbered files, one transaction each, under an advisory lock. Their checksums
 *  (SHA-256) are in helio.schema_migrations. migrate reports each step through `say`. verify: HELIO_VERSION with a text
 *  if the database differs from this program. */
typedef void helio_say_fn(void *arg, const char *line);
HELIO_MUST_CHECK helio_rc helio_schema_migrate(const char *conninfo, helio_say_fn *say, void *arg, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_schema_verify(const char *conninfo, helio_error_t *err);
/*  How migrate waits for a lock. Whatever asks for a lock behind it waits as well, the broker's commits too, so it gives
 *  up after lock_ms and tries again after a pause, `tries` times in all. Pauses double up to pause_max_ms. It says who
 *  has the lock. HELIO_BUSY after the last try: what was applied stays, the rest is for the next run. */
typedef struct helio_schema_patience {
    uint32_t lock_ms;
    uint32_t tries;
    uint32_t pause_ms;
    uint32_t pause_max_ms;
} helio_schema_patience_t;
HELIO_MUST_CHECK helio_rc helio_schema_migrate_with(const char *conninfo, const helio_schema_patience_t *patience,
                                                    helio_say_fn *say, void *arg, helio_error_t *err);
/*  Visits each right on this server that nobody needs: a sentence, and the SQL by which a superuser of this database
 *  revokes it, "" = the sentence says what to do. The schema is of this version. */
typedef void helio_store_privilege_fn(void *arg, const char *open, const char *sql);
HELIO_MUST_CHECK helio_rc helio_store_open_privileges(const char *conninfo, helio_store_privilege_fn *visit, void *arg,
                                                      helio_error_t *err);

typedef enum helio_put { HELIO_PUT_NEW, HELIO_PUT_SAME, HELIO_PUT_CHANGED } helio_put_t;

/*  Bootstrap: writes straight into the database, one transaction each. A tenant: home_site "" = none, NULL = as it
 *  stands; ret_put, what that did, may be NULL. */
HELIO_MUST_CHECK helio_rc helio_store_put_tenant(const char *conninfo, const char *tenant, const char *home_site,
                                                 helio_put_t *ret_put, helio_error_t *err);
/*  The next leader begins a new incarnation, as it also does when it detects by itself that the database was restored.
 *  HELIO_BUSY while a broker leads. */
HELIO_MUST_CHECK helio_rc helio_store_declare_restored(const char *conninfo, helio_error_t *err);
/*  Whether commits on this server wait for a standby. */
HELIO_MUST_CHECK helio_rc helio_store_is_synchronous(const char *conninfo, bool *ret_synchronous, helio_error_t *err);
/*  Whether a tenant has a home site. *ret_has is false also for an unknown tenant. */
HELIO_MUST_CHECK helio_rc helio_store_has_home(const char *conninfo, const char *tenant, bool *ret_has,
                                               helio_error_t *err);
/*  HELIO_NOT_FOUND for an unknown tenant: a token for a name with a slip in it would make a tenant of the slip. */
HELIO_MUST_CHECK helio_rc helio_store_put_token(const char *conninfo, const helio_row_token_t *token,
                                                helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_store_put_site_key(const char *conninfo, const helio_row_site_key_t *key,
                                                   helio_error_t *err);

/*  Readers: database logins for dashboards, which see the rows of some tenants only. tenants: at least one. *ret_script
 *  receives the statements that a superuser still has to run, where this database user lacks the right; empty = none.
 *  HELIO_INVALID: an unknown tenant or reader, or a role with rights of its own; the text says which. */
HELIO_MUST_CHECK helio_rc helio_store_put_reader(const char *conninfo, const char *reader, const char *const *tenants,
                                                 uint32_t tenant_count, helio_buffer_t *ret_script, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_store_remove_reader(const char *conninfo, const char *reader,
                                                    helio_buffer_t *ret_script, helio_error_t *err);
/*  ready: the login exists with all its rights and limits. tenants: separated by ", ". */
typedef void helio_store_reader_fn(void *arg, const char *reader, const char *tenants, bool ready);
HELIO_MUST_CHECK helio_rc helio_store_each_reader(const char *conninfo, helio_store_reader_fn *visit, void *arg,
                                                  helio_error_t *err);

/*  For the shells' tables at the start: all tokens, also revoked ones, all users, also enabled ones (a broker that
 *  followed before knows both from another time), and the site keys in force. Blocking. The row is borrowed for the
 *  call of visit. */
typedef void helio_store_token_fn(void *arg, const helio_row_token_t *token);
typedef void helio_store_site_key_fn(void *arg, const helio_row_site_key_t *key);
typedef void helio_store_principal_fn(void *arg, const helio_row_principal_t *principal);
HELIO_MUST_CHECK helio_rc helio_store_each_token(helio_store_t *self, helio_store_token_fn *visit, void *arg,
                                                 helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_store_each_user(helio_store_t *self, helio_store_principal_fn *visit, void *arg,
                                                helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_store_each_site_key(helio_store_t *self, helio_store_site_key_fn *visit, void *arg,
                                                    helio_error_t *err);

#endif
