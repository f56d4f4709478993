/*  internal.h -- the state of the agent, for its own files. Only site-agent/agent includes it. One thread. */
#ifndef HELIO_SITE_AGENT_AGENT_INTERNAL_H
#define HELIO_SITE_AGENT_AGENT_INTERNAL_H

#include "federation/net/curve.h"
#include "federation/net/net.h"
#include "site-agent/agent/agent.h"
#include "site-agent/agent/state_files.h"
#include "site-agent/channels/channels.h"
#include "site-agent/feeds/feeds.h"
#include "site-agent/journal/journal.h"
#include "site-agent/scale/scale.h"
#include "site-agent/uplink/uplink.h"

/*  Effects that wait for their batch. Of the two lists, one is carried out while the other is filled. */
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
    helio_agent_settings_t settings; /* the caller's, with the energy account added; parts.settings points here */
    int64_t energy_save_ms;          /* CLOCK_BOOTTIME */
    helio_scaler_t *scaler;          /* NULL = the site has no elastic pools */
    helio_timer_t *scaler_timer;
    helio_source_t *scaler_source;
    helio_channels_t *channels;
    helio_timer_t *channels_timer;
    helio_source_t *channels_source;
    helio_feeds_t *feeds;
    helio_source_t *feeds_source;
    helio_arena_t *spec_arena;
    helio_arena_t *backend_series_arena; /* the backend's latest forecasts */
    helio_aev_series_t backend_series;
    bool disk_full; /* the core was told so */
    helio_state_files_t state_files;
    uint32_t gpus_of_others; /* as the log says */
    uint32_t gpus_gone;      /* the same */
    bool survey_hindered;    /* the log says so */
    bool found_unknown;      /* the same */
    bool silent;             /* the cluster's scheduler does not answer */
    uint64_t empty_pools;    /* one bit for each pool of the site file: the log says that none of its GPUs exist */
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
void agent_fault(helio_agent_t *self, const helio_error_t *err); /* keeps the first fault */
void agent_step(helio_agent_t *self, uint32_t kind, const void *payload);
/*  The journal is gone, and the agent must end. The broker is told by a summary, which needs no commit; nothing else that
 *  would wait for one leaves any more. */
void agent_last_step(helio_agent_t *self, const helio_error_t *err);
void agent_seal(helio_agent_t *self); /* commits, and carries out what waited for it */

/* event_sources.c: each opens a source of events */
helio_rc agent_open_backend(helio_agent_t *self, helio_error_t *err);
helio_rc agent_open_feeds(helio_agent_t *self, helio_error_t *err);
void agent_make_timers(helio_agent_t *self);
helio_rc agent_call_brokers(helio_agent_t *self, helio_error_t *err);
void agent_survey(helio_agent_t *self);      /* asks the backend what runs here, before the journal is loaded */
void agent_take_survey(helio_agent_t *self); /* and takes the answer, after that */
void agent_tell_series(helio_agent_t *self); /* forecasts, and values of hours that are over */

/* scaling.c: elastic pools; nothing of it happens at a site without them */
helio_rc agent_open_scaler(helio_agent_t *self, helio_error_t *err);
void agent_close_scaler(helio_agent_t *self);
void agent_on_demand(void *arg, const helio_msg_demand_t *demand);
void agent_on_nodes(void *arg, const helio_backend_node_t *nodes, uint32_t count);
void agent_on_waiting(void *arg, helio_text_t pool, uint32_t gpus);
void agent_scale_orders(helio_agent_t *self, const helio_aev_orders_t *orders);      /* before the core takes them */
void agent_tell_capacity(helio_agent_t *self, const helio_aev_capacity_t *capacity); /* without nodes that leave */

/* channel_service.c: between the broker and the room of channels. After the backend was opened */
helio_rc agent_open_channels(helio_agent_t *self, helio_error_t *err);
void agent_close_channels(helio_agent_t *self);
void agent_on_channel_open(void *arg, const helio_msg_channel_open_t *message);
void agent_on_channel_input(void *arg, const helio_msg_channel_input_t *message);
void agent_on_channel_close(void *arg, const helio_msg_channel_close_t *message);
void agent_channels_of_over(helio_agent_t *self, const helio_aev_backend_t *event); /* the attempt may be over */

/* energy_accounting.c: what no job is charged for */
void agent_open_energy_account(helio_agent_t *self);  /* before the backend, which uses it to measure */
void agent_close_energy_account(helio_agent_t *self); /* after the backend */
bool agent_tick_energy_account(helio_agent_t *self);  /* by the clock; true: it has series to publish */
/*  Adds the account's series to those that exist; everything lives in the arena. */
void agent_add_energy_account(helio_agent_t *self, int64_t wall_ms, helio_arena_t *arena, helio_aev_series_t *series);
void agent_on_meter(void *arg, const helio_feed_t *feed, const helio_points_t *points);

#endif
