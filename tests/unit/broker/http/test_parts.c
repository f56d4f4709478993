/*  test_parts.c -- the parts that need no socket: targets, media ranges, tokens, problems, routes against the published
 *  description. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <strings.h>
#include <string.h>
#include <yaml.h>

#include "broker/http/http.h"
#include "broker/http/request/request.h"
#include "broker/http/routes/routes.h"
#include "broker/http/routes/submission.h"

/* ---- targets ------------------------------------------------------------------------------------------- */

static void target__is_split_and_decoded(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    helio_target_t target;
    helio_error_t err;
    assert_int_equal(helio_target_parse(HELIO_TEXT("/v1/j%6fbs?name=a+b%20c&x&y="), arena, &target, &err), HELIO_OK);
    assert_int_equal(target.segment_count, 2);
    assert_string_equal(target.segments[1], "jobs");
    assert_string_equal(helio_target_query(&target, "name"), "a b c");
    assert_string_equal(helio_target_query(&target, "x"), "");
    assert_string_equal(helio_target_query(&target, "y"), "");
    assert_null(helio_target_query(&target, "z"));
    assert_int_equal(helio_target_parse(HELIO_TEXT("/"), arena, &target, &err), HELIO_OK);
    assert_int_equal(target.segment_count, 0);
    helio_arena_destroy(&arena);
}

static void target__hostile_targets_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",        "*",       "v1",   "http://a/b", "//",     "/a//b", "/a//",     "/.",          "/a/../b",
        "/%2e%2e", "/%",      "/%4",  "/%4g",       "/a%2fb", "/%00",  "/%0a",     "/a\x01",      "/a\x7f",
        "/a?%",    "/a?b=%1", "/a#b", "/a?b=c#d",   "/a?b&b", "/a?=b", "/a?b%00=", "/a?b=%0d%0a", "/1/2/3/4/5/6/7/8/9"};
    helio_arena_t *arena = helio_arena_new();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        helio_target_t target = {.segment_count = 77};
        helio_error_t err;
        if (helio_target_parse(helio_text_of(bad[i]), arena, &target, &err) == HELIO_OK)
            fail_msg("'%s' was taken", bad[i]);
        assert_int_equal(target.segment_count, 77);
    }
    char many[512] = "/a?";
    for (int i = 0; i < 17; i++) {
        char pair[8] = {(char)('a' + i), '=', '&', 0};
        memcpy(many + strlen(many), pair, 4);
    }
    helio_target_t target;
    assert_int_equal(helio_target_parse(helio_text_of(many), arena, &target, NULL), HELIO_TOO_BIG);
    helio_arena_destroy(&arena);
}

static void accept__a_range_covers_its_media_types(void **state)
{
    (void)state;
    static const struct {
        const char *accept, *type;
        bool taken;
    } cells[] = {
        {"*/*", "application/json", true},
        {"", "application/json", true},
        {"application/json", "application/json", true},
        {"Application/JSON", "application/json", true},
        {"application/*", "application/json", true},
        {"text/*", "application/json", false},
        {"text/html,application/json;q=0.1", "application/json", true},
        {"application/json;q=0", "application/json", false},
        {"application/json; q=0.0", "application/json", false},
        {"application/json;q=0.01", "application/json", true},
        {"text/html , */*;q=0.8", "application/json", true},
        {"application/jsonx", "application/json", false},
        {";;;,,,", "application/json", true},
        {"app", "application/json", false},
        {"text/html;level=1;q=0, text/plain", "text/plain", true},
        {"application/json;", "application/json", true},
        {"application/json;q=", "application/json", true},
    };
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++)
        if (helio_accepts(cells[i].accept, cells[i].type) != cells[i].taken)
            fail_msg("'%s' for %s", cells[i].accept, cells[i].type);
}

/* ---- tokens -------------------------------------------------------------------------------------------- */

static helio_row_token_t row_of(const helio_token_fresh_t *token, const char *role)
{
    return (helio_row_token_t){.token_id = helio_text_of(token->id),
                               .hash = {(const char *)token->hash, sizeof token->hash},
                               .tenant = HELIO_TEXT("acme"),
                               .user = HELIO_TEXT("ana"),
                               .role = helio_text_of(role),
                               .created_ms = 1};
}

static void token__is_accepted_from_its_creation_to_its_expiry(void **state)
{
    (void)state;
    helio_token_table_t *table = helio_token_table_new();
    helio_token_fresh_t fresh, second;
    assert_int_equal(helio_token_issue(&fresh), HELIO_OK);
    assert_int_equal(helio_token_issue(&second), HELIO_OK);
    assert_string_not_equal(fresh.text, second.text);
    helio_text_t text = helio_text_of(fresh.text);
    assert_null(helio_token_table_check(table, text, 5));
    helio_row_token_t row = row_of(&fresh, "operator");
    row.expires_ms = 100;
    helio_token_table_put(table, &row);
    const helio_token_t *token = helio_token_table_check(table, text, 99);
    assert_non_null(token);
    assert_int_equal(token->role, HELIO_ROLE_OPERATOR);
    assert_string_equal(token->tenant, "acme");
    assert_null(helio_token_table_check(table, text, 100));
    row.revoked_ms = 50;
    helio_token_table_put(table, &row);
    assert_null(helio_token_table_check(table, text, 60));
    assert_false(helio_token_in_force(token, 60)); /* a stream that holds it sees that, too */
    helio_token_table_destroy(&table);
}

static void token__a_new_row_of_an_id_replaces_the_old_one(void **state)
{
    (void)state;
    helio_token_table_t *table = helio_token_table_new();
    helio_token_fresh_t fresh, other;
    assert_int_equal(helio_token_issue(&fresh), HELIO_OK);
    assert_int_equal(helio_token_issue(&other), HELIO_OK);
    helio_row_token_t row = row_of(&fresh, "admin");
    helio_token_table_put(table, &row);
    row.hash.data = (const char *)other.hash; /* the same id, another secret */
    helio_token_table_put(table, &row);
    assert_null(helio_token_table_check(table, helio_text_of(fresh.text), 5));
    char mixed[sizeof fresh.text];
    memcpy(mixed, other.text, sizeof mixed);
    memcpy(mixed + 4, fresh.id, HELIO_TOKEN_ID_CHARS);
    assert_non_null(helio_token_table_check(table, helio_text_of(mixed), 5));
    helio_token_table_destroy(&table);
}

/*  All are read again; one of them is not there any more, as after a restore. */
static void token__that_is_not_read_again_is_revoked(void **state)
{
    (void)state;
    helio_token_table_t *table = helio_token_table_new();
    helio_token_fresh_t kept, lost, late;
    assert_int_equal(helio_token_issue(&kept), HELIO_OK);
    assert_int_equal(helio_token_issue(&lost), HELIO_OK);
    assert_int_equal(helio_token_issue(&late), HELIO_OK);
    helio_row_token_t rows[] = {row_of(&kept, "user"), row_of(&lost, "user"), row_of(&late, "user")};
    helio_token_table_put(table, &rows[0]);
    helio_token_table_put(table, &rows[1]);
    for (int reading = 0; reading < 2; reading++) {
        helio_token_table_begin(table);
        helio_token_table_put(table, &rows[0]);
        if (reading == 0)
            continue; /* it failed: nothing follows from it */
        helio_token_table_put(table, &rows[2]);
        const helio_token_t *token = helio_token_table_check(table, helio_text_of(lost.text), 5);
        assert_non_null(token);
        helio_token_table_end(table, 7);
        assert_false(helio_token_in_force(token, 8)); /* a stream that holds it sees that */
    }
    assert_non_null(helio_token_table_check(table, helio_text_of(kept.text), 8));
    assert_non_null(helio_token_table_check(table, helio_text_of(late.text), 8));
    assert_null(helio_token_table_check(table, helio_text_of(lost.text), 8));
    helio_token_table_put(table, &rows[1]);
    assert_non_null(helio_token_table_check(table, helio_text_of(lost.text), 8));
    helio_token_table_destroy(&table);
}

static void token__is_refused_while_its_user_is_disabled(void **state)
{
    (void)state;
    helio_token_table_t *table = helio_token_table_new();
    helio_token_fresh_t first, second, other;
    assert_int_equal(helio_token_issue(&first), HELIO_OK);
    assert_int_equal(helio_token_issue(&second), HELIO_OK);
    assert_int_equal(helio_token_issue(&other), HELIO_OK);
    helio_row_token_t row = row_of(&first, "admin"), later = row_of(&second, "user"), others = row_of(&other, "user");
    others.tenant = HELIO_TEXT("globex"); /* the same name in another tenant is another user */
    helio_row_principal_t user = {row.tenant, row.user, 7};
    assert_null(helio_token_table_principal(table, row.tenant, row.user));
    helio_token_table_put(table, &row);
    helio_token_table_put(table, &others);
    const helio_token_t *held = helio_token_table_check(table, helio_text_of(first.text), 5);
    assert_non_null(held);
    helio_token_table_disable(table, &user);
    assert_false(helio_token_in_force(held, 5)); /* a stream that holds it sees that, too */
    helio_token_table_put(table, &later);
    assert_null(helio_token_table_check(table, helio_text_of(first.text), 5));
    assert_null(helio_token_table_check(table, helio_text_of(second.text), 5));
    assert_non_null(helio_token_table_check(table, helio_text_of(other.text), 5));
    user.disabled_ms = 0;
    helio_token_table_disable(table, &user);
    assert_non_null(helio_token_table_check(table, helio_text_of(first.text), 5));
    assert_non_null(helio_token_table_check(table, helio_text_of(second.text), 5));
    helio_token_table_destroy(&table);
}

static void token__of_a_user_who_was_disabled_earlier_is_refused(void **state)
{
    (void)state;
    helio_token_table_t *table = helio_token_table_new();
    helio_token_fresh_t fresh;
    assert_int_equal(helio_token_issue(&fresh), HELIO_OK);
    helio_row_token_t row = row_of(&fresh, "admin");
    helio_token_table_disable(table, &(helio_row_principal_t){row.tenant, row.user, 7});
    helio_token_table_put(table, &row);
    assert_null(helio_token_table_check(table, helio_text_of(fresh.text), 5));
    char long_name[80] = "";
    memset(long_name, 'x', sizeof long_name - 1);
    row.user = helio_text_of(long_name);
    helio_token_table_put(table, &row);
    assert_null(helio_token_table_check(table, helio_text_of(fresh.text), 5));
    assert_null(helio_token_table_principal(table, row.tenant, row.user));
    helio_token_table_destroy(&table);
}

static void token__a_row_with_unknown_values_grants_no_access(void **state)
{
    (void)state;
    helio_token_table_t *table = helio_token_table_new();
    helio_token_fresh_t fresh;
    assert_int_equal(helio_token_issue(&fresh), HELIO_OK);
    helio_row_token_t row = row_of(&fresh, "root");
    helio_token_table_put(table, &row);
    assert_null(helio_token_table_check(table, helio_text_of(fresh.text), 5));
    row = row_of(&fresh, "admin");
    row.hash.size = 0;
    helio_token_table_put(table, &row);
    assert_null(helio_token_table_check(table, helio_text_of(fresh.text), 5));
    row = row_of(&fresh, "admin");
    helio_token_table_put(table, &row);
    assert_non_null(helio_token_table_check(table, helio_text_of(fresh.text), 5));
    row.role = HELIO_TEXT("root"); /* a role of a later release: no access rather than the old role */
    helio_token_table_put(table, &row);
    assert_null(helio_token_table_check(table, helio_text_of(fresh.text), 5));
    helio_token_table_destroy(&table);
}

/* ---- problems ------------------------------------------------------------------------------------------ */

static void problem__is_json_whatever_the_text(void **state)
{
    (void)state;
    static const char *const texts[] = {"plain",           "\"\\\n\t\x01\x7f", "\xff\xfe", "\xc3",
                                        "\xed\xa0\x80",    "\xf5\x80\x80\x80", "\xc0\xaf", "日本",
                                        "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        helio_buffer_t out = {0};
        helio_value_t value = helio_value_string(texts[i]);
        helio_detail_t detail = {.code = HELIO_DETAIL_STATE_REPORTED, .values = {&value, 1}};
        const helio_details_t details = {{&detail, 1}};
        helio_problem_of_details(409, NULL, &details, (helio_text_t){0}, &out);
        json_t *json = json_loadb(out.data, out.size, 0, NULL);
        assert_non_null(json);
        assert_int_equal(json_integer_value(json_object_get(json, "status")), 409);
        assert_string_equal(json_string_value(json_object_get(json, "reason")), "Conflict");
        assert_non_null(json_object_get(json, "detail"));
        json_decref(json);
        helio_buffer_clear(&out);
    }
}

static void problem__every_result_code_has_a_status_of_the_table(void **state)
{
    (void)state;
    static const helio_rc codes[] = {
#define X(name, text, retryable) HELIO_##name,
        HELIO_RC_TABLE(X)
#undef X
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        uint32_t status = helio_status_of_rc(codes[i]);
        assert_int_equal(helio_status_at(helio_status_index(status)), status);
        assert_int_equal(codes[i] == HELIO_OK, status == 200);
    }
}

/* ---- submissions --------------------------------------------------------------------------------------- */

static void submission__hostile_bodies_end_in_a_diagnostic(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "\n\n",
                                      "---\n---\n",
                                      "{",
                                      "[",
                                      "[1]",
                                      "{\"jobs\": 3}",
                                      "{\"jobs\": []}",
                                      "a",
                                      "\xff",
                                      "run: &a x\nname: *a",
                                      "run: !!python x",
                                      "{\"run\": \"a\"} x",
                                      "\"run\"",
                                      "run: a\nrun: b",
                                      "[[[[[[[[[[[[[[[[[[[[[[[[",
                                      "%YAML 9.9\n---\nrun: a"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        helio_arena_t *arena = helio_arena_new();
        helio_ev_submit_t event = {0};
        helio_diagnostics_t wrong = {0};
        int document;
        if (helio_submission_read(helio_text_of(bad[i]), "", "", arena, &event, &wrong, &document) == HELIO_OK)
            fail_msg("'%s' was taken", bad[i]);
        assert_true(wrong.items[0].message[0]);
        helio_buffer_t out = {0};
        helio_problem_of_diagnostics(400, &wrong, document, &out);
        json_t *json = json_loadb(out.data, out.size, 0, NULL);
        assert_non_null(json);
        json_decref(json);
        helio_buffer_clear(&out);
        helio_arena_destroy(&arena);
    }
}

static void submission__the_problem_lists_every_error(void **state)
{
    helio_arena_t *arena = helio_arena_new();
    helio_ev_submit_t event = {0};
    helio_diagnostics_t wrong;
    int document;
    (void)state;
    assert_int_equal(helio_submission_read(HELIO_TEXT("run: a\n---\nrun: b\ntime: 90\nnodes: 0\n"), "", "", arena,
                                           &event, &wrong, &document),
                     HELIO_INVALID);
    assert_int_equal(document, 1);
    helio_buffer_t out = {0};
    helio_problem_of_diagnostics(400, &wrong, document, &out);
    json_t *json = json_loadb(out.data, out.size, 0, NULL);
    const json_t *errors = json_object_get(json, "errors"), *second = json_array_get(errors, 1);
    assert_int_equal(json_array_size(errors), 2);
    assert_int_equal(json_integer_value(json_object_get(json, "line")), 4);
    assert_int_equal(json_integer_value(json_object_get(second, "line")), 5);
    assert_string_equal(json_string_value(json_object_get(second, "path")), "nodes");
    assert_string_equal(json_string_value(json_object_get(second, "code")), "OutOfRange");
    json_decref(json);
    helio_buffer_clear(&out);
    helio_arena_destroy(&arena);
}

static void submission__more_jobs_than_the_bound_are_too_big(void **state)
{
    (void)state;
    helio_buffer_t body = {0};
    for (int i = 0; i <= HELIO_SUBMISSION_JOBS_MAX; i++)
        helio_buffer_text(&body, "{\"run\":\"a\"}\n");
    helio_arena_t *arena = helio_arena_new();
    helio_ev_submit_t event = {0};
    helio_diagnostics_t wrong;
    int document;
    assert_int_equal(helio_submission_read(helio_buffer_view(&body), "", "", arena, &event, &wrong, &document),
                     HELIO_TOO_BIG);
    assert_int_equal(wrong.items[0].problem, HELIO_SPEC_TOO_BIG_PROBLEM);
    helio_arena_destroy(&arena);
    helio_buffer_clear(&body);
}

/*  Ten thousand tasks take thirteen bytes. */
static void submission__more_tasks_than_the_bound_are_too_big(void **state)
{
    (void)state;
    enum { ARRAYS = HELIO_SUBMISSION_TASKS_MAX / HELIO_JOB_ARRAY_MAX };
    for (int more = 0; more < 2; more++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t body = {0};
        for (int i = 0; i < ARRAYS; i++)
            helio_buffer_text(&body, "array: 0-9999\nrun: a\n---\n");
        helio_buffer_text(&body, more ? "array: 0\nrun: a\n" : "");
        helio_arena_t *arena = helio_arena_new();
        helio_ev_submit_t event = {0};
        helio_diagnostics_t wrong;
        int document;
        helio_rc rc = helio_submission_read(helio_buffer_view(&body), "", "", arena, &event, &wrong, &document);
        assert_int_equal(rc, more ? HELIO_TOO_BIG : HELIO_OK);
        if (more) {
            assert_int_equal(wrong.items[0].problem, HELIO_SPEC_TOO_BIG_PROBLEM);
            assert_string_equal(wrong.items[0].message, "1000001 jobs or tasks in one request; at most 1000000");
        }
        helio_arena_destroy(&arena);
    }
}

static void submission__labels_of_the_request_join_those_of_the_document(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    helio_ev_submit_t with = {0}, without = {0};
    helio_diagnostics_t wrong;
    int document;
    const helio_text_t body = HELIO_TEXT("labels: {team: nlp, phase: a}\nrun: a\n");
    assert_int_equal(helio_submission_read(body, "key", "phase=b,sweep=3", arena, &with, &wrong, &document), HELIO_OK);
    assert_int_equal(helio_submission_read(body, "key", "", arena, &without, &wrong, &document), HELIO_OK);
    assert_false(helio_text_equal(with.jobs.items[0].spec_hash, without.jobs.items[0].spec_hash));
    const helio_pair_t *labels = with.jobs.items[0].spec.labels.items;
    assert_int_equal(with.jobs.items[0].spec.labels.count, 3);
    assert_true(helio_text_is(labels[0].value, "nlp") && helio_text_is(labels[1].value, "b"));
    assert_true(helio_text_is(labels[2].name, "sweep") && helio_text_is(labels[2].value, "3"));
    assert_int_equal(helio_submission_read(body, "", "a=,b=,c=,d=,e=,f=,g=,h=,i=,j=,k=,l=,m=,n=,o=", arena, &with,
                                           &wrong, &document),
                     HELIO_TOO_BIG);
    assert_non_null(strstr(wrong.items[0].message, "labels"));
    helio_arena_destroy(&arena);
}

/*  An array of one task takes no more memory than it needs. */
static void submission__of_small_arrays_is_small(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t body = {0};
    for (int i = 0; i < 1000; i++)
        helio_buffer_text(&body, "array: 0\nrun: a\n---\n");
    helio_arena_t *arena = helio_arena_new();
    helio_ev_submit_t event = {0};
    helio_diagnostics_t wrong;
    int document;
    assert_int_equal(helio_submission_read(helio_buffer_view(&body), "", "", arena, &event, &wrong, &document),
                     HELIO_OK);
    assert_in_range(helio_arena_bytes(arena), 1000 * sizeof(helio_submission_t), 4 << 20);
    helio_arena_destroy(&arena);
}

/* ---- a body that crawls -------------------------------------------------------------------------------- */

static void body__that_arrives_too_slowly_is_cut(void **state)
{
    (void)state;
    helio_http_t *http = helio_http_new(&(helio_http_options_t){.idle_timeout_ms = 1000}, NULL);
    helio_request_context_t *context = helio_request_context_new(http, HELIO_TEXT("/v1/jobs"));
    context->body_max = 1000;
    assert_true(helio_request_take(context, "a", 1, 900000));
    assert_false(helio_request_take(context, "b", 1, 1100000));
    assert_int_equal(context->body.size, 1);
    helio_request_context_destroy(&context);
    helio_http_destroy(&http);
}

/* ---- routes -------------------------------------------------------------------------------------------- */

static const char *scalar(yaml_document_t *document, int node)
{
    yaml_node_t *found = yaml_document_get_node(document, node);
    assert_int_equal(found->type, YAML_SCALAR_NODE);
    return (const char *)found->data.scalar.value;
}

static yaml_node_t *member(yaml_document_t *document, yaml_node_t *mapping, const char *name)
{
    assert_int_equal(mapping->type, YAML_MAPPING_NODE);
    for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top; pair++)
        if (strcmp(scalar(document, pair->key), name) == 0)
            return yaml_document_get_node(document, pair->value);
    return NULL;
}

/*  Each method of one path has its route, open to everyone exactly when the description says so. Returns how
 * many. */
static uint32_t compare_path(yaml_document_t *document, const char *pattern, yaml_node_t *path)
{
    uint32_t count = helio_routes()->count, described = 0;
    const helio_route_t *routes = helio_routes()->items;
    for (yaml_node_pair_t *pair = path->data.mapping.pairs.start; pair < path->data.mapping.pairs.top; pair++) {
        const char *word = scalar(document, pair->key);
        if (strcmp(word, "parameters") == 0)
            continue;
        uint32_t at = 0;
        while (at < count && (strcmp(routes[at].pattern, pattern) != 0 || strcasecmp(routes[at].method, word) != 0))
            at++;
        if (at == count)
            fail_msg("docs/openapi.yaml describes %s %s, which there is not", word, pattern);
        bool open = member(document, yaml_document_get_node(document, pair->value), "security") != NULL;
        assert_int_equal(open, routes[at].access == HELIO_ACCESS_ANYONE);
        described++;
    }
    return described;
}

static void route__table_and_published_description_agree(void **state)
{
    (void)state;
    FILE *file = fopen(HELIO_SOURCE_DIR "/docs/openapi.yaml", "r");
    assert_non_null(file);
    yaml_parser_t parser;
    yaml_document_t document;
    assert_int_equal(yaml_parser_initialize(&parser), 1);
    yaml_parser_set_input_file(&parser, file);
    assert_int_equal(yaml_parser_load(&parser, &document), 1);
    yaml_node_t *paths = member(&document, yaml_document_get_root_node(&document), "paths");
    assert_non_null(paths);
    uint32_t count = helio_routes()->count, described = 0;
    for (yaml_node_pair_t *pair = paths->data.mapping.pairs.start; pair < paths->data.mapping.pairs.top; pair++)
        described +=
            compare_path(&document, scalar(&document, pair->key), yaml_document_get_node(&document, pair->value));
    if (described != count)
        fail_msg("the table has %u routes, docs/openapi.yaml describes %u", count, described);
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    (void)fclose(file);
}

static void route__every_route_is_found_by_its_own_pattern_alone(void **state)
{
    (void)state;
    uint32_t count = helio_routes()->count;
    const helio_route_t *routes = helio_routes()->items;
    helio_arena_t *arena = helio_arena_new();
    for (uint32_t i = 0; i < count; i++) {
        helio_target_t target;
        const char *parameter = NULL;
        char allow[HELIO_ALLOW_SIZE];
        assert_int_equal(helio_target_parse(helio_text_of(routes[i].pattern), arena, &target, NULL), HELIO_OK);
        assert_ptr_equal(helio_route_find(helio_routes(), routes[i].method, &target, &parameter, allow), &routes[i]);
        assert_int_equal(parameter != NULL, strchr(routes[i].pattern, '{') != NULL);
        assert_true(routes[i].doc[0]);
        assert_null(helio_route_find(helio_routes(), "BREW", &target, &parameter, allow));
        assert_true(allow[0]);
    }
    helio_arena_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(target__is_split_and_decoded),
        cmocka_unit_test(target__hostile_targets_are_refused),
        cmocka_unit_test(accept__a_range_covers_its_media_types),
        cmocka_unit_test(token__is_accepted_from_its_creation_to_its_expiry),
        cmocka_unit_test(token__a_new_row_of_an_id_replaces_the_old_one),
        cmocka_unit_test(token__that_is_not_read_again_is_revoked),
        cmocka_unit_test(token__is_refused_while_its_user_is_disabled),
        cmocka_unit_test(token__of_a_user_who_was_disabled_earlier_is_refused),
        cmocka_unit_test(token__a_row_with_unknown_values_grants_no_access),
        cmocka_unit_test(problem__is_json_whatever_the_text),
        cmocka_unit_test(problem__every_result_code_has_a_status_of_the_table),
        cmocka_unit_test(submission__hostile_bodies_end_in_a_diagnostic),
        cmocka_unit_test(submission__the_problem_lists_every_error),
        cmocka_unit_test(submission__more_jobs_than_the_bound_are_too_big),
        cmocka_unit_test(submission__more_tasks_than_the_bound_are_too_big),
        cmocka_unit_test(submission__labels_of_the_request_join_those_of_the_document),
        cmocka_unit_test(submission__of_small_arrays_is_small),
        cmocka_unit_test(body__that_arrives_too_slowly_is_cut),
        cmocka_unit_test(route__table_and_published_description_agree),
        cmocka_unit_test(route__every_route_is_found_by_its_own_pattern_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
