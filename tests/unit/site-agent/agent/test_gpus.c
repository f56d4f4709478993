#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "site-agent/agent/gpus.h"

typedef struct fixture {
    helio_arena_t *arena;
    helio_agent_settings_t settings;
    helio_pool_t pools[2];
    helio_error_t err;
} fixture_t;

static int make(void **state)
{
    fixture_t *self = helio_new(1, sizeof *self);
    self->arena = helio_arena_new();
    self->settings.site.backend = HELIO_TEXT("local");
    self->settings.state_dir = HELIO_TEXT("/nowhere");
    self->settings.site.pools.items = self->pools;
    self->settings.site.pools.count = 1;
    self->pools[0] = (helio_pool_t){.name = HELIO_TEXT("gpus"), .nodes = 1};
    self->pools[1] =
        (helio_pool_t){.name = HELIO_TEXT("more"), .nodes = 2, .gpus_per_node = 4, .gpu = HELIO_TEXT("H100")};
    (void)setenv("NVML_DOUBLE_NAMES", "NVIDIA A100-SXM4-80GB;NVIDIA A100-SXM4-80GB", 1);
    *state = self;
    return 0;
}

static int unmake(void **state)
{
    fixture_t *self = *state;
    helio_site_gpus_close(&self->settings);
    helio_arena_destroy(&self->arena);
    free(self);
    (void)unsetenv("NVML_DOUBLE_NAMES");
    (void)unsetenv("NVML_DOUBLE_ENERGY");
    return 0;
}

static helio_rc open_with(fixture_t *self, const char *library)
{
    return helio_site_gpus_open(&self->settings, library, self->arena, &self->err);
}

static void gpus__of_the_machine_complete_the_site_file_and_are_measured(void **state)
{
    fixture_t *self = *state;
    assert_int_equal(open_with(self, HELIO_NVML_DOUBLE), HELIO_OK);
    assert_int_equal(self->pools[0].gpus_per_node, 2);
    assert_true(helio_text_is(self->pools[0].gpu, "A100"));
    assert_non_null(self->settings.nvml);
    (void)setenv("NVML_DOUBLE_ENERGY", "5000", 1);
    uint64_t mj = 0;
    assert_int_equal(helio_nvml_energy_mj(self->settings.nvml, 0, &mj), HELIO_OK);
    assert_int_equal(mj, 5000);
}

static void gpus__without_a_driver_are_as_declared_and_not_measured(void **state)
{
    fixture_t *self = *state;
    self->pools[0].gpus_per_node = 4;
    self->pools[0].gpu = HELIO_TEXT("H100");
    assert_int_equal(open_with(self, "/nowhere/libnvidia-ml.so.1"), HELIO_OK);
    assert_int_equal(self->pools[0].gpus_per_node, 4);
    assert_null(self->settings.nvml);
}

static void gpus__that_neither_file_nor_driver_counts_are_refused(void **state)
{
    fixture_t *self = *state;
    self->pools[0].gpu = HELIO_TEXT("H100");
    assert_int_equal(open_with(self, "/nowhere/libnvidia-ml.so.1"), HELIO_INVALID);
    assert_non_null(strstr(self->err.text, "add gpus_per_node"));
}

static void gpus__declared_but_missing_are_refused_with_the_reason(void **state)
{
    fixture_t *self = *state;
    self->pools[0].gpus_per_node = 8;
    assert_int_equal(open_with(self, HELIO_NVML_DOUBLE), HELIO_INVALID);
    assert_true(strlen(self->err.text) > 0);
    assert_null(self->settings.nvml);
}

static void gpus__of_several_pools_or_nodes_are_not_those_of_this_machine(void **state)
{
    fixture_t *self = *state;
    self->settings.site.pools.count = 2;
    self->pools[0].gpus_per_node = 2;
    assert_int_equal(open_with(self, HELIO_NVML_DOUBLE), HELIO_OK);
    assert_int_equal(self->pools[1].gpus_per_node, 4);
    assert_null(self->settings.nvml);
}

static void gpus__of_a_cluster_are_not_searched_on_this_machine(void **state)
{
    fixture_t *self = *state;
    self->settings.site.backend = HELIO_TEXT("slurm");
    assert_int_equal(open_with(self, HELIO_NVML_DOUBLE), HELIO_OK);
    assert_int_equal(self->pools[0].gpus_per_node, 0);
    assert_null(self->settings.nvml);
}

static void gpus__absence_is_reported_to_the_operator_with_the_reason(void **state)
{
    fixture_t *self = *state;
    assert_true(helio_text_is(helio_site_gpus_text(&self->settings, HELIO_NVML_DOUBLE, self->arena), "2 A100 found"));
    helio_text_t none = helio_site_gpus_text(&self->settings, "/nowhere/libnvidia-ml.so.1", self->arena);
    assert_non_null(strstr(helio_arena_string(self->arena, none), "none found ("));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gpus__of_the_machine_complete_the_site_file_and_are_measured, make, unmake),
        cmocka_unit_test_setup_teardown(gpus__without_a_driver_are_as_declared_and_not_measured, make, unmake),
        cmocka_unit_test_setup_teardown(gpus__that_neither_file_nor_driver_counts_are_refused, make, unmake),
        cmocka_unit_test_setup_teardown(gpus__declared_but_missing_are_refused_with_the_reason, make, unmake),
        cmocka_unit_test_setup_teardown(gpus__of_several_pools_or_nodes_are_not_those_of_this_machine, make, unmake),
        cmocka_unit_test_setup_teardown(gpus__of_a_cluster_are_not_searched_on_this_machine, make, unmake),
        cmocka_unit_test_setup_teardown(gpus__absence_is_reported_to_the_operator_with_the_reason, make, unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
