/*  quotas.c -- operators who move limits while everything else goes wrong, and the promise that the limits hold. */
#include "simulator/internal.h"

enum { CHANGES = 12, LARGEST_JOB_GPUS = 2 * WORLD_GPUS_PER_NODE };

static const struct {
    const char *tenant, *queue;
} quotas[WORLD_QUOTAS] = {{"red", ""},  {"red", "standard"},  {"red", "batch"},
                          {"blue", ""}, {"blue", "standard"}, {"blue", "batch"}};

/*  Never below the largest job: every job must be able to end. */
static void on_change(world_t *self, happening_t *item)
{
    uint64_t draw = world_draw(self, 3, item->number);
    uint32_t which = (uint32_t)(draw % WORLD_QUOTAS), burst = LARGEST_JOB_GPUS + (uint32_t)(draw / 8 % 8);
    if (!self->broker.up)
        return;
    helio_ev_quota_t event = {
        .call = QUOTAS_CALL + item->number,
        .user = HELIO_TEXT("operator"),
        .role = HELIO_ROLE_OPERATOR,
        .tenant = helio_text_of(quotas[which].tenant),
        .queue = helio_text_of(quotas[which].queue),
        .guaranteed_given = true,
        .guaranteed_gpus = (uint32_t)(draw / 64 % LARGEST_JOB_GPUS),
        .burst_given = true,
        .burst_gpus = draw / 1024 % 8 ? burst : HELIO_QUOTA_UNLIMITED,
    };
    broker_step(self, HELIO_BROKER_EV_QUOTA, &event);
}

/*  They draw nothing from the world's random numbers: the other half runs as it did. */
void quotas_make(world_t *self)
{
    for (uint32_t i = 0; i < CHANGES && self->options.seed % 4 < 2; i++) {
        int64_t at_ms = (int64_t)(world_draw(self, 4, i) % (uint64_t)(self->options.faults_ms + 1));
        world_later(self, i < 3 ? 0 : at_ms, on_change)->number = i;
    }
}

void quotas_answer(world_t *self, const helio_fx_answer_t *answer)
{
    if (answer->rc != HELIO_OK)
        world_violate(self, "a good quota was refused: %.*s", HELIO_TEXT_ARGS(answer->text));
}

/*  What a tenant holds never grows beyond its limit; a limit that was lowered waits until it is met. */
void quotas_check(world_t *self)
{
    for (uint32_t i = 0; i < WORLD_QUOTAS; i++) {
        uint64_t held = helio_vdb_gpus(self->vdb, quotas[i].tenant, quotas[i].queue);
        uint32_t burst = helio_vdb_burst(self->vdb, quotas[i].tenant, quotas[i].queue);
        if (held > burst && held > self->gpus_held[i])
            world_violate(self, "%s holds %llu GPUs in %s queue, its limit is %u", quotas[i].tenant,
                          (unsigned long long)held, quotas[i].queue[0] ? quotas[i].queue : "every", burst);
        self->gpus_held[i] = held;
    }
}
