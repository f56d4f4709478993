/*  internal.h -- shared by the files of this room only. Calls go one way: receive.c (frames of sites) uses sessions.c
 *  (life, logs), that uses channels.c and channel_frames.c (channels), these use send.c (frames for sites), and all of
 *  them use table.c. */
#ifndef HELIO_BROKER_GATEWAY_INTERNAL_H
#define HELIO_BROKER_GATEWAY_INTERNAL_H

#include <uthash.h>

#include "broker/gateway/channels.h"
#include "broker/gateway/sessions.h"

/*  Items of one kind that are collected for one frame: views into payloads of the release queue. */
typedef struct helio_outgoing {
    uint32_t message; /* ORDERS, STOPS, VERDICTS; 0 = nothing */
    uint32_t count;
    size_t bytes; /* an upper bound of the items' encoded size */
    uint64_t incarnation;
    char *items; /* of the message's item type */
    size_t capacity_bytes;
} helio_outgoing_t;

typedef struct helio_session {
    uint64_t peer;
    uint32_t protocol;
    char site[HELIO_SITE_NAME_MAX + 1];
    helio_outgoing_t out;
    bool dirty; /* it is in sessions->dirty */
    struct helio_session *dirty_prev, *dirty_next;
    UT_hash_handle hh; /* by peer */
} helio_session_t;

typedef struct helio_log_wait {
    uint64_t request; /* 0 = free */
    uint64_t peer;
    int64_t deadline_ms;
    void (*done)(void *arg, helio_rc rc, const helio_msg_log_data_t *piece);
    void *arg;
} helio_log_wait_t;

struct helio_sessions {
    helio_sessions_ports_t ports;
    helio_session_t *items;  /* by peer */
    helio_session_t *dirty;  /* in the order of their first item */
    helio_log_wait_t *waits; /* HELIO_LOG_READS_MAX, slot = request % max */
    uint32_t wait_count;
    uint64_t last_request;
    helio_arena_t *arena; /* for one decoded frame */
    uint32_t arena_depth; /* emit can call back: only the outermost call resets the arena */
    helio_buffer_t buffer;
    helio_channels_t *channels;
    uint64_t session_ends; /* counts them */
    bool shed;
    helio_sessions_figures_t figures;
};

/*  table.c: the table of sessions. */
helio_session_t *helio_session_find(const helio_sessions_t *self, uint64_t peer);
helio_session_t *helio_session_of_site(const helio_sessions_t *self, helio_text_t site);
helio_session_t *helio_session_add(helio_sessions_t *self, uint64_t peer, helio_text_t site, uint32_t protocol);
uint32_t helio_session_count(const helio_sessions_t *self);
uint32_t helio_session_count_of_site(const helio_sessions_t *self, helio_text_t site);
/*  Removes the session and answers the log reads that wait for it. Emits nothing. */
void helio_session_end(helio_sessions_t *self, helio_session_t *session);

/*  send.c: frames for sites. */
bool helio_sessions_send(helio_sessions_t *self, uint64_t peer, uint32_t message, const void *record);
/*  A closed connection is noticed by sending: false = it has ended. What is sent changes nothing at the agent. */
bool helio_sessions_probe(helio_sessions_t *self, uint64_t peer);
void helio_sessions_refuse(helio_sessions_t *self, uint64_t peer, helio_rc rc, const char *text);
/*  sessions.c: bad frames and logs. */
void helio_sessions_log_data(helio_sessions_t *self, const helio_session_t *session, const helio_msg_log_data_t *piece);
void helio_sessions_bad(helio_sessions_t *self, helio_text_t site, helio_bad_frame_t why, const char *text);

#endif
