/*  slurm_poll.c -- one squeue for all jobs, then the capacity of the cluster; less often where the controller is slow.
 *
 *  A list counts when squeue reports that it is complete: exit 0, nothing on standard error, not cut, every line read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/reason/detail.h"
#include "site-agent/backends/slurm/slurm_internal.h"
#include "site-agent/core/capacity.h"

enum {
    BACK_OFF_MOST_MS = 60000,
    SLOWNESS = 10,        /* a command is repeated only after this many times its duration, ... */
    SLOW_MOST_MS = 30000, /* ... or after this */
    IDLE_AFTER = 5,       /* lists without a change and without attempts; each further one doubles the pause, ... */
    IDLE_MOST_MS = 10000, /* ... up to this */
    CLUSTER_EVERY = 5,
    CLUSTER_FAILURES = 3,
    SILENT_MS = 12000,         /* since the first query without an answer; squeue itself gives up after 9 s */
    CLUSTER_SILENT_MS = 30000, /* for figures of nodes */
    LEFTOVERS_MOST = 64,
    CONFIG_EVERY_MS = 600000,
    USERS_MOST = 64, /* whose limits are looked at */
    SERIES_LEAST_MS = 60000,
    SERIES_MOST_MS = 600000,
    SERIES_HOURS = 48
};

/*  A slow controller is slow each time; one that restarts is slow once. */
static int64_t pause_ms(const helio_slurm_t *self, int64_t took_ms, int64_t *last_ms)
{
    int64_t least = (int64_t)self->settings.poll_ms, steady_ms = took_ms < *last_ms ? took_ms : *last_ms;
    int64_t pause = steady_ms * SLOWNESS < SLOW_MOST_MS ? steady_ms * SLOWNESS : SLOW_MOST_MS;
    *last_ms = took_ms;
    return pause > least ? pause : least;
}

/*  While nothing changes and no attempt is under way. */
static int64_t idle_ms(const helio_slurm_t *self)
{
    int64_t pause = (int64_t)self->settings.poll_ms;
    for (uint32_t i = IDLE_AFTER; i < self->poll.unchanged && pause < IDLE_MOST_MS; i++)
        pause *= 2;
    bool capped = pause > IDLE_MOST_MS && (int64_t)self->settings.poll_ms < IDLE_MOST_MS;
    return capped ? IDLE_MOST_MS : pause;
}

static int64_t back_off_ms(const helio_slurm_t *self, uint32_t failures)
{
    int64_t pause = (int64_t)self->settings.poll_ms;
    for (uint32_t i = 1; i < failures && pause < BACK_OFF_MOST_MS; i++)
        pause *= 2;
    return pause < BACK_OFF_MOST_MS ? pause : BACK_OFF_MOST_MS;
}

static void replace(helio_slurm_answer_t *answer, helio_arena_t *arena, int64_t now_ms)
{
    helio_arena_destroy(&answer->arena);
    *answer = (helio_slurm_answer_t){.arena = arena, .at_ms = now_ms, .have = true};
}

/* ---- jobs ---------------------------------------------------------------------------------------------- */

/*  Those whose name could be an attempt's. */
static void find_ours(helio_slurm_poll_t *poll)
{
    static const char prefix[] = "helio-";
    poll->ours = helio_arena_alloc(poll->jobs_answer.arena, poll->jobs.count + 1, sizeof *poll->ours);
    poll->ours_count = 0;
    for (uint32_t i = 0; i < poll->jobs.count; i++)
        if (poll->jobs.items[i].name.size >= sizeof prefix &&
            memcmp(poll->jobs.items[i].name.data, prefix, sizeof prefix - 1) == 0)
            poll->ours[poll->ours_count++] = &poll->jobs.items[i];
}

/*  A few for each list, and a few more with the next one: each costs a read of the disk. */
static bool is_leftovers_turn(const helio_slurm_t *self, uint32_t index)
{
    uint32_t turns = self->poll.ours_count / LEFTOVERS_MOST + 1;
    return self->poll.ours[index]->state == HELIO_SLURM_PENDING && index % turns == self->poll.heard % turns;
}

static void tell_attempts(helio_slurm_t *self)
{
    for (helio_slurm_attempt_t *attempt = self->first; attempt; attempt = attempt->after)
        if (self->poll.heard >= attempt->since_list)
            attempt->seen.live = attempt->seen.over = attempt->other.live = attempt->other.over = false;
    for (uint32_t i = 0; i < self->poll.ours_count; i++) {
        const helio_slurm_job_t *job = self->poll.ours[i];
        helio_job_key_t key;
        uint32_t epoch;
        if (helio_attempt_name_parse(job->name, &key, &epoch))
            continue;
        helio_slurm_attempt_t *attempt = helio_slurm_find(self, key, epoch);
        if (!attempt && is_leftovers_turn(self, i))
            attempt = helio_slurm_leftover(self, key, epoch);
        if (attempt && self->poll.heard >= attempt->since_list)
            helio_slurm_note_job(attempt, job);
    }
    for (helio_slurm_attempt_t *attempt = self->first, *after; attempt; attempt = after) {
        after = attempt->after;
        if (self->poll.heard >= attempt->since_list)
            helio_slurm_on_list(attempt);
    }
}

static uint64_t hash_of(const helio_slurm_jobs_t *jobs)
{
    uint64_t hash = HELIO_HASH_SEED;
    for (uint32_t i = 0; i < jobs->count; i++) {
        hash = helio_hash(hash, jobs->items[i].id.data, jobs->items[i].id.size);
        hash = helio_hash(hash, &jobs->items[i].state, sizeof jobs->items[i].state);
    }
    return hash;
}

static void want_cluster(helio_slurm_t *self, uint64_t hash)
{
    helio_slurm_poll_t *poll = &self->poll;
    bool idle = !self->count && poll->unchanged > IDLE_AFTER;
    bool all = poll->polls++ % CLUSTER_EVERY == 0 || idle || poll->said_nothing_free;
    poll->unchanged = hash == poll->hash ? poll->unchanged + 1 : 0;
    if (hash != poll->hash)
        poll->cluster_wanted[HELIO_SLURM_ASK_NODES] = true;
    bool config = !poll->config_ms || self->now_boot_ms - poll->config_ms >= CONFIG_EVERY_MS;
    for (uint32_t i = 0; all && i < HELIO_SLURM_ASK_COUNT; i++)
        poll->cluster_wanted[i] = i != HELIO_SLURM_ASK_CONFIG || config;
    poll->hash = hash;
}

/*  Attempts grow older while the queue stays the same. */
static void look_ahead(helio_slurm_t *self)
{
    helio_arena_t *arena = helio_arena_new();
    uint32_t count;
    const helio_slurm_ahead_t *ahead = helio_slurm_ahead(self, arena, &count);
    if (helio_slurm_ahead_hash(ahead, count) != self->poll.ahead_hash)
        self->poll.capacity_due = true;
    helio_arena_destroy(&arena);
}

static void on_jobs(void *arg, const helio_command_result_t *result)
{
    helio_slurm_t *self = arg;
    helio_slurm_poll_t *poll = &self->poll;
    helio_slurm_jobs_t jobs = {0};
    helio_arena_t *arena = helio_arena_new();
    poll->out = false;
    self->next_ms = 0;
    if (!helio_slurm_is_whole(result) ||
        helio_slurm_read_jobs(helio_arena_text(arena, result->out), arena, &jobs, NULL)) {
        helio_arena_destroy(&arena);
        poll->due_ms = self->now_boot_ms + back_off_ms(self, ++poll->failures);
        return;
    }
    replace(&poll->jobs_answer, arena, self->now_boot_ms);
    poll->jobs = jobs;
    find_ours(poll);
    poll->heard = poll->asked;
    poll->failures = 0;
    poll->unanswered_ms = 0;
    want_cluster(self, hash_of(&jobs));
    tell_attempts(self);
    look_ahead(self);
    poll->due_ms = self->now_boot_ms + pause_ms(self, result->took_ms, &poll->took_ms);
    poll->idle_due_ms = self->now_boot_ms + idle_ms(self);
}

static void ask_jobs(helio_slurm_t *self)
{
    char format[512];
    int size = snprintf(format, sizeof format, "--Format=%s", helio_slurm_jobs_format);
    const char *argv[] = {"squeue", "--noheader", "--all", "--states=all", "--array", format, NULL};
    if (size > 0 && (size_t)size < sizeof format &&
        helio_slurm_ask(self, argv, HELIO_SLURM_LIST_BYTES, true, on_jobs, self)) {
        self->poll.out = true;
        self->poll.asked++;
        self->poll.asked_ms = self->now_boot_ms;
        if (!self->poll.unanswered_ms)
            self->poll.unanswered_ms = self->now_boot_ms ? self->now_boot_ms : 1;
    } else {
        self->poll.due_ms = self->now_boot_ms + (int64_t)self->settings.poll_ms;
    }
}

/* ---- limits, nodes, partitions, reservations ------------------------------------------------------------------- */

static helio_rc read_cluster(helio_slurm_poll_t *poll, helio_text_t text, helio_arena_t *arena)
{
    switch (poll->cluster_asked) {
    case HELIO_SLURM_ASK_NODES:
        return helio_slurm_read_nodes(text, arena, &poll->nodes, NULL);
    case HELIO_SLURM_ASK_CONFIG:
        poll->enforced = helio_slurm_read_enforced(text);
        return HELIO_OK;
    case HELIO_SLURM_ASK_QOS: {
        helio_slurm_associations_t associations;
        helio_rc rc = helio_slurm_read_associations(text, arena, &associations, NULL);
        rc = rc ? rc : helio_slurm_read_qos(text, arena, &poll->qos, NULL);
        if (!rc)
            poll->associations = associations;
        return rc;
    }
    case HELIO_SLURM_ASK_PARTITIONS:
        return helio_slurm_read_partitions(text, arena, &poll->partitions, NULL);
    case HELIO_SLURM_ASK_RESERVATIONS:
        return helio_slurm_read_reservations(text, arena, &poll->reservations, NULL);
    case HELIO_SLURM_ASK_COUNT:
        break;
    }
    return HELIO_INVALID;
}

/*  Not every cluster tells; the others are asked at once. */
static bool is_optional(helio_slurm_asked_t asked)
{
    return asked == HELIO_SLURM_ASK_CONFIG || asked == HELIO_SLURM_ASK_QOS;
}

static void on_cluster(void *arg, const helio_command_result_t *result)
{
    helio_slurm_t *self = ((helio_slurm_poll_t *)arg)->of;
    helio_slurm_poll_t *poll = &self->poll;
    helio_slurm_asked_t asked = poll->cluster_asked;
    helio_arena_t *arena = helio_arena_new();
    poll->cluster_out = false;
    poll->cluster_due_ms = self->now_boot_ms + (int64_t)self->settings.poll_ms;
    self->next_ms = 0;
    if (!helio_slurm_is_whole(result) || read_cluster(poll, helio_arena_text(arena, result->out), arena)) {
        helio_arena_destroy(&arena); /* still wanted */
        poll->cluster_failures += !is_optional(asked);
        if (is_optional(asked)) {
            poll->cluster_wanted[asked] = false;
            poll->cluster_due_ms = 0;
        }
        return;
    }
    poll->cluster_failures = 0;
    replace(&poll->cluster[asked], arena, self->now_boot_ms);
    poll->cluster_wanted[asked] = false;
    bool more = false;
    for (uint32_t i = 0; i < HELIO_SLURM_ASK_COUNT; i++)
        more = more || poll->cluster_wanted[i];
    if (more) /* the rest of one round follows at once */
        poll->cluster_due_ms = 0;
    else
        poll->cluster_due_ms = self->now_boot_ms + pause_ms(self, result->took_ms, &poll->cluster_took_ms);
    if (asked == HELIO_SLURM_ASK_NODES) {
        poll->nodes_after = poll->nodes_asked_after;
        poll->nodes_at_ms = poll->nodes_asked_ms;
        poll->capacity_due = true;
    }
}

/*  "users=ada,bob": those that jobs here can run as. */
static const char *users_of(const helio_slurm_t *self)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t list = {0};
    if (!self->rules.users.count || self->rules.users.count > USERS_MOST)
        return NULL;
    for (uint32_t i = 0; i < self->rules.users.count; i++)
        helio_buffer_printf(&list, "%s%.*s", i ? "," : "users=", HELIO_TEXT_ARGS(self->rules.users.items[i].unix_user));
    return helio_arena_text(self->arena, helio_buffer_view(&list)).data;
}

void helio_slurm_poll_open(helio_slurm_t *self)
{
    self->poll.of = self;
    self->poll.users = users_of(self);
}

static void ask_cluster(helio_slurm_t *self)
{
    static const char *const what[HELIO_SLURM_ASK_COUNT] = {
        [HELIO_SLURM_ASK_CONFIG] = "config",        [HELIO_SLURM_ASK_QOS] = "assoc_mgr",
        [HELIO_SLURM_ASK_PARTITIONS] = "partition", [HELIO_SLURM_ASK_RESERVATIONS] = "reservation",
        [HELIO_SLURM_ASK_NODES] = "node",
    };
    helio_slurm_poll_t *poll = &self->poll;
    for (uint32_t i = 0; i < HELIO_SLURM_ASK_COUNT; i++) {
        if (!poll->cluster_wanted[i])
            continue;
        const char *argv[] = {"scontrol",
                              "--all",
                              "--details",
                              "--oneliner",
                              "show",
                              what[i],
                              i != HELIO_SLURM_ASK_QOS ? NULL
                              : poll->users            ? "flags=qos,assoc"
                                                       : "flags=qos",
                              poll->users,
                              NULL};
        if (i == HELIO_SLURM_ASK_CONFIG)
            poll->config_ms = self->now_boot_ms ? self->now_boot_ms : 1;
        poll->cluster_asked = (helio_slurm_asked_t)i;
        poll->nodes_asked_after = poll->heard;
        poll->nodes_asked_ms = self->now_boot_ms;
        poll->cluster_out = helio_slurm_ask(self, argv, HELIO_SLURM_LIST_BYTES, true, on_cluster, poll);
        if (!poll->cluster_out)
            poll->cluster_due_ms = self->now_boot_ms + (int64_t)self->settings.poll_ms;
        return;
    }
}

/* ---- reports ------------------------------------------------------------------------------------------------ */

/*  Submitted, and not contained in what the nodes' figures show as in use. */
static bool is_waiting(const helio_slurm_attempt_t *attempt)
{
    const helio_slurm_poll_t *poll = &attempt->backend->poll;
    if (attempt->phase >= HELIO_SLURM_AT_LEAVING || attempt->closed || attempt->nodes == 0 ||
        (attempt->phase == HELIO_SLURM_AT_LOOKING && !attempt->to_start))
        return false;
    return attempt->holds_list == 0 || attempt->holds_list > poll->nodes_after;
}

static void say_series(helio_slurm_t *self, const helio_slurm_view_t *view, helio_arena_t *arena)
{
    helio_slurm_poll_t *poll = &self->poll;
    int64_t age_ms = self->now_boot_ms - poll->series_ms;
    if (!self->sink.on_series || (poll->series_ms && age_ms < SERIES_LEAST_MS))
        return;
    helio_aev_series_t all;
    uint64_t hash = HELIO_HASH_SEED;
    helio_slurm_free_series(view, SERIES_HOURS, arena, &all);
    for (uint32_t i = 0; i < all.series.count; i++)
        hash = helio_hash(hash, all.series.items[i].values.items,
                          all.series.items[i].values.count * sizeof *all.series.items[i].values.items);
    if (poll->series_ms && hash == poll->series_hash && age_ms < SERIES_MOST_MS)
        return;
    poll->series_ms = self->now_boot_ms ? self->now_boot_ms : 1;
    poll->series_hash = hash;
    self->sink.on_series(self->sink.arg, &all);
}

/*  The oldest first, as Slurm will start them. */
static const helio_slurm_waiting_t *waiting_of(const helio_slurm_t *self, helio_arena_t *arena, uint32_t *ret_count)
{
    helio_slurm_waiting_t *all = helio_arena_alloc(arena, self->count + 1, sizeof *all);
    uint32_t at = self->count; /* the list has the newest first */
    for (const helio_slurm_attempt_t *attempt = self->first; attempt; attempt = attempt->after)
        if (is_waiting(attempt))
            all[--at] = (helio_slurm_waiting_t){.pool = helio_text_of(attempt->pool),
                                                .nodes = attempt->nodes,
                                                .gpus_per_node = attempt->gpus_per_node,
                                                .cpus_per_node = attempt->cpus_per_node,
                                                .memory_bytes_per_node = attempt->memory_bytes_per_node};
    *ret_count = self->count - at;
    return all + at;
}

/*  Logs once when the controller stops answering, and once when it answers again. */
static void say_silence(helio_slurm_t *self, bool silent)
{
    helio_slurm_poll_t *poll = &self->poll;
    if (silent == poll->said_nothing_free)
        return;
    poll->said_nothing_free = silent;
    int64_t from_ms = silent && poll->unanswered_ms ? poll->unanswered_ms : self->now_boot_ms;
    uint64_t for_ms = (uint64_t)(self->now_boot_ms - (silent ? from_ms : poll->silent_ms));
    if (silent)
        poll->silent_ms = from_ms;
    if (self->sink.on_silence)
        self->sink.on_silence(self->sink.arg, silent, for_ms);
}

static void say_capacity(helio_slurm_t *self)
{
    helio_slurm_poll_t *poll = &self->poll;
    helio_arena_t *arena = helio_arena_new();
    uint32_t count;
    const helio_slurm_waiting_t *waiting = waiting_of(self, arena, &count);
    helio_slurm_view_t view = {.site = &self->site,
                               .settings = &self->settings,
                               .nodes = &poll->nodes,
                               .partitions = &poll->partitions,
                               .reservations = &poll->reservations,
                               .jobs = &poll->jobs,
                               .waiting = waiting,
                               .waiting_count = count,
                               .wall_ms = self->now_wall_ms};
    if (poll->cluster[HELIO_SLURM_ASK_QOS].have && poll->enforced && poll->users) {
        view.rules = &self->rules;
        view.associations = &poll->associations;
        view.qos = &poll->qos;
    }
    view.ahead = helio_slurm_ahead(self, arena, &view.ahead_count);
    poll->ahead_hash = helio_slurm_ahead_hash(view.ahead, view.ahead_count);
    poll->ahead_pools = 0;
    for (uint32_t i = 0; i < view.ahead_count; i++)
        if (view.ahead[i].nodes)
            poll->ahead_pools |= UINT64_C(1) << helio_site_pool_index(&self->site, view.ahead[i].pool) % 64;
    helio_aev_capacity_t capacity;
    helio_slurm_capacity(&view, arena, &capacity);
    say_silence(self, false);
    if (self->sink.on_capacity)
        self->sink.on_capacity(self->sink.arg, &capacity);
    say_series(self, &view, arena);
    helio_arena_destroy(&arena);
}

/*  The free capacity is unknown, so none is offered. */
static void say_nothing_free(helio_slurm_t *self)
{
    helio_arena_t *arena = helio_arena_new();
    helio_aev_capacity_t capacity = {0};
    capacity.pools.count = self->site.pools.count;
    capacity.pools.items = helio_arena_alloc(arena, capacity.pools.count + 1, sizeof *capacity.pools.items);
    for (uint32_t i = 0; i < capacity.pools.count; i++) {
        const helio_pool_t *pool = &self->site.pools.items[i];
        helio_pool_capacity_t *one = &capacity.pools.items[i];
        one->pool = pool->name;
        one->withheld = HELIO_DETAIL_WITHHELD_SCHEDULER;
        one->free_nodes.count = pool->gpus_per_node + 1;
        one->free_nodes.items = helio_arena_alloc(arena, one->free_nodes.count, sizeof(uint32_t));
    }
    say_silence(self, true);
    for (uint32_t i = 0; i < HELIO_SLURM_ASK_COUNT; i++)
        self->poll.cluster[i].have = false; /* old figures are not offered when it answers again */
    if (self->sink.on_capacity)
        self->sink.on_capacity(self->sink.arg, &capacity);
    helio_arena_destroy(&arena);
}

/*  squeue alone is not enough: figures of nodes that are not renewed would be offered for ever. */
static bool is_silent(const helio_slurm_t *self)
{
    const helio_slurm_poll_t *poll = &self->poll;
    return (poll->unanswered_ms && self->now_boot_ms - poll->unanswered_ms >= SILENT_MS) ||
           (poll->cluster_failures >= CLUSTER_FAILURES &&
            self->now_boot_ms - poll->cluster[HELIO_SLURM_ASK_NODES].at_ms >= CLUSTER_SILENT_MS);
}

static void serve_capacity(helio_slurm_t *self)
{
    helio_slurm_poll_t *poll = &self->poll;
    bool known = true;
    for (uint32_t i = 0; i < HELIO_SLURM_ASK_COUNT; i++)
        known = known && (poll->cluster[i].have || is_optional((helio_slurm_asked_t)i));
    if (is_silent(self)) {
        if (poll->capacity_due || !poll->said_nothing_free) {
            poll->capacity_due = false;
            say_nothing_free(self);
        }
    } else if (poll->capacity_due && known && poll->jobs_answer.have) {
        poll->capacity_due = false;
        say_capacity(self);
    }
}

/* ---- called by the loop ------------------------------------------------------------------------------------- */

static int64_t jobs_due_ms(const helio_slurm_t *self)
{
    const helio_slurm_poll_t *poll = &self->poll;
    return self->count || poll->idle_due_ms < poll->due_ms ? poll->due_ms : poll->idle_due_ms;
}

void helio_slurm_poll_serve(helio_slurm_t *self)
{
    helio_slurm_poll_t *poll = &self->poll;
    if (!poll->out && self->now_boot_ms >= jobs_due_ms(self))
        ask_jobs(self);
    if (!poll->cluster_out && self->now_boot_ms >= poll->cluster_due_ms)
        ask_cluster(self);
    serve_capacity(self);
}

int64_t helio_slurm_poll_next_ms(const helio_slurm_t *self)
{
    const helio_slurm_poll_t *poll = &self->poll;
    int64_t next = poll->out ? INT64_MAX : jobs_due_ms(self);
    bool wanted = false;
    for (uint32_t i = 0; i < HELIO_SLURM_ASK_COUNT; i++)
        wanted = wanted || poll->cluster_wanted[i];
    if (wanted && !poll->cluster_out && poll->cluster_due_ms < next)
        next = poll->cluster_due_ms;
    if (!poll->said_nothing_free && poll->unanswered_ms && poll->unanswered_ms + SILENT_MS < next)
        next = poll->unanswered_ms + SILENT_MS;
    return next;
}

void helio_slurm_poll_clear(helio_slurm_t *self)
{
    helio_arena_destroy(&self->poll.jobs_answer.arena);
    for (uint32_t i = 0; i < HELIO_SLURM_ASK_COUNT; i++)
        helio_arena_destroy(&self->poll.cluster[i].arena);
}
