/*  test_devices.c -- which device a slot is, and that it stays so over restarts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "site-agent/agent/gpus.h"

#define H100 "NVIDIA H100 80GB HBM3"

typedef struct fixture {
    helio_arena_t *arena;
    helio_agent_settings_t settings;
    helio_pool_t pools[3];
    helio_share_rule_t share;
    helio_error_t err;
    char folder[64];
} fixture_t;

static int make(void **state)
{
    fixture_t *self = helio_new(1, sizeof *self);
    self->arena = helio_arena_new();
    (void)snprintf(self->folder, sizeof self->folder, "/tmp/helio-devices-XXXXXX");
    assert_non_null(mkdtemp(self->folder));
    self->settings.state_dir = helio_text_of(self->folder);
    self->settings.site.backend = HELIO_TEXT("local");
    self->settings.site.pools.items = self->pools;
    *state = self;
    return 0;
}

static int unmake(void **state)
{
    fixture_t *self = *state;
    char path[128];
    helio_site_gpus_close(&self->settings);
    helio_arena_destroy(&self->arena);
    (void)snprintf(path, sizeof path, "%s/devices", self->folder);
    (void)unlink(path);
    (void)rmdir(self->folder);
    free(self);
    const char *names[] = {"NVML_DOUBLE_NAMES", "NVML_DOUBLE_MIG", "NVML_DOUBLE_BUSY", "NVML_DOUBLE_SILENT",
                           "NVML_DOUBLE_FILE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unsetenv(names[i]);
    return 0;
}

static void machine(const char *names, const char *slices)
{
    (void)setenv("NVML_DOUBLE_NAMES", names, 1);
    (void)setenv("NVML_DOUBLE_MIG", slices, 1);
}

static helio_pool_t pool_of(const char *name, const char *gpu, uint32_t gpus, uint32_t sharing)
{
    return (helio_pool_t){
        .name = helio_text_of(name), .gpu = helio_text_of(gpu), .nodes = 1, .gpus_per_node = gpus, .sharing = sharing};
}

/*  As an agent that starts anew does, with the pools as the site file has them. */
static helio_rc start_with(fixture_t *self, const char *library, const helio_pool_t *pools, uint32_t count)
{
    helio_site_gpus_close(&self->settings);
    memcpy(self->pools, pools, count * sizeof *pools);
    self->settings.site.pools.count = count;
    helio_rc rc = helio_site_gpus_open(&self->settings, library, self->arena, &self->err);
    return rc ? rc : helio_site_gpus_begin(&self->settings, &self->err);
}

static void start(fixture_t *self, const helio_pool_t *pools, uint32_t count)
{
    assert_int_equal(start_with(self, HELIO_NVML_DOUBLE, pools, count), HELIO_OK);
}

static const char *device(const fixture_t *self, const char *pool, uint32_t slot)
{
    const helio_pool_devices_t *devices = helio_devices_of(&self->settings.gpus->devices, helio_text_of(pool));
    assert_non_null(devices);
    return helio_arena_string(self->arena, helio_device_at(devices, slot)->name);
}

static void devices__of_a_pool_of_slices_are_its_mig_devices_by_uuid(void **state)
{
    fixture_t *self = *state;
    machine(H100 ";" H100, "0:1g.10gb@a,,1g.10gb@b,3g.40gb@c");
    const helio_pool_t pools[] = {pool_of("small", "H100/1g.10gb", 0, HELIO_SHARING_MIG),
                                  pool_of("half", "H100/3g.40gb", 0, HELIO_SHARING_MIG),
                                  pool_of("whole", "H100", 0, HELIO_SHARING_NONE)};
    start(self, pools, 3);
    assert_int_equal(self->pools[0].gpus_per_node, 2); /* capacity is in slices */
    assert_true(self->pools[0].gpu_memory_bytes == 10ULL << 30);
    assert_string_equal(device(self, "small", 0), "MIG-double-a");
    assert_string_equal(device(self, "small", 1), "MIG-double-b");
    assert_string_equal(device(self, "half", 0), "MIG-double-c");
    assert_int_equal(self->pools[2].gpus_per_node, 1); /* the other one is cut */
    assert_string_equal(device(self, "whole", 0), "1");
    assert_null(self->settings.nvml); /* nothing measures a slice */
    uint32_t both[] = {1, 0};
    helio_slot_t slot = {.gpus = {both, 2}};
    helio_text_t visible;
    assert_int_equal(
        helio_devices_visible(&self->settings.gpus->devices.pools[0], &slot, self->arena, &visible, &self->err),
        HELIO_OK);
    assert_true(helio_text_is(visible, "MIG-double-b,MIG-double-a"));
}

static void devices__keep_their_slots_whatever_the_order_of_the_driver(void **state)
{
    fixture_t *self = *state;
    const helio_pool_t pool = pool_of("small", "H100/1g.10gb", 0, HELIO_SHARING_MIG);
    machine(H100, "0:1g.10gb@a,1g.10gb@b,1g.10gb@c");
    start(self, &pool, 1);
    machine(H100, "0:1g.10gb@c,1g.10gb@d,1g.10gb@b"); /* a is gone, and another one is there */
    start(self, &pool, 1);
    assert_int_equal(self->pools[0].gpus_per_node, 3);
    assert_string_equal(device(self, "small", 0), "MIG-double-d");
    assert_string_equal(device(self, "small", 1), "MIG-double-b");
    assert_string_equal(device(self, "small", 2), "MIG-double-c");
    machine(H100, "0:1g.10gb@c"); /* slot 2 is it still: the others are holes */
    start(self, &pool, 1);
    assert_int_equal(self->pools[0].gpus_per_node, 3);
    assert_string_equal(device(self, "small", 0), "");
    assert_string_equal(device(self, "small", 2), "MIG-double-c");
    helio_slots_away_t away;
    assert_true(helio_site_gpus_look(&self->settings, 0, &away));
    assert_int_equal(away.count, 2);
    assert_int_equal(away.gone, 2);
    assert_int_equal(away.slots[1], 1);
    uint32_t first = 0;
    helio_slot_t slot = {.gpus = {&first, 1}};
    helio_text_t visible;
    assert_int_equal(
        helio_devices_visible(&self->settings.gpus->devices.pools[0], &slot, self->arena, &visible, &self->err),
        HELIO_NOT_FOUND);
}

static void devices__of_a_place_that_the_file_cuts_off_stay_out(void **state)
{
    fixture_t *self = *state;
    machine(H100, "0:1g.10gb@a,1g.10gb@b,1g.10gb@c");
    helio_pool_t pool = pool_of("small", "H100/1g.10gb", 0, HELIO_SHARING_MIG);
    start(self, &pool, 1);
    machine(H100, "0:1g.10gb@b,1g.10gb@c"); /* a job may hold slot 2, which is c */
    pool.gpus_per_node = 2;
    start(self, &pool, 1);
    assert_string_equal(device(self, "small", 0), "");
    assert_string_equal(device(self, "small", 1), "MIG-double-b");
    pool.gpus_per_node = 0;
    start(self, &pool, 1);
    assert_string_equal(device(self, "small", 2), "MIG-double-c"); /* remembered all the time */
}

static void devices__are_in_one_slot_of_one_pool_over_any_restarts(void **state)
{
    fixture_t *self = *state;
    uint64_t seed = 20261127;
    char held[2][64][16] = {{{0}}}; /* what a job that began in a slot uses, for as long as the device exists */
    for (int round = 0; round < 300; round++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t slices = {0};
        char there[26] = {0};
        for (int gpu = 0; gpu < 2; gpu++) {
            helio_buffer_printf(&slices, "%s%d:", gpu ? ";" : "", gpu);
            for (int place = 0; place < 7; place++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                char name = (char)('a' + (seed >> 33) % 26);
                bool vacant = there[name - 'a'] || (seed >> 60) % 3 == 0;
                there[name - 'a'] = vacant ? there[name - 'a'] : 1;
                helio_buffer_printf(&slices, vacant ? "," : name % 2 ? "1g.10gb@%c," : "2g.20gb@%c,", name);
            }
        }
        helio_buffer_append(&slices, "", 1);
        machine(H100 ";" H100, slices.data);
        const helio_pool_t pools[] = {pool_of("odd", "H100/1g.10gb", 0, HELIO_SHARING_MIG),
                                      pool_of("even", "H100/2g.20gb", 0, HELIO_SHARING_MIG)};
        if (start_with(self, HELIO_NVML_DOUBLE, pools, 2) != HELIO_OK)
            continue; /* none of that profile is there */
        char seen[26] = {0};
        for (uint32_t p = 0; p < self->settings.gpus->devices.count; p++) {
            const helio_pool_devices_t *devices = &self->settings.gpus->devices.pools[p];
            for (uint32_t i = 0; i < devices->count; i++) {
                const char *name = helio_arena_string(self->arena, devices->items[i].name);
                if (!*name)
                    continue;
                char letter = name[strlen(name) - 1];
                assert_false(seen[letter - 'a']);
                seen[letter - 'a'] = 1;
                (void)snprintf(held[p][i], sizeof held[p][i], "%s", name + strlen("MIG-double-"));
            }
            for (uint32_t i = 0; i < devices->count;
                 i++) /* a job of an earlier round uses its own, or one that is gone */
                if (held[p][i][0] && there[held[p][i][0] - 'a'] && devices->items[i].name.size)
                    assert_string_equal(held[p][i], helio_arena_string(self->arena, devices->items[i].name) + 11);
        }
    }
}

static void devices__that_a_process_uses_are_busy_and_dead_ones_are_gone(void **state)
{
    fixture_t *self = *state;
    machine(H100 ";" H100, "0:1g.10gb@a,1g.10gb@b;1:1g.10gb@c");
    const helio_pool_t pool = pool_of("small", "H100/1g.10gb", 0, HELIO_SHARING_MIG);
    start(self, &pool, 1);
    helio_slots_away_t away;
    assert_true(helio_site_gpus_look(&self->settings, 0, &away));
    assert_int_equal(away.count, 0);
    (void)setenv("NVML_DOUBLE_BUSY", "b", 1);
    assert_true(helio_site_gpus_look(&self->settings, 0, &away));
    assert_int_equal(away.count, 1);
    assert_int_equal(away.slots[0], 1);
    assert_int_equal(away.gone, 0);
    (void)setenv("NVML_DOUBLE_SILENT", "0", 1); /* the parent of a and b */
    assert_true(helio_site_gpus_look(&self->settings, 0, &away));
    assert_int_equal(away.gone, 2);
    assert_int_equal(away.count, 2);
}

static void devices__of_time_sliced_pools_have_neighbours_up_to_the_bound(void **state)
{
    fixture_t *self = *state;
    machine("NVIDIA L4;NVIDIA L4", "");
    self->share = (helio_share_rule_t){.pool = HELIO_TEXT("l4"), .jobs_per_gpu = 4};
    self->settings.shares.items = &self->share;
    self->settings.shares.count = 1;
    helio_pool_t pool = pool_of("l4", "L4", 0, HELIO_SHARING_TIMESLICE);
    start(self, &pool, 1);
    assert_int_equal(self->pools[0].gpus_per_node, 8);
    assert_true(self->pools[0].gpu_memory_bytes == 20ULL << 30); /* a quarter of what the double says */
    assert_true(self->pools[0].base_w > 0);
    helio_pool_t whole = pool_of("whole", "L4", 2, HELIO_SHARING_NONE);
    helio_shares_fill_power(&self->settings.shares, &whole);
    assert_true(self->pools[0].base_w * 4 == whole.base_w && self->pools[0].host_w * 4 == whole.host_w);
    uint32_t of_gpu[2] = {0};
    for (uint32_t slot = 0; slot < 8; slot++)
        of_gpu[device(self, "l4", slot)[0] - '0']++;
    assert_int_equal(of_gpu[0], 4);
    assert_int_equal(of_gpu[1], 4);
    assert_string_not_equal(device(self, "l4", 0), device(self, "l4", 1)); /* the first two jobs have a GPU each */
    assert_null(self->settings.nvml);
    (void)setenv("NVML_DOUBLE_SILENT", "1", 1);
    helio_slots_away_t away;
    assert_true(helio_site_gpus_look(&self->settings, 0, &away));
    assert_int_equal(away.gone, 4);
    for (uint32_t i = 0; i < away.count; i++)
        assert_int_equal(away.slots[i] % 2, 1);
    (void)unsetenv("NVML_DOUBLE_SILENT");
    pool.gpus_per_node = 6;
    assert_int_equal(start_with(self, HELIO_NVML_DOUBLE, &pool, 1), HELIO_INVALID);
    assert_non_null(strstr(self->err.text, "no multiple of jobs_per_gpu 4"));
    pool.gpus_per_node = 12;
    assert_int_equal(start_with(self, HELIO_NVML_DOUBLE, &pool, 1), HELIO_INVALID);
    assert_non_null(strstr(self->err.text, "declares 12 shares a node, but this machine has 2 of the model L4"));
    pool.gpus_per_node = 8; /* a machine without a driver is believed */
    assert_int_equal(start_with(self, "/nowhere/libnvidia-ml.so.1", &pool, 1), HELIO_OK);
    assert_string_equal(device(self, "l4", 7), "1");
}

static void devices__of_two_pools_are_never_the_same(void **state)
{
    fixture_t *self = *state;
    machine("NVIDIA L4;NVIDIA L4;NVIDIA L4", "");
    const helio_pool_t pools[] = {pool_of("one", "L4", 1, HELIO_SHARING_NONE),
                                  pool_of("rest", "L4", 0, HELIO_SHARING_NONE)};
    start(self, pools, 2);
    assert_string_equal(device(self, "one", 0), "0");
    assert_string_equal(device(self, "rest", 0), "1");
    assert_int_equal(self->pools[1].gpus_per_node, 2);
    const helio_pool_t more[] = {pool_of("one", "L4", 1, HELIO_SHARING_NONE),
                                 pool_of("rest", "L4", 3, HELIO_SHARING_NONE)};
    assert_int_equal(start_with(self, HELIO_NVML_DOUBLE, more, 2), HELIO_INVALID);
    assert_string_equal(self->err.text,
                        "pool 'rest' declares 3 of the model L4, and other pools of the site file leave it 2");
}

static void devices__of_a_damaged_file_are_not_guessed(void **state)
{
    fixture_t *self = *state;
    const char *const damaged[] = {"small 0\n", "small 0 MIG-a", "small x MIG-a\n", "small 64 MIG-a\n", "\n"};
    const helio_pool_t pool = pool_of("small", "H100/1g.10gb", 0, HELIO_SHARING_MIG);
    machine(H100, "0:1g.10gb@a");
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/devices", self->folder);
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        assert_true(fputs(damaged[i], file) >= 0);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(start_with(self, HELIO_NVML_DOUBLE, &pool, 1), HELIO_INVALID);
        assert_non_null(strstr(self->err.text, "/devices is damaged"));
    }
}

static void devices__give_each_mps_client_its_share(void **state)
{
    fixture_t *self = *state;
    helio_device_t items[] = {{.name = HELIO_TEXT("0")}, {.name = HELIO_TEXT("1")}};
    const helio_pool_devices_t pool = {
        .items = items, .count = 2, .jobs_per_gpu = 3, .memory_bytes = 20ULL << 30, .pool = HELIO_TEXT("p")};
    uint32_t one[] = {3}, uneven[] = {0, 1, 2}, all[] = {0, 1, 2, 3, 4, 5};
    const helio_slot_t slots[] = {{.gpus = {one, 1}}, {.gpus = {uneven, 3}}, {.gpus = {all, 6}}};
    const struct {
        const char *visible, *memory;
        uint32_t percent;
    } expected[] = {{"1", "0=20480M", 33}, {"0,1", "0=40960M,1=20480M", 33}, {"0,1", "0=61440M,1=61440M", 100}};
    for (size_t i = 0; i < 3; i++) {
        helio_text_t visible;
        assert_int_equal(helio_devices_visible(&pool, &slots[i], self->arena, &visible, &self->err), HELIO_OK);
        assert_true(helio_text_is(visible, expected[i].visible));
        assert_true(helio_text_is(helio_devices_memory(&pool, &slots[i], self->arena), expected[i].memory));
        assert_int_equal(helio_devices_percent(&pool, &slots[i]), expected[i].percent);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(devices__of_a_pool_of_slices_are_its_mig_devices_by_uuid),
        TEST(devices__keep_their_slots_whatever_the_order_of_the_driver),
        TEST(devices__of_a_place_that_the_file_cuts_off_stay_out),
        TEST(devices__are_in_one_slot_of_one_pool_over_any_restarts),
        TEST(devices__that_a_process_uses_are_busy_and_dead_ones_are_gone),
        TEST(devices__of_time_sliced_pools_have_neighbours_up_to_the_bound),
        TEST(devices__of_two_pools_are_never_the_same),
        TEST(devices__of_a_damaged_file_are_not_guessed),
        TEST(devices__give_each_mps_client_its_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
