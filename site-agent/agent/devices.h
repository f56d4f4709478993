/*  devices.h -- which device each slot of this machine's pools is, and stays.
 *
 *  A slot keeps its device over a restart of the agent, whatever the driver's order: an attempt that holds slot 3 uses the
 *  device that slot 3 was then. So the places are a file in the state directory (`devices`: a line "pool slot UUID" for
 *  each). No device is in two places. A slot whose device is gone is a hole until another device comes.
 */
#ifndef HELIO_AGENT_DEVICES_H
#define HELIO_AGENT_DEVICES_H

#include "site-agent/agent/shares.h"
#include "site-agent/backends/devices.h"
#include "site-agent/telemetry/inventory.h"

typedef struct helio_device_place {
    helio_text_t pool, uuid;
    uint32_t slot; /* of the device: a shared pool has more slots */
} helio_device_place_t;

typedef struct helio_device_places {
    helio_device_place_t *items;
    uint32_t count;
} helio_device_places_t;

/*  No file: no places. INVALID: it is damaged, with the remedy. Texts are allocated in the arena. */
HELIO_MUST_CHECK helio_rc helio_device_places_load(const char *state_dir, helio_arena_t *arena,
                                                   helio_device_places_t *ret_places, helio_error_t *err);
/*  Durable when it returns OK. */
HELIO_MUST_CHECK helio_rc helio_device_places_save(const char *state_dir, const helio_device_places_t *places,
                                                   helio_error_t *err);

/*  Completes the pools of one node from the machine's GPUs, and gives each slot its device. Pools with other numbers of
 *  nodes, and pools of a machine without GPUs that share none, get no devices. *places: those of the last start; becomes
 *  those of this one. INVALID: the file contradicts the machine. Everything lives in the arena. */
HELIO_MUST_CHECK helio_rc helio_devices_settle(const helio_nvml_t *nvml, const helio_share_rules_t *shares,
                                               helio_arena_t *arena, helio_site_profile_t *site,
                                               helio_device_places_t *places, helio_site_devices_t *ret_devices,
                                               helio_error_t *err);

#endif
