/*  channels.c -- channels to running jobs: opened as a command on a job, then read and written by offsets.
 *
 *  The output comes in frames: [stream, 1 byte][size, 4 bytes, big-endian][bytes]. The last frame of an answer has the
 *  stream 0, and says as JSON where the channel stands. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "broker/http/routes/command.h"
#include "broker/http/routes/job_command.h"
#include "broker/http/routes/routes.h"
#include "federation/base/clock.h"
#include "federation/base/json.h"
#include "federation/base/utf8.h"

enum {
    WORDS_MAX = HELIO_CHANNEL_WORDS_MAX,
    WORD_MAX = 32 << 10,      /* of a body of HELIO_COMMAND_BODY_MAX */
    NUMBER_MAX = 65535,       /* rows, columns, nodes, ports */
    WAIT_MAX_S = 20,          /* that can be asked for; HELIO_CHANNEL_WAIT_MAX_MS counts */
    FORWARDED_WAIT_MS = 5000, /* a place among the connections between brokers is not held for longer */
    INPUT_WAIT_MS = 5000      /* for room in the window */
};

#define OFFSET_MAX (UINT64_C(1) << 53) /* what every reader of JSON can hold */

/* ---- opening -------------------------------------------------------------------------------------------- */

static bool draw_id(char ret_id[HELIO_CHANNEL_ID_SIZE])
{
    uint8_t bytes[(HELIO_CHANNEL_ID_SIZE - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(ret_id + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool is_in_force(const void *token)
{
    return helio_token_in_force(token, helio_clock_wall_ms());
}

/*  Everything in the arena of the operation, which can outlive the request. */
static void *payload(helio_request_context_t *self, helio_job_key_t key, const void *what)
{
    helio_arena_t *arena = helio_await_arena(self);
    const helio_channel_opening_t *asked = what;
    helio_channel_opening_t *opening = helio_arena_alloc(arena, 1, sizeof *opening);
    helio_argument_t *words = helio_arena_alloc(arena, asked->command_count, sizeof *words);
    *opening = *asked;
    for (uint32_t i = 0; i < asked->command_count; i++)
        words[i].text = helio_arena_text(arena, asked->command[i].text);
    opening->command = words;
    opening->term = helio_arena_text(arena, asked->term);
    opening->principal = helio_request_context_actor(self);
    opening->tenant = helio_arena_text(arena, helio_text_of(self->token->tenant));
    opening->credential = self->token; /* of the table, which outlives the engine */
    opening->is_in_force = is_in_force;
    helio_await_opening(self, opening);
    helio_ev_channel_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->command = *(const helio_ev_command_t *)helio_job_command_payload(self, key, NULL);
    event->kind = opening->kind;
    event->port = opening->port;
    if (opening->command_count)
        event->word = helio_utf8_cut(words[0].text, HELIO_CHANNEL_WORD_MAX);
    return event;
}

static void answer_opened(helio_request_context_t *self, const helio_result_t *result, const void *what)
{
    const helio_channel_opening_t *opening = what;
    const helio_detail_t *opened = helio_details_find(&result->details, HELIO_DETAIL_CHANNEL_OPENED);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_json_begin_object(&json, NULL);
    helio_json_put_string(&json, "channel", opening->id);
    helio_json_put_string(&json, "id", self->parameter);
    if (opened) {
        helio_json_put_text(&json, "site", helio_detail_value(opened, 0).text);
        helio_json_put_i64(&json, "epoch", helio_detail_value(opened, 1).number);
        helio_json_put_i64(&json, "limit_s", helio_detail_value(opened, 2).number / 1000);
        helio_json_put_i64(&json, "idle_s", helio_detail_value(opened, 3).number / 1000);
    }
    helio_json_end(&json);
    helio_response_json(self, 201, helio_buffer_view(&text));
}

enum { COMMAND, TERMINAL, ROWS, COLUMNS, TERM, NODE, PORT, MEMBERS };

static bool check_number(helio_request_context_t *self, const helio_member_t *member, uint64_t least)
{
    if (!member->given || (member->number >= least && member->number <= NUMBER_MAX))
        return true;
    HELIO_PROBLEM(self, 400, OUT_OF_RANGE, helio_value_string(member->name), helio_value_number((int64_t)least * 1000),
                  helio_value_number(NUMBER_MAX * 1000), helio_value_string(""));
    return false;
}

/*  A port stands alone: with a command it would have two meanings. */
static bool check(helio_request_context_t *self, const helio_member_t *members)
{
    if (members[PORT].given)
        for (uint32_t i = 0; i < NODE; i++)
            if (members[i].given) {
                HELIO_PROBLEM(self, 400, CHANNEL_EITHER, helio_value_string(members[i].name));
                return false;
            }
    return check_number(self, &members[ROWS], 0) && check_number(self, &members[COLUMNS], 0) &&
           check_number(self, &members[NODE], 0) && check_number(self, &members[PORT], 1);
}

void helio_channels_create(helio_request_context_t *self)
{
    static const helio_job_verb_t verb = {HELIO_BROKER_EV_CHANNEL, 201, "entered", payload, answer_opened};
    helio_member_t members[MEMBERS] = {
        [COMMAND] = {.name = "command", .kind = HELIO_MEMBER_ARGUMENTS, .bytes_max = WORD_MAX, .words_max = WORDS_MAX},
        [TERMINAL] = {.name = "terminal", .kind = HELIO_MEMBER_BOOL},
        [ROWS] = {.name = "rows", .kind = HELIO_MEMBER_NUMBER},
        [COLUMNS] = {.name = "columns", .kind = HELIO_MEMBER_NUMBER},
        [TERM] = {.name = "term", .kind = HELIO_MEMBER_TEXT, .bytes_max = 64},
        [NODE] = {.name = "node", .kind = HELIO_MEMBER_NUMBER},
        [PORT] = {.name = "port", .kind = HELIO_MEMBER_NUMBER}};
    if (!helio_command_read(self, self->arena, members, MEMBERS) || !check(self, members))
        return;
    helio_channel_opening_t *opening = helio_arena_alloc(self->arena, 1, sizeof *opening);
    opening->kind = members[PORT].given ? HELIO_CHANNEL_KIND_PORT : HELIO_CHANNEL_KIND_COMMAND;
    opening->command = members[COMMAND].arguments;
    opening->command_count = members[COMMAND].word_count;
    opening->terminal = members[TERMINAL].flag;
    opening->rows = (uint32_t)members[ROWS].number;
    opening->columns = (uint32_t)members[COLUMNS].number;
    opening->term = members[TERM].text;
    opening->node = (uint32_t)members[NODE].number;
    opening->port = (uint32_t)members[PORT].number;
    if (!draw_id(opening->id))
        helio_response_problem(self, 503, "Busy", HELIO_DETAIL0(HELIO_DETAIL_BROKER_BUSY));
    else
        helio_job_command(self, &verb, opening);
}

/* ---- bytes ---------------------------------------------------------------------------------------------- */

/*  What is asked of the path's channel, as its principal. */
static helio_channel_ask_t ask_of(helio_request_context_t *self, helio_channel_verb_t verb)
{
    return (helio_channel_ask_t){.verb = verb,
                                 .id = helio_arena_string(helio_await_arena(self), helio_text_of(self->parameter)),
                                 .principal = helio_request_context_actor(self)};
}

/*  True: it was answered. */
static bool failed(helio_request_context_t *self, const helio_result_t *result)
{
    const helio_channel_answer_t *channel = &result->channel;
    if (result->rc == HELIO_NOT_FOUND)
        HELIO_PROBLEM(self, 404, CHANNEL_UNKNOWN, helio_value_string(self->parameter));
    else if (result->rc == HELIO_CONFLICT)
        HELIO_PROBLEM(self, 409, CHANNEL_OFFSET,
                      helio_value_number((int64_t) * (uint64_t *)helio_request_context_state(self, sizeof(uint64_t))),
                      helio_value_number((int64_t)channel->least), helio_value_number((int64_t)channel->offset));
    else if (result->rc != HELIO_OK)
        helio_response_failure(self, result, NULL);
    return result->rc != HELIO_OK;
}

static void put_state(helio_buffer_t *out, const helio_channel_answer_t *channel)
{
    helio_json_writer_t json = helio_json_into(out);
    helio_json_begin_object(&json, NULL);
    helio_json_put_u64(&json, "offset", channel->offset);
    helio_json_put_bool(&json, "opened", channel->opened);
    helio_json_put_bool(&json, "ended", channel->ended);
    if (channel->ended) {
        if (channel->end_rc == HELIO_OK)
            helio_json_put_u64(&json, "exit_code", channel->exit_code);
        helio_json_put_string(&json, "outcome", helio_rc_name(channel->end_rc));
        helio_json_put_string(&json, "why", channel->why);
    }
    helio_json_end(&json);
}

static void on_output(helio_request_context_t *self, const helio_result_t *result)
{
    if (failed(self, result))
        return;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t state = {0}, body = {0};
    put_state(&state, &result->channel);
    const uint8_t head[5] = {HELIO_CHANNEL_STREAM_NONE, (uint8_t)(state.size >> 24), (uint8_t)(state.size >> 16),
                             (uint8_t)(state.size >> 8), (uint8_t)state.size};
    helio_buffer_append(&body, result->data.data, result->data.size);
    helio_buffer_append(&body, head, sizeof head);
    helio_buffer_append(&body, state.data, state.size);
    helio_response_bytes(self, 200, "application/octet-stream", helio_buffer_view(&body));
}

static bool read_offset(helio_request_context_t *self, uint64_t *ret_offset)
{
    if (!helio_request_context_number(self, "offset", (helio_query_bounds_t){0, OFFSET_MAX, 0}, ret_offset))
        return false;
    *(uint64_t *)helio_request_context_state(self, sizeof(uint64_t)) = *ret_offset;
    return true;
}

void helio_channels_output_read(helio_request_context_t *self)
{
    uint64_t offset, wait_s;
    if (!read_offset(self, &offset) ||
        !helio_request_context_number(self, "wait", (helio_query_bounds_t){0, WAIT_MAX_S, 0}, &wait_s))
        return;
    helio_channel_ask_t ask = ask_of(self, HELIO_CHANNEL_READ);
    uint32_t most_ms = self->from_broker ? (uint32_t)FORWARDED_WAIT_MS : (uint32_t)HELIO_CHANNEL_WAIT_MAX_MS;
    ask.offset = offset;
    ask.wait_ms = (uint32_t)wait_s * 1000 < most_ms ? (uint32_t)wait_s * 1000 : most_ms;
    helio_await_channel(self, on_output, &ask);
}

static void on_plain(helio_request_context_t *self, const helio_result_t *result)
{
    if (failed(self, result))
        return;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    put_state(&text, &result->channel);
    helio_response_json(self, 200, helio_buffer_view(&text));
}

void helio_channels_input_write(helio_request_context_t *self)
{
    uint64_t offset;
    bool end;
    if (!read_offset(self, &offset) || !helio_request_context_flag(self, "end", &end))
        return;
    helio_channel_ask_t ask = ask_of(self, HELIO_CHANNEL_WRITE);
    ask.data = helio_await_body(self);
    ask.offset = offset;
    ask.end = end;
    ask.wait_ms = INPUT_WAIT_MS;
    helio_await_channel(self, on_plain, &ask);
}

void helio_channels_resize(helio_request_context_t *self)
{
    enum { HEIGHT, WIDTH };
    helio_member_t members[] = {[HEIGHT] = {.name = "rows", .kind = HELIO_MEMBER_NUMBER, .required = true},
                                [WIDTH] = {.name = "columns", .kind = HELIO_MEMBER_NUMBER, .required = true}};
    if (!helio_command_read(self, self->arena, members, 2) || !check_number(self, &members[HEIGHT], 1) ||
        !check_number(self, &members[WIDTH], 1))
        return;
    helio_channel_ask_t ask = ask_of(self, HELIO_CHANNEL_RESIZE);
    ask.rows = (uint32_t)members[HEIGHT].number;
    ask.columns = (uint32_t)members[WIDTH].number;
    helio_await_channel(self, on_plain, &ask);
}

void helio_channels_shut(helio_request_context_t *self)
{
    helio_channel_ask_t ask = ask_of(self, HELIO_CHANNEL_SHUT);
    helio_await_channel(self, on_plain, &ask);
}
