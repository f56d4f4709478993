/*  intake_testing.h -- readers of the broker against its double: what they take, in order, as lines. */
#ifndef HELIO_TESTS_CLIENT_NOTIFY_INTAKE_TESTING_H
#define HELIO_TESTS_CLIENT_NOTIFY_INTAKE_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>

#include "client/invocation/settings.h"
#include "client/notify/core/reply.h"
#include "client/notify/intake.h"
#include "federation/base/clock.h"
#include "tests/unit/client/program/broker_double.h"

enum { PATIENCE_MS = 2, PATIENTLY_MS = 20000 };

#define RULES(...) ((const rule_t[]){__VA_ARGS__, {0}})

typedef struct reader {
    broker_double_t *broker;
    char url[64];
    helio_client_io_t io;
    helio_settings_t settings;
    helio_remote_t *remote;
    helio_arena_t *arena;
    helio_notify_settings_t targets;
    helio_log_t *log;
    helio_intake_hooks_t hooks;
    helio_buffer_t taken; /* "job_ended ID user\n" */
    uint32_t seen;
} reader_t;

static inline helio_rc reader_take(void *arg, const helio_happening_t *happening, helio_error_t *err)
{
    (void)err;
    reader_t *self = arg;
    helio_notify_subject_t subject = helio_happening_subject(happening);
    helio_buffer_printf(&self->taken, "%s %s %.*s\n", helio_notify_event_name(happening->event), happening->about,
                        HELIO_TEXT_ARGS(subject.user));
    return HELIO_OK;
}

static inline void reader_see(void *arg, const json_t *transition)
{
    (void)transition;
    reader_t *self = arg;
    self->seen++;
}

static inline reader_t *reader_new(const rule_t *rules, const char *targets)
{
    reader_t *self = helio_new(1, sizeof *self);
    helio_diagnostic_t diagnostic;
    self->broker = broker_double_new(rules);
    (void)snprintf(self->url, sizeof self->url, "http://127.0.0.1:%d", self->broker->port);
    self->io = (helio_client_io_t){.interrupt_fd = -1, .patience_ms = PATIENCE_MS};
    self->settings = (helio_settings_t){.broker = self->url, .token = "", .ca_file = "", .timeout_ms = 1000};
    self->arena = helio_arena_new();
    self->log = helio_log_new(open("/dev/null", O_WRONLY | O_CLOEXEC), HELIO_ERROR, "test");
    if (helio_spec_read(&helio_notify_table, (helio_spec_source_t){.text = helio_text_of(targets)},
                        HELIO_SPEC_SOURCE_MAX, self->arena, &self->targets, &diagnostic) != HELIO_OK)
        fail_msg("%s", diagnostic.message);
    helio_notify_settle(&self->targets);
    assert_int_equal(helio_remote_new(&self->io, &self->settings, &self->remote, NULL), HELIO_OK);
    self->hooks = (helio_intake_hooks_t){.arg = self, .take = reader_take, .seen = reader_see};
    helio_buffer_text(&self->taken, "");
    return self;
}

static inline void reader_destroy(reader_t **self_p)
{
    reader_t *self = *self_p;
    helio_remote_destroy(&self->remote);
    broker_double_destroy(&self->broker);
    helio_arena_destroy(&self->arena);
    helio_log_destroy(&self->log);
    helio_buffer_clear(&self->taken);
    free(self);
    *self_p = NULL;
}

/*  Until the next due time, at most. */
static inline void reader_pump(reader_t *self, int64_t due_ms)
{
    int64_t left_ms = due_ms - helio_clock_boot_ms();
    helio_remote_pump(self->remote, left_ms < 0 ? 0 : left_ms > 1000 ? 1000 : (uint32_t)left_ms);
}

static inline const char *reader_taken(const reader_t *self)
{
    return self->taken.data ? self->taken.data : "";
}

/*  How many requests began so; the double is stopped. */
static inline int reader_requests(reader_t *self, const char *beginning)
{
    broker_double_stop(self->broker);
    return broker_double_count(self->broker, beginning);
}

#endif
