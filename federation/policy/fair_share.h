/*  fair_share.h -- the recent usage of a tenant. Pure, and in integers: a replay must compute the same shares on any
 *  machine.
 *
 *  A share is the sum of what a tenant holds now and its recent average, in GPUs of one kind, divided by its weight.
 *  The average decays: use of a half-life ago counts half. Both parts are needed: the average alone would give
 *  everything to a tenant that was idle, and the current holdings alone would ignore how long tenants have been
 *  waiting.
 */
#ifndef HELIO_POLICY_FAIR_SHARE_H
#define HELIO_POLICY_FAIR_SHARE_H

#include "federation/base/memory.h"

/*  One day: a burst in the morning counts until the next morning, and after a week it is almost forgotten (1/128).
 *  Loads have a daily rhythm; with a shorter half-life, night and day would be separate accounts. */
enum { HELIO_SHARE_HALF_LIFE_MS = 86400000 };
/*  Shares decay in steps of 1/65,536 of the half-life: 1.3 s. */
enum { HELIO_SHARE_STEPS = 65536 };
/*  Use that is older than seven half-lives counts less than 1 % and need not be loaded. */
enum { HELIO_SHARE_MEMORY_MS = 7 * HELIO_SHARE_HALF_LIFE_MS };

/*  MODEL, weight in thousandths of an A100: ratios of the dense 16-bit tensor throughput in the vendors' data sheets
 *  (TFLOPS: P100 21.2, T4 65, L4 121, A10 and V100 125, A40 150, A30 165, A100 312, L40S 362, MI250X 383,
 *  H100 and H200 989, MI300X 1307, B200 2250). Where a sheet has only the throughput with sparsity, the dense one is
 *  taken as half of it. */
/* clang-format off */
#define HELIO_GPU_WEIGHT_TABLE(X) \
    X("P100", 68)                 \
    X("T4", 208)                  \
    X("L40S", 1160)               \
    X("L4", 388)                  \
    X("A100", 1000)               \
    X("A10", 401)                 \
    X("V100", 401)                \
    X("A40", 481)                 \
    X("A30", 529)                 \
    X("MI250X", 1228)             \
    X("H100", 3170)               \
    X("H200", 3170)               \
    X("MI300X", 4189)             \
    X("B200", 7212)
/* clang-format on */
/*  The weight of a model, matched by the beginning of its name: "A100-80GB" is an A100. Unknown models count as an
 *  A100. */
uint32_t helio_gpu_weight_milli(helio_text_t model);

typedef struct helio_share {
    uint64_t mean_micro; /* decayed average up to step, in millionths of a weighted GPU */
    uint64_t held_micro; /* held now and since step */
    int64_t step;
} helio_share_t;

/*  Advances the average to now_ms; does nothing if the time did not advance. Constant time. */
void helio_share_advance(helio_share_t *self, int64_t now_ms);
/*  From now on the tenant holds that many GPUs more, or fewer. */
void helio_share_take(helio_share_t *self, int64_t now_ms, uint32_t gpus, uint32_t weight_milli);
void helio_share_give(helio_share_t *self, int64_t now_ms, uint32_t gpus, uint32_t weight_milli);
/*  Adds past use, age_ms before the last advance: for a new leader. A call counts at most 2^40 GPU-ms. */
void helio_share_recall(helio_share_t *self, uint64_t gpu_ms, uint32_t weight_milli, int64_t age_ms);
/*  The tenant with the lowest rank is scheduled first: (held + mean) / weight, in millionths of a GPU, at the last
 *  advance. */
uint64_t helio_share_rank(const helio_share_t *self, uint32_t weight_milli);

#endif
