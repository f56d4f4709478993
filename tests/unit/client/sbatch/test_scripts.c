/*  Whole scripts: those of tests/data/sbatch (its folder `elsewhere` has those that a plain cluster refuses),
 * hostile ones, and what reaches the shell. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>

#include "federation/base/rng.h"
#include "tests/support/golden.h"
#include "tests/unit/client/sbatch/sbatch_testing.h"

#define FOLDER HELIO_SOURCE_DIR "/tests/data/sbatch"
enum { SCRIPTS_MAX = 128, SCRIPTS_MIN = 16 };

static helio_text_t slurp(const char *path, helio_arena_t *arena)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    char piece[4096];
    size_t size;
    FILE *in = fopen(path, "rb");
    if (!in)
        return (helio_text_t){0};
    while ((size = fread(piece, 1, sizeof piece, in)) > 0)
        helio_buffer_append(&text, piece, size);
    (void)fclose(in);
    return helio_arena_text(arena, helio_buffer_view(&text));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static uint32_t list_scripts(const char *subfolder, const char **ret_names, uint32_t count, helio_arena_t *arena)
{
    DIR *folder = opendir(helio_arena_printf(arena, "%s/%s", FOLDER, subfolder).data);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) && count < SCRIPTS_MAX;) {
        size_t size = strlen(entry->d_name);
        if (size > 3 && strcmp(entry->d_name + size - 3, ".sh") == 0)
            ret_names[count++] = helio_arena_printf(arena, "%s%s", subfolder, entry->d_name).data;
    }
    (void)closedir(folder);
    qsort(ret_names, count, sizeof *ret_names, by_name);
    return count;
}

static void check_golden(const char *name, helio_text_t yaml, helio_arena_t *arena)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    golden_check(helio_arena_printf(arena, "tests/data/sbatch/expected/%.*s.yaml", (int)strlen(base) - 3, base).data,
                 yaml);
}

static void scripts__become_the_expected_job_files_and_run_unchanged(void **state)
{
    const char *names[SCRIPTS_MAX];
    uint32_t count = list_scripts("", names, 0, *state);
    assert_true(count >= SCRIPTS_MIN);
    count = list_scripts("elsewhere/", names, count, *state);
    for (uint32_t i = 0; i < count; i++) {
        helio_text_t script = slurp(helio_arena_printf(*state, "%s/%s", FOLDER, names[i]).data, *state);
        const char *const words[] = {names[i], NULL};
        conversion_t c = convert_text(script, words, NULL, *state);
        if (c.rc != HELIO_OK)
            fail_msg("%s:%u:%u %s", names[i], c.diagnostic.line, c.diagnostic.column, c.diagnostic.message);
        check_golden(names[i], c.job.yaml, *state);
        if (!helio_text_equal(c.spec.run, script))
            fail_msg("%s: the script does not come out as it went in", names[i]);
        assert_int_equal(c.spec.slurm.count > 0, true);
    }
}

/*  Whatever bytes a script has, they reach `run` as they are, or the script is refused. */
static void scripts__of_any_bytes_are_preserved(void **state)
{
    static const char *const bodies[] = {
        "echo\n",
        "echo",
        "echo\n\n\n",
        "   leading blanks\n  less\n",
        "\ttab\n",
        "---\nrun: x\n...\n",
        "\xc3\xa9\xf0\x9f\x98\x80\n",
        "nel \xc2\x85 ls \xe2\x80\xa8 ps \xe2\x80\xa9 bom \xef\xbb\xbf\n",
        "bell \a esc \x1b[1m del \x7f\n",
        "cr \r in the middle\nand at the end\r\n",
        "trailing blanks  \n \n",
        "'\"\\${x} `y` %s & * ! | > @ # : - ? [ ] { }\n",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        helio_text_t script = helio_arena_printf(*state, "#!/bin/sh\n%s", bodies[i]);
        conversion_t c = convert_text(script, NULL, NULL, *state);
        if (c.rc != HELIO_OK || !helio_text_equal(c.spec.run, script))
            fail_msg("row %zu: %s\n%s", i, c.rc == HELIO_OK ? "changed" : c.diagnostic.message, bodies[i]);
    }
}

static void scripts__that_sbatch_refuses_are_refused(void **state)
{
    static const struct {
        const char *script;
        uint32_t size;
        const char *message;
    } rows[] = {
        {"", 0, "the script is empty"},
        {" \n\n", 3, "the script is empty"},
        {"echo\n", 5, "must begin with #!"},
        {"#!", 2, "must begin with #!"},
        {"#!/bin/sh\r\necho\r\n", 17, "DOS line ends"},
        {"#!/bin/sh\n\0\n", 12, "NUL"},
        {"#!/bin/sh\n# caf\xe9\n", 17, "not UTF-8"},
        {"#!/bin/sh\n\xc0\xaf\n", 13, "not UTF-8"},
        {"#!/bin/sh\n\xed\xa0\x80\n", 14, "not UTF-8"},
        {"#!/bin/sh\n\xf0\x9f", 12, "not UTF-8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        conversion_t c = convert_text((helio_text_t){rows[i].script, rows[i].size}, NULL, NULL, *state);
        if (c.rc != HELIO_INVALID || !strstr(c.diagnostic.message, rows[i].message))
            fail_msg("row %zu: rc %d %s", i, c.rc, c.diagnostic.message);
    }
    uint32_t size = HELIO_SBATCH_SCRIPT_MAX;
    char *big = helio_arena_alloc(*state, size + 2u, 1);
    memset(big, 'x', size + 1u);
    memcpy(big, "#!/bin/sh\n", 10);
    assert_int_equal(convert_text((helio_text_t){big, size}, NULL, NULL, *state).rc, HELIO_OK);
    assert_int_equal(convert_text((helio_text_t){big, size + 1}, NULL, NULL, *state).rc, HELIO_INVALID);
}

/*  What bash makes of `run`, through a file as an agent would. */
static char *shell(helio_text_t run, helio_arena_t *arena)
{
    char path[] = "/tmp/sbatch-run-XXXXXX", line[4200];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "wb");
    assert_int_equal(fwrite(run.data, 1, run.size, out), run.size);
    assert_int_equal(fclose(out), 0);
    (void)snprintf(line, sizeof line,
                   "cd /tmp && HELIO_OUTPUT_DIR=$(mktemp -d) && export HELIO_OUTPUT_DIR && chmod 700 %s "
                   "&& { head -c2 %s | grep -q '#!' && %s; rm -r $HELIO_OUTPUT_DIR; }",
                   path, path, path);
    FILE *in = popen(line, "r");
    assert_non_null(in);
    char piece[1024];
    size_t size;
    while ((size = fread(piece, 1, sizeof piece, in)) > 0)
        helio_buffer_append(&text, piece, size);
    assert_int_equal(pclose(in), 0);
    assert_int_equal(remove(path), 0);
    helio_arena_t *to = arena;
    return (char *)(uintptr_t)helio_arena_string(to, helio_buffer_view(&text));
}

static const char *const words[] = {"train.sh", "-n",     "two words", "it's", "$HOME `id`",
                                    "a\nb",     "\\back", "",          "*",    NULL};
static const char printed[] = "<-n><two words><it's><$HOME `id`><a\nb><\\back><><*>";

static void arguments__reach_a_shell_script_as_they_are(void **state)
{
    static const char *const scripts[] = {
        "#!/bin/bash\n#SBATCH -J x\n\nprintf '<%s>' \"$@\"\n",
        "#!/bin/sh\nprintf '<%s>' \"$@\"",
        "#!/usr/bin/env bash\nif true; then printf '<%s>' \"$@\"; fi\n",
        "#! /bin/bash -eu\nfunction f { printf '<%s>' \"$@\"; }; f \"$@\"\n",
    };
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        conversion_t c = convert_with(scripts[i], words, NULL, *state);
        assert_int_equal(c.rc, HELIO_OK);
        assert_string_equal(shell(c.spec.run, *state), printed);
    }
    conversion_t c = convert_with("#!/bin/bash\n# c\necho $LINENO\n", WORDS("train.sh", "x"), NULL, *state);
    assert_string_equal(shell(c.spec.run, *state), "3\n");
    c = convert_with("#!/bin/bash\n# no command\n", words, NULL, *state);
    assert_string_equal(shell(c.spec.run, *state), "");
}

static void arguments__reach_scripts_of_other_languages(void **state)
{
    static const char script[] = "#!/usr/bin/awk -f\n"
                                 "BEGIN { for (i = 1; i < ARGC; i++) printf \"<%s>\", ARGV[i]; HELIO_SCRIPT = 1\n"
                                 "  exit }";
    conversion_t c = convert_with(script, WORDS("train.sh", "two words", "it's"), NULL, *state);
    assert_int_equal(c.rc, HELIO_OK);
    assert_string_equal(shell(c.spec.run, *state), "<two words><it's>");
}

static void wrap__is_a_script_of_sh(void **state)
{
    conversion_t c = convert_text((helio_text_t){0}, WORDS("--wrap", "echo \"a  b\"; exit 0", "-n2"), NULL, *state);
    assert_int_equal(c.rc, HELIO_OK);
    assert_string_equal(c.head, "name: wrap\ncpus: 2\nslurm:\n  launch: batch\n  ntasks: 2\n  cpus-per-task: 1\n");
    assert_string_equal(shell(c.spec.run, *state), "a  b\n");
    c = convert_text((helio_text_t){0}, WORDS("--wrap=srun hostname"), NULL, *state);
    assert_true(c.job.pinned);
}

/*  Cut anywhere and changed anywhere, a script converts to a job file that is accepted, or is refused with a
 * place that is in it. */
static void scripts__that_are_damaged_do_no_harm(void **state)
{
    static const char whole[] = "#!/bin/bash -l\n"
                                "#SBATCH -J \"a b\" -N2-4 --gres=gpu:h100:8,gpu:h100:1 # c\n"
                                "#SBATCH --array=0-9:3%2,[1] --mem-per-cpu=1G -t 1-02:03:04 -d afterok:01k9x2m4q8r7\n"
                                "#SBATCH --signal=B:USR1@120 --begin=\"tomorrow 10:00\" --export=A,B='c,d' -o x/%j\n"
                                "#HELIO placement: {goal: green, sites: [\"!x\"], backends: [slurm]}\n"
                                "#HELIO env:\n#HELIO   A: \"\\u00e9\"\n\nset -e\nsrun x\n";
    helio_rng_t rng = {.state = 7};
    (void)state;
    for (uint32_t round = 0; round < 4000; round++) {
        helio_arena_t *arena = helio_arena_new();
        uint32_t size = (uint32_t)sizeof whole - 1;
        if (round < size)
            size = round;
        char *copy = malloc(size + 1u);
        assert_non_null(copy);
        memcpy(copy, whole, size);
        static const char odd[] = "\0\n\r\t\"'\\#:,-=@%[]{}~\x80\xff 09aZ";
        for (uint32_t i = 0; round >= sizeof whole && i < 1 + round % 5; i++)
            copy[helio_rng_below(&rng, size)] = odd[helio_rng_below(&rng, sizeof odd - 1)];
        conversion_t c = convert_text((helio_text_t){copy, size}, WORDS("train.sh", "a", "b'c"), NULL, arena);
        if (c.rc != HELIO_OK) {
            uint32_t lines = 1;
            for (uint32_t i = 0; i < size; i++)
                lines += copy[i] == '\n';
            if (!c.diagnostic.message[0] || c.diagnostic.line > lines)
                fail_msg("round %u, line %u of %u: '%s'\n%.*s", round, c.diagnostic.line, lines, c.diagnostic.message,
                         (int)size, copy);
        }
        free(copy);
        helio_arena_destroy(&arena);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(scripts__become_the_expected_job_files_and_run_unchanged),
        CASE(scripts__of_any_bytes_are_preserved),
        CASE(scripts__that_sbatch_refuses_are_refused),
        CASE(arguments__reach_a_shell_script_as_they_are),
        CASE(arguments__reach_scripts_of_other_languages),
        CASE(wrap__is_a_script_of_sh),
        CASE(scripts__that_are_damaged_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
