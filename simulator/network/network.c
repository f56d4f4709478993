/*  network.c -- streams between sites and brokers: how they are made, break, and carry messages in order. */
#include "simulator/network/network.h"

#include <stdlib.h>

#include "federation/base/redial.h"

typedef struct direction {
    int64_t last_ms;          /* messages keep their order */
    uint64_t sent, delivered; /* of the newest stream */
    int64_t cut_ms;           /* it stands still until then */
} direction_t;

typedef struct stream {
    const sim_host_t *host;
    bool connected; /* as the site sees it */
    uint32_t broker;
    uint64_t peer; /* of the newest stream: its generation, and the broker's handle for it */
    helio_redial_t redial;
    uint64_t dials;    /* with redials: only the newest dial counts */
    uint32_t refusals; /* lasting ones, in a row */
    direction_t up, down;
    int64_t cut_ms[SIM_BROKERS_MAX]; /* until then */
} stream_t;

enum {
    CONGESTION_DRAW = 60,
    CONGESTION_MS = 15000,
    DIALS_DRAW = 61,
    HEARTBEAT_MS = 15000,       /* without an answer for so long, either end closes the stream */
    HEARTBEAT_LEAST_MS = 10000, /* the last answer may be older */
    NOTICE_MS = 5000,           /* one end closes a stream after the other */
    CONNECT_MS = 10000          /* of an attempt that is not answered */
};

struct sim_network {
    sim_network_setup_t setup;
    sim_engine_t *engine;
    helio_rng_t rng;   /* of the back-off */
    stream_t *streams; /* one a site */
    uint64_t made;
    uint64_t slow_one_in, messages; /* messages: counted while some are slow */
};

sim_network_t *sim_network_new(const sim_network_setup_t *setup)
{
    sim_network_t *self = helio_new(1, sizeof *self);
    self->setup = *setup;
    self->engine = setup->engine;
    self->rng.state = sim_draw(self->engine, DIALS_DRAW, 0);
    self->streams = helio_new(setup->site_count, sizeof *self->streams);
    for (uint32_t i = 0; i < setup->site_count; i++) {
        self->streams[i].host = setup->sites[i];
        self->streams[i].redial = (helio_redial_t){
            .target_count = setup->broker_count, .least_ms = setup->redial_least_ms, .most_ms = setup->redial_most_ms};
    }
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

static bool is_paused(const sim_network_t *self, const sim_host_t *host)
{
    return host->paused_until_ms > sim_now_ms(self->engine);
}

/* ---- streams come and go ------------------------------------------------------------------------------- */

/*  After the end of a stream or an attempt: when the site dials again. */
static int64_t redial_ms(sim_network_t *self, stream_t *stream, int64_t low_ms, int64_t high_ms)
{
    return self->setup.redial_most_ms ? helio_redial_next(&stream->redial, &self->rng)
                                      : sim_between(self->engine, low_ms, high_ms);
}

static void connect(sim_network_t *self, uint32_t site, uint32_t broker)
{
    stream_t *stream = &self->streams[site];
    stream->connected = true;
    stream->broker = broker;
    stream->peer = ++self->made;
    stream->up = stream->down = (direction_t){.last_ms = sim_now_ms(self->engine)};
    self->setup.ends->connected(self->setup.arg, site);
}

static void on_dial(void *arg, sim_happening_t *item)
{
    sim_network_t *self = arg;
    stream_t *stream = &self->streams[item->site];
    uint32_t broker = stream->redial.target;
    if (stream->connected || !sim_host_lives(stream->host, item) ||
        (self->setup.redial_most_ms && item->number != stream->dials))
        return;
    bool hangs = is_paused(self, self->setup.brokers[broker]) || stream->cut_ms[broker] > sim_now_ms(self->engine);
    if (!hangs && self->setup.ends->admits(self->setup.arg, broker)) {
        connect(self, item->site, broker);
        return;
    }
    int64_t wait_ms = hangs && self->setup.redial_most_ms ? CONNECT_MS : 0;
    sim_network_dial(self, item->site, wait_ms + redial_ms(self, stream, 100, 3000));
}

void sim_network_dial(sim_network_t *self, uint32_t site, int64_t delay_ms)
{
    sim_happening_t *item = sim_later(self->engine, delay_ms, on_dial, self);
    item->site = site;
    item->generation = self->streams[site].host->life;
    item->number = ++self->streams[site].dials;
}

void sim_network_dial_all(sim_network_t *self, int64_t low_ms, int64_t high_ms)
{
    for (uint32_t i = 0; i < self->setup.site_count; i++)
        if (!self->streams[i].connected)
            sim_network_dial(self, i, sim_between(self->engine, low_ms, high_ms));
}

static void on_site_notices(void *arg, sim_happening_t *item)
{
    sim_network_t *self = arg;
    stream_t *stream = &self->streams[item->site];
    if (!sim_host_lives(stream->host, item) || stream->connected)
        return;
    self->setup.ends->disconnected(self->setup.arg, item->site);
    sim_network_dial(self, item->site, redial_ms(self, stream, 50, 2000));
}

static void on_broker_notices(void *arg, sim_happening_t *item)
{
    sim_network_t *self = arg;
    const sim_host_t *broker = self->setup.brokers[item->kind];
    if (!sim_host_lives(broker, item))
        return;
    if (is_paused(self, broker))
        sim_again(self->engine, item, broker->paused_until_ms - sim_now_ms(self->engine));
    else
        self->setup.ends->gone(self->setup.arg, item->kind, item->number);
}

/*  The site notices within site_ms. */
static void break_stream(sim_network_t *self, uint32_t site, int64_t site_ms)
{
    stream_t *stream = &self->streams[site];
    stream->connected = false;
    sim_happening_t *item = sim_later(self->engine, sim_between(self->engine, 0, site_ms), on_site_notices, self);
    item->site = site;
    item->generation = stream->host->life;
    if (sim_chance(self->engine, 0.7)) { /* otherwise the broker never notices: the next HELLO replaces the session */
        item = sim_later(self->engine, sim_between(self->engine, 0, HEARTBEAT_MS), on_broker_notices, self);
        item->number = stream->peer;
        item->kind = stream->broker;
        item->generation = self->setup.brokers[stream->broker]->life;
    }
}

void sim_network_break(sim_network_t *self, uint32_t site)
{
    if (self->streams[site].connected)
        break_stream(self, site, HEARTBEAT_MS);
}

void sim_network_break_all(sim_network_t *self, uint32_t broker)
{
    for (uint32_t i = 0; i < self->setup.site_count; i++)
        if (self->streams[i].broker == broker)
            sim_network_break(self, i);
}

void sim_network_give_up(sim_network_t *self, uint32_t site)
{
    if (self->streams[site].connected)
        break_stream(self, site, 0);
}

void sim_network_accepted(sim_network_t *self, uint32_t site)
{
    self->streams[site].refusals = 0;
}

void sim_network_refuse(sim_network_t *self, uint64_t peer, bool lasting)
{
    uint32_t site;
    if (!sim_network_site_of(self, peer, &site))
        return;
    stream_t *stream = &self->streams[site];
    stream->refusals = lasting ? stream->refusals + 1 : stream->refusals;
    helio_redial_refused(&stream->redial, stream->refusals);
    sim_network_break(self, site);
}

/* ---- cuts and pauses ----------------------------------------------------------------------------------- */

static void on_unanswered(void *arg, sim_happening_t *item)
{
    sim_network_t *self = arg;
    const stream_t *stream = &self->streams[item->site];
    bool cut = stream->up.cut_ms > sim_now_ms(self->engine) || stream->down.cut_ms > sim_now_ms(self->engine);
    if (stream->connected && stream->peer == item->number &&
        (cut || is_paused(self, self->setup.brokers[stream->broker])))
        break_stream(self, item->site, NOTICE_MS);
}

static void await_answer(sim_network_t *self, uint32_t site)
{
    int64_t after_ms = sim_between(self->engine, HEARTBEAT_LEAST_MS, HEARTBEAT_MS);
    sim_happening_t *item = sim_later(self->engine, after_ms, on_unanswered, self);
    item->site = site;
    item->number = self->streams[site].peer;
}

static void cut_stream(sim_network_t *self, uint32_t site, sim_way_t way, int64_t until_ms)
{
    stream_t *stream = &self->streams[site];
    if (way == SIM_WAY_BOTH) {
        sim_network_break(self, site);
        return;
    }
    int64_t *cut_ms = way == SIM_WAY_UP ? &stream->up.cut_ms : &stream->down.cut_ms;
    *cut_ms = until_ms > *cut_ms ? until_ms : *cut_ms;
    await_answer(self, site);
}

void sim_network_cut(sim_network_t *self, uint32_t site, uint32_t broker, sim_way_t way, int64_t until_ms)
{
    stream_t *stream = &self->streams[site];
    for (uint32_t i = 0; i < self->setup.broker_count; i++)
        if (broker == SIM_EVERY_BROKER || broker == i)
            stream->cut_ms[i] = until_ms > stream->cut_ms[i] ? until_ms : stream->cut_ms[i];
    if (stream->connected && (broker == SIM_EVERY_BROKER || broker == stream->broker))
        cut_stream(self, site, way, until_ms);
}

void sim_network_paused(sim_network_t *self, uint32_t broker)
{
    for (uint32_t i = 0; i < self->setup.site_count; i++)
        if (self->streams[i].connected && self->streams[i].broker == broker)
            await_answer(self, i);
}

/* ---- messages ------------------------------------------------------------------------------------------ */

static bool passes(const sim_network_t *self, const sim_happening_t *item)
{
    const stream_t *stream = &self->streams[item->site];
    return stream->connected && stream->peer == item->generation && self->setup.brokers[stream->broker]->up;
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

static void send(sim_network_t *self, uint32_t site, direction_t *way, sim_happening_fn *fn, uint32_t kind,
                 void *message)
{
    int64_t at_ms = sim_now_ms(self->engine) + sim_between(self->engine, 1, 40) + congestion_ms(self);
    way->last_ms = at_ms > way->last_ms ? at_ms : way->last_ms;
    sim_happening_t *item = sim_later(self->engine, way->last_ms - sim_now_ms(self->engine), fn, self);
    item->site = site;
    item->generation = self->streams[site].peer;
    item->kind = kind;
    item->number = ++way->sent;
    item->payload = message;
}

/*  The stream waits for its reader, and while a direction stands still: in order. */
static bool waits(sim_network_t *self, const sim_happening_t *item, const sim_host_t *reader, direction_t *way)
{
    int64_t until_ms = reader->paused_until_ms > way->cut_ms ? reader->paused_until_ms : way->cut_ms;
    int64_t wait_ms = until_ms - sim_now_ms(self->engine);
    if (wait_ms <= 0 && item->number == way->delivered + 1) {
        way->delivered++;
        return false;
    }
    sim_again(self->engine, item, wait_ms > 0 ? wait_ms : 1);
    return true;
}

static void on_up(void *arg, sim_happening_t *item)
{
    sim_network_t *self = arg;
    stream_t *stream = &self->streams[item->site];
    if (passes(self, item) && !waits(self, item, self->setup.brokers[stream->broker], &stream->up))
        self->setup.ends->to_broker(self->setup.arg, stream->broker, item->kind, item->payload);
}

void sim_network_up(sim_network_t *self, uint32_t site, uint32_t kind, const helio_record_type_t *type,
                    const void *message)
{
    stream_t *stream = &self->streams[site];
    if (stream->connected)
        send(self, site, &stream->up, on_up, kind, sim_copy(self->engine, type, message));
}

static void on_down(void *arg, sim_happening_t *item)
{
    sim_network_t *self = arg;
    stream_t *stream = &self->streams[item->site];
    if (!passes(self, item) || !stream->host->up || waits(self, item, stream->host, &stream->down))
        return;
    helio_redial_heard(&stream->redial);
    self->setup.ends->to_site(self->setup.arg, item->site, item->kind, item->payload);
}

void sim_network_down(sim_network_t *self, uint64_t peer, uint32_t kind, const helio_record_type_t *type,
                      const void *message)
{
    uint32_t site;
    if (sim_network_site_of(self, peer, &site))
        send(self, site, &self->streams[site].down, on_down, kind, sim_copy(self->engine, type, message));
}

uint64_t sim_network_peer(const sim_network_t *self, uint32_t site)
{
    return self->streams[site].peer;
}

bool sim_network_site_of(const sim_network_t *self, uint64_t peer, uint32_t *ret_site)
{
    for (uint32_t i = 0; i < self->setup.site_count; i++)
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
