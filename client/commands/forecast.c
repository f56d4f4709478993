/*  forecast.c -- `forecast`: the sites' forecasts, one line per series, and how far such forecasts were off. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/commands/listing.h"
#include "client/output/humanise.h"
#include "federation/base/clock.h"
#include "federation/base/suggest.h"
#include "federation/model/site.h"

enum { HOUR_MS = 3600000, HOURS_DEFAULT = 48, HOURS_MAX = HELIO_SERIES_POINTS_MAX };

/*  The name of a signal on the command line, its name in the API, and its unit. */
static const struct {
    const char *word, *signal, *unit;
} signals[] = {
    {"carbon", "carbon_g_per_kwh", "g/kWh"},
    {"price", "price_usd_per_gpu_h", "USD/GPU-h"},
    {"electricity", "electricity_usd_per_kwh", "USD/kWh"},
    {"free", "free_gpus", "GPUs"},
    {"pue", "pue", ""},
    {"power", "power_watts", "W"},
    {"reserved", "reserved_gpus", "GPUs"},
};

enum { SIGNAL_COUNT = sizeof signals / sizeof signals[0] };

/*  The hourly values of one series, from its first known hour on. NAN = unknown. */
typedef struct curve {
    double values[HOURS_MAX];
    uint32_t hours;
    double now, min, mean, max, p10, p90; /* NAN = none; now: the current step, when an hour has several */
} curve_t;

static int signal_of(const json_t *series)
{
    const char *name = helio_output_string(series, "signal");
    for (int i = 0; i < SIGNAL_COUNT; i++)
        if (strcmp(name, signals[i].signal) == 0)
            return i;
    return -1;
}

/*  The mean of the two, or the one that is known. */
static double lesser(double a, double b)
{
    return isnan(a) || b < a ? b : a;
}

static double greater(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

static bool time_of(const json_t *point, int64_t *ret_ms)
{
    return helio_rfc3339_parse(helio_text_of(helio_output_string(point, "time")), ret_ms) == HELIO_OK;
}

/*  Keeps the points of the first `hours` hours. */
static json_t *points_within(const json_t *series, uint32_t hours)
{
    json_t *kept = json_array(), *point;
    int64_t first_ms = INT64_MIN, at_ms;
    size_t i;
    json_array_foreach(json_object_get(series, "points"), i, point)
    {
        if (!time_of(point, &at_ms))
            continue;
        first_ms = first_ms == INT64_MIN ? at_ms : first_ms;
        if (at_ms >= first_ms && at_ms - first_ms < (int64_t)hours * HOUR_MS && json_array_append(kept, point) != 0)
            abort();
    }
    return kept;
}

/*  The mean of the values within the hour; where a step is longer, the value of that step. */
static void fill_hours(curve_t *self, const json_t *points, int64_t step_ms)
{
    double sums[HOURS_MAX] = {0};
    uint32_t counts[HOURS_MAX] = {0};
    int64_t first_ms = 0, at_ms;
    size_t i;
    json_t *point;
    json_array_foreach(points, i, point)
    {
        double value = helio_output_number(point, "value", NAN);
        if (!time_of(point, &at_ms))
            continue;
        first_ms = i == 0 ? at_ms : first_ms;
        if (isnan(value))
            continue;
        for (int64_t t = at_ms; t == at_ms || t < at_ms + step_ms; t += HOUR_MS) {
            int64_t hour = (t - first_ms) / HOUR_MS;
            if (hour < 0 || hour >= self->hours)
                break;
            sums[hour] += value;
            counts[hour]++;
        }
    }
    for (uint32_t h = 0; h < self->hours; h++)
        self->values[h] = counts[h] ? sums[h] / counts[h] : NAN;
}

static uint32_t hours_of(const json_t *points, int64_t step_ms, uint32_t most)
{
    int64_t first_ms, last_ms;
    size_t count = json_array_size(points);
    if (!count || !time_of(json_array_get(points, 0), &first_ms) ||
        !time_of(json_array_get(points, count - 1), &last_ms) || last_ms < first_ms)
        return 0;
    int64_t hours = (last_ms - first_ms) / HOUR_MS + (step_ms > HOUR_MS ? step_ms / HOUR_MS : 1);
    return hours < most ? (uint32_t)hours : most;
}

static curve_t curve_of(const json_t *points, double step_s, uint32_t most)
{
    int64_t step_ms = step_s > 0 && step_s < 31e6 ? (int64_t)(step_s * 1000) : HOUR_MS;
    curve_t self = {.now = NAN, .min = NAN, .mean = NAN, .max = NAN, .p10 = NAN, .p90 = NAN};
    double sum = 0;
    uint32_t known = 0;
    size_t i;
    json_t *point;
    self.hours = hours_of(points, step_ms, most);
    fill_hours(&self, points, step_ms);
    if (self.hours) /* hours that are over are not shown */
        self.now = step_ms < HOUR_MS ? helio_output_number(json_array_get(points, 0), "value", NAN) : self.values[0];
    for (uint32_t h = 0; h < self.hours; h++) {
        if (isnan(self.values[h]))
            continue;
        self.min = lesser(self.min, self.values[h]);
        self.max = greater(self.max, self.values[h]);
        sum += self.values[h];
        known++;
    }
    self.mean = known ? sum / known : NAN;
    json_array_foreach(points, i, point)
    {
        self.p10 = lesser(self.p10, helio_output_number(point, "p10", NAN));
        self.p90 = greater(self.p90, helio_output_number(point, "p90", NAN));
    }
    return self;
}

static bool is_constant(const curve_t *curve)
{
    for (uint32_t h = 0; h < curve->hours; h++)
        if (isnan(curve->values[h]))
            return false;
    return curve->hours > 1 && curve->min == curve->max;
}

/*  One character per hour, from minimum to maximum; digits where blocks cannot be printed. */
static void draw(const curve_t *curve, bool blocks, helio_buffer_t *out)
{
    static const char *const levels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double span = curve->max / 2 - curve->min / 2; /* halves: a difference of doubles need not be finite */
    if (is_constant(curve)) {
        helio_buffer_printf(out, "the same for %uh", curve->hours);
        return;
    }
    for (uint32_t h = 0; h < curve->hours; h++) {
        double part = span > 0 ? (curve->values[h] / 2 - curve->min / 2) / span : 0;
        if (isnan(curve->values[h]))
            helio_buffer_text(out, blocks ? " " : ".");
        else if (blocks)
            helio_buffer_text(out, levels[(int)(part * 7.999)]);
        else
            helio_buffer_printf(out, "%d", (int)(part * 9.999));
    }
}

/*  "3% to 1h, 9% to 24h": relative to the value where that is meaningful, otherwise in the unit of the series. */
static void errors_text(const json_t *series, const char *unit, helio_buffer_t *out)
{
    size_t i;
    json_t *error;
    json_array_foreach(json_object_get(series, "errors"), i, error)
    {
        double ratio = helio_output_number(error, "mean_ape_ratio", NAN),
               absolute = helio_output_number(error, "mean_absolute_error", NAN);
        char amount[HELIO_HUMAN_SIZE];
        if (isnan(absolute))
            continue;
        helio_human_number(isnan(ratio) ? absolute : ratio * 100, amount);
        helio_buffer_printf(out, "%s%s%s%s to %gh", out->size ? ", " : "", amount,
                            isnan(ratio) ? unit[0] ? " " : "" : "%", isnan(ratio) ? unit : "",
                            helio_output_number(error, "horizon_h_to", NAN));
    }
    if (!out->size)
        helio_buffer_text(out, "not measured");
}

static void set_text(json_t *row, const char *key, const char *text)
{
    if (json_object_set_new(row, key, text && text[0] ? json_string(text) : json_null()) != 0)
        abort();
}

static void set_number(json_t *row, const char *key, double value)
{
    if (json_object_set_new(row, key, isnan(value) ? json_null() : json_real(value)) != 0)
        abort();
}

static json_t *table_row(const helio_client_t *client, const json_t *series, const json_t *points, uint32_t hours)
{
    int signal = signal_of(series);
    const char *unit = signal < 0 ? "" : signals[signal].unit;
    curve_t curve = curve_of(points, helio_output_number(series, "step_s", NAN), hours);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t spark = {0}, errors = {0}, kind = {0}, range = {0};
    draw(&curve, client->output.colour, &spark);
    errors_text(series, unit, &errors);
    helio_buffer_printf(&kind, "%s%s%s", helio_output_string(series, "kind"),
                        helio_output_string(series, "factor")[0] ? " " : "", helio_output_string(series, "factor"));
    if (!isnan(curve.p10) && !isnan(curve.p90)) {
        char low[HELIO_HUMAN_SIZE], high[HELIO_HUMAN_SIZE];
        helio_human_number(curve.p10, low);
        helio_human_number(curve.p90, high);
        helio_buffer_printf(&range, "%s..%s", low, high);
    }
    json_t *row = json_object();
    set_text(row, "site", helio_output_string(series, "site"));
    set_text(row, "pool", helio_output_string(series, "pool"));
    set_text(row, "signal", signal < 0 ? helio_output_string(series, "signal") : signals[signal].word);
    set_text(row, "unit", unit);
    set_number(row, "now", curve.now);
    set_number(row, "min", curve.min);
    set_number(row, "mean", curve.mean);
    set_number(row, "max", curve.max);
    set_text(row, "range", range.data);
    set_text(row, "issued_at", helio_output_string(series, "issued_at"));
    set_text(row, "source", helio_output_string(series, "source"));
    set_text(row, "kind", kind.data);
    set_text(row, "estimated", json_is_true(json_object_get(series, "estimated")) ? "yes" : "no");
    set_text(row, "error", errors.data);
    set_text(row, "ahead", spark.data);
    return row;
}

/*  For csv: one row per point, with the columns that identify its series. */
static void add_points(json_t *rows, const json_t *series, const json_t *points)
{
    static const char *const keys[] = {"site", "signal", "pool", "kind", "factor", "source", "issued_at", "estimated"};
    size_t i;
    json_t *point;
    json_array_foreach(points, i, point)
    {
        json_t *row = json_copy(point);
        for (size_t k = 0; row && k < sizeof keys / sizeof keys[0]; k++)
            if (json_object_set(row, keys[k], json_object_get(series, keys[k])) != 0 &&
                json_object_set_new(row, keys[k], json_null()) != 0)
                abort();
        if (!row || json_array_append_new(rows, row) != 0)
            abort();
    }
}

/*  Appends the series of a site, as the format shows them. */
static int add_site(helio_client_t *client, const char *site, uint32_t hours, json_t *rows)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    const char *wanted = helio_client_value(client, HELIO_OPTION_SIGNAL);
    json_t *list, *series;
    size_t i, before = json_array_size(rows);
    int code = helio_ask_get(client, helio_path(client, "/v1/sites/", site, "/forecast"), &reply);
    if (code == HELIO_EXIT_OK)
        code = helio_response_list(client, reply, "series", &list);
    if (code != HELIO_EXIT_OK)
        return code;
    json_array_foreach(list, i, series)
    {
        int signal = signal_of(series);
        if (wanted && (signal < 0 || strcmp(signals[signal].word, wanted) != 0))
            continue;
        set_text(series, "site", site);
        HELIO_AUTO(helio_json_clear) json_t *points = points_within(series, hours);
        if (client->output.format <= HELIO_FORMAT_WIDE) {
            if (json_array_append_new(rows, table_row(client, series, points, hours)) != 0)
                abort();
        } else if (client->output.format == HELIO_FORMAT_CSV) {
            add_points(rows, series, points);
        } else if (json_object_set(series, "points", points) != 0 || json_array_append(rows, series) != 0) {
            abort();
        }
    }
    if (json_array_size(rows) == before)
        helio_client_say(client, "%.64s sends no forecast%s%.16s; the values of its profile apply to every hour", site,
                         wanted ? " of " : "", wanted ? wanted : "");
    return HELIO_EXIT_OK;
}

/*  The answer has said that there is no such site. */
static void say_meant(helio_client_t *client, const char *site)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    helio_suggestion_t near = {.written = helio_text_of(site)};
    json_t *sites, *row;
    size_t i;
    if (helio_listing_ask(client, "/v1/sites", "sites", &reply, &sites) != HELIO_EXIT_OK)
        return;
    json_array_foreach(sites, i, row)
    {
        helio_suggestion_offer(&near, helio_output_string(row, "site"));
    }
    if (near.best)
        helio_client_say(client, "help: did you mean '%.64s'?", near.best);
}

static int add_sites(helio_client_t *client, uint32_t hours, json_t *rows)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    json_t *sites, *site;
    size_t i;
    int code = helio_listing_ask(client, "/v1/sites", "sites", &reply, &sites);
    if (code != HELIO_EXIT_OK)
        return code;
    json_array_foreach(sites, i, site)
    {
        const char *name = helio_output_string(site, "site");
        code = name[0] ? add_site(client, name, hours, rows) : HELIO_EXIT_OK;
        if (code != HELIO_EXIT_OK)
            return code;
    }
    return HELIO_EXIT_OK;
}

/*  The column of quantiles is left out when no series has any; most sources have none. */
static helio_rc print_table(const helio_client_t *client, const json_t *rows)
{
    helio_columns_t columns = helio_columns_of_forecast;
    helio_column_t shown[32];
    uint32_t count = 0;
    bool ranges = false;
    assert(columns.count <= sizeof shown / sizeof shown[0]);
    for (size_t i = 0; i < json_array_size(rows); i++)
        ranges = ranges || helio_output_string(json_array_get(rows, i), "range")[0];
    for (uint32_t i = 0; i < columns.count; i++)
        if (ranges || strcmp(columns.items[i].key, "range") != 0)
            shown[count++] = columns.items[i];
    return helio_output_rows(&client->output, rows, (helio_columns_t){shown, count, columns.name_key});
}

int helio_cmd_forecast(helio_client_t *client)
{
    uint64_t hours;
    if (!helio_client_number(client, HELIO_OPTION_HOURS, HOURS_DEFAULT, &hours))
        return HELIO_EXIT_USAGE;
    if (!hours || hours > HOURS_MAX)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "--hours: must be from 1 to %d, as many as a series can have", (int)HOURS_MAX);
    HELIO_AUTO(helio_json_clear) json_t *rows = json_array();
    int code = client->arguments->word_count ? add_site(client, client->arguments->words[0], (uint32_t)hours, rows)
                                             : add_sites(client, (uint32_t)hours, rows);
    if (code == HELIO_EXIT_NOT_FOUND && client->arguments->word_count)
        say_meant(client, client->arguments->words[0]);
    if (code != HELIO_EXIT_OK)
        return code;
    helio_rc rc = client->output.format <= HELIO_FORMAT_WIDE
                      ? print_table(client, rows)
                      : helio_output_rows(&client->output, rows, helio_columns_of_points);
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}
