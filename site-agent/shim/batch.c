/*  batch.c -- reads what an adapter tells a shim. */
#include "site-agent/shim/batch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "site-agent/shim/plan.h"
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

bool helio_batch_node_rank(char *const *environ_list, uint32_t *ret_rank)
{
    int64_t rank;
    const char *text = value_of(environ_list, "HELIO_BATCH_RANK");
    if (!text || !helio_status_file_number(helio_text_of(text), 0, HELIO_PLAN_NODES_MAX - 1, &rank))
        return false;
    *ret_rank = (uint32_t)rank;
    return true;
}

static char *copy_of(helio_arena_t *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(helio_arena_alloc(arena, size, 1), text, size);
}

helio_rc helio_batch_launch(char *const *environ_list, const char *program, const char *folder, helio_arena_t *arena,
                            char ***ret_argv, helio_environment_t *ret_env, helio_error_t *err)
{
    enum { WORDS = 7 };
    const char *launch = value_of(environ_list, "HELIO_BATCH_LAUNCH");
    if (!launch || !*launch)
        return helio_fail(err, HELIO_NOT_FOUND, "the adapter gave no HELIO_BATCH_LAUNCH, by which ranks are started");
    helio_buffer_t line = {0};
    helio_buffer_printf(&line, "%s \"$@\"", launch);
    const char *words[WORDS] = {
        "/bin/sh", "-c", helio_arena_string(arena, helio_buffer_view(&line)), "launch", program, "--rank", folder};
    helio_buffer_clear(&line);
    char **argv = helio_arena_alloc(arena, WORDS + 1, sizeof *argv);
    for (uint32_t i = 0; i < WORDS; i++)
        argv[i] = copy_of(arena, words[i]);
    ret_env->arena = arena;
    for (size_t i = 0; environ_list[i]; i++) {
        uint32_t size = (uint32_t)strlen(environ_list[i]) + 1;
        helio_environment_read(ret_env, (helio_text_t){environ_list[i], size});
    }
    *ret_argv = argv;
    return HELIO_OK;
}

void helio_batch_rank_environment(char *const *environ_list, uint32_t nodes, uint32_t rank, helio_environment_t *env)
{
    char host[65] = "";
    (void)gethostname(host, sizeof host - 1);
    const char *hosts = nodes > 1 ? value_of(environ_list, "HELIO_BATCH_HOSTS") : NULL;
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
    helio_environment_set_number(env, HELIO_VARIABLE_NODES, nodes);
    helio_environment_set_number(env, HELIO_VARIABLE_NODE_RANK, rank);
    helio_environment_set(env, HELIO_VARIABLE_HOSTS, helio_text_of(hosts ? hosts : host));
}
