/*  store.c -- a broker's connection to the virtual database. */
#include "simulator/daemons/store.h"

#include <stdlib.h>

enum {
    RETRY_MS = 200,
    SEEK_MS = 1000,
    LOCKED_MS = 500,
    BACKOFF_LEAST_MS = 50,
    BACKOFF_MOST_MS = 2000,
    UNANSWERED_LEAST_MS = 10000, /* the deadline of a commit, and of a beat that is sent up to 3 s later */
    UNANSWERED_MOST_MS = 13000,
    IDLE_LEAST_MS = 12000, /* of the session, after the last beat */
    IDLE_MOST_MS = 15000,
    NOTICE_MS = 50
};

struct sim_store {
    sim_store_setup_t setup;
    sim_engine_t *engine;
    const sim_host_t *host;
    sim_writer_t *writer;
    bool database_up;
    int64_t away_ms, to_cut_ms, from_cut_ms; /* until then: the server; the path to it; the path back */
    bool ready;
    uint32_t serial;  /* of the connection: what belongs to an older one is dropped */
    uint64_t silence; /* counts the times that the server began to hear nothing */
    bool vanished;    /* the broker that has this session died, and the server does not know */
};

static void on_arrival(void *arg, sim_happening_t *item);

sim_store_t *sim_store_new(const sim_store_setup_t *setup)
{
    sim_store_t *self = helio_new(1, sizeof *self);
    *self = (sim_store_t){.setup = *setup,
                          .engine = setup->engine,
                          .host = setup->host,
                          .writer = sim_writer_new(setup->database),
                          .database_up = true};
    return self;
}

void sim_store_destroy(sim_store_t **self_p)
{
    if (!*self_p)
        return;
    sim_writer_destroy(&(*self_p)->writer);
    free(*self_p);
    *self_p = NULL;
}

sim_writer_t *sim_store_writer(const sim_store_t *self)
{
    return self->writer;
}

bool sim_store_is_ready(const sim_store_t *self)
{
    return self->ready;
}

bool sim_store_has_session(const sim_store_t *self)
{
    return sim_writer_has_session(self->writer);
}

bool sim_store_lose_lock(sim_store_t *self)
{
    return sim_writer_lose_lock(self->writer);
}

/* ---- time ---------------------------------------------------------------------------------------------- */

static int64_t later_of(int64_t a_ms, int64_t b_ms)
{
    return a_ms > b_ms ? a_ms : b_ms;
}

/*  Something of this connection, in this life. */
static sim_happening_t *later(sim_store_t *self, int64_t delay_ms, sim_happening_fn *fn)
{
    sim_happening_t *item = sim_later(self->engine, delay_ms, fn, self);
    item->generation = self->host->life;
    item->kind = self->serial;
    return item;
}

static bool is_current(const sim_store_t *self, const sim_happening_t *item)
{
    return sim_host_lives(self->host, item) && item->kind == self->serial;
}

/*  True: it happens again then. */
static bool waits(const sim_store_t *self, const sim_happening_t *item, int64_t until_ms)
{
    int64_t wait_ms = until_ms - sim_now_ms(self->engine);
    if (wait_ms > 0)
        sim_again(self->engine, item, wait_ms);
    return wait_ms > 0;
}

static bool is_cut(const sim_store_t *self)
{
    return later_of(self->to_cut_ms, self->from_cut_ms) > sim_now_ms(self->engine);
}

static bool is_reachable(const sim_store_t *self)
{
    return self->database_up && self->away_ms <= sim_now_ms(self->engine) && !is_cut(self);
}

/* ---- leadership ---------------------------------------------------------------------------------------- */

static void on_seek(void *arg, sim_happening_t *item)
{
    sim_store_t *self = arg;
    if (!sim_host_lives(self->host, item) || waits(self, item, self->host->paused_until_ms))
        return;
    sim_store_seek(self);
}

void sim_store_seek(sim_store_t *self)
{
    bool leads = (!self->setup.breaks || is_reachable(self)) &&
                 sim_writer_lead(self->writer, sim_now_ms(self->engine), self->setup.lease_ms);
    if (!leads) {
        (void)later(self, SEEK_MS, on_seek);
        return;
    }
    self->serial++;
    self->ready = true;
    self->setup.ends->leads(self->setup.arg);
}

static void fence(sim_store_t *self)
{
    sim_fault_count(self->setup.faults, self->engine, SIM_FAULT_FENCED);
    self->setup.ends->fenced(self->setup.arg);
}

void sim_store_crash(sim_store_t *self, bool arrived, bool silently)
{
    if (sim_writer_in_flight(self->writer) && arrived && sim_writer_commit(self->writer) == SIM_WRITTEN)
        self->setup.ends->committed(self->setup.arg);
    self->ready = false;
    self->serial++;
    if (silently) {
        sim_store_paused(self);
        self->vanished = sim_writer_has_session(self->writer);
    }
    sim_writer_crash(self->writer, self->vanished);
}

/* ---- a connection that breaks -------------------------------------------------------------------------- */

static void on_reconnect(void *arg, sim_happening_t *item)
{
    sim_store_t *self = arg;
    if (!is_current(self, item) || waits(self, item, self->host->paused_until_ms))
        return;
    if (!is_reachable(self)) {
        int64_t most_ms = is_cut(self) ? UNANSWERED_LEAST_MS : BACKOFF_MOST_MS;
        sim_again(self->engine, item, sim_between(self->engine, BACKOFF_LEAST_MS, most_ms));
        return;
    }
    sim_writer_end_session(self->writer); /* the old one, if its end had not come through */
    sim_resumed_t resumed = sim_writer_resume(self->writer);
    if (resumed == SIM_RESUMED_FENCED) {
        fence(self);
        return;
    }
    if (resumed == SIM_RESUMED_LOCKED) {
        sim_again(self->engine, item, LOCKED_MS);
        return;
    }
    self->ready = true;
    if (resumed == SIM_RESUMED_LOST) {
        sim_fault_count(self->setup.faults, self->engine, SIM_FAULT_UNKNOWN_LOST);
        later(self, sim_between(self->engine, 1, 30), on_arrival)->number = sim_writer_batch(self->writer);
    } else if (resumed == SIM_RESUMED_WRITTEN) {
        sim_fault_count(self->setup.faults, self->engine, SIM_FAULT_UNKNOWN_WRITTEN);
        self->setup.ends->answered(self->setup.arg, sim_writer_batch(self->writer));
    }
    self->setup.ends->connected(self->setup.arg, true);
}

static void lose(sim_store_t *self)
{
    if (!self->ready)
        return;
    self->ready = false;
    self->serial++;
    if (self->to_cut_ms <= sim_now_ms(self->engine))
        sim_writer_end_session(self->writer); /* the server reads its end */
    (void)later(self, sim_between(self->engine, BACKOFF_LEAST_MS, BACKOFF_MOST_MS), on_reconnect);
    self->setup.ends->connected(self->setup.arg, false);
}

static void on_lost(void *arg, sim_happening_t *item)
{
    sim_store_t *self = arg;
    if (is_current(self, item) && !waits(self, item, later_of(self->host->paused_until_ms, self->from_cut_ms)))
        lose(self);
}

/*  The server says that the session has ended. */
static void tell_end(sim_store_t *self)
{
    (void)later(self, sim_between(self->engine, 0, NOTICE_MS), on_lost);
}

/*  The server heard nothing for so long that it ends the session. */
static void on_idle(void *arg, sim_happening_t *item)
{
    sim_store_t *self = arg;
    bool silent = self->vanished || later_of(self->host->paused_until_ms, self->to_cut_ms) > sim_now_ms(self->engine);
    if (item->number != self->silence || !silent || !sim_writer_has_session(self->writer))
        return;
    sim_fault_count(self->setup.faults, self->engine, SIM_FAULT_SESSION_IDLE);
    self->vanished = false;
    sim_writer_end_session(self->writer);
    if (is_current(self, item))
        tell_end(self);
}

void sim_store_paused(sim_store_t *self)
{
    if (self->vanished || !sim_writer_has_session(self->writer))
        return;
    later(self, sim_between(self->engine, IDLE_LEAST_MS, IDLE_MOST_MS), on_idle)->number = ++self->silence;
}

static void on_unanswered(void *arg, sim_happening_t *item)
{
    sim_store_t *self = arg;
    if (is_current(self, item) && !waits(self, item, self->host->paused_until_ms) && is_cut(self))
        lose(self);
}

void sim_store_cut(sim_store_t *self, uint32_t directions, int64_t until_ms)
{
    if (directions & SIM_TO_SERVER)
        self->to_cut_ms = later_of(self->to_cut_ms, until_ms);
    if (directions & SIM_FROM_SERVER)
        self->from_cut_ms = later_of(self->from_cut_ms, until_ms);
    if (directions & SIM_TO_SERVER)
        sim_store_paused(self);
    (void)later(self, sim_between(self->engine, UNANSWERED_LEAST_MS, UNANSWERED_MOST_MS), on_unanswered);
}

void sim_store_restart(sim_store_t *self, bool arrived, int64_t until_ms)
{
    if (self->ready && sim_writer_in_flight(self->writer) && arrived && self->to_cut_ms <= sim_now_ms(self->engine) &&
        sim_writer_commit(self->writer) == SIM_WRITTEN)
        self->setup.ends->committed(self->setup.arg);
    self->away_ms = later_of(self->away_ms, until_ms);
    self->vanished = false;
    sim_writer_end_session(self->writer);
    if (self->ready)
        tell_end(self);
}

void sim_store_set_database(sim_store_t *self, bool up)
{
    bool changed = up != self->database_up;
    self->database_up = up;
    if (changed && self->ready)
        self->setup.ends->connected(self->setup.arg, up);
}

/* ---- batches ------------------------------------------------------------------------------------------- */

static void on_answer(void *arg, sim_happening_t *item)
{
    sim_store_t *self = arg;
    if (!is_current(self, item) || waits(self, item, later_of(self->host->paused_until_ms, self->from_cut_ms)))
        return;
    sim_writer_answered(self->writer);
    self->setup.ends->answered(self->setup.arg, item->number);
}

static void on_refusal(void *arg, sim_happening_t *item)
{
    sim_store_t *self = arg;
    if (is_current(self, item) && !waits(self, item, later_of(self->host->paused_until_ms, self->from_cut_ms)))
        fence(self);
}

/*  At the server. A broker that is down, away or cut off gets its answer later, or never. */
static void on_arrival(void *arg, sim_happening_t *item)
{
    sim_store_t *self = arg;
    if (!is_current(self, item) || waits(self, item, later_of(self->away_ms, self->to_cut_ms)))
        return;
    if (!self->database_up) { /* the reply follows the recovery; the batch is in flight until then */
        sim_again(self->engine, item, RETRY_MS);
        return;
    }
    sim_written_t written = sim_writer_commit(self->writer);
    if (written == SIM_WRITTEN_NOT) {
        tell_end(self);
        return;
    }
    if (written == SIM_WRITTEN)
        self->setup.ends->committed(self->setup.arg);
    bool at_once = later_of(self->host->paused_until_ms, self->from_cut_ms) <= sim_now_ms(self->engine);
    if (written == SIM_WRITTEN_FENCED && at_once)
        fence(self);
    else if (at_once)
        on_answer(self, item);
    else
        later(self, 0, written == SIM_WRITTEN ? on_answer : on_refusal)->number = item->number;
}

void sim_store_send(sim_store_t *self, uint64_t batch)
{
    later(self, sim_between(self->engine, 1, 30), on_arrival)->number = batch;
}
