/*  quotas.c -- operators change limits while everything else goes wrong. */
#include "simulator/workload/internal.h"

enum { CHANGES = 12, AMIDS = 12, AMID_DRAW = 75, AMID_MS = 10000, LARGEST_JOB_GPUS = 2 * SIM_GPUS_PER_NODE };

const sim_quota_scope_t sim_quota_scopes[SIM_QUOTA_SCOPES] = {{"red", ""},  {"red", "standard"},  {"red", "batch"},
                                                              {"blue", ""}, {"blue", "standard"}, {"blue", "batch"}};

/*  Never below the largest job, so that every job can end. */
static void on_change(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    uint64_t draw = sim_draw(self->engine, 3, item->number);
    uint32_t which = (uint32_t)(draw % SIM_QUOTA_SCOPES), burst = LARGEST_JOB_GPUS + (uint32_t)(draw / 8 % 8);
    if (!workload_broker(self))
        return;
    helio_ev_quota_t event = {
        .call = QUOTAS_CALL + item->number,
        .actor = HELIO_TEXT("user:ops/operator"),
        .role = HELIO_ROLE_OPERATOR,
        .tenant = helio_text_of(sim_quota_scopes[which].tenant),
        .queue = helio_text_of(sim_quota_scopes[which].queue),
        .guaranteed_given = true,
        .guaranteed_gpus = (uint32_t)(draw / 64 % LARGEST_JOB_GPUS),
        .burst_given = true,
        .burst_gpus = draw / 1024 % 8 ? burst : HELIO_QUOTA_UNLIMITED,
    };
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_QUOTA, &event);
}

/*  In half of the worlds. */
void workload_quotas_begin(sim_workload_t *self)
{
    for (uint32_t i = 0; i < CHANGES && sim_seed(self->engine) % 4 < 2; i++) {
        int64_t at_ms = (int64_t)(sim_draw(self->engine, 4, i) % (uint64_t)(self->faults_ms + 1));
        sim_later(self->engine, i < 3 ? 0 : at_ms, on_change, self)->number = i;
    }
}

void workload_quotas_takeover(sim_workload_t *self)
{
    if (!self->changes_amid || self->amids == AMIDS || sim_now_ms(self->engine) >= self->faults_ms)
        return;
    for (uint32_t i = 0; i < 2; i++) {
        int64_t after_ms = (int64_t)(sim_draw(self->engine, AMID_DRAW, self->amids) >> 16) % AMID_MS;
        sim_later(self->engine, after_ms, on_change, self)->number = CHANGES + self->amids++;
    }
}

void workload_quotas_answered(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    if (reply->rc != HELIO_OK)
        workload_refused(self, reply, "a good quota was refused");
}
