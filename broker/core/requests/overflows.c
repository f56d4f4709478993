/*  overflows.c -- overflow groups, as operators set them. */
#include "broker/core/requests/overflows.h"

#include "broker/core/decide/overflow.h"
#include "broker/core/requests/warnings.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/queues.h"
#include "broker/core/state/why.h"

static void groups_changed(helio_broker_core_t *self)
{
    core_overflows_changed(self);
    core_pools_changed(self);
}

/*  Another group with the same queue and tenant, which would apply to the same jobs; NULL = none. */
static const overflow_t *rival_of(const helio_broker_core_t *self, const helio_ev_overflow_t *event)
{
    for (const overflow_t *group = core_overflow_first(self); group; group = group->hh.next)
        if (!helio_text_is(event->name, group->name) && helio_text_is(event->queue, group->queue) &&
            helio_text_is(event->tenant, group->tenant))
            return group;
    return NULL;
}

/*  Whether queue and tenant of the group are acceptable; if not, it has replied. */
static bool check_binding(helio_broker_core_t *self, const helio_ev_overflow_t *event)
{
    tenant_t *tenant;
    const overflow_t *rival = rival_of(self, event);
    HASH_FIND(hh, self->tenants, event->tenant.data, event->tenant.size, tenant);
    if (!event->queue.size && !event->tenant.size)
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                   HELIO_DETAIL0(HELIO_DETAIL_OVERFLOW_UNBOUND));
    else if (event->queue.size && !core_queue_find(self, event->queue))
        core_reply(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE, core_unknown_queue(self, event->queue, 0));
    else if (event->tenant.size && !tenant)
        core_reply(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE, core_unknown_tenant(self, event->tenant));
    else if (rival)
        core_reply(self, event->call, HELIO_CONFLICT, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_OVERFLOW_RIVAL, helio_value_string(rival->name)));
    else if (!core_overflow_find(self, event->name) && core_overflow_count(self) >= HELIO_OVERFLOWS_MAX)
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                   CORE_DETAIL(self, HELIO_DETAIL_LIMIT_REACHED, helio_value_number(HELIO_OVERFLOWS_MAX),
                               helio_value_string("overflow groups")));
    else
        return true;
    return false;
}

static void write_and_answer(helio_broker_core_t *self, const helio_ev_overflow_t *event,
                             const helio_row_overflow_t *row)
{
    groups_changed(self);
    core_emit(self, HELIO_BROKER_FX_ROW_OVERFLOW, row);
    core_audit(self, event->actor, row->removed ? "overflow-rm" : "overflow-set", row->name,
               helio_text_of(core_printf(self, "%.400s", helio_arena_string(self->effects->arena, row->steps))));
    const overflow_t *group = core_overflow_find(self, row->name);
    helio_details_t details = {0};
    core_why_add(self, &details,
                 row->removed ? HELIO_DETAIL0(HELIO_DETAIL_REMOVED) : HELIO_DETAIL0(HELIO_DETAIL_OVERFLOW_SET));
    if (group)
        core_warn_steps(self, &group->steps, &details);
    core_reply_details(self, event->call, HELIO_OK, HELIO_REASON_NONE, details);
}

void core_on_overflow(helio_broker_core_t *self, const helio_ev_overflow_t *event)
{
    helio_error_t err = {0};
    overflow_t *group = core_overflow_find(self, event->name);
    helio_row_overflow_t row = {event->name, event->queue, event->tenant, event->steps, self->wall_ms, event->remove};
    if (event->role < HELIO_ROLE_OPERATOR) {
        core_reply(self, event->call, HELIO_FORBIDDEN, HELIO_REASON_FORBIDDEN,
                   CORE_DETAIL(self, HELIO_DETAIL_NEEDS_OPERATOR, helio_value_string("overflow set")));
    } else if (event->remove && !group) {
        core_reply(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_UNKNOWN_OVERFLOW, helio_value_text(event->name)));
    } else if (event->remove) {
        core_overflow_drop(self, group);
        write_and_answer(self, event, &row);
    } else if (check_binding(self, event)) {
        if (core_overflow_put(self, &row, &err) == HELIO_OK)
            write_and_answer(self, event, &row);
        else
            core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                       core_input_invalid(self, "steps", err.text));
    }
}
