/*  test_follower.c -- what a broker that does not lead sees of the one that does, and of tokens and users. */
#include "tests/unit/broker/store/store_testing.h"

#include "broker/store/follower.h"

/*  The rows that the looks so far have read. */
typedef struct seen {
    uint32_t tokens, revoked, users, disabled;
} seen_t;

static uint32_t begins, ends; /* of such readings */

static void on_begin(void *arg)
{
    seen_t *seen = arg;
    assert_int_equal(seen->tokens + seen->users, 0);
    begins++;
}

static void on_end(void *arg)
{
    (void)arg;
    ends++;
}

static void on_token(void *arg, const helio_row_token_t *token)
{
    seen_t *seen = arg;
    seen->tokens++;
    seen->revoked += token->revoked_ms != 0;
}

static void on_user(void *arg, const helio_row_principal_t *user)
{
    seen_t *seen = arg;
    seen->users++;
    seen->disabled += user->disabled_ms != 0;
}

typedef struct sight {
    helio_follower_t *follower;
    bool leads;
    helio_leader_t leader;
    seen_t seen;
} sight_t;

static helio_rc look(sight_t *self)
{
    helio_error_t err = {.text = ""};
    helio_follower_visitor_t visitor = {on_begin, on_token, on_user, on_end, &self->seen};
    self->seen = (seen_t){0};
    return helio_follower_look(self->follower, &visitor, &self->leads, &self->leader, &err);
}

static void follower__sees_who_leads_and_where_it_is_reached(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_error_t err = {.text = ""};
    sight_t sight = {.follower = helio_follower_new(conninfo)};
    assert_int_equal(look(&sight), HELIO_OK);
    assert_false(sight.leads);
    assert_string_equal(sight.leader.http, "");
    for (uint64_t epoch = 1; epoch <= 2; epoch++) {
        const char *http = epoch == 1 ? "http://10.0.0.7:7480" : "";
        helio_store_t *store = helio_store_new((helio_store_options_t){.conninfo = conninfo, .http = http});
        assert_int_equal(helio_store_open(store, &err), HELIO_OK);
        assert_int_equal(look(&sight), HELIO_OK);
        assert_true(sight.leads);
        assert_string_equal(sight.leader.http, http); /* the one before it is not taken for this one */
        assert_non_null(strchr(sight.leader.name, '/'));
        assert_int_equal(sight.leader.epoch, epoch);
        helio_row_transition_t row = {.seq = epoch * 7, .key = {job_id(1), HELIO_NO_TASK}, .to = HELIO_JOB_OFFERED};
        append(store, HELIO_BROKER_FX_ROW_TRANSITION, &row);
        commit(store);
        assert_int_equal(look(&sight), HELIO_OK);
        assert_int_equal(sight.leader.last_seq, epoch * 7);
        helio_store_destroy(&store);
        for (int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS; sight.leads && helio_clock_boot_ms() < until_ms;
             (void)poll(NULL, 0, 10))
            assert_int_equal(look(&sight), HELIO_OK);
        assert_false(sight.leads);
    }
    helio_follower_destroy(&sight.follower);
}

static void follower__reads_tokens_and_users_when_any_of_them_changed(void **state)
{
    static const struct {
        const char *change;
        seen_t seen;
    } steps[] = {
        {"select 1", {0}}, /* nothing changed: nothing is read */
        {"update helio.tokens set revoked_at = now() where token_id = 't1'", {1, 1, 1, 0}},
        {"update helio.principals set disabled_at = now() where name = 'ada'", {1, 1, 1, 1}},
        {"update helio.principals set disabled_at = null where name = 'ada'", {1, 1, 1, 0}},
        {"update helio.tokens set role = 'user' where token_id = 't1'", {1, 1, 1, 0}},
        {"delete from helio.tokens", {0, 0, 1, 0}},
        {"select 1", {0}},
    };
    const char *conninfo = helio_pg_database(*state);
    helio_row_token_t token = {.token_id = HELIO_TEXT("t1"),
                               .hash = {hash_b, 32},
                               .tenant = HELIO_TEXT("acme"),
                               .user = HELIO_TEXT("ada"),
                               .role = HELIO_TEXT("admin"),
                               .created_ms = 5000};
    sight_t sight = {.follower = helio_follower_new(conninfo)};
    assert_int_equal(helio_store_put_tenant(conninfo, "acme", NULL, NULL, NULL), HELIO_OK);
    assert_int_equal(helio_store_put_token(conninfo, &token, NULL), HELIO_OK);
    assert_int_equal(look(&sight), HELIO_OK);
    assert_memory_equal(&sight.seen, &((seen_t){1, 0, 1, 0}), sizeof sight.seen);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        bool reads = strncmp(steps[i].change, "select", 6) != 0;
        begins = ends = 0;
        helio_pg_exec(conninfo, steps[i].change);
        assert_int_equal(look(&sight), HELIO_OK);
        assert_true(begins == reads && ends == reads);
        if (memcmp(&sight.seen, &steps[i].seen, sizeof sight.seen) != 0)
            fail_msg("%s: %u tokens, %u revoked, %u users, %u disabled", steps[i].change, sight.seen.tokens,
                     sight.seen.revoked, sight.seen.users, sight.seen.disabled);
    }
    helio_follower_destroy(&sight.follower);
}

static void follower__whose_connection_ends_makes_another(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    sight_t sight = {.follower = helio_follower_new(conninfo)};
    assert_int_equal(look(&sight), HELIO_OK);
    helio_pg_exec(conninfo, "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = "
                            "'helio-broker follows' and datname = current_database()");
    assert_int_equal(look(&sight), HELIO_UNAVAILABLE);
    assert_int_equal(look(&sight), HELIO_OK);
    helio_follower_destroy(&sight.follower);
}

/*  Another copy of the database can have the same version by chance: what was read from this one says nothing of it. */
static void follower__reads_all_anew_over_a_new_connection(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    sight_t sight = {.follower = helio_follower_new(conninfo)};
    assert_int_equal(look(&sight), HELIO_OK);
    begins = ends = 0;
    assert_int_equal(look(&sight), HELIO_OK);
    assert_int_equal(begins, 0);
    helio_pg_exec(conninfo, "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = "
                            "'helio-broker follows' and datname = current_database()");
    assert_int_equal(look(&sight), HELIO_UNAVAILABLE);
    assert_int_equal(ends, 0); /* a read that failed drops nothing */
    assert_int_equal(look(&sight), HELIO_OK);
    assert_true(begins == 1 && ends == 1);
    helio_follower_destroy(&sight.follower);
}

static void follower__holds_nothing_open_between_two_looks(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    sight_t sight = {.follower = helio_follower_new(conninfo)};
    assert_int_equal(look(&sight), HELIO_OK);
    assert_value(conninfo,
                 "select string_agg(state, ',') from pg_stat_activity where application_name = 'helio-broker follows' "
                 "and datname = current_database()",
                 "idle"); /* and holds no transaction open between two looks */
    helio_follower_destroy(&sight.follower);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follower__sees_who_leads_and_where_it_is_reached),
        cmocka_unit_test(follower__reads_tokens_and_users_when_any_of_them_changed),
        cmocka_unit_test(follower__whose_connection_ends_makes_another),
        cmocka_unit_test(follower__reads_all_anew_over_a_new_connection),
        cmocka_unit_test(follower__holds_nothing_open_between_two_looks),
    };
    return cmocka_run_group_tests(tests, up, down);
}
