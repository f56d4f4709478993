/*  plan_supposed.h -- what the query of a plan supposes of one site: that it drains, is curtailed, or has other prices. */
#ifndef HELIO_BROKER_HTTP_ROUTES_PLAN_SUPPOSED_H
#define HELIO_BROKER_HTTP_ROUTES_PLAN_SUPPOSED_H

#include "broker/http/request/request_context.h"
#include "broker/model/events.h"

/*  The query parameters `drain`, `curtail` and `price`. */
typedef struct helio_plan_supposed {
    helio_text_t site; /* a view of the query; "" = nothing is supposed */
    bool drain;
    uint32_t price_per_mille;
    uint64_t curtailed_ms; /* 0 = it is not */
    uint32_t percent;
} helio_plan_supposed_t;

/*  False: a problem was answered. */
bool helio_plan_supposed_read(helio_request_context_t *context, helio_plan_supposed_t *ret_supposed);
/*  The text is copied into the arena. */
void helio_plan_supposed_set(const helio_plan_supposed_t *supposed, helio_arena_t *arena, helio_ev_submit_t *event);

#endif
