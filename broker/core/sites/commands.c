/*  commands.c -- what operators say of sites: drain, undrain, attest. */
#include "broker/core/sites/commands.h"

#include "broker/core/sites/silence.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/sites.h"

void core_on_site_command(helio_broker_core_t *self, uint32_t kind, const helio_ev_site_command_t *event)
{
    site_t *site = core_site_find(self, event->site);
    const char *action = kind == HELIO_BROKER_EV_DRAIN     ? "drain"
                         : kind == HELIO_BROKER_EV_UNDRAIN ? "undrain"
                                                           : "attest";
    if (event->role < HELIO_ROLE_OPERATOR) {
        core_reply(self, event->call, HELIO_FORBIDDEN, HELIO_REASON_FORBIDDEN, "%s needs the role operator or admin",
                    action);
        return;
    }
    if (!site) {
        core_reply(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                    "there is no site '%.*s'; `helio sites` lists them", HELIO_TEXT_ARGS(event->site));
        return;
    }
    if (kind == HELIO_BROKER_EV_ATTEST && site->state != HELIO_SITE_STATE_SILENT) {
        int64_t quiet_s = (self->now_ms - site->heard_ms) / 1000,
                after_s = (int64_t)self->options.silent_after_ms / 1000;
        if (site->state == HELIO_SITE_STATE_READY && site->stale)
            core_reply(self, event->call, HELIO_CONFLICT, HELIO_REASON_NONE,
                        "site %s was heard of %lld s ago: it can be attested dead once that is %lld s, in %lld s",
                        site->name, (long long)quiet_s, (long long)after_s, (long long)(after_s - quiet_s));
        else
            core_reply(self, event->call, HELIO_CONFLICT, HELIO_REASON_NONE,
                        "site %s is %s: only a silent site can be attested dead; drain it or stop its agent first",
                        site->name, helio_site_state_name(site->state));
        return;
    }
    if (kind == HELIO_BROKER_EV_ATTEST) {
        core_site_attest(self, site, event->user, event->reason);
    } else {
        site->draining = kind == HELIO_BROKER_EV_DRAIN;
        (void)helio_text_copy(site->draining ? event->reason : (helio_text_t){0}, site->drain_reason,
                              sizeof site->drain_reason);
        core_facts_changed(self, site);
        core_site_row(self, site);
    }
    core_audit(self, event->user, action, helio_text_of(site->name), event->reason);
    core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE, "%s %s", action, site->name);
}
