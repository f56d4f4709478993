/*  links.c -- looks up links, and estimates round trips by distance. */
#include "simulator/experiment/links.h"

#include <math.h>

/*  Light in fibre takes 5 us for a kilometre, there and back 10. Cables are about half as long again as the great
 *  circle. Only the order of sites follows from it. */
static const double US_PER_KM = 15, EARTH_RADIUS_KM = 6371;

static const exp_link_t *find(const exp_fleet_t *fleet, helio_text_t from, helio_text_t to)
{
    for (uint32_t i = 0; i < fleet->links.count; i++)
        if (helio_text_equal(fleet->links.items[i].from, from) && helio_text_equal(fleet->links.items[i].to, to))
            return &fleet->links.items[i];
    return NULL;
}

const exp_link_t *exp_link_of(const exp_fleet_t *fleet, uint32_t from, uint32_t to)
{
    helio_text_t any = HELIO_TEXT("*"), a = fleet->items[from].profile.name, b = fleet->items[to].profile.name;
    const helio_text_t ways[][2] = {{a, b}, {a, any}, {any, b}, {any, any}};
    for (size_t i = 0; fleet->links.count && i < sizeof ways / sizeof ways[0]; i++) {
        const exp_link_t *link = find(fleet, ways[i][0], ways[i][1]);
        if (link)
            return link;
    }
    return NULL;
}

helio_link_t exp_link_figures(const exp_link_t *link)
{
    return (helio_link_t){.mbps = (uint64_t)llround(link->gbps * 1000),
                          .egress_micro_usd_per_gb = llround(link->egress_usd_per_gb * 1e6),
                          .rtt_ms = link->rtt_ms};
}

helio_transfer_t exp_transfer(const exp_fleet_t *fleet, uint32_t from, uint32_t to, uint64_t bytes)
{
    const exp_link_t *link = from == to || !bytes ? NULL : exp_link_of(fleet, from, to);
    if (!link)
        return (helio_transfer_t){0};
    helio_link_t figures = exp_link_figures(link);
    return helio_transfer_of(bytes, &figures, 0);
}

static bool has_position(const helio_site_profile_t *site)
{
    return site->latitude != 0 || site->longitude != 0; /* in the Gulf of Guinea is no site: the default */
}

/*  The haversine of the angle is exact for near sites too. */
static double great_circle_km(const helio_site_profile_t *a, const helio_site_profile_t *b)
{
    const double radian = acos(-1) / 180;
    double north = sin((b->latitude - a->latitude) * radian / 2),
           east = sin((b->longitude - a->longitude) * radian / 2);
    double part = north * north + cos(a->latitude * radian) * cos(b->latitude * radian) * east * east;
    return 2 * EARTH_RADIUS_KM * asin(sqrt(fmin(1, part)));
}

helio_rc exp_round_trip_us(const exp_fleet_t *fleet, uint32_t from, uint32_t to, uint32_t *ret_us, helio_error_t *err)
{
    const helio_site_profile_t *a = &fleet->items[from].profile, *b = &fleet->items[to].profile;
    const exp_link_t *link = exp_link_of(fleet, from, to);
    *ret_us = 0;
    if (from == to)
        return HELIO_OK;
    if (link && link->rtt_known) {
        *ret_us = link->rtt_ms * 1000;
        return HELIO_OK;
    }
    if (!has_position(a) || !has_position(b)) {
        const helio_text_t name = has_position(a) ? b->name : a->name;
        return helio_fail(err, HELIO_INVALID,
                          "--policy nearest: site '%.*s' has no position: give its lat and lon, or links with rtt_ms",
                          HELIO_TEXT_ARGS(name));
    }
    *ret_us = (uint32_t)lround(great_circle_km(a, b) * US_PER_KM);
    return HELIO_OK;
}
