/*  calls.c -- the calls of other threads and their answers. Every call is answered exactly once. */
#include <assert.h>
#include <string.h>

#include "broker/engine/internal.h"
#include "federation/base/clock.h"

static helio_channels_t *channels_of(helio_engine_t *self)
{
    return helio_sessions_channels(helio_gateway_sessions(self->gateway));
}

static void refuse_event(helio_call_t *call, helio_rc rc, helio_detail_t detail)
{
    helio_fx_reply_t reply = {.call = call->id, .rc = (uint32_t)rc, .details.items = {&detail, 1}};
    call->on_reply(call, &reply);
}

static void refuse(helio_call_t *call, helio_rc rc, helio_detail_t detail)
{
    switch (call->kind) {
    case HELIO_CALL_EVENT:
        refuse_event(call, rc, detail);
        break;
    case HELIO_CALL_LOG_READ:
        call->on_log(call, rc, NULL);
        break;
    case HELIO_CALL_CHANNEL:
        call->on_channel(call, &(helio_channel_answer_t){.rc = rc, .why = ""});
        break;
    case HELIO_CALL_FIGURES:
        assert(!"figures are never refused");
    }
}

/* ---- events ------------------------------------------------------------------------------------------------ */

/*  Under load, new work is refused first. Commands that end or repair work are small, and have twice the bound. */
static bool is_overloaded(const helio_engine_t *self, uint32_t event)
{
    bool new_work = event == HELIO_BROKER_EV_CHANNEL || event == HELIO_BROKER_EV_SUBMIT ||
                    event == HELIO_BROKER_EV_PLAN || event == HELIO_BROKER_EV_EXPLAIN ||
                    event == HELIO_BROKER_EV_DESIRED || event == HELIO_BROKER_EV_QUEUE_ORDER;
    return helio_engine_backlog(self) > (new_work ? HELIO_ENGINE_BACKLOG_WORK : HELIO_ENGINE_BACKLOG_COMMANDS);
}

static bool may_be_called(uint32_t event)
{
    switch (event) {
    case HELIO_BROKER_EV_SUBMIT:
    case HELIO_BROKER_EV_PLAN:
    case HELIO_BROKER_EV_EXPLAIN:
    case HELIO_BROKER_EV_DESIRED:
    case HELIO_BROKER_EV_QUEUE_ORDER:
    case HELIO_BROKER_EV_CANCEL:
    case HELIO_BROKER_EV_HOLD:
    case HELIO_BROKER_EV_RELEASE:
    case HELIO_BROKER_EV_REQUEUE:
    case HELIO_BROKER_EV_SIGNAL:
    case HELIO_BROKER_EV_CHANNEL:
    case HELIO_BROKER_EV_DRAIN:
    case HELIO_BROKER_EV_UNDRAIN:
    case HELIO_BROKER_EV_ATTEST:
    case HELIO_BROKER_EV_CURTAIL:
    case HELIO_BROKER_EV_TOKEN:
    case HELIO_BROKER_EV_SITE_KEY:
    case HELIO_BROKER_EV_QUOTA:
    case HELIO_BROKER_EV_DATA:
    case HELIO_BROKER_EV_LINK:
    case HELIO_BROKER_EV_QUEUE:
    case HELIO_BROKER_EV_QUEUE_RULE:
    case HELIO_BROKER_EV_OVERFLOW:
    case HELIO_BROKER_EV_EDIT:
    case HELIO_BROKER_EV_TENANT:
    case HELIO_BROKER_EV_PRINCIPAL:
        return true;
    default:
        return false;
    }
}

static bool stores_nothing(uint32_t event)
{
    return event == HELIO_BROKER_EV_PLAN || event == HELIO_BROKER_EV_EXPLAIN || event == HELIO_BROKER_EV_DESIRED ||
           event == HELIO_BROKER_EV_QUEUE_ORDER;
}

/*  The core knows a channel by the number that the gateway gives it. False: too many are kept. */
static bool prepare_channel(helio_engine_t *self, helio_call_t *call)
{
    helio_ev_channel_t *event = call->payload;
    call->channel = helio_channels_prepare(channels_of(self), call->opening, self->now_ms);
    event->channel = call->channel;
    return call->channel != 0;
}

/*  A request that the core has not seen can be refused with a known outcome. Those whose rows are in the batch that the
 *  database refuses wait for it: it may be committed yet, so their outcome is unknown. */
static void take_event(helio_engine_t *self, helio_call_t *call)
{
    assert(may_be_called(call->event) && call->payload);
    if (helio_store_lacks_room(self->store) && !stores_nothing(call->event)) {
        refuse_event(call, HELIO_UNAVAILABLE, HELIO_DETAIL0(HELIO_DETAIL_DATABASE_FULL));
        return;
    }
    if (is_overloaded(self, call->event)) {
        refuse_event(call, HELIO_BUSY, HELIO_DETAIL0(HELIO_DETAIL_DATABASE_BEHIND));
        return;
    }
    if (self->call_count == HELIO_ENGINE_CALLS_MAX) {
        refuse_event(call, HELIO_BUSY, HELIO_DETAIL0(HELIO_DETAIL_REQUESTS_WAITING));
        return;
    }
    if (call->event == HELIO_BROKER_EV_CHANNEL && !prepare_channel(self, call)) {
        refuse_event(call, HELIO_BUSY, HELIO_DETAIL0(HELIO_DETAIL_REQUESTS_WAITING));
        return;
    }
    uint64_t id = self->last_call + 1;
    while (self->calls[id % HELIO_ENGINE_CALLS_MAX]) /* of a call that waits for long */
        id++;
    self->last_call = id;
    self->calls[id % HELIO_ENGINE_CALLS_MAX] = call;
    self->call_count++;
    call->id = id;
    memcpy(call->payload, &id, sizeof id); /* each of these records begins with its call */
    helio_engine_step(self, call->event, call->payload);
}

/* ---- logs and figures -------------------------------------------------------------------------------------- */

static void on_log_piece(void *arg, helio_rc rc, const helio_msg_log_data_t *data)
{
    helio_call_t *call = arg;
    if (rc != HELIO_OK) {
        call->on_log(call, rc, NULL);
        return;
    }
    helio_log_piece_t piece = {data->offset, data->data, data->end};
    call->on_log(call, HELIO_OK, &piece);
}

static void take_log_read(helio_engine_t *self, helio_call_t *call)
{
    helio_log_ask_t ask = {.site = call->site,
                           .key = call->key,
                           .epoch = call->epoch,
                           .offset = call->offset,
                           .size_max = call->size_max,
                           .from_end = call->from_end,
                           .done = on_log_piece,
                           .arg = call};
    helio_rc rc = helio_sessions_read_log(helio_gateway_sessions(self->gateway), &ask, self->now_ms);
    if (rc != HELIO_OK)
        call->on_log(call, rc, NULL);
}

static void take_figures(helio_engine_t *self, helio_call_t *call)
{
    helio_engine_figures_t figures = {.leader = self->phase != HELIO_ENGINE_WAITING,
                                      .database_full = helio_store_lacks_room(self->store),
                                      .lease_ms = self->options.core.lease_ms,
                                      .broker_epoch = self->broker_epoch,
                                      .held_effects = helio_release_queue_count(self->held),
                                      .step_us_max = self->step_us_max,
                                      .step_us_sum = self->step_us_sum,
                                      .steps_total = self->steps_total,
                                      .tally = self->tally,
                                      .calls_total = self->calls_total};
    figures.ready =
        self->phase == HELIO_ENGINE_LEADING && helio_store_connected(self->store) && !helio_store_waits(self->store);
    helio_broker_core_figures(self->core, &figures.core);
    helio_store_figures(self->store, &figures.store);
    if (self->gateway) {
        helio_sessions_figures_t sessions;
        helio_sessions_figures(helio_gateway_sessions(self->gateway), &sessions);
        figures.sessions = sessions.sessions;
        figures.sessions_total = sessions.sessions_total;
        figures.frames_in_total = sessions.frames_in_total;
        figures.frames_out_total = sessions.frames_out_total;
        figures.reads_slowed_total = helio_gateway_slowed(self->gateway);
        _Static_assert((int)HELIO_BAD_FRAME_COUNT < (int)HELIO_ENGINE_BAD_FRAMES_MAX, "all reasons, and the end");
        for (uint32_t i = 0; i < HELIO_BAD_FRAME_COUNT; i++) {
            figures.frames_bad_total[i].why = helio_bad_frame_name(i);
            figures.frames_bad_total[i].count = sessions.frames_bad_total[i];
        }
    }
    self->step_us_max = 0;
    call->on_figures(call, &figures);
}

/* ---- channels ---------------------------------------------------------------------------------------------- */

static void on_channel_answer(void *arg, const helio_channel_answer_t *answer)
{
    helio_call_t *call = arg;
    call->on_channel(call, answer);
}

static void take_channel(helio_engine_t *self, helio_call_t *call)
{
    helio_channel_ask_t ask = call->ask;
    ask.done = on_channel_answer;
    ask.arg = call;
    helio_channels_ask(channels_of(self), &ask, self->now_ms);
}

void helio_engine_tell_ended_channels(helio_engine_t *self)
{
    helio_ev_channel_ended_t event;
    if (self->phase != HELIO_ENGINE_LEADING)
        return;
    helio_channels_t *channels = channels_of(self);
    helio_channels_settle(channels, self->now_ms);
    while (helio_channels_next_end(channels, &event))
        helio_engine_step(self, HELIO_BROKER_EV_CHANNEL_ENDED, &event);
}

/* ---- the ring ---------------------------------------------------------------------------------------------- */

/*  The broker does not lead yet, or cannot reach its database. */
static void refuse_waiting(helio_engine_t *self, helio_call_t *call)
{
    helio_value_t why = helio_value_string(self->waiting.text);
    helio_detail_t unreachable = {.code = HELIO_DETAIL_DATABASE_UNREACHABLE, .values = {&why, 1}};
    refuse(call, HELIO_UNAVAILABLE,
           self->waiting.code == HELIO_OK     ? HELIO_DETAIL0(HELIO_DETAIL_BROKER_STARTING)
           : self->waiting.code == HELIO_BUSY ? HELIO_DETAIL0(HELIO_DETAIL_ANOTHER_LEADS)
                                              : unreachable);
}

static void take(helio_engine_t *self, helio_call_t *call)
{
    self->calls_total++;
    call->posted_ms = self->now_ms;
    if (call->kind == HELIO_CALL_FIGURES)
        take_figures(self, call);
    else if (self->phase == HELIO_ENGINE_STOPPING)
        refuse(call, HELIO_UNAVAILABLE, HELIO_DETAIL0(HELIO_DETAIL_BROKER_STOPPING));
    else if (self->phase == HELIO_ENGINE_WAITING)
        refuse_waiting(self, call);
    else if (call->kind == HELIO_CALL_EVENT)
        take_event(self, call);
    else if (call->kind == HELIO_CALL_CHANNEL)
        take_channel(self, call);
    else
        take_log_read(self, call);
}

void helio_engine_take_calls(helio_engine_t *self)
{
    helio_ring_drain_wakeups(self->ring);
    helio_call_t *call;
    int64_t until_ms = helio_clock_boot_ms() + HELIO_ENGINE_CALLS_MS;
    for (uint32_t i = 0; i < HELIO_ENGINE_CALLS_PER_TURN && helio_clock_boot_ms() < until_ms; i++) {
        if (!(call = helio_ring_pop(self->ring)))
            return;
        take(self, call);
    }
    self->more_calls = true; /* the next turn must not wait: the wake-up is drained already */
}

void helio_engine_reply_all(helio_engine_t *self, helio_rc rc, helio_detail_code_t code)
{
    for (uint32_t i = 0; i < HELIO_ENGINE_CALLS_MAX && self->call_count; i++) {
        helio_call_t *call = self->calls[i];
        if (!call)
            continue;
        self->calls[i] = NULL;
        self->call_count--;
        refuse_event(call, rc, HELIO_DETAIL0(code));
    }
    for (helio_call_t *call; (call = helio_ring_pop(self->ring));) {
        if (call->kind == HELIO_CALL_FIGURES)
            take_figures(self, call);
        else
            refuse(call, rc, HELIO_DETAIL0(code));
    }
}
