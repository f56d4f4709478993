/*  tenants.c -- tenants, as operators create and change them: home site and weight. Everything else that a tenant can
 *  hold is in its quota (accounts.c), which also contains the weight. */
#include "broker/core/requests/tenants.h"

#include "broker/core/requests/quotas.h"
#include "broker/core/requests/warnings.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/tenants.h"
#include "broker/core/state/why.h"

static void write_tenant(helio_broker_core_t *self, const tenant_t *tenant, bool keeps_home)
{
    helio_row_tenant_t row = {helio_text_of(tenant->name),
                              helio_arena_text(self->effects->arena, helio_text_of(tenant->home_site)), keeps_home};
    core_emit(self, HELIO_BROKER_FX_ROW_TENANT, &row);
}

static const char *words_of(helio_broker_core_t *self, const tenant_t *tenant)
{
    uint32_t weight = tenant->holds.quota.weight_milli;
    return core_printf(self, "home %s, weight %u.%03u", tenant->home_site[0] ? tenant->home_site : "none",
                       weight / 1000, weight % 1000);
}

/*  Existing jobs keep the home site that they were submitted with. */
void core_on_tenant(helio_broker_core_t *self, const helio_ev_tenant_t *event)
{
    if (event->role < HELIO_ROLE_OPERATOR) {
        core_reply(self, event->call, HELIO_FORBIDDEN, HELIO_REASON_FORBIDDEN,
                   CORE_DETAIL(self, HELIO_DETAIL_NEEDS_OPERATOR, helio_value_string("tenants set")));
        return;
    }
    if (event->weight_given && (!event->weight_milli || event->weight_milli > HELIO_QUOTA_WEIGHT_MAX)) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, core_quota_weight_fault(self));
        return;
    }
    if (event->home_given && core_is_slip_of_a_site(self, event->home_site)) {
        core_reply(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_UNKNOWN_SITE, helio_value_text(event->home_site),
                               helio_value_string(core_site_meant(self, event->home_site))));
        return;
    }
    tenant_t *tenant;
    HASH_FIND(hh, self->tenants, event->tenant.data, event->tenant.size, tenant);
    bool is_new = !tenant;
    tenant = core_tenant_get(self, event->tenant);
    bool moved = event->home_given && !helio_text_is(event->home_site, tenant->home_site);
    bool weighs = event->weight_given && event->weight_milli != tenant->holds.quota.weight_milli;
    if (moved)
        (void)helio_text_copy(event->home_site, tenant->home_site, sizeof tenant->home_site);
    if (is_new || moved)
        write_tenant(self, tenant, !event->home_given);
    if (weighs)
        core_quota_weigh(self, tenant, event->weight_milli);
    const char *words = words_of(self, tenant);
    if (is_new || moved || weighs)
        core_audit(self, event->actor, is_new ? "tenant-add" : "tenant-set", helio_text_of(tenant->name),
                   helio_text_of(words));
    helio_detail_code_t code = is_new            ? HELIO_DETAIL_TENANT_ADDED
                               : moved || weighs ? HELIO_DETAIL_TENANT_CHANGED
                                                 : HELIO_DETAIL_TENANT_UNCHANGED;
    helio_details_t details = {0};
    core_why_add(self, &details,
                 HELIO_DETAIL(self->effects->arena, code, helio_value_number(tenant->holds.quota.weight_milli),
                              helio_value_string(tenant->home_site)));
    core_warn_site(self, helio_text_of(tenant->home_site), &details);
    if (is_new)
        core_warn_new_tenant(self, event->tenant, &details);
    core_reply_details(self, event->call, HELIO_OK, HELIO_REASON_NONE, details);
}
