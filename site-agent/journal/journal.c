/*  journal.c -- one table of (kind, id) -> bytes. Queries are constants; values are bound. */
#include "site-agent/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <sqlite3.h>

#include "federation/wire/codec.h"
#include "site-agent/journal/format.h"

enum {
    FORMAT = HELIO_JOURNAL_FORMAT,
    APPLICATION = HELIO_JOURNAL_APPLICATION,
    ID_MAX = 24,
    BYTES_MAX = 4 << 20,
    PATH_SIZE = 4096,
    RESERVE = 4 << 20,     /* bytes: thousands of rows; a blob must be below BYTES_MAX */
    ROOM = 4 * RESERVE,    /* free space of the disk that is needed for it: it goes to the log and to the database */
    CHECKPOINT_PAGES = 250 /* of 4 KiB: written back before the log outgrows what the reserve has made it */
};
#define SEEN_KEPT_MS (INT64_C(30) * 24 * 3600 * 1000)

typedef enum kind { KIND_META = 1, KIND_SEEN = 2, KIND_ATTEMPT = 3, KIND_REPORT = 4 } kind_t;

static const struct {
    kind_t kind;
    uint32_t effect, event;
    const helio_record_type_t *type;
} kinds[] = {
    {KIND_META, HELIO_AGENT_FX_ROW_META, HELIO_AGENT_EV_LOAD_META, &helio_jrow_meta_type},
    {KIND_SEEN, HELIO_AGENT_FX_ROW_SEEN, HELIO_AGENT_EV_LOAD_SEEN, &helio_jrow_seen_type},
    {KIND_ATTEMPT, HELIO_AGENT_FX_ROW_ATTEMPT, HELIO_AGENT_EV_LOAD_ATTEMPT, &helio_jrow_attempt_type},
    {KIND_REPORT, HELIO_AGENT_FX_ROW_REPORT, HELIO_AGENT_EV_LOAD_REPORT, &helio_report_type},
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

typedef enum query { PUT, DELETE, DELETE_UP_TO, EXPIRE, SELECT, BEGIN, COMMIT, QUERY_COUNT } query_t;
static const char put_sql[] = "INSERT INTO entry (kind, id, at_ms, bytes, sum) VALUES (?1, ?2, ?3, ?4, ?5) "
                              "ON CONFLICT (kind, id) DO UPDATE SET at_ms = ?3, bytes = ?4, sum = ?5";
static const char *const queries[QUERY_COUNT] = {
    [PUT] = put_sql,
    [DELETE] = "DELETE FROM entry WHERE kind = ?1 AND id = ?2",
    [DELETE_UP_TO] = "DELETE FROM entry WHERE kind = ?1 AND id <= ?2",
    [EXPIRE] = "DELETE FROM entry WHERE kind = ?1 AND at_ms < ?2",
    [SELECT] = "SELECT id, bytes, sum, at_ms FROM entry WHERE kind = ?1 ORDER BY id",
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
};

struct helio_journal {
    sqlite3 *db;
    sqlite3_stmt *statements[QUERY_COUNT];
    helio_buffer_t bytes;
    bool batch_open;
    uint64_t rows, batches;
};

/* ---- errors -------------------------------------------------------------------------------------------- */

static helio_rc db_fail(helio_error_t *err, sqlite3 *db, const char *what)
{
    int code = db ? sqlite3_errcode(db) & 0xff : SQLITE_NOMEM;
    helio_rc rc = HELIO_IO;
    /* The statements are constant, so a plain error means that the schema or the header is not this program's. */
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_FORMAT || code == SQLITE_ERROR)
        rc = HELIO_PROTOCOL;
    else if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        rc = HELIO_BUSY;
    return helio_fail(err, rc, "journal: %s: %s", what, db ? sqlite3_errmsg(db) : "out of memory");
}

static helio_rc run(helio_journal_t *self, query_t query, helio_error_t *err)
{
    int code = sqlite3_step(self->statements[query]);
    helio_rc rc = code == SQLITE_DONE ? HELIO_OK : db_fail(err, self->db, "write");
    (void)sqlite3_reset(self->statements[query]);
    (void)sqlite3_clear_bindings(self->statements[query]);
    return rc;
}

/* ---- identities ---------------------------------------------------------------------------------------- */

static size_t put_be(uint8_t *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
    return size;
}

static size_t put_key(uint8_t *at, helio_job_key_t key)
{
    memcpy(at, key.job.bytes, sizeof key.job.bytes);
    return sizeof key.job.bytes + put_be(at + sizeof key.job.bytes, (uint32_t)key.task, 4);
}

static size_t id_of(kind_t kind, const void *record, uint8_t ret_id[ID_MAX])
{
    size_t size = 0;
    switch (kind) {
    case KIND_META:
        break;
    case KIND_SEEN:
        size = put_key(ret_id, ((const helio_jrow_seen_t *)record)->key);
        break;
    case KIND_ATTEMPT: {
        const helio_order_t *order = &((const helio_jrow_attempt_t *)record)->order;
        size = put_key(ret_id, order->key);
        size += put_be(ret_id + size, order->epoch, 4);
        break;
    }
    case KIND_REPORT:
        size = put_be(ret_id, ((const helio_report_t *)record)->seq, 8);
        break;
    }
    return size;
}

/*  Rows expire by this time; only seen epochs do. */
static int64_t at_of(kind_t kind, const void *record)
{
    return kind == KIND_SEEN ? ((const helio_jrow_seen_t *)record)->wall_ms : 0;
}

static int64_t sum_of(kind_t kind, const void *id, size_t id_size, const void *bytes, size_t size)
{
    uint8_t tag = (uint8_t)kind;
    uint64_t sum = helio_hash(HELIO_HASH_SEED, &tag, 1);
    sum = helio_hash(sum, id, id_size);
    sum = helio_hash(sum, bytes, size);
    int64_t result;
    memcpy(&result, &sum, sizeof result);
    return result;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static helio_rc execute(sqlite3 *db, const char *sql, helio_error_t *err)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? HELIO_OK : db_fail(err, db, "open");
}

/*  One value of a pragma; -1: it has none. */
static helio_rc pragma(sqlite3 *db, const char *sql, int64_t *ret_value, char *ret_text, size_t text_size,
                       helio_error_t *err)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        return db_fail(err, db, "open");
    helio_rc rc = HELIO_OK;
    if (sqlite3_step(statement) == SQLITE_ROW) {
        *ret_value = sqlite3_column_int64(statement, 0);
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        (void)snprintf(ret_text, text_size, "%s", text ? text : "");
    } else {
        rc = db_fail(err, db, "open");
    }
    (void)sqlite3_finalize(statement);
    return rc;
}

static helio_rc check_file(sqlite3 *db, helio_error_t *err)
{
    int64_t value = 0;
    char text[200];
    helio_rc rc = pragma(db, "PRAGMA application_id", &value, text, sizeof text, err);
    if (rc != HELIO_OK)
        return rc;
    if (value != APPLICATION)
        return helio_fail(err, HELIO_PROTOCOL, "journal: not a journal of this program");
    rc = pragma(db, "PRAGMA user_version", &value, text, sizeof text, err);
    if (rc != HELIO_OK)
        return rc;
    if (value > FORMAT)
        return helio_fail(err, HELIO_VERSION, "journal: written by a newer release (format %lld, this one knows %d)",
                          (long long)value, FORMAT);
    /* Not quick_check, which does not compare the index, by which rows are found, with the table. */
    rc = pragma(db, "PRAGMA integrity_check(1)", &value, text, sizeof text, err);
    if (rc == HELIO_OK && strcmp(text, "ok") != 0)
        return helio_fail(err, HELIO_PROTOCOL, "journal: %s", text);
    return rc;
}

static const char create_sql[] = "BEGIN EXCLUSIVE;"
                                 "CREATE TABLE entry (kind INTEGER NOT NULL, id BLOB NOT NULL, at_ms INTEGER NOT NULL,"
                                 " bytes BLOB NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (kind, id));"
                                 "PRAGMA application_id = 1212501066;"
                                 "PRAGMA user_version = 1;"
                                 "COMMIT;";
_Static_assert(APPLICATION == 1212501066, "create_sql names the application");
_Static_assert(FORMAT == 1, "create_sql names the format");

static helio_rc open_db(helio_journal_t *self, const char *path, bool create, helio_error_t *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(path, &self->db, flags, NULL) != SQLITE_OK)
        return db_fail(err, self->db, path);
    (void)sqlite3_limit(self->db, SQLITE_LIMIT_LENGTH, BYTES_MAX + 1024);
    (void)sqlite3_db_config(self->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    helio_rc rc = execute(self->db,
                          "PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                          "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;",
                          err);
    if (rc == HELIO_OK)
        rc = create ? execute(self->db, create_sql, err) : check_file(self->db, err);
    for (int i = 0; rc == HELIO_OK && i < QUERY_COUNT; i++)
        if (sqlite3_prepare_v3(self->db, queries[i], -1, SQLITE_PREPARE_PERSISTENT, &self->statements[i], NULL) !=
            SQLITE_OK)
            rc = db_fail(err, self->db, "open");
    return rc;
}

static void close_db(helio_journal_t *self)
{
    for (int i = 0; i < QUERY_COUNT; i++) {
        (void)sqlite3_finalize(self->statements[i]);
        self->statements[i] = NULL;
    }
    (void)sqlite3_close(self->db);
    self->db = NULL;
    self->batch_open = false;
}

/*  The name of a new file is durable only when its directory is synced. */
static helio_rc sync_directory(const char *directory, helio_error_t *err)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return helio_fail(err, HELIO_IO, "journal: %s: %s", directory, strerror(errno));
    int failed = fsync(fd);
    int code = errno;
    (void)close(fd);
    return failed ? helio_fail(err, HELIO_IO, "journal: %s: %s", directory, strerror(code)) : HELIO_OK;
}

/*  Kept as evidence; the write-ahead log belongs to it. */
static helio_rc move_aside(const char *directory, int64_t wall_ms, helio_error_t *err)
{
    static const char *const suffixes[] = {"-wal", "-shm",
                                           ""}; /* the main file last: until then the journal still counts as damaged */
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char from[PATH_SIZE], to[PATH_SIZE];
        (void)snprintf(from, sizeof from, "%s/journal.db%s", directory, suffixes[i]);
        (void)snprintf(to, sizeof to, "%s/journal.damaged-%lld%s", directory, (long long)wall_ms, suffixes[i]);
        if (rename(from, to) != 0 && errno != ENOENT)
            return helio_fail(err, HELIO_IO, "journal: cannot move %s aside: %s", from, strerror(errno));
    }
    return sync_directory(directory, err);
}

static void ignore_event(void *arg, uint32_t event, const void *payload)
{
    (void)arg;
    (void)event;
    (void)payload;
}

static helio_rc expire(helio_journal_t *self, int64_t wall_ms, helio_error_t *err)
{
    (void)sqlite3_bind_int64(self->statements[EXPIRE], 1, KIND_SEEN);
    (void)sqlite3_bind_int64(self->statements[EXPIRE], 2, wall_ms - SEEN_KEPT_MS);
    return run(self, EXPIRE, err);
}

/*  Created here, so that no other user can read the documents in it; SQLite gives its log the same mode. */
static helio_rc create_file(helio_journal_t *self, const char *directory, const char *path, helio_error_t *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return helio_fail(err, HELIO_IO, "journal: %s: %s", path, strerror(errno));
    (void)close(fd);
    helio_rc rc = open_db(self, path, true, err);
    return rc == HELIO_OK ? sync_directory(directory, err) : rc;
}

static helio_rc open_existing(helio_journal_t *self, const char *path, int64_t wall_ms, helio_error_t *err)
{
    helio_rc rc = open_db(self, path, false, err);
    if (rc == HELIO_OK)
        rc = helio_journal_load(self, ignore_event, NULL, err); /* every row is checked before any of it is used */
    if (rc == HELIO_OK)
        rc = expire(self, wall_ms, err);
    /* A header that forbids writing, on a writable file, is not one that this program wrote. */
    if (rc == HELIO_IO && sqlite3_db_readonly(self->db, "main") == 1 && access(path, W_OK) == 0)
        rc = helio_fail(err, HELIO_PROTOCOL, "journal: its header says that it is read-only");
    return rc;
}

helio_rc helio_journal_open(const char *directory, int64_t wall_ms, helio_journal_t **ret_journal,
                            helio_journal_state_t *ret_state, helio_error_t *err)
{
    char path[PATH_SIZE];
    if ((size_t)snprintf(path, sizeof path, "%s/journal.db", directory) > sizeof path - 64)
        return helio_fail(err, HELIO_INVALID, "journal: the directory's name is too long");
    struct stat status;
    bool exists = lstat(path, &status) == 0;
    if (!exists && errno != ENOENT)
        return helio_fail(err, HELIO_IO, "journal: %s: %s", path, strerror(errno));
    helio_journal_t *self = helio_new(1, sizeof *self);
    self->bytes.max = BYTES_MAX;
    helio_journal_state_t state = HELIO_JOURNAL_NEW;
    helio_rc rc = HELIO_OK;
    if (exists) {
        state = HELIO_JOURNAL_INTACT;
        rc = open_existing(self, path, wall_ms, err);
        if (rc == HELIO_PROTOCOL) {
            state = HELIO_JOURNAL_DAMAGED;
            close_db(self);
            helio_error_t why;
            rc = move_aside(directory, wall_ms, &why);
            if (rc != HELIO_OK && err)
                *err = why;
        }
    }
    if (rc == HELIO_OK && state != HELIO_JOURNAL_INTACT) {
        helio_error_t why = {0};
        rc = create_file(self, directory, path, &why);
        if (rc != HELIO_OK && err)
            *err = why;
    }
    if (rc != HELIO_OK) {
        helio_journal_close(&self);
        return rc;
    }
    *ret_journal = self;
    *ret_state = state;
    return HELIO_OK;
}

void helio_journal_close(helio_journal_t **self_p)
{
    helio_journal_t *self = *self_p;
    if (!self)
        return;
    close_db(self);
    helio_buffer_clear(&self->bytes);
    free(self);
    *self_p = NULL;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static helio_text_t blob(sqlite3_stmt *statement, int column)
{
    const void *data = sqlite3_column_blob(statement, column);
    return (helio_text_t){data, data ? (uint32_t)sqlite3_column_bytes(statement, column) : 0};
}

static helio_rc load_row(sqlite3_stmt *statement, size_t k, helio_arena_t *arena, helio_journal_load_fn *on_event,
                         void *arg, helio_error_t *err)
{
    helio_text_t id = blob(statement, 0), bytes = blob(statement, 1);
    if (sum_of(kinds[k].kind, id.data, id.size, bytes.data, bytes.size) != sqlite3_column_int64(statement, 2))
        return helio_fail(err, HELIO_PROTOCOL, "journal: a row's sum is wrong");
    helio_arena_reset(arena);
    void *record = helio_arena_alloc(arena, 1, kinds[k].type->size);
    helio_rc rc = helio_wire_unpack(kinds[k].type, bytes, arena, record, err);
    if (rc != HELIO_OK)
        return rc == HELIO_IO ? rc : HELIO_PROTOCOL;
    uint8_t own[ID_MAX];
    if (id_of(kinds[k].kind, record, own) != id.size || (id.size && memcmp(own, id.data, id.size) != 0))
        return helio_fail(err, HELIO_PROTOCOL, "journal: a row is filed under another's name");
    if (at_of(kinds[k].kind, record) != sqlite3_column_int64(statement, 3))
        return helio_fail(err, HELIO_PROTOCOL, "journal: a row's time is wrong");
    if (kinds[k].kind == KIND_ATTEMPT) {
        uint32_t state = ((const helio_jrow_attempt_t *)record)->state;
        if (state != HELIO_JOB_ACCEPTED && state != HELIO_JOB_STARTING && state != HELIO_JOB_RUNNING &&
            state != HELIO_JOB_SUSPENDED && state != HELIO_JOB_STOPPING)
            return helio_fail(err, HELIO_PROTOCOL, "journal: an attempt is '%s'", helio_job_state_name(state));
    }
    on_event(arg, kinds[k].event, record);
    return HELIO_OK;
}

helio_rc helio_journal_load(helio_journal_t *self, helio_journal_load_fn *on_event, void *arg, helio_error_t *err)
{
    helio_arena_t *arena = helio_arena_new();
    sqlite3_stmt *statement = self->statements[SELECT];
    helio_rc rc = HELIO_OK;
    for (size_t k = 0; k < KIND_COUNT && rc == HELIO_OK; k++) {
        (void)sqlite3_bind_int64(statement, 1, kinds[k].kind);
        int code;
        while (rc == HELIO_OK && (code = sqlite3_step(statement)) != SQLITE_DONE)
            rc =
                code == SQLITE_ROW ? load_row(statement, k, arena, on_event, arg, err) : db_fail(err, self->db, "read");
        (void)sqlite3_reset(statement);
    }
    helio_arena_destroy(&arena);
    return rc;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static helio_rc begin(helio_journal_t *self, helio_error_t *err)
{
    if (self->batch_open)
        return HELIO_OK;
    helio_rc rc = run(self, BEGIN, err);
    self->batch_open = rc == HELIO_OK;
    return rc;
}

static void bind_id(sqlite3_stmt *statement, kind_t kind, const uint8_t *id, size_t size)
{
    (void)sqlite3_bind_int64(statement, 1, kind);
    if (size)
        (void)sqlite3_bind_blob(statement, 2, id, (int)size, SQLITE_TRANSIENT);
    else
        (void)sqlite3_bind_zeroblob(statement, 2, 0);
}

static helio_rc put_bytes(helio_journal_t *self, size_t k, const void *record, helio_error_t *err)
{
    helio_buffer_reset(&self->bytes);
    helio_rc rc = helio_wire_pack(kinds[k].type, record, &self->bytes, err);
    if (rc != HELIO_OK)
        return rc;
    uint8_t id[ID_MAX];
    size_t size = id_of(kinds[k].kind, record, id);
    sqlite3_stmt *statement = self->statements[PUT];
    bind_id(statement, kinds[k].kind, id, size);
    (void)sqlite3_bind_int64(statement, 3, at_of(kinds[k].kind, record));
    (void)sqlite3_bind_blob(statement, 4, self->bytes.data, (int)self->bytes.size, SQLITE_STATIC);
    (void)sqlite3_bind_int64(statement, 5, sum_of(kinds[k].kind, id, size, self->bytes.data, self->bytes.size));
    return run(self, PUT, err);
}

static helio_rc delete_rows(helio_journal_t *self, query_t query, kind_t kind, const uint8_t *id, size_t size,
                            helio_error_t *err)
{
    bind_id(self->statements[query], kind, id, size);
    return run(self, query, err);
}

helio_rc helio_journal_put(helio_journal_t *self, const helio_effect_t *row, helio_error_t *err)
{
    helio_rc rc = begin(self, err);
    if (rc != HELIO_OK)
        return rc;
    self->rows++;
    uint8_t id[ID_MAX];
    if (row->kind == HELIO_AGENT_FX_ROW_ACKED) {
        size_t size = put_be(id, ((const helio_jrow_acked_t *)row->payload)->seq, 8);
        return delete_rows(self, DELETE_UP_TO, KIND_REPORT, id, size, err);
    }
    if (row->kind == HELIO_AGENT_FX_ROW_ATTEMPT &&
        ((const helio_jrow_attempt_t *)row->payload)->state == HELIO_JOB_QUEUED)
        return delete_rows(self, DELETE, KIND_ATTEMPT, id, id_of(KIND_ATTEMPT, row->payload, id), err);
    for (size_t k = 0; k < KIND_COUNT; k++)
        if (kinds[k].effect == row->kind)
            return put_bytes(self, k, row->payload, err);
    return helio_fail(err, HELIO_INVALID, "journal: effect %u is no row", row->kind);
}

helio_rc helio_journal_commit(helio_journal_t *self, helio_error_t *err)
{
    if (!self->batch_open)
        return HELIO_OK;
    self->batch_open = false;
    self->batches++;
    return run(self, COMMIT, err);
}

void helio_journal_counts(const helio_journal_t *self, uint64_t *ret_rows, uint64_t *ret_batches)
{
    *ret_rows = self->rows;
    *ret_batches = self->batches;
}

/*  Pages that were written and freed stay in the database, and the log keeps the size that it once had: both are
 *  written in place from then on, whatever else the disk holds. */
void helio_journal_reserve(helio_journal_t *self)
{
    int64_t pages = 0, page_size = 0;
    char text[32], sql[200];
    struct statvfs disk;
    if (statvfs(sqlite3_db_filename(self->db, "main"), &disk) || disk.f_bavail * disk.f_frsize < ROOM)
        return;
    if (pragma(self->db, "PRAGMA freelist_count", &pages, text, sizeof text, NULL) ||
        pragma(self->db, "PRAGMA page_size", &page_size, text, sizeof text, NULL))
        return;
    int64_t missing = RESERVE - pages * page_size;
    (void)snprintf(sql, sizeof sql,
                   "PRAGMA wal_autocheckpoint = %d; BEGIN; CREATE TABLE reserve (bytes BLOB);"
                   "INSERT INTO reserve VALUES (zeroblob (%lld)); COMMIT; DROP TABLE reserve;",
                   CHECKPOINT_PAGES, (long long)(missing > RESERVE / 2 ? missing : RESERVE / 2));
    if (sqlite3_exec(self->db, sql, NULL, NULL, NULL) != SQLITE_OK && !sqlite3_get_autocommit(self->db))
        (void)sqlite3_exec(self->db, "ROLLBACK", NULL, NULL, NULL);
    (void)sqlite3_exec(self->db, "DROP TABLE IF EXISTS reserve", NULL, NULL, NULL);
}
