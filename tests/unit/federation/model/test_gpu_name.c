/*  test_gpu_name.c -- the model and the memory in the driver's name of a GPU. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "federation/model/gpu_name.h"

static const struct {
    const char *name, *model;
    uint64_t gib;
    bool product;
} rows[] = {{"NVIDIA A100-SXM4-80GB", "A100", 80, true},
            {"NVIDIA H100 80GB HBM3", "H100", 80, true},
            {"NVIDIA H200", "H200", 0, true},
            {"Tesla V100-SXM2-32GB", "V100", 32, true},
            {"NVIDIA GeForce RTX 4090", "RTX4090", 0, true},
            {"NVIDIA RTX A6000", "RTXA6000", 0, true},
            {"NVIDIA L40S", "L40S", 0, true},
            {"NVIDIA GH200 480GB", "GH200", 480, true},
            {"Quadro GV100", "QuadroGV100", 0, false},
            {"NVIDIA TITAN RTX", "TITANRTX", 0, true},
            {"", "", 0, false},
            {"A-name-that-is-longer", "A", 0, false},
            {"Anameofmorethanthirtyonecharacters!", "Anameofmorethanthirtyonecharact", 0, false},
            /* as Slurm's AutoDetect writes them */
            {"nvidia_a100-sxm4-80gb", "a100", 80, true},
            {"nvidia_h100_80gb_hbm3", "h100", 80, true},
            {"tesla_v100-sxm2-32gb", "v100", 32, true},
            {"nvidia_geforce_rtx_2080_ti", "rtx2080", 0, true},
            {"nvidia_rtx_a6000", "rtxa6000", 0, true},
            {"amd_instinct_mi210", "mi210", 0, true},
            {"nvidia_1000000gb", "1000000gb", 0, true},
            /* models, not products */
            {"h100", "h100", 0, false},
            {"a100_80gb", "a100", 0, false},
            {"rtx_2080-ti", "rtx2080", 0, false},
            {"nvidia", "nvidia", 0, false},
            {"rtx", "rtx", 0, false}};

static void gpu_name__models_have_the_names_of_job_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char model[HELIO_GPU_MODEL_SIZE];
        helio_text_t name = helio_text_of(rows[i].name);
        helio_gpu_model_of(name, model);
        assert_string_equal(model, rows[i].model);
        assert_int_equal(helio_gpu_is_product(name), rows[i].product);
        assert_true(helio_gpu_product_memory(name) == rows[i].gib << 30);
    }
}

static void gpu_name__a_product_belongs_to_one_model(void **state)
{
    (void)state;
    assert_true(helio_gpu_is_product_of(HELIO_TEXT("nvidia_a100-sxm4-80gb"), HELIO_TEXT("A100")));
    assert_false(helio_gpu_is_product_of(HELIO_TEXT("nvidia_a100-sxm4-80gb"), HELIO_TEXT("A10")));
    assert_false(helio_gpu_is_product_of(HELIO_TEXT("nvidia_a10"), HELIO_TEXT("A100")));
    assert_false(helio_gpu_is_product_of(HELIO_TEXT("a100"), HELIO_TEXT("A100"))); /* a model itself */
    assert_false(helio_gpu_is_product_of(HELIO_TEXT("nvidia_a100"), HELIO_TEXT("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_name__models_have_the_names_of_job_files),
        cmocka_unit_test(gpu_name__a_product_belongs_to_one_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
