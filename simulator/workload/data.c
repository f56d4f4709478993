/*  data.c -- operators change the catalogue and the links between sites while everything else goes wrong. The virtual
 *  database checks that a transfer is charged once an attempt, as it was placed (database/database_ledger.c). */
#include "simulator/workload/internal.h"

enum { CHANGES = 24, AGAIN_MS = 3000 };

static const char *const prefixes[] = {"s3://red", "s3://red/corpus", "s3://blue", "s3://"};
static const char *const places[] = {"site0", "site1", "site2", "bucket"};

static bool has_data(const sim_workload_t *self)
{
    return sim_seed(self->engine) % 4 == 1 || sim_seed(self->engine) % 4 == 2;
}

static void set_link(sim_workload_t *self, uint32_t call, const char *from, const char *to, uint64_t draw)
{
    helio_ev_link_t event = {
        .call = DATA_CALL + call,
        .actor = HELIO_TEXT("user:ops/operator"),
        .role = HELIO_ROLE_OPERATOR,
        .from = helio_text_of(from),
        .to = helio_text_of(to),
        .removed = call && draw % 5 == 0,
        .mbps = 1000 + draw / 8 % 100000,
        .egress_micro_usd_per_gb = (int64_t)(draw / 1024 % 100000),
    };
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_LINK, &event);
}

static void set_data(sim_workload_t *self, uint32_t call, uint64_t draw)
{
    helio_string_t sites[4];
    helio_ev_data_t event = {
        .call = DATA_CALL + call,
        .actor = HELIO_TEXT("user:ops/operator"),
        .role = HELIO_ROLE_OPERATOR,
        .prefix = helio_text_of(prefixes[draw / 64 % 4]),
        .sites.items = sites,
    };
    for (uint32_t i = 0; i < 4; i++)
        if (draw / 256 & (UINT64_C(1) << i))
            sites[event.sites.count++].text = helio_text_of(places[i]);
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_DATA, &event);
}

/*  The first link is the default between any two sites. It stays, so that every job can end. */
static void on_change(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    uint32_t number = (uint32_t)item->number;
    uint64_t draw = sim_draw(self->engine, 6, number);
    if (number == 0 && !self->linked)
        sim_later(self->engine, AGAIN_MS, on_change, self)->number = 0;
    if (!workload_broker(self) || (number && !self->linked))
        return;
    if (number == 0)
        set_link(self, 0, "*", "*", draw);
    else if (draw % 2)
        set_link(self, number, places[draw / 2 % 4], draw / 16 % 3 ? places[draw / 16 % 3] : "*", draw);
    else
        set_data(self, number, draw);
}

/*  In half of the worlds. */
void workload_data_begin(sim_workload_t *self)
{
    for (uint32_t i = 0; i < CHANGES && has_data(self); i++) {
        int64_t at_ms = (int64_t)(sim_draw(self->engine, 7, i) % (uint64_t)(self->faults_ms + 1));
        sim_later(self->engine, i ? at_ms : 0, on_change, self)->number = i;
    }
}

void workload_data_reads(const sim_workload_t *self, uint32_t index, helio_job_spec_t *spec)
{
    static const char *const uris[] = {"s3://red/corpus/en", "s3://red/x", "s3://blue/y", "gs://nowhere/z"};
    uint64_t draw = sim_draw(self->engine, 8, index);
    if (!has_data(self) || draw % 2)
        return;
    helio_data_ask_t *items = helio_arena_alloc(sim_arena(self->engine), 2, sizeof *items);
    for (uint32_t i = 0; i < 2; i++)
        items[i] = (helio_data_ask_t){.uri = helio_text_of(uris[draw >> (8 * (i + 1)) & 3]),
                                      .size_bytes = UINT64_C(1000000000) << (draw >> (8 * (i + 1)) & 7)};
    spec->data.items = items;
    spec->data.count = 1 + (uint32_t)(draw / 2 % 2);
}

void workload_data_answered(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    if (reply->call == DATA_CALL && reply->rc == HELIO_OK)
        self->linked = true;
    if (reply->rc != HELIO_OK && reply->rc != HELIO_NOT_FOUND)
        workload_refused(self, reply, "a good word on data or links was refused");
}
