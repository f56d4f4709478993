/*  batch.c -- reads what an adapter tells a shim. */
#include "site-agent/shim/batch.h"

#include <string.h>
#include <unistd.h>

#include "site-agent/shim/status_files.h"
#include "site-agent/shim/variables.h"

static const char *value_of(char *const *list, const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; list && list[i]; i++)
        if (strncmp(list[i], name, size) == 0 && list[i][size] == '=')
            return list[i] + size + 1;
    return NULL;
}

const char *helio_batch_job_id(char *const *environ_list)
{
    const char *id = value_of(environ_list, "HELIO_BATCH_ID");
    return id ? id : "";
}

void helio_batch_rank_environment(char *const *environ_list, helio_environment_t *env)
{
    char host[65] = "";
    (void)gethostname(host, sizeof host - 1);
    const char *devices = helio_environ_get(environ_list, HELIO_VARIABLE_CUDA_DEVICES);
    const char *counted = value_of(environ_list, "HELIO_BATCH_GPUS");
    helio_text_t gpus = helio_text_of(devices ? devices : "");
    int64_t count = 0;
    if (!counted || !helio_status_file_number(helio_text_of(counted), 0, 64, &count))
        count = 0;
    const helio_variable_t shares[] = {HELIO_VARIABLE_MPS_PIPE, HELIO_VARIABLE_MPS_PERCENT};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        if (helio_environ_get(environ_list, shares[i]))
            helio_environment_set(env, shares[i], helio_text_of(helio_environ_get(environ_list, shares[i])));
    if (devices || !count)
        helio_environment_set(env, HELIO_VARIABLE_CUDA_DEVICES, gpus);
    helio_environment_set_number(env, HELIO_VARIABLE_GPUS, devices ? helio_device_count(gpus) : (uint32_t)count);
    helio_environment_set_number(env, HELIO_VARIABLE_NODES, 1);
    helio_environment_set_number(env, HELIO_VARIABLE_NODE_RANK, 0);
    helio_environment_set(env, HELIO_VARIABLE_HOSTS, helio_text_of(host));
}
