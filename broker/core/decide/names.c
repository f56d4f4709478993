/*  names.c -- words that name sites, regions and kinds of sites. */
#include "broker/core/decide/names.h"

#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"
#include "federation/base/suggest.h"

enum { WORDS_NAMED = 3 };

static bool answers(const site_t *site, names_t names, helio_text_t word)
{
    if (names == NAMES_SITES)
        return helio_pattern_match(word, helio_text_of(site->name));
    if (names == NAMES_REGIONS)
        return helio_region_is_within(site->profile.region, word);
    return helio_text_equal(word, site->profile.backend);
}

bool core_name_is_known(const helio_broker_core_t *self, names_t names, helio_text_t word)
{
    for (const site_t *site = self->sites; site; site = site->hh.next)
        if (answers(site, names, word))
            return true;
    return false;
}

/*  EU-SE-1 is part of EU-SE and of EU. */
static void offer_region(helio_broker_core_t *self, helio_text_t region, helio_suggestion_t *suggestion)
{
    for (uint32_t i = 1; i <= region.size; i++)
        if (i == region.size || region.data[i] == '-')
            helio_suggestion_offer(suggestion,
                                   helio_arena_string(self->effects->arena, (helio_text_t){region.data, i}));
}

const char *core_name_meant(helio_broker_core_t *self, names_t names, helio_text_t word)
{
    if (names == NAMES_SITES)
        return core_site_meant(self, word);
    helio_suggestion_t suggestion = {.written = word};
    for (const site_t *site = self->sites; site; site = site->hh.next) {
        if (names == NAMES_REGIONS)
            offer_region(self, site->profile.region, &suggestion);
        else
            helio_suggestion_offer(&suggestion, helio_arena_string(self->effects->arena, site->profile.backend));
    }
    return suggestion.best ? suggestion.best : "";
}

/* ---- the lists of `placement` ------------------------------------------------------------------------------- */

typedef struct words {
    const char *path; /* as the job file calls the list */
    const helio_string_t *items;
    uint32_t count;
} words_t;

static words_t words_of(const helio_requirement_t *want, names_t names)
{
    switch (names) {
    case NAMES_SITES:
        return (words_t){"placement.sites", want->sites.items, want->sites.count};
    case NAMES_REGIONS:
        return (words_t){"placement.regions", want->regions.items, want->regions.count};
    case NAMES_BACKENDS:
    case NAMES_COUNT:
    default:
        return (words_t){"placement.backends", want->backends.items, want->backends.count};
    }
}

static bool excludes(helio_text_t word)
{
    return word.size && word.data[0] == '!';
}

/*  What a word names, without the mark of one that excludes. */
static helio_text_t bare(helio_text_t word)
{
    return excludes(word) ? (helio_text_t){word.data + 1, word.size - 1} : word;
}

/*  The next word, from *at on, that no known site answers to; empty = none. A word that excludes needs no site: it is
 *  one of them only where it looks like a mistake. */
static helio_text_t next_unknown(helio_broker_core_t *self, names_t names, const words_t *words, uint32_t *at)
{
    while (*at < words->count) {
        helio_text_t word = words->items[(*at)++].text, name = bare(word);
        if (!core_name_is_known(self, names, name) && (!excludes(word) || core_name_meant(self, names, name)[0]))
            return word;
    }
    return (helio_text_t){0};
}

bool core_placement_names_none(const helio_broker_core_t *self, const helio_requirement_t *want, names_t names)
{
    words_t words = words_of(want, names);
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < words.count; i++) {
        wanted += !excludes(words.items[i].text);
        if (!excludes(words.items[i].text) && core_name_is_known(self, names, words.items[i].text))
            return false;
    }
    return wanted && self->sites;
}

static helio_detail_t unknown_words(helio_broker_core_t *self, const helio_requirement_t *want, names_t names)
{
    words_t words = words_of(want, names);
    const char *listed = "", *meant = "";
    uint32_t at = 0, count = 0;
    for (helio_text_t word; (word = next_unknown(self, names, &words, &at)).size; count++) {
        if (count < WORDS_NAMED)
            listed = core_printf(self, "%s%s%.*s", listed, count ? "," : "", HELIO_TEXT_ARGS(word));
        if (!meant[0])
            meant = core_name_meant(self, names, bare(word));
    }
    if (!count)
        return CORE_NO_DETAIL;
    return helio_detail_make(
        self->effects->arena,
        core_placement_names_none(self, want, names) ? HELIO_DETAIL_NO_SITE_MATCHES : HELIO_DETAIL_WARN_PLACEMENT,
        (const helio_value_t[]){helio_value_string(words.path),
                                {.number = count, .text = helio_text_of(listed)},
                                helio_value_string(meant)},
        3);
}

void core_placement_names(helio_broker_core_t *self, const helio_requirement_t *want, helio_details_t *ret_details)
{
    for (int names = 0; self->sites && names < NAMES_COUNT; names++)
        core_why_add(self, ret_details, unknown_words(self, want, (names_t)names));
}

/*  NULL = no word of the list looks like a mistake. */
static helio_string_t *corrected(helio_broker_core_t *self, names_t names, const words_t *words,
                                 helio_details_t *ret_changes)
{
    helio_arena_t *arena = self->effects->arena;
    helio_string_t *items = helio_arena_alloc(arena, words->count + 1, sizeof *items);
    bool any = false;
    for (uint32_t i = 0; i < words->count; i++) {
        helio_text_t word = words->items[i].text;
        const char *meant = core_name_is_known(self, names, bare(word)) ? "" : core_name_meant(self, names, bare(word));
        items[i] = words->items[i];
        if (!meant[0])
            continue;
        items[i].text = helio_arena_printf(arena, "%s%s", excludes(word) ? "!" : "", meant);
        if (!any)
            core_why_add(self, ret_changes,
                         CORE_DETAIL(self, HELIO_DETAIL_TRY_SPELLING, helio_value_text(word),
                                     helio_value_text(items[i].text), helio_value_string(words->path)));
        any = true;
    }
    return any ? items : NULL;
}

bool core_placement_correct(helio_broker_core_t *self, helio_requirement_t *want, helio_details_t *ret_changes)
{
    uint32_t before = ret_changes->items.count;
    for (int names = 0; names < NAMES_COUNT; names++) {
        words_t words = words_of(want, (names_t)names);
        helio_string_t *items = corrected(self, (names_t)names, &words, ret_changes);
        if (items && names == NAMES_SITES)
            want->sites.items = items;
        else if (items && names == NAMES_REGIONS)
            want->regions.items = items;
        else if (items)
            want->backends.items = items;
    }
    return ret_changes->items.count > before;
}
