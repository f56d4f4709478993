/*  turns.c -- self-clocked fair queueing by tenant. There are at most as many turns as connections. */
#include "broker/http/request/turns.h"

#include <stddef.h>
#include <string.h>

void helio_turns_enter(helio_turns_t *self, helio_turn_t *turn)
{
    uint64_t after = self->place;
    helio_turn_t **at = &self->first;
    for (; *at; at = &(*at)->next)
        if (strcmp((*at)->tenant, turn->tenant) == 0 && (*at)->place > after)
            after = (*at)->place;
    turn->place = after + turn->size;
#ifdef HELIO_MUTANT_bodies_in_order_of_arrival
    turn->place = self->place;
#endif
    turn->next = NULL;
    *at = turn;
}

static helio_turn_t *leave(helio_turn_t **at)
{
    helio_turn_t *turn = *at;
    *at = turn->next;
    turn->next = NULL;
    return turn;
}

helio_turn_t *helio_turns_next(helio_turns_t *self)
{
    helio_turn_t **least = &self->first;
    if (!*least)
        return NULL;
    for (helio_turn_t **at = &self->first; *at; at = &(*at)->next)
        if ((*at)->place < (*least)->place)
            least = at;
    self->place = (*least)->place;
    return leave(least);
}

helio_turn_t *helio_turns_overdue(helio_turns_t *self, int64_t since_ms)
{
    helio_turn_t **at = &self->first;
    return *at && (*at)->since_ms <= since_ms ? leave(at) : NULL;
}
