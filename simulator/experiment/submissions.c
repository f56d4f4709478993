/*  submissions.c -- what the core knows before the first job, and the jobs as the users of a policy submit them. */
#include <math.h>
#include <stdio.h>

#include "federation/policy/quota.h"
#include "federation/reason/sentence.h"
#include "simulator/experiment/internal.h"
#include "simulator/experiment/links.h"

enum { URI_SIZE = 64 };       /* of a site's name, with what stands around it */
#define ALL_TEAMS "all-teams" /* where the order of arrival counts alone, it is one tenant */
static const uint64_t A_GB = 1000000000;

/*  ---- before the first job ---- */

static helio_text_t site_name(const exp_run_t *self, uint32_t index)
{
    return self->world->fleet->items[index].profile.name;
}

/*  Data at a site is found under the site's name. */
static const char *uri_of(const exp_run_t *self, uint32_t site, char ret_uri[URI_SIZE])
{
    (void)snprintf(ret_uri, URI_SIZE, "site://%.*s/", HELIO_TEXT_ARGS(site_name(self, site)));
    return ret_uri;
}

static bool is_by_distance(const exp_run_t *self)
{
    return self->policy->objective == HELIO_OBJECTIVE_NEAREST;
}

static void load_link(exp_run_t *self, helio_text_t from, helio_text_t to, const helio_link_t *link)
{
    helio_row_link_t row = {.from = from,
                            .to = to,
                            .mbps = link->mbps,
                            .egress_micro_usd_per_gb = link->egress_micro_usd_per_gb,
                            .rtt_ms = link->rtt_ms};
    exp_step(self, HELIO_BROKER_EV_LOAD_LINK, &row);
}

/*  Distance as the broker understands it: a job brings a gigabyte from its home, in no time, and each microsecond of the
 *  round trip costs a micro-dollar. */
static void load_distances(exp_run_t *self)
{
    for (uint32_t from = 0; from < self->world->fleet->count; from++)
        for (uint32_t to = 0; to < self->world->fleet->count; to++) {
            uint32_t us;
            helio_error_t err = {0};
            bool known =
                exp_round_trip_us(self->world->fleet, from, to, &us, &err) == HELIO_OK; /* inputs.c sees to it */
            const helio_link_t link = {HELIO_LINK_MBPS_MAX, us, us / 1000};
            if (known && from != to)
                load_link(self, site_name(self, from), site_name(self, to), &link);
        }
}

static void load_data(exp_run_t *self)
{
    const exp_fleet_t *fleet = self->world->fleet;
    char uri[URI_SIZE];
    if (!is_by_distance(self) && !exp_trace_has_data(self->world->trace))
        return;
    for (uint32_t i = 0; i < fleet->count; i++) {
        helio_row_data_t row = {.prefix = helio_text_of(uri_of(self, i, uri)), .sites = site_name(self, i)};
        exp_step(self, HELIO_BROKER_EV_LOAD_DATA, &row);
    }
    if (is_by_distance(self)) {
        load_distances(self);
        return;
    }
    for (uint32_t i = 0; i < fleet->links.count; i++) {
        helio_link_t link = exp_link_figures(&fleet->links.items[i]);
        load_link(self, fleet->links.items[i].from, fleet->links.items[i].to, &link);
    }
}

/*  The core ignores quotas of teams that the trace does not have. */
static void load_quota(exp_run_t *self, const exp_tenant_t *tenant)
{
    helio_row_quota_t row = {.tenant = tenant->name,
                             .guaranteed_gpus = tenant->guaranteed_gpus,
                             .burst_gpus = tenant->limited ? tenant->burst_gpus : HELIO_QUOTA_UNLIMITED,
                             .weight_milli = (uint32_t)lround(tenant->weight * HELIO_QUOTA_WEIGHT_DEFAULT)};
    if (!helio_text_is(tenant->name, EXP_EACH_TENANT))
        exp_step(self, HELIO_BROKER_EV_LOAD_QUOTA, &row);
    for (uint32_t i = 0; i < tenant->queues.count; i++) {
        const exp_queue_quota_t *quota = &tenant->queues.items[i];
        bool critical = exp_queue_find(quota->queue)->tier == HELIO_TIER_CRITICAL;
        row.queue = quota->queue;
        row.guaranteed_gpus = quota->guaranteed_gpus;
        row.burst_gpus = quota->limited ? quota->burst_gpus : helio_quota_default_in(critical).burst_gpus;
        row.weight_milli = HELIO_QUOTA_WEIGHT_DEFAULT; /* of the tenant alone */
        exp_step(self, HELIO_BROKER_EV_LOAD_QUOTA, &row);
    }
}

static void load_tenants(exp_run_t *self)
{
    const exp_trace_t *trace = self->world->trace;
    if (self->policy->rank == EXP_RANK_ARRIVAL) {
        helio_row_tenant_t all = {.tenant = HELIO_TEXT(ALL_TEAMS)};
        exp_step(self, HELIO_BROKER_EV_LOAD_TENANT, &all);
        return;
    }
    for (uint32_t i = 0; i < trace->team_count; i++) {
        helio_row_tenant_t tenant = {.tenant = trace->teams[i]};
        exp_step(self, HELIO_BROKER_EV_LOAD_TENANT, &tenant);
    }
}

static void load_quotas(exp_run_t *self)
{
    const exp_tenants_t *tenants = &self->world->fleet->tenants;
    if (self->policy->rank == EXP_RANK_SHARES) {
        for (uint32_t i = 0; i < tenants->count; i++)
            load_quota(self, &tenants->items[i]);
        return;
    }
    for (uint32_t i = 0; i < exp_queue_count; i++) { /* the limit of one team is none of all of them */
        helio_row_quota_t row = {.tenant = HELIO_TEXT(EXP_EACH_TENANT),
                                 .queue = helio_text_of(exp_queues[i].name),
                                 .burst_gpus = HELIO_QUOTA_UNLIMITED,
                                 .weight_milli = HELIO_QUOTA_WEIGHT_DEFAULT};
        exp_step(self, HELIO_BROKER_EV_LOAD_QUOTA, &row);
    }
}

void exp_submissions_load(exp_run_t *self)
{
    helio_row_federation_t federation = {.incarnation = 1, .broker_epoch = 1, .seed = self->world->seed};
    exp_step(self, HELIO_BROKER_EV_LOAD_FEDERATION, &federation);
    load_tenants(self);
    for (uint32_t i = 0; i < exp_queue_count; i++) {
        const exp_queue_t *queue = &exp_queues[i];
        helio_row_queue_t row = {helio_text_of(queue->name), queue->priority, queue->tier, queue->time_limit_ms, false};
        exp_step(self, HELIO_BROKER_EV_LOAD_QUEUE, &row);
    }
    load_quotas(self);
    load_data(self);
    exp_step(self, HELIO_BROKER_EV_LOADED, NULL);
}

/*  ---- jobs ---- */

static bool take_reply(exp_run_t *self, const helio_fx_reply_t *reply)
{
    if (reply->rc == HELIO_OK)
        return true;
    if (!self->result->refused++)
        (void)helio_text_copy(helio_sentences_text(&reply->details, self->effects->arena), self->result->refusal,
                              sizeof self->result->refusal);
    return false;
}

static void set_prices(const exp_run_t *self, helio_job_spec_t *spec)
{
    const exp_world_t *world = self->world;
    helio_prices_t prices = helio_prices_of_goal(self->policy->goal);
    if (!exp_policy_is_priced(self->policy) || (!world->carbon_price_given && !world->wait_price_given))
        return;
    spec->prices_set = true;
    spec->carbon_price_micro_usd_per_t =
        world->carbon_price_given ? world->carbon_price_micro_usd_per_t : prices.carbon_micro_usd_per_t;
    spec->wait_price_micro_usd_per_gpu_h =
        world->wait_price_given ? world->wait_price_micro_usd_per_gpu_h : prices.wait_micro_usd_per_gpu_h;
}

static void set_data(const exp_run_t *self, const exp_job_t *job, helio_job_spec_t *spec, helio_data_ask_t *data,
                     char uri[URI_SIZE])
{
    bool by_distance = is_by_distance(self);
    if (!by_distance && !job->data_bytes)
        return;
    uint32_t from = by_distance ? job->home : job->data_site;
    *data = (helio_data_ask_t){.uri = helio_text_of(uri_of(self, from, uri)),
                               .size_bytes = by_distance ? A_GB : job->data_bytes};
    spec->data.items = data;
    spec->data.count = 1;
}

/*  False: it was refused. */
static bool submit(exp_run_t *self, uint32_t number)
{
    const exp_job_t *job = &self->world->trace->jobs[number];
    const exp_policy_t *policy = self->policy;
    bool at_home = policy->admit == EXP_ADMIT_HOME || job->pinned;
    char source[16], uri[URI_SIZE];
    (void)snprintf(source, sizeof source, "%u", number);
    helio_gpu_ask_t ask = {.model = job->model, .count = job->gpus_per_node};
    helio_data_ask_t data;
    helio_string_t home = {site_name(self, job->home)};
    helio_submission_t submission = {.source = helio_text_of(source)};
    helio_job_spec_t *spec = &submission.spec;
    *spec =
        (helio_job_spec_t){.name = job->user, /* traces have no names */
                           .queue = job->queue,
                           .kind = job->kind,
                           .home = home.text,
                           .gpus = {&ask, 1},
                           .nodes = job->nodes,
                           .checkpoint_every_ms = (uint64_t)job->checkpoint_ms,
                           .on_site_loss = self->world->site_loss,
                           .on_better_site = policy->choose == EXP_CHOOSE_AGAIN && job->checkpoint_ms && !job->pinned
                                                 ? HELIO_BETTER_SITE_CHECKPOINT
                                                 : HELIO_BETTER_SITE_STAY,
                           .goal = policy->goal,
                           .flexible_ms = (uint64_t)job->flexible_ms,
                           .deadline_wall_ms = job->deadline_ms};
    spec->time_limit_ms = (uint64_t)(policy->knows == EXP_KNOWS_TRUTH ? job->duration_ms : job->limit_ms);
    spec->sites.items = at_home ? &home : job->sites;
    spec->sites.count = at_home ? 1 : job->site_count;
    set_prices(self, spec);
    set_data(self, job, spec, &data, uri);
    helio_ev_submit_t event = {.call = number + 1,
                               .tenant = policy->rank == EXP_RANK_ARRIVAL ? HELIO_TEXT(ALL_TEAMS) : job->team,
                               .user = job->user.size ? job->user : job->team,
                               .jobs = {&submission, 1}};
    exp_step(self, HELIO_BROKER_EV_SUBMIT, &event);
    for (uint32_t i = 0; i < self->effects->count; i++)
        if (self->effects->items[i].kind == HELIO_BROKER_FX_REPLY)
            return take_reply(self, self->effects->items[i].payload);
    return false;
}

void exp_submissions_take(exp_run_t *self)
{
    const exp_trace_t *trace = self->world->trace;
    for (; self->next_job < trace->count && trace->jobs[self->next_job].submit_ms <= self->wall_ms; self->next_job++) {
        self->lives[self->next_job].left_ms = trace->jobs[self->next_job].duration_ms;
        if (submit(self, self->next_job))
            self->waiting++;
        else
            self->over++; /* refused: it never finishes */
    }
}
