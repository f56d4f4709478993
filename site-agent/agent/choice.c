/*  choice.c -- which backend a site file means. */
#include "site-agent/agent/check.h"
#include "site-agent/backends/local.h"

static bool energy_mj(void *arg, uint32_t gpu, uint64_t *ret_mj)
{
    return helio_nvml_energy_mj(arg, gpu, ret_mj) == HELIO_OK;
}

helio_rc helio_make_backend(const helio_agent_settings_t *settings, const helio_backend_sink_t *sink,
                            helio_backend_t **ret_backend, helio_error_t *err)
{
    if (!helio_text_is(settings->site.backend, "local"))
        return helio_fail(err, HELIO_INVALID, "this release has no backend '%.*s'; it has: local",
                          HELIO_TEXT_ARGS(settings->site.backend));
    helio_local_options_t options = {.state_dir = settings->state_dir.data,
                                     .shim = settings->shim.data,
                                     .site = settings->site.name,
                                     .rules = &settings->rules,
                                     .lease_margin_ms = settings->kill_margin_ms,
                                     .energy_arg = settings->nvml,
                                     .energy_mj = settings->nvml ? energy_mj : NULL,
                                     .sink = *sink};
    return helio_local_new(&options, ret_backend, err);
}
