/*  settings_file.c -- the table of the keys of a settings file. */
#include "client/invocation/settings_file.h"

#define SOURCE_FIELDS(struct_type, prefix)                                                          \
    {.key = "broker",                                                                               \
     .kind = HELIO_SPEC_TEXT,                                                                       \
     .offset = offsetof(struct_type, prefix broker),                                                \
     .most = 4096,                                                                                  \
     .example = "https://broker.example",                                                           \
     .doc = "URL of the broker, or of several brokers of one federation, separated by commas."},    \
        {.key = "token",                                                                            \
         .kind = HELIO_SPEC_TEXT,                                                                   \
         .offset = offsetof(struct_type, prefix token),                                             \
         .most = HELIO_TOKEN_MAX,                                                                   \
         .doc = "The token itself. Only the file's owner may then be able to read it."},            \
        {.key = "token_file",                                                                       \
         .kind = HELIO_SPEC_PATH,                                                                   \
         .offset = offsetof(struct_type, prefix token_file),                                        \
         .example = "/home/ana/.config/helio/token",                                                \
         .doc = "File with the token, relative to this file."},                                     \
    {                                                                                               \
        .key = "ca_file", .kind = HELIO_SPEC_PATH, .offset = offsetof(struct_type, prefix ca_file), \
        .doc = "Certificates to trust in place of the system's, relative to this file."             \
    }

static const helio_spec_field_t context_fields[] = {
    {.key = "name",
     .kind = HELIO_SPEC_TEXT,
     .offset = offsetof(helio_settings_source_t, name),
     .required = true,
     .most = 64,
     .example = "production",
     .doc = "Name of the context, for --context."},
    SOURCE_FIELDS(helio_settings_source_t, ),
};
static const helio_spec_table_t context_table =
    HELIO_SPEC_TABLE("context", helio_settings_source_t, context_fields, NULL);

static const helio_spec_field_t file_fields[] = {
    SOURCE_FIELDS(helio_settings_file_t, top.),
    {.key = "output",
     .kind = HELIO_SPEC_TEXT,
     .offset = offsetof(helio_settings_file_t, output),
     .most = 16,
     .example = "table",
     .doc = "Like --output (default: `table`)."},
    {.key = "color",
     .kind = HELIO_SPEC_TEXT,
     .offset = offsetof(helio_settings_file_t, color),
     .most = 16,
     .example = "auto",
     .doc = "Like --color (default: `auto`)."},
    {.key = "context",
     .kind = HELIO_SPEC_TEXT,
     .offset = offsetof(helio_settings_file_t, context),
     .most = 64,
     .example = "production",
     .doc = "Context to use when neither --context nor HELIO_CONTEXT names one."},
    {.key = "timeout",
     .kind = HELIO_SPEC_DURATION,
     .offset = offsetof(helio_settings_file_t, timeout_ms),
     .least = 100,
     .most = 3600000,
     .example = "30s",
     .doc = "Longest time that one request may take (default: `30s`)."},
    {.key = "contexts",
     .kind = HELIO_SPEC_LIST,
     .offset = offsetof(helio_settings_file_t, contexts),
     .most = 256,
     .table = &context_table,
     .doc = "Named brokers, each with its credentials."},
};
const helio_spec_table_t helio_settings_file_table =
    HELIO_SPEC_TABLE("settings", helio_settings_file_t, file_fields, NULL);
