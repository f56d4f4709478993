/*  /v1/plans: what would become of a job, asked of the core that would decide. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "broker/http/desk.h"
#include "broker/http/prospect.h"
#include "broker/http/route.h"
#include "broker/http/submission.h"
#include "broker/http/values.h"
#include "federation/base/clock.h"
#include "federation/base/duration.h"

static json_t *usd(int64_t micro_usd)
{
    return json_real((double)micro_usd / 1e6);
}

static json_t *candidate_json(const helio_planned_candidate_t *candidate)
{
    const helio_row_candidate_t *row = &candidate->row;
    return json_pack("{so so so so sf sf so sf sf so sf so s{so so so so so so so} so so}", "site",
                     helio_text_json(row->site), "pool", helio_text_json(row->pool), "backend",
                     helio_text_json(candidate->backend), "start", helio_time_json(row->start_ms), "duration_s",
                     (double)row->run_ms / 1000, "duration_p90_s",
                     (double)row->run_high_ms / 1000, "cost_usd",
                     usd(row->cost_micro_usd + row->egress_micro_usd), "energy_kwh",
                     (double)(row->energy_j + row->transfer_j) / 3.6e6, "carbon_g",
                     (double)(row->carbon_mg + row->transfer_carbon_mg) / 1000, "score_usd",
                     usd(row->score_micro_usd), "transfer_s", (double)row->transfer_ms / 1000, "egress_usd",
                     usd(row->egress_micro_usd), "terms", "money", usd(row->cost_micro_usd), "carbon",
                     usd(row->carbon_micro_usd), "wait", usd(row->wait_micro_usd), "risk",
                     usd(row->risk_micro_usd), "shadow", usd(row->shadow_micro_usd), "move",
                     usd(row->move_micro_usd), "transfer", usd(row->transfer_micro_usd), "reason",
                     helio_text_json(row->rejected_reason), "detail", helio_text_json(row->detail));
}

/*  What past runs tell of this one; null: nothing. */
static json_t *run_json(const helio_planned_t *plan)
{
    if (plan->expected_basis == HELIO_DURATION_BASIS_NONE)
        return json_null();
    return json_pack("{sf sf sI sI ss so}", "duration_s", (double)plan->run_ms / 1000, "duration_p90_s",
                     (double)plan->run_high_ms / 1000, "runs", (json_int_t)plan->expected_runs, "failed",
                     (json_int_t)plan->expected_failed, "basis", helio_duration_basis_word(plan->expected_basis), "of",
                     helio_text_json(plan->expected_of));
}

/*  Of an array; null: it is none. */
static json_t *tasks_json(const helio_planned_t *plan)
{
    if (!plan->tasks)
        return json_null();
    return json_pack("{sI sI so}", "count", (json_int_t)plan->tasks, "now", (json_int_t)plan->tasks_now,
                     "detail", helio_text_json(plan->tasks_text));
}

static json_t *plan_json(const helio_planned_t *plan)
{
    json_t *candidates = json_array();
    for (uint32_t i = 0; i < plan->candidates.count; i++)
        if (json_array_append_new(candidates, candidate_json(&plan->candidates.items[i])) != 0)
            abort(); /* memory */
    json_t *prices = json_pack("{so so}", "carbon_usd_per_t", usd(plan->carbon_price_micro_usd_per_t),
                               "wait_usd_per_gpu_h", usd(plan->wait_price_micro_usd_per_gpu_h));
    json_t *job = json_pack(
        "{so sI sI sf so so sf so}", "name", helio_text_json(plan->name), "gpus", (json_int_t)plan->gpus, "nodes",
        (json_int_t)plan->nodes, "duration_s", (double)plan->run_ms / 1000, "goal",
        plan->prices_set ? json_null() : json_string(helio_goal_word(plan->goal)), "prices", prices,
        "flexible_s", (double)plan->flexible_ms / 1000, "deadline", helio_time_json(plan->deadline_wall_ms));
    const helio_row_decision_t *decision = &plan->decision;
    return json_pack("{so sf so so so so so so so so so so so}", "job", job, "time_limit_s",
                     (double)plan->time_limit_ms / 1000, "run", run_json(plan), "candidates", candidates,
                     "chosen", helio_text_json(decision->chosen_site), "chosen_pool",
                     helio_text_json(decision->chosen_pool), "reason", helio_text_json(decision->reason),
                     "detail", helio_text_json(decision->detail), "expected_start",
                     helio_time_json(plan->expected_ms), "policy_version",
                     helio_text_json(decision->policy_version), "forecast_issued_at",
                     helio_time_json(decision->forecast_ms), "planned_at", helio_time_json(decision->at_ms),
                     "tasks", tasks_json(plan));
}

static const char too_late[] = "Deadline"; /* the word of the rejection, and of a submission's refusal */

/*  Where it fits, is it the deadline everywhere that forbids it, as a submission is refused for? *ret_end_ms: when
 * the shortest run would be over, were there room as soon as it may start; *ret_run_ms: how long that takes. */
static bool is_too_late(const helio_planned_t *plan, const helio_prospect_t *prospect, int64_t *ret_end_ms,
                        uint64_t *ret_run_ms)
{
    bool gated = helio_text_equal(plan->decision.reason, HELIO_TEXT("Gated"));
    int64_t start_ms = gated && prospect ? prospect->earliest_ms : plan->decision.at_ms;
    uint64_t run_ms = UINT64_MAX;
    if (!plan->deadline_wall_ms || plan->decision.chosen_site.size)
        return false;
    for (uint32_t i = 0; i < plan->candidates.count; i++) {
        const helio_row_candidate_t *row = &plan->candidates.items[i].row;
        if (!row->run_ms)
            continue; /* it could never run there */
        if (!helio_text_equal(row->rejected_reason, helio_text_of(too_late)))
            return false;
        run_ms = row->run_high_ms && row->run_high_ms < run_ms ? row->run_high_ms : run_ms;
    }
    if (run_ms > INT32_MAX * UINT64_C(1000) || start_ms + (int64_t)run_ms <= plan->deadline_wall_ms)
        return false;
    *ret_end_ms = start_ms + (int64_t)run_ms;
    *ret_run_ms = run_ms;
    return true;
}

/*  Said in a submission's words: who plans before submitting is told what the submission would be told. */
static void put_too_late(json_t *json, const helio_planned_t *plan, const helio_prospect_t *prospect)
{
    int64_t end_ms;
    uint64_t run_ms;
    char deadline[HELIO_RFC3339_SIZE], end[HELIO_RFC3339_SIZE], run[HELIO_DURATION_SIZE];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (!is_too_late(plan, prospect, &end_ms, &run_ms))
        return;
    helio_rfc3339(plan->deadline_wall_ms + 999, deadline); /* whole seconds, as the core's words have them */
    helio_rfc3339(end_ms + 999, end);
    helio_duration_text_up(run_ms, run);
    helio_buffer_printf(&text,
                        "it ends at %.19sZ, and the job, which is taken to run up to %s, is over not "
                        "before %.19sZ, were there room at once. Give a later `deadline` or a shorter `time`",
                        deadline, run, end);
    if (json_object_set_new(json, "reason", json_string(too_late)) != 0 ||
        json_object_set_new(json, "detail", json_string(text.data)) != 0)
        abort(); /* memory */
}

static void on_planned(helio_exchange_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK) {
        helio_answer_failure(self, result, NULL);
        return;
    }
    json_t *json = plan_json(result->plan);
    helio_prospect_put(json, result->prospect);
    put_too_late(json, result->plan, result->prospect);
    if (result->text[0] && json_object_set_new(json, "note", json_string(result->text)) != 0)
        abort(); /* memory */
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (!text)
        abort(); /* memory */
    helio_answer_json(self, 200, helio_text_of(text));
    free(text);
}

/*  The document is read as a submission is, and what it depends on looked up, by the same code. */
void helio_plans_make(helio_exchange_t *self)
{
    helio_arena_t *arena = helio_await_arena(self);
    helio_text_t body = helio_buffer_view(&self->body);
    helio_await_take_body(self);
    helio_ev_submit_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->tenant = helio_text_of(self->token->tenant);
    event->user = helio_text_of(self->token->user);
    helio_diagnostics_t wrong;
    int document;
    if (helio_submission_read(body, "", arena, event, &wrong, &document) != HELIO_OK) {
        helio_answer_diagnostics(self, &wrong, document);
        return;
    }
    helio_jobs_ask(self, event, HELIO_BROKER_EV_PLAN, on_planned);
}
