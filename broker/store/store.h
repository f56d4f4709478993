/*  store.h -- the broker's writer: one connection to PostgreSQL, one batch in flight, one transaction a batch.
 *
 *  Thread: the engine's. Never blocks after helio_store_open/load: the socket is driven by the engine's loop.
 *
 *  Leadership: open takes a session advisory lock (who waits is standby), then raises the broker epoch in table
 *  `federation` under FOR UPDATE; the incarnation rises when the WAL timeline or the system identifier changed since.
 *  Every batch's transaction first does: update federation set last_batch = n where broker_epoch = e and
 *  last_batch = n-1; if that touches no row, we are fenced (HELIO_FENCED: the process must end).
 *
 *  Lost connection: the batch in flight is *unknown*. The store reconnects, takes the lock again, reads last_batch, and
 *  either reports it committed or sends it again. Nothing is ever answered on an unknown commit.
 */
#ifndef HELIO_BROKER_STORE_H
#define HELIO_BROKER_STORE_H

#include "broker/model/effects.h"
#include "broker/model/events.h"

typedef struct helio_store helio_store_t;

typedef struct helio_store_options {
    const char *conninfo;        /* libpq connection string; secrets never logged */
    uint64_t commit_deadline_ms; /* a commit without answer for so long: drop the connection, outcome unknown; 10 s */
    uint64_t lease_ms;           /* what this leader will grant; remembered before it grants any */
} helio_store_options_t;

helio_store_t *helio_store_new(helio_store_options_t options);
void helio_store_destroy(helio_store_t **self_p);

/*  Connects, verifies schema version and checksums, becomes leader. Blocking, for the start.
 *  HELIO_UNAVAILABLE: no database (text says where); HELIO_VERSION: not migrated or too new (text names
 *  `helio-broker migrate`); HELIO_BUSY: another broker leads. All may be tried again. */
HELIO_MUST_CHECK helio_rc helio_store_open(helio_store_t *self, helio_error_t *err);

/*  Reads everything that is not over, as LOAD_* events in the order the core wants, LOADED excluded. The specs are
 *  parsed from the stored source; one that no longer parses is an error that names the job. Blocking, streams row by
 *  row. */
typedef void helio_store_emit_fn(void *arg, uint32_t kind, const void *payload);
HELIO_MUST_CHECK helio_rc helio_store_load(helio_store_t *self, helio_store_emit_fn *emit, void *arg,
                                           helio_error_t *err);

/*  Joins a ROW effect to the open batch. Copies. STATE rows of one key within a batch collapse to the last. */
void helio_store_append(helio_store_t *self, const helio_effect_t *effect);

uint64_t helio_store_open_batch(const helio_store_t *self); /* its number: 1, 2, … */
uint32_t helio_store_open_rows(const helio_store_t *self);
bool helio_store_can_seal(const helio_store_t *self); /* connected, nothing in flight, open batch not empty */
/*  Sends the open batch, opens the next. open_from: helio_broker_core_open_from now, with the rows of every
 * step so far in this batch or an older one; committed with the batch. */
void helio_store_seal(helio_store_t *self, helio_uuid_t open_from);
uint64_t helio_store_committed(const helio_store_t *self); /* highest batch known durable */
bool helio_store_connected(const helio_store_t *self);
const char *helio_store_trouble(const helio_store_t *self); /* why it is not connected; "" = it is. For the log */

/*  For the loop: the socket (or -1), whether to wait for writability, when to call tick. The socket may change. */
int helio_store_fd(const helio_store_t *self);
bool helio_store_wants_write(const helio_store_t *self);
int64_t helio_store_next_tick_ms(const helio_store_t *self);
/*  Moves on as far as possible without blocking. HELIO_FENCED and HELIO_INVALID (the database refused a row: a bug;
 *  err names the statement) are fatal; everything else heals by itself. */
HELIO_MUST_CHECK helio_rc helio_store_process(helio_store_t *self, int64_t now_ms, helio_error_t *err);

typedef struct helio_store_figures {
    uint64_t batches_total;
    uint64_t rows_total;
    uint64_t reconnects_total;
    uint64_t commit_us_sum; /* seal to committed */
    uint64_t commit_us_last;
} helio_store_figures_t;
void helio_store_figures(const helio_store_t *self, helio_store_figures_t *ret_figures);

/*  Migrations: forward-only numbered files, one transaction each, under an advisory lock, checksums (SHA-256) kept in
 *  helio.schema_migrations. Prints what it does through `say`. verify: HELIO_VERSION with a text when it differs. */
typedef void helio_say_fn(void *arg, const char *line);
HELIO_MUST_CHECK helio_rc helio_schema_migrate(const char *conninfo, helio_say_fn *say, void *arg, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_schema_verify(const char *conninfo, helio_error_t *err);

/*  Bootstrap, straight into the database: a tenant, a token row, a site key. */
HELIO_MUST_CHECK helio_rc helio_store_put_tenant(const char *conninfo, const char *tenant, const char *home_site,
                                                 helio_error_t *err);
/*  *ret_has: false too for a tenant that there is not. */
/*  The next leader begins a new incarnation, as it does by itself where it can tell that the database was restored.
 * HELIO_BUSY while a broker leads. */
HELIO_MUST_CHECK helio_rc helio_store_declare_restored(const char *conninfo, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_store_has_home(const char *conninfo, const char *tenant, bool *ret_has,
                                               helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_store_put_token(const char *conninfo, const helio_row_token_t *token,
                                                helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_store_put_site_key(const char *conninfo, const helio_row_site_key_t *key,
                                                   helio_error_t *err);

/*  Readers: logins of the database for dashboards, which see the rows of some tenants only. *ret_script gets
 * what a superuser has yet to run, where this user of the database may not: empty = nothing. HELIO_INVALID: a
 * tenant or a reader that there is not, or a role with rights of its own; the text says which. tenants: at
 * least one. */
HELIO_MUST_CHECK helio_rc helio_store_put_reader(const char *conninfo, const char *reader, const char *const *tenants,
                                                 uint32_t tenant_count, helio_buffer_t *ret_script, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_store_remove_reader(const char *conninfo, const char *reader,
                                                    helio_buffer_t *ret_script, helio_error_t *err);
/*  ready: it has a login with all rights and limits. tenants: separated by ", ". */
typedef void helio_store_reader_fn(void *arg, const char *reader, const char *tenants, bool ready);
HELIO_MUST_CHECK helio_rc helio_store_each_reader(const char *conninfo, helio_store_reader_fn *visit, void *arg,
                                                  helio_error_t *err);

/*  For the shells' tables at start: all tokens and site keys in force, users that are disabled. */
typedef void helio_store_token_fn(void *arg, const helio_row_token_t *token);
typedef void helio_store_site_key_fn(void *arg, const helio_row_site_key_t *key);
typedef void helio_store_principal_fn(void *arg, const helio_row_principal_t *principal);
HELIO_MUST_CHECK helio_rc helio_store_each_token(helio_store_t *self, helio_store_token_fn *visit, void *arg,
                                                 helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_store_each_disabled(helio_store_t *self, helio_store_principal_fn *visit, void *arg,
                                                    helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_store_each_site_key(helio_store_t *self, helio_store_site_key_fn *visit, void *arg,
                                                    helio_error_t *err);

#endif
