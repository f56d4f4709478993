/*  test_policies.c -- what becomes of every option of sbatch, by the table, in a script and in a variable; and that
 *  whatever is accepted is a job file. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "federation/base/rng.h"
#include "tests/unit/client/sbatch/sbatch_testing.h"

/*  "#SBATCH --name=1", or without the value where the option takes none. */
static const char *directive(const helio_sbatch_option_t *option, helio_arena_t *arena)
{
    return helio_arena_printf(arena, "#SBATCH --%s%s", option->name, option->argument == HELIO_SBATCH_YES ? "=1" : "")
        .data;
}

static const char pinning[] = "#HELIO placement: {backends: [slurm]}\n";

static conversion_t convert_option(const helio_sbatch_option_t *option, bool pinned, helio_arena_t *arena)
{
    return convert_lines(helio_arena_printf(arena, "%s%s", pinned ? pinning : "", directive(option, arena)).data,
                         arena);
}

/*  Whether the job file sends the option to Slurm. */
static bool is_sent(const conversion_t *c, const helio_sbatch_option_t *option)
{
    char key[80];
    (void)snprintf(key, sizeof key, "\n  %s: ", option->name);
    return strstr(c->head, key) != NULL;
}

#define fail_option(option, c)                                               \
    fail_msg("--%s, policy %d: %s%s", (option)->name, (int)(option)->policy, \
             (c).rc == HELIO_OK ? (c).head : (c).diagnostic.message, (c).rc == HELIO_OK ? "" : (c).diagnostic.hint)

static void options__refused_by_the_table_are_refused_by_name_and_with_a_way_out(void **state)
{
    uint32_t count = 0;
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT; id++) {
        const helio_sbatch_option_t *option = helio_sbatch_option(id);
        if (option->policy != HELIO_SBATCH_REFUSED)
            continue;
        count++;
        for (int pinned = 0; pinned < 2; pinned++) { /* a Slurm site would not take it either */
            conversion_t c = convert_option(option, pinned, *state);
            if (c.rc == HELIO_OK || !strstr(c.diagnostic.message, option->name) || !c.diagnostic.hint[0] ||
                c.diagnostic.line != (pinned ? 3 : 2))
                fail_option(option, c);
        }
    }
    assert_true(count > 5);
}

static void options__that_may_not_be_harmless_need_a_job_that_is_pinned(void **state)
{
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT; id++) {
        const helio_sbatch_option_t *option = helio_sbatch_option(id);
        if (option->policy != HELIO_SBATCH_PINNED)
            continue;
        conversion_t c = convert_option(option, false, *state);
        if (c.rc == HELIO_OK || !strstr(c.diagnostic.message, option->name) ||
            !strstr(c.diagnostic.hint, "backends: [slurm]"))
            fail_option(option, c);
        c = convert_option(option, true, *state);
        if (c.rc != HELIO_OK || !is_sent(&c, option))
            fail_option(option, c);
    }
}

static void options__that_only_slurm_has_pin_the_job_and_say_so(void **state)
{
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT; id++) {
        const helio_sbatch_option_t *option = helio_sbatch_option(id);
        if (option->policy != HELIO_SBATCH_NEEDED)
            continue;
        conversion_t c = convert_option(option, false, *state);
        if (c.rc != HELIO_OK || !c.job.pinned || !is_sent(&c, option) || !strstr(c.head, "backends: [slurm]") ||
            !has_note(&c, option->name))
            fail_option(option, c);
    }
}

static void options__for_a_clusters_administration_travel_and_pin_nothing(void **state)
{
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT; id++) {
        const helio_sbatch_option_t *option = helio_sbatch_option(id);
        if (option->policy != HELIO_SBATCH_PASSED)
            continue;
        conversion_t c = convert_option(option, false, *state);
        if (c.rc != HELIO_OK || c.job.pinned || !is_sent(&c, option))
            fail_option(option, c);
    }
}

static void options__without_effect_change_nothing_and_are_noted_unless_harmless(void **state)
{
    conversion_t plain = convert_lines("", *state);
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT; id++) {
        const helio_sbatch_option_t *option = helio_sbatch_option(id);
        if (option->policy != HELIO_SBATCH_IDLE && option->policy != HELIO_SBATCH_SILENT)
            continue;
        conversion_t c = convert_option(option, false, *state);
        bool noted = c.rc == HELIO_OK && c.job.note_count > plain.job.note_count;
        if (c.rc != HELIO_OK || strcmp(c.head, plain.head) != 0 || noted != (option->policy == HELIO_SBATCH_IDLE))
            fail_option(option, c);
    }
}

static void options__of_helio_itself_are_none_of_a_script(void **state)
{
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT; id++) {
        const helio_sbatch_option_t *option = helio_sbatch_option(id);
        if (option->policy != HELIO_SBATCH_CLIENT)
            continue;
        for (int pinned = 0; pinned < 2; pinned++) {
            conversion_t c = convert_option(option, pinned, *state);
            if (c.rc == HELIO_OK || !strstr(c.diagnostic.message, "is not an option of sbatch"))
                fail_option(option, c);
        }
    }
}

/*  The same job, wherever the option was given. */
static void variables__do_what_their_options_do(void **state)
{
    uint32_t count = 0;
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT; id++) {
        const helio_sbatch_option_t *option = helio_sbatch_option(id);
        if (!option->variable || option->policy == HELIO_SBATCH_TURNED || option->policy == HELIO_SBATCH_TOOL)
            continue;
        count++;
        bool takes = option->argument == HELIO_SBATCH_YES;
        const char *const environment[] = {helio_arena_printf(*state, "%s=%s", option->variable, takes ? "1" : "").data,
                                           NULL};
        helio_text_t script = helio_arena_printf(*state, "#!/bin/sh\n%strue\n", pinning);
        conversion_t from_variable = convert_with(script.data, NULL, environment, *state);
        conversion_t from_script = convert_option(option, true, *state);
        if (from_variable.rc != from_script.rc || strcmp(from_variable.head, from_script.head) != 0)
            fail_option(option, from_variable);
        if (from_variable.rc != HELIO_OK)
            assert_string_equal(from_variable.diagnostic.source_name, option->variable);
    }
    assert_true(count > 20);
}

/* ---- names ------------------------------------------------------------------------------------------------- */

/*  As getopt_long has it: a whole name is itself, a beginning is the only option that begins so. */
static void names__may_be_cut_to_what_only_one_option_begins_with(void **state)
{
    (void)state;
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT; id++) {
        const helio_sbatch_option_t *option = helio_sbatch_option(id);
        for (uint32_t size = 1; size <= strlen(option->name); size++) {
            helio_text_t begin = {option->name, size};
            uint32_t fits = 0, whole = HELIO_SBATCH_COUNT, only = HELIO_SBATCH_COUNT;
            for (uint32_t other = 0; other < HELIO_SBATCH_COUNT; other++) {
                const helio_sbatch_option_t *o = helio_sbatch_option(other);
                if (helio_text_is(begin, o->name))
                    whole = other;
                if (o->policy != HELIO_SBATCH_CLIENT && strncmp(o->name, option->name, size) == 0) {
                    fits++;
                    only = other;
                }
            }
            uint32_t expected = whole < HELIO_SBATCH_COUNT ? whole : fits == 1 ? only : HELIO_SBATCH_COUNT;
            bool ambiguous = false;
            if (helio_sbatch_option_named(begin, &ambiguous) != expected ||
                ambiguous != (expected == HELIO_SBATCH_COUNT && fits > 1))
                fail_msg("--%.*s", (int)size, option->name);
        }
    }
}

static void letters__stand_for_the_options_of_the_table(void **state)
{
    (void)state;
    for (int letter = 1; letter < 128; letter++) {
        uint32_t expected = HELIO_SBATCH_COUNT;
        for (uint32_t id = 0; id < HELIO_SBATCH_COUNT; id++)
            if (helio_sbatch_option(id)->letter == letter)
                expected = id;
        assert_int_equal(helio_sbatch_option_lettered((char)letter), expected);
    }
    assert_int_equal(helio_sbatch_option_lettered('\0'), HELIO_SBATCH_COUNT);
}

/* ---- whole scripts ----------------------------------------------------------------------------------------- */

static const char *const pieces[] = {
    "-J",         "'a b'",      "--mem=4G",     "--mem",      "0",         "-N2",    "-n",     "4",
    "--gres=gpu", "gpu:h100:8", "-G",           "8",          "-t",        "1-2:03", "-a",     "0-9%2",
    "-d",         "afterok:",   "01k9x2m4q8r7", "--comment=", "\"#\"",     "'\\''",  "\\",     "#x",
    "-p",         "a,b",        "--exclusive",  "--signal",   "B:USR1@60", "-o",     "%j.out", "/x/%a",
    "--begin",    "now+1hour",  "--export=ALL", "A='1,2'",    "--gpus=",   "any:2",  "é",      "\x01",
    "--nice",     "--nice=-5",  ": {}",         "- ~",        "|",         "*a",     "!x",     "%",
};
static const char *const helio_lines[] = {"",
                                          "#HELIO kind: eval\n",
                                          "#HELIO time: 2h\n",
                                          "#HELIO env: {A: 'x'}\n",
                                          "#HELIO placement: {backends: [slurm]}\n",
                                          "#HELIO slurm: {qos: a}\n"};

/*  convert_text reads the job file that came out, and fails the test if the broker would refuse it. */
static void scripts__give_a_job_file_that_the_broker_takes_or_an_error_in_the_script(void **state)
{
    uint32_t good = 0;
    for (uint64_t seed = 1; seed <= 2500; seed++) {
        helio_rng_t rng = {.state = seed};
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t lines = {0};
        helio_buffer_text(&lines, helio_lines[helio_rng_below(&rng, 6)]);
        for (uint64_t left = 1 + helio_rng_below(&rng, 3); left; left--) {
            helio_buffer_text(&lines, "#SBATCH ");
            for (uint64_t words = 1 + helio_rng_below(&rng, 4); words; words--)
                helio_buffer_printf(&lines, "%s%s", pieces[helio_rng_below(&rng, sizeof pieces / sizeof pieces[0])],
                                    helio_rng_below(&rng, 4) ? " " : "");
            helio_buffer_text(&lines, "\n");
        }
        conversion_t c = convert_lines(lines.data, *state);
        good += c.rc == HELIO_OK;
        if (c.rc == HELIO_OK)
            continue;
        if (!c.diagnostic.message[0] || c.diagnostic.line < 2 || c.diagnostic.line > 6 || !c.diagnostic.column)
            fail_msg("seed %llu: %s\n%u:%u %s", (unsigned long long)seed, lines.data, c.diagnostic.line,
                     c.diagnostic.column, c.diagnostic.message);
    }
    assert_in_range(good, 100, 2400); /* both ways are tested */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(options__refused_by_the_table_are_refused_by_name_and_with_a_way_out),
        CASE(options__that_may_not_be_harmless_need_a_job_that_is_pinned),
        CASE(options__that_only_slurm_has_pin_the_job_and_say_so),
        CASE(options__for_a_clusters_administration_travel_and_pin_nothing),
        CASE(options__without_effect_change_nothing_and_are_noted_unless_harmless),
        CASE(options__of_helio_itself_are_none_of_a_script),
        CASE(variables__do_what_their_options_do),
        CASE(names__may_be_cut_to_what_only_one_option_begins_with),
        CASE(letters__stand_for_the_options_of_the_table),
        CASE(scripts__give_a_job_file_that_the_broker_takes_or_an_error_in_the_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
