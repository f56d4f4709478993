/*  internal.h -- the agent as its own files see it. Only site-agent/agent includes it. One thread. */
#ifndef HELIO_SITE_AGENT_AGENT_INTERNAL_H
#define HELIO_SITE_AGENT_AGENT_INTERNAL_H

#include "federation/net/curve.h"
#include "federation/net/net.h"
#include "site-agent/agent/agent.h"
#include "site-agent/feeds/feeds.h"
#include "site-agent/journal/journal.h"
#include "site-agent/uplink/uplink.h"

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
    helio_timer_t *backend_timer, *tick_timer, *feeds_timer, *energy_timer;
    helio_agent_settings_t settings; /* the caller's, with our book: what parts.settings points at */
    int64_t energy_save_ms;            /* CLOCK_BOOTTIME */
    helio_feeds_t *feeds;
    helio_source_t *feeds_source;
    helio_arena_t *spec_arena;
    helio_arena_t *backend_series_arena; /* what the backend said last of the hours to come */
    helio_aev_series_t backend_series;
    bool silent;          /* the scheduler below */
    uint64_t empty_pools; /* a bit for each pool of the site file: it was said that nothing of it is there */
    held_t held[2];
    uint32_t filling; /* index into held */
    uint64_t open_rows, batch;
    int64_t wake_ms;
    helio_keypair_t keys;
    char broker_key[HELIO_CURVE_SIZE];
    helio_error_t fault; /* code not OK: the agent must end */
    bool stopping;
};

/* effects.c */
void agent_fault(helio_agent_t *self, const helio_error_t *err); /* the first one stands */
void agent_step(helio_agent_t *self, uint32_t kind, const void *payload);
void agent_seal(helio_agent_t *self); /* commits, and carries out what waited for it */

/* news.c: each opens a source of news, and hears it from then on */
helio_rc agent_open_backend(helio_agent_t *self, helio_error_t *err);
helio_rc agent_open_feeds(helio_agent_t *self, helio_error_t *err);
void agent_make_timers(helio_agent_t *self);
helio_rc agent_call_brokers(helio_agent_t *self, helio_error_t *err);
/*  The journal cannot say what runs here: the backend is asked, before the broker is told what does. */
void agent_survey(helio_agent_t *self);
void agent_tell_series(helio_agent_t *self); /* of the hours to come, as they are known, and of those that are over */

/* energy_accounting.c: what no job is charged for */
void agent_open_energy_account(helio_agent_t *self); /* before the backend, which measures by it */
void agent_close_energy_account(helio_agent_t *self); /* after it */
bool agent_tick_energy_account(helio_agent_t *self);  /* by the clock; true: it has series to tell */
/*  The book's series beside those that there are; everything lives in the arena. */
void agent_add_energy_account(helio_agent_t *self, int64_t wall_ms, helio_arena_t *arena, helio_aev_series_t *series);
void agent_on_meter(void *arg, const helio_feed_t *feed, const helio_points_t *points);

#endif
