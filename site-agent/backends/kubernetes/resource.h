/*  resource.h -- which resource of a node is a pool's GPU, and which nodes have it. Pure. */
#ifndef HELIO_BACKENDS_KUBERNETES_RESOURCE_H
#define HELIO_BACKENDS_KUBERNETES_RESOURCE_H

#include "federation/model/site.h"

#define HELIO_KUBE_PRODUCT "nvidia.com/gpu.product" /* the label of a node that names its GPU */

enum { HELIO_KUBE_RESOURCE_SIZE = 64 };

/*  The name of the resource that a pool's jobs request; "" for a CPU pool. */
void helio_kube_resource(const helio_pool_t *pool, char ret_name[HELIO_KUBE_RESOURCE_SIZE]);
/*  Whether that label ("NVIDIA-H100-80GB-HBM3") names a pool's GPU ("H100"). A node whose GPUs are cut ("…-MIG-1g.10gb")
 *  or shared ("…-SHARED") has none for a pool of whole GPUs, whatever its resources are called. */
bool helio_kube_is_product(helio_text_t product, const helio_pool_t *pool);

#endif
