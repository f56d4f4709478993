/*  engine_testing.h -- a broker in a thread over a real PostgreSQL, its callers, and a site that speaks the protocol by
 *  hand through a real socket. */
#ifndef HELIO_TESTS_BROKER_ENGINE_ENGINE_TESTING_H
#define HELIO_TESTS_BROKER_ENGINE_ENGINE_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/engine/engine.h"
#include "broker/engine/recorder.h"
#include "federation/base/clock.h"
#include "federation/net/curve.h"
#include "federation/net/dialer.h"
#include "federation/spec/spec.h"
#include "federation/wire/codec.h"
#include "federation/wire/messages.h"
#include "tests/support/pg_fixture.h"

enum { PATIENCE_MS = 20000 };

typedef struct broker {
    char folder[64];
    char key_path[96];
    char record_path[96];
    char endpoint[64];
    const char *conninfo;
    helio_keypair_t pair;
    helio_log_t *log;        /* NULL = nothing is logged */
    uint32_t batch_rows_max; /* 0 = the default */
    helio_engine_t *engine;
    pthread_t thread;
    helio_rc rc;
    helio_error_t err;
    _Atomic uint32_t transitions;
    _Atomic uint32_t tokens;
} broker_t;

static inline void on_transition(void *arg, const helio_row_transition_t *transition)
{
    broker_t *broker = arg;
    assert_true(transition->seq > 0);
    broker->transitions++;
}

static inline void on_token(void *arg, const helio_row_token_t *token)
{
    broker_t *broker = arg;
    assert_int_equal(token->hash.size, 32);
    broker->tokens++;
}

static inline void *run(void *arg)
{
    broker_t *broker = arg;
    broker->rc = helio_engine_run(broker->engine, &broker->err);
    return NULL;
}

static inline void prepare(broker_t *broker, const char *conninfo, uint16_t port)
{
    *broker = (broker_t){.conninfo = conninfo};
    (void)snprintf(broker->folder, sizeof broker->folder, "/tmp/helio-engine-XXXXXX");
    assert_non_null(mkdtemp(broker->folder));
    (void)snprintf(broker->key_path, sizeof broker->key_path, "%s/key", broker->folder);
    (void)snprintf(broker->record_path, sizeof broker->record_path, "%s/record", broker->folder);
    (void)snprintf(broker->endpoint, sizeof broker->endpoint, "tcp://127.0.0.1:%u", port);
    assert_int_equal(helio_keypair_new(&broker->pair, NULL), HELIO_OK);
    assert_int_equal(helio_keypair_save(&broker->pair, broker->key_path, NULL), HELIO_OK);
}

static inline void start(broker_t *broker)
{
    helio_engine_options_t options = {.core = helio_broker_options_default(),
                                      .store = {.conninfo = broker->conninfo, .commit_deadline_ms = 2000},
                                      .endpoint = broker->endpoint,
                                      .secret_key_path = broker->key_path,
                                      .record_path = broker->record_path,
                                      .batch_rows_max = broker->batch_rows_max};
    helio_engine_listener_t listener = {.on_transition = on_transition, .on_token = on_token, .arg = broker};
    broker->engine = helio_engine_new(&options, listener, broker->log);
    assert_int_equal(pthread_create(&broker->thread, NULL, run, broker), 0);
}

static inline helio_rc join(broker_t *broker)
{
    assert_int_equal(pthread_join(broker->thread, NULL), 0);
    helio_engine_destroy(&broker->engine);
    return broker->rc;
}

static inline void stop(broker_t *broker)
{
    helio_engine_stop(broker->engine);
    if (join(broker) != HELIO_OK)
        fail_msg("run ended with %s: %s", helio_rc_name(broker->rc), broker->err.text);
}

static inline void clean(broker_t *broker)
{
    (void)unlink(broker->key_path);
    (void)unlink(broker->record_path);
    assert_int_equal(rmdir(broker->folder), 0);
}

static inline bool is_free(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    bool yes = bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    (void)close(fd);
    return yes;
}

/*  Two adjacent ports that are free: an engine binds before a test could ask it which port it picked. No other test
 *  uses the range (tests/faults/federation.py), which lies below the ports that the kernel gives to outgoing
 *  connections. */
static inline uint16_t next_port(void **state)
{
    (void)state;
    uint32_t at = (uint32_t)(getpid() * 7 + helio_clock_boot_us() % 997);
    for (uint32_t i = 0; i < 2000; i++) {
        uint16_t port = (uint16_t)(20000 + (at + 2 * i) % 4000);
        if (is_free(port) && is_free((uint16_t)(port + 1)))
            return port;
    }
    fail_msg("no free port");
    return 0;
}

typedef struct asked {
    helio_call_t call;
    int fd;
    uint32_t answers;
    helio_rc rc;
    uint32_t code; /* of the first detail */
    char text[512];
    helio_uuid_t job;
    helio_engine_figures_t figures;
} asked_t;

static inline void tell(asked_t *asked)
{
    uint64_t one = 1;
    asked->answers++;
    assert_int_equal(write(asked->fd, &one, sizeof one), sizeof one);
}

static inline void on_reply(helio_call_t *call, const helio_fx_reply_t *reply)
{
    asked_t *asked = call->arg;
    asked->rc = (helio_rc)reply->rc;
    asked->code = reply->details.items.count ? reply->details.items.items[0].code : HELIO_DETAIL_NONE;
    if (reply->jobs.count)
        asked->job = reply->jobs.items[0].job;
    tell(asked);
}

static inline void on_log(helio_call_t *call, helio_rc rc, const helio_log_piece_t *piece)
{
    asked_t *asked = call->arg;
    asked->rc = rc;
    if (piece)
        (void)helio_text_copy(piece->data, asked->text, sizeof asked->text);
    tell(asked);
}

static inline void on_figures(helio_call_t *call, const helio_engine_figures_t *figures)
{
    asked_t *asked = call->arg;
    asked->figures = *figures;
    tell(asked);
}

static inline void post(broker_t *broker, asked_t *asked)
{
    asked->fd = eventfd(0, EFD_CLOEXEC);
    asked->call.on_reply = on_reply;
    asked->call.on_log = on_log;
    asked->call.on_figures = on_figures;
    asked->call.arg = asked;
    assert_int_equal(helio_engine_post(broker->engine, &asked->call), HELIO_OK);
}

static inline bool answered_within(asked_t *asked, int wait_ms)
{
    struct pollfd fd = {asked->fd, POLLIN, 0};
    return poll(&fd, 1, wait_ms) == 1;
}

static inline void await(asked_t *asked)
{
    if (!answered_within(asked, PATIENCE_MS))
        fail_msg("no answer within %d ms", PATIENCE_MS);
    assert_int_equal(asked->answers, 1);
    (void)close(asked->fd);
}

static inline helio_engine_figures_t figures_of(broker_t *broker)
{
    asked_t asked = {.call.kind = HELIO_CALL_FIGURES};
    post(broker, &asked);
    await(&asked);
    return asked.figures;
}

static inline void await_ready(broker_t *broker)
{
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (!figures_of(broker).ready)
        if (helio_clock_boot_ms() > until_ms)
            fail_msg("not ready within %d ms", PATIENCE_MS);
}

typedef struct submission {
    asked_t asked;
    helio_arena_t *arena;
    helio_submission_t job;
    helio_ev_submit_t event;
} submission_t;

static inline void submit(broker_t *broker, submission_t *self, const char *source)
{
    *self = (submission_t){.arena = helio_arena_new()};
    self->job.source = helio_text_of(source);
    self->job.spec_hash = HELIO_TEXT("0123456789abcdef0123456789abcdef");
    assert_int_equal(
        helio_spec_parse_job((helio_spec_source_t){self->job.source, NULL, 0}, self->arena, &self->job.spec, NULL),
        HELIO_OK);
    self->event = (helio_ev_submit_t){.tenant = HELIO_TEXT("demo"), .user = HELIO_TEXT("ada")};
    self->event.jobs.items = &self->job;
    self->event.jobs.count = 1;
    self->asked.call =
        (helio_call_t){.kind = HELIO_CALL_EVENT, .event = HELIO_BROKER_EV_SUBMIT, .payload = &self->event};
    post(broker, &self->asked);
}

static inline void finish(submission_t *self)
{
    helio_arena_destroy(&self->arena);
}

static inline uint64_t count_of(const char *conninfo, const char *sql)
{
    char *value = helio_pg_value(conninfo, sql);
    uint64_t count = strtoull(value, NULL, 10);
    free(value);
    return count;
}

typedef struct site {
    helio_net_t *net;
    helio_loop_t *loop;
    helio_dialer_t *dialer;
    helio_keypair_t pair;
    helio_arena_t *arena;
    const char *name;
    bool connected;
    uint32_t got[HELIO_MESSAGE_LIMIT]; /* how many of each message */
    helio_order_t order;               /* the last one */
    bool verdicts_closed;
    uint64_t acknowledged;
    const char *log; /* what it answers to LOG_READ; NULL = nothing */
} site_t;

static inline void site_send(site_t *site, uint32_t message, const void *record)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
    assert_int_equal(helio_wire_encode(message, record, &frame, NULL), HELIO_OK);
    assert_int_equal(helio_dialer_send(site->dialer, helio_buffer_view(&frame)), HELIO_OK);
}

static inline void site_frame(void *arg, helio_text_t frame)
{
    site_t *site = arg;
    uint32_t message = 0;
    void *record = NULL;
    helio_text_t kept = helio_arena_text(site->arena, frame);
    assert_int_equal(helio_wire_decode(kept, site->arena, &message, &record, NULL), HELIO_OK);
    site->got[message]++;
    if (message == HELIO_MSG_ORDERS) {
        const helio_msg_orders_t *orders = record;
        site->order = orders->orders.items[orders->orders.count - 1];
    } else if (message == HELIO_MSG_VERDICTS) {
        site->verdicts_closed = ((const helio_msg_verdicts_t *)record)->last;
    } else if (message == HELIO_MSG_REPORTS_ACK) {
        site->acknowledged = ((const helio_msg_reports_ack_t *)record)->seq;
    } else if (message == HELIO_MSG_LOG_READ && site->log) {
        const helio_msg_log_read_t *read = record;
        helio_msg_log_data_t data = {.request = read->request, .data = helio_text_of(site->log), .end = true};
        site_send(site, HELIO_MSG_LOG_DATA, &data);
    }
}

static inline void site_connected(void *arg, const char *endpoint)
{
    (void)endpoint;
    ((site_t *)arg)->connected = true;
}

static inline void site_disconnected(void *arg, const char *endpoint, const char *why)
{
    (void)endpoint;
    (void)why;
    ((site_t *)arg)->connected = false;
}

static inline void site_new(site_t *site, const char *name)
{
    *site = (site_t){.name = name, .arena = helio_arena_new()};
    assert_int_equal(helio_keypair_new(&site->pair, NULL), HELIO_OK);
}

static inline void site_dial(site_t *site, const broker_t *broker)
{
    helio_dialer_target_t target = {broker->endpoint, broker->pair.public_key};
    helio_dialer_options_t options = {.targets = &target,
                                      .target_count = 1,
                                      .secret_key = site->pair.secret_key,
                                      .backoff_min_ms = 20,
                                      .backoff_max_ms = 200,
                                      .on_message = site_frame,
                                      .on_connected = site_connected,
                                      .on_disconnected = site_disconnected,
                                      .arg = site};
    assert_int_equal(helio_net_new(0, &site->net, NULL), HELIO_OK);
    assert_int_equal(helio_loop_new(&site->loop, NULL), HELIO_OK);
    assert_int_equal(helio_dialer_new(site->net, site->loop, &options, &site->dialer, NULL), HELIO_OK);
}

static inline void site_destroy(site_t *site)
{
    helio_dialer_destroy(&site->dialer);
    helio_loop_destroy(&site->loop);
    helio_net_destroy(&site->net);
    helio_arena_destroy(&site->arena);
}

/*  Turns the site's loop until the condition holds; fails the test when it does not within the patience. */
#define SITE_UNTIL(site, condition)                                              \
    do {                                                                         \
        int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;                  \
        while (!(condition)) {                                                   \
            if (helio_clock_boot_ms() > until_ms)                                \
                fail_msg("not within %d ms: %s", PATIENCE_MS, #condition);       \
            assert_int_equal(helio_loop_turn((site)->loop, 50, NULL), HELIO_OK); \
        }                                                                        \
    } while (0)

static inline void site_allow(const site_t *site, const char *conninfo)
{
    helio_row_site_key_t key = {.public_key = helio_text_of(site->pair.public_key),
                                .site = helio_text_of(site->name),
                                .created_ms = helio_clock_wall_ms()};
    assert_int_equal(helio_store_put_site_key(conninfo, &key, NULL), HELIO_OK);
}

static inline void site_open(site_t *site)
{
    SITE_UNTIL(site, site->connected);
    helio_pool_t pool = {.name = HELIO_TEXT("h100"),
                         .gpu = HELIO_TEXT("H100"),
                         .gpu_memory_bytes = UINT64_C(80000000000),
                         .nodes = 2,
                         .max_nodes = 2,
                         .gpus_per_node = 4,
                         .cpus_per_node = 32,
                         .memory_bytes_per_node = UINT64_C(512000000000),
                         .owned = true,
                         .price_usd_per_gpu_h = 2,
                         .idle_w = 60,
                         .base_w = 86,
                         .slope_w = 243,
                         .host_w = 100};
    helio_msg_hello_t hello = {.protocol = HELIO_PROTOCOL_VERSION,
                               .protocol_min = HELIO_PROTOCOL_VERSION_MIN,
                               .agent_version = HELIO_TEXT("0.1.0"),
                               .wall_ms = helio_clock_wall_ms()};
    hello.profile = (helio_site_profile_t){.name = helio_text_of(site->name),
                                           .backend = HELIO_TEXT("local"),
                                           .region = HELIO_TEXT("EU-SE"),
                                           .timezone = HELIO_TEXT("Europe/Stockholm"),
                                           .pue = 1.1,
                                           .carbon_g_per_kwh = 24,
                                           .electricity_usd_per_kwh = 0.05,
                                           .leases = true};
    hello.profile.pools.items = &pool;
    hello.profile.pools.count = 1;
    site_send(site, HELIO_MSG_HELLO, &hello);
    SITE_UNTIL(site, site->got[HELIO_MSG_WELCOME] > 0);
    helio_msg_inventory_t inventory = {.last = true};
    site_send(site, HELIO_MSG_INVENTORY, &inventory);
    SITE_UNTIL(site, site->verdicts_closed);
    uint32_t free_nodes[] = {0, 0, 0, 0, 2};
    helio_pool_capacity_t capacity = {.pool = HELIO_TEXT("h100"),
                                      .nodes_up = 2,
                                      .gpus_total = 8,
                                      .free_nodes = {free_nodes, 5},
                                      .cpus_free = 64,
                                      .memory_free_bytes = UINT64_C(1024000000000)};
    helio_msg_summary_t summary = {.summary = {.seq = 1, .wall_ms = helio_clock_wall_ms(), .power_w = -1}};
    summary.summary.pools.items = &capacity;
    summary.summary.pools.count = 1;
    site_send(site, HELIO_MSG_SUMMARY, &summary);
}

static inline void site_report(site_t *site, uint64_t seq, uint32_t kind)
{
    helio_report_t report = {
        .seq = seq, .key = site->order.key, .epoch = site->order.epoch, .kind = kind, .wall_ms = helio_clock_wall_ms()};
    if (kind == HELIO_REPORT_KIND_ENDED) {
        report.started_wall_ms = report.wall_ms - 1000;
        report.ended_wall_ms = report.wall_ms;
        report.run_ms = 1000;
    }
    helio_msg_reports_t reports = {0};
    reports.reports.items = &report;
    reports.reports.count = 1;
    site_send(site, HELIO_MSG_REPORTS, &reports);
}

static const char hello_job[] = "name: hello\nrun: echo hello\n";

static const char *fresh(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    assert_int_equal(helio_store_put_tenant(conninfo, "demo", "lulea", NULL, NULL), HELIO_OK);
    return conninfo;
}

static inline int up(void **state)
{
    *state = helio_pg_up();
    return 0;
}

static inline int down(void **state)
{
    helio_pg_down((helio_pg_t **)state);
    return 0;
}

#endif
