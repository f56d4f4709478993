/*  settings.h -- the settings of the broker: broker.yaml, and the options that override it.
 *
 *  One table (settings.c) reads the file. An unknown key is an error with line and suggestion. Texts live in the
 *  arena. */
#ifndef HELIO_BROKER_SETTINGS_H
#define HELIO_BROKER_SETTINGS_H

#include "broker/engine/engine.h"
#include "broker/http/request/options.h"
#include "broker/store/retention.h"
#include "federation/arguments/command_line.h"
#include "federation/base/log.h"
#include "federation/spec/spec.h"

#define HELIO_BROKER_CONFIG_PATH "/etc/heliostat/broker.yaml"

/*  What the operator says of the standbys of the database. */
typedef enum helio_standby {
    HELIO_STANDBY_ANY,         /* nothing: one that is promoted may lack commits */
    HELIO_STANDBY_SYNCHRONOUS, /* only one that has every confirmed commit is promoted */
    HELIO_STANDBY_COUNT
} helio_standby_t;

typedef struct helio_settings {
    helio_text_t database;
    uint32_t database_standby; /* helio_standby_t */
    helio_text_t listen_sites;
    helio_text_t listen_http;
    helio_text_t advertise_http; /* after loading: a URL, or "" */
    uint32_t metrics;            /* helio_metrics_access_t */
    uint32_t connections_max;
    uint32_t connections_per_address_max;
    helio_text_t key_file;
    helio_text_t record;
    uint32_t log_level; /* helio_level_t */
    uint64_t lease_ms;
    uint64_t summary_ms;
    uint64_t silent_after_ms;
    uint64_t commit_deadline_ms;
    uint32_t readers;
    uint32_t queued_max;
    uint32_t queued_per_tenant_max;
    uint32_t submissions_per_minute;
    uint32_t commands_per_minute;
    uint32_t offers_unanswered_max;
    uint32_t batch_rows_max;
    uint32_t channels_max;
    uint32_t channels_per_tenant_max;
    uint64_t channel_limit_ms;
    uint64_t channel_idle_ms;
    helio_retention_t retention;
} helio_settings_t;

enum { HELIO_ARGUMENT_TENANTS_MAX = 64 };

/*  The command line after the program's name: options, and all other words. Texts point into argv. */
typedef struct helio_arguments {
    const char *config; /* NULL = HELIO_BROKER_CONFIG_PATH, which need not exist then */
    const char *database;
    const char *listen_sites;
    const char *listen_http;
    const char *key_file;
    const char *record;
    const char *log_level;
    const char *tenant;                              /* of `token add`; the last one given */
    const char *tenants[HELIO_ARGUMENT_TENANTS_MAX]; /* of `reader add`: each one given */
    uint32_t tenant_count;
    const char *user;
    const char *role;
    const char *ttl;
    const char *home;       /* of `tenant add` */
    const char *older_than; /* of `prune` */
    bool dry_run;
    bool help;
    bool version;
    const char *words[8]; /* the command and its arguments */
    uint32_t word_count;
} helio_arguments_t;

extern const helio_option_table_t helio_broker_options;

/*  HELIO_INVALID: an unknown option, an option without its value, or too many tenants. HELIO_TOO_BIG: too many words.
 *  The error names the remedy. */
HELIO_MUST_CHECK helio_rc helio_arguments_parse(int argc, char *const *argv, helio_arguments_t *ret_arguments,
                                                helio_error_t *err);

/*  Reads the file, then applies the options. Errors name file, line and remedy. */
HELIO_MUST_CHECK helio_rc helio_settings_load(const helio_arguments_t *arguments, helio_arena_t *arena,
                                              helio_settings_t *ret_settings, helio_error_t *err);
/*  The result points into *self, which must outlive its use. */
helio_engine_options_t helio_settings_engine(const helio_settings_t *self);

extern const helio_spec_table_t helio_settings_limits; /* settings_limits.c */
extern const helio_spec_table_t helio_settings_table;
/*  The text of docs/reference/broker.md. */
void helio_settings_reference(helio_buffer_t *out);

#endif
