/*  curtail.c -- the operators' command that curtails a site. What it does is decided by the next round
 *  (holds/curtailed.c); the reply says what that would be now. */
#include "broker/core/sites/curtail.h"

#include <utlist.h>

#include "broker/core/holds/curtailed.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/curtailments.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"

static void end_all(helio_broker_core_t *self, site_t *site, const helio_ev_curtail_t *event)
{
    uint32_t count = core_curtailments_count(site);
    if (!count) {
        core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_SITE_NOT_CURTAILED, helio_value_string(site->name)));
        return;
    }
    while (site->curtailments) {
        site->curtailments->row.ended_ms = self->wall_ms;
        core_curtailment_write(self, site->curtailments);
        core_curtailment_drop(self, site, site->curtailments);
    }
    core_facts_changed(self, site);
    core_audit(self, event->actor, "uncurtail", helio_text_of(site->name), event->reason);
    core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE,
               CORE_DETAIL(self, HELIO_DETAIL_SITE_UNCURTAILED, helio_value_number(count)));
}

/*  Each has a time of its own, by which its row is found, also after those that are over. */
static int64_t set_ms(const helio_broker_core_t *self, const site_t *site)
{
    return site->curtailed_ms < self->wall_ms ? self->wall_ms : site->curtailed_ms + 1;
}

/*  What may never be stopped, and what may not be stopped yet, are different things. */
static helio_details_t done(helio_broker_core_t *self, const helio_row_curtailment_t *row, curtail_plan_t plan)
{
    const int64_t later_w = (int64_t)plan.later_w, kept_w = (int64_t)plan.kept_w - later_w;
    helio_details_t said = CORE_WHY(self, HELIO_DETAIL_SITE_CURTAILED, helio_value_number(row->percent),
                                    helio_value_number((int64_t)plan.limit_w), helio_value_number((int64_t)plan.full_w),
                                    helio_value_number(row->from_ms > self->wall_ms ? row->from_ms : 0),
                                    helio_value_number(row->until_ms), helio_value_number((int64_t)plan.used_w),
                                    helio_value_number(plan.jobs), helio_value_number(kept_w > 0 ? kept_w : 0));
    if (later_w > 0)
        core_why_add(self, &said, CORE_DETAIL(self, HELIO_DETAIL_CURTAIL_FOLLOWS, helio_value_number(later_w)));
    return said;
}

static void begin(helio_broker_core_t *self, site_t *site, const helio_ev_curtail_t *event)
{
    helio_row_curtailment_t row = {
        .site = helio_text_of(site->name),
        .set_ms = set_ms(self, site),
        .from_ms = event->from_wall_ms ? event->from_wall_ms : self->wall_ms,
        .until_ms = (event->from_wall_ms ? event->from_wall_ms : self->wall_ms) + (int64_t)event->for_ms,
        .percent = event->percent,
        .reason = event->reason,
        .actor = event->actor,
    };
    if (row.until_ms <= self->wall_ms) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                   CORE_DETAIL(self, HELIO_DETAIL_CURTAIL_OVER, helio_value_number(row.until_ms)));
        return;
    }
    const curtail_plan_t plan = core_curtail_plan(self, site, &row);
    row.full_w = (uint64_t)plan.full_w;
    core_curtailment_write(self, core_curtailment_add(self, site, &row));
    core_facts_changed(self, site);
    core_audit(self, event->actor, "curtail", helio_text_of(site->name),
               helio_text_of(core_printf(self, "to %u%% for %llu s: %.*s", event->percent,
                                         (unsigned long long)(event->for_ms / 1000), HELIO_TEXT_ARGS(event->reason))));
    core_reply_details(self, event->call, HELIO_OK, HELIO_REASON_NONE, done(self, &row, plan));
}

void core_on_curtail(helio_broker_core_t *self, const helio_ev_curtail_t *event)
{
    const int64_t ahead_ms = INT64_C(86400000) * HELIO_CURTAIL_AHEAD_D;
    site_t *site = core_site_find(self, event->site);
    if (event->role < HELIO_ROLE_OPERATOR)
        core_reply(self, event->call, HELIO_FORBIDDEN, HELIO_REASON_FORBIDDEN,
                   CORE_DETAIL(self, HELIO_DETAIL_NEEDS_OPERATOR, helio_value_string("curtail")));
    else if (!site)
        core_reply(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_UNKNOWN_SITE, helio_value_text(event->site),
                               helio_value_string(core_site_meant(self, event->site))));
    else if (event->end)
        end_all(self, site, event);
    else if (event->percent > 100)
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                   core_out_of_range(self, "to_percent", 0, 100, ""));
    else if (event->for_ms < HELIO_CURTAIL_LEAST_MS || event->for_ms > HELIO_CURTAIL_MOST_MS)
        core_reply(
            self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
            core_out_of_range(self, "for_s", HELIO_CURTAIL_LEAST_MS / 1000, HELIO_CURTAIL_MOST_MS / 1000, "seconds"));
    else if (event->from_wall_ms < 0 || event->from_wall_ms > self->wall_ms + ahead_ms)
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                   core_input_invalid(self, "at", "more than 30 days ahead"));
    else if (core_curtailments_count(site) >= HELIO_CURTAILMENTS_MAX)
        core_reply(self, event->call, HELIO_CONFLICT, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_SITE_CURTAILED_OFTEN, helio_value_string(site->name),
                               helio_value_number(HELIO_CURTAILMENTS_MAX)));
    else
        begin(self, site, event);
}
