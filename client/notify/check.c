/*  check.c -- `helio notify --check`: a test for each target, and what came of it. */
#include <poll.h>
#include <stdlib.h>

#include "client/notify/core/happening.h"
#include "client/notify/notify.h"
#include "client/notify/sender.h"
#include "client/notify/store.h"
#include "federation/base/clock.h"

typedef struct check {
    const helio_client_t *client;
    const helio_notify_config_t *config;
    uint32_t failed;
} check_t;

static void print(const check_t *self, helio_text_t name, const char *what)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
    helio_safe_text(what, false, &safe);
    fprintf(self->client->io->out, "%-20.*s  %s\n", HELIO_TEXT_ARGS(name), safe.data ? safe.data : "");
}

/*  A helio_sender_done_fn. */
static void on_done(void *arg, helio_outbox_attempt_t attempt, const helio_outbox_outcome_t *outcome,
                    const char *complaint)
{
    check_t *self = arg;
    helio_text_t name = self->config->settings.targets.items[attempt.target].name;
    bool delivered = helio_outbox_judge(outcome) == HELIO_OUTBOX_DELIVERED;
    self->failed += !delivered;
    print(self, name, delivered ? "the test was delivered" : complaint);
}

static void start(helio_sender_t *sender, const helio_notify_config_t *config, uint32_t target)
{
    char name[80], id[HELIO_MESSAGE_ID_SIZE];
    helio_happening_t happening;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t message = {0};
    (void)helio_text_copy(config->settings.targets.items[target].name, name, sizeof name);
    helio_happening_test(name, helio_clock_wall_ms(), &happening);
    helio_message_id(&happening, HELIO_NOTIFY_TEST, id);
    helio_message_write(&happening, HELIO_NOTIFY_TEST, id, &message);
    helio_sender_start(sender, (helio_outbox_attempt_t){.target = target, .number = target + 1}, id,
                       helio_buffer_view(&message));
}

/*  A service that runs holds it, and has opened it then. */
static bool check_state(const check_t *self)
{
    helio_notify_store_t *store = NULL;
    helio_error_t err = {0};
    helio_rc rc = helio_notify_store_open(self->config->state, helio_clock_wall_ms(), &store, &err);
    helio_notify_store_close(&store);
    bool good = rc == HELIO_OK || rc == HELIO_BUSY;
    print(self, HELIO_TEXT("state"), rc == HELIO_OK ? "can be written" : err.text);
    return good;
}

int helio_notify_check(const helio_client_t *client, const helio_notify_config_t *config)
{
    check_t self = {.client = client, .config = config};
    helio_sender_t *sender = NULL;
    helio_error_t err = {0};
    self.failed += !check_state(&self);
    if (helio_sender_new(config, client->io->environment, on_done, &self, &sender, &err) != HELIO_OK)
        return helio_client_fail(client, HELIO_EXIT_OWN, "%s", err.text);
    for (uint32_t i = 0; i < config->settings.targets.count; i++)
        start(sender, config, i);
    int interrupts = helio_client_interrupts(client->io);
    while (helio_sender_under_way(sender) && helio_client_interrupts(client->io) == interrupts) {
        int64_t wait_ms = helio_sender_next_ms(sender) - helio_clock_boot_ms();
        struct pollfd event = {.fd = helio_sender_fd(sender), .events = POLLIN};
        (void)poll(&event, 1, wait_ms < 0 ? 0 : wait_ms > 1000 ? 1000 : (int)wait_ms);
        helio_sender_process(sender, helio_clock_boot_ms());
    }
    bool whole = !helio_sender_under_way(sender);
    helio_sender_destroy(&sender);
    if (!whole)
        return HELIO_EXIT_INTERRUPTED;
    return self.failed ? HELIO_EXIT_FAILURE : HELIO_EXIT_OK;
}
