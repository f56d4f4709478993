/*  connections.c -- two lists of waiting connections, the longest wait first: without a request so far, and idle. */
#include "broker/http/request/connections.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <utlist.h>

#include "federation/base/memory.h"

typedef enum waiting { FRESH, IDLE, WAITINGS, NOT_WAITING = WAITINGS } waiting_t;

struct helio_connection {
    int fd;
    waiting_t waiting;
    int64_t deadline_ms; /* of the headers */
    helio_connection_t *prev, *next;
};

struct helio_connections {
    helio_connections_options_t options;
    pthread_mutex_t mutex; /* guards what follows, and keeps each fd open while it is shut down */
    helio_connection_t *waiting[WAITINGS];
    helio_connections_figures_t figures;
};

helio_connections_t *helio_connections_new(const helio_connections_options_t *options)
{
    helio_connections_t *self = helio_new(1, sizeof *self);
    self->options = *options;
    if (pthread_mutex_init(&self->mutex, NULL) != 0)
        abort();
    return self;
}

void helio_connections_destroy(helio_connections_t **self_p)
{
    helio_connections_t *self = *self_p;
    if (!self)
        return;
    assert(self->figures.open == 0);
    (void)pthread_mutex_destroy(&self->mutex);
    free(self);
    *self_p = NULL;
}

static void leave_list(helio_connections_t *self, helio_connection_t *connection)
{
    if (connection->waiting != NOT_WAITING)
        DL_DELETE(self->waiting[connection->waiting], connection);
    connection->waiting = NOT_WAITING;
}

static void enter_list(helio_connections_t *self, helio_connection_t *connection, waiting_t waiting, int64_t now_ms)
{
    connection->waiting = waiting;
    connection->deadline_ms =
        now_ms + self->options.headers_timeout_ms + (waiting == IDLE ? self->options.idle_timeout_ms : 0);
    DL_APPEND(self->waiting[waiting], connection);
}

static void cut(helio_connections_t *self, helio_connection_t *connection)
{
    leave_list(self, connection);
    (void)shutdown(connection->fd, SHUT_RDWR); /* fails if the client left already */
}

static void make_room(helio_connections_t *self)
{
    if (self->figures.open < self->options.most - self->options.most / 8)
        return;
    helio_connection_t *longest = self->waiting[FRESH] ? self->waiting[FRESH] : self->waiting[IDLE];
    if (!longest)
        return;
    cut(self, longest);
    self->figures.shed_total++;
}

helio_connection_t *helio_connections_open(helio_connections_t *self, int fd, int64_t now_ms)
{
    helio_connection_t *connection = helio_new(1, sizeof *connection);
    connection->fd = fd;
    (void)pthread_mutex_lock(&self->mutex);
    make_room(self);
    self->figures.open++;
    enter_list(self, connection, FRESH, now_ms);
    (void)pthread_mutex_unlock(&self->mutex);
    return connection;
}

void helio_connections_close(helio_connections_t *self, helio_connection_t **connection_p)
{
    helio_connection_t *connection = *connection_p;
    (void)pthread_mutex_lock(&self->mutex);
    leave_list(self, connection);
    self->figures.open--;
    (void)pthread_mutex_unlock(&self->mutex);
    free(connection);
    *connection_p = NULL;
}

void helio_connections_begin(helio_connections_t *self, helio_connection_t *connection)
{
    (void)pthread_mutex_lock(&self->mutex);
    leave_list(self, connection);
    (void)pthread_mutex_unlock(&self->mutex);
}

void helio_connections_end(helio_connections_t *self, helio_connection_t *connection, int64_t now_ms)
{
    (void)pthread_mutex_lock(&self->mutex);
    leave_list(self, connection);
    enter_list(self, connection, IDLE, now_ms);
    (void)pthread_mutex_unlock(&self->mutex);
}

void helio_connections_sweep(helio_connections_t *self, int64_t now_ms)
{
    (void)pthread_mutex_lock(&self->mutex);
    for (waiting_t waiting = FRESH; waiting < WAITINGS; waiting++)
        while (self->waiting[waiting] && self->waiting[waiting]->deadline_ms <= now_ms) {
            cut(self, self->waiting[waiting]);
            self->figures.late_total++;
        }
    (void)pthread_mutex_unlock(&self->mutex);
}

helio_connections_figures_t helio_connections_figures(helio_connections_t *self)
{
    (void)pthread_mutex_lock(&self->mutex);
    helio_connections_figures_t figures = self->figures;
    (void)pthread_mutex_unlock(&self->mutex);
    return figures;
}
