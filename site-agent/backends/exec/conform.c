/*  conform.c -- holds an adapter to what docs/sites/exec.md asks of it, by requests of its own and by jobs that go the
 *  same way as every job. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/backends/exec/internal.h"

enum { DETAIL_SIZE = 600, JOB_MS = 90000 };

typedef struct trial {
    const helio_exec_options_t *options;
    helio_exec_check_fn *line;
    void *arg;
    helio_backend_t *backend;
    helio_order_t order;
    helio_job_spec_t spec;
    char name[HELIO_ATTEMPT_NAME_SIZE];
    uint32_t failed;
    /* of the attempt under way */
    bool started, over;
    helio_aev_backend_t end;
    char explanation[257];
} trial_t;

static void say(trial_t *self, const char *what, helio_rc rc, const char *detail)
{
    self->failed += rc != HELIO_OK;
    self->line(self->arg, what, rc, detail);
}

static void on_event(void *arg, const helio_aev_backend_t *event)
{
    trial_t *self = arg;
    if (!helio_job_key_equal(event->key, self->order.key))
        return;
    self->started = self->started || event->word == HELIO_BACKEND_REPORT_STARTED;
    bool end = event->word == HELIO_BACKEND_REPORT_ENDED || event->word == HELIO_BACKEND_REPORT_FAILED_TO_START ||
               event->word == HELIO_BACKEND_REPORT_VANISHED || event->word == HELIO_BACKEND_REPORT_ABSENT;
    if (!end)
        return;
    self->over = true;
    self->end = *event;
    (void)helio_text_copy(event->explanation, self->explanation, sizeof self->explanation);
}

/*  Until it has started, or is over. */
static bool run_until(trial_t *self, bool started)
{
    int64_t until_ms = helio_clock_boot_ms() + JOB_MS;
    const helio_backend_class_t *class = self->backend->class;
    while (!self->over && !(started && self->started) && helio_clock_boot_ms() < until_ms) {
        int64_t left_ms = class->next_ms(self->backend) - helio_clock_boot_ms();
        struct pollfd fd = {.fd = class->fd(self->backend), .events = POLLIN};
        (void)poll(&fd, 1, left_ms <= 0 ? 0 : left_ms < 500 ? (int)left_ms : 500);
        class->process(self->backend, helio_clock_boot_ms(), helio_clock_wall_ms());
    }
    return started ? self->started : self->over;
}

/* ---- requests ------------------------------------------------------------------------------------------ */

static void ask(trial_t *self, const char *what, const char *op, const char *more, bool must_fail)
{
    helio_arena_t *arena = helio_arena_new();
    helio_exec_answer_t answer = {0};
    helio_error_t err = {0};
    helio_rc rc = helio_exec_ask_once(self->options, op, more, arena, &answer, &err);
    if (must_fail && rc == HELIO_TIMEOUT)
        say(self, what, rc, err.text);
    else if (must_fail)
        say(self, what, rc ? HELIO_OK : HELIO_INVALID,
            rc ? "it ends with an exit code other than 0" : "it is answered as if it were known");
    else
        say(self, what, rc, rc ? err.text : "it is answered, and changes nothing");
    helio_arena_destroy(&arena);
}

static void requests(trial_t *self)
{
    const char *nobody = "\"name\":\"helio-00000000000000000000000000-1\",\"id\":\"\",\"mode\":\"kill\"";
    ask(self, "an unknown request", "no-such-request", "", true);
    ask(self, "cancel of nothing", "cancel", nobody, false);
    if (self->options->settings->carries)
        ask(self, "fence of nothing", "fence", nobody, false);
    ask(self, "forget of nothing", "forget", nobody, false);
}

/* ---- jobs ---------------------------------------------------------------------------------------------- */

static void begin_on(trial_t *self, uint32_t nodes, const char *run)
{
    const helio_pool_t *pool = &self->options->site->pools.items[0];
    const helio_user_rule_t *rule = &self->options->rules->users.items[0];
    uint8_t random[10] = {0};
    (void)!getrandom(random, sizeof random, 0);
    bool any_tenant = helio_text_is(rule->tenant, "*"), any_user = helio_text_is(rule->user, "*");
    self->order = (helio_order_t){.key = {helio_uuid_v7(helio_clock_wall_ms(), random), HELIO_NO_TASK},
                                  .epoch = 1,
                                  .tenant = any_tenant ? HELIO_TEXT("probe") : rule->tenant,
                                  .user = any_user ? HELIO_TEXT("probe") : rule->user,
                                  .pool = pool->name,
                                  .nodes = nodes,
                                  .gpus_per_node = pool->gpus_per_node ? 1 : 0,
                                  .time_limit_ms = 60000};
    self->spec = (helio_job_spec_t){.run = helio_text_of(run)};
    self->started = self->over = false;
    self->explanation[0] = '\0';
    helio_attempt_name(self->order.key, 1, self->name);
    helio_backend_task_t task = {.order = &self->order, .spec = &self->spec};
    self->backend->class->start(self->backend, &task);
}

static void begin(trial_t *self, const char *run)
{
    begin_on(self, 1, run);
}

static void take_log(trial_t *self, char ret_log[DETAIL_SIZE])
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
    uint64_t next;
    bool end;
    ret_log[0] = '\0';
    if (self->backend->class->log_read(self->backend, self->order.key, 1, 0, DETAIL_SIZE - 1, &log, &next, &end,
                                       NULL) == HELIO_OK)
        (void)helio_text_copy(helio_buffer_view(&log), ret_log, DETAIL_SIZE);
}

/*  Kills what is left of it, and has the adapter forget it. */
static void finish(trial_t *self)
{
    if (!self->over) {
        helio_stop_t stop = {.key = self->order.key, .epoch = 1, .mode = HELIO_STOP_MODE_KILL};
        self->backend->class->stop(self->backend, &stop);
        (void)run_until(self, false);
    }
    self->backend->class->forget(self->backend, self->order.key, 1);
}

static void judge(trial_t *self, const char *what, int exit_code, const char *log, const char *good)
{
    char detail[DETAIL_SIZE], got[DETAIL_SIZE];
    take_log(self, got);
    bool ended = self->over && self->end.word == HELIO_BACKEND_REPORT_ENDED;
    if (!self->over)
        (void)snprintf(detail, sizeof detail, "it did not end within %d s", JOB_MS / 1000);
    else if (!ended)
        (void)snprintf(detail, sizeof detail, "%s: %s: %.200s", helio_backend_report_name(self->end.word),
                       helio_cause_name(self->end.cause), self->explanation);
    else if (self->end.exit_code != exit_code)
        (void)snprintf(detail, sizeof detail, "its exit code is %d and not %d", self->end.exit_code, exit_code);
    else if (strcmp(got, log) != 0)
        (void)snprintf(detail, sizeof detail, "its output is '%.200s' and not '%.200s'", got, log);
    else {
        say(self, what, HELIO_OK, good);
        return;
    }
    say(self, what, HELIO_INVALID, detail);
}

static void a_job(trial_t *self)
{
    begin(self, "echo hello; exit 3");
    (void)run_until(self, false);
    judge(self, "a job", 3, "hello\n", "it runs, and its exit code and output come back");
    finish(self);
}

static void a_stop(trial_t *self)
{
    begin(self, "trap 'echo saved; exit 0' TERM; echo began; sleep 60 & wait");
    helio_stop_t stop = {.key = self->order.key, .epoch = 1, .mode = HELIO_STOP_MODE_GRACE};
    if (run_until(self, true))
        self->backend->class->stop(self->backend, &stop);
    (void)run_until(self, false);
    judge(self, "a stop", 0, "began\nsaved\n", "a running job gets its signal and its grace");
    finish(self);
}

/*  The agent did not hear the answer to its first request. */
static void twice(trial_t *self)
{
    helio_arena_t *arena = helio_arena_new();
    helio_exec_answer_t answer = {0};
    helio_error_t err = {0};
    const helio_exec_t *backend = helio_exec_of(self->backend);
    helio_unix_account_t *account = helio_new(1, sizeof *account);
    begin(self, "echo once; sleep 1");
    helio_rc rc = run_until(self, true) ? helio_folders_account(backend->folders, &self->order, account, &err)
                                        : helio_fail(&err, HELIO_TIMEOUT, "the job did not start");
    helio_text_t more = helio_arena_printf(
        arena,
        "\"name\":\"%s\",\"user\":\"%s\",\"uid\":%u,\"tenant\":\"probe\",\"shim\":\"%s\",\"pool\":\"%.*s\",\"gpus\":%u,"
        "\"nodes\":1,\"cpus\":0,\"memory_bytes\":0,\"limit_s\":60,\"grace_s\":30",
        self->name, account->name, (unsigned)account->uid, backend->shim, HELIO_TEXT_ARGS(self->order.pool),
        self->order.gpus_per_node);
    if (!rc)
        rc = helio_exec_ask_once(self->options, "submit", more.data, arena, &answer, &err);
    if (!rc && !answer.end.submitted.size)
        rc = helio_fail(&err, HELIO_INVALID, "the second answer has no `submitted`");
    (void)run_until(self, false);
    if (rc)
        say(self, "submit again", rc, err.text);
    else
        judge(self, "submit again", 0, "once\n", "a job that is submitted twice runs once");
    finish(self);
    free(account);
    helio_arena_destroy(&arena);
}

/*  Two ranks, each of which waits for the other: both run at a time. */
static void a_gang(trial_t *self)
{
    if (!helio_site_runs_gangs(self->options->site, &self->options->site->pools.items[0]))
        return;
    begin_on(self, 2,
             ": >\"$HELIO_CHECKPOINT_DIR/here.$HELIO_NODE_RANK\"\n"
             "[ $HELIO_NODES = 2 ] && [ -n \"$HELIO_HOSTS\" ] || exit 4\n"
             "for i in $(seq 300); do [ ! -e \"$HELIO_CHECKPOINT_DIR/here.$((1 - HELIO_NODE_RANK))\" ] || break; sleep "
             "0.1; done\n"
             "[ -e \"$HELIO_CHECKPOINT_DIR/here.$((1 - HELIO_NODE_RANK))\" ] || exit 5\n"
             "[ $HELIO_NODE_RANK = 1 ] || { echo both; exit 0; }\nsleep 1; exit 3");
    (void)run_until(self, false);
    judge(self, "a gang", 3, "both\n", "its ranks run at a time, and their exit code and output come back");
    finish(self);
    if (self->failed)
        return;
    begin_on(self, 2, "trap 'exit 0' TERM; sleep 60 & wait");
    helio_stop_t stop = {.key = self->order.key, .epoch = 1, .mode = HELIO_STOP_MODE_GRACE};
    if (run_until(self, true))
        self->backend->class->stop(self->backend, &stop);
    (void)run_until(self, false);
    judge(self, "a gang's stop", 0, "", "each of its ranks gets its signal");
    finish(self);
}

static helio_rc renew(trial_t *self, helio_error_t *err)
{
    helio_exec_options_t with = *self->options;
    with.sink = (helio_backend_sink_t){.arg = self, .on_event = on_event};
    helio_backend_destroy(&self->backend);
    return helio_exec_new(&with, &self->backend, err);
}

static void a_new_agent(trial_t *self)
{
    helio_error_t err = {0};
    begin(self, "echo before; sleep 3; echo after");
    (void)run_until(self, true);
    helio_rc rc = renew(self, &err);
    if (rc) {
        say(self, "a new agent", rc, err.text);
        return;
    }
    helio_backend_task_t task = {.order = &self->order, .spec = &self->spec};
    self->started = self->over = false;
    self->backend->class->adopt(self->backend, &task);
    (void)run_until(self, false);
    judge(self, "a new agent", 0, "before\nafter\n", "it finds what runs, and the end");
    finish(self);
}

/*  Of those that ran here. */
static void nothing_left(trial_t *self)
{
    helio_arena_t *arena = helio_arena_new();
    helio_exec_answer_t answer = {0};
    helio_error_t err = {0};
    helio_rc rc = HELIO_OK;
    uint32_t live = 1;
    for (int i = 0; i < 20 && live && !rc; i++) {
        (void)poll(NULL, 0, i ? 500 : 0);
        live = 0;
        rc = helio_exec_ask_once(self->options, "inventory", "\"held\":[]", arena, &answer, &err);
        for (uint32_t k = 0; !rc && k < answer.attempt_count; k++)
            live += helio_job_key_equal(answer.attempts[k].key, self->order.key) &&
                    answer.attempts[k].state != HELIO_EXEC_ENDED;
    }
    if (!rc && live)
        rc = helio_fail(&err, HELIO_INVALID, "the inventory lists a job as running that has ended");
    say(self, "nothing is left", rc, rc ? err.text : "what has ended is not listed as running");
    helio_arena_destroy(&arena);
}

void helio_exec_conform(const helio_exec_options_t *options, helio_exec_check_fn *line, void *arg)
{
    trial_t self = {.options = options, .line = line, .arg = arg};
    helio_error_t err = {0};
    requests(&self);
    helio_rc rc =
        options->rules->users.count && options->site->pools.count
            ? renew(&self, &err)
            : helio_fail(&err, HELIO_INVALID, "`users` maps no user that a job could run as, or there is no pool");
    if (rc) {
        say(&self, "jobs", rc, err.text);
        return;
    }
    a_job(&self);
    if (!self.failed) { /* each of the others would wait as long */
        a_stop(&self);
        twice(&self);
        a_new_agent(&self);
        a_gang(&self);
        nothing_left(&self);
    }
    helio_backend_destroy(&self.backend);
}
