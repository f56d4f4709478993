/*  operation.c -- the answers of engine, reader and forwarder, copied into operations on those threads. */
#include "broker/http/request/operation.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void back(helio_operation_t *operation)
{
    helio_rc rc = helio_ring_push(operation->returns, operation);
    assert(rc == HELIO_OK); /* no more operations are posted than it has room for */
    (void)rc;
}

static void on_reply(helio_call_t *call, const helio_fx_reply_t *response)
{
    helio_operation_t *operation = call->arg;
    helio_result_t *result = &operation->result;
    result->rc = (helio_rc)response->rc;
    (void)helio_text_copy(response->reason, result->reason, sizeof result->reason);
    helio_record_copy(&helio_details_type, operation->arena, &response->details, &result->details);
    if (response->jobs.count) {
        result->jobs = helio_new(response->jobs.count, sizeof *result->jobs);
        memcpy(result->jobs, response->jobs.items, response->jobs.count * sizeof *result->jobs);
        result->job_count = response->jobs.count;
    }
    if (operation->call.event == HELIO_BROKER_EV_PLAN && response->rc == HELIO_OK) {
        result->plan = helio_arena_alloc(operation->arena, 1, sizeof *result->plan);
        helio_record_copy(&helio_planned_type, operation->arena, &response->plan, result->plan);
    }
    bool foresees = operation->call.event == HELIO_BROKER_EV_PLAN || operation->call.event == HELIO_BROKER_EV_EXPLAIN;
    if (foresees && response->rc == HELIO_OK) {
        result->start_estimate = helio_arena_alloc(operation->arena, 1, sizeof *result->start_estimate);
        helio_record_copy(&helio_start_estimate_type, operation->arena, &response->start_estimate,
                          result->start_estimate);
    }
    result->desired_count = response->desired.count;
    result->desired = helio_arena_alloc(operation->arena, response->desired.count, sizeof *result->desired);
    for (uint32_t i = 0; i < response->desired.count; i++)
        helio_record_copy(&helio_desired_pool_type, operation->arena, &response->desired.items[i], &result->desired[i]);
    if (operation->call.event == HELIO_BROKER_EV_QUEUE_ORDER && response->rc == HELIO_OK) {
        result->queue_order = helio_arena_alloc(operation->arena, 1, sizeof *result->queue_order);
        helio_record_copy(&helio_queue_order_type, operation->arena, &response->queue_order, result->queue_order);
    }
    back(operation);
}

static void on_log(helio_call_t *call, helio_rc rc, const helio_log_piece_t *piece)
{
    helio_operation_t *operation = call->arg;
    operation->result.rc = rc;
    if (rc == HELIO_OK) {
        operation->result.offset = piece->offset;
        operation->result.end = piece->end;
        helio_buffer_append(&operation->result.data, piece->data.data, piece->data.size);
    }
    back(operation);
}

static void on_figures(helio_call_t *call, const helio_engine_figures_t *figures)
{
    helio_operation_t *operation = call->arg;
    operation->result.rc = HELIO_OK;
    operation->result.figures = *figures;
    back(operation);
}

static void on_channel(helio_call_t *call, const helio_channel_answer_t *answer)
{
    helio_operation_t *operation = call->arg;
    operation->result.rc = answer->rc;
    operation->result.channel = *answer;
    operation->result.channel.why = helio_arena_string(operation->arena, helio_text_of(answer->why));
    operation->result.channel.frames = (helio_text_t){0};
    helio_buffer_append(&operation->result.data, answer->frames.data, answer->frames.size);
    back(operation);
}

static void on_read(helio_read_t *read, helio_rc rc, helio_text_t json, const helio_error_t *err)
{
    helio_operation_t *operation = read->arg;
    operation->result.rc = rc;
    (void)err; /* it has the database's own words, which reveal internals and help no caller */
    if (rc == HELIO_INVALID)
        helio_details_add(&operation->result.details, operation->arena, HELIO_DETAIL0(HELIO_DETAIL_READ_REFUSED));
    if (rc == HELIO_OK)
        helio_buffer_append(&operation->result.data, json.data, json.size);
    back(operation);
}

/*  What a LOG_READ of this broker's own engine would have returned. */
static helio_rc log_rc(uint32_t status)
{
    switch (status) {
    case 200:
        return HELIO_OK;
    case 404:
        return HELIO_NOT_FOUND;
    case 409:
        return HELIO_VERSION; /* that agent cannot read from the end */
    case 429:
        return HELIO_BUSY;
    case 504:
        return HELIO_TIMEOUT;
    default:
        return HELIO_UNAVAILABLE;
    }
}

static void read_log_piece(helio_result_t *result, const helio_forward_answer_t *answer)
{
    char *rest = NULL;
    result->rc = log_rc(answer->status);
    if (!answer->piece[0])
        return; /* nothing has been printed yet */
    result->offset = strtoull(answer->piece, &rest, 10);
    result->end = strcmp(rest, " 1") == 0;
}

static void on_forwarded(helio_forward_t *forward, helio_rc rc, const helio_forward_answer_t *answer)
{
    helio_operation_t *operation = forward->arg;
    helio_result_t *result = &operation->result;
    result->rc = rc;
    if (rc == HELIO_OK) {
        result->status = answer->status;
        result->retry_after_s = answer->retry_after_s;
        result->type = helio_arena_string(operation->arena, helio_text_of(answer->type));
        helio_buffer_append(&result->data, answer->body.data, answer->body.size);
        if (operation->is_log)
            read_log_piece(result, answer);
    }
    back(operation);
}

uint64_t helio_operation_jobs(const helio_operation_t *self)
{
    if (self->kind != HELIO_OPERATION_CALL || self->call.kind != HELIO_CALL_EVENT ||
        self->call.event != HELIO_BROKER_EV_SUBMIT)
        return 0;
    const helio_ev_submit_t *event = self->call.payload;
    uint64_t jobs = event->jobs.count;
    for (uint32_t i = 0; i < event->jobs.count; i++)
        jobs += event->jobs.items[i].spec.tasks.count;
    return jobs;
}

bool helio_operation_is_list(const helio_operation_t *self)
{
    return helio_operation_jobs(self) > HELIO_LIST_JOBS;
}

helio_operation_t *helio_operation_new(void)
{
    helio_operation_t *self = helio_new(1, sizeof *self);
    self->arena = helio_arena_new();
    self->call = (helio_call_t){
        .on_reply = on_reply, .on_log = on_log, .on_figures = on_figures, .on_channel = on_channel, .arg = self};
    self->read = (helio_read_t){.done = on_read, .arg = self};
    self->forward = (helio_forward_t){.done = on_forwarded, .arg = self};
    return self;
}

void helio_operation_destroy(helio_operation_t **self_p)
{
    helio_operation_t *self = *self_p;
    if (!self)
        return;
    helio_body_clear(&self->body);
    helio_buffer_clear(&self->result.data);
    free(self->result.jobs);
    helio_arena_destroy(&self->arena);
    free(self);
    *self_p = NULL;
}
