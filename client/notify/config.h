/*  config.h -- notify.yaml with the files that it names: URLs and secrets that only their owner may read. */
#ifndef HELIO_CLIENT_NOTIFY_CONFIG_H
#define HELIO_CLIENT_NOTIFY_CONFIG_H

#include "client/notify/core/targets.h"

/*  How a target is reached: `url` or `argv`. */
typedef struct helio_notify_way {
    const char *url;     /* "" = by a command. Can be a secret: never in logs */
    helio_text_t secret; /* bytes of the key; empty = bodies are not signed */
    const char *ca_file; /* "" = the system's */
    const char *const *argv;
} helio_notify_way_t;

typedef struct helio_notify_config {
    helio_notify_settings_t settings;
    helio_notify_way_t *ways; /* one for each target */
    const char *state;        /* the folder */
} helio_notify_config_t;

/*  Everything lives in the arena. On failure the whole message is in `complaint`, and ends with a newline. */
HELIO_MUST_CHECK helio_rc helio_notify_config_load(const char *path, bool colour, helio_arena_t *arena,
                                                   helio_notify_config_t *ret_config, helio_buffer_t *complaint);

#endif
