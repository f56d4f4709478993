/*  program.c -- options, files, and the rows of the policies. */
#include "simulator/experiment/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "federation/arguments/command_line.h"
#include "federation/base/clock.h"
#include "federation/spec/value.h"
#include "simulator/experiment/run.h"

enum { EXIT_FAILURE_ = 1, EXIT_USAGE = 2, POLICIES_MOST = 32 };
#define POLICIES_DEFAULT "isolated,least-wait,cheapest,static-rank,greenest,balanced"
#define USD_PER_EUR "1.08"

/* clang-format off */
enum {
    OPTION_FLEET, OPTION_JOBS, OPTION_CARBON, OPTION_PRICE, OPTION_FORECAST, OPTION_POLICY, OPTION_FROM, OPTION_TO, OPTION_LOAD, OPTION_FLEXIBLE,
    OPTION_CHECKPOINT, OPTION_TIME_LIMIT, OPTION_USD_PER_EUR, OPTION_SEED, OPTION_OUTPUT, OPTION_QUIET, OPTION_HELP, OPTION_VERSION, OPTION_COUNT
};
static const helio_option_t options[] = {
    [OPTION_FLEET] = {"fleet", 0, "FILE", NULL, "The sites: fleet.yaml"},
    [OPTION_JOBS] = {"jobs", 0, "FILE", NULL, "The trace: jobs.csv or jobs.csv.gz"},
    [OPTION_CARBON] = {"carbon", 0, "FILE", NULL, "Carbon intensity by region and hour: carbon.csv[.gz]"},
    [OPTION_PRICE] = {"price", 0, "FILE", NULL, "Electricity price by region and hour: price.csv[.gz]"},
    [OPTION_FORECAST] = {"forecast", 0, "FILE", NULL, "Carbon forecasts as issued, by region, issue and hour: forecast.csv[.gz]"},
    [OPTION_POLICY] = {"policy", 0, "LIST", NULL, "Policies to compare (" POLICIES_DEFAULT ")"},
    [OPTION_FROM] = {"from", 0, "TIME", NULL, "Only jobs submitted from then on"},
    [OPTION_TO] = {"to", 0, "TIME", NULL, "Only jobs submitted before"},
    [OPTION_LOAD] = {"load", 0, "SHARE", NULL, "Scales the nodes of all pools so that mean demand is this share of capacity: 0.7"},
    [OPTION_FLEXIBLE] = {"flexible", 0, "DURATION", NULL, "May wait so long for a better hour, if the trace does not say"},
    [OPTION_CHECKPOINT] = {"checkpoint", 0, "DURATION", NULL, "Between two checkpoints, if the trace does not say (none are made)"},
    [OPTION_TIME_LIMIT] = {"time-limit", 0, "DURATION", NULL, "Limit where the trace has none (the duration itself)"},
    [OPTION_USD_PER_EUR] = {"usd-per-eur", 0, "RATE", NULL, "For prices in EUR (" USD_PER_EUR ")"},
    [OPTION_SEED] = {"seed", 0, "N", NULL, "Seed of the broker's ids (1)"},
    [OPTION_OUTPUT] = {"output", 'o', "FORMAT", "table json", "How rows are printed (table)"},
    [OPTION_QUIET] = {"quiet", 'q', NULL, NULL, "No progress"},
    [OPTION_HELP] = {"help", 'h', NULL, NULL, "List options"},
    [OPTION_VERSION] = {"version", 0, NULL, NULL, "Print the version"},
};
/* clang-format on */
static const helio_option_table_t option_table = {options, OPTION_COUNT, 0, 0};

typedef struct program {
    helio_command_line_t line;
    helio_arena_t *arena;
    FILE *out, *err;
    exp_fleet_t fleet;
    exp_trace_t trace;
    exp_world_t world;
    exp_trace_defaults_t defaults;
    double usd_per_eur, load; /* load: 0 = the fleet as it is */
    const exp_policy_t *policies[POLICIES_MOST];
    uint32_t policy_count;
} program_t;

static const char *value(const program_t *self, uint32_t option)
{
    return helio_command_line_value(&self->line, option);
}

/*  ---- options ---- */

static helio_rc bad(const program_t *self, uint32_t option, const char *expected, helio_error_t *err)
{
    return helio_fail(err, HELIO_INVALID, "--%s: '%s' is not %s", options[option].name, value(self, option), expected);
}

static helio_rc take_time(const program_t *self, uint32_t option, int64_t *ret_ms, helio_error_t *err)
{
    const char *text = value(self, option);
    if (text && helio_rfc3339_parse(helio_text_of(text), ret_ms) != HELIO_OK)
        return bad(self, option, "a time like 2023-10-02T00:00:00Z", err);
    return HELIO_OK;
}

static helio_rc take_duration(const program_t *self, uint32_t option, int64_t *ret_ms, helio_error_t *err)
{
    const uint64_t most_ms = UINT64_C(366) * 86400000;
    const char *text = value(self, option);
    uint64_t ms = 0;
    if (text && (helio_duration_parse(helio_text_of(text), &ms) != HELIO_OK || ms > most_ms))
        return bad(self, option, "a duration like 24h, at most 366d", err);
    *ret_ms = text ? (int64_t)ms : *ret_ms;
    return HELIO_OK;
}

static helio_rc take_numbers(program_t *self, helio_error_t *err)
{
    const char *rate = value(self, OPTION_USD_PER_EUR), *seed = value(self, OPTION_SEED),
               *share = value(self, OPTION_LOAD);
    self->world.seed = 1;
    if (helio_f64_parse(helio_text_of(rate ? rate : USD_PER_EUR), &self->usd_per_eur) != HELIO_OK ||
        self->usd_per_eur <= 0)
        return bad(self, OPTION_USD_PER_EUR, "a rate above 0", err);
    if (share &&
        (helio_f64_parse(helio_text_of(share), &self->load) != HELIO_OK || self->load < 0.01 || self->load > 10))
        return bad(self, OPTION_LOAD, "a share like 0.7, within 0.01..10", err);
    if (seed && helio_u64_parse(helio_text_of(seed), &self->world.seed) != HELIO_OK)
        return bad(self, OPTION_SEED, "a whole number", err);
    return HELIO_OK;
}

static helio_rc take_options(program_t *self, helio_error_t *err)
{
    static const uint32_t required[] = {OPTION_FLEET, OPTION_JOBS, OPTION_CARBON};
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++)
        if (!value(self, required[i]))
            return helio_fail(err, HELIO_INVALID, "--%s FILE is needed", options[required[i]].name);
    const char *list = value(self, OPTION_POLICY), *format = value(self, OPTION_OUTPUT);
    if (format && strcmp(format, "table") != 0 && strcmp(format, "json") != 0)
        return bad(self, OPTION_OUTPUT, "table or json", err);
    self->defaults = (exp_trace_defaults_t){.from_ms = INT64_MIN, .to_ms = INT64_MAX};
    helio_rc rc = exp_policies_parse(list ? list : POLICIES_DEFAULT, self->policies, &self->policy_count, err);
    rc = rc == HELIO_OK ? take_time(self, OPTION_FROM, &self->defaults.from_ms, err) : rc;
    rc = rc == HELIO_OK ? take_time(self, OPTION_TO, &self->defaults.to_ms, err) : rc;
    rc = rc == HELIO_OK ? take_duration(self, OPTION_FLEXIBLE, &self->defaults.flexible_ms, err) : rc;
    rc = rc == HELIO_OK ? take_duration(self, OPTION_CHECKPOINT, &self->defaults.checkpoint_ms, err) : rc;
    rc = rc == HELIO_OK ? take_duration(self, OPTION_TIME_LIMIT, &self->defaults.limit_ms, err) : rc;
    return rc == HELIO_OK ? take_numbers(self, err) : rc;
}

/*  ---- files ---- */

static helio_rc read_text(const char *path, helio_buffer_t *text, helio_error_t *err)
{
    char block[65536];
    size_t size;
    FILE *file = fopen(path, "re");
    if (!file)
        return helio_fail(err, HELIO_IO, "%s: %s", path, strerror(errno));
    text->max = HELIO_SPEC_SOURCE_MAX + 1; /* one more than a fleet file may have: the reader says so */
    while ((size = fread(block, 1, sizeof block, file)) > 0 && !text->overflow)
        helio_buffer_append(text, block, size);
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    if (failed || text->overflow)
        return helio_fail(err, failed ? HELIO_IO : HELIO_TOO_BIG, "%s: %s", path,
                          failed ? strerror(errno) : "larger than a fleet file may be");
    return HELIO_OK;
}

/*  Prints the errors of the file itself, several at once; then err has no text. */
static helio_rc load_fleet(program_t *self, helio_error_t *err)
{
    const char *path = value(self, OPTION_FLEET);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0}, complaint = {0};
    helio_rc rc = read_text(path, &text, err);
    if (rc != HELIO_OK)
        return rc;
    helio_diagnostics_t wrong;
    helio_spec_source_t source = {helio_arena_text(self->arena, helio_buffer_view(&text)), path, 1};
    rc = exp_fleet_parse(source, self->arena, &self->fleet, &wrong);
    if (rc == HELIO_OK)
        return rc;
    helio_diagnostics_text(&wrong, isatty(fileno(self->err)) == 1 && !getenv("NO_COLOR"), &complaint);
    (void)fprintf(self->err, "%.*s", HELIO_TEXT_ARGS(helio_buffer_view(&complaint)));
    *err = (helio_error_t){.code = rc};
    return rc;
}

/*  Every site needs a carbon series; and a price and a forecast, if there are any. */
static helio_rc check_regions(const program_t *self, helio_error_t *err)
{
    for (uint32_t i = 0; i < self->fleet.count; i++) {
        const exp_fleet_site_t *site = &self->fleet.items[i];
        if (!exp_series_find(self->world.carbon, site->profile.region))
            return helio_fail(err, HELIO_INVALID, "%s: no series of '%.*s', the region of site '%.*s'",
                              value(self, OPTION_CARBON), HELIO_TEXT_ARGS(site->profile.region),
                              HELIO_TEXT_ARGS(site->profile.name));
        if (self->world.price && !exp_series_find(self->world.price, site->price_region))
            return helio_fail(err, HELIO_INVALID, "%s: no series of '%.*s', the price region of site '%.*s'",
                              value(self, OPTION_PRICE), HELIO_TEXT_ARGS(site->price_region),
                              HELIO_TEXT_ARGS(site->profile.name));
    }
    for (uint32_t i = 0; self->world.forecast && i < self->fleet.count; i++)
        if (!exp_forecast_find(self->world.forecast, self->fleet.items[i].forecast_region))
            return helio_fail(err, HELIO_INVALID, "%s: no forecasts of '%.*s', the forecast region of site '%.*s'",
                              value(self, OPTION_FORECAST), HELIO_TEXT_ARGS(self->fleet.items[i].forecast_region),
                              HELIO_TEXT_ARGS(self->fleet.items[i].profile.name));
    return HELIO_OK;
}

/*  The shape of the trace's jobs stays: it follows from GPUs per node alone. */
static helio_rc scale(program_t *self, helio_error_t *err)
{
    double demand = exp_trace_demand(&self->trace);
    if (self->load <= 0)
        return HELIO_OK;
    if (demand <= 0)
        return helio_fail(err, HELIO_INVALID, "%s: --load needs jobs that are submitted at different times",
                          value(self, OPTION_JOBS));
    double factor = demand / (self->load * (double)exp_fleet_gpus(&self->fleet));
    if (exp_fleet_scale(&self->fleet, factor) != HELIO_OK)
        return helio_fail(err, HELIO_TOO_BIG,
                          "%s: --load %s makes the fleet %.3g times as large: a pool has %d nodes at most",
                          value(self, OPTION_FLEET), value(self, OPTION_LOAD), factor, HELIO_JOB_NODES_MAX);
    return HELIO_OK;
}

static helio_rc load(program_t *self, helio_error_t *err)
{
    const exp_series_unit_t grams = {"carbon_g_per_kwh", 1};
    const exp_series_unit_t money[] = {{"price_usd_mwh", 1e-3}, {"price_eur_mwh", self->usd_per_eur * 1e-3}};
    const char *price = value(self, OPTION_PRICE), *forecast = value(self, OPTION_FORECAST);
    helio_rc rc = load_fleet(self, err);
    rc = rc == HELIO_OK ? exp_series_load(value(self, OPTION_CARBON), &grams, 1, &self->world.carbon, err) : rc;
    rc = rc == HELIO_OK && price ? exp_series_load(price, money, 2, &self->world.price, err) : rc;
    rc = rc == HELIO_OK && forecast ? exp_forecast_load(forecast, &self->world.forecast, err) : rc;
    rc = rc == HELIO_OK ? check_regions(self, err) : rc;
    rc = rc == HELIO_OK
             ? exp_trace_load(value(self, OPTION_JOBS), &self->fleet, &self->defaults, self->arena, &self->trace, err)
             : rc;
    rc = rc == HELIO_OK ? scale(self, err) : rc;
    self->world.fleet = &self->fleet;
    self->world.trace = &self->trace;
    return rc;
}

/*  ---- the run ---- */

static void show_progress(void *arg, const char *policy, uint32_t over, uint32_t jobs)
{
    enum { WIDTH = 40 };
    uint32_t done = (uint32_t)((uint64_t)over * WIDTH / jobs);
    (void)fprintf(arg, "\r%-12s [%.*s%*s] %3u %%", policy, (int)done, "########################################",
                  (int)(WIDTH - done), "", (uint32_t)((uint64_t)over * 100 / jobs));
}

/*  Jobs that did not finish. */
static void warn(const program_t *self, const exp_result_t *result)
{
    uint32_t stuck = result->jobs - result->finished - result->refused;
    if (result->refused)
        (void)fprintf(self->err, "helio simulate: %s refuses %u of %u jobs; the first: %s\n", result->policy,
                      result->refused, result->jobs, result->refusal);
    if (stuck)
        (void)fprintf(self->err, "helio simulate: %s: %u of %u jobs never start, however long they wait\n",
                      result->policy, stuck, result->jobs);
}

static void run_all(program_t *self)
{
    const char *format = value(self, OPTION_OUTPUT);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    exp_result_t results[POLICIES_MOST];
    bool shown = isatty(fileno(self->err)) == 1 && !helio_command_line_has(&self->line, OPTION_QUIET);
    for (uint32_t i = 0; i < self->policy_count; i++) {
        int64_t began_us = helio_clock_boot_us();
        exp_run(&self->world, self->policies[i], shown ? show_progress : NULL, self->err, &results[i]);
        warn(self, &results[i]);
        results[i].wall_s = (double)(helio_clock_boot_us() - began_us) / 1e6;
    }
    if (shown)
        (void)fprintf(self->err, "\r%60s\r", "");
    (format && strcmp(format, "json") == 0 ? exp_results_json : exp_results_table)(results, self->policy_count,
                                                                                   &self->world, &text);
    (void)fwrite(text.data, 1, text.size, self->out);
    for (uint32_t i = 0; i < self->policy_count; i++)
        exp_result_clear(&results[i]);
}

static void usage(FILE *out)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t lines = {0};
    helio_option_lines(&option_table, HELIO_OPTIONS_ALL, &lines);
    (void)fprintf(
        out,
        "usage: helio simulate --fleet FILE --jobs FILE --carbon FILE [OPTIONS]\n\n"
        "Runs the jobs of a trace over a fleet with each policy, by the broker's own decisions in virtual time.\n\n"
        "options:\n%.*s\npolicies:\n",
        HELIO_TEXT_ARGS(helio_buffer_view(&lines)));
    for (uint32_t i = 0; i < exp_policy_count; i++)
        (void)fprintf(out, "  %-14s %s\n", exp_policies[i].name, exp_policies[i].doc);
}

static int complain(const program_t *self, const helio_error_t *err, int code)
{
    if (err->text[0])
        (void)fprintf(self->err, "helio simulate: error: %s\n", err->text);
    return code;
}

static int run(program_t *self, int argc, char **argv)
{
    const helio_command_line_rules_t rules = {.options = &option_table, .refuses_empty = true};
    helio_error_t err = {0};
    if (helio_command_line_parse(argc, argv, &rules, self->arena, &self->line, &err) != HELIO_OK)
        return complain(self, &err, EXIT_USAGE);
    if (helio_command_line_has(&self->line, OPTION_HELP)) {
        usage(self->out);
        return 0;
    }
    if (helio_command_line_has(&self->line, OPTION_VERSION)) {
        (void)fprintf(self->out, "helio-simulate %s\n", HELIO_PROGRAM_VERSION);
        return 0;
    }
    if (take_options(self, &err) != HELIO_OK)
        return complain(self, &err, EXIT_USAGE);
    if (load(self, &err) != HELIO_OK)
        return complain(self, &err, EXIT_FAILURE_);
    run_all(self);
    return fflush(self->out) == 0 ? 0 : EXIT_FAILURE_;
}

int exp_program(int argc, char **argv, FILE *out, FILE *err)
{
    program_t self = {.arena = helio_arena_new(), .out = out, .err = err};
    int code = run(&self, argc, argv);
    exp_trace_free(&self.trace);
    exp_series_free(&self.world.carbon);
    exp_series_free(&self.world.price);
    exp_forecast_free(&self.world.forecast);
    helio_arena_destroy(&self.arena);
    return code;
}
