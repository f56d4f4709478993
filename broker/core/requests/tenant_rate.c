/*  tenant_rate.c -- the rates of a tenant: a bucket that holds a minute's worth, kept as the time when it is full. */
#include "broker/core/requests/tenant_rate.h"

#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/tenants.h"
#include "broker/core/state/why.h"

static const int64_t MINUTE_US = 60000000;

int64_t core_rate_until_us(const helio_broker_core_t *self, int64_t until_us, uint32_t rate, uint32_t count)
{
    int64_t now_us = self->now_ms * 1000, from_us = until_us > now_us ? until_us : now_us;
    return rate ? from_us + (int64_t)count * MINUTE_US / rate : 0;
}

int64_t core_rate_wait_ms(const helio_broker_core_t *self, int64_t until_us)
{
    return (until_us - MINUTE_US - self->now_ms * 1000 + 999) / 1000;
}

/*  NULL: the caller is not bound. */
static tenant_t *bound(helio_broker_core_t *self, helio_text_t name, uint32_t role)
{
    tenant_t *tenant = NULL;
    if (role < HELIO_ROLE_OPERATOR && self->options.commands_per_minute)
        HASH_FIND(hh, self->tenants, name.data, name.size, tenant);
#ifdef HELIO_MUTANT_commands_of_any_rate
    return NULL;
#endif
    return tenant;
}

bool core_commands_allow(helio_broker_core_t *self, uint64_t call, helio_text_t name, uint32_t role)
{
    const tenant_t *tenant = bound(self, name, role);
    uint32_t rate = self->options.commands_per_minute;
    int64_t wait_ms =
        tenant ? core_rate_wait_ms(self, core_rate_until_us(self, tenant->commands_until_us, rate, 1)) : 0;
    if (wait_ms <= 0)
        return true;
    core_reply(self, call, HELIO_BUSY, HELIO_REASON_NONE,
               CORE_DETAIL(self, HELIO_DETAIL_TENANT_COMMANDS_TOO_FAST, helio_value_number(rate),
                           helio_value_number(wait_ms)));
    return false;
}

void core_commands_count(helio_broker_core_t *self, helio_text_t name, uint32_t role, uint32_t jobs)
{
    tenant_t *tenant = bound(self, name, role);
    if (tenant)
        tenant->commands_until_us =
            core_rate_until_us(self, tenant->commands_until_us, self->options.commands_per_minute, jobs);
}
