/*  agent.c -- opens and closes the parts of the agent, and turns its loop. */
#include <stdlib.h>
#include <string.h>

#include "federation/base/clock.h"
#include "site-agent/agent/internal.h"
#include "site-agent/agent/users.h"

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
    agent_seal(self); /* the rows of the former turn, and those of the start */
    if (self->fault.code != HELIO_OK) {
        if (err)
            *err = self->fault;
        return self->fault.code;
    }
    arm(self->tick_timer, self->wake_ms);
    arm(self->backend_timer, self->backend->class->next_ms(self->backend));
    arm(self->feeds_timer, helio_feeds_next_ms(self->feeds));
    arm(self->channels_timer, helio_channels_next_ms(self->channels));
    if (self->scaler)
        arm(self->scaler_timer, helio_scaler_next_ms(self->scaler));
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
    agent_seal(self);
    helio_uplink_bye(self->uplink, reason);
}

void helio_agent_figures(const helio_agent_t *self, helio_agent_figures_t *ret_figures)
{
    helio_agent_core_figures(self->core, ret_figures);
}

/* ---- start ------------------------------------------------------------------------------------------------ */

static void on_load(void *arg, uint32_t event, const void *payload)
{
    agent_step(arg, event, payload);
}

static helio_rc load(helio_agent_t *self, helio_journal_state_t *ret_state, helio_error_t *err)
{
    helio_error_t why = {0};
    helio_rc rc = helio_journal_open(self->parts.settings->state_dir.data, helio_clock_wall_ms(), &self->journal,
                                     ret_state, &why);
    if (rc == HELIO_OK)
        rc = helio_journal_load(self->journal, on_load, self, &why);
    if (rc != HELIO_OK) {
        if (err)
            *err = why;
        return rc;
    }
    helio_journal_reserve(self->journal);
    helio_aev_loaded_t loaded = {.damaged = *ret_state == HELIO_JOURNAL_DAMAGED};
    agent_step(self, HELIO_AGENT_EV_LOADED, &loaded);
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

static helio_rc begin(helio_agent_t *self, helio_error_t *err)
{
    const helio_agent_settings_t *settings = self->parts.settings;
    helio_rc rc = helio_agent_broker_key(settings, self->broker_key, err);
    if (rc == HELIO_OK)
        rc = helio_keypair_load(settings->key_file.data, &self->keys, err);
    if (rc == HELIO_OK) {
        agent_open_energy_account(self);
        rc = agent_open_backend(self, err);
    }
    if (rc != HELIO_OK)
        return rc;
    rc = agent_open_channels(self, err);
    if (rc != HELIO_OK)
        return rc;
    helio_agent_options_t options = {.allocates = self->backend->class->allocates,
                                     .attempts_max = settings->attempts_max,
                                     .kill_margin_ms = settings->kill_margin_ms};
    self->core = helio_agent_core_new(options, &settings->site);
    helio_users_log(settings, self->parts.log);
    agent_survey(self);
    helio_journal_state_t state = HELIO_JOURNAL_INTACT;
    rc = load(self, &state, err);
    if (rc == HELIO_OK)
        rc = helio_state_files_open(&self->state_files, settings->state_dir.data, err);
    if (rc != HELIO_OK)
        return rc;
    agent_seal(self);
    agent_take_survey(self);
    rc = agent_open_feeds(self, err);
    if (rc != HELIO_OK)
        return rc;
    agent_tell_series(self);
    agent_make_timers(self);
    rc = agent_open_scaler(self, err);
    if (rc == HELIO_OK)
        rc = helio_net_new(0, &self->net, err);
    return rc == HELIO_OK ? agent_call_brokers(self, err) : rc;
}

helio_rc helio_agent_new(const helio_agent_parts_t *parts, helio_agent_t **ret_agent, helio_error_t *err)
{
    helio_agent_t *self = helio_new(1, sizeof *self);
    self->parts = *parts;
    self->settings = *parts->settings;
    self->parts.settings = &self->settings;
    self->effects = helio_effects_new();
    self->spec_arena = helio_arena_new();
    self->backend_series_arena = helio_arena_new();
    self->held[0].arena = helio_arena_new();
    self->held[1].arena = helio_arena_new();
    self->batch = 1;
    self->wake_ms = INT64_MAX;
    memset(self->state_files.fds, -1, sizeof self->state_files.fds);
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
    agent_close_scaler(self);
    agent_close_channels(self);
    helio_backend_destroy(&self->backend);
    agent_close_energy_account(self);
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
    helio_state_files_close(&self->state_files);
    free(self);
    *self_p = NULL;
}
