/*  check_shares.c -- `helio-agent check`: pools of slices and of shares, and the daemons that they need. */
#include <stdio.h>

#include "site-agent/agent/check.h"
#include "site-agent/agent/gpus.h"

enum { DETAIL_SIZE = 700, WHAT_SIZE = 80 };

typedef struct report {
    const helio_agent_settings_t *settings;
    helio_check_line_fn *line;
    void (*advise)(const char *what, const char *detail);
    void *arg;
} report_t;

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static void tell_devices(const report_t *self, const helio_pool_t *pool, const helio_pool_devices_t *devices)
{
    char what[WHAT_SIZE], detail[DETAIL_SIZE];
    uint32_t there = 0;
    for (uint32_t i = 0; i < devices->count; i++)
        there += devices->items[i].name.size > 0;
    (void)snprintf(what, sizeof what, "devices %.*s", HELIO_TEXT_ARGS(pool->name));
    if (there < devices->count)
        (void)snprintf(
            detail, sizeof detail,
            "%u of %u of the model %.*s: the places of the others are kept for jobs that may still use them, "
            "and are not offered; when no job of this site runs, stop the agent and remove %.300s/devices",
            there, devices->count, HELIO_TEXT_ARGS(pool->gpu), self->settings->state_dir.data);
    else if (devices->jobs_per_gpu > 1)
        (void)snprintf(detail, sizeof detail, "%u GPU%s, each for at most %u jobs at a time (%s)", there, plural(there),
                       devices->jobs_per_gpu, helio_sharing_name(pool->sharing));
    else
        (void)snprintf(detail, sizeof detail, "%u slice%s %.*s", there, plural(there), HELIO_TEXT_ARGS(pool->gpu));
    self->line(self->arg, what, there ? HELIO_OK : HELIO_NOT_FOUND, detail);
}

/*  MPS serves one user at a time, unless its daemon is told otherwise: the programs of others wait. */
static void tell_users(const report_t *self, const helio_mps_t *mps)
{
    char what[WHAT_SIZE];
    const helio_job_rules_t *rules = &self->settings->rules;
    bool several = false;
    for (uint32_t i = 1; i < rules->users.count; i++)
        several = several || !helio_text_equal(rules->users.items[i].unix_user, rules->users.items[0].unix_user);
    for (uint32_t i = 0; mps->argv[i]; i++)
        several = several && !helio_text_is(helio_text_of(mps->argv[i]), "-multiuser-server");
    (void)snprintf(what, sizeof what, "mps %.*s", HELIO_TEXT_ARGS(mps->pool));
    if (several)
        self->advise(what,
                     "jobs run as several Unix users, and an MPS server serves one of them at a time: the programs of "
                     "others wait until its last one ends; give `mps_command` the option -multiuser-server where the "
                     "driver has it, or the pool one account");
}

static void tell_mps(const report_t *self, const helio_mps_t *mps)
{
    char what[WHAT_SIZE], detail[DETAIL_SIZE];
    helio_error_t err = {0};
    helio_rc rc = helio_mps_check(mps, &err);
    (void)snprintf(what, sizeof what, "mps %.*s", HELIO_TEXT_ARGS(mps->pool));
    if (rc)
        (void)snprintf(detail, sizeof detail, "%.600s", err.text);
    else if (helio_mps_lives(mps))
        (void)snprintf(detail, sizeof detail, "its daemon runs, in %.400s", mps->pipe);
    else
        (void)snprintf(detail, sizeof detail, "`%.300s` starts its daemon when the agent starts", mps->argv[0]);
    self->line(self->arg, what, rc, detail);
    tell_users(self, mps);
}

static void tell_pool(const report_t *self, const helio_pool_t *pool)
{
    char what[WHAT_SIZE], detail[DETAIL_SIZE];
    bool shared = pool->sharing == HELIO_SHARING_MPS || pool->sharing == HELIO_SHARING_TIMESLICE;
    const helio_pool_devices_t *devices =
        self->settings->gpus ? helio_devices_of(&self->settings->gpus->devices, pool->name) : NULL;
    if (shared && !helio_shares_of(&self->settings->shares, pool->name)) {
        (void)snprintf(what, sizeof what, "sharing %.*s", HELIO_TEXT_ARGS(pool->name));
        (void)snprintf(detail, sizeof detail,
                       "the pool says sharing: %s, and nothing says how many jobs share a GPU, so each job gets whole "
                       "ones: add shares: [{pool: %.*s, jobs_per_gpu: 4}] under `agent`, or say sharing: none",
                       helio_sharing_name(pool->sharing), HELIO_TEXT_ARGS(pool->name));
        self->line(self->arg, what, HELIO_INVALID, detail);
    } else if (devices && pool->sharing != HELIO_SHARING_NONE) {
        tell_devices(self, pool, devices);
    }
}

void helio_check_shares(const helio_agent_settings_t *settings, helio_check_line_fn *line,
                        void (*advise)(const char *what, const char *detail), void *arg)
{
    const report_t self = {settings, line, advise, arg};
    for (uint32_t i = 0; i < settings->site.pools.count; i++)
        tell_pool(&self, &settings->site.pools.items[i]);
    for (uint32_t i = 0; settings->gpus && i < settings->gpus->mps_count; i++)
        tell_mps(&self, &settings->gpus->mps[i]);
}
