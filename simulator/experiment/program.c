/*  program.c -- options, files, and the rows of the policies. */
#include "simulator/experiment/program.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "federation/arguments/command_line.h"
#include "federation/base/clock.h"
#include "federation/spec/value.h"
#include "simulator/experiment/advice_text.h"
#include "simulator/experiment/bound.h"
#include "simulator/experiment/capacity.h"
#include "simulator/experiment/inputs.h"
#include "simulator/experiment/report.h"

enum { EXIT_FAILURE_ = 1, EXIT_USAGE = 2, POLICIES_MOST = 32 };
static const double REPORT_FIELDS_MOST = 2e7;       /* half a gigabyte: a year of 100 sites with 20 policies */
static const double SHIFT_MOST_H = 50 * 366.0 * 24; /* no series is that far from a trace */
#define POLICIES_DEFAULT "isolated,least-wait,cheapest,static-rank,greenest,balanced"
#define USD_PER_EUR "1.08"
static const int64_t CHECKPOINT_TAKES_MS = 60000; /* as a restart in the simulation */

/* clang-format off */
enum {
    OPTION_FLEET, OPTION_JOBS, OPTION_CARBON, OPTION_PRICE, OPTION_FORECAST, OPTION_PRICE_FORECAST, OPTION_RENT, OPTION_INFERENCE, OPTION_POLICY, OPTION_FROM, OPTION_TO, OPTION_LOAD, OPTION_FLEXIBLE,
    OPTION_CHECKPOINT, OPTION_TIME_LIMIT, OPTION_USD_PER_EUR, OPTION_CARBON_PRICE, OPTION_WAIT_PRICE, OPTION_LOCAL_JOBS, OPTION_ON_SITE_LOSS,
    OPTION_SERIES_SHIFT, OPTION_CAPACITY, OPTION_ADVISE, OPTION_CHECKPOINT_TAKES, OPTION_BOUND, OPTION_REPORT, OPTION_SEED, OPTION_OUTPUT, OPTION_QUIET, OPTION_HELP, OPTION_VERSION, OPTION_COUNT
};
static const helio_option_t options[] = {
    [OPTION_FLEET] = {"fleet", 0, "FILE", NULL, "The sites: fleet.yaml"},
    [OPTION_JOBS] = {"jobs", 0, "FILE", NULL, "The trace: jobs.csv or jobs.csv.gz"},
    [OPTION_CARBON] = {"carbon", 0, "FILE", NULL, "Carbon intensity by region and hour: carbon.csv[.gz]"},
    [OPTION_PRICE] = {"price", 0, "FILE", NULL, "Electricity price by region and hour: price.csv[.gz]"},
    [OPTION_FORECAST] = {"forecast", 0, "FILE", NULL, "Carbon forecasts as issued, by region, issue and hour: forecast.csv[.gz]"},
    [OPTION_PRICE_FORECAST] = {"price-forecast", 0, "FILE", NULL, "Prices as published ahead, likewise; a region may be left out: day-ahead.csv[.gz]"},
    [OPTION_RENT] = {"rent", 0, "FILE", NULL, "Rent by site, pool and hour, where it changes by the hour, as of spot pools: rent.csv[.gz]"},
    [OPTION_INFERENCE] = {"inference", 0, "FILE", NULL, "Demand by series and time, which windows of the fleet follow: inference.csv[.gz]"},
    [OPTION_POLICY] = {"policy", 0, "LIST", NULL, "Policies to compare (" POLICIES_DEFAULT ")"},
    [OPTION_FROM] = {"from", 0, "TIME", NULL, "Only jobs submitted from then on"},
    [OPTION_TO] = {"to", 0, "TIME", NULL, "Only jobs submitted before"},
    [OPTION_LOAD] = {"load", 0, "SHARE", NULL, "Scales the nodes of all pools so that mean demand is this share of capacity: 0.7"},
    [OPTION_FLEXIBLE] = {"flexible", 0, "DURATION", NULL, "May wait so long for a better hour, if the trace does not say"},
    [OPTION_CHECKPOINT] = {"checkpoint", 0, "DURATION", NULL, "Between two checkpoints, if the trace does not say (none are made)"},
    [OPTION_TIME_LIMIT] = {"time-limit", 0, "DURATION", NULL, "Limit where the trace has none (the duration itself)"},
    [OPTION_USD_PER_EUR] = {"usd-per-eur", 0, "RATE", NULL, "For prices in EUR (" USD_PER_EUR ")"},
    [OPTION_CARBON_PRICE] = {"carbon-price", 0, "PRICE", NULL, "What balanced and clairvoyant weigh a tonne with (200 USD/t)"},
    [OPTION_WAIT_PRICE] = {"wait-price", 0, "PRICE", NULL, "And an hour in which a GPU's work waits (0.5 USD/gpu-h)"},
    [OPTION_LOCAL_JOBS] = {"local-jobs", 0, "FILE", NULL, "Jobs of the sites' own users, in the sites' own queues: local.csv[.gz]"},
    [OPTION_ON_SITE_LOSS] = {"on-site-loss", 0, "POLICY", "strict lease eager", "What jobs ask for when their site is gone (strict)"},
    [OPTION_SERIES_SHIFT] = {"series-shift", 0, "SPAN", NULL, "Moves all series by 3y, -52w, 7d or 12h: where their dates are not the trace's"},
    [OPTION_CAPACITY] = {"capacity", 0, NULL, NULL, "Look for the smallest fleet on which each policy does as well as isolated: about ten runs each"},
    [OPTION_ADVISE] = {"advise", 0, NULL, NULL, "Also where one more node would help (a run for each pool), who asks for more than they use, how often to save"},
    [OPTION_CHECKPOINT_TAKES] = {"checkpoint-takes", 0, "DURATION", NULL, "What one checkpoint takes, for --advise (1m)"},
    [OPTION_BOUND] = {"bound", 0, NULL, NULL, "Also the least that any schedule could emit and cost, and how much of what is possible each policy saves"},
    [OPTION_REPORT] = {"report", 0, "FILE", NULL, "Also writes a page with plots: report.html"},
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
    int argc;
    char **argv;
    exp_inputs_t inputs;
    exp_classes_t classes; /* for bounds */
    exp_request_t request;
    int64_t checkpoint_takes_ms;
    exp_advice_t advices[POLICIES_MOST];
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

/*  "3y", "-52w", "7d", "12h". Years count 365.25 days, rounded to whole days, so that every series moves alike. */
static helio_rc take_shift(program_t *self, helio_error_t *err)
{
    static const struct {
        char unit;
        double hours;
    } units[] = {{'y', 365.25 * 24}, {'w', 7 * 24}, {'d', 24}, {'h', 1}};
    const char *text = value(self, OPTION_SERIES_SHIFT);
    uint32_t size = text ? (uint32_t)strlen(text) : 0;
    int64_t number;
    if (!text)
        return HELIO_OK;
    for (size_t i = 0; size > 1 && i < sizeof units / sizeof units[0]; i++) {
        if (text[size - 1] != units[i].unit || helio_i64_parse((helio_text_t){text, size - 1}, &number) != HELIO_OK)
            continue;
        double hours = (double)number * units[i].hours;
        hours = units[i].unit == 'y' ? round(hours / 24) * 24 : hours;
        if (fabs(hours) > SHIFT_MOST_H)
            break;
        self->request.shift_ms = (int64_t)hours * 3600000;
        return HELIO_OK;
    }
    return bad(self, OPTION_SERIES_SHIFT, "a span like 3y, -52w, 7d or 12h, at most 50 years", err);
}

static helio_rc take_price(const program_t *self, uint32_t option, const char *unit, const char *expected,
                           bool *ret_given, int64_t *ret_micro_usd, helio_error_t *err)
{
    const char *text = value(self, option);
    *ret_given = text != NULL;
    if (text && (helio_rate_parse(helio_text_of(text), unit, ret_micro_usd) != HELIO_OK ||
                 *ret_micro_usd > HELIO_PRICE_MAX_MICRO_USD))
        return bad(self, option, expected, err);
    return HELIO_OK;
}

static helio_rc take_prices(program_t *self, helio_error_t *err)
{
    exp_world_t *world = &self->inputs.world;
    helio_rc rc = take_price(self, OPTION_CARBON_PRICE, "t", "a price like '200 USD/t', at most a million",
                             &world->carbon_price_given, &world->carbon_price_micro_usd_per_t, err);
    if (rc == HELIO_OK)
        rc = take_price(self, OPTION_WAIT_PRICE, "gpu-h", "a price like '0.5 USD/gpu-h', at most a million",
                        &world->wait_price_given, &world->wait_price_micro_usd_per_gpu_h, err);
    return rc;
}

static helio_rc take_site_loss(program_t *self, helio_error_t *err)
{
    const char *text = value(self, OPTION_ON_SITE_LOSS);
    uint32_t loss = HELIO_SITE_LOSS_STRICT;
    if (text && helio_site_loss_of(helio_text_of(text), &loss) != HELIO_OK)
        return bad(self, OPTION_ON_SITE_LOSS, "strict, lease or eager", err);
    self->inputs.world.site_loss = (helio_site_loss_t)loss;
    return HELIO_OK;
}

static helio_rc take_numbers(program_t *self, helio_error_t *err)
{
    const char *rate = value(self, OPTION_USD_PER_EUR), *seed = value(self, OPTION_SEED),
               *share = value(self, OPTION_LOAD);
    self->inputs.world.seed = 1;
    if (helio_f64_parse(helio_text_of(rate ? rate : USD_PER_EUR), &self->request.usd_per_eur) != HELIO_OK ||
        self->request.usd_per_eur <= 0)
        return bad(self, OPTION_USD_PER_EUR, "a rate above 0", err);
    if (share && (helio_f64_parse(helio_text_of(share), &self->request.load) != HELIO_OK || self->request.load < 0.01 ||
                  self->request.load > 10))
        return bad(self, OPTION_LOAD, "a share like 0.7, within 0.01..10", err);
    if (seed && helio_u64_parse(helio_text_of(seed), &self->inputs.world.seed) != HELIO_OK)
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
    self->request.defaults = (exp_trace_defaults_t){.from_ms = INT64_MIN, .to_ms = INT64_MAX};
    helio_rc rc = exp_policies_parse(list ? list : POLICIES_DEFAULT, self->policies, &self->policy_count, err);
    rc = rc == HELIO_OK ? take_time(self, OPTION_FROM, &self->request.defaults.from_ms, err) : rc;
    rc = rc == HELIO_OK ? take_time(self, OPTION_TO, &self->request.defaults.to_ms, err) : rc;
    rc = rc == HELIO_OK ? take_duration(self, OPTION_FLEXIBLE, &self->request.defaults.flexible_ms, err) : rc;
    rc = rc == HELIO_OK ? take_duration(self, OPTION_CHECKPOINT, &self->request.defaults.checkpoint_ms, err) : rc;
    rc = rc == HELIO_OK ? take_duration(self, OPTION_TIME_LIMIT, &self->request.defaults.limit_ms, err) : rc;
    self->checkpoint_takes_ms = CHECKPOINT_TAKES_MS;
    rc = rc == HELIO_OK ? take_duration(self, OPTION_CHECKPOINT_TAKES, &self->checkpoint_takes_ms, err) : rc;
    if (rc == HELIO_OK && !self->checkpoint_takes_ms)
        rc = bad(self, OPTION_CHECKPOINT_TAKES, "above 0", err);
    rc = rc == HELIO_OK ? take_shift(self, err) : rc;
    rc = rc == HELIO_OK ? take_prices(self, err) : rc;
    rc = rc == HELIO_OK ? take_site_loss(self, err) : rc;
    return rc == HELIO_OK ? take_numbers(self, err) : rc;
}

static void take_files(program_t *self)
{
    exp_request_t *request = &self->request;
    request->fleet = value(self, OPTION_FLEET);
    request->jobs = value(self, OPTION_JOBS);
    request->carbon = value(self, OPTION_CARBON);
    request->price = value(self, OPTION_PRICE);
    request->forecast = value(self, OPTION_FORECAST);
    request->price_forecast = value(self, OPTION_PRICE_FORECAST);
    request->rent = value(self, OPTION_RENT);
    request->inference = value(self, OPTION_INFERENCE);
    request->local_jobs = value(self, OPTION_LOCAL_JOBS);
    for (uint32_t i = 0; i < self->policy_count; i++)
        request->by_distance = request->by_distance || self->policies[i]->objective == HELIO_OBJECTIVE_NEAREST;
}

/*  ---- the run ---- */

static void show_progress(void *arg, const char *policy, uint32_t over, uint32_t jobs)
{
    enum { WIDTH = 40 };
    uint32_t done = (uint32_t)((uint64_t)over * WIDTH / jobs);
    (void)fprintf(arg, "\r%-21s [%.*s%*s] %3u %%", policy, (int)done, "########################################",
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

static void run_one(program_t *self, const exp_policy_t *policy, bool shown, exp_result_t *ret_result)
{
    int64_t began_us = helio_clock_boot_us();
    exp_run(&self->inputs.world, policy, shown ? show_progress : NULL, self->err, ret_result);
    ret_result->wall_s = (double)(helio_clock_boot_us() - began_us) / 1e6;
}

/*  What isolated does on the whole fleet is what the others are compared with, whether it is among them or not. */
static void find_capacities(program_t *self, exp_result_t *results)
{
    exp_result_t isolated;
    const exp_policy_t *policy = exp_policy_find(helio_text_of("isolated"));
    run_one(self, policy, false, &isolated);
    for (uint32_t i = 0; i < self->policy_count; i++)
        results[i].capacity_ratio =
            self->policies[i] == policy
                ? 1
                : exp_capacity_ratio(&self->inputs.world, self->policies[i], &results[i], &isolated);
    exp_result_clear(&isolated);
}

static void show_advice_progress(void *arg, const char *policy, uint32_t runs, uint32_t of)
{
    (void)fprintf(arg, "\r%-21s advice: run %u of %u%40s", policy, runs + 1, of, "");
}

static void find_advice(program_t *self, bool shown, exp_result_t *results)
{
    for (uint32_t i = 0; i < self->policy_count; i++) {
        exp_advice_find(&self->inputs.world, self->policies[i], &results[i], self->checkpoint_takes_ms,
                        shown ? show_advice_progress : NULL, self->err, &self->advices[i]);
        results[i].advice = &self->advices[i];
    }
}

/*  The words as they were given: names of files and numbers need no quotes. */
static const char *command_of(const program_t *self)
{
    helio_text_t words = HELIO_TEXT("helio simulate");
    for (int i = 1; i < self->argc; i++)
        words = helio_arena_printf(self->arena, "%.*s %s", HELIO_TEXT_ARGS(words), self->argv[i]);
    return helio_arena_string(self->arena, words);
}

/*  A report keeps every hour of every site for each policy. */
static helio_rc check_report(const program_t *self, helio_error_t *err)
{
    const exp_trace_t *trace = &self->inputs.trace;
    double hours = (double)(trace->to_ms - trace->from_ms) / 3600000;
    if (!value(self, OPTION_REPORT) || hours * self->inputs.fleet.count * self->policy_count <= REPORT_FIELDS_MOST)
        return HELIO_OK;
    return helio_fail(
        err, HELIO_TOO_BIG,
        "--report: %.0f hours of %u sites with %u policies are more than a page can show: --from and --to "
        "select a part",
        hours, self->inputs.fleet.count, self->policy_count);
}

static helio_rc write_report(const program_t *self, const exp_result_t *results, helio_error_t *err)
{
    const char *path = value(self, OPTION_REPORT);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    exp_report(results, self->policy_count, &self->inputs.world, command_of(self), &text);
    if (text.overflow)
        return helio_fail(err, HELIO_TOO_BIG, "%s: the page is larger than 64 MiB: compare fewer policies", path);
    FILE *file = fopen(path, "we");
    bool written = file && fwrite(text.data, 1, text.size, file) == text.size;
    written = file && fclose(file) == 0 && written;
    return written ? HELIO_OK : helio_fail(err, HELIO_IO, "%s: %s", path, strerror(errno));
}

static helio_rc run_all(program_t *self, helio_error_t *err)
{
    const char *format = value(self, OPTION_OUTPUT);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    exp_result_t results[POLICIES_MOST];
    bool shown = isatty(fileno(self->err)) == 1 && !helio_command_line_has(&self->line, OPTION_QUIET);
    for (uint32_t i = 0; i < self->policy_count; i++) {
        run_one(self, self->policies[i], shown, &results[i]);
        warn(self, &results[i]);
    }
    if (helio_command_line_has(&self->line, OPTION_CAPACITY))
        find_capacities(self, results);
    if (helio_command_line_has(&self->line, OPTION_ADVISE))
        find_advice(self, shown, results);
    if (shown)
        (void)fprintf(self->err, "\r%90s\r", "");
    if (helio_command_line_has(&self->line, OPTION_BOUND))
        exp_bounds_find(&self->inputs.world, results, self->policy_count);
    (format && strcmp(format, "json") == 0 ? exp_results_json : exp_results_table)(results, self->policy_count,
                                                                                   &self->inputs.world, &text);
    (void)fwrite(text.data, 1, text.size, self->out);
    helio_rc rc = value(self, OPTION_REPORT) ? write_report(self, results, err) : HELIO_OK;
    for (uint32_t i = 0; i < self->policy_count; i++)
        exp_result_clear(&results[i]);
    for (uint32_t i = 0; i < self->policy_count; i++)
        exp_advice_clear(&self->advices[i]);
    return rc;
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
        (void)fprintf(out, "  %-21s %s\n", exp_policies[i].name, exp_policies[i].doc);
}

static int complain(const program_t *self, const helio_error_t *err, int code)
{
    if (err->text[0])
        (void)fprintf(self->err, "helio simulate: error: %s\n", err->text);
    return code;
}

static int run(program_t *self, int argc, char **argv)
{
    static const helio_option_instead_t instead[] = {
        {"from-broker", "`helio rehearse --last 7d --change CHANGE` runs the jobs of a live federation again"}, {0}};
    const helio_command_line_rules_t rules = {.options = &option_table, .refuses_empty = true, .instead = instead};
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
    take_files(self);
    if (exp_inputs_load(&self->request, self->arena, self->err, &self->inputs, &err) != HELIO_OK)
        return complain(self, &err, EXIT_FAILURE_);
    if (check_report(self, &err) != HELIO_OK)
        return complain(self, &err, EXIT_FAILURE_);
    self->inputs.world.detailed = value(self, OPTION_REPORT) != NULL;
    if (helio_command_line_has(&self->line, OPTION_BOUND)) {
        exp_classes_init(&self->classes, &self->inputs.fleet, &self->inputs.trace);
        self->inputs.world.classes = &self->classes;
    }
    if (run_all(self, &err) != HELIO_OK)
        return complain(self, &err, EXIT_FAILURE_);
    return fflush(self->out) == 0 ? 0 : EXIT_FAILURE_;
}

int exp_program(int argc, char **argv, FILE *out, FILE *err)
{
    program_t self = {.arena = helio_arena_new(), .out = out, .err = err, .argc = argc, .argv = argv};
    int code = run(&self, argc, argv);
    exp_classes_clear(&self.classes);
    exp_inputs_clear(&self.inputs);
    helio_arena_destroy(&self.arena);
    return code;
}
