/*  screen.c -- frames on a terminal: its modes, the width of lines, keys and signals. */
#include "client/commands/screen.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "federation/base/clock.h"

struct helio_screen {
    const helio_client_io_t *io;
    bool live;
    bool entered;
    struct termios before; /* of the input */
    bool has_before;
    sigset_t taken, blocked_before;
    int signal_fd;
    int interrupts;
};

/*  ---- the terminal ------------------------------------------------------------------------------------------- */

static void enter(helio_screen_t *self)
{
    struct termios keys;
    int in = fileno(self->io->in);
    self->has_before = tcgetattr(in, &self->before) == 0;
    if (self->has_before) {
        keys = self->before;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        keys.c_cc[VMIN] = 0;
        keys.c_cc[VTIME] = 0;
        (void)tcsetattr(in, TCSANOW, &keys);
    }
    fputs("\033[?1049h\033[?25l\033[H\033[2J", self->io->out); /* alternate screen, no cursor */
    (void)fflush(self->io->out);
    self->entered = true;
}

static void leave(helio_screen_t *self)
{
    if (!self->entered)
        return;
    fputs("\033[0m\033[?25h\033[?1049l", self->io->out);
    (void)fflush(self->io->out);
    if (self->has_before)
        (void)tcsetattr(fileno(self->io->in), TCSANOW, &self->before);
    self->entered = false;
}

helio_screen_t *helio_screen_new(const helio_client_io_t *io, bool live)
{
    static const int signals[] = {SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
    helio_screen_t *self = helio_new(1, sizeof *self);
    self->io = io;
    self->live = live;
    self->signal_fd = -1;
    self->interrupts = helio_client_interrupts(io);
    if (!live)
        return self;
    (void)sigemptyset(&self->taken);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        (void)sigaddset(&self->taken, signals[i]);
    (void)sigprocmask(SIG_BLOCK, &self->taken, &self->blocked_before);
    self->signal_fd = signalfd(-1, &self->taken, SFD_CLOEXEC | SFD_NONBLOCK);
    enter(self);
    return self;
}

void helio_screen_destroy(helio_screen_t **self_p)
{
    helio_screen_t *self = *self_p;
    if (!self)
        return;
    leave(self);
    if (self->live)
        (void)sigprocmask(SIG_SETMASK, &self->blocked_before, NULL);
    if (self->signal_fd >= 0)
        (void)close(self->signal_fd);
    free(self);
    *self_p = NULL;
}

helio_screen_size_t helio_screen_size(const helio_screen_t *self)
{
    struct winsize size;
    if (!self->io->out_tty || ioctl(fileno(self->io->out), TIOCGWINSZ, &size) != 0)
        return (helio_screen_size_t){0};
    return (helio_screen_size_t){size.ws_col, self->live ? size.ws_row : 0};
}

/*  ---- frames ------------------------------------------------------------------------------------------------- */

/*  The size of the escape sequence or character at the start of the text, in bytes and in columns. */
static size_t piece_of(const char *at, uint32_t *ret_columns)
{
    *ret_columns = 0;
    if (at[0] == '\033' && at[1] == '[') {
        size_t size = 2 + strspn(at + 2, "0123456789;?");
        return at[size] ? size + 1 : size;
    }
    wchar_t c;
    mbstate_t state = {0};
    size_t size = mbrtowc(&c, at, strlen(at), &state);
    if (size == 0 || size > 4) {
        *ret_columns = 1;
        return 1;
    }
    int columns = wcwidth(c);
    *ret_columns = columns > 0 ? (uint32_t)columns : 0;
    return size;
}

const char *helio_screen_cut(const char *line, uint32_t width, helio_buffer_t *out)
{
    uint32_t used = 0, columns;
    while (*line && *line != '\n') {
        size_t size = piece_of(line, &columns);
        if (!width || !columns || used + columns <= width)
            helio_buffer_append(out, line, size);
        used += columns;
        line += size;
    }
    return *line ? line + 1 : line;
}

helio_rc helio_screen_show(helio_screen_t *self, const char *text)
{
    helio_screen_size_t size = helio_screen_size(self);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    uint32_t lines = 0;
    helio_buffer_text(&out, self->live ? "\033[H" : "");
    while (*text && (!size.height || lines < size.height)) {
        helio_buffer_text(&out, lines++ && self->live ? "\r\n" : "");
        text = helio_screen_cut(text, size.width, &out);
        helio_buffer_text(&out, self->live ? "\033[0m\033[K" : "\n"); /* in place: clearing the screen would flicker */
    }
    helio_buffer_text(&out, self->live ? "\033[J" : "");
    fwrite(out.data, 1, out.size, self->io->out);
    return fflush(self->io->out) == 0 ? HELIO_OK : HELIO_IO;
}

/*  ---- keys and signals --------------------------------------------------------------------------------------- */

/*  Lets the signal end or stop the program as it would without a screen. Returns when the program is continued. */
static void suffer(helio_screen_t *self, int signal_number)
{
    sigset_t one;
    leave(self);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, signal_number);
    (void)raise(signal_number);
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL);
    (void)sigprocmask(SIG_BLOCK, &one, NULL);
    enter(self);
}

static bool take_signals(helio_screen_t *self)
{
    struct signalfd_siginfo info;
    bool any = false;
    while (read(self->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        any = true;
        if ((int)info.ssi_signo != SIGWINCH)
            suffer(self, (int)info.ssi_signo);
    }
    return any;
}

/*  q quits and the space bar refreshes. All other keys do nothing, including those that send several bytes. */
static bool take_keys(helio_screen_t *self, helio_screen_event_t *ret_event)
{
    char keys[64];
    ssize_t count = read(fileno(self->io->in), keys, sizeof keys);
    bool taken = count <= 0;
    *ret_event = HELIO_SCREEN_QUIT; /* the end of input */
    for (ssize_t i = 0; i < count && keys[0] != '\033' && !taken; i++) {
        taken = keys[i] == 'q' || keys[i] == 'Q' || keys[i] == ' ' || keys[i] == '\n';
        *ret_event = keys[i] == 'q' || keys[i] == 'Q' ? HELIO_SCREEN_QUIT : HELIO_SCREEN_REFRESH;
    }
    return taken;
}

helio_screen_event_t helio_screen_wait(helio_screen_t *self, uint32_t ms)
{
    int64_t until_ms = helio_clock_boot_ms() + ms;
    for (;;) {
        int64_t left_ms = until_ms - helio_clock_boot_ms();
        if (helio_client_interrupts(self->io) != self->interrupts)
            return HELIO_SCREEN_QUIT;
        if (left_ms <= 0)
            return HELIO_SCREEN_REFRESH;
        struct pollfd fds[] = {{.fd = fileno(self->io->in), .events = POLLIN},
                               {.fd = self->signal_fd, .events = POLLIN},
                               {.fd = self->io->interrupt_fd, .events = POLLIN}};
        if (poll(fds, 3, (int)left_ms) <= 0)
            continue;
        helio_screen_event_t event;
        if (fds[1].revents && take_signals(self))
            return HELIO_SCREEN_RESIZED;
        if (fds[0].revents && take_keys(self, &event))
            return event;
    }
}
