/*  value.c -- parses and formats quantities. Every grammar is parsed by hand from a view: no locale, no copies, no
 *  silent overflow. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/char.h"
#include "federation/base/duration.h"
#include "federation/spec/value.h"

__extension__ typedef unsigned __int128 value_u128_t;

enum { NUMBER_DIGITS_MAX = 30, F64_TEXT_MAX = 64 };

typedef struct cursor {
    const char *at;
    const char *end;
} cursor_t;

static cursor_t cursor_of(helio_text_t text)
{
    return (cursor_t){text.data, text.data ? text.data + text.size : text.data};
}

static bool at_digit(const cursor_t *self)
{
    return self->at < self->end && helio_is_digit(*self->at);
}

/*  A run of digits; HELIO_INVALID without a digit, HELIO_TOO_BIG beyond 64 bits. */
static helio_rc take_u64(cursor_t *self, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (!at_digit(self))
        return HELIO_INVALID;
    for (; at_digit(self); self->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*self->at - '0'), &value))
            return HELIO_TOO_BIG;
    *ret_value = value;
    return HELIO_OK;
}

static bool take_unit(cursor_t *self, const char *unit)
{
    size_t size = strlen(unit);
    if ((size_t)(self->end - self->at) != size || memcmp(self->at, unit, size) != 0)
        return false;
    self->at = self->end;
    return true;
}

/*  Digits with an optional fraction, as an integer and the number of its decimals. */
static helio_rc take_decimal(cursor_t *self, value_u128_t *ret_digits, uint32_t *ret_decimals)
{
    value_u128_t digits = 0;
    uint32_t count = 0, decimals = 0;
    if (!at_digit(self))
        return HELIO_INVALID;
    for (; at_digit(self); self->at++, count++) {
        if (count == NUMBER_DIGITS_MAX)
            return HELIO_TOO_BIG;
        digits = digits * 10 + (unsigned)(*self->at - '0');
    }
    if (self->at < self->end && *self->at == '.') {
        self->at++;
        if (!at_digit(self))
            return HELIO_INVALID;
        for (; at_digit(self); self->at++, count++, decimals++) {
            if (count == NUMBER_DIGITS_MAX)
                return HELIO_TOO_BIG;
            digits = digits * 10 + (unsigned)(*self->at - '0');
        }
    }
    *ret_digits = digits;
    *ret_decimals = decimals;
    return HELIO_OK;
}

static helio_rc take_duration_unit(cursor_t *self, size_t *next)
{
    const char *start = self->at;
    while (self->at < self->end && *self->at >= 'a' && *self->at <= 'z')
        self->at++;
    helio_text_t word = {start, (uint32_t)(self->at - start)};
    for (size_t i = *next; i < HELIO_DURATION_UNITS; i++)
        if (helio_text_is(word, helio_duration_units[i].name)) {
            *next = i + 1;
            return HELIO_OK;
        }
    return HELIO_INVALID;
}

helio_rc helio_duration_parse(helio_text_t text, uint64_t *ret_ms)
{
    cursor_t cursor = cursor_of(text);
    uint64_t total = 0, value, part;
    size_t next = 0;
    if (helio_text_is(text, "0")) {
        *ret_ms = 0;
        return HELIO_OK;
    }
    if (cursor.at == cursor.end)
        return HELIO_INVALID;
    while (cursor.at < cursor.end) {
        helio_rc rc = take_u64(&cursor, &value);
        if (rc == HELIO_OK)
            rc = take_duration_unit(&cursor, &next);
        if (rc != HELIO_OK)
            return rc;
        if (__builtin_mul_overflow(value, helio_duration_units[next - 1].ms, &part) ||
            __builtin_add_overflow(total, part, &total) || total > INT64_MAX)
            return HELIO_TOO_BIG;
    }
    *ret_ms = total;
    return HELIO_OK;
}

/*  A unit as people write it: "h", "hour", "Hours". 0 = it is none. */
static uint64_t meant_unit_ms(helio_text_t word)
{
    static const struct {
        const char *names;
        uint64_t ms;
    } units[] = {{" w week weeks ", 604800000},         {" d day days ", 86400000},
                 {" h hr hrs hour hours ", 3600000},    {" m min mins minute minutes ", 60000},
                 {" s sec secs second seconds ", 1000}, {" ms ", 1}};
    char padded[16] = " ";
    if (word.size == 0 || word.size > sizeof padded - 3)
        return 0;
    for (uint32_t i = 0; i < word.size; i++)
        padded[i + 1] = (char)(helio_is_letter(word.data[i]) ? word.data[i] | 0x20 : word.data[i]);
    padded[word.size + 1] = ' ';
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strstr(units[i].names, padded))
            return units[i].ms;
    return 0;
}

/*  H:MM:SS */
static bool take_clock(helio_text_t text, uint64_t *ret_ms)
{
    static const uint64_t factors[] = {3600000, 60000, 1000};
    cursor_t cursor = cursor_of(text);
    uint64_t number, total = 0;
    for (size_t i = 0; i < 3; i++) {
        if (i && (cursor.at == cursor.end || *cursor.at++ != ':'))
            return false;
        if (take_u64(&cursor, &number) != HELIO_OK || number >= (i ? 60 : 100000))
            return false;
        total += number * factors[i];
    }
    *ret_ms = total;
    return cursor.at == cursor.end;
}

helio_rc helio_duration_guess(helio_text_t text, uint64_t *ret_ms)
{
    enum { DIGITS_SURE = 9 };
    cursor_t cursor = cursor_of(text);
    value_u128_t digits = 0;
    uint32_t decimals = 0;
    if (take_clock(text, ret_ms))
        return HELIO_OK;
    if (take_decimal(&cursor, &digits, &decimals) != HELIO_OK || digits > 999999999 || decimals > DIGITS_SURE)
        return HELIO_INVALID;
    if (cursor.at < cursor.end && *cursor.at == ' ')
        cursor.at++;
    uint64_t unit_ms = meant_unit_ms((helio_text_t){cursor.at, (uint32_t)(cursor.end - cursor.at)}), scale = 1;
    for (uint32_t i = 0; i < decimals; i++)
        scale *= 10;
    value_u128_t scaled = digits * unit_ms;
    if (scaled == 0 || scaled % scale != 0)
        return HELIO_INVALID;
    *ret_ms = (uint64_t)(scaled / scale);
    return HELIO_OK;
}

/*  The factor of a size unit; 0 if it is not one. */
static uint64_t bytes_factor(helio_text_t unit)
{
    static const char prefixes[] = "KMGTP";
    if (helio_text_is(unit, "B"))
        return 1;
    bool binary = unit.size == 3 && unit.data[1] == 'i';
    if ((!binary && unit.size != 2) || unit.data[unit.size - 1] != 'B')
        return 0;
    char letter = unit.data[0] == 'k' && !binary ? 'K' : unit.data[0];
    uint64_t factor = 1;
    for (size_t i = 0; prefixes[i]; i++) {
        factor *= binary ? 1024 : 1000;
        if (prefixes[i] == letter)
            return factor;
    }
    return 0;
}

helio_rc helio_bytes_parse(helio_text_t text, uint64_t *ret_bytes)
{
    cursor_t cursor = cursor_of(text);
    value_u128_t digits;
    uint32_t decimals;
    if (helio_text_is(text, "0")) {
        *ret_bytes = 0;
        return HELIO_OK;
    }
    helio_rc rc = take_decimal(&cursor, &digits, &decimals);
    if (rc != HELIO_OK)
        return rc;
    if (cursor.at < cursor.end && *cursor.at == ' ')
        cursor.at++;
    uint64_t factor = bytes_factor((helio_text_t){cursor.at, (uint32_t)(cursor.end - cursor.at)});
    if (factor == 0)
        return HELIO_INVALID;
    value_u128_t bytes;
    if (__builtin_mul_overflow(digits, (value_u128_t)factor, &bytes))
        return HELIO_TOO_BIG;
    for (; decimals > 0; decimals--)
        bytes /= 10;
    if (bytes > INT64_MAX)
        return HELIO_TOO_BIG;
    *ret_bytes = (uint64_t)bytes;
    return HELIO_OK;
}

helio_rc helio_quantity_parse(helio_text_t text, const char *unit, uint32_t decimals, uint64_t *ret_scaled)
{
    cursor_t cursor = cursor_of(text);
    value_u128_t digits;
    uint32_t written;
    helio_rc rc = take_decimal(&cursor, &digits, &written);
    if (rc != HELIO_OK)
        return rc;
    if (cursor.at < cursor.end && *cursor.at == ' ')
        cursor.at++;
    if (!take_unit(&cursor, unit) || written > decimals)
        return HELIO_INVALID;
    for (; written < decimals; written++)
        if (__builtin_mul_overflow(digits, (value_u128_t)10, &digits))
            return HELIO_TOO_BIG;
    if (digits > INT64_MAX)
        return HELIO_TOO_BIG;
    *ret_scaled = (uint64_t)digits;
    return HELIO_OK;
}

helio_rc helio_money_parse(helio_text_t text, int64_t *ret_micro_usd)
{
    uint64_t micro;
    helio_rc rc = helio_quantity_parse(text, "USD", 6, &micro);
    if (rc == HELIO_OK)
        *ret_micro_usd = (int64_t)micro;
    return rc;
}

helio_rc helio_rate_parse(helio_text_t text, const char *unit, int64_t *ret_micro_usd)
{
    char whole[HELIO_VALUE_SIZE];
    uint64_t micro;
    int size = snprintf(whole, sizeof whole, "USD/%s", unit);
    assert(size > 0 && (size_t)size < sizeof whole);
    helio_rc rc = helio_quantity_parse(text, whole, 6, &micro);
    if (rc == HELIO_OK)
        *ret_micro_usd = (int64_t)micro;
    return rc;
}

helio_rc helio_u64_parse(helio_text_t text, uint64_t *ret_value)
{
    cursor_t cursor = cursor_of(text);
    uint64_t value;
    helio_rc rc = take_u64(&cursor, &value);
    if (rc != HELIO_OK)
        return rc;
    if (cursor.at != cursor.end)
        return HELIO_INVALID;
    *ret_value = value;
    return HELIO_OK;
}

helio_rc helio_i64_parse(helio_text_t text, int64_t *ret_value)
{
    bool negative = text.size > 1 && text.data[0] == '-';
    uint64_t value;
    helio_text_t digits = {text.data + negative, text.size - negative};
    helio_rc rc = text.size ? helio_u64_parse(digits, &value) : HELIO_INVALID;
    if (rc != HELIO_OK)
        return rc;
    if (value > (uint64_t)INT64_MAX + negative)
        return HELIO_TOO_BIG;
    *ret_value = negative ? (int64_t)(0 - value) : (int64_t)value;
    return HELIO_OK;
}

/*  strtod alone would also accept hexadecimal, infinities, names and leading white space. */
static bool is_decimal_number(helio_text_t text)
{
    cursor_t cursor = cursor_of(text);
    if (cursor.at < cursor.end && *cursor.at == '-')
        cursor.at++;
    if (!at_digit(&cursor))
        return false;
    while (at_digit(&cursor))
        cursor.at++;
    if (cursor.at < cursor.end && *cursor.at == '.') {
        cursor.at++;
        if (!at_digit(&cursor))
            return false;
        while (at_digit(&cursor))
            cursor.at++;
    }
    if (cursor.at < cursor.end && (*cursor.at == 'e' || *cursor.at == 'E')) {
        cursor.at++;
        if (cursor.at < cursor.end && (*cursor.at == '+' || *cursor.at == '-'))
            cursor.at++;
        if (!at_digit(&cursor))
            return false;
        while (at_digit(&cursor))
            cursor.at++;
    }
    return cursor.at == cursor.end;
}

helio_rc helio_f64_parse(helio_text_t text, double *ret_value)
{
    char copy[F64_TEXT_MAX], *end;
    if (!is_decimal_number(text) || !helio_text_copy(text, copy, sizeof copy))
        return HELIO_INVALID;
    double value = strtod(copy, &end);
    if (*end != '\0')
        return HELIO_INVALID;
    if (!isfinite(value))
        return HELIO_TOO_BIG;
    *ret_value = value;
    return HELIO_OK;
}

void helio_bytes_text(uint64_t bytes, char ret_text[HELIO_VALUE_SIZE])
{
    static const char *const units[2][6] = {{"B", "KB", "MB", "GB", "TB", "PB"},
                                            {"B", "KiB", "MiB", "GiB", "TiB", "PiB"}};
    for (unsigned binary = 0; binary < 2; binary++) {
        uint64_t step = binary ? 1024 : 1000, value = bytes;
        size_t unit = 0;
        while (unit < 5 && value != 0 && value % step == 0) {
            value /= step;
            unit++;
        }
        /* 1024000 is 1024KB and 1000KiB: the decimal form wins wherever it is exact. */
        if (unit > 0 || binary == 1) {
            (void)snprintf(ret_text, HELIO_VALUE_SIZE, "%" PRIu64 "%s", value, units[binary][unit]);
            return;
        }
    }
}

void helio_money_text(int64_t micro_usd, char ret_text[HELIO_VALUE_SIZE])
{
    uint64_t magnitude = micro_usd < 0 ? 0 - (uint64_t)micro_usd : (uint64_t)micro_usd;
    char fraction[16];
    (void)snprintf(fraction, sizeof fraction, ".%06" PRIu64, magnitude % 1000000);
    size_t size = strlen(fraction);
    while (size > 0 && (fraction[size - 1] == '0' || fraction[size - 1] == '.')) {
        bool dot = fraction[--size] == '.';
        fraction[size] = '\0';
        if (dot)
            break;
    }
    (void)snprintf(ret_text, HELIO_VALUE_SIZE, "%s%" PRIu64 "%s USD", micro_usd < 0 ? "-" : "", magnitude / 1000000,
                   fraction);
}
