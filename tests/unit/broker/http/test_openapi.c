/*  test_openapi.c -- docs/openapi.yaml and the handlers agree: on parameters, on optional and required members of
 *  bodies, and on responses. Engine and database are stand-ins here; test_openapi_reads.c has the responses that the
 *  database builds. */
#include "tests/unit/broker/http/server_testing.h"

#include <dirent.h>

#include "tests/unit/broker/http/openapi_testing.h"

/* ---- parameters and access ----------------------------------------------------------------------------- */

/*  Counts the parameters of that place; each of a query is one that the route takes. */
static uint32_t check_parameters(const helio_route_t *route, const json_t *list, const char *in)
{
    uint32_t count = 0;
    size_t i;
    const json_t *entry;
    json_array_foreach(list, i, entry)
    {
        const json_t *parameter = openapi_follow(description, entry);
        const char *name = json_string_value(json_object_get(parameter, "name"));
        const char *place = json_string_value(json_object_get(parameter, "in"));
        assert_non_null(name);
        assert_non_null(place);
        assert_non_null(json_object_get(parameter, "schema"));
        if (strcmp(place, in) != 0)
            continue;
        count++;
        if (strcmp(in, "query") == 0 && !helio_route_takes_query(route, name))
            fail_msg("%s %s takes no '%s'", route->method, route->pattern, name);
        char braced[64];
        (void)snprintf(braced, sizeof braced, "{%s}", name);
        if (strcmp(in, "path") == 0 &&
            (!strstr(route->pattern, braced) || !json_is_true(json_object_get(parameter, "required"))))
            fail_msg("%s %s: '%s' is no part of the path, or not required", route->method, route->pattern, name);
    }
    return count;
}

static uint32_t words_of(const char *text)
{
    uint32_t count = *text != '\0';
    for (; *text; text++)
        count += *text == ' ';
    return count;
}

static void openapi__names_the_parameters_of_every_route(void **state)
{
    (void)state;
    const helio_route_table_t *table = helio_routes();
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        const json_t *item, *operation = openapi_operation(description, route->method, route->pattern, &item);
        const json_t *shared = json_object_get(item, "parameters"), *own = json_object_get(operation, "parameters");
        if (check_parameters(route, shared, "query") + check_parameters(route, own, "query") != words_of(route->query))
            fail_msg("%s %s takes: %s", route->method, route->pattern, route->query);
        assert_int_equal(check_parameters(route, shared, "path") + check_parameters(route, own, "path"),
                         strchr(route->pattern, '{') != NULL);
    }
}

/*  Who may call a route shows in its answers: 401 where a token is asked for, 403 where a role is, or the job's own user. */
static void openapi__lists_the_callers_that_each_route_refuses(void **state)
{
    (void)state;
    const helio_route_table_t *table = helio_routes();
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        const json_t *operation = operation_of(route), *answers = json_object_get(operation, "responses");
        bool open = helio_access_grant(route->access, NULL) == HELIO_GRANT_ALL;
        bool roles = helio_access_grant_of_role(route->access, HELIO_ROLE_USER) == HELIO_GRANT_REFUSED;
        bool names_tenants = helio_route_takes_query(route, "tenant"); /* of others, which a user may not name */
        bool owners = strstr(route->pattern, "/jobs/{id}/channels") != NULL;
        if ((json_object_get(operation, "security") != NULL) != open ||
            (json_object_get(answers, "401") != NULL) == open ||
            (json_object_get(answers, "403") != NULL) != (roles || names_tenants || owners))
            fail_msg("%s %s: security, 401 or 403 is not as the table of routes has it", route->method, route->pattern);
    }
}

/* ---- requests ------------------------------------------------------------------------------------------ */

static void target_of(const helio_route_t *route, char text[160])
{
    const char *open = strchr(route->pattern, '{');
    const char *sample = strstr(route->pattern, "/jobs/") ? "01j9a0000000000000000000aa" : "abcdef";
    if (!open)
        (void)snprintf(text, 160, "%s", route->pattern);
    else
        (void)snprintf(text, 160, "%.*s%s%s", (int)(open - route->pattern), route->pattern, sample,
                       strchr(open, '}') + 1);
}

static const json_t *body_schema(const helio_route_t *route)
{
    const json_t *body = openapi_follow(description, json_object_get(operation_of(route), "requestBody"));
    const json_t *media = json_object_get(json_object_get(body, "content"), "application/json");
    return openapi_follow(description, json_object_get(media, "schema"));
}

/*  Consumes the body. */
static void ask_with(const helio_route_t *route, json_t *body)
{
    char target[160], *text = json_dumps(body, 0);
    assert_non_null(text);
    target_of(route, target);
    ask(w, &r, route->method, target, w->admin.text, JSON, text);
    free(text);
    json_decref(body);
}

/*  The required members, without one of them perhaps. */
static json_t *least_body(const json_t *schema, const char *without)
{
    json_t *body = json_object();
    size_t i;
    const json_t *name;
    json_array_foreach(json_object_get(schema, "required"), i, name)
    {
        const char *key = json_string_value(name);
        const json_t *member = json_object_get(json_object_get(schema, "properties"), key);
        assert_non_null(member);
        if (!without || strcmp(key, without) != 0)
            assert_int_equal(json_object_set_new(body, key, openapi_sample(description, member)), 0);
    }
    return body;
}

static bool takes_body(const helio_route_t *route)
{
    return route->body == HELIO_BODY_JSON && json_object_get(operation_of(route), "requestBody");
}

static void openapi__bodies_have_the_described_members_in_the_described_types(void **state)
{
    (void)state;
    const helio_route_table_t *table = helio_routes();
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        if (!takes_body(route))
            continue;
        const json_t *schema = body_schema(route), *member;
        const char *key;
        assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
        json_object_foreach((json_t *)(uintptr_t)json_object_get(schema, "properties"), key, member)
        {
            json_t *body = least_body(schema, NULL);
            assert_int_equal(json_object_set_new(body, key, openapi_sample(description, member)), 0);
            ask_with(route, body);
            if (r.status == 400 && !strstr(r.body, "\"NothingToSet\"")) /* alone it may say of what, and not what */
                fail_msg("%s %s does not take '%s': %s", route->method, route->pattern, key, r.body);
            body = least_body(schema, NULL);
            assert_int_equal(json_object_set_new(body, key, json_object()), 0);
            ask_with(route, body);
            if (r.status != 400)
                fail_msg("%s %s takes an object as '%s': %d", route->method, route->pattern, key, r.status);
        }
    }
}

static void openapi__bodies_lack_nothing_that_is_required(void **state)
{
    (void)state;
    const helio_route_table_t *table = helio_routes();
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        const json_t *schema = takes_body(route) ? body_schema(route) : NULL, *name;
        size_t k;
        json_array_foreach(json_object_get(schema, "required"), k, name)
        {
            ask_with(route, least_body(schema, json_string_value(name)));
            if (r.status != 400)
                fail_msg("%s %s does without '%s'", route->method, route->pattern, json_string_value(name));
        }
    }
}

/*  Every name of a member that any handler reads, by its source. */
static json_t *names_in_handlers(void)
{
    static const char folder[] = HELIO_SOURCE_DIR "/broker/http/routes";
    json_t *names = json_object();
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[512], line[1024];
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = strstr(entry->d_name, ".c") ? fopen(path, "r") : NULL;
        while (file && fgets(line, sizeof line, file)) {
            char name[64];
            for (const char *at = line; (at = strpbrk(at, ".")); at++)
                if (sscanf(at, ".name = \"%63[a-z_]\"", name) == 1 || sscanf(at, ".key = \"%63[a-z_]\"", name) == 1)
                    assert_int_equal(json_object_set_new(names, name, json_true()), 0);
        }
        if (file)
            (void)fclose(file);
    }
    (void)closedir(dir);
    assert_true(json_object_size(names) > 20);
    return names;
}

static void openapi__bodies_have_no_undescribed_member(void **state)
{
    (void)state;
    json_t *names = names_in_handlers(), *value;
    const helio_route_table_t *table = helio_routes();
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        const char *name;
        if (route->body != HELIO_BODY_JSON)
            continue;
        const json_t *schema = takes_body(route) ? body_schema(route) : NULL;
        if (!schema) { /* no handler of a route without a described body reads one */
            ask_with(route, json_pack("{si}", "zzz", 1));
            continue;
        }
        json_object_foreach(names, name, value)
        {
            if (json_object_get(json_object_get(schema, "properties"), name))
                continue;
            json_t *body = least_body(schema, NULL);
            assert_int_equal(json_object_set_new(body, name, json_integer(1)), 0);
            ask_with(route, body);
            if (r.status != 400 || (!strstr(r.body, "unknown key") && !strstr(r.body, "UnknownKey")))
                fail_msg("%s %s takes '%s', which is not described: %d %s", route->method, route->pattern, name,
                         r.status, r.body);
        }
    }
    json_decref(names);
}

/* ---- answers ------------------------------------------------------------------------------------------- */

static void openapi__commands_are_answered_as_described(void **state)
{
    (void)state;
    static const uint32_t results[] = {HELIO_OK, HELIO_INVALID, HELIO_NOT_FOUND, HELIO_CONFLICT, HELIO_UNAVAILABLE};
    const helio_route_table_t *table = helio_routes();
    w->reply_text = "done";
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        char target[160];
        if (strcmp(route->method, "GET") == 0 || route->body == HELIO_BODY_JOBS)
            continue;
        target_of(route, target);
        for (size_t k = 0; k < sizeof results / sizeof results[0]; k++) {
            char status[16];
            w->reply_rc = (helio_rc)results[k];
            if (takes_body(route))
                ask_with(route, least_body(body_schema(route), NULL));
            else
                ask(w, &r, route->method, target, w->admin.text, "", NULL);
            (void)snprintf(status, sizeof status, "%d", r.status);
            bool described = json_object_get(json_object_get(operation_of(route), "responses"), status) != NULL;
            if (described || results[k] == HELIO_OK) /* not every failure of the core can be every route's */
                check_answer(route);
        }
    }
}

static void openapi__submissions_plans_and_tokens_are_answered_as_described(void **state)
{
    (void)state;
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo\n");
    check_answer(route_of("POST", "/v1/jobs"));
    w->reply_text = "a note";
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo\n---\nrun: echo\n");
    check_answer(route_of("POST", "/v1/jobs"));
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo\n---\nqueu: [\n");
    assert_int_equal(r.status, 400);
    check_answer(route_of("POST", "/v1/jobs"));
    ask(w, &r, "POST", "/v1/plans", w->user.text, YAML, "name: a\nrun: echo\n");
    assert_int_equal(r.status, 200);
    check_answer(route_of("POST", "/v1/plans"));
    script_read(w, "read_job_source", HELIO_OK, "{\"tenant\":\"acme\",\"asked\":{\"source\":\"run: echo\"}}");
    ask(w, &r, "GET", "/v1/desired?site=lulea&pool=h100", w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(w->link, "lulea/h100");
    check_answer(route_of("GET", "/v1/desired"));
    ask(w, &r, "GET", "/v1/order", w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(w->tenant, "acme");
    assert_int_equal(w->role, HELIO_ROLE_USER);
    assert_non_null(strstr(
        r.body, "{\"position\":3,\"jobs\":1,\"tenant\":\"acme\",\"queue\":\"batch\",\"why\":\"last\",\"ids\":[\""));
    check_answer(route_of("GET", "/v1/order"));
    ask(w, &r, "GET", "/v1/jobs/01j9a0/plan?carbon=90&wait=0.1", w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    check_answer(route_of("GET", "/v1/jobs/{id}/plan"));
    ask(w, &r, "GET", "/v1/whoami", w->user.text, "", NULL);
    check_answer(route_of("GET", "/v1/whoami"));
    ask(w, &r, "POST", "/v1/tokens", w->admin.text, JSON, "{\"tenant\":\"acme\",\"user\":\"eva\",\"ttl_s\":60}");
    assert_int_equal(r.status, 201);
    check_answer(route_of("POST", "/v1/tokens"));
    char target[64];
    (void)snprintf(target, sizeof target, "/v1/tokens/%s", w->other.id);
    ask(w, &r, "DELETE", target, w->admin.text, "", NULL);
    assert_int_equal(r.status, 200);
    check_answer(route_of("DELETE", "/v1/tokens/{id}"));
    ask(w, &r, "POST", "/v1/principals", w->admin.text, JSON,
        "{\"tenant\":\"acme\",\"user\":\"ana\",\"disabled\":true}");
    assert_int_equal(r.status, 200);
    check_answer(route_of("POST", "/v1/principals"));
    script_read(w, "read_job_where", HELIO_OK,
                "{\"ambiguous\" : [\"01j9a0000000000000000000aa\", \"01j9a0000000000000000000bb\"]}");
    ask(w, &r, "DELETE", "/v1/jobs/01j9a0", w->user.text, "", NULL);
    assert_int_equal(r.status, 409);
    check_answer(route_of("DELETE", "/v1/jobs/{id}"));
}

/*  test_explain.c makes them by the real core, database and handler's parts. */
static void openapi__every_explanation_in_the_goldens_is_as_described(void **state)
{
    (void)state;
    static const char folder[] = HELIO_SOURCE_DIR "/tests/golden/explain";
    const json_t *schema =
        json_object_get(json_object_get(json_object_get(description, "components"), "schemas"), "Explanation");
    DIR *dir = opendir(folder);
    uint32_t count = 0;
    assert_non_null(schema);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[512], why[512];
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        json_t *json = strstr(entry->d_name, ".json") ? json_load_file(path, 0, NULL) : NULL;
        if (json && !openapi_valid(description, schema, json, "", why))
            fail_msg("%s: %s", entry->d_name, why);
        count += json != NULL;
        json_decref(json);
    }
    (void)closedir(dir);
    assert_true(count > 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(openapi__names_the_parameters_of_every_route),
        cmocka_unit_test(openapi__lists_the_callers_that_each_route_refuses),
        TEST(openapi__bodies_have_the_described_members_in_the_described_types),
        TEST(openapi__bodies_lack_nothing_that_is_required),
        TEST(openapi__bodies_have_no_undescribed_member),
        cmocka_unit_test(openapi__every_explanation_in_the_goldens_is_as_described),
        TEST(openapi__commands_are_answered_as_described),
        TEST(openapi__submissions_plans_and_tokens_are_answered_as_described),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
