/*  test_recorder.c -- recordings and their replay: what is written, and what damage leads to. */
#include "tests/unit/broker/engine/recording_testing.h"

#include <fcntl.h>

static void recorder__a_replay_has_the_recorded_effects(void **state)
{
    const char *path = *state;
    life_t life;
    begin(&life, path, 7);
    go_on(&life, 2500, 3);
    helio_broker_figures_t figures;
    helio_broker_core_figures(life.core, &figures);
    uint64_t effects = life.effect_count;
    end(&life);
    helio_replay_t replay = {0};
    helio_error_t err = {0};
    assert_int_equal(helio_replay_file(path, &replay, &err), HELIO_OK);
    assert_int_equal(replay.lives, 1);
    assert_int_equal(replay.events, 2504);
    assert_int_equal(replay.effects, effects);
    assert_true(effects > 800); /* every submission was at least stored and answered */
    assert_int_equal(replay.checks, 3);
    assert_false(replay.unfinished);
    assert_memory_equal(&replay.figures, &figures, sizeof figures);
}

static void recorder__each_start_appends_a_life(void **state)
{
    const char *path = *state;
    life_t life;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        begin(&life, path, seed);
        go_on(&life, 100, seed);
        end(&life);
    }
    helio_replay_t replay = {0};
    assert_int_equal(helio_replay_file(path, &replay, NULL), HELIO_OK);
    assert_int_equal(replay.lives, 3);
    assert_int_equal(replay.events, 312);
}

static void recorder__only_its_owner_may_read_the_file(void **state)
{
    life_t life;
    begin(&life, *state, 1);
    end(&life);
    struct stat info;
    assert_int_equal(stat(*state, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void cut_file(const char *path, off_t by)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size - by), 0);
}

static void recorder__a_crash_leaves_a_recording_that_can_be_read_and_continued(void **state)
{
    const char *path = *state;
    life_t life;
    begin(&life, path, 1);
    go_on(&life, 50, 1);
    end(&life);
    cut_file(path, 21 + 3); /* the last hash and a piece of the last event */
    helio_replay_t replay = {0};
    assert_int_equal(helio_replay_file(path, &replay, NULL), HELIO_OK);
    assert_true(replay.unfinished);
    assert_int_equal(replay.events, 53);
    begin(&life, path, 2);
    end(&life);
    assert_int_equal(helio_replay_file(path, &replay, NULL), HELIO_OK);
    assert_int_equal(replay.lives, 2);
    assert_int_equal(replay.events, 57);
    assert_false(replay.unfinished);
}

static void recorder__a_changed_event_is_located(void **state)
{
    const char *path = *state;
    life_t life;
    begin(&life, path, 7);
    go_on(&life, 1500, 3);
    submit(&life, 9, "the-one-to-change");
    go_on(&life, 700, 4);
    end(&life);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    struct stat info;
    assert_int_equal(fstat(fd, &info), 0);
    char *bytes = helio_new((size_t)info.st_size, 1);
    assert_int_equal(pread(fd, bytes, (size_t)info.st_size, 0), info.st_size);
    char *at = memmem(bytes, (size_t)info.st_size, "the-one-to-change", 17);
    assert_non_null(at);
    assert_int_equal(pwrite(fd, "T", 1, at - bytes), 1);
    (void)close(fd);
    free(bytes);
    helio_replay_t replay = {0};
    helio_error_t err = {0};
    assert_int_equal(helio_replay_file(path, &replay, &err), HELIO_CONFLICT);
    assert_non_null(strstr(err.text, "between events 1001 and 2000"));
}

static void recorder__a_file_that_is_no_recording_is_not_touched(void **state)
{
    const char *path = *state;
    static const char text[] = "lease: 15m\ndatabase: host=127.0.0.1\n";
    put_file(path, text, sizeof text - 1);
    helio_broker_options_t options = helio_broker_options_default();
    helio_recorder_t *recorder = NULL;
    helio_replay_t replay = {0};
    assert_int_equal(helio_recorder_open(path, &options, &recorder, NULL), HELIO_INVALID);
    assert_null(recorder);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, sizeof text - 1);
    assert_int_equal(helio_replay_file(path, &replay, NULL), HELIO_INVALID);
    put_file(path, "", 0);
    assert_int_equal(helio_replay_file(path, &replay, NULL), HELIO_INVALID);
    assert_int_equal(helio_replay_file("/nonexistent/x", &replay, NULL), HELIO_IO);
}

static void recorder__a_recording_of_another_version_is_not_touched(void **state)
{
    const char *path = *state;
    life_t life;
    begin(&life, path, 7);
    go_on(&life, 20, 3);
    end(&life);
    FILE *file = fopen(path, "r+e");
    assert_non_null(file);
    assert_int_equal(fseek(file, 5 + 8, SEEK_SET), 0); /* behind the head of the frame, and "HELIOREC" */
    assert_int_equal(fputc(HELIO_RECORDING_VERSION - 1, file), HELIO_RECORDING_VERSION - 1);
    assert_int_equal(fclose(file), 0);
    helio_broker_options_t options = helio_broker_options_default();
    helio_recorder_t *recorder = NULL;
    helio_replay_t replay = {0};
    helio_error_t err = {0};
    assert_int_equal(helio_recorder_open(path, &options, &recorder, &err), HELIO_VERSION);
    assert_non_null(strstr(err.text, "name another file"));
    assert_null(recorder);
    assert_int_equal(helio_replay_file(path, &replay, &err), HELIO_VERSION);
}

static void recorder__damage_anywhere_is_an_error_and_no_crash(void **state)
{
    const char *path = *state;
    life_t life;
    begin(&life, path, 7);
    go_on(&life, 20, 3);
    end(&life);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    size_t size = (size_t)info.st_size;
    char *bytes = helio_new(size, 1), *bad = helio_new(size, 1);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, size, file), size);
    (void)fclose(file);
    for (size_t cut = 0; cut < size; cut += 7) {
        helio_replay_t replay = {0};
        put_file(path, bytes, cut);
        helio_rc rc = helio_replay_file(path, &replay, NULL);
        assert_true(rc == HELIO_INVALID || (rc == HELIO_OK && replay.lives == 1));
    }
    /* Lengths and tags: the contents of events are the core's own word, guarded by the hash and not by
     * asserts. */
    for (size_t at = 0; at < 5; at++) {
        memcpy(bad, bytes, size);
        bad[at] ^= 0x5a;
        put_file(path, bad, size);
        helio_replay_t replay = {0};
        assert_int_not_equal(helio_replay_file(path, &replay, NULL), HELIO_OK);
    }
    free(bytes);
    free(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(recorder__a_replay_has_the_recorded_effects),
        CASE(recorder__each_start_appends_a_life),
        CASE(recorder__only_its_owner_may_read_the_file),
        CASE(recorder__a_crash_leaves_a_recording_that_can_be_read_and_continued),
        CASE(recorder__a_changed_event_is_located),
        CASE(recorder__a_file_that_is_no_recording_is_not_touched),
        CASE(recorder__a_recording_of_another_version_is_not_touched),
        CASE(recorder__damage_anywhere_is_an_error_and_no_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
