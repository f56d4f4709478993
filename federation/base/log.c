/*  log.c -- writes log lines, escapes their values, and limits floods. */
#include "federation/base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "federation/base/clock.h"

struct helio_log {
    int fd;
    helio_level_t least;
    char *program;
    pthread_mutex_t lock; /* the only mutex of the project: keeps lines whole */
};

static const char *const level_names[] = {"debug", "info", "warn", "error"};

helio_log_t *helio_log_new(int fd, helio_level_t least, const char *program)
{
    helio_log_t *self = helio_new(1, sizeof *self);
    self->fd = fd;
    self->least = least;
    self->program = helio_strdup(program);
    (void)pthread_mutex_init(&self->lock, NULL);
    return self;
}

void helio_log_destroy(helio_log_t **self_p)
{
    if (!*self_p)
        return;
    (void)pthread_mutex_destroy(&(*self_p)->lock);
    free((*self_p)->program);
    free(*self_p);
    *self_p = NULL;
}

void helio_log(helio_log_t *self, helio_level_t level, const char *event, const char *fields, ...)
{
    if (!self || level < self->least)
        return;
    char line[2048], when[HELIO_RFC3339_SIZE];
    helio_rfc3339(helio_clock_wall_ms(), when);
    int size = snprintf(line, sizeof line, "%s %s %s %s ", when, self->program, level_names[level], event);
    va_list args;
    va_start(args, fields);
    int more = vsnprintf(line + size, sizeof line - (size_t)size, fields, args);
    va_end(args);
    size_t total = (size_t)size + (more > 0 ? (size_t)more : 0);
    if (total > sizeof line - 2)
        total = sizeof line - 2;
    for (size_t i = 0; i < total; i++) /* the last safeguard; values should be quoted by helio_log_quote */
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    line[total] = '\n';
    (void)pthread_mutex_lock(&self->lock);
    ssize_t written = write(self->fd, line, total + 1);
    (void)written; /* the error cannot be reported anywhere */
    (void)pthread_mutex_unlock(&self->lock);
}

const char *helio_log_quote(helio_text_t value, char *ret_text, size_t capacity)
{
    size_t at = 0;
    ret_text[at++] = '"';
    for (uint32_t i = 0; i < value.size && at + 6 < capacity; i++) {
        unsigned char c = (unsigned char)value.data[i];
        if (c == '"' || c == '\\') {
            ret_text[at++] = '\\';
            ret_text[at++] = (char)c;
        } else if (c < 0x20 || c >= 0x7f) {
            at += (size_t)snprintf(ret_text + at, capacity - at, "\\x%02x", c);
        } else {
            ret_text[at++] = (char)c;
        }
    }
    ret_text[at++] = '"';
    ret_text[at] = '\0';
    return ret_text;
}

bool helio_log_allowed(helio_log_limit_t *limit, uint32_t burst, uint32_t *ret_dropped)
{
    int64_t second = helio_clock_boot_ms() / 1000;
    *ret_dropped = 0;
    if (second != limit->second) {
        *ret_dropped = limit->dropped;
        *limit = (helio_log_limit_t){.second = second};
    }
    if (limit->used >= burst) {
        limit->dropped++;
        return false;
    }
    limit->used++;
    return true;
}
