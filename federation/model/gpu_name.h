/*  gpu_name.h -- GPUs as their driver names them, and the names and sizes that job files have for them. Pure. */
#ifndef HELIO_MODEL_GPU_NAME_H
#define HELIO_MODEL_GPU_NAME_H

#include "federation/base/memory.h"

enum { HELIO_GPU_MODEL_SIZE = 32 };

/*  The model in the driver's name of a product: "NVIDIA A100-SXM4-80GB" -> "A100", "NVIDIA GeForce RTX 4090" ->
 *  "RTX4090". Slurm's AutoDetect writes the same names with '_' for blanks, in lower case. */
void helio_gpu_model_of(helio_text_t name, char ret_model[HELIO_GPU_MODEL_SIZE]);
/*  The name begins with that of a vendor, so that it is a driver's and not a model itself. */
bool helio_gpu_is_product(helio_text_t name);
/*  Whether it is a product of that model. Case does not count. */
bool helio_gpu_is_product_of(helio_text_t name, helio_text_t model);
/*  The memory in the name of a product, as in "nvidia_h100_80gb_hbm3"; 0 = it has none. */
uint64_t helio_gpu_product_memory(helio_text_t name);

#endif
