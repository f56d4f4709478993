/*  relay.c -- moves bytes between two sockets, with back-pressure. */
#include "federation/net/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "federation/base/memory.h"

/*  ROUNDS bounds what one connection moves before others have their turn. */
enum { CHUNK = 16 << 10, ROUNDS = 16 };

typedef enum outcome { MOVED, STUCK, BROKEN } outcome_t;

static void forget_kept(helio_flow_t *flow)
{
    free(flow->kept);
    flow->kept = NULL;
    flow->begin = flow->end = 0;
}

/*  The receiver is gone: nothing can be delivered any more. */
static void break_off(helio_flow_t *flow)
{
    forget_kept(flow);
    flow->over = flow->passed = true;
}

static outcome_t deliver(helio_flow_t *flow, int to, const uint8_t *bytes, size_t size)
{
    while (size) {
        ssize_t sent = send(to, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno != EAGAIN)
            return BROKEN;
        if (sent < 0) {
            uint8_t *kept = helio_grow(NULL, size, 1);
            memcpy(kept, bytes, size);
            forget_kept(flow);
            *flow = (helio_flow_t){kept, 0, size, flow->over, flow->passed};
            return STUCK;
        }
        bytes += sent;
        size -= (size_t)sent;
    }
    return MOVED;
}

static outcome_t deliver_kept(helio_flow_t *flow, int to)
{
    while (flow->begin < flow->end) {
        ssize_t sent = send(to, flow->kept + flow->begin, flow->end - flow->begin, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN ? STUCK : BROKEN;
        flow->begin += (size_t)sent;
    }
    forget_kept(flow);
    return MOVED;
}

/*  Adds to *moved what was read. BROKEN: `to` takes nothing any more. */
static outcome_t carry(helio_flow_t *flow, int from, int to, size_t *moved)
{
    uint8_t chunk[CHUNK];
    outcome_t outcome = deliver_kept(flow, to);
    if (outcome != MOVED || flow->passed)
        return outcome;
    if (!flow->over) {
        ssize_t got = recv(from, chunk, sizeof chunk, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return STUCK;
        if (got > 0) {
            *moved += (size_t)got;
            return deliver(flow, to, chunk, (size_t)got);
        }
        flow->over = true; /* closed or reset */
    }
    flow->passed = true;
    (void)shutdown(to, SHUT_WR);
    return STUCK;
}

static bool may_read_more(const helio_relay_t *self)
{
    return self->unread < self->unread_max;
}

bool helio_relay_pump(helio_relay_t *self)
{
    size_t replies = 0;
    for (int i = 0; i < ROUNDS; i++) {
        outcome_t outcome = carry(&self->down, self->inner, self->outer, &replies);
        if (outcome == BROKEN) {
            break_off(&self->down);
            self->outer_gone = true; /* what arrived before still goes inwards, and then the end */
        }
        if (outcome != MOVED)
            break;
    }
    for (int i = 0; i < ROUNDS && (may_read_more(self) || self->up.kept || self->up.over); i++) {
        outcome_t outcome = carry(&self->up, self->outer, self->inner, &self->unread);
        if (outcome == BROKEN)
            break_off(&self->up);
        if (outcome == STUCK && self->outer_gone && !self->up.kept && !self->up.over)
            self->up.over = true; /* all of it was read */
        else if (outcome != MOVED)
            break;
    }
    return !self->down.passed || (self->outer_gone && !self->up.passed);
}

void helio_relay_drained(helio_relay_t *self)
{
    self->unread = 0;
}

uint32_t helio_relay_outer_interest(const helio_relay_t *self)
{
    bool reads = !self->up.over && !self->up.kept && may_read_more(self);
    return (reads ? (uint32_t)EPOLLIN : 0u) | (self->down.kept ? (uint32_t)EPOLLOUT : 0u);
}

uint32_t helio_relay_inner_interest(const helio_relay_t *self)
{
    bool reads = !self->down.over && !self->down.kept;
    return (reads ? (uint32_t)EPOLLIN : 0u) | (self->up.kept ? (uint32_t)EPOLLOUT : 0u);
}

void helio_relay_clear(helio_relay_t *self)
{
    forget_kept(&self->up);
    forget_kept(&self->down);
}
