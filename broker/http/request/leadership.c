/*  leadership.c -- one pointer to who leads, and when that was last seen. */
#include "broker/http/request/leadership.h"

#include <stdatomic.h>
#include <stdlib.h>

struct helio_leadership {
    atomic_bool leads;
    _Atomic int64_t seen_ms; /* 0 = this broker has never followed */
    _Atomic(const helio_leader_view_t *) other;
    helio_leader_view_t *views; /* the writer's, newest first */
};

helio_leadership_t *helio_leadership_new(void)
{
    helio_leadership_t *self = helio_new(1, sizeof *self);
    atomic_init(&self->leads, false);
    atomic_init(&self->seen_ms, 0);
    atomic_init(&self->other, NULL);
    return self;
}

void helio_leadership_destroy(helio_leadership_t **self_p)
{
    helio_leadership_t *self = *self_p;
    if (!self)
        return;
    for (helio_leader_view_t *view = self->views, *next; view; view = next) {
        next = view->next;
        free(view);
    }
    free(self);
    *self_p = NULL;
}

static helio_text_t url_of(const char *http)
{
    helio_text_t url = helio_text_of(http);
    while (url.size && url.data[url.size - 1] == '/')
        url.size--;
    return url;
}

static bool shows(const helio_leader_view_t *view, const helio_leader_t *leader)
{
    return view && view->epoch == leader->epoch && helio_text_is(helio_text_of(leader->name), view->name) &&
           helio_text_is(url_of(leader->http), view->http);
}

void helio_leadership_follow(helio_leadership_t *self, const helio_leader_t *leader, int64_t seen_ms)
{
    atomic_store_explicit(&self->seen_ms, seen_ms, memory_order_release);
    if (!leader) {
        atomic_store_explicit(&self->other, NULL, memory_order_release);
        return;
    }
    if (!shows(self->views, leader)) {
        helio_leader_view_t *view = helio_new(1, sizeof *view);
        (void)helio_text_copy(helio_text_of(leader->name), view->name, sizeof view->name);
        if (!helio_text_copy(url_of(leader->http), view->http, sizeof view->http))
            view->http[0] = '\0'; /* half an address is another one */
        view->epoch = leader->epoch;
        view->next = self->views;
        self->views = view;
    }
    atomic_store_explicit(&self->other, self->views, memory_order_release);
}

void helio_leadership_lead(helio_leadership_t *self)
{
    atomic_store_explicit(&self->leads, true, memory_order_release);
}

bool helio_leadership_leads(const helio_leadership_t *self)
{
    return atomic_load_explicit(&self->leads, memory_order_acquire);
}

static bool is_fresh(const helio_leadership_t *self, int64_t now_ms)
{
#ifdef HELIO_MUTANT_follower_never_blind
    return true;
#endif
    return now_ms - atomic_load_explicit(&self->seen_ms, memory_order_acquire) <= HELIO_FOLLOWING_FRESH_MS;
}

const helio_leader_view_t *helio_leadership_other(const helio_leadership_t *self, int64_t now_ms)
{
    if (helio_leadership_leads(self) || !is_fresh(self, now_ms))
        return NULL;
    return atomic_load_explicit(&self->other, memory_order_acquire);
}

bool helio_leadership_has_looked(const helio_leadership_t *self, int64_t since_ms)
{
    return atomic_load_explicit(&self->seen_ms, memory_order_acquire) > since_ms;
}

bool helio_leadership_is_blind(const helio_leadership_t *self, int64_t now_ms)
{
    return !helio_leadership_leads(self) && atomic_load_explicit(&self->seen_ms, memory_order_acquire) &&
           !is_fresh(self, now_ms);
}
