/*  The federation on one screen: what it shows, where it is cut, and that a terminal is given back as it was.
 */
#include "tests/unit/client/program/remote_testing.h"

#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

#include "client/commands/screen.h"

enum { PATIENCE_MS = 60000 };

#define SITES                                                                                                \
    "[{\"site\":\"lulea\",\"state\":\"ready\",\"gpus_free\":3,\"gpus_total\":8,\"gpus_allocated\":5,"        \
    "\"price_usd_per_gpu_h\":2.5,\"carbon_g_per_kwh\":40,\"power_watts\":5000,\"jobs_running\":2,\"pue\":1." \
    "1},"                                                                                                    \
    "{\"site\":\"os\\u001b[2Jlo\",\"state\":\"silent\",\"gpus_free\":6,\"gpus_total\":8,\"gpus_allocated\":" \
    "8,"                                                                                                     \
    "\"price_usd_per_gpu_h\":null,\"carbon_g_per_kwh\":null,\"power_watts\":null}]"
#define QUEUES                                                                                        \
    "[{\"queue\":\"express\",\"priority\":1000,\"running\":0,\"queued\":0,\"held\":0,"                \
    "\"gpus_queued\":0,\"gpus_running\":0},{\"queue\":\"standard\",\"priority\":500,\"running\":2,\"" \
    "queued\":4,\"held\":1,\"gpus_queued\":9,\"gpus_running\":5}]"
#define RUNNING                                                                                            \
    "{\"jobs\":[" JOB("01k9x2m4q8r7aaaabbbbccccd1", "running", ",\"gpus\":1,\"tenant\":\"acme\"") "," JOB( \
        "01k9x2m4q8r7aaaabbbbccccd2", "suspect",                                                           \
        ",\"gpus\":4,\"tenant\":\"acme\",\"run_seconds\":90") "],\"next\":null}"
#define WAITING                                                                                       \
    "{\"jobs\":[{\"queue\":\"standard\",\"tenant\":\"a\"},{\"queue\":\"standard\",\"tenant\":\"b\"}," \
    "{\"queue\":\"standard\",\"tenant\":\"b\"},{\"queue\":\"standard\",\"tenant\":\"c\"},"            \
    "{\"queue\":\"standard\",\"tenant\":\"d\"},{\"queue\":\"batch\",\"tenant\":\"e\"}],\"next\":null}"
#define ALL                                                                                                 \
    {"GET /v1/sites ", 0, 200, NULL, SITES, WHOLE, 0}, {"GET /v1/queues ", 0, 200, NULL, QUEUES, WHOLE, 0}, \
        {"GET /v1/jobs?state=offered", 0, 200, NULL, RUNNING, WHOLE, 0},                                    \
    {                                                                                                       \
        "GET /v1/jobs?state=queued", 0, 200, NULL, WAITING, WHOLE, 0                                        \
    }

static void top__once_shows_sites_queues_and_what_runs_by_gpus(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES(ALL), WORDS("top", "--once"));
    assert_int_equal(outcome.code, 0);
    static const char *const parts[] = {
        "GPUs 13 of 16 in use, 3 free   jobs 2 running, 4 waiting, 1 held   $12.50/h   200 g CO2e/h\n",
        "SITE",
        "\nlulea",
        "\nos?[2Jlo  silent     -     8",
        "\nstandard       500    2     5     4     9     1  b 2, a 1, c 1, …\n",
        "\n   4  bbccccd2  train  acme",
        "\n   1  bbccccd1  train  acme"};
    const char *at = outcome.out;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *found = strstr(at, parts[i]);
        if (!found)
            fail_msg("'%s' is not there, or not in its place:\n%s", parts[i], outcome.out);
        at = found;
    }
    assert_null(strchr(outcome.out, '\033'));
    assert_int_equal(broker_double_count(outcome.broker, "GET "), 4); /* whatever there is */
    end(&outcome);
}

static void top__says_below_the_sites_which_are_curtailed(void **state)
{
    (void)state;
    static const char sites[] =
        "[{\"site\":\"lulea\",\"state\":\"ready\",\"curtailed_to_percent\":60,\"curtailed_until\":\"2020-03-01T13:00:00Z\"},"
        "{\"site\":\"oslo\",\"state\":\"ready\",\"curtailed_to_percent\":0,\"curtailed_until\":\"2020-03-01T14:00:00Z\"}]";
    outcome_t outcome = play(
        RULES({"GET /v1/sites ", 0, 200, NULL, sites, WHOLE, 0}, {"GET /v1/queues ", 0, 200, NULL, QUEUES, WHOLE, 0},
              {"GET /v1/jobs?state=offered", 0, 200, NULL, RUNNING, WHOLE, 0},
              {"GET /v1/jobs?state=queued", 0, 200, NULL, WAITING, WHOLE, 0}),
        WORDS("top", "--once"));
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "\nlulea is curtailed to 60 % of its GPU power until 2020-03-01T13:00:00Z ("));
    assert_non_null(strstr(outcome.out, "; oslo is curtailed to 0 % of its GPU power until 2020-03-01T14:00:00Z ("));
    end(&outcome);
}

static void top__without_a_terminal_is_printed_once(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES(ALL), WORDS("top"));
    assert_int_equal(outcome.code, 0);
    assert_int_equal(broker_double_count(outcome.broker, "GET "), 4);
    end(&outcome);
}

static void top__json_is_one_snapshot(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES(ALL), WORDS("top", "-o", "json"));
    assert_int_equal(outcome.code, 0);
    json_t *json = json_loads(outcome.out, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(json, "sites")), 2);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(json, "totals"), "gpus_allocated")), 13);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(json_object_get(json, "running"), 0), "gpus")),
                     4);
    assert_int_equal(json_array_size(json_object_get(json, "waiting")), 6);
    json_decref(json);
    end(&outcome);
}

static void top__says_which_part_of_a_list_is_shown(void **state)
{
    (void)state;
    helio_buffer_t running = {0}, waiting = {0};
    for (int i = 0; i < 200; i++) {
        helio_buffer_printf(&running, "%s{\"id\":\"01k9x2m4q8r7aaaabbbb%06d\",\"state\":\"running\",\"gpus\":1}",
                            i ? "," : "{\"jobs\":[", i);
        helio_buffer_printf(&waiting, "%s{\"queue\":\"standard\",\"tenant\":\"a\"}", i ? "," : "{\"jobs\":[");
    }
    helio_buffer_text(&running, "],\"next\":\"x\"}");
    helio_buffer_text(&waiting, "],\"next\":\"x\"}");
    outcome_t outcome = play(
        RULES({"GET /v1/sites ", 0, 200, NULL, SITES, WHOLE, 0}, {"GET /v1/queues ", 0, 200, NULL, QUEUES, WHOLE, 0},
              {"GET /v1/jobs?state=offered", 0, 200, NULL, running.data, WHOLE, 0},
              {"GET /v1/jobs?state=queued", 0, 200, NULL, waiting.data, WHOLE, 0}),
        WORDS("top", "--once"));
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "jobs 2 running, 4 waiting, 1 held")); /* of all, whatever was listed */
    assert_non_null(strstr(outcome.out, "of the newest 200: a 200\n"));
    assert_non_null(strstr(outcome.out, "\nThe largest of the newest 200 jobs at sites, by GPUs:\n"));
    end(&outcome);
    helio_buffer_clear(&running);
    helio_buffer_clear(&waiting);
}

static void top__reports_unsupported_formats_and_failed_requests(void **state)
{
    (void)state;
    outcome_t outcome = play(RULES(ALL), WORDS("top", "-o", "csv"));
    expect(&outcome, 2, "", "`helio top` prints a screen, or json");
    end(&outcome);
    outcome = play(RULES({"GET /v1/sites ", 0, 200, NULL, SITES, WHOLE, 0}, {"GET ", 0, 403, NULL, "{}", WHOLE, 0}),
                   WORDS("top", "--once"));
    expect(&outcome, 4, "", "another role");
    end(&outcome);
}

static void screen__lines_are_cut_at_columns_not_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint32_t width;
        const char *cut, *rest;
    } rows[] = {
        {"abcdef\nrest", 4, "abcd", "rest"},
        {"abc", 4, "abc", ""},
        {"abc\n", 0, "abc", ""},
        {"", 4, "", ""},
        {"\033[32mab\033[0mcd", 3, "\033[32mab\033[0mc", ""},
        {"ab\033[31mcd\033[0m", 2, "ab\033[31m\033[0m", ""}, /* what follows is not coloured */
        {"é→x", 2, "é→", ""},
        {"漢字", 3, "漢", ""}, /* two columns each */
        {"\xff\xfe"
         "a",
         2, "\xff\xfe", ""},
        {"\xe2\x86", 5, "\xe2\x86", ""}, /* cut within a character */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        const char *rest = helio_screen_cut(rows[i].line, rows[i].width, &out);
        assert_string_equal(out.size ? out.data : "", rows[i].cut);
        assert_string_equal(rest, rows[i].rest);
    }
}

/* ---- a terminal -------------------------------------------------------------------------------------------
 */

typedef struct terminal {
    int master, slave;
    broker_double_t *broker;
    pid_t child;
    helio_buffer_t shown;
} terminal_t;

static void run_child(const terminal_t *self)
{
    char url[80], token[] = "HELIO_TOKEN=" SECRET;
    (void)snprintf(url, sizeof url, "HELIO_BROKER=http://127.0.0.1:%d", self->broker->port);
    char *environment[] = {url, token, (char *)(uintptr_t) "TZ=UTC", NULL};
    char *argv[] = {(char *)(uintptr_t) "helio", (char *)(uintptr_t) "top", NULL};
    FILE *in = fdopen(dup(self->slave), "r"), *out = fdopen(dup(self->slave), "w");
    helio_client_io_t io = {.in = in,
                            .out = out,
                            .err = stderr,
                            .in_tty = true,
                            .out_tty = true,
                            .environment = environment,
                            .interrupt_fd = -1,
                            .patience_ms = 2};
    _exit(helio_client_main(2, argv, &io));
}

static void read_until(terminal_t *self, const char *part)
{
    int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (!self->shown.size || !strstr(self->shown.data, part)) {
        char piece[4096];
        struct pollfd fd = {.fd = self->master, .events = POLLIN};
        if (poll(&fd, 1, 1000) > 0) {
            ssize_t size = read(self->master, piece, sizeof piece);
            helio_buffer_append(&self->shown, piece, size > 0 ? (size_t)size : 0);
        }
        if (helio_clock_boot_ms() <= give_up_ms)
            continue;
        (void)kill(self->child, SIGKILL);
        fail_msg("'%s' was not shown:\n%s", part, self->shown.size ? self->shown.data : "");
    }
}

static terminal_t begin_top(void)
{
    terminal_t self = {.broker = broker_double_new(RULES(ALL))};
    struct winsize size = {.ws_row = 20, .ws_col = 30};
    self.master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(self.master >= 0 && grantpt(self.master) == 0 && unlockpt(self.master) == 0);
    self.slave = open(ptsname(self.master), O_RDWR | O_NOCTTY);
    assert_true(self.slave >= 0);
    assert_int_equal(ioctl(self.slave, TIOCSWINSZ, &size), 0);
    self.child = fork();
    if (self.child == 0)
        run_child(&self);
    return self;
}

/*  How it ended, as waitpid says. The terminal must be as it was. */
static int end_top(terminal_t *self)
{
    int status;
    struct termios now;
    read_until(self, "\033[?25h\033[?1049l");
    assert_int_equal(waitpid(self->child, &status, 0), self->child);
    assert_int_equal(tcgetattr(self->slave, &now), 0);
    assert_true((now.c_lflag & ICANON) && (now.c_lflag & ECHO));
    assert_non_null(strstr(self->shown.data, "\033[?1049h\033[?25l"));
    close(self->master);
    close(self->slave);
    broker_double_stop(self->broker);
    broker_double_destroy(&self->broker);
    helio_buffer_clear(&self->shown);
    return status;
}

static void live__frames_fit_the_terminal_and_q_restores_it(void **state)
{
    (void)state;
    terminal_t t = begin_top();
    read_until(&t, "bbccccd2");
    struct termios now;
    assert_int_equal(tcgetattr(t.slave, &now), 0);
    assert_false(now.c_lflag & (ICANON | ECHO));
    assert_null(strstr(t.shown.data, "CO2e/h")); /* beyond 30 columns */
    assert_int_equal(write(t.master, "xq", 2), 2);
    int status = end_top(&t);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void live__a_signal_ends_it_and_restores_the_terminal(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        terminal_t t = begin_top();
        read_until(&t, "bbccccd2");
        assert_int_equal(kill(t.child, signals[i]), 0);
        int status = end_top(&t);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(top__once_shows_sites_queues_and_what_runs_by_gpus),
        cmocka_unit_test(top__without_a_terminal_is_printed_once),
        cmocka_unit_test(top__says_below_the_sites_which_are_curtailed),
        cmocka_unit_test(top__json_is_one_snapshot),
        cmocka_unit_test(top__says_which_part_of_a_list_is_shown),
        cmocka_unit_test(top__reports_unsupported_formats_and_failed_requests),
        cmocka_unit_test(screen__lines_are_cut_at_columns_not_bytes),
        cmocka_unit_test(live__frames_fit_the_terminal_and_q_restores_it),
        cmocka_unit_test(live__a_signal_ends_it_and_restores_the_terminal),
    };
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
