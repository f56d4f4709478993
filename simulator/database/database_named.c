/*  database_named.c -- rows that are found by a name: sites, pools, queues, quotas, data, links, hourly prices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/database/database_rows.h"

typedef struct name {
    char text[512];
} name_t;

/*  The newest row of a name replaces the others. */
static void keep(sim_database_t *self, vnamed_t **table, const char *name, const void *row, size_t size)
{
    vnamed_t *named;
    HASH_FIND_STR(*table, name, named);
    if (!named) {
        named = helio_new(1, sizeof *named);
        (void)snprintf(named->name, sizeof named->name, "%s", name);
        named->row = helio_arena_alloc(self->arena, 1, size);
        HASH_ADD_STR(*table, name, named);
    }
    memcpy(named->row, row, size);
}

static void drop(vnamed_t **table, const char *name)
{
    vnamed_t *named;
    HASH_FIND_STR(*table, name, named);
    if (named)
        HASH_DEL(*table, named);
    free(named);
}

static const char *one(name_t *name, helio_text_t text)
{
    (void)snprintf(name->text, sizeof name->text, "%.*s", HELIO_TEXT_ARGS(text));
    return name->text;
}

static const char *two(name_t *name, helio_text_t a, helio_text_t b)
{
    (void)snprintf(name->text, sizeof name->text, "%.*s/%.*s", HELIO_TEXT_ARGS(a), HELIO_TEXT_ARGS(b));
    return name->text;
}

static void put_actual(sim_database_t *self, const helio_row_actual_t *row)
{
    name_t name;
    (void)snprintf(name.text, sizeof name.text, "%.*s/%.*s/%u/%lld", HELIO_TEXT_ARGS(row->site),
                   HELIO_TEXT_ARGS(row->pool), row->signal, (long long)row->hour_ms);
    keep(self, &self->actuals, name.text, row, sizeof *row);
}

static void put_series(sim_database_t *self, const helio_row_series_t *row)
{
    name_t name;
    (void)snprintf(name.text, sizeof name.text, "%.*s/%.*s/%u/%.*s", HELIO_TEXT_ARGS(row->site),
                   HELIO_TEXT_ARGS(row->pool), row->signal, HELIO_TEXT_ARGS(row->kind));
    vnamed_t *before;
    HASH_FIND_STR(self->issues, name.text, before);
    if (!before || ((const helio_row_series_t *)before->row)->issued_ms <= row->issued_ms)
        keep(self, &self->issues, name.text, row, sizeof *row);
}

static void put_rule(sim_database_t *self, const helio_row_queue_rule_t *row)
{
    name_t name;
    (void)snprintf(name.text, sizeof name.text, "%.*s/%.*s/%.*s/%.*s", HELIO_TEXT_ARGS(row->queue),
                   HELIO_TEXT_ARGS(row->region), HELIO_TEXT_ARGS(row->schedule), HELIO_TEXT_ARGS(row->zone));
    keep(self, &self->rules, name.text, row, sizeof *row);
}

static void put_data(sim_database_t *self, const helio_row_data_t *row)
{
    name_t name;
    if (row->sites.size)
        keep(self, &self->data, one(&name, row->prefix), row, sizeof *row);
    else
        drop(&self->data, one(&name, row->prefix));
}

static void put_link(sim_database_t *self, const helio_row_link_t *row)
{
    name_t name;
    if (!row->removed)
        keep(self, &self->links, two(&name, row->from, row->to), row, sizeof *row);
    else
        drop(&self->links, two(&name, row->from, row->to));
}

static void put_site(sim_database_t *self, const helio_row_site_t *row)
{
    name_t name;
    keep(self, &self->sites, one(&name, row->site), row, sizeof *row);
}

static void put_pool(sim_database_t *self, const helio_row_pool_t *row)
{
    name_t name;
    keep(self, &self->pools, two(&name, row->site, row->pool), row, sizeof *row);
}

static void put_curtailment(sim_database_t *self, const helio_row_curtailment_t *row)
{
    name_t name;
    (void)snprintf(name.text, sizeof name.text, "%.*s/%lld", HELIO_TEXT_ARGS(row->site), (long long)row->set_ms);
    if (row->ended_ms)
        drop(&self->curtailments, name.text);
    else
        keep(self, &self->curtailments, name.text, row, sizeof *row);
}

static void put_queue(sim_database_t *self, const helio_row_queue_t *row)
{
    name_t name;
    keep(self, &self->queues, one(&name, row->queue), row, sizeof *row);
}

static void put_group(sim_database_t *self, const helio_row_overflow_t *row)
{
    name_t name;
    keep(self, &self->groups, one(&name, row->name), row, sizeof *row);
}

static void put_class(sim_database_t *self, const helio_row_class_t *row)
{
    name_t name;
    (void)snprintf(name.text, sizeof name.text, "%llu", (unsigned long long)row->class_id);
    keep(self, &self->classes, name.text, row, sizeof *row);
}

static void put_budget(sim_database_t *self, const helio_row_budget_t *row)
{
    name_t name;
    (void)snprintf(name.text, sizeof name.text, "%.*s/%.*s/%u", HELIO_TEXT_ARGS(row->tenant),
                   HELIO_TEXT_ARGS(row->queue), row->kind);
    keep(self, &self->budgets, name.text, row, sizeof *row);
}

static void put_quota(sim_database_t *self, const helio_row_quota_t *row)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%.*s/%.*s", HELIO_TEXT_ARGS(row->tenant), HELIO_TEXT_ARGS(row->queue));
    vquota_t *quota;
    HASH_FIND_STR(self->quotas, name, quota);
    if (!quota) {
        quota = helio_new(1, sizeof *quota);
        memcpy(quota->name, name, sizeof name);
        quota->peak = HELIO_QUOTA_UNLIMITED;
        HASH_ADD_STR(self->quotas, name, quota);
    }
    quota->row = *row;
    quota->peak = row->burst_gpus > quota->peak ? row->burst_gpus : quota->peak;
}

void database_named_put(sim_database_t *self, uint32_t kind, const void *row)
{
    if (kind == HELIO_BROKER_FX_ROW_SITE)
        put_site(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_POOL)
        put_pool(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_QUOTA)
        put_quota(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_BUDGET)
        put_budget(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_DATA)
        put_data(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_LINK)
        put_link(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_CURTAILMENT)
        put_curtailment(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_QUEUE)
        put_queue(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_QUEUE_RULE)
        put_rule(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_OVERFLOW)
        put_group(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_ACTUAL)
        put_actual(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_SERIES)
        put_series(self, row);
    else if (kind == HELIO_BROKER_FX_ROW_CLASS)
        put_class(self, row);
}

bool sim_database_budget(const sim_database_t *self, const char *tenant, int64_t *ret_limit)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%s//%u", tenant, HELIO_BUDGET_GPU);
    vnamed_t *budget;
    HASH_FIND_STR(self->budgets, name, budget);
    const helio_row_budget_t *row = budget ? budget->row : NULL;
    if (row)
        *ret_limit = row->amount;
    return row && row->period;
}

uint32_t sim_database_burst(sim_database_t *self, const char *tenant, const char *queue)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%s/%s", tenant, queue);
    vquota_t *quota;
    HASH_FIND_STR(self->quotas, name, quota);
    if (!quota)
        return HELIO_QUOTA_UNLIMITED;
    uint32_t peak = quota->peak;
    quota->peak = quota->row.burst_gpus;
    return peak;
}

void sim_database_each_site(const sim_database_t *self, sim_database_site_fn *visit, void *arg)
{
    for (const vnamed_t *named = self->sites; named; named = named->hh.next)
        visit(arg, named->row);
}

void sim_database_each_class(const sim_database_t *self, sim_database_class_fn *visit, void *arg)
{
    for (const vnamed_t *named = self->classes; named; named = named->hh.next)
        visit(arg, named->row);
}
