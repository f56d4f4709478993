/*  spot.c -- which jobs may use spot capacity, and which share of their work they would do again there. */
#include "federation/policy/spot.h"

#include "federation/base/number.h"
#include "federation/policy/victim_set.h"

enum { PPM = 1000000 };
static const double REDO_PPM_MAX = 1e9; /* a thousand times the run: nobody goes there */

bool helio_spot_consents(const helio_job_spec_t *spec)
{
    if (spec->spot != HELIO_SPOT_AUTO)
        return spec->spot == HELIO_SPOT_ALLOW;
    return spec->checkpoint_signal.size || spec->checkpoint_every_ms;
}

uint64_t helio_spot_lost_ms(const helio_job_spec_t *spec)
{
    if (!spec->checkpoint_signal.size)
        return spec->checkpoint_every_ms / 2;
    return helio_job_grace_ms(spec, HELIO_PREEMPT_GRACE_MS);
}

bool helio_spot_allows(const helio_requirement_t *want, const helio_pool_t *pool)
{
#ifdef HELIO_MUTANT_spot_for_all
    return true;
#endif
    return !pool->spot || want->spot;
}

uint64_t helio_spot_redo_ppm(const helio_requirement_t *want, const helio_pool_t *pool, uint64_t run_ms)
{
    if (!pool->spot || pool->interruptions_per_h <= 0)
        return 0;
    uint64_t half_ms = run_ms / 2;
    uint64_t lost_ms = want->spot_lost_ms ? helio_lesser_u64(want->spot_lost_ms, half_ms) : half_ms;
    double hours = (double)(lost_ms + HELIO_SPOT_RESTART_MS) / 3.6e6;
    double ppm = pool->interruptions_per_h * want->nodes * hours * PPM;
    return (uint64_t)(ppm < REDO_PPM_MAX ? ppm + 0.5 : REDO_PPM_MAX);
}
