/*  queue_line.c -- reads who stands in line at the site's ClusterQueue: the Workloads of all namespaces, or, without the
 *  right to list those, of its own. */
#include "federation/base/number.h"
#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/shell.h"

enum {
    EVERY_MS = 30000,   /* a Workload has the template of its pods: a list is large */
    AGAIN_MS = 10000,   /* after the first denial: a server that just started denies a valid token once */
    DENIED_MS = 600000, /* before a right that is missing is tried again */
    PAGES_MAX = 64
};

#define KUEUE "/apis/kueue.x-k8s.io/v1beta1"

static void drop(helio_kube_reading_t *reading)
{
    helio_kube_line_destroy(&reading->coming);
    helio_buffer_reset(&reading->page);
    reading->pages = 0;
    reading->out = false;
}

/*  NULL: nothing is known. */
static void keep(helio_kube_t *self, helio_kube_line_t *line)
{
    helio_kube_reading_t *reading = &self->reading;
    helio_kube_line_destroy(&reading->line);
    reading->line = line;
    if (line == reading->coming)
        reading->coming = NULL;
    self->offer = true;
    drop(reading);
}

static void on_page(void *arg, const helio_kube_reply_t *reply);

static void ask(helio_kube_t *self)
{
    helio_kube_reading_t *reading = &self->reading;
    helio_error_t err = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    helio_buffer_text(&path, KUEUE);
    if (reading->narrow)
        helio_buffer_printf(&path, "/namespaces/%s", self->space);
    helio_buffer_printf(&path, "/%s?limit=%d", reading->queues ? "localqueues" : "workloads", HELIO_KUBE_PAGE);
    if (reading->page.size)
        helio_buffer_printf(&path, "&continue=%.*s", (int)reading->page.size, reading->page.data);
    reading->out = !helio_kube_api_ask(self->api, "GET", path.data, (helio_text_t){0}, on_page, self, &err);
    if (!reading->out)
        drop(reading);
}

/*  LocalQueues of other namespaces tell which of their Workloads wait here. */
static void begin(helio_kube_t *self)
{
    self->reading.queues = !self->reading.narrow;
    ask(self);
}

static void take(helio_kube_t *self, const json_t *document)
{
    helio_kube_reading_t *reading = &self->reading;
    helio_text_t more = helio_kube_text(HELIO_KUBE_AT(document, "metadata", "continue"));
    const json_t *items = json_object_get(document, "items");
    if (reading->queues)
        helio_kube_line_take_queues(reading->coming, items);
    else
        helio_kube_line_take(reading->coming, items);
    helio_buffer_reset(&reading->page);
    bool goes_on = more.size && more.size <= HELIO_KUBE_TOKEN_MAX && ++reading->pages < PAGES_MAX;
    if (goes_on)
        helio_buffer_append(&reading->page, more.data, more.size);
    else if (!reading->queues) {
        keep(self, reading->coming);
        return;
    } else {
        reading->queues = false;
        reading->pages = 0;
    }
    ask(self);
}

/*  Without the right to see all namespaces its own is seen; without any, nothing is expected. */
static void refused(helio_kube_t *self)
{
    helio_kube_reading_t *reading = &self->reading;
    if (reading->narrow) {
        reading->due_ms = self->now_ms + DENIED_MS;
        keep(self, NULL);
        return;
    }
    reading->narrow = true;
    reading->narrow_until_ms = self->now_ms + (reading->denied ? DENIED_MS : AGAIN_MS);
    reading->denied = true;
    helio_buffer_reset(&reading->page);
    reading->pages = 0;
    begin(self);
}

static void on_page(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_t *self = arg;
    self->reading.out = false;
    helio_kube_hear(self, reply);
    if (reply->answer == HELIO_KUBE_DONE && json_is_array(json_object_get(reply->document, "items")))
        take(self, reply->document);
    else if (reply->answer == HELIO_KUBE_DENIED || reply->answer == HELIO_KUBE_ABSENT)
        refused(self);
    else
        drop(&self->reading);
}

void helio_kube_read_line(helio_kube_t *self, const json_t *local, const json_t *cluster)
{
    helio_kube_reading_t *reading = &self->reading;
    if (reading->coming)
        return;
    helio_kube_line_t *line = helio_kube_line_new(self->site, helio_text_of(self->space), local, cluster);
    if (!helio_kube_line_is_busy(line)) {
        keep(self, line);
        return;
    }
    if (self->now_ms < reading->due_ms) {
        helio_kube_line_destroy(&line);
        return;
    }
    reading->due_ms = self->now_ms + EVERY_MS;
    reading->coming = line;
    if (reading->narrow && self->now_ms >= reading->narrow_until_ms)
        reading->narrow = false;
    begin(self);
}

void helio_kube_forget_line(helio_kube_t *self)
{
    if (!self->reading.coming)
        helio_kube_line_destroy(&self->reading.line);
}

void helio_kube_clear_line(helio_kube_t *self)
{
    drop(&self->reading);
    helio_kube_line_destroy(&self->reading.line);
    helio_buffer_clear(&self->reading.page);
}

/*  Several pools can share the queue: who waits in it counts at the first of them. */
static bool is_first(const helio_kube_t *self, uint32_t pool)
{
    for (uint32_t p = 0; p < pool; p++)
        if (self->quota.pools[p].gpus != UINT64_MAX)
            return false;
    return true;
}

void helio_kube_expect(const helio_kube_t *self, uint32_t pool, helio_arena_t *arena, helio_pool_capacity_t *capacity)
{
    const helio_kube_line_t *line = self->reading.line;
    uint64_t left = self->quota.pools[pool].gpus;
    uint32_t sizes = 0;
    if (!line || left == UINT64_MAX)
        return;
    uint64_t queued = (uint64_t)capacity->jobs_queued + (is_first(self, pool) ? helio_kube_line_waiting(line) : 0);
    capacity->jobs_queued = (uint32_t)helio_lesser_u64(queued, UINT32_MAX);
    while (sizes < HELIO_KUBE_LINE_SIZES_MAX && UINT32_C(1) << sizes <= capacity->nodes_up)
        sizes++;
    if (!helio_kube_line_is_busy(line) || !sizes)
        return;
    capacity->expected_wait_s.items = helio_arena_alloc(arena, sizes, sizeof *capacity->expected_wait_s.items);
    capacity->expected_wait_s.count = sizes;
    helio_kube_line_expect(line, pool, left, helio_kube_server_ms(self), sizes, capacity->expected_wait_s.items);
}
