/*  events.c -- the descriptions of all events, and the names of their enumerations. */
#include "broker/model/events.h"

#include <stddef.h>

HELIO_RECORD_DEFINE(helio_ev_load_job, HELIO_EV_LOAD_JOB_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_nothing, HELIO_EV_NOTHING_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_sealed, HELIO_EV_SEALED_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_alive, HELIO_EV_SITE_ALIVE_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_database, HELIO_EV_DATABASE_FIELDS)
HELIO_RECORD_DEFINE(helio_dependency, HELIO_DEPENDENCY_FIELDS)
HELIO_RECORD_DEFINE(helio_submission, HELIO_SUBMISSION_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_submit, HELIO_EV_SUBMIT_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_command, HELIO_EV_COMMAND_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_edit, HELIO_EV_EDIT_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_signal, HELIO_EV_SIGNAL_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_channel, HELIO_EV_CHANNEL_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_channel_ended, HELIO_EV_CHANNEL_ENDED_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_command, HELIO_EV_SITE_COMMAND_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_curtail, HELIO_EV_CURTAIL_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_token, HELIO_EV_TOKEN_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_principal, HELIO_EV_PRINCIPAL_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_key, HELIO_EV_SITE_KEY_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_tenant, HELIO_EV_TENANT_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_quota, HELIO_EV_QUOTA_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_data, HELIO_EV_DATA_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_link, HELIO_EV_LINK_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_queue, HELIO_EV_QUEUE_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_queue_rule, HELIO_EV_QUEUE_RULE_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_overflow, HELIO_EV_OVERFLOW_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_desired, HELIO_EV_DESIRED_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_hello, HELIO_EV_SITE_HELLO_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_inventory, HELIO_EV_SITE_INVENTORY_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_summary, HELIO_EV_SITE_SUMMARY_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_reports, HELIO_EV_SITE_REPORTS_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_renew, HELIO_EV_SITE_RENEW_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_gone, HELIO_EV_SITE_GONE_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_refused, HELIO_EV_SITE_REFUSED_FIELDS)

/*  The engine fills in the call of every request, without knowing the kind of request. */
#define BEGINS_WITH_CALL(type) _Static_assert(offsetof(type, call) == 0, "a request begins with its call")
BEGINS_WITH_CALL(helio_ev_submit_t);
BEGINS_WITH_CALL(helio_ev_command_t);
BEGINS_WITH_CALL(helio_ev_desired_t);
BEGINS_WITH_CALL(helio_ev_edit_t);
BEGINS_WITH_CALL(helio_ev_site_command_t);
BEGINS_WITH_CALL(helio_ev_token_t);
BEGINS_WITH_CALL(helio_ev_principal_t);
BEGINS_WITH_CALL(helio_ev_site_key_t);
BEGINS_WITH_CALL(helio_ev_tenant_t);
BEGINS_WITH_CALL(helio_ev_quota_t);
BEGINS_WITH_CALL(helio_ev_data_t);
BEGINS_WITH_CALL(helio_ev_link_t);
BEGINS_WITH_CALL(helio_ev_queue_t);
BEGINS_WITH_CALL(helio_ev_queue_rule_t);
BEGINS_WITH_CALL(helio_ev_overflow_t);

/*  Code that fills in a command also fills in the first fields of an edit. */
#define BEGINS_AS_COMMAND(field)                                                            \
    _Static_assert(offsetof(helio_ev_edit_t, field) == offsetof(helio_ev_command_t, field), \
                   "an edit begins as a command")
BEGINS_AS_COMMAND(tenant);
BEGINS_AS_COMMAND(actor);
BEGINS_AS_COMMAND(role);
BEGINS_AS_COMMAND(key);

const helio_step_kind_t helio_broker_events[HELIO_BROKER_EVENT_COUNT] = {
#define X(NAME, record) {#NAME, &record##_type, HELIO_RELEASE_FREE},
    HELIO_BROKER_EVENT_TABLE(X)
#undef X
};

static const char *const role_names[] = {
#define X(name, word) word,
    HELIO_ROLE_TABLE(X)
#undef X
};

const char *helio_role_name(uint32_t value)
{
    return value < HELIO_ROLE_COUNT ? role_names[value] : "unknown";
}

helio_rc helio_role_of(helio_text_t word, uint32_t *ret_value)
{
    return helio_text_among(word, role_names, HELIO_ROLE_COUNT, ret_value);
}
