/*  The whole agent but its backend: a real journal, real sockets, a broker played by the test. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/net/curve.h"
#include "federation/net/server.h"
#include "federation/wire/codec.h"
#include "federation/wire/messages.h"
#include "site-agent/agent/agent.h"

/* ---- a backend that notes what it is told
 * ------------------------------------------------------------------- */

typedef struct fake {
    helio_backend_t base;
    helio_backend_sink_t sink;
} fake_t;

typedef struct world {
    char directory[64];
    helio_net_t *net;
    helio_loop_t *loop;
    helio_log_t *log;
    int log_fd;
    helio_server_t *server;
    helio_arena_t *arena;
    helio_agent_settings_t settings;
    helio_word_t broker;
    char endpoint[64];
    helio_pool_t pool;
    helio_agent_t *agent;
    fake_t *fake;
    helio_aev_backend_t news[16]; /* to be told by process */
    uint32_t news_count;
    uint32_t starts, adopts, stops, forgets, surveys;
    char started_run[64];
    int64_t lease_ms;
    uint64_t peer;
    uint32_t hellos, inventories, holdings, summaries, renews, logs, byes;
    helio_report_t reports[64];
    uint32_t report_count;
    uint32_t fed;          /* carbon told from the feed */
    double told_free_gpus; /* of the running hour; -1 = never */
    char log_text[64];
} world_t;

static world_t world;

static void fake_start(helio_backend_t *self, const helio_backend_task_t *task)
{
    (void)self;
    world.starts++;
    assert_int_equal(task->slot_count, task->order->nodes);
    (void)helio_text_copy(task->spec->run, world.started_run, sizeof world.started_run);
}

static void fake_adopt(helio_backend_t *self, const helio_backend_task_t *task)
{
    (void)self;
    (void)task;
    world.adopts++;
}

static void fake_stop(helio_backend_t *self, const helio_stop_t *stop)
{
    (void)self;
    (void)stop;
    world.stops++;
}

static void fake_forget(helio_backend_t *self, helio_job_key_t key, uint32_t epoch)
{
    (void)self;
    (void)key;
    (void)epoch;
    world.forgets++;
}

static void fake_survey(helio_backend_t *self)
{
    (void)self;
    world.surveys++;
}

static helio_rc fake_lease(helio_backend_t *self, int64_t deadline_boot_ms, helio_error_t *err)
{
    (void)self;
    (void)err;
    world.lease_ms = deadline_boot_ms;
    return HELIO_OK;
}

static helio_rc fake_log_read(helio_backend_t *self, helio_job_key_t key, uint32_t epoch, uint64_t offset,
                              size_t max, helio_buffer_t *out, uint64_t *ret_next, bool *ret_end,
                              helio_error_t *err)
{
    (void)self;
    (void)key;
    if (epoch != 1)
        return helio_fail(err, HELIO_NOT_FOUND, "no such attempt");
    helio_buffer_append(out, "hello from the job", max < 18 ? max : 18);
    *ret_next = offset + out->size;
    *ret_end = true;
    return HELIO_OK;
}

static int fake_fd(const helio_backend_t *self)
{
    (void)self;
    return -1;
}

static int64_t fake_next_ms(const helio_backend_t *self)
{
    (void)self;
    return world.news_count ? 0 : INT64_MAX;
}

static void fake_process(helio_backend_t *self, int64_t now_boot_ms, int64_t now_wall_ms)
{
    fake_t *fake = (fake_t *)(void *)self;
    (void)now_boot_ms;
    (void)now_wall_ms;
    uint32_t count = world.news_count;
    world.news_count = 0;
    for (uint32_t i = 0; i < count; i++)
        fake->sink.on_event(fake->sink.arg, &world.news[i]);
}

static void fake_destroy(helio_backend_t *self)
{
    free(self);
}

static const helio_backend_class_t fake_class = {
    "fake",     true,          fake_start, fake_adopt, fake_stop,    fake_forget,  fake_survey,
    fake_lease, fake_log_read, NULL,       fake_fd,    fake_next_ms, fake_process, fake_destroy};

static helio_rc make_fake(const helio_agent_settings_t *settings, const helio_backend_sink_t *sink,
                          helio_backend_t **ret_backend, helio_error_t *err)
{
    (void)settings;
    (void)err;
    fake_t *fake = helio_new(1, sizeof *fake);
    fake->base.class = &fake_class;
    fake->sink = *sink;
    world.fake = fake;
    *ret_backend = &fake->base;
    return HELIO_OK;
}

/* ---- a broker that grants everything
 * ------------------------------------------------------------------------ */

static void say(uint32_t message, const void *record)
{
    helio_buffer_t frame = {0};
    assert_int_equal(helio_wire_encode(message, record, &frame, NULL), HELIO_OK);
    assert_int_equal(helio_server_send(world.server, world.peer, helio_buffer_view(&frame)), HELIO_OK);
    helio_buffer_clear(&frame);
}

static void hear_reports(const helio_msg_reports_t *message)
{
    for (uint32_t i = 0; i < message->reports.count; i++) {
        assert_true(world.report_count < 64);
        helio_record_copy(&helio_report_type, world.arena, &message->reports.items[i],
                          &world.reports[world.report_count++]);
    }
}

static void hear_series(const helio_site_summary_t *summary)
{
    for (uint32_t i = 0; i < summary->series.count; i++) {
        const helio_series_t *series = &summary->series.items[i];
        world.fed += series->signal == HELIO_SIGNAL_CARBON && series->values.items[0] == 123 &&
                     helio_text_is(series->source, "csv, built-in forecast");
        if (series->signal == HELIO_SIGNAL_FREE_GPUS)
            world.told_free_gpus = series->values.items[0];
    }
}

static void broker_hears(void *arg, uint64_t peer, helio_text_t principal, helio_text_t frame)
{
    (void)arg;
    (void)principal;
    uint32_t message = 0;
    void *record = NULL;
    assert_int_equal(helio_wire_decode(frame, world.arena, &message, &record, NULL), HELIO_OK);
    world.peer = peer;
    helio_msg_welcome_t welcome = {.protocol = 1,
                                   .incarnation = 1,
                                   .broker_epoch = 1,
                                   .lease_ms = 900000,
                                   .renew_ms = 90000,
                                   .summary_ms = 100};
    helio_msg_rulings_t rulings = {.last = true};
    switch (message) {
    case HELIO_MSG_HELLO:
        world.hellos++;
        say(HELIO_MSG_WELCOME, &welcome);
        break;
    case HELIO_MSG_INVENTORY:
        world.inventories++;
        world.holdings += ((helio_msg_inventory_t *)record)->holdings.count;
        say(HELIO_MSG_RULINGS, &rulings);
        break;
    case HELIO_MSG_SUMMARY:
        world.summaries++;
        hear_series(&((helio_msg_summary_t *)record)->summary);
        break;
    case HELIO_MSG_RENEW:
        world.renews++;
        break;
    case HELIO_MSG_REPORTS:
        hear_reports(record);
        break;
    case HELIO_MSG_LOG_DATA:
        world.logs++;
        (void)helio_text_copy(((helio_msg_log_data_t *)record)->data, world.log_text, sizeof world.log_text);
        break;
    case HELIO_MSG_BYE:
        world.byes++;
        break;
    default:
        fail_msg("message %u", message);
    }
}

/* ---- the stage
 * ---------------------------------------------------------------------------------------------- */

static void start_agent(void)
{
    helio_agent_parts_t parts = {&world.settings, make_fake, world.loop, world.log};
    helio_error_t err = {0};
    if (helio_agent_new(&parts, &world.agent, &err) != HELIO_OK)
        fail_msg("%s", err.text);
}

static int begin(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    (void)snprintf(world.directory, sizeof world.directory, "/tmp/helio-agent-XXXXXX");
    helio_keypair_t broker, agent;
    helio_error_t err = {0};
    char key_file[96];
    if (!mkdtemp(world.directory) || helio_net_new(0, &world.net, &err) != HELIO_OK ||
        helio_loop_new(&world.loop, &err) != HELIO_OK || helio_keypair_new(&broker, &err) != HELIO_OK ||
        helio_keypair_new(&agent, &err) != HELIO_OK)
        return -1;
    world.log_fd = memfd_create("log", MFD_CLOEXEC);
    world.log = helio_log_new(world.log_fd, HELIO_DEBUG, "test");
    world.arena = helio_arena_new();
    (void)snprintf(key_file, sizeof key_file, "%s/agent.key", world.directory);
    if (helio_keypair_save(&agent, key_file, &err) != HELIO_OK)
        return -1;
    helio_server_options_t serve = {.endpoint = "tcp://127.0.0.1:*",
                                    .secret_key = broker.secret_key,
                                    .on_message = broker_hears,
                                    .linger_ms = -1};
    if (helio_server_new(world.net, world.loop, &serve, &world.server, &err) != HELIO_OK ||
        helio_server_allow(world.server, helio_text_of(agent.public_key), HELIO_TEXT("site:lulea"), &err) !=
            HELIO_OK)
        return -1;
    world.pool =
        (helio_pool_t){.name = HELIO_TEXT("gpu"), .gpu = HELIO_TEXT("H100"), .nodes = 2, .gpus_per_node = 8};
    world.settings = (helio_agent_settings_t){.attempts_max = 10, .kill_margin_ms = 60000};
    world.settings.site =
        (helio_site_profile_t){.name = HELIO_TEXT("lulea"), .backend = HELIO_TEXT("fake"), .pue = 1.1};
    world.settings.site.pools.items = &world.pool;
    world.settings.site.pools.count = 1;
    world.settings.state_dir = helio_text_of(world.directory);
    (void)snprintf(world.endpoint, sizeof world.endpoint, "%s", helio_server_endpoint(world.server));
    world.broker.text = helio_text_of(world.endpoint);
    world.settings.brokers.items = &world.broker;
    world.settings.brokers.count = 1;
    world.settings.broker_key = helio_arena_text(world.arena, helio_text_of(broker.public_key));
    world.settings.key_file = helio_arena_text(world.arena, helio_text_of(key_file));
    start_agent();
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static int end(void **state)
{
    (void)state;
    helio_agent_destroy(&world.agent);
    helio_server_destroy(&world.server);
    helio_loop_destroy(&world.loop);
    helio_net_destroy(&world.net);
    helio_log_destroy(&world.log);
    (void)close(world.log_fd);
    helio_arena_destroy(&world.arena);
    return nftw(world.directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void turn_until(const uint32_t *figure, uint32_t least)
{
    for (int turns = 0; *figure < least; turns++) {
        if (turns > 3000)
            fail_msg("waited in vain for %u, there are %u", least, *figure);
        helio_error_t err = {0};
        if (helio_agent_turn(world.agent, 10, &err) != HELIO_OK)
            fail_msg("%s", err.text);
    }
}

static helio_job_key_t key_of(uint8_t number)
{
    helio_job_key_t key = {.task = HELIO_NO_TASK};
    key.job.bytes[15] = number;
    return key;
}

static void order(uint8_t number, const char *document)
{
    helio_order_t one = {.dispatch_seq = number,
                         .key = key_of(number),
                         .epoch = 1,
                         .pool = HELIO_TEXT("gpu"),
                         .nodes = 1,
                         .gpus_per_node = 4,
                         .source = helio_text_of(document)};
    helio_msg_orders_t orders = {.incarnation = 1, .orders = {&one, 1}};
    say(HELIO_MSG_ORDERS, &orders);
}

static void tell(uint8_t number, uint32_t word, int32_t exit_code)
{
    world.news[world.news_count++] = (helio_aev_backend_t){
        .key = key_of(number), .epoch = 1, .word = word, .exit_code = exit_code, .run_ms = 1000};
}

static void agent__carries_a_job_from_order_to_acknowledged_end(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    assert_int_equal(world.inventories, 1);
    assert_int_equal(world.renews, 1);
    assert_true(world.lease_ms > 0);
    order(1, "run: train it\ngpu: H100:4\n");
    turn_until(&world.report_count, 2);
    assert_int_equal(world.reports[0].kind, HELIO_REPORT_KIND_ACCEPTED);
    assert_int_equal(world.reports[1].kind, HELIO_REPORT_KIND_STARTING);
    turn_until(&world.starts, 1);
    assert_string_equal(world.started_run, "train it");
    tell(1, HELIO_BACKEND_WORD_STARTED, 0);
    tell(1, HELIO_BACKEND_WORD_ENDED, 3);
    turn_until(&world.report_count, 4);
    assert_int_equal(world.reports[2].kind, HELIO_REPORT_KIND_RUNNING);
    assert_int_equal(world.reports[3].kind, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(world.reports[3].exit_code, 3);
    assert_int_equal(world.reports[3].gpu_ms, 4000);
    helio_msg_reports_ack_t ack = {world.reports[3].seq};
    say(HELIO_MSG_REPORTS_ACK, &ack);
    turn_until(&world.forgets, 1);
}

static uint32_t logged(const char *event)
{
    static char text[1 << 20];
    uint32_t count = 0;
    ssize_t size = pread(world.log_fd, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    for (const char *at = text; (at = strstr(at, event)); at++)
        count++;
    return count;
}

static void agent__a_pool_of_which_nothing_is_left_is_logged_once_and_so_is_its_return(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    helio_pool_capacity_t pool = {.pool = world.pool.name, .gpus_total = world.pool.gpus_per_node};
    helio_aev_capacity_t capacity = {0};
    capacity.pools.items = &pool;
    capacity.pools.count = 1;
    helio_backend_sink_t *sink = &world.fake->sink;
    sink->on_capacity(sink->arg, &capacity);
    assert_int_equal(logged("pool_empty") + logged("pool_back"), 0);
    sink->on_silence(sink->arg, true, 12000); /* which offers nothing, and is said itself */
    pool.gpus_total = 0;
    sink->on_capacity(sink->arg, &capacity);
    sink->on_silence(sink->arg, false, 12000);
    assert_int_equal(logged("pool_empty"), 0);
    sink->on_capacity(sink->arg, &capacity);
    sink->on_capacity(sink->arg, &capacity);
    assert_int_equal(logged("pool_empty"), 1);
    pool.gpus_total = 4;
    sink->on_capacity(sink->arg, &capacity);
    sink->on_capacity(sink->arg, &capacity);
    assert_int_equal(logged("pool_empty"), 1);
    assert_int_equal(logged("pool_back"), 1);
}

static void agent__takes_over_what_runs_when_it_is_started_again(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    order(1, "run: train it\ngpu: H100:4\n");
    turn_until(&world.starts, 1);
    tell(1, HELIO_BACKEND_WORD_STARTED, 0);
    turn_until(&world.report_count, 3);
    helio_agent_destroy(&world.agent);
    uint32_t surveys = world.surveys;
    start_agent();
    assert_int_equal(world.adopts, 1);
    assert_int_equal(world.surveys, surveys); /* the journal knew */
    tell(1, HELIO_BACKEND_WORD_STARTED, 0);
    turn_until(&world.hellos, 2);
    turn_until(&world.holdings, 1);
    turn_until(&world.report_count, 6); /* the same three again */
    assert_int_equal(world.reports[5].seq, world.reports[2].seq);
    assert_int_equal(world.starts, 1);
    tell(1, HELIO_BACKEND_WORD_ENDED, 0);
    turn_until(&world.report_count, 7);
}

static void agent__refuses_to_hand_a_backend_what_does_not_parse(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    order(1, "run: [unclosed");
    turn_until(&world.report_count, 3);
    assert_int_equal(world.reports[2].kind, HELIO_REPORT_KIND_LOST);
    assert_memory_equal(world.reports[2].reason.data, "BadDocument: ", 13);
    assert_int_equal(world.starts, 0);
}

static void agent__answers_for_logs(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    helio_msg_log_read_t read = {.request = 5, .key = key_of(1), .epoch = 1, .size_max = 5};
    say(HELIO_MSG_LOG_READ, &read);
    turn_until(&world.logs, 1);
    assert_string_equal(world.log_text, "hello");
    read.epoch = 2;
    say(HELIO_MSG_LOG_READ, &read);
    turn_until(&world.logs, 2);
    assert_string_equal(world.log_text, "");
}

static void agent__surveys_the_backend_when_there_is_no_journal(void **state)
{
    (void)state;
    assert_int_equal(world.surveys, 1);
}

static void agent__says_bye_and_ends_no_attempt(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    order(1, "run: train it\ngpu: H100:4\n");
    turn_until(&world.starts, 1);
    helio_agent_stop(world.agent, "stopped");
    assert_int_equal(helio_agent_run(world.agent, NULL), HELIO_OK); /* returns at once */
    helio_agent_destroy(&world.agent);
    for (int turns = 0; turns < 3000 && !world.byes; turns++)
        assert_int_equal(helio_loop_turn(world.loop, 10, NULL), HELIO_OK);
    assert_int_equal(world.byes, 1);
    assert_int_equal(world.stops, 0);
}

static void agent__tells_what_its_feeds_say_and_what_the_backend_foresees(void **state)
{
    (void)state;
    char path[96], hour[HELIO_RFC3339_SIZE];
    (void)snprintf(path, sizeof path, "%s/carbon.csv", world.directory);
    int64_t now_ms = helio_clock_wall_ms();
    helio_rfc3339(now_ms, hour);
    FILE *file = fopen(path, "w");
    assert_true(file && fprintf(file, "time,value\n%s,123\n", hour) > 0 && fclose(file) == 0);
    helio_agent_destroy(&world.agent);
    helio_feed_t feed = {.signal = HELIO_FEED_CARBON,
                         .source = HELIO_SOURCE_CSV,
                         .every_ms = 60000,
                         .timeout_ms = 10000,
                         .path = helio_text_of(path),
                         .time_column = HELIO_TEXT("time"),
                         .value_column = HELIO_TEXT("value"),
                         .region_column = HELIO_TEXT("region")};
    helio_window_t window = {.pool = HELIO_TEXT("gpu"), .reserve_gpus = 3};
    helio_error_t err = {0};
    world.settings.site.timezone = HELIO_TEXT("UTC");
    world.settings.feeds.feeds.items = &feed;
    world.settings.feeds.feeds.count = 1;
    world.settings.feeds.windows = (helio_windows_t){&window, 1};
    if (helio_feeds_settings_complete(&world.settings.feeds, &world.settings.site, "/", world.arena, &err) !=
        HELIO_OK)
        fail_msg("%s", err.text);
    world.fed = 0;
    start_agent();
    turn_until(&world.fed, 1);
    assert_true(world.told_free_gpus == 16 - 3);
    double free_gpus = 10;
    helio_series_t series = {.signal = HELIO_SIGNAL_FREE_GPUS,
                             .pool = HELIO_TEXT("gpu"),
                             .source = HELIO_TEXT("fake"),
                             .start_wall_ms = now_ms,
                             .step_s = 3600,
                             .values = {&free_gpus, 1}};
    helio_aev_series_t told = {.series = {&series, 1}};
    world.fake->sink.on_series(world.fake->sink.arg, &told);
    turn_until(&world.summaries, world.summaries + 2);
    assert_true(world.told_free_gpus == 10 - 3);
}

static void agent__without_its_key_says_what_is_missing(void **state)
{
    (void)state;
    helio_agent_destroy(&world.agent);
    world.settings.key_file = HELIO_TEXT("/nonexistent/agent.key");
    helio_agent_parts_t parts = {&world.settings, make_fake, world.loop, world.log};
    helio_error_t err = {0};
    assert_int_equal(helio_agent_new(&parts, &world.agent, &err), HELIO_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nonexistent/agent.key"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(agent__carries_a_job_from_order_to_acknowledged_end),
        TEST(agent__a_pool_of_which_nothing_is_left_is_logged_once_and_so_is_its_return),
        TEST(agent__takes_over_what_runs_when_it_is_started_again),
        TEST(agent__refuses_to_hand_a_backend_what_does_not_parse),
        TEST(agent__answers_for_logs),
        TEST(agent__surveys_the_backend_when_there_is_no_journal),
        TEST(agent__says_bye_and_ends_no_attempt),
        TEST(agent__tells_what_its_feeds_say_and_what_the_backend_foresees),
        TEST(agent__without_its_key_says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
