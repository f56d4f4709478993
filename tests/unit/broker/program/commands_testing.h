/*  commands_testing.h -- one command of helio-broker in the test's own process: its arguments, its settings file, its
 *  output and its exit code. */
#ifndef HELIO_TESTS_BROKER_PROGRAM_COMMANDS_TESTING_H
#define HELIO_TESTS_BROKER_PROGRAM_COMMANDS_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/program/commands.h"
#include "tests/support/captured.h"
#include "tests/support/folder.h"
#include "tests/support/pg_fixture.h"

static helio_pg_t *pg; /* of all tests of a program */

typedef struct desk {
    char folder[32];
    char config[64];
    const char *database;
    char out[8192], err[8192]; /* what the last command printed */
} desk_t;

static inline int pg_begin(void **state)
{
    (void)state;
    pg = helio_pg_up();
    return 0;
}

static inline int pg_end(void **state)
{
    (void)state;
    helio_pg_down(&pg);
    return 0;
}

/*  Writes broker.yaml: this database, and the lines. */
static inline void configure(desk_t *self, const char *database, const char *lines)
{
    FILE *file = fopen(self->config, "we");
    assert_non_null(file);
    assert_true(fprintf(file, "database: %s\n%s", database, lines) > 0);
    assert_int_equal(fclose(file), 0);
}

static inline desk_t *desk_new(const char *database)
{
    desk_t *self = helio_new(1, sizeof *self);
    (void)snprintf(self->folder, sizeof self->folder, "/tmp/helio-desk-XXXXXX");
    assert_non_null(mkdtemp(self->folder));
    (void)snprintf(self->config, sizeof self->config, "%s/broker.yaml", self->folder);
    self->database = database;
    configure(self, database, "");
    return self;
}

/*  A fresh database, and one without a server: port 1 is closed. */
static inline int desk_with_database(void **state)
{
    *state = desk_new(helio_pg_database(pg));
    return 0;
}
static inline int desk_without_database(void **state)
{
    *state = desk_new("host=127.0.0.1 port=1 dbname=helio user=helio connect_timeout=5");
    return 0;
}

static inline int desk_end(void **state)
{
    desk_t *self = *state;
    assert_int_equal(folder_remove(self->folder), 0);
    free(self);
    return 0;
}

/*  The words as a shell would hand them over, up to NULL; --config is added. The exit code. */
static inline int run_words(desk_t *self, helio_command_fn *command, const char *const *words)
{
    char *argv[160] = {"helio-broker", "--config", self->config};
    int argc = 3;
    for (; words[argc - 3]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 3];
    helio_arguments_t arguments;
    helio_error_t err = {0};
    if (helio_arguments_parse(argc, argv, &arguments, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    captured_t out = capture_begin(stdout), errors = capture_begin(stderr);
    int code = command(&arguments);
    capture_end(out, stdout, self->out, sizeof self->out);
    capture_end(errors, stderr, self->err, sizeof self->err);
    return code;
}
#define RUN(self, command, ...) run_words(self, command, (const char *const[]){__VA_ARGS__, NULL})

static inline void assert_in_database(const desk_t *self, const char *sql, const char *expected)
{
    char *got = helio_pg_value(self->database, sql);
    if (strcmp(got, expected) != 0)
        fail_msg("%s: '%s', not '%s'", sql, got, expected);
    free(got);
}

#endif
