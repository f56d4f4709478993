/*  resource.c -- names of resources and of GPUs. */
#include <stdio.h>
#include <strings.h>

#include "site-agent/backends/kubernetes/resource.h"

#define GPU "nvidia.com/gpu"

void helio_kube_resource(const helio_pool_t *pool, char ret_name[HELIO_KUBE_RESOURCE_SIZE])
{
    helio_text_t slice = helio_gpu_slice(pool->gpu);
    ret_name[0] = '\0';
    if (!pool->gpu.size)
        return;
    if (slice.size)
        (void)snprintf(ret_name, HELIO_KUBE_RESOURCE_SIZE, "nvidia.com/mig-%.*s", HELIO_TEXT_ARGS(slice));
    else
        (void)snprintf(
            ret_name, HELIO_KUBE_RESOURCE_SIZE, "%s",
            pool->sharing == HELIO_SHARING_MPS || pool->sharing == HELIO_SHARING_TIMESLICE ? GPU ".shared" : GPU);
}

bool helio_kube_is_product(helio_text_t product, helio_text_t gpu)
{
    helio_text_t model = helio_gpu_model(gpu);
    for (uint32_t at = 0; model.size && at + model.size <= product.size; at++) {
        bool begins = at == 0 || product.data[at - 1] == '-';
        bool ends = at + model.size == product.size || product.data[at + model.size] == '-';
        if (begins && ends && strncasecmp(product.data + at, model.data, model.size) == 0)
            return true;
    }
    return false;
}
