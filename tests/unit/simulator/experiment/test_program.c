/*  test_program.c -- the command line of helio-simulate: options, files, rows, and errors with file and line. */
#include "tests/unit/simulator/experiment/fleet_testing.h"

#include <stdlib.h>

#include "simulator/experiment/policies.h"
#include "simulator/experiment/program.h"

#define CARBON                                                                                            \
    "region,utc_hour_iso8601,carbon_g_per_kwh\nNO,2023-10-01T12:00:00Z,50\nSO,2023-10-01T12:00:00Z,500\n" \
    "WE,2023-10-01T12:00:00Z,250\n"
#define PRICE                                                                                          \
    "region,utc_hour_iso8601,price_eur_mwh\nNO,2023-10-01T12:00:00Z,300\nSO,2023-10-01T12:00:00Z,50\n" \
    "WE,2023-10-01T12:00:00Z,150\n"
#define JOBS                                                                                               \
    "job_id,submit_unix,duration_s,gpus,home_site\na,1696176000,3600,8,west\nb,1696179600,7200,16,north\n" \
    "c,1696179600,60,1,south\n"

static char *out_text, *err_text;
static size_t out_size, err_size;

static void forget(void)
{
    free(out_text);
    free(err_text);
    out_text = err_text = NULL;
}

static int end_program(void **state)
{
    forget();
    return end(state);
}

static int begin_program(void **state)
{
    if (begin(state))
        return -1;
    (void)put("fleet.yaml", three_sites);
    (void)put("jobs.csv", JOBS);
    (void)put("carbon.csv", CARBON);
    (void)put("price.csv", PRICE);
    return 0;
}

/*  With these words behind the three files, each of which a word can replace. */
static int play(const char *const *words)
{
    char *argv[32] = {(char *)(uintptr_t) "helio-simulate"};
    int argc = 1;
    static const char *const files[][2] = {
        {"--fleet", "fleet.yaml"}, {"--jobs", "jobs.csv"}, {"--carbon", "carbon.csv"}};
    for (size_t i = 0; i < 3; i++) {
        argv[argc++] = (char *)(uintptr_t)files[i][0];
        argv[argc++] = (char *)(uintptr_t)path_of(files[i][1]);
    }
    for (; *words; words++)
        argv[argc++] = (char *)(uintptr_t)*words;
    forget();
    FILE *out = open_memstream(&out_text, &out_size), *problems = open_memstream(&err_text, &err_size);
    int code = exp_program(argc, argv, out, problems);
    (void)fclose(out);
    (void)fclose(problems);
    return code;
}
#define PLAY(...) play((const char *const[]){__VA_ARGS__, NULL})

static void table__has_a_row_for_each_policy(void **state)
{
    (void)state;
    assert_int_equal(PLAY("--policy", "least-wait,isolated"), 0);
    assert_string_equal(err_text, "");
    const char *least = strstr(out_text, "\nleast-wait "), *isolated = strstr(out_text, "\nisolated ");
    assert_true(strncmp(out_text, "POLICY", 6) == 0 && least && isolated && least < isolated);
}

/*  The keys that programs read; their order is free. */
static void json__has_every_key_for_every_policy(void **state)
{
    (void)state;
    static const char *const keys[] = {"policy",
                                       "jobs",
                                       "finished",
                                       "unfinished",
                                       "utilization",
                                       "utilization_with_inference",
                                       "instance_hours",
                                       "instance_idle_gpu_h",
                                       "instance_idle_usd",
                                       "nodes_taken",
                                       "interruptions",
                                       "interrupted_gpu_h",
                                       "slowdown_max",
                                       "wait_mean_s",
                                       "wait_p50_s",
                                       "wait_p95_s",
                                       "jct_mean_s",
                                       "wait_max_s",
                                       "slowdown_mean",
                                       "deadline_misses",
                                       "cost_usd",
                                       "energy_kwh",
                                       "idle_energy_kwh",
                                       "carbon_kg",
                                       "moves",
                                       "reserve_shortfall_gpu_h",
                                       "effective_capacity_ratio",
                                       "carbon_lower_bound_kg",
                                       "cost_lower_bound_usd",
                                       "carbon_same_hours_kg",
                                       "cost_same_hours_usd",
                                       "carbon_reached_ratio",
                                       "cost_reached_ratio",
                                       "bound_until",
                                       "decisions_per_s",
                                       "wall_s"};
    assert_int_equal(PLAY("--price", path_of("price.csv"), "-o", "json", "-q"), 0);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char quoted[64];
        uint32_t found = 0;
        (void)snprintf(quoted, sizeof quoted, "\"%s\":", keys[i]);
        for (const char *at = out_text; (at = strstr(at, quoted)); at++)
            found++;
        if (found != 6)
            fail_msg("%s: %u", keys[i], found);
    }
}

static void json__has_no_cost_without_prices(void **state)
{
    (void)state;
    assert_int_equal(PLAY("-o", "json", "--policy", "isolated"), 0);
    assert_non_null(strstr(out_text, "\"cost_usd\": null"));
    /* 8 GPU-hours at west, 32 at north, a minute at south: 0.429 kW each, times PUE */
    assert_non_null(strstr(out_text, "\"energy_kwh\": 19.2,"));
    assert_non_null(strstr(out_text, "\"carbon_kg\": 1.8,"));
}

static void from_and_to__select_submissions(void **state)
{
    (void)state;
    assert_int_equal(PLAY("-o", "json", "--policy", "isolated", "--from", "2023-10-01T17:00:00Z"), 0);
    assert_non_null(strstr(out_text, "\"jobs\": 2,"));
    assert_int_equal(PLAY("-o", "json", "--policy", "isolated", "--to", "2023-10-01T17:00:00Z"), 0);
    assert_non_null(strstr(out_text, "\"jobs\": 1,"));
}

static void usage__errors_say_what_is_expected(void **state)
{
    (void)state;
    static const struct {
        const char *words[3];
        const char *error;
    } rows[] = {
        {{"--policy", "greenst"}, "--policy: 'greenst' is not known; known: isolated, least-wait, cheapest, "},
        {{"--policy", "isolated,isolated"}, "--policy: 'isolated' is named twice"},
        {{"--policy", "isolated,"}, "--policy: '' is not known"},
        {{"--from", "monday"}, "--from: 'monday' is not a time like 2023-10-02T00:00:00Z"},
        {{"--flexible", "400d"}, "--flexible: '400d' is not a duration like 24h, at most 366d"},
        {{"--checkpoint", "often"}, "--checkpoint: 'often' is not a duration like 24h, at most 366d"},
        {{"--load", "0"}, "--load: '0' is not a share like 0.7, within 0.01..10"},
        {{"--load", "70%"}, "--load: '70%' is not a share like 0.7, within 0.01..10"},
        {{"--time-limit", "1"}, "--time-limit: '1' is not a duration like 24h, at most 366d"},
        {{"--usd-per-eur", "0"}, "--usd-per-eur: '0' is not a rate above 0"},
        {{"--seed", "x"}, "--seed: 'x' is not a whole number"},
        {{"--carbon-price", "200"}, "--carbon-price: '200' is not a price like '200 USD/t', at most a million"},
        {{"--wait-price", "1 USD/h"}, "--wait-price: '1 USD/h' is not a price like '0.5 USD/gpu-h', at most a million"},
        {{"--on-site-loss", "never"}, "never"},
        {{"--series-shift", "3"}, "--series-shift: '3' is not a span like 3y, -52w, 7d or 12h, at most 50 years"},
        {{"--series-shift", "y"}, "--series-shift: 'y' is not a span like 3y, -52w, 7d or 12h, at most 50 years"},
        {{"--series-shift", "1.5y"}, "--series-shift: '1.5y' is not a span like 3y, -52w, 7d or 12h, at most 50 years"},
        {{"--series-shift", "51y"}, "--series-shift: '51y' is not a span like 3y, -52w, 7d or 12h, at most 50 years"},
        {{"-o", "xml"}, "xml"},
        {{"--forcast", "f.csv"}, "--forcast"},
        {{"word", NULL}, "word"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(play(rows[i].words), 2);
        assert_string_equal(out_text, "");
        if (strncmp(err_text, "helio simulate: error: ", 23) != 0 || !strstr(err_text, rows[i].error))
            fail_msg("row %zu: %s", i, err_text);
    }
    char *argv[] = {(char *)(uintptr_t) "helio-simulate", (char *)(uintptr_t) "--jobs", (char *)(uintptr_t) "x"};
    forget();
    FILE *problems = open_memstream(&err_text, &err_size);
    assert_int_equal(exp_program(3, argv, stdout, problems), 2);
    (void)fclose(problems);
    assert_string_equal(err_text, "helio simulate: error: --fleet FILE is needed\n");
}

static void files__errors_have_file_and_line(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text, *error;
    } rows[] = {
        {"jobs.csv", "submit_unix,duration_s,gpus\n1,1,x\n", "jobs.csv:2: column 'gpus': 'x' is not a number"},
        {"carbon.csv", "region,utc_hour_iso8601,carbon_g_per_kwh\nNO,now,1\n",
         "carbon.csv:2: column 'utc_hour_iso8601'"},
        {"carbon.csv", "region,utc_hour_iso8601,carbon_g_per_kwh\nNO,2023-10-01T12:00:00Z,1\n",
         "carbon.csv: no series of 'SO', the region of site 'south'"},
        {"fleet.yaml", "sites:\n- {nmae: a}\n", "fleet.yaml:2:4: error: unknown key 'nmae'"},
        {"fleet.yaml", NULL, "fleet.yaml: No such file or directory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].text)
            (void)put(rows[i].file, rows[i].text);
        else
            assert_int_equal(remove(path_of(rows[i].file)), 0);
        assert_int_equal(PLAY("-q"), 1);
        if (!strstr(err_text, rows[i].error))
            fail_msg("row %zu: %s", i, err_text);
        (void)put("fleet.yaml", three_sites);
        (void)put("jobs.csv", JOBS);
        (void)put("carbon.csv", CARBON);
    }
}

static void forecast__is_needed_of_every_region(void **state)
{
    (void)state;
#define FORECAST_OF(region, value) region ",2023-10-01T12:00:00Z,2023-10-01T18:00:00Z," value "\n"
#define FORECAST "region,issue_utc,utc_hour_iso8601,carbon_g_per_kwh_forecast\n"
    const char *path = put("f.csv", FORECAST FORECAST_OF("NO", "50") FORECAST_OF("WE", "250"));
    assert_int_equal(PLAY("--forecast", path, "-q"), 1);
    assert_non_null(strstr(err_text, "f.csv: no forecasts of 'SO', the forecast region of site 'south'"));
    (void)put("f.csv", FORECAST FORECAST_OF("NO", "5000") FORECAST_OF("SO", "1") FORECAST_OF("WE", "2500"));
    (void)put("jobs.csv", "submit_unix,duration_s,gpus,home_site\n1696176000,36000,8,west\n");
    assert_int_equal(PLAY("--policy", "greenest", "-o", "json"), 0);
    assert_non_null(strstr(out_text, "\"carbon_kg\": 1.9,")); /* at north */
    assert_int_equal(PLAY("--policy", "greenest", "-o", "json", "--forecast", path), 0);
    assert_null(strstr(out_text, "\"carbon_kg\": 1.9,")); /* decided by the forecast, accounted by the truth */
}

static void price_forecast__needs_prices_and_a_region_of_the_fleet(void **state)
{
    (void)state;
#define AHEAD "region,issue_utc,utc_hour_iso8601,price_usd_mwh_forecast\n"
    const char *path = put("f.csv", AHEAD FORECAST_OF("XX", "50"));
    assert_int_equal(PLAY("--price", path_of("price.csv"), "--price-forecast", path, "-q"), 1);
    assert_non_null(strstr(err_text, "f.csv: no site has one of its regions as price region; the first is 'XX'"));
    (void)put("f.csv", AHEAD FORECAST_OF("NO", "-50"));
    assert_int_equal(PLAY("--price", path_of("price.csv"), "--price-forecast", path, "-q"), 0);
    assert_int_equal(PLAY("--price-forecast", path, "-q"), 1);
    assert_non_null(strstr(err_text, "f.csv: --price-forecast needs the prices themselves: --price FILE"));
    (void)put("f.csv", "region,issue_utc,utc_hour_iso8601,carbon_g_per_kwh_forecast\n");
    assert_int_equal(PLAY("--price", path_of("price.csv"), "--price-forecast", path, "-q"), 1);
    assert_non_null(
        strstr(err_text, "f.csv:1: neither the column 'price_usd_mwh_forecast' nor 'price_eur_mwh_forecast' is there"));
}

#define SPOT_FLEET(rent)                                                                                                \
    "sites:\n- name: north\n  region: NO\n  pools: [{name: spot, gpu: A100, memory: 80GB, nodes: 2, gpus_per_node: 8, " \
    "owned: false, spot: true, interruptions_per_h: 0.01" rent "}]\n"

static void rent__of_spot_pools_must_be_known(void **state)
{
    (void)state;
    (void)put("jobs.csv", "submit_unix,duration_s,gpus,checkpoint_s\n1696176000,3600,8,600\n");
    (void)put("fleet.yaml", SPOT_FLEET(", spot_usd_per_gpu_h: 2"));
    assert_int_equal(PLAY("--policy", "cheapest", "-o", "json"), 0);
    assert_non_null(strstr(out_text, "\"cost_usd\": 16.0,"));
    (void)put("fleet.yaml", SPOT_FLEET(""));
    assert_int_equal(PLAY("-q"), 1);
    assert_non_null(strstr(err_text,
                           "fleet.yaml: site 'north', pool 'spot': a spot pool needs spot_usd_per_gpu_h, or a "
                           "series of --rent"));
#define RENT "site,pool,utc_hour_iso8601,usd_per_gpu_h\n"
    const char *path = put("rent.csv", RENT "north,sopt,2023-10-01T16:00:00Z,1.5\n");
    (void)put("fleet.yaml", SPOT_FLEET(", spot_usd_per_gpu_h: 2"));
    assert_int_equal(PLAY("--rent", path, "-q"), 1);
    assert_non_null(strstr(err_text, "rent.csv: no rented pool of the fleet is in it; the first is 'north/sopt'"));
    (void)put("rent.csv", RENT "north,spot,2023-10-01T16:00:00Z,1.5\n");
    (void)put("fleet.yaml", SPOT_FLEET(""));
    assert_int_equal(PLAY("--policy", "cheapest", "-o", "json", "--rent", path), 0);
    assert_non_null(strstr(out_text, "\"cost_usd\": 12.0,"));
    (void)put("rent.csv", RENT "north,spot,2023-10-01T16:00:00Z,-1\n");
    assert_int_equal(PLAY("--rent", path, "-q"), 1);
    assert_non_null(strstr(err_text, "rent.csv:2: column 'usd_per_gpu_h': "));
}

/*  Two jobs of 8 GPUs that run all the time between the first submission and the last one, 4 h later. */
static void load__scales_the_fleet_to_the_demand(void **state)
{
    (void)state;
    (void)put("jobs.csv", "submit_unix,duration_s,gpus\n1696176000,36000,8\n1696176000,36000,8\n1696190400,1,8\n");
    static const struct {
        const char *load, *utilization;
    } rows[] = {
        {"0.25", "\"utilization\": 0.25,"}, {"0.4", "\"utilization\": 0.4,"}, {"0.125", "\"utilization\": 0.125,"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(PLAY("--policy", "least-wait", "-o", "json", "--load", rows[i].load), 0);
        if (!strstr(out_text, rows[i].utilization))
            fail_msg("row %zu: %s", i, out_text);
    }
    (void)put("jobs.csv", "submit_unix,duration_s,gpus\n1696176000,36000,8\n");
    assert_int_equal(PLAY("--load", "0.5", "-q"), 1);
    assert_non_null(strstr(err_text, "jobs.csv: --load needs jobs that are submitted at different times"));
}

static void refused__jobs_are_named_with_their_reason(void **state)
{
    (void)state;
    (void)put("jobs.csv", "submit_unix,duration_s,gpus\n1696176000,60,800\n1696176000,60,1\n");
    assert_int_equal(PLAY("--policy", "least-wait"), 0);
    assert_non_null(strstr(err_text, "helio simulate: least-wait refuses 1 of 2 jobs; the first: "));
}

/*  A team may have 8 GPUs of the queue `express` at most. */
static void stuck__jobs_are_counted(void **state)
{
    (void)state;
    (void)put("jobs.csv", "submit_unix,duration_s,gpus,queue\n1696176000,60,9,express\n1696176000,60,8,express\n");
    assert_int_equal(PLAY("--policy", "least-wait", "-o", "json"), 0);
    assert_string_equal(err_text, "helio simulate: least-wait: 1 of 2 jobs never start, however long they wait\n");
    assert_non_null(strstr(out_text, "\"unfinished\": 1,"));
}

/*  Series of three years ago, whose second hour is another one: shifted, they give what those of the trace's dates do. */
static void shift__moves_series_to_the_dates_of_the_trace(void **state)
{
    (void)state;
#define TWO_HOURS(first, second)                                                                                \
    "region,utc_hour_iso8601,carbon_g_per_kwh\nNO," first ",50\nNO," second ",70\nSO," first ",500\nSO," second \
    ",510\nWE," first ",250\nWE," second ",100\n"
    static const struct {
        const char *shift, *carbon;
    } rows[] = {{"0h", TWO_HOURS("2023-10-01T16:00:00Z", "2023-10-01T17:00:00Z")},
                {"3y", TWO_HOURS("2020-09-30T16:00:00Z", "2020-09-30T17:00:00Z")}, /* 1,096 days */
                {"-1y", TWO_HOURS("2024-09-30T16:00:00Z", "2024-09-30T17:00:00Z")},
                {"52w", TWO_HOURS("2022-10-02T16:00:00Z", "2022-10-02T17:00:00Z")},
                {"7d", TWO_HOURS("2023-09-24T16:00:00Z", "2023-09-24T17:00:00Z")},
                {"-12h", TWO_HOURS("2023-10-02T04:00:00Z", "2023-10-02T05:00:00Z")}};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t first = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char shift[32];
        (void)snprintf(shift, sizeof shift, "--series-shift=%s", rows[i].shift);
        (void)put("carbon.csv", rows[i].carbon);
        assert_int_equal(PLAY("--policy", "isolated,greenest", shift), 0);
        if (!i)
            helio_buffer_text(&first, out_text);
        else
            assert_string_equal(out_text, first.data);
    }
}

static void nearest__needs_to_know_where_sites_are(void **state)
{
    (void)state;
    assert_int_equal(PLAY("--policy", "nearest"), 1);
    assert_non_null(strstr(err_text, "--policy nearest: site 'north' has no position: give its lat and lon, or links"));
}

static void local_jobs__are_read_and_their_waits_are_shown(void **state)
{
    (void)state;
    const char *path = put("local.csv", "site,submit_unix,duration_s,gpus\nwest,1696176000,60,8\nwset,1,1,1\n");
    assert_int_equal(PLAY("--local-jobs", path), 1);
    assert_non_null(strstr(err_text, "local.csv:3: column 'site': the fleet has no site 'wset'"));
    assert_int_equal(PLAY("-o", "json", "--policy", "isolated"), 0);
    assert_non_null(strstr(out_text, "\"local_wait_mean_s\": null"));
    (void)put("local.csv", "site,submit_unix,duration_s,gpus\nnorth,1696176000,7200,16\nnorth,1696179600,1800,1\n");
    assert_int_equal(PLAY("-o", "json", "--policy", "isolated", "--local-jobs", path), 0);
    assert_non_null(strstr(out_text, "\"local_wait_mean_s\": 1800"));
}

static void capacity__is_looked_for_on_demand(void **state)
{
    (void)state;
    assert_int_equal(PLAY("-o", "json", "--policy", "isolated"), 0);
    assert_non_null(strstr(out_text, "\"effective_capacity_ratio\": null"));
    assert_int_equal(PLAY("-o", "json", "--policy", "isolated", "--capacity"), 0);
    assert_non_null(strstr(out_text, "\"effective_capacity_ratio\": 1"));
    assert_int_equal(PLAY("--policy", "isolated", "--capacity"), 0);
    assert_non_null(strstr(out_text, "CAPACITY\n"));
}

static void advice__is_given_on_demand(void **state)
{
    (void)state;
    assert_int_equal(PLAY("-o", "json", "--policy", "isolated"), 0);
    assert_null(strstr(out_text, "\"advice\""));
    assert_int_equal(PLAY("-o", "json", "--policy", "isolated,least-wait", "--advise", "--checkpoint-takes", "30s"), 0);
    for (const char *at = out_text, *next = NULL, *key = "\"one_more_node\": ["; at; at = next) {
        next = strstr(at + 1, key);
        assert_true(at == out_text || strstr(at, "\"by_chance_usd\": ["));
    }
    assert_non_null(strstr(out_text, "\"checkpoint_takes_s\": 30"));
    assert_non_null(strstr(out_text, "\"interrupted\": 0,"));
    assert_non_null(strstr(out_text, "\"gpu_hours_asked\": null,"));
    assert_int_equal(PLAY("--policy", "isolated,least-wait", "--advise"), 0);
    assert_non_null(strstr(out_text, "\nOne more node with isolated: the difference of two runs"));
    assert_non_null(strstr(out_text, "\nOne more node with least-wait: the difference of two runs"));
    assert_int_equal(PLAY("--advise", "--checkpoint-takes", "0s"), 2);
    assert_non_null(strstr(err_text, "--checkpoint-takes: '0s' is not above 0"));
}

/*  In each hour north has room for all but a minute of one GPU, which west has. */
static void bound__is_looked_for_on_demand(void **state)
{
    (void)state;
    assert_int_equal(PLAY("-o", "json", "--policy", "isolated"), 0);
    assert_non_null(strstr(out_text, "\"carbon_lower_bound_kg\": null"));
    assert_non_null(strstr(out_text, "\"bound_until\": null"));
    assert_int_equal(PLAY("-o", "json", "--policy", "isolated,greenest,least-wait", "--bound"), 0);
    assert_non_null(strstr(out_text, "\"carbon_lower_bound_kg\": 0.9,"));
    assert_non_null(strstr(out_text, "\"carbon_same_hours_kg\": 0.9,"));
    assert_non_null(strstr(out_text, "\"carbon_reached_ratio\": 1.0,")); /* greenest */
    assert_non_null(strstr(out_text, "\"carbon_reached_ratio\": 0.0,")); /* least-wait */
    assert_non_null(strstr(out_text, "\"cost_lower_bound_usd\": null")); /* there is no price */
    assert_non_null(strstr(out_text, "\"bound_until\": \"2023-10-01T19:00:00"));
    assert_int_equal(PLAY("--policy", "isolated,greenest,least-wait", "--bound"), 0);
    assert_non_null(strstr(out_text, "   CO2E BEST  REACHED   COST BEST  REACHED\n"));
    assert_non_null(strstr(out_text, "         0.9   100.0%           -        -\n"));
    assert_non_null(strstr(out_text,
                           "\nNo schedule that does this work by 2023-10-01T19:00Z emits less than 0.9 kg. In "
                           "the hours in which least-wait did it, the best sites make 0.9 kg: "));
    assert_int_equal(
        PLAY("--policy", "isolated", "--price", path_of("price.csv"), "--bound", "--report", path_of("out.html")), 0);
    assert_non_null(strstr(out_text, " kg or costs less than "));
}

static void report__is_a_page(void **state)
{
    (void)state;
    char page[64] = {0};
    assert_int_equal(PLAY("--policy", "isolated,least-wait", "--report", path_of("out.html")), 0);
    FILE *file = fopen(path_of("out.html"), "re");
    assert_non_null(file);
    assert_true(fread(page, 1, sizeof page - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(strncmp(page, "<!doctype html>", 15), 0);
    assert_int_equal(PLAY("--policy", "isolated", "--report", path_of("none/out.html")), 1);
    assert_non_null(strstr(err_text, "none/out.html: No such file or directory"));
}

/*  South reserves 12 of its 16 GPUs while the first job would run there, and half of that later. */
static void inference__reserves_what_windows_say(void **state)
{
    (void)state;
    const char *windows = helio_arena_string(
        arena, helio_arena_printf(arena, "sites:\n%s    windows: [{pool: a100, series: chat, peak_gpus: 12}]\n",
                                  A_SITE("south", "SO", "1.5", "2")));
    const char *jobs = put("two.csv", "submit_unix,duration_s,gpus,home_site\n1696176000,3600,8,south\n"
                                      "1696176000,3600,4,south\n");
    const char *demand = put("inference.csv", "utc,series,requests\n2023-10-01T15:00:00Z,chat,200\n"
                                              "2023-10-01T17:00:00Z,chat,50\n");
    (void)put("fleet.yaml", windows);
    (void)put("jobs.csv", "");
    assert_int_equal(PLAY("--jobs", jobs, "--policy", "isolated", "-q"), 1);
    assert_non_null(strstr(err_text, "site 'south': a window names the series 'chat': --inference FILE is needed"));
    assert_int_equal(PLAY("--jobs", jobs, "--policy", "isolated", "-q", "--inference", demand), 0);
    assert_non_null(strstr(out_text, " MOVES SHORT GPU-H\n"));
    assert_int_equal(PLAY("--jobs", jobs, "--policy", "isolated", "-o", "json", "--inference", demand), 0);
    assert_non_null(strstr(out_text, "\"wait_max_s\": 3600.0,"));
    assert_non_null(strstr(out_text, "\"wait_mean_s\": 1800.0,"));
    assert_non_null(strstr(out_text, "\"reserve_shortfall_gpu_h\": 0.0,"));
}

static void help__lists_options_and_policies(void **state)
{
    (void)state;
    assert_int_equal(PLAY("--help"), 0);
    for (uint32_t i = 0; i < exp_policy_count; i++)
        assert_non_null(strstr(out_text, exp_policies[i].name));
    assert_non_null(strstr(out_text, "--carbon FILE"));
    assert_int_equal(PLAY("--version"), 0);
    assert_string_equal(out_text, "helio-simulate " HELIO_PROGRAM_VERSION "\n");
}

#define WITH_FILES(name) cmocka_unit_test_setup_teardown(name, begin_program, end_program)
int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILES(table__has_a_row_for_each_policy),
        WITH_FILES(json__has_every_key_for_every_policy),
        WITH_FILES(json__has_no_cost_without_prices),
        WITH_FILES(from_and_to__select_submissions),
        WITH_FILES(usage__errors_say_what_is_expected),
        WITH_FILES(files__errors_have_file_and_line),
        WITH_FILES(forecast__is_needed_of_every_region),
        WITH_FILES(price_forecast__needs_prices_and_a_region_of_the_fleet),
        WITH_FILES(rent__of_spot_pools_must_be_known),
        WITH_FILES(load__scales_the_fleet_to_the_demand),
        WITH_FILES(refused__jobs_are_named_with_their_reason),
        WITH_FILES(stuck__jobs_are_counted),
        WITH_FILES(shift__moves_series_to_the_dates_of_the_trace),
        WITH_FILES(nearest__needs_to_know_where_sites_are),
        WITH_FILES(local_jobs__are_read_and_their_waits_are_shown),
        WITH_FILES(capacity__is_looked_for_on_demand),
        WITH_FILES(advice__is_given_on_demand),
        WITH_FILES(bound__is_looked_for_on_demand),
        WITH_FILES(report__is_a_page),
        WITH_FILES(inference__reserves_what_windows_say),
        WITH_FILES(help__lists_options_and_policies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
