/*  budget.c -- parses and formats budgets, and computes periods and the expected use of runs. */
#include "federation/policy/budget.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "federation/base/civil.h"
#include "federation/base/suggest.h"

__extension__ typedef __int128 helio_wide_t;

static const int64_t DAY_MS = 86400000;
enum { GPU_H_MS = 3600000, USD_MICRO = 1000000, KG_MG = 1000000 };

static const char *const kind_names[] = {
#define X(name, word, unit) word,
    HELIO_BUDGET_KIND_TABLE(X)
#undef X
};

static const char *const period_names[] = {
#define X(name, word) word,
    HELIO_PERIOD_TABLE(X)
#undef X
};

const char *helio_budget_kind_name(uint32_t kind)
{
    return kind < HELIO_BUDGET_KINDS ? kind_names[kind] : "unknown";
}

static const char *const level_names[] = {
#define X(name, word) word,
    HELIO_BUDGET_LEVEL_TABLE(X)
#undef X
};

const char *helio_budget_level_name(uint32_t level)
{
    return level < HELIO_BUDGET_LEVELS ? level_names[level] : "unknown";
}

helio_budget_level_t helio_budget_level(int64_t limit, int64_t left)
{
    return left <= 0 ? HELIO_BUDGET_LEVEL_FULL : left <= limit / 5 ? HELIO_BUDGET_LEVEL_HIGH : HELIO_BUDGET_LEVEL_LOW;
}

const char *helio_period_name(uint32_t period)
{
    return period < HELIO_PERIOD_COUNT ? period_names[period] : "unknown";
}

/* ---- notation ------------------------------------------------------------------------------------------------ */

typedef struct unit {
    const char *word;
    uint32_t kind;
    int64_t scale;
    const char *name; /* for people */
} unit_t;

/*  For each kind the largest unit first. */
static const unit_t units[] = {
    {"gpu-h", HELIO_BUDGET_GPU, GPU_H_MS, "GPU-hours"},
    {"USD", HELIO_BUDGET_MONEY, USD_MICRO, "USD"},
    {"t", HELIO_BUDGET_CARBON, INT64_C(1000000000), "t CO2e"},
    {"kg", HELIO_BUDGET_CARBON, KG_MG, "kg CO2e"},
};
enum { UNITS = sizeof units / sizeof units[0] };

/*  The unit in which a limit is written: the largest unit of which the limit is at least one. */
static const unit_t *unit_for(uint32_t kind, int64_t limit)
{
    const unit_t *unit = NULL;
    for (uint32_t i = 0; i < UNITS; i++)
        if (units[i].kind == kind && (!unit || (limit && limit < unit->scale)))
            unit = &units[i];
    assert(unit);
    return unit;
}

const char *helio_budget_unit(uint32_t kind, int64_t limit)
{
    return unit_for(kind, limit)->name;
}

int64_t helio_budget_milli(uint32_t kind, int64_t limit, int64_t amount)
{
    return (int64_t)((helio_wide_t)amount * 1000 / unit_for(kind, limit)->scale);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static helio_text_t trimmed(helio_text_t text)
{
    while (text.size && is_blank(text.data[0]))
        text = (helio_text_t){text.data + 1, text.size - 1};
    while (text.size && is_blank(text.data[text.size - 1]))
        text.size--;
    return text;
}

static const unit_t *unit_of(helio_text_t word)
{
    for (uint32_t i = 0; i < UNITS; i++)
        if (helio_text_is(word, units[i].word))
            return &units[i];
    return NULL;
}

static const char *meant_unit(helio_text_t word)
{
    helio_suggestion_t meant = {.written = word};
    for (uint32_t i = 0; i < UNITS; i++)
        helio_suggestion_offer(&meant, units[i].word);
    helio_suggestion_offer(&meant, "gpu-hours");
    helio_suggestion_offer(&meant, "dollars");
    helio_suggestion_offer(&meant, "tonnes");
    if (!meant.best)
        return NULL;
    return strcmp(meant.best, "gpu-hours") == 0 ? "gpu-h"
           : strcmp(meant.best, "dollars") == 0 ? "USD"
           : strcmp(meant.best, "tonnes") == 0  ? "t"
                                                : meant.best;
}

static helio_rc no_unit(helio_text_t text, helio_text_t word, helio_error_t *err)
{
    const char *meant = meant_unit(word);
    if (!word.size)
        return helio_fail(err, HELIO_INVALID, "'%.*s': the unit is missing: add USD, gpu-h, t or kg",
                          HELIO_TEXT_ARGS(text));
    return helio_fail(err, HELIO_INVALID, "'%.*s': unknown unit '%.*s'; %s%s%s", HELIO_TEXT_ARGS(text),
                      HELIO_TEXT_ARGS(word), meant ? "did you mean '" : "the units are USD, gpu-h, t and kg",
                      meant ? meant : "", meant ? "'?" : "");
}

static helio_rc parse_period(helio_text_t text, helio_text_t word, uint32_t *ret_period, helio_error_t *err)
{
    helio_suggestion_t meant = {.written = word};
    for (uint32_t i = HELIO_PERIOD_NONE + 1; i < HELIO_PERIOD_COUNT; i++) {
        if (helio_text_is(word, period_names[i])) {
            *ret_period = i;
            return HELIO_OK;
        }
        helio_suggestion_offer(&meant, period_names[i]);
    }
    if (!word.size)
        return helio_fail(err, HELIO_INVALID, "'%.*s': the period is missing: add /day, /week or /month",
                          HELIO_TEXT_ARGS(text));
    return helio_fail(err, HELIO_INVALID, "'%.*s': unknown period '%.*s'; %s%s%s", HELIO_TEXT_ARGS(text),
                      HELIO_TEXT_ARGS(word), meant.best ? "did you mean '" : "the periods are day, week and month",
                      meant.best ? meant.best : "", meant.best ? "'?" : "");
}

/*  Parses digits with at most six decimals as millionths. Returns the number of bytes, 0 if there is no number. Values
 *  beyond the maximum stay at the maximum. */
static uint32_t parse_number(helio_text_t text, helio_wide_t *ret_millionths)
{
    static const helio_wide_t most = (helio_wide_t)HELIO_BUDGET_AMOUNT_MAX * 1000000 + 1;
    helio_wide_t value = 0, scale = 1000000;
    uint32_t at = 0, digits = 0;
    for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++, digits++)
        value = value < most ? value * 10 + (text.data[at] - '0') * 1000000 : most;
    if (digits && at + 1 < text.size && text.data[at] == '.' && text.data[at + 1] >= '0' && text.data[at + 1] <= '9')
        for (at++; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++) {
            scale /= 10;
            if (!scale)
                return 0;
            value += (text.data[at] - '0') * scale;
        }
    *ret_millionths = value;
    return digits ? at : 0;
}

static helio_rc parse_none(helio_text_t text, helio_text_t rest, helio_budget_ask_t *ret_ask, helio_error_t *err)
{
    const unit_t *unit = unit_of(rest);
    if (rest.size && !unit)
        return no_unit(text, rest, err);
    *ret_ask = (helio_budget_ask_t){.kind = unit ? unit->kind : HELIO_BUDGET_KINDS};
    return HELIO_OK;
}

helio_rc helio_budget_parse(helio_text_t text, helio_budget_ask_t *ret_ask, helio_error_t *err)
{
    static const char none[] = "none";
    helio_text_t rest = trimmed(text);
    if (text.size > HELIO_BUDGET_TEXT_SIZE - 1)
        return helio_fail(err, HELIO_INVALID, "a budget is written as '5000 gpu-h/month'; %u bytes are too long",
                          text.size);
    if (rest.size >= 4 && memcmp(rest.data, none, 4) == 0 && (rest.size == 4 || is_blank(rest.data[4])))
        return parse_none(text, trimmed((helio_text_t){rest.data + 4, rest.size - 4}), ret_ask, err);
    helio_wide_t millionths = 0;
    uint32_t size = parse_number(rest, &millionths);
    if (!size)
        return helio_fail(err, HELIO_INVALID,
                          "'%.*s': write it as '5000 gpu-h/month', '20000 USD/month', '2 t/month' or 'none'",
                          HELIO_TEXT_ARGS(text));
    rest = trimmed((helio_text_t){rest.data + size, rest.size - size});
    const char *slash = rest.size ? memchr(rest.data, '/', rest.size) : NULL;
    uint32_t word_size = slash ? (uint32_t)(slash - rest.data) : rest.size;
    helio_text_t word = trimmed((helio_text_t){rest.data, word_size}), period = {0};
    if (slash)
        period = trimmed((helio_text_t){slash + 1, rest.size - word_size - 1});
    const unit_t *unit = unit_of(word);
    if (!unit)
        return no_unit(text, word, err);
    helio_budget_ask_t ask = {.kind = unit->kind};
    helio_rc rc = parse_period(text, period, &ask.budget.period, err);
    if (rc != HELIO_OK)
        return rc;
    helio_wide_t amount = millionths * unit->scale / 1000000;
    if (amount > HELIO_BUDGET_AMOUNT_MAX)
        return helio_fail(err, HELIO_INVALID, "'%.*s': the amount is too large; 'none' sets no limit",
                          HELIO_TEXT_ARGS(text));
    ask.budget.limit = (int64_t)amount;
    *ret_ask = ask;
    return HELIO_OK;
}

void helio_budget_text(uint32_t kind, helio_budget_t budget, char ret_text[HELIO_BUDGET_TEXT_SIZE])
{
    const unit_t *unit = unit_for(kind, budget.period ? budget.limit : 0);
    if (!budget.period) {
        (void)snprintf(ret_text, HELIO_BUDGET_TEXT_SIZE, "none %s", unit->word);
        return;
    }
    helio_wide_t millionths = (helio_wide_t)(budget.limit % unit->scale) * 1000000 / unit->scale;
    char decimals[8];
    (void)snprintf(decimals, sizeof decimals, ".%06d", (int)millionths);
    for (size_t end = strlen(decimals); end && (decimals[end - 1] == '0' || decimals[end - 1] == '.'); end--)
        decimals[end - 1] = '\0';
    (void)snprintf(ret_text, HELIO_BUDGET_TEXT_SIZE, "%lld%s %s/%s", (long long)(budget.limit / unit->scale), decimals,
                   unit->word, period_names[budget.period]);
}

void helio_budget_figure(uint32_t kind, int64_t limit, int64_t amount, char ret_text[HELIO_BUDGET_TEXT_SIZE])
{
    int64_t scale = unit_for(kind, limit)->scale, size = amount < 0 ? -amount : amount;
    int64_t whole = size / scale, millionths = (int64_t)((helio_wide_t)(size % scale) * 1000000 / scale);
    int digits = whole >= 100 ? 0 : whole >= 10 ? 1 : whole || millionths >= 1000 ? 3 : 6; /* not 0 unless it is */
    char reversed[40], decimals[8] = "";
    uint32_t count = 0;
    if (digits)
        (void)snprintf(decimals, sizeof decimals, ".%0*d", digits,
                       (int)(digits == 1   ? millionths / 100000
                             : digits == 3 ? millionths / 1000
                                           : millionths));
    for (size_t end = strlen(decimals); end && (decimals[end - 1] == '0' || decimals[end - 1] == '.'); end--)
        decimals[end - 1] = '\0';
    for (uint32_t place = 0; place == 0 || whole; place++, whole /= 10) {
        if (place && place % 3 == 0)
            reversed[count++] = ',';
        reversed[count++] = (char)('0' + whole % 10);
    }
    char *out = ret_text;
    if (amount < 0)
        *out++ = '-';
    while (count)
        *out++ = reversed[--count];
    (void)snprintf(out, (size_t)(ret_text + HELIO_BUDGET_TEXT_SIZE - out), "%s", decimals);
}

/* ---- periods ------------------------------------------------------------------------------------------- */

static int64_t days_of(int64_t wall_ms)
{
    int64_t days = wall_ms / DAY_MS;
    return wall_ms % DAY_MS < 0 ? days - 1 : days;
}

int64_t helio_period_begin(uint32_t period, int64_t wall_ms)
{
    int64_t days = days_of(wall_ms), year, month, day;
    assert(period > HELIO_PERIOD_NONE && period < HELIO_PERIOD_COUNT);
    if (period == HELIO_PERIOD_WEEK)
        days -= helio_weekday_of_days(days);
    if (period == HELIO_PERIOD_MONTH) {
        helio_civil_of_days(days, &year, &month, &day);
        days = helio_days_of_civil(year, month, 1);
    }
    return days * DAY_MS;
}

int64_t helio_period_next(uint32_t period, int64_t wall_ms)
{
    int64_t days = days_of(helio_period_begin(period, wall_ms)), year, month, day;
    if (period == HELIO_PERIOD_DAY)
        return (days + 1) * DAY_MS;
    if (period == HELIO_PERIOD_WEEK)
        return (days + 7) * DAY_MS;
    helio_civil_of_days(days, &year, &month, &day);
    return (month == 12 ? helio_days_of_civil(year + 1, 1, 1) : helio_days_of_civil(year, month + 1, 1)) * DAY_MS;
}

void helio_period_text(uint32_t period, int64_t begin_ms, char ret_text[HELIO_BUDGET_TEXT_SIZE])
{
    static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                         "July",    "August",   "September", "October", "November", "December"};
    int64_t year, month, day;
    helio_civil_of_days(days_of(begin_ms), &year, &month, &day);
    if (period == HELIO_PERIOD_MONTH)
        (void)snprintf(ret_text, HELIO_BUDGET_TEXT_SIZE, "%s %d", months[month - 1], (int)year);
    else
        (void)snprintf(ret_text, HELIO_BUDGET_TEXT_SIZE, "%s%04d-%02d-%02d",
                       period == HELIO_PERIOD_WEEK ? "the week of " : "", (int)year, (int)month, (int)day);
}

/* ---- expected use -------------------------------------------------------------------------------------------- */

/*  The use until a time, rounded down, so that consecutive parts add up. */
static int64_t spent_by(const helio_spend_t *self, uint32_t kind, int64_t at_ms)
{
    if (at_ms <= self->start_ms)
        return 0;
    if (!self->run_ms)
        return self->of[kind];
    helio_wide_t passed = (helio_wide_t)at_ms - self->start_ms;
    if (passed > (helio_wide_t)self->last_ms)
        passed = (helio_wide_t)self->last_ms;
    helio_wide_t spent = passed * self->of[kind] / (helio_wide_t)self->run_ms;
    return spent > HELIO_SPEND_MAX ? HELIO_SPEND_MAX : (int64_t)spent;
}

int64_t helio_spend_within(const helio_spend_t *self, uint32_t kind, int64_t begin_ms, int64_t end_ms)
{
    return end_ms > begin_ms ? spent_by(self, kind, end_ms) - spent_by(self, kind, begin_ms) : 0;
}

int64_t helio_spend_densest(const helio_spend_t *self, uint32_t kind, int64_t length_ms)
{
    return spent_by(self, kind, self->start_ms + length_ms);
}

int64_t helio_spend_fits_ms(const helio_spend_t *self, uint32_t kind, int64_t left, int64_t end_ms)
{
    int64_t all = helio_spend_densest(self, kind, INT64_MAX / 2 - self->start_ms);
    if (left >= all || self->start_ms >= end_ms)
        return self->start_ms;
    if (left <= 0 || !self->run_ms)
        return end_ms;
    int64_t before_ms = (int64_t)((helio_wide_t)left * (helio_wide_t)self->run_ms / self->of[kind]);
    int64_t fits_ms = end_ms - before_ms;
    return fits_ms > self->start_ms ? fits_ms : self->start_ms;
}
