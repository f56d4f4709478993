/*  detail.c -- a table that grows hour by hour. */
#include "simulator/experiment/detail.h"

#include <stdlib.h>
#include <string.h>

#include "federation/base/memory.h"
#include "federation/policy/pool_forecast.h"

void exp_detail_init(exp_detail_t *self, bool wanted, uint32_t sites, uint32_t teams, int64_t first_ms)
{
    *self = (exp_detail_t){
        .wanted = wanted, .first_hour = helio_hour_of(first_ms) / HELIO_HOUR_MS, .sites = sites, .team_count = teams};
    self->starts = helio_new(sites, sizeof *self->starts);
    self->teams = helio_new(teams ? teams : 1, sizeof *self->teams);
}

void exp_detail_clear(exp_detail_t *self)
{
    free(self->cells);
    free(self->starts);
    free(self->teams);
    *self = (exp_detail_t){0};
}

exp_cell_t *exp_detail_cell(exp_detail_t *self, int64_t hour, uint32_t site)
{
    if (!self->wanted || hour < self->first_hour)
        return NULL;
    uint32_t at = (uint32_t)(hour - self->first_hour);
    if (at >= self->capacity) {
        uint32_t capacity = at < 64 ? 128 : 2 * at;
        self->cells = helio_grow(self->cells, (size_t)capacity * self->sites, sizeof *self->cells);
        memset(self->cells + (size_t)self->capacity * self->sites, 0,
               (size_t)(capacity - self->capacity) * self->sites * sizeof *self->cells);
        self->capacity = capacity;
    }
    self->hours = at + 1 > self->hours ? at + 1 : self->hours;
    return &self->cells[(size_t)at * self->sites + site];
}

void exp_detail_add_start(exp_detail_t *self, uint32_t site, int64_t wall_ms)
{
    self->starts[site][helio_hour_of(wall_ms) / HELIO_HOUR_MS % EXP_DAY_HOURS]++;
}
