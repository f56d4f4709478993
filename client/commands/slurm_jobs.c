/*  slurm_jobs.c -- asks the broker for the jobs that the options of squeue, sacct and scancel choose. */
#include "client/commands/slurm_jobs.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/commands/commands.h"
#include "client/commands/listing.h"
#include "client/slurm/fields.h"
#include "client/transport/escape.h"
#include "federation/base/char.h"
#include "federation/base/clock.h"

enum { PAGE_ROWS = 1000, TASKS_MOST = 10000, WORD_MOST = 4096 };

#define OPEN_STATES "queued,offered,accepted,starting,running,suspended,stopping,suspect,held"

/* ---- words -------------------------------------------------------------------------------------------------- */

static helio_rc parse(helio_client_t *client, helio_command_line_t *ret_line, helio_error_t *err)
{
    const helio_command_line_t *given = client->arguments;
    char **argv = helio_arena_alloc(client->arena, (size_t)given->word_count + 2, sizeof *argv);
    const helio_command_line_rules_t rules = {.options = client->command->own, .words_most = WORD_MOST};
    argv[0] = (char *)(uintptr_t)client->command->name;
    for (uint32_t i = 0; i < given->word_count; i++)
        argv[i + 1] = (char *)(uintptr_t)given->words[i];
    return helio_command_line_parse((int)given->word_count + 1, argv, &rules, client->arena, ret_line, err);
}

int helio_slurm_words(helio_client_t *client, helio_command_line_t *ret_line)
{
    helio_error_t err;
    if (parse(client, ret_line, &err) != HELIO_OK)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "%s", err.text);
    return HELIO_EXIT_OK;
}

bool helio_slurm_asks_for_help(helio_client_t *client)
{
    helio_command_line_t line;
    helio_error_t err;
    uint32_t help;
    return client->command->own && helio_option_find(client->command->own, HELIO_TEXT("help"), &help) == HELIO_OK &&
           parse(client, &line, &err) == HELIO_OK && helio_command_line_has(&line, help);
}

/* ---- ids ---------------------------------------------------------------------------------------------------- */

static int add_task(const helio_client_t *client, helio_text_t job, uint64_t task, json_t *ids)
{
    if (json_array_size(ids) >= TASKS_MOST)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "too many tasks; at most %d at once", TASKS_MOST);
    if (json_array_append_new(ids, json_sprintf("%.*s.%llu", HELIO_TEXT_ARGS(job), (unsigned long long)task)) != 0)
        abort();
    return HELIO_EXIT_OK;
}

/*  "1-3" or "7" */
static const char *read_range(const char *at, uint64_t *ret_from, uint64_t *ret_to)
{
    char *end;
    if (!helio_is_digit(*at))
        return NULL;
    *ret_from = *ret_to = strtoull(at, &end, 10);
    if (*end == '-' && helio_is_digit(end[1]))
        *ret_to = strtoull(end + 1, &end, 10);
    return *ret_to < *ret_from || *ret_to > 1000000 ? NULL : end;
}

int helio_slurm_ids(const helio_client_t *client, const char *word, json_t *ids)
{
    const char *mark = strpbrk(word, "_.");
    helio_text_t job = {word, (uint32_t)(mark ? mark - word : (ptrdiff_t)strlen(word))};
    bool list = mark && mark[1] == '[';
    int code = HELIO_EXIT_OK;
    if (!mark) {
        if (json_array_append_new(ids, json_string(word)) != 0)
            abort();
        return HELIO_EXIT_OK;
    }
    for (const char *at = mark + 1 + list; code == HELIO_EXIT_OK;) {
        uint64_t from, to;
        const char *end = read_range(at, &from, &to);
        bool ends = end && (list ? *end == ']' && !end[1] : !*end && from == to);
        if (!end || (!ends && !(list && *end == ',')))
            return helio_client_fail(client, HELIO_EXIT_USAGE,
                                     "'%.64s' is not the id of a job; tasks are ID_3, ID_[1-3,7]", word);
        for (; from <= to && code == HELIO_EXIT_OK; from++)
            code = add_task(client, job, from, ids);
        if (ends)
            break;
        at = end + 1;
    }
    return code;
}

/*  Ids are separated by commas outside of brackets. */
int helio_slurm_id_list(const helio_client_t *client, const char *list, json_t *ids)
{
    int code = HELIO_EXIT_OK;
    for (const char *at = list; *at && code == HELIO_EXIT_OK;) {
        size_t size = 0;
        for (int depth = 0; at[size] && (depth || at[size] != ','); size++)
            depth += at[size] == '[' ? 1 : at[size] == ']' ? -1 : 0;
        if (size)
            code = helio_slurm_ids(client, helio_arena_string(client->arena, (helio_text_t){at, (uint32_t)size}), ids);
        at += size + (at[size] == ',');
    }
    return code;
}

/* ---- choosing ----------------------------------------------------------------------------------------------- */

static bool is_listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at && *at;) {
        size_t size = strcspn(at, ",");
        if (size == length && memcmp(at, word, size) == 0)
            return true;
        at += size + (at[size] == ',');
    }
    return list == NULL;
}

/*  Words of the broker for Slurm's states; NULL: one is unknown, and an error was printed. */
static const char *words_of(const helio_client_t *client, const char *states)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t words = {0};
    for (const char *at = states; *at;) {
        helio_text_t state = {at, (uint32_t)strcspn(at, ",")};
        const char *more = helio_slurm_states_of(state);
        bool all = state.size == 3 && strncasecmp(state.data, "all", 3) == 0;
        if (!more && !all) {
            (void)helio_client_fail(client, HELIO_EXIT_USAGE,
                                    "'%.*s' is not a state of jobs; such as PENDING, RUNNING, CD",
                                    (int)(state.size < 64 ? state.size : 64), state.data);
            return NULL;
        }
        helio_buffer_printf(&words, "%s%s", words.size ? "," : "",
                            all ? OPEN_STATES ",succeeded,failed,timeout,cancelled,lost" : more);
        at += state.size + (at[state.size] == ',');
    }
    return helio_arena_string(client->arena, helio_buffer_view(&words));
}

static int64_t submitted_ms(const json_t *job)
{
    int64_t ms;
    return helio_rfc3339_parse(helio_text_of(helio_output_string(job, "submitted_at")), &ms) == HELIO_OK ? ms : 0;
}

static bool is_chosen(const helio_slurm_choice_t *choice, const char *words, const json_t *job)
{
    int64_t at_ms = submitted_ms(job);
    return is_listed(choice->users, helio_output_string(job, "user")) &&
           is_listed(choice->names, helio_output_string(job, "name")) &&
           is_listed(choice->accounts, helio_output_string(job, "tenant")) &&
           is_listed(choice->qos, helio_output_string(job, "queue")) &&
           is_listed(choice->partitions, helio_output_string(job, "pool")) &&
           is_listed(choice->clusters, helio_output_string(job, "site")) &&
           is_listed(words, helio_output_string(job, "state")) && (!choice->to_ms || at_ms < choice->to_ms);
}

/*  The user of the token, as a list of one. */
static int learn_user(const helio_client_t *client, helio_slurm_choice_t *choice)
{
    HELIO_AUTO(helio_json_clear) json_t *who = NULL;
    int code = helio_ask_get(client, "/v1/whoami", &who);
    if (code != HELIO_EXIT_OK)
        return code;
    const char *user = helio_output_string(who, "user");
    if (!user[0])
        return helio_client_fail(client, HELIO_EXIT_OWN, "the broker does not say whose token this is");
    choice->users = helio_arena_string(client->arena, helio_text_of(user));
    return HELIO_EXIT_OK;
}

/* ---- asking ------------------------------------------------------------------------------------------------- */

/*  One page from the cursor on; *cursor becomes the next one, or is emptied. */
static int ask_page(const helio_client_t *client, const char *words, helio_buffer_t *cursor, json_t **ret_reply,
                    json_t **ret_rows)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    helio_buffer_printf(&path, "/v1/jobs?limit=%d", PAGE_ROWS);
    if (words) {
        helio_buffer_text(&path, "&state=");
        helio_url_escape(words, &path);
    }
    if (cursor->size) {
        helio_buffer_text(&path, "&cursor=");
        helio_url_escape(cursor->data, &path);
    }
    int code = helio_listing_ask(client, path.data, "jobs", ret_reply, ret_rows);
    if (code != HELIO_EXIT_OK)
        return code;
    const char *next = helio_output_string(*ret_reply, "next");
    bool stuck = cursor->size && strcmp(cursor->data, next) == 0; /* a page may be empty and have a next one */
    helio_buffer_reset(cursor);
    if (!stuck)
        helio_buffer_text(cursor, next);
    return HELIO_EXIT_OK;
}

static void keep(json_t *jobs, json_t *job)
{
    if (json_array_append(jobs, job) != 0)
        abort();
}

static int ask_lists(const helio_client_t *client, const helio_slurm_choice_t *choice, const char *words, json_t *jobs)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t cursor = {0};
    bool older = false;
    do {
        HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
        json_t *rows, *job;
        size_t i;
        int code = ask_page(client, words, &cursor, &reply, &rows);
        if (code != HELIO_EXIT_OK)
            return code;
        json_array_foreach(rows, i, job)
        {
            older = older || (choice->from_ms && submitted_ms(job) < choice->from_ms);
            if (!older && is_chosen(choice, words, job))
                keep(jobs, job);
        }
    } while (cursor.size && !older);
    return HELIO_EXIT_OK;
}

/*  The tasks of an array: they follow its own id in the list of all jobs. */
static int ask_tasks(const helio_client_t *client, const char *id, const helio_slurm_choice_t *choice,
                     const char *words, json_t *jobs)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t cursor = {0};
    size_t size = strlen(id);
    bool others = false;
    helio_buffer_text(&cursor, id);
    do {
        HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
        json_t *rows, *job;
        size_t i;
        int code = ask_page(client, NULL, &cursor, &reply, &rows);
        if (code != HELIO_EXIT_OK)
            return code;
        json_array_foreach(rows, i, job)
        {
            const char *one = helio_output_string(job, "id");
            others = others || strncmp(one, id, size) != 0;
            if (!others && is_chosen(choice, words, job))
                keep(jobs, job);
        }
    } while (cursor.size && !others);
    return HELIO_EXIT_OK;
}

static int ask_one(const helio_client_t *client, const char *id, const helio_slurm_choice_t *choice, const char *words,
                   json_t *jobs)
{
    HELIO_AUTO(helio_json_clear) json_t *job = NULL;
    int code = helio_ask_get(client, helio_path(client, "/v1/jobs/", id, ""), &job);
    if (code != HELIO_EXIT_OK)
        return code;
    const char *whole = helio_output_string(job, "id");
    if (!json_is_object(job) || !helio_output_string(job, "state")[0])
        return helio_client_fail(client, HELIO_EXIT_OWN,
                                 "the broker's answer is not a job; do the versions of helio and the broker differ?");
    if (json_object_size(json_object_get(job, "tasks")) && !strchr(whole, '.'))
        return ask_tasks(client, whole, choice, words, jobs);
    if (is_chosen(choice, words, job))
        keep(jobs, job);
    return HELIO_EXIT_OK;
}

int helio_slurm_jobs(const helio_client_t *client, const helio_slurm_choice_t *asked, json_t *jobs)
{
    helio_slurm_choice_t choice = *asked;
    const char *words = choice.states ? words_of(client, choice.states) : choice.over ? NULL : OPEN_STATES;
    if (choice.states && !words)
        return HELIO_EXIT_USAGE;
    int code = choice.me ? learn_user(client, &choice) : HELIO_EXIT_OK;
    if (code != HELIO_EXIT_OK || !choice.ids)
        return code != HELIO_EXIT_OK ? code : ask_lists(client, &choice, words, jobs);
    HELIO_AUTO(helio_json_clear) json_t *ids = json_array();
    size_t i;
    json_t *id;
    int worst = helio_slurm_id_list(client, choice.ids, ids);
    if (worst != HELIO_EXIT_OK)
        return worst;
    json_array_foreach(ids, i, id)
    {
        code = ask_one(client, json_string_value(id), &choice, words, jobs);
        worst = code != HELIO_EXIT_OK ? code : worst;
        if (code != HELIO_EXIT_OK && code != HELIO_EXIT_NOT_FOUND)
            break;
    }
    return worst;
}
