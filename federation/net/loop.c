/*  loop.c -- polls descriptors and timers, and calls their handlers. */
#include "federation/net/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/base/heap.h"
#include "federation/base/memory.h"
#include "federation/net/internal.h"

/*  poll() uses CLOCK_MONOTONIC, which stops while the machine is suspended. Waking up this often while a timer is
 *  armed bounds how late a timer fires after a suspend. */
enum { WAIT_MAX_MS = 1000 };

struct helio_source {
    helio_loop_t *loop;
    size_t index; /* in loop->sources and loop->items */
    unsigned ready;
    bool dead; /* destroyed; freed before the next wait, since the current turn may still hold it */
    helio_loop_fn *fn;
    void *arg;
};

struct helio_timer {
    helio_loop_t *loop;
    helio_heap_item_t item; /* in no heap = disarmed */
    int64_t due_ms;
    uint64_t order; /* of arming: among equals the earlier armed fires first */
    int64_t period_ms;
    helio_loop_fn *fn;
    void *arg;
};

struct helio_loop {
    int64_t now_ms;
    zmq_pollitem_t *items;
    helio_source_t **sources;
    size_t count, capacity;
    bool any_dead;
    helio_heap_t armed; /* timers, the next one first */
    size_t timers;      /* alive */
    uint64_t order;
    helio_source_t *wakeup;
    int wakeup_fd;
    atomic_bool stopped;
};

/* ---- timers -------------------------------------------------------------------------------------------- */

static helio_timer_t *timer_of(helio_heap_item_t *item)
{
    return HELIO_HEAP_OWNER(item, helio_timer_t, item);
}

static bool earlier(helio_heap_item_t *left, helio_heap_item_t *right)
{
    const helio_timer_t *a = timer_of(left), *b = timer_of(right);
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

helio_timer_t *helio_timer_new(helio_loop_t *loop, helio_loop_fn *fn, void *arg)
{
    helio_timer_t *self = helio_new(1, sizeof *self);
    *self = (helio_timer_t){.loop = loop, .fn = fn, .arg = arg};
    loop->timers++;
    return self;
}

void helio_timer_disarm(helio_timer_t *self)
{
    helio_heap_remove(&self->loop->armed, &self->item);
}

void helio_timer_destroy(helio_timer_t **self_p)
{
    if (!*self_p)
        return;
    helio_timer_disarm(*self_p);
    (*self_p)->loop->timers--;
    free(*self_p);
    *self_p = NULL;
}

static void timer_arm(helio_timer_t *self, int64_t due_ms, int64_t period_ms)
{
    helio_loop_t *loop = self->loop;
    helio_timer_disarm(self);
    self->due_ms = due_ms;
    self->period_ms = period_ms;
    self->order = ++loop->order;
    helio_heap_put(&loop->armed, &self->item);
}

void helio_timer_arm(helio_timer_t *self, int64_t delay_ms, int64_t period_ms)
{
    /* From now, not from the turn's beginning: a handler may have taken long. */
    timer_arm(self, helio_clock_boot_ms() + (delay_ms > 0 ? delay_ms : 0), period_ms > 0 ? period_ms : 0);
}

void helio_timer_arm_at(helio_timer_t *self, int64_t boot_ms)
{
    timer_arm(self, boot_ms, 0);
}

bool helio_timer_is_armed(const helio_timer_t *self)
{
    return self->item.slot != 0;
}

/*  Timers armed by these handlers wait for the next turn, whatever their delay, so that a turn always ends. */
static void run_timers(helio_loop_t *self)
{
    uint64_t order = self->order;
    for (helio_heap_item_t *first; (first = helio_heap_first(&self->armed));) {
        helio_timer_t *timer = timer_of(first);
        if (timer->due_ms > self->now_ms)
            break;
        if (timer->order > order) {
            /* Armed just now for the past: later timers run first, and this one is kept. */
            timer->due_ms = self->now_ms + 1;
            helio_heap_reorder(&self->armed, first);
            continue;
        }
        if (timer->period_ms)
            timer_arm(timer, self->now_ms + timer->period_ms, timer->period_ms);
        else
            helio_timer_disarm(timer);
        timer->fn(timer->arg);
    }
}

/* ---- sources ------------------------------------------------------------------------------------------- */

static short events_of(unsigned interest)
{
    return (short)((interest & HELIO_LOOP_IN ? ZMQ_POLLIN : 0) | (interest & HELIO_LOOP_OUT ? ZMQ_POLLOUT : 0));
}

static helio_source_t *source_new(helio_loop_t *loop, zmq_pollitem_t item, helio_loop_fn *fn, void *arg)
{
    if (loop->count == loop->capacity) {
        loop->capacity = loop->capacity ? 2 * loop->capacity : 16;
        loop->items = helio_grow(loop->items, loop->capacity, sizeof *loop->items);
        loop->sources = helio_grow(loop->sources, loop->capacity, sizeof(helio_source_t *));
    }
    helio_source_t *self = helio_new(1, sizeof *self);
    *self = (helio_source_t){.loop = loop, .index = loop->count, .fn = fn, .arg = arg};
    loop->items[loop->count] = item;
    loop->sources[loop->count++] = self;
    return self;
}

helio_source_t *helio_source_new(helio_loop_t *loop, int fd, unsigned interest, helio_loop_fn *fn, void *arg)
{
    assert(fd >= 0);
    return source_new(loop, (zmq_pollitem_t){.fd = fd, .events = events_of(interest)}, fn, arg);
}

helio_source_t *helio_source_of_socket(helio_loop_t *loop, void *socket, helio_loop_fn *fn, void *arg)
{
    return source_new(loop, (zmq_pollitem_t){.socket = socket, .events = ZMQ_POLLIN}, fn, arg);
}

void helio_source_destroy(helio_source_t **self_p)
{
    helio_source_t *self = *self_p;
    if (!self)
        return;
    self->dead = true;
    self->loop->any_dead = true;
    *self_p = NULL;
}

void helio_source_interest(helio_source_t *self, unsigned interest)
{
    self->loop->items[self->index].events = events_of(interest);
}

unsigned helio_source_ready(const helio_source_t *self)
{
    return self->ready;
}

static void bury_dead(helio_loop_t *self)
{
    size_t kept = 0;
    if (!self->any_dead)
        return;
    for (size_t i = 0; i < self->count; i++) {
        helio_source_t *source = self->sources[i];
        if (source->dead) {
            free(source);
            continue;
        }
        self->items[kept] = self->items[i];
        self->sources[kept] = source;
        source->index = kept++;
    }
    self->count = kept;
    self->any_dead = false;
}

static void run_sources(helio_loop_t *self, size_t polled)
{
    for (size_t i = 0; i < polled; i++) {
        short events = self->items[i].revents;
        self->items[i].revents = 0;
        self->sources[i]->ready = (events & ZMQ_POLLIN ? HELIO_LOOP_IN : 0u) |
                                  (events & ZMQ_POLLOUT ? HELIO_LOOP_OUT : 0u) |
                                  (events & ZMQ_POLLERR ? HELIO_LOOP_ERROR : 0u);
    }
    for (size_t i = 0; i < polled; i++) {
        helio_source_t *source = self->sources[i];
        if (source->ready && !source->dead)
            source->fn(source->arg);
    }
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

static void woken(void *arg)
{
    helio_loop_t *self = arg;
    uint64_t count;
    ssize_t got = read(self->wakeup_fd, &count, sizeof count);
    (void)got;
}

helio_rc helio_loop_new(helio_loop_t **ret_loop, helio_error_t *err)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return helio_fail(err, HELIO_IO, "cannot create an eventfd: %s", strerror(errno));
    helio_loop_t *self = helio_new(1, sizeof *self);
    self->wakeup_fd = fd;
    self->armed.before = earlier;
    self->now_ms = helio_clock_boot_ms();
    self->wakeup = helio_source_new(self, fd, HELIO_LOOP_IN, woken, self);
    *ret_loop = self;
    return HELIO_OK;
}

void helio_loop_destroy(helio_loop_t **self_p)
{
    helio_loop_t *self = *self_p;
    if (!self)
        return;
    helio_source_destroy(&self->wakeup);
    bury_dead(self);
    assert(!self->count && !self->timers);
    (void)close(self->wakeup_fd);
    free(self->items);
    free(self->sources);
    helio_heap_clear(&self->armed);
    free(self);
    *self_p = NULL;
}

helio_rc helio_loop_turn(helio_loop_t *self, int64_t timeout_ms, helio_error_t *err)
{
    int64_t wait_ms = timeout_ms;
    bury_dead(self);
    helio_heap_item_t *first = helio_heap_first(&self->armed);
    if (first) {
        int64_t until = timer_of(first)->due_ms - helio_clock_boot_ms();
        until = until < 0 ? 0 : until > WAIT_MAX_MS ? WAIT_MAX_MS : until;
        if (wait_ms < 0 || until < wait_ms)
            wait_ms = until;
    }
    if (wait_ms > INT_MAX)
        wait_ms = INT_MAX;
    size_t polled = self->count;
    int ready = zmq_poll(self->items, (int)polled, (long)wait_ms);
    if (ready < 0 && errno != EINTR)
        return helio_fail(err, HELIO_IO, "polling failed: %s", zmq_strerror(errno));
    self->now_ms = helio_clock_boot_ms();
    run_timers(self);
    if (ready > 0)
        run_sources(self, polled);
    return HELIO_OK;
}

helio_rc helio_loop_run(helio_loop_t *self, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    while (!rc && !atomic_load(&self->stopped))
        rc = helio_loop_turn(self, -1, err);
    atomic_store(&self->stopped, false);
    return rc;
}

void helio_loop_stop(helio_loop_t *self)
{
    static const uint64_t one = 1;
    int saved = errno; /* a signal handler may call this */
    atomic_store(&self->stopped, true);
    ssize_t put = write(self->wakeup_fd, &one, sizeof one);
    (void)put; /* full means that it is already readable */
    errno = saved;
}

int64_t helio_loop_now_ms(const helio_loop_t *self)
{
    return self->now_ms;
}
