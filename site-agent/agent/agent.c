#include "site-agent/agent/agent.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "federation/base/clock.h"
#include "federation/net/curve.h"
#include "federation/net/net.h"
#include "site-agent/feeds/feeds.h"
#include "site-agent/journal/journal.h"
#include "site-agent/uplink/uplink.h"

enum { LOG_PIECE_MAX = 256 << 10, SURVEY_ROUNDS_MAX = 10000 };

/*  Effects that wait for their batch. Two of them: while one is carried out, the other fills. */
typedef struct held {
    helio_arena_t *arena;
    helio_effect_t *items;
    uint32_t count, capacity;
} held_t;

struct helio_agent {
    helio_agent_parts_t parts;
    helio_agent_core_t *core;
    helio_effects_t *effects;
    helio_journal_t *journal;
    helio_net_t *net;
    helio_uplink_t *uplink;
    helio_backend_t *backend;
    helio_source_t *backend_source;
    helio_timer_t *backend_timer, *tick_timer, *feeds_timer;
    helio_feeds_t *feeds;
    helio_source_t *feeds_source;
    helio_arena_t *spec_arena;
    helio_arena_t *backend_series_arena; /* what the backend said last of the hours to come */
    helio_aev_series_t backend_series;
    held_t held[2];
    uint32_t filling; /* index into held */
    uint64_t open_rows, batch;
    int64_t wake_ms;
    helio_keypair_t keys;
    char broker_key[HELIO_CURVE_SIZE];
    helio_error_t fault; /* code not OK: the agent must end */
    bool stopping;
};

static void fault(helio_agent_t *self, const helio_error_t *err)
{
    if (self->fault.code == HELIO_OK)
        self->fault = *err;
}

/* ---- logging
 * ------------------------------------------------------------------------------------------------ */

static void log_report(helio_agent_t *self, const helio_report_t *report)
{
    char key[HELIO_KEY_SIZE], reason[300];
    helio_job_key_text(report->key, key);
    helio_level_t level = report->kind == HELIO_REPORT_KIND_LOST || report->kind == HELIO_REPORT_KIND_REFUSED
                              ? HELIO_WARN
                              : HELIO_INFO;
    helio_log(self->parts.log, level, "attempt", "job=%s epoch=%u report=%s exit=%d run_ms=%llu reason=%s",
              key, report->epoch, helio_report_kind_word(report->kind), report->exit_code,
              (unsigned long long)report->run_ms, helio_log_quote(report->reason, reason, sizeof reason));
}

static void on_note(void *arg, helio_uplink_note_t note, const char *endpoint, const char *text)
{
    static const struct {
        helio_level_t level;
        const char *event;
    } lines[] = {
        [HELIO_UPLINK_CONNECTED] = {HELIO_INFO, "broker_connected"},
        [HELIO_UPLINK_OPEN] = {HELIO_INFO, "session_open"},
        [HELIO_UPLINK_DISCONNECTED] = {HELIO_WARN, "broker_disconnected"},
        [HELIO_UPLINK_FAILED] = {HELIO_WARN, "broker_unreachable"},
        [HELIO_UPLINK_REFUSED] = {HELIO_ERROR, "broker_refused"},
        [HELIO_UPLINK_GIVEN_UP] = {HELIO_WARN, "broker_given_up"},
    };
    helio_agent_t *self = arg;
    char quoted[700];
    helio_log(self->parts.log, lines[note].level, lines[note].event, "endpoint=%s text=%s", endpoint,
              helio_log_quote(helio_text_of(text), quoted, sizeof quoted));
}

/* ---- carrying out
 * ------------------------------------------------------------------------------------------- */

static void step(helio_agent_t *self, uint32_t kind, const void *payload);

static void hold(helio_agent_t *self, const helio_effect_t *effect)
{
    held_t *held = &self->held[self->filling];
    if (held->count == held->capacity) {
        held->capacity = held->capacity ? held->capacity * 2 : 64;
        held->items = helio_grow(held->items, held->capacity, sizeof *held->items);
    }
    const helio_record_type_t *type = helio_agent_effects[effect->kind].type;
    helio_effect_t copy = *effect;
    copy.payload = helio_arena_alloc(held->arena, 1, type->size);
    helio_record_copy(type, held->arena, effect->payload, copy.payload);
    held->items[held->count++] = copy;
}

/*  The document was checked by the broker; one that does not parse here is never given to a backend. */
static helio_rc parse_spec(helio_agent_t *self, const helio_order_t *order, helio_job_spec_t *ret_spec,
                           helio_error_t *err)
{
    helio_diagnostic_t diagnostic;
    helio_spec_source_t source = {.text = order->source, .name = "job"};
    helio_rc rc = helio_spec_parse_job(source, self->spec_arena, ret_spec, &diagnostic);
    return rc == HELIO_OK ? rc : helio_fail(err, rc, "BadDocument: %s", diagnostic.message);
}

static void start_or_adopt(helio_agent_t *self, const helio_effect_t *effect)
{
    const helio_afx_start_t *call = effect->payload;
    helio_job_spec_t spec;
    helio_error_t err;
    helio_arena_reset(self->spec_arena);
    helio_rc rc = parse_spec(self, &call->order, &spec, &err);
    if (rc != HELIO_OK && effect->kind == HELIO_AGENT_FX_START) {
        helio_aev_backend_t failed = {.key = call->order.key,
                                      .epoch = call->order.epoch,
                                      .word = HELIO_BACKEND_WORD_FAILED_TO_START,
                                      .reason = helio_text_of(err.text)};
        if (failed.reason.size > 256)
            failed.reason.size = 256;
        step(self, HELIO_AGENT_EV_BACKEND, &failed);
        return;
    }
    if (rc != HELIO_OK) /* found without its document: it can still be watched and stopped */
        helio_spec_defaults(&helio_spec_job_table, self->spec_arena, &spec);
    helio_backend_task_t task = {
        .order = &call->order, .spec = &spec, .slots = call->slots.items, .slot_count = call->slots.count};
    if (effect->kind == HELIO_AGENT_FX_START)
        self->backend->class->start(self->backend, &task);
    else
        self->backend->class->adopt(self->backend, &task);
}

static void set_lease(helio_agent_t *self, const helio_afx_lease_t *lease)
{
    helio_error_t err = {0};
    char quoted[600];
    if (self->backend->class->lease &&
        self->backend->class->lease(self->backend, lease->deadline_boot_ms, &err) != HELIO_OK)
        helio_log(self->parts.log, HELIO_ERROR, "lease_not_written", "text=%s",
                  helio_log_quote(helio_text_of(err.text), quoted, sizeof quoted));
}

static void carry_out(helio_agent_t *self, const helio_effect_t *effect)
{
    if (helio_framer_takes(effect->kind)) {
        if (self->uplink)
            helio_uplink_put(self->uplink, effect, helio_clock_wall_ms());
        return;
    }
    switch ((helio_agent_effect_t)effect->kind) {
    case HELIO_AGENT_FX_START:
    case HELIO_AGENT_FX_ADOPT:
        start_or_adopt(self, effect);
        break;
    case HELIO_AGENT_FX_STOP:
        self->backend->class->stop(self->backend, effect->payload);
        break;
    case HELIO_AGENT_FX_FORGET: {
        const helio_afx_forget_t *forget = effect->payload;
        self->backend->class->forget(self->backend, forget->key, forget->epoch);
        break;
    }
    case HELIO_AGENT_FX_LEASE:
        set_lease(self, effect->payload);
        break;
    case HELIO_AGENT_FX_ROW_META:
    case HELIO_AGENT_FX_ROW_SEEN:
    case HELIO_AGENT_FX_ROW_ATTEMPT:
    case HELIO_AGENT_FX_ROW_REPORT:
    case HELIO_AGENT_FX_ROW_ACKED:
    case HELIO_AGENT_FX_SEND_REPORT:
    case HELIO_AGENT_FX_SEND_HELLO:
    case HELIO_AGENT_FX_SEND_INVENTORY:
    case HELIO_AGENT_FX_SEND_SUMMARY:
    case HELIO_AGENT_FX_SEND_RENEW:
    case HELIO_AGENT_EFFECT_COUNT:
        break;
    }
}

static void take_effects(helio_agent_t *self)
{
    for (uint32_t i = 0; i < self->effects->count && self->fault.code == HELIO_OK; i++) {
        const helio_effect_t *effect = &self->effects->items[i];
        helio_error_t err = {0};
        switch (effect->release) {
        case HELIO_RELEASE_ROW:
            self->open_rows++;
            if (effect->kind == HELIO_AGENT_FX_ROW_REPORT)
                log_report(self, effect->payload);
            if (helio_journal_put(self->journal, effect, &err) != HELIO_OK)
                fault(self, &err);
            break;
        case HELIO_RELEASE_HELD:
            hold(self, effect);
            break;
        case HELIO_RELEASE_FREE:
            carry_out(self, effect);
            break;
        }
    }
}

static void step(helio_agent_t *self, uint32_t kind, const void *payload)
{
    if (self->fault.code != HELIO_OK)
        return;
    helio_event_t event = {kind, helio_clock_boot_ms(), helio_clock_wall_ms(), payload};
    helio_effects_reset(self->effects);
    helio_agent_core_step(self->core, &event, self->effects);
    self->wake_ms = self->effects->wake_ms;
    take_effects(self);
}

/*  Until nothing waits: what is carried out may be news to the core at once (a document that does not parse).
 */
static void seal(helio_agent_t *self)
{
    while (self->fault.code == HELIO_OK && (self->open_rows || self->held[self->filling].count)) {
        helio_error_t err = {0};
        if (helio_journal_commit(self->journal, &err) != HELIO_OK) {
            fault(self, &err);
            return;
        }
        self->open_rows = 0;
        helio_aev_sealed_t sealed = {self->batch++};
        step(self, HELIO_AGENT_EV_SEALED, &sealed);
        held_t *held = &self->held[self->filling];
        self->filling ^= 1;
        for (uint32_t i = 0; i < held->count; i++)
            carry_out(self, &held->items[i]);
        held->count = 0;
        helio_arena_reset(held->arena);
    }
    if (self->uplink)
        helio_uplink_flush(self->uplink);
}

/* ---- what happens
 * ------------------------------------------------------------------------------------------- */

static void on_uplink_event(void *arg, uint32_t event, const void *payload)
{
    step(arg, event, payload);
}

static void on_backend_event(void *arg, const helio_aev_backend_t *event)
{
    step(arg, HELIO_AGENT_EV_BACKEND, event);
}

static void on_backend_capacity(void *arg, const helio_aev_capacity_t *capacity)
{
    step(arg, HELIO_AGENT_EV_CAPACITY, capacity);
}

static void on_log_read(void *arg, const helio_msg_log_read_t *request)
{
    helio_agent_t *self = arg;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {.max = LOG_PIECE_MAX};
    helio_msg_log_data_t answer = {.request = request->request, .offset = request->offset};
    size_t most = request->size_max < LOG_PIECE_MAX ? request->size_max : LOG_PIECE_MAX;
    uint64_t next = request->offset;
    helio_error_t err;
    answer.rc = self->backend->class->log_read
                    ? self->backend->class->log_read(self->backend, request->key, request->epoch,
                                                     request->offset, most, &bytes, &next, &answer.end, &err)
                    : HELIO_NOT_FOUND;
    answer.data = helio_buffer_view(&bytes);
    helio_uplink_log_data(self->uplink, &answer);
}

static void process_backend(void *arg)
{
    helio_agent_t *self = arg;
    self->backend->class->process(self->backend, helio_clock_boot_ms(), helio_clock_wall_ms());
}

static void on_tick(void *arg)
{
    static const helio_aev_nothing_t nothing = {0};
    step(arg, HELIO_AGENT_EV_TICK, &nothing);
}

/*  The hours to come, as the feeds and the backend see them now. */
static void tell_series(helio_agent_t *self)
{
    helio_arena_t *arena = helio_arena_new();
    helio_aev_series_t series;
    helio_feeds_publish(self->feeds, &self->backend_series, helio_clock_wall_ms(), arena, &series);
    step(self, HELIO_AGENT_EV_SERIES, &series);
    helio_arena_destroy(&arena);
}

static void process_feeds(void *arg)
{
    helio_agent_t *self = arg;
    int64_t wall_ms = helio_clock_wall_ms();
    helio_feeds_process(self->feeds, helio_clock_boot_ms(), wall_ms);
    if (helio_feeds_news(self->feeds, wall_ms))
        tell_series(self);
}

static void on_feed_note(void *arg, const helio_feed_note_t *note)
{
    helio_agent_t *self = arg;
    char quoted[900], name[80];
    const char *signal = note->feed ? helio_feed_signal_word(note->feed->signal) : "all";
    (void)helio_log_quote(note->feed ? note->feed->name : HELIO_TEXT("memory"), name, sizeof name);
    if (note->well)
        helio_log(self->parts.log, HELIO_INFO, "feed_well", "signal=%s feed=%s", signal, name);
    else
        helio_log(self->parts.log, HELIO_WARN, "feed_failed", "signal=%s feed=%s text=%s", signal, name,
                  helio_log_quote(helio_text_of(note->text), quoted, sizeof quoted));
}

static void on_backend_series(void *arg, const helio_aev_series_t *series)
{
    helio_agent_t *self = arg;
    helio_arena_reset(self->backend_series_arena);
    helio_record_copy(&helio_aev_series_type, self->backend_series_arena, series, &self->backend_series);
    if (self->feeds)
        tell_series(self);
}

static void on_backend_silence(void *arg, bool silent, uint64_t for_ms)
{
    helio_agent_t *self = arg;
    if (silent)
        helio_log(self->parts.log, HELIO_WARN, "scheduler_silent",
                  "for_ms=%llu text=\"it does not answer: no GPUs are offered until it does; jobs stay what they were\"",
                  (unsigned long long)for_ms);
    else
        helio_log(self->parts.log, HELIO_INFO, "scheduler_back",
                  "after_ms=%llu text=\"it answers again; nothing was offered meanwhile\"",
                  (unsigned long long)for_ms);
}

static void arm(helio_timer_t *timer, int64_t at_ms)
{
    if (at_ms == INT64_MAX)
        helio_timer_disarm(timer);
    else if (at_ms == 0)
        helio_timer_arm(timer, 0, 0);
    else
        helio_timer_arm_at(timer, at_ms);
}

helio_rc helio_agent_turn(helio_agent_t *self, int64_t timeout_ms, helio_error_t *err)
{
    seal(self); /* of the former turn, and of the beginning */
    if (self->fault.code != HELIO_OK) {
        if (err)
            *err = self->fault;
        return self->fault.code;
    }
    arm(self->tick_timer, self->wake_ms);
    arm(self->backend_timer, self->backend->class->next_ms(self->backend));
    arm(self->feeds_timer, helio_feeds_next_ms(self->feeds));
    return helio_loop_turn(self->parts.loop, timeout_ms, err);
}

helio_rc helio_agent_run(helio_agent_t *self, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    while (rc == HELIO_OK && !self->stopping)
        rc = helio_agent_turn(self, -1, err);
    return rc;
}

void helio_agent_stop(helio_agent_t *self, const char *reason)
{
    if (self->stopping)
        return;
    self->stopping = true;
    seal(self);
    helio_uplink_bye(self->uplink, reason);
}

void helio_agent_figures(const helio_agent_t *self, helio_agent_figures_t *ret_figures)
{
    helio_agent_core_figures(self->core, ret_figures);
}

/* ---- beginning
 * ---------------------------------------------------------------------------------------------- */

static void on_load(void *arg, uint32_t event, const void *payload)
{
    step(arg, event, payload);
}

static helio_rc load(helio_agent_t *self, helio_journal_state_t *ret_state, helio_error_t *err)
{
    helio_error_t why = {0};
    helio_rc rc = helio_journal_open(self->parts.settings->state_dir.data, helio_clock_wall_ms(),
                                     &self->journal, ret_state, &why);
    if (rc == HELIO_OK)
        rc = helio_journal_load(self->journal, on_load, self, &why);
    if (rc != HELIO_OK) {
        if (err)
            *err = why;
        return rc;
    }
    helio_aev_loaded_t loaded = {.damaged = *ret_state == HELIO_JOURNAL_DAMAGED};
    step(self, HELIO_AGENT_EV_LOADED, &loaded);
    char quoted[700];
    if (loaded.damaged)
        helio_log(self->parts.log, HELIO_ERROR, "journal_damaged", "text=%s",
                  helio_log_quote(helio_text_of(why.text), quoted, sizeof quoted));
    helio_agent_figures_t figures;
    helio_agent_core_figures(self->core, &figures);
    helio_log(self->parts.log, HELIO_INFO, "journal_loaded", "attempts=%llu reports=%llu",
              (unsigned long long)figures.attempts, (unsigned long long)figures.reports_pending);
    return HELIO_OK;
}

/*  The journal cannot say what runs here: ask the backend, before the broker is told what does. */
static void survey(helio_agent_t *self)
{
    if (!self->backend->class->survey)
        return;
    self->backend->class->survey(self->backend);
    for (int i = 0; i < SURVEY_ROUNDS_MAX && self->backend->class->next_ms(self->backend) == 0; i++) {
        process_backend(self);
        seal(self);
    }
}

static helio_rc call_brokers(helio_agent_t *self, helio_error_t *err)
{
    const helio_agent_settings_t *settings = self->parts.settings;
    uint8_t random[18] = {0};
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return helio_fail(err, HELIO_IO, "the system gave no random bytes");
    uint64_t seed;
    memcpy(&seed, random + 10, sizeof seed);
    helio_dialer_target_t *targets = helio_new(settings->brokers.count, sizeof *targets);
    for (uint32_t i = 0; i < settings->brokers.count; i++) {
        targets[i].endpoint = helio_arena_string(self->spec_arena, settings->brokers.items[i].text);
        targets[i].server_key = self->broker_key;
    }
    helio_uplink_options_t options = {
        .targets = targets,
        .target_count = settings->brokers.count,
        .secret_key = self->keys.secret_key,
        .identity = {.agent_version = HELIO_RELEASE, .profile = &settings->site},
        .seed = seed,
        .on_event = on_uplink_event,
        .on_log_read = on_log_read,
        .on_note = on_note,
        .arg = self};
    options.identity.boot_id = helio_uuid_v7(helio_clock_wall_ms(), random);
    helio_rc rc = helio_uplink_new(self->net, self->parts.loop, &options, &self->uplink, err);
    free(targets);
    return rc;
}

static void make_timers(helio_agent_t *self)
{
    helio_loop_t *loop = self->parts.loop;
    self->tick_timer = helio_timer_new(loop, on_tick, self);
    self->feeds_timer = helio_timer_new(loop, process_feeds, self);
    self->feeds_source =
        helio_source_new(loop, helio_feeds_fd(self->feeds), HELIO_LOOP_IN, process_feeds, self);
    self->backend_timer = helio_timer_new(loop, process_backend, self);
    int fd = self->backend->class->fd(self->backend);
    if (fd >= 0)
        self->backend_source = helio_source_new(loop, fd, HELIO_LOOP_IN, process_backend, self);
}

static helio_rc open_feeds(helio_agent_t *self, helio_error_t *err)
{
    const helio_agent_settings_t *settings = self->parts.settings;
    helio_feeds_options_t options = {.settings = &settings->feeds,
                                     .profile = &settings->site,
                                     .state_dir = settings->state_dir.data,
                                     .on_note = on_feed_note,
                                     .arg = self,
                                     .now_boot_ms = helio_clock_boot_ms(),
                                     .wall_ms = helio_clock_wall_ms()};
    return helio_feeds_new(&options, &self->feeds, err);
}

static helio_rc begin(helio_agent_t *self, helio_error_t *err)
{
    const helio_agent_settings_t *settings = self->parts.settings;
    helio_rc rc = helio_agent_broker_key(settings, self->broker_key, err);
    if (rc == HELIO_OK)
        rc = helio_keypair_load(settings->key_file.data, &self->keys, err);
    helio_backend_sink_t sink = {.arg = self,
                                 .on_event = on_backend_event,
                                 .on_capacity = on_backend_capacity,
                                 .on_series = on_backend_series,
                                 .on_silence = on_backend_silence};
    if (rc == HELIO_OK)
        rc = self->parts.make_backend(settings, &sink, &self->backend, err);
    if (rc != HELIO_OK)
        return rc;
    helio_agent_options_t options = {.allocates = self->backend->class->allocates,
                                     .attempts_max = settings->attempts_max,
                                     .kill_margin_ms = settings->kill_margin_ms};
    self->core = helio_agent_core_new(options, &settings->site);
    helio_journal_state_t state = HELIO_JOURNAL_INTACT;
    rc = load(self, &state, err);
    if (rc != HELIO_OK)
        return rc;
    seal(self);
    if (state != HELIO_JOURNAL_INTACT)
        survey(self);
    rc = open_feeds(self, err);
    if (rc != HELIO_OK)
        return rc;
    tell_series(self);
    make_timers(self);
    rc = helio_net_new(0, &self->net, err);
    return rc == HELIO_OK ? call_brokers(self, err) : rc;
}

helio_rc helio_agent_new(const helio_agent_parts_t *parts, helio_agent_t **ret_agent, helio_error_t *err)
{
    helio_agent_t *self = helio_new(1, sizeof *self);
    self->parts = *parts;
    self->effects = helio_effects_new();
    self->spec_arena = helio_arena_new();
    self->backend_series_arena = helio_arena_new();
    self->held[0].arena = helio_arena_new();
    self->held[1].arena = helio_arena_new();
    self->batch = 1;
    self->wake_ms = INT64_MAX;
    helio_rc rc = begin(self, err);
    if (rc != HELIO_OK) {
        helio_agent_destroy(&self);
        return rc;
    }
    *ret_agent = self;
    return HELIO_OK;
}

void helio_agent_destroy(helio_agent_t **self_p)
{
    helio_agent_t *self = *self_p;
    if (!self)
        return;
    helio_uplink_destroy(&self->uplink);
    helio_source_destroy(&self->backend_source);
    helio_timer_destroy(&self->backend_timer);
    helio_timer_destroy(&self->tick_timer);
    helio_source_destroy(&self->feeds_source);
    helio_timer_destroy(&self->feeds_timer);
    helio_feeds_destroy(&self->feeds);
    helio_backend_destroy(&self->backend);
    helio_journal_close(&self->journal);
    helio_net_destroy(&self->net);
    helio_agent_core_destroy(&self->core);
    helio_effects_destroy(&self->effects);
    helio_arena_destroy(&self->spec_arena);
    helio_arena_destroy(&self->backend_series_arena);
    for (int i = 0; i < 2; i++) {
        helio_arena_destroy(&self->held[i].arena);
        free(self->held[i].items);
    }
    helio_keypair_wipe(&self->keys);
    free(self);
    *self_p = NULL;
}
