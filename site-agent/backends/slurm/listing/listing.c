/*  listing.c -- readers of numbers, times and key-value lines, and how lists are split. */
#include <string.h>

#include "site-agent/backends/slurm/listing/internal.h"

/* Seconds of the year 9999: a later value is not a time. */
#define TIME_MAX_S INT64_C(253402300799)

typedef struct state_row {
    const char *word;
    bool over;
} state_row_t;

enum { LIVE, OVER };
static const state_row_t states[HELIO_SLURM_STATE_COUNT] = {
#define STATE_ROW(name, word, life) [HELIO_SLURM_##name] = {word, life == OVER},
    HELIO_SLURM_STATE_TABLE(STATE_ROW)
#undef STATE_ROW
};

bool helio_slurm_state_is_over(helio_slurm_state_t state)
{
    return (unsigned)state < HELIO_SLURM_STATE_COUNT && states[state].over;
}

const char *helio_slurm_state_name(helio_slurm_state_t state)
{
    return (unsigned)state < HELIO_SLURM_STATE_COUNT ? states[state].word : "unknown";
}

helio_slurm_state_t helio_slurm_state_of(helio_text_t word)
{
    helio_slurm_state_t found = HELIO_SLURM_OTHER;
    helio_text_t rest = word, part;
    bool more = true;
    while (more) {
        more = helio_slurm_cut(&rest, ',', &part);
        for (uint32_t i = 0; i < HELIO_SLURM_STATE_COUNT; i++)
            if (helio_text_is(part, states[i].word))
                found = (helio_slurm_state_t)i;
    }
    return found;
}

/* ---- parts --------------------------------------------------------------------------------------------- */

helio_rc helio_slurm_refuse(helio_error_t *err, const char *list, uint32_t number, helio_text_t record)
{
    char shown[81];
    uint32_t size = record.size < sizeof shown - 1 ? record.size : (uint32_t)sizeof shown - 1;
    for (uint32_t i = 0; i < size; i++)
        shown[i] = record.data[i] >= 0x20 && record.data[i] < 0x7f ? record.data[i] : '?';
    shown[size] = '\0';
    return helio_fail(err, HELIO_INVALID, "entry %u of %s is not what it should be: '%s'", number, list, shown);
}

helio_text_t helio_slurm_skip(helio_text_t text, uint32_t bytes)
{
    if (bytes >= text.size)
        return (helio_text_t){0};
    return (helio_text_t){text.data + bytes, text.size - bytes};
}

bool helio_slurm_cut(helio_text_t *rest, char separator, helio_text_t *ret_part)
{
    const char *at = rest->size ? memchr(rest->data, separator, rest->size) : NULL;
    if (!at) {
        *ret_part = *rest;
        *rest = (helio_text_t){0};
        return false;
    }
    uint32_t size = (uint32_t)(at - rest->data);
    *ret_part = (helio_text_t){rest->data, size};
    *rest = helio_slurm_skip(*rest, size + 1);
    return true;
}

bool helio_slurm_line(helio_text_t *rest, helio_text_t *ret_line)
{
    if (!rest->size || !memchr(rest->data, '\n', rest->size))
        return false;
    return helio_slurm_cut(rest, '\n', ret_line);
}

uint32_t helio_slurm_line_count(helio_text_t text)
{
    uint32_t count = 0;
    helio_text_t line;
    while (helio_slurm_line(&text, &line))
        count++;
    return count;
}

bool helio_slurm_starts(helio_text_t text, const char *prefix)
{
    size_t size = strlen(prefix);
    return text.size >= size && memcmp(text.data, prefix, size) == 0;
}

helio_text_t helio_slurm_trim(helio_text_t text)
{
    while (text.size && text.data[text.size - 1] == ' ')
        text.size--;
    return text;
}

helio_text_t helio_slurm_or_empty(helio_text_t text)
{
    static const char *const nothing[] = {"N/A", "n/a", "NONE", "None", "Unknown", "(null)", "NULL", "None assigned"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        if (helio_text_is(text, nothing[i]))
            return (helio_text_t){0};
    return text;
}

/* ---- numbers and times --------------------------------------------------------------------------------- */

bool helio_slurm_u64(helio_text_t text, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (!text.size || text.size > 20)
        return false;
    for (uint32_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || __builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(text.data[i] - '0'), &value))
            return false;
    }
    *ret_value = value;
    return true;
}

bool helio_slurm_u32(helio_text_t text, uint32_t *ret_value)
{
    uint64_t value;
    if (!helio_slurm_u64(text, &value) || value > UINT32_MAX)
        return false;
    *ret_value = (uint32_t)value;
    return true;
}

bool helio_slurm_time(helio_text_t text, int64_t *ret_s)
{
    uint64_t value = 0;
    if (helio_slurm_or_empty(text).size && (!helio_slurm_u64(text, &value) || value > TIME_MAX_S))
        return false;
    *ret_s = (int64_t)value;
    return true;
}

bool helio_slurm_duration(helio_text_t text, uint64_t *ret_ms)
{
    uint64_t days = 0, total_s = 0, value;
    helio_text_t part;
    if (helio_text_is(text, "UNLIMITED") || helio_text_is(text, "INFINITE") || !helio_slurm_or_empty(text).size) {
        *ret_ms = 0;
        return true;
    }
    if (memchr(text.data, '-', text.size) && (!helio_slurm_cut(&text, '-', &part) || !helio_slurm_u64(part, &days)))
        return false;
    uint32_t parts = 0;
    for (bool more = true; more; parts++) {
        more = helio_slurm_cut(&text, ':', &part);
        if (parts == 3 || part.size > 9 || !helio_slurm_u64(part, &value))
            return false;
        total_s = total_s * 60 + value;
    }
    if (parts < 2 || days > 1000000)
        return false;
    *ret_ms = (days * 86400 + total_s) * 1000;
    return true;
}

bool helio_slurm_exit(helio_text_t text, uint32_t *ret_code, uint32_t *ret_signal)
{
    helio_text_t code;
    uint32_t number, signal;
    if (!helio_slurm_cut(&text, ':', &code) || !helio_slurm_u32(code, &number) || !helio_slurm_u32(text, &signal))
        return false;
    *ret_code = number;
    *ret_signal = signal;
    return true;
}

/* ---- Key=value ----------------------------------------------------------------------------------------- */

static uint32_t find_key(helio_text_t key, const char *const *keys)
{
    uint32_t i = 0;
    while (keys[i] && !helio_text_is(key, keys[i]))
        i++;
    return keys[i] ? i : UINT32_MAX;
}

uint32_t helio_slurm_fields(helio_text_t line, const char *const *keys, const char *const *ends,
                            helio_text_t *ret_values, helio_text_t *ret_tail)
{
    uint32_t seen = 0;
    helio_text_t rest = line, word, key;
    if (ret_tail)
        *ret_tail = (helio_text_t){0};
    for (bool more = true; more;) {
        helio_text_t from = rest;
        more = helio_slurm_cut(&rest, ' ', &word);
        if (!helio_slurm_cut(&word, '=', &key))
            continue;
        if (find_key(key, ends) != UINT32_MAX) {
            if (ret_tail)
                *ret_tail = from;
            break;
        }
        uint32_t i = find_key(key, keys);
        if (i == UINT32_MAX || seen & (UINT32_C(1) << i))
            continue;
        seen |= UINT32_C(1) << i;
        ret_values[i] = word;
    }
    return seen;
}

/* ---- sbatch --parsable --------------------------------------------------------------------------------- */

helio_rc helio_slurm_read_submitted(helio_text_t text, char ret_id[32])
{
    helio_text_t line, id;
    uint64_t number;
    if (!helio_slurm_line(&text, &line) || text.size) /* half a number would be another job's */
        return HELIO_INVALID;
    (void)helio_slurm_cut(&line, ';', &id);
    if (!helio_slurm_u64(id, &number) || number == 0 || number > UINT32_MAX)
        return HELIO_INVALID;
    (void)helio_text_copy(id, ret_id, 32);
    return HELIO_OK;
}
