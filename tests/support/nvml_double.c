/*  nvml_double.c -- a substitute for the driver's library. The environment defines its GPUs, and is read at each call,
 *  so that a test can change it:
 *      NVML_DOUBLE_NAMES   "NVIDIA A100-SXM4-80GB;NVIDIA L4": one GPU each
 *      NVML_DOUBLE_INIT    result of nvmlInit_v2
 *      NVML_DOUBLE_SILENT  index of a GPU that has fallen off the bus
 *      NVML_DOUBLE_BARE    set: no power, no energy, no utilisation
 *      NVML_DOUBLE_ENERGY  mJ of GPU 0; GPU i has a thousand times i more
 *      NVML_DOUBLE_FILE    a file with a line "mJ processes" for each GPU, read at each call; overrides ENERGY
 *      NVML_DOUBLE_MIG     "0:1g.10gb@a,1g.10gb@b;2:": GPU 0 and GPU 2 are in MIG mode; GPU 0 has two slices, whose
 *                          UUIDs are MIG-double-a and MIG-double-b; an empty entry (",") is a vacant place
 *      NVML_DOUBLE_BUSY    "b": the slices on which a process computes
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
int nvmlDeviceGetMigMode(void *handle, unsigned int *mode, unsigned int *pending);
int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned int *count);
int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned int index, void **slice);
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

enum { SLICE = 256, PLACES = 7 };

/*  Handles are 1, 2, … so that none is NULL; those of the slices of GPU i are 256 * (i + 1) + 1, … */
static unsigned int index_of(const void *handle)
{
    unsigned int number = (unsigned int)(uintptr_t)handle;
    return number > SLICE ? number / SLICE - 1 : number - 1;
}

static int is_slice(const void *handle)
{
    return (uintptr_t)handle > SLICE;
}

/*  The list of the GPU's slices, "" = none; NULL: its MIG mode is off. */
static const char *slices_of(unsigned int gpu)
{
    const char *at = getenv("NVML_DOUBLE_MIG");
    while (at && *at) {
        char *list;
        if (strtoul(at, &list, 10) == gpu && *list == ':')
            return list + 1;
        at = strchr(at, ';');
        at += at != NULL;
    }
    return NULL;
}

/*  The entry of a place: "1g.10gb@a", and its size; 0 = vacant. */
static int entry_of(unsigned int gpu, unsigned int place, const char **ret_entry)
{
    const char *at = slices_of(gpu);
    for (; at && place > 0; place--) {
        at += strcspn(at, ",;");
        at = *at == ',' ? at + 1 : NULL;
    }
    *ret_entry = at;
    return at ? (int)strcspn(at, ",;") : 0;
}

static int entry_by_handle(const void *handle, const char **ret_entry)
{
    return entry_of(index_of(handle), (unsigned int)((uintptr_t)handle % SLICE) - 1, ret_entry);
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
    const char *entry;
    if (is_slice(handle) && entry_by_handle(handle, &entry) > 0)
        return snprintf(text, size, "%.*s MIG %.*s", length, at, (int)strcspn(entry, "@"), entry) < (int)size
                   ? OK
                   : INSUFFICIENT_SIZE;
    return snprintf(text, size, "%.*s", length, at) < (int)size ? OK : INSUFFICIENT_SIZE;
}

int nvmlDeviceGetUUID(void *handle, char *text, unsigned int size)
{
    const char *entry;
    int length = is_slice(handle) ? entry_by_handle(handle, &entry) : 0;
    if (is_slice(handle)) {
        int profile = length > 0 ? (int)strcspn(entry, "@") : 0;
        return length <= profile
                   ? NOT_FOUND
                   : (snprintf(text, size, "MIG-double-%.*s", length - profile - 1, entry + profile + 1) < (int)size
                          ? OK
                          : INSUFFICIENT_SIZE);
    }
    return snprintf(text, size, "GPU-double-%u", index_of(handle)) < (int)size ? OK : INSUFFICIENT_SIZE;
}

int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long memory[3])
{
    if (silent(handle))
        return LOST;
    memory[0] = (is_slice(handle) ? 10ULL : 80ULL) << 30;
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
    const char *busy = getenv("NVML_DOUBLE_BUSY"), *entry;
    (void)infos;
    if (is_slice(handle)) {
        int length = entry_by_handle(handle, &entry);
        char name = length > 0 ? entry[length - 1] : ' ';
        *count = busy && strchr(busy, name) ? 1 : 0;
        return *count > room ? INSUFFICIENT_SIZE : OK;
    }
    if (!from_file(handle, &mj, &processes))
        return NOT_SUPPORTED;
    *count = processes;
    return processes > room ? INSUFFICIENT_SIZE : OK;
}

int nvmlDeviceGetMigMode(void *handle, unsigned int *mode, unsigned int *pending)
{
    *mode = *pending = slices_of(index_of(handle)) != NULL;
    return OK;
}

int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned int *count)
{
    (void)handle;
    *count = PLACES;
    return OK;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned int index, void **slice)
{
    const char *entry;
    if (entry_of(index_of(handle), index, &entry) == 0)
        return NOT_FOUND;
    *slice = (void *)((uintptr_t)SLICE * (index_of(handle) + 1) + index + 1);
    return OK;
}

const char *nvmlErrorString(int code)
{
    return code == LOST ? "GPU is lost" : code == 9 ? "Driver Not Loaded" : "Unknown Error";
}
