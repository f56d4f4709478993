/*  checkpoint_interval.h -- how often a job should save its work. Pure.
 *
 *  A checkpoint takes time, and an interruption loses the work since the last one: the more often a job saves, the more
 *  of the first and the less of the second. J. W. Young, "A first order approximation to the optimum checkpoint
 *  interval", Communications of the ACM 17(9), 1974, has the least sum for rare interruptions, sqrt(2 d M), where d is
 *  what a checkpoint takes and M is the mean time between interruptions. J. T. Daly, "A higher order estimate of the
 *  optimum checkpoint interval for restart dumps", Future Generation Computer Systems 22(3), 2006, equation 37, also
 *  holds where M is not much longer than d:
 *
 *      sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d  if d < 2M, else M
 *
 *  Both assume interruptions that do not depend on one another or on the age of a run. */
#ifndef HELIO_POLICY_CHECKPOINT_INTERVAL_H
#define HELIO_POLICY_CHECKPOINT_INTERVAL_H

#include <stdint.h>

/*  Work between two checkpoints; takes_ms: one checkpoint, at least 1 ms. */
uint64_t helio_checkpoint_interval_ms(uint64_t takes_ms, uint64_t mean_between_ms);
/*  The share of a run's time that checkpoints and repeated work take with that interval, without restarts:
 *  d / interval + (interval + d) / 2M, at most 1. For rare interruptions. */
double helio_checkpoint_loss_ratio(uint64_t takes_ms, uint64_t interval_ms, uint64_t mean_between_ms);

#endif
