/*  plan_prices.c -- the prices that a plan is asked for, from the query of a request into its job. */
#include "broker/http/routes/plan_prices.h"

#include "broker/http/request/reasons.h"
#include "federation/spec/value.h"

enum { PRICE_MAX_USD = 1000000 };

static bool read_price(const char *text, int64_t *ret_micro_usd)
{
    uint64_t micro_usd;
    if (helio_quantity_parse(helio_text_of(text), "", 6, &micro_usd) != HELIO_OK ||
        micro_usd > PRICE_MAX_USD * UINT64_C(1000000))
        return false;
    *ret_micro_usd = (int64_t)micro_usd;
    return true;
}

bool helio_plan_prices_read(helio_request_context_t *self, helio_plan_prices_t *ret_prices)
{
    const char *carbon = helio_request_context_query(self, "carbon"), *wait = helio_request_context_query(self, "wait");
    *ret_prices = (helio_plan_prices_t){.given = carbon || wait};
    if (!ret_prices->given || (carbon && wait && read_price(carbon, &ret_prices->carbon_micro_usd_per_t) &&
                               read_price(wait, &ret_prices->wait_micro_usd_per_gpu_h)))
        return true;
    HELIO_PROBLEM(self, 400, QUERY_PRICES, helio_value_number(PRICE_MAX_USD));
    return false;
}

void helio_plan_prices_set(const helio_plan_prices_t *prices, helio_job_spec_t *spec)
{
    if (!prices->given)
        return;
    spec->prices_set = true;
    spec->carbon_price_micro_usd_per_t = prices->carbon_micro_usd_per_t;
    spec->wait_price_micro_usd_per_gpu_h = prices->wait_micro_usd_per_gpu_h;
}
