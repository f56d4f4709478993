/*  Power by GPU model. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "federation/energy/power.h"
#include "tests/support/golden.h"

static void power__is_found_by_the_pools_name_of_the_gpu(void **state)
{
    (void)state;
    static const struct {
        const char *gpu, *model;
    } cases[] = {{"H100", "H100"},     {"h100", "H100"},
                 {"H100-SXM", "H100"}, {"a100_80gb", "A100"},
                 {"L4", "L4"},         {"H100/1g.10gb", "H100"},
                 {"L40", "L40"},       {"A10", "A10"},
                 {"A10G", "A10G"},     {"H1000", NULL},
                 {"A100X", NULL},      {"gtx-h100", NULL},
                 {"", NULL},           {"H10", NULL},
                 {"unheard-of", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const helio_power_facts_t *facts = helio_power_of(helio_text_of(cases[i].gpu));
        if (!facts != !cases[i].model || (facts && !helio_text_is(helio_text_of(facts->model), cases[i].model)))
            fail_msg("%s: %s", cases[i].gpu, facts ? facts->model : "nothing");
    }
}

static void power__every_row_is_within_its_boards_power(void **state)
{
    (void)state;
    uint32_t rows = 0;
    for (const helio_power_facts_t *row; (row = helio_power_row(rows)); rows++) {
        double full_w = row->base_w + row->slope_w;
        if (!(row->idle_w > 0 && row->idle_w < row->base_w && full_w > 0.7 * row->board_w &&
              full_w <= 1.15 * row->board_w))
            fail_msg("%s: idle %g, base %g, full %g of %g W", row->model, row->idle_w, row->base_w, full_w,
                     row->board_w);
        assert_ptr_equal(helio_power_of(helio_text_of(row->model)), row); /* each name once */
    }
    assert_true(rows >= 8);
}

static void power__fills_only_pools_without_power(void **state)
{
    (void)state;
    helio_pool_t pool = {.gpu = HELIO_TEXT("A100")};
    assert_true(helio_power_fill(&pool));
    assert_true(pool.idle_w == 48 && pool.base_w == 86 && pool.slope_w == 243 && pool.host_w == 100);
    helio_pool_t own = {.gpu = HELIO_TEXT("A100"), .host_w = 1};
    assert_false(helio_power_fill(&own));
    assert_true(own.base_w == 0 && own.host_w == 1);
    helio_pool_t unknown = {.gpu = HELIO_TEXT("X9")}, cpus = {0};
    assert_false(helio_power_fill(&unknown) || helio_power_fill(&cpus));
    assert_true(unknown.base_w == 0);
}

/*  What a new model draws is not known, and nothing is ever free of energy for that reason. */
static void power__of_an_unknown_model_is_the_highest_of_the_table(void **state)
{
    (void)state;
    helio_pool_t pool = {.gpu = HELIO_TEXT("B300"), .gpus_per_node = 8};
    double most_w = 0;
    for (uint32_t i = 0; helio_power_row(i); i++) {
        const helio_power_facts_t *row = helio_power_row(i);
        double full_w = row->host_w + row->base_w + row->slope_w;
        most_w = full_w > most_w ? full_w : most_w;
    }
    assert_true(helio_pool_power_is_assumed(&pool));
    assert_true(helio_pool_watts(&pool, 1) == most_w && most_w > 0);
    helio_pool_t slice = {.gpu = HELIO_TEXT("B300/1g.30gb"), .gpus_per_node = 7};
    assert_true(helio_pool_watts(&slice, 1) == most_w / 7);
    pool.slope_w = 1;
    assert_false(helio_pool_power_is_assumed(&pool));
    assert_true(helio_pool_watts(&pool, 0.5) == 0.5);
    helio_pool_t known = {.gpu = HELIO_TEXT("A100"), .gpus_per_node = 8}, cpus = {0};
    assert_false(helio_pool_power_is_assumed(&known)); /* from an agent that did not look it up */
    assert_true(helio_pool_watts(&known, 1) == 100 + 86 + 243);
    assert_false(helio_pool_power_is_assumed(&cpus));
    assert_true(helio_pool_watts(&cpus, 1) == 0);
}

static void power__page_is_that_of_the_table(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t page = {0};
    helio_power_page(&page);
    golden_check("docs/reference/power.md", helio_buffer_view(&page));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power__is_found_by_the_pools_name_of_the_gpu),
        cmocka_unit_test(power__every_row_is_within_its_boards_power),
        cmocka_unit_test(power__fills_only_pools_without_power),
        cmocka_unit_test(power__of_an_unknown_model_is_the_highest_of_the_table),
        cmocka_unit_test(power__page_is_that_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
