#include "tests/unit/broker/http/harness.h"

#define YAML "Content-Type: application/yaml\r\n"
#define JSON "Content-Type: application/json\r\n"

static world_t *w;
static reply_t r;

static int up(void **state)
{
    (void)state;
    w = world_up();
    return 0;
}

static int down(void **state)
{
    (void)state;
    world_down(w);
    return 0;
}

/* ---- who and what
 * ------------------------------------------------------------------------------------------ */

static void http__health_needs_no_token(void **state)
{
    (void)state;
    ask(w, &r, "GET", "/healthz", "", "", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, "ok\n");
    assert_string_equal(reply_header(&r, "Cache-Control"), "no-store");
    assert_string_equal(reply_header(&r, "X-Content-Type-Options"), "nosniff");
}

static void http__ready_says_what_the_engine_says(void **state)
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

static void http__a_wrong_method_names_the_right_ones(void **state)
{
    (void)state;
    ask(w, &r, "PUT", "/v1/jobs", w->user.text, "", NULL);
    assert_int_equal(r.status, 405);
    assert_string_equal(reply_header(&r, "Allow"), "POST, GET, HEAD");
}

static void http__every_v1_path_refuses_who_has_no_valid_token(void **state)
{
    (void)state;
    helio_token_fresh_t expired = {0}, revoked = {0};
    w->listener.on_leading(w->listener.arg);
    world_put_token(w, &expired, "acme", "admin", 1000, 0);
    world_put_token(w, &revoked, "acme", "admin", 0, 5);
    char wrong[sizeof w->user.text];
    memcpy(wrong, w->user.text, sizeof wrong);
    wrong[sizeof wrong - 2] ^= 1;
    const char *tokens[] = {"",    "x",          "hel_",      "hel__x", "hel_abc", "hel_abc_def",
                            wrong, expired.text, revoked.text};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        ask(w, &r, "GET", "/v1/whoami", tokens[i], "", NULL);
        assert_int_equal(r.status, 401);
        assert_string_equal(reply_header(&r, "WWW-Authenticate"), "Bearer realm=\"heliostat\"");
    }
    ask(w, &r, "GET", "/v1/whoami", "", "Authorization: Basic aGVsOmhlbA==\r\n", NULL);
    assert_int_equal(r.status, 401);
    assert_int_equal(w->events + w->read_calls, 0);
}

static void http__before_it_leads_a_broker_calls_no_token_wrong(void **state)
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

static void http__roles_open_what_they_open_and_nothing_more(void **state)
{
    (void)state;
    static const struct {
        const char *method, *target;
        int user, operator_, admin;
    } cells[] = {
        {"POST", "/v1/jobs/01j9a0000000000000000000aa/release", 403, 202, 202},
        {"POST", "/v1/sites/lulea/drain", 403, 200, 200},
        {"POST", "/v1/sites/lulea/undrain", 403, 200, 200},
        {"POST", "/v1/sites", 403, 403, 400},
        {"GET", "/v1/tokens", 403, 403, 200},
        {"POST", "/v1/tokens", 403, 403, 400},
        {"DELETE", "/v1/tokens/none", 403, 403, 404},
        {"GET", "/v1/audit", 403, 403, 200},
        {"GET", "/v1/queues", 200, 200, 200},
        {"PUT", "/v1/queues/batch", 403, 400, 400},
        {"PUT", "/v1/queues/batch/rules", 403, 400, 400},
        {"DELETE", "/v1/queues/.bad", 403, 400, 400},
        {"GET", "/v1/overflows", 200, 200, 200},
        {"PUT", "/v1/overflows/out", 403, 400, 400},
        {"DELETE", "/v1/overflows/.bad", 403, 400, 400},
        {"GET", "/v1/quotas", 200, 200, 200},
        {"PUT", "/v1/quotas/acme", 403, 400, 400},
        {"GET", "/v1/data", 200, 200, 200},
        {"PUT", "/v1/data", 403, 400, 400},
        {"DELETE", "/v1/data", 403, 400, 400},
        {"GET", "/v1/links", 200, 200, 200},
        {"PUT", "/v1/links", 403, 400, 400},
        {"DELETE", "/v1/links", 403, 400, 400},
    };
    script_read(w, "read_tokens", HELIO_OK, "[]");
    script_read(w, "read_audit", HELIO_OK, "{}");
    script_read(w, "read_queues", HELIO_OK, "[]");
    script_read(w, "read_quotas", HELIO_OK, "[]");
    script_read(w, "read_data", HELIO_OK, "[]");
    script_read(w, "read_links", HELIO_OK, "[]");
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

static void http__what_a_user_reads_is_bound_to_its_tenant(void **state)
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
    } cells[] = {
        {"GET", "/v1/whoami", "Accept: text/html\r\n", NULL, 406},
        {"GET", "/v1/whoami", "Accept: text/html, application/*;q=0.5\r\n", NULL, 200},
        {"GET", "/v1/whoami", "Accept: application/json;q=0\r\n", NULL, 406},
        {"POST", "/v1/jobs", "", NULL, 411},
        {"POST", "/v1/jobs", "Content-Type: application/x-www-form-urlencoded\r\n", "a=b", 415},
        {"POST", "/v1/tokens", "Content-Type: text/xml\r\n", "<a/>", 415},
        {"POST", "/v1/jobs", YAML "Idempotency-Key: two words\r\n", "run: a", 400},
        {"GET", "/v1/jobs?stat=queued", "", NULL, 400},
        {"GET", "/v1/jobs?limit=x", "", NULL, 400},
        {"GET", "/v1/jobs?limit=1001", "", NULL, 400},
        {"GET", "/v1/jobs?state=sleeping", "", NULL, 400},
        {"GET", "/v1/jobs?cursor=%27;drop", "", NULL, 400},
        {"GET", "/v1/jobs/..%2f..", "", NULL, 400},
        {"GET", "/v1/jobs/%00", "", NULL, 400},
        {"GET", "/v1/jobs/abc", "", NULL, 404},
        {"GET", "/v1/jobs/abcdef.x", "", NULL, 404},
    };
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        ask(w, &r, cells[i].method, cells[i].target, w->admin.text, cells[i].headers, cells[i].body);
        if (r.status != cells[i].status)
            fail_msg("%s %s: %d instead of %d: %s", cells[i].method, cells[i].target, r.status,
                     cells[i].status, r.body);
    }
    ask(w, &r, "GET", "/v1/jobs?state=sleeping", w->admin.text, "", NULL);
    assert_contains(r.body, "there is no state 'sleeping'; there are: queued, offered, ");
    assert_contains(r.body, ", lost, held");
    assert_int_equal(w->read_calls + w->events, 0);
}

/* ---- connections
 * ------------------------------------------------------------------------------------------- */

static void http__a_connection_carries_many_requests_also_at_once(void **state)
{
    (void)state;
    client_t *c = client_up(w);
    client_ask(c, "GET", "/healthz", "", "", NULL);
    client_ask(c, "GET", "/v1/whoami", w->user.text, "", NULL);
    client_ask(c, "POST", "/v1/jobs", w->user.text, YAML, "run: echo one");
    client_ask(c, "GET", "/nowhere", "", "", NULL);
    const int expected[] = {200, 200, 201, 404};
    for (size_t i = 0; i < 4; i++) {
        assert_true(client_reply(c, &r));
        assert_int_equal(r.status, expected[i]);
    }
    client_down(c);
}

static void http__a_head_has_no_body(void **state)
{
    (void)state;
    client_t *c = client_up(w);
    client_ask(c, "HEAD", "/healthz", "", "", NULL);
    assert_true(client_reply_to(c, &r, true));
    assert_int_equal(r.status, 200);
    client_ask(c, "HEAD", "/v1/events", w->user.text, "", NULL);
    assert_true(client_reply_to(c, &r, true));
    assert_int_equal(r.status, 405);
    client_ask(c, "GET", "/healthz", "", "", NULL);
    assert_true(client_reply(c, &r)); /* bytes of a body would come first */
    assert_int_equal(r.status, 200);
    client_down(c);
}

static void http__garbage_harms_nobody_but_its_sender(void **state)
{
    (void)state;
    world_t *hasty = world_up_with((helio_http_options_t){.idle_timeout_ms = 1000}); /* some only end by it */
    char endless[100 << 10];
    memset(endless, 'a', sizeof endless);
    static const char tls[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n";
    static const char *const texts[] = {
        "\r\n\r\n\r\n\r\nx", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] + 2; i++) {
        client_t *c = client_up(hasty);
        if (i == 0)
            client_send(c, tls, sizeof tls - 1);
        else if (i == 1)
            client_send(c, endless, sizeof endless);
        else
            client_send(c, texts[i - 2], strlen(texts[i - 2]));
        (void)shutdown(c->fd, SHUT_WR);
        while (client_receive(c)) /* whatever it says, it ends */
            c->size = 0;
        client_down(c);
    }
    ask(hasty, &r, "GET", "/healthz", "", "", NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(hasty->events, 0);
    world_down(hasty);
}

static void http__a_client_that_leaves_while_it_waits_leaves_nothing_behind(void **state)
{
    (void)state;
    w->hold = true;
    client_t *c = client_up(w);
    client_ask(c, "POST", "/v1/jobs", w->user.text, YAML, "run: echo");
    world_await_held(w);
    client_down(c);
    world_answer(w);
    w->hold = false;
    ask(w, &r, "GET", "/healthz", "", "", NULL);
    assert_int_equal(r.status, 200);
}

static void http__a_body_beyond_the_bound_is_not_read(void **state)
{
    (void)state;
    client_t *c = client_up(w);
    client_ask(c, "POST", "/v1/jobs", w->user.text, YAML "Content-Length: 99999999\r\n", NULL);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 413);
    assert_string_equal(reply_header(&r, "Connection"), "close");
    client_down(c);
}

static void http__a_chunked_body_beyond_the_bound_is_refused(void **state)
{
    (void)state;
    world_t *small = world_up_with((helio_http_options_t){.body_max = 1000});
    client_t *c = client_up(small);
    char piece[600 + 32];
    memset(piece, '#', sizeof piece);
    client_ask(c, "POST", "/v1/jobs", small->user.text, YAML "Transfer-Encoding: chunked\r\n", NULL);
    for (int i = 0; i < 4; i++) {
        client_send(c, "258\r\n", 5);
        client_send(c, piece, 600);
        client_send(c, "\r\n", 2);
    }
    client_send(c, "0\r\n\r\n", 5);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 413);
    client_down(c);
    world_down(small);
}

static void http__a_refused_body_of_moderate_size_keeps_the_connection(void **state)
{
    (void)state;
    client_t *c = client_up(w);
    client_ask(c, "POST", "/v1/jobs", "", YAML, "run: GET /evil HTTP/1.1\r\n\r\n");
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 401);
    client_ask(c, "DELETE", "/v1/nowhere", "", JSON, "GET /evil HTTP/1.1\r\n\r\n");
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 404);
    client_ask(c, "GET", "/healthz", "", "", NULL);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 200);
    assert_true(client_is_silent(c)); /* the bodies were not taken for requests */
    client_down(c);
}

static void http__bodies_of_all_requests_together_are_bounded(void **state)
{
    (void)state;
    world_t *small = world_up_with((helio_http_options_t){.bodies_max = 100});
    char body[300];
    memset(body, '#', sizeof body);
    body[sizeof body - 1] = '\0';
    ask(small, &r, "POST", "/v1/jobs", small->user.text, YAML, body);
    assert_int_equal(r.status, 503);
    assert_contains(r.body, "\"reason\":\"Busy\"");
    ask(small, &r, "POST", "/v1/jobs", small->user.text, YAML, "run: echo");
    assert_int_equal(r.status, 201); /* the refused ones were given back */
    world_down(small);
}

/* ---- jobs
 * -------------------------------------------------------------------------------------------------- */

static void http__a_job_is_answered_only_when_the_engine_has_answered(void **state)
{
    (void)state;
    w->hold = true;
    client_t *c = client_up(w);
    client_ask(c, "POST", "/v1/jobs", w->user.text, YAML "Idempotency-Key: k1\r\n",
               "# mine\nrun: echo hello\n");
    world_await_held(w);
    assert_true(client_is_silent(c));
    world_answer(w);
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 201);
    char id[HELIO_ID_SIZE], location[64];
    helio_uuid_text(job_id(0), id);
    (void)snprintf(location, sizeof location, "/v1/jobs/%s", id);
    assert_string_equal(reply_header(&r, "Location"), location);
    assert_contains(r.body, id);
    assert_contains(r.body, "\"jobs\":[{\"id\":");
    assert_string_equal(w->tenant, "acme");
    assert_string_equal(w->user_name, "ana");
    assert_string_equal(w->sources[0], "# mine\nrun: echo hello\n");
    assert_string_equal(w->keys[0], "k1");
    client_down(c);
}

static void http__many_jobs_are_one_event_with_a_key_each(void **state)
{
    (void)state;
    w->jobs_existed = 2;
    ask(w, &r, "POST", "/v1/jobs", w->user.text,
        "Content-Type: application/x-ndjson\r\nIdempotency-Key: batch\r\n",
        "{\"run\": \"a\"}\n{\"run\": \"b\"}\n");
    assert_int_equal(r.status, 201);
    assert_int_equal(w->events, 1);
    assert_int_equal(w->submitted, 2);
    assert_string_equal(w->sources[1], "{\"run\": \"b\"}");
    assert_string_equal(w->keys[0], "batch#0");
    assert_string_equal(w->keys[1], "batch#1");
    assert_contains(r.body, "\"existed\":false},{");
    assert_contains(r.body, "\"existed\":true}]}");
    assert_null(reply_header(&r, "Location"));
    ask(w, &r, "POST", "/v1/jobs", w->user.text, JSON,
        "{\"jobs\": [{\"run\": \"a\"}, {\"run\": \"b\"}, {\"run\": \"c\"}]}");
    assert_int_equal(w->submitted, 3);
    assert_string_equal(w->sources[2], "{\"run\": \"c\"}");
}

static void http__a_document_that_comes_with_a_key_is_hashed(void **state)
{
    (void)state;
    static const uint8_t sha256_of_b[32] = {0x88, 0x61, 0xa2, 0xfb, 0x9e, 0x0d, 0x35, 0xcf, 0x84, 0xe9, 0xed,
                                            0xf7, 0xcf, 0x4d, 0x08, 0xa4, 0x43, 0x8b, 0xbe, 0xb1, 0xfb, 0x9e,
                                            0x64, 0xb7, 0xa5, 0xf2, 0xe0, 0xf1, 0xdd, 0x64, 0xb8, 0x4b};
    ask(w, &r, "POST", "/v1/jobs", w->user.text,
        "Content-Type: application/x-ndjson\r\nIdempotency-Key: hashed\r\n",
        "{\"run\": \"a\"}\n{\"run\": \"b\"}\n");
    assert_int_equal(w->hash_sizes[0], sizeof sha256_of_b);
    assert_int_equal(w->hash_sizes[1], sizeof sha256_of_b);
    assert_memory_equal(w->hashes[1], sha256_of_b, sizeof sha256_of_b);
    assert_memory_not_equal(w->hashes[0], sha256_of_b, sizeof sha256_of_b);
    ask(w, &r, "POST", "/v1/jobs", w->user.text, JSON, "{\"run\": \"b\"}");
    assert_int_equal(w->hash_sizes[0], 0); /* nobody can ask for it again */
}

static const char two_dependents[] =
    "{\"jobs\": [{\"run\": \"a\", \"depends\": {\"after_any\": [\"first00\"], \"after_ok\": [\"second0.1\"]}}, "
    "{\"run\": \"b\", \"depends\": {\"after_not_ok\": [\"first00\"]}}]}";

static void http__what_a_job_depends_on_is_looked_up_before_it_is_submitted(void **state)
{
    (void)state;
    script_read(w, "read_dependencies", HELIO_OK,
                "[{\"found\": 4, \"id\": \"01m7yg7f9xe0081p9nbz4015mb\"},"
                " {\"found\": 2, \"id\": \"01m7yg7fcwe0080b2qy0d24jte.1\"}]");
    ask(w, &r, "POST", "/v1/jobs", w->operator_.text, JSON, two_dependents);
    assert_int_equal(r.status, 201);
    assert_string_equal(w->last_query, "read_dependencies");
    assert_string_equal(w->last_params[0], "[\"first00\",\"second0.1\"]"); /* each once */
    assert_string_equal(w->last_params[1], "ops"); /* whoever asks: the own tenant's alone */
    assert_int_equal(w->submitted, 2);
    assert_int_equal(w->depend_count, 2);
    assert_int_equal(w->depends[0].after, HELIO_AFTER_OK);
    assert_int_equal(w->depends[0].found, HELIO_FOUND_OPEN);
    assert_int_equal(w->depends[0].on.task, 1);
    assert_int_equal(w->depends[1].after, HELIO_AFTER_ANY);
    assert_int_equal(w->depends[1].found, HELIO_FOUND_NOT_OK);
    assert_int_equal(w->depends[1].on.task, HELIO_NO_TASK);
}

static void http__what_ended_meanwhile_is_looked_up_again_a_few_times(void **state)
{
    (void)state;
    script_read(w, "read_dependencies", HELIO_OK, "[{\"found\": 0, \"id\": null}, {\"found\": 1, \"id\": null}]");
    w->answer_rc = HELIO_BUSY;
    w->answer_reason = "Gated";
    w->answer_text = "ended at this moment";
    ask(w, &r, "POST", "/v1/jobs", w->user.text, JSON, two_dependents);
    assert_int_equal(r.status, 429);
    assert_int_equal(w->read_calls, 5);
    assert_int_equal(w->events, 5);
    w->answer_reason = "Queued"; /* another kind of busy: the caller's to repeat */
    ask(w, &r, "POST", "/v1/jobs", w->user.text, JSON, two_dependents);
    assert_int_equal(w->events, 6);
}

static void http__dependencies_that_cannot_be_looked_up_are_not_submitted(void **state)
{
    (void)state;
    static const struct {
        helio_rc rc;
        const char *json;
        uint32_t status;
    } table[] = {{HELIO_UNAVAILABLE, NULL, 503},
                 {HELIO_TIMEOUT, NULL, 504},
                 {HELIO_OK, "[]", 503},
                 {HELIO_OK, "no list", 503},
                 {HELIO_OK, "[{\"found\": 2, \"id\": \"zz\"}, {\"found\": 0}]", 503},
                 {HELIO_OK, "[{\"found\": 5, \"id\": null}, {\"found\": 0}]", 503}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        script_read(w, "read_dependencies", table[i].rc, table[i].json);
        ask(w, &r, "POST", "/v1/jobs", w->user.text, JSON, two_dependents);
        assert_int_equal(r.status, table[i].status);
        assert_int_equal(w->events, 0);
    }
}

static void http__parts_of_ids_are_searched_for_up_to_a_bound(void **state)
{
    (void)state;
    static char body[65536];
    for (int whole = 0; whole < 2; whole++) {
        size_t size = 0;
        for (int i = 0; i < 257; i++)
            size += (size_t)snprintf(body + size, sizeof body - size,
                                     "{\"run\": \"a\", \"depends\": {\"after_ok\": [\"%s%06d\"]}}\n",
                                     whole ? "01m7yg7f9xe0081p9nbz" : "", i);
        script_read(w, "read_dependencies", HELIO_UNAVAILABLE, NULL);
        ask(w, &r, "POST", "/v1/jobs", w->user.text, "Content-Type: application/x-ndjson\r\n", body);
        assert_int_equal(r.status, whole ? 503 : 413);
    }
}

static void http__a_plan_is_json_with_terms_in_dollars(void **state)
{
    (void)state;
    ask(w, &r, "POST", "/v1/plans", w->user.text, YAML,
        "name: finetune-70b\nplacement: {goal: balanced, flexible: 12h}\nrun: echo\n");
    assert_int_equal(r.status, 200);
    assert_int_equal(w->event, HELIO_BROKER_EV_PLAN);
    assert_string_equal(w->tenant, "acme");
    static const char *const parts[] = {
        "{\"job\":{\"name\":\"finetune-70b\",\"gpus\":16,\"nodes\":2,\"duration_s\":2520.0,\"goal\":\"balanced\","
        "\"prices\":{\"carbon_usd_per_t\":200.0,\"wait_usd_per_gpu_h\":0.5},\"flexible_s\":43200.0,\"deadline\":null}"
        ",\"time_limit_s\":21600.0,"
        "\"run\":{\"duration_s\":2520.0,\"duration_p90_s\":4200.0,\"runs\":17,\"failed\":2,\"basis\":\"name\","
        "\"of\":\"finetune-#b\"},",
        "\"candidates\":[{\"site\":\"lulea\",\"pool\":\"h100\",\"backend\":\"slurm\","
        "\"start\":\"2026-03-01T14:20:00.000Z\",\"duration_s\":2520.0,\"duration_p90_s\":4200.0,\"cost_usd\":312.0,"
        "\"energy_kwh\":71.0,"
        "\"carbon_g\":1900.0,\"score_usd\":312.44999999999999,\"transfer_s\":0.0,\"egress_usd\":0.0,\"terms\":{"
        "\"money\":312.0,",
        "\"reason\":null,\"detail\":null},{\"site\":\"frankfurt\"",
        "\"reason\":\"CarbonCap\",\"detail\":\"412 g/kWh > max_carbon\"}]",
        "\"chosen\":\"lulea\",\"chosen_pool\":\"h100\",\"reason\":\"WaitingForWindow\"",
        "\"expected_start\":\"2026-03-01T14:20:00.000Z\",\"policy_version\":\"terms-1\",\"forecast_issued_at\":null,"
        "\"planned_at\":\"2026-03-01T12:00:00.000Z\",",
        "\"expected\":{\"earliest\":\"2026-03-01T14:20:00.000Z\",\"latest\":null,\"basis\":\"as "
        "forecast\",\"at\":null},"
        "\"ahead\":{\"jobs\":3,\"gpus\":24,\"first\":[{\"tenant\":null,\"queue\":\"express\",\"jobs\":3,\"gpus\":24}]"
        "},\"hints\":[{\"kind\":\"flexible\",\"change\":\"without `flexible`\",\"effect\":\"starts at once\"}]}"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assert_contains(r.body, parts[i]);
    ask(w, &r, "POST", "/v1/plans", w->user.text, YAML, "run: echo\nqueu: batch\n");
    assert_int_equal(r.status, 400);
    assert_contains(r.body, "did you mean");
    w->answer_rc = HELIO_INVALID;
    ask(w, &r, "POST", "/v1/plans", w->user.text, YAML, "run: a\n---\nrun: b\n");
    assert_int_equal(r.status, 400);
}

static void http__a_bad_document_is_told_with_its_place_and_nothing_is_submitted(void **state)
{
    (void)state;
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo\nqueu: batch\n");
    assert_int_equal(r.status, 400);
    assert_contains(r.body, "\"reason\":\"Invalid\"");
    assert_contains(r.body, "\"line\":2");
    assert_contains(r.body, "\"code\":\"UnknownKey\"");
    assert_contains(r.body, "did you mean");
    assert_contains(r.body, "\"diagnostic\":\"request:2:1");
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: a\n---\nrun: [b\n");
    assert_int_equal(r.status, 400);
    ask(w, &r, "POST", "/v1/jobs", w->user.text, JSON, "{\"jobs\": [{\"run\": \"a\"}, {\"runn\": \"b\"}]}");
    assert_int_equal(r.status, 400);
    assert_contains(r.body, "\"document\":1");
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "");
    assert_int_equal(r.status, 400);
    assert_int_equal(w->events, 0);
}

static void http__every_result_of_the_engine_has_its_status(void **state)
{
    (void)state;
    static const struct {
        helio_rc rc;
        int status;
        const char *reason;
    } cells[] = {{HELIO_INVALID, 400, "Invalid"},         {HELIO_FORBIDDEN, 403, "Forbidden"},
                 {HELIO_CONFLICT, 409, "Conflict"},       {HELIO_TOO_BIG, 413, "TooBig"},
                 {HELIO_INFEASIBLE, 422, "NeverFits"},    {HELIO_BUSY, 429, "Busy"},
                 {HELIO_UNAVAILABLE, 503, "Unavailable"}, {HELIO_FENCED, 503, "Unavailable"},
                 {HELIO_TIMEOUT, 504, "Timeout"}};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        char reason[64];
        w->answer_rc = cells[i].rc;
        ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo");
        assert_int_equal(r.status, cells[i].status);
        (void)snprintf(reason, sizeof reason, "\"reason\":\"%s\"", cells[i].reason);
        assert_contains(r.body, reason);
        bool retry = cells[i].status == 429 || cells[i].status == 503;
        assert_int_equal(reply_header(&r, "Retry-After") != NULL, retry);
    }
    w->answer_rc = HELIO_CONFLICT;
    w->answer_reason = "Invalid";
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo");
    assert_contains(r.body, "\"reason\":\"Conflict\"");
    w->answer_reason = "Gated";
    w->answer_text = "say \"please\"\n";
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo");
    assert_contains(r.body, "\"reason\":\"Gated\",\"detail\":\"say \\\"please\\\"\\n\"");
}

static void http__a_full_engine_is_429_and_a_full_reader_too(void **state)
{
    (void)state;
    w->post_rc = HELIO_BUSY;
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo");
    assert_int_equal(r.status, 429);
    assert_string_equal(reply_header(&r, "Retry-After"), "1");
    script_read(w, "read_gpus", HELIO_BUSY, NULL);
    ask(w, &r, "GET", "/v1/gpus", w->user.text, "", NULL);
    assert_int_equal(r.status, 429);
}

static void http__no_answer_in_time_is_504_and_the_late_one_is_let_go(void **state)
{
    (void)state;
    world_t *hasty = world_up_with((helio_http_options_t){.request_timeout_ms = 1});
    hasty->hold = true;
    ask(hasty, &r, "POST", "/v1/jobs", hasty->user.text, YAML, "run: echo");
    assert_int_equal(r.status, 504);
    assert_contains(r.body, "Idempotency-Key");
    world_answer(hasty);
    hasty->hold = false;
    ask(hasty, &r, "GET", "/healthz", "", "", NULL);
    assert_int_equal(r.status, 200);
    world_down(hasty);
}

static void http__what_the_database_says_of_itself_is_not_told(void **state)
{
    (void)state;
    script_read(w, "read_gpus", HELIO_UNAVAILABLE, NULL);
    ask(w, &r, "GET", "/v1/gpus", w->user.text, "", NULL);
    assert_int_equal(r.status, 503);
    assert_null(strstr(r.body, "of the database"));
}

static void http__a_list_passes_its_filters_on(void **state)
{
    (void)state;
    script_read(w, "read_jobs", HELIO_OK, "{\"jobs\":[],\"next\":null}");
    ask(w, &r, "GET",
        "/v1/jobs?state=running&queue=batch&name=a%20b&limit=7&cursor=01j9a0000000000000000000aa.3",
        w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, "{\"jobs\":[],\"next\":null}\n");
    static const char *const expected[] = {"acme", "running", "batch", "a b", "01j9a0000000000000000000aa.3",
                                           "7"};
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(w->last_params[i], expected[i]);
}

static void http__a_whole_id_is_cancelled_without_asking_the_database(void **state)
{
    (void)state;
    ask(w, &r, "DELETE", "/v1/jobs/01j9a0000000000000000000aa.4", w->user.text, "", NULL);
    assert_int_equal(r.status, 202);
    assert_int_equal(w->event, HELIO_BROKER_EV_CANCEL);
    assert_string_equal(w->key_text, "01j9a0000000000000000000aa.4");
    assert_string_equal(w->tenant, "acme");
    assert_int_equal(w->read_calls, 0);
}

static void http__a_part_of_an_id_is_resolved_first(void **state)
{
    (void)state;
    script_read(w, "read_job_where", HELIO_OK,
                "{\"id\" : \"01j9a0000000000000000000aa\", \"state\" : \"running\"}");
    ask(w, &r, "DELETE", "/v1/jobs/0000aa", w->user.text, "", NULL);
    assert_int_equal(r.status, 202);
    assert_string_equal(w->key_text, "01j9a0000000000000000000aa");
    assert_string_equal(w->last_params[1], "acme");
    script_read(w, "read_job_where", HELIO_OK, "{\"ambiguous\" : [\"a\", \"b\"]}");
    ask(w, &r, "DELETE", "/v1/jobs/0000aa", w->user.text, "", NULL);
    assert_int_equal(r.status, 409);
    assert_contains(r.body, "\"reason\":\"Ambiguous\"");
    assert_contains(r.body, ",\"ambiguous\" : [\"a\", \"b\"]}");
    script_read(w, "read_job_where", HELIO_NOT_FOUND, NULL);
    ask(w, &r, "DELETE", "/v1/jobs/0000aa", w->user.text, "", NULL);
    assert_int_equal(r.status, 404);
    assert_int_equal(w->events, 1);
}

static void http__cancelling_what_is_over_says_so(void **state)
{
    (void)state;
    w->answer_rc = HELIO_NOT_FOUND;
    script_read(w, "read_job_where", HELIO_OK,
                "{\"id\":\"01j9a0000000000000000000aa\",\"state\":\"succeeded\"}");
    ask(w, &r, "DELETE", "/v1/jobs/01j9a0000000000000000000aa", w->user.text, "", NULL);
    assert_int_equal(r.status, 409);
    assert_contains(r.body, "succeeded");
    script_read(w, "read_job_where", HELIO_NOT_FOUND, NULL);
    ask(w, &r, "DELETE", "/v1/jobs/01j9a0000000000000000000aa", w->user.text, "", NULL);
    assert_int_equal(r.status, 404);
}

static const char job_path[] = "/v1/jobs/01j9a0000000000000000000aa";

static void http__an_edit_is_read_in_the_words_of_a_job_file(void **state)
{
    (void)state;
    w->answer_text = "edited: goal cheap → green";
    ask(w, &r, "PATCH", job_path, w->user.text, JSON,
        "{\"priority\": -7, \"goal\": \"green\", \"deadline\": \"2026-11-22T07:00:00Z\", \"flexible\": \"1h30m\", "
        "\"max_cost\": \"400 USD\", \"max_carbon\": null, \"queue\": \"batch\"}");
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, "{\"id\":\"01j9a0000000000000000000aa\",\"status\":\"edited: goal cheap → green\"}\n");
    assert_int_equal(w->event, HELIO_BROKER_EV_EDIT);
    assert_string_equal(w->key_text, "01j9a0000000000000000000aa");
    assert_string_equal(w->tenant, "acme");
    assert_string_equal(w->user_name, "ana");
    assert_int_equal(w->read_calls, 0);
    const helio_ev_edit_t *e = &w->edit;
    assert_true(e->priority_given && e->priority == -7 && e->goal_given && e->goal == HELIO_GOAL_GREEN);
    assert_true(e->deadline_given && e->deadline_wall_ms == INT64_C(1795330800000));
    assert_true(e->flexible_given && e->flexible_ms == 5400000 && e->max_cost_given && e->max_cost_micro_usd == 400000000);
    assert_true(e->max_carbon_given && e->max_carbon_mg_per_kwh == 0 && e->queue_given);
    assert_string_equal(w->edit_queue, "batch");
    ask(w, &r, "PATCH", job_path, w->user.text, JSON, "{\"goal\": \"fast\"}");
    assert_true(w->edit.goal_given && !w->edit.priority_given && !w->edit.deadline_given && !w->edit.flexible_given &&
                !w->edit.max_cost_given && !w->edit.max_carbon_given && !w->edit.queue_given);
    script_read(w, "read_job_where", HELIO_OK, "{\"id\":\"01j9a0000000000000000000aa\",\"state\":\"queued\"}");
    ask(w, &r, "PATCH", "/v1/jobs/0000aa", w->user.text, JSON, "{\"queue\": \"express\"}");
    assert_int_equal(r.status, 200);
    assert_string_equal(w->key_text, "01j9a0000000000000000000aa");
    assert_string_equal(w->edit_queue, "express");
}

static void http__an_edit_that_is_not_understood_reaches_nobody(void **state)
{
    (void)state;
    static const struct {
        const char *body, *says;
    } rows[] = {
        {"{\"gaol\": \"green\"}", "did you mean 'goal'"},
        {"{\"goal\": \"gren\"}", "did you mean 'green'"},
        {"{\"priority\": 101}", "priority"},
        {"{\"priority\": 1.5}", "priority"},
        {"{\"priority\": null, \"goal\": null}", ""},
        {"{\"deadline\": \"tomorrow\"}", "deadline"},
        {"{\"max_cost\": \"400\"}", "max_cost"},
        {"{\"time\": \"6h\"}", "unknown key"},
        {"{\"goal\": \"green\", \"goal\": \"fast\"}", "not JSON"},
        {"{}", "nothing to edit"},
        {"[]", "must be a JSON object"},
        {"goal: green", "not JSON"},
        {"", "nothing to edit"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ask(w, &r, "PATCH", job_path, w->user.text, JSON, rows[i].body);
        if (r.status != 400 || !strstr(r.body, rows[i].says))
            fail_msg("%s: %d %s", rows[i].body, r.status, r.body);
    }
    assert_int_equal(w->events, 0);
}

static void http__editing_what_is_over_or_placed_says_so(void **state)
{
    (void)state;
    w->answer_rc = HELIO_NOT_FOUND;
    script_read(w, "read_job_where", HELIO_OK, "{\"id\":\"01j9a0000000000000000000aa\",\"state\":\"succeeded\"}");
    ask(w, &r, "PATCH", job_path, w->user.text, JSON, "{\"goal\": \"fast\"}");
    assert_int_equal(r.status, 409);
    assert_contains(r.body, "cannot be edited: it is succeeded");
    w->answer_rc = HELIO_CONFLICT;
    w->answer_text = "job x has a place";
    ask(w, &r, "PATCH", job_path, w->user.text, JSON, "{\"goal\": \"fast\"}");
    assert_int_equal(r.status, 409);
    assert_contains(r.body, "has a place");
    w->answer_rc = HELIO_INFEASIBLE;
    w->answer_reason = "Deadline";
    ask(w, &r, "PATCH", job_path, w->user.text, JSON, "{\"deadline\": \"2026-11-22T07:00:00Z\"}");
    assert_int_equal(r.status, 422);
    assert_contains(r.body, "\"reason\":\"Deadline\"");
}

/* ---- sites, tokens
 * ------------------------------------------------------------------------------------------ */

static void http__site_commands_carry_their_reason(void **state)
{
    (void)state;
    ask(w, &r, "POST", "/v1/sites/lulea/drain", w->operator_.text, JSON, "{\"reason\": \"new switch\"}");
    assert_int_equal(r.status, 200);
    assert_int_equal(w->event, HELIO_BROKER_EV_DRAIN);
    assert_string_equal(w->site, "lulea");
    assert_string_equal(w->reason, "new switch");
    ask(w, &r, "POST", "/v1/sites/lulea/attest", w->operator_.text, "", NULL);
    assert_int_equal(r.status, 400);
    ask(w, &r, "POST", "/v1/sites/lulea/attest", w->operator_.text, JSON, "{\"dead\": false}");
    assert_int_equal(r.status, 400);
    assert_int_equal(w->events, 1);
    ask(w, &r, "POST", "/v1/sites/lulea/attest", w->operator_.text, JSON, "{\"dead\": true}");
    assert_int_equal(r.status, 200);
    assert_int_equal(w->event, HELIO_BROKER_EV_ATTEST);
}

static void http__data_and_links_reach_the_core_as_they_were_said(void **state)
{
    (void)state;
    ask(w, &r, "PUT", "/v1/data", w->operator_.text, JSON,
        "{\"prefix\": \"s3://acme/x\", \"sites\": [\"lulea\", \"aws\"]}");
    assert_int_equal(r.status, 200);
    assert_int_equal(w->event, HELIO_BROKER_EV_DATA);
    assert_string_equal(w->prefix, "s3://acme/x lulea aws");
    ask(w, &r, "PUT", "/v1/data", w->operator_.text, JSON,
        "{\"prefix\": \"s3://acme/x\", \"sites\": [\"aws\"], \"tenant\": \"acme\"}");
    assert_string_equal(w->prefix, "s3://acme/x aws of acme");
    ask(w, &r, "DELETE", "/v1/data?prefix=s3%3A%2F%2Facme%2Fx", w->operator_.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(w->prefix, "s3://acme/x");
    ask(w, &r, "PUT", "/v1/links", w->operator_.text, JSON,
        "{\"from\": \"lulea\", \"to\": \"*\", \"gbps\": 2.5, \"egress_usd_per_gb\": 0.0875, \"rtt_ms\": 90}");
    assert_int_equal(r.status, 200);
    assert_string_equal(w->link, "lulea * 0 2500 87500 90");
    ask(w, &r, "DELETE", "/v1/links?from=lulea&to=%2A", w->operator_.text, "", NULL);
    assert_string_equal(w->link, "lulea * 1 0 0 0");
    static const struct {
        const char *path, *body;
    } bad[] = {
        {"/v1/data", "{\"prefix\": \"s3://a\"}"},
        {"/v1/data", "{\"prefix\": \"s3://a\", \"sites\": []}"},
        {"/v1/data", "{\"prefix\": \"s3://a\", \"sites\": \"lulea\"}"},
        {"/v1/data", "{\"prefix\": \"s3://a\", \"sites\": [3]}"},
        {"/v1/data", "{\"prefix\": \"s3://a\", \"sites\": [\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]}"},
        {"/v1/data", "{\"prefix\": 3, \"sites\": [\"lulea\"]}"},
        {"/v1/links", "{\"from\": \"a\", \"to\": \"b\"}"},
        {"/v1/links", "{\"from\": \"a\", \"to\": \"b\", \"gbps\": -1}"},
        {"/v1/links", "{\"from\": \"a\", \"to\": \"b\", \"gbps\": \"5\"}"},
    };
    uint32_t events = w->events;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ask(w, &r, "PUT", bad[i].path, w->operator_.text, JSON, bad[i].body);
        assert_int_equal(r.status, 400);
    }
    ask(w, &r, "DELETE", "/v1/links?from=lulea", w->operator_.text, "", NULL);
    assert_int_equal(r.status, 400);
    assert_int_equal(w->events, events);
}

static void http__commands_are_read_strictly(void **state)
{
    (void)state;
    static const char *const bad[] = {"[]",
                                      "{",
                                      "{\"reason\": 3}",
                                      "{\"reasn\": \"x\"}",
                                      "{\"reason\": \"a\\u0007b\"}",
                                      "{\"reason\": \"x\", \"reason\": \"y\"}",
                                      "null",
                                      "\xff\xfe"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ask(w, &r, "POST", "/v1/sites/lulea/drain", w->operator_.text, JSON, bad[i]);
        if (r.status != 400)
            fail_msg("%s: %d", bad[i], r.status);
    }
    assert_int_equal(w->events, 0);
}

static void http__a_key_is_enrolled_when_it_is_one(void **state)
{
    (void)state;
    ask(w, &r, "POST", "/v1/sites", w->admin.text, JSON,
        "{\"site\": \"lulea\", \"public_key\": \"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\"}");
    assert_int_equal(r.status, 201);
    assert_string_equal(w->site, "lulea");
    assert_string_equal(w->public_key, "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7");
    ask(w, &r, "POST", "/v1/sites", w->admin.text, JSON, "{\"site\": \"lulea\", \"public_key\": \"short\"}");
    assert_int_equal(r.status, 400);
    ask(w, &r, "POST", "/v1/sites", w->admin.text, JSON,
        "{\"site\": \"-x\", \"public_key\": \"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\"}");
    assert_int_equal(r.status, 400);
    assert_int_equal(w->events, 1);
}

static void http__an_issued_token_opens_once_it_is_in_force_until_revoked(void **state)
{
    (void)state;
    w->listener.on_leading(w->listener.arg);
    ask(w, &r, "POST", "/v1/tokens", w->admin.text, JSON,
        "{\"tenant\": \"acme\", \"user\": \"bo\", \"role\": \"user\", \"ttl_s\": 60}");
    assert_int_equal(r.status, 201);
    char token[HELIO_TOKEN_SIZE];
    const char *at = strstr(r.body, "\"token\":\"");
    assert_non_null(at);
    keep((helio_text_t){at + 9, (uint32_t)strcspn(at + 9, "\"")}, token, sizeof token);
    assert_true(w->token_row.expires_ms == w->token_row.created_ms + 60000);
    ask(w, &r, "GET", "/v1/whoami", token, "", NULL);
    assert_int_equal(r.status, 401); /* its row is not committed yet */
    helio_row_token_t row = {.token_id = helio_text_of(w->token_id),
                             .hash = {(const char *)w->token_hash, 32},
                             .tenant = HELIO_TEXT("acme"),
                             .user = HELIO_TEXT("bo"),
                             .role = HELIO_TEXT("user"),
                             .created_ms = w->token_row.created_ms,
                             .expires_ms = w->token_row.expires_ms};
    w->listener.on_token(w->listener.arg, &row);
    ask(w, &r, "GET", "/v1/whoami", token, "", NULL);
    assert_int_equal(r.status, 200);
    assert_contains(r.body, "\"user\":\"bo\"");
    char target[64], id[40];
    keep(helio_text_of(w->token_id), id, sizeof id);
    (void)snprintf(target, sizeof target, "/v1/tokens/%s", id);
    ask(w, &r, "DELETE", target, w->admin.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_true(w->token_row.revoked_ms > 0);
    assert_string_equal(w->token_id, id);
    assert_memory_equal(w->token_hash, row.hash.data, 32);
}

static void http__metrics_tell_of_engine_sites_and_requests(void **state)
{
    (void)state;
    w->figures.leader = true;
    w->figures.core.jobs[HELIO_JOB_QUEUED] = 12;
    script_read(w, "read_sites", HELIO_OK,
                "[{\"site\":\"lu\\\"lea\",\"state\":\"ready\",\"gpus_total\":96,\"pue\":null,\"refused\":null},"
                "{\"site\":\"kiruna\",\"state\":\"new\",\"refused\":\"no version in common\"}]");
    script_read(w, "read_forecasts_now", HELIO_OK,
                "[{\"site\":\"kiruna\",\"signal\":\"carbon_g_per_kwh\",\"age_s\":310.5,\"error_ratio\":null},"
                "{\"site\":\"lu\\\"lea\",\"signal\":\"carbon_g_per_kwh\",\"age_s\":12,\"error_ratio\":0.0625}]");
    helio_histogram_add(&w->figures.core.wait_ms[HELIO_TIER_STANDARD], &helio_broker_wait_bounds, 59000);
    helio_histogram_add(&w->figures.core.wait_ms[HELIO_TIER_STANDARD], &helio_broker_wait_bounds, 61000);
    helio_histogram_add(&w->figures.tally.placing_us, &helio_tally_placing_bounds, 3000000);
    w->figures.tally.rejected[HELIO_REJECTION_NO_CAPACITY] = 7;
    w->figures.tally.energy_j = 7200000;
    w->figures.tally.carbon_mg = 1500;
    w->figures.tally.home.carbon_mg_saved = -250;
    w->figures.frames_bad_total[0].why = "malformed";
    w->figures.frames_bad_total[1].why = "version";
    w->figures.frames_bad_total[1].count = 5;
    world_transition(w, 1, HELIO_JOB_RUNNING);
    ask(w, &r, "GET", "/v1/whoami", w->user.text, "", NULL);
    do /* a request is counted when its answer has left, which is after it arrived */
        ask(w, &r, "GET", "/metrics", "", "", NULL);
    while (!strstr(r.body, "{route=\"GET /v1/whoami\",code=\"200\"} 1\n"));
    assert_int_equal(r.status, 200);
    assert_contains(r.body, "# TYPE helio_jobs gauge\n");
    assert_contains(r.body, "helio_jobs{state=\"queued\"} 12\n");
    assert_contains(r.body, "helio_broker_leader 1\n");
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
    assert_contains(r.body,
                    "helio_http_request_duration_seconds_bucket{route=\"GET /v1/whoami\",le=\"+Inf\"} 1\n");
    uint32_t reads = w->read_calls;
    ask(w, &r, "GET", "/metrics", "", "", NULL);
    assert_int_equal(w->read_calls, reads); /* a scrape is not a query each time */
}

static void http__a_bad_or_taken_address_is_told(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",        "127.0.0.1", "127.0.0.1:", ":80", "localhost:80", "127.0.0.1:70000",
        "[::1:80", "[]:80",     "::1:80"};
    helio_error_t err;
    helio_http_ports_t ports = {fake_post, fake_read, w, w};
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

static void http__stopping_answers_what_waits(void **state)
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
    world_answer(own); /* the engine ends later than the shell */
    world_down(own);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(http__health_needs_no_token),
        TEST(http__ready_says_what_the_engine_says),
        TEST(http__an_unknown_path_is_a_problem_document),
        TEST(http__a_wrong_method_names_the_right_ones),
        TEST(http__every_v1_path_refuses_who_has_no_valid_token),
        TEST(http__before_it_leads_a_broker_calls_no_token_wrong),
        TEST(http__a_revoked_token_is_refused_at_once_on_a_live_connection),
        TEST(http__roles_open_what_they_open_and_nothing_more),
        TEST(http__what_a_user_reads_is_bound_to_its_tenant),
        TEST(http__headers_that_cannot_be_met_are_refused),
        TEST(http__a_connection_carries_many_requests_also_at_once),
        TEST(http__a_head_has_no_body),
        TEST(http__garbage_harms_nobody_but_its_sender),
        TEST(http__a_client_that_leaves_while_it_waits_leaves_nothing_behind),
        TEST(http__a_body_beyond_the_bound_is_not_read),
        TEST(http__a_chunked_body_beyond_the_bound_is_refused),
        TEST(http__a_refused_body_of_moderate_size_keeps_the_connection),
        TEST(http__bodies_of_all_requests_together_are_bounded),
        TEST(http__a_job_is_answered_only_when_the_engine_has_answered),
        TEST(http__many_jobs_are_one_event_with_a_key_each),
        TEST(http__a_document_that_comes_with_a_key_is_hashed),
        TEST(http__what_a_job_depends_on_is_looked_up_before_it_is_submitted),
        TEST(http__what_ended_meanwhile_is_looked_up_again_a_few_times),
        TEST(http__dependencies_that_cannot_be_looked_up_are_not_submitted),
        TEST(http__parts_of_ids_are_searched_for_up_to_a_bound),
        TEST(http__a_plan_is_json_with_terms_in_dollars),
        TEST(http__a_bad_document_is_told_with_its_place_and_nothing_is_submitted),
        TEST(http__every_result_of_the_engine_has_its_status),
        TEST(http__a_full_engine_is_429_and_a_full_reader_too),
        TEST(http__no_answer_in_time_is_504_and_the_late_one_is_let_go),
        TEST(http__what_the_database_says_of_itself_is_not_told),
        TEST(http__a_list_passes_its_filters_on),
        TEST(http__a_whole_id_is_cancelled_without_asking_the_database),
        TEST(http__a_part_of_an_id_is_resolved_first),
        TEST(http__cancelling_what_is_over_says_so),
        TEST(http__an_edit_is_read_in_the_words_of_a_job_file),
        TEST(http__an_edit_that_is_not_understood_reaches_nobody),
        TEST(http__editing_what_is_over_or_placed_says_so),
        TEST(http__site_commands_carry_their_reason),
        TEST(http__commands_are_read_strictly),
        TEST(http__a_key_is_enrolled_when_it_is_one),
        TEST(http__an_issued_token_opens_once_it_is_in_force_until_revoked),
        TEST(http__data_and_links_reach_the_core_as_they_were_said),
        TEST(http__metrics_tell_of_engine_sites_and_requests),
        TEST(http__a_bad_or_taken_address_is_told),
        TEST(http__stopping_answers_what_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
