/*  notify.c -- the loop: what is read goes into the store, and from there to the targets. */
#include "client/notify/notify.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "client/notify/core/reply.h"
#include "client/notify/rounds.h"
#include "client/notify/sender.h"
#include "client/transport/response.h"
#include "federation/base/clock.h"
#include "federation/base/file.h"
#include "federation/base/id.h"

enum {
    CURSOR_MS = 2000, /* at most so much is read again after a kill, if nobody wanted it */
    STATUS_MS = 60000,
    LEAVE_MS = 700, /* for attempts that are under way when the process is to end */
    LINES_A_SECOND = 5
};

typedef struct notify {
    const helio_notify_config_t *config;
    helio_log_t *log;
    helio_notify_store_t *store;
    helio_outbox_t *outbox;
    helio_sender_t *sender;
    helio_intake_t *intake;
    helio_rounds_t *rounds;
    int epoll, signals;
    sigset_t mask; /* before */
    uint64_t stored_last;
    int64_t stored_ms, status_ms;
    bool changed; /* the store, since it was committed */
    uint64_t delivered, retried, failed, dropped;
    helio_log_limit_t retry_lines, drop_lines;
    helio_rc rc; /* the first failure, and why */
    helio_error_t err;
} notify_t;

static const helio_notify_target_t *target_of(const notify_t *self, uint32_t target)
{
    return &self->config->settings.targets.items[target];
}

/* ---- what happened ------------------------------------------------------------------------------------------ */

static uint64_t hash_of(const char *about)
{
    return helio_hash(HELIO_HASH_SEED, about, strlen(about));
}

static helio_rc drop(notify_t *self, uint32_t target, uint64_t number, helio_error_t *err)
{
    uint32_t silent;
    self->dropped++;
    if (helio_log_allowed(&self->drop_lines, LINES_A_SECOND, &silent))
        helio_log(self->log, HELIO_ERROR, "dropped", "target=%.*s delivery=%llu keep=%u more_lines=%u",
                  HELIO_TEXT_ARGS(target_of(self, target)->name), (unsigned long long)number,
                  target_of(self, target)->keep, silent);
    return helio_notify_store_delete(self->store, number, err);
}

static helio_rc put(notify_t *self, uint32_t target, helio_notify_event_t event, const helio_happening_t *happening,
                    helio_error_t *err)
{
    char id[HELIO_MESSAGE_ID_SIZE], name[80];
    uint64_t number = 0;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t message = {0};
    helio_message_id(happening, event, id);
    helio_message_write(happening, event, id, &message);
    (void)helio_text_copy(target_of(self, target)->name, name, sizeof name);
    helio_notify_delivery_t delivery = {.target = name,
                                        .id = id,
                                        .about = happening->about,
                                        .created_wall_ms = helio_clock_wall_ms(),
                                        .message = helio_buffer_view(&message)};
    self->changed = true;
    helio_rc rc = helio_notify_store_add(self->store, &delivery, &number, err);
    if (rc != HELIO_OK || !number)
        return rc;
    uint64_t dropped = helio_outbox_add(self->outbox, target, number, hash_of(happening->about),
                                        helio_clock_boot_ms() + (int64_t)target_of(self, target)->retry_for_ms);
    return dropped ? drop(self, target, dropped, err) : HELIO_OK;
}

/*  A helio_intake_hooks_t. */
static helio_rc on_happening(void *arg, const helio_happening_t *happening, helio_error_t *err)
{
    notify_t *self = arg;
    helio_notify_subject_t subject = helio_happening_subject(happening);
    char id[HELIO_MESSAGE_ID_SIZE];
    bool told = false;
    helio_rc rc = HELIO_OK;
    helio_message_id(happening, happening->event, id);
    if (happening->once)
        rc = helio_notify_store_told(self->store, id, &told, err);
    if (rc != HELIO_OK || told)
        return rc;
    for (uint32_t i = 0; rc == HELIO_OK && i < self->config->settings.targets.count; i++) {
        helio_notify_event_t event;
        if (helio_notify_wants(target_of(self, i), happening->event, &subject, &event))
            rc = put(self, i, event, happening, err);
    }
    if (rc == HELIO_OK && happening->once) {
        self->changed = true;
        rc = helio_notify_store_tell(self->store, id, happening->forget_wall_ms, err);
    }
    return rc;
}

static void on_seen(void *arg, const json_t *transition)
{
    notify_t *self = arg;
    if (strcmp(helio_reply_text(transition, "from"), helio_reply_text(transition, "to")) == 0)
        helio_rounds_forget(self->rounds, helio_reply_text(transition, "id"));
}

/* ---- deliveries --------------------------------------------------------------------------------------------- */

static void note(notify_t *self, helio_rc rc)
{
    if (self->rc == HELIO_OK)
        self->rc = rc;
}

static void give_up(notify_t *self, helio_outbox_attempt_t attempt, const char *event, const char *complaint)
{
    char why[300];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t id = {0}, message = {0};
    helio_error_t err;
    (void)(helio_notify_store_message(self->store, attempt.number, &id, &message, &err) == HELIO_OK);
    self->failed++;
    helio_log(self->log, HELIO_ERROR, event, "target=%.*s id=%s why=%s",
              HELIO_TEXT_ARGS(target_of(self, attempt.target)->name), id.data ? id.data : "-",
              helio_log_quote(helio_text_of(complaint), why, sizeof why));
}

/*  A helio_sender_done_fn. */
static void on_done(void *arg, helio_outbox_attempt_t attempt, const helio_outbox_outcome_t *outcome,
                    const char *complaint)
{
    notify_t *self = arg;
    uint64_t wait_ms;
    uint32_t silent;
    char why[300];
    helio_outbox_verdict_t verdict =
        helio_outbox_settle(self->outbox, attempt, outcome, helio_clock_boot_ms(), &wait_ms);
    switch (verdict) {
    case HELIO_OUTBOX_RETRY:
        self->retried++;
        if (helio_log_allowed(&self->retry_lines, LINES_A_SECOND, &silent))
            helio_log(self->log, HELIO_WARN, "delivery_failed", "target=%.*s again_in_ms=%llu why=%s more_lines=%u",
                      HELIO_TEXT_ARGS(target_of(self, attempt.target)->name), (unsigned long long)wait_ms,
                      helio_log_quote(helio_text_of(complaint), why, sizeof why), silent);
        return;
    case HELIO_OUTBOX_DELIVERED:
        self->delivered++;
        break;
    case HELIO_OUTBOX_REFUSED:
        give_up(self, attempt, "refused", complaint);
        break;
    case HELIO_OUTBOX_TOO_OLD:
        give_up(self, attempt, "given_up", complaint);
        break;
    }
    self->changed = true;
    note(self, helio_notify_store_delete(self->store, attempt.number, &self->err));
}

static void forget_expired(notify_t *self, int64_t now_ms)
{
    helio_outbox_attempt_t expired;
    while (self->rc == HELIO_OK && helio_outbox_expired(self->outbox, now_ms, &expired)) {
        give_up(self, expired, "given_up", "it waited for as long as `retry_for` says");
        self->changed = true;
        note(self, helio_notify_store_delete(self->store, expired.number, &self->err));
    }
}

/*  Only what is on disk is sent. */
static void start_attempts(notify_t *self, int64_t now_ms)
{
    helio_outbox_attempt_t attempt;
    while (self->rc == HELIO_OK && helio_outbox_next(self->outbox, now_ms, &attempt)) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t id = {0}, message = {0};
        note(self, helio_notify_store_message(self->store, attempt.number, &id, &message, &self->err));
        if (self->rc == HELIO_OK)
            helio_sender_start(self->sender, attempt, id.data, helio_buffer_view(&message));
    }
}

static void commit(notify_t *self, int64_t now_ms)
{
    helio_notify_cursor_t cursor = helio_intake_cursor(self->intake);
    bool moved = cursor.known && cursor.last != self->stored_last;
    if (self->rc == HELIO_OK && moved && (self->changed || now_ms >= self->stored_ms + CURSOR_MS)) {
        note(self, helio_notify_store_set_cursor(self->store, &cursor, &self->err));
        self->stored_last = cursor.last;
        self->stored_ms = now_ms;
    }
    if (self->rc == HELIO_OK)
        note(self, helio_notify_store_commit(self->store, &self->err));
    self->changed = false;
}

/* ---- the beginning ------------------------------------------------------------------------------------------ */

typedef struct orphans {
    notify_t *self;
    int64_t boot_ms, wall_ms;
    uint64_t *numbers; /* of deliveries for targets that the file no longer has */
    size_t count;
} orphans_t;

static void on_loaded(void *arg, const helio_notify_delivery_t *delivery)
{
    orphans_t *loading = arg;
    notify_t *self = loading->self;
    uint32_t target = 0, count = self->config->settings.targets.count;
    while (target < count && !helio_text_is(target_of(self, target)->name, delivery->target))
        target++;
    uint64_t unwanted = delivery->number;
    if (target < count) {
        int64_t left_ms = delivery->created_wall_ms + (int64_t)target_of(self, target)->retry_for_ms - loading->wall_ms;
        unwanted = helio_outbox_add(self->outbox, target, delivery->number, hash_of(delivery->about),
                                    loading->boot_ms + left_ms);
    }
    if (unwanted) {
        loading->numbers = helio_grow(loading->numbers, loading->count + 1, sizeof *loading->numbers);
        loading->numbers[loading->count++] = unwanted;
    }
}

static helio_rc load(notify_t *self, helio_error_t *err)
{
    uint32_t count = self->config->settings.targets.count;
    helio_outbox_target_t *targets = helio_new(count ? count : 1, sizeof *targets);
    for (uint32_t i = 0; i < count; i++)
        targets[i].keep = target_of(self, i)->keep;
    self->outbox = helio_outbox_new(targets, count, (uint64_t)helio_clock_wall_ms() ^ ((uint64_t)getpid() << 40));
    free(targets);
    orphans_t loading = {.self = self, .boot_ms = helio_clock_boot_ms(), .wall_ms = helio_clock_wall_ms()};
    helio_rc rc = helio_notify_store_load(self->store, on_loaded, &loading, err);
    for (size_t i = 0; rc == HELIO_OK && i < loading.count; i++)
        rc = helio_notify_store_delete(self->store, loading.numbers[i], err);
    if (loading.count) {
        self->dropped += loading.count;
        helio_log(self->log, HELIO_ERROR, "dropped",
                  "deliveries=%zu why=\"their target is gone from the file, or keeps fewer\"", loading.count);
    }
    free(loading.numbers);
    return rc == HELIO_OK ? helio_notify_store_commit(self->store, err) : rc;
}

static helio_rc watch(const notify_t *self, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return fd >= 0 && epoll_ctl(self->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? HELIO_OK : HELIO_IO;
}

static helio_rc begin(notify_t *self, const helio_client_t *client, helio_error_t *err)
{
    helio_notify_cursor_t cursor = {0};
    sigset_t ends;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &ends, &self->mask);
    self->signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    helio_rc rc = helio_notify_store_open(self->config->state, helio_clock_wall_ms(), &self->store, err);
    rc = rc == HELIO_OK ? load(self, err) : rc;
    rc = rc == HELIO_OK ? helio_notify_store_cursor(self->store, &cursor, err) : rc;
    rc = rc == HELIO_OK ? helio_sender_new(self->config, client->io->environment, on_done, self, &self->sender, err)
                        : rc;
    if (rc != HELIO_OK)
        return rc;
    if (watch(self, self->signals) != HELIO_OK || watch(self, helio_sender_fd(self->sender)) != HELIO_OK)
        return helio_fail(err, HELIO_IO, "epoll: %s", strerror(errno));
    helio_intake_hooks_t hooks = {.arg = self, .take = on_happening, .seen = on_seen};
    self->rounds = helio_rounds_new(client->remote, &self->config->settings, &hooks);
    self->intake = helio_intake_new(client->remote, &self->config->settings, &cursor, &hooks, self->log);
    self->stored_last = cursor.known ? cursor.last : UINT64_MAX;
    self->status_ms = helio_clock_boot_ms() + STATUS_MS;
    return HELIO_OK;
}

static void end(notify_t *self)
{
    helio_intake_destroy(&self->intake);
    helio_rounds_destroy(&self->rounds);
    helio_sender_destroy(&self->sender);
    helio_outbox_destroy(&self->outbox);
    helio_notify_store_close(&self->store);
    helio_close(&self->epoll);
    helio_close(&self->signals);
    (void)sigprocmask(SIG_SETMASK, &self->mask, NULL);
    helio_log_destroy(&self->log);
}

/* ---- the loop ----------------------------------------------------------------------------------------------- */

static void log_status(const notify_t *self)
{
    uint64_t waiting = 0;
    for (uint32_t i = 0; i < self->config->settings.targets.count; i++)
        waiting += helio_outbox_waiting(self->outbox, i);
    helio_log(self->log, HELIO_INFO, "status",
              "delivered=%llu waiting=%llu retried=%llu failed=%llu dropped=%llu event=%llu",
              (unsigned long long)self->delivered, (unsigned long long)waiting, (unsigned long long)self->retried,
              (unsigned long long)self->failed, (unsigned long long)self->dropped,
              (unsigned long long)helio_intake_cursor(self->intake).last);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static uint32_t wait_of(const notify_t *self, int64_t now_ms)
{
    int64_t due_ms = least(helio_intake_due_ms(self->intake), helio_rounds_due_ms(self->rounds));
    due_ms = least(due_ms, least(helio_outbox_due_ms(self->outbox), helio_sender_next_ms(self->sender)));
    due_ms = least(due_ms, self->status_ms);
    if (self->changed)
        return 0;
    helio_notify_cursor_t cursor = helio_intake_cursor(self->intake);
    if (cursor.known && cursor.last != self->stored_last)
        due_ms = least(due_ms, self->stored_ms + CURSOR_MS);
    return due_ms <= now_ms ? 0 : (uint32_t)least(due_ms - now_ms, STATUS_MS);
}

static bool is_to_end(const notify_t *self)
{
    struct signalfd_siginfo signal;
    return read(self->signals, &signal, sizeof signal) == (ssize_t)sizeof signal;
}

static void turn(notify_t *self)
{
    int64_t now_ms = helio_clock_boot_ms();
    note(self, helio_intake_turn(self->intake, now_ms, &self->err));
    if (self->rc == HELIO_OK)
        note(self, helio_rounds_turn(self->rounds, now_ms, &self->err));
    forget_expired(self, now_ms);
    commit(self, now_ms);
    start_attempts(self, now_ms);
    helio_sender_process(self->sender, now_ms);
    if (now_ms >= self->status_ms) {
        log_status(self);
        self->status_ms = now_ms + STATUS_MS;
    }
}

/*  Until a transfer of the remote has something, the descriptor is readable, or the time is over. */
static void wait_for(helio_remote_t *remote, int fd, uint32_t timeout_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    helio_remote_pump_with(remote, timeout_ms, &ready, 1);
}

/*  What was delivered in these moments need not be sent again. */
static void leave(notify_t *self, helio_remote_t *remote)
{
    int64_t end_ms = helio_clock_boot_ms() + LEAVE_MS, now_ms;
    while (self->rc == HELIO_OK && helio_sender_under_way(self->sender) && (now_ms = helio_clock_boot_ms()) < end_ms) {
        int64_t due_ms = least(helio_sender_next_ms(self->sender), end_ms);
        wait_for(remote, helio_sender_fd(self->sender), due_ms > now_ms ? (uint32_t)(due_ms - now_ms) : 0);
        helio_sender_process(self->sender, helio_clock_boot_ms());
    }
    self->changed = true;
    commit(self, helio_clock_boot_ms());
    log_status(self);
}

int helio_notify_run(const helio_client_t *client, const helio_notify_config_t *config)
{
    notify_t self = {.config = config, .epoll = -1, .signals = -1};
    self.log = helio_log_new(fileno(client->io->err), HELIO_INFO, "helio notify");
    self.rc = begin(&self, client, &self.err);
    if (self.rc == HELIO_OK)
        helio_log(self.log, HELIO_INFO, "started", "targets=%u broker=%s", config->settings.targets.count,
                  helio_remote_broker(client->remote, 1));
    while (self.rc == HELIO_OK && !is_to_end(&self)) {
        turn(&self);
        if (self.rc == HELIO_OK)
            wait_for(client->remote, self.epoll, wait_of(&self, helio_clock_boot_ms()));
    }
    if (self.rc == HELIO_OK)
        leave(&self, client->remote);
    int code = HELIO_EXIT_OK;
    if (self.rc == HELIO_FORBIDDEN) {
        const helio_stream_t *refusal = helio_intake_refusal(self.intake);
        code = helio_response_print_error(client, helio_stream_status(refusal), helio_stream_problem(refusal), 0);
    } else if (self.rc != HELIO_OK) {
        code = helio_client_fail(client, HELIO_EXIT_FAILURE, "%s", self.err.text);
    }
    end(&self);
    return code;
}
