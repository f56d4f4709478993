/*  overflow.c -- parses overflow steps, and decides which are open. */
#include "federation/base/char.h"
#include "federation/policy/overflow.h"

#include <stdio.h>
#include <string.h>

static helio_text_t trim(helio_text_t text)
{
    while (text.size && text.data[0] == ' ')
        text = (helio_text_t){text.data + 1, text.size - 1};
    while (text.size && text.data[text.size - 1] == ' ')
        text.size--;
    return text;
}

/*  The text before the first separator; *text becomes the rest, with data NULL if there was no separator. */
static helio_text_t cut(helio_text_t *text, char separator)
{
    const char *at = memchr(text->data, separator, text->size);
    helio_text_t first = {text->data, at ? (uint32_t)(at - text->data) : text->size};
    *text = at ? (helio_text_t){at + 1, text->size - first.size - 1} : (helio_text_t){0};
    return trim(first);
}

static bool begins(helio_text_t text, const char *prefix, helio_text_t *ret_rest)
{
    size_t size = strlen(prefix);
    if (text.size < size || memcmp(text.data, prefix, size) != 0)
        return false;
    *ret_rest = (helio_text_t){text.data + size, text.size - (uint32_t)size};
    return true;
}

/*  Parses digits and at most `places` decimals, scaled by 10^places; *text becomes the rest. */
static bool take_number(helio_text_t *text, uint32_t places, int64_t most, int64_t *ret_value)
{
    int64_t value = 0;
    uint32_t digits = 0, behind = 0;
    bool stop = false;
    for (; text->size; text->data++, text->size--) {
        char c = text->data[0];
        if (c == '.' && !stop && places && digits) {
            stop = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        if (stop && behind == places)
            return false;
        value = value * 10 + (c - '0');
        behind += stop;
        digits++;
        if (value > most)
            return false;
    }
    for (; behind < places; behind++)
        value *= 10;
    *ret_value = value;
    return digits > 0 && value <= most;
}

static bool take_duration(helio_text_t text, uint64_t *ret_ms)
{
    static const struct {
        char unit;
        int64_t ms;
    } units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}};
    const int64_t most = (int64_t)HELIO_OVERFLOW_AFTER_MAX_D * 86400000;
    int64_t value;
    if (!take_number(&text, 0, most, &value) || text.size != 1)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (text.data[0] == units[i].unit && value * units[i].ms <= most) {
            *ret_ms = (uint64_t)(value * units[i].ms);
            return true;
        }
    return false;
}

static bool is_pattern(helio_text_t text)
{
    if (text.size && text.data[0] == '!')
        text = (helio_text_t){text.data + 1, text.size - 1};
    for (uint32_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (!(helio_is_letter_or_digit(c) || c == '*' || c == '.' || c == '_' || c == '-'))
            return false;
    }
    return text.size > 0;
}

static helio_rc take_part(helio_overflow_step_t *step, uint32_t number, helio_text_t part, helio_error_t *err)
{
    helio_text_t value;
    if (begins(part, "after=", &value)) {
        if (!take_duration(value, &step->after_ms))
            return helio_fail(err, HELIO_INVALID,
                              "step %u: after needs a duration such as 90s, 10m or 6h, at most %d days, not '%.*s'",
                              number, HELIO_OVERFLOW_AFTER_MAX_D, HELIO_TEXT_ARGS(value));
        return HELIO_OK;
    }
    if (begins(part, "max-price=", &value)) {
        bool good = take_number(&value, 6, (int64_t)HELIO_OVERFLOW_PRICE_MAX * 1000000, &step->max_price_micro_usd);
        if (!good || value.size || !step->max_price_micro_usd)
            return helio_fail(err, HELIO_INVALID,
                              "step %u: max-price needs USD per GPU-hour, such as 3 or 2.50, at most %d", number,
                              HELIO_OVERFLOW_PRICE_MAX);
        return HELIO_OK;
    }
    if (!is_pattern(part))
        return helio_fail(err, HELIO_INVALID,
                          "step %u: '%.*s' is neither a site pattern nor after=DURATION nor max-price=USD", number,
                          HELIO_TEXT_ARGS(part));
    if (step->pattern_count == HELIO_OVERFLOW_PATTERNS_MAX)
        return helio_fail(err, HELIO_INVALID, "step %u: at most %d site patterns", number, HELIO_OVERFLOW_PATTERNS_MAX);
    step->patterns[step->pattern_count++].text = part;
    return HELIO_OK;
}

static helio_rc take_step(helio_overflow_t *overflow, helio_text_t text, helio_error_t *err)
{
    uint32_t number = overflow->count + 1;
    if (overflow->count == HELIO_OVERFLOW_STEPS_MAX)
        return helio_fail(err, HELIO_INVALID, "at most %d steps", HELIO_OVERFLOW_STEPS_MAX);
    helio_overflow_step_t *step = &overflow->steps[overflow->count++];
    while (text.data) {
        helio_rc rc = take_part(step, number, cut(&text, ','), err);
        if (rc != HELIO_OK)
            return rc;
    }
    if (!step->pattern_count)
        return helio_fail(err, HELIO_INVALID, "step %u: no sites: name them by patterns such as 'eu-*'", number);
    if (number == 1 && step->after_ms)
        return helio_fail(err, HELIO_INVALID, "step 1: the first step is always open and takes no after");
    if (number > 1 && step->after_ms < step[-1].after_ms)
        return helio_fail(err, HELIO_INVALID, "step %u: its after must not be less than that of the previous step",
                          number);
    return HELIO_OK;
}

helio_rc helio_overflow_parse(helio_text_t text, helio_overflow_t *ret_overflow, helio_error_t *err)
{
    helio_overflow_t overflow = {0};
    if (text.size > HELIO_OVERFLOW_TEXT_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "the steps exceed %d characters", HELIO_OVERFLOW_TEXT_MAX);
    if (!trim(text).size)
        return helio_fail(err, HELIO_INVALID, "no step is given");
    while (text.data) {
        helio_rc rc = take_step(&overflow, cut(&text, ';'), err);
        if (rc != HELIO_OK)
            return rc;
    }
    *ret_overflow = overflow;
    return HELIO_OK;
}

uint32_t helio_overflow_step_of(const helio_overflow_t *self, helio_text_t site)
{
    uint32_t i = 0;
    while (i < self->count && !helio_patterns_allow(self->steps[i].patterns, self->steps[i].pattern_count, site))
        i++;
    return i;
}

bool helio_overflow_is_alive(const helio_candidate_t *candidate)
{
    bool capped = helio_rejection_group(candidate->rejection) == HELIO_REASON_POLICY_CAP;
    bool ends = candidate->not_before_ms || candidate->later.start_ms;
    return candidate->rejection == HELIO_REJECTION_NONE || (capped && ends);
}

uint32_t helio_overflow_open(const helio_overflow_t *self, uint32_t alive, int64_t waited_ms)
{
    uint32_t open = 1;
    while (open < self->count && ((waited_ms >= 0 && (uint64_t)waited_ms >= self->steps[open].after_ms) ||
                                  !(alive & ((UINT32_C(1) << open) - 1))))
        open++;
    return open;
}

int64_t helio_overflow_price(const helio_plan_t *plan, uint64_t gpus, uint64_t run_ms)
{
    double gpu_hours = (double)gpus * (double)run_ms / 3600000;
    return gpu_hours > 0 ? (int64_t)((double)plan->cost_micro_usd / gpu_hours) : 0;
}

void helio_overflow_name(const helio_overflow_step_t *step, char *ret_text, size_t size)
{
    size_t used = 0;
    ret_text[0] = '\0';
    for (uint32_t i = 0; i < step->pattern_count && used < size; i++) {
        int wrote =
            snprintf(ret_text + used, size - used, "%s%.*s", i ? ", " : "", HELIO_TEXT_ARGS(step->patterns[i].text));
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}
