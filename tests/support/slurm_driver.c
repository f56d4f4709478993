/*  slurm_driver -- the backend `slurm` driven by a shell script, against a real cluster: orders on standard input,
 *  events on standard output, one line each.
 *      usage: slurm_driver SHARED SLURM_CONF USER [COMMANDS]
 *      start EPOCH GPUS NODES LIMIT_S FILE [NAME=VALUE of `slurm` …]     FILE: what to run
 *      adopt EPOCH | stop EPOCH grace|kill | log EPOCH | lease SECONDS | survey | quit
 *      open CHANNEL EPOCH NODE command|terminal|port [PORT] [WORD …]     a channel; `+` in a word is a blank
 *      input CHANNEL TEXT | end CHANNEL | resize CHANNEL ROWS COLUMNS | close CHANNEL */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "federation/reason/codes.h"
#include "federation/base/clock.h"
#include "federation/base/log.h"
#include "site-agent/backends/slurm/slurm.h"
#include "site-agent/channels/channels.h"

enum { LINE_SIZE = 4096, PAIRS = 16, CHANNELS = 64 };

typedef struct driver {
    helio_backend_t *backend;
    helio_channels_t *channels;
    uint64_t came[CHANNELS]; /* output of each */
    bool quit;
} driver_t;

static void on_event(void *arg, const helio_aev_backend_t *event)
{
    (void)arg;
    char why[300];
    (void)printf("%s %u id=%.*s exit=%d stopped=%d limit=%d started=%d run_ms=%llu reason=%.*s\n",
                 helio_backend_report_name(event->word), event->epoch, HELIO_TEXT_ARGS(event->local_id),
                 event->exit_code, event->stopped, event->limit_reached, event->started_wall_ms != 0,
                 (unsigned long long)event->run_ms,
                 HELIO_TEXT_ARGS(helio_cause_text(event->cause, event->explanation, why, sizeof why)));
    (void)fflush(stdout);
}

static void on_capacity(void *arg, const helio_aev_capacity_t *capacity)
{
    (void)arg;
    for (uint32_t i = 0; i < capacity->pools.count; i++) {
        const helio_pool_capacity_t *pool = &capacity->pools.items[i];
        (void)printf("capacity %.*s total=%u allocated=%u running=%u queued=%u free=", HELIO_TEXT_ARGS(pool->pool),
                     pool->gpus_total, pool->gpus_allocated, pool->jobs_running, pool->jobs_queued);
        for (uint32_t k = 0; k < pool->free_nodes.count; k++)
            (void)printf("%s%u", k ? "," : "", pool->free_nodes.items[k]);
        (void)printf("\n");
    }
    (void)fflush(stdout);
}

static void on_survey(void *arg, const char *hindrance)
{
    (void)arg;
    (void)printf("survey %s%s\n", hindrance ? "hindered: " : "complete", hindrance ? hindrance : "");
    (void)fflush(stdout);
}

static helio_job_key_t key_of(void)
{
    helio_job_key_t key = {.task = HELIO_NO_TASK};
    for (size_t i = 0; i < sizeof key.job.bytes; i++)
        key.job.bytes[i] = (uint8_t)(i * 11 + 5);
    return key;
}

static helio_order_t order_of(uint32_t epoch)
{
    return (helio_order_t){.key = key_of(),
                           .epoch = epoch,
                           .tenant = HELIO_TEXT("demo"),
                           .user = HELIO_TEXT("me"),
                           .pool = HELIO_TEXT("h100"),
                           .nodes = 1};
}

static uint32_t number(char **rest)
{
    const char *word = strtok_r(NULL, " ", rest);
    return word ? (uint32_t)strtoul(word, NULL, 10) : 0;
}

static void start(driver_t *self, char **rest)
{
    static char run[65536];
    helio_pair_t pairs[PAIRS];
    helio_order_t order = order_of(number(rest));
    order.gpus_per_node = number(rest);
    order.nodes = number(rest);
    order.time_limit_ms = (uint64_t)number(rest) * 1000;
    const char *file = strtok_r(NULL, " ", rest);
    FILE *in = fopen(file ? file : "", "re");
    size_t size = in ? fread(run, 1, sizeof run, in) : 0;
    if (in)
        (void)fclose(in);
    helio_job_spec_t spec = {.run = {run, (uint32_t)size}, .slurm.items = pairs};
    for (char *word; spec.slurm.count < PAIRS && (word = strtok_r(NULL, " ", rest));) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = '\0';
        pairs[spec.slurm.count++] = (helio_pair_t){helio_text_of(word), helio_text_of(value)};
    }
    helio_backend_task_t task = {.order = &order, .spec = &spec};
    self->backend->class->start(self->backend, &task);
}

static void adopt(driver_t *self, char **rest)
{
    helio_order_t order = order_of(number(rest));
    helio_job_spec_t spec = {0};
    helio_backend_task_t task = {.order = &order, .spec = &spec};
    self->backend->class->adopt(self->backend, &task);
}

static void stop(driver_t *self, char **rest)
{
    helio_stop_t order = {.key = key_of(), .epoch = number(rest)};
    const char *mode = strtok_r(NULL, " ", rest);
    order.mode = mode && strcmp(mode, "kill") == 0 ? HELIO_STOP_MODE_KILL : HELIO_STOP_MODE_GRACE;
    self->backend->class->stop(self->backend, &order);
}

static void lease(driver_t *self, int64_t seconds)
{
    enum { NAMED = 16 }; /* the first epochs */
    helio_attempt_ref_t attempts[NAMED];
    for (uint32_t i = 0; i < NAMED; i++)
        attempts[i] = (helio_attempt_ref_t){key_of(), i + 1};
    helio_afx_lease_t granted = {.deadline_boot_ms = helio_clock_boot_ms() + seconds * 1000,
                                 .attempts = {attempts, NAMED}};
    (void)!self->backend->class->lease(self->backend, &granted, NULL);
}

static void show_log(driver_t *self, char **rest)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    uint64_t next = 0;
    bool end = false;
    uint32_t epoch = number(rest);
    helio_rc rc = self->backend->class->log_read(self->backend, key_of(), epoch, 0, 65536, &out, &next, &end, NULL);
    (void)printf("log %u %s %zu bytes%s\n%s", epoch, helio_rc_name(rc), out.size, end ? ", all" : "",
                 out.data ? out.data : "");
    (void)fflush(stdout);
}

/* ---- channels ------------------------------------------------------------------------------------------ */

static helio_rc enter(void *arg, const helio_entry_t *entry, helio_arena_t *arena, helio_entry_command_t *ret_command,
                      helio_error_t *err)
{
    driver_t *self = arg;
    return self->backend->class->enter(self->backend, entry, arena, ret_command, err);
}

static helio_rc on_output(void *arg, const helio_msg_channel_output_t *message)
{
    static char quoted[4 * HELIO_CHANNEL_DATA_MAX];
    driver_t *self = arg;
    self->came[message->channel % CHANNELS] += message->data.size;
    (void)printf("channel %llu %s %s\n", (unsigned long long)message->channel,
                 helio_channel_stream_name(message->stream), helio_log_quote(message->data, quoted, sizeof quoted));
    (void)fflush(stdout);
    return HELIO_OK;
}

static void on_end(void *arg, const helio_msg_channel_end_t *message)
{
    (void)arg;
    (void)printf("channel-end %llu rc=%s exit=%u text=%.*s\n", (unsigned long long)message->channel,
                 helio_rc_name((helio_rc)message->rc), message->exit_code, HELIO_TEXT_ARGS(message->text));
    (void)fflush(stdout);
}

static void open_channel(driver_t *self, char **rest)
{
    helio_argument_t words[16];
    helio_msg_channel_open_t open = {
        .channel = number(rest), .key = key_of(), .epoch = number(rest), .node = number(rest)};
    const char *kind = strtok_r(NULL, " ", rest);
    open.terminal = kind && strcmp(kind, "terminal") == 0;
    open.kind = kind && strcmp(kind, "port") == 0 ? HELIO_CHANNEL_KIND_PORT : HELIO_CHANNEL_KIND_COMMAND;
    if (open.kind == HELIO_CHANNEL_KIND_PORT)
        open.port = number(rest);
    open.term = HELIO_TEXT("xterm");
    open.rows = 33;
    open.columns = 99;
    for (char *word; open.command.count < 16 && (word = strtok_r(NULL, " ", rest));) {
        for (char *at = word; (at = strchr(at, '+'));)
            *at = ' ';
        words[open.command.count++] = (helio_argument_t){helio_text_of(word)};
    }
    open.command.items = words;
    self->came[open.channel % CHANNELS] = 0;
    helio_channels_open(self->channels, &open);
}

static void feed(driver_t *self, const char *what, char **rest)
{
    helio_msg_channel_input_t input = {.channel = number(rest)};
    char text[LINE_SIZE];
    input.received = self->came[input.channel % CHANNELS];
    if (strcmp(what, "resize") == 0) {
        input.rows = number(rest);
        input.columns = number(rest);
    } else if (strcmp(what, "input") == 0) {
        (void)snprintf(text, sizeof text, "%s\n", *rest ? *rest : "");
        input.data = helio_text_of(text);
    }
    input.end = strcmp(what, "end") == 0;
    helio_channels_input(self->channels, &input);
}

/*  False: it is none of its commands. */
static bool obey_channel(driver_t *self, const char *word, char **rest)
{
    if (strcmp(word, "open") == 0)
        open_channel(self, rest);
    else if (strcmp(word, "input") == 0 || strcmp(word, "end") == 0 || strcmp(word, "resize") == 0)
        feed(self, word, rest);
    else if (strcmp(word, "close") == 0)
        helio_channels_close(self->channels, number(rest));
    else
        return false;
    return true;
}

static void obey(driver_t *self, char *line)
{
    char *rest = NULL;
    const char *word = strtok_r(line, " \n", &rest);
    char *newline = rest ? strchr(rest, '\n') : NULL;
    if (newline)
        *newline = '\0';
    if (!word || obey_channel(self, word, &rest))
        return;
    if (strcmp(word, "start") == 0)
        start(self, &rest);
    else if (strcmp(word, "adopt") == 0)
        adopt(self, &rest);
    else if (strcmp(word, "stop") == 0)
        stop(self, &rest);
    else if (strcmp(word, "log") == 0)
        show_log(self, &rest);
    else if (strcmp(word, "survey") == 0)
        self->backend->class->survey(self->backend);
    else if (strcmp(word, "lease") == 0)
        lease(self, (int64_t)number(&rest));
    else if (strcmp(word, "quit") == 0)
        self->quit = true;
}

static void hear(driver_t *self)
{
    static char line[LINE_SIZE];
    if (fgets(line, sizeof line, stdin))
        obey(self, line);
    else
        self->quit = true;
}

static void turn(driver_t *self)
{
    const helio_backend_class_t *class = self->backend->class;
    int64_t next_ms = class->next_ms(self->backend), channels_ms = helio_channels_next_ms(self->channels);
    int64_t left_ms = (next_ms < channels_ms ? next_ms : channels_ms) - helio_clock_boot_ms();
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = class->fd(self->backend), .events = POLLIN},
                           {.fd = helio_channels_fd(self->channels), .events = POLLIN}};
    (void)poll(fds, 3, left_ms <= 0 ? 0 : left_ms < 1000 ? (int)left_ms : 1000);
    if (fds[0].revents)
        hear(self);
    class->process(self->backend, helio_clock_boot_ms(), helio_clock_wall_ms());
    helio_channels_process(self->channels, helio_clock_boot_ms());
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5) {
        (void)fprintf(stderr, "usage: slurm_driver SHARED SLURM_CONF USER [COMMANDS]\n");
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)setvbuf(stdin, NULL, _IONBF, 0);
    helio_user_rule_t user = {.tenant = HELIO_TEXT("*"),
                              .shared = true,
                              .user = HELIO_TEXT("*"),
                              .unix_user = helio_text_of(argv[3]),
                              .allow_root = strcmp(argv[3], "root") == 0};
    helio_job_rules_t rules = {.users = {&user, 1},
                               .path = HELIO_TEXT("/usr/local/bin:/usr/bin:/bin"),
                               .grace_ms = 3000,
                               .retention_ms = 1000,
                               .log_max_bytes = 1 << 20};
    helio_pool_t pool = {.name = HELIO_TEXT("h100"), .gpu = HELIO_TEXT("H100"), .nodes = 2, .gpus_per_node = 8};
    helio_site_profile_t site = {
        .name = HELIO_TEXT("lab"), .backend = HELIO_TEXT("slurm"), .pue = 1, .pools = {&pool, 1}};
    helio_slurm_settings_t settings = {.shared = helio_text_of(argv[1]),
                                       .conf = helio_text_of(argv[2]),
                                       .commands = helio_text_of(argv[4]), /* argv ends with NULL */
                                       .poll_ms = 1000,
                                       .withdraw_ms = 20000,
                                       .timeout_ms = 15000,
                                       .clock_tolerance_ms = 1000};
    driver_t self = {0};
    helio_slurm_options_t options = {
        .site = &site,
        .rules = &rules,
        .settings = &settings,
        .shim = HELIO_SHIM_PATH,
        .lease_margin_ms = 2000,
        .sink = {.arg = &self, .on_event = on_event, .on_capacity = on_capacity, .on_survey = on_survey}};
    helio_error_t err = {0};
    if (helio_slurm_new(&options, &self.backend, &err)) {
        (void)fprintf(stderr, "slurm_driver: %s\n", err.text);
        return 1;
    }
    helio_channels_options_t channels = {.kinds = 3,
                                         .most = CHANNELS,
                                         .limit_ms = 600000,
                                         .idle_ms = 600000,
                                         .arg = &self,
                                         .enter = enter,
                                         .on_output = on_output,
                                         .on_end = on_end};
    if (helio_channels_new(&channels, &self.channels, &err)) {
        (void)fprintf(stderr, "slurm_driver: %s\n", err.text);
        return 1;
    }
    while (!self.quit)
        turn(&self);
    helio_channels_destroy(&self.channels);
    helio_backend_destroy(&self.backend);
    return 0;
}
