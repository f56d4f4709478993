/*  Values outside of what docs/openapi.yaml describes are refused, and none of them reaches the engine or the database:
 *  parameters of queries, texts and lists of bodies. What the core judges, such as priorities, it refuses itself. */
#include "tests/unit/broker/http/openapi_testing.h"

enum { VALUES_MAX = 24 };

/*  The route's path with a sample in place of its parameter, and a query. */
static void target_of(const helio_route_t *route, const char *query, char text[4096])
{
    const char *open = strchr(route->pattern, '{');
    const char *sample = strstr(route->pattern, "/jobs/") ? "01j9a0000000000000000000aa" : "abcdef";
    int path = open ? (int)(open - route->pattern) : (int)strlen(route->pattern);
    (void)snprintf(text, 4096, "%.*s%s%s?%s", path, route->pattern, open ? sample : "",
                   open ? strchr(open, '}') + 1 : "", query);
}

/* ---- queries ------------------------------------------------------------------------------------------- */

/*  What a route asks for besides the parameter at hand. */
static void put_required(const json_t *list, const char *but, char query[2048])
{
    size_t i;
    const json_t *entry;
    query[0] = '\0';
    json_array_foreach(list, i, entry)
    {
        const json_t *parameter = openapi_follow(description, entry);
        const char *name = json_string_value(json_object_get(parameter, "name"));
        if (strcmp(json_string_value(json_object_get(parameter, "in")), "query") != 0 || strcmp(name, but) == 0 ||
            !json_is_true(json_object_get(parameter, "required")))
            continue;
        size_t size = strlen(query);
        (void)snprintf(query + size, 2048 - size, "%s=abc&", name);
    }
}

typedef struct values {
    char items[VALUES_MAX][1200];
    uint32_t count;
} values_t;

static void offer(values_t *values, const char *format, ...) HELIO_PRINTF(2, 3);
static void offer(values_t *values, const char *format, ...)
{
    va_list args;
    assert_true(values->count < VALUES_MAX);
    va_start(args, format);
    (void)vsnprintf(values->items[values->count++], sizeof values->items[0], format, args);
    va_end(args);
}

static void offer_length(values_t *values, size_t size)
{
    assert_true(values->count < VALUES_MAX && size < sizeof values->items[0]);
    memset(values->items[values->count], 'a', size);
    values->items[values->count++][size] = '\0';
}

/*  Values at the described bounds, and values just beyond them. */
static void values_of(const json_t *schema, values_t *ret_good, values_t *ret_bad)
{
    static const char *const no_numbers[] = {"", "x", "-1", "1.5", "1e2", "0x10", "7d", "%201", "99999999999999999999"};
    const json_t *least = json_object_get(schema, "minimum"), *most = json_object_get(schema, "maximum"), *word;
    const json_t *short_ = json_object_get(schema, "minLength"), *long_ = json_object_get(schema, "maxLength");
    const char *type = json_string_value(json_object_get(schema, "type"));
    size_t i;
    if (strcmp(type, "integer") == 0) {
        for (i = 0; i < sizeof no_numbers / sizeof no_numbers[0]; i++)
            offer(ret_bad, "%s", no_numbers[i]);
        offer(ret_good, "%lld", least ? json_integer_value(least) : 1);
        if (least && json_integer_value(least) > 0)
            offer(ret_bad, "%lld", json_integer_value(least) - 1);
        if (most) {
            offer(ret_good, "%lld", json_integer_value(most));
            offer(ret_bad, "%lld", json_integer_value(most) + 1);
            offer(ret_bad, "%lld", json_integer_value(most) + (INT64_C(1) << 32)); /* wraps into a good one */
        }
    }
    json_array_foreach(json_object_get(schema, "enum"), i, word) offer(ret_good, "%s", json_string_value(word));
    if (json_object_get(schema, "enum")) {
        offer(ret_bad, "%s", "no-such-word");
        offer(ret_bad, "%s", "TRUE%20");
    }
    if (short_ && json_integer_value(short_) > 0)
        offer_length(ret_bad, (size_t)json_integer_value(short_) - 1);
    if (long_) {
        offer_length(ret_good, (size_t)json_integer_value(long_));
        offer_length(ret_bad, (size_t)json_integer_value(long_) + 1);
    }
}

static void ask_for(const helio_route_t *route, const json_t *list, const char *name, const char *value)
{
    char query[4096], target[4096];
    put_required(list, name, query);
    size_t size = strlen(query);
    (void)snprintf(query + size, sizeof query - size, "%s=%s", name, value);
    target_of(route, query, target);
    w->events = w->read_calls = w->figure_calls = 0;
    ask(w, &r, route->method, target, w->admin.text, "", NULL);
}

static uint32_t check_parameter(const helio_route_t *route, const json_t *list, const json_t *parameter)
{
    const char *name = json_string_value(json_object_get(parameter, "name"));
    values_t good = {.count = 0}, bad = {.count = 0};
    values_of(openapi_follow(description, json_object_get(parameter, "schema")), &good, &bad);
    for (uint32_t i = 0; i < bad.count; i++) {
        ask_for(route, list, name, bad.items[i]);
        if (r.status != 400 || !strstr(r.body, name) || w->events || w->read_calls)
            fail_msg("%s %s?%s=%.60s is answered %d, after %u calls: %s", route->method, route->pattern, name,
                     bad.items[i], r.status, w->events + w->read_calls, r.body);
    }
    for (uint32_t i = 0; i < good.count; i++) {
        ask_for(route, list, name, good.items[i]);
        if (r.status == 400 || w->events + w->read_calls + w->figure_calls != 1)
            fail_msg("%s %s?%s=%.60s is answered %d, after %u calls: %s", route->method, route->pattern, name,
                     good.items[i], r.status, w->events + w->read_calls, r.body);
    }
    return bad.count;
}

static void openapi__a_query_parameter_beyond_its_bounds_is_refused_by_name(void **state)
{
    (void)state;
    const helio_route_table_t *table = helio_routes();
    uint32_t checked = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        const json_t *list = json_object_get(operation_of(&table->items[i]), "parameters"), *entry;
        size_t k;
        json_array_foreach(list, k, entry)
        {
            const json_t *parameter = openapi_follow(description, entry);
            if (strcmp(json_string_value(json_object_get(parameter, "in")), "query") == 0)
                checked += check_parameter(&table->items[i], list, parameter) > 0;
        }
    }
    assert_true(checked >= 12);
}

static void openapi__a_query_parameter_given_twice_or_misspelt_is_refused(void **state)
{
    (void)state;
    const helio_route_table_t *table = helio_routes();
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        char name[64], query[160], target[4096];
        const char *body = route->body == HELIO_BODY_JOBS ? "run: echo\n" : NULL, *type = body ? YAML : "";
        bool has = sscanf(route->query, "%63s", name) == 1;
        if (!has)
            (void)snprintf(name, sizeof name, "dry_run");
        w->events = w->read_calls = 0;
        (void)snprintf(query, sizeof query, "%s=1&%s=1", name, name);
        target_of(route, query, target);
        ask(w, &r, route->method, target, w->admin.text, type, body);
        assert_int_equal(r.status, 400);
        assert_contains(r.body, has ? "twice" : name);
        (void)snprintf(query, sizeof query, "%sx=1", name);
        target_of(route, query, target);
        ask(w, &r, route->method, target, w->admin.text, type, body);
        if (r.status != 400 || !strstr(r.body, "\"QueryUnknown\"") || !strstr(r.body, route->query))
            fail_msg("%s %s: %d %s", route->method, target, r.status, r.body);
        assert_int_equal(w->events + w->read_calls, 0);
    }
}

/* ---- bodies -------------------------------------------------------------------------------------------- */

static const json_t *body_schema(const helio_route_t *route)
{
    const json_t *body = openapi_follow(description, json_object_get(operation_of(route), "requestBody"));
    const json_t *media = json_object_get(json_object_get(body, "content"), "application/json");
    return route->body == HELIO_BODY_JSON ? openapi_follow(description, json_object_get(media, "schema")) : NULL;
}

/*  The body with what is required, and that value. Consumes the value. */
static void ask_with(const helio_route_t *route, const json_t *schema, const char *key, json_t *value)
{
    json_t *body = json_object();
    const json_t *name;
    char target[4096];
    size_t i;
    json_array_foreach(json_object_get(schema, "required"), i, name)
    {
        const json_t *member = json_object_get(json_object_get(schema, "properties"), json_string_value(name));
        assert_int_equal(json_object_set_new(body, json_string_value(name), openapi_sample(description, member)), 0);
    }
    assert_int_equal(json_object_set_new(body, key, value), 0);
    char *text = json_dumps(body, 0);
    target_of(route, "", target);
    target[strlen(target) - 1] = '\0'; /* no query */
    w->events = 0;
    ask(w, &r, route->method, target, w->admin.text, JSON, text);
    free(text);
    json_decref(body);
}

static void check_refused(const helio_route_t *route, const json_t *schema, const char *key, json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    ask_with(route, schema, key, value);
    if (r.status != 400 || !strstr(r.body, key) || w->events)
        fail_msg("%s %s with '%s': %.80s is answered %d after %u events: %s", route->method, route->pattern, key, text,
                 r.status, w->events, r.body);
    free(text);
}

static json_t *text_of(size_t size)
{
    char *text = helio_new(size + 1, 1);
    memset(text, 'a', size);
    json_t *value = json_string(text);
    free(text);
    return value;
}

static bool allows(const json_t *member, const char *type)
{
    const json_t *types = json_object_get(member, "type"), *only = json_object_get(member, "const"), *entry;
    size_t i;
    if (!types) /* a list of words, or one value */
        return strcmp(type, only ? openapi_type(only) : "string") == 0;
    if (json_is_string(types))
        return strcmp(json_string_value(types), type) == 0;
    json_array_foreach(types, i, entry) if (strcmp(json_string_value(entry), type) == 0) return true;
    return false;
}

typedef void member_fn(const helio_route_t *route, const json_t *schema, const char *key, const json_t *member);

static void each_member(member_fn *check)
{
    const helio_route_table_t *table = helio_routes();
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        const json_t *schema = body_schema(&table->items[i]), *member;
        const char *key;
        if (!schema)
            continue;
        json_object_foreach((json_t *)(uintptr_t)json_object_get(schema, "properties"), key, member)
        {
            check(&table->items[i], schema, key, openapi_follow(description, member));
            count++;
        }
    }
    assert_true(count > 40);
}

static void check_length(const helio_route_t *route, const json_t *schema, const char *key, const json_t *member)
{
    const json_t *longest = json_object_get(member, "maxLength"), *most = json_object_get(member, "maxItems");
    const json_t *item = json_object_get(json_object_get(member, "items"), "maxLength");
    if (longest)
        check_refused(route, schema, key, text_of((size_t)json_integer_value(longest) + 1));
    if (item)
        check_refused(route, schema, key, json_pack("[o]", text_of((size_t)json_integer_value(item) + 1)));
    if (most) {
        json_t *list = json_array();
        while (json_array_size(list) <= (size_t)json_integer_value(most))
            assert_int_equal(json_array_append_new(list, json_string("a")), 0);
        check_refused(route, schema, key, list);
    }
}

static void openapi__a_text_or_list_of_a_body_that_is_too_long_is_refused_by_name(void **state)
{
    (void)state;
    each_member(check_length);
}

/*  A job's own grammar reads PATCH: there, what is written without quotes may stand for a text. */
static void check_types(const helio_route_t *route, const json_t *schema, const char *key, const json_t *member)
{
    static const struct {
        const char *type, *json;
    } values[] = {{"null", "null"},       {"boolean", "true"}, {"integer", "7"}, {"number", "7.25"},
                  {"string", "\"\x01\""}, {"array", "[[]]"},   {"object", "{}"}};
    bool edit = strcmp(route->method, "PATCH") == 0 && allows(member, "string");
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        bool scalar = strcmp(values[i].type, "null") != 0 && values[i].json[0] != '[' && values[i].json[0] != '{';
        bool whole = strcmp(values[i].type, "integer") == 0 && allows(member, "number");
        bool text = strcmp(values[i].type, "string") == 0;
        if ((!text && allows(member, values[i].type)) || whole || (edit && scalar))
            continue;
        json_t *value = text ? json_string("\x01") : json_loads(values[i].json, JSON_DECODE_ANY, NULL);
        assert_non_null(value);
        check_refused(route, schema, key, value);
    }
}

static void openapi__a_value_of_a_body_that_is_of_another_type_is_refused_by_name(void **state)
{
    (void)state;
    each_member(check_types);
}

static void check_sign(const helio_route_t *route, const json_t *schema, const char *key, const json_t *member)
{
    const json_t *least = json_object_get(member, "minimum");
    if ((allows(member, "integer") || allows(member, "number")) && (!least || json_number_value(least) >= 0)) {
        check_refused(route, schema, key, json_integer(-1));
        check_refused(route, schema, key, json_real(-0.5));
    }
    if (allows(member, "integer")) {
        check_refused(route, schema, key, json_real(1.5));
        check_refused(route, schema, key, json_integer(INT64_MAX));
    }
    if (allows(member, "number"))
        check_refused(route, schema, key, json_real(1e300));
}

static void openapi__a_number_of_a_body_is_never_negative_nor_rounded_nor_cut(void **state)
{
    (void)state;
    each_member(check_sign);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(openapi__a_query_parameter_beyond_its_bounds_is_refused_by_name),
        TEST(openapi__a_query_parameter_given_twice_or_misspelt_is_refused),
        TEST(openapi__a_text_or_list_of_a_body_that_is_too_long_is_refused_by_name),
        TEST(openapi__a_value_of_a_body_that_is_of_another_type_is_refused_by_name),
        TEST(openapi__a_number_of_a_body_is_never_negative_nor_rounded_nor_cut),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
