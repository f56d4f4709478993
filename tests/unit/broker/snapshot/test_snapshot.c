/*  test_snapshot.c -- a snapshot gives back what was put in, without secrets, and is whole or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "broker/snapshot/snapshot.h"

static helio_error_t err;
static helio_arena_t *arena;

typedef struct seen {
    uint32_t parts, kinds[16];
    helio_ev_load_job_t job;
    helio_snapshot_options_t options;
} seen_t;

static helio_rc see(void *arg, uint32_t kind, void *record, helio_error_t *why)
{
    seen_t *self = arg;
    (void)why;
    self->kinds[self->parts++] = kind;
    if (kind == HELIO_BROKER_EV_LOAD_JOB)
        self->job = *(const helio_ev_load_job_t *)record;
    if (kind == HELIO_SNAPSHOT_OPTIONS)
        self->options = *(const helio_snapshot_options_t *)record;
    return HELIO_OK;
}

static void fill(helio_buffer_t *out)
{
    helio_pair_t variable = {HELIO_TEXT("PASSWORD"), HELIO_TEXT("hidden")};
    helio_string_t secret = {HELIO_TEXT("hidden-too")};
    helio_data_ask_t data[] = {{.uri = HELIO_TEXT("s3://user:hidden@bucket/a@b?key=hidden"), .size_bytes = 7},
                               {.uri = HELIO_TEXT("s3://acme/corpus"), .size_bytes = 8}};
    const helio_row_tenant_t tenant = {.tenant = HELIO_TEXT("acme")};
    const helio_ev_load_job_t job = {.row = {.tenant = HELIO_TEXT("acme"),
                                             .idempotency_key = HELIO_TEXT("hidden-key"),
                                             .source = HELIO_TEXT("run: hidden"),
                                             .name = HELIO_TEXT("train"),
                                             .gpus = 8},
                                     .spec = {.name = HELIO_TEXT("train"),
                                              .nodes = 2,
                                              .run = HELIO_TEXT("hidden"),
                                              .image = HELIO_TEXT("docker://robot:hidden@registry/x"),
                                              .data = {data, 2},
                                              .env = {&variable, 1},
                                              .secrets = {&secret, 1}}};
    const helio_snapshot_options_t options = {.release = HELIO_TEXT("1"), .lease_ms = 20000};
    helio_snapshot_begin(out);
    assert_int_equal(helio_snapshot_add(HELIO_BROKER_EV_LOAD_TENANT, &tenant, out, &err), HELIO_OK);
    assert_int_equal(helio_snapshot_add(HELIO_BROKER_EV_LOAD_JOB, &job, out, &err), HELIO_OK);
    assert_int_equal(helio_snapshot_add(HELIO_SNAPSHOT_OPTIONS, &options, out, &err), HELIO_OK);
}

static void snapshot__gives_back_its_parts_in_order(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    seen_t seen = {0};
    fill(&out);
    assert_int_equal(helio_snapshot_each(helio_buffer_view(&out), arena, see, &seen, &err), HELIO_OK);
    assert_int_equal(seen.parts, 3);
    assert_int_equal(seen.kinds[0], HELIO_BROKER_EV_LOAD_TENANT);
    assert_int_equal(seen.kinds[2], HELIO_SNAPSHOT_OPTIONS);
    assert_int_equal(seen.options.lease_ms, 20000);
    assert_true(seen.job.spec.image.size > 0);
    assert_int_equal(seen.job.spec.data.count, 2);
    assert_true(helio_text_is(seen.job.spec.data.items[0].uri, "bucket/a@b"));
    assert_true(helio_text_is(seen.job.spec.data.items[1].uri, "s3://acme/corpus"));
    assert_true(helio_text_is(seen.job.row.name, "train") && seen.job.row.gpus == 8 && seen.job.spec.nodes == 2);
}

static void snapshot__has_nothing_that_only_a_job_may_read(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    fill(&out);
    assert_null(memmem(out.data, out.size, "hidden", 6));
    assert_null(memmem(out.data, out.size, "PASSWORD", 8));
}

static void snapshot__that_is_cut_or_foreign_is_refused(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    fill(&out);
    uint32_t whole = 0;
    for (uint32_t size = 0; size < out.size; size++) {
        seen_t seen = {0};
        helio_rc rc = helio_snapshot_each((helio_text_t){out.data, size}, arena, see, &seen, &err);
        whole += rc == HELIO_OK; /* cut between two parts; the parts that are needed are checked by who reads them */
        assert_true(rc == HELIO_OK || rc == HELIO_INVALID);
    }
    assert_int_equal(whole, 3);
    seen_t seen = {0};
    out.data[9]++;
    assert_int_equal(helio_snapshot_each(helio_buffer_view(&out), arena, see, &seen, &err), HELIO_VERSION);
    assert_int_equal(helio_snapshot_each(HELIO_TEXT("HELIOREC and more"), arena, see, &seen, &err), HELIO_INVALID);
}

static void snapshot__of_any_bytes_is_read_without_harm(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    fill(&out);
    for (size_t at = 10; at < out.size; at++)
        for (uint32_t bit = 0; bit < 8; bit++) {
            seen_t seen = {0};
            out.data[at] = (char)(out.data[at] ^ (1 << bit));
            helio_rc rc = helio_snapshot_each(helio_buffer_view(&out), arena, see, &seen, &err);
            assert_true(rc == HELIO_OK || err.text[0]);
            out.data[at] = (char)(out.data[at] ^ (1 << bit));
            helio_arena_reset(arena);
        }
}

static int begin(void **state)
{
    (void)state;
    arena = helio_arena_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    helio_arena_destroy(&arena);
    return 0;
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(snapshot__gives_back_its_parts_in_order),
        CASE(snapshot__has_nothing_that_only_a_job_may_read),
        CASE(snapshot__that_is_cut_or_foreign_is_refused),
        CASE(snapshot__of_any_bytes_is_read_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
