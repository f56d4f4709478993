/*  solos.c -- a place at the engine for each of these kinds. */
#include "broker/http/request/solos.h"

#include "federation/base/clock.h"

enum { LIST, TABLE, NONE = -1 };

static bool is_table(const helio_operation_t *operation)
{
#ifdef HELIO_MUTANT_all_tables_at_once
    return false;
#endif
    return operation->kind == HELIO_OPERATION_CALL && operation->call.kind == HELIO_CALL_EVENT &&
           (operation->call.event == HELIO_BROKER_EV_DESIRED || operation->call.event == HELIO_BROKER_EV_QUEUE_ORDER);
}

static int kind_of(const helio_operation_t *operation)
{
#ifndef HELIO_MUTANT_all_lists_at_once
    if (helio_operation_is_list(operation))
        return LIST;
#endif
    return is_table(operation) ? TABLE : NONE;
}

void helio_solos_began(helio_solos_t *self, const helio_operation_t *operation)
{
    int kind = kind_of(operation);
    if (kind != NONE)
        self->kinds[kind].under_way = operation;
}

void helio_solos_ended(helio_solos_t *self, const helio_operation_t *operation)
{
    for (int i = 0; i < HELIO_SOLO_KINDS; i++)
        if (self->kinds[i].under_way == operation)
            self->kinds[i].under_way = NULL;
}

bool helio_solos_keep(helio_solos_t *self, helio_request_context_t *context)
{
    int kind = kind_of(context->operation);
    if (kind == NONE || !self->kinds[kind].under_way)
        return false;
    context->turn = (helio_turn_t){.tenant = context->token ? context->token->tenant : "",
                                   .size = kind == LIST ? helio_operation_jobs(context->operation) : 1,
                                   .since_ms = helio_clock_boot_ms(),
                                   .owner = context};
#ifdef HELIO_MUTANT_lists_share_by_bytes
    context->turn.size = context->received_bytes;
#endif
    helio_turns_enter(&self->kinds[kind].turns, &context->turn);
    return true;
}

helio_request_context_t *helio_solos_next(helio_solos_t *self)
{
    for (int i = 0; i < HELIO_SOLO_KINDS; i++) {
        helio_turn_t *turn = self->kinds[i].under_way ? NULL : helio_turns_next(&self->kinds[i].turns);
        if (turn)
            return turn->owner;
    }
    return NULL;
}

helio_request_context_t *helio_solos_overdue(helio_solos_t *self, int64_t since_ms)
{
    for (int i = 0; i < HELIO_SOLO_KINDS; i++) {
        helio_turn_t *turn = helio_turns_overdue(&self->kinds[i].turns, since_ms);
        if (turn)
            return turn->owner;
    }
    return NULL;
}
