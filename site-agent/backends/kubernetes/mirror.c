/*  mirror.c -- lists, watches, and lists again. */
#include <stdio.h>
#include <string.h>

#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/mirror.h"

enum { AGAIN_MS = 1000, AGAIN_MOST_MS = 15000, SHORT_MS = 5000 };

void helio_kube_mirror_init(helio_kube_mirror_t *self)
{
    self->items = json_object();
}

void helio_kube_mirror_clear(helio_kube_mirror_t *self)
{
    json_decref(self->items);
    json_decref(self->coming);
    helio_buffer_clear(&self->page);
    self->items = self->coming = NULL;
}

static void begin_again(helio_kube_mirror_t *self)
{
    json_decref(self->coming);
    self->coming = NULL;
    self->watches = false;
    self->pages = 0;
    helio_buffer_reset(&self->page);
}

void helio_kube_mirror_again(helio_kube_mirror_t *self)
{
    begin_again(self);
    self->denials = 0;
    self->due_ms = 0;
}

/*  False: there are too many. */
static bool put(helio_kube_mirror_t *self, json_t *items, const json_t *object)
{
    char key[HELIO_KUBE_KEY_SIZE];
    helio_kube_key(object, key);
    if (json_object_size(items) >= HELIO_KUBE_OBJECTS_MAX && !json_object_get(items, key)) {
        self->excess = "objects";
        return false;
    }
    json_t *kept = self->prune ? self->prune(object) : json_incref((json_t *)(uintptr_t)object);
    (void)json_object_set_new(items, key, kept);
    return true;
}

/* ---- the list ------------------------------------------------------------------------------------------ */

static void pause(helio_kube_mirror_t *self, uint64_t least_ms)
{
    uint64_t ms = (uint64_t)AGAIN_MS << (self->failures < 4 ? self->failures : 4);
    self->failures++;
    ms = ms > AGAIN_MOST_MS ? AGAIN_MOST_MS : ms;
    self->due_ms = self->now_ms + (int64_t)(least_ms > ms ? least_ms : ms);
}

/*  What was held and is not in the list has gone. */
static void tell_gone(const helio_kube_mirror_t *self, json_t *before)
{
    const char *key;
    json_t *object;
    json_object_foreach(before, key, object) if (!json_object_get(self->items, key))
        self->changed(self->arg, object, true);
}

static void end_list(helio_kube_mirror_t *self, const json_t *document)
{
    helio_text_t version = helio_kube_text(HELIO_KUBE_AT(document, "metadata", "resourceVersion"));
    json_t *before = self->items, *object;
    const char *key;
    self->items = self->coming;
    self->coming = NULL;
    (void)helio_text_copy(version, self->version, sizeof self->version);
    self->synced = self->watches = true;
    self->excess = NULL;
    self->due_ms = 0;
    json_object_foreach(self->items, key, object) self->changed(self->arg, object, false);
    tell_gone(self, before);
    json_decref(before);
    if (self->listed)
        self->listed(self->arg);
}

/*  False: there is more than a cluster can have. */
static bool take_items(helio_kube_mirror_t *self, const json_t *document, helio_text_t more)
{
    const json_t *items = json_object_get(document, "items");
    if (!self->coming)
        self->coming = json_object();
    for (size_t i = 0; i < json_array_size(items); i++)
        if (!put(self, self->coming, json_array_get(items, i)))
            return false;
    bool endless = more.size && ++self->pages >= HELIO_KUBE_PAGES_MAX;
    if (endless || more.size > HELIO_KUBE_TOKEN_MAX)
        self->excess = endless ? "pages" : "bytes of a `continue`";
    return !endless && more.size <= HELIO_KUBE_TOKEN_MAX;
}

static void take_page(helio_kube_mirror_t *self, const json_t *document)
{
    helio_text_t more = helio_kube_text(HELIO_KUBE_AT(document, "metadata", "continue"));
    if (!take_items(self, document, more)) {
        begin_again(self);
        pause(self, HELIO_KUBE_EXCESS_MS);
        return;
    }
    helio_buffer_reset(&self->page);
    helio_buffer_append(&self->page, more.data, more.size);
    self->failures = self->denials = 0;
    self->due_ms = 0;
    if (!more.size)
        end_list(self, document);
}

static void on_list(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_mirror_t *self = arg;
    self->out = false;
    self->heard(self->arg, reply);
    if (reply->answer == HELIO_KUBE_DONE && json_is_array(json_object_get(reply->document, "items"))) {
        take_page(self, reply->document);
        return;
    }
    self->denials += reply->answer == HELIO_KUBE_DENIED;
    begin_again(self);
    pause(self, reply->answer == HELIO_KUBE_BUSY ? reply->pause_ms : 0);
}

static void list(helio_kube_mirror_t *self)
{
    helio_error_t err = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    helio_buffer_printf(&path, "%s%climit=%d", self->path, strchr(self->path, '?') ? '&' : '?', HELIO_KUBE_PAGE);
    if (self->page.size)
        helio_buffer_printf(&path, "&continue=%.*s", (int)self->page.size, self->page.data);
    self->out = !helio_kube_api_ask(self->api, "GET", path.data, (helio_text_t){0}, on_list, self, &err);
    if (!self->out)
        pause(self, 0);
}

/* ---- the watch ----------------------------------------------------------------------------------------- */

static void on_event(void *arg, const helio_kube_event_t *event)
{
    helio_kube_mirror_t *self = arg;
    char key[HELIO_KUBE_KEY_SIZE];
    self->moved = true;
    (void)helio_text_copy(event->version, self->version, sizeof self->version);
    if (event->change == HELIO_KUBE_BOOKMARK)
        return;
    bool gone = event->change == HELIO_KUBE_DELETED;
    helio_kube_key(event->object, key);
    if (gone)
        (void)json_object_del(self->items, key);
    else if (!put(self, self->items, event->object))
        return;
    self->changed(self->arg, event->object, gone);
}

/*  A watch that ended in good order goes on where it was. One that never lasts is as good as none. */
static void on_watch_end(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_mirror_t *self = arg;
    bool lasted = self->moved || self->now_ms - self->began_ms >= SHORT_MS;
    self->out = false;
    self->heard(self->arg, reply);
    if (lasted)
        self->failures = 0;
    if (reply->answer == HELIO_KUBE_DONE && lasted && !self->excess) {
        self->due_ms = 0;
        return;
    }
    begin_again(self);
    if (reply->answer == HELIO_KUBE_EXPIRED && lasted)
        self->due_ms = 0;
    else
        pause(self, reply->answer == HELIO_KUBE_BUSY ? reply->pause_ms : 0);
}

static void watch(helio_kube_mirror_t *self)
{
    helio_error_t err = {0};
    self->moved = false;
    self->began_ms = self->now_ms;
    self->out = !helio_kube_api_watch(self->api, self->path, self->version, on_event, on_watch_end, self, &err);
    if (!self->out)
        pause(self, 0);
}

void helio_kube_mirror_serve(helio_kube_mirror_t *self, int64_t now_ms)
{
    self->now_ms = now_ms;
    if (self->out || now_ms < self->due_ms)
        return;
    if (self->watches)
        watch(self);
    else
        list(self);
}

int64_t helio_kube_mirror_next_ms(const helio_kube_mirror_t *self)
{
    return self->out ? INT64_MAX : self->due_ms;
}
