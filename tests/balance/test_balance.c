/*  The ledger against a meter that knows nothing of it: a day of a site with four GPUs, in virtual time.
 *
 *  The agent's side is the book over the double of NVML and a feed whose source is a program of its own (meter.c); the
 *  broker's side is the real core, the real store and the view in PostgreSQL. Between them an agent is killed and
 *  comes back ten minutes later, one job runs on meanwhile and one ends; others than the federation use a GPU for two
 *  hours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/store/store.h"
#include "federation/base/clock.h"
#include "site-agent/feeds/feeds.h"
#include "site-agent/telemetry/energy_account.h"
#include "tests/support/core_harness.h"
#include "tests/support/pg_fixture.h"

enum { GPUS = 4, STEP_S = 10, HOURS = 25, PEER = 7, ROWS_MAX = 40000, PATIENCE_MS = 30000 };
#define AT(hour, minute) ((hour)*3600 + (minute)*60)

/*  What is so: idle draw of each GPU, and who draws what beside it. The site file says 60 W. */
static const double idle_w[GPUS] = {55, 62, 58, 65};
static const double pue = 1.25, host_w = 100;

typedef struct load {
    int32_t from_s, to_s; /* of the day */
    uint32_t first_gpu, gpus;
    double watts[2]; /* of a GPU above its idle draw, in the first and second half */
    bool foreign;
} load_t;
static const load_t loads[] = {
    {AT(1, 10), AT(4, 50), 0, 2, {320, 320}, false},
    {AT(3, 0), AT(9, 34), 2, 1, {250, 250}, false},   /* ends while no agent looks */
    {AT(8, 20), AT(12, 45), 0, 2, {360, 360}, false}, /* an agent is killed above it */
    {AT(13, 0), AT(15, 0), 3, 1, {140, 140}, true},
    {AT(14, 5), AT(20, 40), 0, 3, {190, 340}, false},
    {AT(21, 0), AT(23, 15), 3, 1, {290, 290}, false},
};
enum { LOADS = sizeof loads / sizeof loads[0], HEAVY = 4, KILLED_S = AT(9, 30) + 20, BACK_S = AT(9, 40) + 10 };

typedef struct row {
    uint32_t kind;
    const void *record;
} row_t;

typedef struct day {
    harness_t *h;
    helio_site_profile_t *site;
    helio_nvml_t *nvml;
    helio_energy_account_t *energy_account;
    helio_feeds_t *feeds;
    char folder[64], counters[128], trace[128], clock[128];
    double mj[GPUS];
    int64_t begin_ms;
    uint32_t answers; /* of the meter */
    helio_job_key_t keys[LOADS];
    uint32_t epochs[LOADS];
    row_t *rows;
    uint32_t row_count;
    helio_pg_t *pg;
    helio_string_t command[3];
    helio_feed_t feed;
    helio_feeds_settings_t settings;
} day_t;

/* ---- what is so ------------------------------------------------------------------------------------------
 */

static bool draws(const load_t *load, uint32_t gpu, int64_t s)
{
    return s >= load->from_s && s < load->to_s && gpu >= load->first_gpu && gpu < load->first_gpu + load->gpus;
}

static int32_t middle_of(const load_t *load)
{
    return (load->from_s + load->to_s) / 2;
}

static void write_counters(const day_t *self, int64_t s)
{
    FILE *file = fopen(self->counters, "we");
    assert_non_null(file);
    for (uint32_t i = 0; i < GPUS; i++) {
        unsigned processes = 0;
        for (uint32_t n = 0; n < LOADS; n++)
            processes += draws(&loads[n], i, s);
        (void)fprintf(file, "%llu %u\n", (unsigned long long)self->mj[i], processes);
    }
    (void)fclose(file);
}

static void count_energy(day_t *self, int64_t s)
{
    for (uint32_t i = 0; i < GPUS; i++) {
        double watts = idle_w[i];
        for (uint32_t n = 0; n < LOADS; n++)
            if (draws(&loads[n], i, s))
                watts += loads[n].watts[s >= middle_of(&loads[n])];
        self->mj[i] += watts * STEP_S * 1000;
    }
}

static void write_trace(const day_t *self)
{
    FILE *file = fopen(self->trace, "we");
    assert_non_null(file);
    double base = GPUS * host_w;
    for (uint32_t i = 0; i < GPUS; i++)
        base += idle_w[i];
    long long begin_s = self->begin_ms / 1000;
    (void)fprintf(file, "%g %lld %g\n", pue, begin_s, base);
    for (uint32_t n = 0; n < LOADS; n++) {
        const load_t *load = &loads[n];
        (void)fprintf(file, "%lld %lld %g\n", begin_s + load->from_s, begin_s + middle_of(load),
                      load->watts[0] * load->gpus);
        (void)fprintf(file, "%lld %lld %g\n", begin_s + middle_of(load), begin_s + load->to_s,
                      load->watts[1] * load->gpus);
    }
    (void)fclose(file);
}

/* ---- the agent -------------------------------------------------------------------------------------------
 */

static void on_meter(void *arg, const helio_feed_t *feed, const helio_points_t *points)
{
    day_t *self = arg;
    helio_energy_account_reading_t *readings = helio_new(points->count, sizeof *readings);
    for (uint32_t i = 0; i < points->count; i++)
        readings[i] = (helio_energy_account_reading_t){points->items[i].time_ms, points->items[i].value};
    helio_energy_account_read(self->energy_account, readings, points->count, true, feed->name,
                              harness_wall_ms(self->h));
    free(readings);
    self->answers++;
}

static void on_note(void *arg, const helio_feed_note_t *note)
{
    (void)arg;
    if (!note->well)
        fail_msg("the meter's feed: %s", note->text);
}

static void open_agent(day_t *self)
{
    helio_energy_account_options_t options = {self->site, self->nvml, self->folder, harness_wall_ms(self->h)};
    self->energy_account = helio_energy_account_new(&options);
    helio_feeds_options_t feeds = {.settings = &self->settings,
                                   .profile = self->site,
                                   .on_note = on_note,
                                   .on_meter = on_meter,
                                   .arg = self,
                                   .now_boot_ms = harness_wall_ms(self->h),
                                   .wall_ms = harness_wall_ms(self->h)};
    assert_int_equal(helio_feeds_new(&feeds, &self->feeds, NULL), HELIO_OK);
}

/*  Killed: nothing more is written. */
static void kill_agent(day_t *self)
{
    helio_energy_account_destroy(&self->energy_account);
    helio_feeds_destroy(&self->feeds);
}

/*  Asks the meter and waits for its answer. */
static void ask_meter(day_t *self, int64_t s)
{
    FILE *file = fopen(self->clock, "we");
    assert_non_null(file);
    (void)fprintf(file, "%lld\n", (long long)(self->begin_ms / 1000 + s));
    (void)fclose(file);
    uint32_t before = self->answers;
    int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS, wall_ms = harness_wall_ms(self->h);
    while (self->answers == before) {
        helio_feeds_process(self->feeds, wall_ms, wall_ms);
        struct pollfd fd = {.fd = helio_feeds_fd(self->feeds), .events = POLLIN};
        (void)poll(&fd, 1, 20);
        if (helio_clock_boot_ms() > give_up_ms)
            fail_msg("the meter does not answer");
    }
}

static void tell(day_t *self)
{
    int64_t wall_ms = harness_wall_ms(self->h);
    helio_series_t series[4];
    uint32_t count = helio_energy_account_series(self->energy_account, wall_ms, harness_arena(self->h), series);
    if (helio_energy_account_news(self->energy_account, wall_ms) && count)
        harness_series(self->h, PEER, series, count);
}

/* ---- jobs ------------------------------------------------------------------------------------------------
 */

static void name_of(uint32_t n, char name[32])
{
    (void)snprintf(name, 32, "helio-job-%u", n);
}

static void start(day_t *self, uint32_t n)
{
    char name[32];
    uint32_t gpus[GPUS];
    name_of(n, name);
    helio_job_spec_t spec = harness_spec(self->h, "A100", loads[n].gpus);
    self->keys[n] = harness_job(self->h, &spec);
    harness_tick(self->h);
    self->epochs[n] = harness_row(self->h, self->keys[n])->epoch;
    for (uint32_t i = 0; i < loads[n].gpus; i++)
        gpus[i] = loads[n].first_gpu + i;
    helio_energy_account_take(self->energy_account, name, gpus, loads[n].gpus, harness_wall_ms(self->h));
    harness_run_up_to(self->h, PEER, self->keys[n], self->epochs[n], HELIO_JOB_RUNNING);
}

static void end(day_t *self, uint32_t n)
{
    char name[32];
    name_of(n, name);
    helio_report_t report = harness_report_of(self->h, self->keys[n], self->epochs[n], HELIO_REPORT_KIND_ENDED);
    report.started_wall_ms = self->begin_ms + INT64_C(1000) * loads[n].from_s;
    report.ended_wall_ms = self->begin_ms + INT64_C(1000) * loads[n].to_s;
    report.run_ms = UINT64_C(1000) * (uint64_t)(loads[n].to_s - loads[n].from_s);
    report.gpu_ms = report.run_ms * loads[n].gpus;
    report.energy_j =
        helio_energy_account_give(self->energy_account, name, true, report.ended_wall_ms, harness_wall_ms(self->h));
    assert_true(report.energy_j > 0);
    harness_report(self->h, PEER, &report);
    assert_int_equal(harness_state(self->h, self->keys[n]), HELIO_JOB_SUCCEEDED);
}

static void collect(day_t *self)
{
    for (uint32_t kind = 0; kind < HELIO_BROKER_FX_REPLY; kind++)
        for (const void *record; (record = harness_take(self->h, kind));) {
            assert_true(self->row_count < ROWS_MAX);
            self->rows[self->row_count++] = (row_t){kind, record};
        }
}

/* ---- the day ---------------------------------------------------------------------------------------------
 */

static void make_site(day_t *self)
{
    self->site = harness_site(self->h, "north");
    helio_pool_t *pool = harness_pool(self->h, self->site, "a100", "A100", 1, GPUS, 1);
    self->site->pue = pue;
    pool->idle_w = 60;
    pool->base_w = 90;
    pool->slope_w = 250;
    pool->host_w = host_w;
    harness_join(self->h, PEER, self->site);
}

static void live_a_step(day_t *self, int64_t s)
{
    if (s == KILLED_S)
        kill_agent(self);
    if (s == BACK_S)
        open_agent(self);
    bool there = s < KILLED_S || s >= BACK_S;
    for (uint32_t n = 0; n < LOADS && there; n++) {
        if (!loads[n].foreign && loads[n].from_s == s)
            start(self, n);
        if (!loads[n].foreign &&
            (loads[n].to_s == s || (s == BACK_S && loads[n].to_s > KILLED_S && loads[n].to_s < BACK_S)))
            end(self, n);
    }
    if (there) {
        helio_energy_account_tick(self->energy_account, harness_wall_ms(self->h));
        if (s % 60 == 0)
            assert_int_equal(helio_energy_account_save(self->energy_account, NULL), HELIO_OK);
        if (s % 900 == 0)
            ask_meter(self, s);
        tell(self);
        harness_renew(self->h, PEER);
    }
}

static int live(void **state)
{
    day_t *self = helio_new(1, sizeof *self);
    (void)snprintf(self->folder, sizeof self->folder, "/tmp/helio-balance-XXXXXX");
    assert_non_null(mkdtemp(self->folder));
    (void)snprintf(self->counters, sizeof self->counters, "%s/counters", self->folder);
    (void)snprintf(self->trace, sizeof self->trace, "%s/trace", self->folder);
    (void)snprintf(self->clock, sizeof self->clock, "%s/clock", self->folder);
    self->command[0].text = helio_text_of(BALANCE_METER);
    self->command[1].text = helio_text_of(self->trace);
    self->command[2].text = helio_text_of(self->clock);
    (void)setenv("NVML_DOUBLE_FILE", self->counters, 1);
    (void)setenv("NVML_DOUBLE_NAMES", "NVIDIA A100;NVIDIA A100;NVIDIA A100;NVIDIA A100", 1);
    self->rows = helio_new(ROWS_MAX, sizeof *self->rows);
    self->pg = helio_pg_up();
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = 3600000; /* the agent is away for ten minutes */
    self->h = harness_begin(&options);
    self->begin_ms = harness_wall_ms(self->h);
    for (uint32_t i = 0; i < GPUS; i++)
        self->mj[i] = 123456789.0 * (i + 1);
    make_site(self);
    write_trace(self);
    write_counters(self, 0);
    self->nvml = helio_nvml_new(HELIO_NVML_DOUBLE);
    assert_int_equal(helio_nvml_count(self->nvml), GPUS);
    self->feed = (helio_feed_t){.signal = HELIO_FEED_METER,
                                .source = HELIO_SOURCE_EXEC,
                                .name = HELIO_TEXT("mains"),
                                .unit = HELIO_TEXT("kWh"),
                                .every_ms = 600000,
                                .timeout_ms = 300000,
                                .command = {self->command, 3},
                                .region_column = HELIO_TEXT("region"),
                                .time_column = HELIO_TEXT("time"),
                                .value_column = HELIO_TEXT("value")};
    self->settings.feeds.items = &self->feed;
    self->settings.feeds.count = 1;
    open_agent(self);
    for (int64_t s = 0; s <= AT(HOURS, 0); s += STEP_S) {
        write_counters(self, s);
        live_a_step(self, s);
        count_energy(self, s);
        harness_wait(self->h, STEP_S * 1000);
    }
    collect(self);
    *state = self;
    return 0;
}

static int unlive(void **state)
{
    day_t *self = *state;
    helio_feeds_destroy(&self->feeds);
    helio_energy_account_destroy(&self->energy_account);
    helio_nvml_destroy(&self->nvml);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/energy.book", self->folder);
    (void)unlink(path);
    (void)unlink(self->counters);
    (void)unlink(self->trace);
    (void)unlink(self->clock);
    (void)rmdir(self->folder);
    harness_end(&self->h);
    helio_pg_down(&self->pg);
    free(self->rows);
    free(self);
    return 0;
}

/* ---- the ledger ------------------------------------------------------------------------------------------
 */

static void commit(helio_store_t *store)
{
    helio_error_t err = {.text = ""};
    uint64_t batch = helio_store_open_batch(store);
    helio_store_seal(store, (helio_uuid_t){.bytes = {0}});
    int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (helio_store_committed(store) < batch) {
        struct pollfd fd = {.fd = helio_store_fd(store),
                            .events = (short)(POLLIN | (helio_store_wants_write(store) ? POLLOUT : 0))};
        (void)poll(&fd, fd.fd >= 0, 20);
        if (helio_store_process(store, helio_clock_boot_ms(), &err) != HELIO_OK)
            fail_msg("commit: %s", err.text);
        if (helio_clock_boot_ms() > give_up_ms)
            fail_msg("not committed in time: %s", helio_store_trouble(store));
    }
}

/*  All that the broker wrote of the day; of one load nothing in the ledger (LOADS = of all). */
static const char *written(const day_t *self, uint32_t without)
{
    const char *conninfo = helio_pg_database(self->pg);
    helio_store_t *store = helio_store_new((helio_store_options_t){.conninfo = conninfo});
    helio_error_t err = {.text = ""};
    if (helio_store_open(store, &err) != HELIO_OK)
        fail_msg("open: %s", err.text);
    for (uint32_t i = 0; i < self->row_count; i++) {
        const helio_row_ledger_t *line = self->rows[i].record;
        if (without < LOADS && self->rows[i].kind == HELIO_BROKER_FX_ROW_LEDGER &&
            helio_job_key_equal(line->key, self->keys[without]))
            continue;
        const helio_effect_t effect = {.kind = self->rows[i].kind,
                                       .release = HELIO_RELEASE_ROW,
                                       .batch = helio_store_open_batch(store),
                                       .payload = (void *)(uintptr_t)self->rows[i].record};
        helio_store_append(store, &effect);
    }
    commit(store);
    helio_store_destroy(&store);
    return conninfo;
}

static double figure(const char *conninfo, const char *what)
{
    char sql[400];
    (void)snprintf(sql, sizeof sql, "select %s from helio_report.energy_balance where time < '2026-03-02T00:00Z'",
                   what);
    char *text = helio_pg_value(conninfo, sql);
    double value = text[0] ? strtod(text, NULL) : NAN;
    free(text);
    return value;
}

#define DIFFERENCE "sum((difference_ratio + 1) * meter_kwh) / sum(meter_kwh) - 1"

static void balance__of_a_day_with_a_killed_agent_is_within_one_per_cent_of_the_meter(void **state)
{
    const char *conninfo = written(*state, LOADS);
    double difference = figure(conninfo, DIFFERENCE), meter = figure(conninfo, "sum(meter_kwh)");
    double worst = figure(conninfo, "max(abs(difference_ratio))");
    print_message(
        "jobs %.3f + idle %.3f + foreign %.3f + overhead %.3f kWh, meter %.3f kWh: %+.4f %%, worst hour %.3f %%\n",
        figure(conninfo, "sum(jobs_kwh)"), figure(conninfo, "sum(idle_kwh)"), figure(conninfo, "sum(foreign_kwh)"),
        figure(conninfo, "sum(overhead_kwh)"), meter, difference * 100, worst * 100);
    assert_true(figure(conninfo, "count(difference_ratio)") == 24);
    assert_true(meter > 30);
    assert_true(fabs(difference) < 0.01);
}

static void balance__each_class_is_what_was_so(void **state)
{
    const char *conninfo = written(*state, LOADS);
    double jobs = 0, foreign = 0, idle = 0, watts = 0;
    for (uint32_t n = 0; n < LOADS; n++) {
        double hours = (loads[n].to_s - loads[n].from_s) / 3600.0;
        for (uint32_t i = loads[n].first_gpu; i < loads[n].first_gpu + loads[n].gpus; i++) {
            double kwh = (idle_w[i] + (loads[n].watts[0] + loads[n].watts[1]) / 2) * hours / 1000;
            *(loads[n].foreign ? &foreign : &jobs) += kwh;
            idle -= idle_w[i] * hours / 1000;
        }
    }
    for (uint32_t i = 0; i < GPUS; i++)
        watts += idle_w[i];
    idle += watts * 24 / 1000;
    assert_true(fabs(figure(conninfo, "sum(jobs_kwh)") / (jobs * pue) - 1) < 0.002);
    assert_true(fabs(figure(conninfo, "sum(foreign_kwh)") / foreign - 1) < 0.01);
    assert_true(fabs(figure(conninfo, "sum(idle_kwh)") / idle - 1) < 0.01);
    double overhead = GPUS * host_w * 24 / 1000 * pue + (idle + foreign) * (pue - 1);
    assert_true(fabs(figure(conninfo, "sum(overhead_kwh)") / overhead - 1) < 0.01);
}

static void balance__is_not_met_when_a_job_is_not_booked(void **state)
{
    const char *conninfo = written(*state, HEAVY);
    assert_true(figure(conninfo, DIFFERENCE) < -0.05);
    assert_true(figure(conninfo, "max(abs(difference_ratio))") > 0.3);
}

/*  As the broker would after a failover, or an agent that says everything again. */
static void balance__hours_that_are_said_again_stay_as_they_were(void **state)
{
    day_t *self = *state;
    uint32_t count = self->row_count;
    for (uint32_t i = 0; i < count; i++)
        if (self->rows[i].kind == HELIO_BROKER_FX_ROW_SITE_ENERGY)
            self->rows[self->row_count++] = self->rows[i];
    assert_true(self->row_count > count);
    const char *conninfo = written(self, LOADS);
    self->row_count = count;
    assert_true(fabs(figure(conninfo, DIFFERENCE)) < 0.01);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(balance__of_a_day_with_a_killed_agent_is_within_one_per_cent_of_the_meter),
        cmocka_unit_test(balance__each_class_is_what_was_so),
        cmocka_unit_test(balance__is_not_met_when_a_job_is_not_booked),
        cmocka_unit_test(balance__hours_that_are_said_again_stay_as_they_were),
    };
    return cmocka_run_group_tests(tests, live, unlive);
}
