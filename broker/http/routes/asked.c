/*  asked.c -- adds to a job what its row does not have. */
#include "broker/http/routes/asked.h"

#include <string.h>

#include "federation/base/json.h"
#include "federation/spec/spec.h"

static uint64_t number(const json_t *edit, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(edit, key));
}

/*  An edit holds all that can be edited, changed or not. */
static void take_edit(const json_t *edit, helio_job_spec_t *spec)
{
    spec->goal = (uint32_t)number(edit, "goal");
    spec->prices_set = json_is_true(json_object_get(edit, "prices_set"));
    spec->flexible_ms = number(edit, "flexible_ms");
    spec->deadline_wall_ms = (int64_t)number(edit, "deadline_ms");
    spec->max_cost_micro_usd = number(edit, "max_cost_micro_usd");
    spec->max_carbon_mg_per_kwh = number(edit, "max_carbon_mg_per_kwh");
    uint64_t time_limit_ms = number(edit, "time_limit_ms"); /* null: it was never edited */
    spec->time_limit_ms = time_limit_ms ? time_limit_ms : spec->time_limit_ms;
}

static void put_limit(helio_json_writer_t *json, const char *name, uint64_t value, double unit)
{
    if (value)
        helio_json_put_real(json, name, (double)value / unit);
    else
        helio_json_put_null(json, name);
}

static void put(helio_json_writer_t *json, const helio_job_spec_t *spec)
{
    helio_json_put_text_or_null(json, "goal", helio_text_of(spec->prices_set ? "" : helio_goal_name(spec->goal)));
    helio_json_put_real(json, "flexible_s", (double)spec->flexible_ms / 1000);
    helio_json_put_time(json, "deadline", spec->deadline_wall_ms);
    put_limit(json, "max_cost_usd", spec->max_cost_micro_usd, 1e6);
    put_limit(json, "max_carbon_g_per_kwh", spec->max_carbon_mg_per_kwh, 1e3);
}

bool helio_asked_spec(const json_t *asked, helio_arena_t *arena, helio_job_spec_t *ret_spec)
{
    const json_t *edit = json_object_get(asked, "edit");
    const char *source = json_string_value(json_object_get(asked, "source"));
    if (!source)
        return false;
    helio_spec_source_t stored = {.text = helio_arena_text(arena, helio_text_of(source)), .name = "stored job"};
    bool known = helio_spec_parse_stored_job(stored, arena, ret_spec, NULL) == HELIO_OK;
    if (known && json_is_object(edit))
        take_edit(edit, ret_spec);
    return known;
}

static bool read_asked(helio_text_t text, helio_arena_t *arena, helio_job_spec_t *ret_spec)
{
    json_t *asked = json_loadb(text.data, text.size, 0, NULL);
    bool known = helio_asked_spec(asked, arena, ret_spec);
    json_decref(asked);
    return known;
}

/*  The last member, which stands alone on the last line: `,\n"asked":{…}}`. Nothing else is parsed: a history may be
 *  long. False: there is none. */
static bool cut(helio_text_t read, helio_text_t *ret_job, helio_text_t *ret_asked)
{
    static const char key[] = "\"asked\":";
    const char *line = read.size ? memrchr(read.data, '\n', read.size) : NULL;
    uint32_t before = line ? (uint32_t)(line - read.data) : 0, after = line ? read.size - before - 1 : 0;
    if (!before || line[-1] != ',' || after < sizeof key + 1 || memcmp(line + 1, key, sizeof key - 1) != 0)
        return false;
    *ret_job = (helio_text_t){read.data, before - 1};
    *ret_asked = (helio_text_t){line + sizeof key, after - (uint32_t)sizeof key};
    return true;
}

void helio_asked_job(helio_text_t read, helio_buffer_t *out)
{
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    helio_job_spec_t spec;
    helio_text_t job, asked;
    if (!cut(read, &job, &asked)) {
        helio_buffer_append(out, read.data, read.size);
        return;
    }
    helio_buffer_append(out, job.data, job.size);
    size_t end = out->size;
    if (read_asked(asked, arena, &spec)) {
        helio_json_writer_t json = helio_json_into(out);
        helio_json_begin_object(&json, NULL);
        put(&json, &spec);
        out->data[end] = ','; /* they are members of the job */
        helio_json_end(&json);
    } else {
        helio_buffer_text(out, "}");
    }
}
