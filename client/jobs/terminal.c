/*  terminal.c -- raw mode, size and signals of the terminal. */
#include "client/jobs/terminal.h"

#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

void helio_terminal_begin(helio_terminal_t *self, int fd)
{
    static const int taken[] = {SIGWINCH, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        (void)sigaddset(&set, taken[i]);
    *self = (helio_terminal_t){.fd = fd};
    (void)sigprocmask(SIG_BLOCK, &set, &self->before);
    self->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

void helio_terminal_give_back(helio_terminal_t *self)
{
    if (self->is_raw)
        (void)tcsetattr(self->fd, TCSADRAIN, &self->saved);
    self->is_raw = false;
}

void helio_terminal_end(helio_terminal_t *self)
{
    helio_terminal_give_back(self);
    if (self->signal_fd >= 0)
        (void)close(self->signal_fd);
    self->signal_fd = -1;
    (void)sigprocmask(SIG_SETMASK, &self->before, NULL);
}

bool helio_terminal_make_raw(helio_terminal_t *self)
{
    if (self->fd < 0 || tcgetattr(self->fd, &self->saved) != 0)
        return false;
    struct termios raw = self->saved;
    cfmakeraw(&raw);
    self->is_raw = tcsetattr(self->fd, TCSADRAIN, &raw) == 0;
    return self->is_raw;
}

bool helio_terminal_size(const helio_terminal_t *self, uint32_t *ret_rows, uint32_t *ret_columns)
{
    struct winsize size;
    if (self->fd < 0 || ioctl(self->fd, TIOCGWINSZ, &size) != 0 || !size.ws_row || !size.ws_col)
        return false;
    *ret_rows = size.ws_row;
    *ret_columns = size.ws_col;
    return true;
}

int helio_terminal_signals(helio_terminal_t *self, bool *ret_resized)
{
    struct signalfd_siginfo one;
    int ends = 0;
    *ret_resized = false;
    while (self->signal_fd >= 0 && read(self->signal_fd, &one, sizeof one) == (ssize_t)sizeof one)
        if (one.ssi_signo == SIGWINCH)
            *ret_resized = true;
        else
            ends = (int)one.ssi_signo;
    return ends;
}
