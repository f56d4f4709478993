/*  helio-shim -- runs one attempt and outlives the agent that started it. Started by the agent with
 *  the folder that it has prepared; nobody needs to call it by hand.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "site-agent/shim/run.h"

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)printf("helio-shim %s\n", HELIO_RELEASE);
        return 0;
    }
    if (argc != 2 || argv[1][0] != '/') {
        (void)fprintf(stderr, "usage: helio-shim FOLDER (absolute path of a prepared attempt)\n");
        return 2;
    }
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGUSR2);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)setsid(); /* fails where the agent has seen to it already */
    (void)close_range(3, ~0U, 0);
    if (chdir("/"))
        return 1;

    helio_error_t err = {0};
    helio_rc rc = helio_shim_run(argv[1], &err);
    if (rc) {
        (void)fprintf(stderr, "helio-shim: %s\n", err.text);
        return rc == HELIO_CONFLICT ? 3 : 1;
    }
    return 0;
}
