#include "federation/policy/checkpoint_interval.h"

#include <math.h>

uint64_t helio_checkpoint_interval_ms(uint64_t takes_ms, uint64_t mean_between_ms)
{
    double takes = (double)takes_ms, mean = (double)mean_between_ms, half = takes / (2 * mean);
    if (takes >= 2 * mean)
        return mean_between_ms;
    return (uint64_t)(sqrt(2 * takes * mean) * (1 + sqrt(half) / 3 + half / 9) - takes);
}

double helio_checkpoint_loss_ratio(uint64_t takes_ms, uint64_t interval_ms, uint64_t mean_between_ms)
{
    double takes = (double)takes_ms, interval = (double)interval_ms, mean = (double)mean_between_ms;
    if (!interval_ms || !mean_between_ms)
        return 1;
    return fmin(1, takes / interval + (interval + takes) / (2 * mean));
}
