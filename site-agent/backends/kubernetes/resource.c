/*  resource.c -- names of resources and of GPUs. */
#include <stdio.h>
#include <string.h>
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

/*  A part between '-' of the label. */
static bool has_word(helio_text_t product, const char *word)
{
    uint32_t size = (uint32_t)strlen(word);
    for (uint32_t at = 0; at + size <= product.size; at++)
        if ((at == 0 || product.data[at - 1] == '-') && memcmp(product.data + at, word, size) == 0 &&
            (at + size == product.size || product.data[at + size] == '-'))
            return true;
    return false;
}

bool helio_kube_is_product(helio_text_t product, const helio_pool_t *pool)
{
    helio_text_t model = helio_gpu_model(pool->gpu);
    bool shared = pool->sharing == HELIO_SHARING_MPS || pool->sharing == HELIO_SHARING_TIMESLICE;
    bool sliced = helio_gpu_slice(pool->gpu).size > 0;
    if ((has_word(product, "MIG") && !sliced) || (has_word(product, "SHARED") && !shared))
        return false;
    for (uint32_t at = 0; model.size && at + model.size <= product.size; at++) {
        bool begins = at == 0 || product.data[at - 1] == '-';
        bool ends = at + model.size == product.size || product.data[at + model.size] == '-';
        if (begins && ends && strncasecmp(product.data + at, model.data, model.size) == 0)
            return true;
    }
    return false;
}
