/*  backend_choice.c -- which backend a site file names. */
#include "federation/base/clock.h"
#include "site-agent/agent/check.h"
#include "site-agent/agent/gpus.h"
#include "site-agent/backends/exec/exec.h"
#include "site-agent/backends/kubernetes/kubernetes.h"
#include "site-agent/backends/local/local.h"
#include "site-agent/backends/slurm/slurm.h"

static void energy_take(void *arg, const char *attempt, const uint32_t *gpus, uint32_t count)
{
    helio_energy_account_take(arg, attempt, gpus, count, helio_clock_wall_ms());
}

static uint64_t energy_give(void *arg, const char *attempt, bool ran, int64_t ended_wall_ms)
{
    return helio_energy_account_give(arg, attempt, ran, ended_wall_ms, helio_clock_wall_ms());
}

static helio_local_options_t local_options(const helio_agent_settings_t *settings)
{
    return (helio_local_options_t){.state_dir = settings->state_dir.data,
                                   .shim = settings->shim.data,
                                   .site = settings->site.name,
                                   .rules = &settings->rules,
                                   .lease_margin_ms = settings->kill_margin_ms,
                                   .cgroup = settings->cgroup.size ? settings->cgroup.data : NULL,
                                   .processes_max = settings->processes_max,
                                   .devices = settings->gpus ? &settings->gpus->devices : NULL,
                                   .energy_arg = settings->energy_account,
                                   .energy_take = settings->energy_account ? energy_take : NULL,
                                   .energy_give = settings->energy_account ? energy_give : NULL};
}

static helio_rc make_local(const helio_agent_settings_t *settings, const helio_backend_sink_t *sink,
                           helio_backend_t **ret_backend, helio_error_t *err)
{
    helio_local_options_t options = local_options(settings);
    options.sink = *sink;
    return helio_local_new(&options, ret_backend, err);
}

static helio_slurm_options_t slurm_options(const helio_agent_settings_t *settings)
{
    return (helio_slurm_options_t){.site = &settings->site,
                                   .rules = &settings->rules,
                                   .settings = &settings->slurm,
                                   .shim = settings->shim.data,
                                   .lease_margin_ms = settings->kill_margin_ms};
}

static helio_rc make_slurm(const helio_agent_settings_t *settings, const helio_backend_sink_t *sink,
                           helio_backend_t **ret_backend, helio_error_t *err)
{
    helio_slurm_options_t options = slurm_options(settings);
    options.sink = *sink;
    return helio_slurm_new(&options, ret_backend, err);
}

static helio_kubernetes_options_t kubernetes_options(const helio_agent_settings_t *settings)
{
    return (helio_kubernetes_options_t){.site = &settings->site,
                                        .rules = &settings->rules,
                                        .settings = &settings->kubernetes,
                                        .state_dir = settings->state_dir.data};
}

static helio_rc make_kubernetes(const helio_agent_settings_t *settings, const helio_backend_sink_t *sink,
                                helio_backend_t **ret_backend, helio_error_t *err)
{
    helio_kubernetes_options_t options = kubernetes_options(settings);
    options.sink = *sink;
    return helio_kubernetes_new(&options, ret_backend, err);
}

static helio_exec_options_t exec_options(const helio_agent_settings_t *settings)
{
    return (helio_exec_options_t){.site = &settings->site,
                                  .rules = &settings->rules,
                                  .settings = &settings->exec,
                                  .shim = settings->shim.data,
                                  .lease_margin_ms = settings->kill_margin_ms};
}

static helio_rc make_exec(const helio_agent_settings_t *settings, const helio_backend_sink_t *sink,
                          helio_backend_t **ret_backend, helio_error_t *err)
{
    helio_exec_options_t options = exec_options(settings);
    options.sink = *sink;
    return helio_exec_new(&options, ret_backend, err);
}

void helio_check_cluster(const helio_agent_settings_t *settings, bool probe,
                         void (*line)(void *arg, const char *what, helio_rc rc, const char *detail), void *arg)
{
    if (helio_text_is(settings->site.backend, "kubernetes")) {
        helio_kubernetes_options_t kubernetes = kubernetes_options(settings);
        helio_kubernetes_check(&kubernetes, line, arg);
        return;
    }
    if (helio_text_is(settings->site.backend, "exec")) {
        helio_exec_options_t exec = exec_options(settings);
        helio_exec_check(&exec, probe, line, arg);
        return;
    }
    helio_slurm_options_t options = slurm_options(settings);
    helio_slurm_check(&options, probe, line, arg);
}

static helio_rc no_such_backend(const helio_agent_settings_t *settings, helio_error_t *err)
{
    return helio_fail(err, HELIO_INVALID, "this release has no backend '%.*s'; it has: local, slurm, kubernetes, exec",
                      HELIO_TEXT_ARGS(settings->site.backend));
}

helio_rc helio_check_backend(const helio_agent_settings_t *settings, helio_error_t *err)
{
    helio_local_options_t options = local_options(settings);
    return helio_text_is(settings->site.backend, "local") ? helio_local_check(&options, err)
                                                          : no_such_backend(settings, err);
}

_Static_assert((int)HELIO_CHECK_TEXT_SIZE == (int)HELIO_LOCAL_CHECK_SIZE, "one text passes through both");

helio_rc helio_check_cgroups(const helio_agent_settings_t *settings, char ret_text[HELIO_CHECK_TEXT_SIZE],
                             helio_error_t *err)
{
    helio_local_options_t options = local_options(settings);
    return helio_local_check_cgroups(&options, ret_text, err);
}

helio_rc helio_make_backend(const helio_agent_settings_t *settings, const helio_backend_sink_t *sink,
                            helio_backend_t **ret_backend, helio_error_t *err)
{
    if (helio_text_is(settings->site.backend, "local"))
        return make_local(settings, sink, ret_backend, err);
    if (helio_text_is(settings->site.backend, "slurm"))
        return make_slurm(settings, sink, ret_backend, err);
    if (helio_text_is(settings->site.backend, "kubernetes"))
        return make_kubernetes(settings, sink, ret_backend, err);
    if (helio_text_is(settings->site.backend, "exec"))
        return make_exec(settings, sink, ret_backend, err);
    return no_such_backend(settings, err);
}
