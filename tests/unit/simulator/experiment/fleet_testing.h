/*  fleet_testing.h -- a fleet of three sites: north is clean and dear, south dirty and cheap, west in between and large. */
#ifndef HELIO_TESTS_SIMULATOR_FLEET_TESTING_H
#define HELIO_TESTS_SIMULATOR_FLEET_TESTING_H

#include "simulator/experiment/fleet.h"
#include "tests/unit/simulator/experiment/experiment_testing.h"

#define A_SITE(name, region, pue, nodes)                                                               \
    "  - name: " name "\n    region: " region "\n    pue: " pue "\n    pools:\n"                       \
    "      - {name: a100, gpu: A100, memory: 80GB, nodes: " nodes ", gpus_per_node: 8, owned: true,\n" \
    "         power: {idle_w: 50, base_w: 86, slope_w: 243, host_w: 100}}\n"

static const char *const three_sites =
    "sites:\n" A_SITE("north", "NO", "1.1", "2") A_SITE("south", "SO", "1.5", "2") A_SITE("west", "WE", "1.2", "4");

static inline exp_fleet_t fleet_of(const char *text)
{
    exp_fleet_t fleet;
    helio_diagnostics_t wrong;
    helio_spec_source_t source = {helio_text_of(text), "fleet.yaml", 1};
    if (exp_fleet_parse(source, arena, &fleet, &wrong) != HELIO_OK)
        fail_msg("%s", wrong.items[0].message);
    return fleet;
}

#endif
