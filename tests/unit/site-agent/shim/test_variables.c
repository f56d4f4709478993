/*  Every variable of a job has a meaning, and docs/reference/environment.md shows them all. HELIO_GOLDEN_WRITE=1 writes
 *  the page. That jobs find no others is held where jobs run: test_local.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "site-agent/shim/variables.h"
#include "tests/support/golden.h"

static void variables__all_have_a_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < HELIO_VARIABLE_COUNT; i++) {
        const helio_variable_doc_t *row = &helio_variables[i];
        size_t size = strlen(row->meaning);
        if (!size || row->meaning[size - 1] != '.' || strchr(row->meaning, '|') || strchr(row->when, '|'))
            fail_msg("%s: '%s'", row->name, row->meaning);
        assert_ptr_equal(helio_variable_find(helio_text_of(row->name)), row); /* no name twice */
    }
}

static void variables__of_a_prefix_are_found_by_it(void **state)
{
    (void)state;
    assert_int_equal(helio_variable_find(HELIO_TEXT("SLURM_TASK_PID"))->kind, HELIO_VARIABLE_PASSED);
    assert_int_equal(helio_variable_find(HELIO_TEXT("SLURM_JOB_NAME"))->kind, HELIO_VARIABLE_BATCH);
    assert_int_equal(helio_variable_find(HELIO_TEXT("SLURM_EXPORT_ENV"))->kind, HELIO_VARIABLE_DROPPED);
    assert_null(helio_variable_find(HELIO_TEXT("SLURM")));
    assert_null(helio_variable_find(HELIO_TEXT("OMP_NUM_THREADS")));
}

static void variables__set_by_heliostat_cannot_be_set_by_the_job_file(void **state)
{
    (void)state;
    assert_true(helio_variable_is_ours(HELIO_TEXT("HELIO_EPOCH")));
    assert_true(helio_variable_is_ours(HELIO_TEXT("HELIO_OF_A_LATER_RELEASE")));
    assert_true(helio_variable_is_ours(HELIO_TEXT("CUDA_VISIBLE_DEVICES")));
    assert_false(helio_variable_is_ours(HELIO_TEXT("PATH")));
    assert_false(helio_variable_is_ours(HELIO_TEXT("HELIO")));
}

static void variables__page_is_that_of_the_table(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t page = {0};
    helio_variables_page(&page);
    golden_check("docs/reference/environment.md", helio_buffer_view(&page));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(variables__all_have_a_meaning),
                                       cmocka_unit_test(variables__of_a_prefix_are_found_by_it),
                                       cmocka_unit_test(variables__set_by_heliostat_cannot_be_set_by_the_job_file),
                                       cmocka_unit_test(variables__page_is_that_of_the_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
