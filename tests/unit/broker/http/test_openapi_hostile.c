/*  test_openapi_hostile.c -- hostile values in each parameter of each path and query, and in each text of each JSON body, over
 *  the real queries: no answer is a failure of the broker's own, and none has the words of the database. */
#include "tests/unit/broker/http/federation_testing.h"
#include "tests/unit/broker/http/openapi_testing.h"

#include "broker/store/reader.h"
#include "tests/support/pg_fixture.h"

enum { LONG = 3000, BEYOND = 10000 };

static helio_pg_t *pg;
static helio_reader_t *reader;

static helio_rc real_read(void *arg, helio_read_t *read)
{
    (void)arg;
    return helio_reader_post(reader, read);
}

/*  What an error text of PostgreSQL or libpq has, and what the broker's own sentences about it begin with. */
static void check_words(const helio_route_t *route, const char *value)
{
    static const char *const words[] = {
        "database: ", "byte sequence", "invalid input syntax", "out of range for", "SQLSTATE", "(22",
        "read_",      "helio."};
    if (r.status >= 500)
        fail_msg("%s %s with %.80s: %d %s", route->method, route->pattern, value, r.status, r.body);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (r.status >= 400 && strstr(r.body, words[i]))
            fail_msg("%s %s with %.80s: %d %s", route->method, route->pattern, value, r.status, r.body);
}

/* ---- targets ------------------------------------------------------------------------------------------- */

static const char *const values[] = {"%ff",
                                     "a%ff",
                                     "%c0%80",
                                     "%ed%a0%80",
                                     "%f4%90%80%80",
                                     "%e2%82",
                                     "%00",
                                     "a%00b",
                                     "%0a",
                                     "%7f",
                                     "%c3%a9",
                                     "%f0%9f%92%a5",
                                     "%ef%bf%be",
                                     "%e2%80%ae",
                                     "'",
                                     "%27%3bdrop%20table%20jobs",
                                     "%5c",
                                     "%25s%25n",
                                     "$1",
                                     "-1",
                                     "0",
                                     "1",
                                     "1e309",
                                     "NaN",
                                     "99999999999999999999",
                                     "9223372036854775807",
                                     "2026-13-45",
                                     "null",
                                     "true",
                                     "[]",
                                     "%7b%7d",
                                     "*",
                                     "%",
                                     "",
                                     "01j9a0000000000000000000aa",
                                     "01j9a0000000000000000000aa.4294967296",
                                     "zzzzzzzzzzzzzzzzzzzzzzzzzz",
                                     "north"};

typedef void value_fn(const helio_route_t *route, const char *name, const char *value);

static void each_value(value_fn *check, const helio_route_t *route, const char *name)
{
    char text[BEYOND + 1];
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        check(route, name, values[i]);
    memset(text, 'a', BEYOND);
    text[BEYOND] = '\0';
    check(route, name, text);
    text[LONG] = '\0';
    check(route, name, text);
}

static void ask_at(const helio_route_t *route, const char *in_path, const char *query, const char *value)
{
    const char *open = strchr(route->pattern, '{');
    const char *body = route->body == HELIO_BODY_JOBS ? "run: echo\n" : NULL;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t target = {0};
    helio_buffer_append(&target, route->pattern, open ? (size_t)(open - route->pattern) : strlen(route->pattern));
    helio_buffer_printf(&target, "%s%s%s%s", open ? in_path : "", open ? strchr(open, '}') + 1 : "", *query ? "?" : "",
                        query);
    /* The snapshot of the request before can still be under way: there is one at a time. */
    for (int i = 0; i == 0 || (i < 500 && r.status == 503 && strstr(r.body, "SnapshotUnderWay")); i++)
        ask(w, &r, route->method, target.data, w->admin.text, body ? YAML : "", body);
    check_words(route, value);
}

static void check_path(const helio_route_t *route, const char *name, const char *value)
{
    (void)name;
    ask_at(route, value, "", value);
}

static void check_query(const helio_route_t *route, const char *name, const char *value)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t query = {0};
    helio_buffer_printf(&query, "%s=%s", name, value);
    ask_at(route, "abcdef", query.data, value);
    for (const char *at = route->query; *at; at += strcspn(at, " "), at += *at == ' ') { /* with all others */
        int size = (int)strcspn(at, " ");
        if (strncmp(at, name, (size_t)size) != 0 || name[size])
            helio_buffer_printf(&query, "&%.*s=1", size, at);
    }
    ask_at(route, "abcdef", query.data, value);
}

static void openapi__hostile_values_of_parameters_never_reach_the_database(void **state)
{
    (void)state;
    const helio_route_table_t *table = helio_routes();
    uint32_t paths = 0, queries = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        (void)operation_of(route); /* all routes are those of the description (test_openapi.c) */
        if (strchr(route->pattern, '{')) {
            each_value(check_path, route, "");
            paths++;
        }
        const json_t *list = json_object_get(operation_of(route), "parameters"), *entry;
        size_t k;
        json_array_foreach(list, k, entry)
        {
            const json_t *parameter = openapi_follow(description, entry);
            if (strcmp(json_string_value(json_object_get(parameter, "in")), "query") == 0) {
                each_value(check_query, route, json_string_value(json_object_get(parameter, "name")));
                queries++;
            }
        }
    }
    assert_true(paths > 15 && queries > 15);
}

static void openapi__an_unknown_site_of_the_history_is_not_found(void **state)
{
    (void)state;
    ask(w, &r, "GET", "/v1/history?site=%ff", w->user.text, "", NULL);
    assert_int_equal(r.status, 400);
    assert_contains(r.body, "UTF-8");
    ask(w, &r, "GET", "/v1/history?site=a%20b", w->user.text, "", NULL);
    assert_int_equal(r.status, 400);
    check_answer(route_of("GET", "/v1/history"));
    ask(w, &r, "GET", "/v1/history?site=nowhere", w->user.text, "", NULL);
    assert_int_equal(r.status, 404);
    check_answer(route_of("GET", "/v1/history"));
    ask(w, &r, "GET", "/v1/history?site=north", w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    check_answer(route_of("GET", "/v1/history"));
}

/* ---- bodies -------------------------------------------------------------------------------------------- */

static void ask_with(const helio_route_t *route, const char *body)
{
    char target[128];
    ask(w, &r, route->method, some_target_of(route, target), w->admin.text, JSON, body);
    check_words(route, body);
}

/*  The key alone, and beside what is required. */
static void check_member(const helio_route_t *route, const json_t *schema, const char *key)
{
    static const char *const texts[] = {"\"\xff\"",
                                        "\"\\u0000\"",
                                        "\"a\\u0000b\"",
                                        "\"\\ud800\"",
                                        "\"\\u202e\"",
                                        "\"\xc0\x80\"",
                                        "\"'\"",
                                        "1e309",
                                        "-1",
                                        "[]",
                                        "[\"\xff\"]",
                                        "{}",
                                        "\"\"",
                                        "99999999999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t body = {0};
        helio_buffer_printf(&body, "{\"%s\":%s", key, texts[i]);
        const json_t *name;
        size_t k;
        json_array_foreach(json_object_get(schema, "required"), k, name)
        {
            const json_t *member = json_object_get(json_object_get(schema, "properties"), json_string_value(name));
            json_t *sample = openapi_sample(description, member);
            char *text = json_dumps(sample, JSON_ENCODE_ANY);
            if (strcmp(json_string_value(name), key) != 0)
                helio_buffer_printf(&body, ",\"%s\":%s", json_string_value(name), text);
            free(text);
            json_decref(sample);
        }
        helio_buffer_text(&body, "}");
        ask_with(route, body.data);
    }
}

static void openapi__hostile_values_of_bodies_never_reach_the_database(void **state)
{
    (void)state;
    const helio_route_table_t *table = helio_routes();
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        const json_t *body = openapi_follow(description, json_object_get(operation_of(route), "requestBody"));
        const json_t *media = json_object_get(json_object_get(body, "content"), "application/json"), *member;
        const json_t *schema = openapi_follow(description, json_object_get(media, "schema"));
        const char *key;
        if (route->body != HELIO_BODY_JSON)
            continue;
        json_object_foreach((json_t *)(uintptr_t)json_object_get(schema, "properties"), key, member)
        {
            check_member(route, schema, key);
            count++;
        }
    }
    assert_true(count > 40);
}

/* ---- the world ----------------------------------------------------------------------------------------- */

static int world_begin(void **state)
{
    const char *conninfo = helio_pg_database(pg);
    int rc = begin(state);
    helio_job_spec_t spec = spec_of("waits", 2);
    fill();
    (void)job_of("acme", &spec);
    commit(conninfo);
    reader = helio_reader_new(conninfo, 2);
    w = world_up_over(real_read);
    return rc;
}

static int world_end(void **state)
{
    world_down(w);
    helio_reader_destroy(&reader);
    return end(state);
}

static int up_all(void **state)
{
    pg = helio_pg_up();
    return load(state);
}

static int down_all(void **state)
{
    helio_pg_down(&pg);
    return unload(state);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, world_begin, world_end)
    const struct CMUnitTest tests[] = {
        CASE(openapi__hostile_values_of_parameters_never_reach_the_database),
        CASE(openapi__an_unknown_site_of_the_history_is_not_found),
        CASE(openapi__hostile_values_of_bodies_never_reach_the_database),
    };
    return cmocka_run_group_tests(tests, up_all, down_all);
}
