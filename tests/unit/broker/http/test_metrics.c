/*  test_metrics.c -- the text of /metrics is well formed, and docs/reference/metrics.md shows every metric.
 *  HELIO_GOLDEN_WRITE=1 writes the page. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/http/metrics/metrics.h"
#include "broker/http/routes/routes.h"
#include "tests/support/golden.h"

static const char page_head[] =
    "# Metrics\n\n"
    "`GET /metrics` of the broker shows these metrics in Prometheus' text format. It needs a token, unless the setting `metrics` lets others in. Units are base "
    "units, and\n"
    "labels come from closed sets and from the names of sites. Counters and histograms begin with the broker's start; "
    "`rate()`\n"
    "and `increase()` allow for a restart. An unknown figure has no sample. Figures by tenant and by job, which must "
    "last, are\n"
    "in PostgreSQL ([views](views.md)).\n\n"
    "| metric | type | labels | what |\n"
    "|---|---|---|---|\n";

/*  Every metric has a sample, because without one its labels would be missing on the page. */
static void everything(helio_buffer_t *out)
{
    static helio_metrics_t metrics;
    static helio_engine_figures_t figures;
    figures.frames_bad_total[0].why = "malformed";
    figures.core.preemptions_total[HELIO_PREEMPT_CAUSE_MIGRATION] = 7;
    figures.core.clocks[0] = (helio_site_clock_t){"a", -90500};
    figures.core.clock_count = 1;
    metrics.audit_verified_ms = INT64_C(1795935600000);
    metrics.audit_broken = true;
    helio_metrics_request(&metrics, 0, 200, 900);
    static helio_desired_hour_t hours[] = {{.desired_gpus = 16}, {.desired_gpus = 8}};
    const helio_desired_pool_t pool = {.site = HELIO_TEXT("a"), .pool = HELIO_TEXT("p"), .hours = {hours, 2}};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t desired = {0};
    helio_metrics_desired(&pool, 1, &desired);
    assert_string_equal(
        strchr(desired.data, '}') - strlen("helio_desired_gpus{site=\"a\",pool=\"p\",hours_ahead=\"0\""),
        "helio_desired_gpus{site=\"a\",pool=\"p\",hours_ahead=\"0\"} 16\n"
        "helio_desired_gpus{site=\"a\",pool=\"p\",hours_ahead=\"1\"} 8\n");
    helio_metrics_sources_t sources = {
        .desired_text = helio_buffer_view(&desired),
        .routes = helio_routes(),
        .engine = &figures,
        .sites_json = HELIO_TEXT(
            "[{\"site\":\"a\",\"state\":\"ready\",\"draining\":true,\"refused\":null,\"seen_s\":1,\"gpus_"
            "total\":1,\"gpus_free\":1,"
            "\"gpus_reserved\":0,\"jobs_running\":0,\"jobs_queued\":0,\"power_watts\":1,"
            "\"carbon_g_per_kwh\":1,"
            "\"electricity_usd_per_kwh\":1,\"price_usd_per_gpu_h\":1,\"pue\":1,\"pools\":["
            "{\"pool\":\"p\",\"withheld\":null},{\"pool\":\"q\",\"withheld\":\"why\"},{\"pool\":\"r\",\"withheld\":null}]}]"),
        .series_json = HELIO_TEXT("[{\"site\":\"a\",\"signal\":\"carbon_g_per_kwh\",\"failed\":true,\"age_s\":784806},"
                                  "{\"site\":\"a\",\"signal\":\"price_usd_per_gpu_h\",\"failed\":false,\"age_s\":50},"
                                  "{\"site\":\"a\",\"signal\":\"price_usd_per_gpu_h\",\"failed\":true,\"age_s\":-3},"
                                  "{\"site\":\"b\",\"signal\":\"price_usd_per_gpu_h\",\"failed\":false,\"age_s\":7},"
                                  "{\"site\":\"c\",\"signal\":\"price_usd_per_gpu_h\",\"failed\":null,\"age_s\":8}]"),
        .balance_json = HELIO_TEXT("[{\"site\":\"a\",\"ratio\":1}]"),
        .forecasts_json = HELIO_TEXT("[{\"site\":\"a\",\"signal\":\"carbon_g_per_kwh\",\"error_ratio\":0.1}]"),
        .retention_json =
            HELIO_TEXT("{\"tables\":[{\"table\":\"samples\",\"deleted\":2,\"oldest_s\":1}],\"open_backlog\":3}"),
    };
    helio_metrics_text(&metrics, &sources, out);
}

typedef struct metric {
    char name[96], type[16], help[256], labels[64];
    bool sampled;
} metric_t;

static metric_t metrics[128];
static uint32_t metric_count;

static void take_labels(metric_t *metric, const char *sample)
{
    const char *at = strchr(sample, '{');
    metric->labels[0] = '\0';
    while (at && *at != '}') {
        const char *name = at + 1, *equals = strchr(name, '=');
        assert_non_null(equals);
        if (strncmp(name, "le=", 3) != 0) {
            size_t used = strlen(metric->labels);
            (void)snprintf(metric->labels + used, sizeof metric->labels - used, "%s`%.*s`", used ? " " : "",
                           (int)(equals - name), name);
        }
        at = strchr(equals + 2, '"'); /* no value of these samples has an escaped quote */
        assert_non_null(at);
        at++;
    }
}

/*  HELP, TYPE, samples; in this order, under one name. */
static void take_line(char *line)
{
    char name[96];
    metric_t *metric = metric_count ? &metrics[metric_count - 1] : NULL;
    if (sscanf(line, "# HELP %95s", name) == 1) {
        assert_true(metric_count < sizeof metrics / sizeof metrics[0]);
        for (uint32_t i = 0; i < metric_count; i++)
            assert_string_not_equal(metrics[i].name, name);
        metric = &metrics[metric_count++];
        memcpy(metric->name, name, sizeof name);
        (void)snprintf(metric->help, sizeof metric->help, "%s", line + strlen("# HELP ") + strlen(name) + 1);
        assert_null(strchr(metric->help, '|'));
        assert_int_equal(metric->help[strlen(metric->help) - 1], '.');
        return;
    }
    assert_non_null(metric);
    if (sscanf(line, "# TYPE %95s %15s", name, metric->type) == 2) {
        assert_string_equal(name, metric->name);
        return;
    }
    assert_true(metric->type[0]);
    assert_memory_equal(line, metric->name, strlen(metric->name));
    assert_memory_equal(line, "helio_", 6);
    double value;
    assert_int_equal(sscanf(strrchr(line, ' '), "%lf", &value), 1);
    if (!metric->sampled)
        take_labels(metric, line);
    metric->sampled = true;
}

static int read_all(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    everything(&text);
    char *rest = NULL;
    for (char *line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        take_line(line);
    return 0;
}

static void metrics__have_type_help_and_samples_under_the_prefix_helio(void **state)
{
    (void)state;
    assert_true(metric_count > 50);
    for (uint32_t i = 0; i < metric_count; i++) {
        bool counter = strcmp(metrics[i].type, "counter") == 0;
        size_t size = strlen(metrics[i].name);
        if (!metrics[i].sampled)
            fail_msg("%s has no sample", metrics[i].name);
        if (counter != (size > 6 && strcmp(metrics[i].name + size - 6, "_total") == 0))
            fail_msg("%s: a counter, and it alone, ends with _total", metrics[i].name);
    }
}

static void metrics__former_names_have_the_figures_of_the_present_ones(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    everything(&text);
    assert_non_null(strstr(text.data, "\nhelio_jobs_open_backlog 3\n"));
    assert_non_null(strstr(text.data, "\nhelio_jobs_unsettled 3\n"));
    assert_non_null(strstr(text.data, "\nhelio_site_message_age_seconds{site=\"a\"} 1\n"));
    assert_non_null(strstr(text.data, "\nhelio_site_summary_age_seconds{site=\"a\"} 1\n"));
    assert_non_null(strstr(text.data, "\nhelio_preemptions_total{reason=\"migration\"} 7\n"));
    assert_null(strstr(text.data, "reason=\"move\"")); /* it would be counted twice in a sum over the label */
}

static void metrics__the_worst_series_of_a_signal_counts_and_what_no_agent_reports_is_absent(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "\nhelio_forecast_age_seconds{site=\"a\",signal=\"carbon_g_per_kwh\"} 784806\n",
        "\nhelio_feed_failed{site=\"a\",signal=\"carbon_g_per_kwh\"} 1\n",
        "\nhelio_forecast_age_seconds{site=\"a\",signal=\"price_usd_per_gpu_h\"} 50\n", /* of two, the worse */
        "\nhelio_feed_failed{site=\"a\",signal=\"price_usd_per_gpu_h\"} 1\n",
        "\nhelio_forecast_age_seconds{site=\"b\",signal=\"price_usd_per_gpu_h\"} 7\n",
        "\nhelio_feed_failed{site=\"b\",signal=\"price_usd_per_gpu_h\"} 0\n",
    };
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    everything(&text);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (!strstr(text.data, lines[i]))
            fail_msg("missing: %s\n%s", lines[i], text.data);
    assert_non_null(strstr(text.data, "\nhelio_forecast_age_seconds{site=\"c\",signal=\"price_usd_per_gpu_h\"} 8\n"));
    assert_null(strstr(text.data, "helio_feed_failed{site=\"c\""));
}

static void metrics__sites_whose_clock_or_pools_need_attention_are_named(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    everything(&text);
    assert_non_null(strstr(text.data, "\nhelio_site_clock_ahead_seconds{site=\"a\"} -90.5\n"));
    assert_non_null(strstr(text.data, "\nhelio_site_draining{site=\"a\"} 1\n"));
    assert_non_null(strstr(text.data, "\nhelio_site_pools{site=\"a\"} 3\n"));
    assert_non_null(strstr(text.data, "\nhelio_site_pools_withheld{site=\"a\"} 1\n"));
    assert_non_null(strstr(text.data, "\nhelio_audit_broken 1\n"));
    assert_non_null(strstr(text.data, "\nhelio_audit_verified_timestamp_seconds 1795935600\n"));
}

static void metrics__the_reference_page_shows_every_metric(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t page = {0};
    helio_buffer_text(&page, page_head);
    for (uint32_t i = 0; i < metric_count; i++)
        helio_buffer_printf(&page, "| `%s` | %s | %s | %s |\n", metrics[i].name, metrics[i].type, metrics[i].labels,
                            metrics[i].help);
    golden_check("docs/reference/metrics.md", helio_buffer_view(&page));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics__have_type_help_and_samples_under_the_prefix_helio),
        cmocka_unit_test(metrics__former_names_have_the_figures_of_the_present_ones),
        cmocka_unit_test(metrics__the_worst_series_of_a_signal_counts_and_what_no_agent_reports_is_absent),
        cmocka_unit_test(metrics__sites_whose_clock_or_pools_need_attention_are_named),
        cmocka_unit_test(metrics__the_reference_page_shows_every_metric),
    };
    return cmocka_run_group_tests(tests, read_all, NULL);
}
