/*  leave.c -- effects that leave the engine: replies to callers, rows for listeners, and what is for sites. */
#include "broker/engine/internal.h"
#include "federation/base/clock.h"

static void reply_to_caller(helio_engine_t *self, const helio_fx_reply_t *reply)
{
    helio_call_t **slot = &self->calls[reply->call % HELIO_ENGINE_CALLS_MAX];
    helio_call_t *call = *slot;
    if (!call || call->id != reply->call)
        return; /* of an earlier life, or of a recording: no caller waits */
    *slot = NULL;
    self->call_count--;
    if (call->channel && reply->rc != HELIO_OK)
        helio_channels_drop(helio_sessions_channels(helio_gateway_sessions(self->gateway)), call->channel);
    call->on_reply(call, reply);
}

void helio_engine_leave(void *arg, const helio_effect_t *effect)
{
    helio_engine_t *self = arg;
    switch (effect->kind) {
    case HELIO_BROKER_FX_REPLY:
    case HELIO_BROKER_FX_ANSWER:
        reply_to_caller(self, effect->payload);
        break;
    case HELIO_BROKER_FX_ROW_TRANSITION:
        helio_refusal_log(self->log, &self->refusal_limit, effect->payload);
        self->listener.on_transition(self->listener.arg, effect->payload);
        break;
    case HELIO_BROKER_FX_ROW_SITE:
        helio_presence_log(self->presence, self->log, effect->payload, helio_clock_wall_ms());
        break;
    case HELIO_BROKER_FX_ROW_TOKEN:
        self->listener.on_token(self->listener.arg, effect->payload);
        break;
    case HELIO_BROKER_FX_ROW_SITE_KEY:
        helio_gateway_site_key(self->gateway, effect->payload);
        break;
    case HELIO_BROKER_FX_CHANNEL:
        helio_channels_open(helio_sessions_channels(helio_gateway_sessions(self->gateway)), effect->payload);
        break;
    case HELIO_BROKER_FX_ROW_PRINCIPAL:
        self->listener.on_principal(self->listener.arg, effect->payload);
        break;
    default:
        helio_sessions_carry(helio_gateway_sessions(self->gateway), effect, helio_clock_wall_ms());
    }
}
