/*  sender.c -- starts attempts and hears of their ends. */
#include "client/notify/sender.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "client/notify/command.h"
#include "client/notify/core/happening.h"
#include "federation/base/clock.h"
#include "federation/base/file.h"
#include "federation/fetch/fetch.h"

enum { ANSWER_MAX = 1 << 16, EVENTS_MAX = 16, SHA256_SIZE = 32 };

typedef struct attempt {
    struct attempt *next;
    helio_sender_t *sender;
    helio_outbox_attempt_t of;
    helio_notify_child_t child; /* of a command */
    bool by_command;
    bool over;
    helio_outbox_outcome_t outcome;
    char complaint[256];
} attempt_t;

struct helio_sender {
    const helio_notify_config_t *config;
    char *const *environment;
    helio_sender_done_fn *done;
    void *arg;
    helio_fetcher_t *fetcher;
    int epoll;
    attempt_t *attempts;
};

/* ---- requests ----------------------------------------------------------------------------------------------- */

void helio_sender_sign(helio_text_t secret, const char *id, int64_t wall_s, helio_text_t body, helio_buffer_t *out)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t content = {0};
    unsigned char mac[SHA256_SIZE], text[SHA256_SIZE / 3 * 4 + 8];
    unsigned size = sizeof mac;
    helio_buffer_printf(&content, "%s.%lld.", id, (long long)wall_s);
    helio_buffer_append(&content, body.data, body.size);
    if (!HMAC(EVP_sha256(), secret.data, (int)secret.size, (const unsigned char *)content.data, content.size, mac,
              &size))
        abort();
    (void)EVP_EncodeBlock(text, mac, (int)size);
    helio_buffer_printf(out, "v1,%s", (const char *)text);
}

static void on_answer(void *arg, const helio_fetch_result_t *result)
{
    attempt_t *attempt = arg;
    attempt->over = true;
    /* a status without the rest of the answer is one all the same: what it says was said */
    attempt->outcome = (helio_outbox_outcome_t){
        .answered = result->status >= 200, .status = result->status, .retry_after_ms = result->retry_after_ms};
    if (result->status < 200 || result->status >= 300)
        (void)snprintf(attempt->complaint, sizeof attempt->complaint, "%s", result->complaint);
}

static void post(helio_sender_t *self, attempt_t *attempt, const char *id, helio_text_t body)
{
    const helio_notify_way_t *way = &self->config->ways[attempt->of.target];
    int64_t wall_s = helio_clock_wall_ms() / 1000;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t id_line = {0}, time_line = {0}, signature = {0};
    helio_buffer_printf(&id_line, "webhook-id: %s", id);
    helio_buffer_printf(&time_line, "webhook-timestamp: %lld", (long long)wall_s);
    helio_buffer_text(&signature, "webhook-signature: ");
    if (way->secret.size)
        helio_sender_sign(way->secret, id, wall_s, body, &signature);
    const char *headers[] = {"Content-Type: application/json",         "Expect:", id_line.data, time_line.data,
                             way->secret.size ? signature.data : NULL, NULL};
    helio_fetch_tls_t tls = {.ca_path = way->ca_file};
    helio_fetch_t fetch = {.url = way->url,
                           .headers = headers,
                           .user_agent = "helio/" HELIO_PROGRAM_VERSION,
                           .method = "POST",
                           .body = body,
                           .tls = way->ca_file[0] ? &tls : NULL,
                           .timeout_ms = self->config->settings.targets.items[attempt->of.target].timeout_ms,
                           .max_bytes = ANSWER_MAX,
                           .done = on_answer,
                           .arg = attempt};
    helio_error_t err = {0};
    if (helio_fetcher_get(self->fetcher, &fetch, &err) != HELIO_OK) {
        attempt->over = true;
        (void)snprintf(attempt->complaint, sizeof attempt->complaint, "%.255s", err.text);
    }
}

/* ---- commands ----------------------------------------------------------------------------------------------- */

static void run(helio_sender_t *self, attempt_t *attempt, const char *id, helio_text_t message, helio_text_t body)
{
    const helio_notify_way_t *way = &self->config->ways[attempt->of.target];
    int64_t end_ms =
        helio_clock_boot_ms() + (int64_t)self->config->settings.targets.items[attempt->of.target].timeout_ms;
    helio_error_t err = {0};
    attempt->by_command = true;
    helio_rc rc =
        helio_notify_child_start(way->argv, self->environment, id, message, body, end_ms, &attempt->child, &err);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = attempt};
    if (rc == HELIO_OK && epoll_ctl(self->epoll, EPOLL_CTL_ADD, attempt->child.pidfd, &event) != 0) {
        helio_notify_child_kill(&attempt->child);
        rc = helio_fail(&err, HELIO_IO, "%s", strerror(errno));
    }
    if (rc != HELIO_OK) {
        attempt->over = true;
        (void)snprintf(attempt->complaint, sizeof attempt->complaint, "%.255s", err.text);
    }
}

static void look_at_child(attempt_t *attempt, int64_t now_boot_ms)
{
    bool late = now_boot_ms >= attempt->child.end_ms;
    int status;
    if (!helio_notify_child_ended(&attempt->child, &status)) {
        if (!late)
            return;
        helio_notify_child_kill(&attempt->child);
        (void)snprintf(attempt->complaint, sizeof attempt->complaint, "the command took too long and was killed");
    } else if (status != 0) {
        (void)snprintf(attempt->complaint, sizeof attempt->complaint,
                       status > 128 ? "the command was ended by signal %d" : "the command exited with %d",
                       status > 128 ? status - 128 : status);
    }
    attempt->over = true;
    attempt->outcome = (helio_outbox_outcome_t){.answered = !attempt->complaint[0], .by_command = true};
}

/* ---- the sender --------------------------------------------------------------------------------------------- */

helio_rc helio_sender_new(const helio_notify_config_t *config, char *const *environment, helio_sender_done_fn *done,
                          void *arg, helio_sender_t **ret_sender, helio_error_t *err)
{
    helio_sender_t *self = helio_new(1, sizeof *self);
    *self = (helio_sender_t){.config = config, .environment = environment, .done = done, .arg = arg};
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    helio_rc rc = helio_fetcher_new(&self->fetcher, err);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (rc == HELIO_OK &&
        (self->epoll < 0 || epoll_ctl(self->epoll, EPOLL_CTL_ADD, helio_fetcher_fd(self->fetcher), &event) != 0))
        rc = helio_fail(err, HELIO_IO, "epoll: %s", strerror(errno));
    if (rc != HELIO_OK) {
        helio_sender_destroy(&self);
        return rc;
    }
    *ret_sender = self;
    return HELIO_OK;
}

void helio_sender_destroy(helio_sender_t **self_p)
{
    helio_sender_t *self = *self_p;
    if (!self)
        return;
    helio_fetcher_destroy(&self->fetcher);
    while (self->attempts) {
        attempt_t *attempt = self->attempts;
        self->attempts = attempt->next;
        if (attempt->by_command && !attempt->over)
            helio_notify_child_kill(&attempt->child);
        free(attempt);
    }
    helio_close(&self->epoll);
    free(self);
    *self_p = NULL;
}

void helio_sender_start(helio_sender_t *self, helio_outbox_attempt_t of, const char *id, helio_text_t message)
{
    attempt_t *attempt = helio_new(1, sizeof *attempt);
    const helio_notify_target_t *target = &self->config->settings.targets.items[of.target];
    *attempt = (attempt_t){.next = self->attempts, .sender = self, .of = of, .child = {.pidfd = -1}};
    self->attempts = attempt;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t body = {0};
    helio_message_format(message, (helio_notify_format_t)target->format, &body);
    if (self->config->ways[of.target].argv)
        run(self, attempt, id, message, helio_buffer_view(&body));
    else
        post(self, attempt, id, helio_buffer_view(&body));
}

int helio_sender_fd(const helio_sender_t *self)
{
    return self->epoll;
}

int64_t helio_sender_next_ms(const helio_sender_t *self)
{
    int64_t next_ms = helio_fetcher_next_ms(self->fetcher);
    for (const attempt_t *at = self->attempts; at; at = at->next) {
        if (at->over)
            return 0;
        if (at->by_command && at->child.end_ms < next_ms)
            next_ms = at->child.end_ms;
    }
    return next_ms;
}

void helio_sender_process(helio_sender_t *self, int64_t now_boot_ms)
{
    helio_fetcher_process(self->fetcher, now_boot_ms);
    for (attempt_t *at = self->attempts; at; at = at->next)
        if (at->by_command && !at->over)
            look_at_child(at, now_boot_ms);
    for (attempt_t **link = &self->attempts; *link;) {
        attempt_t *at = *link;
        if (!at->over) {
            link = &at->next;
            continue;
        }
        *link = at->next;
        self->done(self->arg, at->of, &at->outcome, at->complaint);
        free(at);
    }
}

uint32_t helio_sender_under_way(const helio_sender_t *self)
{
    uint32_t count = 0;
    for (const attempt_t *at = self->attempts; at; at = at->next)
        count++;
    return count;
}
