/*  commands.c -- operators' commands on sites: drain, undrain, attest. */
#include "broker/core/sites/commands.h"

#include "broker/core/sites/silence.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"

/*  Why the site cannot be attested now. */
static helio_detail_t not_silent(helio_broker_core_t *self, const site_t *site)
{
    int64_t silent_ms = self->now_ms - site->heard_ms, after_ms = core_site_attest_after_ms(self),
            wait_ms = core_site_attest_wait_ms(self, site);
    if (wait_ms)
        return CORE_DETAIL(self, HELIO_DETAIL_ATTEST_ORDER_UNDER_WAY, helio_value_string(site->name),
                           helio_value_number(after_ms), helio_value_number(wait_ms));
    if (site->state == HELIO_SITE_STATE_READY && site->stale)
        return CORE_DETAIL(self, HELIO_DETAIL_ATTEST_TOO_EARLY, helio_value_string(site->name),
                           helio_value_number(silent_ms), helio_value_number(after_ms),
                           helio_value_number(after_ms - silent_ms));
    /* A drain is no state of the core's, and makes no site silent; people see it as one. */
    bool drains = site->state == HELIO_SITE_STATE_READY && site->draining;
    return CORE_DETAIL(self, HELIO_DETAIL_ATTEST_NOT_SILENT, helio_value_string(site->name),
                       helio_value_string(helio_site_state_name(drains ? HELIO_SITE_STATE_DRAINING : site->state)));
}

static helio_detail_t done(uint32_t kind)
{
    return kind == HELIO_BROKER_EV_DRAIN     ? HELIO_DETAIL0(HELIO_DETAIL_SITE_DRAINING)
           : kind == HELIO_BROKER_EV_UNDRAIN ? HELIO_DETAIL0(HELIO_DETAIL_SITE_UNDRAINED)
                                             : HELIO_DETAIL0(HELIO_DETAIL_SITE_ATTESTED);
}

void core_on_site_command(helio_broker_core_t *self, uint32_t kind, const helio_ev_site_command_t *event)
{
    site_t *site = core_site_find(self, event->site);
    const char *action = kind == HELIO_BROKER_EV_DRAIN     ? "drain"
                         : kind == HELIO_BROKER_EV_UNDRAIN ? "undrain"
                                                           : "attest";
    if (event->role < HELIO_ROLE_OPERATOR) {
        core_reply(self, event->call, HELIO_FORBIDDEN, HELIO_REASON_FORBIDDEN,
                   CORE_DETAIL(self, HELIO_DETAIL_NEEDS_OPERATOR, helio_value_string(action)));
        return;
    }
    if (!site) {
        core_reply(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_UNKNOWN_SITE, helio_value_text(event->site),
                               helio_value_string(core_site_meant(self, event->site))));
        return;
    }
    if (kind == HELIO_BROKER_EV_UNDRAIN && !site->draining) {
        core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_SITE_NOT_DRAINED, helio_value_string(site->name)));
        return;
    }
    if (kind == HELIO_BROKER_EV_ATTEST && !core_site_attest(self, site, event->actor, event->reason)) {
        core_reply(self, event->call, HELIO_CONFLICT, HELIO_REASON_NONE, not_silent(self, site));
        return;
    }
    if (kind != HELIO_BROKER_EV_ATTEST) {
        site->draining = kind == HELIO_BROKER_EV_DRAIN;
        (void)helio_text_copy(site->draining ? event->reason : (helio_text_t){0}, site->drain_reason,
                              sizeof site->drain_reason);
        core_facts_changed(self, site);
        core_site_row(self, site);
    }
    core_audit(self, event->actor, action, helio_text_of(site->name), event->reason);
    core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE, done(kind));
}
