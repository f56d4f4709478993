/*  inputs.c -- reads the files of an experiment. */
#include "simulator/experiment/inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/experiment/links.h"

static const double PRICE_MOST = 1e6; /* per MWh; of a forecast */

static helio_rc read_text(const char *path, helio_buffer_t *text, helio_error_t *err)
{
    char block[65536];
    size_t size;
    FILE *file = fopen(path, "re");
    if (!file)
        return helio_fail(err, HELIO_IO, "%s: %s", path, strerror(errno));
    text->max = HELIO_SPEC_SOURCE_MAX + 1; /* one more than a fleet file may have: the reader says so */
    while ((size = fread(block, 1, sizeof block, file)) > 0 && !text->overflow)
        helio_buffer_append(text, block, size);
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    if (failed || text->overflow)
        return helio_fail(err, failed ? HELIO_IO : HELIO_TOO_BIG, "%s: %s", path,
                          failed ? strerror(errno) : "larger than a fleet file may be");
    return HELIO_OK;
}

/*  Prints the errors of the file itself; then err has no text. */
static helio_rc load_fleet(const char *path, helio_arena_t *arena, FILE *problems, exp_fleet_t *ret_fleet,
                           helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0}, complaint = {0};
    helio_rc rc = read_text(path, &text, err);
    if (rc != HELIO_OK)
        return rc;
    helio_diagnostics_t wrong;
    helio_spec_source_t source = {helio_arena_text(arena, helio_buffer_view(&text)), path, 1};
    rc = exp_fleet_parse(source, arena, ret_fleet, &wrong);
    if (rc == HELIO_OK)
        return rc;
    helio_diagnostics_text(&wrong, isatty(fileno(problems)) == 1 && !getenv("NO_COLOR"), &complaint);
    (void)fprintf(problems, "%.*s", HELIO_TEXT_ARGS(helio_buffer_view(&complaint)));
    *err = (helio_error_t){.code = rc};
    return rc;
}

static helio_rc missing(const char *path, const char *what, helio_text_t region, const char *kind, helio_text_t site,
                        helio_error_t *err)
{
    return helio_fail(err, HELIO_INVALID, "%s: no %s of '%.*s', the %s of site '%.*s'", path, what,
                      HELIO_TEXT_ARGS(region), kind, HELIO_TEXT_ARGS(site));
}

/*  Every site needs a carbon series; and a price and a forecast, if there are any. */
static helio_rc check_regions(const exp_request_t *request, exp_inputs_t *inputs, helio_error_t *err)
{
    const exp_world_t *world = &inputs->world;
    for (uint32_t i = 0; i < inputs->fleet.count; i++) {
        const exp_fleet_site_t *site = &inputs->fleet.items[i];
        const helio_site_profile_t *profile = &site->profile;
        if (!exp_series_find(world->carbon, profile->region))
            return missing(request->carbon, "series", profile->region, "region", profile->name, err);
        if (world->price && !exp_series_find(world->price, site->price_region))
            return missing(request->price, "series", site->price_region, "price region", profile->name, err);
        if (world->forecast && !exp_forecast_find(world->forecast, site->forecast_region))
            return missing(request->forecast, "forecasts", site->forecast_region, "forecast region", profile->name,
                           err);
    }
    return HELIO_OK;
}

/*  Not every region has prices that are known ahead, but a file that concerns no site is a mistake. */
static helio_rc check_price_forecast(const exp_request_t *request, const exp_inputs_t *inputs, helio_error_t *err)
{
    if (!request->price_forecast)
        return HELIO_OK;
    if (!request->price)
        return helio_fail(err, HELIO_INVALID, "%s: --price-forecast needs the prices themselves: --price FILE",
                          request->price_forecast);
    for (uint32_t i = 0; i < inputs->fleet.count; i++)
        if (exp_forecast_find(inputs->world.price_forecast, inputs->fleet.items[i].price_region))
            return HELIO_OK;
    return helio_fail(err, HELIO_INVALID, "%s: no site has one of its regions as price region; the first is '%s'",
                      request->price_forecast, inputs->world.price_forecast->region);
}

/*  As above; and the rent of a spot pool must be known. */
static helio_rc check_rents(const exp_request_t *request, const exp_inputs_t *inputs, helio_error_t *err)
{
    bool any = !request->rent;
    for (uint32_t i = 0; i < inputs->fleet.count; i++) {
        const helio_site_profile_t *site = &inputs->fleet.items[i].profile;
        for (uint32_t p = 0; p < site->pools.count; p++) {
            const helio_pool_t *pool = &site->pools.items[p];
            bool has = exp_world_rent(&inputs->world, i, p) != NULL;
            any = any || has;
            if (pool->spot && !has && pool->spot_usd_per_gpu_h <= 0)
                return helio_fail(err, HELIO_INVALID,
                                  "%s: site '%.*s', pool '%.*s': a spot pool needs spot_usd_per_gpu_h, or a series of "
                                  "--rent",
                                  request->fleet, HELIO_TEXT_ARGS(site->name), HELIO_TEXT_ARGS(pool->name));
        }
    }
    return any ? HELIO_OK
               : helio_fail(err, HELIO_INVALID, "%s: no rented pool of the fleet is in it; the first is '%s'",
                            request->rent, inputs->world.rent->region);
}

static helio_rc check_distances(const exp_fleet_t *fleet, helio_error_t *err)
{
    uint32_t us;
    for (uint32_t from = 0; from < fleet->count; from++)
        for (uint32_t to = 0; to < fleet->count; to++) {
            helio_rc rc = exp_round_trip_us(fleet, from, to, &us, err);
            if (rc != HELIO_OK)
                return rc;
        }
    return HELIO_OK;
}

/*  The shape of the trace's jobs stays: it follows from GPUs per node alone. */
static helio_rc scale(const exp_request_t *request, exp_inputs_t *inputs, helio_error_t *err)
{
    double demand = exp_trace_demand(&inputs->trace);
    if (request->load <= 0)
        return HELIO_OK;
    if (demand <= 0)
        return helio_fail(err, HELIO_INVALID, "%s: --load needs jobs that are submitted at different times",
                          request->jobs);
    double factor = demand / (request->load * (double)exp_fleet_gpus(&inputs->fleet));
    if (exp_fleet_scale(&inputs->fleet, factor) != HELIO_OK)
        return helio_fail(err, HELIO_TOO_BIG,
                          "%s: --load %g makes the fleet %.3g times as large: a pool has %d nodes at most",
                          request->fleet, request->load, factor, HELIO_JOB_NODES_MAX);
    return HELIO_OK;
}

static helio_rc load_series(const exp_request_t *request, exp_world_t *world, helio_error_t *err)
{
    const exp_series_unit_t grams = {"carbon_g_per_kwh", 1}, grams_ahead = {"carbon_g_per_kwh_forecast", 1};
    const exp_series_unit_t money[] = {{"price_usd_mwh", 1e-3}, {"price_eur_mwh", request->usd_per_eur * 1e-3}};
    const exp_series_unit_t money_ahead[] = {{"price_usd_mwh_forecast", 1e-3},
                                             {"price_eur_mwh_forecast", request->usd_per_eur * 1e-3}};
    helio_rc rc = exp_series_load(request->carbon, &grams, 1, request->shift_ms, &world->carbon, err);
    if (rc == HELIO_OK && request->price)
        rc = exp_series_load(request->price, money, 2, request->shift_ms, &world->price, err);
    if (rc == HELIO_OK && request->forecast)
        rc = exp_forecast_load(request->forecast, &grams_ahead, 1, 0, request->shift_ms, &world->forecast, err);
    if (rc == HELIO_OK && request->price_forecast)
        rc = exp_forecast_load(request->price_forecast, money_ahead, 2, -PRICE_MOST, request->shift_ms,
                               &world->price_forecast, err);
    return rc;
}

helio_rc exp_inputs_load(const exp_request_t *request, helio_arena_t *arena, FILE *problems, exp_inputs_t *ret_inputs,
                         helio_error_t *err)
{
    exp_inputs_t *inputs = ret_inputs;
    helio_rc rc = load_fleet(request->fleet, arena, problems, &inputs->fleet, err);
    rc = rc == HELIO_OK && request->by_distance ? check_distances(&inputs->fleet, err) : rc;
    rc = rc == HELIO_OK ? load_series(request, &inputs->world, err) : rc;
    rc = rc == HELIO_OK ? check_regions(request, inputs, err) : rc;
    rc = rc == HELIO_OK ? check_price_forecast(request, inputs, err) : rc;
    inputs->world.fleet = &inputs->fleet;
    if (rc == HELIO_OK && request->rent)
        rc = exp_series_load_rents(request->rent, request->shift_ms, &inputs->world.rent, err);
    rc = rc == HELIO_OK ? check_rents(request, inputs, err) : rc;
    rc = rc == HELIO_OK ? exp_trace_load(request->jobs, &inputs->fleet, &request->defaults, arena, &inputs->trace, err)
                        : rc;
    if (rc == HELIO_OK && request->local_jobs)
        rc = exp_local_load(request->local_jobs, &inputs->fleet, &inputs->local, err);
    if (rc == HELIO_OK && request->inference)
        rc = exp_series_load_demand(request->inference, request->shift_ms, &inputs->demand, err);
    rc = rc == HELIO_OK ? exp_reserves_new(&inputs->fleet, inputs->demand, &inputs->reserves, err) : rc;
    rc = rc == HELIO_OK ? scale(request, inputs, err) : rc;
    inputs->world.reserves = inputs->reserves;
    inputs->world.trace = &inputs->trace;
    inputs->world.local = request->local_jobs ? &inputs->local : NULL;
    return rc;
}

void exp_inputs_clear(exp_inputs_t *self)
{
    exp_trace_free(&self->trace);
    exp_local_free(&self->local);
    exp_reserves_destroy(&self->reserves);
    exp_series_free(&self->demand);
    exp_series_free(&self->world.carbon);
    exp_series_free(&self->world.price);
    exp_series_free(&self->world.rent);
    exp_forecast_free(&self->world.forecast);
    exp_forecast_free(&self->world.price_forecast);
}
