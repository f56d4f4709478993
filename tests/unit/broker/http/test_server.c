/*  test_server.c -- access, the metrics, and the life of the server. */
#include "tests/unit/broker/http/server_testing.h"

/* ---- who and what -------------------------------------------------------------------------------------------- */

static void http__health_needs_no_token(void **state)
{
    (void)state;
    ask(w, &r, "GET", "/healthz", "", "", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, "ok\n");
    assert_string_equal(reply_header(&r, "Cache-Control"), "no-store");
    assert_string_equal(reply_header(&r, "X-Content-Type-Options"), "nosniff");
}

static void http__ready_reports_the_readiness_of_the_engine(void **state)
{
    (void)state;
    ask(w, &r, "GET", "/readyz", "", "", NULL);
    assert_int_equal(r.status, 503);
    assert_non_null(reply_header(&r, "Retry-After"));
    w->figures.ready = true;
    ask(w, &r, "GET", "/readyz", "", "", NULL);
    assert_int_equal(r.status, 200);
}

static void http__an_unknown_path_is_a_problem_document(void **state)
{
    (void)state;
    ask(w, &r, "GET", "/v2/jobs", w->user.text, "", NULL);
    assert_int_equal(r.status, 404);
    assert_string_equal(reply_header(&r, "Content-Type"), "application/problem+json");
    assert_contains(r.body, "\"reason\":\"NotFound\"");
    assert_contains(r.body, "\"status\":404");
}

static void http__a_wrong_method_is_answered_with_the_allowed_ones(void **state)
{
    (void)state;
    ask(w, &r, "PUT", "/v1/jobs", w->user.text, "", NULL);
    assert_int_equal(r.status, 405);
    assert_string_equal(reply_header(&r, "Allow"), "POST, GET, HEAD");
}

static void http__every_v1_path_refuses_callers_without_a_valid_token(void **state)
{
    (void)state;
    helio_token_fresh_t expired = {0}, revoked = {0};
    w->listener.on_leading(w->listener.arg);
    world_put_token(w, &expired, "acme", "admin", 1000, 0);
    world_put_token(w, &revoked, "acme", "admin", 0, 5);
    char wrong[sizeof w->user.text];
    memcpy(wrong, w->user.text, sizeof wrong);
    wrong[sizeof wrong - 2] ^= 1;
    const char *tokens[] = {"", "x", "hel_", "hel__x", "hel_abc", "hel_abc_def", wrong, expired.text, revoked.text};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        ask(w, &r, "GET", "/v1/whoami", tokens[i], "", NULL);
        assert_int_equal(r.status, 401);
        assert_string_equal(reply_header(&r, "WWW-Authenticate"), "Bearer realm=\"heliostat\"");
    }
    ask(w, &r, "GET", "/v1/whoami", "", "Authorization: Basic aGVsOmhlbA==\r\n", NULL);
    assert_int_equal(r.status, 401);
    assert_int_equal(w->events, 0);
    assert_int_equal(w->read_calls, 1); /* for the only one that is whole and not known */
}

static void http__before_it_leads_a_broker_answers_503_to_unknown_tokens(void **state)
{
    (void)state;
    ask(w, &r, "GET", "/v1/whoami", "hel_abc_def", "", NULL);
    assert_int_equal(r.status, 503);
    assert_non_null(reply_header(&r, "Retry-After"));
    w->listener.on_leading(w->listener.arg);
    ask(w, &r, "GET", "/v1/whoami", "hel_abc_def", "", NULL);
    assert_int_equal(r.status, 401);
}

static void http__a_revoked_token_is_refused_at_once_on_a_live_connection(void **state)
{
    (void)state;
    client_t *c = client_up(w);
    client_ask(c, "GET", "/v1/whoami", w->user.text, "", NULL);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 200);
    assert_contains(r.body, "\"tenant\":\"acme\"");
    w->listener.on_leading(w->listener.arg);
    world_put_token(w, &w->user, "acme", "user", 0, 7);
    client_ask(c, "GET", "/v1/whoami", w->user.text, "", NULL);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 401);
    client_down(c);
}

static void http__a_role_opens_its_routes_and_no_others(void **state)
{
    (void)state;
    static const struct {
        const char *method, *target;
        int user, operator_, admin;
    } cells[] = {
        {"POST", "/v1/jobs/01j9a0000000000000000000aa/hold", 202, 202, 202},
        {"POST", "/v1/jobs/01j9a0000000000000000000aa/requeue", 202, 202, 202},
        {"POST", "/v1/jobs/01j9a0000000000000000000aa/signal", 400, 400, 400},  /* without a body */
        {"POST", "/v1/jobs/01j9a0000000000000000000aa/release", 202, 202, 202}, /* the core looks who holds it */
        {"POST", "/v1/sites/lulea/drain", 403, 200, 200},
        {"POST", "/v1/sites/lulea/undrain", 403, 200, 200},
        {"POST", "/v1/sites/lulea/curtail", 403, 400, 400},
        {"POST", "/v1/sites/lulea/uncurtail", 403, 200, 200},
        {"GET", "/v1/curtailments", 403, 200, 200},
        {"POST", "/v1/sites", 403, 403, 400},
        {"GET", "/v1/keys", 403, 403, 200},
        {"DELETE", "/v1/sites/lulea/keys", 403, 403, 400},
        {"GET", "/v1/tokens", 403, 403, 200},
        {"POST", "/v1/tokens", 403, 403, 400},
        {"DELETE", "/v1/tokens/none", 403, 403, 404},
        {"GET", "/v1/principals", 403, 403, 200},
        {"POST", "/v1/principals", 403, 403, 400},
        {"GET", "/v1/audit", 403, 403, 200},
        {"GET", "/v1/desired", 200, 200, 200},
        {"GET", "/v1/queues", 200, 200, 200},
        {"GET", "/v1/order", 200, 200, 200},
        {"PUT", "/v1/queues/batch", 403, 400, 400},
        {"PUT", "/v1/queues/batch/rules", 403, 400, 400},
        {"DELETE", "/v1/queues/.bad", 403, 400, 400},
        {"GET", "/v1/overflows", 200, 200, 200},
        {"PUT", "/v1/overflows/out", 403, 400, 400},
        {"DELETE", "/v1/overflows/.bad", 403, 400, 400},
        {"GET", "/v1/quotas", 200, 200, 200},
        {"PUT", "/v1/quotas/acme", 403, 400, 400},
        {"GET", "/v1/tenants", 403, 200, 200},
        {"POST", "/v1/tenants", 403, 400, 400},
        {"GET", "/v1/data", 200, 200, 200},
        {"PUT", "/v1/data", 403, 400, 400},
        {"DELETE", "/v1/data", 403, 400, 400},
        {"GET", "/v1/links", 200, 200, 200},
        {"PUT", "/v1/links", 403, 400, 400},
        {"DELETE", "/v1/links", 403, 400, 400},
    };
    script_read(w, "read_tokens", HELIO_OK, "[]");
    script_read(w, "read_site_keys", HELIO_OK, "[]");
    script_read(w, "read_principals", HELIO_OK, "[]");
    script_read(w, "read_audit", HELIO_OK, "{}");
    script_read(w, "read_queues", HELIO_OK, "[]");
    script_read(w, "read_quotas", HELIO_OK, "[]");
    script_read(w, "read_tenants", HELIO_OK, "[]");
    script_read(w, "read_data", HELIO_OK, "[]");
    script_read(w, "read_links", HELIO_OK, "[]");
    script_read(w, "read_curtailments", HELIO_OK, "[]");
    script_read(w, "read_overflows", HELIO_OK, "[]");
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        ask(w, &r, cells[i].method, cells[i].target, w->user.text, "", NULL);
        assert_int_equal(r.status, cells[i].user);
        ask(w, &r, cells[i].method, cells[i].target, w->operator_.text, "", NULL);
        assert_int_equal(r.status, cells[i].operator_);
        ask(w, &r, cells[i].method, cells[i].target, w->admin.text, "", NULL);
        assert_int_equal(r.status, cells[i].admin);
    }
}

static void http__a_user_reads_only_rows_of_its_tenant(void **state)
{
    (void)state;
    script_read(w, "read_job", HELIO_NOT_FOUND, NULL);
    ask(w, &r, "GET", "/v1/jobs/abcdef", w->user.text, "", NULL);
    assert_int_equal(r.status, 404);
    assert_string_equal(w->last_params[0], "abcdef");
    assert_string_equal(w->last_params[1], "acme");
    ask(w, &r, "GET", "/v1/jobs/abcdef", w->operator_.text, "", NULL);
    assert_string_equal(w->last_params[1], "<null>");
    ask(w, &r, "GET", "/v1/jobs?tenant=globex", w->user.text, "", NULL);
    assert_int_equal(r.status, 403);
}

static void http__headers_that_cannot_be_met_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *method, *target, *headers, *body;
        int status;
        const char *code;
    } cells[] = {
        {"GET", "/v1/whoami", "Accept: text/html\r\n", NULL, 406, "NotAcceptable"},
        {"GET", "/v1/whoami", "Accept: text/html, application/*;q=0.5\r\n", NULL, 200, ""},
        {"GET", "/v1/whoami", "Accept: application/json;q=0\r\n", NULL, 406, "NotAcceptable"},
        {"POST", "/v1/jobs", "", NULL, 411, "BodyLength"},
        {"POST", "/v1/jobs", "Content-Type: application/x-www-form-urlencoded\r\n", "a=b", 415, "BodyType"},
        {"POST", "/v1/tokens", "Content-Type: text/xml\r\n", "<a/>", 415, "BodyType"},
        {"POST", "/v1/jobs", YAML "Idempotency-Key: two words\r\n", "run: a", 400, "KeyInvalid"},
        {"GET", "/v1/jobs?stat=queued", "", NULL, 400, "QueryUnknown"},
        {"GET", "/v1/jobs?limit=x", "", NULL, 400, "QueryNumber"},
        {"GET", "/v1/jobs?limit=1001", "", NULL, 400, "QueryNumber"},
        {"GET", "/v1/jobs?state=sleeping", "", NULL, 400, "MemberWord"},
        {"GET", "/v1/jobs?cursor=%27;drop", "", NULL, 400, "CursorInvalid"},
        {"GET", "/v1/jobs/..%2f..", "", NULL, 400, "InputInvalid"},
        {"GET", "/v1/jobs/%00", "", NULL, 400, "InputInvalid"},
        {"GET", "/v1/jobs/abc", "", NULL, 404, "NoSuchJobId"},
        {"GET", "/v1/jobs/abcdef.x", "", NULL, 404, "NoSuchJobId"},
        {"GET", "/v1/jobs/zzzz/logs", "", NULL, 404, "NoSuchJobId"},
        {"GET", "/v1/jobs/0123456789012345678901234567890123456/logs", "", NULL, 404, "NoSuchJobId"},
    };
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        ask(w, &r, cells[i].method, cells[i].target, w->admin.text, cells[i].headers, cells[i].body);
        if (r.status != cells[i].status)
            fail_msg("%s %s: %d instead of %d: %s", cells[i].method, cells[i].target, r.status, cells[i].status,
                     r.body);
        char code[64];
        (void)snprintf(code, sizeof code, "\"details\":[{\"code\":\"%s\",", cells[i].code);
        if (cells[i].code[0])
            assert_contains(r.body, code);
    }
    ask(w, &r, "GET", "/v1/jobs?state=sleeping", w->admin.text, "", NULL);
    assert_contains(
        r.body, "{\"code\":\"MemberWord\",\"params\":{\"key\":\"state\",\"word\":\"sleeping\",\"words\":[\"queued\",");
    static const char *const words[][2] = {{"qeued", "queued"}, {"running,sucede", "succeeded"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char target[64], suggested[64];
        (void)snprintf(target, sizeof target, "/v1/jobs?state=%s", words[i][0]);
        (void)snprintf(suggested, sizeof suggested, "\"suggestion\":\"%s\"", words[i][1]);
        ask(w, &r, "GET", target, w->admin.text, "", NULL);
        assert_contains(r.body, suggested);
    }
    ask(w, &r, "PUT", "/v1/queues/batch", w->admin.text, JSON, "{\"tier\": \"standrd\"}");
    assert_contains(r.body, "\"suggestion\":\"standard\"");
    ask(w, &r, "POST", "/v1/tokens", w->admin.text, JSON,
        "{\"tenant\": \"acme\", \"user\": \"ada\", \"role\": \"oprator\"}");
    assert_contains(r.body, "\"suggestion\":\"operator\"");
    assert_int_equal(w->read_calls + w->events, 0);
}

/* ---- metrics, and its own life ------------------------------------------------------------------------------- */

static void http__metrics_show_engine_sites_and_requests(void **state)
{
    (void)state;
    w->figures.leader = true;
    w->figures.core.jobs[HELIO_JOB_QUEUED] = 12;
    script_read(w, "read_sites", HELIO_OK,
                "[{\"site\":\"lu\\\"lea\",\"state\":\"ready\",\"gpus_total\":96,\"pue\":null,\"refused\":null},"
                "{\"site\":\"kiruna\",\"state\":\"new\",\"refused\":\"no version in common\"}]");
    script_read(w, "read_series_now", HELIO_OK,
                "[{\"site\":\"kiruna\",\"signal\":\"carbon_g_per_kwh\",\"failed\":false,\"age_s\":310.5}]");
    script_read(w, "read_forecasts_now", HELIO_OK,
                "[{\"site\":\"kiruna\",\"signal\":\"carbon_g_per_kwh\",\"error_ratio\":null},"
                "{\"site\":\"lu\\\"lea\",\"signal\":\"carbon_g_per_kwh\",\"error_ratio\":0.0625}]");
    helio_histogram_add(&w->figures.core.wait_ms[HELIO_TIER_STANDARD], &helio_broker_wait_bounds, 59000);
    helio_histogram_add(&w->figures.core.wait_ms[HELIO_TIER_STANDARD], &helio_broker_wait_bounds, 61000);
    helio_histogram_add(&w->figures.tally.placing_us, &helio_tally_placing_bounds, 3000000);
    w->figures.tally.rejected[HELIO_REJECTION_NO_CAPACITY] = 7;
    w->figures.tally.energy_j.total = 7200000;
    w->figures.tally.carbon_mg.total = 1500;
    w->figures.tally.home.carbon_mg_saved = -250;
    w->figures.frames_bad_total[0].why = "malformed";
    w->figures.frames_bad_total[1].why = "version";
    w->figures.frames_bad_total[1].count = 5;
    world_transition(w, 1, HELIO_JOB_RUNNING);
    ask(w, &r, "GET", "/v1/whoami", w->user.text, "", NULL);
    do /* a request is counted when its answer has left, which is after it arrived */
        ask(w, &r, "GET", "/metrics", w->operator_.text, "", NULL);
    while (!strstr(r.body, "{route=\"GET /v1/whoami\",code=\"200\"} 1\n"));
    assert_int_equal(r.status, 200);
    assert_contains(r.body, "# TYPE helio_jobs gauge\n");
    assert_contains(r.body, "helio_jobs{state=\"queued\"} 12\n");
    assert_contains(r.body, "helio_broker_leader 1\n");
    assert_contains(r.body, "helio_desired_gpus{site=\"lulea\",pool=\"h100\",hours_ahead=\"0\"} 24\n"
                            "helio_desired_gpus{site=\"lulea\",pool=\"h100\",hours_ahead=\"1\"} 8\n");
    assert_contains(r.body, "helio_job_transitions_total{to=\"running\"} 1\n");
    assert_contains(r.body, "helio_site_up{site=\"lu\\\"lea\"} 1\n");
    assert_contains(r.body, "helio_site_gpus{site=\"lu\\\"lea\"} 96\n");
    assert_contains(r.body, "helio_site_refused{site=\"lu\\\"lea\"} 0\n");
    assert_contains(r.body, "helio_site_refused{site=\"kiruna\"} 1\n");
    assert_contains(r.body, "helio_agent_frames_bad_total{reason=\"malformed\"} 0\n");
    assert_contains(r.body, "helio_agent_frames_bad_total{reason=\"version\"} 5\n");
    assert_null(strstr(r.body, "helio_site_pue_ratio{")); /* not known is not 0 */
    assert_contains(r.body, "helio_forecast_age_seconds{site=\"kiruna\",signal=\"carbon_g_per_kwh\"} 310.5\n");
    assert_contains(r.body, "helio_forecast_error_ratio{site=\"lu\\\"lea\",signal=\"carbon_g_per_kwh\"} 0.0625\n");
    assert_null(strstr(r.body, "helio_forecast_error_ratio{site=\"kiruna\""));
    assert_contains(r.body, "helio_job_wait_seconds_bucket{tier=\"standard\",le=\"10\"} 0\n");
    assert_contains(r.body, "helio_job_wait_seconds_bucket{tier=\"standard\",le=\"60\"} 1\n");
    assert_contains(r.body, "helio_job_wait_seconds_bucket{tier=\"standard\",le=\"300\"} 2\n");
    assert_contains(r.body, "helio_job_wait_seconds_bucket{tier=\"standard\",le=\"+Inf\"} 2\n");
    assert_contains(r.body, "helio_job_wait_seconds_sum{tier=\"standard\"} 120\n");
    assert_contains(r.body, "helio_job_wait_seconds_count{tier=\"standard\"} 2\n");
    assert_contains(r.body, "helio_placement_duration_seconds_bucket{le=\"1\"} 0\n");
    assert_contains(r.body, "helio_placement_duration_seconds_bucket{le=\"+Inf\"} 1\n");
    assert_contains(r.body, "helio_candidates_rejected_total{reason=\"NoCapacity\"} 7\n");
    assert_contains(r.body, "helio_energy_joules_total 7200000\n");
    assert_contains(r.body, "helio_emissions_grams_total 1.5\n");
    assert_contains(r.body, "helio_emissions_avoided_grams{baseline=\"home\"} -0.25\n");
    assert_contains(r.body, "helio_http_requests_total{route=\"GET /v1/whoami\",code=\"200\"} 1\n");
    assert_contains(r.body, "helio_http_request_duration_seconds_bucket{route=\"GET /v1/whoami\",le=\"+Inf\"} 1\n");
    uint32_t reads = w->read_calls;
    ask(w, &r, "GET", "/metrics", w->operator_.text, "", NULL);
    assert_int_equal(w->read_calls, reads); /* a scrape is not a query each time */
}

static void http__metrics_show_what_the_last_verification_of_the_audit_found(void **state)
{
    (void)state;
    ask(w, &r, "GET", "/metrics", w->operator_.text, "", NULL);
    assert_null(strstr(r.body, "helio_audit_broken")); /* not known is not whole */
    script_read(w, "read_audit_verify", HELIO_OK, "{\"broken_at\":3,\"entries\":9}");
    ask(w, &r, "GET", "/v1/audit/verify", w->admin.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_contains(r.body, "\"broken_at\":3");
    ask(w, &r, "GET", "/metrics", w->operator_.text, "", NULL);
    assert_contains(r.body, "\nhelio_audit_broken 1\n");
    script_read(w, "read_audit_verify", HELIO_UNAVAILABLE, "");
    ask(w, &r, "GET", "/v1/audit/verify", w->admin.text, "", NULL);
    ask(w, &r, "GET", "/metrics", w->operator_.text, "", NULL);
    assert_contains(r.body, "\nhelio_audit_broken 1\n"); /* what was not read proves nothing */
    script_read(w, "read_audit_verify", HELIO_OK, "{\"broken_at\":null,\"entries\":9}");
    ask(w, &r, "GET", "/v1/audit/verify", w->admin.text, "", NULL);
    ask(w, &r, "GET", "/metrics", w->operator_.text, "", NULL);
    assert_contains(r.body, "\nhelio_audit_broken 0\n");
    assert_contains(r.body, "\nhelio_audit_verified_timestamp_seconds 1");
}

static void http__a_bad_or_used_listen_address_is_an_error_with_a_remedy(void **state)
{
    (void)state;
    static const char *const bad[] = {"",        "127.0.0.1", "127.0.0.1:", ":80", "localhost:80", "127.0.0.1:70000",
                                      "[::1:80", "[]:80",     "::1:80"};
    helio_error_t err;
    helio_http_ports_t ports = {.post = fake_post, .read = fake_read, .engine = w, .reader = w};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        helio_http_t *http = helio_http_new(&(helio_http_options_t){.listen = bad[i]}, w->log);
        assert_int_equal(helio_http_start(http, ports, &err), HELIO_INVALID);
        helio_http_destroy(&http);
    }
    char taken[32];
    (void)snprintf(taken, sizeof taken, "127.0.0.1:%u", (unsigned)helio_http_port(w->http));
    helio_http_t *http = helio_http_new(&(helio_http_options_t){.listen = taken}, w->log);
    assert_int_equal(helio_http_start(http, ports, &err), HELIO_IO);
    assert_contains(err.text, taken);
    helio_http_destroy(&http);
}

static void http__stopping_answers_waiting_requests(void **state)
{
    (void)state;
    world_t *own = world_up();
    own->hold = true;
    client_t *c = client_up(own);
    client_ask(c, "POST", "/v1/jobs", own->user.text, YAML, "run: echo");
    world_await_held(own);
    helio_http_stop(own->http);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 503);
    client_down(c);
    world_reply(own); /* the engine ends later than the shell */
    world_down(own);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(http__health_needs_no_token),
        TEST(http__ready_reports_the_readiness_of_the_engine),
        TEST(http__an_unknown_path_is_a_problem_document),
        TEST(http__a_wrong_method_is_answered_with_the_allowed_ones),
        TEST(http__every_v1_path_refuses_callers_without_a_valid_token),
        TEST(http__before_it_leads_a_broker_answers_503_to_unknown_tokens),
        TEST(http__a_revoked_token_is_refused_at_once_on_a_live_connection),
        TEST(http__a_role_opens_its_routes_and_no_others),
        TEST(http__a_user_reads_only_rows_of_its_tenant),
        TEST(http__headers_that_cannot_be_met_are_refused),
        TEST(http__metrics_show_engine_sites_and_requests),
        TEST(http__metrics_show_what_the_last_verification_of_the_audit_found),
        TEST(http__a_bad_or_used_listen_address_is_an_error_with_a_remedy),
        TEST(http__stopping_answers_waiting_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
