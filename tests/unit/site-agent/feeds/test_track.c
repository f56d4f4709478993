/*  test_track.c -- the hours that a feed told of, also over a restart. */
#include "tests/unit/site-agent/feeds/compose_testing.h"

/* ---- track --------------------------------------------------------------------------------------------- */

static void track__an_hour_is_the_mean_of_its_points_in_any_order(void **state)
{
    (void)state;
    helio_track_t *track = new_track(now);
    int64_t hour = now / H;
    helio_hours_t hours = helio_track_hours(track);
    /* one at a time */
    assert_int_equal(tell(track, now, (helio_point_t){.time_ms = hour * H, .value = 100}), 1);
    assert_int_equal(tell(track, now, (helio_point_t){.time_ms = hour * H + 900000, .value = 200}), 1);
    assert_true(near(helio_hours_at(&hours, hour), 150));
    /* the same one again is no news, and a revised one of as many replaces */
    assert_int_equal(tell(track, now, (helio_point_t){.time_ms = hour * H + 900000, .value = 900}), 1);
    assert_true(near(helio_hours_at(&hours, hour), 150)); /* one point is less than the two that were known */
    helio_point_t both[2] = {{.time_ms = hour * H, .value = 10},
                             {.time_ms = hour * H + 900000, .value = 20, .estimated = true}};
    assert_int_equal(helio_track_take(track, &(helio_points_t){both, 2}, now), 2);
    assert_true(near(helio_hours_at(&hours, hour), 15) && track->estimated[HELIO_TRACK_HOURS - 1]);
}

static void track__points_too_old_or_too_far_ahead_are_skipped(void **state)
{
    (void)state;
    helio_track_t *track = new_track(now);
    assert_int_equal(tell(track, now, (helio_point_t){.time_ms = now - 36 * 24 * H, .value = 1}), 0);
    assert_int_equal(tell(track, now, (helio_point_t){.time_ms = now + 9 * 24 * H, .value = 1}), 0);
    assert_int_equal(tell(track, now, (helio_point_t){.time_ms = INT64_MAX, .value = 1}), 0);
    assert_int_equal(tell(track, now, (helio_point_t){.time_ms = INT64_MIN, .value = 1}), 0);
    assert_int_equal(track->failures, 4);
    assert_int_equal(helio_track_state(track, 900000, now), HELIO_TRACK_NOTHING);
    assert_int_equal(tell(track, now, (helio_point_t){.time_ms = now - 34 * 24 * H, .value = 1}), 1);
    assert_int_equal(track->failures, 0);
}

static void track__a_forecast_never_becomes_an_actual_value(void **state)
{
    (void)state;
    helio_track_t *track = new_track(now);
    int64_t hour = now / H;
    helio_hours_t hours = helio_track_hours(track);
    assert_int_equal(tell(track, now, (helio_point_t){.time_ms = hour * H, .value = 7, .forecast = true}), 1);
    assert_true(isnan(helio_hours_at(&hours, hour)) && near(helio_track_ahead(track, hour), 7));
    /* a value for an hour to come is a forecast, though the source does not call it so */
    assert_int_equal(tell(track, now, (helio_point_t){.time_ms = (hour + 2) * H, .value = 9}), 1);
    hours = helio_track_hours(track);
    assert_true(isnan(helio_track_ahead(track, hour)) && near(helio_track_ahead(track, hour + 2), 9));
    assert_true(helio_hours_last(&hours, hour + 5) == INT64_MIN && track->newest_ms == INT64_MIN);
}

static void track__a_clock_that_is_set_back_loses_nothing(void **state)
{
    (void)state;
    helio_track_t *track = new_track(now);
    tell_days(track, now, 30);
    int64_t hour = now / H;
    assert_int_equal(tell(track, now + 10 * 24 * H, (helio_point_t){.time_ms = now + 10 * 24 * H, .value = 5}), 1);
    helio_hours_t hours = helio_track_hours(track);
    assert_true(near(helio_hours_at(&hours, hour), 100 + 10 * (double)(hour % 24)));
    assert_true(isnan(helio_hours_at(&hours, hour + 1)) && near(helio_hours_at(&hours, hour + 240), 5));
    assert_int_equal(tell(track, now, (helio_point_t){.time_ms = now, .value = 6}), 1);
    hours = helio_track_hours(track);
    assert_true(near(helio_hours_at(&hours, hour + 240), 5));
    assert_int_equal(tell(track, now + 4000 * 24 * H, (helio_point_t){.time_ms = now + 4000 * 24 * H, .value = 1}), 1);
    hours = helio_track_hours(track);
    assert_true(helio_hours_last(&hours, hour + 100000) == hour + 4000 * 24);
}

/* ---- over a restart ------------------------------------------------------------------------------------ */

static void store__the_history_survives_a_restart_only_for_the_same_feed(void **state)
{
    (void)state;
    site_file_t *file = read_site(CARBON_FEED, arena);
    helio_track_t *track = new_track(now), *again = new_track(now + 5 * H);
    helio_error_t err = {0};
    assert_int_equal(helio_tracks_load(directory, &file->feeds, again, &err), HELIO_NOT_FOUND);
    tell_days(track, now, 30);
    assert_int_equal(tell(track, now, (helio_point_t){.time_ms = now + 5 * H, .value = 9}), 1);
    assert_int_equal(helio_tracks_save(directory, &file->feeds, track, &err), HELIO_OK);
    assert_int_equal(helio_tracks_load(directory, &file->feeds, again, &err), HELIO_OK);
    helio_hours_t before = helio_track_hours(track), after = helio_track_hours(again);
    for (int64_t hour = now / H - 29 * 24; hour <= now / H; hour++)
        assert_true(near(helio_hours_at(&before, hour), helio_hours_at(&after, hour)));
    assert_true(again->success_wall_ms == now);
    assert_memory_equal(&again->foretold, &track->foretold, sizeof track->foretold);
    site_file_t *other = read_site(
        SITE "agent: {feeds: [{signal: carbon, source: http-json, map: electricitymaps, region: FR}]}\n", arena);
    helio_track_t *fresh = new_track(now);
    assert_int_equal(helio_tracks_load(directory, &other->feeds, fresh, &err), HELIO_OK);
    helio_hours_t none = helio_track_hours(fresh);
    assert_true(helio_hours_last(&none, now / H + 1) == INT64_MIN);
}

/*  The first form of the file ends each record before what was foretold: the history of an upgraded agent stays. */
static void store__a_file_of_an_earlier_release_is_read(void **state)
{
    (void)state;
    enum { PAST = 32 + HELIO_TRACK_HOURS * (8 + 2 + 1), ALL = 8 + PAST + 8 };
    site_file_t *file = read_site(CARBON_FEED, arena);
    helio_track_t *track = new_track(now), *again = new_track(now);
    helio_error_t err = {0};
    tell_days(track, now, 3);
    assert_int_equal(helio_tracks_save(directory, &file->feeds, track, &err), HELIO_OK);
    char path[128], bytes[ALL];
    (void)snprintf(path, sizeof path, "%s/feeds.history", directory);
    FILE *stream = fopen(path, "r+");
    assert_non_null(stream);
    assert_int_equal(fread(bytes, 1, 8 + PAST, stream), 8 + PAST);
    bytes[7] = '1';
    uint64_t sum = helio_hash(HELIO_HASH_SEED, bytes, 8 + PAST);
    memcpy(bytes + 8 + PAST, &sum, sizeof sum);
    rewind(stream);
    assert_int_equal(fwrite(bytes, 1, ALL, stream), ALL);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(truncate(path, ALL), 0);
    assert_int_equal(helio_tracks_load(directory, &file->feeds, again, &err), HELIO_OK);
    helio_hours_t hours = helio_track_hours(again);
    assert_true(near(helio_hours_at(&hours, now / H), 170));
    assert_true(isnan(again->foretold.values[0][0]) && again->foretold.first_hour == track->foretold.first_hour);
}

static void store__a_damaged_file_is_detected(void **state)
{
    (void)state;
    site_file_t *file = read_site(CARBON_FEED, arena);
    helio_track_t *track = new_track(now);
    helio_error_t err = {0};
    char path[128];
    (void)snprintf(path, sizeof path, "%s/feeds.history", directory);
    tell_days(track, now, 3);
    assert_int_equal(helio_tracks_save(directory, &file->feeds, track, &err), HELIO_OK);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    static const long places[] = {0, 9, 500, 5000, -1};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        FILE *stream = fopen(path, "r+");
        assert_non_null(stream);
        assert_int_equal(fseek(stream, places[i], places[i] < 0 ? SEEK_END : SEEK_SET), 0);
        int byte = fgetc(stream);
        assert_int_equal(fseek(stream, places[i], places[i] < 0 ? SEEK_END : SEEK_SET), 0);
        assert_true(fputc(byte ^ 1, stream) != EOF && fclose(stream) == 0);
        helio_track_t *again = new_track(now);
        assert_int_equal(helio_tracks_load(directory, &file->feeds, again, &err), HELIO_INVALID);
        helio_hours_t none = helio_track_hours(again);
        assert_true(helio_hours_last(&none, now / H + 1) == INT64_MIN);
        assert_int_equal(helio_tracks_save(directory, &file->feeds, track, &err), HELIO_OK);
    }
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(helio_tracks_load(directory, &file->feeds, track, &err), HELIO_INVALID);
    assert_int_equal(helio_tracks_save("/nonexistent", &file->feeds, track, &err), HELIO_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(track__an_hour_is_the_mean_of_its_points_in_any_order),
        TEST(track__points_too_old_or_too_far_ahead_are_skipped),
        TEST(track__a_forecast_never_becomes_an_actual_value),
        TEST(track__a_clock_that_is_set_back_loses_nothing),
        WITH_DIRECTORY(store__the_history_survives_a_restart_only_for_the_same_feed),
        WITH_DIRECTORY(store__a_file_of_an_earlier_release_is_read),
        WITH_DIRECTORY(store__a_damaged_file_is_detected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
