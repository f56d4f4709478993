/*  desired.c -- /v1/desired: how many GPUs each pool should have, now and in the hours ahead. */
#include "broker/http/routes/command.h"
#include "broker/http/routes/routes.h"
#include "federation/base/json.h"

static void put_figures(helio_json_writer_t *json, const helio_desired_hour_t *hour)
{
    helio_json_put_u64(json, "running_gpus", hour->running_gpus);
    helio_json_put_u64(json, "waiting_gpus", hour->waiting_gpus);
    helio_json_put_u64(json, "planned_gpus", hour->planned_gpus);
    helio_json_put_u64(json, "desired_gpus", hour->desired_gpus);
}

/*  The figures of now once more in the row itself, where a simple client finds them. */
static void put_pool(helio_json_writer_t *json, const helio_desired_pool_t *pool)
{
    helio_json_begin_object(json, NULL);
    helio_json_put_text(json, "site", pool->site);
    helio_json_put_text(json, "pool", pool->pool);
    helio_json_put_bool(json, "elastic", pool->elastic);
    helio_json_put_u64(json, "nodes", pool->nodes);
    helio_json_put_u64(json, "nodes_most", pool->nodes_most);
    helio_json_put_u64(json, "gpus_per_node", pool->gpus_per_node);
    if (pool->hours.count)
        put_figures(json, &pool->hours.items[0]);
    helio_json_begin_array(json, "hours");
    for (uint32_t i = 0; i < pool->hours.count; i++) {
        helio_json_begin_object(json, NULL);
        helio_json_put_time(json, "time", pool->hours.items[i].at_ms);
        put_figures(json, &pool->hours.items[i]);
        helio_json_end(json);
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
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_json_begin_array(&json, NULL);
    for (uint32_t i = 0; i < result->desired_count; i++)
        put_pool(&json, &result->desired[i]);
    helio_json_end(&json);
    helio_response_json(self, 200, helio_buffer_view(&text));
}

void helio_desired_list(helio_request_context_t *self)
{
    const char *site = helio_request_context_query(self, "site"), *pool = helio_request_context_query(self, "pool");
    if ((site && !helio_command_check_name(self, "site", helio_text_of(site), HELIO_SITE_NAME_MAX)) ||
        (pool && !helio_command_check_name(self, "pool", helio_text_of(pool), 32)))
        return;
    helio_arena_t *arena = helio_await_arena(self);
    helio_ev_desired_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->site = helio_arena_text(arena, helio_text_of(site ? site : ""));
    event->pool = helio_arena_text(arena, helio_text_of(pool ? pool : ""));
    helio_await_event(self, on_answer, HELIO_BROKER_EV_DESIRED, event);
}
