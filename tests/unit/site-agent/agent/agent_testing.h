/*  agent_testing.h -- an agent with a backend that notes what it is told, and a broker that grants everything.
 *
 *  The whole agent but its backend: a real journal, real sockets, a broker played by the test.
 */
#ifndef HELIO_TESTS_SITE_AGENT_AGENT_AGENT_TESTING_H
#define HELIO_TESTS_SITE_AGENT_AGENT_AGENT_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
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
#include "tests/support/folder.h"

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
    helio_string_t broker;
    char endpoint[64];
    helio_pool_t pool;
    helio_tenure_t tenure;
    helio_agent_t *agent;
    fake_t *fake;
    helio_aev_backend_t news[16]; /* to be told by process */
    uint32_t news_count;
    uint32_t starts, adopts, stops, forgets, surveys;
    bool survey_due;       /* a survey has begun; the next process completes it */
    const char *hindrance; /* what a survey reports in place of its end; NULL = nothing */
    char started_run[64];
    helio_evidence_t evidence; /* of the last start or adoption */
    int64_t lease_ms;
    uint64_t peer;
    helio_uuid_t boot_id, former_boot_id; /* of the last HELLO */
    uint32_t hellos, inventories, holdings, summaries, renews, logs, byes;
    uint32_t withheld; /* why the first pool offers nothing, by the last summary of it */
    helio_report_t reports[64];
    uint32_t report_count;
    uint32_t fed;          /* carbon told from the feed */
    double told_free_gpus; /* of the running hour; -1 = never */
    uint32_t metered;      /* series of the site's meter that were told */
    double meter_w[2];     /* of the last two hours of the newest of them; -1 = not known */
    char log_text[64];
    uint32_t channels; /* of the last HELLO's profile */
    uint32_t outputs, ends;
    helio_buffer_t output; /* of all channels */
    uint32_t end_rc, end_exit;
    char end_text[513];
} world_t;

static world_t world;

static inline void fake_start(helio_backend_t *self, const helio_backend_task_t *task)
{
    (void)self;
    world.starts++;
    assert_int_equal(task->slot_count, task->order->nodes);
    (void)helio_text_copy(task->spec->run, world.started_run, sizeof world.started_run);
    world.evidence = *task->evidence;
}

static inline void fake_adopt(helio_backend_t *self, const helio_backend_task_t *task)
{
    (void)self;
    world.evidence = *task->evidence;
    world.adopts++;
}

static inline void fake_stop(helio_backend_t *self, const helio_stop_t *stop)
{
    (void)self;
    (void)stop;
    world.stops++;
}

static inline void fake_forget(helio_backend_t *self, helio_job_key_t key, uint32_t epoch)
{
    (void)self;
    (void)key;
    (void)epoch;
    world.forgets++;
}

static inline void fake_survey(helio_backend_t *self)
{
    (void)self;
    world.surveys++;
    world.survey_due = true;
}

static inline helio_rc fake_lease(helio_backend_t *self, const helio_afx_lease_t *lease, helio_error_t *err)
{
    (void)self;
    (void)err;
    world.lease_ms = lease->deadline_boot_ms;
    return HELIO_OK;
}

static inline helio_rc fake_log_read(helio_backend_t *self, helio_job_key_t key, uint32_t epoch, uint64_t offset,
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

/*  Says what it was told, from inside. */
static inline helio_rc fake_enter(helio_backend_t *self, const helio_entry_t *entry, helio_arena_t *arena,
                                  helio_entry_command_t *ret_command, helio_error_t *err)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    (void)self, (void)err;
    const char **argv = helio_arena_alloc(arena, 4, sizeof *argv);
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = helio_arena_string(
        arena, entry->command_count ? entry->command[entry->command_count - 1].text : HELIO_TEXT("cat"));
    *ret_command = (helio_entry_command_t){.argv = argv, .env = env, .user = "ada"};
    return HELIO_OK;
}

static inline int fake_fd(const helio_backend_t *self)
{
    (void)self;
    return -1;
}

static inline int64_t fake_next_ms(const helio_backend_t *self)
{
    (void)self;
    return world.news_count || world.survey_due ? 0 : INT64_MAX;
}

static inline void fake_process(helio_backend_t *self, int64_t now_boot_ms, int64_t now_wall_ms)
{
    fake_t *fake = (fake_t *)(void *)self;
    (void)now_boot_ms;
    (void)now_wall_ms;
    if (world.survey_due)
        fake->sink.on_survey(fake->sink.arg, world.hindrance);
    world.survey_due = false;
    uint32_t count = world.news_count;
    world.news_count = 0;
    for (uint32_t i = 0; i < count; i++)
        fake->sink.on_event(fake->sink.arg, &world.news[i]);
}

static inline void fake_destroy(helio_backend_t *self)
{
    free(self);
}

static const helio_backend_class_t fake_class = {"fake",     true,        fake_start,   fake_adopt,   fake_stop,
                                                 NULL,       fake_forget, fake_survey,  fake_lease,   fake_log_read,
                                                 fake_enter, fake_fd,     fake_next_ms, fake_process, fake_destroy};

static inline helio_rc make_fake(const helio_agent_settings_t *settings, const helio_backend_sink_t *sink,
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

static inline void say(uint32_t message, const void *record)
{
    helio_buffer_t frame = {0};
    assert_int_equal(helio_wire_encode(message, record, &frame, NULL), HELIO_OK);
    assert_int_equal(helio_server_send(world.server, world.peer, helio_buffer_view(&frame)), HELIO_OK);
    helio_buffer_clear(&frame);
}

static inline void hear_reports(const helio_msg_reports_t *message)
{
    for (uint32_t i = 0; i < message->reports.count; i++) {
        assert_true(world.report_count < 64);
        helio_record_copy(&helio_report_type, world.arena, &message->reports.items[i],
                          &world.reports[world.report_count++]);
    }
}

static inline void hear_series(const helio_site_summary_t *summary)
{
    for (uint32_t i = 0; i < summary->series.count; i++) {
        const helio_series_t *series = &summary->series.items[i];
        world.fed += series->signal == HELIO_SIGNAL_CARBON && series->values.items[0] == 123 &&
                     helio_text_is(series->source, "csv, built-in forecast");
        if (series->signal == HELIO_SIGNAL_FREE_GPUS)
            world.told_free_gpus = series->values.items[0];
        if (series->signal != HELIO_SIGNAL_POWER || !helio_text_is(series->kind, "meter"))
            continue;
        world.metered++;
        for (uint32_t n = 0; n < 2; n++)
            world.meter_w[n] = series->values.count + n >= 2 ? series->values.items[series->values.count + n - 2] : -1;
    }
}

static inline void broker_hears(void *arg, uint64_t peer, helio_text_t principal, helio_text_t frame)
{
    (void)arg;
    (void)principal;
    uint32_t message = 0;
    void *record = NULL;
    assert_int_equal(helio_wire_decode(frame, world.arena, &message, &record, NULL), HELIO_OK);
    world.peer = peer;
    helio_msg_welcome_t welcome = {
        .protocol = 1, .incarnation = 1, .broker_epoch = 1, .lease_ms = 900000, .renew_ms = 90000, .summary_ms = 100};
    helio_msg_verdicts_t verdicts = {.last = true};
    switch (message) {
    case HELIO_MSG_HELLO:
        world.hellos++;
        world.boot_id = ((helio_msg_hello_t *)record)->boot_id;
        world.former_boot_id = ((helio_msg_hello_t *)record)->former_boot_id;
        world.channels = ((helio_msg_hello_t *)record)->profile.channels;
        say(HELIO_MSG_WELCOME, &welcome);
        break;
    case HELIO_MSG_INVENTORY:
        world.inventories++;
        world.holdings += ((helio_msg_inventory_t *)record)->holdings.count;
        say(HELIO_MSG_VERDICTS, &verdicts);
        break;
    case HELIO_MSG_SUMMARY:
        world.summaries++;
        if (((helio_msg_summary_t *)record)->summary.pools.count)
            world.withheld = ((helio_msg_summary_t *)record)->summary.pools.items[0].withheld;
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
    case HELIO_MSG_CHANNEL_OUTPUT:
        world.outputs++;
        helio_buffer_append(&world.output, ((helio_msg_channel_output_t *)record)->data.data,
                            ((helio_msg_channel_output_t *)record)->data.size);
        break;
    case HELIO_MSG_CHANNEL_END:
        world.ends++;
        world.end_rc = ((helio_msg_channel_end_t *)record)->rc;
        world.end_exit = ((helio_msg_channel_end_t *)record)->exit_code;
        (void)helio_text_copy(((helio_msg_channel_end_t *)record)->text, world.end_text, sizeof world.end_text);
        break;
    case HELIO_MSG_BYE:
        world.byes++;
        break;
    default:
        fail_msg("message %u", message);
    }
}

static inline void end_agent(void)
{
    helio_agent_destroy(&world.agent);
    helio_tenure_end(&world.tenure);
}

/*  It dies, and its lock with it: the lock file says nothing of its end. */
static inline void crash_agent(void)
{
    helio_agent_destroy(&world.agent);
    (void)close(world.tenure.fd);
}

static inline void start_agent(void)
{
    if (helio_tenure_begin(world.directory, 1795, &world.tenure, NULL) != HELIO_OK)
        fail_msg("the state directory is not ours");
    helio_agent_parts_t parts = {&world.settings, make_fake, world.loop, world.log, &world.tenure};
    helio_error_t err = {0};
    if (helio_agent_new(&parts, &world.agent, &err) != HELIO_OK)
        fail_msg("%s", err.text);
}

static inline int begin(void **state)
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
    helio_server_options_t serve = {
        .endpoint = "tcp://127.0.0.1:*", .secret_key = broker.secret_key, .on_message = broker_hears, .linger_ms = -1};
    if (helio_server_new(world.net, world.loop, &serve, &world.server, &err) != HELIO_OK ||
        helio_server_allow(world.server, helio_text_of(agent.public_key), HELIO_TEXT("site:lulea"), &err) != HELIO_OK)
        return -1;
    world.pool = (helio_pool_t){.name = HELIO_TEXT("gpu"), .gpu = HELIO_TEXT("H100"), .nodes = 2, .gpus_per_node = 8};
    world.settings = (helio_agent_settings_t){.attempts_max = 10, .kill_margin_ms = 60000};
    world.settings.channels = (helio_channels_settings_t){.most = 4, .limit_ms = 60000, .idle_ms = 60000};
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

static inline int end(void **state)
{
    (void)state;
    end_agent();
    helio_server_destroy(&world.server);
    helio_loop_destroy(&world.loop);
    helio_net_destroy(&world.net);
    helio_log_destroy(&world.log);
    (void)close(world.log_fd);
    helio_buffer_clear(&world.output);
    helio_arena_destroy(&world.arena);
    return folder_remove(world.directory);
}

/*  The agent anew, with one feed out of a file of this content. The feed must outlive the agent. */
static inline void restart_with_feed(helio_feed_t *feed, const char *content)
{
    char path[96];
    helio_error_t err = {0};
    (void)snprintf(path, sizeof path, "%s/feed.csv", world.directory);
    FILE *file = fopen(path, "w");
    assert_true(file && fputs(content, file) >= 0 && fclose(file) == 0);
    end_agent();
    feed->source = HELIO_SOURCE_CSV;
    feed->every_ms = 60000;
    feed->timeout_ms = 10000;
    feed->path = helio_arena_text(world.arena, helio_text_of(path));
    feed->time_column = HELIO_TEXT("time");
    feed->value_column = HELIO_TEXT("value");
    feed->region_column = HELIO_TEXT("region");
    world.settings.site.timezone = HELIO_TEXT("UTC");
    world.settings.feeds.feeds.items = feed;
    world.settings.feeds.feeds.count = 1;
    if (helio_feeds_settings_complete(&world.settings.feeds, &world.settings.site, "/", world.arena, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    start_agent();
}

static inline void turn_until(const uint32_t *figure, uint32_t least)
{
    for (int turns = 0; *figure < least; turns++) {
        if (turns > 3000)
            fail_msg("waited for %u, but only %u came", least, *figure);
        helio_error_t err = {0};
        if (helio_agent_turn(world.agent, 10, &err) != HELIO_OK)
            fail_msg("%s", err.text);
    }
}

static inline helio_job_key_t key_of(uint8_t number)
{
    helio_job_key_t key = {.task = HELIO_NO_TASK};
    key.job.bytes[15] = number;
    return key;
}

static inline void order(uint8_t number, const char *document)
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

static inline void tell(uint8_t number, uint32_t word, int32_t exit_code)
{
    world.news[world.news_count++] =
        (helio_aev_backend_t){.key = key_of(number), .epoch = 1, .word = word, .exit_code = exit_code, .run_ms = 1000};
}

static inline uint32_t logged(const char *event)
{
    static char text[1 << 20];
    uint32_t count = 0;
    ssize_t size = pread(world.log_fd, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    for (const char *at = text; (at = strstr(at, event)); at++)
        count++;
    return count;
}

#endif
