/*  place.c -- a decision round: class by class, each judged once, its jobs placed while something fits.
 *
 *  Work is classes x pools, plus what is placed; a class that found nothing is not looked at again before some
 *  capacity changed. Every evaluation that led to a placement, or changed why a class waits, is a row.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "broker/core/internal.h"

typedef struct option {
    site_t *site;
    pool_t *pool;
    helio_candidate_t c;
    bool home;
} option_t;

/*  The evaluation of one class in one round. */
typedef struct evaluation {
    job_class_t *class;
    option_t *options; /* feasible ones first, best first */
    uint32_t count;
    uint32_t feasible;
    option_t *chosen;
    uint64_t decision_id; /* 0 until written */
} evaluation_t;

static int by_preference(const void *a_, const void *b_)
{
    const option_t *a = a_, *b = b_;
    bool fa = a->c.rejection == HELIO_REJECTION_NONE, fb = b->c.rejection == HELIO_REJECTION_NONE;
    if (fa != fb)
        return fa ? -1 : 1;
    if (a->c.ask != b->c.ask)
        return a->c.ask < b->c.ask ? -1 : 1;
    if (a->c.score_micro_usd != b->c.score_micro_usd)
        return a->c.score_micro_usd < b->c.score_micro_usd ? -1 : 1;
    if (a->home != b->home)
        return a->home ? -1 : 1;
    int order = strcmp(a->site->name, b->site->name);
    return order ? order : (a->pool > b->pool) - (a->pool < b->pool);
}

static helio_site_now_t site_now(const helio_broker_core_t *self, const site_t *site)
{
    return (helio_site_now_t){
        .ready = site->state == HELIO_SITE_STATE_READY && site->inventory_closed && site->capacity_known,
        .draining = site->draining,
        .wall_ms = self->wall_ms,
    };
}

static evaluation_t evaluate(helio_broker_core_t *self, job_class_t *class)
{
    evaluation_t e = {.class = class};
    uint32_t pools = 0;
    for (site_t *site = self->sites; site; site = site->hh.next)
        pools += site->pool_count;
    e.options = helio_arena_alloc(self->effects->arena, pools, sizeof *e.options);
    for (site_t *site = self->sites; site; site = site->hh.next) {
        helio_site_now_t now = site_now(self, site);
        for (uint32_t i = 0; i < site->pool_count; i++) {
            option_t *option = &e.options[e.count++];
            option->site = site;
            option->pool = &site->pools[i];
            option->c = helio_choice_judge(&class->want, &site->profile, &site->pools[i].info, &now);
            if (class->want.gpus_any)
                option->c.ask = 0;
            option->home = helio_text_is(class->want.home, site->name);
            e.feasible += option->c.rejection == HELIO_REJECTION_NONE;
        }
    }
    qsort(e.options, e.count, sizeof *e.options, by_preference);
    return e;
}

static bool take(helio_broker_core_t *self, const job_class_t *class, option_t *option)
{
    if (self->now_ms < option->pool->penalty_until_ms ||
        option->site->unanswered >= self->options.offers_unanswered_max)
        return false;
    return core_pool_take(option->pool, class->want.nodes, option->c.gpus_per_node, class->want.cpus,
                          class->want.memory_bytes);
}

/*  Among equally good options (same alternative, same score, neither home) the one with the largest free share. */
static option_t *choose(helio_broker_core_t *self, evaluation_t *e)
{
    for (uint32_t i = 0; i < e->feasible;) {
        option_t *best = &e->options[i];
        uint32_t end = i + 1;
        double best_share = -1;
        for (; end < e->feasible && !best->home && e->options[end].c.ask == e->options[i].c.ask &&
               e->options[end].c.score_micro_usd == e->options[i].c.score_micro_usd;
             end++)
            continue;
        for (uint32_t k = i; k < end && end - i > 1; k++) {
            pool_t *pool = e->options[k].pool;
            double total = pool->info.gpus_per_node ? (double)pool->info.gpus_per_node * pool->info.nodes
                                                    : (double)pool->info.cpus_per_node * pool->info.nodes;
            double left = pool->info.gpus_per_node ? core_pool_gpus_free(pool) : (double)pool->free.cpus;
            double share = total > 0 ? left / total : 0;
            if (share > best_share && self->now_ms >= pool->penalty_until_ms) {
                best_share = share;
                best = &e->options[k];
            }
        }
        if (take(self, e->class, best))
            return best;
        for (uint32_t k = i; k < end; k++)
            if (&e->options[k] != best && take(self, e->class, &e->options[k]))
                return &e->options[k];
        i = end;
    }
    return NULL;
}

static const char *no_capacity_detail(helio_broker_core_t *self, const option_t *option)
{
    return core_printf(self, "%u GPUs free", core_pool_gpus_free(option->pool));
}

static uint64_t options_hash(const evaluation_t *e, helio_reason_t reason)
{
    uint64_t hash = helio_hash(HELIO_HASH_SEED, &reason, sizeof reason);
    for (uint32_t i = 0; i < e->count; i++) {
        const option_t *o = &e->options[i];
        hash = helio_hash(hash, o->site->name, strlen(o->site->name));
        hash = helio_hash(hash, o->pool->info.name.data, o->pool->info.name.size);
        hash = helio_hash(hash, &o->c.rejection, sizeof o->c.rejection);
        hash = helio_hash(hash, &o->c.score_micro_usd, sizeof o->c.score_micro_usd);
    }
    return hash;
}

/*  Writes the decision and its candidates unless the last written one says the same. */
static void write_decision(helio_broker_core_t *self, evaluation_t *e, helio_reason_t reason, const char *detail)
{
    job_class_t *class = e->class;
    uint64_t hash = options_hash(e, reason);
    if (class->decision_id && class->decision_hash == hash &&
        self->now_ms - class->decision_ms < DECISION_REUSE_MS) {
        e->decision_id = class->decision_id;
        return;
    }
    e->decision_id = class->decision_id = ++self->decision_id;
    class->decision_hash = hash;
    class->decision_ms = self->now_ms;
    helio_row_decision_t row = {
        .decision_id = e->decision_id,
        .at_ms = self->wall_ms,
        .class_id = class->id,
        .policy_version = HELIO_TEXT(HELIO_POLICY_VERSION),
        .reason = helio_text_of(helio_reason_word(reason)),
        .detail = helio_text_of(detail),
        .chosen_site = e->chosen ? helio_text_of(e->chosen->site->name) : (helio_text_t){0},
        .chosen_pool = e->chosen ? e->chosen->pool->info.name : (helio_text_t){0},
    };
    core_emit(self, HELIO_BROKER_FX_ROW_DECISION, &row);
    for (uint32_t i = 0; i < e->count; i++) {
        const option_t *o = &e->options[i];
        bool full = o->c.rejection == HELIO_REJECTION_NONE && !e->chosen;
        helio_row_candidate_t candidate = {
            .decision_id = e->decision_id,
            .rank = i,
            .site = helio_text_of(o->site->name),
            .pool = o->pool->info.name,
            .start_ms = self->wall_ms,
            .score_micro_usd = o->c.score_micro_usd,
            .cost_micro_usd = o->c.cost_micro_usd,
            .energy_j = o->c.energy_j,
            .carbon_mg = o->c.carbon_mg,
            .rejected_reason = helio_text_of(
                helio_rejection_word(full ? HELIO_REJECTION_NO_CAPACITY : o->c.rejection)),
            .detail = helio_text_of(full ? no_capacity_detail(self, o) : ""),
        };
        core_emit(self, HELIO_BROKER_FX_ROW_CANDIDATE, &candidate);
    }
}

/*  The dominant reason: with candidates, capacity; without, the gravest group that keeps *every* site out is the
 *  mildest one found, since the mildest site is the first that will be able to take the job. */
static helio_reason_t waiting_for(helio_broker_core_t *self, const evaluation_t *e, const char **ret_detail)
{
    if (e->feasible) {
        *ret_detail = e->feasible == 1
                          ? "one pool could run it and has no room now"
                          : core_printf(self, "%u pools could run it, none has room now", e->feasible);
        return HELIO_REASON_WAITING_FOR_CAPACITY;
    }
    if (!e->count) {
        *ret_detail = "no site has joined the federation yet";
        return HELIO_REASON_WAITING_FOR_CAPACITY;
    }
    const option_t *mildest = &e->options[0];
    for (uint32_t i = 1; i < e->count; i++)
        if (helio_rejection_group(e->options[i].c.rejection) > helio_rejection_group(mildest->c.rejection))
            mildest = &e->options[i];
    *ret_detail = core_printf(self, "%s: %s", mildest->site->name, helio_rejection_word(mildest->c.rejection));
    return helio_rejection_group(mildest->c.rejection);
}

static void write_class(helio_broker_core_t *self, job_class_t *class, helio_reason_t reason, const char *detail)
{
    if (class->reason == reason && strncmp(class->detail, detail, sizeof class->detail - 1) == 0)
        return;
    class->reason = reason;
    (void)helio_text_copy(helio_text_of(detail), class->detail, sizeof class->detail);
    helio_row_class_t row = {
        .class_id = class->id,
        .tenant = class->want.tenant,
        .queue = class->want.queue,
        .summary = class->summary,
        .reason = helio_text_of(helio_reason_word(reason)),
        .detail = helio_arena_text(self->effects->arena, helio_text_of(class->detail)),
        .decision_id = class->decision_id,
        .at_ms = self->wall_ms,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_CLASS, &row);
}

void core_order(helio_broker_core_t *self, job_t *job)
{
    site_t *site = job->site;
    if (!site->peer || !site->inventory_closed)
        return; /* the close of the next inventory sends it */
    const submission_t *submission = job->submission;
    const helio_requirement_t *want = &submission->class->want;
    job->dispatch_seq = ++site->dispatch_seq;
    site->unanswered++;
    helio_fx_order_t fx = {
        .peer = site->peer,
        .incarnation = self->incarnation,
        .order =
            {
                .dispatch_seq = job->dispatch_seq,
                .key = job->key,
                .epoch = job->epoch,
                .tenant = submission->row.tenant,
                .user = submission->row.user,
                .pool = helio_text_of(core_job_pool(job)),
                .nodes = want->nodes,
                .gpus_per_node = job->gpus_per_node,
                .cpus_per_node = want->cpus,
                .memory_bytes_per_node = want->memory_bytes,
                .time_limit_ms = submission->row.time_limit_ms,
                .on_site_loss = submission->on_site_loss,
                .resume = job->ran,
                .source = submission->row.source,
            },
    };
    core_emit(self, HELIO_BROKER_FX_ORDER, &fx);
}

void core_stop(helio_broker_core_t *self, job_t *job, helio_stop_mode_t mode, const char *reason)
{
    if (!job->site->peer || !job->site->inventory_closed)
        return; /* the close of the next inventory says it again */
    helio_fx_stop_t fx = {job->site->peer, {job->key, job->epoch, mode, helio_text_of(reason)}};
    core_emit(self, HELIO_BROKER_FX_STOP, &fx);
}

static void place(helio_broker_core_t *self, evaluation_t *e, job_t *job, option_t *option)
{
    if (!e->decision_id) {
        e->chosen = option;
        write_decision(self, e, HELIO_REASON_NONE, "");
    }
    job->epoch++;
    job->attempts++;
    core_job_move(self, job, HELIO_JOB_OFFERED, core_printf(self, "placed at %s", option->site->name), "broker");
    job->site = option->site;
    job->pool = option->pool;
    job->counted = true;
    job->gpus_per_node = option->c.gpus_per_node;
    job->inventory = 0;
    core_job_placed_at(job, helio_text_of(option->site->name), option->pool->info.name);
    DL_APPEND(option->site->live, job);
    helio_row_placement_t row = {
        .key = job->key,
        .epoch = job->epoch,
        .site = helio_text_of(option->site->name),
        .pool = option->pool->info.name,
        .decision_id = e->decision_id,
        .nodes = e->class->want.nodes,
        .gpus = option->c.gpus_per_node * e->class->want.nodes,
        .score_micro_usd = option->c.score_micro_usd,
        .planned_cost_micro_usd = option->c.cost_micro_usd,
        .planned_energy_j = option->c.energy_j,
        .planned_carbon_mg = option->c.carbon_mg,
        .start_ms = self->wall_ms,
        .at_ms = self->wall_ms,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_PLACEMENT, &row);
    core_order(self, job);
    self->figures.placements_total++;
}

/*  Returns how many were placed. */
static uint32_t place_class(helio_broker_core_t *self, job_class_t *class, uint32_t most)
{
    evaluation_t e = evaluate(self, class);
    uint32_t placed = 0;
    while (class->waiting && placed < most) {
        option_t *option = choose(self, &e);
        if (!option)
            break;
        place(self, &e, class->waiting, option);
        placed++;
    }
    if (placed == most && class->waiting)
        return placed;
    class->blocked_at = self->capacity_version;
    if (class->waiting) {
        const char *detail = "";
        helio_reason_t reason = waiting_for(self, &e, &detail);
        if (!placed && (reason != class->reason || !class->decision_id))
            write_decision(self, &e, reason, detail);
        write_class(self, class, reason, detail);
    } else {
        write_class(self, class, HELIO_REASON_NONE, "");
    }
    return placed;
}

static int by_turn(const void *a_, const void *b_)
{
    const job_class_t *a = *(job_class_t *const *)a_, *b = *(job_class_t *const *)b_;
    if (a->queue->tier != b->queue->tier)
        return a->queue->tier > b->queue->tier ? -1 : 1;
    if (a->queue->priority != b->queue->priority)
        return a->queue->priority > b->queue->priority ? -1 : 1;
    int age = helio_uuid_compare(a->waiting->key.job, b->waiting->key.job);
    return age ? age : (a->id > b->id) - (a->id < b->id);
}

void core_round(helio_broker_core_t *self)
{
    self->round_wanted = false;
    job_class_t **turns = helio_arena_alloc(self->effects->arena, HASH_COUNT(self->classes), sizeof(job_class_t *));
    uint32_t count = 0;
    for (job_class_t *class = self->classes; class; class = class->hh.next)
        if (class->waiting && class->blocked_at != self->capacity_version)
            turns[count++] = class;
    qsort(turns, count, sizeof *turns, by_turn);
    uint32_t placed = 0;
    for (uint32_t i = 0; i < count && placed < ROUND_PLACEMENTS_MAX; i++)
        placed += place_class(self, turns[i], ROUND_PLACEMENTS_MAX - placed);
    if (placed >= ROUND_PLACEMENTS_MAX)
        self->round_wanted = true;
}

bool core_fits_somewhere(helio_broker_core_t *self, const helio_requirement_t *want, const char **ret_why)
{
    helio_site_now_t any = {.ready = true, .draining = false, .wall_ms = self->wall_ms};
    helio_text_t why = {"", 0};
    uint32_t pools = 0;
    for (site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++) {
            helio_candidate_t c = helio_choice_judge(want, &site->profile, &site->pools[i].info, &any);
            if (helio_rejection_group(c.rejection) != HELIO_REASON_NEVER_FITS)
                return true;
            if (pools++ < 8)
                why = helio_arena_printf(self->effects->arena, "%.*s%s%s/%.*s %s", HELIO_TEXT_ARGS(why),
                                         why.size ? ", " : "", site->name,
                                         HELIO_TEXT_ARGS(site->pools[i].info.name), helio_rejection_word(c.rejection));
        }
    *ret_why = why.data;
    return pools == 0;
}
