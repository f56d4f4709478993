/*  channel_table.h -- the structs behind channels.h, for channels.c and channel_frames.c only. */
#ifndef HELIO_BROKER_GATEWAY_CHANNEL_TABLE_H
#define HELIO_BROKER_GATEWAY_CHANNEL_TABLE_H

#include <uthash.h>

#include "broker/gateway/channels.h"

/*  A client that waits: for output, or for room for its input. done NULL = none does. */
typedef struct helio_channel_wait {
    void (*done)(void *arg, const helio_channel_answer_t *answer);
    void *arg;
    uint64_t offset;
    helio_text_t data; /* of a writer; lives until it is answered */
    bool end;
    bool opened; /* as the reader knows it */
    int64_t until_ms;
} helio_channel_wait_t;

/*  How many ended channels are kept for a tenant. */
typedef struct helio_channels_kept {
    uint32_t count;
    UT_hash_handle hh; /* by name */
    char tenant[];
} helio_channels_kept_t;

typedef struct helio_gate_channel {
    uint64_t number;
    char id[HELIO_CHANNEL_ID_SIZE];
    helio_arena_t *arena; /* of the texts and the opening */
    helio_text_t principal, tenant;
    const void *credential;
    bool (*is_in_force)(const void *credential);
    helio_channels_kept_t *kept;      /* its tenant's, once it has ended */
    helio_msg_channel_open_t opening; /* as far as the client says it */
    enum { CHANNEL_PREPARED, CHANNEL_OPEN, CHANNEL_OVER } state;
    uint64_t peer;
    bool opened;          /* its agent has said so */
    bool ended_by_agent;  /* it must send nothing more */
    uint64_t output_from; /* bytes that the client has acknowledged; those after them are in `output` */
    helio_buffer_t output;
    uint32_t *pieces; /* runs of one stream in it: its number in the upper two bits, the size below */
    uint32_t piece_count, piece_capacity;
    uint64_t input_sent, input_taken;
    bool input_ended;
    helio_channel_wait_t reader, writer;
    int64_t asked_ms; /* a client asked for something, or was answered */
    int64_t until_ms;
    int64_t ended_ms, told_ms; /* told_ms: 0 = no client was told of the end */
    helio_rc end_rc;
    uint32_t exit_code;
    char why[513];
    bool told_core_is_due; /* it is in the list of those */
    struct helio_gate_channel *due_prev, *due_next;
    UT_hash_handle hh;    /* by number */
    UT_hash_handle hh_id; /* by id */
} helio_gate_channel_t;

struct helio_channels {
    helio_sessions_t *sessions;
    helio_gate_channel_t *by_number, *by_id;
    helio_channels_kept_t *kept; /* of tenants with ended channels */
    uint32_t ended_count, prepared_count;
    helio_gate_channel_t *due; /* ends that the core has not been told of */
    uint64_t last_number;
    uint64_t session_ends; /* of the sessions, that were seen */
    int64_t now_ms;
    helio_buffer_t frames; /* of the answer that is being made */
};

/*  channels.c */
helio_gate_channel_t *helio_channel_by_number(const helio_channels_t *self, uint64_t number);
void helio_channel_answer_wait(helio_channel_wait_t *wait, const helio_channel_answer_t *answer);
void helio_channel_close(helio_channels_t *self, uint64_t peer, uint64_t number);
void helio_channel_end(helio_channels_t *self, helio_gate_channel_t *channel, helio_rc rc, uint32_t exit_code,
                       helio_text_t why);
void helio_channel_serve(helio_channels_t *self, helio_gate_channel_t *channel); /* the reader, if it can be */
void helio_channel_push(helio_channels_t *self, helio_gate_channel_t *channel);  /* the writer's bytes, likewise */

/*  channel_output.c: the bytes that wait for the client. */
void helio_channel_append(helio_gate_channel_t *channel, uint32_t stream, helio_text_t data);
void helio_channel_acknowledge(helio_gate_channel_t *channel, uint64_t offset);
/*  All that waits from `offset` on, in frames; lives until the next call. */
helio_text_t helio_channel_frames(helio_channels_t *self, const helio_gate_channel_t *channel, uint64_t offset);

#endif
