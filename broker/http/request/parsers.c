/*  parsers.c -- a ring and a thread for each parser, and the queue of those that wait. */
#include "broker/http/request/parsers.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "broker/http/request/request.h"

typedef struct parser {
    helio_ring_t *given;
    helio_ring_t *returns;
    pthread_t thread;
    const helio_request_context_t *context; /* under way; NULL = idle. Only the thread of the waiting requests looks */
} parser_t;

struct helio_parsers {
    helio_turns_t turns;
    parser_t parsers[HELIO_PARSERS];
};

static void *run(void *arg)
{
    parser_t *self = arg;
    struct pollfd fd = {.fd = helio_ring_fd(self->given), .events = POLLIN};
    for (;;) {
        (void)poll(&fd, 1, -1);
        helio_ring_drain_wakeups(self->given);
        for (void *item; (item = helio_ring_pop(self->given));) {
            helio_request_context_t *context = item;
            if (item == self) /* the end */
                return NULL;
            if (!atomic_load(&context->http->stopping))
                helio_request_start(context);
            helio_rc rc = helio_ring_push(self->returns, context);
            assert(rc == HELIO_OK);
            (void)rc;
        }
    }
}

static void give(const parser_t *self, void *item)
{
    helio_rc rc = helio_ring_push(self->given, item);
    assert(rc == HELIO_OK); /* one at a time */
    (void)rc;
}

helio_parsers_t *helio_parsers_new(helio_ring_t *returns)
{
    helio_parsers_t *self = helio_new(1, sizeof *self);
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* the main program handles signals */
    for (size_t i = 0; i < HELIO_PARSERS; i++) {
        parser_t *parser = &self->parsers[i];
        parser->given = helio_ring_new(2);
        parser->returns = returns;
        if (pthread_create(&parser->thread, NULL, run, parser) != 0)
            abort();
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return self;
}

void helio_parsers_destroy(helio_parsers_t **self_p)
{
    helio_parsers_t *self = *self_p;
    if (!self)
        return;
    assert(!self->turns.first);
    for (size_t i = 0; i < HELIO_PARSERS; i++) {
        assert(!self->parsers[i].context);
        give(&self->parsers[i], &self->parsers[i]);
        (void)pthread_join(self->parsers[i].thread, NULL);
        helio_ring_destroy(&self->parsers[i].given);
    }
    free(self);
    *self_p = NULL;
}

static void drive(helio_parsers_t *self)
{
    for (size_t i = 0; i < HELIO_PARSERS; i++) {
        parser_t *parser = &self->parsers[i];
        helio_turn_t *turn = parser->context ? NULL : helio_turns_next(&self->turns);
        if (!turn)
            continue;
        parser->context = turn->owner;
        give(parser, turn->owner);
    }
}

void helio_parsers_add(helio_parsers_t *self, helio_request_context_t *context, int64_t now_ms)
{
    context->turn = (helio_turn_t){.tenant = context->token ? context->token->tenant : "",
                                   .size = context->body.size,
                                   .since_ms = now_ms,
                                   .owner = context};
    helio_turns_enter(&self->turns, &context->turn);
    drive(self);
}

bool helio_parsers_take_back(helio_parsers_t *self, const helio_request_context_t *context)
{
    for (size_t i = 0; i < HELIO_PARSERS; i++)
        if (self->parsers[i].context == context) {
            self->parsers[i].context = NULL;
            drive(self);
            return true;
        }
    return false;
}

helio_request_context_t *helio_parsers_overdue(helio_parsers_t *self, int64_t since_ms)
{
    helio_turn_t *turn = helio_turns_overdue(&self->turns, since_ms);
    return turn ? turn->owner : NULL;
}
