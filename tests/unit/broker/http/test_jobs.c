/*  test_jobs.c -- jobs over HTTP. */
#include "tests/unit/broker/http/server_testing.h"

#include "broker/http/request/problem.h"

/* ---- jobs ---------------------------------------------------------------------------------------------- */

static void http__a_job_is_answered_only_when_the_engine_has_answered(void **state)
{
    (void)state;
    w->hold = true;
    client_t *c = client_up(w);
    client_ask(c, "POST", "/v1/jobs", w->user.text, YAML "Idempotency-Key: k1\r\n", "# mine\nrun: echo hello\n");
    world_await_held(w);
    assert_true(client_is_silent(c));
    world_reply(w);
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
    ask(w, &r, "POST", "/v1/jobs", w->user.text, "Content-Type: application/x-ndjson\r\nIdempotency-Key: batch\r\n",
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

static void http__a_document_with_an_idempotency_key_is_hashed(void **state)
{
    (void)state;
    static const uint8_t sha256_of_b[32] = {0x88, 0x61, 0xa2, 0xfb, 0x9e, 0x0d, 0x35, 0xcf, 0x84, 0xe9, 0xed,
                                            0xf7, 0xcf, 0x4d, 0x08, 0xa4, 0x43, 0x8b, 0xbe, 0xb1, 0xfb, 0x9e,
                                            0x64, 0xb7, 0xa5, 0xf2, 0xe0, 0xf1, 0xdd, 0x64, 0xb8, 0x4b};
    ask(w, &r, "POST", "/v1/jobs", w->user.text, "Content-Type: application/x-ndjson\r\nIdempotency-Key: hashed\r\n",
        "{\"run\": \"a\"}\n{\"run\": \"b\"}\n");
    assert_int_equal(w->hash_sizes[0], sizeof sha256_of_b);
    assert_int_equal(w->hash_sizes[1], sizeof sha256_of_b);
    assert_memory_equal(w->hashes[1], sha256_of_b, sizeof sha256_of_b);
    assert_memory_not_equal(w->hashes[0], sha256_of_b, sizeof sha256_of_b);
    ask(w, &r, "POST", "/v1/jobs", w->user.text, JSON, "{\"run\": \"b\"}");
    assert_int_equal(w->hash_sizes[0], 0); /* without a key it is never compared again */
}

static const char two_dependents[] =
    "{\"jobs\": [{\"run\": \"a\", \"depends\": {\"after_any\": [\"first00\"], \"after_ok\": [\"second0.1\"]}}, "
    "{\"run\": \"b\", \"depends\": {\"after_not_ok\": [\"first00\"]}}]}";

static void http__dependencies_are_looked_up_before_the_job_is_submitted(void **state)
{
    (void)state;
    script_read(w, "read_dependencies", HELIO_OK,
                "[{\"found\": 4, \"id\": \"01m7yg7f9xe0081p9nbz4015mb\"},"
                " {\"found\": 2, \"id\": \"01m7yg7fcwe0080b2qy0d24jte.1\"}]");
    ask(w, &r, "POST", "/v1/jobs", w->operator_.text, JSON, two_dependents);
    assert_int_equal(r.status, 201);
    assert_string_equal(w->last_query, "read_dependencies");
    assert_string_equal(w->last_params[0], "[\"first00\",\"second0.1\"]"); /* each once */
    assert_string_equal(w->last_params[1], "ops"); /* for every caller: of its own tenant only */
    assert_int_equal(w->submitted, 2);
    assert_int_equal(w->depend_count, 2);
    assert_int_equal(w->depends[0].after, HELIO_AFTER_OK);
    assert_int_equal(w->depends[0].found, HELIO_FOUND_OPEN);
    assert_int_equal(w->depends[0].on.task, 1);
    assert_int_equal(w->depends[1].after, HELIO_AFTER_ANY);
    assert_int_equal(w->depends[1].found, HELIO_FOUND_NOT_OK);
    assert_int_equal(w->depends[1].on.task, HELIO_NO_TASK);
}

static void http__a_dependency_that_ended_meanwhile_is_looked_up_again_a_few_times(void **state)
{
    (void)state;
    script_read(w, "read_dependencies", HELIO_OK, "[{\"found\": 0, \"id\": null}, {\"found\": 1, \"id\": null}]");
    w->reply_rc = HELIO_BUSY;
    w->reply_reason = "Gated";
    w->reply_text = "ended at this moment";
    ask(w, &r, "POST", "/v1/jobs", w->user.text, JSON, two_dependents);
    assert_int_equal(r.status, 429);
    assert_int_equal(w->read_calls, 5);
    assert_int_equal(w->events, 5);
    w->reply_reason = "Queued"; /* another kind of busy: the caller's to repeat */
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

static void http__the_parts_of_ids_in_one_request_are_bounded(void **state)
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

static void http__a_plan_that_its_deadline_forbids_says_so_in_words_and_codes(void **state)
{
    (void)state;
    ask(w, &r, "POST", "/v1/plans", w->user.text, YAML, "run: echo\nplacement: {deadline: \"2026-03-01T13:00:00Z\"}\n");
    assert_int_equal(r.status, 200);
    assert_contains(r.body,
                    "\"reason\":\"Deadline\",\"detail\":\"deadline 2026-03-01T13:00:00Z cannot be met: the run is "
                    "expected to take up to 1h10m and would end at 2026-03-01T13:10:00Z at the earliest\"");
    assert_contains(r.body,
                    "\"details\":[{\"code\":\"DeadlineMissed\",\"params\":{\"deadline\":\"2026-03-01T13:00:00.000Z\","
                    "\"run_s\":4200.0,");
    assert_contains(r.body, /* a candidate without details of its own */
                    "\"reason\":\"Deadline\",\"detail\":\"more than one run in ten is expected to end after "
                    "`deadline`; if no similar runs are known, a run that takes its whole time limit would\","
                    "\"details\":null},{\"site\":\"frankfurt\"");
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
        "\"carbon_g\":1900.0,\"score_usd\":312.45,\"transfer_s\":0.0,\"egress_usd\":0.0,\"terms\":{"
        "\"money\":312.0,",
        "\"reason\":null,\"detail\":null,\"details\":null},{\"site\":\"frankfurt\"",
        "\"reason\":\"CarbonCap\",\"detail\":\"412 g/kWh > max_carbon 100\",\"details\":[{\"code\":\"AboveMaxCarbon\",\"params\":{\"carbon_g_per_kwh\":412",
        "\"chosen\":\"lulea\",\"chosen_pool\":\"h100\",\"reason\":\"WaitingForWindow\"",
        "\"expected_start\":\"2026-03-01T14:20:00.000Z\",\"policy_version\":\"terms-1\",\"forecast_issued_at\":null,"
        "\"planned_at\":\"2026-03-01T12:00:00.000Z\",",
        "\"expected\":{\"earliest\":\"2026-03-01T14:20:00.000Z\",\"latest\":null,\"basis\":\"the earliest time is the best hour of the forecast;",
        "\"details\":[{\"code\":\"StartForecast\",\"params\":{}}],\"at\":null},"
        "\"ahead\":{\"jobs\":3,\"gpus\":24,\"first\":[{\"tenant\":null,\"queue\":\"express\",\"jobs\":3,\"gpus\":24}]"
        "},\"hints\":[{\"kind\":\"flexible\",\"change\":\"without `flexible`\",\"change_details\":[{\"code\":\"TryNoFlexible\",\"params\":{}}],"
        "\"effect\":\"starts now at lulea/h100, for $12.30 and 1.9 kg CO2e\",\"effect_details\":[{\"code\":\"StartsNow\",\"params\":"
        "{\"site\":\"lulea\",\"pool\":\"h100\",\"cost_usd\":12.3,\"carbon_g\":1900.0}}]}]}"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assert_contains(r.body, parts[i]);
    ask(w, &r, "POST", "/v1/plans", w->user.text, YAML, "run: echo\nqueu: batch\n");
    assert_int_equal(r.status, 400);
    assert_contains(r.body, "did you mean");
    w->reply_rc = HELIO_INVALID;
    ask(w, &r, "POST", "/v1/plans", w->user.text, YAML, "run: a\n---\nrun: b\n");
    assert_int_equal(r.status, 400);
}

static void http__a_plan_has_the_disruption_term_under_its_former_name_too(void **state)
{
    (void)state;
    ask(w, &r, "POST", "/v1/plans", w->user.text, YAML, "placement: {flexible: 12h}\nrun: echo\n");
    assert_int_equal(r.status, 200);
    assert_contains(r.body, "\"shadow\":0.0,\"disruption\":1.25,\"transfer\":0.0,\"move\":1.25}");
}

static void http__a_bad_document_is_refused_with_its_place_and_not_submitted(void **state)
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
        w->reply_rc = cells[i].rc;
        ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo");
        assert_int_equal(r.status, cells[i].status);
        (void)snprintf(reason, sizeof reason, "\"reason\":\"%s\"", cells[i].reason);
        assert_contains(r.body, reason);
        bool retry = cells[i].status == 429 || cells[i].status == 503;
        assert_int_equal(reply_header(&r, "Retry-After") != NULL, retry);
    }
    w->reply_rc = HELIO_CONFLICT;
    w->reply_reason = "Invalid";
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo");
    assert_contains(r.body, "\"reason\":\"Conflict\"");
    w->reply_reason = "Gated";
    w->reply_text = "say \"please\"\n";
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo");
    assert_contains(r.body, "\"reason\":\"Gated\",\"detail\":\"say \\\"please\\\"\\n\"");
}

static void http__a_full_engine_or_reader_is_429(void **state)
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

/*  What a rate of the core says in the problem is what the header says, also when the leader said it. */
static void http__a_wait_that_is_known_is_the_one_of_the_header(void **state)
{
    (void)state;
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    const struct {
        int64_t wait_ms;
        uint32_t status, seconds;
    } rows[] = {{6000, 429, 6}, {59001, 429, 60}, {1, 429, 1}, {0, 429, 1}, {6000, 503, 6}, {6000, 409, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_details_t details = {0};
        helio_details_add(&details, arena,
                          HELIO_DETAIL(arena, HELIO_DETAIL_TENANT_TOO_FAST, helio_value_number(10),
                                       helio_value_number(rows[i].wait_ms)));
        assert_int_equal(helio_problem_retry_after_s(rows[i].status, &details), rows[i].seconds);
    }
    w->reply_rc = HELIO_BUSY;
    w->reply_wait_ms = 41500;
    ask(w, &r, "POST", "/v1/jobs", w->user.text, YAML, "run: echo");
    assert_int_equal(r.status, 429);
    assert_string_equal(reply_header(&r, "Retry-After"), "42");
}

static void http__a_missed_deadline_is_504_and_the_late_answer_is_dropped(void **state)
{
    (void)state;
    world_t *hasty = world_up_with((helio_http_options_t){.request_timeout_ms = 1});
    hasty->hold = true;
    ask(hasty, &r, "POST", "/v1/jobs", hasty->user.text, YAML, "run: echo");
    assert_int_equal(r.status, 504);
    assert_contains(r.body, "Idempotency-Key");
    world_reply(hasty);
    hasty->hold = false;
    ask(hasty, &r, "GET", "/healthz", "", "", NULL);
    assert_int_equal(r.status, 200);
    world_down(hasty);
}

static void http__errors_of_the_database_are_not_shown_to_callers(void **state)
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
    ask(w, &r, "GET", "/v1/jobs?state=running&queue=batch&name=a%20b&limit=7&cursor=01j9a0000000000000000000aa.3",
        w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, "{\"jobs\":[],\"next\":null}\n");
    static const char *const expected[] = {"acme",   "running", "batch",  "a b",
                                           "<null>", "<null>",  "<null>", "<null>",
                                           "<null>", "<null>",  "<null>", "01j9a0000000000000000000aa.3",
                                           "7"};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_string_equal(w->last_params[i], expected[i]);
    script_read(w, "read_jobs", HELIO_OK, "{\"jobs\":[],\"next\":null}");
    ask(w, &r, "GET",
        "/v1/jobs?mine=true&site=lulea&since=2026-11-22T07:00:00Z&until=2026-11-22T08:00:00%2B01:00&label=team%3Dnlp,sweep&sort=cost&arrays=tasks",
        w->user.text, "", NULL);
    assert_int_equal(r.status, 200);
    static const char *const more[] = {
        "acme",          "<null>",         "<null>", "<null>", "ana",    "lulea", "1795330800000",
        "1795330800000", "team=nlp,sweep", "cost",   "tasks",  "<null>", "100"};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        assert_string_equal(w->last_params[i], more[i]);
}

static void http__wrong_filters_of_a_list_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"/v1/jobs?sort=price", "MemberWord"},
        {"/v1/jobs?arrays=half", "MemberWord"},
        {"/v1/jobs?since=yesterday", "QueryTime"},
        {"/v1/jobs?until=2026-11-22", "QueryTime"},
        {"/v1/jobs?label=-team", "QueryLabel"},
        {"/v1/jobs?label=team%3Dnlp,", "QueryLabel"},
        {"/v1/jobs?label=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "QueryLabel"},
        {"/v1/jobs?mine=perhaps", "QueryChoice"},
        {"/v1/jobs?sort=cost&cursor=01j9a0000000000000000000aa", "CursorInvalid"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ask(w, &r, "GET", cases[i][0], w->user.text, "", NULL);
        assert_int_equal(r.status, 400);
        if (!strstr(r.body, cases[i][1]))
            fail_msg("%s: %s", cases[i][0], r.body);
    }
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
    assert_false(w->now);
    ask(w, &r, "DELETE", "/v1/jobs/01j9a0000000000000000000aa?now=true", w->user.text, "", NULL);
    assert_int_equal(r.status, 202);
    assert_true(w->now);
    ask(w, &r, "DELETE", "/v1/jobs/01j9a0000000000000000000aa?now=0", w->user.text, "", NULL);
    assert_true(r.status == 202 && !w->now);
    ask(w, &r, "DELETE", "/v1/jobs/01j9a0000000000000000000aa?now=maybe", w->user.text, "", NULL);
    assert_int_equal(r.status, 400);
}

static void http__a_part_of_an_id_is_resolved_first(void **state)
{
    (void)state;
    script_read(w, "read_job_where", HELIO_OK, "{\"id\" : \"01j9a0000000000000000000aa\", \"state\" : \"running\"}");
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

static void http__cancelling_a_finished_job_answers_with_its_state(void **state)
{
    (void)state;
    w->reply_rc = HELIO_NOT_FOUND;
    script_read(w, "read_job_where", HELIO_OK, "{\"id\":\"01j9a0000000000000000000aa\",\"state\":\"succeeded\"}");
    ask(w, &r, "DELETE", "/v1/jobs/01j9a0000000000000000000aa", w->user.text, "", NULL);
    assert_int_equal(r.status, 409);
    assert_contains(r.body, "succeeded");
    script_read(w, "read_job_where", HELIO_UNAVAILABLE, NULL); /* then it is unknown whether the job exists */
    ask(w, &r, "DELETE", "/v1/jobs/01j9a0000000000000000000aa", w->user.text, "", NULL);
    assert_int_equal(r.status, 503);
    script_read(w, "read_job_where", HELIO_NOT_FOUND, NULL);
    ask(w, &r, "DELETE", "/v1/jobs/01j9a0000000000000000000aa", w->user.text, "", NULL);
    assert_int_equal(r.status, 404);
}

static const char job_path[] = "/v1/jobs/01j9a0000000000000000000aa";

static void http__an_edit_has_the_keys_and_values_of_a_job_file(void **state)
{
    (void)state;
    w->reply_text = "edited: goal cheap → green";
    ask(w, &r, "PATCH", job_path, w->user.text, JSON,
        "{\"priority\": -7, \"goal\": \"green\", \"deadline\": \"2026-11-22T07:00:00Z\", \"flexible\": \"1h30m\", "
        "\"max_cost\": \"400 USD\", \"max_carbon\": null, \"queue\": \"batch\", \"time\": \"2h\"}");
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body,
                        "{\"id\":\"01j9a0000000000000000000aa\",\"status\":\"edited: goal cheap → green\",\"details\":"
                        "[{\"code\":\"StateReported\",\"params\":{\"why\":\"edited: goal cheap → green\"}}]}\n");
    assert_int_equal(w->event, HELIO_BROKER_EV_EDIT);
    assert_string_equal(w->key_text, "01j9a0000000000000000000aa");
    assert_string_equal(w->tenant, "acme");
    assert_string_equal(w->actor, "user:acme/ana");
    assert_int_equal(w->read_calls, 0);
    const helio_ev_edit_t *e = &w->edit;
    assert_true(e->priority_given && e->priority == -7 && e->goal_given && e->goal == HELIO_GOAL_GREEN);
    assert_true(e->deadline_given && e->deadline_wall_ms == INT64_C(1795330800000));
    assert_true(e->flexible_given && e->flexible_ms == 5400000 && e->max_cost_given &&
                e->max_cost_micro_usd == 400000000);
    assert_true(e->max_carbon_given && e->max_carbon_mg_per_kwh == 0 && e->queue_given);
    assert_string_equal(w->edit_queue, "batch");
    assert_true(e->time_given && e->time_change == HELIO_TIME_CHANGE_SET && e->time_limit_ms == 7200000);
    ask(w, &r, "PATCH", job_path, w->user.text, JSON, "{\"time\": \"-30m\"}");
    assert_true(w->edit.time_given && w->edit.time_change == HELIO_TIME_CHANGE_SUBTRACT &&
                w->edit.time_limit_ms == 1800000);
    ask(w, &r, "PATCH", job_path, w->user.text, JSON, "{\"time\": \"+1h\"}");
    assert_true(w->edit.time_change == HELIO_TIME_CHANGE_ADD && w->edit.time_limit_ms == 3600000);
    ask(w, &r, "PATCH", job_path, w->user.text, JSON, "{\"time\": null}");
    assert_true(w->edit.time_given && w->edit.time_change == HELIO_TIME_CHANGE_SET && !w->edit.time_limit_ms);
    ask(w, &r, "PATCH", job_path, w->user.text, JSON, "{\"goal\": \"fast\"}");
    assert_true(w->edit.goal_given && !w->edit.priority_given && !w->edit.deadline_given && !w->edit.flexible_given &&
                !w->edit.max_cost_given && !w->edit.max_carbon_given && !w->edit.queue_given);
    script_read(w, "read_job_where", HELIO_OK, "{\"id\":\"01j9a0000000000000000000aa\",\"state\":\"queued\"}");
    ask(w, &r, "PATCH", "/v1/jobs/0000aa", w->user.text, JSON, "{\"queue\": \"express\"}");
    assert_int_equal(r.status, 200);
    assert_string_equal(w->key_text, "01j9a0000000000000000000aa");
    assert_string_equal(w->edit_queue, "express");
}

static void http__a_signal_and_whom_it_is_for_are_read_strictly(void **state)
{
    (void)state;
    static const char path[] = "/v1/jobs/01j9a0000000000000000000aa/signal";
    static const struct {
        const char *body, *says;
    } wrong[] = {{"{}", "signal"},
                 {"{\"signal\": \"STOP\"}", "HUP"},
                 {"{\"signal\": 10}", "signal"},
                 {"{\"signal\": \"USR1\", \"to\": \"me\"}", "script"},
                 {"{\"signal\": \"USR1\", \"all\": true}", "all"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ask(w, &r, "POST", path, w->user.text, JSON, wrong[i].body);
        assert_int_equal(r.status, 400);
        assert_contains(r.body, wrong[i].says);
    }
    assert_int_equal(w->events, 0);
    ask(w, &r, "POST", path, w->user.text, JSON, "{\"signal\": \"USR1\"}");
    assert_int_equal(r.status, 202);
    assert_string_equal(w->reason, "USR1 job");
    assert_string_equal(w->key_text, "01j9a0000000000000000000aa");
    assert_string_equal(w->tenant, "acme");
    ask(w, &r, "POST", path, w->user.text, JSON, "{\"signal\": \"KILL\", \"to\": \"script\"}");
    assert_string_equal(w->reason, "KILL script");
}

static void http__a_wrong_edit_does_not_reach_the_core(void **state)
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
        {"{\"time\": \"400d\"}", "time"},
        {"{\"time\": \"+\"}", "time"},
        {"{\"time\": \"+-1h\"}", "time"},
        {"{\"nodes\": 6}", "unknown key"},
        {"{\"goal\": \"green\", \"goal\": \"fast\"}", "not JSON"},
        {"{}", "\"NothingToSet\",\"params\":{\"keys\":[\"priority\",\"goal\""},
        {"[]", "must be a JSON object"},
        {"goal: green", "not JSON"},
        {"", "\"NothingToSet\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ask(w, &r, "PATCH", job_path, w->user.text, JSON, rows[i].body);
        if (r.status != 400 || !strstr(r.body, rows[i].says))
            fail_msg("%s: %d %s", rows[i].body, r.status, r.body);
    }
    assert_int_equal(w->events, 0);
}

static void http__editing_a_finished_or_placed_job_is_a_conflict(void **state)
{
    (void)state;
    w->reply_rc = HELIO_NOT_FOUND;
    script_read(w, "read_job_where", HELIO_OK, "{\"id\":\"01j9a0000000000000000000aa\",\"state\":\"succeeded\"}");
    ask(w, &r, "PATCH", job_path, w->user.text, JSON, "{\"goal\": \"fast\"}");
    assert_int_equal(r.status, 409);
    assert_contains(r.body, "cannot be edited: it has already succeeded");
    assert_contains(r.body, "\"code\":\"JobHasEnded\"");
    script_read(w, "read_job_where", HELIO_OK, "{\"id\":\"01j9a0000000000000000000aa\",\"state\":\"cancelled\"}");
    ask(w, &r, "PATCH", job_path, w->user.text, JSON, "{\"goal\": \"fast\"}");
    assert_int_equal(r.status, 409);
    assert_contains(r.body, "cannot be edited: it has already been cancelled");
    assert_contains(r.body, "\"code\":\"JobWasCancelled\""); /* by which a client knows that its cancel worked */
    w->reply_rc = HELIO_CONFLICT;
    w->reply_text = "job x has a place";
    ask(w, &r, "PATCH", job_path, w->user.text, JSON, "{\"goal\": \"fast\"}");
    assert_int_equal(r.status, 409);
    assert_contains(r.body, "has a place");
    w->reply_rc = HELIO_INFEASIBLE;
    w->reply_reason = "Deadline";
    ask(w, &r, "PATCH", job_path, w->user.text, JSON, "{\"deadline\": \"2026-11-22T07:00:00Z\"}");
    assert_int_equal(r.status, 422);
    assert_contains(r.body, "\"reason\":\"Deadline\"");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(http__a_job_is_answered_only_when_the_engine_has_answered),
        TEST(http__many_jobs_are_one_event_with_a_key_each),
        TEST(http__a_document_with_an_idempotency_key_is_hashed),
        TEST(http__dependencies_are_looked_up_before_the_job_is_submitted),
        TEST(http__a_dependency_that_ended_meanwhile_is_looked_up_again_a_few_times),
        TEST(http__dependencies_that_cannot_be_looked_up_are_not_submitted),
        TEST(http__the_parts_of_ids_in_one_request_are_bounded),
        TEST(http__a_plan_that_its_deadline_forbids_says_so_in_words_and_codes),
        TEST(http__a_plan_is_json_with_terms_in_dollars),
        TEST(http__a_plan_has_the_disruption_term_under_its_former_name_too),
        TEST(http__a_bad_document_is_refused_with_its_place_and_not_submitted),
        TEST(http__every_result_of_the_engine_has_its_status),
        TEST(http__a_full_engine_or_reader_is_429),
        TEST(http__a_wait_that_is_known_is_the_one_of_the_header),
        TEST(http__a_missed_deadline_is_504_and_the_late_answer_is_dropped),
        TEST(http__errors_of_the_database_are_not_shown_to_callers),
        TEST(http__a_list_passes_its_filters_on),
        TEST(http__wrong_filters_of_a_list_are_refused),
        TEST(http__a_whole_id_is_cancelled_without_asking_the_database),
        TEST(http__a_part_of_an_id_is_resolved_first),
        TEST(http__cancelling_a_finished_job_answers_with_its_state),
        TEST(http__an_edit_has_the_keys_and_values_of_a_job_file),
        TEST(http__a_wrong_edit_does_not_reach_the_core),
        TEST(http__a_signal_and_whom_it_is_for_are_read_strictly),
        TEST(http__editing_a_finished_or_placed_job_is_a_conflict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
