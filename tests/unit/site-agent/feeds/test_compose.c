/*  test_compose.c -- the series that a site publishes. */
#include "tests/unit/site-agent/feeds/compose_testing.h"

/* ---- what is published --------------------------------------------------------------------------------- */

static void compose__without_feeds_the_site_files_figures_are_used(void **state)
{
    (void)state;
    site_file_t *file = read_site(SITE, arena);
    helio_aev_series_t all = compose(file, NULL, NULL, now);
    assert_int_equal(all.series.count, 4);
    const helio_series_t *carbon = find(&all, HELIO_SIGNAL_CARBON, "");
    assert_true(carbon->values.items[47] == 300 && carbon->estimated && helio_text_is(carbon->source, "static"));
    assert_true(helio_text_is(carbon->kind, "average") && helio_text_is(carbon->factor, "lifecycle"));
    assert_true(find(&all, HELIO_SIGNAL_ELECTRICITY, "")->values.items[0] == 0.1);
    assert_true(find(&all, HELIO_SIGNAL_PUE, "")->values.items[0] == 1.2);
    assert_true(find(&all, HELIO_SIGNAL_PRICE, "p")->values.items[0] == 2);
    assert_null(find(&all, HELIO_SIGNAL_PRICE, "q")); /* owned, no rent */
    assert_null(find(&all, HELIO_SIGNAL_FREE_GPUS, "p"));
    assert_true(all.power_w < 0);
    file->site.carbon_g_per_kwh = -1;
    all = compose(file, NULL, NULL, now);
    assert_null(find(&all, HELIO_SIGNAL_CARBON, ""));
}

static void compose__a_source_without_forecast_gets_the_built_in_one_with_its_band(void **state)
{
    (void)state;
    site_file_t *file = read_site(CARBON_FEED, arena);
    helio_track_t *track = new_track(now);
    tell_days(track, now, 30);
    helio_aev_series_t all = compose(file, track, NULL, now);
    const helio_series_t *carbon = find(&all, HELIO_SIGNAL_CARBON, "");
    assert_true(helio_text_is(carbon->source, "electricitymaps, built-in forecast") && !carbon->estimated);
    assert_true(near(carbon->values.items[0], 170) && near(carbon->values.items[10], 270) &&
                near(carbon->values.items[17], 100));
    assert_int_equal(carbon->p10.count, 48);
}

static void compose__the_sources_forecast_comes_first_and_the_current_hour_is_actual(void **state)
{
    (void)state;
    site_file_t *file = read_site(CARBON_FEED, arena);
    helio_track_t *track = new_track(now);
    tell_days(track, now, 30);
    helio_point_t ahead[24];
    for (int i = 0; i < 24; i++)
        ahead[i] = (helio_point_t){.time_ms = (now / H + i) * H, .value = 500 + i, .forecast = true};
    assert_int_equal(helio_track_take(track, &(helio_points_t){ahead, 24}, now), 24);
    helio_aev_series_t all = compose(file, track, NULL, now);
    const helio_series_t *carbon = find(&all, HELIO_SIGNAL_CARBON, "");
    assert_true(near(carbon->values.items[0], 170));
    /* less what it is wrong by at this hour */
    assert_true(near(carbon->values.items[1], 501 - 330 * exp(-1.0 / 36)) &&
                near(carbon->values.items[23], 523 - 330 * exp(-23.0 / 36)));
    assert_true(near(carbon->values.items[24], 170)); /* from there on by the built-in one */
    assert_true(helio_text_is(carbon->source, "electricitymaps, corrected, 24h of it built-in"));
    assert_true(near(carbon->p10.items[0], 170) && near(carbon->p90.items[0], 170)); /* known is known */
    /* an hour later the forecast is the same, and nothing new is known of it */
    all = compose(file, track, NULL, now + H);
    carbon = find(&all, HELIO_SIGNAL_CARBON, "");
    assert_true(near(carbon->values.items[0], 501 - 330 * exp(-1.0 / 36)) &&
                near(carbon->values.items[1], 502 - 330 * exp(-2.0 / 36)));
}

/*  As far as the source foretells, within bounds; the band too. */
static void compose__a_long_forecast_is_published_as_far_as_it_goes(void **state)
{
    (void)state;
    static const struct {
        uint32_t foretold, published;
    } rows[] = {{24, 48}, {48, 48}, {49, 49}, {80, 80}, {96, 96}, {150, 96}};
    site_file_t *file = read_site(CARBON_FEED, arena);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        helio_track_t *track = new_track(now);
        tell_days(track, now, 30);
        helio_point_t ahead[150];
        for (uint32_t i = 0; i < rows[r].foretold; i++)
            ahead[i] = (helio_point_t){.time_ms = (now / H + i) * H, .value = i ? 500 + i : 170, .forecast = true};
        uint32_t count = rows[r].foretold, last = (count < 96 ? count : 96) - 1;
        assert_int_equal(helio_track_take(track, &(helio_points_t){ahead, count}, now), count);
        helio_aev_series_t all = compose(file, track, NULL, now);
        const helio_series_t *carbon = find(&all, HELIO_SIGNAL_CARBON, "");
        assert_int_equal(carbon->values.count, rows[r].published);
        assert_int_equal(carbon->p90.count, rows[r].published);
        assert_int_equal(find(&all, HELIO_SIGNAL_PUE, "")->values.count, 48);
        assert_true(near(carbon->values.items[last], 500 + last));
        assert_true(
            helio_text_is(carbon->source, count < 48 ? "electricitymaps, 24h of it built-in" : "electricitymaps"));
    }
}

static void compose__a_dead_feed_repeats_its_last_good_day_and_then_is_replaced(void **state)
{
    (void)state;
    site_file_t *file = read_site(CARBON_FEED, arena);
    helio_track_t *track = new_track(now);
    tell_days(track, now, 30);
    helio_aev_series_t all = compose(file, track, NULL, now + 2 * H);
    assert_false(find(&all, HELIO_SIGNAL_CARBON, "")->estimated); /* three rounds may fail, two hours at least */
    all = compose(file, track, NULL, now + 3 * H);
    const helio_series_t *carbon = find(&all, HELIO_SIGNAL_CARBON, "");
    assert_true(carbon->estimated &&
                has_failed(carbon, "electricitymaps", HELIO_FEED_STATE_LAST_GOOD, "2026-11-21T07:00:00Z"));
    assert_true(helio_text_is(carbon->kind, "average") && helio_text_is(carbon->factor, "lifecycle"));
    assert_int_equal(carbon->p10.count, 0);
    for (uint32_t i = 0; i < 48; i++)
        assert_true(near(carbon->values.items[i], 100 + 10 * (double)((now / H + 3 + i) % 24)));
    all = compose(file, track, NULL, now + 13 * 24 * H);
    assert_true(near(find(&all, HELIO_SIGNAL_CARBON, "")->values.items[0], 170));
    all = compose(file, track, NULL, now + 15 * 24 * H);
    carbon = find(&all, HELIO_SIGNAL_CARBON, "");
    assert_true(has_failed(carbon, "electricitymaps", HELIO_FEED_STATE_NO_DATA, "2026-11-21T07:00:00Z"));
    assert_true(carbon->estimated && carbon->values.items[0] == 300);
}

static void compose__a_feed_that_never_gave_a_value_says_since_when(void **state)
{
    (void)state;
    site_file_t *file = read_site(SITE "agent: {feeds: [{signal: carbon, source: http-json, map: electricitymaps},\n"
                                       " {signal: electricity, source: csv, name: spot, path: x},\n"
                                       " {signal: pue, source: csv, name: hall, path: x},\n"
                                       " {signal: price, pool: q, source: csv, name: rent, path: x}]}\n",
                                  arena);
    helio_track_t *tracks = helio_arena_alloc(arena, 4, sizeof *tracks);
    for (int i = 0; i < 4; i++)
        helio_track_begin(&tracks[i], now);
    helio_aev_series_t all = compose(file, tracks, NULL, now);
    assert_true(helio_text_is(find(&all, HELIO_SIGNAL_CARBON, "")->source, "static")); /* it was not asked yet */
    assert_false(find(&all, HELIO_SIGNAL_PUE, "")->estimated);
    for (int i = 0; i < 4; i++)
        helio_track_fail(&tracks[i]);
    helio_compose_t from = {
        .profile = &file->site, .settings = &file->feeds, .tracks = tracks, .opened_wall_ms = now - 2 * H};
    helio_compose(&from, now, arena, &all);
    static const struct {
        uint32_t signal;
        const char *pool, *source;
        double value;
    } cases[] = {
        {HELIO_SIGNAL_CARBON, "", "electricitymaps", 300},
        {HELIO_SIGNAL_ELECTRICITY, "", "spot", 0.1},
        {HELIO_SIGNAL_PUE, "", "hall", 1.2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const helio_series_t *series = find(&all, cases[i].signal, cases[i].pool);
        assert_true(has_failed(series, cases[i].source, HELIO_FEED_STATE_NO_DATA, "2026-11-21T05:20:00Z") &&
                    series->estimated);
        assert_true(near(series->values.items[40], cases[i].value));
    }
    assert_true(helio_text_is(find(&all, HELIO_SIGNAL_PRICE, "p")->source, "static")); /* it has no feed */
    assert_null(find(&all, HELIO_SIGNAL_PRICE, "q"));                                  /* nothing replaces its feed */
}

static void compose__kinds_never_mix(void **state)
{
    (void)state;
    site_file_t *file = read_site(SITE "agent: {feeds: [{signal: carbon, source: http-json, map: watttime}]}\n", arena);
    helio_track_t *track = new_track(now);
    tell_days(track, now, 30);
    helio_aev_series_t all = compose(file, track, NULL, now);
    uint32_t marginal = 0, average = 0;
    for (uint32_t i = 0; i < all.series.count; i++) {
        const helio_series_t *series = &all.series.items[i];
        if (series->signal != HELIO_SIGNAL_CARBON)
            continue;
        bool is_marginal = helio_text_is(series->kind, "marginal");
        marginal += is_marginal && helio_text_is(series->factor, "direct") && near(series->values.items[0], 170);
        average +=
            !is_marginal && helio_text_is(series->factor, "lifecycle") && helio_text_is(series->source, "static");
    }
    assert_true(marginal == 1 && average == 1); /* the yearly average does not become marginal, nor goes away */
    /* and a dead marginal feed is not replaced by an average */
    all = compose(file, track, NULL, now + 20 * 24 * H);
    assert_true(helio_text_is(find(&all, HELIO_SIGNAL_CARBON, "")->kind, "average"));
}

static void compose__a_series_without_new_data_is_the_same_series(void **state)
{
    (void)state;
    site_file_t *file = read_site(CARBON_FEED, arena);
    helio_track_t *track = new_track(now);
    tell_days(track, now, 30);
    helio_aev_series_t first = compose(file, track, NULL, now), later = compose(file, track, NULL, now + 5 * 60000);
    assert_true(helio_record_equal(&helio_aev_series_type, &first, &later));
    assert_true(find(&first, HELIO_SIGNAL_CARBON, "")->issued_wall_ms == now);
    assert_true(find(&first, HELIO_SIGNAL_PUE, "")->issued_wall_ms == now / H * H);
    assert_int_equal(tell(track, now + 60000, (helio_point_t){.time_ms = now, .value = 400}), 1);
    later = compose(file, track, NULL, now + 5 * 60000);
    assert_true(find(&later, HELIO_SIGNAL_CARBON, "")->issued_wall_ms == now + 60000);
    assert_true(
        helio_record_equal(&helio_series_type, find(&first, HELIO_SIGNAL_PUE, ""), find(&later, HELIO_SIGNAL_PUE, "")));
}

static void compose__a_source_with_forecasts_only_is_used_to_their_end(void **state)
{
    (void)state;
    site_file_t *file = read_site(CARBON_FEED, arena);
    helio_track_t *track = new_track(now);
    helio_point_t ahead[30];
    for (int i = 0; i < 30; i++)
        ahead[i] = (helio_point_t){.time_ms = (now / H + i) * H, .value = 500 + i, .forecast = true};
    assert_int_equal(helio_track_take(track, &(helio_points_t){ahead, 30}, now), 30);
    helio_aev_series_t all = compose(file, track, NULL, now);
    const helio_series_t *carbon = find(&all, HELIO_SIGNAL_CARBON, "");
    assert_true(near(carbon->values.items[0], 500) && near(carbon->values.items[29], 529) &&
                near(carbon->values.items[47], 529));
    all = compose(file, track, NULL, now + 10 * H);
    carbon = find(&all, HELIO_SIGNAL_CARBON, "");
    assert_true(carbon->estimated && near(carbon->values.items[0], 510) && near(carbon->values.items[40], 529));
    assert_true(has_failed(carbon, "electricitymaps", HELIO_FEED_STATE_LAST_GOOD, "2026-11-21T07:20:00Z"));
    all = compose(file, track, NULL, now + 31 * H);
    assert_true(has_failed(find(&all, HELIO_SIGNAL_CARBON, ""), "electricitymaps", HELIO_FEED_STATE_NO_DATA,
                           "2026-11-21T07:20:00Z"));
}

static void compose__negative_prices_are_kept_and_a_pue_below_one_is_raised(void **state)
{
    (void)state;
    site_file_t *file =
        read_site(SITE "agent: {feeds: [{signal: electricity, source: csv, path: x, unit: EUR/MWh},\n"
                       " {signal: pue, source: static, value: 0.9}, {signal: power, source: static, value: 12,"
                       " unit: kW}, {signal: price, pool: q, source: static, value: 1.5}]}\n",
                  arena);
    helio_track_t *tracks = helio_arena_alloc(arena, 4, sizeof *tracks);
    helio_track_begin(&tracks[0], now);
    assert_int_equal(tell(&tracks[0], now, (helio_point_t){.time_ms = now, .value = -0.02}), 1);
    helio_aev_series_t all = compose(file, tracks, NULL, now);
    assert_true(near(find(&all, HELIO_SIGNAL_ELECTRICITY, "")->values.items[30], -0.02));
    assert_true(find(&all, HELIO_SIGNAL_PUE, "")->values.items[0] == 1);
    assert_true(find(&all, HELIO_SIGNAL_PRICE, "q")->values.items[0] == 1.5 && all.power_w == 12000);
}

static void compose__a_tariff_is_local_time_hour_by_hour(void **state)
{
    (void)state;
    site_file_t *file = read_site(SITE "agent: {tariff: [{when: \"Mon..Fri 08:00-20:00\", usd_per_kwh: 0.3},\n"
                                       " {when: \"22:00-06:30\", usd_per_kwh: 0.05}]}\n",
                                  arena);
    helio_zone_t *zone = zone_of("Europe/Berlin");
    helio_aev_series_t all = compose(file, NULL, zone, ms_of("2026-11-22T21:10:00Z")); /* Sunday 22:10 in Berlin */
    const double *usd = find(&all, HELIO_SIGNAL_ELECTRICITY, "")->values.items;
    assert_true(near(usd[0], 0.05) && near(usd[7], 0.05));
    assert_true(near(usd[8], 0.075));                     /* 06:00 to 07:00: half cheap, half as always */
    assert_true(near(usd[9], 0.1) && near(usd[10], 0.3)); /* Monday 08:00 */
    assert_true(near(usd[21], 0.3) && near(usd[22], 0.1) && near(usd[24], 0.05));
    assert_true(helio_text_is(find(&all, HELIO_SIGNAL_ELECTRICITY, "")->source, "tariff"));
    /* two lines fit: the first decides */
    site_file_t *both = read_site(SITE "agent: {tariff: [{when: \"Sun 20:00-24:00\", usd_per_kwh: 0.4},\n"
                                       " {when: \"22:00-06:30\", usd_per_kwh: 0.05}]}\n",
                                  arena);
    all = compose(both, NULL, zone, ms_of("2026-11-22T21:10:00Z"));
    usd = find(&all, HELIO_SIGNAL_ELECTRICITY, "")->values.items;
    assert_true(near(usd[0], 0.4) && near(usd[1], 0.4) && near(usd[2], 0.05));
    all = compose(file, NULL, zone, ms_of("2026-11-22T21:10:00Z"));
    usd = find(&all, HELIO_SIGNAL_ELECTRICITY, "")->values.items;
    /* the night on which clocks are put forward: 08:00 comes an hour earlier in UTC */
    all = compose(file, NULL, zone, ms_of("2026-03-29T12:00:00Z"));
    usd = find(&all, HELIO_SIGNAL_ELECTRICITY, "")->values.items;
    assert_true(near(usd[17], 0.1) && near(usd[18], 0.3)); /* Monday 06:00Z */
    helio_zone_destroy(&zone);
}

static void compose__windows_reserve_gpus_by_local_time(void **state)
{
    (void)state;
    site_file_t *file =
        read_site(SITE "windows: [{pool: p, reserve_gpus: 20, when: \"Mon..Fri 08:30-20:00\"},\n"
                       " {pool: p, reserve_gpus: 4}, {pool: p, reserve_gpus: 30, when: \"Mon 12:00-13:00\"}]\n",
                  arena);
    helio_zone_t *zone = zone_of("Europe/Berlin");
    helio_aev_series_t all = compose(file, NULL, zone, ms_of("2026-11-23T00:00:00Z")); /* Monday 01:00 in Berlin */
    const helio_series_t *free_gpus = find(&all, HELIO_SIGNAL_FREE_GPUS, "p");
    assert_true(helio_text_is(free_gpus->source, "windows") && !free_gpus->estimated);
    assert_true(free_gpus->values.items[6] == 28 &&
                free_gpus->values.items[7] == 8); /* kept from 08:30: all of the hour */
    assert_true(free_gpus->values.items[11] == 0 && free_gpus->values.items[18] == 8 &&
                free_gpus->values.items[19] == 28);
    assert_null(find(&all, HELIO_SIGNAL_FREE_GPUS, "q"));
    const helio_series_t *reserved = find(&all, HELIO_SIGNAL_RESERVED, "p");
    assert_true(reserved->step_s == 900 && reserved->values.count == 192);
    const double *kept = reserved->values.items; /* quarters from midnight UTC: 08:30 in Berlin is the 31st */
    assert_true(kept[0] == 4 && kept[29] == 4 && kept[30] == 24 && kept[43] == 24 && kept[44] == 54 && kept[47] == 54 &&
                kept[48] == 24 && kept[75] == 24 && kept[76] == 4);
    assert_null(find(&all, HELIO_SIGNAL_RESERVED, "q"));
    helio_zone_destroy(&zone);
}

static void compose__reservations_begin_and_end_on_the_minute(void **state)
{
    (void)state;
    static const struct {
        const char *when;
        uint32_t step_s;
        int64_t begin_min, end_min;
    } cases[] = {{"08:30-20:00", 900, 510, 1200},
                 {"08:05-09:00", 300, 485, 540},
                 {"00:07-01:59", 60, 7, 119},
                 {"02:00-24:00", 900, 120, 1440}};
    for (uint32_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const char *text = helio_arena_string(
            arena,
            helio_arena_printf(arena, SITE "windows: [{pool: p, reserve_gpus: 6, when: \"%s\"}]\n", cases[c].when));
        helio_aev_series_t all = compose(read_site(text, arena), NULL, NULL, ms_of("2026-11-23T00:00:00Z"));
        const helio_series_t *reserved = find(&all, HELIO_SIGNAL_RESERVED, "p");
        assert_int_equal(reserved->step_s, cases[c].step_s);
        for (uint32_t i = 0; i < reserved->values.count; i++) {
            int64_t of_day = (int64_t)i * cases[c].step_s / 60 % 1440;
            bool inside = of_day >= cases[c].begin_min && of_day < cases[c].end_min;
            assert_true(reserved->values.items[i] == (inside ? 6 : 0));
        }
    }
}

static void compose__windows_follow_a_series_of_demand(void **state)
{
    (void)state;
    site_file_t *file = read_site(SITE "windows: [{pool: p, series: conv, peak_gpus: 16}]\n"
                                       "agent: {feeds: [{signal: load, name: conv, source: csv, path: x}]}\n",
                                  arena);
    helio_track_t *track = new_track(now);
    helio_aev_series_t all = compose(file, track, NULL, now);
    const helio_series_t *free_gpus = find(&all, HELIO_SIGNAL_FREE_GPUS, "p");
    assert_true(free_gpus->values.items[0] == 16 && free_gpus->estimated); /* nothing known: the peak is kept */
    tell_days(track, now, 30);                                             /* 100 … 330 */
    all = compose(file, track, NULL, now);
    free_gpus = find(&all, HELIO_SIGNAL_FREE_GPUS, "p");
    assert_false(free_gpus->estimated);
    assert_true(free_gpus->values.items[16] == 16);     /* 23 h: the greatest */
    assert_true(free_gpus->values.items[17] == 32 - 5); /* 0 h: 16 x 100/330 = 4.85 */
    assert_null(find(&all, HELIO_SIGNAL_CARBON, "p"));
}

static void compose__the_backends_forecast_is_published_less_the_windows(void **state)
{
    (void)state;
    site_file_t *file = read_site(SITE "windows: [{pool: p, reserve_gpus: 4}]\n", arena);
    double p[3] = {10, 20, 2}, q[1] = {5};
    helio_series_t told[2] = {{.signal = HELIO_SIGNAL_FREE_GPUS,
                               .pool = HELIO_TEXT("p"),
                               .source = HELIO_TEXT("slurm"),
                               .start_wall_ms = now / H * H,
                               .step_s = 3600,
                               .values = {p, 3}},
                              {.signal = HELIO_SIGNAL_FREE_GPUS,
                               .pool = HELIO_TEXT("q"),
                               .source = HELIO_TEXT("slurm"),
                               .start_wall_ms = now / H * H,
                               .step_s = 3600,
                               .values = {q, 1}}};
    helio_aev_series_t backend = {.series = {told, 2}}, all;
    helio_compose_t from = {.profile = &file->site, .settings = &file->feeds, .backend = &backend};
    helio_compose(&from, now, arena, &all);
    const helio_series_t *free_p = find(&all, HELIO_SIGNAL_FREE_GPUS, "p"),
                         *free_q = find(&all, HELIO_SIGNAL_FREE_GPUS, "q");
    assert_true(free_p->values.items[0] == 6 && free_p->values.items[1] == 16 && free_p->values.items[40] == 0);
    assert_true(helio_text_is(free_p->source, "slurm less windows"));
    /* as much as an event holds, and no more */
    helio_series_t *many = helio_arena_alloc(arena, HELIO_SERIES_MAX, sizeof *many);
    for (uint32_t i = 0; i < HELIO_SERIES_MAX; i++) {
        many[i] = told[1];
        many[i].pool = helio_arena_printf(arena, "pool-%u", i);
    }
    backend.series.items = many;
    backend.series.count = HELIO_SERIES_MAX;
    helio_aev_series_t bounded;
    helio_compose(&from, now, arena, &bounded);
    assert_int_equal(bounded.series.count, HELIO_SERIES_MAX);
    assert_true(free_q->values.count == 1 && free_q->values.items[0] == 5 && helio_text_is(free_q->source, "slurm"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(compose__without_feeds_the_site_files_figures_are_used),
        TEST(compose__a_source_without_forecast_gets_the_built_in_one_with_its_band),
        TEST(compose__the_sources_forecast_comes_first_and_the_current_hour_is_actual),
        TEST(compose__a_long_forecast_is_published_as_far_as_it_goes),
        TEST(compose__a_dead_feed_repeats_its_last_good_day_and_then_is_replaced),
        TEST(compose__a_feed_that_never_gave_a_value_says_since_when),
        TEST(compose__kinds_never_mix),
        TEST(compose__a_series_without_new_data_is_the_same_series),
        TEST(compose__a_source_with_forecasts_only_is_used_to_their_end),
        TEST(compose__negative_prices_are_kept_and_a_pue_below_one_is_raised),
        TEST(compose__a_tariff_is_local_time_hour_by_hour),
        TEST(compose__windows_reserve_gpus_by_local_time),
        TEST(compose__reservations_begin_and_end_on_the_minute),
        TEST(compose__windows_follow_a_series_of_demand),
        TEST(compose__the_backends_forecast_is_published_less_the_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
