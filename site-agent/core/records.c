/*  records.c -- the tables behind agent_core.h: records, events, effects, names. */
#include "site-agent/core/agent_core.h"

HELIO_RECORD_DEFINE(helio_slot, HELIO_SLOT_FIELDS)
HELIO_RECORD_DEFINE(helio_evidence, HELIO_EVIDENCE_FIELDS)
HELIO_RECORD_DEFINE(helio_jrow_attempt, HELIO_JROW_ATTEMPT_FIELDS)
HELIO_RECORD_DEFINE(helio_jrow_seen, HELIO_JROW_SEEN_FIELDS)
HELIO_RECORD_DEFINE(helio_jrow_acked, HELIO_JROW_ACKED_FIELDS)
HELIO_RECORD_DEFINE(helio_jrow_meta, HELIO_JROW_META_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_nothing, HELIO_AEV_NOTHING_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_loaded, HELIO_AEV_LOADED_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_sealed, HELIO_AEV_SEALED_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_welcome, HELIO_AEV_WELCOME_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_verdicts, HELIO_AEV_VERDICTS_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_orders, HELIO_AEV_ORDERS_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_stops, HELIO_AEV_STOPS_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_signals, HELIO_AEV_SIGNALS_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_ack, HELIO_AEV_ACK_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_renewed, HELIO_AEV_RENEWED_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_backend, HELIO_AEV_BACKEND_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_evidence, HELIO_AEV_EVIDENCE_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_gpus, HELIO_AEV_GPUS_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_capacity, HELIO_AEV_CAPACITY_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_taken, HELIO_AEV_TAKEN_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_series, HELIO_AEV_SERIES_FIELDS)
HELIO_RECORD_DEFINE(helio_aev_disk, HELIO_AEV_DISK_FIELDS)
HELIO_RECORD_DEFINE(helio_afx_hello, HELIO_AFX_HELLO_FIELDS)
HELIO_RECORD_DEFINE(helio_afx_inventory, HELIO_AFX_INVENTORY_FIELDS)
HELIO_RECORD_DEFINE(helio_afx_renew, HELIO_AFX_RENEW_FIELDS)
HELIO_RECORD_DEFINE(helio_afx_start, HELIO_AFX_START_FIELDS)
HELIO_RECORD_DEFINE(helio_afx_forget, HELIO_AFX_FORGET_FIELDS)
HELIO_RECORD_DEFINE(helio_attempt_ref, HELIO_ATTEMPT_REF_FIELDS)
HELIO_RECORD_DEFINE(helio_afx_lease, HELIO_AFX_LEASE_FIELDS)

const helio_step_kind_t helio_agent_events[HELIO_AGENT_EVENT_COUNT] = {
#define X(NAME, record) {#NAME, &record##_type, HELIO_RELEASE_FREE},
    HELIO_AGENT_EVENT_TABLE(X)
#undef X
};

const helio_step_kind_t helio_agent_effects[HELIO_AGENT_EFFECT_COUNT] = {
#define X(NAME, record, release) {#NAME, &record##_type, HELIO_RELEASE_##release},
    HELIO_AGENT_EFFECT_TABLE(X)
#undef X
};

#define WORD(name, word) word,
static const char *const words[] = {HELIO_BACKEND_REPORT_TABLE(WORD)};

const char *helio_backend_report_name(uint32_t value)
{
    return value < HELIO_BACKEND_REPORT_COUNT ? words[value] : "unknown";
}

helio_rc helio_backend_report_of(helio_text_t word, uint32_t *ret_value)
{
    for (uint32_t i = 0; i < HELIO_BACKEND_REPORT_COUNT; i++)
        if (helio_text_is(word, words[i])) {
            *ret_value = i;
            return HELIO_OK;
        }
    return HELIO_NOT_FOUND;
}
