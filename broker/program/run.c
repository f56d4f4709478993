/*  run.c -- `helio-broker run`: creates the actors, starts them, runs the engine until a signal or its own end, and
 *  stops them in reverse order. */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "broker/http/http.h"
#include "broker/program/commands.h"
#include "federation/base/process.h"

typedef struct broker {
    helio_log_t *log;
    helio_engine_t *engine;
    helio_reader_t *reader;
    helio_forwarder_t *forwarder;
    helio_retention_worker_t *retention_worker;
    helio_http_t *http;
    pthread_t watcher; /* waits for signals */
    int done_fd;       /* readable once the engine's run has returned */
    int signal_fd;
    helio_rc rc; /* of run */
    helio_error_t err;
} broker_t;

/*  Sends one datagram to the supervisor (sd_notify's protocol); does nothing without one. */
static void notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, strlen(path));
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* an address in the abstract namespace */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    ssize_t sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address, size);
    (void)sent; /* best effort */
    (void)close(fd);
}

static void destroy(broker_t *self)
{
    helio_retention_destroy(&self->retention_worker);
    helio_engine_destroy(&self->engine);
    helio_reader_destroy(&self->reader);
    helio_forwarder_destroy(&self->forwarder);
    helio_http_destroy(&self->http);
    helio_log_destroy(&self->log);
    if (self->done_fd >= 0)
        (void)close(self->done_fd);
    if (self->signal_fd >= 0)
        (void)close(self->signal_fd);
}

/*  Waits for TERM, INT or the engine's own end. A second signal ends the process at once. */
static void wait_for_the_end(broker_t *self)
{
    struct pollfd fds[] = {{self->done_fd, POLLIN, 0}, {self->signal_fd, POLLIN, 0}};
    bool asked = false;
    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return;
        if (fds[0].revents)
            return;
        struct signalfd_siginfo info;
        if (!fds[1].revents || read(self->signal_fd, &info, sizeof info) != (ssize_t)sizeof info)
            continue;
        if (info.ssi_signo == SIGHUP)
            continue; /* settings are read at the start only */
        if (asked)
            _exit(1);
        asked = true;
        helio_log(self->log, HELIO_INFO, "stopping", "signal=%u", info.ssi_signo);
        notify("STOPPING=1\nSTATUS=waiting for the last commit");
        helio_engine_stop(self->engine);
    }
}

static void *watcher_thread(void *arg)
{
    wait_for_the_end(arg);
    return NULL;
}

static void on_retention_trouble(void *arg, const char *line)
{
    broker_t *self = arg;
    char text[600];
    helio_log(self->log, HELIO_WARN, "retention_failed", "why=%s",
              helio_log_quote(helio_text_of(line), text, sizeof text));
}

static bool make(broker_t *self, const helio_settings_t *settings, const sigset_t *signals)
{
    self->log = helio_log_new(STDERR_FILENO, (helio_level_t)settings->log_level, "helio-broker");
    self->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    self->signal_fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (self->done_fd < 0 || self->signal_fd < 0) {
        self->rc = helio_fail(&self->err, HELIO_IO, "no file descriptors: %s", strerror(errno));
        return false;
    }
    helio_http_options_t http = {.listen = settings->listen_http.data,
                                 .metrics = settings->metrics,
                                 .connections_max = settings->connections_max,
                                 .per_address_max = settings->connections_per_address_max};
    self->http = helio_http_new(&http, self->log);
    helio_engine_options_t engine = helio_settings_engine(settings);
    self->engine = helio_engine_new(&engine, helio_http_listener(self->http), self->log);
    self->reader = helio_reader_new(settings->database.data, settings->readers);
    self->retention_worker =
        helio_retention_new(settings->database.data, &settings->retention, on_retention_trouble, self);
    self->rc = helio_forwarder_new(&self->forwarder, &self->err);
    if (self->rc == HELIO_OK)
        self->rc =
            helio_http_start(self->http, helio_http_ports(self->engine, self->reader, self->forwarder), &self->err);
    return self->rc == HELIO_OK;
}

/*  The engine runs on the main thread: only the main heap grows in the steps of keep_memory. The heap of another thread
 *  asks the kernel for a few pages at a time. */
static int live(broker_t *self)
{
    if (pthread_create(&self->watcher, NULL, watcher_thread, self) != 0) {
        self->rc = helio_fail(&self->err, HELIO_IO, "cannot start a thread");
        helio_http_stop(self->http);
        return helio_print_error(&self->err);
    }
    notify("READY=1\nSTATUS=serving");
    self->rc = helio_engine_run(self->engine, &self->err);
    uint64_t one = 1;
    ssize_t written = write(self->done_fd, &one, sizeof one);
    (void)written;
    (void)pthread_join(self->watcher, NULL);
    /* After the engine: a request that waits for a commit gets its result, and not a 503. */
    helio_http_stop(self->http);
    if (self->rc != HELIO_OK)
        return helio_print_error(&self->err);
    helio_log(self->log, HELIO_INFO, "stopped", "why=asked");
    return 0;
}

/*  A submission of thousands of jobs takes and frees megabytes. The kernel clears the pages that glibc returned to it
 *  one by one before the next use, and a thread's heap grows by a few pages a call: together they cost a busy broker a
 *  tenth of its engine's time. The third setting preserves what the other two would switch off. */
static void keep_memory(void)
{
    enum { STEP = 1 << 20, KEPT_MAX = 64 << 20, ALONE_MIN = 32 << 20 };
    (void)mallopt(M_TOP_PAD, STEP);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_MAX);
    (void)mallopt(M_MMAP_THRESHOLD, ALONE_MIN);
}

/*  A site's connection takes four descriptors; shells and systemd set the soft limit to 1024, far below the hard one.
 *  Nothing here uses select (), the only call that descriptors above 1024 break. */
static void allow_descriptors(void)
{
    enum { ENOUGH = 65536 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= ENOUGH)
        return;
    limit.rlim_cur = limit.rlim_max < ENOUGH ? limit.rlim_max : ENOUGH;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int helio_command_run(const helio_arguments_t *arguments)
{
    helio_process_hide_memory();
    keep_memory();
    allow_descriptors();
    /* Before any library starts a thread: threads inherit this mask, so signals arrive at the descriptor only. */
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);

    helio_arena_t *arena = helio_arena_new();
    helio_settings_t settings;
    helio_error_t err = {0};
    int code = 1;
    if (helio_settings_load(arguments, arena, &settings, &err) != HELIO_OK) {
        (void)helio_print_error(&err);
    } else {
        broker_t broker = {.done_fd = -1, .signal_fd = -1};
        code = make(&broker, &settings, &signals) ? live(&broker) : helio_print_error(&broker.err);
        destroy(&broker);
    }
    helio_arena_destroy(&arena);
    return code;
}
