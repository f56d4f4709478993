/*  fields.c -- fields of jobs by Slurm's names. */
#include "client/slurm/fields.h"

#include <string.h>
#include <strings.h>

#include "client/output/humanise.h"
#include "federation/base/clock.h"
#include "federation/base/number.h"

enum { DAY_S = 86400, HOUR_S = 3600, MINUTE_S = 60 };

/* ---- names --------------------------------------------------------------------------------------------- */

static const struct {
    const char *names, *title;
    char letter;
} fields[] = {
#define ROW(id, names, letter, title) {names, title, letter},
    HELIO_SLURM_FIELD_TABLE(ROW)
#undef ROW
};

static bool is_word(helio_text_t text, const char *word, size_t size)
{
    return text.size == size && strncasecmp(text.data, word, size) == 0;
}

helio_slurm_field_t helio_slurm_field_named(helio_text_t name)
{
    for (uint32_t i = 0; name.size && i < HELIO_SLURM_FIELD_COUNT; i++)
        for (const char *at = fields[i].names; *at;) {
            size_t size = strcspn(at, ",");
            if (is_word(name, at, size))
                return (helio_slurm_field_t)i;
            at += size + (at[size] == ',');
        }
    return HELIO_SLURM_FIELD_COUNT;
}

helio_slurm_field_t helio_slurm_field_lettered(char letter)
{
    uint32_t i = 0;
    while (i < HELIO_SLURM_FIELD_COUNT && fields[i].letter != letter)
        i++;
    return letter ? (helio_slurm_field_t)i : HELIO_SLURM_FIELD_COUNT;
}

const char *helio_slurm_field_title(helio_slurm_field_t field)
{
    return fields[field].title;
}

helio_text_t helio_slurm_field_name(helio_slurm_field_t field)
{
    return (helio_text_t){fields[field].names, (uint32_t)strcspn(fields[field].names, ",")};
}

/* ---- states ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *compact, *words;
} states[] = {
    {"PENDING", "PD", "queued,held"},    {"CONFIGURING", "CF", "offered,accepted,starting"},
    {"RUNNING", "R", "running,suspect"}, {"SUSPENDED", "S", "suspended"},
    {"COMPLETING", "CG", "stopping"},    {"COMPLETED", "CD", "succeeded"},
    {"FAILED", "F", "failed"},           {"TIMEOUT", "TO", "timeout"},
    {"CANCELLED", "CA", "cancelled"},    {"NODE_FAIL", "NF", "lost"},
};
enum { STATES = sizeof states / sizeof states[0] };

const char *helio_slurm_states_of(helio_text_t state)
{
    for (uint32_t i = 0; i < STATES; i++)
        if (is_word(state, states[i].name, strlen(states[i].name)) ||
            is_word(state, states[i].compact, strlen(states[i].compact)))
            return states[i].words;
    return NULL;
}

static uint32_t state_of(const char *word)
{
    size_t length = strlen(word);
    for (uint32_t i = 0; length && i < STATES; i++)
        for (const char *at = states[i].words; *at;) {
            size_t size = strcspn(at, ",");
            if (size == length && memcmp(at, word, size) == 0)
                return i;
            at += size + (at[size] == ',');
        }
    return STATES;
}

const char *helio_slurm_state_of_word(const char *word)
{
    uint32_t i = state_of(word);
    return i < STATES ? states[i].name : "UNKNOWN";
}

/* ---- values ------------------------------------------------------------------------------------------------- */

/*  Whatever number it is. */
static long long whole_of(const json_t *job, const char *key, long long otherwise)
{
    double number = helio_output_number(job, key, (double)otherwise);
    return number > 1e12 ? 1000000000000 : number < -1e12 ? -1000000000000 : (long long)number;
}

static int64_t time_of(const json_t *job, const char *key)
{
    int64_t ms;
    return helio_rfc3339_parse(helio_text_of(helio_output_string(job, key)), &ms) == HELIO_OK ? ms : 0;
}

static void put_time(int64_t ms, const helio_zone_t *zone, const char *otherwise, helio_buffer_t *out)
{
    char text[HELIO_RFC3339_SIZE];
    if (!ms) {
        helio_buffer_text(out, otherwise);
        return;
    }
    int64_t at_s = helio_floor(ms, 1000);
    helio_rfc3339((zone ? helio_zone_local_s(zone, at_s) : at_s) * 1000, text);
    helio_buffer_append(out, text, 19);
}

/*  "1-02:03:04", "2:03:04", "3:04" with least 2; "00:03:04" with least 3. */
static void put_length(int64_t seconds, int least, helio_buffer_t *out)
{
    int64_t days = seconds / DAY_S, hours = seconds % DAY_S / HOUR_S;
    int minutes = (int)(seconds % HOUR_S / MINUTE_S), rest = (int)(seconds % MINUTE_S);
    if (days)
        helio_buffer_printf(out, "%lld-%02d:%02d:%02d", (long long)days, (int)hours, minutes, rest);
    else if (hours || least > 2)
        helio_buffer_printf(out, least > 2 ? "%02d:%02d:%02d" : "%d:%02d:%02d", (int)hours, minutes, rest);
    else
        helio_buffer_printf(out, "%d:%02d", minutes, rest);
}

static bool is_at_site(const json_t *job)
{
    const char *state = helio_slurm_state_of_word(helio_output_string(job, "state"));
    return strcmp(state, "PENDING") != 0 && strcmp(state, "CONFIGURING") != 0 && helio_output_string(job, "site")[0];
}

/*  The latest run, until now while it lasts. */
static int64_t elapsed_s(const json_t *job, int64_t wall_ms)
{
    int64_t start_ms = time_of(job, "started_at"), end_ms = time_of(job, "finished_at");
    if (!start_ms || (!end_ms && !is_at_site(job)))
        return 0;
    int64_t ms = (end_ms ? end_ms : wall_ms) - start_ms;
    return ms > 0 ? ms / 1000 : 0;
}

static void put_id(const json_t *job, helio_buffer_t *out)
{
    for (const char *at = helio_output_string(job, "id"); *at; at++)
        helio_buffer_append(out, *at == '.' ? "_" : at, 1);
}

/*  What Slurm calls a hold by people; NULL: they do not hold it. */
static const char *hold_of(const json_t *job)
{
    size_t i;
    json_t *detail;
    json_array_foreach(json_object_get(job, "details"), i, detail)
    {
        const char *code = helio_output_string(detail, "code");
        if (strcmp(code, "HeldByUser") == 0)
            return "JobHeldUser";
        if (strcmp(code, "HeldByOperator") == 0)
            return "JobHeldAdmin";
    }
    return NULL;
}

/*  Not cut: it is what a person looks for. */
static void put_reason(const json_t *job, helio_buffer_t *out)
{
    const char *reason = helio_output_string(job, "reason"), *detail = helio_output_string(job, "detail");
    bool held = strcmp(helio_output_string(job, "state"), "held") == 0;
    const char *by_people = held ? hold_of(job) : NULL;
    if (is_at_site(job) || by_people)
        helio_buffer_text(out, by_people ? by_people : "None");
    else
        helio_buffer_printf(out, "%s%s%s", held ? "Held" : reason[0] ? reason : "None", detail[0] ? ": " : "", detail);
}

static void put_place(const json_t *job, helio_buffer_t *out)
{
    const char *pool = helio_output_string(job, "pool");
    if (is_at_site(job))
        helio_buffer_printf(out, "%s%s%s", helio_output_string(job, "site"), pool[0] ? "/" : "", pool);
}

static void put_exit_code(const json_t *job, helio_buffer_t *out)
{
    long long code = whole_of(job, "exit_code", 0);
    bool by_signal = code > 128 && code < 193;
    helio_buffer_printf(out, "%lld:%lld", by_signal ? 0 : code, by_signal ? code - 128 : 0);
}

static void put_gpus(const json_t *job, helio_buffer_t *out)
{
    long long gpus = whole_of(job, "gpus", 0), nodes = whole_of(job, "nodes", 1);
    const char *model = helio_output_string(job, "gpu_model");
    if (gpus > 0)
        helio_buffer_printf(out, "gres/gpu%s%s:%lld", model[0] ? ":" : "", model, nodes > 0 ? gpus / nodes : gpus);
    else
        helio_buffer_text(out, "N/A");
}

static void put_array(const json_t *job, bool task, helio_buffer_t *out)
{
    const char *id = helio_output_string(job, "id"), *dot = strchr(id, '.');
    if (task)
        helio_buffer_text(out, dot ? dot + 1 : "N/A");
    else
        helio_buffer_append(out, id, dot ? (size_t)(dot - id) : strlen(id));
}

static void put_limit(const json_t *job, int64_t used_s, helio_buffer_t *out)
{
    int64_t limit_s = whole_of(job, "time_limit_s", 0), left_s = limit_s - used_s;
    if (limit_s <= 0)
        helio_buffer_text(out, "UNLIMITED");
    else
        put_length(left_s > 0 ? left_s : 0, 2, out);
}

static void put_whole(const json_t *job, const char *key, int otherwise, helio_buffer_t *out)
{
    helio_buffer_printf(out, "%lld", whole_of(job, key, otherwise));
}

static void put_state(const json_t *job, bool compact, helio_buffer_t *out)
{
    uint32_t i = state_of(helio_output_string(job, "state"));
    helio_buffer_text(out, i == STATES ? "UNKNOWN" : compact ? states[i].compact : states[i].name);
}

static void put_named(const json_t *job, helio_slurm_field_t field, helio_buffer_t *out)
{
    static const struct {
        helio_slurm_field_t field;
        const char *key;
    } keys[] = {
        {HELIO_SLURM_FIELD_NAME, "name"}, {HELIO_SLURM_FIELD_USER, "user"},    {HELIO_SLURM_FIELD_ACCOUNT, "tenant"},
        {HELIO_SLURM_FIELD_QOS, "queue"}, {HELIO_SLURM_FIELD_CLUSTER, "site"}, {HELIO_SLURM_FIELD_PARTITION, "pool"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i].field == field)
            helio_buffer_text(out, helio_output_string(job, keys[i].key));
}

static void put_times(const json_t *job, helio_slurm_field_t field, const helio_zone_t *zone, int64_t wall_ms,
                      helio_buffer_t *out)
{
    int64_t start_ms = time_of(job, "started_at"), used_s = elapsed_s(job, wall_ms);
    if (field == HELIO_SLURM_FIELD_SUBMIT)
        put_time(time_of(job, "submitted_at"), zone, "Unknown", out);
    else if (field == HELIO_SLURM_FIELD_START)
        put_time(start_ms ? start_ms : time_of(job, "expected_start"), zone, "Unknown", out);
    else if (field == HELIO_SLURM_FIELD_END)
        put_time(time_of(job, "finished_at"), zone, "Unknown", out);
    else if (field == HELIO_SLURM_FIELD_ELAPSED)
        put_length(used_s, 2, out);
    else if (field == HELIO_SLURM_FIELD_ELAPSED_RAW)
        helio_buffer_printf(out, "%lld", (long long)used_s);
    else
        put_limit(job, field == HELIO_SLURM_FIELD_TIME_LEFT ? used_s : 0, out);
}

void helio_slurm_field_text(const json_t *job, helio_slurm_field_t field, const helio_zone_t *zone, int64_t wall_ms,
                            helio_buffer_t *out)
{
    switch (field) {
    case HELIO_SLURM_FIELD_JOB_ID:
    case HELIO_SLURM_FIELD_JOB_ID_RAW:
        put_id(job, out);
        break;
    case HELIO_SLURM_FIELD_ARRAY_JOB:
    case HELIO_SLURM_FIELD_ARRAY_TASK:
        put_array(job, field == HELIO_SLURM_FIELD_ARRAY_TASK, out);
        break;
    case HELIO_SLURM_FIELD_STATE:
    case HELIO_SLURM_FIELD_STATE_SHORT:
        put_state(job, field == HELIO_SLURM_FIELD_STATE_SHORT, out);
        break;
    case HELIO_SLURM_FIELD_REASON:
        put_reason(job, out);
        break;
    case HELIO_SLURM_FIELD_REASON_LIST:
        if (!is_at_site(job)) {
            helio_buffer_text(out, "(");
            put_reason(job, out);
            helio_buffer_text(out, ")");
            break;
        }
        put_place(job, out);
        break;
    case HELIO_SLURM_FIELD_NODE_LIST:
        put_place(job, out);
        break;
    case HELIO_SLURM_FIELD_NODES:
        put_whole(job, "nodes", 1, out);
        break;
    case HELIO_SLURM_FIELD_PRIORITY:
        put_whole(job, "priority", 0, out);
        break;
    case HELIO_SLURM_FIELD_RESTARTS:
        helio_buffer_printf(out, "%lld", whole_of(job, "attempts", 1) > 1 ? whole_of(job, "attempts", 1) - 1 : 0);
        break;
    case HELIO_SLURM_FIELD_GPUS:
        put_gpus(job, out);
        break;
    case HELIO_SLURM_FIELD_EXIT_CODE:
        put_exit_code(job, out);
        break;
    case HELIO_SLURM_FIELD_ELAPSED:
    case HELIO_SLURM_FIELD_ELAPSED_RAW:
    case HELIO_SLURM_FIELD_TIME_LIMIT:
    case HELIO_SLURM_FIELD_TIME_LEFT:
    case HELIO_SLURM_FIELD_SUBMIT:
    case HELIO_SLURM_FIELD_START:
    case HELIO_SLURM_FIELD_END:
        put_times(job, field, zone, wall_ms, out);
        break;
    case HELIO_SLURM_FIELD_NAME:
    case HELIO_SLURM_FIELD_USER:
    case HELIO_SLURM_FIELD_ACCOUNT:
    case HELIO_SLURM_FIELD_QOS:
    case HELIO_SLURM_FIELD_CLUSTER:
    case HELIO_SLURM_FIELD_PARTITION:
        put_named(job, field, out);
        break;
    case HELIO_SLURM_FIELD_COUNT:
        break;
    }
}

void helio_slurm_field_shown(const json_t *job, helio_slurm_field_t field, const helio_zone_t *zone, int64_t wall_ms,
                             helio_buffer_t *out)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_text(&text, "");
    helio_slurm_field_text(job, field, zone, wall_ms, &text);
    helio_safe_text(text.data, false, out);
}
