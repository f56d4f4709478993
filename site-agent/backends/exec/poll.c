/*  poll.c -- inventories, less often where the adapter is slow; capacity; silence; and the lease of a carrying adapter. */
#include <stdio.h>
#include <unistd.h>

#include "federation/reason/detail.h"
#include "site-agent/backends/exec/internal.h"

enum {
    BACK_OFF_MOST_MS = 30000,
    SLOWNESS = 3, /* an inventory is repeated only after this many times its duration, ... */
    SLOW_MOST_MS = 30000,
    SILENT_MS = 30000,     /* since the first inventory without an answer */
    SAY_WAITING_MS = 10000 /* an engine needs a moment to start what it took */
};

static helio_exec_t *of(void *arg)
{
    return (helio_exec_t *)(void *)((char *)arg - offsetof(helio_exec_t, poll));
}

static int64_t back_off_ms(const helio_exec_t *self)
{
    int64_t pause = (int64_t)self->settings.poll_ms;
    for (uint32_t i = 1; i < self->poll.failures && pause < BACK_OFF_MOST_MS; i++)
        pause *= 2;
    return pause < BACK_OFF_MOST_MS ? pause : BACK_OFF_MOST_MS;
}

static int64_t pause_ms(const helio_exec_t *self, int64_t took_ms)
{
    int64_t least = (int64_t)self->settings.poll_ms;
    int64_t pause = took_ms * SLOWNESS < SLOW_MOST_MS ? took_ms * SLOWNESS : SLOW_MOST_MS;
    return pause > least && took_ms >= 1000 ? pause : least;
}

/* ---- attempts ------------------------------------------------------------------------------------------ */

/*  Its end was acknowledged, and the adapter still keeps it. A live one is taken up: nobody may run what nobody watches. */
static void take_stranger(helio_exec_t *self, const helio_exec_seen_t *seen)
{
    char name[HELIO_ATTEMPT_NAME_SIZE];
    int folder = -1;
    if (self->survey.open || !self->survey.since_ms)
        return;
    if (seen->state != HELIO_EXEC_ENDED) {
        (void)helio_exec_survey_one(self, seen->key, seen->epoch);
        return;
    }
    helio_attempt_name(seen->key, seen->epoch, name);
    if (!self->settings.carries || helio_folders_open(self->folders, name, &folder, NULL))
        return;
    if (folder >= 0)
        (void)close(folder);
    else
        helio_exec_ask_forget(self, name);
}

static void tell_attempts(helio_exec_t *self)
{
    for (helio_exec_attempt_t *attempt = helio_exec_first(self); attempt; attempt = helio_exec_after(attempt))
        if (self->poll.heard >= attempt->since_list)
            attempt->listed = (helio_exec_listed_t){0};
    for (uint32_t i = 0; i < self->poll.answer.attempt_count; i++) {
        const helio_exec_seen_t *seen = &self->poll.answer.attempts[i];
        helio_exec_attempt_t *attempt = helio_exec_find(self, seen->key, seen->epoch);
        if (!attempt)
            take_stranger(self, seen);
        else if (self->poll.heard >= attempt->since_list)
            helio_exec_note(attempt, seen);
    }
    for (helio_exec_attempt_t *attempt = helio_exec_first(self), *after; attempt; attempt = after) {
        after = helio_exec_after(attempt);
        if (self->poll.heard >= attempt->since_list)
            helio_exec_on_list(attempt);
    }
}

/* ---- inventories --------------------------------------------------------------------------------------- */

/*  Logged when it begins and when it changes, not for each answer. */
static void doubt(helio_exec_t *self, const char *text)
{
    if (strncmp(self->poll.doubt, text, 290) == 0)
        return;
    (void)snprintf(self->poll.doubt, sizeof self->poll.doubt, "%.290s", text);
    if (text[0] && self->sink.on_doubt)
        self->sink.on_doubt(self->sink.arg, self->poll.doubt);
}

/*  The first time, and whenever they have doubled: an adapter that does so does it at each run. */
static void tell_left_behind(helio_exec_t *self)
{
    uint64_t count = helio_commands_left_behind(self->commands);
    char text[200];
    if (count < self->poll.left_told * 2 || !count || count == self->poll.left_told)
        return;
    self->poll.left_told = count;
    (void)snprintf(text, sizeof text, "the adapter left processes running after its end, which were killed: %llu %s",
                   (unsigned long long)count, count == 1 ? "run" : "runs");
    if (self->sink.on_doubt)
        self->sink.on_doubt(self->sink.arg, text);
}

static helio_rc read_inventory(const helio_command_result_t *result, helio_arena_t *arena, helio_exec_answer_t *ret,
                               helio_error_t *err)
{
    helio_rc rc = helio_exec_answer(result, arena, ret, err);
#ifdef HELIO_MUTANT_uncounted_inventory
    ret->end.counted = true;
#endif
    if (!rc && !ret->end.counted)
        rc = helio_fail(err, HELIO_INVALID, "the inventory's end does not count its nodes and attempts");
    return rc;
}

static void on_inventory(void *arg, const helio_command_result_t *result)
{
    helio_exec_t *self = of(arg);
    helio_exec_poll_t *poll = &self->poll;
    helio_exec_answer_t answer = {0};
    helio_error_t err = {0};
    helio_arena_t *arena = helio_arena_new();
    poll->out = false;
    self->next_ms = 0;
    tell_left_behind(self);
    if (read_inventory(result, arena, &answer, &err)) {
        helio_arena_destroy(&arena);
        poll->failures++;
        poll->due_ms = self->now_boot_ms + back_off_ms(self);
        doubt(self, err.text);
        return;
    }
    helio_arena_destroy(&poll->arena);
    poll->arena = arena;
    poll->answer = answer;
    poll->heard = poll->asked;
    poll->failures = 0;
    poll->unanswered_ms = 0;
    poll->capacity_due = true;
    poll->due_ms = self->now_boot_ms + pause_ms(self, result->took_ms);
    doubt(self, "");
    tell_attempts(self);
}

static void ask(helio_exec_t *self)
{
    helio_exec_poll_t *poll = &self->poll;
    poll->out = helio_exec_ask_inventory(self, on_inventory);
    poll->due_ms = self->now_boot_ms + (int64_t)self->settings.poll_ms;
    if (!poll->out)
        return;
    poll->asked++;
    poll->asked_ms = self->now_boot_ms;
    if (!poll->unanswered_ms)
        poll->unanswered_ms = self->now_boot_ms ? self->now_boot_ms : 1;
}

/* ---- capacity ------------------------------------------------------------------------------------------ */

/*  Submitted, and not contained in what the nodes' figures show as in use. */
static bool is_waiting(const helio_exec_attempt_t *attempt)
{
    if (attempt->phase >= HELIO_EXEC_AT_LEAVING || attempt->closed || !attempt->nodes ||
        (attempt->phase == HELIO_EXEC_AT_LOOKING && !attempt->to_start))
        return false;
    return !attempt->listed.live || attempt->listed.state == HELIO_EXEC_WAITING;
}

static void say_silence(helio_exec_t *self, bool silent)
{
    helio_silence_report(&self->poll.silence, &self->sink, silent, self->poll.unanswered_ms, self->now_boot_ms);
}

/*  Where a job waits for a node of the pool, any may be about to get it; and where the engine counts neither GPUs nor CPUs,
 *  any node may have one that runs. */
static bool is_busy(const helio_exec_t *self, const helio_exec_node_t *node, helio_text_t pool)
{
    bool busy = node->gpus_used || node->cpus_used || node->memory_used_bytes;
    const helio_exec_attempt_t *attempt = helio_exec_first(self);
    for (; attempt && !busy; attempt = helio_exec_after(attempt))
        busy = (!attempt->pool[0] || helio_text_is(pool, attempt->pool)) &&
               (is_waiting(attempt) || (!node->gpus && !node->cpus && attempt->phase < HELIO_EXEC_AT_OVER));
    return busy;
}

/*  Those that the adapter says run there. */
static void add_attempts(const helio_exec_t *self, helio_backend_node_t *node, helio_arena_t *arena)
{
    helio_attempt_ref_t *refs = NULL;
    for (const helio_exec_attempt_t *attempt = helio_exec_first(self); attempt; attempt = helio_exec_after(attempt)) {
        bool there = attempt->listed.live && attempt->listed.node[0] && helio_text_is(node->name, attempt->listed.node);
        if (!there || attempt->phase >= HELIO_EXEC_AT_OVER)
            continue;
        if (!refs)
            refs = helio_arena_alloc(arena, self->attempts.count, sizeof *refs);
        refs[node->attempt_count++] = (helio_attempt_ref_t){attempt->held.id.key, attempt->held.id.epoch};
    }
    node->attempts = refs;
}

static void say_nodes(helio_exec_t *self, helio_arena_t *arena)
{
    const helio_exec_answer_t *answer = &self->poll.answer;
    helio_backend_node_t *nodes = helio_arena_alloc(arena, answer->node_count + 1, sizeof *nodes);
    uint32_t count = 0;
    for (uint32_t i = 0; i < answer->node_count; i++) {
        const helio_exec_node_t *node = &answer->nodes[i];
        helio_text_t pool = node->pool.size || !self->site.pools.count ? node->pool : self->site.pools.items[0].name;
        if (!node->up)
            continue;
        nodes[count] = (helio_backend_node_t){
            .name = node->name,
            .pool = pool,
            .busy = is_busy(self, node, pool),
            .gpus_free = node->gpus > node->gpus_used ? node->gpus - node->gpus_used : 0,
            .cpus_free = node->cpus > node->cpus_used ? node->cpus - node->cpus_used : 0,
            .memory_free_bytes =
                node->memory_bytes > node->memory_used_bytes ? node->memory_bytes - node->memory_used_bytes : 0};
        add_attempts(self, &nodes[count++], arena);
    }
    const helio_exec_attempt_t *attempt = helio_exec_first(self);
    for (; attempt && self->sink.on_waiting; attempt = helio_exec_after(attempt))
        if (attempt->waits_ms && is_waiting(attempt) && self->now_boot_ms - attempt->waits_ms >= SAY_WAITING_MS)
            self->sink.on_waiting(self->sink.arg, helio_text_of(attempt->pool), attempt->gpus);
    if (self->sink.on_nodes)
        self->sink.on_nodes(self->sink.arg, nodes, count);
}

/*  The oldest first, as the engine will start them. */
static void say_capacity(helio_exec_t *self)
{
    helio_arena_t *arena = helio_arena_new();
    helio_exec_waiting_t *all = helio_arena_alloc(arena, self->attempts.count + 1, sizeof *all);
    uint32_t at = self->attempts.count; /* the list has the newest first */
    for (const helio_exec_attempt_t *attempt = helio_exec_first(self); attempt; attempt = helio_exec_after(attempt))
        if (is_waiting(attempt))
            all[--at] = (helio_exec_waiting_t){.pool = helio_text_of(attempt->pool),
                                               .nodes = attempt->nodes,
                                               .gpus = attempt->gpus,
                                               .cpus = attempt->cpus,
                                               .memory_bytes = attempt->memory_bytes};
    helio_aev_capacity_t capacity;
    helio_exec_capacity(&self->site, &self->poll.answer, all + at, self->attempts.count - at, arena, &capacity);
    say_silence(self, false);
    say_nodes(self, arena);
    if (self->sink.on_capacity)
        self->sink.on_capacity(self->sink.arg, &capacity);
    helio_arena_destroy(&arena);
}

/*  The free capacity is unknown, so none is offered. */
static void say_nothing_free(helio_exec_t *self)
{
    helio_arena_t *arena = helio_arena_new();
    helio_aev_capacity_t capacity;
    const helio_exec_answer_t nothing = {0};
    helio_exec_capacity(&self->site, &nothing, NULL, 0, arena, &capacity);
    for (uint32_t i = 0; i < capacity.pools.count; i++)
        capacity.pools.items[i].withheld = HELIO_DETAIL_WITHHELD_SCHEDULER;
    say_silence(self, true);
    if (self->sink.on_capacity)
        self->sink.on_capacity(self->sink.arg, &capacity);
    helio_arena_destroy(&arena);
}

static bool is_silent(const helio_exec_t *self)
{
    return self->poll.unanswered_ms && self->now_boot_ms - self->poll.unanswered_ms >= SILENT_MS;
}

static void serve_capacity(helio_exec_t *self)
{
    helio_exec_poll_t *poll = &self->poll;
    if (is_silent(self) ? poll->silence.silent && !poll->capacity_due : !poll->capacity_due || !poll->heard)
        return;
    poll->capacity_due = false;
    if (is_silent(self))
        say_nothing_free(self);
    else
        say_capacity(self);
}

/* ---- lease --------------------------------------------------------------------------------------------- */

static void on_lease(void *arg, const helio_command_result_t *result)
{
    helio_exec_t *self = of(arg);
    (void)result; /* shims that did not hear of it stop at the former deadline, which is safe */
    self->poll.lease_out = false;
    self->next_ms = 0;
}

static void serve_lease(helio_exec_t *self)
{
    helio_exec_poll_t *poll = &self->poll;
    if (!poll->lease_due || poll->lease_out)
        return;
    poll->lease_due = false;
    poll->lease_out = helio_exec_ask_lease(self, on_lease);
}

void helio_exec_poll_serve(helio_exec_t *self)
{
    helio_exec_poll_t *poll = &self->poll;
    if (!poll->out && self->now_boot_ms >= poll->due_ms)
        ask(self);
    serve_lease(self);
    serve_capacity(self);
}

int64_t helio_exec_poll_next_ms(const helio_exec_t *self)
{
    const helio_exec_poll_t *poll = &self->poll;
    int64_t next = poll->out ? INT64_MAX : poll->due_ms;
    if (!poll->silence.silent && poll->unanswered_ms && poll->unanswered_ms + SILENT_MS < next)
        next = poll->unanswered_ms + SILENT_MS;
    return poll->lease_due && !poll->lease_out ? 0 : next;
}
