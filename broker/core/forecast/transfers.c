/*  transfers.c -- what the transfer of a job's data to a pool costs.
 *
 *  A replica at the site itself costs nothing. Otherwise each item comes from the replica that is best by money, carbon
 *  and the time that the job's GPUs wait for it, at the job's own prices. As long as no link is set at all, nothing is
 *  charged. */
#include "broker/core/forecast/transfers.h"

#include <string.h>

#include "broker/core/forecast/prices.h"
#include "broker/core/state/catalogue.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"

typedef enum bringing_kind { IS_THERE, IS_BROUGHT, IS_UNKNOWN, IS_FREE, HAS_NO_LINK } bringing_kind_t;

/*  One item and one pool. */
typedef struct bringing {
    bringing_kind_t kind;
    const char *from; /* where the data is; NULL unless BROUGHT, FREE or NO_LINK */
    helio_transfer_t transfer;
} bringing_t;

static uint64_t whole_mg(double mg_per_kwh)
{
    return mg_per_kwh < 1e9 ? (uint64_t)mg_per_kwh : 1000000000;
}

/*  Returns what is charged for a transfer; *ret_weighed is what the choice uses: a site with an unknown intensity must
 *  not look clean. */
static helio_transfer_t way(helio_broker_core_t *self, const char *from, const site_t *to, const pool_t *pool,
                            uint64_t bytes, const helio_link_t *link, int64_t hour_ms, helio_transfer_t *ret_weighed)
{
    static const double unknown_intensity = HELIO_UNKNOWN_G_PER_KWH * 1000;
    const site_t *source = core_site_find(self, helio_text_of(from));
    double a = source ? core_carbon_at(source, NULL, hour_ms) : -1, b = core_carbon_at(to, pool, hour_ms);
    *ret_weighed = helio_transfer_of(
        bytes, link, whole_mg(helio_transfer_intensity(a < 0 ? unknown_intensity : a, b < 0 ? unknown_intensity : b)));
    double known = helio_transfer_intensity(a, b); /* of either site */
    return helio_transfer_of(bytes, link, whole_mg(known < 0 ? unknown_intensity : known));
}

static bringing_t bring(helio_broker_core_t *self, const helio_requirement_t *want, const helio_data_ask_t *ask,
                        const site_t *site, const pool_t *pool, int64_t at_ms)
{
    const dataset_t *dataset = core_dataset_of(self, ask->uri, want->tenant);
    if (!dataset)
        return (bringing_t){.kind = IS_UNKNOWN};
    if (core_dataset_lies_at(dataset, site->name))
        return (bringing_t){.kind = IS_THERE};
    bringing_t best = {.kind = core_link_count(self) ? HAS_NO_LINK : IS_FREE, .from = dataset->sites[0]};
    helio_prices_t prices = {.carbon_micro_usd_per_t = want->carbon_price_micro_usd_per_t,
                             .wait_micro_usd_per_gpu_h = want->wait_price_micro_usd_per_gpu_h};
    uint64_t gpus = want->gpus.count ? (uint64_t)want->gpus.items[0].count * want->nodes : 0;
    int64_t best_score = INT64_MAX;
    uint32_t best_rtt_ms = UINT32_MAX;
    for (uint32_t i = 0; i < dataset->site_count; i++) {
        const char *from = dataset->sites[i];
        const helio_link_t *link = core_link_of(self, from, site->name);
        if (!link)
            continue;
        helio_transfer_t weighed;
        helio_transfer_t transfer =
            way(self, from, site, pool, ask->size_bytes, link, at_ms - at_ms % HELIO_HOUR_MS, &weighed);
        int64_t score = helio_transfer_score(&weighed, prices, gpus);
        if (score > best_score || (score == best_score && link->rtt_ms >= best_rtt_ms))
            continue;
        best = (bringing_t){IS_BROUGHT, from, transfer};
        best_score = score;
        best_rtt_ms = link->rtt_ms;
    }
    return best;
}

helio_transfer_t core_transfer(helio_broker_core_t *self, const helio_requirement_t *want, const site_t *site,
                               const pool_t *pool, int64_t at_ms, bool *ret_no_link)
{
    helio_transfer_t sum = {0};
    *ret_no_link = false;
    for (uint32_t i = 0; i < want->data.count; i++) {
        bringing_t item = bring(self, want, &want->data.items[i], site, pool, at_ms);
        sum = helio_transfer_sum(sum, item.transfer);
        *ret_no_link = *ret_no_link || item.kind == HAS_NO_LINK;
    }
    return sum;
}

void core_transfer_charge(helio_account_t *account, const helio_transfer_t *transfer)
{
    account->energy_j += transfer->energy_j;
    account->carbon_mg += transfer->carbon_mg;
    if (__builtin_add_overflow(account->cost_micro_usd, transfer->egress_micro_usd, &account->cost_micro_usd))
        account->cost_micro_usd = INT64_MAX;
}

void core_transfer_load(helio_broker_core_t *self, const helio_row_transfer_t *row)
{
    job_t *job = core_job_find(self, row->key);
    if (job && job->last && job->epoch == row->epoch)
        job->last->transfer = (helio_transfer_t){row->ms, row->egress_micro_usd, row->energy_j, row->carbon_mg};
}

/* ---- why ----------------------------------------------------------------------------------------------- */

/*  All data of one kind that is not at the site: its places as a list of names. */
typedef struct elsewhere {
    uint64_t bytes;
    const char *names;
    uint32_t places;
    helio_transfer_t transfer;
} elsewhere_t;

/*  Whether the list contains the name. */
static bool is_named(const char *names, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = names; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
        if (strcspn(at, ",") == size && memcmp(at, name, size) == 0)
            return true;
    return false;
}

static void add(helio_broker_core_t *self, elsewhere_t *sum, const bringing_t *item, uint64_t bytes)
{
    const char *names = sum->names ? sum->names : "";
    if (item->from && !is_named(names, item->from)) {
        sum->names = sum->places++ ? core_printf(self, "%s,%s", names, item->from) : item->from;
    }
    sum->bytes = bytes > UINT64_MAX - sum->bytes ? UINT64_MAX : sum->bytes + bytes;
    sum->transfer = helio_transfer_sum(sum->transfer, item->transfer);
}

static helio_value_t places_of(const elsewhere_t *sum)
{
    return (helio_value_t){.number = sum->places, .text = helio_text_of(sum->names)};
}

helio_details_t core_transfer_details(helio_broker_core_t *self, const helio_requirement_t *want, const site_t *site,
                                      const pool_t *pool)
{
    elsewhere_t of[HAS_NO_LINK + 1] = {0};
    helio_details_t why = {0};
    helio_value_t unknown = {0};
    for (uint32_t i = 0; i < want->data.count; i++) {
        const helio_data_ask_t *ask = &want->data.items[i];
        bringing_t item = bring(self, want, ask, site, pool, self->wall_ms);
        add(self, &of[item.kind], &item, ask->size_bytes);
        if (item.kind == IS_UNKNOWN && !unknown.number++)
            unknown.text = ask->uri;
    }
    const elsewhere_t *brought = &of[IS_BROUGHT], *unlinked = &of[HAS_NO_LINK], *freely = &of[IS_FREE];
    if (unlinked->places)
        core_why_add(self, &why, CORE_DETAIL(self, HELIO_DETAIL_DATA_NO_LINK, places_of(unlinked)));
    if (brought->places)
        core_why_add(self, &why,
                     CORE_DETAIL(self, HELIO_DETAIL_DATA_BROUGHT, helio_value_number((int64_t)brought->bytes),
                                 places_of(brought), helio_value_number((int64_t)brought->transfer.ms)));
    if (freely->places)
        core_why_add(
            self, &why,
            CORE_DETAIL(self, HELIO_DETAIL_DATA_FREE, helio_value_number((int64_t)freely->bytes), places_of(freely)));
    if (unknown.number)
        core_why_add(self, &why, CORE_DETAIL(self, HELIO_DETAIL_DATA_UNKNOWN, unknown));
    return why;
}
