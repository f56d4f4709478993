/*  energy_account_file.c -- the account over a restart: one file, written beside the old one and renamed. Pools are
 *  matched by name. Not synced: after a loss of power the checksum shows it, and the machine's counters begin at zero
 *  anyway. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/id.h"
#include "federation/base/file.h"
#include "site-agent/telemetry/energy_account_internal.h"

enum { PATH_SIZE = 4200 };
static const char magic[8] = "HELIOBK1";

/*  In this machine's number format; the checksum covers it and all pools. */
typedef struct header {
    char magic[8], site[40];
    uint64_t sum;
    int64_t began_ms, tick_ms;
    double pue;
    uint32_t gpu_count, pool_count;
    account_gpu_t gpus[HELIO_NVML_GPUS_MAX];
    account_meter_t meter;
} header_t;

static uint64_t sum_of(header_t *header, const account_pool_t *pools)
{
    header->sum = 0;
    uint64_t sum = helio_hash(HELIO_HASH_SEED, header, sizeof *header);
    return helio_hash(sum, pools, header->pool_count * sizeof *pools);
}

static void path_of(const helio_energy_account_t *self, const char *name, char ret_path[PATH_SIZE])
{
    (void)snprintf(ret_path, PATH_SIZE, "%s/%s", self->state_dir, name);
}

helio_rc helio_energy_account_save(helio_energy_account_t *self, helio_error_t *err)
{
    char path[PATH_SIZE], fresh[PATH_SIZE];
    if (!self->state_dir)
        return HELIO_OK;
    path_of(self, "energy.book", path);
    path_of(self, "energy.book.new", fresh);
    header_t *header = helio_new(1, sizeof *header); /* padding too: the checksum covers it */
    memcpy(header->magic, magic, sizeof magic);
    (void)helio_text_copy(self->profile->name, header->site, sizeof header->site);
    header->began_ms = self->began_ms;
    header->tick_ms = self->tick_ms;
    header->pue = self->pue;
    header->gpu_count = self->gpu_count;
    header->pool_count = self->profile->pools.count + 1;
    memcpy(header->gpus, self->gpus, sizeof self->gpus);
    header->meter = self->meter;
    header->sum = sum_of(header, self->pools);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = fd >= 0 && helio_write_all(fd, header, sizeof *header) &&
                helio_write_all(fd, self->pools, header->pool_count * sizeof *self->pools);
    int fault = errno;
    if (fd >= 0 && close(fd) != 0)
        good = false;
    free(header);
    if (!good || rename(fresh, path) != 0)
        return helio_fail(err, HELIO_IO, "%.400s: %s", fresh, strerror(good ? errno : fault));
    return HELIO_OK;
}

/*  If the number of GPUs changed, an index can mean another GPU. */
static void take_over(helio_energy_account_t *self, const header_t *header, const account_pool_t *pools)
{
    self->began_ms = header->began_ms;
    self->tick_ms = header->tick_ms;
    if (helio_energy_account_is_pue(header->pue))
        self->pue = header->pue;
    if (header->gpu_count == self->gpu_count)
        memcpy(self->gpus, header->gpus, sizeof self->gpus);
    self->meter = header->meter;
    self->meter.source[sizeof self->meter.source - 1] = '\0';
    for (uint32_t i = 0; i < self->gpu_count; i++)
        self->gpus[i].holder[HELIO_ENERGY_ACCOUNT_NAME_SIZE - 1] = '\0';
    for (uint32_t p = 0; p <= self->profile->pools.count; p++)
        for (uint32_t n = 0; n < header->pool_count; n++)
            if (memcmp(self->pools[p].name, pools[n].name, sizeof pools[n].name) == 0)
                self->pools[p] = pools[n];
}

void helio_energy_account_load(helio_energy_account_t *self, int64_t wall_ms)
{
    char path[PATH_SIZE];
    if (!self->state_dir)
        return;
    path_of(self, "energy.book", path);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    header_t *header = helio_new(1, sizeof *header);
    account_pool_t *pools = helio_new(HELIO_SITE_POOLS_MAX + 1, sizeof *pools);
    bool good = fread(header, sizeof *header, 1, file) == 1 && memcmp(header->magic, magic, sizeof magic) == 0 &&
                header->pool_count <= HELIO_SITE_POOLS_MAX + 1 && helio_text_is(self->profile->name, header->site) &&
                fread(pools, sizeof *pools, header->pool_count, file) == header->pool_count;
    uint64_t said = header->sum;
    if (good && sum_of(header, pools) == said && header->tick_ms <= wall_ms)
        take_over(self, header, pools);
    (void)fclose(file);
    free(pools);
    free(header);
}
