/*  The whole engine over a real PostgreSQL, with a site that speaks the protocol through a real socket. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

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

/* ---- a broker in a thread
 * ---------------------------------------------------------------------------------------- */

typedef struct broker {
    char folder[64];
    char key_path[96];
    char record_path[96];
    char endpoint[64];
    const char *conninfo;
    helio_keypair_t pair;
    helio_engine_t *engine;
    pthread_t thread;
    helio_rc rc;
    helio_error_t err;
    _Atomic uint32_t transitions;
    _Atomic uint32_t tokens;
} broker_t;

static void on_transition(void *arg, const helio_row_transition_t *transition)
{
    broker_t *broker = arg;
    assert_true(transition->seq > 0);
    broker->transitions++;
}

static void on_token(void *arg, const helio_row_token_t *token)
{
    broker_t *broker = arg;
    assert_int_equal(token->hash.size, 32);
    broker->tokens++;
}

static void *run(void *arg)
{
    broker_t *broker = arg;
    broker->rc = helio_engine_run(broker->engine, &broker->err);
    return NULL;
}

static void prepare(broker_t *broker, const char *conninfo, uint16_t port)
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

static void start(broker_t *broker)
{
    helio_engine_options_t options = {.core = helio_broker_options_default(),
                                      .store = {broker->conninfo, 2000},
                                      .endpoint = broker->endpoint,
                                      .secret_key_path = broker->key_path,
                                      .record_path = broker->record_path,
                                      .batch_rows_max = 20000};
    helio_engine_listener_t listener = {.on_transition = on_transition, .on_token = on_token, .arg = broker};
    broker->engine = helio_engine_new(&options, listener, NULL);
    assert_int_equal(pthread_create(&broker->thread, NULL, run, broker), 0);
}

static helio_rc join(broker_t *broker)
{
    assert_int_equal(pthread_join(broker->thread, NULL), 0);
    helio_engine_destroy(&broker->engine);
    return broker->rc;
}

static void stop(broker_t *broker)
{
    helio_engine_stop(broker->engine);
    if (join(broker) != HELIO_OK)
        fail_msg("run ended with %s: %s", helio_rc_name(broker->rc), broker->err.text);
}

static void clean(broker_t *broker)
{
    (void)unlink(broker->key_path);
    (void)unlink(broker->record_path);
    assert_int_equal(rmdir(broker->folder), 0);
}

static bool is_free(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    bool yes = bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    (void)close(fd);
    return yes;
}

/*  Two in a row that nobody has; engines bind before they can be asked for a port they picked. Below those
 * that the kernel gives to outgoing connections. */
static uint16_t next_port(void **state)
{
    (void)state;
    uint32_t at = (uint32_t)(getpid() * 7 + helio_clock_boot_us() % 997);
    for (uint32_t i = 0; i < 5000; i++) {
        uint16_t port = (uint16_t)(20000 + (at + 2 * i) % 12000);
        if (is_free(port) && is_free((uint16_t)(port + 1)))
            return port;
    }
    fail_msg("no free port");
    return 0;
}

/* ---- calls
 * ----------------------------------------------------------------------------------------------------------
 */

typedef struct asked {
    helio_call_t call;
    int fd;
    uint32_t answers;
    helio_rc rc;
    char text[512];
    helio_uuid_t job;
    helio_engine_figures_t figures;
} asked_t;

static void tell(asked_t *asked)
{
    uint64_t one = 1;
    asked->answers++;
    assert_int_equal(write(asked->fd, &one, sizeof one), sizeof one);
}

static void on_answer(helio_call_t *call, const helio_fx_answer_t *answer)
{
    asked_t *asked = call->arg;
    asked->rc = (helio_rc)answer->rc;
    (void)helio_text_copy(answer->text, asked->text, sizeof asked->text);
    if (answer->jobs.count)
        asked->job = answer->jobs.items[0].job;
    tell(asked);
}

static void on_log(helio_call_t *call, helio_rc rc, const helio_log_piece_t *piece)
{
    asked_t *asked = call->arg;
    asked->rc = rc;
    if (piece)
        (void)helio_text_copy(piece->data, asked->text, sizeof asked->text);
    tell(asked);
}

static void on_figures(helio_call_t *call, const helio_engine_figures_t *figures)
{
    asked_t *asked = call->arg;
    asked->figures = *figures;
    tell(asked);
}

static void post(broker_t *broker, asked_t *asked)
{
    asked->fd = eventfd(0, EFD_CLOEXEC);
    asked->call.on_answer = on_answer;
    asked->call.on_log = on_log;
    asked->call.on_figures = on_figures;
    asked->call.arg = asked;
    assert_int_equal(helio_engine_post(broker->engine, &asked->call), HELIO_OK);
}

static bool answered_within(asked_t *asked, int wait_ms)
{
    struct pollfd fd = {asked->fd, POLLIN, 0};
    return poll(&fd, 1, wait_ms) == 1;
}

static void await(asked_t *asked)
{
    if (!answered_within(asked, PATIENCE_MS))
        fail_msg("no answer within %d ms", PATIENCE_MS);
    assert_int_equal(asked->answers, 1);
    (void)close(asked->fd);
}

static helio_engine_figures_t figures_of(broker_t *broker)
{
    asked_t asked = {.call.kind = HELIO_CALL_FIGURES};
    post(broker, &asked);
    await(&asked);
    return asked.figures;
}

static void await_ready(broker_t *broker)
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

static void submit(broker_t *broker, submission_t *self, const char *source)
{
    *self = (submission_t){.arena = helio_arena_new()};
    self->job.source = helio_text_of(source);
    self->job.spec_hash = HELIO_TEXT("0123456789abcdef0123456789abcdef");
    assert_int_equal(helio_spec_parse_job((helio_spec_source_t){self->job.source, NULL, 0}, self->arena,
                                          &self->job.spec, NULL),
                     HELIO_OK);
    self->event = (helio_ev_submit_t){.tenant = HELIO_TEXT("demo"), .user = HELIO_TEXT("ada")};
    self->event.jobs.items = &self->job;
    self->event.jobs.count = 1;
    self->asked.call =
        (helio_call_t){.kind = HELIO_CALL_EVENT, .event = HELIO_BROKER_EV_SUBMIT, .payload = &self->event};
    post(broker, &self->asked);
}

static void finish(submission_t *self)
{
    helio_arena_destroy(&self->arena);
}

static uint64_t count_of(const char *conninfo, const char *sql)
{
    char *value = helio_pg_value(conninfo, sql);
    uint64_t count = strtoull(value, NULL, 10);
    free(value);
    return count;
}

/* ---- a site
 * ----------------------------------------------------------------------------------------------------------
 */

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
    bool rulings_closed;
    uint64_t acknowledged;
    const char *log; /* what it answers to LOG_READ; NULL = nothing */
} site_t;

static void site_send(site_t *site, uint32_t message, const void *record)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
    assert_int_equal(helio_wire_encode(message, record, &frame, NULL), HELIO_OK);
    assert_int_equal(helio_dialer_send(site->dialer, helio_buffer_view(&frame)), HELIO_OK);
}

static void site_frame(void *arg, helio_text_t frame)
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
    } else if (message == HELIO_MSG_RULINGS) {
        site->rulings_closed = ((const helio_msg_rulings_t *)record)->last;
    } else if (message == HELIO_MSG_REPORTS_ACK) {
        site->acknowledged = ((const helio_msg_reports_ack_t *)record)->seq;
    } else if (message == HELIO_MSG_LOG_READ && site->log) {
        const helio_msg_log_read_t *read = record;
        helio_msg_log_data_t data = {.request = read->request, .data = helio_text_of(site->log), .end = true};
        site_send(site, HELIO_MSG_LOG_DATA, &data);
    }
}

static void site_connected(void *arg, const char *endpoint)
{
    (void)endpoint;
    ((site_t *)arg)->connected = true;
}

static void site_disconnected(void *arg, const char *why)
{
    (void)why;
    ((site_t *)arg)->connected = false;
}

static void site_new(site_t *site, const char *name)
{
    *site = (site_t){.name = name, .arena = helio_arena_new()};
    assert_int_equal(helio_keypair_new(&site->pair, NULL), HELIO_OK);
}

static void site_dial(site_t *site, const broker_t *broker)
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

static void site_destroy(site_t *site)
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

static void site_allow(const site_t *site, const char *conninfo)
{
    helio_row_site_key_t key = {.public_key = helio_text_of(site->pair.public_key),
                                .site = helio_text_of(site->name),
                                .created_ms = helio_clock_wall_ms()};
    assert_int_equal(helio_store_put_site_key(conninfo, &key, NULL), HELIO_OK);
}

static void site_open(site_t *site)
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
    SITE_UNTIL(site, site->rulings_closed);
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

static void site_report(site_t *site, uint64_t seq, uint32_t kind)
{
    helio_report_t report = {.seq = seq,
                             .key = site->order.key,
                             .epoch = site->order.epoch,
                             .kind = kind,
                             .wall_ms = helio_clock_wall_ms()};
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

/* ---- tests
 * --------------------------------------------------------------------------------------------------------------
 */

static const char hello_job[] = "name: hello\nrun: echo hello\n";

static const char *fresh(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    assert_int_equal(helio_store_put_tenant(conninfo, "demo", "lulea", NULL), HELIO_OK);
    return conninfo;
}

static void engine__an_answer_comes_after_the_commit(void **state)
{
    broker_t broker;
    prepare(&broker, fresh(state), next_port(state));
    start(&broker);
    await_ready(&broker);
    submission_t job;
    submit(&broker, &job, hello_job);
    await(&job.asked);
    assert_int_equal(job.asked.rc, HELIO_OK);
    assert_int_equal(count_of(broker.conninfo, "select count(*) from helio.jobs"), 1);
    finish(&job);
    stop(&broker);
    clean(&broker);
}

static void engine__a_job_goes_to_a_site_and_its_end_into_the_ledger(void **state)
{
    broker_t broker;
    prepare(&broker, fresh(state), next_port(state));
    site_t site;
    site_new(&site, "lulea");
    site_allow(&site, broker.conninfo);
    start(&broker);
    await_ready(&broker);
    site_dial(&site, &broker);
    site_open(&site);
    submission_t job;
    submit(&broker, &job, hello_job);
    await(&job.asked);
    assert_int_equal(job.asked.rc, HELIO_OK);
    SITE_UNTIL(&site, site.got[HELIO_MSG_ORDERS] > 0);
    /* The order is here, so its placement is durable. */
    assert_int_equal(count_of(broker.conninfo, "select count(*) from helio.placements"), 1);
    assert_true(helio_text_is(site.order.source, hello_job));
    site_report(&site, 1, HELIO_REPORT_KIND_ACCEPTED);
    site_report(&site, 2, HELIO_REPORT_KIND_STARTING);
    site_report(&site, 3, HELIO_REPORT_KIND_RUNNING);
    site_report(&site, 4, HELIO_REPORT_KIND_ENDED);
    SITE_UNTIL(&site, site.acknowledged == 4);
    assert_int_equal(count_of(broker.conninfo, "select count(*) from helio.attempts where completes"), 1);
    assert_true(broker.transitions >= 4);

    asked_t log = {.call = {.kind = HELIO_CALL_LOG_READ, .site = "lulea", .key = site.order.key, .epoch = 1}};
    site.log = "hello\n";
    post(&broker, &log);
    SITE_UNTIL(&site, answered_within(&log, 0));
    await(&log);
    assert_int_equal(log.rc, HELIO_OK);
    assert_string_equal(log.text, "hello\n");
    finish(&job);
    stop(&broker);
    site_destroy(&site);
    helio_replay_t replay = {0};
    helio_error_t err = {0};
    if (helio_replay_file(broker.record_path, &replay, &err) != HELIO_OK)
        fail_msg("replay: %s", err.text);
    assert_false(replay.unfinished);
    assert_int_equal(replay.figures.placements_total, 1);
    clean(&broker);
}

static void engine__a_key_is_let_in_and_cut_off_while_it_runs(void **state)
{
    broker_t broker;
    prepare(&broker, fresh(state), next_port(state));
    site_t site;
    site_new(&site, "lulea");
    start(&broker);
    await_ready(&broker);
    site_dial(&site, &broker);
    helio_ev_site_key_t event = {.actor = HELIO_TEXT("user:root"),
                                 .key = {.public_key = helio_text_of(site.pair.public_key),
                                         .site = HELIO_TEXT("lulea"),
                                         .created_ms = helio_clock_wall_ms()}};
    asked_t allow = {
        .call = {.kind = HELIO_CALL_EVENT, .event = HELIO_BROKER_EV_SITE_KEY, .payload = &event}};
    post(&broker, &allow);
    await(&allow);
    assert_int_equal(allow.rc, HELIO_OK);
    site_open(&site);
    assert_int_equal(figures_of(&broker).core.sites_ready, 1);
    event.key.revoked_ms = helio_clock_wall_ms();
    asked_t revoke = {
        .call = {.kind = HELIO_CALL_EVENT, .event = HELIO_BROKER_EV_SITE_KEY, .payload = &event}};
    post(&broker, &revoke);
    await(&revoke);
    assert_int_equal(revoke.rc, HELIO_OK);
    uint64_t before = figures_of(&broker).frames_in_total;
    helio_msg_renew_t renew = {1};
    if (site.connected) { /* the live connection: not one frame more comes through */
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
        assert_int_equal(helio_wire_encode(HELIO_MSG_RENEW, &renew, &frame, NULL), HELIO_OK);
        helio_rc rc = helio_dialer_send(site.dialer, helio_buffer_view(&frame));
        (void)rc;
    }
    submission_t job; /* a round trip later the frame has surely been looked at */
    submit(&broker, &job, hello_job);
    await(&job.asked);
    assert_int_equal(helio_loop_turn(site.loop, 100, NULL), HELIO_OK);
    assert_int_equal(figures_of(&broker).frames_in_total, before);
    assert_int_equal(site.got[HELIO_MSG_RENEWED], 0);
    finish(&job);
    stop(&broker);
    site_destroy(&site);
    clean(&broker);
}

static void engine__nothing_is_answered_while_the_database_is_down_and_it_heals(void **state)
{
    broker_t broker;
    prepare(&broker, fresh(state), next_port(state));
    start(&broker);
    await_ready(&broker);
    helio_pg_kill(*state);
    submission_t job;
    submit(&broker, &job, hello_job);
    assert_false(answered_within(&job.asked, 500)); /* held: its commit cannot have happened */
    assert_false(figures_of(&broker).ready);
    helio_pg_start(*state);
    await(&job.asked);
    assert_int_equal(job.asked.rc, HELIO_OK);
    assert_int_equal(count_of(broker.conninfo, "select count(*) from helio.jobs"), 1);
    finish(&job);
    stop(&broker);
    clean(&broker);
}

static void engine__the_second_broker_waits_until_the_first_ends(void **state)
{
    const char *conninfo = fresh(state);
    broker_t first, second;
    uint16_t port = next_port(state);
    prepare(&first, conninfo, port);
    prepare(&second, conninfo, (uint16_t)(port + 1));
    start(&first);
    await_ready(&first);
    start(&second);
    submission_t job;
    submit(&second, &job, hello_job);
    await(&job.asked);
    assert_int_equal(job.asked.rc, HELIO_UNAVAILABLE);
    assert_true(job.asked.text[0] != '\0');
    finish(&job);
    assert_false(figures_of(&second).leader);
    stop(&first);
    await_ready(&second);
    submit(&second, &job, hello_job);
    await(&job.asked);
    assert_int_equal(job.asked.rc, HELIO_OK);
    finish(&job);
    assert_true(figures_of(&second).broker_epoch >= 2);
    stop(&second);
    clean(&first);
    clean(&second);
}

static void engine__a_restart_knows_what_was_accepted(void **state)
{
    broker_t broker;
    prepare(&broker, fresh(state), next_port(state));
    helio_row_token_t token = {.token_id = HELIO_TEXT("t1"),
                               .hash = HELIO_TEXT("0123456789abcdef0123456789abcdef"),
                               .tenant = HELIO_TEXT("demo"),
                               .user = HELIO_TEXT("ada"),
                               .role = HELIO_TEXT("user"),
                               .created_ms = helio_clock_wall_ms(),
                               .expires_ms = helio_clock_wall_ms() + 3600000};
    assert_int_equal(helio_store_put_token(broker.conninfo, &token, NULL), HELIO_OK);
    start(&broker);
    await_ready(&broker);
    assert_int_equal(broker.tokens, 1);
    submission_t job;
    submit(&broker, &job, hello_job);
    await(&job.asked);
    finish(&job);
    stop(&broker);
    start(&broker);
    await_ready(&broker);
    assert_int_equal(figures_of(&broker).core.jobs[HELIO_JOB_QUEUED], 1);
    stop(&broker);
    helio_replay_t replay = {0};
    assert_int_equal(helio_replay_file(broker.record_path, &replay, NULL), HELIO_OK);
    assert_int_equal(replay.lives, 2);
    assert_int_equal(replay.figures.jobs[HELIO_JOB_QUEUED], 1);
    clean(&broker);
}

static void engine__a_database_that_cannot_be_reached_is_waited_for_with_answers(void **state)
{
    broker_t broker;
    prepare(&broker, "host=127.0.0.1 port=1 dbname=helio connect_timeout=2", next_port(state));
    start(&broker);
    assert_false(figures_of(&broker).ready);
    submission_t job;
    submit(&broker, &job, hello_job);
    await(&job.asked);
    assert_int_equal(job.asked.rc, HELIO_UNAVAILABLE);
    finish(&job);
    stop(&broker); /* also while it waits */
    clean(&broker);
}

static void engine__what_waiting_cannot_mend_ends_it_with_a_remedy(void **state)
{
    broker_t broker, other;
    uint16_t port = next_port(state);
    prepare(&broker, helio_pg_empty_database(*state), port);
    start(&broker);
    assert_int_equal(join(&broker), HELIO_VERSION);
    assert_non_null(strstr(broker.err.text, "migrate"));
    clean(&broker);

    prepare(&broker, fresh(state), port);
    prepare(&other, broker.conninfo, port);
    start(&broker);
    await_ready(&broker);
    start(&other);
    assert_int_equal(join(&other), HELIO_CONFLICT);
    assert_non_null(strstr(other.err.text, other.endpoint));
    stop(&broker);
    clean(&broker);
    assert_int_equal(unlink(other.key_path), 0);
    start(&other);
    assert_int_equal(join(&other), HELIO_NOT_FOUND);
    assert_non_null(strstr(other.err.text, other.key_path));
    clean(&other);
}

static void engine__stopping_answers_everybody_once(void **state)
{
    enum { COUNT = 200 };
    broker_t broker;
    prepare(&broker, fresh(state), next_port(state));
    start(&broker);
    await_ready(&broker);
    submission_t *jobs = helio_new(COUNT, sizeof *jobs);
    for (uint32_t i = 0; i < COUNT; i++)
        submit(&broker, &jobs[i], hello_job);
    helio_engine_stop(broker.engine);
    uint64_t stored = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        await(&jobs[i].asked);
        assert_true(jobs[i].asked.rc == HELIO_OK || jobs[i].asked.rc == HELIO_UNAVAILABLE);
        stored += jobs[i].asked.rc == HELIO_OK;
        finish(&jobs[i]);
    }
    assert_int_equal(join(&broker), HELIO_OK);
    assert_int_equal(count_of(broker.conninfo, "select count(*) from helio.jobs"), stored);
    free(jobs);
    clean(&broker);
}

static int up(void **state)
{
    *state = helio_pg_up();
    return 0;
}

static int down(void **state)
{
    helio_pg_down((helio_pg_t **)state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engine__an_answer_comes_after_the_commit),
        cmocka_unit_test(engine__a_job_goes_to_a_site_and_its_end_into_the_ledger),
        cmocka_unit_test(engine__a_key_is_let_in_and_cut_off_while_it_runs),
        cmocka_unit_test(engine__nothing_is_answered_while_the_database_is_down_and_it_heals),
        cmocka_unit_test(engine__the_second_broker_waits_until_the_first_ends),
        cmocka_unit_test(engine__a_restart_knows_what_was_accepted),
        cmocka_unit_test(engine__a_database_that_cannot_be_reached_is_waited_for_with_answers),
        cmocka_unit_test(engine__what_waiting_cannot_mend_ends_it_with_a_remedy),
        cmocka_unit_test(engine__stopping_answers_everybody_once),
    };
    return cmocka_run_group_tests(tests, up, down);
}
