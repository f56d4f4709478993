#include "simulator/network/network.h"

#include <stdlib.h>

typedef struct stream {
    const sim_host_t *host;
    bool connected; /* as the site sees it */
    uint64_t peer;  /* of the newest stream: its generation, and the broker's handle of it */
    bool cut;
    int64_t last_up_ms, last_down_ms; /* messages keep their order */
} stream_t;

enum { CONGESTION_DRAW = 60, CONGESTION_MS = 15000 };

struct sim_network {
    sim_engine_t *engine;
    const sim_host_t *broker;
    stream_t *streams; /* one a site */
    uint32_t site_count;
    uint64_t made;
    uint64_t slow_one_in, messages; /* messages: counted while some are slow */
    const sim_ends_t *ends;
    void *arg;
};

sim_network_t *sim_network_new(sim_engine_t *engine, const sim_host_t *broker, const sim_host_t *const *sites,
                               uint32_t site_count, const sim_ends_t *ends, void *arg)
{
    sim_network_t *self = helio_new(1, sizeof *self);
    *self = (sim_network_t){.engine = engine, .broker = broker, .site_count = site_count, .ends = ends, .arg = arg};
    self->streams = helio_new(site_count, sizeof *self->streams);
    for (uint32_t i = 0; i < site_count; i++)
        self->streams[i].host = sites[i];
    return self;
}

void sim_network_destroy(sim_network_t **self_p)
{
    if (!*self_p)
        return;
    free((*self_p)->streams);
    free(*self_p);
    *self_p = NULL;
}

/* ---- streams come and go ------------------------------------------------------------------------------- */

static void on_dial(void *arg, sim_happening_t *item)
{
    sim_network_t *self = arg;
    stream_t *stream = &self->streams[item->site];
    if (stream->connected || !sim_host_lives(stream->host, item))
        return;
    if (!self->broker->up || stream->cut) {
        sim_network_dial(self, item->site, sim_between(self->engine, 100, 3000));
        return;
    }
    stream->connected = true;
    stream->peer = ++self->made;
    stream->last_up_ms = stream->last_down_ms = sim_now_ms(self->engine);
    self->ends->connected(self->arg, item->site);
}

void sim_network_dial(sim_network_t *self, uint32_t site, int64_t delay_ms)
{
    sim_happening_t *item = sim_later(self->engine, delay_ms, on_dial, self);
    item->site = site;
    item->generation = self->streams[site].host->life;
}

void sim_network_dial_all(sim_network_t *self, int64_t low_ms, int64_t high_ms)
{
    for (uint32_t i = 0; i < self->site_count; i++)
        if (!self->streams[i].connected)
            sim_network_dial(self, i, sim_between(self->engine, low_ms, high_ms));
}

static void on_site_notices(void *arg, sim_happening_t *item)
{
    sim_network_t *self = arg;
    const stream_t *stream = &self->streams[item->site];
    if (!sim_host_lives(stream->host, item) || stream->connected)
        return;
    self->ends->disconnected(self->arg, item->site);
    sim_network_dial(self, item->site, sim_between(self->engine, 50, 2000));
}

static void on_broker_notices(void *arg, sim_happening_t *item)
{
    sim_network_t *self = arg;
    if (sim_host_lives(self->broker, item))
        self->ends->gone(self->arg, item->number);
}

void sim_network_break(sim_network_t *self, uint32_t site)
{
    stream_t *stream = &self->streams[site];
    if (!stream->connected)
        return;
    stream->connected = false;
    sim_happening_t *item = sim_later(self->engine, sim_between(self->engine, 0, 15000), on_site_notices, self);
    item->site = site;
    item->generation = stream->host->life;
    if (sim_chance(self->engine, 0.7)) { /* or it never does: the next HELLO replaces the session */
        item = sim_later(self->engine, sim_between(self->engine, 0, 15000), on_broker_notices, self);
        item->number = stream->peer;
        item->generation = self->broker->life;
    }
}

void sim_network_break_all(sim_network_t *self)
{
    for (uint32_t i = 0; i < self->site_count; i++)
        sim_network_break(self, i);
}

void sim_network_cut(sim_network_t *self, uint32_t site, bool cut)
{
    self->streams[site].cut = cut;
    if (cut)
        sim_network_break(self, site);
}

/* ---- messages ------------------------------------------------------------------------------------------ */

static bool passes(const sim_network_t *self, const sim_happening_t *item)
{
    const stream_t *stream = &self->streams[item->site];
    return stream->connected && stream->peer == item->generation && self->broker->up;
}

void sim_network_congest(sim_network_t *self, uint64_t one_in)
{
    self->slow_one_in = one_in;
}

static int64_t congestion_ms(sim_network_t *self)
{
    if (!self->slow_one_in)
        return 0;
    uint64_t draw = sim_draw(self->engine, CONGESTION_DRAW, self->messages++) >> 24;
    return draw % self->slow_one_in ? 0 : (int64_t)(draw / self->slow_one_in % CONGESTION_MS);
}

static void send(sim_network_t *self, uint32_t site, int64_t *last_ms, sim_happening_fn *fn, uint32_t kind,
                 void *message)
{
    int64_t at_ms = sim_now_ms(self->engine) + sim_between(self->engine, 1, 40) + congestion_ms(self);
    *last_ms = at_ms > *last_ms ? at_ms : *last_ms;
    sim_happening_t *item = sim_later(self->engine, *last_ms - sim_now_ms(self->engine), fn, self);
    item->site = site;
    item->generation = self->streams[site].peer;
    item->kind = kind;
    item->payload = message;
}

static void on_up(void *arg, sim_happening_t *item)
{
    sim_network_t *self = arg;
    if (passes(self, item))
        self->ends->to_broker(self->arg, item->kind, item->payload);
}

void sim_network_up(sim_network_t *self, uint32_t site, uint32_t kind, const helio_record_type_t *type,
                    const void *message)
{
    stream_t *stream = &self->streams[site];
    if (stream->connected)
        send(self, site, &stream->last_up_ms, on_up, kind, sim_copy(self->engine, type, message));
}

static void on_down(void *arg, sim_happening_t *item)
{
    sim_network_t *self = arg;
    const sim_host_t *host = self->streams[item->site].host;
    if (!passes(self, item) || !host->up)
        return;
    if (host->paused_until_ms > sim_now_ms(self->engine)) /* the stream waits for its reader, in order */
        sim_again(self->engine, item, host->paused_until_ms - sim_now_ms(self->engine));
    else
        self->ends->to_site(self->arg, item->site, item->kind, item->payload);
}

void sim_network_down(sim_network_t *self, uint64_t peer, uint32_t kind, const helio_record_type_t *type,
                      const void *message)
{
    uint32_t site;
    if (sim_network_site_of(self, peer, &site))
        send(self, site, &self->streams[site].last_down_ms, on_down, kind, sim_copy(self->engine, type, message));
}

uint64_t sim_network_peer(const sim_network_t *self, uint32_t site)
{
    return self->streams[site].peer;
}

bool sim_network_site_of(const sim_network_t *self, uint64_t peer, uint32_t *ret_site)
{
    for (uint32_t i = 0; i < self->site_count; i++)
        if (self->streams[i].connected && self->streams[i].peer == peer) {
            *ret_site = i;
            return true;
        }
    return false;
}

uint64_t sim_network_streams(const sim_network_t *self)
{
    return self->made;
}
