/*  document.c -- members of a document, and resource quantities. */
#include <stdio.h>
#include <string.h>

#include "federation/base/clock.h"
#include "site-agent/backends/kubernetes/document.h"

json_t *helio_kube_at(const json_t *from, const char *const *keys)
{
    json_t *found = json_object_get(from, keys[0]);
    for (keys++; *keys && found; keys++)
        found = json_object_get(found, *keys);
    return found;
}

helio_text_t helio_kube_text(const json_t *value)
{
    return json_is_string(value) ? (helio_text_t){json_string_value(value), (uint32_t)json_string_length(value)}
                                 : (helio_text_t){0};
}

json_t *helio_kube_named(const json_t *list, const char *key, const char *word)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);
        if (helio_text_is(helio_kube_text(json_object_get(item, key)), word))
            return item;
    }
    return NULL;
}

bool helio_kube_condition(const json_t *object, const char *type)
{
    const json_t *found = helio_kube_named(HELIO_KUBE_AT(object, "status", "conditions"), "type", type);
    return helio_text_is(helio_kube_text(json_object_get(found, "status")), "True");
}

void helio_kube_key(const json_t *object, char ret_key[HELIO_KUBE_KEY_SIZE])
{
    helio_text_t space = helio_kube_text(HELIO_KUBE_AT(object, "metadata", "namespace"));
    helio_text_t name = helio_kube_text(HELIO_KUBE_AT(object, "metadata", "name"));
    (void)snprintf(ret_key, HELIO_KUBE_KEY_SIZE, "%.*s/%.*s", HELIO_TEXT_ARGS(space), HELIO_TEXT_ARGS(name));
}

int64_t helio_kube_time(const json_t *value)
{
    int64_t wall_ms = 0;
    helio_text_t text = helio_kube_text(value);
    return text.size && helio_rfc3339_parse(text, &wall_ms) == HELIO_OK ? wall_ms : 0;
}

/* ---- quantities ---------------------------------------------------------------------------------------- */

typedef struct helio_kube_suffix {
    const char *word;
    uint32_t base, power; /* the factor is base^power thousandths */
} helio_kube_suffix_t;

static const helio_kube_suffix_t suffixes[] = {{"n", 10, 0},  {"u", 10, 0},  {"m", 10, 0},  {"", 10, 3},
                                               {"k", 10, 6},  {"M", 10, 9},  {"G", 10, 12}, {"T", 10, 15},
                                               {"P", 10, 18}, {"E", 10, 21}, {"Ki", 2, 10}, {"Mi", 2, 20},
                                               {"Gi", 2, 30}, {"Ti", 2, 40}, {"Pi", 2, 50}, {"Ei", 2, 60}};
enum {
    SUFFIX_COUNT = sizeof suffixes / sizeof suffixes[0],
    EXPONENT_MAX = 30,
    DECIMALS_MAX = 12 /* the API itself has nine; what follows only rounds up */
};

__extension__ typedef unsigned __int128 wide_t;
#define LIMIT ((wide_t)1 << 120) /* the room above it is for one more digit */

/*  Multiplies; beyond the limit it stays there. */
static wide_t times(wide_t value, uint32_t base, uint32_t power)
{
    for (uint32_t i = 0; i < power; i++)
        value = value >= LIMIT ? LIMIT : value * base;
    return value;
}

/*  Divides and rounds up; what was beyond the limit stays there. */
static wide_t over(wide_t value, uint32_t power)
{
    for (uint32_t i = 0; i < power && value < LIMIT; i++)
        value = (value + 9) / 10;
    return value;
}

/*  "e3", "E-2": a power of ten. */
static bool exponent_of(helio_text_t suffix, int32_t *ret_exponent)
{
    if (suffix.size < 2 || (suffix.data[0] != 'e' && suffix.data[0] != 'E'))
        return false;
    bool negative = suffix.data[1] == '-';
    int32_t exponent = 0;
    for (uint32_t i = negative || suffix.data[1] == '+' ? 2 : 1; i < suffix.size; i++) {
        if (suffix.data[i] < '0' || suffix.data[i] > '9' || exponent > EXPONENT_MAX)
            return false;
        exponent = exponent * 10 + (suffix.data[i] - '0');
    }
    *ret_exponent = negative ? -exponent : exponent;
    return suffix.data[suffix.size - 1] >= '0' && suffix.data[suffix.size - 1] <= '9';
}

/*  The digits of a number as a whole one, and how many of them are decimals; the length that was read. */
static uint32_t digits_of(helio_text_t text, wide_t *ret_value, uint32_t *ret_decimals)
{
    uint32_t at = text.size && text.data[0] == '+' ? 1 : 0, digits = 0;
    bool point = false, more = false;
    for (; at < text.size; at++) {
        char c = text.data[at];
        if (c == '.' && !point) {
            point = true;
        } else if (c >= '0' && c <= '9') {
            bool counts = *ret_decimals < DECIMALS_MAX;
            *ret_value = counts ? times(*ret_value, 10, 1) + (uint32_t)(c - '0') : *ret_value;
            more = more || (!counts && c != '0');
            *ret_decimals += point && counts;
            digits++;
        } else {
            break;
        }
    }
    *ret_value += more;
    return digits ? at : 0;
}

/*  The thousandths that a suffix makes of a number with decimals: small suffixes count as further decimals. */
static helio_rc scale(helio_text_t suffix, uint32_t decimals, wide_t *value)
{
    int32_t exponent;
    if (exponent_of(suffix, &exponent)) {
        *value = over(times(*value, 10, (uint32_t)(exponent > -3 ? exponent + 3 : 0)),
                      decimals + (uint32_t)(exponent < -3 ? -3 - exponent : 0));
        return HELIO_OK;
    }
    for (uint32_t i = 0; i < SUFFIX_COUNT; i++)
        if (helio_text_is(suffix, suffixes[i].word)) {
            uint32_t small = i == 0 ? 6 : i == 1 ? 3 : 0;
            wide_t scaled = times(*value, suffixes[i].base, suffixes[i].power);
            *value = over(suffixes[i].base == 2 ? times(scaled, 10, 3) : scaled, decimals + small);
            return HELIO_OK;
        }
    return HELIO_INVALID;
}

helio_rc helio_kube_quantity(helio_text_t text, uint64_t *ret_milli)
{
    wide_t value = 0;
    uint32_t decimals = 0;
    uint32_t used = digits_of(text, &value, &decimals);
    if (!used || scale((helio_text_t){text.data + used, text.size - used}, decimals, &value))
        return HELIO_INVALID;
    *ret_milli = value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
    return HELIO_OK;
}

uint64_t helio_kube_milli(const json_t *value)
{
    uint64_t milli = 0;
    if (json_is_integer(value)) {
        uint64_t units = json_integer_value(value) > 0 ? (uint64_t)json_integer_value(value) : 0;
        return units > UINT64_MAX / 1000 ? UINT64_MAX : units * 1000;
    }
    return helio_kube_quantity(helio_kube_text(value), &milli) == HELIO_OK ? milli : 0;
}

uint64_t helio_kube_units(const json_t *value)
{
    return helio_kube_milli(value) / 1000;
}
