#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/backends/command.h"

typedef struct heard {
    uint32_t calls;
    helio_command_result_t result;
    char out[256], complaint[256];
    helio_commands_t *again; /* queue another one from the callback */
} heard_t;

static void on_done(void *arg, const helio_command_result_t *result)
{
    heard_t *heard = arg;
    heard->calls++;
    heard->result = *result;
    (void)helio_text_copy(result->out, heard->out, sizeof heard->out);
    (void)helio_text_copy(result->complaint, heard->complaint, sizeof heard->complaint);
    if (heard->again) {
        const char *argv[] = {"true", NULL};
        helio_command_t next = {.argv = argv, .timeout_ms = 60000, .max_bytes = 16, .done = on_done, .arg = heard};
        helio_commands_t *commands = heard->again;
        heard->again = NULL;
        assert_int_equal(helio_commands_run(commands, &next, false, NULL), HELIO_OK);
    }
}

static const char *const own_env[] = {"LC_ALL=C", NULL};

static helio_commands_t *make(uint32_t at_once, uint32_t queue_max)
{
    helio_commands_options_t options = {"/usr/bin:/bin", own_env, at_once, queue_max};
    helio_commands_t *commands = NULL;
    assert_int_equal(helio_commands_new(&options, &commands, NULL), HELIO_OK);
    return commands;
}

static helio_command_t shell(const char *const *argv, heard_t *heard)
{
    return (helio_command_t){.argv = argv, .timeout_ms = 60000, .max_bytes = 200, .done = on_done, .arg = heard};
}

static void turn(helio_commands_t *commands)
{
    struct pollfd fd = {.fd = helio_commands_fd(commands), .events = POLLIN};
    if (helio_commands_next_ms(commands) != 0)
        (void)poll(&fd, 1, 50);
    helio_commands_process(commands, helio_clock_boot_ms());
}

static void until(helio_commands_t *commands, const heard_t *heard, uint32_t calls)
{
    int64_t end_ms = helio_clock_boot_ms() + 30000;
    while (heard->calls < calls && helio_clock_boot_ms() < end_ms)
        turn(commands);
    assert_int_equal(heard->calls, calls);
}

static void run_shell(const char *script, helio_text_t input, uint64_t timeout_ms, heard_t *heard)
{
    helio_commands_t *commands = make(1, 4);
    const char *argv[] = {"sh", "-c", script, "sh", "a b", "*", NULL}, *env[] = {"MINE=1", NULL};
    helio_command_t command = shell(argv, heard);
    command.env = env;
    command.input = input;
    command.timeout_ms = timeout_ms;
    assert_int_equal(helio_commands_run(commands, &command, false, NULL), HELIO_OK);
    assert_int_equal(heard->calls, 0);
    until(commands, heard, 1);
    assert_int_equal(helio_commands_busy(commands), 0);
    helio_commands_destroy(&commands);
}

static void command__end_output_and_error_text_are_reported_once(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        const char *input;
        int exit_code;
        const char *out, *complaint;
    } cases[] = {
        {"exit 0", "", 0, "", ""},
        {"echo out; echo bad >&2; exit 3", "", 3, "out\n", "bad\n"},
        {"kill -SEGV $$", "", 128 + SIGSEGV, "", ""},
        {"echo \"$1|$2\"", "", 0, "a b|*\n", ""},
        {"cat", "text of ours", 0, "text of ours", ""},
        {"cat", "", 0, "", ""}, /* /dev/null, not our own input */
        {"env | grep -v -e ^PWD -e ^_ -e ^SHLVL -e ^OLDPWD | sort", "", 0, "LC_ALL=C\nMINE=1\nPATH=/usr/bin:/bin\n",
         ""},
        {"pwd; umask", "", 0, "/\n0022\n", ""},
        {"exec >&- 2>&-; exit 4", "", 4, "", ""}, /* its pipes close before it ends */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        heard_t heard = {0};
        run_shell(cases[i].script, helio_text_of(cases[i].input), 60000, &heard);
        assert_true(heard.result.spawned);
        assert_false(heard.result.timed_out || heard.result.truncated);
        assert_int_equal(heard.result.exit_code, cases[i].exit_code);
        assert_string_equal(heard.out, cases[i].out);
        assert_string_equal(heard.complaint, cases[i].complaint);
    }
}

static void command__blocked_and_ignored_signals_are_not_inherited(void **state)
{
    (void)state;
    sigset_t set, before;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, was;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &set, &before);
    (void)sigaction(SIGPIPE, &ignore, &was);
    heard_t heard = {0};
    run_shell("grep -E '^Sig(Blk|Ign)' /proc/self/status", (helio_text_t){0}, 60000, &heard);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)sigaction(SIGPIPE, &was, NULL);
    assert_string_equal(heard.out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

static void command__descriptors_are_not_inherited(void **state)
{
    (void)state;
    heard_t heard = {0};
    int leak = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
    run_shell("exec ls /proc/self/fd", (helio_text_t){0}, 60000, &heard);
    (void)close(leak);
    assert_string_equal(heard.out, "0\n1\n2\n3\n"); /* 3: ls reads the folder */
}

static void command__output_beyond_the_bound_is_truncated_and_marked(void **state)
{
    (void)state;
    heard_t heard = {0};
    run_shell("head -c 300000 /dev/zero | tr '\\0' x; head -c 100000 /dev/zero | tr '\\0' y >&2", (helio_text_t){0},
              60000, &heard);
    assert_true(heard.result.truncated);
    assert_int_equal(heard.result.out.size, 200);
    assert_int_equal(heard.result.complaint.size, 4096);
    assert_int_equal(heard.result.exit_code, 0);
}

static void command__a_program_that_cannot_run_is_reported_by_done(void **state)
{
    (void)state;
    static const char *const names[] = {"no-such-program-here", "/no/such/file", "/etc/passwd", "/"};
    for (size_t i = 0; i < 4; i++) {
        heard_t heard = {0};
        helio_commands_t *commands = make(1, 4);
        const char *argv[] = {names[i], NULL};
        helio_command_t command = shell(argv, &heard);
        assert_int_equal(helio_commands_run(commands, &command, false, NULL), HELIO_OK);
        assert_int_equal(heard.calls, 0);
        until(commands, &heard, 1);
        assert_false(heard.result.spawned);
        assert_non_null(strstr(heard.complaint, names[i]));
        helio_commands_destroy(&commands);
    }
}

static void await_end(int child)
{
    for (int64_t end_ms = helio_clock_boot_ms() + 30000;;) { /* a zombie until init reaps it */
        char path[64], line[512] = "";
        (void)snprintf(path, sizeof path, "/proc/%d/stat", child);
        FILE *file = fopen(path, "re");
        if (!file)
            break;
        (void)!fgets(line, sizeof line, file);
        (void)fclose(file);
        const char *after = strrchr(line, ')');
        if (after && after[2] == 'Z')
            break;
        assert_true(helio_clock_boot_ms() < end_ms);
    }
}

static void command__a_command_beyond_its_deadline_is_ended_with_its_children(void **state)
{
    (void)state;
    heard_t heard = {0};
    helio_commands_t *commands = make(1, 4);
    const char *argv[] = {"sh", "-c", "trap '' TERM; tail -f /dev/null & echo $!; wait; wait; wait", NULL};
    helio_command_t command = shell(argv, &heard);
    command.timeout_ms = 1000;
    assert_int_equal(helio_commands_run(commands, &command, false, NULL), HELIO_OK);
    int64_t began_ms = helio_clock_boot_ms();
    struct pollfd fd = {.fd = helio_commands_fd(commands), .events = POLLIN};
    helio_commands_process(commands, began_ms);
    assert_int_equal(helio_commands_next_ms(commands), began_ms + 1000);
    assert_int_equal(poll(&fd, 1, 30000), 1); /* it has spoken: it ignores TERM by now */
    helio_commands_process(commands, began_ms + 999);
    assert_int_equal(heard.calls, 0);
    helio_commands_process(commands, began_ms + 1000); /* TERM */
    assert_int_equal(heard.calls, 0);
    helio_commands_process(commands, began_ms + 1000 + 2000); /* KILL */
    for (int64_t end_ms = began_ms + 30000; heard.calls == 0 && helio_clock_boot_ms() < end_ms;) {
        (void)poll(&fd, 1, 50);
        helio_commands_process(commands, began_ms + 1000 + 2000);
    }
    assert_int_equal(heard.calls, 1);
    assert_true(heard.result.timed_out);
    int child = (int)strtol(heard.out, NULL, 10);
    assert_true(child > 1);
    await_end(child);
    helio_commands_destroy(&commands);
}

/*  The test gives the time. Another command with the same habit, but without the bound, is left alone. */
/*  More writers than one reader keeps up with. */
static void command__that_never_stops_writing_is_ended_at_its_deadline(void **state)
{
    (void)state;
    heard_t heard = {0};
    int64_t begin_ms = helio_clock_boot_ms();
    run_shell("for i in 1 2 3 4; do cat /dev/zero & done; wait", (helio_text_t){0}, 200, &heard);
    assert_true(heard.result.timed_out && heard.result.truncated);
    assert_in_range(helio_clock_boot_ms() - begin_ms, 200, 10000);
}

static void command__what_is_left_in_the_background_is_killed_after_its_time(void **state)
{
    (void)state;
    static const char script[] = "sleep 1000 </dev/null >/dev/null 2>&1 & echo $!";
    const char *argv[] = {"sh", "-c", script, NULL};
    int pids[2];
    helio_commands_t *commands = make(1, 4);
    int64_t now_ms = helio_clock_boot_ms();
    for (int i = 0; i < 2; i++) {
        heard_t heard = {0};
        helio_command_t command = shell(argv, &heard);
        command.left_ms = i ? 5000 : 0;
        assert_int_equal(helio_commands_run(commands, &command, false, NULL), HELIO_OK);
        struct pollfd fd = {.fd = helio_commands_fd(commands), .events = POLLIN};
        for (int64_t end_ms = now_ms + 30000; !heard.calls && helio_clock_boot_ms() < end_ms;) {
            helio_commands_process(commands, now_ms);
            (void)poll(&fd, 1, 50);
        }
        assert_int_equal(heard.result.exit_code, 0);
        assert_true((pids[i] = (int)strtol(heard.out, NULL, 10)) > 1);
    }
    assert_int_equal(helio_commands_next_ms(commands), now_ms + 5000);
    helio_commands_process(commands, now_ms + 4999);
    assert_int_equal(helio_commands_left_behind(commands), 0);
    assert_int_equal(kill(pids[1], 0), 0);
    helio_commands_process(commands, now_ms + 5000);
    assert_int_equal(helio_commands_left_behind(commands), 1);
    assert_true(helio_commands_next_ms(commands) == INT64_MAX);
    await_end(pids[1]);
    assert_int_equal(kill(pids[0], 0), 0);
    assert_int_equal(kill(pids[0], SIGKILL), 0);
    helio_commands_destroy(&commands);
}

/*  The test gives the time, so it does not wait for the two seconds between TERM and KILL. */
static void command__that_ignores_the_polite_signal_is_killed(void **state)
{
    (void)state;
    helio_commands_t *commands = make(1, 2);
    heard_t heard = {0};
    char ready[] = "/tmp/helio-command-XXXXXX", script[200];
    int fd = mkstemp(ready);
    assert_true(fd >= 0);
    (void)snprintf(script, sizeof script,
                   "trap 'echo asked' TERM; echo ready >%s; while :; do tail -f /dev/null & wait; done", ready);
    const char *argv[] = {"bash", "-c", script, NULL};
    helio_command_t command = shell(argv, &heard);
    command.timeout_ms = 1000;
    int64_t begun_ms = helio_clock_boot_ms();
    assert_int_equal(helio_commands_run(commands, &command, false, NULL), HELIO_OK);
    helio_commands_process(commands, begun_ms);
    char byte;
    for (int i = 0; i < 2000 && pread(fd, &byte, 1, 0) != 1; i++)
        (void)poll(NULL, 0, 5);
    helio_commands_process(commands, begun_ms + 999);
    assert_int_equal(heard.calls, 0);
    assert_int_equal(helio_commands_next_ms(commands), begun_ms + 1000);
    helio_commands_process(commands, begun_ms + 1000); /* TERM */
    for (int i = 0; i < 20; i++) {
        (void)poll(NULL, 0, 5);
        helio_commands_process(commands, begun_ms + 1001 + i);
    }
    assert_int_equal(heard.calls, 0);
    int64_t kill_ms = helio_commands_next_ms(commands);
    assert_true(kill_ms > begun_ms + 1000);
    helio_commands_process(commands, kill_ms); /* KILL */
    for (int i = 0; i < 2000 && !heard.calls; i++) {
        (void)poll(NULL, 0, 5);
        helio_commands_process(commands, kill_ms + 1);
    }
    assert_int_equal(heard.calls, 1);
    assert_true(heard.result.spawned && heard.result.timed_out);
    assert_int_equal(heard.result.exit_code, 128 + SIGKILL);
    assert_int_equal(helio_commands_busy(commands), 0);
    helio_commands_destroy(&commands);
    (void)close(fd);
    (void)unlink(ready);
}

static void command__at_most_the_allowed_number_runs_and_urgent_ones_go_first(void **state)
{
    (void)state;
    helio_commands_t *commands = make(1, 3);
    char log[] = "/tmp/command_XXXXXX", script[100];
    int fd = mkstemp(log);
    heard_t heard = {0};
    for (int i = 0; i < 4; i++) {
        (void)snprintf(script, sizeof script, "echo %d >>%s", i, log);
        const char *argv[] = {"sh", "-c", script, NULL};
        helio_command_t command = shell(argv, &heard);
        assert_int_equal(helio_commands_run(commands, &command, i >= 1, NULL), i < 3 ? HELIO_OK : HELIO_BUSY);
    }
    assert_int_equal(helio_commands_busy(commands), 3);
    until(commands, &heard, 3);
    char text[32] = "";
    assert_int_equal(read(fd, text, sizeof text - 1), 6);
    assert_string_equal(text, "1\n2\n0\n");
    (void)close(fd);
    (void)unlink(log);
    helio_commands_destroy(&commands);
}

static void command__dropped_commands_are_not_reported_and_waiting_ones_never_run(void **state)
{
    (void)state;
    helio_commands_t *commands = make(1, 3);
    heard_t dropped = {0}, heard = {0};
    const char *argv[] = {"true", NULL};
    helio_command_t first = shell(argv, &dropped), last = shell(argv, &heard);
    assert_int_equal(helio_commands_run(commands, &first, false, NULL), HELIO_OK);
    helio_commands_process(commands, helio_clock_boot_ms()); /* the first one runs now */
    assert_int_equal(helio_commands_run(commands, &first, false, NULL), HELIO_OK);
    assert_int_equal(helio_commands_run(commands, &last, false, NULL), HELIO_OK);
    helio_commands_drop(commands, &dropped);
    until(commands, &heard, 1);
    assert_int_equal(dropped.calls, 0);
    helio_commands_destroy(&commands);
}

static void command__done_can_queue_another_command(void **state)
{
    (void)state;
    helio_commands_t *commands = make(1, 1);
    heard_t heard = {.again = commands};
    const char *argv[] = {"no-such-program-here", NULL};
    helio_command_t command = shell(argv, &heard);
    assert_int_equal(helio_commands_run(commands, &command, false, NULL), HELIO_OK);
    until(commands, &heard, 2);
    assert_true(heard.result.spawned);
    helio_commands_destroy(&commands);
}

static void command__runs_as_another_user_with_that_users_groups(void **state)
{
    (void)state;
    heard_t heard = {0};
    helio_commands_t *commands = make(1, 1);
    const char *argv[] = {"sh", "-c", "id -u; id -g; id -G; grep -E '^(Uid|Gid)' /proc/self/status", NULL};
    helio_command_t command = shell(argv, &heard);
    command.as = (helio_command_user_t){"nobody", 65534, 65534};
    assert_int_equal(helio_commands_run(commands, &command, false, NULL), HELIO_OK);
    until(commands, &heard, 1);
    if (geteuid() == 0)
        assert_string_equal(heard.out, "65534\n65534\n65534\nUid:\t65534\t65534\t65534\t65534\n"
                                       "Gid:\t65534\t65534\t65534\t65534\n");
    else
        assert_false(heard.result.spawned); /* and never as the agent's own user */
    helio_commands_destroy(&commands);
}

static void command__destroy_kills_running_commands_without_a_report(void **state)
{
    (void)state;
    helio_commands_t *commands = make(1, 2);
    heard_t heard = {0};
    const char *argv[] = {"tail", "-f", "/dev/null", NULL};
    helio_command_t command = shell(argv, &heard);
    assert_int_equal(helio_commands_run(commands, &command, false, NULL), HELIO_OK);
    assert_int_equal(helio_commands_run(commands, &command, false, NULL), HELIO_OK);
    helio_commands_process(commands, helio_clock_boot_ms());
    helio_commands_destroy(&commands);
    assert_null(commands);
    assert_int_equal(heard.calls, 0);
}

static void command__a_synchronous_command_gives_its_end_or_the_error(void **state)
{
    (void)state;
    helio_commands_options_t options = {"/usr/bin:/bin", own_env, 1, 1};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t complaint = {0};
    const char *argv[] = {"sh", "-c", "echo a; echo b >&2; exit 7", NULL}, *bad[] = {"no-such-program-here", NULL},
               *slow[] = {"tail", "-f", "/dev/null", NULL};
    helio_command_t command = {.argv = argv, .timeout_ms = 60000, .max_bytes = 100};
    int exit_code = -1;
    helio_error_t err;
    assert_int_equal(helio_command_wait(&options, &command, &exit_code, &out, &complaint, &err), HELIO_OK);
    assert_int_equal(exit_code, 7);
    assert_string_equal(out.data, "a\n");
    assert_string_equal(complaint.data, "b\n");
    command.argv = bad;
    assert_int_equal(helio_command_wait(&options, &command, &exit_code, &out, NULL, &err), HELIO_NOT_FOUND);
    assert_non_null(strstr(err.text, "no-such-program-here"));
    command.argv = slow;
    command.timeout_ms = 20;
    assert_int_equal(helio_command_wait(&options, &command, &exit_code, &out, NULL, &err), HELIO_TIMEOUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command__end_output_and_error_text_are_reported_once),
        cmocka_unit_test(command__blocked_and_ignored_signals_are_not_inherited),
        cmocka_unit_test(command__descriptors_are_not_inherited),
        cmocka_unit_test(command__output_beyond_the_bound_is_truncated_and_marked),
        cmocka_unit_test(command__a_program_that_cannot_run_is_reported_by_done),
        cmocka_unit_test(command__a_command_beyond_its_deadline_is_ended_with_its_children),
        cmocka_unit_test(command__that_never_stops_writing_is_ended_at_its_deadline),
        cmocka_unit_test(command__what_is_left_in_the_background_is_killed_after_its_time),
        cmocka_unit_test(command__that_ignores_the_polite_signal_is_killed),
        cmocka_unit_test(command__at_most_the_allowed_number_runs_and_urgent_ones_go_first),
        cmocka_unit_test(command__dropped_commands_are_not_reported_and_waiting_ones_never_run),
        cmocka_unit_test(command__done_can_queue_another_command),
        cmocka_unit_test(command__runs_as_another_user_with_that_users_groups),
        cmocka_unit_test(command__destroy_kills_running_commands_without_a_report),
        cmocka_unit_test(command__a_synchronous_command_gives_its_end_or_the_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
