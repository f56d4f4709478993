/*  recording_testing.h -- the recording of a small core's life, in a file of its own for each test. */
#ifndef HELIO_TESTS_BROKER_ENGINE_RECORDING_TESTING_H
#define HELIO_TESTS_BROKER_ENGINE_RECORDING_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/core/broker_core.h"
#include "broker/engine/recorder.h"
#include "federation/base/rng.h"

static inline int set_up(void **state)
{
    char *path = helio_strdup("/tmp/helio-recorder-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(unlink(path), 0);
    *state = path;
    return 0;
}

static inline int tear_down(void **state)
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

static inline void step(life_t *life, uint32_t kind, const void *payload)
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

static inline void begin(life_t *life, const char *path, uint64_t seed)
{
    helio_broker_options_t options = helio_broker_options_default();
    *life = (life_t){.core = helio_broker_core_new(options), .effects = helio_effects_new(), .now_ms = 1000};
    helio_error_t err = {0};
    assert_int_equal(helio_recorder_open(path, &options, &life->recorder, &err), HELIO_OK);
    helio_row_federation_t federation = {.incarnation = 1, .broker_epoch = 1, .seed = seed};
    helio_row_tenant_t tenant = {HELIO_TEXT("demo"), HELIO_TEXT("lulea"), false};
    helio_row_queue_t queue = {
        .queue = HELIO_TEXT("standard"), .priority = 500, .tier = HELIO_TIER_STANDARD, .time_limit_ms = 86400000};
    helio_ev_nothing_t nothing = {0};
    step(life, HELIO_BROKER_EV_LOAD_FEDERATION, &federation);
    step(life, HELIO_BROKER_EV_LOAD_TENANT, &tenant);
    step(life, HELIO_BROKER_EV_LOAD_QUEUE, &queue);
    step(life, HELIO_BROKER_EV_LOADED, &nothing);
}

static inline void submit(life_t *life, uint64_t call, const char *name)
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

static inline void go_on(life_t *life, uint32_t events, uint64_t seed)
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

static inline void end(life_t *life)
{
    helio_recorder_close(&life->recorder);
    helio_broker_core_destroy(&life->core);
    helio_effects_destroy(&life->effects);
}

static inline void put_file(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
