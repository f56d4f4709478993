/*  run.c -- loads a core from a copy, opens the sites' sessions, and hands over what is due at each moment. */
#include "simulator/rehearsal/run.h"

#include <stdlib.h>

#include "federation/base/number.h"
#include "federation/policy/pool_forecast.h"
#include "federation/reason/sentence.h"
#include "simulator/rehearsal/internal.h"

enum {
    BOOT_MS = 1000000,
    QUIET_MS = 10000, /* the core is asked no oftener when it only watches, and sites speak no oftener unasked */
    TICKS_MAX = 1000,
    HOLDINGS_MAX = 1000
};

/*  ---- steps ---- */

static void take_effects(reh_run_t *self)
{
    reh_lives_take(&self->lives, self->effects, self->wall_ms);
    for (uint32_t i = 0; i < self->effects->count; i++) {
        const helio_effect_t *effect = &self->effects->items[i];
        if (effect->kind == HELIO_BROKER_FX_ORDER) {
            self->orders = helio_grow(self->orders, self->order_count + 1, sizeof *self->orders);
            helio_record_copy(&helio_fx_order_type, self->kept, effect->payload, &self->orders[self->order_count++]);
        } else if (effect->kind == HELIO_BROKER_FX_STOP) {
            self->stops = helio_grow(self->stops, self->stop_count + 1, sizeof *self->stops);
            helio_record_copy(&helio_fx_stop_type, self->kept, effect->payload, &self->stops[self->stop_count++]);
        }
    }
}

static void step(reh_run_t *self, uint32_t kind, const void *payload)
{
    helio_event_t event = {kind, BOOT_MS + self->wall_ms - self->copy->taken_ms, self->wall_ms, payload};
    helio_broker_core_step(self->core, &event, self->effects);
    if (self->loaded)
        take_effects(self);
}

/*  ---- sites ---- */

static void send_summary(reh_run_t *self, uint32_t site, bool with_series)
{
    helio_arena_reset(self->arena);
    helio_ev_site_summary_t event = {
        .peer = site + 1, .summary = reh_site_summary(&self->sites[site], self->wall_ms, with_series, self->arena)};
    step(self, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

static void send_reports(reh_run_t *self, uint32_t index)
{
    reh_site_t *site = &self->sites[index];
    for (uint32_t sent = 0; sent < site->report_count; sent += HOLDINGS_MAX) {
        uint32_t left = site->report_count - sent;
        helio_ev_site_reports_t event = {.peer = index + 1,
                                         .reports = {site->reports + sent, left < HOLDINGS_MAX ? left : HOLDINGS_MAX}};
        step(self, HELIO_BROKER_EV_SITE_REPORTS, &event);
    }
    site->report_count = site->lost_count = 0;
}

static void send_inventory(reh_run_t *self, uint32_t site)
{
    helio_arena_reset(self->arena);
    helio_ev_site_inventory_t all = reh_site_inventory(&self->sites[site], self->arena);
    for (uint32_t sent = 0; sent == 0 || sent < all.holdings.count; sent += HOLDINGS_MAX) {
        uint32_t left = all.holdings.count - sent;
        helio_ev_site_inventory_t event = {
            .peer = site + 1,
            .holdings = {all.holdings.items + sent, left < HOLDINGS_MAX ? left : HOLDINGS_MAX},
            .last = left <= HOLDINGS_MAX};
        step(self, HELIO_BROKER_EV_SITE_INVENTORY, &event);
    }
}

/*  HELLO with the journal that its agent has, what it runs or has lost, and a first summary. The number of the journal
 *  rises with each HELLO, as that of an agent does; an old one would say that the agent lost its memory. */
static void open_session(reh_run_t *self, uint32_t index)
{
    const reh_site_copy_t *copy = self->sites[index].copy;
    helio_ev_site_hello_t hello = {.site = copy->profile.name,
                                   .peer = index + 1,
                                   .agent_version = copy->row->agent_version,
                                   .incarnation_seen = self->copy->incarnation,
                                   .profile = copy->profile,
                                   .memory_since_ms = copy->row->memory_since_ms,
                                   .memory_mark = ++self->sites[index].report_seq};
    step(self, HELIO_BROKER_EV_SITE_HELLO, &hello);
    send_inventory(self, index);
    send_summary(self, index, true);
}

static void speak(reh_run_t *self, bool hour)
{
    bool beat = (self->wall_ms - self->copy->taken_ms) % self->beat_ms == 0;
    for (uint32_t i = 0; i < self->copy->site_count; i++) {
        if (!self->sites[i].up)
            continue;
        send_reports(self, i);
        if (hour || self->sites[i].changed)
            send_summary(self, i, hour);
        const helio_ev_site_renew_t renew = {.peer = i + 1, .sent_boot_ms = BOOT_MS};
        if (beat)
            step(self, HELIO_BROKER_EV_SITE_RENEW, &renew);
    }
}

/*  Carries out orders and stops; then the sites say what has changed. */
static void answer(reh_run_t *self)
{
    while (self->order_count || self->stop_count) {
        uint32_t orders = self->order_count, stops = self->stop_count;
        for (uint32_t i = 0; i < orders; i++)
            reh_attempts_start(self, &self->orders[i]);
        for (uint32_t i = 0; i < stops; i++)
            reh_attempts_stop(self, &self->stops[i]);
        self->order_count = self->stop_count = 0;
        speak(self, false);
    }
}

static void tick(reh_run_t *self)
{
    int64_t now_ms = BOOT_MS + self->wall_ms - self->copy->taken_ms, wake_ms;
    uint32_t ticks = 0;
    do {
        step(self, HELIO_BROKER_EV_TICK, NULL);
        wake_ms = self->effects->wake_ms;
        answer(self);
        wake_ms = helio_lesser_i64(wake_ms, self->effects->wake_ms);
    } while (wake_ms <= now_ms && ++ticks < TICKS_MAX);
    self->wake_ms = wake_ms == INT64_MAX ? INT64_MAX : self->wall_ms + wake_ms - now_ms;
}

/*  ---- the moment of the change ---- */

static void go_down(reh_run_t *self, uint32_t index, int64_t for_ms)
{
    const helio_ev_site_gone_t gone = {.peer = index + 1, .reason = HELIO_TEXT("rehearsed")};
    if (!self->sites[index].up)
        return;
    self->sites[index].up = false;
    self->sites[index].back_ms = for_ms ? self->wall_ms + for_ms : INT64_MAX;
#ifndef HELIO_MUTANT_lost_site_runs_on
    reh_attempts_kill(self, index);
#endif
    step(self, HELIO_BROKER_EV_SITE_GONE, &gone);
}

static void come_back(reh_run_t *self)
{
    for (uint32_t i = 0; i < self->copy->site_count; i++)
        if (self->sites[i].back_ms <= self->wall_ms) {
            self->sites[i].back_ms = INT64_MAX;
            self->sites[i].up = true;
            open_session(self, i);
        }
}

/*  What the broker would answer an operator. */
static helio_rc take_reply(const reh_run_t *self, helio_error_t *err)
{
    for (uint32_t i = 0; i < self->effects->count; i++) {
        const helio_fx_reply_t *reply = self->effects->items[i].payload;
        if (self->effects->items[i].kind == HELIO_BROKER_FX_REPLY && reply->rc != HELIO_OK)
            return helio_fail(err, (helio_rc)reply->rc, "%.*s",
                              HELIO_TEXT_ARGS(helio_sentences_text(&reply->details, self->effects->arena)));
    }
    return HELIO_OK;
}

static helio_rc set_quota(reh_run_t *self, const reh_change_t *change, helio_error_t *err)
{
    helio_ev_quota_t quota = {.call = 1,
                              .actor = HELIO_TEXT("broker"),
                              .role = HELIO_ROLE_OPERATOR,
                              .tenant = change->name,
                              .queue = change->second,
                              .burst_given = true,
                              .burst_gpus = change->number};
    step(self, HELIO_BROKER_EV_QUOTA, &quota);
    return take_reply(self, err);
}

static helio_rc drain(reh_run_t *self, const reh_change_t *change, helio_error_t *err)
{
    helio_ev_site_command_t command = {.call = 1,
                                       .actor = HELIO_TEXT("broker"),
                                       .role = HELIO_ROLE_OPERATOR,
                                       .site = change->name,
                                       .reason = HELIO_TEXT("rehearsed")};
    step(self, HELIO_BROKER_EV_DRAIN, &command);
    return take_reply(self, err);
}

/*  Without a time, for as long as one can be. */
static helio_rc curtail(reh_run_t *self, const reh_change_t *change, helio_error_t *err)
{
    helio_ev_curtail_t command = {.call = 1,
                                  .actor = HELIO_TEXT("broker"),
                                  .role = HELIO_ROLE_OPERATOR,
                                  .site = change->name,
                                  .percent = change->number,
                                  .for_ms = change->for_ms ? (uint64_t)change->for_ms : HELIO_CURTAIL_MOST_MS,
                                  .reason = HELIO_TEXT("rehearsed")};
    step(self, HELIO_BROKER_EV_CURTAIL, &command);
    return take_reply(self, err);
}

static helio_rc make_change(reh_run_t *self, const reh_change_t *change, helio_error_t *err)
{
    if (change->kind == REH_CHANGE_QUOTA)
        return set_quota(self, change, err);
    if (change->kind == REH_CHANGE_DRAIN)
        return drain(self, change, err);
    if (change->kind == REH_CHANGE_CURTAIL)
        return curtail(self, change, err);
    if (change->kind == REH_CHANGE_DOWN)
        go_down(self, (uint32_t)(reh_copy_site(self->copy, change->name) - self->copy->sites), change->for_ms);
    return HELIO_OK;
}

/*  ---- jobs of a time that is over ---- */

static int64_t submitted_ms(const reh_run_t *self, uint32_t number)
{
    int64_t at_ms = self->copy->past_jobs[number]->load->row.submitted_ms;
    return at_ms > self->copy->taken_ms ? at_ms : self->copy->taken_ms;
}

/*  One that the broker refuses now is no part of this life. */
static void submit(reh_run_t *self, const reh_job_copy_t *job)
{
    helio_submission_t submission = {.source = HELIO_TEXT("-"), .spec = job->load->spec};
    const helio_ev_submit_t event = {
        .call = 1, .tenant = job->load->row.tenant, .user = job->load->row.user, .jobs = {&submission, 1}};
    step(self, HELIO_BROKER_EV_SUBMIT, &event);
    for (uint32_t i = 0; i < self->effects->count; i++) {
        const helio_fx_reply_t *reply = self->effects->items[i].payload;
        if (self->effects->items[i].kind == HELIO_BROKER_FX_REPLY && reply->rc == HELIO_OK && reply->jobs.count)
            reh_lives_add(&self->lives, reply->jobs.items[0].job, job, self->wall_ms);
    }
}

static void submit_due(reh_run_t *self)
{
    for (; self->next_job < self->copy->past_job_count && submitted_ms(self, self->next_job) <= self->wall_ms;
         self->next_job++)
        submit(self, self->copy->past_jobs[self->next_job]);
}

/*  ---- begin and end ---- */

static helio_broker_options_t options_of(const helio_snapshot_options_t *given)
{
    helio_broker_options_t options = helio_broker_options_default();
    options.lease_ms = given->lease_ms ? given->lease_ms : options.lease_ms;
    options.renew_ms = given->renew_ms ? given->renew_ms : options.renew_ms;
    options.silent_after_ms = given->silent_after_ms ? given->silent_after_ms : options.silent_after_ms;
    options.offers_unanswered_max =
        given->offers_unanswered_max ? given->offers_unanswered_max : options.offers_unanswered_max;
    options.summary_ms = HELIO_HOUR_MS;
    return options;
}

static void load(reh_run_t *self)
{
    for (uint32_t i = 0; i < self->copy->part_count; i++) {
        const reh_part_t *part = &self->copy->parts[i];
        helio_row_federation_t federation;
        if (part->kind != HELIO_BROKER_EV_LOAD_FEDERATION) {
            step(self, part->kind, part->record);
            continue;
        }
        federation = *(const helio_row_federation_t *)part->record;
        federation.broker_epoch++; /* as a new leader has it */
        step(self, part->kind, &federation);
    }
    reh_lives_init(&self->lives, self->copy, self->core);
    self->loaded = true;
    step(self, HELIO_BROKER_EV_LOADED, NULL);
}

/*  Thrice within the time after which a site is silent. */
static int64_t beat_ms(const helio_broker_options_t *options)
{
    int64_t third_ms = (int64_t)options->silent_after_ms / 3;
    return third_ms > QUIET_MS ? QUIET_MS : third_ms < 100 ? 100 : third_ms;
}

static void run_open(reh_run_t *self)
{
    helio_broker_options_t options = options_of(&self->copy->options);
    self->beat_ms = beat_ms(&options);
    self->core = helio_broker_core_new(options);
    self->effects = helio_effects_new();
    self->arena = helio_arena_new();
    self->kept = helio_arena_new();
    self->wall_ms = self->copy->taken_ms;
    self->sites = helio_new(self->copy->site_count, sizeof *self->sites);
    load(self);
    for (uint32_t i = 0; i < self->copy->site_count; i++)
        reh_site_init(&self->sites[i], &self->copy->sites[i], reh_copy_is_up(self->copy, &self->copy->sites[i]),
                      self->kept);
    reh_attempts_adopt(self);
    for (uint32_t i = 0; i < self->copy->site_count; i++)
        if (self->sites[i].up) {
            reh_site_leave_to_others(&self->sites[i]);
            open_session(self, i);
        }
}

static void run_close(reh_run_t *self)
{
    helio_heap_clear(&self->ends);
    for (uint32_t i = 0; i < self->copy->site_count; i++)
        reh_site_clear(&self->sites[i]);
    free(self->sites);
    free(self->orders);
    free(self->stops);
    helio_arena_destroy(&self->arena);
    helio_arena_destroy(&self->kept);
    helio_effects_destroy(&self->effects);
    helio_broker_core_destroy(&self->core);
}

static int64_t next_ms(const reh_run_t *self)
{
    int64_t began_ms = self->copy->taken_ms, passed_ms = self->wall_ms - began_ms;
    int64_t quiet_ms = began_ms + passed_ms - passed_ms % self->beat_ms + self->beat_ms;
    int64_t at_ms = helio_lesser_i64(helio_hour_of(self->wall_ms) + HELIO_HOUR_MS, quiet_ms);
    at_ms = helio_lesser_i64(at_ms, self->wake_ms < self->wall_ms + 1000 ? self->wake_ms : quiet_ms);
    at_ms = helio_lesser_i64(at_ms, reh_attempts_next_ms(self));
    if (self->next_job < self->copy->past_job_count)
        at_ms = helio_lesser_i64(at_ms, submitted_ms(self, self->next_job));
    for (uint32_t i = 0; i < self->copy->site_count; i++)
        at_ms = helio_lesser_i64(at_ms, self->sites[i].back_ms);
    return at_ms > self->wall_ms ? at_ms : self->wall_ms + 1;
}

static void run_on(reh_run_t *self, int64_t until_ms)
{
    int64_t hour_ms = helio_hour_of(self->wall_ms);
    submit_due(self);
    tick(self);
    while ((self->lives.open || self->next_job < self->copy->past_job_count) && self->wall_ms < until_ms) {
        self->wall_ms = helio_lesser_i64(next_ms(self), until_ms);
        reh_attempts_take_ends(self);
        come_back(self);
        speak(self, helio_hour_of(self->wall_ms) != hour_ms);
        hour_ms = helio_hour_of(self->wall_ms);
        submit_due(self);
        tick(self);
    }
}

helio_rc reh_run(helio_text_t bytes, const reh_change_t *changes, uint32_t count, int64_t for_ms,
                 reh_result_t *ret_result, helio_error_t *err)
{
    *ret_result = (reh_result_t){0};
    helio_rc rc = reh_copy_read(bytes, &ret_result->copy, err);
    for (uint32_t i = 0; rc == HELIO_OK && i < count; i++)
        rc = reh_change_apply(&changes[i], &ret_result->copy, err);
    if (rc == HELIO_OK) {
        reh_run_t self = {.copy = &ret_result->copy, .wake_ms = INT64_MAX};
        run_open(&self);
        for (uint32_t i = 0; rc == HELIO_OK && i < count; i++)
            rc = make_change(&self, &changes[i], err);
        if (rc == HELIO_OK)
            run_on(&self, (self.copy->is_past ? self.copy->past_to_ms : self.copy->taken_ms) + for_ms);
        ret_result->until_ms = self.wall_ms;
        ret_result->lives = self.lives;
        reh_lives_close(&ret_result->lives, self.wall_ms);
        run_close(&self);
    }
    if (rc != HELIO_OK)
        reh_result_clear(ret_result);
    return rc;
}

void reh_result_clear(reh_result_t *self)
{
    reh_lives_clear(&self->lives);
    reh_copy_clear(&self->copy);
}
