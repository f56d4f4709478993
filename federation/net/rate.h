/*  rate.h -- how much a sender can send: a number of messages and bytes per second, with a few seconds saved up. Pure.
 *  Used by server.c only. */
#ifndef HELIO_NET_RATE_H
#define HELIO_NET_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*  0 = no limit. */
typedef struct helio_rate_limit {
    uint32_t messages_per_s;
    uint32_t bytes_per_s;
} helio_rate_limit_t;

/*  Zero-initialised is a sender that has sent nothing. */
typedef struct helio_rate {
    int64_t messages_used_us, bytes_used_us; /* what was sent, as the time in which it is earned */
    int64_t at_ms;
} helio_rate_t;

/*  Whether one more message may be taken now. */
bool helio_rate_allows(helio_rate_t *self, int64_t now_ms);
/*  It was taken: it can use more than was saved up, and the next one waits the longer. */
void helio_rate_spend(helio_rate_t *self, const helio_rate_limit_t *limit, size_t bytes);

#endif
