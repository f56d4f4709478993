/*  leader_watch.c -- one probe at a time, and what the last ones found. */
#include "broker/http/request/leader_watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/clock.h"

enum {
    PROBE_MS = 1000,     /* from one probe to the next; at once after one without an answer */
    TAKEOVER_MS = 10000, /* a broker that is about to lead answers as one that follows, until it has loaded */
    ITSELF_MS = 10000    /* behind a proxy for several brokers this one answers only some of the probes */
};

typedef enum way { UNKNOWN, LEADS, SILENT, ITSELF, ELSEWHERE, NO_BROKER } way_t;

struct helio_leader_watch {
    helio_log_t *log;
    helio_forward_t probe;
    /*  Owned by the driving thread. */
    int64_t due_ms;
    helio_detail_code_t logged; /* the objection; 0 = none */
    const helio_leader_view_t *logged_of;
    pthread_mutex_t mutex; /* guards what follows */
    bool under_way;
    const helio_leader_view_t *of; /* whose address was asked */
    way_t way;
    int64_t since_ms;  /* when it became so */
    int64_t itself_ms; /* when this process answered last; 0 = never */
};

static way_t way_of(helio_rc rc, const helio_forward_answer_t *answer)
{
    return rc != HELIO_OK                            ? SILENT
           : strcmp(answer->broker, "leader") == 0   ? LEADS
           : strcmp(answer->broker, "itself") == 0   ? ITSELF
           : strcmp(answer->broker, "follower") == 0 ? ELSEWHERE
                                                     : NO_BROKER;
}

static void on_answer(helio_forward_t *probe, helio_rc rc, const helio_forward_answer_t *answer)
{
    helio_leader_watch_t *self = probe->arg;
    way_t way = way_of(rc, answer);
    int64_t now_ms = helio_clock_boot_ms();
    (void)pthread_mutex_lock(&self->mutex);
    if (way != self->way)
        self->since_ms = now_ms;
    self->way = way;
    if (way == ITSELF)
        self->itself_ms = now_ms;
    self->under_way = false;
    (void)pthread_mutex_unlock(&self->mutex);
}

helio_leader_watch_t *helio_leader_watch_new(const char *instance, helio_log_t *log)
{
    helio_leader_watch_t *self = helio_new(1, sizeof *self);
    self->log = log;
    self->probe = (helio_forward_t){.kind = HELIO_FORWARD_PROBE,
                                    .tenant = "",
                                    .instance = instance,
                                    .method = "GET",
                                    .target = "/healthz",
                                    .credential = "",
                                    .content_type = "",
                                    .idempotency_key = "",
                                    .done = on_answer,
                                    .arg = self};
    if (pthread_mutex_init(&self->mutex, NULL) != 0)
        abort();
    return self;
}

void helio_leader_watch_destroy(helio_leader_watch_t **self_p)
{
    if (!*self_p)
        return;
    (void)pthread_mutex_destroy(&(*self_p)->mutex);
    free(*self_p);
    *self_p = NULL;
}

static helio_detail_code_t objection(const helio_leader_watch_t *self, bool is_strict, int64_t now_ms)
{
#ifdef HELIO_MUTANT_own_address_followed
    return HELIO_DETAIL_NONE;
#endif
    if (self->itself_ms && now_ms - self->itself_ms < ITSELF_MS)
        return HELIO_DETAIL_LEADER_IS_ITSELF;
    switch (self->way) {
    case SILENT:
        return HELIO_DETAIL_LEADER_SILENT;
    case NO_BROKER:
        return HELIO_DETAIL_LEADER_NO_BROKER;
    case UNKNOWN:
        return is_strict ? HELIO_DETAIL_LEADER_NOT_REACHED_YET : HELIO_DETAIL_NONE;
    case ELSEWHERE:
        return is_strict && now_ms - self->since_ms >= TAKEOVER_MS ? HELIO_DETAIL_LEADER_ELSEWHERE : HELIO_DETAIL_NONE;
    case ITSELF:
    case LEADS:
    default:
        return HELIO_DETAIL_NONE;
    }
}

helio_detail_code_t helio_leader_watch_objection(helio_leader_watch_t *self, const helio_leader_view_t *leader,
                                                 bool is_strict, int64_t now_ms)
{
    (void)pthread_mutex_lock(&self->mutex);
    helio_detail_code_t code = self->of == leader ? objection(self, is_strict, now_ms)
                               : is_strict        ? HELIO_DETAIL_LEADER_NOT_REACHED_YET
                                                  : HELIO_DETAIL_NONE;
    (void)pthread_mutex_unlock(&self->mutex);
    return code;
}

/*  True: the probe is to be sent, to leader. */
static bool is_due(helio_leader_watch_t *self, const helio_leader_view_t *leader, int64_t now_ms)
{
    (void)pthread_mutex_lock(&self->mutex);
    bool is_other = leader != self->of;
    bool is_due = !self->under_way && (is_other || self->way == SILENT || now_ms >= self->due_ms);
    if (is_due && is_other) {
        self->of = leader;
        self->way = UNKNOWN;
        self->itself_ms = 0;
    }
    self->under_way |= is_due;
    (void)pthread_mutex_unlock(&self->mutex);
    return is_due;
}

static void was_not_posted(helio_leader_watch_t *self)
{
    (void)pthread_mutex_lock(&self->mutex);
    self->under_way = false;
    (void)pthread_mutex_unlock(&self->mutex);
}

static void report(helio_leader_watch_t *self, const helio_leader_view_t *leader, int64_t now_ms)
{
    helio_detail_code_t why = helio_leader_watch_objection(self, leader, true, now_ms);
    if ((why == self->logged && leader == self->logged_of) || why == HELIO_DETAIL_LEADER_NOT_REACHED_YET)
        return;
    if (why)
        helio_log(self->log, HELIO_WARN, "leader_not_reached", "url=%s code=%s", leader->http,
                  helio_detail_entry(why)->word);
    else
        helio_log(self->log, HELIO_INFO, "leader_reached", "url=%s", leader->http);
    self->logged = why;
    self->logged_of = leader;
}

void helio_leader_watch_drive(helio_leader_watch_t *self, const helio_http_ports_t *ports,
                              const helio_leader_view_t *leader, int64_t now_ms)
{
    if (!leader)
        return;
    report(self, leader, now_ms);
    if (!is_due(self, leader, now_ms))
        return;
    self->due_ms = now_ms + PROBE_MS;
    self->probe.base = leader->http;
    if (ports->forward(ports->forwarder, &self->probe) != HELIO_OK)
        was_not_posted(self); /* which says nothing of the leader: so many others wait */
}
