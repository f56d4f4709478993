/*  catalogue.c -- where data is and the links between sites, as operators set them. */
#include "broker/core/requests/catalogue.h"

#include <stdlib.h>

#include "broker/core/requests/warnings.h"
#include "broker/core/state/catalogue.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"
#include "federation/base/char.h"

/* ---- setting data ---------------------------------------------------------------------------------------- */

/*  A slash at the end has no meaning ("s3://acme/" is "s3://acme"), except in "s3://". */
static helio_text_t prefix_of(helio_text_t text)
{
    while (text.size > 1 && text.data[text.size - 1] == '/' && text.data[text.size - 2] != '/')
        text.size--;
    return text;
}

/*  Why the prefix cannot be set; NONE = it can. */
static helio_detail_t data_fault(helio_broker_core_t *self, helio_text_t prefix, const helio_ev_data_t *event)
{
    if (!prefix.size || prefix.size > HELIO_DATA_PREFIX_MAX)
        return CORE_DETAIL(self, HELIO_DETAIL_DATA_PREFIX_SIZE, helio_value_number(HELIO_DATA_PREFIX_MAX));
    for (uint32_t i = 0; i < prefix.size; i++)
        if ((unsigned char)prefix.data[i] <= ' ' || prefix.data[i] == 0x7f)
            return HELIO_DETAIL0(HELIO_DETAIL_DATA_PREFIX_BLANK);
    if (event->sites.count > HELIO_DATA_SITES_MAX)
        return CORE_DETAIL(self, HELIO_DETAIL_DATA_SITES_MANY, helio_value_number(HELIO_DATA_SITES_MAX));
    for (uint32_t i = 0; i < event->sites.count; i++)
        if (!helio_is_name(event->sites.items[i].text, HELIO_SITE_NAME_MAX))
            return CORE_DETAIL(self, HELIO_DETAIL_DATA_SITE_NAME,
                               helio_value_text(core_text_cut(
                                   helio_arena_string(self->effects->arena, event->sites.items[i].text), 64)));
    return CORE_NO_DETAIL;
}

/*  Classes with data are judged again, and all classes are asked again. */
static void changed(helio_broker_core_t *self)
{
    core_facts_changed(self, NULL);
}

static helio_text_t sites_text(helio_broker_core_t *self, const dataset_t *dataset, const char *between)
{
    helio_text_t text = {"", 0};
    for (uint32_t i = 0; dataset && i < dataset->site_count; i++)
        text = helio_arena_printf(self->effects->arena, "%.*s%s%s", HELIO_TEXT_ARGS(text), i ? between : "",
                                  dataset->sites[i]);
    return text;
}

/*  What was set. A place that is no site is allowed, because data is also in clouds, and sites join later. The reply
 *  mentions it, because it can be a misspelling. */
static helio_details_t data_details(helio_broker_core_t *self, const dataset_t *dataset)
{
    helio_details_t details = {0};
    helio_arena_t *arena = self->effects->arena;
    helio_value_t sites = {.text = sites_text(self, dataset, ","), .number = dataset->site_count};
    helio_details_add(&details, arena,
                      CORE_DETAIL(self, HELIO_DETAIL_DATA_SET, sites, helio_value_string(dataset->tenant)));
    for (uint32_t i = 0; i < dataset->site_count; i++)
        if (!core_site_find(self, helio_text_of(dataset->sites[i]))) {
            helio_details_add(&details, arena,
                              CORE_DETAIL(self, HELIO_DETAIL_WARN_DATA_SITE, helio_value_string(dataset->sites[i]),
                                          helio_value_string(core_site_meant(self, helio_text_of(dataset->sites[i])))));
            break;
        }
    return details;
}

static bool is_operator(helio_broker_core_t *self, uint64_t call, uint32_t role, const char *command)
{
    if (role >= HELIO_ROLE_OPERATOR)
        return true;
    core_reply(self, call, HELIO_FORBIDDEN, HELIO_REASON_FORBIDDEN,
               CORE_DETAIL(self, HELIO_DETAIL_NEEDS_OPERATOR, helio_value_string(command)));
    return false;
}

static void write_data(helio_broker_core_t *self, const helio_ev_data_t *event, helio_text_t prefix,
                       const dataset_t *dataset)
{
    helio_row_data_t row = {.prefix = prefix,
                            .sites = sites_text(self, dataset, " "),
                            .at_ms = self->wall_ms,
                            .tenant = helio_text_of(dataset ? dataset->tenant : "")};
    core_emit(self, HELIO_BROKER_FX_ROW_DATA, &row);
    helio_text_t words = sites_text(self, dataset, ", ");
    const char *whose = dataset && dataset->tenant[0] ? core_printf(self, "; for %s alone", dataset->tenant) : "";
    core_audit(self, event->actor, dataset ? "data-set" : "data-rm",
               core_text_cut(helio_arena_string(self->effects->arena, prefix), 96),
               core_text_cut(core_printf(self, "%.*s%s", HELIO_TEXT_ARGS(words), whose), 512));
    if (dataset)
        core_reply_details(self, event->call, HELIO_OK, HELIO_REASON_NONE, data_details(self, dataset));
    else
        core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE, HELIO_DETAIL0(HELIO_DETAIL_REMOVED));
}

/*  The tenant that it will belong to. A change of its sites does not show it to other tenants. */
static helio_text_t tenant_of(helio_broker_core_t *self, const helio_ev_data_t *event, const dataset_t *known)
{
    if (event->tenant_given)
        return helio_text_is(event->tenant, "*") ? (helio_text_t){0} : event->tenant;
    return known ? helio_arena_text(self->effects->arena, helio_text_of(known->tenant)) : (helio_text_t){0};
}

static bool is_tenant(const helio_broker_core_t *self, helio_text_t name)
{
    const tenant_t *tenant;
    HASH_FIND(hh, self->tenants, name.data, name.size, tenant);
    return tenant;
}

void core_on_data(helio_broker_core_t *self, const helio_ev_data_t *event)
{
    if (!is_operator(self, event->call, event->role, "data set"))
        return;
    helio_text_t prefix = prefix_of(event->prefix);
    helio_detail_t fault = data_fault(self, prefix, event);
    if (fault.code) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, fault);
        return;
    }
    dataset_t *known = core_dataset_find(self, prefix);
    if (!known && !event->sites.count) {
        core_reply(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_UNKNOWN_PREFIX, helio_value_text(prefix)));
        return;
    }
    if (!known && core_dataset_count(self) >= HELIO_DATA_MAX) {
        core_reply(self, event->call, HELIO_TOO_BIG, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_DATA_FULL, helio_value_number(HELIO_DATA_MAX)));
        return;
    }
    helio_text_t tenant = tenant_of(self, event, known);
    if (event->tenant_given && tenant.size && !is_tenant(self, tenant)) {
        core_reply(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE, core_unknown_tenant(self, tenant));
        return;
    }
    dataset_t *dataset = core_dataset_keep(self, prefix, tenant, event->sites.items, event->sites.count);
    changed(self);
    write_data(self, event, prefix, dataset);
}

/* ---- setting links --------------------------------------------------------------------------------------- */

static bool is_end(helio_text_t text)
{
    return helio_is_name(text, HELIO_SITE_NAME_MAX) || helio_text_is(text, "*");
}

/*  Why the link cannot be set; NONE = it can. */
static helio_detail_t link_fault(helio_broker_core_t *self, const helio_ev_link_t *event)
{
    if (!is_end(event->from) || !is_end(event->to))
        return HELIO_DETAIL0(HELIO_DETAIL_LINK_ENDS);
    if (event->removed)
        return CORE_NO_DETAIL;
    if (!event->mbps || event->mbps > HELIO_LINK_MBPS_MAX)
        return CORE_DETAIL(self, HELIO_DETAIL_OUT_OF_RANGE, helio_value_string("gbps"), helio_value_number(1),
                           helio_value_number(HELIO_LINK_MBPS_MAX), helio_value_string(""));
    if (event->egress_micro_usd_per_gb < 0 || event->egress_micro_usd_per_gb > HELIO_LINK_EGRESS_MAX_MICRO_USD)
        return core_out_of_range(self, "egress_usd_per_gb", 0, HELIO_LINK_EGRESS_MAX_MICRO_USD / 1000000, "");
    if (event->rtt_ms > HELIO_LINK_RTT_MS_MAX)
        return core_out_of_range(self, "rtt_ms", 0, HELIO_LINK_RTT_MS_MAX, "");
    return CORE_NO_DETAIL;
}

/*  As a text, because cents for a GB would be rounded. */
static const char *egress_text(helio_broker_core_t *self, const helio_link_t *link)
{
    return core_printf(self, "%.10g", (double)link->egress_micro_usd_per_gb / 1e6);
}

static const char *link_text(helio_broker_core_t *self, const helio_link_t *link)
{
    return core_printf(self, "%.10g Gbit/s, %s USD/GB, %u ms", (double)link->mbps / 1000, egress_text(self, link),
                       link->rtt_ms);
}

static helio_detail_t link_detail(helio_broker_core_t *self, const helio_link_t *link)
{
    return CORE_DETAIL(self, HELIO_DETAIL_LINK_SET, helio_value_number((int64_t)link->mbps),
                       helio_value_string(egress_text(self, link)), helio_value_number(link->rtt_ms));
}

/*  A link may precede its sites. */
static void warn_end(helio_broker_core_t *self, helio_text_t end, helio_details_t *ret_details)
{
    if (!helio_text_is(end, "*"))
        core_warn_site(self, end, ret_details);
}

void core_on_link(helio_broker_core_t *self, const helio_ev_link_t *event)
{
    if (!is_operator(self, event->call, event->role, "links set"))
        return;
    helio_detail_t fault = link_fault(self, event);
    if (fault.code) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, fault);
        return;
    }
    link_entry_t *entry = core_link_at(self, event->from, event->to);
    if (!entry && event->removed) {
        core_reply(
            self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
            CORE_DETAIL(self, HELIO_DETAIL_UNKNOWN_LINK, helio_value_text(event->from), helio_value_text(event->to)));
        return;
    }
    if (!entry && core_link_count(self) >= HELIO_LINKS_MAX) {
        core_reply(self, event->call, HELIO_TOO_BIG, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_LINKS_FULL, helio_value_number(HELIO_LINKS_MAX)));
        return;
    }
    helio_row_link_t row = {.from = event->from, .to = event->to, .removed = event->removed, .at_ms = self->wall_ms};
    const char *words = "removed";
    helio_details_t done = {0};
    if (event->removed) {
        core_link_drop(self, entry);
        core_why_add(self, &done, HELIO_DETAIL0(HELIO_DETAIL_REMOVED));
    } else {
        entry = core_link_get(self, event->from, event->to);
        entry->link = (helio_link_t){event->mbps, event->egress_micro_usd_per_gb, event->rtt_ms};
        row.mbps = event->mbps;
        row.egress_micro_usd_per_gb = event->egress_micro_usd_per_gb;
        row.rtt_ms = event->rtt_ms;
        words = link_text(self, &entry->link);
        core_why_add(self, &done, link_detail(self, &entry->link));
        warn_end(self, event->from, &done);
        warn_end(self, event->to, &done);
    }
    changed(self);
    core_emit(self, HELIO_BROKER_FX_ROW_LINK, &row);
    const char *object = core_printf(self, "%.*s -> %.*s", HELIO_TEXT_ARGS(event->from), HELIO_TEXT_ARGS(event->to));
    core_audit(self, event->actor, event->removed ? "link-rm" : "link-set", helio_text_of(object),
               helio_text_of(words));
    core_reply_details(self, event->call, HELIO_OK, HELIO_REASON_NONE, done);
}
