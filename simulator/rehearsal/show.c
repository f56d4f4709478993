/*  show.c -- a difference as tables and as JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "federation/base/duration.h"
#include "federation/base/json.h"
#include "simulator/rehearsal/difference.h"

static const char *const effect_words[REH_EFFECT_COUNT] = {
#define X(NAME, word) word,
    REH_EFFECT_TABLE(X)
#undef X
};

/*  ---- tables ---- */

enum { COLUMNS = 8, CELL_SIZE = 96, NAME_MOST = 24 };
static const double MS_PER_H = 3600000, J_PER_KWH = 3600000;

typedef struct row {
    char cells[COLUMNS][CELL_SIZE];
} row_t;

static void show_time(int64_t wall_ms, char ret_text[CELL_SIZE])
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm parts;
    if (!wall_ms || !gmtime_r(&seconds, &parts) || !strftime(ret_text, CELL_SIZE, "%m-%d %H:%MZ", &parts))
        (void)snprintf(ret_text, CELL_SIZE, "-");
}

/*  "5m" where both are the same, else "5m, not 0s". */
static void show_pair(const char *after, const char *before, char ret_text[CELL_SIZE])
{
    const char *now = after[0] ? after : "-", *then = before[0] ? before : "-";
    if (strcmp(now, then) == 0)
        (void)snprintf(ret_text, CELL_SIZE, "%.40s", now);
    else
        (void)snprintf(ret_text, CELL_SIZE, "%.40s, not %.40s", now, then);
}

static void show_wait(const reh_life_t *life, char ret_text[CELL_SIZE])
{
    char text[HELIO_DURATION_SIZE];
    bool waits = !reh_life_is_over(life) && life->state != HELIO_JOB_RUNNING;
    helio_duration_text_brief((uint64_t)life->waited_ms, text);
    (void)snprintf(ret_text, CELL_SIZE, "%s%s", waits ? ">" : "", text);
}

static void fill_job(const reh_changed_job_t *job, row_t *row)
{
    char id[HELIO_KEY_SIZE], after[CELL_SIZE], before[CELL_SIZE];
    const reh_life_t *a = job->before, *b = job->after;
    const helio_row_job_t *info = &b->job->load->row;
    helio_job_key_text(b->origin, id);
    (void)snprintf(row->cells[0], CELL_SIZE, "%s", id);
    (void)snprintf(row->cells[1], CELL_SIZE, "%.*s", info->name.size < NAME_MOST ? (int)info->name.size : NAME_MOST,
                   info->name.data ? info->name.data : "");
    (void)snprintf(row->cells[2], CELL_SIZE, "%.*s", HELIO_TEXT_ARGS(info->tenant));
    uint32_t effect = 0;
    while (!(job->effects >> effect & 1))
        effect++;
    (void)snprintf(row->cells[3], CELL_SIZE, "%s", effect_words[effect]);
    show_wait(b, after);
    show_wait(a, before);
    show_pair(after, before, row->cells[4]);
    show_pair(b->site, a->site, row->cells[5]);
    show_time(b->ended_ms, after);
    show_time(a->ended_ms, before);
    show_pair(after, before, row->cells[6]);
    show_time(b->deadline_ms, row->cells[7]);
}

static void put_rows(const row_t *rows, uint32_t count, uint32_t columns, helio_buffer_t *out)
{
    size_t widths[COLUMNS] = {0};
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < columns; k++)
            widths[k] = strlen(rows[i].cells[k]) > widths[k] ? strlen(rows[i].cells[k]) : widths[k];
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k + 1 < columns; k++)
            helio_buffer_printf(out, "%-*s  ", (int)widths[k], rows[i].cells[k]);
        helio_buffer_printf(out, "%s\n", rows[i].cells[columns - 1]);
    }
}

static void put_jobs(const reh_difference_t *self, helio_buffer_t *out)
{
    row_t *rows = helio_new(self->job_count + 1, sizeof *rows);
    rows[0] = (row_t){{"JOB", "NAME", "TEAM", "WHAT", "WAITS", "SITE", "ENDS", "DEADLINE"}};
    for (uint32_t i = 0; i < self->job_count; i++)
        fill_job(&self->jobs[i], &rows[i + 1]);
    put_rows(rows, self->job_count + 1, COLUMNS, out);
    free(rows);
}

/*  No "-0.00". */
static void show_number(double value, char ret_text[CELL_SIZE])
{
    (void)snprintf(ret_text, CELL_SIZE, "%+.2f", fabs(value) < 0.005 ? 0.0 : value);
}

static void put_tenants(const reh_difference_t *self, helio_buffer_t *out)
{
    row_t *rows = helio_new(self->tenant_count + 1, sizeof *rows);
    rows[0] = (row_t){{"TEAM", "JOBS", "LATE", "GPU-H WAITED", "COST USD", "KWH", "CO2E KG"}};
    for (uint32_t i = 0; i < self->tenant_count; i++) {
        const reh_changed_tenant_t *tenant = &self->tenants[i];
        row_t *row = &rows[i + 1];
        (void)snprintf(row->cells[0], CELL_SIZE, "%.*s", HELIO_TEXT_ARGS(tenant->tenant));
        (void)snprintf(row->cells[1], CELL_SIZE, "%u", tenant->jobs);
        const reh_account_t *a = &tenant->before, *b = &tenant->after;
        (void)snprintf(row->cells[2], CELL_SIZE, "%+lld", (long long)b->late - (long long)a->late);
        show_number(b->waited_gpu_h - a->waited_gpu_h, row->cells[3]);
        show_number(b->cost_usd - a->cost_usd, row->cells[4]);
        show_number(b->kwh - a->kwh, row->cells[5]);
        show_number(b->carbon_kg - a->carbon_kg, row->cells[6]);
    }
    put_rows(rows, self->tenant_count + 1, 7, out);
    free(rows);
}

typedef struct reason {
    helio_text_t text;
    uint32_t jobs;
} reason_t;

/*  "2 run at the end": jobs of the table that are not over and wait for nothing, by their state. */
static void put_open(const reh_difference_t *self, bool first, helio_buffer_t *out)
{
    uint32_t running = 0, others = 0;
    for (uint32_t i = 0; i < self->job_count; i++) {
        const reh_life_t *life = self->jobs[i].after;
        bool open = !reh_life_is_over(life) && !self->jobs[i].why.size;
        bool there = life->state == HELIO_JOB_RUNNING || life->state == HELIO_JOB_SUSPENDED;
        running += open && there;
        others += open && !there;
    }
    if (running)
        helio_buffer_printf(out, "%s%u still %s at the end\n", first ? "\n" : "", running,
                            running == 1 ? "runs" : "run");
    if (others)
        helio_buffer_printf(out, "%s%u %s on the way to a site, or from it, at the end\n",
                            first && !running ? "\n" : "", others, others == 1 ? "is" : "are");
}

/*  Each reason once, with the number of its jobs. There are few. */
static void put_whys(const reh_difference_t *self, helio_buffer_t *out)
{
    reason_t *reasons = NULL;
    uint32_t count = 0, k;
    for (uint32_t i = 0; i < self->job_count; i++) {
        for (k = 0; k < count && !helio_text_equal(reasons[k].text, self->jobs[i].why);)
            k++;
        if (k == count && self->jobs[i].why.size) {
            reasons = helio_grow(reasons, count + 1, sizeof *reasons);
            reasons[count++] = (reason_t){.text = self->jobs[i].why};
        }
        if (k < count)
            reasons[k].jobs++;
    }
    for (k = 0; k < count; k++)
        helio_buffer_printf(out, "%s%u %s at the end: %.*s\n", k ? "" : "\n", reasons[k].jobs,
                            reasons[k].jobs == 1 ? "waits" : "wait", HELIO_TEXT_ARGS(reasons[k].text));
    put_open(self, !count, out);
    free(reasons);
}

void reh_difference_table(const reh_difference_t *self, helio_buffer_t *out)
{
    char until[CELL_SIZE];
    show_time(self->after->until_ms, until);
    if (!self->job_count)
        helio_buffer_printf(out, "No job is affected; %u were rehearsed until %s.\n",
                            HASH_COUNT(self->after->lives.all), until);
    else
        put_jobs(self, out);
    put_whys(self, out);
    helio_buffer_text(out, "\n");
    put_tenants(self, out);
    if (self->open_before || self->open_after)
        helio_buffer_printf(
            out, "\nNot over at %s: %u of %u jobs, and %u without the change. The accounts have what is over.\n", until,
            self->open_after, HASH_COUNT(self->after->lives.all), self->open_before);
}

/*  ---- JSON ---- */

static void put_life(helio_json_writer_t *json, const char *name, const reh_life_t *life, const reh_result_t *result)
{
    helio_json_begin_object(json, name);
    helio_json_put_string(json, "state", helio_job_state_name(life->state));
    helio_json_put_text_or_null(json, "site", helio_text_of(life->site));
    helio_json_put_time(json, "started_at", life->started_ms);
    helio_json_put_time(json, "ended_at", life->ended_ms);
    helio_json_put_real(json, "waited_s", (double)life->waited_ms / 1000);
    helio_json_put_bool(json, "late", reh_life_is_late(life, result->until_ms));
    helio_json_put_u64(json, "preemptions", life->preemptions);
    helio_json_put_u64(json, "migrations", life->migrations);
    helio_json_put_u64(json, "curtailed", life->curtailed);
    helio_json_put_real(json, "gpu_h", (double)life->gpu_ms / MS_PER_H);
    helio_json_put_real(json, "energy_kwh", (double)life->energy_j / J_PER_KWH);
    helio_json_put_real(json, "carbon_kg", (double)life->carbon_mg / 1e6);
    helio_json_put_real(json, "cost_usd", (double)life->cost_micro_usd / 1e6);
    helio_json_end(json);
}

static void put_job(helio_json_writer_t *json, const reh_difference_t *self, const reh_changed_job_t *job)
{
    char id[HELIO_KEY_SIZE];
    const helio_row_job_t *info = &job->after->job->load->row;
    helio_job_key_text(job->after->origin, id);
    helio_json_begin_object(json, NULL);
    helio_json_put_string(json, "id", id);
    helio_json_put_text(json, "name", info->name);
    helio_json_put_text(json, "tenant", info->tenant);
    helio_json_begin_array(json, "effects");
    for (uint32_t i = 0; i < REH_EFFECT_COUNT; i++)
        if (job->effects >> i & 1)
            helio_json_put_string(json, NULL, effect_words[i]);
    helio_json_end(json);
    helio_json_put_bool(json, "ran_before", job->after->ran_before);
    helio_json_put_time(json, "deadline", job->after->deadline_ms);
    helio_json_put_text_or_null(json, "why", job->why);
    put_life(json, "without", job->before, self->before);
    put_life(json, "with", job->after, self->after);
    helio_json_end(json);
}

static void put_account(helio_json_writer_t *json, const char *name, const reh_account_t *account)
{
    helio_json_begin_object(json, name);
    helio_json_put_u64(json, "late", account->late);
    helio_json_put_real(json, "waited_gpu_h", account->waited_gpu_h);
    helio_json_put_real(json, "gpu_h", account->gpu_h);
    helio_json_put_real(json, "energy_kwh", account->kwh);
    helio_json_put_real(json, "carbon_kg", account->carbon_kg);
    helio_json_put_real(json, "cost_usd", account->cost_usd);
    helio_json_end(json);
}

static void put_tenant(helio_json_writer_t *json, const reh_changed_tenant_t *tenant, bool all)
{
    helio_json_begin_object(json, NULL);
    helio_json_put_text_or_null(json, "tenant", all ? (helio_text_t){0} : tenant->tenant);
    helio_json_put_u64(json, "jobs", tenant->jobs);
    put_account(json, "without", &tenant->before);
    put_account(json, "with", &tenant->after);
    helio_json_end(json);
}

void reh_difference_json(const reh_difference_t *self, const reh_change_t *changes, uint32_t count, helio_buffer_t *out)
{
    helio_json_writer_t json = helio_json_indented_into(out);
    helio_json_begin_object(&json, NULL);
    helio_json_put_time(&json, "taken_at", self->after->copy.taken_ms);
    helio_json_put_time(&json, "until", self->after->until_ms);
    helio_json_begin_array(&json, "changes");
    for (uint32_t i = 0; i < count; i++)
        helio_json_put_string(&json, NULL, changes[i].text);
    helio_json_end(&json);
    helio_json_put_u64(&json, "jobs_seen", HASH_COUNT(self->after->lives.all));
    helio_json_put_u64(&json, "open_without", self->open_before);
    helio_json_put_u64(&json, "open_with", self->open_after);
    helio_json_begin_array(&json, "jobs");
    for (uint32_t i = 0; i < self->job_count; i++)
        put_job(&json, self, &self->jobs[i]);
    helio_json_end(&json);
    helio_json_begin_array(&json, "tenants");
    for (uint32_t i = 0; i < self->tenant_count; i++)
        put_tenant(&json, &self->tenants[i], i + 1 == self->tenant_count);
    helio_json_end(&json);
    helio_json_end(&json);
    helio_buffer_text(out, "\n");
}
