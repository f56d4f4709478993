/*  plan_supposed.c -- `drain=SITE`, `curtail=SITE:SHARE:DURATION` or `price=SITE:FACTOR`, from the query of a plan into its event. The words are those of
 *  `helio rehearse --change`. */
#include "broker/http/routes/plan_supposed.h"

#include <string.h>

#include "broker/http/request/reasons.h"
#include "broker/http/routes/command.h"
#include "federation/model/site.h"
#include "federation/spec/value.h"

/*  "lulea:1.5" */
static bool read_price(const char *text, helio_plan_supposed_t *self)
{
    const char *colon = strchr(text, ':');
    uint64_t per_mille;
    if (!colon || helio_quantity_parse(helio_text_of(colon + 1), "", 3, &per_mille) != HELIO_OK ||
        per_mille > HELIO_SUPPOSED_PRICE_MAX)
        return false;
    self->site = (helio_text_t){text, (uint32_t)(colon - text)};
    self->price_per_mille = (uint32_t)per_mille;
    return true;
}

/*  "lulea:60%:2h"; the sign may be missing, since it has to be written as %25 in a URL. */
static bool read_curtailment(const char *text, helio_plan_supposed_t *self)
{
    const char *colon = strchr(text, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
    uint64_t percent;
    if (!second)
        return false;
    helio_text_t share = {colon + 1, (uint32_t)(second - colon - 1)};
    if (share.size && share.data[share.size - 1] == '%')
        share.size--;
    if (helio_u64_parse(share, &percent) != HELIO_OK || percent > 100 ||
        helio_duration_parse(helio_text_of(second + 1), &self->curtailed_ms) != HELIO_OK ||
        self->curtailed_ms < HELIO_CURTAIL_LEAST_MS || self->curtailed_ms > HELIO_CURTAIL_MOST_MS)
        return false;
    self->site = (helio_text_t){text, (uint32_t)(colon - text)};
    self->percent = (uint32_t)percent;
    return true;
}

static bool read_one(const char *drain, const char *curtail, const char *price, helio_plan_supposed_t *self)
{
    if (!!drain + !!curtail + !!price > 1)
        return false;
    return drain || (curtail ? read_curtailment(curtail, self) : read_price(price, self));
}

bool helio_plan_supposed_read(helio_request_context_t *self, helio_plan_supposed_t *ret_supposed)
{
    const char *drain = helio_request_context_query(self, "drain"), *price = helio_request_context_query(self, "price"),
               *curtail = helio_request_context_query(self, "curtail");
    *ret_supposed = (helio_plan_supposed_t){.drain = drain != NULL, .price_per_mille = 1000};
    if (!drain && !price && !curtail)
        return true;
    if (drain)
        ret_supposed->site = helio_text_of(drain);
    if (read_one(drain, curtail, price, ret_supposed) && helio_command_name(ret_supposed->site, HELIO_SITE_NAME_MAX))
        return true;
    HELIO_PROBLEM(self, 400, QUERY_SUPPOSED, helio_value_number(HELIO_SUPPOSED_PRICE_MAX / 1000));
    return false;
}

void helio_plan_supposed_set(const helio_plan_supposed_t *supposed, helio_arena_t *arena, helio_ev_submit_t *event)
{
    event->supposed_site = helio_arena_text(arena, supposed->site);
    event->supposed_drain = supposed->drain;
    event->supposed_price_per_mille = supposed->price_per_mille;
    event->supposed_curtailed_ms = supposed->curtailed_ms;
    event->supposed_percent = supposed->percent;
}
