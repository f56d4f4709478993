/*  clouds.c -- instances of elastic and spot pools: they come, go and are taken away, and the broker is told. */
#include "federation/base/number.h"
#include "simulator/experiment/internal.h"

static exp_instances_t *instances_of(const exp_run_t *self, uint32_t site, uint32_t pool)
{
    return self->sites[site].instances[pool];
}

static uint32_t pools_of(const exp_run_t *self, uint32_t site)
{
    return self->sites[site].profile.pools.count;
}

static void account(exp_run_t *self, uint32_t site, uint32_t pool, bool all)
{
    exp_instance_time_t time;
    while (exp_instances_account(instances_of(self, site, pool), all, self->wall_ms, &time))
        exp_result_add_instance(self->result, self->world, site, pool, time.from_ms, time.to_ms);
}

static void pass_time(exp_run_t *self, uint32_t site, uint32_t pool)
{
    exp_instances_t *instances = instances_of(self, site, pool);
    uint32_t node;
    while (exp_instances_take(instances, self->wall_ms, &node)) {
        self->result->cloud.taken++;
        exp_attempts_take_node(self, site, pool, node);
    }
    self->sites[site].changed = exp_instances_renew(instances, self->wall_ms) || self->sites[site].changed;
    account(self, site, pool, false);
}

/*  The broker says what is wanted as an answer to a summary, which a site sends every few seconds. */
static void ask_plans(exp_run_t *self, uint32_t site)
{
    bool due = false;
    for (uint32_t p = 0; p < pools_of(self, site); p++)
        due = due ||
              (instances_of(self, site, p) && exp_instances_plan_is_due(instances_of(self, site, p), self->wall_ms));
    if (!due)
        return;
    exp_send_reports(self, site);
    exp_send_summary(self, site, false);
    for (uint32_t p = 0; p < pools_of(self, site); p++) {
        exp_instances_t *instances = instances_of(self, site, p);
        if (!instances || !exp_instances_plan_is_due(instances, self->wall_ms))
            continue;
        self->sites[site].changed = exp_instances_plan(instances, self->wall_ms) || self->sites[site].changed;
        account(self, site, p, false);
    }
}

void exp_clouds_take(exp_run_t *self)
{
    for (uint32_t i = 0; self->clouds && i < self->world->fleet->count; i++) {
        for (uint32_t p = 0; !self->sites[i].down && p < pools_of(self, i); p++)
            if (instances_of(self, i, p))
                pass_time(self, i, p);
        if (!self->sites[i].down)
            ask_plans(self, i);
    }
}

void exp_clouds_find_next(exp_run_t *self)
{
    self->cloud_ms = INT64_MAX;
    for (uint32_t i = 0; self->clouds && i < self->world->fleet->count; i++)
        for (uint32_t p = 0; !self->sites[i].down && p < pools_of(self, i); p++)
            if (instances_of(self, i, p))
                self->cloud_ms = helio_lesser_i64(
                    self->cloud_ms, exp_instances_next_ms(instances_of(self, i, p), self->waiting > 0, self->wall_ms));
}

void exp_clouds_lose(exp_run_t *self, uint32_t site)
{
    for (uint32_t p = 0; p < pools_of(self, site); p++)
        if (instances_of(self, site, p)) {
            exp_instances_lose(instances_of(self, site, p), self->wall_ms);
            account(self, site, p, false);
        }
}

void exp_clouds_return(exp_run_t *self, uint32_t site)
{
    for (uint32_t p = 0; p < pools_of(self, site); p++)
        if (instances_of(self, site, p))
            exp_instances_return(instances_of(self, site, p), self->wall_ms);
}

void exp_clouds_close(exp_run_t *self)
{
    for (uint32_t i = 0; self->clouds && i < self->world->fleet->count; i++)
        for (uint32_t p = 0; p < pools_of(self, i); p++)
            if (instances_of(self, i, p))
                account(self, i, p, true);
}
