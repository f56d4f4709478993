/*  plans.c -- /v1/plans: what a submission would lead to, by the core's own dry run. */
#include "broker/http/routes/plans.h"

#include "broker/http/request/reasons.h"
#include "broker/http/routes/plan_prices.h"
#include "broker/http/routes/plan_supposed.h"
#include "broker/http/routes/routes.h"
#include "broker/http/routes/start_estimate.h"
#include "broker/http/routes/submission.h"
#include "broker/http/routes/submit.h"
#include "federation/reason/page.h"

static void put_usd(helio_json_writer_t *json, const char *name, int64_t micro_usd)
{
    helio_json_put_real(json, name, (double)micro_usd / 1e6);
}

static void put_seconds(helio_json_writer_t *json, const char *name, uint64_t ms)
{
    helio_json_put_real(json, name, (double)ms / 1000);
}

static void put_terms(helio_json_writer_t *json, const helio_row_candidate_t *row)
{
    helio_json_begin_object(json, "terms");
    put_usd(json, "money", row->cost_micro_usd);
    put_usd(json, "carbon", row->carbon_micro_usd);
    put_usd(json, "wait", row->wait_micro_usd);
    put_usd(json, "risk", row->risk_micro_usd);
    put_usd(json, "shadow", row->shadow_micro_usd);
    put_usd(json, "disruption", row->disruption_micro_usd);
    put_usd(json, "transfer", row->transfer_micro_usd);
    put_usd(json, "move", row->disruption_micro_usd); /* deprecated: the former name of disruption */
    helio_json_end(json);
}

/*  What is against the candidate: its own details, or what its rejection means. */
static void put_against(helio_json_writer_t *json, const helio_row_candidate_t *row)
{
    if (row->details.items.count || !row->rejected_reason.size) {
        helio_put_details(json, "detail", "details", &row->details);
        return;
    }
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_rejection_sentence(row->rejected_reason, &text);
    helio_json_put_text_or_null(json, "detail", helio_buffer_view(&text));
    helio_json_put_null(json, "details");
}

static void put_candidate(helio_json_writer_t *json, const helio_planned_candidate_t *candidate)
{
    const helio_row_candidate_t *row = &candidate->row;
    helio_json_begin_object(json, NULL);
    helio_json_put_text_or_null(json, "site", row->site);
    helio_json_put_text_or_null(json, "pool", row->pool);
    helio_json_put_text_or_null(json, "backend", candidate->backend);
    helio_json_put_time(json, "start", row->start_ms);
    put_seconds(json, "duration_s", row->run_ms);
    put_seconds(json, "duration_p90_s", row->run_high_ms);
    put_usd(json, "cost_usd", row->cost_micro_usd + row->egress_micro_usd);
    helio_json_put_real(json, "energy_kwh", (double)(row->energy_j + row->transfer_j) / 3.6e6);
    helio_json_put_real(json, "carbon_g", (double)(row->carbon_mg + row->transfer_carbon_mg) / 1000);
    put_usd(json, "score_usd", row->score_micro_usd);
    put_seconds(json, "transfer_s", row->transfer_ms);
    put_usd(json, "egress_usd", row->egress_micro_usd);
    put_terms(json, row);
    helio_json_put_text_or_null(json, "reason", row->rejected_reason);
    put_against(json, row);
    helio_json_end(json);
}

/*  The expected run time from past runs; null without any. */
static void put_run(helio_json_writer_t *json, const helio_planned_t *plan)
{
    if (plan->expected_basis == HELIO_DURATION_BASIS_NONE) {
        helio_json_put_null(json, "run");
        return;
    }
    helio_json_begin_object(json, "run");
    put_seconds(json, "duration_s", plan->run_ms);
    put_seconds(json, "duration_p90_s", plan->run_high_ms);
    helio_json_put_u64(json, "runs", plan->expected_runs);
    helio_json_put_u64(json, "failed", plan->expected_failed);
    helio_json_put_string(json, "basis", helio_duration_basis_name(plan->expected_basis));
    helio_json_put_text_or_null(json, "of", plan->expected_of);
    helio_json_end(json);
}

/*  Of an array; else null. */
static void put_tasks(helio_json_writer_t *json, const helio_planned_t *plan)
{
    if (!plan->tasks) {
        helio_json_put_null(json, "tasks");
        return;
    }
    helio_json_begin_object(json, "tasks");
    helio_json_put_u64(json, "count", plan->tasks);
    helio_json_put_u64(json, "now", plan->tasks_now);
    helio_put_details(json, "detail", "details", &plan->tasks_details);
    helio_json_end(json);
}

static void put_job(helio_json_writer_t *json, const helio_planned_t *plan)
{
    helio_json_begin_object(json, "job");
    helio_json_put_text_or_null(json, "name", plan->name);
    helio_json_put_u64(json, "gpus", plan->gpus);
    helio_json_put_u64(json, "nodes", plan->nodes);
    put_seconds(json, "duration_s", plan->run_ms);
    if (plan->prices_set)
        helio_json_put_null(json, "goal");
    else
        helio_json_put_string(json, "goal", helio_goal_name(plan->goal));
    helio_json_begin_object(json, "prices");
    put_usd(json, "carbon_usd_per_t", plan->carbon_price_micro_usd_per_t);
    put_usd(json, "wait_usd_per_gpu_h", plan->wait_price_micro_usd_per_gpu_h);
    helio_json_end(json);
    put_seconds(json, "flexible_s", plan->flexible_ms);
    helio_json_put_time(json, "deadline", plan->deadline_wall_ms);
    helio_json_end(json);
}

static void put_plan(helio_json_writer_t *json, const helio_planned_t *plan)
{
    const helio_row_decision_t *decision = &plan->decision;
    put_job(json, plan);
    put_seconds(json, "time_limit_s", plan->time_limit_ms);
    put_run(json, plan);
    helio_json_begin_array(json, "candidates");
    for (uint32_t i = 0; i < plan->candidates.count; i++)
        put_candidate(json, &plan->candidates.items[i]);
    helio_json_end(json);
    helio_json_put_text_or_null(json, "chosen", decision->chosen_site);
    helio_json_put_text_or_null(json, "chosen_pool", decision->chosen_pool);
    helio_json_put_text_or_null(json, "reason", decision->reason);
    helio_put_details(json, "detail", "details", &decision->details);
    helio_json_put_time(json, "expected_start", plan->expected_ms);
    helio_json_put_text_or_null(json, "policy_version", decision->policy_version);
    helio_json_put_time(json, "forecast_issued_at", decision->forecast_ms);
    helio_json_put_time(json, "planned_at", decision->at_ms);
    put_tasks(json, plan);
    helio_json_put_bool(json, "stops", plan->stops);
}

void helio_plan_put(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, NULL);
        return;
    }
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_json_begin_object(&json, NULL);
    put_plan(&json, result->plan);
    helio_start_estimate_put(&json, result->start_estimate);
    helio_put_note(&json, &result->details);
    helio_json_end(&json);
    helio_response_json(self, 200, helio_buffer_view(&text));
}

/*  Reads the document and looks up its dependencies by the code of a submission. */
void helio_plans_make(helio_request_context_t *self)
{
    helio_arena_t *arena = helio_await_arena(self);
    helio_text_t body = helio_await_body(self);
    helio_ev_submit_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->tenant = helio_text_of(self->token->tenant);
    event->user = helio_text_of(self->token->user);
    helio_diagnostics_t wrong;
    int document;
    helio_plan_prices_t prices;
    helio_plan_supposed_t supposed;
    if (!helio_plan_prices_read(self, &prices) || !helio_plan_supposed_read(self, &supposed))
        return;
    helio_plan_supposed_set(&supposed, arena, event);
    if (helio_submission_read(body, "", "", arena, event, &wrong, &document) != HELIO_OK) {
        helio_response_diagnostics(self, &wrong, document);
        return;
    }
    for (uint32_t i = 0; i < event->jobs.count; i++)
        helio_plan_prices_set(&prices, &event->jobs.items[i].spec);
    if (helio_await_read_body(self))
        helio_submit_ask(self, event, HELIO_BROKER_EV_PLAN, helio_plan_put);
}
