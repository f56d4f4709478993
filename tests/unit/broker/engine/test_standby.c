/*  test_standby.c -- an engine that does not lead: what its listener learns, and how soon it leads. */
#include "tests/unit/broker/engine/engine_testing.h"

#include <stdatomic.h>

/*  What the listener of the standby was told. One writer, the engine's thread. */
typedef struct told {
    _Atomic uint32_t looks, tokens, in_force, users, enabled, readings;
    _Atomic uint64_t epoch, last_seq;
    atomic_bool is_reached, about_to_lead, leads, late; /* late: leads came without about_to_lead before it */
} told_t;

static void hear_following(void *arg, const helio_leader_t *leader)
{
    told_t *told = arg;
    if (!leader) {
        told->about_to_lead = true;
        return;
    }
    told->epoch = leader->epoch;
    told->last_seq = leader->last_seq;
    told->is_reached = strcmp(leader->http, "http://10.0.0.7:7480") == 0;
    told->looks++; /* last: the test waits for it */
}

static void hear_leading(void *arg)
{
    told_t *told = arg;
    told->late = !told->about_to_lead;
    told->leads = true;
}

static void hear_token(void *arg, const helio_row_token_t *token)
{
    told_t *told = arg;
    told->in_force = token->revoked_ms == 0;
    told->tokens++;
}

static void hear_user(void *arg, const helio_row_principal_t *user)
{
    told_t *told = arg;
    told->enabled = user->disabled_ms == 0;
    told->users++;
}

static void hear_all(void *arg)
{
    told_t *told = arg;
    told->readings++;
}

static void start_as(broker_t *broker, told_t *told)
{
    *told = (told_t){.looks = 0};
    helio_engine_options_t options = {.core = helio_broker_options_default(),
                                      .store = {.conninfo = broker->conninfo, .http = "http://10.0.0.7:7480"},
                                      .endpoint = broker->endpoint,
                                      .secret_key_path = broker->key_path};
    helio_engine_listener_t listener = {.on_token = hear_token,
                                        .on_principal = hear_user,
                                        .on_access_end = hear_all,
                                        .on_following = hear_following,
                                        .on_leading = hear_leading,
                                        .arg = told};
    broker->engine = helio_engine_new(&options, listener, broker->log);
    assert_int_equal(pthread_create(&broker->thread, NULL, run, broker), 0);
}

#define AWAIT(condition)                                         \
    do {                                                         \
        int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;  \
        while (!(condition) && helio_clock_boot_ms() < until_ms) \
            (void)poll(NULL, 0, 5);                              \
        assert_true(condition);                                  \
    } while (0)

static void put_token(const char *conninfo)
{
    static const char hash[32] = {1, 2, 3};
    helio_error_t err = {.text = ""};
    helio_row_token_t token = {.token_id = HELIO_TEXT("000000000001"),
                               .hash = {hash, sizeof hash},
                               .tenant = HELIO_TEXT("acme"),
                               .user = HELIO_TEXT("ada"),
                               .role = HELIO_TEXT("user"),
                               .created_ms = 5000};
    assert_int_equal(helio_store_put_tenant(conninfo, "acme", NULL, NULL, &err), HELIO_OK);
    assert_int_equal(helio_store_put_token(conninfo, &token, &err), HELIO_OK);
}

static void standby__learns_who_leads_and_what_changes_of_tokens_and_users(void **state)
{
    broker_t leader, standby;
    told_t first, told;
    const char *conninfo = fresh(state);
    prepare(&leader, conninfo, next_port(state));
    start_as(&leader, &first);
    AWAIT(first.leads);
    assert_int_equal(first.looks, 0);
    prepare(&standby, conninfo, next_port(state));
    start_as(&standby, &told);
    AWAIT(told.looks);
    assert_true(told.is_reached && told.epoch == 1 && !told.tokens && !told.leads);
    put_token(conninfo);
    AWAIT(told.tokens == 1 && told.users == 1);
    assert_true(told.in_force && told.enabled);
    helio_pg_exec(conninfo, "update helio.tokens set revoked_at = now()");
    AWAIT(told.tokens == 2 && !told.in_force);
    helio_pg_exec(conninfo, "update helio.principals set disabled_at = now()");
    AWAIT(told.users == 3 && !told.enabled);
    helio_pg_exec(conninfo, "update helio.principals set disabled_at = null");
    AWAIT(told.users == 4 && told.enabled);
    uint32_t looks = told.looks, readings = told.readings;
    helio_pg_exec(conninfo, "delete from helio.tokens");
    AWAIT(told.readings > readings && told.users >= 5);
    uint32_t tokens = told.tokens;
    looks = told.looks;
    AWAIT(told.looks > looks + 8);
    assert_true(told.readings <= readings + 3); /* what has not changed is not read again, but over a new connection */
    assert_int_equal(told.tokens, tokens);
    stop(&standby);
    stop(&leader);
    clean(&standby);
    clean(&leader);
}

/*  A token that was revoked in the moment of the takeover, after the last look: the new leader knows it in force. */
static void standby__leads_at_once_and_knows_what_changed_since_its_last_look(void **state)
{
    broker_t leader, standby;
    told_t first, told;
    const char *conninfo = fresh(state);
    put_token(conninfo);
    prepare(&leader, conninfo, next_port(state));
    start_as(&leader, &first);
    AWAIT(first.leads);
    prepare(&standby, conninfo, next_port(state));
    start_as(&standby, &told);
    AWAIT(told.looks && told.in_force);
    int64_t began_ms = helio_clock_boot_ms();
    helio_pg_exec(conninfo,
                  "begin; update helio.tokens set revoked_at = now(); update helio.principals set disabled_at "
                  "= now(); select pg_terminate_backend(pid, 5000) from pg_stat_activity where "
                  "application_name in ('helio-broker', 'helio-broker follows') and datname = "
                  "current_database(); commit");
    helio_engine_stop(leader.engine);
    AWAIT(told.leads);
    assert_true(told.about_to_lead && !told.late);
    assert_true(told.readings >= 2); /* at its first look, and when it began to lead */
    assert_false(told.in_force);
    assert_false(told.enabled);
    assert_in_range(helio_clock_boot_ms() - began_ms, 0, PATIENCE_MS / 2);
    stop(&standby);
    (void)join(&leader); /* it may have found itself fenced */
    clean(&standby);
    clean(&leader);
}

/*  The line says how long it is until the next attempt, whatever it looks at meanwhile. */
static void standby__says_when_it_tries_again(void **state)
{
    broker_t leader, standby;
    told_t first, told;
    char line[4096] = {0};
    int fds[2];
    const char *conninfo = fresh(state);
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    prepare(&leader, conninfo, next_port(state));
    start_as(&leader, &first);
    AWAIT(first.leads);
    prepare(&standby, conninfo, next_port(state));
    standby.log = helio_log_new(fds[1], HELIO_INFO, "helio-broker");
    start_as(&standby, &told);
    AWAIT(told.looks > 2);
    assert_true(read(fds[0], line, sizeof line - 1) > 0);
    assert_non_null(strstr(line, " warn standby why="));
    assert_non_null(strstr(line, " retry_ms=1000\n"));
    stop(&standby);
    stop(&leader);
    helio_log_destroy(&standby.log);
    (void)close(fds[0]);
    (void)close(fds[1]);
    clean(&standby);
    clean(&leader);
}

/*  As after a promotion that lost commits: what it saw of the leader before is not there. */
static void standby__that_misses_what_it_has_seen_begins_an_incarnation(void **state)
{
    broker_t standby;
    told_t told;
    const char *conninfo = fresh(state);
    for (uint32_t missing = 0; missing <= 1; missing++) {
        char sql[100];
        helio_error_t err = {.text = ""};
        helio_store_t *leader = helio_store_new((helio_store_options_t){.conninfo = conninfo});
        assert_int_equal(helio_store_open(leader, &err), HELIO_OK);
        char *before = helio_pg_value(conninfo, "select incarnation from helio.federation");
        prepare(&standby, conninfo, next_port(state));
        start_as(&standby, &told);
        AWAIT(told.looks);
        (void)snprintf(sql, sizeof sql, "update helio.federation set broker_epoch = broker_epoch - %u", missing);
        helio_pg_exec(conninfo, sql);
        uint32_t looks = told.looks;
        AWAIT(told.looks > looks); /* the older row does not replace what it knows */
        helio_store_destroy(&leader);
        AWAIT(told.leads);
        char *after = helio_pg_value(conninfo, "select incarnation from helio.federation");
        assert_int_equal(strcmp(before, after) != 0, missing);
        free(before);
        free(after);
        stop(&standby);
        clean(&standby);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standby__learns_who_leads_and_what_changes_of_tokens_and_users),
        cmocka_unit_test(standby__says_when_it_tries_again),
        cmocka_unit_test(standby__that_misses_what_it_has_seen_begins_an_incarnation),
        cmocka_unit_test(standby__leads_at_once_and_knows_what_changed_since_its_last_look),
    };
    return cmocka_run_group_tests(tests, up, down);
}
