/*  detail.h -- what a policy did, hour by hour and team by team: what the report shows and the rows sum up. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_DETAIL_H
#define HELIO_SIMULATOR_EXPERIMENT_DETAIL_H

#include <stdbool.h>
#include <stdint.h>

enum { EXP_DAY_HOURS = 24 };

/*  One site in one hour. */
typedef struct exp_cell {
    double gpu_hours, grams, usd;
} exp_cell_t;

typedef struct exp_team_sum {
    uint32_t jobs, finished;
    double wait_s, slowdown, gpu_hours, grams;
} exp_team_sum_t;

typedef struct exp_detail {
    bool wanted;        /* the hours too; teams are always counted */
    int64_t first_hour; /* since 1970 */
    uint32_t sites, hours, capacity;
    exp_cell_t *cells;                 /* hours × sites */
    uint32_t (*starts)[EXP_DAY_HOURS]; /* of attempts, for each site by the hour of the day (UTC) */
    exp_team_sum_t *teams;
    uint32_t team_count;
} exp_detail_t;

void exp_detail_init(exp_detail_t *self, bool wanted, uint32_t sites, uint32_t teams, int64_t first_ms);
void exp_detail_clear(exp_detail_t *self);
/*  NULL: the hours are not wanted, or the hour lies before the first. Valid until the next call. */
exp_cell_t *exp_detail_cell(exp_detail_t *self, int64_t hour, uint32_t site);
void exp_detail_add_start(exp_detail_t *self, uint32_t site, int64_t wall_ms);

#endif
