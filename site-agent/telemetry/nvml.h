/*  nvml.h -- the GPUs of this machine, by NVIDIA's management library.
 *
 *  The library is opened at run time, so one program serves machines with and without a driver: without one, the list
 *  of GPUs is empty and a reason says why. The prototypes are this project's own, of the library's stable, versioned
 *  entry points. One thread. Calls take up to some milliseconds each. Source: NVIDIA, "NVML API Reference" (units: mW,
 *  mJ, bytes, per cent).
 */
#ifndef HELIO_TELEMETRY_NVML_H
#define HELIO_TELEMETRY_NVML_H

#include "federation/model/gpu_name.h"

enum { HELIO_NVML_GPUS_MAX = 64, HELIO_NVML_SLICES_MAX = 448, HELIO_GPU_TEXT = 96, HELIO_GPU_PROFILE_SIZE = 24 };

typedef struct helio_gpu {
    char name[HELIO_GPU_TEXT];        /* "NVIDIA A100-SXM4-80GB" */
    char uuid[HELIO_GPU_TEXT];        /* "GPU-…" */
    char model[HELIO_GPU_MODEL_SIZE]; /* as in job files: "A100" */
    uint64_t memory_bytes;
    bool in_slices; /* its MIG mode is on: nothing runs on it but on its slices */
} helio_gpu_t;

/*  A MIG device: a part of a GPU with compute units and memory of its own. */
typedef struct helio_gpu_slice_device {
    char uuid[HELIO_GPU_TEXT];            /* "MIG-…" */
    char profile[HELIO_GPU_PROFILE_SIZE]; /* "1g.10gb" */
    uint32_t gpu;                         /* index of its GPU */
    uint64_t memory_bytes;
} helio_gpu_slice_device_t;

/*  The current state of a GPU. A figure that its model does not offer is negative (energy: has_energy is false). */
typedef struct helio_gpu_sample {
    double power_w;
    double utilisation; /* 0..1, of the last sampling period: share of time with a kernel running */
    int64_t memory_used_bytes;
    bool has_energy;
    uint64_t energy_mj; /* since the driver was loaded; never goes back while it stays loaded */
} helio_gpu_sample_t;

typedef struct helio_nvml helio_nvml_t;

/*  library: NULL = "libnvidia-ml.so.1". Never fails: see helio_nvml_reason. */
helio_nvml_t *helio_nvml_new(const char *library);
void helio_nvml_destroy(helio_nvml_t **self_p);

uint32_t helio_nvml_count(const helio_nvml_t *self);
/*  Why the list is empty, or shorter than the driver's count; "" if all is well. */
const char *helio_nvml_reason(const helio_nvml_t *self);
/*  index < count; in the driver's order. Lives as long as self. */
const helio_gpu_t *helio_nvml_gpu(const helio_nvml_t *self, uint32_t index);
/*  UNAVAILABLE: the GPU does not respond (fallen off the bus, driver unloaded); NOT_FOUND: no such index. */
HELIO_MUST_CHECK helio_rc helio_nvml_sample(const helio_nvml_t *self, uint32_t index, helio_gpu_sample_t *ret_sample,
                                            helio_error_t *err);
/*  It responds. */
bool helio_nvml_answers(const helio_nvml_t *self, uint32_t index);
/*  The MIG devices of all GPUs, as they were when self was made. */
uint32_t helio_nvml_slice_count(const helio_nvml_t *self);
const helio_gpu_slice_device_t *helio_nvml_slice(const helio_nvml_t *self, uint32_t index);
/*  Whether any process computes on it. False if its GPU does not respond. */
bool helio_nvml_slice_busy(const helio_nvml_t *self, uint32_t index);
/*  Whether any process, of any user, computes on it; if the driver does not tell, whether it is used at all. False if
 *  it does not respond. */
bool helio_nvml_busy(const helio_nvml_t *self, uint32_t index);
/*  The energy counter alone. UNAVAILABLE if it has none. */
HELIO_MUST_CHECK helio_rc helio_nvml_energy_mj(const helio_nvml_t *self, uint32_t index, uint64_t *ret_mj);

#endif
