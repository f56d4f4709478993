/*  sites.c -- sites, by name and by session. */
#include "broker/core/state/sites.h"

#include <string.h>

#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "federation/base/suggest.h"

void core_pool_forecasts_drop(site_t *site)
{
    for (uint32_t i = 0; i < site->pool_count; i++)
        site->pools[i].pool_forecast_hour_ms = 0;
}

site_t *core_site_find(helio_broker_core_t *self, helio_text_t name)
{
    site_t *site;
    HASH_FIND(hh, self->sites, name.data, name.size, site);
    return site;
}

const char *core_site_meant(const helio_broker_core_t *self, helio_text_t name)
{
    helio_suggestion_t suggestion = {.written = name};
    for (const site_t *site = self->sites; site; site = site->hh.next)
        helio_suggestion_offer(&suggestion, site->name);
    return suggestion.best ? suggestion.best : "";
}

site_t *core_site_get(helio_broker_core_t *self, helio_text_t name)
{
    site_t *site = core_site_find(self, name);
    if (site)
        return site;
    site = helio_new(1, sizeof *site);
    (void)helio_text_copy(name, site->name, sizeof site->name);
    site->arena = helio_arena_new();
    site->profile.name = helio_text_of(site->name);
    site->profile.carbon_g_per_kwh = -1;
    HASH_ADD_KEYPTR(hh, self->sites, site->name, strlen(site->name), site);
    return site;
}

site_t *core_site_of_peer(helio_broker_core_t *self, uint64_t peer)
{
    site_t *site;
    HASH_FIND(hh_peer, self->peers, &peer, sizeof peer, site);
    return site;
}

void core_site_row(helio_broker_core_t *self, site_t *site)
{
    const helio_site_profile_t *profile = &site->profile;
    const helio_uuid_t process = site->peer ? site->boot_id : site->former_boot_id;
    char text[HELIO_ID_SIZE] = "";
    if (!helio_uuid_is_nil(process))
        helio_uuid_text(process, text);
    helio_row_site_t row = {
        .site = helio_text_of(site->name),
        .state = site->state,
        .draining = site->draining,
        .drain_reason = helio_text_of(site->drain_reason),
        .backend = profile->backend,
        .region = profile->region,
        .latitude = profile->latitude,
        .longitude = profile->longitude,
        .timezone = profile->timezone,
        .pue = profile->pue,
        .carbon_g_per_kwh = profile->carbon_g_per_kwh,
        .electricity_usd_per_kwh = profile->electricity_usd_per_kwh,
        .containers = profile->containers,
        .leases = profile->leases,
        .agent_version = helio_text_of(site->agent_version),
        .seen_ms = site->heard_wall_ms,
        .refused = helio_text_of(site->refused),
        .refused_ms = site->refused_wall_ms,
        .memory_since_ms = site->memory_since_ms,
        .memory_mark = site->memory_mark,
        .memory_lost_ms = site->memory_lost_wall_ms,
        .unreconciled_ms = site->unreconciled_ms,
        .awaited_by = site->awaited_by,
        .agent_process = helio_text_of(core_printf(self, "%s", text)), /* until the end of the step */
    };
    core_emit(self, HELIO_BROKER_FX_ROW_SITE, &row);
    site->row_ms = self->now_ms;
}

void core_site_set_state(helio_broker_core_t *self, site_t *site, helio_site_state_t state)
{
    if (site->state == (uint32_t)state)
        return;
    site->state = state;
    core_facts_changed(self, site);
    core_site_row(self, site);
}

bool core_sites_awaited(const helio_broker_core_t *self)
{
    return self->restored_until_ms > self->now_ms;
}
