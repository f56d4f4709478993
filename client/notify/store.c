/*  store.c -- three tables of SQLite. Queries are constants; values are bound. */
#include "client/notify/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "federation/base/file.h"

enum { FORMAT = 1, MESSAGE_MAX = 1 << 20, PATH_SIZE = 4096 };

static const char create_sql[] =
    "BEGIN EXCLUSIVE;"
    "CREATE TABLE IF NOT EXISTS cursor (one INTEGER PRIMARY KEY CHECK (one = 1), last INTEGER NOT NULL,"
    " seen_ms INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS delivery (number INTEGER PRIMARY KEY AUTOINCREMENT, target TEXT NOT NULL,"
    " id TEXT NOT NULL, about TEXT NOT NULL, created_ms INTEGER NOT NULL, message BLOB NOT NULL, UNIQUE (target, id));"
    "CREATE TABLE IF NOT EXISTS told (key TEXT PRIMARY KEY, forget_ms INTEGER NOT NULL) WITHOUT ROWID;"
    "PRAGMA user_version = 1;"
    "COMMIT;";
_Static_assert(FORMAT == 1, "create_sql names the format");

typedef enum query {
    BEGIN,
    COMMIT,
    CURSOR,
    SET_CURSOR,
    ADD,
    DELETE,
    LOAD,
    MESSAGE,
    TOLD,
    TELL,
    FORGET,
    VERSION,
    QUERY_COUNT
} query_t;
static const char *const queries[QUERY_COUNT] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [CURSOR] = "SELECT last, seen_ms FROM cursor",
    [SET_CURSOR] = "INSERT INTO cursor (one, last, seen_ms) VALUES (1, ?1, ?2) "
                   "ON CONFLICT (one) DO UPDATE SET last = ?1, seen_ms = ?2",
    [ADD] = "INSERT INTO delivery (target, id, about, created_ms, message) VALUES (?1, ?2, ?3, ?4, ?5) "
            "ON CONFLICT (target, id) DO NOTHING",
    [DELETE] = "DELETE FROM delivery WHERE number = ?1",
    [LOAD] = "SELECT number, target, id, about, created_ms FROM delivery ORDER BY number",
    [MESSAGE] = "SELECT id, message FROM delivery WHERE number = ?1",
    [TOLD] = "SELECT 1 FROM told WHERE key = ?1",
    [TELL] = "INSERT INTO told (key, forget_ms) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET forget_ms = ?2",
    [FORGET] = "DELETE FROM told WHERE forget_ms < ?1",
    [VERSION] = "PRAGMA user_version",
};

struct helio_notify_store {
    sqlite3 *db;
    sqlite3_stmt *statements[QUERY_COUNT];
    bool open; /* a transaction */
};

/* ---- queries ------------------------------------------------------------------------------------------------ */

static helio_rc fail(helio_error_t *err, sqlite3 *db)
{
    int code = db ? sqlite3_errcode(db) & 0xff : SQLITE_NOMEM;
    const char *why = db ? sqlite3_errmsg(db) : "out of memory";
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        return helio_fail(err, HELIO_BUSY, "the state is in use by another process");
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR)
        return helio_fail(err, HELIO_PROTOCOL,
                          "the state is damaged: %s\nhelp: move notify.db away: what waits in it is not delivered then",
                          why);
    return helio_fail(err, HELIO_IO, "the state: %s", why);
}

static void finish(helio_notify_store_t *self, query_t query)
{
    (void)sqlite3_reset(self->statements[query]);
    (void)sqlite3_clear_bindings(self->statements[query]);
}

/*  A query without rows. */
static helio_rc run(helio_notify_store_t *self, query_t query, helio_error_t *err)
{
    helio_rc rc = sqlite3_step(self->statements[query]) == SQLITE_DONE ? HELIO_OK : fail(err, self->db);
    finish(self, query);
    return rc;
}

/*  A query with at most one row, which stands until finish. */
static helio_rc look(helio_notify_store_t *self, query_t query, bool *ret_found, helio_error_t *err)
{
    int code = sqlite3_step(self->statements[query]);
    *ret_found = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? HELIO_OK : fail(err, self->db);
}

static helio_rc begin(helio_notify_store_t *self, helio_error_t *err)
{
    helio_rc rc = self->open ? HELIO_OK : run(self, BEGIN, err);
    self->open = self->open || rc == HELIO_OK;
    return rc;
}

static void bind_text(helio_notify_store_t *self, query_t query, int place, const char *text)
{
    (void)sqlite3_bind_text(self->statements[query], place, text, -1, SQLITE_TRANSIENT);
}

static void bind_number(helio_notify_store_t *self, query_t query, int place, int64_t number)
{
    (void)sqlite3_bind_int64(self->statements[query], place, number);
}

/* ---- opening ------------------------------------------------------------------------------------------------ */

/*  Made here, so that no other user can read what is in it; SQLite gives its log the same mode. */
static helio_rc make_file(const char *directory, const char *path, helio_error_t *err)
{
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        return helio_fail(err, HELIO_IO, "%s: %s", directory, strerror(errno));
    HELIO_AUTO(helio_close) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return helio_fail(err, HELIO_IO, "%s: %s", path, strerror(errno));
    HELIO_AUTO(helio_close) int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fsync(folder) != 0)
        return helio_fail(err, HELIO_IO, "%s: %s", directory, strerror(errno));
    return HELIO_OK;
}

static helio_rc execute(helio_notify_store_t *self, const char *sql, helio_error_t *err)
{
    return sqlite3_exec(self->db, sql, NULL, NULL, NULL) == SQLITE_OK ? HELIO_OK : fail(err, self->db);
}

static helio_rc check_version(helio_notify_store_t *self, helio_error_t *err)
{
    sqlite3_stmt *statement = NULL;
    int64_t version = 0;
    if (sqlite3_prepare_v2(self->db, queries[VERSION], -1, &statement, NULL) != SQLITE_OK)
        return fail(err, self->db);
    if (sqlite3_step(statement) == SQLITE_ROW)
        version = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    if (version > FORMAT)
        return helio_fail(err, HELIO_VERSION,
                          "the state was written by a newer release (format %lld, this one knows %d)",
                          (long long)version, FORMAT);
    return HELIO_OK;
}

static helio_rc set_up(helio_notify_store_t *self, const char *path, helio_error_t *err)
{
    if (sqlite3_open_v2(path, &self->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return fail(err, self->db);
    (void)sqlite3_limit(self->db, SQLITE_LIMIT_LENGTH, MESSAGE_MAX + 1024);
    (void)sqlite3_db_config(self->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    helio_rc rc = execute(self,
                          "PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                          "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;",
                          err);
    if (rc == HELIO_OK)
        rc = check_version(self, err);
    if (rc == HELIO_OK)
        rc = execute(self, create_sql, err);
    for (int i = 0; rc == HELIO_OK && i < QUERY_COUNT; i++)
        if (sqlite3_prepare_v3(self->db, queries[i], -1, SQLITE_PREPARE_PERSISTENT, &self->statements[i], NULL) !=
            SQLITE_OK)
            rc = fail(err, self->db);
    return rc;
}

helio_rc helio_notify_store_open(const char *directory, int64_t wall_ms, helio_notify_store_t **ret_store,
                                 helio_error_t *err)
{
    char path[PATH_SIZE];
    if ((size_t)snprintf(path, sizeof path, "%s/notify.db", directory) > sizeof path - 64)
        return helio_fail(err, HELIO_INVALID, "the name of the folder of the state is too long");
    helio_rc rc = make_file(directory, path, err);
    if (rc != HELIO_OK)
        return rc;
    helio_notify_store_t *self = helio_new(1, sizeof *self);
    rc = set_up(self, path, err);
    if (rc == HELIO_OK) {
        bind_number(self, FORGET, 1, wall_ms);
        rc = begin(self, err);
        rc = rc == HELIO_OK ? run(self, FORGET, err) : rc;
        rc = rc == HELIO_OK ? helio_notify_store_commit(self, err) : rc;
    }
    if (rc != HELIO_OK) {
        helio_notify_store_close(&self);
        return rc;
    }
    *ret_store = self;
    return HELIO_OK;
}

void helio_notify_store_close(helio_notify_store_t **self_p)
{
    helio_notify_store_t *self = *self_p;
    if (!self)
        return;
    for (int i = 0; i < QUERY_COUNT; i++)
        (void)sqlite3_finalize(self->statements[i]);
    (void)sqlite3_close(self->db);
    free(self);
    *self_p = NULL;
}

/* ---- what is in it ------------------------------------------------------------------------------------------ */

helio_rc helio_notify_store_commit(helio_notify_store_t *self, helio_error_t *err)
{
    if (!self->open)
        return HELIO_OK;
    self->open = false;
    return run(self, COMMIT, err);
}

helio_rc helio_notify_store_cursor(helio_notify_store_t *self, helio_notify_cursor_t *ret_cursor, helio_error_t *err)
{
    helio_notify_cursor_t cursor = {0};
    helio_rc rc = look(self, CURSOR, &cursor.known, err);
    if (rc == HELIO_OK && cursor.known) {
        cursor.last = (uint64_t)sqlite3_column_int64(self->statements[CURSOR], 0);
        cursor.seen_ms = sqlite3_column_int64(self->statements[CURSOR], 1);
    }
    finish(self, CURSOR);
    if (rc == HELIO_OK)
        *ret_cursor = cursor;
    return rc;
}

helio_rc helio_notify_store_set_cursor(helio_notify_store_t *self, const helio_notify_cursor_t *cursor,
                                       helio_error_t *err)
{
    helio_rc rc = begin(self, err);
    if (rc != HELIO_OK)
        return rc;
    bind_number(self, SET_CURSOR, 1, (int64_t)cursor->last);
    bind_number(self, SET_CURSOR, 2, cursor->seen_ms);
    return run(self, SET_CURSOR, err);
}

helio_rc helio_notify_store_add(helio_notify_store_t *self, const helio_notify_delivery_t *delivery,
                                uint64_t *ret_number, helio_error_t *err)
{
    helio_rc rc = begin(self, err);
    if (rc != HELIO_OK)
        return rc;
    bind_text(self, ADD, 1, delivery->target);
    bind_text(self, ADD, 2, delivery->id);
    bind_text(self, ADD, 3, delivery->about);
    bind_number(self, ADD, 4, delivery->created_wall_ms);
    (void)sqlite3_bind_blob(self->statements[ADD], 5, delivery->message.data, (int)delivery->message.size,
                            SQLITE_TRANSIENT);
    rc = run(self, ADD, err);
    if (rc == HELIO_OK)
        *ret_number = sqlite3_changes(self->db) ? (uint64_t)sqlite3_last_insert_rowid(self->db) : 0;
    return rc;
}

helio_rc helio_notify_store_delete(helio_notify_store_t *self, uint64_t number, helio_error_t *err)
{
    helio_rc rc = begin(self, err);
    if (rc != HELIO_OK)
        return rc;
    bind_number(self, DELETE, 1, (int64_t)number);
    return run(self, DELETE, err);
}

static const char *text_of(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? text : "";
}

helio_rc helio_notify_store_load(helio_notify_store_t *self, helio_notify_delivery_fn *on_delivery, void *arg,
                                 helio_error_t *err)
{
    sqlite3_stmt *rows = self->statements[LOAD];
    int code;
    while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
        helio_notify_delivery_t delivery = {.number = (uint64_t)sqlite3_column_int64(rows, 0),
                                            .target = text_of(rows, 1),
                                            .id = text_of(rows, 2),
                                            .about = text_of(rows, 3),
                                            .created_wall_ms = sqlite3_column_int64(rows, 4)};
        on_delivery(arg, &delivery);
    }
    helio_rc rc = code == SQLITE_DONE ? HELIO_OK : fail(err, self->db);
    finish(self, LOAD);
    return rc;
}

helio_rc helio_notify_store_message(helio_notify_store_t *self, uint64_t number, helio_buffer_t *id,
                                    helio_buffer_t *message, helio_error_t *err)
{
    bool found;
    bind_number(self, MESSAGE, 1, (int64_t)number);
    helio_rc rc = look(self, MESSAGE, &found, err);
    if (rc == HELIO_OK && !found)
        rc = helio_fail(err, HELIO_NOT_FOUND, "the state has no delivery %llu", (unsigned long long)number);
    if (rc == HELIO_OK) {
        sqlite3_stmt *row = self->statements[MESSAGE];
        helio_buffer_text(id, text_of(row, 0));
        const void *bytes = sqlite3_column_blob(row, 1);
        helio_buffer_append(message, bytes ? bytes : "", (size_t)sqlite3_column_bytes(row, 1));
    }
    finish(self, MESSAGE);
    return rc;
}

helio_rc helio_notify_store_told(helio_notify_store_t *self, const char *key, bool *ret_told, helio_error_t *err)
{
    bind_text(self, TOLD, 1, key);
    helio_rc rc = look(self, TOLD, ret_told, err);
    finish(self, TOLD);
    return rc;
}

helio_rc helio_notify_store_tell(helio_notify_store_t *self, const char *key, int64_t forget_wall_ms,
                                 helio_error_t *err)
{
    helio_rc rc = begin(self, err);
    if (rc != HELIO_OK)
        return rc;
    bind_text(self, TELL, 1, key);
    bind_number(self, TELL, 2, forget_wall_ms);
    return run(self, TELL, err);
}
