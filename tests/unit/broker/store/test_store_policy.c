/*  test_store_policy.c -- rows that operators and users set load back; texts that PostgreSQL refuses are replaced. */
#include "tests/unit/broker/store/store_testing.h"

/* ---- what goes in comes out ---------------------------------------------------------------------------------- */

static void store__the_last_row_of_a_quota_is_loaded(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_quota_t rows[] = {{HELIO_TEXT("acme"), HELIO_TEXT("batch"), 0, 4, 1000, 1},
                                {HELIO_TEXT("acme"), {0}, 16, 64, 1000, 2},
                                {HELIO_TEXT("acme"), {0}, 16, HELIO_QUOTA_UNLIMITED, 2500, INT64_C(1795000000007)}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_QUOTA, &rows[i]);
    commit(store);
    assert_value(
        conninfo,
        "select string_agg(format('%s/%s %s %s %s', tenant, queue, guaranteed_gpus, burst_gpus, weight_milli), "
        "'; ' order by queue) from helio.quotas",
        "acme/ 16  2500; acme/batch 0 4 1000");
    loaded_t all = load(store);
    for (size_t i = 0; i < 2; i++)
        assert_true(helio_record_equal(&helio_row_quota_type, nth(&all, HELIO_BROKER_EV_LOAD_QUOTA, (uint32_t)i),
                                       &rows[2 - 2 * i]));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__the_last_rows_of_data_and_links_are_loaded(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_data_t data[] = {
        {HELIO_TEXT("s3://a"), HELIO_TEXT("lulea"), 1, {0}},
        {HELIO_TEXT("s3://b"), HELIO_TEXT("oregon"), 2, HELIO_TEXT("acme")},
        {HELIO_TEXT("s3://a"), HELIO_TEXT("oregon lulea"), INT64_C(1795000000007), HELIO_TEXT("acme")},
        {HELIO_TEXT("s3://c"), HELIO_TEXT("lulea"), 3, {0}},
        {HELIO_TEXT("s3://c"), {0}, 4, {0}}};
    helio_row_link_t links[] = {{HELIO_TEXT("*"), HELIO_TEXT("*"), false, 1000, 1, 1, 1},
                                {HELIO_TEXT("oregon"), HELIO_TEXT("*"), false, 5000, 20000, 90, 2},
                                {HELIO_TEXT("*"), HELIO_TEXT("*"), false, 2000, 3, 4, INT64_C(1795000000007)}};
    for (size_t i = 0; i < sizeof data / sizeof data[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_DATA, &data[i]);
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_LINK, &links[i]);
    commit(store);
    helio_row_data_t gone = {HELIO_TEXT("s3://b"), {0}, 5, {0}};
    helio_row_link_t cut = {.from = HELIO_TEXT("oregon"), .to = HELIO_TEXT("*"), .removed = true, .at_ms = 6};
    append(store, HELIO_BROKER_FX_ROW_DATA, &gone);
    append(store, HELIO_BROKER_FX_ROW_LINK, &cut);
    commit(store);
    assert_value(conninfo, "select string_agg(prefix || sites::text, ' ') from helio.data", "s3://a{oregon,lulea}");
    assert_value(conninfo, "select string_agg(concat_ws(' ', from_site, to_site, mbps, rtt_ms), ';') from helio.links",
                 "* * 2000 4");
    loaded_t all = load(store);
    assert_true(helio_record_equal(&helio_row_data_type, nth(&all, HELIO_BROKER_EV_LOAD_DATA, 0), &data[2]));
    assert_true(helio_record_equal(&helio_row_link_type, nth(&all, HELIO_BROKER_EV_LOAD_LINK, 0), &links[2]));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__curtailments_that_are_not_over_are_loaded(void **state)
{
    enum { SET = 3 };
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    const int64_t never_ms = INT64_C(4102444800000);
    helio_row_curtailment_t row = {.site = HELIO_TEXT("lulea"),
                                   .set_ms = SET,
                                   .from_ms = 4,
                                   .until_ms = never_ms,
                                   .percent = 60,
                                   .reason = HELIO_TEXT("the grid asks"),
                                   .actor = HELIO_TEXT("user:ops/ada")};
    helio_row_curtailment_t over = row, ended = row, changed = row;
    over.set_ms = 1;
    over.until_ms = 5;
    ended.set_ms = 2;
    ended.ended_ms = 7;
    changed.judged_ms = INT64_C(1795000000007);
    changed.full_w = 16000;
    changed.used_w = 9000;
    changed.kept_w = 10;
    changed.jobs_stopped = 2;
    changed.lost_gpu_ms = 240000;
    const helio_row_curtailment_t *rows[] = {&row, &over, &ended, &changed};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_CURTAILMENT, rows[i]);
    commit(store);
    assert_value(conninfo, "select count(*) from helio.curtailments", "3");
    loaded_t all = load(store);
    assert_true(
        helio_record_equal(&helio_row_curtailment_type, nth(&all, HELIO_BROKER_EV_LOAD_CURTAILMENT, 0), &changed));
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_CURTAILMENT, 1));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__the_last_rows_of_queues_and_rules_are_loaded(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_queue_t queues[] = {{HELIO_TEXT("batch"), 150, HELIO_TIER_STANDARD, 7200000, false},
                                  {HELIO_TEXT("a-new"), 5, HELIO_TIER_CRITICAL, 1000, true},
                                  {HELIO_TEXT("a-new"), 6, HELIO_TIER_BEST_EFFORT, 2000, false},
                                  {HELIO_TEXT("reserved"), 800, HELIO_TIER_CRITICAL, 1000, true}};
    helio_row_queue_rule_t rules[] = {
        {.queue = HELIO_TEXT("batch"),
         .region = HELIO_TEXT("EU"),
         .priority = 900,
         .until_ms = INT64_C(1795000000007),
         .at_ms = 7,
         .holds = true},
        {.queue = HELIO_TEXT("batch"),
         .region = HELIO_TEXT("EU"),
         .schedule = HELIO_TEXT("20:00-08:00"),
         .zone = HELIO_TEXT("Europe/Berlin"),
         .zone_data = {"TZif\0\1", 6},
         .priority = 800,
         .at_ms = 8},
        {.queue = HELIO_TEXT("standard"), .schedule = HELIO_TEXT("20:00-08:00"), .priority = 1, .at_ms = 9},
        {.queue = HELIO_TEXT("standard"),
         .schedule = HELIO_TEXT("20:00-08:00"),
         .priority = 1,
         .at_ms = 9,
         .removed = true}};
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_QUEUE, &queues[i]);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_QUEUE_RULE, &rules[i]);
    commit(store);
    loaded_t all = load(store);
    assert_true(helio_record_equal(&helio_row_queue_type, nth(&all, HELIO_BROKER_EV_LOAD_QUEUE, 0), &queues[2]));
    assert_true(helio_record_equal(&helio_row_queue_type, nth(&all, HELIO_BROKER_EV_LOAD_QUEUE, 1), &queues[0]));
    for (uint32_t i = 0; i < 2; i++)
        assert_true(
            helio_record_equal(&helio_row_queue_rule_type, nth(&all, HELIO_BROKER_EV_LOAD_QUEUE_RULE, i), &rules[i]));
    assert_value(conninfo, "select count(*) || ' ' || string_agg(queue, ' ' order by queue) from helio.queues",
                 "5 a-new batch express preemptible standard");
    assert_value(conninfo, "select count(*) from helio.queue_rules", "2");
    queues[0].removed = true; /* its rules go with it */
    append(store, HELIO_BROKER_FX_ROW_QUEUE, &queues[0]);
    commit(store);
    assert_value(conninfo, "select count(*) from helio.queue_rules", "0");
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__the_last_row_of_a_tenant_is_loaded(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_tenant_t rows[] = {{HELIO_TEXT("acme"), HELIO_TEXT("lulea"), false},
                                 {HELIO_TEXT("other"), HELIO_TEXT("oregon"), false},
                                 {HELIO_TEXT("acme"), HELIO_TEXT("oregon"), false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_TENANT, &rows[i]);
    commit(store);
    helio_row_tenant_t homeless = {.tenant = HELIO_TEXT("other")};
    append(store, HELIO_BROKER_FX_ROW_TENANT, &homeless);
    commit(store);
    helio_row_tenant_t unknown[] = {{HELIO_TEXT("acme"), {0}, true}, {HELIO_TEXT("fresh"), {0}, true}};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) /* written by a leader that does not know them */
        append(store, HELIO_BROKER_FX_ROW_TENANT, &unknown[i]);
    commit(store);
    assert_value(conninfo, "select count(*) from helio.tenants where tenant = 'fresh' and home_site is null", "1");
    loaded_t all = load(store);
    assert_true(helio_record_equal(&helio_row_tenant_type, nth(&all, HELIO_BROKER_EV_LOAD_TENANT, 0), &rows[2]));
    assert_true(helio_record_equal(&helio_row_tenant_type, nth(&all, HELIO_BROKER_EV_LOAD_TENANT, 2), &homeless));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__the_last_rows_of_overflow_groups_are_loaded(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_overflow_t rows[] = {
        {HELIO_TEXT("out"), HELIO_TEXT("batch"), {0}, HELIO_TEXT("a; b,after=10m"), 1, false},
        {HELIO_TEXT("gone"), {0}, HELIO_TEXT("acme"), HELIO_TEXT("a"), 2, false},
        {HELIO_TEXT("gone"), {0}, HELIO_TEXT("acme"), HELIO_TEXT("a"), 3, true},
        {HELIO_TEXT("out"), HELIO_TEXT("batch"), HELIO_TEXT("acme"), HELIO_TEXT("a; c"), INT64_C(1795000000007),
         false}};
    append(store, HELIO_BROKER_FX_ROW_OVERFLOW, &rows[1]);
    commit(store);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_OVERFLOW, &rows[i]);
    commit(store);
    loaded_t all = load(store);
    assert_true(helio_record_equal(&helio_row_overflow_type, nth(&all, HELIO_BROKER_EV_LOAD_OVERFLOW, 0), &rows[3]));
    assert_value(conninfo, "select count(*) from helio.overflows", "1");
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__bytes_that_postgresql_refuses_are_replaced(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    static const struct {
        const char *given;
        uint32_t size;
        const char *expected;
    } texts[] = {
        {"a\0b", 3, "a?b"},
        {"\xff\xfe", 2, "??"},
        {"\xc3", 1, "?"},
        {"\xc0\xaf", 2, "??"},
        {"\xed\xa0\x80", 3, "???"},
        {"\xf4\x90\x80\x80", 4, "????"},
        {"s\xc3\xb6\x01", 4, "s\xc3\xb6\x01"},
        {"\xf0\x9f\x8c\x9e", 4, "\xf0\x9f\x8c\x9e"},
    };
    enum { COUNT = sizeof texts / sizeof texts[0] };
    for (uint32_t i = 0; i < COUNT; i++) {
        helio_row_state_t row = state_row(i, HELIO_NO_TASK, HELIO_JOB_HELD);
        helio_value_t value = {.text = {texts[i].given, texts[i].size}};
        row.why = details_of(&value);
        append(store, HELIO_BROKER_FX_ROW_STATE, &row);
    }
    commit(store);
    for (uint32_t i = 0; i < COUNT; i++) {
        char sql[128];
        (void)snprintf(sql, sizeof sql, "select reason from helio.job_state order by job_id offset %u limit 1", i);
        assert_value(conninfo, sql, texts[i].expected);
    }
    helio_store_destroy(&store);
}

/* ---- start and bootstrap ------------------------------------------------------------------------------------- */

static void count_token(void *arg, const helio_row_token_t *token)
{
    assert_true(helio_text_is(token->tenant, "acme"));
    assert_int_equal(token->hash.size, 32);
    assert_memory_equal(token->hash.data, hash_b, 32);
    assert_int_equal(token->created_ms, 5000);
    (*(int *)arg)++;
}

static void count_key(void *arg, const helio_row_site_key_t *key)
{
    assert_true(helio_text_is(key->site, "lulea"));
    (*(int *)arg)++;
}

static void store__bootstrap_puts_tenants_tokens_and_keys_and_audits_them(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_row_token_t token = {.token_id = HELIO_TEXT("t1"),
                               .hash = {hash_b, 32},
                               .tenant = HELIO_TEXT("acme"),
                               .user = HELIO_TEXT("ada"),
                               .role = HELIO_TEXT("admin"),
                               .created_ms = 5000};
    helio_row_site_key_t key = {.public_key = HELIO_TEXT("z85"), .site = HELIO_TEXT("lulea"), .created_ms = 1};
    bool has = true;
    assert_int_equal(helio_store_has_home(conninfo, "acme", &has, NULL), HELIO_OK);
    assert_false(has); /* there is no such tenant */
    assert_int_equal(helio_store_put_tenant(conninfo, "acme", "lulea", NULL, NULL), HELIO_OK);
    assert_int_equal(helio_store_has_home(conninfo, "acme", &has, NULL), HELIO_OK);
    assert_true(has);
    assert_int_equal(helio_store_put_tenant(conninfo, "acme", NULL, NULL, NULL), HELIO_OK);
    assert_int_equal(helio_store_has_home(conninfo, "acme", &has, NULL), HELIO_OK);
    assert_true(has); /* what is not given stays */
    assert_int_equal(helio_store_put_tenant(conninfo, "acme", "", NULL, NULL), HELIO_OK);
    assert_int_equal(helio_store_has_home(conninfo, "acme", &has, NULL), HELIO_OK);
    assert_false(has);
    assert_int_equal(helio_store_put_token(conninfo, &token, NULL), HELIO_OK);
    for (int i = 0; i < 2; i++) { /* what is said again as it stands is not audited again */
        assert_int_equal(helio_store_put_site_key(conninfo, &key, NULL), HELIO_OK);
        assert_int_equal(helio_store_put_tenant(conninfo, "acme", NULL, NULL, NULL), HELIO_OK);
    }
    helio_row_token_t second = token;
    helio_error_t err = {.text = ""};
    second.token_id = HELIO_TEXT("t2");
    helio_pg_exec(conninfo, "update helio.principals set disabled_at = now() where name = 'ada'");
    assert_int_equal(helio_store_put_token(conninfo, &second, &err), HELIO_CONFLICT);
    assert_non_null(strstr(err.text, "`helio user enable ada --tenant acme`"));
    helio_pg_exec(conninfo, "update helio.principals set disabled_at = null");
    helio_store_t *store = opened(conninfo);
    int tokens = 0, keys = 0;
    assert_int_equal(helio_store_each_token(store, count_token, &tokens, NULL), HELIO_OK);
    assert_int_equal(helio_store_each_site_key(store, count_key, &keys, NULL), HELIO_OK);
    assert_int_equal(tokens, 1);
    assert_int_equal(keys, 1);
    token.revoked_ms = key.revoked_ms = 6000;
    append(store, HELIO_BROKER_FX_ROW_TOKEN, &token);
    append(store, HELIO_BROKER_FX_ROW_SITE_KEY, &key);
    for (int i = 0; i < 3; i++) {
        helio_row_audit_t audit = {.at_ms = 7000 + i, .actor = HELIO_TEXT("user:ada"), .action = HELIO_TEXT("token")};
        append(store, HELIO_BROKER_FX_ROW_AUDIT, &audit);
    }
    commit(store);
    assert_int_equal(helio_store_each_token(store, count_token, &tokens, NULL), HELIO_OK);
    assert_int_equal(helio_store_each_site_key(store, count_key, &keys, NULL), HELIO_OK);
    assert_int_equal(tokens, 2); /* a leader that followed before may know it in force */
    assert_int_equal(keys, 1);
    assert_value(conninfo, "select count(*) || ' ' || max(audit_id) from helio.audit", "7 7");
    assert_value(conninfo, "select helio.audit_verify()", "");
    helio_pg_exec(conninfo, "alter table helio.audit disable trigger append_only; "
                            "update helio.audit set detail = 'forged' where audit_id = 4");
    assert_value(conninfo, "select helio.audit_verify()", "4");
    helio_store_destroy(&store);
}

static void count_disabled(void *arg, const helio_row_principal_t *principal)
{
    assert_true(helio_text_is(principal->tenant, "acme"));
    assert_true(!principal->disabled_ms || helio_text_is(principal->user, "ada"));
    (*(int *)arg) += principal->disabled_ms == 6000;
}

static void store__users_are_loaded_disabled_and_enabled(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_row_token_t token = {.token_id = HELIO_TEXT("t1"),
                               .hash = {hash_b, 32},
                               .tenant = HELIO_TEXT("acme"),
                               .user = HELIO_TEXT("ada"),
                               .role = HELIO_TEXT("admin"),
                               .created_ms = 5000};
    helio_row_principal_t ada = {token.tenant, token.user, 6000}, bo = {token.tenant, HELIO_TEXT("bo"), 6000};
    assert_int_equal(helio_store_put_tenant(conninfo, "acme", NULL, NULL, NULL), HELIO_OK);
    assert_int_equal(helio_store_put_token(conninfo, &token, NULL), HELIO_OK);
    helio_store_t *store = opened(conninfo);
    int count = 0;
    assert_int_equal(helio_store_each_user(store, count_disabled, &count, NULL), HELIO_OK);
    assert_int_equal(count, 0);
    append(store, HELIO_BROKER_FX_ROW_PRINCIPAL, &ada);
    append(store, HELIO_BROKER_FX_ROW_PRINCIPAL, &bo);
    bo.disabled_ms = 0; /* the last word of a batch counts */
    append(store, HELIO_BROKER_FX_ROW_PRINCIPAL, &bo);
    commit(store);
    assert_int_equal(helio_store_each_user(store, count_disabled, &count, NULL), HELIO_OK);
    assert_int_equal(count, 1);
    assert_value(conninfo,
                 "select string_agg(concat_ws(' ', principal, created_at < '2000-01-01', disabled_at is null), ', ' "
                 "order by principal) from helio.principals",
                 "user:acme/ada t f, user:acme/bo f t");
    ada.disabled_ms = 0;
    append(store, HELIO_BROKER_FX_ROW_PRINCIPAL, &ada);
    commit(store);
    count = 0;
    assert_int_equal(helio_store_each_user(store, count_disabled, &count, NULL), HELIO_OK);
    assert_int_equal(count, 0);
    helio_store_destroy(&store);
}

static void store__edits_of_open_jobs_are_loaded_and_their_history_is_kept(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    helio_row_edit_t rows[] = {
        {job.job, -3, HELIO_GOAL_FAST, false, 0, 0, 0, 0, HELIO_TEXT("batch"), HELIO_TIER_STANDARD, 7, 1, 0},
        {job.job, 9, HELIO_GOAL_GREEN, true, INT64_C(1795000000001), 3600000, 5000000, 250000, HELIO_TEXT("express"),
         HELIO_TIER_CRITICAL, 8, INT64_C(1795000000007), 7200000},
        /* over, or lost */
        {job_id(2), 1, HELIO_GOAL_GREEN, false, 0, 0, 0, 0, HELIO_TEXT("batch"), HELIO_TIER_STANDARD, 9, 1, 3600000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        append(store, HELIO_BROKER_FX_ROW_EDIT, &rows[i]);
    helio_row_edited_t edited = {
        4, 0, job.job, 1, HELIO_TEXT("user:ada"), HELIO_TEXT("goal"), HELIO_TEXT("fast"), HELIO_TEXT("green")};
    append(store, HELIO_BROKER_FX_ROW_EDITED, &edited);
    commit(store);
    loaded_t all = load(store);
    assert_true(helio_record_equal(&helio_row_edit_type, nth(&all, HELIO_BROKER_EV_LOAD_EDIT, 0), &rows[1]));
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_EDIT, 1));
    assert_value(conninfo, "select actor || ' ' || field || ' ' || before || ' ' || after from helio.edited",
                 "user:ada goal fast green");
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store__the_last_row_of_a_quota_is_loaded),
        cmocka_unit_test(store__the_last_rows_of_data_and_links_are_loaded),
        cmocka_unit_test(store__curtailments_that_are_not_over_are_loaded),
        cmocka_unit_test(store__the_last_rows_of_queues_and_rules_are_loaded),
        cmocka_unit_test(store__the_last_row_of_a_tenant_is_loaded),
        cmocka_unit_test(store__the_last_rows_of_overflow_groups_are_loaded),
        cmocka_unit_test(store__bytes_that_postgresql_refuses_are_replaced),
        cmocka_unit_test(store__bootstrap_puts_tenants_tokens_and_keys_and_audits_them),
        cmocka_unit_test(store__users_are_loaded_disabled_and_enabled),
        cmocka_unit_test(store__edits_of_open_jobs_are_loaded_and_their_history_is_kept),
    };
    return cmocka_run_group_tests(tests, up, down);
}
