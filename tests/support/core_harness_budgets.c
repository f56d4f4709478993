/*  core_harness_budgets.c -- the ledger, the expected use of placements and the budgets, as the tables keep them. */
#include "tests/support/core_harness_rows.h"

#include <string.h>

static bool is_row_of(const helio_row_ledger_t *a, const helio_row_ledger_t *b)
{
    return helio_job_key_equal(a->key, b->key) && a->epoch == b->epoch && a->hour_ms == b->hour_ms &&
           a->part == b->part;
}

/*  Where the rows of a job are, and those of some other jobs. */
static uint32_t bucket_of(helio_job_key_t key)
{
    uint32_t low, high;
    memcpy(&low, key.job.bytes, sizeof low);
    memcpy(&high, key.job.bytes + sizeof key.job.bytes - sizeof high, sizeof high);
    return (low ^ high) % CHARGED_BUCKETS;
}

/*  An estimate that was reversed: both are out of every sum. */
bool harness_was_reversed(const harness_t *self, const helio_row_ledger_t *row)
{
    helio_row_ledger_t reversal = *row;
    reversal.part = HELIO_LEDGER_REVERSAL;
    if (row->part != HELIO_LEDGER_ESTIMATE && row->part != HELIO_LEDGER_REVERSAL)
        return false;
    for (const charged_row_t *entry = self->charged_by_job[bucket_of(row->key)]; entry; entry = entry->next_of_job)
        if (is_row_of(&entry->row, &reversal))
            return true;
    return false;
}

/*  As the store does it: evidence adds nothing to an attempt that was given up. */
bool harness_refuses(const harness_t *self, const helio_row_ledger_t *row)
{
    helio_row_ledger_t other = *row;
    if (row->part != HELIO_LEDGER_USE || !row->fenced)
        return false;
    for (const charged_row_t *entry = self->charged_by_job[bucket_of(row->key)]; entry; entry = entry->next_of_job) {
        other.hour_ms = entry->row.hour_ms;
        other.part = HELIO_LEDGER_ESTIMATE;
        if (is_row_of(&entry->row, &other))
            return true;
    }
    return false;
}

static bool is_given_up(const harness_t *self, const helio_row_given_up_t *row)
{
    for (const charged_row_t *entry = self->charged_by_job[bucket_of(row->key)]; entry; entry = entry->next_of_job)
        if (entry->row.part == HELIO_LEDGER_ESTIMATE && helio_job_key_equal(entry->row.key, row->key) &&
            entry->row.epoch == row->epoch && !harness_was_reversed(self, &entry->row))
            return true;
    return false;
}

/*  Nothing was ever charged for it, and its job is open and not there any more. */
static bool is_untold(const harness_t *self, const helio_row_given_up_t *row)
{
    const task_t *task = harness_task_find(self, row->key);
    for (const charged_row_t *entry = self->charged_by_job[bucket_of(row->key)]; entry; entry = entry->next_of_job)
        if (helio_job_key_equal(entry->row.key, row->key) && entry->row.epoch == row->epoch)
            return false;
    return task && !helio_job_state_is_terminal(task->state) &&
           (row->epoch < task->epoch || !helio_job_state_is_live(task->state));
}

void harness_load_estimates(harness_t *self, const harness_t *from)
{
    for (const expected_use_row_t *entry = from->expected_use; entry; entry = entry->next)
        if (is_given_up(from, &entry->given_up) || is_untold(from, &entry->given_up))
            harness_step(self, HELIO_BROKER_EV_LOAD_GIVEN_UP, &entry->given_up);
    for (const charged_row_t *entry = from->charged; entry; entry = entry->next)
        if (entry->row.part == HELIO_LEDGER_ESTIMATE && !harness_was_reversed(from, &entry->row))
            harness_step(self, HELIO_BROKER_EV_LOAD_ESTIMATE, &entry->row);
}

/*  Written once; later values are ignored. */
void harness_keep_charged(harness_t *self, const helio_row_ledger_t *row)
{
    charged_row_t **bucket = &self->charged_by_job[bucket_of(row->key)];
    for (const charged_row_t *entry = *bucket; entry; entry = entry->next_of_job)
        if (is_row_of(&entry->row, row))
            return;
    charged_row_t *entry = helio_arena_alloc(self->arena, 1, sizeof *entry);
    helio_record_copy(&helio_row_ledger_type, self->arena, row, &entry->row);
    entry->next = self->charged;
    entry->next_of_job = *bucket;
    self->charged = *bucket = entry;
}

void harness_keep_expected_use(harness_t *self, const helio_row_placement_t *row)
{
    expected_use_row_t *entry = helio_arena_alloc(self->arena, 1, sizeof *entry);
    entry->row = (helio_row_expected_use_t){
        .key = row->key,
        .epoch = row->epoch,
        .start_ms = row->start_ms,
        .transfer_ms = row->transfer_ms,
        .expected_ms = row->expected_ms,
        .expected_high_ms = row->expected_high_ms,
        .cost_micro_usd = row->planned_cost_micro_usd,
        .carbon_mg = row->planned_carbon_mg,
    };
    const helio_row_job_t *document = harness_document_of(self, row->key.job);
    assert_non_null(document);
    entry->given_up =
        (helio_row_given_up_t){.key = row->key,
                               .epoch = row->epoch,
                               .site = helio_arena_text(self->arena, row->site),
                               .nodes = row->nodes,
                               .gpus = row->gpus,
                               .time_limit_ms = document->time_limit_ms,
                               .placed_ms = row->at_ms,
                               .tenant = document->tenant,
                               .queue = document->queue,
                               .pool = helio_arena_text(self->arena, row->pool),
                               .gpu_model = helio_arena_text(self->arena, row->gpu_model),
                               .planned_micro_usd = row->planned_cost_micro_usd - row->transfer_micro_usd,
                               .expected_ms = row->expected_ms ? row->expected_ms : document->time_limit_ms};
    entry->next = self->expected_use;
    self->expected_use = entry;
}

void harness_keep_budget(harness_t *self, const helio_row_budget_t *row)
{
    budget_row_t *entry = self->budgets;
    while (entry && !(helio_text_equal(entry->row.tenant, row->tenant) &&
                      helio_text_equal(entry->row.queue, row->queue) && entry->row.kind == row->kind))
        entry = entry->next;
    if (!entry) {
        entry = helio_arena_alloc(self->arena, 1, sizeof *entry);
        entry->next = self->budgets;
        self->budgets = entry;
    }
    helio_record_copy(&helio_row_budget_type, self->arena, row, &entry->row);
}

void harness_load_budgets(harness_t *self, const harness_t *from)
{
    for (const budget_row_t *entry = from->budgets; entry; entry = entry->next) {
        harness_keep_budget(self, &entry->row);
        harness_step(self, HELIO_BROKER_EV_LOAD_BUDGET, &entry->row);
    }
    for (const charged_row_t *entry = from->charged; entry; entry = entry->next) {
        const helio_row_ledger_t *row = &entry->row;
        helio_row_spent_t spent = {.tenant = row->tenant,
                                   .queue = row->queue,
                                   .day_ms = row->hour_ms - row->hour_ms % 86400000,
                                   .gpu_ms = row->gpu_ms,
                                   .cost_micro_usd = row->cost_micro_usd > 0 ? row->cost_micro_usd : 0,
                                   .carbon_mg = row->carbon_mg};
        harness_keep_charged(self, row);
        if (row->tenant.size && !harness_was_reversed(from, row))
            harness_step(self, HELIO_BROKER_EV_LOAD_SPENT, &spent);
    }
}

void harness_load_expected_use(harness_t *self, const harness_t *from)
{
    for (const expected_use_row_t *entry = from->expected_use; entry; entry = entry->next) {
        expected_use_row_t *copy = helio_arena_alloc(self->arena, 1, sizeof *copy);
        copy->row = entry->row;
        helio_record_copy(&helio_row_given_up_type, self->arena, &entry->given_up, &copy->given_up);
        copy->next = self->expected_use;
        self->expected_use = copy;
        helio_row_expected_use_t row = entry->row;
        const charged_row_t *charged = from->charged_by_job[bucket_of(row.key)];
        for (; charged; charged = charged->next_of_job)
            row.ended =
                row.ended || (helio_job_key_equal(charged->row.key, row.key) && charged->row.epoch == row.epoch);
        const task_t *task = harness_task_find(self, row.key);
        if (task && !helio_job_state_is_terminal(task->state))
            harness_step(self, HELIO_BROKER_EV_LOAD_EXPECTED_USE, &row);
    }
}

const helio_fx_reply_t *harness_budget(harness_t *self, const char *tenant, const char *queue, const char *budget)
{
    helio_string_t word = {helio_arena_text(self->arena, helio_text_of(budget))};
    helio_ev_quota_t event = {
        .call = ++self->calls,
        .actor = HELIO_TEXT("user:ops/ada"),
        .role = HELIO_ROLE_OPERATOR,
        .tenant = helio_text_of(tenant),
        .queue = helio_text_of(queue),
        .budgets = {.items = &word, .count = 1},
    };
    harness_step(self, HELIO_BROKER_EV_QUOTA, &event);
    return harness_reply_of(self, event.call);
}

int64_t harness_charged(const harness_t *self, const char *tenant, uint32_t kind, int64_t begin_ms, int64_t end_ms)
{
    int64_t sum = 0;
    for (const charged_row_t *entry = self->charged; entry; entry = entry->next) {
        const helio_row_ledger_t *row = &entry->row;
        if (!helio_text_is(row->tenant, tenant) || row->hour_ms < begin_ms || row->hour_ms >= end_ms ||
            harness_was_reversed(self, row))
            continue;
        if (kind == HELIO_BUDGET_MONEY)
            sum += row->cost_micro_usd > 0 ? row->cost_micro_usd : 0;
        else
            sum += (int64_t)(kind == HELIO_BUDGET_GPU ? row->gpu_ms : row->carbon_mg);
    }
    return sum;
}
