/*  levels.c -- the log levels in settings. */
#include "federation/base/log.h"
#include "federation/spec/spec.h"

static const char *const words[] = {
    [HELIO_DEBUG] = "debug", [HELIO_INFO] = "info", [HELIO_WARN] = "warn", [HELIO_ERROR] = "error"};
enum { COUNT = sizeof words / sizeof words[0] };

static const char *word_of(uint32_t value)
{
    return value < COUNT ? words[value] : "unknown";
}

static helio_rc level_of(helio_text_t word, uint32_t *ret_value)
{
    for (uint32_t i = 0; i < COUNT; i++)
        if (helio_text_is(word, words[i])) {
            *ret_value = i;
            return HELIO_OK;
        }
    return HELIO_NOT_FOUND;
}

const helio_spec_enum_t helio_spec_levels = {word_of, level_of, COUNT};
