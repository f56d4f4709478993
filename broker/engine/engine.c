/*  engine.c -- the loop. Inputs become events, effects go to their destinations, and nothing leaves before it is
 *  durable.
 *
 *  One turn: serve what is ready, tick the core if that is due, drive the store, seal the waiting rows, and release
 *  what has become durable. Sealing once a turn is the group commit: while a batch is in flight, the next one grows. */
#include "broker/engine/engine.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "broker/engine/internal.h"
#include "federation/base/clock.h"
#include "federation/base/number.h"
#include "federation/policy/fair_share.h"

/*  One of each site's connections; sites may have several, and strangers have some. */
enum { GATEWAY_SOCKETS = 4 * HELIO_SESSIONS_MAX };

static char *copy_of(const char *text)
{
    return text ? helio_strdup(text) : NULL;
}

static void nothing_on_transition(void *arg, const helio_row_transition_t *transition)
{
    (void)arg;
    (void)transition;
}

static void nothing_on_token(void *arg, const helio_row_token_t *token)
{
    (void)arg;
    (void)token;
}

static void nothing_on_principal(void *arg, const helio_row_principal_t *principal)
{
    (void)arg;
    (void)principal;
}

static void nothing_on_access(void *arg)
{
    (void)arg;
}

static void nothing_on_following(void *arg, const helio_leader_t *leader)
{
    (void)arg;
    (void)leader;
}

static void on_ring(void *arg)
{
    helio_engine_t *self = arg;
    helio_engine_take_calls(self);
}

static void on_stop(void *arg)
{
    helio_engine_t *self = arg;
    uint64_t count;
    ssize_t got = read(self->stop_fd, &count, sizeof count);
    (void)got; /* stop_wanted carries the request; this only ended the wait */
}

static void on_store(void *arg)
{
    helio_engine_t *self = arg;
    self->store_ready = true;
}

helio_engine_t *helio_engine_new(const helio_engine_options_t *options, helio_engine_listener_t listener,
                                 helio_log_t *log)
{
    helio_engine_t *self = helio_new(1, sizeof *self);
    self->options = *options;
    self->options.store.conninfo = copy_of(options->store.conninfo);
    self->options.store.http = copy_of(options->store.http);
    self->options.endpoint = copy_of(options->endpoint);
    self->options.secret_key_path = copy_of(options->secret_key_path);
    self->options.record_path = copy_of(options->record_path);
    if (!self->options.batch_rows_max)
        self->options.batch_rows_max = 20000;
    self->listener = listener;
    if (!listener.on_transition)
        self->listener.on_transition = nothing_on_transition;
    if (!listener.on_token)
        self->listener.on_token = nothing_on_token;
    if (!listener.on_principal)
        self->listener.on_principal = nothing_on_principal;
    if (!listener.on_access_begin)
        self->listener.on_access_begin = nothing_on_access;
    if (!listener.on_access_end)
        self->listener.on_access_end = nothing_on_access;
    if (!listener.on_following)
        self->listener.on_following = nothing_on_following;
    self->log = log;
    self->store_fd = -1;
    self->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (self->stop_fd < 0)
        abort();
    atomic_init(&self->stop_wanted, false);
    atomic_init(&self->closed, false);
    self->ring = helio_ring_new(HELIO_ENGINE_RING);
    self->calls = helio_new(HELIO_ENGINE_CALLS_MAX, sizeof(helio_call_t *));
    self->core = helio_broker_core_new(options->core);
    helio_store_options_t store = self->options.store;
    store.lease_ms = options->core.lease_ms;
    store.usage_ms = HELIO_SHARE_MEMORY_MS;
    self->store = helio_store_new(store);
    self->held = helio_release_queue_new(helio_broker_effects);
    self->effects = helio_effects_new();
    self->wake_ms = INT64_MAX;
    if (helio_net_new(GATEWAY_SOCKETS, &self->net, &self->broken) != HELIO_OK ||
        helio_loop_new(&self->loop, &self->broken) != HELIO_OK)
        return self;
    self->ring_source = helio_source_new(self->loop, helio_ring_fd(self->ring), HELIO_LOOP_IN, on_ring, self);
    self->stop_source = helio_source_new(self->loop, self->stop_fd, HELIO_LOOP_IN, on_stop, self);
    return self;
}

static void free_const(const char *text)
{
    free((void *)(uintptr_t)text);
}

helio_broker_options_t helio_engine_core_options(const helio_engine_t *self)
{
    return self->options.core;
}

void helio_engine_destroy(helio_engine_t **self_p)
{
    helio_engine_t *self = *self_p;
    if (!self)
        return;
    atomic_store(&self->closed, true);
    helio_engine_reply_all(self, HELIO_UNAVAILABLE, HELIO_DETAIL_BROKER_STOPPING);
    helio_gateway_destroy(&self->gateway);
    helio_source_destroy(&self->store_source);
    helio_source_destroy(&self->ring_source);
    helio_source_destroy(&self->stop_source);
    helio_store_destroy(&self->store);
    helio_follower_destroy(&self->follower);
    helio_recorder_close(&self->recorder);
    helio_release_queue_destroy(&self->held);
    helio_effects_destroy(&self->effects);
    helio_presence_destroy(&self->presence);
    helio_broker_core_destroy(&self->core);
    helio_loop_destroy(&self->loop);
    helio_net_destroy(&self->net);
    helio_ring_destroy(&self->ring);
    (void)close(self->stop_fd);
    free(self->calls);
    free_const(self->options.store.conninfo);
    free_const(self->options.store.http);
    free_const(self->options.endpoint);
    free_const(self->options.secret_key_path);
    free_const(self->options.record_path);
    free(self);
    *self_p = NULL;
}

void helio_engine_stop(helio_engine_t *self)
{
    int saved = errno; /* can run in a signal handler */
    atomic_store(&self->stop_wanted, true);
    uint64_t one = 1;
    ssize_t written = write(self->stop_fd, &one, sizeof one);
    (void)written;
    errno = saved;
}

helio_rc helio_engine_post(helio_engine_t *self, helio_call_t *call)
{
    if (atomic_load(&self->closed))
        return HELIO_UNAVAILABLE;
    return helio_ring_push(self->ring, call);
}

/* ---- the turn ------------------------------------------------------------------------------------------ */

static void seal(helio_engine_t *self)
{
    helio_ev_sealed_t sealed = {helio_store_open_batch(self->store)};
    helio_store_seal(self->store, helio_broker_core_open_from(self->core));
    helio_engine_step(self, HELIO_BROKER_EV_SEALED, &sealed);
}

/*  In the middle of a turn, an event from a site or a caller can fill the batch. */
static void seal_if_full(helio_engine_t *self)
{
    if (helio_engine_backlog(self) >= 100 && helio_store_can_seal(self->store))
        seal(self);
}

static void release(helio_engine_t *self)
{
    uint64_t durable = helio_release_durable(helio_store_committed(self->store), helio_store_open_batch(self->store),
                                             helio_store_open_rows(self->store));
    (void)helio_release_queue_release(self->held, durable, helio_engine_leave, self);
    helio_sessions_flush(helio_gateway_sessions(self->gateway));
}

/*  The store's socket changes when it reconnects, and what it waits for changes with every answer. */
static void watch_store(helio_engine_t *self)
{
    int fd = helio_store_fd(self->store);
    unsigned interest = HELIO_LOOP_IN | (helio_store_wants_write(self->store) ? HELIO_LOOP_OUT : 0u);
    if (fd != self->store_fd) {
        helio_source_destroy(&self->store_source);
        if (fd >= 0)
            self->store_source = helio_source_new(self->loop, fd, interest, on_store, self);
        self->store_fd = fd;
    } else if (self->store_source) {
        helio_source_interest(self->store_source, interest);
    }
}

static const char *quote_trouble(const helio_engine_t *self, char *ret_quoted, size_t capacity)
{
    return helio_log_quote(helio_text_of(helio_store_trouble(self->store)), ret_quoted, capacity);
}

static helio_rc move_store(helio_engine_t *self, helio_error_t *err)
{
    if (!self->store_ready && helio_store_next_tick_ms(self->store) > self->now_ms)
        return HELIO_OK;
    self->store_ready = false;
    bool was_connected = helio_store_connected(self->store), waited = helio_store_waits(self->store);
    helio_rc rc = helio_store_process(self->store, self->now_ms, err);
    bool is_connected = helio_store_connected(self->store), waits = helio_store_waits(self->store);
    char why[600];
    if (rc == HELIO_OK && was_connected != is_connected) {
        helio_log(self->log, is_connected ? HELIO_INFO : HELIO_WARN,
                  is_connected ? "database_connected" : "database_lost", "open_rows=%u text=%s",
                  helio_store_open_rows(self->store), quote_trouble(self, why, sizeof why));
        helio_ev_database_t database = {is_connected};
        helio_engine_step(self, HELIO_BROKER_EV_DATABASE, &database);
    }
    if (rc == HELIO_OK && waited != waits && is_connected)
        helio_log(self->log, waits ? HELIO_WARN : HELIO_INFO, waits ? "database_locked" : "database_unlocked",
                  "open_rows=%u text=%s", helio_store_open_rows(self->store), quote_trouble(self, why, sizeof why));
    return rc;
}

/*  The second half of a turn, after the handlers. */
static void settle(helio_engine_t *self)
{
    helio_error_t err = {0};
    helio_engine_read_clock(self);
    if (self->phase == HELIO_ENGINE_LEADING &&
        (self->wake_ms <= self->now_ms || self->last_tick_ms + HELIO_ENGINE_TICK_MS <= self->now_ms) &&
        self->last_tick_ms < self->now_ms) {
        helio_ev_nothing_t nothing = {0};
        self->last_tick_ms = self->now_ms;
        helio_engine_step(self, HELIO_BROKER_EV_TICK, &nothing);
        helio_sessions_tick(helio_gateway_sessions(self->gateway), self->now_ms);
    }
    helio_engine_tell_ended_channels(self);
    if (move_store(self, &err) != HELIO_OK) {
        helio_engine_fail(self, &err);
        watch_store(self);
        return;
    }
    /* Sealing comes first: the database works on that batch while the replies to the one before leave. */
    if (helio_store_can_seal(self->store))
        seal(self);
    release(self);
    watch_store(self);
    helio_sessions_shed(helio_gateway_sessions(self->gateway),
                        helio_engine_backlog(self) > HELIO_ENGINE_BACKLOG_SUMMARIES);
    if (self->recorder && helio_recorder_flush(self->recorder, &err) != HELIO_OK)
        helio_engine_fail(self, &err);
}

static int64_t timeout_ms(const helio_engine_t *self)
{
    int64_t due_ms = self->last_tick_ms + HELIO_ENGINE_TICK_MS;
    if (self->phase == HELIO_ENGINE_LEADING)
        /* at most one tick a millisecond, whatever the core asks for */
        due_ms = helio_lesser_i64(due_ms, self->wake_ms > self->last_tick_ms ? self->wake_ms : self->last_tick_ms + 1);
    due_ms = helio_lesser_i64(due_ms, helio_store_next_tick_ms(self->store));
    int64_t now_ms = helio_clock_boot_ms();
    return due_ms > now_ms ? helio_lesser_i64(due_ms - now_ms, HELIO_ENGINE_TICK_MS) : 0;
}

static void turn(helio_engine_t *self, int64_t wait_ms)
{
    helio_error_t err = {0};
    bool more = self->more_calls;
    self->more_calls = false;
    if (helio_loop_turn(self->loop, more ? 0 : wait_ms, &err) != HELIO_OK)
        helio_engine_fail(self, &err);
    if (more)
        helio_engine_take_calls(self);
    helio_engine_read_clock(self);
}

static bool stop_wanted(const helio_engine_t *self)
{
    return atomic_load(&self->stop_wanted) || self->fatal.code != HELIO_OK;
}

/* ---- the life ------------------------------------------------------------------------------------------ */

static void on_gateway_event(void *arg, uint32_t kind, const void *payload)
{
    helio_engine_t *self = arg;
    if (self->phase != HELIO_ENGINE_LEADING)
        return; /* before: no site is admitted yet; after: sites repeat what was not acknowledged */
    helio_engine_step(self, kind, payload);
    seal_if_full(self);
}

static void rest(helio_engine_t *self, int64_t ms)
{
    helio_engine_read_clock(self);
    int64_t until_ms = self->now_ms + ms;
    while (!stop_wanted(self) && self->now_ms < until_ms)
        turn(self, until_ms - self->now_ms);
}

/*  Until the next attempt to lead: a second, in which this broker follows the leader, or less if that one leads no
 *  more. Attempts go on meanwhile, because they also end the session of a leader that stands still. */
static void stand_by(helio_engine_t *self, helio_rc why)
{
    helio_engine_read_clock(self);
    int64_t until_ms = self->now_ms + HELIO_ENGINE_TICK_MS;
    bool followed = false;
    while (why == HELIO_BUSY && !stop_wanted(self) && self->now_ms < until_ms && helio_engine_follow(self)) {
        followed = true;
        rest(self, HELIO_ENGINE_FOLLOW_MS);
    }
    if (!followed)
        rest(self, HELIO_ENGINE_TICK_MS);
}

/*  Waits until the database can be reached and no other broker leads. OK, or an error that waiting cannot heal. */
static helio_rc become_leader(helio_engine_t *self, helio_error_t *err)
{
    while (!stop_wanted(self)) {
        helio_error_t why = {0};
        helio_rc rc = helio_store_open(self->store, &why);
        if (rc == HELIO_OK) {
            helio_engine_follow_no_more(self);
            return HELIO_OK;
        }
        if (rc != HELIO_UNAVAILABLE && rc != HELIO_BUSY) {
            if (err)
                *err = why;
            return rc;
        }
        if (!helio_error_equal(&why, &self->waiting)) { /* log it once, not once a second */
            char text[600];
            helio_log(self->log, HELIO_WARN, rc == HELIO_BUSY ? "standby" : "database_unreachable",
                      "why=%s retry_ms=%d", helio_log_quote(helio_text_of(why.text), text, sizeof text),
                      HELIO_ENGINE_TICK_MS);
        }
        self->waiting = why;
        stand_by(self, rc);
    }
    return HELIO_OK;
}

static void load_site_key(void *arg, const helio_row_site_key_t *key)
{
    helio_engine_t *self = arg;
    helio_gateway_site_key(self->gateway, key);
}

static void load_event(void *arg, uint32_t kind, const void *payload)
{
    helio_engine_t *self = arg;
    if (kind == HELIO_BROKER_EV_LOAD_FEDERATION) {
        const helio_row_federation_t *federation = payload;
        self->broker_epoch = federation->broker_epoch;
        if (federation->restored_ms)
            helio_log(
                self->log, HELIO_WARN, "database_restored",
                "incarnation=%" PRIu64
                " text=\"not the copy that the last leader wrote: nothing is placed until the sites have reported\"",
                federation->incarnation);
    }
    helio_engine_step(self, kind, payload);
}

static helio_rc load(helio_engine_t *self, helio_error_t *err)
{
    int64_t began_us = helio_clock_boot_us();
    helio_presence_destroy(&self->presence);
    self->presence = helio_presence_new(helio_clock_wall_ms(), self->options.core.silent_after_ms);
    helio_rc rc = helio_store_load(self->store, load_event, self, err);
    self->listener.on_access_begin(self->listener.arg);
    if (rc == HELIO_OK)
        rc = helio_store_each_user(self->store, self->listener.on_principal, self->listener.arg, err);
    if (rc == HELIO_OK)
        rc = helio_store_each_token(self->store, self->listener.on_token, self->listener.arg, err);
    if (rc == HELIO_OK) /* last: from here on sites are admitted */
        rc = helio_store_each_site_key(self->store, load_site_key, self, err);
    if (rc != HELIO_OK)
        return rc;
    self->listener.on_access_end(self->listener.arg);
    helio_ev_nothing_t nothing = {0};
    helio_engine_step(self, HELIO_BROKER_EV_LOADED, &nothing);
    if (self->listener.on_leading)
        self->listener.on_leading(self->listener.arg);
    helio_log(self->log, HELIO_INFO, "leading", "broker_epoch=%" PRIu64 " endpoint=%s public_key=%s load_ms=%" PRId64,
              self->broker_epoch, helio_gateway_endpoint(self->gateway), helio_gateway_public_key(self->gateway),
              (helio_clock_boot_us() - began_us) / 1000);
    return HELIO_OK;
}

static bool is_flushed(const helio_engine_t *self)
{
    return helio_store_open_rows(self->store) == 0 &&
           helio_store_committed(self->store) + 1 == helio_store_open_batch(self->store) &&
           helio_release_queue_count(self->held) == 0;
}

/*  Commits what was accepted, so that its callers get their replies. Gives up when the database does not answer. */
static void flush(helio_engine_t *self)
{
    self->phase = HELIO_ENGINE_STOPPING;
    int64_t until_ms = self->now_ms + HELIO_ENGINE_STOP_MS;
    settle(self);
    while (!is_flushed(self) && self->fatal.code == HELIO_OK && self->now_ms < until_ms) {
        turn(self, helio_lesser_i64(timeout_ms(self), until_ms - self->now_ms));
        settle(self);
    }
}

static helio_rc fail_with(const helio_error_t *why, helio_error_t *err)
{
    if (err)
        *err = *why;
    return why->code;
}

static helio_rc start(helio_engine_t *self, helio_error_t *err)
{
    if (self->broken.code != HELIO_OK)
        return fail_with(&self->broken, err);
    helio_gateway_options_t gateway = {.endpoint = self->options.endpoint,
                                       .secret_key_path = self->options.secret_key_path,
                                       .emit = on_gateway_event,
                                       .arg = self,
                                       .log = self->log};
    /* Bind before asking the database: only the operator can free a port that is in use, and waiting would hide it. */
    helio_rc rc = helio_gateway_new(self->net, self->loop, &gateway, &self->gateway, err);
    if (rc == HELIO_OK && self->options.record_path)
        rc = helio_recorder_open(self->options.record_path, &self->options.core, &self->recorder, err);
    return rc;
}

static helio_rc live(helio_engine_t *self, helio_error_t *err)
{
    helio_rc rc = become_leader(self, err);
    if (rc != HELIO_OK || stop_wanted(self))
        return rc;
    if ((rc = load(self, err)) != HELIO_OK)
        return rc;
    self->phase = HELIO_ENGINE_LEADING;
    settle(self);
    while (!stop_wanted(self)) {
        turn(self, timeout_ms(self));
        settle(self);
    }
    if (self->fatal.code == HELIO_OK)
        flush(self);
    return HELIO_OK;
}

helio_rc helio_engine_run(helio_engine_t *self, helio_error_t *err)
{
    helio_rc rc = start(self, err);
    if (rc == HELIO_OK)
        rc = live(self, err);
    atomic_store(&self->closed, true);
    self->phase = HELIO_ENGINE_STOPPING;
    helio_engine_reply_all(self, HELIO_UNAVAILABLE, HELIO_DETAIL_BROKER_STOPPED);
    /* A follower must not wait until this process has ended: it still has answers to send. */
    helio_source_destroy(&self->store_source);
    helio_store_close(self->store);
    if (rc == HELIO_OK && self->fatal.code != HELIO_OK)
        rc = fail_with(&self->fatal, err);
    return rc;
}
