/*  fair_share.c -- the decayed average of use in integers, and the weights of GPU models. */
#include "federation/policy/fair_share.h"

#include <assert.h>
#include <string.h>

#include "federation/base/char.h"
#include "federation/model/site.h"

static const struct {
    const char *model;
    uint32_t size, weight_milli;
} weights[] = {
#define X(model, weight) {model, sizeof model - 1, weight},
    HELIO_GPU_WEIGHT_TABLE(X)
#undef X
};

enum { WEIGHT_UNKNOWN = 1000, STEP_BITS = 16 };
static const uint64_t GPU_MICRO_MAX = UINT64_C(1) << 50; /* 100 million GPUs: keeps every product within 64 bits */

/*  The model name is not followed by a digit: an A100 is not an A10. */
uint32_t helio_gpu_weight_milli(helio_text_t model)
{
    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
        uint32_t size = weights[i].size;
        if (model.size >= size && memcmp(model.data, weights[i].model, size) == 0 &&
            (model.size == size || !helio_is_digit(model.data[size])))
            return weights[i].weight_milli * helio_gpu_sevenths(model) / 7;
    }
    return WEIGHT_UNKNOWN;
}

static uint64_t times_q32(uint64_t value, uint64_t factor)
{
    return (value >> 32) * factor + (((value & UINT32_MAX) * factor + (UINT64_C(1) << 31)) >> 32);
}

/*  value * 2^(-steps / HELIO_SHARE_STEPS): whole halvings, then one factor for every bit of the rest. */
static uint64_t decayed(uint64_t value, uint64_t steps)
{
    static const uint32_t roots[STEP_BITS] = {
        /* 2^(-2^-k) * 2^32, k = 1 .. 16 */
        3037000500U, 3611622603U, 3938502376U, 4112874773U, 4202935003U, 4248701965U, 4271771996U, 4283353945U,
        4289156690U, 4292061010U, 4293513907U, 4294240540U, 4294603903U, 4294785595U, 4294876445U, 4294921870U};
    uint64_t halvings = steps >> STEP_BITS;
    value = halvings < 64 ? value >> halvings : 0;
    for (uint32_t k = 0; k < STEP_BITS && value; k++)
        if (steps >> (STEP_BITS - 1 - k) & 1)
            value = times_q32(value, roots[k]);
    return value;
}

static int64_t step_of(int64_t now_ms)
{
    return (now_ms / HELIO_SHARE_HALF_LIFE_MS) * HELIO_SHARE_STEPS +
           (now_ms % HELIO_SHARE_HALF_LIFE_MS) * HELIO_SHARE_STEPS / HELIO_SHARE_HALF_LIFE_MS;
}

void helio_share_advance(helio_share_t *self, int64_t now_ms)
{
    int64_t step = step_of(now_ms);
    if (step <= self->step)
        return;
    uint64_t steps = (uint64_t)(step - self->step);
    self->step = step;
    /* converges to the holdings from either side */
    if (self->mean_micro > self->held_micro)
        self->mean_micro = self->held_micro + decayed(self->mean_micro - self->held_micro, steps);
    else
        self->mean_micro = self->held_micro - decayed(self->held_micro - self->mean_micro, steps);
}

void helio_share_take(helio_share_t *self, int64_t now_ms, uint32_t gpus, uint32_t weight_milli)
{
    helio_share_advance(self, now_ms);
    self->held_micro += (uint64_t)gpus * weight_milli * 1000;
}

void helio_share_give(helio_share_t *self, int64_t now_ms, uint32_t gpus, uint32_t weight_milli)
{
    uint64_t micro = (uint64_t)gpus * weight_milli * 1000;
    helio_share_advance(self, now_ms);
    assert(self->held_micro >= micro);
    self->held_micro -= micro;
}

/*  The half-life / ln 2, rounded; 1.442695041 is 1 / ln 2. */
static const uint64_t mean_life_ms = (HELIO_SHARE_HALF_LIFE_MS * UINT64_C(1442695041) + 500000000) / 1000000000;

/*  The exponentially decayed average: use / mean life, decayed by its age. */
void helio_share_recall(helio_share_t *self, uint64_t gpu_ms, uint32_t weight_milli, int64_t age_ms)
{
    static const uint64_t gpu_ms_max = UINT64_C(1) << 40;
    uint64_t use = (gpu_ms < gpu_ms_max ? gpu_ms : gpu_ms_max) * weight_milli * 1000 / mean_life_ms;
    self->mean_micro += decayed(use, age_ms > 0 ? (uint64_t)step_of(age_ms) : 0);
    if (self->mean_micro > GPU_MICRO_MAX)
        self->mean_micro = GPU_MICRO_MAX;
}

uint64_t helio_share_rank(const helio_share_t *self, uint32_t weight_milli)
{
    uint64_t sum = self->held_micro + self->mean_micro;
    return (sum < GPU_MICRO_MAX ? sum : GPU_MICRO_MAX) * 1000 / (weight_milli ? weight_milli : 1);
}
