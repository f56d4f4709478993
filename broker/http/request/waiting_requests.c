/*  waiting_requests.c -- the thread of the suspended requests: operations, deadlines, streams, and its own stop. */
#include "broker/http/request/waiting_requests.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/http/request/parsers.h"
#include "broker/http/request/solos.h"
#include "federation/base/clock.h"
#include "federation/base/ring.h"

enum {
    OPERATIONS_MAX = 8192, /* not answered, late ones included; beyond it new ones are refused as BUSY */
    TICK_MS = 50,          /* the precision of deadlines */
    SWEEP_MS = 250,        /* of the deadlines of connections that wait for a request */
    GONE_CHECK_MS = 1000,  /* how soon it notices that a client left a silent stream */
    REPORT_MS = 1000       /* refused tokens: a line of the log at most so often */
};

struct helio_waiting_requests {
    helio_http_t *http;
    void (*resume)(helio_request_context_t *context);
    helio_ring_t *arrivals; /* of helio_request_context_t: at most one entry for each connection */
    helio_ring_t *answers;  /* of helio_operation_t: at most OPERATIONS_MAX */
    int notify_fd;
    atomic_bool rung;
    _Atomic uint64_t seq;
    _Atomic int64_t entered; /* suspended, or about to be */
    pthread_t thread;
    bool started;
    /*  Owned by the thread. */
    helio_request_context_t *held; /* all waiting requests, but those at the parsers and the solos */
    helio_parsers_t *parsers;
    helio_solos_t solos;
    helio_operation_t *under_way; /* all posted operations */
    uint32_t operation_count;
    int64_t tick_ms, gone_check_ms, sweep_ms;
    int64_t report_ms; /* of refused tokens */
    helio_strangers_figures_t reported;
};

/* ---- operations ---------------------------------------------------------------------------------------- */

static void link_operation(helio_waiting_requests_t *self, helio_operation_t *operation)
{
    operation->prev = NULL;
    operation->next = self->under_way;
    if (self->under_way)
        self->under_way->prev = operation;
    self->under_way = operation;
    self->operation_count++;
    helio_solos_began(&self->solos, operation);
    (void)atomic_fetch_add_explicit(&self->http->metrics.operations, 1, memory_order_relaxed);
}

static void unlink_operation(helio_waiting_requests_t *self, helio_operation_t *operation)
{
    if (operation->prev)
        operation->prev->next = operation->next;
    else
        self->under_way = operation->next;
    if (operation->next)
        operation->next->prev = operation->prev;
    self->operation_count--;
    helio_solos_ended(&self->solos, operation);
    (void)atomic_fetch_sub_explicit(&self->http->metrics.operations, 1, memory_order_relaxed);
}

/*  What would not reach the leader is not sent: the caller learns at once why, and can ask again. */
static helio_rc forward(const helio_http_t *http, helio_operation_t *operation)
{
    const helio_leader_view_t *leader = operation->leader;
    helio_detail_code_t why = helio_leader_watch_objection(http->leader_watch, leader, false, helio_clock_boot_ms());
    if (why == HELIO_DETAIL_NONE)
        return http->ports.forward(http->ports.forwarder, &operation->forward);
    helio_details_add(&operation->result.details, operation->arena,
                      HELIO_DETAIL(operation->arena, why, helio_value_string(leader->http)));
    return HELIO_UNAVAILABLE;
}

static helio_rc hand_over(const helio_http_t *http, helio_operation_t *operation)
{
    const helio_http_ports_t *ports = &http->ports;
    switch (operation->kind) {
    case HELIO_OPERATION_CALL:
        return ports->post(ports->engine, &operation->call);
    case HELIO_OPERATION_READ:
        return ports->read(ports->reader, &operation->read);
    case HELIO_OPERATION_FORWARD:
    default:
        return forward(http, operation);
    }
}

static helio_rc post(helio_waiting_requests_t *self, helio_operation_t *operation)
{
    if (self->operation_count >= OPERATIONS_MAX)
        return HELIO_BUSY;
    operation->returns = self->answers;
    link_operation(self, operation); /* before posting: the answer can be faster than this function */
    helio_rc rc = hand_over(self->http, operation);
    if (rc != HELIO_OK)
        unlink_operation(self, operation);
    return rc;
}

/* ---- what waits ---------------------------------------------------------------------------------------- */

static void hold(helio_waiting_requests_t *self, helio_request_context_t *context)
{
    context->waiting_prev = NULL;
    context->waiting_next = self->held;
    if (self->held)
        self->held->waiting_prev = context;
    self->held = context;
}

static void let_go(helio_waiting_requests_t *self, helio_request_context_t *context)
{
    if (context->waiting_prev)
        context->waiting_prev->waiting_next = context->waiting_next;
    else
        self->held = context->waiting_next;
    if (context->waiting_next)
        context->waiting_next->waiting_prev = context->waiting_prev;
}

static void give_back(helio_waiting_requests_t *self, helio_request_context_t *context)
{
    (void)atomic_fetch_sub_explicit(&self->http->metrics.waiting, 1, memory_order_relaxed);
    self->resume(context); /* it belongs to the library now, and can be gone */
    (void)atomic_fetch_sub(&self->entered, 1);
}

static bool has_news(const helio_request_context_t *context)
{
    bool is_proved = !context->judged && !context->want; /* its body comes next */
    if (!context->sent)
        return context->status != 0 || is_proved;
    return context->response.size > context->response_sent || context->ended || context->broken;
}

/*  After a step: returns a request that has something to send, posts its operation, or keeps it waiting. */
static void settle(helio_waiting_requests_t *self, helio_request_context_t *context)
{
    for (;;) {
        if (has_news(context)) {
            give_back(self, context);
            return;
        }
        helio_operation_t *operation = context->operation;
        assert(operation || context->want);
        if (!operation) {
            hold(self, context);
            return;
        }
        if (helio_solos_keep(&self->solos, context))
            return;
        operation->context = context;
        context->deadline_ms = helio_clock_boot_ms() + self->http->options.request_timeout_ms;
        helio_rc rc = post(self, operation);
        if (rc == HELIO_OK) {
            hold(self, context);
            return;
        }
        context->operation = NULL;
        operation->result.rc = rc;
        context->next(context, &operation->result);
        helio_operation_destroy(&operation);
    }
}

static void shut_out(helio_waiting_requests_t *self, helio_request_context_t *context)
{
    if (context->operation && context->operation->context == context) {
        context->operation->context = NULL; /* its answer will free it */
        context->operation = NULL;
    }
    if (context->sent) {
        context->ended = true;
    } else if (!context->status) {
        context->want = NULL;
        HELIO_PROBLEM0(context, 503, BROKER_STOPPING);
    }
    give_back(self, context);
}

static void on_arrival(helio_waiting_requests_t *self, helio_request_context_t *context)
{
    bool was_parsed = helio_parsers_take_back(self->parsers, context);
    if (!was_parsed)
        (void)atomic_fetch_add_explicit(&self->http->metrics.waiting, 1, memory_order_relaxed);
    if (atomic_load(&self->http->stopping)) {
        shut_out(self, context);
        return;
    }
    if (context->judged && !context->started) {
        helio_parsers_add(self->parsers, context, helio_clock_boot_ms());
        return;
    }
    if (context->want && !context->operation)
        context->want(context);
    settle(self, context);
}

static void on_return(helio_waiting_requests_t *self, helio_operation_t *operation)
{
    unlink_operation(self, operation);
    helio_request_context_t *context = operation->context;
    if (context) {
        let_go(self, context);
        context->operation = NULL;
        context->next(context, &operation->result);
    }
    helio_operation_destroy(&operation);
    if (context)
        settle(self, context);
}

static void on_deadline(helio_waiting_requests_t *self, helio_request_context_t *context)
{
    let_go(self, context);
    context->operation->context = NULL;
    context->operation = NULL;
    (void)atomic_fetch_add_explicit(&self->http->metrics.timeouts, 1, memory_order_relaxed);
    helio_result_t result = {.rc = HELIO_TIMEOUT};
    context->next(context, &result);
    settle(self, context);
}

static void wake(helio_waiting_requests_t *self, helio_request_context_t *context)
{
    let_go(self, context);
    context->wants_notify = false;
    context->want(context);
    settle(self, context);
}

/*  While a connection is suspended, the library does not notice that its client hangs up. */
static bool gone(const helio_request_context_t *context)
{
    char byte;
    return context->fd >= 0 && recv(context->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void drive(helio_waiting_requests_t *self, helio_request_context_t *context, int64_t now_ms, bool notifier,
                  bool check_gone)
{
    if (context->want && context->sent && check_gone && gone(context))
        context->broken = true;
    if (context->operation) {
        if (now_ms >= context->deadline_ms)
            on_deadline(self, context);
    } else if (context->broken || now_ms >= context->wake_ms || (notifier && context->wants_notify)) {
        if (context->broken) {
            let_go(self, context);
            give_back(self, context);
        } else {
            wake(self, context);
        }
    }
}

/*  One that waits for a parser or for its turn since since_ms or longer; it has left. NULL: none. */
static helio_request_context_t *overdue(helio_waiting_requests_t *self, int64_t since_ms)
{
    helio_request_context_t *context = helio_solos_overdue(&self->solos, since_ms);
    return context ? context : helio_parsers_overdue(self->parsers, since_ms);
}

/*  The engine has seen nothing of such a request, so it can be sent again. */
static void refuse_overdue(helio_waiting_requests_t *self, int64_t now_ms)
{
    int64_t since_ms = now_ms - self->http->options.request_timeout_ms;
    for (helio_request_context_t *context; (context = overdue(self, since_ms));) {
        helio_response_problem(context, 503, "Busy", HELIO_DETAIL0(HELIO_DETAIL_BODIES_BUSY));
        give_back(self, context);
    }
}

static void drive_solos(helio_waiting_requests_t *self)
{
    for (helio_request_context_t *context; (context = helio_solos_next(&self->solos));)
        settle(self, context);
}

static void drive_all(helio_waiting_requests_t *self, int64_t now_ms, bool notifier)
{
    bool check_gone = now_ms >= self->gone_check_ms;
    if (check_gone)
        self->gone_check_ms = now_ms + GONE_CHECK_MS;
    self->tick_ms = now_ms + TICK_MS;
    for (helio_request_context_t *context = self->held, *after; context; context = after) {
        after = context->waiting_next;
        drive(self, context, now_ms, notifier, check_gone);
    }
    refuse_overdue(self, now_ms);
}

static void wait_for_something(helio_waiting_requests_t *self)
{
    struct pollfd fds[] = {{.fd = helio_ring_fd(self->arrivals), .events = POLLIN},
                           {.fd = helio_ring_fd(self->answers), .events = POLLIN},
                           {.fd = self->notify_fd, .events = POLLIN}};
    /* while stopping, a cancelled entry wakes nothing, so poll again after a tick */
    bool closing = atomic_load(&self->http->stopping);
    int most_ms = self->held || closing ? TICK_MS : SWEEP_MS;
    (void)poll(fds, sizeof fds / sizeof fds[0], most_ms); /* EINTR: an empty turn */
}

/*  Guesses of tokens are worth a line, and a flood of them no more than one each second. */
static void report_strangers(helio_waiting_requests_t *self, int64_t now_ms)
{
    helio_strangers_figures_t now = helio_strangers_figures(self->http->strangers);
    if (now.refused_total == self->reported.refused_total || now_ms < self->report_ms)
        return;
    char address[HELIO_ADDRESS_SIZE];
    helio_address_text(&now.last, address);
    helio_log(self->http->log, HELIO_WARN, "tokens_refused", "count=%" PRIu64 " limited=%" PRIu64 " last_address=%s",
              now.refused_total - self->reported.refused_total, now.limited_total - self->reported.limited_total,
              address);
    self->reported = now;
    self->report_ms = now_ms + REPORT_MS;
}

static void watch_leader(helio_waiting_requests_t *self, int64_t now_ms)
{
    const helio_leader_view_t *leader = helio_leadership_other(self->http->leadership, now_ms);
    helio_leader_watch_drive(self->http->leader_watch, &self->http->ports, leader && leader->http[0] ? leader : NULL,
                             now_ms);
}

static void *run(void *arg)
{
    helio_waiting_requests_t *self = arg;
    for (;;) {
        wait_for_something(self);
        helio_ring_drain_wakeups(self->arrivals);
        helio_ring_drain_wakeups(self->answers);
        uint64_t count;
        bool notifier = read(self->notify_fd, &count, sizeof count) == (ssize_t)sizeof count;
        if (notifier)
            atomic_store(&self->rung, false); /* before the check: a later notification is a new one */
        for (helio_request_context_t *context; (context = helio_ring_pop(self->arrivals));)
            on_arrival(self, context);
        for (helio_operation_t *operation; (operation = helio_ring_pop(self->answers));)
            on_return(self, operation);
        drive_solos(self);
        int64_t now_ms = helio_clock_boot_ms();
        if (notifier || now_ms >= self->tick_ms)
            drive_all(self, now_ms, notifier);
        if (now_ms >= self->sweep_ms) {
            helio_connections_sweep(self->http->connections, now_ms);
            watch_leader(self, now_ms);
            report_strangers(self, now_ms);
            self->sweep_ms = now_ms + SWEEP_MS;
        }
        if (!atomic_load(&self->http->stopping))
            continue;
        while (self->held) {
            helio_request_context_t *context = self->held;
            let_go(self, context);
            shut_out(self, context);
        }
        for (helio_request_context_t *context; (context = overdue(self, INT64_MAX));)
            shut_out(self, context);
        if (atomic_load(&self->entered) == 0)
            return NULL;
    }
}

/* ---- from outside -------------------------------------------------------------------------------------- */

helio_waiting_requests_t *helio_waiting_requests_new(helio_http_t *http,
                                                     void (*resume)(helio_request_context_t *context))
{
    helio_waiting_requests_t *self = helio_new(1, sizeof *self);
    self->http = http;
    self->resume = resume;
    size_t capacity = 2;
    while (capacity < http->options.connections_max)
        capacity *= 2;
    self->arrivals = helio_ring_new(capacity);
    self->answers = helio_ring_new(OPERATIONS_MAX);
    self->notify_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (self->notify_fd < 0)
        abort();
    atomic_init(&self->rung, false);
    atomic_init(&self->seq, 0);
    atomic_init(&self->entered, 0);
    return self;
}

void helio_waiting_requests_destroy(helio_waiting_requests_t **self_p)
{
    helio_waiting_requests_t *self = *self_p;
    if (!self)
        return;
    assert(!self->started && !self->held);
    while (helio_ring_pop(self->answers)) /* they are in under_way, too */
        ;
    while (self->under_way) {
        helio_operation_t *operation = self->under_way;
        unlink_operation(self, operation);
        helio_operation_destroy(&operation);
    }
    helio_ring_destroy(&self->arrivals);
    helio_ring_destroy(&self->answers);
    (void)close(self->notify_fd);
    free(self);
    *self_p = NULL;
}

void helio_waiting_requests_start(helio_waiting_requests_t *self)
{
    self->parsers = helio_parsers_new(self->arrivals);
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* the main program handles signals */
    int error = pthread_create(&self->thread, NULL, run, self);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        abort();
    self->started = true;
}

void helio_waiting_requests_stop(helio_waiting_requests_t *self)
{
    assert(atomic_load(&self->http->stopping));
    if (!self->started)
        return;
    atomic_store(&self->rung, false); /* so that this notification is seen whatever came before */
    helio_waiting_requests_notify(self, 0);
    (void)pthread_join(self->thread, NULL);
    helio_parsers_destroy(&self->parsers);
    self->started = false;
}

bool helio_waiting_requests_enter(helio_waiting_requests_t *self)
{
    (void)atomic_fetch_add(&self->entered, 1);
    if (!atomic_load(&self->http->stopping))
        return true;
    (void)atomic_fetch_sub(&self->entered, 1);
    return false;
}

void helio_waiting_requests_add(helio_waiting_requests_t *self, helio_request_context_t *context)
{
    helio_rc rc = helio_ring_push(self->arrivals, context);
    assert(rc == HELIO_OK); /* one entry for each connection, and their number is bounded by the capacity */
    (void)rc;
}

void helio_waiting_requests_notify(helio_waiting_requests_t *self, uint64_t seq)
{
    if (seq > atomic_load_explicit(&self->seq, memory_order_relaxed))
        atomic_store_explicit(&self->seq, seq, memory_order_release);
    if (!atomic_exchange(&self->rung, true)) {
        uint64_t one = 1;
        ssize_t written = write(self->notify_fd, &one, sizeof one);
        (void)written; /* fails only if the counter is saturated, and then notify_fd is readable */
    }
}

uint64_t helio_waiting_requests_seq(const helio_waiting_requests_t *self)
{
    return atomic_load_explicit(&self->seq, memory_order_acquire);
}
