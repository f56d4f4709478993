/*  helio-shim -- runs one attempt and outlives the agent that started it. The agent starts it, or Slurm does for the
 *  agent, with the folder that the agent has prepared; people do not call it. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "site-agent/shim/enter.h"
#include "site-agent/shim/run.h"

enum { EXIT_TAKEN = 3, USAGE = 2, NODES_MAX = 65536, PORTS_MAX = 65536 };

/*  Decimal digits alone. */
static bool read_number(const char *text, uint32_t below, uint32_t *ret_number)
{
    int64_t number = 0;
    if (!helio_status_file_number(helio_text_of(text), 0, (int64_t)below - 1, &number))
        return false;
    *ret_number = (uint32_t)number;
    return true;
}

/*  --enter FOLDER NODE [--term TERM] -- [COMMAND [ARGUMENT…]], --port FOLDER NODE PORT. Returns the exit code; -1: it is
 *  neither. */
static int come_later(int argc, char **argv)
{
    uint32_t node = 0, port = 0;
    bool enters = argc >= 5 && strcmp(argv[1], "--enter") == 0;
    if (!enters && !(argc == 5 && strcmp(argv[1], "--port") == 0))
        return -1;
    if (argv[2][0] != '/' || !read_number(argv[3], NODES_MAX, &node))
        return USAGE;
    (void)close_range(3, ~0U, 0);
    if (!enters)
        return read_number(argv[4], PORTS_MAX, &port) ? helio_enter_port(argv[2], node, (uint16_t)port) : USAGE;
    helio_enter_call_t call = {.folder = argv[2], .node = node};
    int at = 4;
    if (argc >= 7 && strcmp(argv[at], "--term") == 0) {
        call.term = argv[at + 1];
        at += 2;
    }
    if (strcmp(argv[at], "--") != 0 || chdir("/"))
        return USAGE;
    call.argv = argv + at + 1;
    return helio_enter_command(&call);
}

static void settle(helio_shim_mode_t mode)
{
    sigset_t set;
    helio_shim_signals(&set);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    if (mode == HELIO_SHIM_LOCAL)
        (void)setsid(); /* fails if the agent has done it already */
    (void)close_range(3, ~0U, 0);
}

int main(int argc, char **argv)
{
    helio_shim_call_t call = {.mode = HELIO_SHIM_LOCAL, .environ_list = environ};
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)printf("helio-shim %s\n", HELIO_PROGRAM_VERSION);
        return 0;
    }
    int later = come_later(argc, argv);
    if (later >= 0)
        return later;
    if (argc == 3 && strcmp(argv[1], "--slurm") == 0)
        call.mode = HELIO_SHIM_SLURM;
    else if (argc == 3 && strcmp(argv[1], "--batch") == 0)
        call.mode = HELIO_SHIM_BATCH;
    else if (argc == 3 && strcmp(argv[1], "--rank") == 0)
        call.mode = HELIO_SHIM_RANK;
    call.folder = argv[argc - 1];
    if (argc != (call.mode == HELIO_SHIM_LOCAL ? 2 : 3) || call.folder[0] != '/') {
        (void)fprintf(stderr,
                      "usage: helio-shim [--slurm | --batch | --rank] FOLDER (absolute path of a prepared attempt)\n");
        return 2;
    }
    settle(call.mode);
    char program[4096];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    program[size > 0 ? size : 0] = '\0';
    call.program = program;
    if (chdir("/"))
        return 1;

    helio_error_t err = {0};
    int exit_code = 1;
    helio_rc rc = helio_shim_run(&call, &exit_code, &err);
    if (rc)
        (void)fprintf(stderr, "helio-shim: %s\n", err.text);
    bool scheduled = call.mode == HELIO_SHIM_SLURM || call.mode == HELIO_SHIM_BATCH;
    if (rc == HELIO_CONFLICT) /* to a scheduler, a second job of an attempt succeeded without work */
        return scheduled ? 0 : EXIT_TAKEN;
    if (rc && rc != HELIO_UNAVAILABLE)
        return 1;
    return scheduled || rc ? exit_code : 0;
}
