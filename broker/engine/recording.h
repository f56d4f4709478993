/*  recording.h -- the byte format of a recording, for the recorder and the replay of this room only. */
#ifndef HELIO_BROKER_RECORDING_H
#define HELIO_BROKER_RECORDING_H

#include <stdio.h>

#include "broker/model/effects.h"
#include "broker/model/events.h"

enum {
    RECORDING_HEAD_SIZE = 5,        /* length, tag */
    RECORDING_EVENT_HEAD_SIZE = 18, /* kind, now_ms, wall_ms */
    RECORDING_FRAME_MAX =
        256 << 20 /* far above a submission of 16 MiB, also when it is read back with its parsed specs */
};
#define RECORDING_MAGIC "HELIOREC"

#define HELIO_RECORDED_OPTIONS_FIELDS(F, R)  \
    F(R, U64, lease_ms, 0, _)                \
    F(R, U64, renew_ms, 0, _)                \
    F(R, U64, summary_ms, 0, _)              \
    F(R, U64, silent_after_ms, 0, _)         \
    F(R, U32, queued_max, 0, _)              \
    F(R, U32, queued_per_tenant_max, 0, _)   \
    F(R, U32, submissions_per_minute, 0, _)  \
    F(R, U32, commands_per_minute, 0, _)     \
    F(R, U32, offers_unanswered_max, 0, _)   \
    F(R, U32, channels_max, 0, _)            \
    F(R, U32, channels_per_tenant_max, 0, _) \
    F(R, U64, channel_limit_ms, 0, _)        \
    F(R, U64, channel_idle_ms, 0, _)
HELIO_RECORD_DECLARE(helio_recorded_options, HELIO_RECORDED_OPTIONS_FIELDS)

static inline void recording_put(uint8_t *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t recording_get(const uint8_t *at, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/*  Reads the head of the next frame. 1: *ret_tag and *ret_size are set; 0: the end of the file; -1: what follows is not
 *  a whole head or frame. */
int recording_next(FILE *file, uint8_t *ret_tag, uint32_t *ret_size);

#endif
