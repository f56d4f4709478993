/*  nvml_double.c -- a substitute for the driver's library. The environment defines its GPUs, and is read at each call,
 *  so that a test can change it:
 *      NVML_DOUBLE_NAMES   "NVIDIA A100-SXM4-80GB;NVIDIA L4": one GPU each
 *      NVML_DOUBLE_INIT    result of nvmlInit_v2
 *      NVML_DOUBLE_SILENT  index of a GPU that has fallen off the bus
 *      NVML_DOUBLE_BARE    set: no power, no energy, no utilisation
 *      NVML_DOUBLE_ENERGY  mJ of GPU 0; GPU i has a thousand times i more
 *      NVML_DOUBLE_FILE    a file with a line "mJ processes" for each GPU, read at each call; overrides ENERGY
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, NOT_FOUND = 6, LOST = 15 };

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned int *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **handle);
int nvmlDeviceGetName(void *handle, char *text, unsigned int size);
int nvmlDeviceGetUUID(void *handle, char *text, unsigned int size);
int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long memory[3]);
int nvmlDeviceGetPowerUsage(void *handle, unsigned int *mw);
int nvmlDeviceGetUtilizationRates(void *handle, unsigned int rates[2]);
int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *mj);
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned int *count, void *infos);
const char *nvmlErrorString(int code);

static const char *names(void)
{
    const char *text = getenv("NVML_DOUBLE_NAMES");
    return text ? text : "";
}

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

/*  Handles are 1, 2, … so that none is NULL. */
static unsigned int index_of(const void *handle)
{
    return (unsigned int)(uintptr_t)handle - 1;
}

static int silent(const void *handle)
{
    return number("NVML_DOUBLE_SILENT", -1) == (long)index_of(handle);
}

static int from_file(const void *handle, unsigned long long *mj, unsigned int *processes)
{
    const char *path = getenv("NVML_DOUBLE_FILE");
    FILE *file = path ? fopen(path, "re") : NULL;
    int found = 0;
    for (unsigned int i = 0; file && i <= index_of(handle); i++)
        found = fscanf(file, "%llu %u", mj, processes) == 2;
    if (file)
        (void)fclose(file);
    return found;
}

int nvmlInit_v2(void)
{
    return (int)number("NVML_DOUBLE_INIT", OK);
}

int nvmlShutdown(void)
{
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
    *count = *names() ? 1 : 0;
    for (const char *c = names(); *c; c++)
        *count += *c == ';';
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **handle)
{
    *handle = (void *)((uintptr_t)index + 1);
    return OK;
}

int nvmlDeviceGetName(void *handle, char *text, unsigned int size)
{
    const char *at = names();
    for (unsigned int i = index_of(handle); i > 0; i--)
        at = strchr(at, ';') + 1;
    int length = (int)strcspn(at, ";");
    return snprintf(text, size, "%.*s", length, at) < (int)size ? OK : INSUFFICIENT_SIZE;
}

int nvmlDeviceGetUUID(void *handle, char *text, unsigned int size)
{
    return snprintf(text, size, "GPU-double-%u", index_of(handle)) < (int)size ? OK : INSUFFICIENT_SIZE;
}

int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long memory[3])
{
    if (silent(handle))
        return LOST;
    memory[0] = 80ULL << 30;
    memory[2] = 5ULL << 30;
    memory[1] = memory[0] - memory[2];
    return OK;
}

int nvmlDeviceGetPowerUsage(void *handle, unsigned int *mw)
{
    if (getenv("NVML_DOUBLE_BARE"))
        return NOT_SUPPORTED;
    *mw = 250500 + 1000 * index_of(handle);
    return OK;
}

int nvmlDeviceGetUtilizationRates(void *handle, unsigned int rates[2])
{
    if (getenv("NVML_DOUBLE_BARE"))
        return NOT_SUPPORTED;
    rates[0] = 75 + 50 * index_of(handle); /* the second says 125: drivers have done so */
    rates[1] = 10;
    return OK;
}

int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *mj)
{
    if (getenv("NVML_DOUBLE_BARE"))
        return NOT_SUPPORTED;
    if (silent(handle))
        return LOST;
    unsigned int processes;
    if (from_file(handle, mj, &processes))
        return OK;
    *mj = (unsigned long long)number("NVML_DOUBLE_ENERGY", 0) + 1000ULL * index_of(handle);
    return OK;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned int *count, void *infos)
{
    unsigned long long mj;
    unsigned int processes = 0, room = *count;
    (void)infos;
    if (!from_file(handle, &mj, &processes))
        return NOT_SUPPORTED;
    *count = processes;
    return processes > room ? INSUFFICIENT_SIZE : OK;
}

const char *nvmlErrorString(int code)
{
    return code == LOST ? "GPU is lost" : code == 9 ? "Driver Not Loaded" : "Unknown Error";
}
