/*  jobs_list.c -- GET /v1/jobs: the filters of a list, read strictly. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "broker/http/routes/command.h"
#include "broker/http/routes/routes.h"
#include "federation/base/clock.h"

enum { STATES_TEXT_MAX = 160 /* each state once */, NUMBER_SIZE = 24 };

static const char sorts[] = "submitted,started,finished,gpus,cost,energy,carbon";

/*  Whether states is a list of names of states, separated by commas. False: a problem was answered. */
static bool check_states(helio_request_context_t *self, const char *states)
{
    uint32_t known;
    for (const char *word = states; word; word = *word == ',' ? word + 1 : NULL) {
        size_t size = strcspn(word, ",");
        if (strlen(states) > STATES_TEXT_MAX ||
            helio_job_state_of((helio_text_t){word, (uint32_t)size}, &known) != HELIO_OK) {
            HELIO_AUTO(helio_buffer_clear) helio_buffer_t words = {0};
            for (uint32_t i = 0; i < HELIO_JOB_STATE_COUNT; i++)
                helio_buffer_printf(&words, "%s%s", i ? "," : "", helio_job_state_name(i));
            helio_command_refuse_word(self, "state", (helio_text_t){word, size < 32 ? (uint32_t)size : 32},
                                      helio_buffer_view(&words));
            return false;
        }
        word += size;
    }
    return true;
}

/*  One of the words that commas separate, or absent. False: a problem was answered. */
static bool check_word(helio_request_context_t *self, const char *name, const char *words)
{
    const char *word = helio_request_context_query(self, name);
    for (const char *at = words; word && *at;) {
        size_t size = strcspn(at, ",");
        if (strlen(word) == size && memcmp(word, at, size) == 0)
            return true;
        at += size + (at[size] == ',');
    }
    if (word)
        helio_command_refuse_word(self, name, helio_text_of(word), helio_text_of(words));
    return !word;
}

/*  A time as Unix milliseconds in text; *ret_ms stays NULL where it is absent. False: a problem was answered. */
static bool read_time(helio_request_context_t *self, const char *name, const char **ret_ms)
{
    const char *text = helio_request_context_query(self, name);
    int64_t ms;
    if (!text)
        return true;
    if (helio_rfc3339_parse(helio_text_of(text), &ms) != HELIO_OK) {
        HELIO_PROBLEM(self, 400, QUERY_TIME, helio_value_string(name));
        return false;
    }
    char number[NUMBER_SIZE];
    (void)snprintf(number, sizeof number, "%" PRId64, ms);
    *ret_ms = helio_arena_string(self->arena, helio_text_of(number));
    return true;
}

/*  Whose jobs: of a tenant that the caller may see, and of a user; mine = the caller's own. False: a problem was answered. */
static bool read_owner(helio_request_context_t *self, const char **ret_tenant, const char **ret_user)
{
    const char *asked = helio_request_context_query(self, "tenant"), *tenant = helio_request_context_tenant(self);
    bool mine;
    if (!helio_request_context_flag(self, "mine", &mine))
        return false;
    if (asked && tenant && strcmp(asked, tenant) != 0) {
        HELIO_PROBLEM(self, 403, TENANT_NOT_VISIBLE, helio_value_string(tenant));
        return false;
    }
    *ret_tenant = mine ? self->token->tenant : asked ? asked : tenant;
    *ret_user = mine ? self->token->user : helio_request_context_query(self, "user");
    return true;
}

void helio_jobs_list(helio_request_context_t *self)
{
    const char *state = helio_request_context_query(self, "state"), *label = helio_request_context_query(self, "label"),
               *sort = helio_request_context_query(self, "sort"), *cursor = helio_request_context_query(self, "cursor");
    const char *tenant, *user, *since = NULL, *until = NULL;
    uint64_t limit;
    helio_job_key_t key;
    if (!helio_request_context_number(self, "limit", (helio_query_bounds_t){1, 1000, 100}, &limit) ||
        (state && !check_states(self, state)) || (label && !helio_labels_check(self, label, true)) ||
        !check_word(self, "sort", sorts) || !check_word(self, "arrays", "tasks,whole") ||
        !read_time(self, "since", &since) || !read_time(self, "until", &until) || !read_owner(self, &tenant, &user))
        return;
    bool newest_first = !sort || strcmp(sort, "submitted") == 0;
    if (cursor && (!newest_first || helio_job_key_parse(helio_text_of(cursor), &key) != HELIO_OK)) {
        HELIO_PROBLEM0(self, 400, CURSOR_INVALID);
        return;
    }
    char limit_text[NUMBER_SIZE];
    (void)snprintf(limit_text, sizeof limit_text, "%" PRIu64, limit);
    const char *const parameters[] = {tenant,
                                      state,
                                      helio_request_context_query(self, "queue"),
                                      helio_request_context_query(self, "name"),
                                      user,
                                      helio_request_context_query(self, "site"),
                                      since,
                                      until,
                                      label,
                                      newest_first ? NULL : sort,
                                      helio_request_context_query(self, "arrays"),
                                      cursor,
                                      limit_text};
    helio_await_read(self, helio_response_read, "read_jobs", sizeof parameters / sizeof parameters[0], parameters);
}
