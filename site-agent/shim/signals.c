/*  signals.c -- the signals that a shim takes, and those that are meant for its job. */
#include "site-agent/shim/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "site-agent/shim/process.h"

void helio_shim_signals(sigset_t *ret_set)
{
    (void)sigemptyset(ret_set);
    (void)sigaddset(ret_set, SIGTERM);
    (void)sigaddset(ret_set, SIGINT);
    (void)sigaddset(ret_set, SIGUSR1);
    (void)sigaddset(ret_set, SIGUSR2);
    (void)sigaddset(ret_set, SIGHUP);
    (void)sigaddset(ret_set, SIGQUIT);
    (void)sigaddset(ret_set, SIGALRM);
    (void)sigaddset(ret_set, SIGCHLD);
}

helio_rc helio_shim_open_signals(int *ret_fd, helio_error_t *err)
{
    sigset_t set;
    helio_shim_signals(&set);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        return helio_fail(err, HELIO_IO, "signalfd: %s", strerror(errno));
    *ret_fd = fd;
    return HELIO_OK;
}

bool helio_shim_is_for_job(const helio_shim_t *self, uint32_t number)
{
    bool rank = self->call->mode == HELIO_SHIM_RANK;
    if (number == SIGUSR2 && !rank)
        return self->call->mode != HELIO_SHIM_LOCAL && faccessat(self->folder, "stop", F_OK, 0) != 0;
    return number == SIGUSR1 || number == SIGUSR2 || number == SIGHUP || number == SIGQUIT || number == SIGALRM;
}

/*  srun gives USR1 and USR2 to its tasks; the others would end it, and any would end an adapter's launcher. */
void helio_shim_hand_on(const helio_shim_t *self, uint32_t number)
{
    bool srun = self->plan.launcher == HELIO_LAUNCHER_SLURM && (number == SIGUSR1 || number == SIGUSR2);
    bool handed_on = !self->head || srun;
    for (uint32_t i = 0; self->call->mode != HELIO_SHIM_LOCAL && handed_on && i < self->ranks.count; i++)
        if (!self->ranks.items[i].ended)
            (void)kill(self->ranks.items[i].leader.pid, (int)number);
}

size_t helio_shim_signal_programs(const helio_shim_t *self, int number, bool only_catchers)
{
    bool contained = self->plan.image.size && helio_process_signal_contained(getpid(), 0, false) > 0;
    return contained ? helio_process_signal_contained(getpid(), number, only_catchers)
                     : helio_process_signal_tree(getpid(), number, only_catchers);
}

/* ---- the file `signals` ------------------------------------------------------------------------------------ */

static void deliver(const helio_shim_t *self, int number, helio_text_t to)
{
    bool script = helio_text_is(to, "script");
    for (uint32_t i = 0; script && i < self->ranks.count; i++)
        if (!self->ranks.items[i].ended)
            (void)kill(self->ranks.items[i].leader.pid, number);
    if (script)
        return;
    if (helio_text_is(to, "all") || helio_shim_signal_programs(self, number, true) == 0)
        (void)helio_shim_signal_programs(self, number, false);
}

/*  "10 script" */
static void obey(const helio_shim_t *self, helio_text_t words)
{
    const char *blank = words.size ? memchr(words.data, ' ', words.size) : NULL;
    uint32_t size = blank ? (uint32_t)(blank - words.data) : 0;
    int64_t number;
    if (size && helio_status_file_number((helio_text_t){words.data, size}, 1, SIGRTMIN - 1, &number))
        deliver(self, (int)number, (helio_text_t){blank + 1, words.size - size - 1});
}

void helio_shim_obey_signals(helio_shim_t *self)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_text_t key, value;
    int64_t number;
    if (self->head || self->phase == HELIO_SHIM_KILLING ||
        helio_status_file_read(self->folder, "signals", HELIO_STATUS_FILE_SIGNALS_MAX, &text, NULL))
        return;
    helio_text_t rest = helio_buffer_view(&text);
    while (helio_status_file_line(&rest, &key, &value))
        if (helio_status_file_number(key, self->signal_seen + 1, INT64_MAX, &number)) {
            self->signal_seen = number;
            obey(self, value);
        }
}
