/*  change.c -- reads changes, and alters the rows of a copy. */
#include "simulator/rehearsal/change.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "federation/base/suggest.h"
#include "federation/spec/value.h"

static const double FACTOR_MOST = 1000;
static const uint64_t NODES_MOST = 100000, GPUS_MOST = 1000000;

/*  ---- reading ---- */

/*  Splits at the first such character. False: there is none, and *first is the whole text. */
static bool split(helio_text_t text, char at, helio_text_t *first, helio_text_t *rest)
{
    const char *found = text.size ? memchr(text.data, at, text.size) : NULL;
    *first = found ? (helio_text_t){text.data, (uint32_t)(found - text.data)} : text;
    *rest = found ? (helio_text_t){found + 1, text.size - first->size - 1} : (helio_text_t){0};
    return found != NULL;
}

static bool read_number(helio_text_t text, uint64_t most, uint32_t *ret_number)
{
    uint64_t number;
    if (helio_u64_parse(text, &number) != HELIO_OK || number > most)
        return false;
    *ret_number = (uint32_t)number;
    return true;
}

static bool read_factor(helio_text_t text, double *ret_factor)
{
    return helio_f64_parse(text, ret_factor) == HELIO_OK && *ret_factor >= 0 && *ret_factor <= FACTOR_MOST;
}

static bool read_duration(helio_text_t text, int64_t *ret_ms)
{
    uint64_t ms;
    if (helio_duration_parse(text, &ms) != HELIO_OK || !ms || ms > UINT64_C(366) * 86400000)
        return false;
    *ret_ms = (int64_t)ms;
    return true;
}

/*  "60%" or "60%:2h" */
static bool read_share(helio_text_t text, reh_change_t *self)
{
    helio_text_t share, duration;
    bool timed = split(text, ':', &share, &duration);
    if (!share.size || share.data[share.size - 1] != '%')
        return false;
    share.size--;
    return read_number(share, 100, &self->number) && (!timed || read_duration(duration, &self->for_ms));
}

static bool read_value(reh_change_t *self, bool given, helio_text_t value)
{
    switch (self->kind) {
    case REH_CHANGE_DOWN:
        return !given || read_duration(value, &self->for_ms);
    case REH_CHANGE_DRAIN:
        return !given;
    case REH_CHANGE_PRICE:
        return given && read_factor(value, &self->factor);
    case REH_CHANGE_NODES:
        return given && self->second.size && read_number(value, NODES_MOST, &self->number);
    case REH_CHANGE_QUOTA:
        return given && read_number(value, GPUS_MOST, &self->number);
    case REH_CHANGE_GOAL:
        return given && helio_goal_of(value, &self->number) == HELIO_OK;
    case REH_CHANGE_CURTAIL:
        return given && read_share(value, self);
    case REH_CHANGE_COUNT:
    default:
        return false;
    }
}

/*  What is wrong, and all forms. */
static helio_rc bad(const char *text, const char *wrong, helio_error_t *err)
{
    return helio_fail(err, HELIO_INVALID,
                      "'%s'%s\nhelp: "
#define X(NAME, word, form) word "=" form ", "
                      REH_CHANGE_TABLE(X)
#undef X
                          "without blanks",
                      text, wrong);
}

/*  The kind is known, and what follows it is not of its form. */
static helio_rc bad_form(const reh_change_t *self, helio_error_t *err)
{
    static const char *const forms[REH_CHANGE_COUNT] = {
#define X(NAME, word, form) form,
        REH_CHANGE_TABLE(X)
#undef X
    };
    char wrong[80];
    (void)snprintf(wrong, sizeof wrong, ": expected %s after '='", forms[self->kind]);
    return bad(self->text, wrong, err);
}

static helio_rc bad_value(const reh_change_t *self, helio_text_t value, helio_error_t *err)
{
    char wrong[160];
    uint64_t number;
    if (self->kind != REH_CHANGE_DOWN || helio_u64_parse(value, &number) != HELIO_OK || !number)
        return bad_form(self, err);
    (void)snprintf(wrong, sizeof wrong, ": '%.*s' has no unit, as in %.*s:%.*sh", HELIO_TEXT_ARGS(value),
                   HELIO_TEXT_ARGS(self->name), HELIO_TEXT_ARGS(value));
    return bad(self->text, wrong, err);
}

helio_rc reh_change_parse(const char *text, reh_change_t *ret_change, helio_error_t *err)
{
    static const char *const words[REH_CHANGE_COUNT] = {
#define X(NAME, word, form) word,
        REH_CHANGE_TABLE(X)
#undef X
    };
    reh_change_t self = {.text = text};
    helio_text_t word, rest, left, value;
    if (!split(helio_text_of(text), '=', &word, &rest))
        return bad(text, " is no change", err);
    uint32_t kind = 0;
    while (kind < REH_CHANGE_COUNT && !helio_text_is(word, words[kind]))
        kind++;
    self.kind = (reh_change_kind_t)kind;
    bool given = split(rest, ':', &left, &value);
    bool two = split(left, '/', &self.name, &self.second);
    bool may_be_two = kind == REH_CHANGE_NODES || kind == REH_CHANGE_QUOTA;
    if (kind == REH_CHANGE_COUNT)
        return bad(text, " is no change", err);
    if (!self.name.size || (two && (!may_be_two || !self.second.size)))
        return bad_form(&self, err);
    if (!read_value(&self, given, value))
        return bad_value(&self, value, err);
    *ret_change = self;
    return HELIO_OK;
}

/*  ---- altering ---- */

static void scale(helio_f64s_t *values, double factor)
{
    for (uint32_t i = 0; i < values->count; i++)
        values->items[i] *= factor;
}

static bool is_price(uint32_t signal)
{
    return signal == HELIO_SIGNAL_PRICE || signal == HELIO_SIGNAL_ELECTRICITY;
}

static void scale_series(helio_row_series_t *row, helio_text_t site, double factor)
{
    if (!helio_text_equal(row->site, site) || !is_price(row->signal))
        return;
    scale(&row->values, factor);
    scale(&row->p10, factor);
    scale(&row->p90, factor);
}

static void reprice_part(reh_part_t *part, helio_text_t site, double factor)
{
    helio_row_site_t *site_row = part->record;
    helio_row_pool_t *pool_row = part->record;
    helio_row_actual_t *actual = part->record;
    if (part->kind == HELIO_BROKER_EV_LOAD_SITE && helio_text_equal(site_row->site, site))
        site_row->electricity_usd_per_kwh *= factor;
    else if (part->kind == HELIO_BROKER_EV_LOAD_POOL && helio_text_equal(pool_row->site, site))
        pool_row->price_usd_per_gpu_h *= factor;
    else if (part->kind == HELIO_BROKER_EV_LOAD_ACTUAL && helio_text_equal(actual->site, site) &&
             is_price(actual->signal))
        actual->value *= factor;
    else if (part->kind == HELIO_BROKER_EV_LOAD_SERIES)
        scale_series(part->record, site, factor);
}

/*  Also past hours: forecasts rest on them, and a price that changes now would look like a peak. */
static void reprice(reh_copy_t *copy, reh_site_copy_t *site, double factor)
{
    site->profile.electricity_usd_per_kwh *= factor;
    for (uint32_t i = 0; i < site->profile.pools.count; i++) {
        site->profile.pools.items[i].price_usd_per_gpu_h *= factor;
        site->profile.pools.items[i].spot_usd_per_gpu_h *= factor;
    }
    for (uint32_t i = 0; i < site->series_count; i++)
        scale_series(site->series[i], site->profile.name, factor);
    for (uint32_t i = 0; i < copy->part_count; i++)
        reprice_part(&copy->parts[i], site->profile.name, factor);
}

static helio_rc set_nodes(reh_copy_t *copy, reh_site_copy_t *site, const reh_change_t *change, helio_error_t *err)
{
    uint32_t i = 0;
    while (i < site->profile.pools.count && !helio_text_equal(site->profile.pools.items[i].name, change->second))
        i++;
    if (i == site->profile.pools.count)
        return helio_fail(err, HELIO_NOT_FOUND, "'%s': %.*s has no pool '%.*s'", change->text,
                          HELIO_TEXT_ARGS(change->name), HELIO_TEXT_ARGS(change->second));
    site->profile.pools.items[i].nodes = change->number;
    site->capacities[i] = NULL; /* all of them are up, and others use what they used if there is room */
    for (uint32_t k = 0; k < copy->part_count; k++) {
        helio_row_pool_t *row = copy->parts[k].record;
        if (copy->parts[k].kind == HELIO_BROKER_EV_LOAD_POOL && helio_text_equal(row->site, change->name) &&
            helio_text_equal(row->pool, change->second))
            row->nodes = change->number;
    }
    return HELIO_OK;
}

static void set_goal_of(helio_ev_load_job_t *job, const reh_change_t *change)
{
    if (!helio_text_equal(job->row.tenant, change->name))
        return;
    job->row.goal = job->spec.goal = change->number;
    job->spec.prices_set = false;
}

/*  known: the names that there are, each on a line. */
static helio_rc unknown(const char *what, helio_text_t name, const helio_buffer_t *known, helio_error_t *err)
{
    helio_text_t near = helio_suggestion_among(name, helio_buffer_view(known), '\n');
    return helio_fail(err, HELIO_NOT_FOUND, "there is no %s '%.*s'%s%.*s%s", what, HELIO_TEXT_ARGS(name),
                      near.size ? "; did you mean '" : "", HELIO_TEXT_ARGS(near), near.size ? "'?" : "");
}

static void add_line(helio_text_t name, helio_buffer_t *into)
{
    helio_buffer_append(into, name.data, name.size);
    helio_buffer_text(into, "\n");
}

/*  Of all its jobs, whatever they ask for. */
static helio_rc set_goal(reh_copy_t *copy, const reh_change_t *change, helio_error_t *err)
{
    bool known = false;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t names = {0};
    for (uint32_t i = 0; i < copy->part_count; i++) {
        void *record = copy->parts[i].record;
        const helio_row_tenant_t *tenant = record;
        if (copy->parts[i].kind == HELIO_BROKER_EV_LOAD_TENANT) {
            known = known || helio_text_equal(tenant->tenant, change->name);
            add_line(tenant->tenant, &names);
        } else if (copy->parts[i].kind == HELIO_BROKER_EV_LOAD_JOB) {
            set_goal_of(record, change);
        }
    }
    for (uint32_t i = 0; i < copy->past_job_count; i++)
        set_goal_of(copy->past_jobs[i]->load, change);
    return known ? HELIO_OK : unknown("tenant", change->name, &names, err);
}

static helio_rc unknown_site(const reh_copy_t *copy, helio_text_t name, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t names = {0};
    for (uint32_t i = 0; i < copy->site_count; i++)
        add_line(copy->sites[i].profile.name, &names);
    return unknown("site", name, &names, err);
}

helio_rc reh_change_apply(const reh_change_t *self, reh_copy_t *copy, helio_error_t *err)
{
    if (self->kind == REH_CHANGE_QUOTA)
        return HELIO_OK;
    if (self->kind == REH_CHANGE_GOAL)
        return set_goal(copy, self, err);
    reh_site_copy_t *site = reh_copy_site(copy, self->name);
    if (!site)
        return unknown_site(copy, self->name, err);
    if (self->kind == REH_CHANGE_PRICE)
        reprice(copy, site, self->factor);
    return self->kind == REH_CHANGE_NODES ? set_nodes(copy, site, self, err) : HELIO_OK;
}
