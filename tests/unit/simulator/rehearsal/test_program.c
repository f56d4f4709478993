/*  test_program.c -- the command line of a rehearsal, and how a difference is printed. */
#include "tests/unit/simulator/rehearsal/rehearsal_testing.h"

#include "simulator/rehearsal/program.h"
#include "tests/support/folder.h"

static char folder[64], path[96];
static char out[65536], said[4096];

static int begin_folder(void **state)
{
    return begin(state) == 0 && folder_make(folder, sizeof folder, "helio-rehearsal") ? 0 : -1;
}

static int end_folder(void **state)
{
    (void)end(state);
    return folder_remove(folder);
}

static void keep(helio_text_t taken)
{
    (void)snprintf(path, sizeof path, "%s/snapshot", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(taken.data, 1, taken.size, file), taken.size);
    assert_int_equal(fclose(file), 0);
}

/*  Up to eight words behind "rehearse". */
static int run_words(const char *const *words, uint32_t count)
{
    char *argv[10] = {(char *)(uintptr_t) "rehearse"};
    for (uint32_t i = 0; i < count; i++)
        argv[i + 1] = (char *)(uintptr_t)words[i];
    memset(out, 0, sizeof out);
    memset(said, 0, sizeof said);
    FILE *to = fmemopen(out, sizeof out - 1, "w"), *err_to = fmemopen(said, sizeof said - 1, "w");
    int code = reh_program((int)count + 1, argv, to, err_to);
    (void)fclose(to);
    (void)fclose(err_to);
    return code;
}
#define RUN(...) \
    run_words((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void assert_says(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("'%s' is not in: %s", words, text);
}

static void rehearse__prints_jobs_reasons_and_accounts(void **state)
{
    (void)state;
    add_site("north", 1, 0);
    (void)add_job("acme", (job_ask_t){.gpus = 8, .hours = 1, .runs_at = "north"});
    (void)add_job("globex", (job_ask_t){.gpus = 8, .hours = 1, .deadline_ms = NOON + 5 * HOUR});
    keep(snapshot());
    assert_int_equal(RUN(path, "--change", "drain=north", "--for", "6h"), 0);
    assert_says(out, "misses its deadline  >6h00m, not 1h00m  -, not north  -, not 01-05 14:00Z  01-05 17:00Z\n");
    assert_says(out, "globex  1     +1    +40.00");
    assert_says(out, "Not over at 01-05 18:00Z: 1 of 2 jobs, and 0 without the change.");
    assert_int_equal(RUN(path, "--change", "price=north:1", "--for", "6h"), 0);
    assert_says(out, "No job is affected; 2 were rehearsed until ");
    assert_int_equal(RUN(path, "--change", "drain=north", "-o", "json", "--for", "6h"), 0);
    assert_says(out, "\"changes\": [\"drain=north\"]");
    assert_says(out, "\"effects\": [\"misses its deadline\", \"does not start\", \"waits longer\"]");
}

/*  Each job of the table that is not over is counted below it. */
static void rehearse__says_which_jobs_still_run_at_the_end(void **state)
{
    (void)state;
    add_site("north", 1, 0);
    (void)add_job("acme", (job_ask_t){.gpus = 8, .hours = 5, .runs_at = "north"});
    keep(snapshot());
    assert_int_equal(RUN(path, "--change", "down=north:2h", "--for", "6h"), 0);
    assert_says(out, "\n1 still runs at the end\n");
}

static void rehearse__names_what_is_wrong(void **state)
{
    (void)state;
    add_site("north", 1, 0);
    keep(snapshot());
    assert_int_equal(RUN("--change", "down=north"), 2);
    assert_says(said, "the file of a snapshot is needed");
    assert_int_equal(RUN(path), 2);
    assert_says(said, "no change is given");
    assert_int_equal(RUN(path, "--change", "north"), 2);
    assert_says(said, "'north' is no change");
    assert_int_equal(RUN(path, "--change", "down=north", "--for", "61d"), 2);
    assert_says(said, "--for 61d");
    assert_int_equal(RUN(path, "--change", "down=nowhere"), 3);
    assert_says(said, "there is no site 'nowhere'\n");
    assert_int_equal(RUN(path, "--change", "drain=nroth"), 3);
    assert_says(said, "there is no site 'nroth'; did you mean 'north'?\n");
    assert_int_equal(RUN(path, "--change", "goal=acne:green"), 3);
    assert_says(said, "there is no tenant 'acne'; did you mean 'acme'?\n");
    assert_int_equal(RUN(path, "--change", "quota=nobody:4"), 3);
    assert_int_equal(RUN(path, "--change", "nodes=north/a100:4"), 3);
    assert_int_equal(RUN("/nowhere", "--change", "down=north"), 1);
    assert_says(said, "/nowhere: No such file");
    keep(HELIO_TEXT("something else"));
    assert_int_equal(RUN(path, "--change", "down=north"), 1);
    assert_says(said, "no snapshot of a broker");
    assert_int_equal(RUN("--help"), 0);
    assert_says(out, "nodes=SITE/POOL:N");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rehearse__prints_jobs_reasons_and_accounts, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(rehearse__says_which_jobs_still_run_at_the_end, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(rehearse__names_what_is_wrong, begin_folder, end_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
