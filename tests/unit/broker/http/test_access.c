/*  test_access.c -- every cell of the access table of broker/http/request/route.h: each caller asks each route on a
 *  real socket, and the test checks the status and what reached engine and database. */
#include "tests/unit/broker/http/server_testing.h"

#include "broker/http/routes/routes.h"
#include "tests/support/golden.h"

typedef struct caller {
    const char *name;
    const char *token; /* "" = none */
    const char *tenant;
    helio_role_t role;
} caller_t;

/*  A caller that is let in reaches the handler, which may find the request wanting; one that is not reaches nothing. */
typedef struct cell {
    const helio_route_t *route;
    const caller_t *caller;
    helio_grant_t grant;
} cell_t;

static uint32_t actors; /* that were checked */

static helio_grant_t expected(const helio_route_t *route, const caller_t *caller)
{
    return *caller->token ? helio_access_grant_of_role(route->access, caller->role)
                          : helio_access_grant(route->access, NULL);
}

static void request(const cell_t *cell, const char *target)
{
    const helio_route_t *route = cell->route;
    bool edit = strcmp(route->method, "PATCH") == 0, signal = strstr(route->pattern, "/signal") != NULL;
    bool size = strstr(route->pattern, "/size") != NULL;
    const char *body = route->body == HELIO_BODY_JOBS ? "run: echo\n"
                       : edit                         ? "{\"priority\":1}"
                       : signal                       ? "{\"signal\":\"USR1\"}"
                       : size                         ? "{\"rows\":24,\"columns\":80}"
                                                      : NULL;
    w->events = w->read_calls = w->last_param_count = 0;
    w->tenant[0] = '\0';
    ask(w, &r, route->method, target, cell->caller->token, route->body == HELIO_BODY_JOBS ? YAML : "", body);
}

#define assert_cell(cell, condition)                                                                            \
    do {                                                                                                        \
        if (!(condition))                                                                                       \
            fail_msg("%s %s by %s: status %d, not so: %s; last asked %s with %s, %s; tenant '%s'; %s",          \
                     (cell)->route->method, (cell)->route->pattern, (cell)->caller->name, r.status, #condition, \
                     w->last_query, w->last_params[0], w->last_params[1], w->tenant, r.body);                   \
    } while (0)

static uint32_t params_that_are(const char *text)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->last_param_count; i++)
        count += strcmp(w->last_params[i], text) == 0;
    return count;
}

static bool names_a_tenant(void)
{
    return params_that_are("acme") || params_that_are("globex") || params_that_are("ops");
}

/*  The last question to the database is bound to the tenant, or to none. A body that the core gets says whose it is. */
static void check_scope(const cell_t *cell)
{
    const char *tenant = cell->caller->tenant;
    switch (cell->route->access) {
    case HELIO_ACCESS_MEMBER:
        assert_cell(cell, (cell->route->answer == HELIO_ANSWER_OF_CORE ? w->events : w->read_calls) == 1 &&
                              !names_a_tenant() && !*w->tenant);
        break;
    case HELIO_ACCESS_SELF:
        if (cell->route->body == HELIO_BODY_JOBS)
            assert_cell(cell, w->events == 1 && strcmp(w->tenant, tenant) == 0);
        else if (cell->route->answer == HELIO_ANSWER_OF_CHANNEL) /* as its principal: check_actor */
            assert_cell(cell, w->events == 1 && r.status == 200);
        else
            assert_cell(cell, strstr(r.body, tenant));
        break;
    case HELIO_ACCESS_TENANT:
        assert_cell(cell, w->read_calls >= 1);
        if (cell->grant == HELIO_GRANT_OWN)
            assert_cell(cell, params_that_are(tenant) == 1);
        else
            assert_cell(cell, !names_a_tenant() && params_that_are("<null>") >= 1);
        break;
    case HELIO_ACCESS_ANYONE:
    case HELIO_ACCESS_MONITOR:
    case HELIO_ACCESS_OPERATOR:
    case HELIO_ACCESS_ADMIN:
    case HELIO_ACCESS_COUNT:
        break;
    }
}

/*  Names of users belong to their tenants: the audit needs both. */
static void check_actor(const cell_t *cell)
{
    char expected[HELIO_ACTOR_MAX + 1];
    (void)snprintf(expected, sizeof expected, "user:%s/", cell->caller->tenant);
    assert_cell(cell, strncmp(w->actor, expected, strlen(expected)) == 0 && w->actor[strlen(expected)]);
    actors++;
}

static void check(const cell_t *cell)
{
    char text[128];
    request(cell, some_target_of(cell->route, text));
    switch (cell->grant) {
    case HELIO_GRANT_UNKNOWN:
        assert_cell(cell, r.status == 401 && w->events == 0 && w->read_calls == 0);
        break;
    case HELIO_GRANT_REFUSED:
        assert_cell(cell, r.status == 403 && w->events == 0 && w->read_calls == 0);
        break;
    case HELIO_GRANT_OWN:
    case HELIO_GRANT_ALL:
        assert_cell(cell, r.status != 401 && r.status != 403 && r.status != 405);
        check_scope(cell);
        if (w->events && *w->actor)
            check_actor(cell);
        break;
    }
}

/*  The stream is begun before it asks for what a tenant may see. */
static void check_events(const cell_t *cell)
{
    client_t *c = client_up(w);
    w->read_calls = w->last_param_count = 0;
    client_ask(c, "GET", cell->route->pattern, cell->caller->token, "Last-Event-ID: 3\r\n", NULL);
    assert_true(client_head(c, &r));
    if (cell->grant == HELIO_GRANT_UNKNOWN) {
        assert_cell(cell, r.status == 401 && w->read_calls == 0);
    } else {
        assert_true(client_until(c, "data: "));
        assert_string_equal(w->last_query, "read_events");
        check_scope(cell);
    }
    client_down(c);
}

static void access__every_route_grants_every_caller_what_the_access_table_says(void **state)
{
    (void)state;
    world_down(w); /* nobody asks more often than strangers may */
    w = world_up_with((helio_http_options_t){.refusals_burst = 1000});
    const caller_t callers[] = {{"nobody", "", "", HELIO_ROLE_USER},
                                {"a user", w->user.text, "acme", HELIO_ROLE_USER},
                                {"a user of another tenant", w->other.text, "globex", HELIO_ROLE_USER},
                                {"an operator", w->operator_.text, "ops", HELIO_ROLE_OPERATOR},
                                {"an administrator", w->admin.text, "ops", HELIO_ROLE_ADMIN}};
    const helio_route_table_t *table = helio_routes();
    w->listener.on_leading(w->listener.arg);
    script_read(w, "read_last_event", HELIO_OK, "{\"seq\":4}");
    script_read(w, "read_events", HELIO_OK, "[{\"seq\":4}]");
    for (uint32_t i = 0; i < table->count; i++)
        for (size_t k = 0; k < sizeof callers / sizeof callers[0]; k++) {
            const helio_route_t *route = &table->items[i];
            cell_t cell = {route, &callers[k], expected(route, &callers[k])};
            if (strcmp(route->pattern, "/v1/events") == 0)
                check_events(&cell);
            else
                check(&cell);
        }
    assert_true(actors >= 8);
}

/*  A whole id goes to the core without a look-up. The command has the caller's tenant and role. */
static void access__commands_on_jobs_carry_tenant_and_role_to_the_core(void **state)
{
    (void)state;
    static const struct {
        const char *method, *body;
    } commands[] = {{"DELETE", NULL}, {"PATCH", "{\"priority\":1}"}};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        ask(w, &r, commands[i].method, "/v1/jobs/01j9a0000000000000000000aa", w->other.text, "", commands[i].body);
        assert_string_equal(w->tenant, "globex");
        assert_int_equal(w->role, HELIO_ROLE_USER);
        ask(w, &r, commands[i].method, "/v1/jobs/01j9a0000000000000000000aa", w->operator_.text, "", commands[i].body);
        assert_int_equal(w->role, HELIO_ROLE_OPERATOR);
    }
    assert_int_equal(w->read_calls, 0);
}

/*  The matrix itself, as a table that a person has checked: without a token, only the routes that ask for none; with a
 *  higher role, never fewer routes. */
static void access__a_higher_role_never_gets_less(void **state)
{
    (void)state;
    for (uint32_t access = 0; access < HELIO_ACCESS_COUNT; access++) {
        helio_grant_t nobody = helio_access_grant((helio_access_t)access, NULL);
        assert_int_equal(nobody, access == HELIO_ACCESS_ANYONE ? HELIO_GRANT_ALL : HELIO_GRANT_UNKNOWN);
        for (uint32_t role = HELIO_ROLE_USER; role < HELIO_ROLE_ADMIN; role++)
            assert_true(helio_access_grant_of_role((helio_access_t)access, role) <=
                        helio_access_grant_of_role((helio_access_t)access, role + 1));
    }
    assert_int_equal(helio_access_grant_of_role(HELIO_ACCESS_OPERATOR, HELIO_ROLE_USER), HELIO_GRANT_REFUSED);
    assert_int_equal(helio_access_grant_of_role(HELIO_ACCESS_ADMIN, HELIO_ROLE_OPERATOR), HELIO_GRANT_REFUSED);
    assert_int_equal(helio_access_grant_of_role(HELIO_ACCESS_TENANT, HELIO_ROLE_USER), HELIO_GRANT_OWN);
    assert_int_equal(helio_access_grant_of_role(HELIO_ACCESS_SELF, HELIO_ROLE_ADMIN), HELIO_GRANT_OWN);
}

/*  The table as a text that a review reads, and that tests/security/access.py holds on a running broker. */
static void access__the_table_of_all_routes_is_as_reviewed(void **state)
{
    (void)state;
    static const char *const words[] = {[HELIO_GRANT_UNKNOWN] = "unknown",
                                        [HELIO_GRANT_REFUSED] = "refused",
                                        [HELIO_GRANT_OWN] = "own",
                                        [HELIO_GRANT_ALL] = "all"};
    const helio_route_table_t *table = helio_routes();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_text(
        &text, "# What each caller of a route reaches: all = the data of all tenants; own = that of the caller's "
               "tenant;\n# unknown = 401, a token is needed; refused = 403, another role is needed.\n"
               "# method path nobody user operator admin\n");
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        helio_buffer_printf(&text, "%s %s %s", route->method, route->pattern,
                            words[helio_access_grant(route->access, NULL)]);
        for (uint32_t role = HELIO_ROLE_USER; role <= HELIO_ROLE_ADMIN; role++)
            helio_buffer_printf(&text, " %s", words[helio_access_grant_of_role(route->access, role)]);
        helio_buffer_printf(&text, "\n");
    }
    golden_check("tests/golden/http/access.txt", helio_buffer_view(&text));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(access__every_route_grants_every_caller_what_the_access_table_says),
        TEST(access__commands_on_jobs_carry_tenant_and_role_to_the_core),
        TEST(access__a_higher_role_never_gets_less),
        TEST(access__the_table_of_all_routes_is_as_reviewed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
