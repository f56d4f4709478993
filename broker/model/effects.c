/*  effects.c -- the descriptions of all effects, and the names of their enumerations. */
#include "broker/model/effects.h"

#include <stddef.h>

HELIO_RECORD_DEFINE(helio_accepted_job, HELIO_ACCEPTED_JOB_FIELDS)
HELIO_RECORD_DEFINE(helio_ahead, HELIO_AHEAD_FIELDS)
HELIO_RECORD_DEFINE(helio_hint, HELIO_HINT_FIELDS)
HELIO_RECORD_DEFINE(helio_start_estimate, HELIO_START_ESTIMATE_FIELDS)
HELIO_RECORD_DEFINE(helio_planned_candidate, HELIO_PLANNED_CANDIDATE_FIELDS)
HELIO_RECORD_DEFINE(helio_planned, HELIO_PLANNED_FIELDS)
HELIO_RECORD_DEFINE(helio_desired_hour, HELIO_DESIRED_HOUR_FIELDS)
HELIO_RECORD_DEFINE(helio_desired_pool, HELIO_DESIRED_POOL_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_reply, HELIO_FX_REPLY_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_welcome, HELIO_FX_WELCOME_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_verdict, HELIO_FX_VERDICT_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_peer, HELIO_FX_PEER_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_demand, HELIO_FX_DEMAND_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_order, HELIO_FX_ORDER_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_stop, HELIO_FX_STOP_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_signal, HELIO_FX_SIGNAL_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_channel, HELIO_FX_CHANNEL_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_reports_ack, HELIO_FX_REPORTS_ACK_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_renewed, HELIO_FX_RENEWED_FIELDS)

/*  The gateway finds the session of an effect by its first field, without knowing the kind of effect. */
#define BEGINS_WITH_PEER(type) _Static_assert(offsetof(type, peer) == 0, "what is for a site begins with its peer")
BEGINS_WITH_PEER(helio_fx_welcome_t);
BEGINS_WITH_PEER(helio_fx_verdict_t);
BEGINS_WITH_PEER(helio_fx_peer_t);
BEGINS_WITH_PEER(helio_fx_demand_t);
BEGINS_WITH_PEER(helio_fx_order_t);
BEGINS_WITH_PEER(helio_fx_stop_t);
BEGINS_WITH_PEER(helio_fx_signal_t);
BEGINS_WITH_PEER(helio_fx_channel_t);
BEGINS_WITH_PEER(helio_fx_reports_ack_t);
BEGINS_WITH_PEER(helio_fx_renewed_t);

const helio_step_kind_t helio_broker_effects[HELIO_BROKER_EFFECT_COUNT] = {
#define X(NAME, record, release) {#NAME, &record##_type, HELIO_RELEASE_##release},
    HELIO_BROKER_EFFECT_TABLE(X)
#undef X
};

const char *helio_hint_kind_name(uint32_t value)
{
    static const char *const words[] = {
#define X(name, word) word,
        HELIO_HINT_KIND_TABLE(X)
#undef X
    };
    return value < HELIO_HINT_KIND_COUNT ? words[value] : "unknown";
}
