/*  emit.c -- how effects leave the core. */
#include <stdarg.h>
#include <stdio.h>

#include "broker/core/internal.h"

void core_emit(helio_broker_core_t *self, helio_broker_effect_t kind, const void *record)
{
    (void)helio_effects_add(self->effects, kind, helio_broker_effects, self->open_batch, record);
}

const char *core_printf(helio_broker_core_t *self, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return helio_arena_string(self->effects->arena, helio_text_of(text));
}

void core_answer(helio_broker_core_t *self, uint64_t call, helio_rc rc, helio_reason_t reason, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    helio_fx_answer_t answer = {
        .call = call,
        .rc = rc,
        .reason = helio_text_of(helio_reason_word(reason)),
        .text = helio_arena_text(self->effects->arena, helio_text_of(text)),
    };
    core_emit(self, HELIO_BROKER_FX_ANSWER, &answer);
}

void core_audit(helio_broker_core_t *self, helio_text_t user, const char *action, helio_text_t object,
                helio_text_t detail)
{
    helio_row_audit_t row = {
        .at_ms = self->wall_ms,
        .actor = user,
        .action = helio_text_of(action),
        .object = object,
        .detail = detail,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_AUDIT, &row);
}
