/*  devices.h -- the devices of this machine that the slots of its pools stand for: whole GPUs, MIG slices, or shares of
 *  GPUs that several jobs use at a time. The core hands out slots; a backend turns them into what a job sees. Pure.
 */
#ifndef HELIO_BACKENDS_DEVICES_H
#define HELIO_BACKENDS_DEVICES_H

#include "site-agent/core/agent_core.h"

#define HELIO_DEVICE_WHOLE UINT32_MAX

typedef struct helio_device {
    helio_text_t name; /* in CUDA_VISIBLE_DEVICES: "2", "MIG-…"; "" = the device is gone, and its slot is not offered */
    helio_text_t uuid; /* "" = not known */
    uint32_t gpu;      /* the driver's index of the GPU that it is, or is a part of */
    uint32_t slice;    /* the index among the driver's slices; HELIO_DEVICE_WHOLE = it is none */
} helio_device_t;

/*  A pool of one node. It has count x jobs_per_gpu slots. Slot s is a share of device s % count, so that the first jobs
 *  get a GPU each, and neighbours come when every GPU has a job. */
typedef struct helio_pool_devices {
    helio_text_t pool;
    helio_device_t *items;
    uint32_t count;
    uint32_t jobs_per_gpu; /* 1 = a device is never shared */
    helio_text_t mps_pipe; /* MPS: the directory by which jobs reach its daemon; "" = no MPS */
    uint64_t memory_bytes; /* of one share; 0 = not known */
} helio_pool_devices_t;

typedef struct helio_site_devices {
    helio_pool_devices_t *pools;
    uint32_t count;
} helio_site_devices_t;

/*  NULL: the pool's slots are the GPUs' own numbers. */
const helio_pool_devices_t *helio_devices_of(const helio_site_devices_t *self, helio_text_t pool);
static inline const helio_device_t *helio_device_at(const helio_pool_devices_t *self, uint32_t slot)
{
    return &self->items[slot % self->count];
}

/*  The value of CUDA_VISIBLE_DEVICES: each device once. self NULL = the slots' numbers. NOT_FOUND: a device is gone. */
HELIO_MUST_CHECK helio_rc helio_devices_visible(const helio_pool_devices_t *self, const helio_slot_t *slots,
                                                helio_arena_t *arena, helio_text_t *ret_visible, helio_error_t *err);
/*  The share of its least device that the job has, in per cent, rounded down; at least 1. */
uint32_t helio_devices_percent(const helio_pool_devices_t *self, const helio_slot_t *slots);
/*  The memory that the job may take of each device, as MPS reads it ("0=10240M,1=10240M", in the order of
 *  helio_devices_visible); "" = not known. */
helio_text_t helio_devices_memory(const helio_pool_devices_t *self, const helio_slot_t *slots, helio_arena_t *arena);

#endif
