/*  nvml.c -- loads NVIDIA's management library, and asks it for the GPUs, their power and their use. */
#include "site-agent/telemetry/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NVML_OK = 0, NVML_INSUFFICIENT_SIZE = 7 };

typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory_t;

typedef struct nvml_utilisation {
    unsigned int gpu, memory; /* per cent */
} nvml_utilisation_t;

/*  Result, name in the library, parameters; every function returns a code that is 0 on success. */
#define NVML_CALLS(X)                                                               \
    X(init, "nvmlInit_v2", (void))                                                  \
    X(shutdown, "nvmlShutdown", (void))                                             \
    X(count, "nvmlDeviceGetCount_v2", (unsigned int *))                             \
    X(handle, "nvmlDeviceGetHandleByIndex_v2", (unsigned int, void **))             \
    X(name, "nvmlDeviceGetName", (void *, char *, unsigned int))                    \
    X(uuid, "nvmlDeviceGetUUID", (void *, char *, unsigned int))                    \
    X(memory, "nvmlDeviceGetMemoryInfo", (void *, nvml_memory_t *))                 \
    X(power, "nvmlDeviceGetPowerUsage", (void *, unsigned int *))                   \
    X(utilisation, "nvmlDeviceGetUtilizationRates", (void *, nvml_utilisation_t *)) \
    X(energy, "nvmlDeviceGetTotalEnergyConsumption", (void *, unsigned long long *))

typedef struct nvml_calls {
#define X(member, symbol, parameters) int(*member) parameters;
    NVML_CALLS(X)
#undef X
    const char *(*error_text)(int);
    /* NULL: the driver does not have it */
    int (*processes)(void *, unsigned int *, void *);
    int (*mig_mode)(void *, unsigned int *, unsigned int *);
    int (*mig_count)(void *, unsigned int *);
    int (*mig_handle)(void *, unsigned int, void **);
} nvml_calls_t;

struct helio_nvml {
    void *library;
    bool initialised;
    nvml_calls_t call;
    uint32_t count;
    helio_gpu_t gpus[HELIO_NVML_GPUS_MAX];
    void *handles[HELIO_NVML_GPUS_MAX];
    uint32_t slice_count;
    helio_gpu_slice_device_t slices[HELIO_NVML_SLICES_MAX];
    void *slice_handles[HELIO_NVML_SLICES_MAX];
    char reason[256];
};

/* ---- opening ------------------------------------------------------------------------------------------- */

/*  ISO C has no conversion from an object's address to a function's; POSIX guarantees that the bytes are the same. */
static bool resolve(void *library, const char *symbol, void *ret_function)
{
    void *address = dlsym(library, symbol);
    memcpy(ret_function, &address, sizeof address);
    return address != NULL;
}

static const char *resolve_all(helio_nvml_t *self)
{
#define X(member, symbol, parameters)                        \
    if (!resolve(self->library, symbol, &self->call.member)) \
        return symbol;
    NVML_CALLS(X)
#undef X
    return resolve(self->library, "nvmlErrorString", &self->call.error_text) ? NULL : "nvmlErrorString";
}

static const char *text_of(const helio_nvml_t *self, int code)
{
    const char *text = self->call.error_text(code);
    return text ? text : "unknown error";
}

/*  The profile in the driver's name of a MIG device: "NVIDIA H100 80GB HBM3 MIG 1g.10gb". */
static bool profile_of(const char *name, char ret_profile[HELIO_GPU_PROFILE_SIZE])
{
    const char *at = strstr(name, "MIG ");
    return at && at[4] && helio_text_copy(helio_text_of(at + 4), ret_profile, HELIO_GPU_PROFILE_SIZE);
}

static void add_slice(helio_nvml_t *self, uint32_t gpu, void *handle)
{
    helio_gpu_slice_device_t slice = {.gpu = gpu};
    char name[HELIO_GPU_TEXT] = "";
    nvml_memory_t memory = {0};
    int code = self->call.name(handle, name, sizeof name - 1);
    if (code == NVML_OK)
        code = self->call.uuid(handle, slice.uuid, sizeof slice.uuid - 1);
    if (code == NVML_OK)
        code = self->call.memory(handle, &memory);
    slice.memory_bytes = memory.total;
    if (code != NVML_OK || !profile_of(name, slice.profile)) {
        (void)snprintf(self->reason, sizeof self->reason, "a slice of GPU %u is not known: %.180s", gpu,
                       code != NVML_OK ? text_of(self, code) : name);
        return;
    }
    self->slice_handles[self->slice_count] = handle;
    self->slices[self->slice_count++] = slice;
}

/*  Slots of slices can be vacant, in any order. */
static void add_slices(helio_nvml_t *self, uint32_t gpu)
{
    unsigned int mode = 0, pending = 0, count = 0;
    void *handle = NULL;
    if (!self->handles[gpu] || !self->call.mig_mode || !self->call.mig_count || !self->call.mig_handle ||
        self->call.mig_mode(self->handles[gpu], &mode, &pending) != NVML_OK || mode == 0)
        return;
    self->gpus[gpu].in_slices = true;
    if (self->call.mig_count(self->handles[gpu], &count) != NVML_OK)
        return;
    for (unsigned int i = 0; i < count && self->slice_count < HELIO_NVML_SLICES_MAX; i++)
        if (self->call.mig_handle(self->handles[gpu], i, &handle) == NVML_OK)
            add_slice(self, gpu, handle);
}

static void add_gpu(helio_nvml_t *self, unsigned int index)
{
    helio_gpu_t gpu = {0};
    void *handle = NULL;
    nvml_memory_t memory = {0};
    int code = self->call.handle(index, &handle);
    if (code == NVML_OK)
        code = self->call.name(handle, gpu.name, sizeof gpu.name - 1);
    if (code == NVML_OK)
        code = self->call.uuid(handle, gpu.uuid, sizeof gpu.uuid - 1);
    if (code == NVML_OK)
        code = self->call.memory(handle, &memory);
    gpu.memory_bytes = memory.total;
    helio_gpu_model_of(helio_text_of(gpu.name), gpu.model);
    /*  A GPU that does not respond keeps its number, so that the others keep theirs: it has no handle and no memory. */
    if (code != NVML_OK) {
        (void)snprintf(self->reason, sizeof self->reason, "GPU %u does not answer: %.180s", index, text_of(self, code));
        gpu = (helio_gpu_t){0};
        handle = NULL;
    }
    self->handles[self->count] = handle;
    self->gpus[self->count++] = gpu;
    add_slices(self, self->count - 1);
}

static void open_library(helio_nvml_t *self, const char *library)
{
    self->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!self->library) {
        const char *why = dlerror();
        (void)snprintf(self->reason, sizeof self->reason, "no NVIDIA driver library: %.200s", why ? why : library);
        return;
    }
    const char *missing = resolve_all(self);
    if (missing) {
        (void)snprintf(self->reason, sizeof self->reason, "the NVIDIA driver is too old: its library lacks %s",
                       missing);
        return;
    }
    int code = self->call.init();
    if (code != NVML_OK) {
        (void)snprintf(self->reason, sizeof self->reason, "the NVIDIA driver does not work: %.200s",
                       text_of(self, code));
        return;
    }
    if (!resolve(self->library, "nvmlDeviceGetComputeRunningProcesses_v3", &self->call.processes))
        (void)resolve(self->library, "nvmlDeviceGetComputeRunningProcesses", &self->call.processes);
    (void)resolve(self->library, "nvmlDeviceGetMigMode", &self->call.mig_mode);
    (void)resolve(self->library, "nvmlDeviceGetMaxMigDeviceCount", &self->call.mig_count);
    (void)resolve(self->library, "nvmlDeviceGetMigDeviceHandleByIndex", &self->call.mig_handle);
    self->initialised = true;
    unsigned int count = 0;
    code = self->call.count(&count);
    if (code != NVML_OK || count == 0)
        (void)snprintf(self->reason, sizeof self->reason, "the NVIDIA driver shows no GPU%s%.200s", code ? ": " : "",
                       code ? text_of(self, code) : "");
    if (code == NVML_OK && count > HELIO_NVML_GPUS_MAX) {
        (void)snprintf(self->reason, sizeof self->reason, "%u GPUs, of which the first %d are used", count,
                       HELIO_NVML_GPUS_MAX);
        count = HELIO_NVML_GPUS_MAX;
    }
    for (unsigned int i = 0; code == NVML_OK && i < count; i++)
        add_gpu(self, i);
}

helio_nvml_t *helio_nvml_new(const char *library)
{
    helio_nvml_t *self = helio_new(1, sizeof *self);
    open_library(self, library ? library : "libnvidia-ml.so.1");
    return self;
}

void helio_nvml_destroy(helio_nvml_t **self_p)
{
    helio_nvml_t *self = self_p ? *self_p : NULL;
    if (!self)
        return;
    *self_p = NULL;
    if (self->initialised)
        (void)self->call.shutdown();
    if (self->library)
        (void)dlclose(self->library);
    free(self);
}

/* ---- asking -------------------------------------------------------------------------------------------- */

uint32_t helio_nvml_count(const helio_nvml_t *self)
{
    return self->count;
}

const char *helio_nvml_reason(const helio_nvml_t *self)
{
    return self->reason;
}

const helio_gpu_t *helio_nvml_gpu(const helio_nvml_t *self, uint32_t index)
{
    return index < self->count ? &self->gpus[index] : NULL;
}

helio_rc helio_nvml_sample(const helio_nvml_t *self, uint32_t index, helio_gpu_sample_t *ret_sample, helio_error_t *err)
{
    if (index >= self->count)
        return helio_fail(err, HELIO_NOT_FOUND, "there is no GPU %u", index);
    void *handle = self->handles[index];
    nvml_memory_t memory = {0};
    if (!handle)
        return helio_fail(err, HELIO_UNAVAILABLE, "GPU %u does not answer", index);
    /* every model has it: no result means that the GPU does not respond */
    int code = self->call.memory(handle, &memory);
    if (code != NVML_OK)
        return helio_fail(err, HELIO_UNAVAILABLE, "GPU %u does not answer: %.200s", index, text_of(self, code));
    unsigned int power_mw = 0;
    nvml_utilisation_t used = {0};
    helio_gpu_sample_t sample = {.power_w = -1, .utilisation = -1, .memory_used_bytes = (int64_t)memory.used};
    if (self->call.power(handle, &power_mw) == NVML_OK)
        sample.power_w = power_mw / 1000.0;
    if (self->call.utilisation(handle, &used) == NVML_OK)
        sample.utilisation = used.gpu > 100 ? 1 : used.gpu / 100.0;
    sample.has_energy = helio_nvml_energy_mj(self, index, &sample.energy_mj) == HELIO_OK;
    *ret_sample = sample;
    return HELIO_OK;
}

helio_rc helio_nvml_energy_mj(const helio_nvml_t *self, uint32_t index, uint64_t *ret_mj)
{
    unsigned long long mj = 0;
    if (index >= self->count)
        return HELIO_NOT_FOUND;
    if (!self->handles[index] || self->call.energy(self->handles[index], &mj) != NVML_OK)
        return HELIO_UNAVAILABLE;
    *ret_mj = mj;
    return HELIO_OK;
}

bool helio_nvml_answers(const helio_nvml_t *self, uint32_t index)
{
    nvml_memory_t memory = {0};
    return index < self->count && self->handles[index] && self->call.memory(self->handles[index], &memory) == NVML_OK;
}

uint32_t helio_nvml_slice_count(const helio_nvml_t *self)
{
    return self->slice_count;
}

const helio_gpu_slice_device_t *helio_nvml_slice(const helio_nvml_t *self, uint32_t index)
{
    return index < self->slice_count ? &self->slices[index] : NULL;
}

/*  Called with room for no entry, it reports that processes exist by failing. Returns the code; *ret_any counts if it is
 *  NVML_OK. */
static int ask_processes(const helio_nvml_t *self, void *handle, bool *ret_any)
{
    unsigned int count = 0;
    int code = self->call.processes ? self->call.processes(handle, &count, NULL) : -1;
    *ret_any = code == NVML_INSUFFICIENT_SIZE || count > 0;
    return code == NVML_INSUFFICIENT_SIZE ? NVML_OK : code;
}

/*  A slice has no utilisation of its own. */
bool helio_nvml_slice_busy(const helio_nvml_t *self, uint32_t index)
{
    bool any = false;
    return index < self->slice_count && ask_processes(self, self->slice_handles[index], &any) == NVML_OK && any;
}

bool helio_nvml_busy(const helio_nvml_t *self, uint32_t index)
{
    bool any = false;
    if (index >= self->count || !self->handles[index])
        return false;
    if (ask_processes(self, self->handles[index], &any) == NVML_OK)
        return any;
    nvml_utilisation_t used = {0};
    return self->call.utilisation(self->handles[index], &used) == NVML_OK && used.gpu > 0;
}
