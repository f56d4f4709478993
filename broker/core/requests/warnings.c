/*  warnings.c -- input warnings: names that no site has. They do not refuse the request, since sites come and go, and
 *  settings for a site can be made before it joins. */
#include "broker/core/requests/warnings.h"

#include <string.h>

#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"
#include "federation/base/suggest.h"

static helio_value_t meant(const helio_suggestion_t *suggestion)
{
    return helio_value_string(suggestion->best ? suggestion->best : "");
}

static void add(helio_broker_core_t *self, helio_detail_t detail, helio_details_t *ret_details)
{
    core_why_add(self, ret_details, detail);
}

/* ---- regions --------------------------------------------------------------------------------------------- */

/*  EU-SE-1 is of EU-SE and of EU. */
static void offer_region(helio_broker_core_t *self, helio_text_t region, helio_suggestion_t *suggestion)
{
    for (uint32_t i = 1; i <= region.size; i++)
        if (i == region.size || region.data[i] == '-')
            helio_suggestion_offer(suggestion,
                                   helio_arena_string(self->effects->arena, (helio_text_t){region.data, i}));
}

static bool has_site(const helio_broker_core_t *self, helio_text_t region)
{
    for (const site_t *site = self->sites; site; site = site->hh.next)
        if (helio_region_is_within(site->profile.region, region))
            return true;
    return false;
}

void core_warn_region(helio_broker_core_t *self, helio_text_t region, helio_details_t *ret_details)
{
    helio_suggestion_t suggestion = {.written = region};
    bool known = false;
    for (const site_t *site = self->sites; site; site = site->hh.next) {
        known = known || site->profile.region.size;
        offer_region(self, site->profile.region, &suggestion);
    }
    if (region.size && known && !has_site(self, region))
        add(self, CORE_DETAIL(self, HELIO_DETAIL_WARN_REGION, helio_value_text(region), meant(&suggestion)), ret_details);
}

/* ---- sites ----------------------------------------------------------------------------------------------- */

void core_warn_site(helio_broker_core_t *self, helio_text_t name, helio_details_t *ret_details)
{
    helio_suggestion_t suggestion = {.written = name};
    if (!name.size || !self->sites || core_site_find(self, name))
        return;
    for (const site_t *site = self->sites; site; site = site->hh.next)
        helio_suggestion_offer(&suggestion, site->name);
    add(self, CORE_DETAIL(self, HELIO_DETAIL_WARN_SITE, helio_value_text(name), meant(&suggestion)), ret_details);
}

/* ---- zones ----------------------------------------------------------------------------------------------- */

/*  UTC, GMT and UCT are names of three capital letters, as EST is, and right. */
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

static bool names_some(const helio_broker_core_t *self, helio_text_t pattern)
{
    for (const site_t *site = self->sites; site; site = site->hh.next)
        if (helio_pattern_match(pattern, helio_text_of(site->name)))
            return true;
    return false;
}

static bool has_some(const helio_broker_core_t *self, const helio_overflow_t *steps, uint32_t step)
{
    for (const site_t *site = self->sites; site; site = site->hh.next)
        if (helio_overflow_step_of(steps, helio_text_of(site->name)) == step)
            return true;
    return false;
}

static helio_detail_t warning_of_pattern(helio_broker_core_t *self, uint32_t step, helio_text_t pattern)
{
    helio_suggestion_t suggestion = {.written = pattern};
    if (has_site(self, pattern))
        return CORE_DETAIL(self, HELIO_DETAIL_WARN_STEP_REGION, helio_value_number(step + 1), helio_value_text(pattern));
    for (const site_t *site = self->sites; site; site = site->hh.next)
        helio_suggestion_offer(&suggestion, site->name);
    return CORE_DETAIL(self, HELIO_DETAIL_WARN_STEP_SITE, helio_value_number(step + 1), helio_value_text(pattern),
                       meant(&suggestion));
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
            if (names_some(self, name))
                continue;
            add(self, warning_of_pattern(self, i, name), ret_details);
            warned = true;
        }
        if (!warned && !has_some(self, steps, i))
            add(self, CORE_DETAIL(self, HELIO_DETAIL_WARN_STEP_EMPTY, helio_value_number(i + 1)), ret_details);
    }
}
