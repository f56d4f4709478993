/*  placement.c -- places one job at one pool. */
#include "broker/core/decide/placement.h"

#include <string.h>
#include <utlist.h>

#include "broker/core/decide/decisions.h"
#include "broker/core/decide/evaluate.h"
#include "broker/core/holds/curtailed.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/holds/site_windows.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/budgets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/dispatch.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/why.h"

/*  Where the head would start if only its wait counted: where it can start now, at home if possible, else by name.
 *  Capacity only shrinks within a round, so the result is kept until it is full. */
const option_t *core_least_wait(helio_broker_core_t *self, evaluation_t *e)
{
    if (e->earliest && core_has_room(self, e->class, e->earliest))
        return e->earliest;
    e->earliest = NULL;
    for (uint32_t i = 0; i < e->feasible; i++) {
        const option_t *option = &e->options[i], *best = e->earliest;
        bool sooner = !best || (option->home && !best->home) ||
                      (option->home == best->home && strcmp(option->site->name, best->site->name) < 0);
        if (sooner && core_has_room(self, e->class, option))
            e->earliest = option;
    }
    return e->earliest;
}

/*  The first placement of a job stores the baseline; at the job's end its use is compared with that. */
static void store_earliest_start(const evaluation_t *e, job_t *job, const option_t *earliest, int64_t wall_ms,
                                 helio_row_placement_t *row)
{
    const job_class_t *class = e->class;
    last_placement_t *last = job->last;
    int64_t submitted_ms = job->submission->row.submitted_ms;
    if (class->earliest_ms) { /* it waited by choice */
        last->earliest = class->earliest;
        (void)helio_text_copy(helio_text_of(class->earliest_pool), last->earliest_pool, sizeof last->earliest_pool);
        last->earliest_ms = class->earliest_ms > submitted_ms ? class->earliest_ms : submitted_ms;
    } else {
        last->earliest = earliest->site;
        (void)helio_text_copy(earliest->pool->info.name, last->earliest_pool, sizeof last->earliest_pool);
        last->earliest_ms = wall_ms;
    }
    row->earliest_site = helio_text_of(last->earliest->name);
    row->earliest_pool = helio_text_of(last->earliest_pool);
    row->earliest_ms = last->earliest_ms;
}

void core_place(helio_broker_core_t *self, evaluation_t *e, job_t *job, const option_t *option)
{
    if (!e->decision_id) {
        e->chosen = option;
        const helio_details_t none = {0};
        core_decision_write(self, e, HELIO_REASON_NONE, &none);
    }
    const option_t *earliest = job->attempts ? NULL : core_least_wait(self, e);
    job->epoch++;
    job->attempts++;
    uint32_t victims = e->migrated_from ? 0 : core_preempt_class_placed(self, e->class, option->pool);
    const helio_details_t placed =
        CORE_WHY(self, HELIO_DETAIL_PLACED_AT, helio_value_string(option->site->name),
                 helio_value_string(e->migrated_from ? e->migrated_from : ""), helio_value_number(victims));
    job->site = option->site;
    job->pool = option->pool;
    job->gpus_per_node = option->c.gpus_per_node;
    job->inventory = 0;
    core_job_placed_at(job, helio_text_of(option->site->name), option->pool->info.name);
    core_job_change_state(self, job, HELIO_JOB_OFFERED, placed, "broker");
    DL_APPEND(option->site->live, job);
    const helio_requirement_t *want = &e->class->want;
    job->counted = core_pool_take(option->pool, want->nodes, option->c.gpus_per_node, want->cpus, want->memory_bytes);
    const helio_transfer_t *transfer = &option->c.transfer;
    job->last->transfer = *transfer;
    job->last->placed_ms = self->now_ms;
    job->last->absent_ms = 0;
    core_quota_take(self, job);
    helio_row_placement_t row = {
        .key = job->key,
        .epoch = job->epoch,
        .site = helio_text_of(option->site->name),
        .pool = option->pool->info.name,
        .decision_id = e->decision_id,
        .nodes = want->nodes,
        .gpus = option->c.gpus_per_node * want->nodes,
        .score_micro_usd = option->c.now.score_micro_usd,
        .planned_cost_micro_usd = option->c.now.cost_micro_usd + transfer->egress_micro_usd,
        .planned_energy_j = option->c.now.energy_j + transfer->energy_j,
        .planned_carbon_mg = option->c.now.carbon_mg + transfer->carbon_mg,
        .start_ms = self->wall_ms,
        .at_ms = self->wall_ms,
        .transfer_ms = transfer->ms,
        .transfer_micro_usd = transfer->egress_micro_usd,
        .transfer_j = transfer->energy_j,
        .transfer_carbon_mg = transfer->carbon_mg,
        .gpu_model = option->pool->info.gpu,
        .expected_ms = option->c.run_ms,
        .expected_high_ms = option->c.run_high_ms,
    };
    if (job->attempts == 1)
        store_earliest_start(e, job, earliest ? earliest : option, self->wall_ms, &row);
    core_emit(self, HELIO_BROKER_FX_ROW_PLACEMENT, &row);
    core_budget_place(self, job, &row);
    core_reserve_placed(self, job);
    core_site_window_placed(self, job);
    core_curtail_placed(self, job);
    core_order(self, job);
    self->figures.placements_total++;
}
