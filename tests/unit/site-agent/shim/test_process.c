/*  test_process.c -- who below a process is sent a signal. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "site-agent/shim/process.h"

/*  What a process outside of a PID namespace and one inside of it have counted. */
typedef struct counts {
    volatile int outside, inside, ready;
} counts_t;

static volatile int *counted;

static void count(int number)
{
    (void)number;
    *counted += 1;
}

static void live(volatile int *count_here, int signal_number, volatile int *ready)
{
    struct sigaction action = {.sa_handler = count};
    counted = count_here;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)sigaction(signal_number, &action, NULL);
    (void)__atomic_add_fetch(ready, 1, __ATOMIC_SEQ_CST);
    for (;;)
        (void)pause();
}

static void wait_until(volatile const int *value, int wanted)
{
    for (int i = 0; i < 5000 && *value < wanted; i++)
        (void)usleep(1000);
    assert_int_equal(*value, wanted);
}

static void *spin(void *arg)
{
    static volatile bool on = true;
    while (on)
        continue;
    return arg;
}

/*  The runtime (outside) has started a program in a container (inside), as podman does. */
static void process__a_signal_for_a_container_is_not_sent_to_its_runtime(void **state)
{
    (void)state;
    counts_t *counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(counts != MAP_FAILED);
    pid_t outside = fork();
    if (outside == 0) {
        if (unshare(CLONE_NEWPID))
            _exit(77);
        pid_t inside = fork();
        if (inside == 0)
            live(&counts->inside, SIGUSR1, &counts->ready);
        live(&counts->outside, SIGTERM, &counts->ready);
    }
    int status;
    for (int i = 0; i < 5000 && counts->ready < 2; i++) {
        if (waitpid(outside, &status, WNOHANG) == outside) {
            (void)munmap(counts, sizeof *counts);
            print_message("SKIPPED: a PID namespace needs root's rights\n");
            skip();
        }
        (void)usleep(1000);
    }
    assert_int_equal(counts->ready, 2);
    assert_int_equal(helio_process_signal_contained(getpid(), 0, false), 1);
    assert_int_equal(helio_process_signal_contained(getpid(), SIGTERM, true), 0); /* only its runtime waits for TERM */
    assert_int_equal(helio_process_signal_contained(getpid(), SIGUSR1, true), 1);
    wait_until(&counts->inside, 1);
    assert_int_equal(helio_process_signal_contained(getpid(), SIGUSR1, false), 1);
    wait_until(&counts->inside, 2);
    assert_int_equal(helio_process_signal_tree(getpid(), SIGTERM, true), 1);
    wait_until(&counts->outside, 1);
    (void)helio_process_signal_tree(getpid(), SIGKILL, false);
    assert_int_equal(waitpid(outside, &status, 0), outside);
    assert_int_equal(helio_process_signal_contained(getpid(), 0, false), 0);
    (void)munmap(counts, sizeof *counts);
}

/*  One that sleeps in its only thread, and one of which a second thread does not. */
static void process__one_is_at_rest_only_while_all_of_it_sleeps(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool busy, at_rest;
    } cases[] = {{"daemon", false, true}, {"other", false, false}, {"daemon", true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pthread_t thread;
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)prctl(PR_SET_NAME, cases[i].name);
            if (cases[i].busy && pthread_create(&thread, NULL, spin, NULL))
                _exit(1);
            for (;;)
                (void)pause();
        }
        bool at_rest = false;
        for (int k = 0; k < (cases[i].at_rest ? 5000 : 100) && !at_rest; k++) {
            at_rest = helio_process_is_at_rest(pid, "daemon") && (!cases[i].busy || k >= 50);
            (void)usleep(1000);
        }
        assert_int_equal(at_rest, cases[i].at_rest);
        (void)kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_false(helio_process_is_at_rest(pid, "daemon"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(process__a_signal_for_a_container_is_not_sent_to_its_runtime),
                                       cmocka_unit_test(process__one_is_at_rest_only_while_all_of_it_sleeps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
