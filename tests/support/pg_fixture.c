/*  pg_fixture.c -- starts tests/postgres.sh, and makes databases for tests. */
#include "tests/support/pg_fixture.h"

#include <libpq-fe.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/store/store.h"

enum { PATH_SIZE = 256, DATABASES_MAX = 256 };

extern char **environ;

struct helio_pg {
    char folder[PATH_SIZE];
    char conninfo[512]; /* of database postgres */
    char *databases[DATABASES_MAX];
    int count;
    bool template_made;
};

static void fail(const char *what, const char *detail) __attribute__((noreturn));
static void fail(const char *what, const char *detail)
{
    (void)fprintf(stderr, "pg_fixture: %s: %s\n", what, detail);
    abort();
}

/*  Runs tests/postgres.sh with the arguments, and copies its first line of output to ret_line (can be NULL). */
static void script(char *ret_line, int capacity, const char *const *arguments)
{
    const char *argv[8] = {HELIO_SOURCE_DIR "/tests/postgres.sh"};
    for (int i = 0; arguments[i]; i++)
        argv[i + 1] = arguments[i];
    int pipe_fds[2];
    if (pipe(pipe_fds) != 0)
        fail("pipe", arguments[0]);
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_addclose(&actions, pipe_fds[0]);
    pid_t child;
    if (posix_spawn(&child, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ) != 0)
        fail("cannot run", argv[0]);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(pipe_fds[1]);
    FILE *output = fdopen(pipe_fds[0], "r");
    if (ret_line && fgets(ret_line, capacity, output))
        ret_line[strcspn(ret_line, "\n")] = '\0';
    int status = 0;
    (void)waitpid(child, &status, 0);
    (void)fclose(output);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail("tests/postgres.sh failed", arguments[0]);
}

helio_pg_t *helio_pg_up(void)
{
    helio_pg_t *self = calloc(1, sizeof *self);
    char watch[24];
    char template[] = "/tmp/helio-test-pg-XXXXXX";
    if (!self || !mkdtemp(template))
        fail("no temporary folder", template);
    (void)snprintf(self->folder, sizeof self->folder, "%s/pg", template);
    (void)snprintf(watch, sizeof watch, "%ld", (long)getpid());
    (void)setenv("HELIO_PGCONF", "fsync = off", 0); /* no test takes the machine's power away */
    if (chmod(template, 0755) != 0)
        fail("chmod", template);
    script(self->conninfo, sizeof self->conninfo, (const char *const[]){"up", self->folder, "--watch", watch, NULL});
    return self;
}

void helio_pg_down(helio_pg_t **self_p)
{
    helio_pg_t *self = *self_p;
    if (!self)
        return;
    script(NULL, 0, (const char *const[]){"down", self->folder, NULL});
    self->folder[strlen(self->folder) - strlen("/pg")] = '\0';
    (void)rmdir(self->folder);
    for (int i = 0; i < self->count; i++)
        free(self->databases[i]);
    free(self);
    *self_p = NULL;
}

static const char *conninfo_of(helio_pg_t *self, const char *name)
{
    if (self->count == DATABASES_MAX)
        fail("too many databases", name);
    const char *dbname = strstr(self->conninfo, " dbname=");
    char *conninfo = calloc(1, sizeof self->conninfo);
    if (!dbname || !conninfo)
        fail("unexpected connection string", self->conninfo);
    (void)snprintf(conninfo, sizeof self->conninfo, "%.*s dbname=%s", (int)(dbname - self->conninfo), self->conninfo,
                   name);
    return self->databases[self->count++] = conninfo;
}

static const char *create(helio_pg_t *self, const char *template)
{
    char name[32], sql[128];
    (void)snprintf(name, sizeof name, "test_%d", self->count);
    (void)snprintf(sql, sizeof sql, "create database %s%s%s", name, template ? " template " : "",
                   template ? template : "");
    helio_pg_exec(self->conninfo, sql);
    return conninfo_of(self, name);
}

const char *helio_pg_empty_database(helio_pg_t *self)
{
    return create(self, NULL);
}

const char *helio_pg_database(helio_pg_t *self)
{
    if (!self->template_made) {
        helio_error_t err = {.text = ""};
        helio_pg_exec(self->conninfo, "create database migrated");
        if (helio_schema_migrate(conninfo_of(self, "migrated"), NULL, NULL, &err) != HELIO_OK)
            fail("migrate", err.text);
        self->template_made = true;
    }
    return create(self, "migrated");
}

void helio_pg_kill(helio_pg_t *self)
{
    script(NULL, 0, (const char *const[]){"kill", self->folder, NULL});
}

void helio_pg_start(helio_pg_t *self)
{
    script(NULL, 0, (const char *const[]){"start", self->folder, NULL});
}

static PGresult *run(const char *conninfo, const char *sql, PGconn **ret_connection)
{
    PGconn *connection = PQconnectdb(conninfo);
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail(sql, PQerrorMessage(connection));
    *ret_connection = connection;
    return result;
}

void helio_pg_exec(const char *conninfo, const char *sql)
{
    PGconn *connection;
    PQclear(run(conninfo, sql, &connection));
    PQfinish(connection);
}

char *helio_pg_value(const char *conninfo, const char *sql)
{
    PGconn *connection;
    PGresult *result = run(conninfo, sql, &connection);
    char *value = strdup(PQntuples(result) && PQnfields(result) ? PQgetvalue(result, 0, 0) : "");
    if (!value)
        fail("out of memory", sql);
    PQclear(result);
    PQfinish(connection);
    return value;
}
