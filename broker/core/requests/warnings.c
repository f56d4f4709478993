/*  warnings.c -- input warnings: names that no site has. A warning and no refusal, since sites come
 *  and go, and what is set for them may be set before. */
#include "broker/core/requests/warnings.h"

#include <string.h>

#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/sites.h"
#include "federation/base/suggest.h"

static const char *meant(helio_broker_core_t *self, const helio_suggestion_t *suggestion)
{
    return suggestion->best ? core_printf(self, ": did you mean '%s'?", suggestion->best) : "";
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

const char *core_warn_region(helio_broker_core_t *self, helio_text_t region)
{
    helio_suggestion_t suggestion = {.written = region};
    bool known = false;
    for (const site_t *site = self->sites; site; site = site->hh.next) {
        known = known || site->profile.region.size;
        offer_region(self, site->profile.region, &suggestion);
    }
    if (!region.size || !known || has_site(self, region))
        return "";
    return core_printf(self, "; no site that is known is in region '%.*s'%s", HELIO_TEXT_ARGS(region),
                       meant(self, &suggestion));
}

/* ---- sites ----------------------------------------------------------------------------------------------- */

const char *core_warn_site(helio_broker_core_t *self, helio_text_t name)
{
    helio_suggestion_t suggestion = {.written = name};
    if (!name.size || !self->sites || core_site_find(self, name))
        return "";
    for (const site_t *site = self->sites; site; site = site->hh.next)
        helio_suggestion_offer(&suggestion, site->name);
    return core_printf(self, "; no site that is known is named '%.*s'%s", HELIO_TEXT_ARGS(name),
                       meant(self, &suggestion));
}

/* ---- zones ----------------------------------------------------------------------------------------------- */

const char *core_warn_zone(helio_broker_core_t *self, helio_text_t zone)
{
    static const char west[] = "Etc/GMT";
    if (zone.size >= sizeof west && memcmp(zone.data, west, sizeof west - 1) == 0 &&
        strchr("+-", zone.data[sizeof west - 1]))
        return core_printf(self, "; %.*s is POSIX's name, whose + is behind UTC: name a place, as Europe/Berlin",
                           HELIO_TEXT_ARGS(zone));
    if (!zone.size || helio_text_is(zone, "GMT") || helio_text_is(zone, "UCT"))
        return "";
    for (uint32_t i = 0; i < zone.size; i++)
        if ((zone.data[i] < 'A' || zone.data[i] > 'Z') && (zone.data[i] < '0' || zone.data[i] > '9'))
            return "";
    return core_printf(self, "; %.*s is not the clock of a place, and may not be put forward and back as one is: name "
                             "a place, as Europe/Berlin",
                       HELIO_TEXT_ARGS(zone));
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

static const char *warning_of_pattern(helio_broker_core_t *self, uint32_t step, helio_text_t pattern)
{
    helio_suggestion_t suggestion = {.written = pattern};
    if (has_site(self, pattern))
        return core_printf(self, "; step %u: '%.*s' is a region, and steps name sites (`helio sites`)", step + 1,
                           HELIO_TEXT_ARGS(pattern));
    for (const site_t *site = self->sites; site; site = site->hh.next)
        helio_suggestion_offer(&suggestion, site->name);
    return core_printf(self, "; step %u: no site that is known is named by '%.*s'%s", step + 1,
                       HELIO_TEXT_ARGS(pattern), meant(self, &suggestion));
}

const char *core_warn_steps(helio_broker_core_t *self, const helio_overflow_t *steps)
{
    const char *said = "";
    for (uint32_t i = 0; self->sites && i < steps->count; i++) {
        const helio_overflow_step_t *step = &steps->steps[i];
        bool slipped = false;
        for (uint32_t p = 0; p < step->pattern_count; p++) {
            helio_text_t pattern = step->patterns[p].text;
            bool excludes = pattern.size && pattern.data[0] == '!';
            helio_text_t name = excludes ? (helio_text_t){pattern.data + 1, pattern.size - 1} : pattern;
            if (names_some(self, name))
                continue;
            said = core_printf(self, "%s%s", said, warning_of_pattern(self, i, name));
            slipped = true;
        }
        if (!slipped && !has_some(self, steps, i))
            said = core_printf(self, "%s; step %u: it has no site that is known: those that it names are of steps "
                                     "before it, or excluded",
                               said, i + 1);
    }
    helio_text_t some = core_text_cut(said, 400);
    return core_printf(self, "%.*s", HELIO_TEXT_ARGS(some));
}
