/*  lanes.c -- a lane for each tenant that has forwards, in the order in which they take turns. */
#include "broker/forward/lanes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct queue {
    helio_forward_t *first, *last; /* that wait, the oldest first */
    uint32_t sent, held;
} queue_t;

typedef struct lane {
    struct lane *next;
    char *tenant;
    queue_t kinds[HELIO_FORWARD_KIND_COUNT];
} lane_t;

struct helio_lanes {
    lane_t *first; /* whose turn is next */
    uint32_t sent[HELIO_FORWARD_KIND_COUNT];
    uint32_t held; /* of all kinds */
};

static const struct {
    uint32_t sent, held_of_tenant;
} bounds[HELIO_FORWARD_KIND_COUNT] = {
#define X(kind, sent, held_of_tenant) [HELIO_FORWARD_##kind] = {sent, held_of_tenant},
    HELIO_LANE_TABLE(X)
#undef X
};

#define X(kind, sent, held_of_tenant) +(sent)
_Static_assert(HELIO_FORWARD_CONNECTIONS_MAX == 0 HELIO_LANE_TABLE(X), "each place is a connection");
#undef X

helio_lanes_t *helio_lanes_new(void)
{
    return helio_new(1, sizeof(helio_lanes_t));
}

void helio_lanes_destroy(helio_lanes_t **self_p)
{
    helio_lanes_t *self = *self_p;
    assert(!self || !self->first);
    free(self);
    *self_p = NULL;
}

static lane_t **place_of(helio_lanes_t *self, const char *tenant)
{
    lane_t **at = &self->first;
    while (*at && strcmp((*at)->tenant, tenant) != 0)
        at = &(*at)->next;
    return at;
}

static lane_t *lane_of(helio_lanes_t *self, const char *tenant)
{
    lane_t **at = place_of(self, tenant);
    if (!*at) {
        *at = helio_new(1, sizeof **at);
        (*at)->tenant = helio_strdup(tenant);
    }
    return *at;
}

static uint32_t held_of(const lane_t *lane)
{
    uint32_t held = 0;
    for (uint32_t kind = 0; kind < HELIO_FORWARD_KIND_COUNT; kind++)
        held += lane->kinds[kind].held;
    return held;
}

static void forget_if_empty(lane_t **at)
{
    lane_t *lane = *at;
    if (held_of(lane))
        return;
    *at = lane->next;
    free(lane->tenant);
    free(lane);
}

/*  Whether a tenant that has `own` places can take one more of `all`, of which `taken` are taken. */
static bool leaves_enough(uint32_t own, uint32_t taken, uint32_t all)
{
    uint32_t free_after = taken < all ? all - taken - 1 : 0;
#ifdef HELIO_MUTANT_two_tenants_take_every_place
    return taken < all && own < all * 2 / 3;
#endif
    return taken < all && (own == 0 || free_after >= own + 1);
}

bool helio_lanes_enter(helio_lanes_t *self, helio_forward_t *forward, int64_t now_ms)
{
    lane_t *lane = lane_of(self, forward->tenant);
    queue_t *queue = &lane->kinds[forward->kind];
    if (queue->held >= bounds[forward->kind].held_of_tenant ||
        !leaves_enough(held_of(lane), self->held, HELIO_FORWARDS_MAX)) {
        forget_if_empty(place_of(self, forward->tenant));
        return false;
    }
    forward->waits_since_ms = now_ms;
    forward->behind = NULL;
    if (queue->first)
        queue->last->behind = forward;
    else
        queue->first = forward;
    queue->last = forward;
    queue->held++;
    self->held++;
    return true;
}

static helio_forward_t *take_first(queue_t *queue)
{
    helio_forward_t *forward = queue->first;
    queue->first = forward->behind;
    return forward;
}

/*  Its turn is over: the others come first. */
static void go_to_the_end(lane_t **at)
{
    lane_t *lane = *at, **end = at;
    *at = lane->next;
    lane->next = NULL;
    while (*end)
        end = &(*end)->next;
    *end = lane;
}

static bool may_send(const helio_lanes_t *self, const queue_t *queue, uint32_t kind)
{
#ifdef HELIO_MUTANT_logs_take_every_place
    return queue->first && self->sent[HELIO_FORWARD_REQUEST] + self->sent[HELIO_FORWARD_LOG] < 31;
#endif
    return queue->first && leaves_enough(queue->sent, self->sent[kind], bounds[kind].sent);
}

helio_forward_t *helio_lanes_next(helio_lanes_t *self)
{
    for (lane_t **at = &self->first; *at; at = &(*at)->next)
        for (uint32_t kind = 0; kind < HELIO_FORWARD_KIND_COUNT; kind++) {
            queue_t *queue = &(*at)->kinds[kind];
            if (!may_send(self, queue, kind))
                continue;
            queue->sent++;
            self->sent[kind]++;
            helio_forward_t *forward = take_first(queue);
            go_to_the_end(at);
            return forward;
        }
    return NULL;
}

helio_forward_t *helio_lanes_overdue(helio_lanes_t *self, int64_t since_ms)
{
    for (lane_t **at = &self->first; *at; at = &(*at)->next)
        for (uint32_t kind = 0; kind < HELIO_FORWARD_KIND_COUNT; kind++) {
            queue_t *queue = &(*at)->kinds[kind];
            if (!queue->first || queue->first->waits_since_ms > since_ms)
                continue;
            queue->held--;
            self->held--;
            helio_forward_t *forward = take_first(queue);
            forget_if_empty(at);
            return forward;
        }
    return NULL;
}

void helio_lanes_leave(helio_lanes_t *self, const helio_forward_t *forward)
{
    lane_t **at = place_of(self, forward->tenant);
    assert(*at && (*at)->kinds[forward->kind].sent);
    (*at)->kinds[forward->kind].sent--;
    (*at)->kinds[forward->kind].held--;
    self->held--;
    self->sent[forward->kind]--;
    forget_if_empty(at);
}
