/*  settings_testing.h -- one settings file for each test, and what loading it gives. */
#ifndef HELIO_TESTS_BROKER_PROGRAM_SETTINGS_TESTING_H
#define HELIO_TESTS_BROKER_PROGRAM_SETTINGS_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/program/settings.h"

typedef struct fixture {
    char path[64];
    helio_arena_t *arena;
    helio_settings_t settings;
    helio_error_t err;
} fixture_t;

static inline int set_up(void **state)
{
    fixture_t *self = helio_new(1, sizeof *self);
    (void)snprintf(self->path, sizeof self->path, "/tmp/helio-settings-XXXXXX");
    int fd = mkstemp(self->path);
    assert_true(fd >= 0);
    (void)close(fd);
    self->arena = helio_arena_new();
    *state = self;
    return 0;
}

static inline int tear_down(void **state)
{
    fixture_t *self = *state;
    (void)unlink(self->path);
    helio_arena_destroy(&self->arena);
    free(self);
    return 0;
}

static inline helio_rc load(fixture_t *self, const char *text, helio_arguments_t arguments)
{
    FILE *file = fopen(self->path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    arguments.config = self->path;
    self->err = (helio_error_t){0};
    return helio_settings_load(&arguments, self->arena, &self->settings, &self->err);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
