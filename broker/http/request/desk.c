#include "broker/http/request/desk.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/base/ring.h"

enum {
    OPERATIONS_MAX = 8192, /* without an answer, late ones included: beyond it new ones are refused as BUSY */
    TICK_MS = 50,          /* how exact deadlines are */
    GONE_CHECK_MS = 1000   /* how soon a client that left a silent stream is noticed */
};

struct helio_desk {
    helio_http_t *http;
    void (*resume)(helio_exchange_t *exchange);
    helio_ring_t *arrivals; /* of helio_exchange_t: at most one entry per connection */
    helio_ring_t *answers;  /* of helio_operation_t: at most OPERATIONS_MAX */
    int bell_fd;
    atomic_bool rung;
    _Atomic uint64_t seq;
    _Atomic int64_t admitted; /* suspended, or about to be */
    pthread_t thread;
    bool started;
    /*  the desk's thread's own */
    helio_exchange_t *held;       /* all that wait here */
    helio_operation_t *under_way; /* all that were posted */
    uint32_t operation_count;
    int64_t tick_ms, gone_check_ms;
};

/* ---- operations ---------------------------------------------------------------------------------------- */

static void link_operation(helio_desk_t *self, helio_operation_t *operation)
{
    operation->prev = NULL;
    operation->next = self->under_way;
    if (self->under_way)
        self->under_way->prev = operation;
    self->under_way = operation;
    self->operation_count++;
    (void)atomic_fetch_add_explicit(&self->http->metrics.operations, 1, memory_order_relaxed);
}

static void unlink_operation(helio_desk_t *self, helio_operation_t *operation)
{
    if (operation->prev)
        operation->prev->next = operation->next;
    else
        self->under_way = operation->next;
    if (operation->next)
        operation->next->prev = operation->prev;
    self->operation_count--;
    (void)atomic_fetch_sub_explicit(&self->http->metrics.operations, 1, memory_order_relaxed);
}

static helio_rc post(helio_desk_t *self, helio_operation_t *operation)
{
    if (self->operation_count >= OPERATIONS_MAX)
        return HELIO_BUSY;
    const helio_http_ports_t *ports = &self->http->ports;
    operation->returns = self->answers;
    link_operation(self, operation); /* before posting: the answer may be there first */
    helio_rc rc = operation->kind == HELIO_OPERATION_CALL ? ports->post(ports->engine, &operation->call)
                                                          : ports->read(ports->reader, &operation->read);
    if (rc != HELIO_OK)
        unlink_operation(self, operation);
    return rc;
}

/* ---- what waits ---------------------------------------------------------------------------------------- */

static void hold(helio_desk_t *self, helio_exchange_t *exchange)
{
    exchange->desk_prev = NULL;
    exchange->desk_next = self->held;
    if (self->held)
        self->held->desk_prev = exchange;
    self->held = exchange;
}

static void let_go(helio_desk_t *self, helio_exchange_t *exchange)
{
    if (exchange->desk_prev)
        exchange->desk_prev->desk_next = exchange->desk_next;
    else
        self->held = exchange->desk_next;
    if (exchange->desk_next)
        exchange->desk_next->desk_prev = exchange->desk_prev;
}

static void give_back(helio_desk_t *self, helio_exchange_t *exchange)
{
    (void)atomic_fetch_sub_explicit(&self->http->metrics.waiting, 1, memory_order_relaxed);
    self->resume(exchange); /* it is no longer ours, perhaps no longer there */
    (void)atomic_fetch_sub(&self->admitted, 1);
}

static bool has_news(const helio_exchange_t *exchange)
{
    if (!exchange->sent)
        return exchange->status != 0;
    return exchange->answer.size > exchange->answer_sent || exchange->ended || exchange->broken;
}

/*  After a step: gives back what has something to say, posts what has something to ask, keeps the rest. */
static void settle(helio_desk_t *self, helio_exchange_t *exchange)
{
    for (;;) {
        if (has_news(exchange)) {
            give_back(self, exchange);
            return;
        }
        helio_operation_t *operation = exchange->operation;
        assert(operation || exchange->want);
        if (!operation) {
            hold(self, exchange);
            return;
        }
        operation->exchange = exchange;
        exchange->deadline_ms = helio_clock_boot_ms() + self->http->options.request_timeout_ms;
        helio_rc rc = post(self, operation);
        if (rc == HELIO_OK) {
            hold(self, exchange);
            return;
        }
        exchange->operation = NULL;
        operation->result.rc = rc;
        exchange->next(exchange, &operation->result);
        helio_operation_destroy(&operation);
    }
}

static void shut_out(helio_desk_t *self, helio_exchange_t *exchange)
{
    if (exchange->operation && exchange->operation->exchange == exchange) {
        exchange->operation->exchange = NULL; /* under way: its answer frees it */
        exchange->operation = NULL;
    }
    if (exchange->want)
        exchange->ended = true;
    else if (!exchange->status)
        helio_answer_problem(exchange, 503, NULL, "the broker is shutting down");
    give_back(self, exchange);
}

static void on_arrival(helio_desk_t *self, helio_exchange_t *exchange)
{
    (void)atomic_fetch_add_explicit(&self->http->metrics.waiting, 1, memory_order_relaxed);
    if (atomic_load(&self->http->stopping)) {
        shut_out(self, exchange);
        return;
    }
    if (exchange->want && !exchange->operation)
        exchange->want(exchange);
    settle(self, exchange);
}

static void on_return(helio_desk_t *self, helio_operation_t *operation)
{
    unlink_operation(self, operation);
    helio_exchange_t *exchange = operation->exchange;
    if (exchange) {
        let_go(self, exchange);
        exchange->operation = NULL;
        exchange->next(exchange, &operation->result);
    }
    helio_operation_destroy(&operation);
    if (exchange)
        settle(self, exchange);
}

static void on_deadline(helio_desk_t *self, helio_exchange_t *exchange)
{
    let_go(self, exchange);
    exchange->operation->exchange = NULL;
    exchange->operation = NULL;
    (void)atomic_fetch_add_explicit(&self->http->metrics.timeouts, 1, memory_order_relaxed);
    helio_result_t result = {.rc = HELIO_TIMEOUT};
    exchange->next(exchange, &result);
    settle(self, exchange);
}

static void wake(helio_desk_t *self, helio_exchange_t *exchange)
{
    let_go(self, exchange);
    exchange->wants_bell = false;
    exchange->want(exchange);
    settle(self, exchange);
}

/*  A client that hangs up on a suspended connection is seen by nobody else. */
static bool gone(const helio_exchange_t *exchange)
{
    char byte;
    return exchange->fd >= 0 && recv(exchange->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void look_after(helio_desk_t *self, helio_exchange_t *exchange, int64_t now_ms, bool bell,
                       bool check_gone)
{
    if (exchange->want && exchange->sent && check_gone && gone(exchange))
        exchange->broken = true;
    if (exchange->operation) {
        if (now_ms >= exchange->deadline_ms)
            on_deadline(self, exchange);
    } else if (exchange->broken || now_ms >= exchange->wake_ms || (bell && exchange->wants_bell)) {
        if (exchange->broken) {
            let_go(self, exchange);
            give_back(self, exchange);
        } else {
            wake(self, exchange);
        }
    }
}

static void look_after_all(helio_desk_t *self, int64_t now_ms, bool bell)
{
    bool check_gone = now_ms >= self->gone_check_ms;
    if (check_gone)
        self->gone_check_ms = now_ms + GONE_CHECK_MS;
    self->tick_ms = now_ms + TICK_MS;
    for (helio_exchange_t *exchange = self->held, *after; exchange; exchange = after) {
        after = exchange->desk_next;
        look_after(self, exchange, now_ms, bell, check_gone);
    }
}

static void wait_for_something(helio_desk_t *self)
{
    struct pollfd fds[] = {{.fd = helio_ring_fd(self->arrivals), .events = POLLIN},
                           {.fd = helio_ring_fd(self->answers), .events = POLLIN},
                           {.fd = self->bell_fd, .events = POLLIN}};
    /* while closing, an admission that was taken back wakes nobody: look again by oneself */
    bool closing = atomic_load(&self->http->stopping);
    (void)poll(fds, sizeof fds / sizeof fds[0],
               self->held || closing ? TICK_MS : -1); /* EINTR: a turn for nothing */
}

static void *run(void *arg)
{
    helio_desk_t *self = arg;
    for (;;) {
        wait_for_something(self);
        helio_ring_drain_wakeups(self->arrivals);
        helio_ring_drain_wakeups(self->answers);
        uint64_t count;
        bool bell = read(self->bell_fd, &count, sizeof count) == (ssize_t)sizeof count;
        if (bell)
            atomic_store(&self->rung, false); /* before looking: a later ring is a ring of its own */
        for (helio_exchange_t *exchange; (exchange = helio_ring_pop(self->arrivals));)
            on_arrival(self, exchange);
        for (helio_operation_t *operation; (operation = helio_ring_pop(self->answers));)
            on_return(self, operation);
        int64_t now_ms = helio_clock_boot_ms();
        if (bell || now_ms >= self->tick_ms)
            look_after_all(self, now_ms, bell);
        if (!atomic_load(&self->http->stopping))
            continue;
        while (self->held) {
            helio_exchange_t *exchange = self->held;
            let_go(self, exchange);
            shut_out(self, exchange);
        }
        if (atomic_load(&self->admitted) == 0)
            return NULL;
    }
}

/* ---- from outside -------------------------------------------------------------------------------------- */

helio_desk_t *helio_desk_new(helio_http_t *http, void (*resume)(helio_exchange_t *exchange))
{
    helio_desk_t *self = helio_new(1, sizeof *self);
    self->http = http;
    self->resume = resume;
    size_t capacity = 2;
    while (capacity < http->options.connections_max)
        capacity *= 2;
    self->arrivals = helio_ring_new(capacity);
    self->answers = helio_ring_new(OPERATIONS_MAX);
    self->bell_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (self->bell_fd < 0)
        abort();
    atomic_init(&self->rung, false);
    atomic_init(&self->seq, 0);
    atomic_init(&self->admitted, 0);
    return self;
}

void helio_desk_destroy(helio_desk_t **self_p)
{
    helio_desk_t *self = *self_p;
    if (!self)
        return;
    assert(!self->started && !self->held);
    while (helio_ring_pop(self->answers)) /* they are in under_way too */
        ;
    while (self->under_way) {
        helio_operation_t *operation = self->under_way;
        unlink_operation(self, operation);
        helio_operation_destroy(&operation);
    }
    helio_ring_destroy(&self->arrivals);
    helio_ring_destroy(&self->answers);
    (void)close(self->bell_fd);
    free(self);
    *self_p = NULL;
}

void helio_desk_start(helio_desk_t *self)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the main program's */
    int error = pthread_create(&self->thread, NULL, run, self);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        abort();
    self->started = true;
}

void helio_desk_stop(helio_desk_t *self)
{
    assert(atomic_load(&self->http->stopping));
    if (!self->started)
        return;
    atomic_store(&self->rung, false); /* so that this ring is heard whatever was rung before */
    helio_desk_ring(self, 0);
    (void)pthread_join(self->thread, NULL);
    self->started = false;
}

bool helio_desk_admit(helio_desk_t *self)
{
    (void)atomic_fetch_add(&self->admitted, 1);
    if (!atomic_load(&self->http->stopping))
        return true;
    (void)atomic_fetch_sub(&self->admitted, 1);
    return false;
}

void helio_desk_take(helio_desk_t *self, helio_exchange_t *exchange)
{
    helio_rc rc = helio_ring_push(self->arrivals, exchange);
    assert(rc == HELIO_OK); /* one entry per connection, and connections are bounded by the capacity */
    (void)rc;
}

void helio_desk_ring(helio_desk_t *self, uint64_t seq)
{
    if (seq > atomic_load_explicit(&self->seq, memory_order_relaxed))
        atomic_store_explicit(&self->seq, seq, memory_order_release);
    if (!atomic_exchange(&self->rung, true)) {
        uint64_t one = 1;
        ssize_t written = write(self->bell_fd, &one, sizeof one);
        (void)written; /* only fails when the counter is saturated: it is readable then */
    }
}

uint64_t helio_desk_seq(const helio_desk_t *self)
{
    return atomic_load_explicit(&self->seq, memory_order_acquire);
}
