/*  Every route, asked by wrong methods, with bodies of wrong kinds and sizes, and with headers that cannot be met: the
 *  refusal says what the route takes, and nothing reaches the engine or the database. */
#include "tests/unit/broker/http/server_testing.h"

#include "broker/http/routes/routes.h"

/*  "/v1/jobs/{id}" -> "/v1/jobs/abcdef" */
static const char *target_of(const helio_route_t *route, char text[128])
{
    const char *open = strchr(route->pattern, '{');
    int size = open ? (int)(open - route->pattern) : (int)strlen(route->pattern);
    (void)snprintf(text, 128, "%.*s%s%s", size, route->pattern, open ? "abcdef" : "",
                   open ? strchr(open, '}') + 1 : "");
    return text;
}

static void ask_route(const helio_route_t *route, const char *headers, const char *body)
{
    char target[128];
    w->events = w->read_calls = 0;
    ask(w, &r, route->method, target_of(route, target), w->admin.text, headers, body);
}

static void check_refused(const helio_route_t *route, const char *what, int status, const char *text)
{
    if (r.status != status || !strstr(r.body, text) || w->events || w->read_calls)
        fail_msg("%s %s with %s is answered %d, not %d with '%s', after %u calls: %s", route->method, route->pattern,
                 what, r.status, status, text, w->events + w->read_calls, r.body);
    assert_string_equal(reply_header(&r, "Content-Type"), "application/problem+json");
}

/* ---- methods ------------------------------------------------------------------------------------------- */

static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "get"};

static bool takes(const helio_route_table_t *table, const char *pattern, const char *method)
{
    bool head = strcmp(method, "HEAD") == 0;
    for (uint32_t i = 0; i < table->count; i++)
        if (strcmp(table->items[i].pattern, pattern) == 0 && !(head && !helio_route_has_head(&table->items[i])) &&
            strcmp(table->items[i].method, head ? "GET" : method) == 0)
            return true;
    return false;
}

/*  Of "POST, GET, HEAD". */
static bool lists(const char *allow, const char *method)
{
    size_t size = strlen(method);
    for (const char *at = allow; (at = strstr(at, method)); at += size)
        if ((at == allow || at[-1] == ' ') && (at[size] == '\0' || at[size] == ','))
            return true;
    return false;
}

static void http__a_path_refuses_the_methods_that_it_does_not_list(void **state)
{
    (void)state;
    const helio_route_table_t *table = helio_routes();
    for (uint32_t i = 0; i < table->count; i++)
        for (size_t m = 0; m < sizeof methods / sizeof methods[0]; m++) {
            char target[128];
            const char *pattern = table->items[i].pattern;
            if (takes(table, pattern, methods[m]))
                continue;
            client_t *c = client_up(w);
            client_ask(c, methods[m], target_of(&table->items[i], target), w->admin.text, "", NULL);
            assert_true(client_reply_to(c, &r, strcmp(methods[m], "HEAD") == 0));
            client_down(c);
            const char *allow = reply_header(&r, "Allow");
            if (r.status != 405 || !allow)
                fail_msg("%s %s is answered %d", methods[m], pattern, r.status);
            for (size_t k = 0; k < sizeof methods / sizeof methods[0]; k++)
                if (lists(allow, methods[k]) != takes(table, pattern, methods[k]))
                    fail_msg("%s %s allows: %s", methods[m], pattern, allow);
        }
    assert_int_equal(w->events + w->read_calls, 0);
}

/* ---- bodies -------------------------------------------------------------------------------------------- */

static void http__a_body_where_none_belongs_is_refused(void **state)
{
    (void)state;
    const helio_route_table_t *table = helio_routes();
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        if (route->body != HELIO_BODY_NONE)
            continue;
        ask_route(route, "", "x");
        check_refused(route, "a body", 400, "this request takes no body");
        char target[128];
        client_t *c = client_up(w);
        client_ask(c, route->method, target_of(route, target), w->admin.text, "Transfer-Encoding: chunked\r\n", NULL);
        client_send(c, "1\r\nx\r\n0\r\n\r\n", 11);
        assert_true(client_reply(c, &r));
        client_down(c);
        check_refused(route, "a chunked body", 400, "this request takes no body");
    }
}

static void http__a_body_of_a_type_that_is_not_read_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        bool json, jobs, bytes;
    } types[] = {
        {"application/json", true, true, false},
        {"Application/JSON; charset=utf-8", true, true, false},
        {"application/yaml", false, true, false},
        {"text/yaml;charset=utf-8", false, true, false},
        {"application/x-yaml", false, true, false},
        {"application/x-ndjson", false, true, false},
        {"application/octet-stream", false, false, true},
        {"application/jsonx", false, false, false},
        {"application/problem+json", false, false, false},
        {"json", false, false, false},
        {"text/plain", false, false, false},
        {"multipart/form-data; boundary=application/json", false, false, false},
        {"*/*", false, false, false},
    };
    const helio_route_table_t *table = helio_routes();
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        bool jobs = route->body == HELIO_BODY_JOBS;
        for (size_t t = 0; route->body != HELIO_BODY_NONE && t < sizeof types / sizeof types[0]; t++) {
            char header[160];
            (void)snprintf(header, sizeof header, "Content-Type: %s\r\n", types[t].type);
            ask_route(route, header, jobs ? "{\"run\": \"echo\"}" : "{}");
            bool bytes = route->body == HELIO_BODY_BYTES;
            bool good = jobs ? types[t].jobs : bytes ? types[t].bytes : types[t].json;
            if (!good)
                check_refused(route, types[t].type, 415,
                              jobs    ? "x-ndjson"
                              : bytes ? "\"types\":[\"application/octet-stream\"]"
                                      : "\"types\":[\"application/json\"]");
            else if (r.status == 415)
                fail_msg("%s %s does not take %s: %s", route->method, route->pattern, types[t].type, r.body);
        }
    }
}

/*  A document of exactly so many bytes: a comment fills it up. */
static char *document_of(size_t size)
{
    char *text = helio_new(size + 1, 1);
    memset(text, ' ', size);
    memcpy(text, "{\"run\":\"echo\"}", 14);
    return text;
}

static void http__a_body_may_be_as_long_as_its_bound_and_no_longer(void **state)
{
    (void)state;
    world_down(w);
    w = world_up_with((helio_http_options_t){.body_max = 5000});
    const helio_route_table_t *table = helio_routes();
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        if (route->body == HELIO_BODY_NONE)
            continue;
        size_t bound = route->body == HELIO_BODY_JOBS ? 5000 : HELIO_COMMAND_BODY_MAX;
        for (size_t over = 0; over < 2; over++) {
            char *body = document_of(bound + over), bytes[32];
            ask_route(route, JSON, body);
            (void)snprintf(bytes, sizeof bytes, "can have at most %zu bytes", bound);
            if (over)
                check_refused(route, "a byte too many", 413, bytes);
            else if (r.status == 413)
                fail_msg("%s %s: %s", route->method, route->pattern, r.body);
            free(body);
        }
    }
}

/* ---- headers ------------------------------------------------------------------------------------------- */

static void http__an_answer_of_a_type_that_is_not_accepted_is_not_made(void **state)
{
    (void)state;
    const helio_route_table_t *table = helio_routes();
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        const char *body = route->body == HELIO_BODY_JOBS ? "run: echo\n" : NULL;
        char good[160];
        if (strcmp(route->produces, HELIO_PRODUCES_ANY) == 0) /* test_console.c */
            continue;
        ask_route(route, "Accept: image/png, audio/*\r\n", body);
        check_refused(route, "Accept: image/png", 406, route->produces);
        if (route->answer == HELIO_ANSWER_STREAM)
            continue;
        (void)snprintf(good, sizeof good, "Accept: image/png, %s;q=0.1\r\n", route->produces);
        ask_route(route, good, body);
        assert_int_not_equal(r.status, 406);
    }
}

static void http__a_token_is_taken_from_a_bearer_header_alone(void **state)
{
    (void)state;
    const char *token = w->user.text;
    char other_secret[HELIO_TOKEN_SIZE], longer[3 * HELIO_TOKEN_SIZE];
    w->listener.on_leading(w->listener.arg);
    (void)snprintf(other_secret, sizeof other_secret, "%s", token);
    memcpy(strrchr(other_secret, '_'), strrchr(w->other.text, '_'), strlen(strrchr(w->other.text, '_')));
    (void)snprintf(longer, sizeof longer, "%s%s", token, token);
    const struct {
        const char *scheme, *credential;
        int status;
    } rows[] = {
        {"Bearer ", token, 200},        {"bearer ", token, 200}, /* schemes know no case */
        {"BEARER    ", token, 200},     {"Bearer", token, 401},
        {"Token ", token, 401},         {"", token, 401},
        {"Bearer Bearer ", token, 401}, {"Bearer ", "", 401},
        {"Bearer ", token + 1, 401},    {"Bearer hel_", token, 401},
        {"Bearer ", other_secret, 401}, /* an id and another id's secret */
        {"Bearer ", longer, 401},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char header[512];
        (void)snprintf(header, sizeof header, "Authorization: %s%s\r\n", rows[i].scheme, rows[i].credential);
        ask(w, &r, "GET", "/v1/whoami", "", header, NULL);
        if (r.status != rows[i].status)
            fail_msg("%s: %d %s", header, r.status, r.body);
        assert_null(strstr(r.body, strrchr(token, '_') + 1)); /* no answer holds the secret */
    }
    (void)snprintf(longer, sizeof longer, "/v1/whoami?token=%s", token);
    ask(w, &r, "GET", longer, "", "", NULL);
    assert_int_equal(r.status, 401);
}

static void http__an_idempotency_key_is_kept_as_it_was_given_or_refused(void **state)
{
    (void)state;
    char most[121], more[122];
    memset(most, 'k', 120);
    most[120] = '\0';
    memset(more, 'k', 121);
    more[121] = '\0';
    const struct {
        const char *key;
        bool good;
    } rows[] = {
        {"k", true},    {"!~\"#%", true}, {most, true},        {more, false},
        {"a b", false}, {"a\tb", false},  {"\xc3\xa9", false}, {"a\x7f", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char header[256];
        w->events = 0;
        (void)snprintf(header, sizeof header, YAML "Idempotency-Key: %s\r\n", rows[i].key);
        ask(w, &r, "POST", "/v1/jobs", w->user.text, header, "run: echo\n");
        assert_int_equal(r.status, rows[i].good ? 201 : 400);
        assert_int_equal(w->events, rows[i].good);
        if (rows[i].good)
            assert_string_equal(w->keys[0], rows[i].key);
        else
            assert_contains(r.body, "Idempotency-Key must be 1 to 120 visible ASCII characters");
    }
}

/* ---- targets ------------------------------------------------------------------------------------------- */

static void http__a_target_over_a_bound_is_too_long_and_a_malformed_one_is_invalid(void **state)
{
    (void)state;
    char longest[4096 + 8], longer[4096 + 8], many[512] = "/v1/jobs?";
    (void)snprintf(longest, sizeof longest, "/v1/jobs?name=%0*d", 4096 - 14, 0);
    (void)snprintf(longer, sizeof longer, "/v1/jobs?name=%0*d", 4097 - 14, 0);
    for (int i = 0; i < 17; i++)
        (void)snprintf(many + strlen(many), sizeof many - strlen(many), "p%d=1&", i);
    const struct {
        const char *target;
        int status;
    } rows[] = {
        {longest, 404}, /* of the stand-in for the database, which has no jobs */
        {longer, 414},
        {many, 414},
        {"/a/b/c/d/e/f/g/h", 404},
        {"/a/b/c/d/e/f/g/h/i", 414},
        {"/v1//jobs", 400},
        {"/v1/jobs/", 404}, /* a folder, which it is not */
        {"/v1/./jobs", 400},
        {"/v1/jobs/%2e%2e", 400},
        {"/v1/jobs/%2F", 400},
        {"/v1/jobs/%", 400},
        {"/v1/jobs/%4", 400},
        {"/v1/jobs/%zz", 400},
        {"/v1/jobs?name=%0a", 400},
        {"/v1/jobs?=1", 400},
        {"/v1/job%73", 404}, /* the path is decoded: /v1/jobs, and its reads find nothing */
        {"*", 400},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ask(w, &r, "GET", rows[i].target, w->user.text, "", NULL);
        if (r.status != rows[i].status)
            fail_msg("%.80s: %d, not %d: %s", rows[i].target, r.status, rows[i].status, r.body);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(http__a_path_refuses_the_methods_that_it_does_not_list),
        TEST(http__a_body_where_none_belongs_is_refused),
        TEST(http__a_body_of_a_type_that_is_not_read_is_refused),
        TEST(http__a_body_may_be_as_long_as_its_bound_and_no_longer),
        TEST(http__an_answer_of_a_type_that_is_not_accepted_is_not_made),
        TEST(http__a_token_is_taken_from_a_bearer_header_alone),
        TEST(http__an_idempotency_key_is_kept_as_it_was_given_or_refused),
        TEST(http__a_target_over_a_bound_is_too_long_and_a_malformed_one_is_invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
