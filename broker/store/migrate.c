/*  migrate.c -- brings a database to this program's schema, and checks whether it has it. */
#include <openssl/evp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "broker/store/session.h"
#include "broker/store/store.h"

enum { HEX_SIZE = 65 };

static void hex_sha256(const char *text, char ret_hex[HEX_SIZE])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    if (EVP_Digest(text, strlen(text), digest, &size, EVP_sha256(), NULL) != 1)
        memset(digest, 0, sizeof digest); /* matches no checksum: the migration is refused as edited */
    for (unsigned int i = 0; i < (HEX_SIZE - 1) / 2; i++)
        (void)snprintf(ret_hex + (size_t)2 * i, 3, "%02x", digest[i]);
}

/*  The checksum that the database holds for a migration; NULL if it was not applied. */
static const char *applied_checksum(const PGresult *applied, const char *name)
{
    for (int row = 0; row < PQntuples(applied); row++)
        if (strcmp(PQgetvalue(applied, row, 0), name) == 0)
            return PQgetvalue(applied, row, 1);
    return NULL;
}

static const helio_sql_file_t *migration_of(const char *name)
{
    for (const helio_sql_file_t *file = helio_sql_migrations; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return file;
    return NULL;
}

/*  Every applied migration must be known here and unchanged. *ret_applied stays NULL if none was applied yet. */
static helio_rc read_applied(PGconn *connection, PGresult **ret_applied, helio_error_t *err)
{
    HELIO_AUTO(helio_session_clear_result) PGresult *exists = NULL;
    helio_rc rc = helio_session_query(connection, "session_migrated", 0, NULL, &exists, err);
    if (rc != HELIO_OK)
        return rc;
    *ret_applied = NULL;
    if (strcmp(PQgetvalue(exists, 0, 0), "t") != 0)
        return HELIO_OK;
    HELIO_AUTO(helio_session_clear_result) PGresult *applied = NULL;
    rc = helio_session_query(connection, "session_migrations", 0, NULL, &applied, err);
    if (rc != HELIO_OK)
        return rc;
    for (int row = 0; row < PQntuples(applied); row++) {
        const char *name = PQgetvalue(applied, row, 0);
        const helio_sql_file_t *file = migration_of(name);
        if (!file)
            return helio_fail(err, HELIO_VERSION,
                              "the database has migration %s, which this program does not know: it belongs to a "
                              "newer release; run that release",
                              name);
        char checksum[HEX_SIZE];
        hex_sha256(file->text, checksum);
        if (strcmp(checksum, PQgetvalue(applied, row, 1)) != 0)
            return helio_fail(
                err, HELIO_VERSION,
                "migration %s was applied to the database with another text (SHA-256 %.12s…, here %.12s…): "
                "an applied migration must never be edited",
                name, PQgetvalue(applied, row, 1), checksum);
    }
    *ret_applied = applied;
    applied = NULL;
    return HELIO_OK;
}

helio_rc helio_session_verify(PGconn *connection, helio_error_t *err)
{
    HELIO_AUTO(helio_session_clear_result) PGresult *applied = NULL;
    helio_rc rc = read_applied(connection, &applied, err);
    if (rc != HELIO_OK)
        return rc;
    uint32_t missing = 0;
    const char *first = NULL;
    for (const helio_sql_file_t *file = helio_sql_migrations; file->name; file++)
        if (!applied || !applied_checksum(applied, file->name)) {
            first = first ? first : file->name;
            missing++;
        }
    if (missing)
        return helio_fail(err, HELIO_VERSION,
                          "the database lacks %u migration%s (first: %s): run `helio-broker migrate`", missing,
                          missing == 1 ? "" : "s", first);
    return HELIO_OK;
}

/* ---- one transaction, and whoever is in its way ----------------------------------------------------------- */

typedef struct listener {
    helio_say_fn *say;
    void *arg;
} listener_t;

typedef struct migration {
    const char *conninfo;
    const helio_schema_patience_t *patience;
    listener_t listener;
    PGconn *connection;
    PGconn *watch;      /* asks what that one waits for; NULL until it has to wait, or if there is no room for it */
    char blockers[400]; /* of the last wait of which it is known; "" = of none */
} migration_t;

static void on_notice(void *arg, const PGresult *notice)
{
    const listener_t *listener = arg;
    const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    if (listener->say && text)
        listener->say(listener->arg, text);
}

static void say(const listener_t *listener, const char *verb, const char *name)
{
    char line[700];
    (void)snprintf(line, sizeof line, "%s %s", verb, name);
    if (listener->say)
        listener->say(listener->arg, line);
}

static void look_for_blockers(migration_t *self)
{
    helio_error_t ignored;
    char process[24];
    if (!self->watch)
        self->watch = helio_session_connect(self->conninfo, "helio-broker migrate", NULL, &ignored);
    if (!self->watch)
        return;
    (void)snprintf(process, sizeof process, "%d", PQbackendPID(self->connection));
    HELIO_AUTO(helio_session_clear_result) PGresult *answer = NULL;
    if (helio_session_query(self->watch, "migrate_blockers", 1, (const char *const[]){process}, &answer, &ignored) ==
            HELIO_OK &&
        PQgetvalue(answer, 0, 0)[0])
        (void)helio_text_copy(helio_text_of(PQgetvalue(answer, 0, 0)), self->blockers, sizeof self->blockers);
}

/*  As helio_session_run; while there is no answer, looks who is in the way. */
static helio_rc run(migration_t *self, const char *what, const char *text, helio_error_t *err)
{
    HELIO_AUTO(helio_session_clear_result) PGresult *last = NULL;
    PGresult *next;
    if (PQsendQuery(self->connection, text) != 1)
        return helio_session_lost(self->connection, what, err);
    do {
        while (PQisBusy(self->connection)) {
            struct pollfd socket = {.fd = PQsocket(self->connection), .events = POLLIN};
            if (poll(&socket, 1, (int)(self->patience->lock_ms / 2)) == 0)
                look_for_blockers(self);
            else if (PQconsumeInput(self->connection) != 1)
                return helio_session_lost(self->connection, what, err);
        }
        next = PQgetResult(self->connection);
        if (next) {
            PQclear(last);
            last = next; /* an error is the last one */
        }
    } while (next);
    return helio_session_check(self->connection, last, what, err);
}

static helio_rc begin(migration_t *self, helio_error_t *err)
{
    char text[80];
    (void)snprintf(text, sizeof text, "begin; set local lock_timeout = '%ums'", self->patience->lock_ms);
    return helio_session_run(self->connection, "begin", text, err);
}

typedef helio_rc apply_fn(migration_t *self, const helio_sql_file_t *file, helio_error_t *err);

static helio_rc apply(migration_t *self, const helio_sql_file_t *file, helio_error_t *err)
{
    char checksum[HEX_SIZE];
    hex_sha256(file->text, checksum);
    helio_rc rc = begin(self, err);
    if (rc == HELIO_OK)
        rc = run(self, file->name, file->text, err);
    if (rc == HELIO_OK)
        rc = helio_session_query(self->connection, "migrate_note", 2, (const char *const[]){file->name, checksum}, NULL,
                                 err);
    if (rc == HELIO_OK)
        rc = helio_session_run(self->connection, "commit", "commit", err);
    return rc; /* on failure the connection ends, and with it the transaction */
}

/*  The report views and the grants, replaced in one transaction, so that a reader never sees half of a change. */
static helio_rc apply_report(migration_t *self, const helio_sql_file_t *file, helio_error_t *err)
{
    helio_rc rc = begin(self, err);
    for (; rc == HELIO_OK && file->name; file++)
        rc = run(self, file->name, file->text, err);
    if (rc == HELIO_OK)
        rc = helio_session_run(self->connection, "commit", "commit", err);
    return rc;
}

/*  Repeats what waits too long for a lock. Between two tries it asks for none, so that all others go on. */
static helio_rc insist(migration_t *self, apply_fn *function, const helio_sql_file_t *file, const char *name,
                       helio_error_t *err)
{
    const helio_schema_patience_t *patience = self->patience;
    uint32_t pause_ms = patience->pause_ms;
    self->blockers[0] = '\0';
    for (uint32_t tried = 1;; tried++) {
        helio_error_t why = {0};
        helio_rc rc = function(self, file, &why);
        if (rc == HELIO_OK)
            return rc;
        if (strcmp(why.sqlstate, "55P03") != 0) {
            if (err)
                *err = why;
            return rc;
        }
        const char *blockers = self->blockers[0] ? self->blockers : "an unknown session";
        if (tried >= patience->tries)
            return helio_fail_sql(err, HELIO_BUSY, why.sqlstate,
                                  "%s needs a lock that another session has: %s. It gave up after %u tries and changed "
                                  "nothing: end that session, with pg_terminate_backend(PROCESS) if need be, and run "
                                  "`helio-broker migrate` again",
                                  name, blockers, tried);
        char line[600];
        (void)snprintf(line, sizeof line, "%s: it is locked by %s; next try in %u ms", name, blockers, pause_ms);
        say(&self->listener, "waiting for", line);
        if ((rc = helio_session_run(self->connection, "rollback", "rollback", err)) != HELIO_OK)
            return rc;
        (void)poll(NULL, 0, (int)pause_ms);
        pause_ms = pause_ms * 2 < patience->pause_max_ms ? pause_ms * 2 : patience->pause_max_ms;
    }
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static helio_rc migrate(migration_t *self, helio_error_t *err)
{
    helio_rc rc = helio_session_query(self->connection, "migrate_lock", 0, NULL, NULL, err);
    HELIO_AUTO(helio_session_clear_result) PGresult *applied = NULL;
    if (rc == HELIO_OK)
        rc = read_applied(self->connection, &applied, err);
    uint32_t count = 0;
    for (const helio_sql_file_t *file = helio_sql_migrations; rc == HELIO_OK && file->name; file++) {
        if (applied && applied_checksum(applied, file->name))
            continue;
        say(&self->listener, "applying", file->name);
        rc = insist(self, apply, file, file->name, err);
        count++;
    }
    if (rc == HELIO_OK)
        rc = insist(self, apply_report, helio_sql_report, "views and grants", err);
    if (rc == HELIO_OK)
        say(&self->listener, count ? "migrated;" : "nothing to migrate;", "views and grants are in place");
    return rc;
}

helio_rc helio_schema_migrate_with(const char *conninfo, const helio_schema_patience_t *patience, helio_say_fn *say_fn,
                                   void *arg, helio_error_t *err)
{
    migration_t self = {.conninfo = conninfo, .patience = patience, .listener = {say_fn, arg}};
    self.connection = helio_session_connect(conninfo, "helio-broker migrate", NULL, err);
    if (!self.connection)
        return HELIO_UNAVAILABLE;
    (void)PQsetNoticeReceiver(self.connection, on_notice, &self.listener);
    helio_rc rc = migrate(&self, err);
    helio_session_finish(&self.watch);
    helio_session_finish(&self.connection);
    return rc;
}

/*  In all more than the 30 s for which a reader's session may be idle in a transaction, or may run a query. */
helio_rc helio_schema_migrate(const char *conninfo, helio_say_fn *say_fn, void *arg, helio_error_t *err)
{
    static const helio_schema_patience_t patience = {
        .lock_ms = 2000, .tries = 12, .pause_ms = 500, .pause_max_ms = 5000};
    return helio_schema_migrate_with(conninfo, &patience, say_fn, arg, err);
}

helio_rc helio_schema_verify(const char *conninfo, helio_error_t *err)
{
    HELIO_AUTO(helio_session_finish)
    PGconn *connection = helio_session_connect(conninfo, "helio-broker check", NULL, err);
    return connection ? helio_session_verify(connection, err) : HELIO_UNAVAILABLE;
}
