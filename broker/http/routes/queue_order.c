/*  queue_order.c -- /v1/order: the scheduling order of the jobs that wait for room. */
#include "broker/http/routes/command.h"
#include "broker/http/routes/routes.h"
#include "federation/base/id.h"
#include "federation/base/json.h"

static void put_share(helio_json_writer_t *json, const helio_queue_share_t *share)
{
    double weight = share->weight_milli / 1000.0, used = (double)share->used_micro / 1e6;
    helio_json_begin_object(json, NULL);
    helio_json_put_text(json, "tenant", share->tenant);
    helio_json_put_u64(json, "jobs", share->jobs);
    helio_json_put_real(json, "weight", weight);
    helio_json_put_u64(json, "gpus", share->gpus);
    helio_json_put_u64(json, "guaranteed_gpus", share->guaranteed_gpus);
    helio_json_put_real(json, "used_a100", used);
    helio_json_put_real(json, "used_a100_per_weight", weight > 0 ? used / weight : 0);
    helio_json_end(json);
}

static void put_turn(helio_json_writer_t *json, const helio_queue_turn_t *turn, uint64_t position)
{
    char id[HELIO_KEY_SIZE];
    helio_json_begin_object(json, NULL);
    helio_json_put_u64(json, "position", position);
    helio_json_put_u64(json, "jobs", turn->count);
    helio_json_put_text_or_null(json, "tenant", turn->tenant);
    helio_json_put_text(json, "queue", turn->queue);
    helio_json_put_string(json, "why", helio_turn_reason_name(turn->why));
    helio_json_begin_array(json, "ids");
    for (uint32_t i = 0; i < turn->jobs.count; i++) {
        helio_job_key_text(turn->jobs.items[i].key, id);
        helio_json_put_string(json, NULL, id);
    }
    helio_json_end(json);
    helio_json_end(json);
}

static void on_answer(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, NULL);
        return;
    }
    const helio_queue_order_t *order = result->queue_order;
    uint64_t position = 1;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_json_begin_object(&json, NULL);
    helio_json_put_time(&json, "judged_at", order->at_ms);
    helio_json_put_u64(&json, "jobs", order->jobs);
    helio_json_begin_array(&json, "tenants");
    for (uint32_t i = 0; i < order->shares.count; i++)
        put_share(&json, &order->shares.items[i]);
    helio_json_end(&json);
    helio_json_begin_array(&json, "order");
    for (uint32_t i = 0; i < order->turns.count; i++) {
        put_turn(&json, &order->turns.items[i], position);
        position += order->turns.items[i].count;
    }
    helio_json_end(&json);
    helio_json_end(&json);
    helio_response_json(self, 200, helio_buffer_view(&text));
}

void helio_queue_order_show(helio_request_context_t *self)
{
    helio_arena_t *arena = helio_await_arena(self);
    helio_ev_queue_order_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->tenant = helio_arena_text(arena, helio_text_of(self->token->tenant));
    event->role = self->token->role;
    helio_await_event(self, on_answer, HELIO_BROKER_EV_QUEUE_ORDER, event);
}
