/*  emit.c -- how effects leave the core, and how its texts are made. */
#include "broker/core/state/emit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "broker/core/state/core.h"
#include "broker/core/state/why.h"

void core_emit(helio_broker_core_t *self, helio_broker_effect_t kind, const void *record)
{
    (void)helio_effects_add(self->effects, kind, helio_broker_effects, self->open_batch, record);
}

helio_text_t core_text_cut(const char *text, uint32_t max)
{
    size_t size = strlen(text);
    if (size <= max)
        return (helio_text_t){text, (uint32_t)size};
    while (max && ((unsigned char)text[max] & 0xc0) == 0x80) /* a byte that continues a character */
        max--;
    return (helio_text_t){text, max};
}

bool core_time_is_plausible(const helio_broker_core_t *self, int64_t least_ms, int64_t wall_ms, int64_t ahead_ms)
{
    return wall_ms >= least_ms && wall_ms <= self->wall_ms + ahead_ms;
}

const char *core_printf(helio_broker_core_t *self, const char *format, ...)
{
    char text[516]; /* a few more than the bound, so that the cut sees whether a character ends there */
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return helio_arena_string(self->effects->arena, core_text_cut(text, 511));
}

void core_reply_details(helio_broker_core_t *self, uint64_t call, helio_rc rc, helio_reason_t reason,
                        helio_details_t details)
{
    helio_fx_reply_t reply = {
        .call = call,
        .rc = rc,
        .reason = helio_text_of(helio_reason_name(reason)),
        .details = details,
    };
    core_emit(self, HELIO_BROKER_FX_REPLY, &reply);
}

void core_reply(helio_broker_core_t *self, uint64_t call, helio_rc rc, helio_reason_t reason, helio_detail_t detail)
{
    core_reply_details(self, call, rc, reason, core_why(self, detail));
}

void core_reply_nothing_stored(helio_broker_core_t *self, uint64_t call, helio_rc rc, helio_reason_t reason,
                               helio_detail_t fault)
{
    helio_details_t details = core_why(self, fault);
    core_why_add(self, &details, HELIO_DETAIL0(HELIO_DETAIL_NOTHING_STORED));
    core_reply_details(self, call, rc, reason, details);
}

helio_detail_t core_out_of_range(helio_broker_core_t *self, const char *field, int64_t least, int64_t most,
                                 const char *unit)
{
    return CORE_DETAIL(self, HELIO_DETAIL_OUT_OF_RANGE, helio_value_string(field), helio_value_number(least * 1000),
                       helio_value_number(most * 1000), helio_value_string(unit));
}

helio_detail_t core_input_invalid(helio_broker_core_t *self, const char *field, const char *problem)
{
    return CORE_DETAIL(self, HELIO_DETAIL_INPUT_INVALID, helio_value_string(field), helio_value_string(problem),
                       helio_value_string(""));
}

void core_audit(helio_broker_core_t *self, helio_text_t actor, const char *action, helio_text_t object,
                helio_text_t detail)
{
    helio_row_audit_t row = {
        .at_ms = self->wall_ms,
        .actor = actor,
        .action = helio_text_of(action),
        .object = object,
        .detail = detail,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_AUDIT, &row);
}

const char *core_actor(helio_broker_core_t *self, helio_text_t principal)
{
    return core_printf(self, "%.*s", HELIO_TEXT_ARGS(principal));
}
