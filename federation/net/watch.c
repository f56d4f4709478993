/*  watch.c -- the epoll set of the port and of all its peers. */
#include "federation/net/watch.h"

#include <sys/epoll.h>

typedef enum part { OUTER, INNER, SIGNAL } part_t;

int helio_watch_open(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

static void watch_part(int set, helio_peer_t *peer, part_t part, int fd, uint32_t interest)
{
    struct epoll_event event = {.events = interest | (uint32_t)EPOLLONESHOT, .data.u64 = peer->handle << 2 | part};
    if (!interest || interest == peer->watched[part])
        return;
    if (epoll_ctl(set, EPOLL_CTL_MOD, fd, &event) != 0)
        (void)epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
    peer->watched[part] = interest;
}

void helio_watch_peer(int set, helio_peer_t *peer)
{
    const helio_line_t *line = &peer->line;
    if (line->relay.inner < 0) {
        watch_part(set, peer, INNER, line->rendezvous, EPOLLIN);
        return;
    }
    watch_part(set, peer, OUTER, line->relay.outer, helio_relay_outer_interest(&line->relay));
    watch_part(set, peer, INNER, line->relay.inner, helio_relay_inner_interest(&line->relay));
    if (!peer->slowed)
        watch_part(set, peer, SIGNAL, line->signal, EPOLLIN);
}

void helio_watch_door(int set, int door)
{
    struct epoll_event event = {.events = (uint32_t)EPOLLIN | (uint32_t)EPOLLONESHOT};
    if (epoll_ctl(set, EPOLL_CTL_MOD, door, &event) != 0)
        (void)epoll_ctl(set, EPOLL_CTL_ADD, door, &event);
}

int helio_watch_take(int set, helio_watched_t *ret_events)
{
    struct epoll_event events[HELIO_WATCH_EVENTS];
    int count = epoll_wait(set, events, HELIO_WATCH_EVENTS, 0);
    for (int i = 0; i < count; i++)
        ret_events[i] = (helio_watched_t){.handle = events[i].data.u64 >> 2, .part = events[i].data.u64 & 3};
    return count;
}

void helio_watch_over(helio_peer_t *peer, const helio_watched_t *event)
{
    peer->watched[event->part] = 0;
}
