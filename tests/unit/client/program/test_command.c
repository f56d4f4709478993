/*  The command table holds together, and what comes from it (help, manual page, completion) names all of it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/commands/commands.h"
#include "client/help/help.h"
#include "client/transport/response.h"
#include "tests/support/golden.h"
#include "tests/unit/client/program/run_client.h"

/*  Runs a command line without an environment. *ret_* are the caller's to free. */
static int run(const char *const *words, char **ret_out, char **ret_err)
{
    char *environment[] = {NULL};
    return run_client(words, "", environment, NO_PRESSES, ret_out, ret_err);
}

static void commands__are_complete_and_each_is_found(void **state)
{
    (void)state;
    assert_true(helio_commands.count > 20);
    for (size_t i = 0; i < helio_commands.count; i++) {
        const helio_command_t *command = &helio_commands.items[i];
        char first[32], second[32] = "";
        int words = sscanf(command->name, "%31s %31s", first, second);
        const char *const argv[] = {first, second};
        uint32_t taken = 0;
        assert_ptr_equal(helio_command_find(&helio_commands, argv, (uint32_t)words, &taken), command);
        assert_int_equal(taken, words);
        assert_non_null(command->handler);
        assert_true(command->least <= command->most);
        bool needs_option = strncmp(command->synopsis, "--", 2) == 0;
        assert_int_equal(command->most > 0 || needs_option, command->synopsis[0] != '\0');
        assert_true(command->summary[0] >= 'A' && command->summary[0] <= 'Z');
        assert_true(command->summary[strlen(command->summary) - 1] != '.');
        assert_int_equal(command->options & HELIO_OPTIONS_EVERYWHERE, 0);
        if (command->example[0])
            assert_non_null(strstr(command->example, command->name));
    }
}

static void commands__that_do_not_exist_are_not_found(void **state)
{
    (void)state;
    static const char *const absent[] = {"simulat", "stimulate"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        char *out, *err;
        uint32_t taken;
        assert_null(helio_command_find(&helio_commands, &absent[i], 1, &taken));
        assert_int_equal(run(WORDS(absent[i]), &out, &err), HELIO_EXIT_USAGE);
        free(out);
        free(err);
    }
}

static void options__have_unique_names_and_letters_and_are_used(void **state)
{
    (void)state;
    helio_options_t used = HELIO_OPTIONS_EVERYWHERE | HELIO_OPTION(VERSION);
    for (size_t i = 0; i < helio_commands.count; i++)
        used |= helio_commands.items[i].options;
    for (uint32_t a = 0; a < HELIO_OPTION_COUNT; a++) {
        assert_true((used & HELIO_OPTION_BIT(a)) != 0);
        for (uint32_t b = 0; b < a; b++) {
            const helio_option_t *one = &helio_client_options.items[a], *other = &helio_client_options.items[b];
            assert_string_not_equal(one->name, other->name);
            assert_true(!one->letter || one->letter != other->letter);
        }
    }
}

static void help__manual_and_completion_name_every_command_and_option(void **state)
{
    (void)state;
    helio_buffer_t overview = {0}, roff = {0}, scripts[3] = {{0}, {0}, {0}};
    static const char *const shells[] = {"bash", "zsh", "fish"};
    helio_help_overview(&helio_commands, &overview);
    helio_help_roff(&helio_commands, &roff);
    for (size_t s = 0; s < 3; s++)
        assert_true(helio_completion(&helio_commands, shells[s], &scripts[s]));
    for (size_t i = 0; i < helio_commands.count; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "\n  %s ", helio_commands.items[i].name);
        assert_non_null(strstr(overview.data, line));
        (void)snprintf(line, sizeof line, ".SS helio %s ", helio_commands.items[i].name);
        assert_non_null(strstr(roff.data, line));
        (void)snprintf(line, sizeof line, "'%s')", helio_commands.items[i].name);
        assert_non_null(strstr(scripts[0].data, line));
        assert_non_null(strstr(scripts[1].data, line));
        assert_non_null(strstr(scripts[2].data, strrchr(helio_commands.items[i].name, ' ')
                                                    ? strrchr(helio_commands.items[i].name, ' ')
                                                    : helio_commands.items[i].name));
    }
    assert_non_null(strstr(roff.data, ".B 125\n"));
    assert_null(strstr(roff.data, "\n..")); /* would end a macro */
    for (size_t i = 0; i < roff.size; i++)
        assert_true((unsigned char)roff.data[i] < 0x80);
    helio_buffer_clear(&overview);
    helio_buffer_clear(&roff);
    for (size_t s = 0; s < 3; s++)
        helio_buffer_clear(&scripts[s]);
}

static void help__the_reference_page_is_that_of_the_table(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t page = {0};
    helio_help_page(&helio_commands, &page);
    golden_check("docs/reference/helio.md", helio_buffer_view(&page));
}

/*  `helio completion bash | head -1`: no message, and the code that a shell gives for it. */
static void output__whose_reader_has_left_is_no_fault(void **state)
{
    (void)state;
    const char *const commands[] = {"completion", "help"};
    for (size_t i = 0; i < 2; i++) {
        char *said,
            *none[] = {NULL},
            *argv[] = {(char *)(uintptr_t) "helio", (char *)(uintptr_t)commands[i], (char *)(uintptr_t) "bash", NULL};
        size_t size;
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        (void)close(ends[0]);
        FILE *out = fdopen(ends[1], "w"), *err = open_memstream(&said, &size);
        helio_client_io_t io = {.in = stdin, .out = out, .err = err, .environment = none, .interrupt_fd = -1};
        assert_int_equal(helio_client_main(i ? 2 : 3, argv, &io), HELIO_EXIT_UNREAD);
        (void)fclose(out);
        (void)fclose(err);
        assert_string_equal(said, "");
        free(said);
    }
}

/*  A full disk is one. */
static void output__that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    char *said, *none[] = {NULL}, *argv[] = {(char *)(uintptr_t) "helio", (char *)(uintptr_t) "help", NULL};
    size_t size;
    FILE *out = fopen("/dev/full", "w"), *err = open_memstream(&said, &size);
    helio_client_io_t io = {.in = stdin, .out = out, .err = err, .environment = none, .interrupt_fd = -1};
    assert_int_equal(helio_client_main(2, argv, &io), HELIO_EXIT_OWN);
    (void)fclose(out);
    (void)fclose(err);
    assert_string_equal(said, "helio: standard output: No space left on device\n");
    free(said);
}

static void help__of_long_synopses_begins_on_a_line_of_its_own(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t overview = {0};
    helio_help_overview(&helio_commands, &overview);
    assert_non_null(strstr(overview.data, "\n  show ID…                 Show jobs and their history\n"));
    assert_non_null(strstr(overview.data, "\n  attest SITE --dead --reason WHY\n"
                                          "                           Declare that nothing runs at"));
}

static void completion__bash_script_is_valid_syntax(void **state)
{
    (void)state;
    char path[] = "/tmp/helio-completion-XXXXXX";
    helio_buffer_t script = {0};
    assert_true(helio_completion(&helio_commands, "bash", &script));
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, script.data, script.size) == (ssize_t)script.size);
    close(fd);
    char command[64];
    (void)snprintf(command, sizeof command, "bash -n %s", path);
    FILE *shell = (popen)(command, "r");
    assert_non_null(shell);
    assert_int_equal(pclose(shell), 0);
    unlink(path);
    helio_buffer_clear(&script);
}

static const struct {
    const char *words[6];
    int code;
    const char *out; /* a part; NULL = empty */
    const char *err;
} lines[] = {
    {{"version"}, 0, "helio " HELIO_PROGRAM_VERSION, NULL},
    {{"--version"}, 0, "helio " HELIO_PROGRAM_VERSION, NULL},
    {{"help"}, 0, "usage: helio COMMAND", NULL},
    {{"--help"}, 0, "usage: helio COMMAND", NULL},
    {{"help", "wait"}, 0, "usage: helio wait ID…", NULL},
    {{"wait", "-h"}, 0, "usage: helio wait ID…", NULL},
    {{"help", "token", "add"}, 0, "--role ROLE", NULL},
    {{"help", "token"}, 0, "token revoke", NULL},
    {{"help", "queues schedule"}, 0, "usage: helio queues schedule", NULL},
    {{"help", "queues schedul"}, 2, NULL, "unknown command 'queues schedul'\nhelp: did you mean 'queues schedule'?"},
    {{"help", "queues", "schedul"}, 2, NULL, "did you mean 'queues schedule'?"},
    {{"help", "ls", "extra"}, 2, NULL, "unknown command 'ls extra'"},
    {{"help", "token", "ad"}, 2, NULL, "did you mean 'token add'?"},
    {{"help", "token add"}, 0, "--role ROLE", NULL},
    {{"help", "token add extra"}, 2, NULL, "unknown command"},
    {{"help", ""}, 2, NULL, "unknown command"},
    {{"help", "--man"}, 0, ".TH HELIO 1", NULL},
    {{NULL}, 2, NULL, "usage: helio COMMAND"},
    {{"token"}, 2, NULL, "token revoke"},
    {{"submti"}, 2, NULL, "did you mean `helio submit`?"},
    {{"sinfo"}, 2, NULL, "did you mean `helio sites`?"},
    {{"kill"}, 2, NULL, "did you mean `helio cancel`?"},
    {{"xyzzy"}, 2, NULL, "`helio help` lists them"},
    {{"ls", "--stat", "x"}, 2, NULL, "did you mean '--state'?"},
    {{"ls", "--quee=x"}, 2, NULL, "did you mean '--queue'?"},
    {{"ls", "-Z"}, 2, NULL, "unknown option '-Z'"},
    {{"submit", "--dry-run", "job.yaml"}, 2, NULL, "does not take --dry-run; `helio plan` is the dry run"},
    {{"submit", "--test-only=yes"}, 2, NULL, "`helio plan` is the dry run"},
    {{"ls", "--json"}, 2, NULL, "`-o json` prints data as JSON"},
    {{"ls", "--state"}, 2, NULL, "--state needs a value"},
    {{"ls", "--quiet=1"}, 2, NULL, "--quiet takes no value"},
    {{"ls", "-o", "xml"}, 2, NULL, "--output takes one of: table wide json"},
    {{"ls", "-o", ""}, 2, NULL, "--output takes one of"},
    {{"ls", "--dead"}, 2, NULL, "`helio ls` does not take --dead"},
    {{"ls", "extra"}, 2, NULL, "unexpected argument 'extra'"},
    {{"show"}, 2, NULL, "usage: helio show ID…"},
    {{"show"}, 2, NULL, "`helio show` needs ID…"},
    {{"ls"}, 2, NULL, "no broker is set"},
    {{"completion", "tcsh"}, 2, NULL, "bash, zsh or fish"},
    {{"keys", "new", "x"}, 2, NULL, "did you mean `helio keys add SITE KEY`?"},
    {{"keys", "revok", "x"},
     2,
     NULL,
     "unknown command 'keys revok'\nhelp: did you mean `helio keys revoke SITE [KEY]`?"},
    {{"keys", "list"}, 2, NULL, "did you mean `helio keys ls`?"},
    {{"data", "ls"}, 2, NULL, "did you mean `helio data list`?"},
    {{"keys", "delete"}, 2, NULL, "did you mean `helio keys revoke SITE [KEY]`?"},
    {{"keys", "xyzzy"}, 2, NULL, "usage: helio keys"},
    {{"keys"}, 2, NULL, "usage: helio keys"},
    {{"keys", "--help"}, 0, "keys revoke SITE [KEY]", NULL},
    {{"token", "-h"}, 0, "usage: helio token …", NULL},
    {{"tenants", "st"}, 2, NULL, "unknown command 'tenants st'\nhelp: did you mean `helio tenants set TENANT`?"},
    {{"tenants", "xyzzy"}, 2, NULL, "unexpected argument 'xyzzy'"},
    {{"queues", "shedule", "batch"}, 2, NULL, "did you mean `helio queues schedule QUEUE [HOURS]`?"},
    {{"quota", "st", "acme"}, 2, NULL, "did you mean `helio quota set TENANT`?"},
    {{"audit", "anchr"}, 2, NULL, "did you mean `helio audit anchor`?"},
    {{"ls", "-o", "jsn"}, 2, NULL, "not 'jsn'\nhelp: did you mean 'json'?"},
    {{"--", "-x"}, 2, NULL, "unknown command '-x'"},
};

static void commands__wrong_command_lines_name_the_error_and_the_remedy(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char *out, *err;
        int code = run(lines[i].words, &out, &err);
        bool good = code == lines[i].code && (lines[i].out ? strstr(out, lines[i].out) != NULL : !out[0]) &&
                    (lines[i].err ? strstr(err, lines[i].err) != NULL : !err[0]);
        if (!good)
            fail_msg("helio %s %s: %d\n%s\n%s", lines[i].words[0], lines[i].words[0] ? lines[i].words[1] : "", code,
                     out, err);
        free(out);
        free(err);
    }
}

static void options__can_stand_anywhere_and_the_last_counts(void **state)
{
    (void)state;
    char *argv[] = {(char *)(uintptr_t) "helio", (char *)(uintptr_t) "-qo",       (char *)(uintptr_t) "json",
                    (char *)(uintptr_t) "ls",    (char *)(uintptr_t) "--limit=5", (char *)(uintptr_t) "-l7",
                    (char *)(uintptr_t) "-",     (char *)(uintptr_t) "--",        (char *)(uintptr_t) "-o"};
    helio_arena_t *arena = helio_arena_new();
    helio_command_line_t arguments;
    helio_error_t err;
    assert_int_equal(helio_client_options_parse(9, argv, NULL, arena, &arguments, &err), HELIO_OK);
    assert_string_equal(helio_command_line_value(&arguments, HELIO_OPTION_OUTPUT), "json");
    assert_string_equal(helio_command_line_value(&arguments, HELIO_OPTION_LIMIT), "7");
    assert_non_null(helio_command_line_value(&arguments, HELIO_OPTION_QUIET));
    assert_int_equal(arguments.word_count, 3);
    assert_string_equal(arguments.words[1], "-");
    assert_string_equal(arguments.words[2], "-o");
    helio_arena_destroy(&arena);
}

static void exit_codes__have_their_documented_meaning(void **state)
{
    (void)state;
    static const struct {
        long status;
        int code;
    } statuses[] = {{200, 0}, {201, 0}, {202, 0}, {204, 0}, {400, 2}, {401, 4}, {403, 4}, {404, 3}, {409, 6},
                    {413, 2}, {422, 5}, {429, 1}, {500, 1}, {502, 7}, {503, 7}, {504, 8}, {302, 1}, {405, 1}};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        assert_int_equal(helio_response_exit(statuses[i].status), statuses[i].code);
    static const struct {
        const char *state;
        int reported, code;
    } jobs[] = {{"succeeded", 0, 0}, {"failed", 3, 3},      {"failed", 0, 1},       {"failed", -1, 1},
                {"failed", 700, 1},  {"timeout", 124, 124}, {"cancelled", -1, 130}, {"lost", -1, 125}};
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        assert_int_equal(helio_exit_of_job(jobs[i].state, jobs[i].reported), jobs[i].code);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands__are_complete_and_each_is_found),
        cmocka_unit_test(commands__that_do_not_exist_are_not_found),
        cmocka_unit_test(options__have_unique_names_and_letters_and_are_used),
        cmocka_unit_test(help__manual_and_completion_name_every_command_and_option),
        cmocka_unit_test(help__the_reference_page_is_that_of_the_table),
        cmocka_unit_test(output__whose_reader_has_left_is_no_fault),
        cmocka_unit_test(output__that_cannot_be_written_is_an_error),
        cmocka_unit_test(help__of_long_synopses_begins_on_a_line_of_its_own),
        cmocka_unit_test(completion__bash_script_is_valid_syntax),
        cmocka_unit_test(commands__wrong_command_lines_name_the_error_and_the_remedy),
        cmocka_unit_test(options__can_stand_anywhere_and_the_last_counts),
        cmocka_unit_test(exit_codes__have_their_documented_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
