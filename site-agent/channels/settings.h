/*  settings.h -- what a site allows of channels: the key `channels` of its agent. */
#ifndef HELIO_CHANNELS_SETTINGS_H
#define HELIO_CHANNELS_SETTINGS_H

#include "federation/model/attempt.h"
#include "federation/spec/spec.h"

typedef struct helio_channels_settings {
    struct {
        helio_string_t *items;
        uint32_t count;
    } allow;
    bool allow_given;
    uint32_t most;
    uint64_t limit_ms, idle_ms;
} helio_channels_settings_t;

extern const helio_spec_table_t helio_channels_settings_table;

/*  Bits: 1 << helio_channel_kind_t. */
uint32_t helio_channels_settings_kinds(const helio_channels_settings_t *self);

#endif
