/*  warnings.c -- input warnings: names that no site has, or almost another's. They do not refuse the request, because
 *  sites come and go, and settings for a site can precede it. */
#include "broker/core/requests/warnings.h"

#include <string.h>

#include "broker/core/decide/names.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"
#include "federation/base/suggest.h"

static void add(helio_broker_core_t *self, helio_detail_t detail, helio_details_t *ret_details)
{
    core_why_add(self, ret_details, detail);
}

/* ---- regions --------------------------------------------------------------------------------------------- */

void core_warn_region(helio_broker_core_t *self, helio_text_t region, helio_details_t *ret_details)
{
    bool known = false;
    for (const site_t *site = self->sites; site; site = site->hh.next)
        known = known || site->profile.region.size;
    if (region.size && known && !core_name_is_known(self, NAMES_REGIONS, region))
        add(self,
            CORE_DETAIL(self, HELIO_DETAIL_WARN_REGION, helio_value_text(region),
                        helio_value_string(core_name_meant(self, NAMES_REGIONS, region))),
            ret_details);
}

/* ---- sites ----------------------------------------------------------------------------------------------- */

void core_warn_site(helio_broker_core_t *self, helio_text_t name, helio_details_t *ret_details)
{
    if (!name.size || !self->sites || core_site_find(self, name))
        return;
    add(self,
        CORE_DETAIL(self, HELIO_DETAIL_WARN_SITE, helio_value_text(name),
                    helio_value_string(core_name_meant(self, NAMES_SITES, name))),
        ret_details);
}

bool core_is_slip_of_a_site(helio_broker_core_t *self, helio_text_t name)
{
#ifdef HELIO_MUTANT_homes_of_any_name
    return false;
#endif
    return name.size && !core_site_find(self, name) && core_site_meant(self, name)[0];
}

/* ---- tenants and queues ---------------------------------------------------------------------------------- */

/*  "" = none. */
static const char *tenant_meant(const helio_broker_core_t *self, helio_text_t name)
{
    helio_suggestion_t suggestion = {.written = name};
    for (const tenant_t *tenant = self->tenants; tenant; tenant = tenant->hh.next)
        if (!helio_text_is(name, tenant->name))
            helio_suggestion_offer(&suggestion, tenant->name);
    return suggestion.best ? suggestion.best : "";
}

static const char *queue_meant(const helio_broker_core_t *self, helio_text_t name)
{
    helio_suggestion_t suggestion = {.written = name};
    for (const queue_t *queue = self->queues; queue; queue = queue->hh.next)
        if (!queue->removed && !helio_text_is(name, queue->name))
            helio_suggestion_offer(&suggestion, queue->name);
    return suggestion.best ? suggestion.best : "";
}

helio_detail_t core_unknown_tenant(helio_broker_core_t *self, helio_text_t tenant)
{
    return CORE_DETAIL(self, HELIO_DETAIL_UNKNOWN_TENANT, helio_value_text(tenant),
                       helio_value_string(tenant_meant(self, tenant)));
}

helio_detail_t core_unknown_queue(helio_broker_core_t *self, helio_text_t queue, uint32_t job)
{
    return CORE_DETAIL(self, HELIO_DETAIL_UNKNOWN_QUEUE, helio_value_text(queue), helio_value_number(job),
                       helio_value_string(queue_meant(self, queue)));
}

static void warn_new(helio_broker_core_t *self, helio_text_t name, const char *meant, helio_details_t *ret_details)
{
    if (*meant)
        add(self, CORE_DETAIL(self, HELIO_DETAIL_WARN_NEW, helio_value_text(name), helio_value_string(meant)),
            ret_details);
}

void core_warn_new_tenant(helio_broker_core_t *self, helio_text_t tenant, helio_details_t *ret_details)
{
    warn_new(self, tenant, tenant_meant(self, tenant), ret_details);
}

void core_warn_new_queue(helio_broker_core_t *self, helio_text_t queue, helio_details_t *ret_details)
{
    warn_new(self, queue, queue_meant(self, queue), ret_details);
}

/* ---- zones ----------------------------------------------------------------------------------------------- */

/*  EST and the like have three capital letters and no rules. UTC, GMT and UCT look alike, but are correct. */
static bool is_fixed_offset(helio_text_t zone)
{
    if (!zone.size || helio_text_is(zone, "UTC") || helio_text_is(zone, "GMT") || helio_text_is(zone, "UCT"))
        return false;
    for (uint32_t i = 0; i < zone.size; i++)
        if ((zone.data[i] < 'A' || zone.data[i] > 'Z') && (zone.data[i] < '0' || zone.data[i] > '9'))
            return false;
    return true;
}

void core_warn_zone(helio_broker_core_t *self, helio_text_t zone, helio_details_t *ret_details)
{
    static const char west[] = "Etc/GMT";
    if (zone.size >= sizeof west && memcmp(zone.data, west, sizeof west - 1) == 0 &&
        strchr("+-", zone.data[sizeof west - 1]))
        add(self, CORE_DETAIL(self, HELIO_DETAIL_WARN_ZONE_SIGN, helio_value_text(zone)), ret_details);
    else if (is_fixed_offset(zone))
        add(self, CORE_DETAIL(self, HELIO_DETAIL_WARN_ZONE_FIXED, helio_value_text(zone)), ret_details);
}

/* ---- steps of an overflow group -------------------------------------------------------------------------- */

static bool has_some(const helio_broker_core_t *self, const helio_overflow_t *steps, uint32_t step)
{
    for (const site_t *site = self->sites; site; site = site->hh.next)
        if (helio_overflow_step_of(steps, helio_text_of(site->name)) == step)
            return true;
    return false;
}

static helio_detail_t warning_of_pattern(helio_broker_core_t *self, uint32_t step, helio_text_t pattern)
{
    if (core_name_is_known(self, NAMES_REGIONS, pattern))
        return CORE_DETAIL(self, HELIO_DETAIL_WARN_STEP_REGION, helio_value_number(step + 1),
                           helio_value_text(pattern));
    return CORE_DETAIL(self, HELIO_DETAIL_WARN_STEP_SITE, helio_value_number(step + 1), helio_value_text(pattern),
                       helio_value_string(core_name_meant(self, NAMES_SITES, pattern)));
}

void core_warn_steps(helio_broker_core_t *self, const helio_overflow_t *steps, helio_details_t *ret_details)
{
    for (uint32_t i = 0; self->sites && i < steps->count; i++) {
        const helio_overflow_step_t *step = &steps->steps[i];
        bool warned = false;
        for (uint32_t p = 0; p < step->pattern_count; p++) {
            helio_text_t pattern = step->patterns[p].text;
            bool excludes = pattern.size && pattern.data[0] == '!';
            helio_text_t name = excludes ? (helio_text_t){pattern.data + 1, pattern.size - 1} : pattern;
            if (core_name_is_known(self, NAMES_SITES, name))
                continue;
            add(self, warning_of_pattern(self, i, name), ret_details);
            warned = true;
        }
        if (!warned && !has_some(self, steps, i))
            add(self, CORE_DETAIL(self, HELIO_DETAIL_WARN_STEP_EMPTY, helio_value_number(i + 1)), ret_details);
    }
}
