/*  helio -- the command. This file holds what belongs to the process: streams, environment, signals. Everything else
 *  is in the rooms of client/. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "client/program/program.h"

/*  A signal handler can only use globals. */
static volatile sig_atomic_t presses;
static int press_pipe[2] = {-1, -1};

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    int saved = errno;
    presses = presses + 1;
    ssize_t written = write(press_pipe[1], "", 1); /* a full pipe is readable anyway */
    (void)written;
    errno = saved;
}

/*  Ctrl-\ leaves at once, without a core file. */
static void on_quit(int signal_number)
{
    _exit(128 + signal_number);
}

static void set_signals(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    if (pipe2(press_pipe, O_CLOEXEC | O_NONBLOCK) == 0)
        (void)sigaction(SIGINT, &action, NULL);
    action.sa_handler = on_quit;
    (void)sigaction(SIGQUIT, &action, NULL);
    /* A reader that goes away shows as a write error. */
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
}

int main(int argc, char **argv)
{
    set_signals();
    /* Widths of characters in tables; numbers and times stay as they are everywhere. */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        (void)setlocale(LC_CTYPE, "");
    helio_client_io_t io = {
        .in = stdin,
        .out = stdout,
        .err = stderr,
        .in_tty = isatty(STDIN_FILENO) == 1,
        .out_tty = isatty(STDOUT_FILENO) == 1,
        .err_tty = isatty(STDERR_FILENO) == 1,
        .environment = environ,
        .directory = ".",
        .system_settings = "/etc/helio/client.yaml",
        .interrupts = &presses,
        .interrupt_fd = press_pipe[0],
        .patience_ms = 250,
    };
    return helio_client_main(argc, argv, &io);
}
