#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/core/broker_core.h"
#include "broker/engine/recorder.h"
#include "federation/base/rng.h"

static int set_up(void **state)
{
    char *path = helio_strdup("/tmp/helio-recorder-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(unlink(path), 0);
    *state = path;
    return 0;
}

static int tear_down(void **state)
{
    (void)unlink(*state);
    free(*state);
    return 0;
}

typedef struct life {
    helio_broker_core_t *core;
    helio_effects_t *effects;
    helio_recorder_t *recorder;
    int64_t now_ms;
    uint64_t effect_count;
    helio_uuid_t last; /* submitted */
} life_t;

static void step(life_t *life, uint32_t kind, const void *payload)
{
    helio_event_t event = {kind, life->now_ms, 1790000000000 + life->now_ms, payload};
    assert_int_equal(helio_recorder_event(life->recorder, &event, NULL), HELIO_OK);
    helio_effects_reset(life->effects);
    helio_broker_core_step(life->core, &event, life->effects);
    life->effect_count += life->effects->count;
    for (uint32_t i = 0; i < life->effects->count; i++)
        if (life->effects->items[i].kind == HELIO_BROKER_FX_ROW_JOB)
            life->last = ((const helio_row_job_t *)life->effects->items[i].payload)->job;
    assert_int_equal(helio_recorder_effects(life->recorder, life->effects, NULL), HELIO_OK);
}

static void begin(life_t *life, const char *path, uint64_t seed)
{
    helio_broker_options_t options = helio_broker_options_default();
    *life = (life_t){.core = helio_broker_core_new(options), .effects = helio_effects_new(), .now_ms = 1000};
    helio_error_t err = {0};
    assert_int_equal(helio_recorder_open(path, &options, &life->recorder, &err), HELIO_OK);
    helio_row_federation_t federation = {.incarnation = 1, .broker_epoch = 1, .seed = seed};
    helio_row_tenant_t tenant = {HELIO_TEXT("demo"), HELIO_TEXT("lulea")};
    helio_row_queue_t queue = {.queue = HELIO_TEXT("standard"),
                               .priority = 500,
                               .tier = HELIO_TIER_STANDARD,
                               .time_limit_ms = 86400000};
    helio_ev_nothing_t nothing = {0};
    step(life, HELIO_BROKER_EV_LOAD_FEDERATION, &federation);
    step(life, HELIO_BROKER_EV_LOAD_TENANT, &tenant);
    step(life, HELIO_BROKER_EV_LOAD_QUEUE, &queue);
    step(life, HELIO_BROKER_EV_LOADED, &nothing);
}

static void submit(life_t *life, uint64_t call, const char *name)
{
    helio_submission_t submission = {.source = helio_text_of(name),
                                     .spec_hash = HELIO_TEXT("01234567890123456789012345678901")};
    submission.spec.name = helio_text_of(name);
    submission.spec.queue = HELIO_TEXT("standard");
    submission.spec.nodes = 1;
    submission.spec.run = HELIO_TEXT("true");
    helio_string_t word = {HELIO_TEXT("the last")};
    helio_dependency_t depends = {word.text, HELIO_AFTER_ANY, HELIO_FOUND_OPEN, {life->last, HELIO_NO_TASK}};
    if (call % 3 == 0 && !helio_uuid_is_nil(life->last)) { /* no site is there: what it waits for is queued */
        submission.spec.after_any.items = &word;
        submission.spec.after_any.count = 1;
        submission.depends.items = &depends;
        submission.depends.count = 1;
    }
    if (call % 5 == 0)
        submission.spec.not_before_wall_ms = 1790000000000 + life->now_ms + (int64_t)call * 10;
    helio_ev_submit_t event = {.call = call, .tenant = HELIO_TEXT("demo"), .user = HELIO_TEXT("ada")};
    event.jobs.items = &submission;
    event.jobs.count = 1;
    step(life, HELIO_BROKER_EV_SUBMIT, &event);
}

static void go_on(life_t *life, uint32_t events, uint64_t seed)
{
    helio_rng_t rng = {seed};
    helio_ev_nothing_t nothing = {0};
    for (uint32_t i = 0; i < events; i++) {
        life->now_ms += (int64_t)helio_rng_below(&rng, 500);
        if (helio_rng_below(&rng, 3) == 0)
            submit(life, i + 1, "hello");
        else
            step(life, HELIO_BROKER_EV_TICK, &nothing);
    }
}

static void end(life_t *life)
{
    helio_recorder_close(&life->recorder);
    helio_broker_core_destroy(&life->core);
    helio_effects_destroy(&life->effects);
}

static void recorder__a_replay_does_what_was_recorded(void **state)
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

static void recorder__a_changed_event_is_found_and_placed(void **state)
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

static void put_file(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void recorder__a_file_of_something_else_is_left_alone(void **state)
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

static void recorder__a_recording_of_another_version_is_left_alone(void **state)
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

static void recorder__damage_anywhere_is_an_answer_and_no_crash(void **state)
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

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(recorder__a_replay_does_what_was_recorded),
        CASE(recorder__each_start_appends_a_life),
        CASE(recorder__only_its_owner_may_read_the_file),
        CASE(recorder__a_crash_leaves_a_recording_that_can_be_read_and_continued),
        CASE(recorder__a_changed_event_is_found_and_placed),
        CASE(recorder__a_file_of_something_else_is_left_alone),
        CASE(recorder__a_recording_of_another_version_is_left_alone),
        CASE(recorder__damage_anywhere_is_an_answer_and_no_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
