/*  effects.c -- the descriptions of all effects, and the words of their enumerations. */
#include "broker/model/effects.h"

HELIO_RECORD_DEFINE(helio_accepted_job, HELIO_ACCEPTED_JOB_FIELDS)
HELIO_RECORD_DEFINE(helio_ahead, HELIO_AHEAD_FIELDS)
HELIO_RECORD_DEFINE(helio_hint, HELIO_HINT_FIELDS)
HELIO_RECORD_DEFINE(helio_start_estimate, HELIO_START_ESTIMATE_FIELDS)
HELIO_RECORD_DEFINE(helio_planned_candidate, HELIO_PLANNED_CANDIDATE_FIELDS)
HELIO_RECORD_DEFINE(helio_planned, HELIO_PLANNED_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_reply, HELIO_FX_REPLY_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_welcome, HELIO_FX_WELCOME_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_verdict, HELIO_FX_VERDICT_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_peer, HELIO_FX_PEER_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_order, HELIO_FX_ORDER_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_stop, HELIO_FX_STOP_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_reports_ack, HELIO_FX_REPORTS_ACK_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_renewed, HELIO_FX_RENEWED_FIELDS)

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
