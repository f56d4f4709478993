/*  slurm_poll.c -- one squeue for all jobs, then the figures of the cluster; less often where the controller is slow.
 *
 *  A list counts when squeue reports that it is complete: exit 0, nothing on standard error, not cut, every line read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site-agent/backends/slurm/slurm_internal.h"

enum {
    BACK_OFF_MOST_MS = 60000,
    BRISK = 4,            /* while jobs end within moments of their start, lists are that much more frequent */
    SLOWNESS = 10,        /* a command is repeated only after this many times its duration, ... */
    SLOW_MOST_MS = 30000, /* ... or after this */
    IDLE_AFTER = 5,       /* lists without a change and without attempts; each further one doubles the pause, ... */
    IDLE_MOST_MS = 10000, /* ... up to this */
    CLUSTER_EVERY = 5,
    LEFTOVERS_MOST = 64,
    CONFIG_EVERY_MS = 600000,
    USERS_MOST = 64 /* whose limits are looked at */
};

/*  A slow controller is slow each time; one that restarts is slow once. */
static int64_t pause_ms(const helio_slurm_t *self, int64_t took_ms, int64_t *last_ms)
{
    int64_t least = (int64_t)self->settings.poll_ms / (helio_slurm_is_brisk(self) ? BRISK : 1),
            steady_ms = took_ms < *last_ms ? took_ms : *last_ms;
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
    for (helio_slurm_attempt_t *attempt = helio_slurm_first(self); attempt; attempt = helio_slurm_after(attempt))
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
    for (helio_slurm_attempt_t *attempt = helio_slurm_first(self), *after; attempt; attempt = after) {
        after = helio_slurm_after(attempt);
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
    bool idle = !self->attempts.count && poll->unchanged > IDLE_AFTER;
    bool all = poll->polls++ % CLUSTER_EVERY == 0 || idle || poll->silence.silent;
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
        helio_slurm_await_no_times(self);
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
        poll->cluster_failures += !helio_slurm_is_optional(asked);
        if (helio_slurm_is_optional(asked)) {
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

/* ---- called by the loop ------------------------------------------------------------------------------------- */

static int64_t jobs_due_ms(const helio_slurm_t *self)
{
    const helio_slurm_poll_t *poll = &self->poll;
    return self->attempts.count || poll->idle_due_ms < poll->due_ms ? poll->due_ms : poll->idle_due_ms;
}

void helio_slurm_poll_serve(helio_slurm_t *self)
{
    helio_slurm_poll_t *poll = &self->poll;
    if (!poll->out && self->now_boot_ms >= jobs_due_ms(self))
        ask_jobs(self);
    if (!poll->cluster_out && self->now_boot_ms >= poll->cluster_due_ms)
        ask_cluster(self);
    helio_slurm_offer_serve(self);
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
    int64_t offer = helio_slurm_offer_next_ms(self);
    return offer < next ? offer : next;
}

void helio_slurm_poll_clear(helio_slurm_t *self)
{
    helio_arena_destroy(&self->poll.jobs_answer.arena);
    for (uint32_t i = 0; i < HELIO_SLURM_ASK_COUNT; i++)
        helio_arena_destroy(&self->poll.cluster[i].arena);
}
