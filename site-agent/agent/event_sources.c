/*  event_sources.c -- events from outside: from the brokers, the backend, the feeds and the clock. */
#include <stdlib.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/agent/gpus.h"
#include "site-agent/agent/internal.h"

enum {
    LOG_PIECE_MAX = 256 << 10,
    SURVEY_ROUNDS_MAX = 10000,
    ENERGY_TICK_MS = 10000,
    DISK_LEAST = 4 << 20 /* bytes free, below which nothing starts: a start writes files of its own, and a first log */
};

/* ---- the brokers ----------------------------------------------------------------------------------------- */

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

/*  Every few seconds, and before each order, which would fail, or be forgotten by the next start. The broker is told,
 *  since an operator sees there only that the site is silent. */
static void look_at_state(helio_agent_t *self)
{
    bool replaced = false;
    const char *path = helio_state_files_lost(&self->state_files, &replaced);
    if (!path || self->fault.code != HELIO_OK)
        return;
    helio_error_t err = {0};
    (void)helio_fail(
        &err, HELIO_IO,
        "%s was %s while the agent ran: its memory of jobs is lost; the next start looks for what runs here", path,
        replaced ? "replaced" : "removed");
    helio_log(self->parts.log, HELIO_ERROR, "state_gone", "path=%s replaced=%d", path, replaced);
    agent_last_step(self, &err);
}

/*  Before each order, so that a full disk refuses jobs, which go elsewhere, instead of failing them one after
 *  another. */
static void look_at_disk(helio_agent_t *self)
{
    struct statvfs disk;
    if (statvfs(self->parts.settings->state_dir.data, &disk))
        return;
    const helio_aev_disk_t now = {.full = disk.f_bavail * disk.f_frsize < DISK_LEAST};
    if (now.full == self->disk_full)
        return;
    self->disk_full = now.full;
    helio_log(self->parts.log, now.full ? HELIO_WARN : HELIO_INFO, now.full ? "disk_full" : "disk_back",
              "state_dir=%s free_bytes=%llu", self->parts.settings->state_dir.data,
              (unsigned long long)(disk.f_bavail * disk.f_frsize));
    agent_step(self, HELIO_AGENT_EV_DISK, &now);
}

/*  Logs once that GPUs went, and once that they are back. */
static void tell_gpus(helio_agent_t *self, uint32_t gone)
{
    helio_agent_figures_t figures;
    helio_agent_core_figures(self->core, &figures);
    uint32_t others = figures.gpus_of_others > gone ? figures.gpus_of_others - gone : 0;
    if (gone != self->gpus_gone)
        helio_log(self->parts.log, gone ? HELIO_WARN : HELIO_INFO, gone ? "gpus_gone" : "gpus_answer",
                  "gpus=%u text=\"GPUs, slices or shares that do not answer, or whose MPS daemon does not run, are not "
                  "offered\"",
                  gone);
    if (others != self->gpus_of_others)
        helio_log(self->parts.log, others ? HELIO_WARN : HELIO_INFO, others ? "gpus_in_use" : "gpus_back",
                  "gpus=%u text=\"GPUs on which processes outside the federation compute are not offered\"", others);
    self->gpus_gone = gone;
    self->gpus_of_others = others;
}

/*  Every few seconds, and before each order. The core knows which of the busy GPUs its attempts hold. */
static void look_at_gpus(helio_agent_t *self)
{
    const helio_agent_settings_t *settings = self->parts.settings;
    uint32_t gone = 0;
    helio_slots_away_t away;
    bool any = false;
    for (uint32_t p = 0; p < settings->site.pools.count; p++) {
        if (!helio_site_gpus_look(settings, p, &away))
            continue;
        helio_aev_gpus_t now = {.busy = {away.slots, away.count}, .pool = p, .gone = away.gone};
        gone += away.gone;
        any = true;
        agent_step(self, HELIO_AGENT_EV_GPUS, &now);
    }
    if (any)
        tell_gpus(self, gone);
}

/*  Tells the operator why a site that is ready offers nothing, and refuses each order. Where a scheduler allocates, it
 *  knows the size. */
static void look_at_found(helio_agent_t *self)
{
    helio_agent_figures_t figures;
    helio_agent_core_figures(self->core, &figures);
    bool found = figures.found_unknown && self->backend->class->allocates;
    if (found == self->found_unknown)
        return;
    self->found_unknown = found;
    if (found)
        helio_log(self->parts.log, HELIO_WARN, "nothing_offered",
                  "text=\"an attempt of unknown size runs here, which was found without its order (as after a loss of "
                  "state_dir): the site offers nothing until it ends\"");
    else
        helio_log(self->parts.log, HELIO_INFO, "offered_again",
                  "text=\"no attempt of unknown size runs here any more\"");
}

static void on_uplink_event(void *arg, uint32_t event, const void *payload)
{
    helio_agent_t *self = arg;
    if (event == HELIO_AGENT_EV_WELCOME)
        helio_tenure_admitted(self->parts.tenure);
    if (event == HELIO_AGENT_EV_DISCONNECTED)
        helio_channels_session_over(self->channels);
    if (event == HELIO_AGENT_EV_ORDERS) {
        look_at_state(arg);
        look_at_disk(arg);
        look_at_gpus(arg);
        look_at_found(arg);
        agent_scale_orders(arg, payload);
    }
    agent_step(arg, event, payload);
}

static void on_log_read(void *arg, const helio_msg_log_read_t *request)
{
    helio_agent_t *self = arg;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {.max = LOG_PIECE_MAX};
    helio_msg_log_data_t answer = {.request = request->request, .offset = request->offset};
    size_t most = request->size_max < LOG_PIECE_MAX ? request->size_max : LOG_PIECE_MAX;
    uint64_t offset = request->offset | (request->from_end ? HELIO_LOG_FROM_END : 0), next = offset;
    helio_error_t err;
    answer.rc = self->backend->class->log_read
                    ? self->backend->class->log_read(self->backend, request->key, request->epoch, offset, most, &bytes,
                                                     &next, &answer.end, &err)
                    : HELIO_NOT_FOUND;
    answer.data = helio_buffer_view(&bytes);
    if (request->from_end)
        answer.offset = next & HELIO_LOG_FROM_END ? 0 : next - bytes.size;
    helio_uplink_log_data(self->uplink, &answer);
}

helio_rc agent_call_brokers(helio_agent_t *self, helio_error_t *err)
{
    const helio_agent_settings_t *settings = self->parts.settings;
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        return helio_fail(err, HELIO_IO, "the system provided no random bytes");
    helio_dialer_target_t *targets = helio_new(settings->brokers.count, sizeof *targets);
    for (uint32_t i = 0; i < settings->brokers.count; i++) {
        targets[i].endpoint = helio_arena_string(self->spec_arena, settings->brokers.items[i].text);
        targets[i].server_key = self->broker_key;
    }
    helio_uplink_options_t options = {.targets = targets,
                                      .target_count = settings->brokers.count,
                                      .secret_key = self->keys.secret_key,
                                      .identity = {.agent_version = HELIO_PROGRAM_VERSION,
                                                   .boot_id = self->parts.tenure->process,
                                                   .former_boot_id = self->parts.tenure->former,
                                                   .profile = &settings->site},
                                      .seed = seed,
                                      .on_event = on_uplink_event,
                                      .on_log_read = on_log_read,
                                      .on_channel_open = agent_on_channel_open,
                                      .on_channel_input = agent_on_channel_input,
                                      .on_channel_close = agent_on_channel_close,
                                      .on_demand = agent_on_demand,
                                      .on_note = on_note,
                                      .arg = self};
    helio_rc rc = helio_uplink_new(self->net, self->parts.loop, &options, &self->uplink, err);
    free(targets);
    return rc;
}

/* ---- the backend ----------------------------------------------------------------------------------------- */

static void on_backend_event(void *arg, const helio_aev_backend_t *event)
{
    agent_channels_of_over(arg, event);
    agent_step(arg, HELIO_AGENT_EV_BACKEND, event);
}

/*  Logs once that a pool has no GPUs any more (its partition was removed or renamed, or all nodes are down), and once
 *  that it has some again. Otherwise the federation would see a site that is ready and offers nothing. */
static void tell_empty(helio_agent_t *self, uint32_t index, const helio_pool_capacity_t *capacity)
{
    uint64_t bit = UINT64_C(1) << index;
    bool empty = capacity->gpus_total == 0;
    if (empty == ((self->empty_pools & bit) != 0))
        return;
    self->empty_pools ^= bit;
    if (empty)
        helio_log(self->parts.log, HELIO_WARN, "pool_empty",
                  "pool=%.*s text=\"the pool has no nodes, or none that can run jobs: nothing of it is offered; "
                  "helio-agent check shows more\"",
                  HELIO_TEXT_ARGS(capacity->pool));
    else
        helio_log(self->parts.log, HELIO_INFO, "pool_back", "pool=%.*s gpus=%llu", HELIO_TEXT_ARGS(capacity->pool),
                  (unsigned long long)capacity->gpus_total);
}

static void on_backend_capacity(void *arg, const helio_aev_capacity_t *capacity)
{
    helio_agent_t *self = arg;
    const helio_site_profile_t *site = &self->parts.settings->site;
    for (uint32_t i = 0; i < capacity->pools.count && !self->silent; i++)
        for (uint32_t k = 0; k < site->pools.count && k < 64; k++)
            if (site->pools.items[k].gpus_per_node && !site->pools.items[k].elastic &&
                helio_text_equal(site->pools.items[k].name, capacity->pools.items[i].pool))
                tell_empty(self, k, &capacity->pools.items[i]);
    agent_tell_capacity(self, capacity);
}

static void on_backend_series(void *arg, const helio_aev_series_t *series)
{
    helio_agent_t *self = arg;
    helio_arena_reset(self->backend_series_arena);
    helio_record_copy(&helio_aev_series_type, self->backend_series_arena, series, &self->backend_series);
    if (self->feeds)
        agent_tell_series(self);
}

static void on_backend_silence(void *arg, bool silent, uint64_t for_ms)
{
    helio_agent_t *self = arg;
    self->silent = silent;
    if (silent)
        helio_log(self->parts.log, HELIO_WARN, "scheduler_silent",
                  "for_ms=%llu text=\"the scheduler does not answer: no GPUs are offered until it does; "
                  "jobs keep their states\"",
                  (unsigned long long)for_ms);
    else
        helio_log(self->parts.log, HELIO_INFO, "scheduler_back",
                  "after_ms=%llu text=\"the scheduler answers again; nothing was offered meanwhile\"",
                  (unsigned long long)for_ms);
}

static void on_backend_doubt(void *arg, const char *text)
{
    const helio_agent_t *self = arg;
    char quoted[700];
    helio_log(self->parts.log, HELIO_WARN, "cluster_doubted", "text=%s",
              helio_log_quote(helio_text_of(text), quoted, sizeof quoted));
}

static void on_backend_evidence(void *arg, const helio_aev_evidence_t *evidence)
{
    agent_step(arg, HELIO_AGENT_EV_EVIDENCE, evidence);
}

static void on_backend_survey(void *arg, const char *hindrance)
{
    static const helio_aev_nothing_t nothing = {0};
    helio_agent_t *self = arg;
    char quoted[700];
    if (hindrance)
        helio_log(self->parts.log, HELIO_WARN, "survey_incomplete", "text=%s",
                  helio_log_quote(helio_text_of(hindrance), quoted, sizeof quoted));
    else if (self->survey_hindered)
        helio_log(self->parts.log, HELIO_INFO, "survey_complete",
                  "text=\"all that runs here is known: jobs are accepted\"");
    self->survey_hindered = hindrance != NULL;
    if (!hindrance)
        agent_step(self, HELIO_AGENT_EV_SURVEYED, &nothing);
}

helio_rc agent_open_backend(helio_agent_t *self, helio_error_t *err)
{
    helio_backend_sink_t sink = {.arg = self,
                                 .on_event = on_backend_event,
                                 .on_capacity = on_backend_capacity,
                                 .on_nodes = agent_on_nodes,
                                 .on_waiting = agent_on_waiting,
                                 .on_series = on_backend_series,
                                 .on_silence = on_backend_silence,
                                 .on_doubt = on_backend_doubt,
                                 .on_evidence = on_backend_evidence,
                                 .on_survey = on_backend_survey};
    return self->parts.make_backend(self->parts.settings, &sink, &self->backend, err);
}

static void process_backend(void *arg)
{
    helio_agent_t *self = arg;
    self->backend->class->process(self->backend, helio_clock_boot_ms(), helio_clock_wall_ms());
}

/*  A journal that can be read can still be an older copy, or of another folder: only the backend knows what runs here.
 *  It looks before the journal is loaded, so that nothing of the journal starts again what runs. */
void agent_survey(helio_agent_t *self)
{
    if (self->backend->class->survey)
        self->backend->class->survey(self->backend);
}

/*  What it found reaches the core before the broker gets the inventory. */
void agent_take_survey(helio_agent_t *self)
{
    if (!self->backend->class->survey)
        on_backend_survey(self, NULL);
    for (int i = 0; i < SURVEY_ROUNDS_MAX && self->backend->class->next_ms(self->backend) == 0; i++) {
        process_backend(self);
        agent_seal(self);
    }
}

/* ---- the feeds ------------------------------------------------------------------------------------------- */

/*  Publishes the hours ahead, as the feeds and the backend now see them. */
void agent_tell_series(helio_agent_t *self)
{
    helio_arena_t *arena = helio_arena_new();
    helio_aev_series_t series;
    int64_t wall_ms = helio_clock_wall_ms();
    helio_feeds_publish(self->feeds, &self->backend_series, wall_ms, arena, &series);
    agent_add_energy_account(self, wall_ms, arena, &series);
    agent_step(self, HELIO_AGENT_EV_SERIES, &series);
    helio_arena_destroy(&arena);
}

static void process_feeds(void *arg)
{
    helio_agent_t *self = arg;
    int64_t wall_ms = helio_clock_wall_ms();
    helio_feeds_process(self->feeds, helio_clock_boot_ms(), wall_ms);
    if (helio_feeds_news(self->feeds, wall_ms))
        agent_tell_series(self);
}

static void on_feed_note(void *arg, const helio_feed_note_t *note)
{
    helio_agent_t *self = arg;
    char quoted[900], name[80];
    const char *signal = note->feed ? helio_feed_signal_name(note->feed->signal) : "all";
    (void)helio_log_quote(note->feed ? note->feed->name : HELIO_TEXT("memory"), name, sizeof name);
    if (note->well)
        helio_log(self->parts.log, HELIO_INFO, "feed_well", "signal=%s feed=%s", signal, name);
    else
        helio_log(self->parts.log, HELIO_WARN, "feed_failed", "signal=%s feed=%s text=%s", signal, name,
                  helio_log_quote(helio_text_of(note->text), quoted, sizeof quoted));
}

helio_rc agent_open_feeds(helio_agent_t *self, helio_error_t *err)
{
    const helio_agent_settings_t *settings = self->parts.settings;
    helio_feeds_options_t options = {.settings = &settings->feeds,
                                     .profile = &settings->site,
                                     .state_dir = settings->state_dir.data,
                                     .on_note = on_feed_note,
                                     .on_meter = agent_on_meter,
                                     .arg = self,
                                     .now_boot_ms = helio_clock_boot_ms(),
                                     .wall_ms = helio_clock_wall_ms()};
    return helio_feeds_new(&options, &self->feeds, err);
}

/* ---- the clock ------------------------------------------------------------------------------------------- */

static void on_tick(void *arg)
{
    static const helio_aev_nothing_t nothing = {0};
    agent_step(arg, HELIO_AGENT_EV_TICK, &nothing);
}

static void on_book_tick(void *arg)
{
    look_at_state(arg);
    look_at_gpus(arg);
    look_at_found(arg);
    if (agent_tick_energy_account(arg))
        agent_tell_series(arg);
}

void agent_make_timers(helio_agent_t *self)
{
    helio_loop_t *loop = self->parts.loop;
    self->tick_timer = helio_timer_new(loop, on_tick, self);
    self->feeds_timer = helio_timer_new(loop, process_feeds, self);
    self->feeds_source = helio_source_new(loop, helio_feeds_fd(self->feeds), HELIO_LOOP_IN, process_feeds, self);
    self->backend_timer = helio_timer_new(loop, process_backend, self);
    self->energy_timer = helio_timer_new(loop, on_book_tick, self);
    helio_timer_arm(self->energy_timer, 0, ENERGY_TICK_MS);
    int fd = self->backend->class->fd(self->backend);
    if (fd >= 0)
        self->backend_source = helio_source_new(loop, fd, HELIO_LOOP_IN, process_backend, self);
}
