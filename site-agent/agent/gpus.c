/*  gpus.c -- compares the GPUs of this machine with the site file, and completes the file's pools. */
#include "site-agent/agent/gpus.h"

#include "federation/energy/power.h"
#include "site-agent/telemetry/inventory.h"

static bool measures_the_site(const helio_agent_settings_t *settings, const helio_gpu_inventory_t *found)
{
    return settings->site.pools.count == 1 && settings->site.pools.items[0].nodes == 1 &&
           settings->site.pools.items[0].gpus_per_node > 0 &&
           settings->site.pools.items[0].gpus_per_node <= found->gpus;
}

helio_rc helio_site_gpus_open(helio_agent_settings_t *settings, const char *library, helio_arena_t *arena,
                              helio_error_t *err)
{
    settings->nvml = NULL;
    if (helio_text_is(settings->site.backend, "slurm"))
        return helio_slurm_fill_site(&settings->site, &settings->slurm, arena, err);
    if (!helio_text_is(settings->site.backend, "local"))
        return HELIO_OK;
    helio_nvml_t *nvml = helio_nvml_new(library);
    helio_gpu_inventory_t found;
    helio_gpu_inventory(nvml, &found);
    helio_rc rc = HELIO_OK;
    for (uint32_t i = 0; i < settings->site.pools.count && rc == HELIO_OK; i++)
        if (settings->site.pools.items[i].nodes == 1) {
            rc = helio_gpu_inventory_fill(&found, arena, &settings->site.pools.items[i], err);
            (void)helio_power_fill(&settings->site.pools.items[i]); /* its model may be known only now */
        }
    if (rc == HELIO_OK && measures_the_site(settings, &found))
        settings->nvml = nvml;
    else
        helio_nvml_destroy(&nvml);
    return rc;
}

void helio_site_gpus_close(helio_agent_settings_t *settings)
{
    helio_nvml_destroy(&settings->nvml);
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
