#include "client/invocation/settings_file.h"

#define SOURCE_FIELDS(struct_type, prefix)                                                          \
    {.key = "broker",                                                                               \
     .kind = HELIO_SPEC_TEXT,                                                                       \
     .offset = offsetof(struct_type, prefix broker),                                                \
     .most = 1024,                                                                                  \
     .example = "https://broker.example",                                                           \
     .doc = "URL of the broker."},                                                                  \
        {.key = "token",                                                                            \
         .kind = HELIO_SPEC_TEXT,                                                                   \
         .offset = offsetof(struct_type, prefix token),                                             \
         .most = HELIO_TOKEN_MAX,                                                                   \
         .doc = "The token itself; the file must then be readable by its owner only."},             \
        {.key = "token_file",                                                                       \
         .kind = HELIO_SPEC_PATH,                                                                   \
         .offset = offsetof(struct_type, prefix token_file),                                        \
         .example = "/home/ana/.config/helio/token",                                                \
         .doc = "File with the token; relative to this file."},                                     \
    {                                                                                               \
        .key = "ca_file", .kind = HELIO_SPEC_PATH, .offset = offsetof(struct_type, prefix ca_file), \
        .doc = "Certificates to trust instead of the system's; relative to this file."              \
    }

static const helio_spec_field_t context_fields[] = {
    {.key = "name",
     .kind = HELIO_SPEC_TEXT,
     .offset = offsetof(helio_settings_source_t, name),
     .required = true,
     .most = 64,
     .example = "production",
     .doc = "What --context calls it."},
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
     .doc = "As --output. Without it: `table`."},
    {.key = "color",
     .kind = HELIO_SPEC_TEXT,
     .offset = offsetof(helio_settings_file_t, color),
     .most = 16,
     .example = "auto",
     .doc = "As --color. Without it: `auto`."},
    {.key = "context",
     .kind = HELIO_SPEC_TEXT,
     .offset = offsetof(helio_settings_file_t, context),
     .most = 64,
     .example = "production",
     .doc = "The context to use when neither --context nor HELIO_CONTEXT names one."},
    {.key = "timeout",
     .kind = HELIO_SPEC_DURATION,
     .offset = offsetof(helio_settings_file_t, timeout_ms),
     .least = 100,
     .most = 3600000,
     .example = "30s",
     .doc = "How long one request may take. Without it: `30s`."},
    {.key = "contexts",
     .kind = HELIO_SPEC_LIST,
     .offset = offsetof(helio_settings_file_t, contexts),
     .most = 256,
     .table = &context_table,
     .doc = "Named brokers and credentials."},
};
const helio_spec_table_t helio_settings_file_table =
    HELIO_SPEC_TABLE("settings", helio_settings_file_t, file_fields, NULL);
