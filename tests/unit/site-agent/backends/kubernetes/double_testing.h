/*  double_testing.h -- starts and ends the double of a cluster (tests/doubles/kubernetes) in a folder of its own. */
#ifndef HELIO_TESTS_DOUBLE_TESTING_H
#define HELIO_TESTS_DOUBLE_TESTING_H

#include "tests/unit/site-agent/backends/kubernetes/recorded.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "tests/support/folder.h"

enum { PATIENCE_MS = 30000 }; /* for what takes milliseconds on a machine that is not busy */

static char folder[256];
static pid_t double_pid;

/*  Whether the double has written that file: `port` when it listens. */
static inline bool double_has(const char *name)
{
    char path[512];
    struct stat status;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &status) == 0;
}

static inline int begin_double(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/helio-kubernetes-XXXXXX");
    assert_non_null(mkdtemp(folder));
    double_pid = fork();
    if (double_pid == 0) {
        (void)execlp("python3", "python3", HELIO_SOURCE_DIR "/tests/doubles/kubernetes", "--folder", folder,
                     (char *)NULL);
        _exit(127);
    }
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    int status;
    while (!double_has("port") && helio_clock_boot_ms() < until_ms && waitpid(double_pid, &status, WNOHANG) == 0)
        (void)poll(NULL, 0, 20);
    return 0;
}

static inline int end_double(void **state)
{
    (void)state;
    int status;
    (void)kill(double_pid, SIGTERM);
    (void)waitpid(double_pid, &status, 0);
    folder_remove(folder);
    return 0;
}

#endif
