/*  options.c -- the default settings of the core. */
#include "broker/model/options.h"

helio_broker_options_t helio_broker_options_default(void)
{
    return (helio_broker_options_t){
        .lease_ms = 15 * 60000,
        .renew_ms = 90000,
        .summary_ms = 1000,
        .silent_after_ms = 60000,
        .queued_max = 2000000,
        .queued_per_tenant_max = 1000000,
        .commands_per_minute = 6000,
        .offers_unanswered_max = 20000,
        .channels_max = 256,
        .channels_per_tenant_max = 32,
        .channel_limit_ms = 8 * 3600000,
        .channel_idle_ms = 3600000,
    };
}
