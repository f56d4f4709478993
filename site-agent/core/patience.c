/*  patience.c -- each renewal is answered: three without an answer are too many. */
#include "site-agent/core/patience.h"

enum { LEAST_MS = 60 * 1000, RENEW_MOST_MS = 3600 * 1000, RENEWALS = 3 };

int64_t helio_patience_silence_ms(uint64_t renew_ms)
{
    int64_t silence_ms = (int64_t)(renew_ms < RENEW_MOST_MS ? renew_ms : RENEW_MOST_MS) * RENEWALS;
    return silence_ms < LEAST_MS ? LEAST_MS : silence_ms;
}

int64_t helio_patience_redial_most_ms(size_t brokers)
{
    return brokers > 1 ? HELIO_PATIENCE_REDIAL_SEVERAL_MOST_MS : HELIO_PATIENCE_REDIAL_MOST_MS;
}
