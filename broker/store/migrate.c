/*  migrate.c -- brings a database to this program's schema, and checks whether it has it. */
#include <openssl/evp.h>
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

static helio_rc apply(PGconn *connection, const helio_sql_file_t *file, helio_error_t *err)
{
    char checksum[HEX_SIZE];
    hex_sha256(file->text, checksum);
    helio_rc rc = helio_session_run(connection, "begin", "begin", err);
    if (rc == HELIO_OK)
        rc = helio_session_run(connection, file->name, file->text, err);
    if (rc == HELIO_OK)
        rc = helio_session_query(connection, "migrate_note", 2, (const char *const[]){file->name, checksum}, NULL, err);
    if (rc == HELIO_OK)
        rc = helio_session_run(connection, "commit", "commit", err);
    return rc; /* on failure the connection ends, and with it the transaction */
}

/*  The report views and the grants, replaced in one transaction, so that a reader never sees half of a change. */
static helio_rc apply_report(PGconn *connection, helio_error_t *err)
{
    helio_rc rc = helio_session_run(connection, "begin", "begin; set local lock_timeout = '30s'", err);
    for (const helio_sql_file_t *file = helio_sql_report; rc == HELIO_OK && file->name; file++)
        rc = helio_session_run(connection, file->name, file->text, err);
    if (rc == HELIO_OK)
        rc = helio_session_run(connection, "commit", "commit", err);
    return rc;
}

typedef struct listener {
    helio_say_fn *say;
    void *arg;
} listener_t;

static void on_notice(void *arg, const PGresult *notice)
{
    const listener_t *listener = arg;
    const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    if (listener->say && text)
        listener->say(listener->arg, text);
}

static void say(const listener_t *listener, const char *verb, const char *name)
{
    char line[160];
    (void)snprintf(line, sizeof line, "%s %s", verb, name);
    if (listener->say)
        listener->say(listener->arg, line);
}

helio_rc helio_schema_migrate(const char *conninfo, helio_say_fn *say_fn, void *arg, helio_error_t *err)
{
    listener_t listener = {say_fn, arg};
    HELIO_AUTO(helio_session_finish)
    PGconn *connection = helio_session_connect(conninfo, "helio-broker migrate", NULL, err);
    if (!connection)
        return HELIO_UNAVAILABLE;
    (void)PQsetNoticeReceiver(connection, on_notice, &listener);
    helio_rc rc = helio_session_query(connection, "migrate_lock", 0, NULL, NULL, err);
    HELIO_AUTO(helio_session_clear_result) PGresult *applied = NULL;
    if (rc == HELIO_OK)
        rc = read_applied(connection, &applied, err);
    uint32_t count = 0;
    for (const helio_sql_file_t *file = helio_sql_migrations; rc == HELIO_OK && file->name; file++) {
        if (applied && applied_checksum(applied, file->name))
            continue;
        say(&listener, "applying", file->name);
        rc = apply(connection, file, err);
        count++;
    }
    if (rc == HELIO_OK)
        rc = apply_report(connection, err);
    if (rc == HELIO_OK)
        say(&listener, count ? "migrated;" : "nothing to migrate;", "views and grants are in place");
    return rc;
}

helio_rc helio_schema_verify(const char *conninfo, helio_error_t *err)
{
    HELIO_AUTO(helio_session_finish)
    PGconn *connection = helio_session_connect(conninfo, "helio-broker check", NULL, err);
    return connection ? helio_session_verify(connection, err) : HELIO_UNAVAILABLE;
}
