/*  settings_engine.c -- the options of the engine and the core, as the settings say. */
#include "broker/program/settings.h"

helio_engine_options_t helio_settings_engine(const helio_settings_t *self)
{
    helio_engine_options_t options = {.core = helio_broker_options_default(),
                                      .store = {.conninfo = self->database.data,
                                                .commit_deadline_ms = self->commit_deadline_ms,
                                                .http = self->advertise_http.data,
                                                .standby_keeps = self->database_standby == HELIO_STANDBY_SYNCHRONOUS},
                                      .endpoint = self->listen_sites.data,
                                      .secret_key_path = self->key_file.data,
                                      .record_path = self->record.size ? self->record.data : NULL,
                                      .batch_rows_max = self->batch_rows_max};
    options.core.lease_ms = self->lease_ms;
    options.core.renew_ms = self->lease_ms / 10;
    options.core.summary_ms = self->summary_ms;
    options.core.silent_after_ms = self->silent_after_ms;
    options.core.queued_max = self->queued_max;
    options.core.queued_per_tenant_max = self->queued_per_tenant_max;
    options.core.submissions_per_minute = self->submissions_per_minute;
    options.core.commands_per_minute = self->commands_per_minute;
    options.core.offers_unanswered_max = self->offers_unanswered_max;
    options.core.channels_max = self->channels_max;
    options.core.channels_per_tenant_max = self->channels_per_tenant_max;
    options.core.channel_limit_ms = self->channel_limit_ms;
    options.core.channel_idle_ms = self->channel_idle_ms;
    return options;
}
