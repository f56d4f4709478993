/*  capacity.c -- bisects the size of the fleet. */
#include "simulator/experiment/capacity.h"

#include <math.h>

/*  Eight halvings of a factor of four find the size to half a percent: below what a node of a pool is. */
enum { STEPS = 8 };
static const double FACTOR_MOST = 4;
static const double SHARE = .95;

/*  Jobs that no longer fit anywhere have not waited. */
static bool suffices(const exp_result_t *result, const exp_result_t *own, const exp_result_t *isolated)
{
    return result->finished >= own->finished && exp_result_wait_s(result, SHARE) <= exp_result_wait_s(isolated, SHARE);
}

/*  On a fleet that many times as large. *ret_gpus: what that makes in whole nodes. */
static bool suffices_at(const exp_world_t *world, const exp_policy_t *policy, double factor, const exp_result_t *own,
                        const exp_result_t *isolated, double *ret_gpus)
{
    helio_arena_t *arena = helio_arena_new();
    exp_fleet_t fleet = exp_fleet_copy(world->fleet, arena);
    exp_world_t scaled = *world;
    exp_result_t result;
    bool enough = false;
    scaled.fleet = &fleet;
    scaled.detailed = false;
    scaled.classes = NULL;
    if (exp_fleet_scale(&fleet, factor) == HELIO_OK) {
        exp_run(&scaled, policy, NULL, NULL, &result);
        enough = suffices(&result, own, isolated);
        exp_result_clear(&result);
    }
    *ret_gpus = (double)exp_fleet_gpus(&fleet);
    helio_arena_destroy(&arena);
    return enough;
}

double exp_capacity_ratio(const exp_world_t *world, const exp_policy_t *policy, const exp_result_t *own,
                          const exp_result_t *isolated)
{
    double gpus = (double)exp_fleet_gpus(world->fleet), best = gpus, tried;
    bool enough = suffices(own, own, isolated);
    double low = enough ? 1 / FACTOR_MOST : 1, high = enough ? 1 : FACTOR_MOST; /* too small; large enough */
    if (!enough && !suffices_at(world, policy, high, own, isolated, &best))
        return NAN;
    for (int i = 0; i < STEPS; i++) {
        double middle = sqrt(low * high);
        if (suffices_at(world, policy, middle, own, isolated, &tried)) {
            high = middle;
            best = tried;
        } else {
            low = middle;
        }
    }
    return gpus / best;
}
