/*  fair_share.h -- how much of the federation a tenant has had lately. Pure, and in integers: a replay must
 * come to the same shares on any machine.
 *
 *  A share is what a tenant holds now and what it held on average lately, in GPUs of one kind, by its weight.
 * The mean forgets: what was used a half-life ago counts half. Both together, since the mean alone would give a
 * tenant that was away everything at once, and what is held now alone would forget who has been waiting.
 */
#ifndef HELIO_POLICY_FAIR_SHARE_H
#define HELIO_POLICY_FAIR_SHARE_H

#include "federation/base/memory.h"

/*  One day: a flood of the morning counts until the next one, and after a week it has all but gone (1/128).
 * Loads have a daily rhythm; a shorter memory would let night and day be two accounts. */
enum { HELIO_SHARE_HALF_LIFE_MS = 86400000 };
/*  Shares move in steps of a 65,536th of the half-life, 1.3 s. */
enum { HELIO_SHARE_STEPS = 65536 };
/*  Use that is older than so many half-lives counts less than a hundredth and need not be loaded. */
enum { HELIO_SHARE_MEMORY_HALF_LIVES = 7 };

/*  MODEL, weight in thousandths of an A100: ratios of the dense 16-bit tensor throughput that the makers' data
 * sheets give (TFLOPS: P100 21.2, T4 65, L4 121, A10 and V100 125, A40 150, A30 165, A100 312, L40S 362, MI250X 383,
 * H100 and H200 989, MI300X 1307, B200 2250; where a sheet gives the figure with sparsity, half of it). */
#define HELIO_GPU_WEIGHT_TABLE(X)                                                                            \
    X("P100", 68) X("T4", 208) X("L40S", 1160) X("L4", 388) X("A100", 1000) X("A10", 401) X("V100", 401)     \
    X("A40", 481) X("A30", 529) X("MI250X", 1228) X("H100", 3170) X("H200", 3170) X("MI300X", 4189)          \
    X("B200", 7212)
/*  Of a model by the beginning of its name, so that "A100-80GB" is an A100; an unknown one counts as an A100. */
uint32_t helio_gpu_weight_milli(helio_text_t model);

typedef struct helio_share {
    uint64_t mean_micro; /* millionths of a weighted GPU, until step */
    uint64_t held_micro; /* now, and since step */
    int64_t step;
} helio_share_t;

/*  Up to the time, which may stand still or go back (then nothing happens). Work: constant. */
void helio_share_advance(helio_share_t *self, int64_t now_ms);
/*  From now on it holds so much more, or less. */
void helio_share_take(helio_share_t *self, int64_t now_ms, uint32_t gpus, uint32_t weight_milli);
void helio_share_give(helio_share_t *self, int64_t now_ms, uint32_t gpus, uint32_t weight_milli);
/*  Adds use of the past, age_ms before the last advance: for a new leader. At most 2^40 GPU-ms at a time count. */
void helio_share_recall(helio_share_t *self, uint64_t gpu_ms, uint32_t weight_milli, int64_t age_ms);
/*  The lower, the sooner its turn: (held + mean) / weight, in millionths of a GPU. As of the last advance. */
uint64_t helio_share_rank(const helio_share_t *self, uint32_t weight_milli);

#endif
