#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "site-agent/telemetry/inventory.h"

static int clean(void **state)
{
    (void)state;
    const char *names[] = {"NVML_DOUBLE_NAMES",  "NVML_DOUBLE_INIT", "NVML_DOUBLE_SILENT", "NVML_DOUBLE_BARE",
                           "NVML_DOUBLE_ENERGY", "NVML_DOUBLE_MIG",  "NVML_DOUBLE_BUSY"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unsetenv(names[i]);
    return 0;
}

static helio_nvml_t *with(const char *names)
{
    assert_int_equal(setenv("NVML_DOUBLE_NAMES", names, 1), 0);
    return helio_nvml_new(HELIO_NVML_DOUBLE);
}

static void nvml__counters_and_names_come_in_the_stated_units(void **state)
{
    (void)state;
    helio_nvml_t *nvml = with("NVIDIA A100-SXM4-80GB;NVIDIA A100-SXM4-80GB");
    assert_string_equal(helio_nvml_reason(nvml), "");
    assert_int_equal(helio_nvml_count(nvml), 2);
    const helio_gpu_t *gpu = helio_nvml_gpu(nvml, 1);
    assert_string_equal(gpu->name, "NVIDIA A100-SXM4-80GB");
    assert_string_equal(gpu->model, "A100");
    assert_string_equal(gpu->uuid, "GPU-double-1");
    assert_true(gpu->memory_bytes == 80ULL << 30);
    helio_gpu_sample_t sample;
    (void)setenv("NVML_DOUBLE_ENERGY", "123456789012", 1);
    assert_int_equal(helio_nvml_sample(nvml, 0, &sample, NULL), HELIO_OK);
    assert_true(sample.power_w > 250.49 && sample.power_w < 250.51);
    assert_true(sample.utilisation > 0.749 && sample.utilisation < 0.751);
    assert_true(sample.memory_used_bytes == 5LL << 30);
    assert_true(sample.has_energy && sample.energy_mj == 123456789012);
    assert_int_equal(helio_nvml_sample(nvml, 1, &sample, NULL), HELIO_OK);
    assert_true(sample.utilisation > 0.999 && sample.utilisation < 1.001); /* 125 % is no share */
    assert_int_equal(helio_nvml_sample(nvml, 2, &sample, NULL), HELIO_NOT_FOUND);
    uint64_t mj = 5;
    assert_int_equal(helio_nvml_energy_mj(nvml, 9, &mj), HELIO_NOT_FOUND);
    assert_true(mj == 5);
    helio_nvml_destroy(&nvml);
    assert_null(nvml);
}

static void nvml__figures_that_a_model_lacks_are_negative(void **state)
{
    (void)state;
    (void)setenv("NVML_DOUBLE_BARE", "1", 1);
    helio_nvml_t *nvml = with("NVIDIA L4");
    helio_gpu_sample_t sample;
    assert_int_equal(helio_nvml_sample(nvml, 0, &sample, NULL), HELIO_OK);
    assert_true(sample.power_w < 0 && sample.utilisation < 0 && !sample.has_energy);
    uint64_t mj;
    assert_int_equal(helio_nvml_energy_mj(nvml, 0, &mj), HELIO_UNAVAILABLE);
    helio_nvml_destroy(&nvml);
}

static void nvml__without_a_driver_there_are_no_gpus_and_a_reason(void **state)
{
    (void)state;
    helio_nvml_t *nvml = helio_nvml_new("libhelio-no-such-library.so.1");
    assert_int_equal(helio_nvml_count(nvml), 0);
    assert_non_null(strstr(helio_nvml_reason(nvml), "no NVIDIA driver library"));
    helio_nvml_destroy(&nvml);

    nvml = helio_nvml_new("libc.so.6"); /* a library, but not that one */
    assert_int_equal(helio_nvml_count(nvml), 0);
    assert_non_null(strstr(helio_nvml_reason(nvml), "nvmlInit_v2"));
    helio_nvml_destroy(&nvml);

    (void)setenv("NVML_DOUBLE_INIT", "9", 1);
    nvml = with("NVIDIA L4");
    assert_int_equal(helio_nvml_count(nvml), 0);
    assert_non_null(strstr(helio_nvml_reason(nvml), "Driver Not Loaded"));
    helio_gpu_sample_t sample;
    assert_int_equal(helio_nvml_sample(nvml, 0, &sample, NULL), HELIO_NOT_FOUND);
    helio_nvml_destroy(&nvml);

    (void)unsetenv("NVML_DOUBLE_INIT");
    nvml = with("");
    assert_int_equal(helio_nvml_count(nvml), 0);
    assert_non_null(strstr(helio_nvml_reason(nvml), "shows no GPU"));
    helio_nvml_destroy(&nvml);
    helio_nvml_destroy(&nvml);
}

static void nvml__a_silent_gpu_keeps_its_number_and_is_not_offered(void **state)
{
    (void)state;
    (void)setenv("NVML_DOUBLE_SILENT", "0", 1);
    helio_nvml_t *nvml = with("NVIDIA H100 80GB HBM3;NVIDIA H100 80GB HBM3");
    assert_int_equal(helio_nvml_count(nvml), 2);
    assert_non_null(strstr(helio_nvml_reason(nvml), "GPU 0 does not answer: GPU is lost"));
    assert_string_equal(helio_nvml_gpu(nvml, 1)->model, "H100");
    helio_gpu_sample_t sample;
    helio_error_t err = {0};
    assert_int_equal(helio_nvml_sample(nvml, 0, &sample, &err), HELIO_UNAVAILABLE);
    helio_gpu_inventory_t inventory;
    helio_gpu_inventory(nvml, &inventory);
    assert_int_equal(inventory.gpus, 1);
    assert_int_equal(inventory.silent, 1);
    assert_int_equal(inventory.groups[0].first, 1);
    (void)setenv("NVML_DOUBLE_SILENT", "1", 1); /* falls off while we watch */
    assert_int_equal(helio_nvml_sample(nvml, 1, &sample, &err), HELIO_UNAVAILABLE);
    assert_non_null(strstr(err.text, "GPU is lost"));
    helio_nvml_destroy(&nvml);
}

static void inventory__completes_a_pool_and_refuses_contradictions(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    helio_nvml_t *nvml = with("NVIDIA L4;NVIDIA H100 80GB HBM3;NVIDIA L4");
    helio_gpu_inventory_t inventory, none = {0};
    helio_gpu_inventory(nvml, &inventory);
    assert_int_equal(inventory.group_count, 2);
    assert_int_equal(inventory.groups[0].count, 2);
    helio_error_t err = {0};

    helio_pool_t pool = {.name = HELIO_TEXT("main"), .nodes = 1};
    assert_int_equal(helio_gpu_inventory_fill(&inventory, arena, 1, &pool, &err), HELIO_INVALID);
    assert_non_null(strstr(err.text, "L4 and H100"));
    pool.gpu = HELIO_TEXT("L4");
    assert_int_equal(helio_gpu_inventory_fill(&inventory, arena, 1, &pool, &err), HELIO_OK);
    assert_int_equal(pool.gpus_per_node, 2);
    assert_true(pool.gpu_memory_bytes == 80ULL << 30);
    pool.gpus_per_node = 3;
    assert_int_equal(helio_gpu_inventory_fill(&inventory, arena, 1, &pool, &err), HELIO_INVALID);
    assert_string_equal(err.text, "pool 'main' declares 3 GPUs a node, but this machine has 2 of the model L4");
    pool.gpu = HELIO_TEXT("B200");
    assert_int_equal(helio_gpu_inventory_fill(&inventory, arena, 1, &pool, &err), HELIO_INVALID);
    assert_string_equal(err.text, "pool 'main' declares the GPU model B200, but the GPUs of this machine are L4, H100");
    helio_pool_t cpu = {.name = HELIO_TEXT("cpu"), .nodes = 1};
    assert_int_equal(helio_gpu_inventory_fill(&none, arena, 1, &cpu, &err), HELIO_OK);
    assert_int_equal(cpu.gpus_per_node, 0);
    helio_nvml_destroy(&nvml);

    nvml = with("NVIDIA H200");
    helio_gpu_inventory(nvml, &inventory);
    assert_int_equal(helio_gpu_inventory_fill(&inventory, arena, 1, &cpu, &err), HELIO_OK);
    assert_true(helio_text_is(cpu.gpu, "H200") && cpu.gpus_per_node == 1);
    helio_nvml_destroy(&nvml);
    helio_arena_destroy(&arena);
}

static void nvml__slices_of_a_gpu_in_mig_mode_are_listed_with_their_profiles(void **state)
{
    (void)state;
    (void)setenv("NVML_DOUBLE_MIG", "1:1g.10gb@a,,3g.40gb@b;2:", 1);
    helio_nvml_t *nvml = with("NVIDIA H100 80GB HBM3;NVIDIA H100 80GB HBM3;NVIDIA H100 80GB HBM3");
    assert_string_equal(helio_nvml_reason(nvml), "");
    assert_false(helio_nvml_gpu(nvml, 0)->in_slices);
    assert_true(helio_nvml_gpu(nvml, 1)->in_slices && helio_nvml_gpu(nvml, 2)->in_slices);
    assert_int_equal(helio_nvml_slice_count(nvml), 2);
    const helio_gpu_slice_device_t *slice = helio_nvml_slice(nvml, 1);
    assert_string_equal(slice->uuid, "MIG-double-b");
    assert_string_equal(slice->profile, "3g.40gb");
    assert_int_equal(slice->gpu, 1);
    assert_true(slice->memory_bytes == 10ULL << 30);
    assert_null(helio_nvml_slice(nvml, 2));
    (void)setenv("NVML_DOUBLE_BUSY", "b", 1);
    assert_false(helio_nvml_slice_busy(nvml, 0));
    assert_true(helio_nvml_slice_busy(nvml, 1));
    assert_false(helio_nvml_slice_busy(nvml, 2));
    assert_true(helio_nvml_answers(nvml, 1));
    (void)setenv("NVML_DOUBLE_SILENT", "1", 1);
    assert_false(helio_nvml_answers(nvml, 1));
    assert_false(helio_nvml_answers(nvml, 3));
    helio_gpu_inventory_t inventory;
    helio_gpu_inventory(nvml, &inventory);
    assert_int_equal(inventory.gpus, 3);
    assert_int_equal(inventory.group_count, 3);
    assert_string_equal(inventory.groups[0].model, "H100");
    assert_int_equal(inventory.groups[0].count, 1);
    assert_string_equal(inventory.groups[2].model, "H100/3g.40gb");
    helio_nvml_destroy(&nvml);
}

static void inventory__of_slices_alone_fills_a_pool_that_says_nothing(void **state)
{
    (void)state;
    (void)setenv("NVML_DOUBLE_MIG", "0:1g.10gb@a,1g.10gb@b", 1);
    helio_nvml_t *nvml = with("NVIDIA H100 80GB HBM3");
    helio_arena_t *arena = helio_arena_new();
    helio_gpu_inventory_t inventory;
    helio_gpu_inventory(nvml, &inventory);
    helio_error_t err = {0};
    helio_pool_t pool = {.name = HELIO_TEXT("main"), .nodes = 1};
    assert_int_equal(helio_gpu_inventory_fill(&inventory, arena, 1, &pool, &err), HELIO_OK);
    assert_true(helio_text_is(pool.gpu, "H100/1g.10gb"));
    assert_int_equal(pool.sharing, HELIO_SHARING_MIG);
    assert_int_equal(pool.gpus_per_node, 2);
    pool.gpu = HELIO_TEXT("H100");
    assert_int_equal(helio_gpu_inventory_fill(&inventory, arena, 1, &pool, &err), HELIO_INVALID);
    assert_non_null(strstr(err.text, "but the GPUs of this machine are H100/1g.10gb"));
    helio_arena_destroy(&arena);
    helio_nvml_destroy(&nvml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nvml__counters_and_names_come_in_the_stated_units, clean),
        cmocka_unit_test_setup(nvml__figures_that_a_model_lacks_are_negative, clean),
        cmocka_unit_test_setup(nvml__without_a_driver_there_are_no_gpus_and_a_reason, clean),
        cmocka_unit_test_setup(nvml__a_silent_gpu_keeps_its_number_and_is_not_offered, clean),
        cmocka_unit_test_setup(nvml__slices_of_a_gpu_in_mig_mode_are_listed_with_their_profiles, clean),
        cmocka_unit_test_setup(inventory__of_slices_alone_fills_a_pool_that_says_nothing, clean),
        cmocka_unit_test_setup(inventory__completes_a_pool_and_refuses_contradictions, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
