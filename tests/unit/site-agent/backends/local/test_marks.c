/*  test_marks.c -- marks that any process can put into its environment: they are believed only of a user as whom the
 *  attempt can run. */
#include <sched.h>
#include <sys/prctl.h>

#include "site-agent/shim/process.h"
#include "tests/unit/site-agent/backends/local/local_testing.h"

enum { STRANGER = 61234, SUBORDINATE = 161234, NEVER_SEEN = 7 };

static const struct passwd *nobody(void)
{
    const struct passwd *found = getpwnam("nobody");
    assert_non_null(found);
    return found;
}

/*  A process of that user that waits, with the marks of the attempt. */
static pid_t marked(const site_t *site, uint32_t epoch, uid_t uid)
{
    char path[512], mark[600];
    (void)snprintf(mark, sizeof mark, "HELIO_REPORT=%s", site_path(site, "attempts", epoch, "report", path));
    char *const words[] = {(char[]){"sleep"}, (char[]){"100"}, NULL}, *const environment[] = {mark, NULL};
    int ready[2];
    char byte;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid) || prctl(PR_SET_PDEATHSIG, SIGKILL))
            _exit(1);
        (void)execve("/bin/sleep", words, environment);
        _exit(1);
    }
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 0); /* it was executed */
    (void)close(ready[0]);
    return pid;
}

static bool ends(pid_t pid)
{
    for (int i = 0; i < 500; i++) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return true;
        (void)poll(NULL, 0, 10);
    }
    return false;
}

static void end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void open_as_root(site_t *site)
{
    if (geteuid() != 0)
        SKIP_LOUDLY("only root can read the environment of other users' processes");
    site_open(site);
    site->users[0] = (helio_user_rule_t){HELIO_TEXT("acme"), HELIO_TEXT("*"), HELIO_TEXT("nobody"), false, {0}, false};
    site_reopen(site);
}

static void marks__of_an_unmapped_user_are_not_believed(void **state)
{
    (void)state;
    site_t site = {0};
    open_as_root(&site);
    pid_t forgers[] = {marked(&site, NEVER_SEEN, STRANGER), marked(&site, NEVER_SEEN + 1, STRANGER)};
    site.backend->class->survey(site.backend);
    site_drive(&site, 100);
    assert_int_equal(site.surveys, 1);
    assert_int_equal(site.heard_count, 0); /* no GPU is held for it */
    assert_int_equal(site.doubts, 1);      /* whoever forges one can forge many */
    assert_non_null(strstr(site.doubt, "of user 61234 has the marks of attempt "));
    site_stop(&site, NEVER_SEEN, HELIO_STOP_MODE_KILL);
    expect(site_wait(&site, 1), HELIO_BACKEND_REPORT_ABSENT);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(waitpid(forgers[i], NULL, WNOHANG), 0); /* it was not killed */
        end(forgers[i]);
    }
    site_close(&site);
}

/*  With the whole state folder gone, nothing else tells which user ran it. */
static void marks__of_a_mapped_user_are_believed(void **state)
{
    (void)state;
    site_t site = {0};
    open_as_root(&site);
    pid_t job = marked(&site, NEVER_SEEN, nobody()->pw_uid);
    site.backend->class->survey(site.backend);
    expect(site_wait(&site, 1), HELIO_BACKEND_REPORT_STARTED);
    site_stop(&site, NEVER_SEEN, HELIO_STOP_MODE_KILL);
    site_drive(&site, 100);
    assert_true(ends(job));
    expect(site_wait(&site, 2), HELIO_BACKEND_REPORT_VANISHED);
    assert_int_equal(site.doubts, 0);
    site_close(&site);
}

/*  The output folder of an attempt stays, and belongs to the user whom it ran as. */
static void marks__of_another_mapped_user_than_the_attempts_are_not_believed(void **state)
{
    (void)state;
    site_t site = {0};
    char output[512];
    open_as_root(&site);
    const char *path = site_path(&site, "output", NEVER_SEEN, "", output);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chown(path, STRANGER, STRANGER), 0);
    pid_t forger = marked(&site, NEVER_SEEN, nobody()->pw_uid);
    site.backend->class->survey(site.backend);
    site_drive(&site, 100);
    assert_int_equal(site.heard_count, 0);
    pid_t job = marked(&site, NEVER_SEEN, STRANGER); /* its line was removed since */
    site.backend->class->survey(site.backend);
    expect(site_wait(&site, 1), HELIO_BACKEND_REPORT_STARTED);
    site_stop(&site, NEVER_SEEN, HELIO_STOP_MODE_KILL);
    site_drive(&site, 100);
    assert_true(ends(job));
    expect(site_wait(&site, 2), HELIO_BACKEND_REPORT_VANISHED);
    assert_int_equal(waitpid(forger, NULL, WNOHANG), 0);
    end(forger);
    site_close(&site);
}

/*  The agent would end the earlier attempt, whose folder says as whom the job runs. */
static void marks__of_a_later_attempt_are_believed_of_the_jobs_user_alone(void **state)
{
    (void)state;
    site_t site = {0};
    char output[512], later[512];
    open_as_root(&site);
    const char *path = site_path(&site, "output", NEVER_SEEN, "", output);
    (void)snprintf(later, sizeof later, "%.*s9", (int)strlen(path) - 1, path); /* another epoch */
    assert_int_equal(mkdir(later, 0700), 0);
    assert_int_equal(chown(later, STRANGER, STRANGER), 0);
    pid_t forger = marked(&site, NEVER_SEEN, nobody()->pw_uid);
    site.backend->class->survey(site.backend);
    site_drive(&site, 100);
    assert_int_equal(site.heard_count, 0);
    assert_int_equal(site.doubts, 1);
    end(forger);
    site_close(&site);
}

/*  What is left of an attempt is killed by another mark. */
static void marks__of_others_do_not_get_their_processes_killed(void **state)
{
    (void)state;
    site_t site = {0};
    char path[512], mark[600];
    open_as_root(&site);
    (void)snprintf(mark, sizeof mark, "HELIO_REPORT=%s", site_path(&site, "attempts", NEVER_SEEN, "report", path));
    pid_t stranger = marked(&site, NEVER_SEEN, STRANGER), own = marked(&site, NEVER_SEEN, nobody()->pw_uid);
    const helio_account_t account = {nobody()->pw_uid, nobody()->pw_gid};
    assert_int_equal(helio_process_kill_left(NULL, 0, account, mark), 1);
    assert_true(ends(own));
    assert_int_equal(waitpid(stranger, NULL, WNOHANG), 0);
    end(stranger);
    site_close(&site);
}

/*  A child that becomes the user, does the rest, says so, and waits. */
static pid_t child(uid_t uid, bool in_namespace, int to_child[2], int from_child[2])
{
    char byte = 0;
    assert_int_equal(pipe2(to_child, O_CLOEXEC) | pipe2(from_child, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid)
        return pid;
    uid_t effective = in_namespace ? uid : 0;
    if (setresgid(uid, uid, uid) || setresuid(uid, effective, effective) || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
        (in_namespace && unshare(CLONE_NEWUSER)))
        _exit(1);
    (void)!write(from_child[1], &byte, 1);
    if (in_namespace) { /* until it has a map */
        (void)!read(to_child[0], &byte, 1);
        if (setresuid(0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL))
            _exit(1);
        (void)!write(from_child[1], &byte, 1);
    }
    (void)pause();
    _exit(0);
}

static bool hear(int from_child)
{
    char byte;
    struct pollfd fd = {.fd = from_child, .events = POLLIN};
    return poll(&fd, 1, 5000) == 1 && read(from_child, &byte, 1) == 1;
}

static void close_both(int fds[2])
{
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void owner__is_the_user_who_began_a_program_of_root(void **state)
{
    (void)state;
    if (geteuid() != 0)
        SKIP_LOUDLY("only root can become somebody else");
    int to_child[2], from_child[2];
    pid_t pid = child(STRANGER, false, to_child, from_child);
    assert_true(hear(from_child[0]));
    assert_int_equal(helio_process_owner(pid), STRANGER);
    end(pid);
    assert_int_equal(helio_process_owner(pid), -1);
    close_both(to_child);
    close_both(from_child);
}

/*  As containers without root have them. */
static void owner__in_a_user_namespace_is_who_made_that(void **state)
{
    (void)state;
    if (geteuid() != 0)
        SKIP_LOUDLY("only root can become somebody else");
    int to_child[2], from_child[2];
    char path[64], map[64];
    pid_t pid = child(STRANGER, true, to_child, from_child);
    (void)close(from_child[1]);
    from_child[1] = -1;
    if (!hear(from_child[0])) {
        (void)waitpid(pid, NULL, 0);
        SKIP_LOUDLY("this machine lets nobody make a user namespace");
    }
    (void)snprintf(path, sizeof path, "/proc/%ld/uid_map", (long)pid);
    int size = snprintf(map, sizeof map, "0 %d 1", SUBORDINATE), file = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(file >= 0 && write(file, map, (size_t)size) == size);
    (void)close(file);
    assert_int_equal(write(to_child[1], "", 1), 1);
    assert_true(hear(from_child[0]));
    assert_int_equal(helio_process_owner(pid), STRANGER);
    end(pid);
    close_both(to_child);
    (void)close(from_child[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks__of_an_unmapped_user_are_not_believed),
        cmocka_unit_test(marks__of_a_mapped_user_are_believed),
        cmocka_unit_test(marks__of_another_mapped_user_than_the_attempts_are_not_believed),
        cmocka_unit_test(marks__of_a_later_attempt_are_believed_of_the_jobs_user_alone),
        cmocka_unit_test(marks__of_others_do_not_get_their_processes_killed),
        cmocka_unit_test(owner__is_the_user_who_began_a_program_of_root),
        cmocka_unit_test(owner__in_a_user_namespace_is_who_made_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
