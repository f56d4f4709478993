/*  gpus.c -- compares the GPUs of this machine with the site file, and completes the file's pools. */
#include "site-agent/agent/gpus.h"

#include "site-agent/core/capacity.h"

/*  The driver counts by GPUs: slices and shares have no counters of their own. */
static bool measures_the_site(const helio_agent_settings_t *settings, const helio_site_devices_t *devices)
{
    if (settings->site.pools.count != 1 || devices->count != 1 || devices->pools[0].jobs_per_gpu != 1)
        return false;
    for (uint32_t i = 0; i < devices->pools[0].count; i++)
        if (devices->pools[0].items[i].slice != HELIO_DEVICE_WHOLE || devices->pools[0].items[i].gpu != i ||
            !devices->pools[0].items[i].name.size)
            return false;
    return true;
}

static helio_rc describe_mps(const helio_agent_settings_t *settings, helio_site_gpus_t *gpus, helio_arena_t *arena,
                             helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    gpus->mps = helio_arena_alloc(arena, settings->shares.count, sizeof *gpus->mps);
    for (uint32_t i = 0; i < gpus->devices.count && !rc; i++) {
        helio_pool_devices_t *devices = &gpus->devices.pools[i];
        const helio_share_rule_t *rule = helio_shares_of(&settings->shares, devices->pool);
        uint32_t pool = helio_site_pool_index(&settings->site, devices->pool);
        if (!rule || settings->site.pools.items[pool].sharing != HELIO_SHARING_MPS)
            continue;
        helio_mps_t *mps = &gpus->mps[gpus->mps_count++];
        rc = helio_mps_describe(rule, devices, settings->state_dir.data, arena, mps, err);
        devices->mps_pipe = helio_text_of(mps->pipe);
    }
    return rc;
}

/*  Of a pool whose GPUs the file does not count, the driver must. */
static helio_rc check_counts(const helio_site_profile_t *site, const helio_nvml_t *nvml, helio_error_t *err)
{
    for (uint32_t i = 0; i < site->pools.count; i++) {
        const helio_pool_t *pool = &site->pools.items[i];
        if (pool->gpu.size && !pool->gpus_per_node)
            return helio_fail(err, HELIO_INVALID,
                              "pool '%.*s' does not say how many GPUs it has, and the driver counts none (%s): add "
                              "gpus_per_node",
                              HELIO_TEXT_ARGS(pool->name), helio_nvml_reason(nvml));
    }
    return HELIO_OK;
}

helio_rc helio_site_gpus_open(helio_agent_settings_t *settings, const char *library, helio_arena_t *arena,
                              helio_error_t *err)
{
    settings->nvml = NULL;
    settings->gpus = NULL;
    if (helio_text_is(settings->site.backend, "slurm"))
        return helio_slurm_fill_site(&settings->site, &settings->slurm, arena, err);
    if (helio_text_is(settings->site.backend, "exec"))
        helio_exec_fill_site(&settings->site, &settings->exec, arena);
    if (!helio_text_is(settings->site.backend, "local"))
        return HELIO_OK;
    helio_site_gpus_t *gpus = settings->gpus = helio_arena_alloc(arena, 1, sizeof *gpus);
    gpus->nvml = helio_nvml_new(library);
    helio_rc rc = helio_device_places_load(settings->state_dir.data, arena, &gpus->places, err);
    if (!rc)
        rc = helio_devices_settle(gpus->nvml, &settings->shares, arena, &settings->site, &gpus->places, &gpus->devices,
                                  err);
    if (!rc)
        rc = check_counts(&settings->site, gpus->nvml, err);
    for (uint32_t i = 0; i < settings->site.pools.count && !rc; i++)
        helio_shares_fill_power(&settings->shares,
                                &settings->site.pools.items[i]); /* its model may be known only now */
    if (!rc)
        rc = describe_mps(settings, gpus, arena, err);
    if (!rc && helio_nvml_count(gpus->nvml) && measures_the_site(settings, &gpus->devices))
        settings->nvml = gpus->nvml;
    return rc;
}

helio_rc helio_site_gpus_begin(const helio_agent_settings_t *settings, helio_error_t *err)
{
    const helio_site_gpus_t *gpus = settings->gpus;
    if (!gpus)
        return HELIO_OK;
    helio_rc rc =
        gpus->places.count ? helio_device_places_save(settings->state_dir.data, &gpus->places, err) : HELIO_OK;
    for (uint32_t i = 0; i < gpus->mps_count && !rc; i++)
        rc = helio_mps_begin(&gpus->mps[i], err);
    return rc;
}

void helio_site_gpus_close(helio_agent_settings_t *settings)
{
    settings->nvml = NULL;
    if (settings->gpus)
        helio_nvml_destroy(&settings->gpus->nvml);
    settings->gpus = NULL;
}

/* ---- what cannot be given out ------------------------------------------------------------------------------ */

static bool reaches_daemon(const helio_site_gpus_t *gpus, helio_text_t pool)
{
    for (uint32_t i = 0; i < gpus->mps_count; i++)
        if (helio_text_equal(gpus->mps[i].pool, pool) && !helio_mps_lives(&gpus->mps[i])) {
            helio_error_t why;
            (void)!helio_mps_start(&gpus->mps[i], &why); /* the next look sees whether it helped */
            return false;
        }
    return true;
}

static bool is_gone(const helio_site_gpus_t *gpus, const helio_device_t *device)
{
    return !device->name.size ||
           (helio_nvml_count(gpus->nvml) && device->uuid.size && !helio_nvml_answers(gpus->nvml, device->gpu));
}

static bool is_busy(const helio_site_gpus_t *gpus, const helio_device_t *device)
{
    return device->slice == HELIO_DEVICE_WHOLE ? helio_nvml_busy(gpus->nvml, device->gpu)
                                               : helio_nvml_slice_busy(gpus->nvml, device->slice);
}

bool helio_site_gpus_look(const helio_agent_settings_t *settings, uint32_t pool, helio_slots_away_t *ret_away)
{
    const helio_site_gpus_t *gpus = settings->gpus;
    const helio_pool_devices_t *devices =
        gpus ? helio_devices_of(&gpus->devices, settings->site.pools.items[pool].name) : NULL;
    *ret_away = (helio_slots_away_t){0};
    if (!devices)
        return false;
    bool served = reaches_daemon(gpus, devices->pool), exclusive = devices->jobs_per_gpu == 1;
    for (uint32_t i = 0; i < devices->count; i++) {
        bool gone = !served || is_gone(gpus, &devices->items[i]);
        bool busy = !gone && exclusive && !settings->gpus_shared && is_busy(gpus, &devices->items[i]);
        for (uint32_t share = 0; share < devices->jobs_per_gpu && (gone || busy); share++) {
            ret_away->slots[ret_away->count++] = share * devices->count + i;
            ret_away->gone += gone;
        }
    }
    return true;
}

helio_text_t helio_site_gpus_text(const helio_agent_settings_t *settings, const char *library, helio_arena_t *arena)
{
    if (!helio_text_is(settings->site.backend, "local"))
        return HELIO_TEXT("not looked for: another scheduler has them");
    helio_nvml_t *nvml = helio_nvml_new(library);
    helio_gpu_inventory_t found;
    helio_gpu_inventory(nvml, &found);
    helio_text_t text = {"", 0};
    for (uint32_t i = 0; i < found.group_count; i++)
        text = helio_arena_printf(arena, "%.*s%s%u %s", HELIO_TEXT_ARGS(text), i ? ", " : "", found.groups[i].count,
                                  found.groups[i].model);
    text = found.gpus ? helio_arena_printf(arena, "%.*s found", HELIO_TEXT_ARGS(text))
                      : helio_arena_printf(arena, "none found (%s)", helio_nvml_reason(nvml));
    helio_nvml_destroy(&nvml);
    return text;
}
