/*  devices.c -- places devices in slots: those of the last start first. */
#include "site-agent/agent/devices.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/file.h"

enum { PATH_SIZE = 4200, FILE_MAX = 1 << 20, PLACES_MAX = 4096 };

/* ---- the file ------------------------------------------------------------------------------------------ */

static helio_text_t word_of(helio_text_t *line)
{
    uint32_t size = 0;
    while (size < line->size && line->data[size] != ' ')
        size++;
    helio_text_t word = {line->data, size};
    uint32_t skip = size < line->size ? size + 1 : size;
    *line = (helio_text_t){line->data + skip, line->size - skip};
    return word;
}

static bool parse_place(helio_text_t line, helio_device_place_t *ret_place)
{
    char number[12], *end = number;
    ret_place->pool = word_of(&line);
    bool good = helio_text_copy(word_of(&line), number, sizeof number) && number[0] >= '0' && number[0] <= '9';
    unsigned long slot = good ? strtoul(number, &end, 10) : 0;
    ret_place->slot = (uint32_t)slot;
    ret_place->uuid = line;
    return good && *end == '\0' && slot < HELIO_JOB_GPUS_PER_NODE_MAX && ret_place->pool.size && line.size &&
           !memchr(line.data, ' ', line.size);
}

static helio_rc parse_places(helio_text_t text, helio_arena_t *arena, helio_device_places_t *ret_places)
{
    helio_device_place_t *items = helio_arena_alloc(arena, PLACES_MAX, sizeof *items);
    uint32_t count = 0;
    while (text.size) {
        const char *end = memchr(text.data, '\n', text.size);
        if (!end || count == PLACES_MAX)
            return HELIO_INVALID;
        uint32_t size = (uint32_t)(end - text.data);
        if (!parse_place((helio_text_t){text.data, size}, &items[count++]))
            return HELIO_INVALID;
        text = (helio_text_t){end + 1, text.size - size - 1};
    }
    *ret_places = (helio_device_places_t){items, count};
    return HELIO_OK;
}

helio_rc helio_device_places_load(const char *state_dir, helio_arena_t *arena, helio_device_places_t *ret_places,
                                  helio_error_t *err)
{
    char path[PATH_SIZE];
    *ret_places = (helio_device_places_t){0};
    (void)snprintf(path, sizeof path, "%.4100s/devices", state_dir);
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? HELIO_OK : helio_fail(err, HELIO_IO, "%s: %s", path, strerror(errno));
    char *bytes = helio_arena_alloc(arena, FILE_MAX, 1);
    size_t size = fread(bytes, 1, FILE_MAX, file);
    bool read = !ferror(file) && size < FILE_MAX;
    (void)fclose(file);
    helio_rc rc = read ? parse_places((helio_text_t){bytes, (uint32_t)size}, arena, ret_places) : HELIO_INVALID;
    if (rc)
        return helio_fail(err, rc,
                          "%s is damaged: which job has which GPU is not known; remove the file when no job of this "
                          "site runs",
                          path);
    return HELIO_OK;
}

helio_rc helio_device_places_save(const char *state_dir, const helio_device_places_t *places, helio_error_t *err)
{
    char path[PATH_SIZE], fresh[PATH_SIZE];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    (void)snprintf(path, sizeof path, "%.4100s/devices", state_dir);
    (void)snprintf(fresh, sizeof fresh, "%.4100s/devices.new", state_dir);
    for (uint32_t i = 0; i < places->count; i++)
        helio_buffer_printf(&text, "%.*s %u %.*s\n", HELIO_TEXT_ARGS(places->items[i].pool), places->items[i].slot,
                            HELIO_TEXT_ARGS(places->items[i].uuid));
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = fd >= 0 && helio_write_all(fd, text.data ? text.data : "", text.size) && fsync(fd) == 0;
    int fault = errno;
    helio_close(&fd);
    if (!good || rename(fresh, path) != 0)
        return helio_fail(err, HELIO_IO, "%s: %s", fresh, strerror(good ? errno : fault));
    int dir = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    good = dir >= 0 && fsync(dir) == 0;
    fault = errno;
    helio_close(&dir);
    return good ? HELIO_OK : helio_fail(err, HELIO_IO, "%.400s: %s", state_dir, strerror(fault));
}

/* ---- placing ------------------------------------------------------------------------------------------- */

typedef struct settling {
    const helio_nvml_t *nvml;
    const helio_share_rules_t *shares;
    helio_arena_t *arena;
    const helio_site_profile_t *site;
    const helio_device_places_t *former;
    helio_device_places_t now;
    uint64_t taken[(HELIO_NVML_GPUS_MAX + HELIO_NVML_SLICES_MAX + 63) / 64]; /* devices of earlier pools */
} settling_t;

/*  Whole GPUs first, then slices. */
static uint32_t device_count(const helio_nvml_t *nvml)
{
    return helio_nvml_count(nvml) + helio_nvml_slice_count(nvml);
}

static helio_device_t device_at(const settling_t *self, uint32_t index)
{
    uint32_t gpus = helio_nvml_count(self->nvml);
    if (index < gpus)
        return (helio_device_t){.name = helio_arena_printf(self->arena, "%u", index),
                                .uuid = helio_text_of(helio_nvml_gpu(self->nvml, index)->uuid),
                                .gpu = index,
                                .slice = HELIO_DEVICE_WHOLE};
    const helio_gpu_slice_device_t *slice = helio_nvml_slice(self->nvml, index - gpus);
    return (helio_device_t){.name = helio_text_of(slice->uuid),
                            .uuid = helio_text_of(slice->uuid),
                            .gpu = slice->gpu,
                            .slice = index - gpus};
}

static bool is_of_pool(const settling_t *self, uint32_t index, const helio_pool_t *pool)
{
    char name[HELIO_GPU_GROUP_SIZE];
    return helio_gpu_group_name(self->nvml, index, name) && helio_text_is(pool->gpu, name);
}

static bool has_pool(const helio_site_profile_t *site, helio_text_t name)
{
    for (uint32_t i = 0; i < site->pools.count; i++)
        if (helio_text_equal(site->pools.items[i].name, name))
            return true;
    return false;
}

/*  Where it was. NULL: nowhere that still exists. */
static const helio_device_place_t *former_place(const settling_t *self, helio_text_t uuid)
{
    for (uint32_t i = 0; i < self->former->count; i++)
        if (helio_text_equal(self->former->items[i].uuid, uuid) && has_pool(self->site, self->former->items[i].pool))
            return &self->former->items[i];
    return NULL;
}

static void note(settling_t *self, helio_text_t pool, uint32_t slot, helio_text_t uuid)
{
    if (self->now.count < PLACES_MAX && uuid.size)
        self->now.items[self->now.count++] = (helio_device_place_t){.pool = pool, .uuid = uuid, .slot = slot};
}

static void take(settling_t *self, helio_pool_devices_t *devices, uint32_t slot, uint32_t index)
{
    self->taken[index / 64] |= UINT64_C(1) << index % 64;
    devices->items[slot] = device_at(self, index);
    note(self, devices->pool, slot, devices->items[slot].uuid);
}

typedef struct candidates {
    uint32_t fresh, known; /* devices without a place, and with one in this pool */
    uint32_t beyond;       /* one more than the highest of these places */
} candidates_t;

static bool is_free(const settling_t *self, uint32_t index, const helio_pool_t *pool,
                    const helio_device_place_t **ret_place)
{
    if (self->taken[index / 64] >> index % 64 & 1 || !is_of_pool(self, index, pool))
        return false;
    *ret_place = former_place(self, device_at(self, index).uuid);
    return !*ret_place || helio_text_equal((*ret_place)->pool, pool->name);
}

static candidates_t look(const settling_t *self, const helio_pool_t *pool)
{
    candidates_t found = {0};
    const helio_device_place_t *place;
    for (uint32_t i = 0; i < device_count(self->nvml); i++) {
        if (!is_free(self, i, pool, &place))
            continue;
        found.fresh += !place;
        found.known += place != NULL;
        if (place && place->slot >= found.beyond)
            found.beyond = place->slot + 1;
    }
    return found;
}

/*  A device whose place the site file has cut off stays out, since a job may use it. */
static void place_all(settling_t *self, const helio_pool_t *pool, helio_pool_devices_t *devices)
{
    const helio_device_place_t *place;
    for (uint32_t i = 0; i < device_count(self->nvml); i++) {
        if (!is_free(self, i, pool, &place) || !place)
            continue;
        if (place->slot < devices->count && !devices->items[place->slot].name.size)
            take(self, devices, place->slot, i);
        else
            note(self, devices->pool, place->slot, place->uuid);
    }
    uint32_t slot = 0;
    for (uint32_t i = 0; i < device_count(self->nvml); i++) {
        if (!is_free(self, i, pool, &place) || place)
            continue;
        while (slot < devices->count && devices->items[slot].name.size)
            slot++;
        if (slot == devices->count)
            return;
        take(self, devices, slot, i);
    }
}

static helio_rc place_pool(settling_t *self, helio_pool_t *pool, bool declared, helio_pool_devices_t *devices,
                           helio_error_t *err)
{
    uint32_t per = devices->jobs_per_gpu, most = HELIO_JOB_GPUS_PER_NODE_MAX / per;
    candidates_t found = look(self, pool);
    uint32_t count = found.fresh + found.known;
    if (declared) {
        devices->count = pool->gpus_per_node / per;
        if (count < devices->count)
            return helio_fail(err, HELIO_INVALID,
                              "pool '%.*s' declares %u of the model %.*s, and other pools of the site file leave it %u",
                              HELIO_TEXT_ARGS(pool->name), devices->count, HELIO_TEXT_ARGS(pool->gpu), count);
    } else {
        devices->count = count > found.beyond ? count : found.beyond;
        devices->count = devices->count < most ? devices->count : most;
        pool->gpus_per_node = devices->count * per;
    }
    devices->items = helio_arena_alloc(self->arena, devices->count, sizeof *devices->items);
    for (uint32_t i = 0; i < devices->count; i++)
        devices->items[i] = (helio_device_t){.slice = HELIO_DEVICE_WHOLE};
    place_all(self, pool, devices);
    return HELIO_OK;
}

/*  A machine without a driver: the numbers that the site file declares. */
static void number_pool(settling_t *self, const helio_pool_t *pool, helio_pool_devices_t *devices)
{
    devices->count = pool->gpus_per_node / devices->jobs_per_gpu;
    devices->items = helio_arena_alloc(self->arena, devices->count, sizeof *devices->items);
    for (uint32_t i = 0; i < devices->count; i++)
        devices->items[i] =
            (helio_device_t){.name = helio_arena_printf(self->arena, "%u", i), .gpu = i, .slice = HELIO_DEVICE_WHOLE};
}

static helio_rc settle_pool(settling_t *self, const helio_gpu_inventory_t *inventory, helio_pool_t *pool,
                            helio_site_devices_t *ret_devices, helio_error_t *err)
{
    uint32_t per = helio_shares_per_gpu(self->shares, pool->name);
    bool declared = pool->gpus_per_node > 0, driver = device_count(self->nvml) > 0;
    if (pool->gpus_per_node % per)
        return helio_fail(err, HELIO_INVALID,
                          "pool '%.*s' declares %u shares a node, which is no multiple of jobs_per_gpu %u",
                          HELIO_TEXT_ARGS(pool->name), pool->gpus_per_node, per);
    helio_rc rc = helio_gpu_inventory_fill(inventory, self->arena, per, pool, err);
    if (rc || !pool->gpus_per_node || (!driver && per == 1))
        return rc;
    helio_pool_devices_t *devices = &ret_devices->pools[ret_devices->count];
    *devices = (helio_pool_devices_t){.pool = pool->name, .jobs_per_gpu = per, .memory_bytes = pool->gpu_memory_bytes};
    if (driver)
        rc = place_pool(self, pool, declared, devices, err);
    else
        number_pool(self, pool, devices);
    ret_devices->count += devices->count > 0;
    return rc;
}

helio_rc helio_devices_settle(const helio_nvml_t *nvml, const helio_share_rules_t *shares, helio_arena_t *arena,
                              helio_site_profile_t *site, helio_device_places_t *places,
                              helio_site_devices_t *ret_devices, helio_error_t *err)
{
    settling_t self = {.nvml = nvml, .shares = shares, .arena = arena, .site = site, .former = places};
    self.now.items = helio_arena_alloc(arena, PLACES_MAX, sizeof *self.now.items);
    helio_gpu_inventory_t *inventory = helio_arena_alloc(arena, 1, sizeof *inventory);
    helio_gpu_inventory(nvml, inventory);
    *ret_devices =
        (helio_site_devices_t){.pools = helio_arena_alloc(arena, site->pools.count, sizeof *ret_devices->pools)};
    helio_rc rc = HELIO_OK;
    for (uint32_t i = 0; i < site->pools.count && !rc; i++)
        if (site->pools.items[i].nodes == 1)
            rc = settle_pool(&self, inventory, &site->pools.items[i], ret_devices, err);
    if (!rc)
        *places = self.now;
    return rc;
}
