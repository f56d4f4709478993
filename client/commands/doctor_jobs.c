/*  doctor_jobs.c -- one line on the jobs that wait for an operator: everything else can be well while they are held.
 *  What people hold on purpose waits for them and is no trouble. */
#include "client/commands/doctor_jobs.h"

#include <stdlib.h>
#include <string.h>

#include "client/output/humanise.h"
#include "client/output/output.h"
#include "client/reasons/held.h"

enum {
    COUNTED_MAX = 1000,    /* one page of the list, the largest that a broker sends */
    REASONS_SHOWN = 3,     /* the main ones: the list has all */
    CAUSE_CHARACTERS = 120 /* of each: a site's explanation can be long */
};

/*  How many jobs are held for each cause: {"NodeFailure: it did not start": 2}. The caller owns it. */
static json_t *count_causes(const json_t *jobs)
{
    json_t *counts = json_object();
    size_t i;
    const json_t *job;
    json_array_foreach(jobs, i, job)
    {
        if (helio_is_held_by_people(job))
            continue;
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t cause = {0};
        helio_held_cause(job, &cause);
        const char *key = cause.size ? cause.data : "no reason is known";
        json_int_t before = json_integer_value(json_object_get(counts, key));
        if (json_object_set_new(counts, key, json_integer(before + 1)) != 0)
            abort();
    }
    return counts;
}

/*  Appends the cause of most jobs and takes it out of the counts; false = none is left. */
static bool put_most(json_t *counts, const char *before, helio_buffer_t *out)
{
    const char *cause, *most = NULL;
    json_int_t jobs = 0;
    json_t *count;
    json_object_foreach(counts, cause, count)
    {
        if (json_integer_value(count) > jobs) {
            most = cause;
            jobs = json_integer_value(count);
        }
    }
    if (!most)
        return false;
    if (*before)
        helio_buffer_printf(out, "%s %lld", before, (long long)jobs);
    helio_buffer_text(out, ": ");
    helio_short_name(most, CAUSE_CHARACTERS, out);
    (void)json_object_del(counts, most);
    return true;
}

static size_t sum_of(const json_t *counts)
{
    size_t sum = 0;
    const char *cause;
    json_t *count;
    json_object_foreach((json_t *)(uintptr_t)counts, cause, count) sum += (size_t)json_integer_value(count);
    return sum;
}

void helio_doctor_jobs(const helio_checkup_t *checkup)
{
    long status;
    char path[64];
    (void)snprintf(path, sizeof path, "/v1/jobs?state=held&limit=%d", COUNTED_MAX);
    json_t *reply = helio_checkup_look(checkup, path, &status);
    const json_t *jobs = json_object_get(reply, "jobs");
    json_t *counts = count_causes(jobs);
    size_t held = sum_of(counts);
    if (json_is_array(jobs) && !held)
        helio_checkup_good(checkup, "jobs", "no job is held");
    if (held) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        bool more = helio_output_string(reply, "next")[0] != '\0';
        helio_buffer_printf(&text, "%zu%s %s held", held, more ? " or more" : "", held == 1 && !more ? "is" : "are");
        bool alike = json_object_size(counts) == 1; /* the number of all is theirs */
        for (int i = 0; i < REASONS_SHOWN && put_most(counts, i ? ";" : alike ? "" : ", of them", &text); i++)
            ;
        if (json_object_size(counts))
            helio_buffer_printf(&text, "; and %zu other reasons", json_object_size(counts));
        helio_checkup_note(
            checkup, "jobs", text.data,
            "`helio ls --state held` lists them, and `helio explain ID` says what happened at each site; "
            "once the cause is fixed, an operator runs `helio release ID`");
    }
    json_decref(counts);
    json_decref(reply);
}
