/*  devices.c -- from the slots of an attempt to what its processes see. */
#include "site-agent/backends/devices.h"

const helio_pool_devices_t *helio_devices_of(const helio_site_devices_t *self, helio_text_t pool)
{
    for (uint32_t i = 0; self && i < self->count; i++)
        if (helio_text_equal(self->pools[i].pool, pool))
            return &self->pools[i];
    return NULL;
}

/*  The devices of the slots, each once, in the order of the slots, and how many shares of each. */
typedef struct held {
    uint32_t device[HELIO_JOB_GPUS_PER_NODE_MAX];
    uint32_t shares[HELIO_JOB_GPUS_PER_NODE_MAX];
} held_t;

/*  Returns their number. */
static uint32_t devices_of(const helio_pool_devices_t *self, const helio_slot_t *slots, held_t *ret_held)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < slots->gpus.count && i < HELIO_JOB_GPUS_PER_NODE_MAX; i++) {
        uint32_t device = slots->gpus.items[i] % self->count, at = 0;
        while (at < count && ret_held->device[at] != device)
            at++;
        if (at == count) {
            ret_held->device[count] = device;
            ret_held->shares[count++] = 0;
        }
        ret_held->shares[at]++;
    }
    return count;
}

helio_rc helio_devices_visible(const helio_pool_devices_t *self, const helio_slot_t *slots, helio_arena_t *arena,
                               helio_text_t *ret_visible, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    held_t held;
    uint32_t count = self ? devices_of(self, slots, &held) : slots->gpus.count;
    for (uint32_t i = 0; i < count; i++) {
        helio_buffer_text(&text, i ? "," : "");
        if (!self) {
            helio_buffer_printf(&text, "%u", slots->gpus.items[i]);
            continue;
        }
        helio_text_t name = self->items[held.device[i]].name;
        if (!name.size)
            return helio_fail(err, HELIO_NOT_FOUND, "device %u of pool '%.*s' is gone", held.device[i],
                              HELIO_TEXT_ARGS(self->pool));
        helio_buffer_printf(&text, "%.*s", HELIO_TEXT_ARGS(name));
    }
    *ret_visible = helio_arena_text(arena, helio_buffer_view(&text));
    return HELIO_OK;
}

uint32_t helio_devices_percent(const helio_pool_devices_t *self, const helio_slot_t *slots)
{
    held_t held;
    uint32_t count = devices_of(self, slots, &held), least = self->jobs_per_gpu;
    for (uint32_t i = 0; i < count; i++)
        least = held.shares[i] < least ? held.shares[i] : least;
    uint32_t percent = 100 * least / self->jobs_per_gpu;
    return percent ? percent : 1;
}

helio_text_t helio_devices_memory(const helio_pool_devices_t *self, const helio_slot_t *slots, helio_arena_t *arena)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    held_t held;
    uint32_t count = self->memory_bytes ? devices_of(self, slots, &held) : 0;
    for (uint32_t i = 0; i < count; i++)
        helio_buffer_printf(&text, "%s%u=%lluM", i ? "," : "", i,
                            (unsigned long long)((self->memory_bytes >> 20) * held.shares[i]));
    return helio_arena_text(arena, helio_buffer_view(&text));
}
