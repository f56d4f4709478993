/*  quotas.c -- operators who move limits while everything else goes wrong. */
#include "simulator/workload/internal.h"

enum { CHANGES = 12, LARGEST_JOB_GPUS = 2 * SIM_GPUS_PER_NODE };

const sim_quota_scope_t sim_quota_scopes[SIM_QUOTA_SCOPES] = {{"red", ""},  {"red", "standard"},  {"red", "batch"},
                                                              {"blue", ""}, {"blue", "standard"}, {"blue", "batch"}};

/*  Never below the largest job, so that every job can end. */
static void on_change(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    uint64_t draw = sim_draw(self->engine, 3, item->number);
    uint32_t which = (uint32_t)(draw % SIM_QUOTA_SCOPES), burst = LARGEST_JOB_GPUS + (uint32_t)(draw / 8 % 8);
    if (!sim_broker_is_up(self->broker))
        return;
    helio_ev_quota_t event = {
        .call = QUOTAS_CALL + item->number,
        .user = HELIO_TEXT("operator"),
        .role = HELIO_ROLE_OPERATOR,
        .tenant = helio_text_of(sim_quota_scopes[which].tenant),
        .queue = helio_text_of(sim_quota_scopes[which].queue),
        .guaranteed_given = true,
        .guaranteed_gpus = (uint32_t)(draw / 64 % LARGEST_JOB_GPUS),
        .burst_given = true,
        .burst_gpus = draw / 1024 % 8 ? burst : HELIO_QUOTA_UNLIMITED,
    };
    sim_broker_take(self->broker, HELIO_BROKER_EV_QUOTA, &event);
}

/*  In half of the worlds. */
void workload_quotas_begin(sim_workload_t *self)
{
    for (uint32_t i = 0; i < CHANGES && sim_seed(self->engine) % 4 < 2; i++) {
        int64_t at_ms = (int64_t)(sim_draw(self->engine, 4, i) % (uint64_t)(self->faults_ms + 1));
        sim_later(self->engine, i < 3 ? 0 : at_ms, on_change, self)->number = i;
    }
}

void workload_quotas_answered(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    if (reply->rc != HELIO_OK)
        workload_refused(self, reply, "a good quota was refused");
}
