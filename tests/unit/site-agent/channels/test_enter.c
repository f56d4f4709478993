/*  test_enter.c -- commands and connections inside real attempts of the backend `local`: they are what the job's own
 *  processes are, nothing more, and end with it. */
#include "tests/unit/site-agent/channels/channels_testing.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "site-agent/shim/cgroup.h"
#include "tests/support/local_fixture.h"

#define SKIP_LOUDLY(why)                     \
    do {                                     \
        print_message("SKIPPED: " why "\n"); \
        skip();                              \
    } while (0)

/*  A site with one attempt that runs, and channels to it. */
typedef struct place {
    site_t site;
    hall_t *hall;
} place_t;

static helio_rc enter(void *arg, const helio_entry_t *entry, helio_arena_t *arena, helio_entry_command_t *ret_command,
                      helio_error_t *err)
{
    const place_t *place = ((const hall_t *)arg)->place;
    helio_entry_t of_attempt = *entry;
    of_attempt.key = site_key();
    return place->site.backend->class->enter(place->site.backend, &of_attempt, arena, ret_command, err);
}

static void place_open(place_t *place, const char *unix_user, attempt_t *attempt, uint32_t events)
{
    memset(place, 0, sizeof *place);
    site_open(&place->site);
    if (unix_user)
        place->site.users[0].unix_user = helio_text_of(unix_user);
    site_reopen(&place->site);
    site_start(&place->site, attempt);
    const heard_t *heard = site_wait(&place->site, events);
    if (heard->event.word != HELIO_BACKEND_REPORT_STARTED && events == 1)
        fail_msg("%s", heard->explanation);
    place->hall = hall_open();
    place->hall->place = place;
    place->hall->options.enter = enter;
    hall_renew(place->hall);
}

static void place_close(place_t *place)
{
    hall_close(&place->hall);
    site_stop(&place->site, 1, HELIO_STOP_MODE_KILL);
    site_drive(&place->site, 200);
    site_close(&place->site);
}

/*  What a command prints, in `out` of the first seat. */
static const seat_t *run_in(place_t *place, want_t want, const char *script)
{
    hall_shell(place->hall, 1, want, script);
    HALL_WAIT(place->hall, place->hall->seats[0].ended);
    return &place->hall->seats[0];
}

static void wait_for_file(const char *path)
{
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (access(path, F_OK)) {
        assert_true(helio_clock_boot_ms() < until_ms);
        (void)poll(NULL, 0, 10);
    }
}

/* ---- commands ------------------------------------------------------------------------------------------ */

static void enter__a_command_has_the_environment_of_the_job(void **state)
{
    (void)state;
    static uint32_t gpus[] = {2, 5}, others[] = {7};
    helio_pair_t pairs[] = {{HELIO_TEXT("COLOR"), HELIO_TEXT("deep blue\nsea")}};
    attempt_t attempt = {.run = "export ADDED=later; env -0 | sort -z > env.$HELIO_NODE_RANK; mv env.$HELIO_NODE_RANK "
                                "env.job.$HELIO_NODE_RANK; sleep 1000",
                         .spec.env = {pairs, 1},
                         .slots = {{0, {gpus, 2}}, {0, {others, 1}}},
                         .slot_count = 2};
    place_t place;
    char path[512], script[700];
    place_open(&place, NULL, &attempt, 1);
    for (uint32_t node = 0; node < 2; node++) {
        (void)snprintf(script, sizeof script, "env.job.%u", node);
        wait_for_file(site_path(&place.site, "output", 1, script, path));
        (void)snprintf(script, sizeof script,
                       "grep -zv '^ADDED=' env.job.%u | cmp - <(env -0 | sort -z) && pwd && echo $CUDA_VISIBLE_DEVICES "
                       "$HELIO_GPUS $HELIO_NODE_RANK",
                       node);
        const char *const words[] = {"bash", "-c", script, NULL}; /* found by the job's own PATH */
        helio_argument_t command[3];
        for (int i = 0; i < 3; i++)
            command[i] = (helio_argument_t){helio_text_of(words[i])};
        helio_msg_channel_open_t message = {.channel = node + 1, .epoch = 1, .node = node, .command = {command, 3}};
        helio_channels_open(place.hall->channels, &message);
        seat_t *seat = &place.hall->seats[node];
        HALL_WAIT(place.hall, seat->ended);
        helio_buffer_append(&seat->out, "", 1);
        if (seat->exit_code || seat->rc)
            fail_msg("%s %s", seat->text, seat->err.size ? seat->err.data : seat->out.data);
        assert_non_null(strstr(seat->out.data, node ? "\n7 1 1\n" : "\n2,5 2 0\n"));
        assert_non_null(strstr(seat->out.data, "/output/"));
    }
    helio_msg_channel_open_t third = {.channel = 3, .epoch = 1, .node = 2};
    helio_channels_open(place.hall->channels, &third);
    assert_int_equal(place.hall->seats[2].rc, HELIO_NOT_FOUND);
    assert_non_null(strstr(place.hall->seats[2].text, "2 nodes"));
    place_close(&place);
}

static void enter__a_command_has_the_rights_of_the_job_and_nothing_of_the_agent(void **state)
{
    (void)state;
    if (geteuid() != 0)
        SKIP_LOUDLY("only root can run jobs as somebody else");
    const struct passwd *nobody = getpwnam("nobody");
    assert_non_null(nobody);
    char expected[64];
    (void)snprintf(expected, sizeof expected, "%u %u\n", (unsigned)nobody->pw_uid, (unsigned)nobody->pw_gid);
    attempt_t attempt = {.run = "sleep 1000"};
    place_t place;
    place_open(&place, "nobody", &attempt, 1);
    int secret = open("/etc/shadow", O_RDONLY); /* a descriptor of the agent that nobody closes on exec */
    const seat_t *seat =
        run_in(&place, (want_t){0},
               "echo $(id -u) $(id -G); grep -E 'NoNewPrivs|CapEff|CapPrm|SigBlk|SigIgn' /proc/self/status; "
               "ls /proc/self/fd | tr '\\n' ' '; cat \"${HELIO_REPORT%/*}/plan\"; echo; "
               "echo -n to-a-name > /dev/stdout; ls /proc/$PPID/fd; kill -KILL $PPID; ulimit -c");
    if (secret >= 0)
        (void)close(secret);
    assert_true(hall_says(&seat->out, expected));
    assert_true(hall_says(&seat->out, "NoNewPrivs:\t1") && hall_says(&seat->out, "CapEff:\t0000000000000000"));
    assert_true(hall_says(&seat->out, "SigBlk:\t0000000000000000") &&
                hall_says(&seat->out, "SigIgn:\t0000000000000000"));
    assert_true(hall_says(&seat->out, "0 1 2 3 ")); /* 3 is the folder that ls reads */
    assert_false(hall_says(&seat->out, "0 1 2 3 4"));
    assert_false(hall_says(&seat->out, "uid="));
    assert_true(hall_says(&seat->err, "Permission denied") && hall_says(&seat->err, "not permitted"));
    assert_true(hall_says(&seat->out, "to-a-name"));
    assert_int_equal(seat->exit_code, 0);
    place_close(&place);
}

static void enter__without_a_command_there_is_a_shell_on_the_terminal(void **state)
{
    (void)state;
    attempt_t attempt = {.run = "sleep 1000"};
    place_t place;
    place_open(&place, geteuid() == 0 ? "nobody" : NULL, &attempt, 1);
    hall_ask(place.hall, 1, (want_t){.terminal = true, .rows = 40, .columns = 90}, NULL);
    seat_t *seat = &place.hall->seats[0];
    hall_send(place.hall, 1,
              HELIO_TEXT("stty size; echo term=$TERM $-; echo > $(tty); sh -c 'echo run; exec sleep 1000'\n"), false);
    HALL_WAIT(place.hall,
              hall_says(&seat->out, "40 90") && hall_says(&seat->out, "term=xterm ") && hall_says(&seat->out, "\nrun"));
    hall_send(place.hall, 1, HELIO_TEXT("\032"), false); /* job control */
    HALL_WAIT(place.hall, hall_says(&seat->out, "Stopped"));
    hall_send(place.hall, 1, HELIO_TEXT("kill -9 %1; exit 9\nexit 9\n"), false);
    HALL_WAIT(place.hall, seat->ended);
    assert_int_equal(seat->exit_code, 9);
    assert_false(hall_says(&seat->out, "ermission"));
    place_close(&place);
}

static void enter__what_a_command_leaves_behind_ends_with_it(void **state)
{
    (void)state;
    attempt_t attempt = {.run = "sleep 1000"};
    place_t place;
    char path[512];
    place_open(&place, NULL, &attempt, 1);
    const seat_t *seat = run_in(&place, (want_t){0},
                                "setsid sh -c 'trap \"\" HUP TERM; echo $$ > left; sleep 1000; sleep 1000' < /dev/null "
                                "> /dev/null 2>&1 & while ! test -s left; do sleep 0.01; done; exit 4");
    assert_int_equal(seat->exit_code, 4);
    assert_false(is_alive(read_number(site_path(&place.site, "output", 1, "left", path))));
    place_close(&place);
}

static void enter__a_closed_channel_ends_even_what_hides_from_it(void **state)
{
    (void)state;
    attempt_t attempt = {.run = "sleep 1000"};
    place_t place;
    char path[512];
    place_open(&place, NULL, &attempt, 1);
    hall_shell(place.hall, 1, (want_t){0},
               "trap '' HUP TERM; setsid sh -c 'trap \"\" HUP TERM; echo $$ > left; while :; do sleep 1; done' & "
               "while :; do sleep 1; done");
    wait_for_file(site_path(&place.site, "output", 1, "left", path));
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (read_number(path) <= 0)
        assert_true(helio_clock_boot_ms() < until_ms);
    long pid = read_number(path);
    assert_true(is_alive(pid));
    helio_channels_close(place.hall->channels, 1);
    HALL_WAIT(place.hall, helio_channels_count(place.hall->channels) == 0);
    assert_false(is_alive(pid));
    place_close(&place);
}

static void enter__a_command_ends_with_the_attempt_without_the_agents_help(void **state)
{
    (void)state;
    attempt_t attempt = {.run = "sleep 1000"};
    place_t place;
    place_open(&place, NULL, &attempt, 1);
    hall_shell(place.hall, 1, (want_t){0}, "trap '' HUP TERM; echo ready; while :; do sleep 1; done");
    HALL_WAIT(place.hall, hall_says(&place.hall->seats[0].out, "ready"));
    site_stop(&place.site, 1, HELIO_STOP_MODE_KILL);
    (void)site_wait(&place.site, 2);
    HALL_WAIT(place.hall, place.hall->seats[0].ended);
    assert_int_equal(place.hall->seats[0].exit_code, 128 + SIGKILL);
    hall_shell(place.hall, 2, (want_t){0}, "true");
    assert_int_equal(place.hall->seats[1].rc, HELIO_NOT_FOUND);
    assert_non_null(strstr(place.hall->seats[1].text, "the attempt has ended"));
    place_close(&place);
}

static void enter__an_attempt_that_does_not_exist_is_refused(void **state)
{
    (void)state;
    attempt_t attempt = {.run = "sleep 1000"};
    place_t place;
    place_open(&place, NULL, &attempt, 1);
    hall_shell(place.hall, 1, (want_t){.epoch = 7}, "true");
    assert_int_equal(place.hall->seats[0].rc, HELIO_NOT_FOUND);
    place_close(&place);
}

static void enter__a_program_that_is_not_there_is_127(void **state)
{
    (void)state;
    static const char *const words[] = {"no-such-program-here", "secret", NULL};
    attempt_t attempt = {.run = "sleep 1000"};
    place_t place;
    place_open(&place, NULL, &attempt, 1);
    hall_ask(place.hall, 1, (want_t){0}, words);
    HALL_WAIT(place.hall, place.hall->seats[0].ended);
    assert_int_equal(place.hall->seats[0].exit_code, 127);
    assert_true(hall_says(&place.hall->seats[0].err, "helio: no-such-program-here: No such file"));
    place_close(&place);
}

/* ---- control groups ------------------------------------------------------------------------------------ */

static void enter__a_command_is_in_the_control_group_of_the_attempt(void **state)
{
    (void)state;
    char parent[4096];
    if (helio_cgroup_path("helio-test-XXXXXX", parent, sizeof parent, NULL) || !mkdtemp(parent))
        SKIP_LOUDLY("no control groups can be made here");
    attempt_t attempt = {.run = "grep ^0:: /proc/self/cgroup > group; sleep 1000"};
    place_t place = {0};
    site_open(&place.site);
    place.site.cgroup = parent;
    site_reopen(&place.site);
    site_start(&place.site, &attempt);
    (void)site_wait(&place.site, 1);
    place.hall = hall_open();
    place.hall->place = &place;
    place.hall->options.enter = enter;
    hall_renew(place.hall);
    const seat_t *seat = run_in(
        &place, (want_t){0}, "while ! test -s group; do sleep 0.01; done; grep ^0:: /proc/self/cgroup | cmp - group");
    assert_int_equal(seat->exit_code, 0);
    place_close(&place);
    for (int i = 0; i < 100 && rmdir(parent); i++) {
        char keeper[4200];
        (void)snprintf(keeper, sizeof keeper, "%s/keeper", parent);
        (void)helio_cgroup_kill(keeper);
        (void)rmdir(keeper);
        (void)poll(NULL, 0, 20);
    }
}

/* ---- ports --------------------------------------------------------------------------------------------- */

/*  Listens on any port of the address, shares it with others of its user, says which in the file `port`, and answers what it got once the input ended. */
#define SERVER                                                                                                 \
    "perl -MSocket=:DEFAULT,inet_pton -e 'my ($family, $to) = @ARGV; socket(S, $family, SOCK_STREAM, 0); "     \
    "setsockopt(S, SOL_SOCKET, SO_REUSEPORT, 1) or die $!; "                                                   \
    "bind(S, $family == AF_INET ? pack_sockaddr_in(0, inet_pton($family, $to)) "                               \
    ": pack_sockaddr_in6(0, inet_pton($family, $to))) or die $!; listen(S, 5); "                               \
    "my @at = $family == AF_INET ? unpack_sockaddr_in(getsockname(S)) : unpack_sockaddr_in6(getsockname(S)); " \
    "open(F, \">port.new\"); print F $at[0]; close(F); rename(\"port.new\", \"port\"); "                       \
    "while (accept(C, S)) { local $/; my $all = <C>; print C \"got \" . length($all) . \" \" . $all; close(C) }' "

static uint16_t ask_port(place_t *place, uint64_t channel)
{
    char path[512];
    wait_for_file(site_path(&place->site, "output", 1, "port", path));
    long port = read_number(path);
    assert_true(port > 0);
    helio_msg_channel_open_t message = {
        .channel = channel, .epoch = 1, .kind = HELIO_CHANNEL_KIND_PORT, .port = (uint32_t)port};
    helio_channels_open(place->hall->channels, &message);
    return (uint16_t)port;
}

static void talk(const char *run, bool must)
{
    attempt_t attempt = {.run = run};
    place_t place;
    char path[512];
    place_open(&place, geteuid() == 0 ? "nobody" : NULL, &attempt, 1);
    site_drive(&place.site, 300);
    if (!must && access(site_path(&place.site, "output", 1, "none", path), F_OK) == 0) {
        place_close(&place);
        SKIP_LOUDLY("this machine has no such address");
    }
    (void)ask_port(&place, 1);
    seat_t *seat = &place.hall->seats[0];
    HALL_WAIT(place.hall, seat->open || seat->ended);
    if (seat->ended)
        fail_msg("%s", seat->text);
    static char bytes[100000];
    memset(bytes, 'x', sizeof bytes);
    hall_send(place.hall, 1, (helio_text_t){bytes, 50000}, false);
    hall_send(place.hall, 1, (helio_text_t){bytes, 50000}, true); /* only then does it answer */
    HALL_WAIT(place.hall, seat->ended);
    assert_true(hall_says(&seat->out, "got 100000 xxx"));
    assert_int_equal(seat->out.size, 100000 + strlen("got 100000 "));
    assert_int_equal(seat->rc, HELIO_OK);
    place_close(&place);
}

static void ports__of_the_attempt_are_reached_at_whatever_address(void **state)
{
    (void)state;
    talk(SERVER "2 0.0.0.0", true);
    talk(SERVER "2 127.0.0.7 & wait", true); /* by a child, at an address that is not the usual one */
    talk("(" SERVER "10 ::1) || touch none; sleep 1000", false);
}

/*  As a notebook that its user starts in a shell. */
static void ports__of_what_a_channel_has_started_are_reached(void **state)
{
    (void)state;
    attempt_t attempt = {.run = "sleep 1000"};
    place_t place;
    char path[512];
    place_open(&place, NULL, &attempt, 1);
    hall_shell(place.hall, 1, (want_t){0}, SERVER "2 127.0.0.1");
    wait_for_file(site_path(&place.site, "output", 1, "port", path));
    (void)ask_port(&place, 2);
    seat_t *seat = &place.hall->seats[1];
    HALL_WAIT(place.hall, seat->open || seat->ended);
    if (seat->ended)
        fail_msg("%s", seat->text);
    hall_send(place.hall, 2, HELIO_TEXT("xx"), true);
    HALL_WAIT(place.hall, seat->ended);
    assert_true(hall_says(&seat->out, "got 2 xx"));
    place_close(&place);
}

static void ports__of_nobody_and_of_others_are_refused(void **state)
{
    (void)state;
    attempt_t attempt = {.run = "sleep 1000"};
    place_t place;
    place_open(&place, NULL, &attempt, 1);
    int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* the agent's, and the same user's */
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    assert_int_equal(bind(own, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(own, 5), 0);
    assert_int_equal(getsockname(own, (struct sockaddr *)&at, &size), 0);
    uint32_t port = ntohs(at.sin_port);
    for (uint64_t i = 1; i <= 2; i++) {
        helio_msg_channel_open_t message = {
            .channel = i, .epoch = 1, .kind = HELIO_CHANNEL_KIND_PORT, .port = i == 1 ? port : 1};
        helio_channels_open(place.hall->channels, &message);
        seat_t *seat = &place.hall->seats[i - 1];
        HALL_WAIT(place.hall, seat->ended);
        assert_false(seat->open);
        assert_int_equal(seat->rc, HELIO_NOT_FOUND);
        assert_non_null(strstr(seat->text, "no process of the job listens on port "));
    }
    struct pollfd asked = {.fd = own, .events = POLLIN};
    assert_int_equal(poll(&asked, 1, 0), 0); /* nobody has knocked */
    (void)close(own);
    place_close(&place);
}

/*  SO_REUSEPORT lets two processes of one user listen at one address: the kernel would choose who gets the connection. */
static void ports__that_others_share_are_refused_as_long_as_they_do(void **state)
{
    (void)state;
    attempt_t attempt = {.run = SERVER "2 0.0.0.0"};
    place_t place;
    char path[512];
    const int on = 1;
    place_open(&place, NULL, &attempt, 1);
    wait_for_file(site_path(&place.site, "output", 1, "port", path));
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)read_number(path)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int others = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(others, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
    assert_int_equal(bind(others, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(others, 5), 0);
    (void)ask_port(&place, 1);
    const seat_t *seat = &place.hall->seats[0];
    HALL_WAIT(place.hall, seat->open || seat->ended);
    assert_false(seat->open);
    assert_int_equal(seat->rc, HELIO_NOT_FOUND);
    assert_non_null(strstr(seat->text, "with a process that is not of the job"));
    struct pollfd asked = {.fd = others, .events = POLLIN};
    assert_int_equal(poll(&asked, 1, 0), 0); /* nobody has knocked */
    (void)close(others);
    (void)ask_port(&place, 2);
    HALL_WAIT(place.hall, place.hall->seats[1].open || place.hall->seats[1].ended);
    assert_true(place.hall->seats[1].open);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enter__a_command_has_the_environment_of_the_job),
        cmocka_unit_test(enter__a_command_has_the_rights_of_the_job_and_nothing_of_the_agent),
        cmocka_unit_test(enter__without_a_command_there_is_a_shell_on_the_terminal),
        cmocka_unit_test(enter__what_a_command_leaves_behind_ends_with_it),
        cmocka_unit_test(enter__a_closed_channel_ends_even_what_hides_from_it),
        cmocka_unit_test(enter__a_command_ends_with_the_attempt_without_the_agents_help),
        cmocka_unit_test(enter__an_attempt_that_does_not_exist_is_refused),
        cmocka_unit_test(enter__a_program_that_is_not_there_is_127),
        cmocka_unit_test(enter__a_command_is_in_the_control_group_of_the_attempt),
        cmocka_unit_test(ports__of_the_attempt_are_reached_at_whatever_address),
        cmocka_unit_test(ports__of_what_a_channel_has_started_are_reached),
        cmocka_unit_test(ports__of_nobody_and_of_others_are_refused),
        cmocka_unit_test(ports__that_others_share_are_refused_as_long_as_they_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
