/*  settings_file.h -- the keys of a settings file as one table, which the reader and the reference page use. */
#ifndef HELIO_CLIENT_SETTINGS_FILE_H
#define HELIO_CLIENT_SETTINGS_FILE_H

#include "federation/spec/spec.h"

enum { HELIO_TOKEN_MAX = 512 };

/*  The values of one source; empty texts are absent. */
typedef struct helio_settings_source {
    helio_text_t name; /* of a context */
    helio_text_t broker;
    helio_text_t token;
    helio_text_t token_file;
    helio_text_t ca_file;
} helio_settings_source_t;

typedef struct helio_settings_file {
    helio_settings_source_t top;
    helio_text_t output;
    helio_text_t color;
    helio_text_t context;
    uint64_t timeout_ms;
    struct {
        helio_settings_source_t *items;
        uint32_t count;
    } contexts;
} helio_settings_file_t;

extern const helio_spec_table_t helio_settings_file_table;

#endif
