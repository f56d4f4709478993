/*  maps.c -- the table of known services: their URLs and the fields of their responses. */
#include "site-agent/feeds/maps.h"

#include <stddef.h>

#define T(literal)                               \
    {                                            \
        (literal), (uint32_t)sizeof(literal) - 1 \
    }

/*  electricitymaps: v3, hourly g/kWh of consumption, flow-traced; life-cycle factors by default. The history covers the
 *  last 24 hours. watttime: v3, five-minute marginal operating rates in lb/MWh, of combustion without construction. The
 *  history needs a start and an end. uk-carbon-intensity: half-hourly forecast and, afterwards, actual value of
 *  generation and imports; no registration. carbon-aware-sdk: the Green Software Foundation's own server, on an address
 *  of the operator's. */
static const helio_feed_map_t maps[] = {
    {.name = "electricitymaps",
     .url = "https://api.electricitymaps.com/v3/carbon-intensity/history?zone={region}",
     .forecast_url = "https://api.electricitymaps.com/v3/carbon-intensity/forecast?zone={region}",
     .kind = "average",
     .factor = "lifecycle",
     .unit = "g/kWh",
     .fields = {.list = T("history"),
                .time = T("datetime"),
                .value = T("carbonIntensity"),
                .estimated = T("isEstimated"),
                .forecast_list = T("forecast"),
                .forecast_time = T("datetime"),
                .forecast_value = T("carbonIntensity")}},
    {.name = "watttime",
     .url = "https://api.watttime.org/v3/"
            "historical?region={region}&start={day_ago}&end={now}&signal_type=co2_moer",
     .forecast_url = "https://api.watttime.org/v3/forecast?region={region}&signal_type=co2_moer&horizon_hours=48",
     .login_url = "https://api.watttime.org/login",
     .token = "token",
     .kind = "marginal",
     .factor = "direct",
     .unit = "lb/MWh",
     .fields = {.list = T("data"),
                .time = T("point_time"),
                .value = T("value"),
                .forecast_list = T("data"),
                .forecast_time = T("point_time"),
                .forecast_value = T("value")}},
    {.name = "uk-carbon-intensity",
     .url = "https://api.carbonintensity.org.uk/intensity/{day_ago}/{in_48h}",
     .kind = "average",
     .factor = "direct",
     .unit = "g/kWh",
     .fields =
         {.list = T("data"), .time = T("from"), .value = T("intensity.actual"), .forecast = T("intensity.forecast")}},
    {.name = "carbon-aware-sdk",
     .kind = "average",
     .factor = "lifecycle",
     .unit = "g/kWh",
     .fields = {.list = T(""),
                .time = T("time"),
                .value = T("rating"),
                .forecast_list = T("0.forecastData"),
                .forecast_time = T("timestamp"),
                .forecast_value = T("value")}},
};
enum { MAPS = sizeof maps / sizeof maps[0] };

const helio_feed_map_t *helio_feed_map_row(uint32_t index)
{
    return index < MAPS ? &maps[index] : NULL;
}

const helio_feed_map_t *helio_feed_map_of(helio_text_t name)
{
    for (size_t i = 0; i < MAPS; i++)
        if (helio_text_is(name, maps[i].name))
            return &maps[i];
    return NULL;
}
