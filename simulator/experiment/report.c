/*  report.c -- the page: the rows, how long jobs waited, and for each policy when and where the work was done, what it cost,
 *  and which teams won or lost by it. */
#include "simulator/experiment/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/policy/pool_forecast.h"
#include "simulator/experiment/bound.h"
#include "simulator/experiment/cloud_text.h"
#include "simulator/experiment/plot.h"

enum {
    COLUMNS_MAX = 168, /* of a plot over time: the hours of a week, or longer spans */
    SITES_SHOWN = 24,  /* rows of a grid; the others are one row */
    TEAMS_SHOWN = 10,  /* of those that won, and of those that lost */
    WAIT_POINTS = 200,
    TICKS = 8
};

static const char style[] =
    ":root{--ink:#1b1f24;--dim:#5b636e;--page:#fff;--line:#d8dde3;--none:#eef1f4;--heat:#1f63b8;--good:#12805c;"
    "--bad:#c0362c;--s0:#2a78d6;--s1:#1baf7a;--s2:#d99000;--s3:#6a4fc4;--s4:#e34948;--s5:#e87ba4;--s6:#008300;--s7:#"
    "eb6834;--s8:#9aa3ad}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--dim:#9aa3ad;--page:#14171b;--line:#343a42;--none:#1f242a;"
    "--heat:#6cabf5;--good:#3cc491;--bad:#f0766c;--s0:#4c95ec;--s3:#9a83ea;--s6:#35a835;--s8:#6b747e}}\n"
    "@media print{:root{--ink:#000;--dim:#444;--page:#fff;--line:#bbb;--none:#f2f2f2;--heat:#1f63b8}"
    "section,figure,table{break-inside:avoid}table{font-size:.68rem}div.wide{overflow:visible}section.policy{break-before:page;break-inside:auto}nav{display:none}"
    "*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:1000px;margin:2rem auto;"
    "padding:0 1rem}h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.5rem;border-top:1px solid var(--line);"
    "padding-top:1rem}h3{font-size:1rem;margin:1.4rem 0 .3rem}p,figcaption{color:var(--dim);margin:.3rem 0}"
    "figure{margin:0 0 1rem}code{font-size:.85em;overflow-wrap:anywhere}a{color:var(--s0)}nav a{margin-right:1em}"
    "div.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.82rem}"
    "th,td{text-align:right;padding:.2rem .45rem;border-bottom:1px solid var(--line);white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left}th{color:var(--dim);font-weight:600}"
    "svg{width:100%;height:auto;display:block;font:11px system-ui,sans-serif}svg text{fill:var(--dim)}"
    "svg text.end{text-anchor:end}.tick,.grid{stroke:var(--line)}.grid{stroke-dasharray:2 3}.heat{fill:var(--heat)}"
    ".none{fill:var(--none)}polyline{fill:none;stroke-width:2}polyline.again{stroke-dasharray:6 3}"
    ".key{display:inline-block;margin-right:1em;white-space:nowrap}.key i{display:inline-block;width:.8em;height:.8em;"
    "margin-right:.35em;border-radius:2px}.key i.again{opacity:.45}.good{color:var(--good)}.bad{color:var(--bad)}\n"
    ".s0{fill:var(--s0);background:var(--s0)}.s1{fill:var(--s1);background:var(--s1)}"
    ".s2{fill:var(--s2);background:var(--s2)}.s3{fill:var(--s3);background:var(--s3)}"
    ".s4{fill:var(--s4);background:var(--s4)}.s5{fill:var(--s5);background:var(--s5)}"
    ".s6{fill:var(--s6);background:var(--s6)}.s7{fill:var(--s7);background:var(--s7)}"
    ".s8{fill:var(--s8);background:var(--s8)}.l0{stroke:var(--s0)}.l1{stroke:var(--s1)}.l2{stroke:var(--s2)}"
    ".l3{stroke:var(--s3)}.l4{stroke:var(--s4)}.l5{stroke:var(--s5)}.l6{stroke:var(--s6)}.l7{stroke:var(--s7)}"
    ".l8{stroke:var(--s8)}\n";

typedef struct report {
    const exp_result_t *results, *base; /* base: what the others are compared with */
    uint32_t count;
    const exp_world_t *world;
    helio_arena_t *arena;
    helio_buffer_t *out;
    uint32_t hours, columns, span; /* of plots over time: a column is `span` hours */
    int64_t first_hour;
    exp_tick_t ticks[TICKS + 1];
    uint32_t tick_count;
    uint32_t *order; /* sites, the largest first */
} report_t;

static void text(const report_t *self, helio_text_t name)
{
    exp_plot_escape(name, self->out);
}

static helio_text_t site_name(const report_t *self, uint32_t site)
{
    return self->world->fleet->items[site].profile.name;
}

static double site_gpus(const report_t *self, uint32_t site)
{
    const helio_site_profile_t *profile = &self->world->fleet->items[site].profile;
    double gpus = 0;
    for (uint32_t i = 0; i < profile->pools.count; i++)
        gpus += (double)helio_pool_nodes_most(&profile->pools.items[i]) * profile->pools.items[i].gpus_per_node;
    return gpus;
}

/*  Seconds as people read them. */
static const char *duration(const report_t *self, double seconds)
{
    double size = fabs(seconds);
    const char *format = size < 120 ? "%.0f s" : size < 7200 ? "%.0f min" : size < 172800 ? "%.1f h" : "%.1f d";
    double unit = size < 120 ? 1 : size < 7200 ? 60 : size < 172800 ? 3600 : 86400;
    char *ret_text = helio_arena_alloc(self->arena, 32, 1);
    /* the format is one of the four above */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(ret_text, 32, format, seconds / unit);
#pragma GCC diagnostic pop
    return ret_text;
}

/*  ---- what is common to all plots over time ---- */

static void find_columns(report_t *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->results[i].detail.hours > self->hours)
            self->hours = self->results[i].detail.hours;
    self->hours = self->hours ? self->hours : 1;
    self->first_hour = self->results[0].detail.first_hour;
    self->span = (self->hours + COLUMNS_MAX - 1) / COLUMNS_MAX;
    self->columns = (self->hours + self->span - 1) / self->span;
    uint32_t step = (self->columns + TICKS - 1) / TICKS;
    for (uint32_t column = 0; column < self->columns && self->tick_count < TICKS; column += step) {
        char at[HELIO_RFC3339_SIZE];
        exp_tick_t *tick = &self->ticks[self->tick_count++];
        helio_rfc3339((self->first_hour + (int64_t)column * self->span) * HELIO_HOUR_MS, at);
        tick->column = column;
        (void)snprintf(tick->text, sizeof tick->text, "%.5s %.5s", at + 5, at + 11);
    }
}

static double gpu_hours_of(const report_t *self, uint32_t site)
{
    double sum = 0;
    for (uint32_t i = 0; i < self->count; i++)
        for (uint32_t hour = 0; hour < self->results[i].detail.hours; hour++)
            sum += self->results[i].detail.cells[(size_t)hour * self->world->fleet->count + site].gpu_hours;
    return sum;
}

/*  The same for all policies, so that their plots can be compared. */
static void order_sites(report_t *self)
{
    uint32_t count = self->world->fleet->count;
    double *used = helio_arena_alloc(self->arena, count, sizeof *used);
    self->order = helio_arena_alloc(self->arena, count, sizeof *self->order);
    for (uint32_t i = 0; i < count; i++) {
        used[i] = gpu_hours_of(self, i);
        uint32_t at = i;
        for (; at > 0 && used[self->order[at - 1]] < used[i]; at--)
            self->order[at] = self->order[at - 1];
        self->order[at] = i;
    }
}

typedef double measure_t(const exp_cell_t *cell);

static double gpu_hours(const exp_cell_t *cell)
{
    return cell->gpu_hours;
}

static double kilograms(const exp_cell_t *cell)
{
    return cell->grams / 1000;
}

static double dollars(const exp_cell_t *cell)
{
    return cell->usd;
}

/*  values[row * columns + column]; sites beyond the rows are summed in the last one. */
static double *over_time(const report_t *self, const exp_result_t *result, uint32_t rows, measure_t *measure)
{
    uint32_t sites = self->world->fleet->count;
    double *values = helio_arena_alloc(self->arena, (size_t)rows * self->columns, sizeof *values);
    for (uint32_t rank = 0; rank < sites; rank++) {
        uint32_t row = rank < rows ? rank : rows - 1;
        for (uint32_t hour = 0; hour < result->detail.hours; hour++)
            values[(size_t)row * self->columns + hour / self->span] +=
                measure(&result->detail.cells[(size_t)hour * sites + self->order[rank]]);
    }
    return values;
}

static uint32_t rows_of(const report_t *self, uint32_t most)
{
    return self->world->fleet->count < most ? self->world->fleet->count : most;
}

static helio_text_t row_name(const report_t *self, uint32_t row, uint32_t rows)
{
    uint32_t sites = self->world->fleet->count;
    if (row + 1 < rows || rows == sites)
        return site_name(self, self->order[row]);
    return helio_arena_printf(self->arena, "%u others", sites - rows + 1);
}

static void keys(const report_t *self, uint32_t rows)
{
    helio_buffer_text(self->out, "<figcaption>");
    for (uint32_t i = 0; i < rows; i++) {
        helio_buffer_printf(self->out, "<span class=\"key\"><i class=\"s%u\"></i>", i);
        text(self, row_name(self, i, rows));
        helio_buffer_text(self->out, "</span>");
    }
    helio_buffer_text(self->out, "</figcaption>");
}

/*  ---- the plots of one policy ---- */

static const helio_text_t *row_names(const report_t *self, uint32_t rows)
{
    helio_text_t *names = helio_arena_alloc(self->arena, rows, sizeof *names);
    for (uint32_t i = 0; i < rows; i++)
        names[i] = row_name(self, i, rows);
    return names;
}

static void put_utilization(const report_t *self, const exp_result_t *result)
{
    uint32_t sites = self->world->fleet->count, rows = rows_of(self, SITES_SHOWN);
    double *values = over_time(self, result, rows, gpu_hours);
    double *gpus = helio_arena_alloc(self->arena, rows, sizeof *gpus);
    for (uint32_t rank = 0; rank < sites; rank++)
        gpus[rank < rows ? rank : rows - 1] += site_gpus(self, self->order[rank]);
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t i = 0; i < self->columns; i++)
            values[(size_t)row * self->columns + i] /= fmax(1, gpus[row] * self->span);
    const exp_heat_t heat = {"Utilisation of each site over time",
                             row_names(self, rows),
                             rows,
                             self->columns,
                             values,
                             self->ticks,
                             self->tick_count};
    helio_buffer_text(self->out, "<h3>Utilisation over time, by site</h3><figure>");
    exp_plot_heat(&heat, self->out);
    helio_buffer_text(self->out,
                      "<figcaption>The stronger the colour, the fuller; the largest users of GPU-hours first. UTC."
                      "</figcaption></figure>\n");
}

static void put_sums(const report_t *self, const exp_result_t *result, const char *title, const char *unit,
                     measure_t *measure)
{
    uint32_t rows = rows_of(self, EXP_PLOT_SERIES_MAX);
    double *values = over_time(self, result, rows, measure);
    bool below = false;
    for (size_t i = 0; i < (size_t)rows * self->columns; i++) {
        below = below || values[i] < 0;
        values[i] = fmax(0, values[i]);
    }
    const exp_stack_t stack = {title, unit, rows, self->columns, values, self->ticks, self->tick_count};
    helio_buffer_printf(self->out, "<h3>%s, each %u h, by site</h3><figure>", title, self->span);
    exp_plot_stack(&stack, self->out);
    keys(self, rows);
    if (below)
        helio_buffer_text(self->out, "<p>Hours with negative prices are shown as 0, and counted as they are.</p>");
    helio_buffer_text(self->out, "</figure>\n");
}

static void put_starts(const report_t *self, const exp_result_t *result)
{
    uint32_t rows = rows_of(self, SITES_SHOWN);
    double *values = helio_arena_alloc(self->arena, (size_t)rows * EXP_DAY_HOURS, sizeof *values), most = 1;
    for (uint32_t rank = 0; rank < self->world->fleet->count; rank++)
        for (uint32_t hour = 0; hour < EXP_DAY_HOURS; hour++) {
            double *value = &values[(rank < rows ? rank : rows - 1) * EXP_DAY_HOURS + hour];
            *value += result->detail.starts[self->order[rank]][hour];
            most = fmax(most, *value);
        }
    for (uint32_t i = 0; i < rows * EXP_DAY_HOURS; i++)
        values[i] /= most;
    exp_tick_t ticks[EXP_DAY_HOURS / 3];
    for (uint32_t i = 0; i < EXP_DAY_HOURS / 3; i++) {
        ticks[i].column = 3 * i;
        (void)snprintf(ticks[i].text, sizeof ticks[i].text, "%02u:00", 3 * i);
    }
    const exp_heat_t heat = {"Starts at each site by the hour of the day",
                             row_names(self, rows),
                             rows,
                             EXP_DAY_HOURS,
                             values,
                             ticks,
                             EXP_DAY_HOURS / 3};
    helio_buffer_text(self->out, "<h3>Where jobs went, by the hour of the day</h3><figure>");
    exp_plot_heat(&heat, self->out);
    helio_buffer_printf(self->out, "<figcaption>Starts; the strongest field has %.0f. UTC.</figcaption></figure>\n",
                        most);
}

/*  ---- teams ---- */

typedef struct change {
    uint32_t team;
    double seconds; /* of the mean wait, less than with the base policy if negative */
} change_t;

static double mean_wait(const exp_team_sum_t *team)
{
    return team->finished ? team->wait_s / team->finished : 0;
}

static int by_change(const void *a_, const void *b_)
{
    const change_t *a = a_, *b = b_;
    if (a->seconds < b->seconds || a->seconds > b->seconds)
        return a->seconds < b->seconds ? -1 : 1;
    return (a->team > b->team) - (a->team < b->team);
}

static void put_team(const report_t *self, const exp_result_t *result, const change_t *change)
{
    const exp_team_sum_t *now = &result->detail.teams[change->team], *base = &self->base->detail.teams[change->team];
    helio_buffer_text(self->out, "<tr><td>");
    text(self, self->world->trace->teams[change->team]);
    helio_buffer_printf(self->out,
                        "</td><td>%u</td><td>%.0f</td><td>%s</td><td>%s</td><td class=\"%s\">%s%s</td><td>%.2f</td>"
                        "<td>%.1f</td><td>%.1f</td></tr>\n",
                        now->jobs, now->gpu_hours, duration(self, mean_wait(base)), duration(self, mean_wait(now)),
                        change->seconds < 0 ? "good" : "bad", change->seconds < 0 ? "" : "+",
                        duration(self, change->seconds), now->finished ? now->slowdown / now->finished : 0,
                        base->grams / 1000, now->grams / 1000);
}

static void put_teams_head(const report_t *self, const char *title)
{
    helio_buffer_printf(self->out,
                        "<h3>%s</h3><div class=\"wide\"><table><tr><th>team</th><th>jobs</th><th>GPU-hours</th>"
                        "<th>mean wait, %s</th><th>here</th><th>change</th><th>slowdown</th><th>CO2e kg, %s</th>"
                        "<th>here</th></tr>\n",
                        title, self->base->policy, self->base->policy);
}

static void put_teams(const report_t *self, const exp_result_t *result)
{
    uint32_t teams = self->world->trace->team_count, won = 0, lost = 0;
    change_t *changes = helio_arena_alloc(self->arena, teams ? teams : 1, sizeof *changes);
    if (result == self->base)
        return;
    for (uint32_t i = 0; i < teams; i++) {
        changes[i] = (change_t){i, mean_wait(&result->detail.teams[i]) - mean_wait(&self->base->detail.teams[i])};
        won += changes[i].seconds < -0.5;
        lost += changes[i].seconds > 0.5;
    }
    qsort(changes, teams, sizeof *changes, by_change);
    helio_buffer_printf(self->out,
                        "<p>Teams that wait less than with <b>%s</b>: %u of %u. Teams that wait longer: %u.</p>\n",
                        self->base->policy, won, teams, lost);
    if (won) {
        put_teams_head(self, "Teams that won most");
        for (uint32_t i = 0; i < won && i < TEAMS_SHOWN; i++)
            put_team(self, result, &changes[i]);
        helio_buffer_text(self->out, "</table></div>\n");
    }
    if (lost) {
        put_teams_head(self, "Teams that lost most");
        for (uint32_t i = 0; i < lost && i < TEAMS_SHOWN; i++)
            put_team(self, result, &changes[teams - 1 - i]);
        helio_buffer_text(self->out, "</table></div>\n");
    }
}

/*  ---- the page ---- */

/*  reached: of what was possible; NAN = not looked for. */
static void put_saving(const report_t *self, double base, double value, double reached)
{
    if (base == 0 || !isfinite(base) || !isfinite(value)) {
        helio_buffer_text(self->out, "<td>-</td>");
        return;
    }
    double saved = 100 * (1 - value / base);
    helio_buffer_printf(self->out, "<td class=\"%s\">%+.1f %%", saved < -0.05 ? "bad" : "good", saved);
    if (isfinite(reached))
        helio_buffer_printf(self->out, " (%.0f %%)", 100 * reached);
    helio_buffer_text(self->out, "</td>");
}

static double reached(const report_t *self, const exp_result_t *row, bool money)
{
    return row->bound_until_ms ? exp_bound_reached(row, self->base, money) : NAN;
}

static void put_rows(const report_t *self)
{
    bool money = exp_world_has_cost(self->world);
    helio_buffer_printf(self->out,
                        "<div class=\"wide\"><table><tr><th>policy</th><th>finished</th><th>used</th>"
                        "<th>mean wait</th><th>95 %%</th><th>slowdown</th><th>missed</th><th>moves</th><th>CO2e kg</th>"
                        "<th>saved</th><th>USD</th><th>saved</th></tr>\n");
    for (uint32_t i = 0; i < self->count; i++) {
        const exp_result_t *row = &self->results[i];
        double jobs = row->finished ? row->finished : 1;
        helio_buffer_printf(self->out,
                            "<tr><td><a href=\"#p%u\">%s</a></td><td>%u/%u</td><td>%.1f %%</td><td>%s</td>"
                            "<td>%s</td><td>%.3f</td><td>%u</td><td>%llu</td><td>%.1f</td>",
                            i, row->policy, row->finished, row->jobs, 100 * exp_result_utilization(row, self->world),
                            duration(self, row->wait_sum_s / jobs), duration(self, exp_result_wait_s(row, .95)),
                            row->slowdown_sum / jobs, row->deadline_misses, (unsigned long long)row->moves,
                            row->grams / 1000);
        put_saving(self, self->base->grams, row->grams, reached(self, row, false));
        if (money)
            helio_buffer_printf(self->out, "<td>%.2f</td>", row->usd);
        else
            helio_buffer_text(self->out, "<td>-</td>");
        put_saving(self, money ? self->base->usd : 0, row->usd, reached(self, row, true));
        helio_buffer_text(self->out, "</tr>\n");
    }
    helio_buffer_printf(self->out, "</table></div><p>Saved: against %s%s.</p>\n", self->base->policy,
                        self->base->bound_until_ms ? " (and of what is possible)" : "");
    if (!self->base->bound_until_ms)
        return;
    helio_buffer_text(self->out, "<p>");
    exp_bounds_text(self->results, self->count, self->world, self->out);
    helio_buffer_text(self->out, "</p>\n");
}

/*  The share of jobs that waited no longer than a time, which grows by the same factor from point to point. */
static void put_waits(const report_t *self)
{
    static const struct {
        double seconds;
        const char *text;
    } marks[] = {{1, "1 s"},    {10, "10 s"},   {60, "1 min"},  {600, "10 min"},
                 {3600, "1 h"}, {21600, "6 h"}, {86400, "1 d"}, {604800, "1 w"}};
    double longest = 60;
    for (uint32_t i = 0; i < self->count; i++)
        longest = fmax(longest, exp_result_wait_s(&self->results[i], 1));
    exp_lines_t lines = {"Share of jobs that waited no longer", self->count, WAIT_POINTS, NULL, NULL, 0};
    double *values = helio_arena_alloc(self->arena, (size_t)self->count * WAIT_POINTS, sizeof *values);
    exp_tick_t ticks[sizeof marks / sizeof marks[0]];
    for (uint32_t i = 0; i < self->count; i++) {
        const exp_result_t *result = &self->results[i];
        uint32_t at = 0;
        for (uint32_t k = 0; k < WAIT_POINTS; k++) {
            double seconds = pow(longest, (double)k / (WAIT_POINTS - 1));
            while (at < result->finished && (double)result->waits_ms[at] <= seconds * 1000 + 0.5)
                at++;
            values[(size_t)i * WAIT_POINTS + k] = (double)at / (result->jobs ? result->jobs : 1);
        }
    }
    for (size_t i = 0; i < sizeof marks / sizeof marks[0] && marks[i].seconds < longest; i++) {
        ticks[i].column = (uint32_t)lround(log(marks[i].seconds) / log(longest) * (WAIT_POINTS - 1));
        (void)snprintf(ticks[i].text, sizeof ticks[i].text, "%s", marks[i].text);
        lines.tick_count++;
    }
    lines.values = values;
    lines.ticks = ticks;
    helio_buffer_text(self->out, "<h2>How long jobs waited</h2><figure>");
    exp_plot_lines(&lines, self->out);
    helio_buffer_text(self->out, "<figcaption>");
    for (uint32_t i = 0; i < self->count; i++)
        helio_buffer_printf(self->out, "<span class=\"key\"><i class=\"s%u%s\"></i>%s</span>", i % EXP_PLOT_SERIES_MAX,
                            i < EXP_PLOT_SERIES_MAX ? "" : " again", self->results[i].policy);
    helio_buffer_text(self->out,
                      "<br>Share of all jobs that had started after so long; those that never do are missing "
                      "at the right end.</figcaption></figure>\n");
}

static void put_head(const report_t *self, const char *command)
{
    char from[HELIO_RFC3339_SIZE], to[HELIO_RFC3339_SIZE];
    helio_rfc3339(self->world->trace->from_ms, from);
    helio_rfc3339(self->world->trace->to_ms, to);
    helio_buffer_printf(self->out,
                        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                        "content=\"width=device-width\"><title>Policies over a trace</title><style>%s</style></head>"
                        "<body>\n<h1>Policies over a trace</h1>\n<p>Jobs: %u, of teams: %u. Submitted from %.16sZ to "
                        "%.16sZ. Sites: %u, GPUs: %llu.</p>\n<p><code>",
                        style, self->world->trace->count, self->world->trace->team_count, from, to,
                        self->world->fleet->count, (unsigned long long)exp_fleet_gpus(self->world->fleet));
    text(self, helio_text_of(command));
    helio_buffer_text(self->out, "</code></p>\n");
}

void exp_report(const exp_result_t *results, uint32_t count, const exp_world_t *world, const char *command,
                helio_buffer_t *out)
{
    report_t self = {.results = results, .count = count, .world = world, .out = out};
    self.arena = helio_arena_new();
    self.base = exp_result_base(results, count);
    find_columns(&self);
    order_sites(&self);
    put_head(&self, command);
    put_rows(&self);
    exp_cloud_page(results, count, world, out);
    put_waits(&self);
    for (uint32_t i = 0; i < count; i++) {
        helio_buffer_printf(out, "<section class=\"policy\" id=\"p%u\"><h2>%s</h2>\n", i, results[i].policy);
        put_teams(&self, &results[i]);
        put_utilization(&self, &results[i]);
        put_sums(&self, &results[i], "Carbon", "kg", kilograms);
        if (exp_world_has_cost(world))
            put_sums(&self, &results[i], "Cost", "USD", dollars);
        put_starts(&self, &results[i]);
        helio_buffer_text(out, "</section>\n");
    }
    helio_buffer_text(out, "</body></html>\n");
    helio_arena_destroy(&self.arena);
}
