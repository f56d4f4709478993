/*  harness.h -- the HTTP server on a real socket, with stand-ins for engine and reader.
 *
 *  The stand-ins answer at once on the thread of the waiting requests as the test has scripted, or keep the call until
 *  the test answers it (hold). They record the requests that they got. One mutex guards their state; assertions are
 *  made on the test's thread only. */
#ifndef HELIO_TESTS_HTTP_HARNESS_H
#define HELIO_TESTS_HTTP_HARNESS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/http/http.h"
#include "broker/http/request/token.h"
#include "federation/base/clock.h"

enum { SCRIPT_MAX = 16, CLIENT_TIMEOUT_MS = 20000 };

typedef struct scripted_read {
    const char *query;
    helio_rc rc;
    const char *json;
} scripted_read_t;

/*  What the stand-in for the leader got last, and what it answers. */
typedef struct forwarded {
    uint32_t count;
    char method[16], base[64], target[160], credential[160], content_type[64], key[128], body[256];
    helio_rc rc;
    uint32_t status;
    const char *type, *answer, *piece;
    uint32_t retry_after_s;
    char tenant[40], instance[40];
    helio_forward_kind_t kind;
} forwarded_t;

typedef struct world {
    helio_http_t *http;
    helio_log_t *log;
    helio_engine_listener_t listener;
    helio_token_fresh_t user, operator_, admin, other;

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /*  script */
    helio_rc post_rc;  /* of posting itself */
    helio_rc reply_rc; /* of an event's answer */
    const char *reply_reason, *reply_text;
    int64_t reply_wait_ms; /* not 0: the answer says that the tenant submits too fast */
    uint32_t jobs_existed; /* bit i: job i existed */
    bool hold;             /* keep calls until world_reply */
    helio_engine_figures_t figures;
    scripted_read_t reads[SCRIPT_MAX];
    uint32_t read_count;
    const char *log_pieces[SCRIPT_MAX]; /* "" = nothing yet; NULL = the rc below */
    bool log_ends[SCRIPT_MAX];
    uint32_t log_count, log_next;
    helio_rc log_rc;
    /*  record */
    helio_call_t *held;
    uint32_t events;    /* how many EVENT calls came */
    uint32_t event;     /* the last one */
    uint32_t role;      /* of the last command on a job */
    uint32_t submitted; /* jobs in the last SUBMIT */
    int64_t key_revoked_ms;
    bool now; /* CANCEL */
    char tenant[64], user_name[80], actor[HELIO_ACTOR_MAX + 1], key_text[64], site[64], reason[300], public_key[64];
    char sources[4][256], keys[4][160];
    uint8_t hashes[4][32];
    uint32_t hash_sizes[4];
    helio_dependency_t depends[4]; /* of the first job; without their words */
    uint32_t depend_count;
    char budgets[256];               /* of QUOTA: whose they are, whether a burst is given, and each */
    char prefix[1100], supposed[64], /* of PLAN */
        link[80]; /* of DATA with its sites, of LINK, TENANT with its figures, of PLAN its queue and prices */
    helio_ev_edit_t edit;
    char edit_queue[40];
    helio_row_token_t token_row;
    char token_id[40];
    uint8_t token_hash[32];
    uint32_t read_calls;
    uint32_t figure_calls;
    char last_query[64];
    uint32_t last_param_count;
    char last_params[HELIO_READ_PARAMS_MAX][128]; /* "<null>" for null */
    uint64_t log_offset;
    bool log_from_end; /* answered as if it began at 1000 */
    uint32_t log_epoch;
    forwarded_t forwarded;
    helio_channel_opening_t opening; /* without its texts but these */
    char opening_words[4][64];
    helio_ev_channel_t channel_event;
    helio_channel_answer_t channel_answer; /* what an open channel answers */
    helio_channel_ask_t channel_ask;       /* the last one, without its texts */
    /*  What the address of the leader answers to probes, of which there were so many. */
    uint32_t probes;
    helio_rc probe_rc;
    const char *found; /* NULL = "leader" */
} world_t;

static inline void keep(helio_text_t text, char *ret_string, size_t capacity)
{
    (void)helio_text_copy(text, ret_string, capacity);
}

static inline void record_plan(world_t *w, const helio_ev_submit_t *event)
{
    const helio_job_spec_t *spec = &event->jobs.items[0].spec;
    (void)snprintf(w->link, sizeof w->link, "%.*s %s %lld %lld %u", HELIO_TEXT_ARGS(spec->queue),
                   spec->prices_set ? "prices" : helio_goal_name(spec->goal),
                   (long long)spec->carbon_price_micro_usd_per_t, (long long)spec->wait_price_micro_usd_per_gpu_h,
                   spec->after_ok.count);
    int at = snprintf(w->supposed, sizeof w->supposed, "%.*s %d %u", HELIO_TEXT_ARGS(event->supposed_site),
                      event->supposed_drain, event->supposed_price_per_mille);
    if (event->supposed_curtailed_ms)
        (void)snprintf(w->supposed + at, sizeof w->supposed - (size_t)at, " %u %u", event->supposed_percent,
                       (unsigned)event->supposed_curtailed_ms);
}

static inline void record_submit(world_t *w, const helio_ev_submit_t *event)
{
    w->submitted = event->jobs.count;
    keep(event->tenant, w->tenant, sizeof w->tenant);
    keep(event->user, w->user_name, sizeof w->user_name);
    for (uint32_t i = 0; i < event->jobs.count && i < 4; i++) {
        keep(event->jobs.items[i].source, w->sources[i], sizeof w->sources[i]);
        keep(event->jobs.items[i].idempotency_key, w->keys[i], sizeof w->keys[i]);
        w->hash_sizes[i] = event->jobs.items[i].spec_hash.size;
        if (w->hash_sizes[i] == 32)
            memcpy(w->hashes[i], event->jobs.items[i].spec_hash.data, 32);
    }
    w->depend_count = event->jobs.items[0].depends.count;
    for (uint32_t i = 0; i < w->depend_count && i < 4; i++) {
        w->depends[i] = event->jobs.items[0].depends.items[i];
        w->depends[i].word = (helio_text_t){0};
    }
}

static inline void record_token(world_t *w, const helio_ev_token_t *event)
{
    w->token_row = event->token;
    keep(event->token.token_id, w->token_id, sizeof w->token_id);
    keep(event->token.tenant, w->tenant, sizeof w->tenant);
    keep(event->token.user, w->user_name, sizeof w->user_name);
    memcpy(w->token_hash, event->token.hash.data, 32);
}

static inline void record_data(world_t *w, const helio_ev_data_t *event)
{
    size_t size = (size_t)snprintf(w->prefix, sizeof w->prefix, "%.*s", HELIO_TEXT_ARGS(event->prefix));
    for (uint32_t i = 0; i < event->sites.count && size < sizeof w->prefix; i++)
        size += (size_t)snprintf(w->prefix + size, sizeof w->prefix - size, " %.*s",
                                 HELIO_TEXT_ARGS(event->sites.items[i].text));
    if (event->tenant_given && size < sizeof w->prefix)
        (void)snprintf(w->prefix + size, sizeof w->prefix - size, " of %.*s", HELIO_TEXT_ARGS(event->tenant));
}

static inline void record_link(world_t *w, const helio_ev_link_t *event)
{
    (void)snprintf(w->link, sizeof w->link, "%.*s %.*s %d %llu %lld %u", HELIO_TEXT_ARGS(event->from),
                   HELIO_TEXT_ARGS(event->to), event->removed, (unsigned long long)event->mbps,
                   (long long)event->egress_micro_usd_per_gb, event->rtt_ms);
}

static inline void record_quota(world_t *w, const helio_ev_quota_t *event)
{
    size_t size = (size_t)snprintf(w->budgets, sizeof w->budgets, "%.*s/%.*s %d ", HELIO_TEXT_ARGS(event->tenant),
                                   HELIO_TEXT_ARGS(event->queue), event->burst_given);
    for (uint32_t i = 0; i < event->budgets.count && size < sizeof w->budgets; i++)
        size += (size_t)snprintf(w->budgets + size, sizeof w->budgets - size, "%.*s;",
                                 HELIO_TEXT_ARGS(event->budgets.items[i].text));
}

static inline void record_edit(world_t *w, const helio_ev_edit_t *event)
{
    w->edit = *event;
    keep(event->queue, w->edit_queue, sizeof w->edit_queue);
    helio_job_key_text(event->key, w->key_text);
    keep(event->tenant, w->tenant, sizeof w->tenant);
    w->role = event->role;
}

static inline void record_tenant(world_t *w, const helio_ev_tenant_t *event)
{
    (void)snprintf(w->link, sizeof w->link, "%.*s home %d '%.*s' weight %d %u", HELIO_TEXT_ARGS(event->tenant),
                   event->home_given, HELIO_TEXT_ARGS(event->home_site), event->weight_given,
                   event->weight_given ? event->weight_milli : 0);
}

/*  Whoever asks, in each event that is audited. */
static inline void record_actor(world_t *w, const helio_call_t *call)
{
    const helio_record_type_t *type = helio_broker_events[call->event].type;
    w->actor[0] = '\0';
    for (uint32_t i = 0; i < type->field_count; i++)
        if (strcmp(type->fields[i].name, "actor") == 0)
            keep(*(const helio_text_t *)((const char *)call->payload + type->fields[i].offset), w->actor,
                 sizeof w->actor);
}

static inline void record_event(world_t *w, helio_call_t *call)
{
    w->events++;
    w->event = call->event;
    record_actor(w, call);
    switch (call->event) {
    case HELIO_BROKER_EV_PLAN:
        record_plan(w, call->payload);
        record_submit(w, call->payload);
        break;
    case HELIO_BROKER_EV_SUBMIT:
        record_submit(w, call->payload);
        break;
    case HELIO_BROKER_EV_TOKEN:
        record_token(w, call->payload);
        break;
    case HELIO_BROKER_EV_PRINCIPAL: {
        const helio_ev_principal_t *event = call->payload;
        (void)snprintf(w->link, sizeof w->link, "%.*s/%.*s %s", HELIO_TEXT_ARGS(event->principal.tenant),
                       HELIO_TEXT_ARGS(event->principal.user), event->principal.disabled_ms ? "disabled" : "enabled");
        break;
    }
    case HELIO_BROKER_EV_SITE_KEY: {
        const helio_ev_site_key_t *event = call->payload;
        keep(event->key.site, w->site, sizeof w->site);
        keep(event->key.public_key, w->public_key, sizeof w->public_key);
        w->key_revoked_ms = event->key.revoked_ms;
        break;
    }
    case HELIO_BROKER_EV_DRAIN:
    case HELIO_BROKER_EV_UNDRAIN:
    case HELIO_BROKER_EV_ATTEST: {
        const helio_ev_site_command_t *event = call->payload;
        keep(event->site, w->site, sizeof w->site);
        keep(event->reason, w->reason, sizeof w->reason);
        break;
    }
    case HELIO_BROKER_EV_CURTAIL: {
        const helio_ev_curtail_t *event = call->payload;
        keep(event->site, w->site, sizeof w->site);
        keep(event->reason, w->reason, sizeof w->reason);
        (void)snprintf(w->link, sizeof w->link, "%s %u %lld %llu", event->end ? "end" : "to", event->percent,
                       (long long)event->from_wall_ms, (unsigned long long)event->for_ms);
        break;
    }
    case HELIO_BROKER_EV_DATA:
        record_data(w, call->payload);
        break;
    case HELIO_BROKER_EV_QUOTA:
        record_quota(w, call->payload);
        break;
    case HELIO_BROKER_EV_LINK:
        record_link(w, call->payload);
        break;
    case HELIO_BROKER_EV_TENANT:
        record_tenant(w, call->payload);
        break;
    case HELIO_BROKER_EV_EDIT:
        record_edit(w, call->payload);
        break;
    case HELIO_BROKER_EV_SIGNAL: {
        const helio_ev_signal_t *event = call->payload;
        helio_job_key_text(event->command.key, w->key_text);
        keep(event->command.tenant, w->tenant, sizeof w->tenant);
        w->role = event->command.role;
        (void)snprintf(w->reason, sizeof w->reason, "%s %s", helio_job_signal_name(event->signal),
                       helio_signal_to_name(event->to));
        break;
    }
    case HELIO_BROKER_EV_DESIRED: {
        const helio_ev_desired_t *event = call->payload;
        (void)snprintf(w->link, sizeof w->link, "%.*s/%.*s", HELIO_TEXT_ARGS(event->site),
                       HELIO_TEXT_ARGS(event->pool));
        break;
    }
    case HELIO_BROKER_EV_QUEUE_ORDER: {
        const helio_ev_queue_order_t *event = call->payload;
        keep(event->tenant, w->tenant, sizeof w->tenant);
        w->role = event->role;
        break;
    }
    case HELIO_BROKER_EV_EXPLAIN:
    case HELIO_BROKER_EV_CANCEL:
    case HELIO_BROKER_EV_HOLD:
    case HELIO_BROKER_EV_REQUEUE:
    case HELIO_BROKER_EV_RELEASE: {
        const helio_ev_command_t *event = call->payload;
        helio_job_key_text(event->key, w->key_text);
        keep(event->tenant, w->tenant, sizeof w->tenant);
        w->role = event->role;
        w->now = event->now;
        break;
    }
    default:
        break;
    }
}

/*  A job's id by its place, so that tests can name it. */
static inline helio_uuid_t job_id(uint32_t index)
{
    helio_uuid_t id = {{0x01, 0x93, 0x50, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, (uint8_t)(index + 1)}};
    return id;
}

/*  As if lulea had a window and frankfurt burnt coal. */
static inline helio_planned_t planned(const helio_ev_submit_t *event, helio_planned_candidate_t candidates[2])
{
    static helio_value_t bound[] = {{.number = 412000}, {.number = 100000}, {.number = 0}};
    static helio_detail_t too_dirty[] = {{.code = HELIO_DETAIL_ABOVE_MAX_CARBON, .values = {bound, 3}}};
    const helio_job_spec_t *spec = &event->jobs.items[0].spec;
    static helio_value_t late[5];
    static helio_detail_t too_late[] = {{.code = HELIO_DETAIL_DEADLINE_MISSED, .values = {late, 5}}};
    late[0].number = spec->deadline_wall_ms;
    late[1].number = 4200000;
    late[2].number = INT64_C(1772366400000) + 4200000;
    candidates[0] = (helio_planned_candidate_t){.row = {.site = HELIO_TEXT("lulea"),
                                                        .run_ms = 2520000,
                                                        .run_high_ms = 4200000,
                                                        .pool = HELIO_TEXT("h100"),
                                                        .start_ms = INT64_C(1772374800000),
                                                        .score_micro_usd = 312450000,
                                                        .cost_micro_usd = 312000000,
                                                        .energy_j = 255600000,
                                                        .carbon_mg = 1900000,
                                                        .carbon_micro_usd = 380000,
                                                        .risk_micro_usd = 70000,
                                                        .disruption_micro_usd = 1250000},
                                                .backend = HELIO_TEXT("slurm")};
    candidates[1] = (helio_planned_candidate_t){.row = {.rank = 1,
                                                        .site = HELIO_TEXT("frankfurt"),
                                                        .pool = HELIO_TEXT("a"),
                                                        .rejected_reason = HELIO_TEXT("CarbonCap"),
                                                        .details = {{too_dirty, 1}}}};
    if (spec->deadline_wall_ms) /* that no start can meet */
        candidates[0].row.rejected_reason = candidates[1].row.rejected_reason = HELIO_TEXT("Deadline");
    if (spec->deadline_wall_ms)
        return (helio_planned_t){
            .name = spec->name,
            .deadline_wall_ms = spec->deadline_wall_ms,
            .candidates = {candidates, 2},
            .decision = {
                .at_ms = INT64_C(1772366400000), .reason = HELIO_TEXT("Deadline"), .details = {{too_late, 1}}}};
    return (helio_planned_t){.name = spec->name,
                             .goal = spec->goal,
                             .flexible_ms = spec->flexible_ms,
                             .run_ms = 2520000,
                             .expected_ms = INT64_C(1772374800000),
                             .gpus = 16,
                             .nodes = 2,
                             .carbon_price_micro_usd_per_t = 200000000,
                             .wait_price_micro_usd_per_gpu_h = 500000,
                             .decision = {.at_ms = INT64_C(1772366400000),
                                          .reason = HELIO_TEXT("WaitingForWindow"),
                                          .policy_version = HELIO_TEXT("terms-1"),
                                          .chosen_site = HELIO_TEXT("lulea"),
                                          .chosen_pool = HELIO_TEXT("h100")},
                             .candidates = {candidates, 2},
                             .run_high_ms = 4200000,
                             .time_limit_ms = 21600000,
                             .expected_runs = 17,
                             .expected_failed = 2,
                             .expected_basis = HELIO_DURATION_BASIS_NAME,
                             .expected_of = HELIO_TEXT("finetune-#b")};
}

static inline void record_opening(world_t *w, const helio_call_t *call)
{
    w->opening = *call->opening;
    w->channel_event = *(const helio_ev_channel_t *)call->payload;
    for (uint32_t i = 0; i < w->opening.command_count && i < 4; i++)
        keep(w->opening.command[i].text, w->opening_words[i], sizeof w->opening_words[i]);
}

static inline void reply_call(world_t *w, helio_call_t *call)
{
    helio_accepted_job_t jobs[64];
    helio_value_t text = helio_value_string(w->reply_text ? w->reply_text : "");
    helio_detail_t detail = {.code = HELIO_DETAIL_STATE_REPORTED, .values = {&text, 1}};
    helio_fx_reply_t answer = {.rc = (uint32_t)w->reply_rc,
                               .reason = helio_text_of(w->reply_reason),
                               .details.items = {&detail, text.text.size ? 1 : 0}};
    helio_value_t waits[] = {{.number = 10}, {.number = w->reply_wait_ms}};
    helio_detail_t too_fast = {.code = HELIO_DETAIL_TENANT_TOO_FAST, .values = {waits, 2}};
    if (w->reply_wait_ms)
        answer.details = (helio_details_t){{&too_fast, 1}};
    helio_value_t opened_values[] = {
        {.text = HELIO_TEXT("lulea")}, {.number = 3}, {.number = 28800000}, {.number = 3600000}};
    helio_detail_t opened = {.code = HELIO_DETAIL_CHANNEL_OPENED, .values = {opened_values, 4}};
    if (call->event == HELIO_BROKER_EV_CHANNEL && w->reply_rc == HELIO_OK)
        answer.details = (helio_details_t){{&opened, 1}};
    if (call->event == HELIO_BROKER_EV_SUBMIT && w->reply_rc == HELIO_OK) {
        for (uint32_t i = 0; i < w->submitted && i < 64; i++)
            jobs[i] = (helio_accepted_job_t){.job = job_id(i), .existed = i < 32 && (w->jobs_existed >> i & 1)};
        answer.jobs.items = jobs;
        answer.jobs.count = w->submitted < 64 ? w->submitted : 64;
    }
    helio_planned_candidate_t candidates[2];
    if (call->event == HELIO_BROKER_EV_PLAN && w->reply_rc == HELIO_OK)
        answer.plan = planned(call->payload, candidates);
    bool foresees = call->event == HELIO_BROKER_EV_PLAN || call->event == HELIO_BROKER_EV_EXPLAIN;
    helio_ahead_t ahead = {.queue = HELIO_TEXT("express"), .jobs = 3, .gpus = 24};
    helio_value_t start[] = {
        {.text = HELIO_TEXT("lulea")}, {.text = HELIO_TEXT("h100")}, {.number = 12300000}, {.number = 1900000}};
    helio_detail_t change = {.code = HELIO_DETAIL_TRY_NO_FLEXIBLE}, forecast = {.code = HELIO_DETAIL_START_FORECAST},
                   effect = {.code = HELIO_DETAIL_STARTS_NOW, .values = {start, 4}};
    helio_hint_t hint = {HELIO_HINT_KIND_FLEXIBLE, {{&change, 1}}, {{&effect, 1}}};
    if (foresees && w->reply_rc == HELIO_OK)
        answer.start_estimate = (helio_start_estimate_t){.earliest_ms = INT64_C(1772374800000),
                                                         .basis = {{&forecast, 1}},
                                                         .ahead_jobs = 3,
                                                         .ahead_gpus = 24,
                                                         .ahead = {&ahead, 1},
                                                         .hints = {&hint, 1}};
    helio_desired_hour_t hours[] = {
        {.at_ms = INT64_C(1772366400000), .running_gpus = 4, .waiting_gpus = 16, .desired_gpus = 24},
        {.at_ms = INT64_C(1772370000000), .planned_gpus = 8, .desired_gpus = 8}};
    helio_desired_pool_t pool = {.site = HELIO_TEXT("lulea"),
                                 .pool = HELIO_TEXT("h100"),
                                 .elastic = true,
                                 .nodes = 1,
                                 .nodes_most = 4,
                                 .gpus_per_node = 8,
                                 .hours = {hours, 2}};
    if (call->event == HELIO_BROKER_EV_DESIRED && w->reply_rc == HELIO_OK) {
        answer.desired.items = &pool;
        answer.desired.count = 1;
    }
    helio_queue_job_t listed = {.key = {job_id(0), HELIO_NO_TASK}};
    helio_queue_turn_t turns[] = {{.queue = HELIO_TEXT("express"), .why = HELIO_TURN_REASON_TIER, .count = 2},
                                  {.tenant = HELIO_TEXT("acme"),
                                   .queue = HELIO_TEXT("batch"),
                                   .why = HELIO_TURN_REASON_LAST,
                                   .count = 1,
                                   .jobs = {&listed, 1}}};
    helio_queue_share_t share = {
        .tenant = HELIO_TEXT("acme"), .weight_milli = 2000, .gpus = 8, .used_micro = 25360000, .jobs = 1};
    if (call->event == HELIO_BROKER_EV_QUEUE_ORDER && w->reply_rc == HELIO_OK)
        answer.queue_order = (helio_queue_order_t){
            .at_ms = INT64_C(1772366400000), .jobs = 3, .turns = {turns, 2}, .shares = {&share, 1}};
    call->on_reply(call, &answer);
}

static inline void reply_log(world_t *w, helio_call_t *call)
{
    w->log_offset = call->offset;
    w->log_from_end = call->from_end;
    w->log_epoch = call->epoch;
    uint32_t at = w->log_next < w->log_count ? w->log_next++ : w->log_count;
    if (at == w->log_count || !w->log_pieces[at]) {
        call->on_log(call, w->log_rc ? w->log_rc : HELIO_UNAVAILABLE, NULL);
        return;
    }
    helio_log_piece_t piece = {.offset = call->from_end ? 1000 : call->offset,
                               .data = helio_text_of(w->log_pieces[at]),
                               .end = w->log_ends[at]};
    call->on_log(call, HELIO_OK, &piece);
}

static inline void reply_channel(world_t *w, helio_call_t *call)
{
    w->events++;
    w->channel_ask = call->ask;
    keep(call->ask.principal, w->actor, sizeof w->actor);
    keep(helio_text_of(call->ask.id), w->key_text, sizeof w->key_text);
    keep(call->ask.data, w->reason, sizeof w->reason);
    helio_channel_answer_t answer = w->channel_answer;
    answer.why = answer.why ? answer.why : "";
    call->on_channel(call, &answer);
}

static inline helio_rc fake_post(void *engine, helio_call_t *call)
{
    world_t *w = engine;
    (void)pthread_mutex_lock(&w->mutex);
    helio_rc rc = w->post_rc;
    if (rc == HELIO_OK) {
        if (call->kind == HELIO_CALL_EVENT)
            record_event(w, call);
        if (call->kind == HELIO_CALL_EVENT && call->event == HELIO_BROKER_EV_CHANNEL)
            record_opening(w, call);
        if (w->hold)
            w->held = call;
        else if (call->kind == HELIO_CALL_EVENT)
            reply_call(w, call);
        else if (call->kind == HELIO_CALL_LOG_READ)
            reply_log(w, call);
        else if (call->kind == HELIO_CALL_CHANNEL)
            reply_channel(w, call);
        else {
            w->figure_calls++;
            call->on_figures(call, &w->figures);
        }
    }
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->mutex);
    return rc;
}

static inline helio_rc fake_read(void *reader, helio_read_t *read)
{
    world_t *w = reader;
    (void)pthread_mutex_lock(&w->mutex);
    w->read_calls++;
    keep(helio_text_of(read->query), w->last_query, sizeof w->last_query);
    w->last_param_count = read->param_count;
    for (uint32_t i = 0; i < read->param_count; i++)
        keep(helio_text_of(read->params[i] ? read->params[i] : "<null>"), w->last_params[i], sizeof w->last_params[i]);
    scripted_read_t script = {.rc = HELIO_NOT_FOUND};
    for (uint32_t i = 0; i < w->read_count; i++)
        if (strcmp(w->reads[i].query, read->query) == 0)
            script = w->reads[i];
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->mutex);
    if (script.rc == HELIO_BUSY)
        return HELIO_BUSY;
    helio_error_t err = {.code = script.rc, .text = "of the database"};
    read->done(read, script.rc, helio_text_of(script.json), &err);
    return HELIO_OK;
}

static inline helio_rc fake_probe(world_t *w, helio_forward_t *probe)
{
    (void)pthread_mutex_lock(&w->mutex);
    w->probes++;
    helio_forward_answer_t answer = {200, "text/plain", "", w->found ? w->found : "leader", helio_text_of("ok\n"), 0};
    helio_rc rc = w->probe_rc;
    (void)pthread_mutex_unlock(&w->mutex);
    if (rc == HELIO_BUSY)
        return rc;
    probe->done(probe, rc, rc == HELIO_OK ? &answer : NULL);
    return HELIO_OK;
}

static inline helio_rc fake_forward(void *forwarder, helio_forward_t *forward)
{
    world_t *w = forwarder;
    forwarded_t *self = &w->forwarded;
    if (forward->kind == HELIO_FORWARD_PROBE)
        return fake_probe(w, forward);
    (void)pthread_mutex_lock(&w->mutex);
    self->count++;
    self->kind = forward->kind;
    keep(helio_text_of(forward->tenant), self->tenant, sizeof self->tenant);
    keep(helio_text_of(forward->instance), self->instance, sizeof self->instance);
    keep(helio_text_of(forward->method), self->method, sizeof self->method);
    keep(helio_text_of(forward->base), self->base, sizeof self->base);
    keep(helio_text_of(forward->target), self->target, sizeof self->target);
    keep(helio_text_of(forward->credential), self->credential, sizeof self->credential);
    keep(helio_text_of(forward->content_type), self->content_type, sizeof self->content_type);
    keep(helio_text_of(forward->idempotency_key), self->key, sizeof self->key);
    keep(forward->body, self->body, sizeof self->body);
    helio_forward_answer_t answer = {self->status ? self->status : 200,
                                     self->type ? self->type : "application/json",
                                     self->piece ? self->piece : "",
                                     "leader",
                                     helio_text_of(self->answer ? self->answer : "{}"),
                                     self->retry_after_s};
    helio_rc rc = self->rc;
    (void)pthread_mutex_unlock(&w->mutex);
    if (rc == HELIO_BUSY)
        return rc;
    forward->done(forward, rc, rc == HELIO_OK ? &answer : NULL);
    return HELIO_OK;
}

/*  From here on another broker leads. */
static inline void world_follow(world_t *w, const char *http, uint64_t last_seq)
{
    helio_leader_t leader = {
        .name = "north/7", .http = http, .epoch = 3, .last_seq = last_seq, .looked_ms = helio_clock_boot_ms()};
    w->listener.on_following(w->listener.arg, &leader);
}

static inline void script_read(world_t *w, const char *query, helio_rc rc, const char *json)
{
    (void)pthread_mutex_lock(&w->mutex);
    uint32_t at = 0;
    while (at < w->read_count && strcmp(w->reads[at].query, query) != 0)
        at++;
    assert_true(at < SCRIPT_MAX);
    w->reads[at] = (scripted_read_t){query, rc, json};
    w->read_count = at == w->read_count ? at + 1 : w->read_count;
    (void)pthread_mutex_unlock(&w->mutex);
}

/*  Waits until the stand-in keeps a call; then answers it by the script. */
static inline void world_await_held(world_t *w)
{
    (void)pthread_mutex_lock(&w->mutex);
    while (!w->held)
        (void)pthread_cond_wait(&w->changed, &w->mutex);
    (void)pthread_mutex_unlock(&w->mutex);
}

static inline void world_reply(world_t *w)
{
    (void)pthread_mutex_lock(&w->mutex);
    helio_call_t *call = w->held;
    w->held = NULL;
    reply_call(w, call);
    (void)pthread_mutex_unlock(&w->mutex);
}

static inline void world_put_token_of(world_t *w, helio_token_fresh_t *token, const char *tenant, const char *user,
                                      const char *role, int64_t expires_ms, int64_t revoked_ms)
{
    if (!token->id[0])
        assert_int_equal(helio_token_issue(token), HELIO_OK);
    helio_row_token_t row = {.token_id = helio_text_of(token->id),
                             .hash = {(const char *)token->hash, sizeof token->hash},
                             .tenant = helio_text_of(tenant),
                             .user = helio_text_of(user),
                             .role = helio_text_of(role),
                             .created_ms = 1,
                             .expires_ms = expires_ms,
                             .revoked_ms = revoked_ms};
    w->listener.on_token(w->listener.arg, &row);
}

static inline void world_put_token(world_t *w, helio_token_fresh_t *token, const char *tenant, const char *role,
                                   int64_t expires_ms, int64_t revoked_ms)
{
    world_put_token_of(w, token, tenant, "ana", role, expires_ms, revoked_ms);
}

static inline void world_put_user(world_t *w, helio_token_fresh_t *token, const char *tenant, const char *user)
{
    world_put_token_of(w, token, tenant, user, "user", 0, 0);
}

static inline void world_transition(world_t *w, uint64_t seq, uint32_t to)
{
    helio_row_transition_t row = {.seq = seq, .to = to};
    w->listener.on_transition(w->listener.arg, &row);
}

/*  read: in place of the scripted one. */
static inline world_t *world_up_through(helio_http_options_t options,
                                        helio_rc (*read_)(void *reader, helio_read_t *read))
{
    world_t *w = helio_new(1, sizeof *w);
    (void)pthread_mutex_init(&w->mutex, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    w->log = helio_log_new(STDERR_FILENO, HELIO_ERROR, "test");
    options.listen = "127.0.0.1:0";
    w->http = helio_http_new(&options, w->log);
    w->listener = helio_http_listener(w->http);
    world_put_token(w, &w->user, "acme", "user", 0, 0);
    world_put_token(w, &w->operator_, "ops", "operator", 0, 0);
    world_put_token(w, &w->admin, "ops", "admin", 0, 0);
    world_put_token(w, &w->other, "globex", "user", 0, 0);
    helio_error_t err;
    helio_http_ports_t ports = {.post = fake_post,
                                .read = read_,
                                .engine = w,
                                .reader = w,
                                .forward = fake_forward,
                                .forwarder = w,
                                .core = helio_broker_options_default()};
    if (helio_http_start(w->http, ports, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    return w;
}

static inline world_t *world_up_with(helio_http_options_t options)
{
    return world_up_through(options, fake_read);
}

static inline world_t *world_up_over(helio_rc (*read_)(void *reader, helio_read_t *read))
{
    return world_up_through((helio_http_options_t){0}, read_);
}

static inline world_t *world_up(void)
{
    return world_up_with((helio_http_options_t){0});
}

static inline void world_down(world_t *w)
{
    helio_http_stop(w->http);
    helio_http_destroy(&w->http);
    helio_log_destroy(&w->log);
    (void)pthread_mutex_destroy(&w->mutex);
    (void)pthread_cond_destroy(&w->changed);
    free(w);
}

#endif
