/*  tenants.c -- the table of tenants. */
#include "broker/core/state/tenants.h"

#include <string.h>

#include "broker/core/state/core.h"

tenant_t *core_tenant_get(helio_broker_core_t *self, helio_text_t name)
{
    tenant_t *tenant;
    HASH_FIND(hh, self->tenants, name.data, name.size, tenant);
    if (tenant)
        return tenant;
    tenant = helio_new(1, sizeof *tenant);
    (void)helio_text_copy(name, tenant->name, sizeof tenant->name);
    tenant->holds.quota = helio_quota_default();
    HASH_ADD_KEYPTR(hh, self->tenants, tenant->name, strlen(tenant->name), tenant);
    return tenant;
}
