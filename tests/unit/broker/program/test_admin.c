/*  test_admin.c -- the commands that work on the database: what they refuse before they connect, and what they
 *  store. */
#include "tests/unit/broker/program/commands_testing.h"

#include "broker/core/broker_core.h"
#include "broker/engine/recorder.h"
#include "broker/http/request/token.h"
#include "broker/store/store.h"
#include "federation/base/clock.h"
#include "federation/net/curve.h"

#define A_KEY "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define LONG_NAME "a123456789b123456789c123456789d12" /* 33 */

/* ---- refusals: nobody serves the database, so each of them came before it was looked for --------------- */

enum { FAILED = 1, USAGE = 2 };

static const struct {
    helio_command_fn *command;
    int code;
    const char *words[12];
} refused[] = {
    {helio_command_tenant, USAGE, {"tenant"}},
    {helio_command_tenant, USAGE, {"tenant", "add"}},
    {helio_command_tenant, USAGE, {"tenant", "drop", "acme"}},
    {helio_command_tenant, USAGE, {"tenant", "add", "acme", "demo"}},
    {helio_command_tenant, FAILED, {"tenant", "add", ""}},
    {helio_command_tenant, FAILED, {"tenant", "add", "a b"}},
    {helio_command_tenant, FAILED, {"tenant", "add", "a/b"}},
    {helio_command_tenant, FAILED, {"tenant", "add", "müller"}},
    {helio_command_tenant, FAILED, {"tenant", "add", LONG_NAME}},
    {helio_command_tenant, FAILED, {"tenant", "add", "acme", "--home", "not a site"}},
    {helio_command_token, USAGE, {"token", "add"}},
    {helio_command_token, USAGE, {"token", "add", "--tenant", "acme", "--user", "ada"}},
    {helio_command_token, USAGE, {"token", "add", "--tenant", "acme", "--role", "user"}},
    {helio_command_token, USAGE, {"token", "add", "--user", "ada", "--role", "user"}},
    {helio_command_token, USAGE, {"token", "list", "--tenant", "acme", "--user", "ada", "--role", "user"}},
    {helio_command_token, FAILED, {"token", "add", "--tenant", "a b", "--user", "ada", "--role", "user"}},
    {helio_command_token, FAILED, {"token", "add", "--tenant", "acme", "--user", "ada", "--role", "root"}},
    {helio_command_token,
     FAILED,
     {"token", "add", "--tenant", "acme", "--user", LONG_NAME LONG_NAME, "--role", "user"}},
    {helio_command_token,
     FAILED,
     {"token", "add", "--tenant", "acme", "--user", "ada", "--role", "user", "--ttl", "soon"}},
    {helio_command_token,
     FAILED,
     {"token", "add", "--tenant", "acme", "--user", "ada", "--role", "user", "--ttl", "999ms"}},
    {helio_command_token,
     FAILED,
     {"token", "add", "--tenant", "acme", "--user", "ada", "--role", "user", "--ttl", "3661d"}},
    {helio_command_site, USAGE, {"site", "add", "lulea"}},
    {helio_command_site, USAGE, {"site", "remove", "lulea", A_KEY}},
    {helio_command_site, FAILED, {"site", "add", "lu lea", A_KEY}},
    {helio_command_site, FAILED, {"site", "add", "lulea", "short"}},
    {helio_command_site, FAILED, {"site", "add", "lulea", A_KEY "x"}},
    {helio_command_site, FAILED, {"site", "add", "lulea", "\"q:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"}},
    {helio_command_restored, USAGE, {"restored", "yes"}},
    {helio_command_keygen, USAGE, {"keygen"}},
    {helio_command_keygen, USAGE, {"keygen", "a", "b"}},
    {helio_command_replay, USAGE, {"replay"}},
    {helio_command_reader, USAGE, {"reader"}},
    {helio_command_reader, USAGE, {"reader", "add", "wall"}}, /* of no tenant */
    {helio_command_reader, USAGE, {"reader", "remove"}},
    {helio_command_reader, USAGE, {"reader", "list", "wall"}},
    {helio_command_reader, FAILED, {"reader", "add", "a b", "--tenant", "acme"}},
    {helio_command_reader, FAILED, {"reader", "add", "wall", "--tenant", "acme", "--tenant", "a b"}},
    {helio_command_reader, FAILED, {"reader", "remove", "a b"}},
    {helio_command_prune, USAGE, {"prune", "now"}},
    {helio_command_prune, FAILED, {"prune", "--older-than", "31d"}},
    {helio_command_prune, FAILED, {"prune", "--older-than", "long"}},
};

static void commands__refuse_wrong_arguments_before_they_connect(void **state)
{
    desk_t *self = *state;
    (void)unlink(self->config); /* a command that reads the settings would fail: 1, with the file's name */
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        bool prunes = refused[i].command == helio_command_prune; /* its least is known only with the settings */
        if (prunes || refused[i].command == helio_command_reader)
            configure(self, "host=127.0.0.1 port=1 connect_timeout=5", "");
        int code = run_words(self, refused[i].command, refused[i].words);
        if (code != refused[i].code || self->out[0] || !self->err[0] || strstr(self->err, "127.0.0.1") ||
            strstr(self->err, self->config))
            fail_msg("case %zu: exit code %d, '%s', '%s'", i, code, self->out, self->err);
    }
}

static const struct {
    helio_command_fn *command;
    const char *words[10];
} sound[] = {
    {helio_command_migrate, {"migrate"}},
    {helio_command_tenant, {"tenant", "add", "acme"}},
    {helio_command_token, {"token", "add", "--tenant", "acme", "--user", "ada", "--role", "user"}},
    {helio_command_site, {"site", "add", "lulea", A_KEY}},
    {helio_command_restored, {"restored"}},
    {helio_command_reader, {"reader", "list"}},
    {helio_command_reader, {"reader", "add", "wall", "--tenant", "acme"}},
    {helio_command_reader, {"reader", "remove", "wall"}},
    {helio_command_prune, {"prune"}},
    {helio_command_prune, {"prune", "--dry-run"}},
};

static void commands__without_a_database_fail_and_print_no_result(void **state)
{
    desk_t *self = *state;
    for (size_t i = 0; i < sizeof sound / sizeof sound[0]; i++) {
        int code = run_words(self, sound[i].command, sound[i].words);
        if (code != FAILED || self->out[0] || !strstr(self->err, "\nhelp: let `database` in the settings"))
            fail_msg("case %zu: exit code %d, '%s', '%s'", i, code, self->out, self->err);
    }
}

/*  Neither what a text says nor how it begins counts. */
static void help__is_given_by_the_state_of_an_error(void **state)
{
    (void)state;
    static const struct {
        helio_rc rc;
        const char *sqlstate, *text, *help;
    } errors[] = {
        {HELIO_INVALID, "42501", "la base refuse", "this login lacks a privilege"},
        {HELIO_UNAVAILABLE, "08001", "la base ne répond pas", "let `database` in the settings"},
        {HELIO_UNAVAILABLE, "57P03", "database: it starts", "let `database` in the settings"},
        {HELIO_INVALID, "23505", "database: x (42501, by its name)", NULL},
        {HELIO_UNAVAILABLE, "", "database: x (42501)", NULL}, /* not of the database */
    };
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        helio_error_t err = {0};
        (void)!helio_fail_sql(&err, errors[i].rc, errors[i].sqlstate, "%s", errors[i].text);
        const char *help = helio_database_help(&err);
        if (errors[i].help ? strncmp(help, errors[i].help, strlen(errors[i].help)) != 0 : *help)
            fail_msg("%s: '%s'", errors[i].text, help);
    }
}

/*  The server answers, and refuses the login. */
static void commands__of_a_login_without_rights_say_which_one_is_needed(void **state)
{
    desk_t *self = *state;
    char conninfo[600];
    assert_int_equal(RUN(self, helio_command_migrate, "migrate"), 0);
    helio_pg_exec(self->database, "create role stranger_here login");
    (void)snprintf(conninfo, sizeof conninfo, "%s user=stranger_here", self->database);
    char *quoted = NULL;
    assert_true(asprintf(&quoted, "\"%s\"", conninfo) > 0);
    configure(self, quoted, "");
    free(quoted);
    static const struct {
        helio_command_fn *command;
        const char *words[10];
    } commands[] = {{helio_command_tenant, {"tenant", "add", "acme"}}, {helio_command_restored, {"restored"}}};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        assert_int_equal(run_words(self, commands[i].command, commands[i].words), FAILED);
        if (!strstr(self->err, "(42501)\nhelp: this login lacks a privilege"))
            fail_msg("case %zu: %s", i, self->err);
    }
    assert_int_equal(RUN(self, helio_command_check, "check"), 1);
    assert_non_null(strstr(self->out, "✔ database: reached\n"));
    assert_non_null(strstr(self->out, "(42501); this login lacks a privilege"));
    assert_null(strstr(self->out, "schema: database:"));
    helio_pg_exec(self->database, "drop role stranger_here");
}

static void commands__fail_without_their_settings(void **state)
{
    desk_t *self = *state;
    assert_int_equal(unlink(self->config), 0);
    for (size_t i = 0; i < sizeof sound / sizeof sound[0]; i++) {
        int code = run_words(self, sound[i].command, sound[i].words);
        if (code != FAILED || self->out[0] || !strstr(self->err, self->config))
            fail_msg("case %zu: exit code %d, '%s', '%s'", i, code, self->out, self->err);
    }
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void keygen__creates_a_private_file_and_overwrites_none(void **state)
{
    desk_t *self = *state;
    char path[64], missing[80];
    struct stat status;
    helio_keypair_t pair = {0}, again = {0};
    (void)snprintf(path, sizeof path, "%s/broker.key", self->folder);
    assert_int_equal(RUN(self, helio_command_keygen, "keygen", path), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(helio_keypair_load(path, &pair, NULL), HELIO_OK);
    assert_int_equal(strlen(self->out), HELIO_CURVE_CHARS + 1);
    assert_memory_equal(self->out, pair.public_key, HELIO_CURVE_CHARS);
    assert_null(strstr(self->out, pair.secret_key));
    assert_int_equal(RUN(self, helio_command_keygen, "keygen", path), FAILED);
    assert_string_equal(self->out, "");
    assert_int_equal(helio_keypair_load(path, &again, NULL), HELIO_OK);
    assert_string_equal(again.secret_key, pair.secret_key);
    (void)snprintf(missing, sizeof missing, "%s/no/such/folder.key", self->folder);
    assert_int_equal(RUN(self, helio_command_keygen, "keygen", missing), FAILED);
}

static void replay__fails_on_a_file_that_is_no_recording(void **state)
{
    desk_t *self = *state;
    char path[64];
    (void)snprintf(path, sizeof path, "%s/none", self->folder);
    assert_int_equal(RUN(self, helio_command_replay, "replay", path), FAILED);
    assert_int_equal(RUN(self, helio_command_replay, "replay", self->config), FAILED);
    assert_string_equal(self->out, "");
}

/*  Two lives of a core that loads its federation and nothing else; the second one was killed. */
static void replay__tells_how_many_lives_and_whether_the_last_one_ended_by_itself(void **state)
{
    desk_t *self = *state;
    char path[64];
    helio_broker_options_t options = helio_broker_options_default();
    (void)snprintf(path, sizeof path, "%s/events.rec", self->folder);
    for (int life = 0; life < 2; life++) {
        helio_recorder_t *recorder = NULL;
        helio_row_federation_t federation = {.incarnation = 1, .broker_epoch = 1, .seed = 7};
        helio_ev_nothing_t nothing = {0};
        const helio_event_t events[] = {{HELIO_BROKER_EV_LOAD_FEDERATION, 1000, 1790000001000, &federation},
                                        {HELIO_BROKER_EV_LOADED, 1000, 1790000001000, &nothing}};
        assert_int_equal(helio_recorder_open(path, &options, &recorder, NULL), HELIO_OK);
        helio_broker_core_t *core = helio_broker_core_new(options);
        helio_effects_t *effects = helio_effects_new();
        for (int i = 0; i < 2; i++) {
            helio_effects_reset(effects);
            assert_int_equal(helio_recorder_event(recorder, &events[i], NULL), HELIO_OK);
            helio_broker_core_step(core, &events[i], effects);
            assert_int_equal(helio_recorder_effects(recorder, effects, NULL), HELIO_OK);
        }
        helio_recorder_close(&recorder);
        helio_effects_destroy(&effects);
        helio_broker_core_destroy(&core);
    }
    assert_int_equal(RUN(self, helio_command_replay, "replay", path), 0);
    assert_non_null(strstr(self->out, "lives=2 events=4 "));
    assert_non_null(strstr(self->out, "checks=2 "));
    assert_non_null(strstr(self->out, " unfinished=no\n"));
    assert_non_null(strstr(self->out, "sites=0 placements=0"));
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size - 1), 0);
    assert_int_equal(RUN(self, helio_command_replay, "replay", path), 0);
    assert_non_null(strstr(self->out, " unfinished=yes\n"));
    assert_string_equal(self->err, "");
}

/* ---- with a database ----------------------------------------------------------------------------------- */

static void migrate__brings_an_empty_database_to_this_version_once(void **state)
{
    desk_t *self = *state;
    self->database = helio_pg_empty_database(pg);
    configure(self, self->database, "");
    assert_int_not_equal(helio_schema_verify(self->database, NULL), HELIO_OK);
    assert_int_equal(RUN(self, helio_command_migrate, "migrate"), 0);
    assert_int_equal(helio_schema_verify(self->database, NULL), HELIO_OK);
    helio_pg_exec(self->database, "insert into helio.tenants values ('acme')");
    assert_int_equal(RUN(self, helio_command_migrate, "migrate"), 0);
    assert_in_database(self, "select count(*) from helio.tenants", "1");
}

static void tenant__is_added_once_and_its_home_can_change(void **state)
{
    desk_t *self = *state;
    assert_int_equal(RUN(self, helio_command_tenant, "tenant", "add", "acme"), 0);
    assert_non_null(strstr(self->out, "tenant acme added;"));
    assert_true(self->err[0]); /* without a home, and what follows from that */
    assert_in_database(self, "select tenant || coalesce (home_site, '-') from helio.tenants", "acme-");
    assert_int_equal(RUN(self, helio_command_tenant, "tenant", "add", "acme", "--home", "lulea"), 0);
    assert_string_equal(self->err, "");
    assert_non_null(strstr(self->out, "tenant acme changed;"));
    assert_int_equal(RUN(self, helio_command_tenant, "tenant", "add", "acme", "--home", "lulea"), 0);
    assert_string_equal(self->out, "tenant acme exists; nothing changed\n");
    /* A home that is not given again stays. */
    assert_int_equal(RUN(self, helio_command_tenant, "tenant", "add", "acme"), 0);
    assert_string_equal(self->out, "tenant acme exists; nothing changed\n");
    assert_string_equal(self->err, "");
    assert_in_database(self, "select string_agg (tenant || home_site, ' ') from helio.tenants", "acmelulea");
    assert_in_database(self, "select count(*) from helio.audit where action = 'tenant-set'",
                       "2"); /* again is no event */
    assert_int_equal(RUN(self, helio_command_tenant, "tenant", "add", "acme", "--home", "none"), 0);
    assert_in_database(self, "select tenant || coalesce (home_site, '-') from helio.tenants", "acme-");
}

static void token__of_an_unknown_tenant_is_refused_and_makes_no_tenant(void **state)
{
    desk_t *self = *state;
    assert_int_equal(
        RUN(self, helio_command_token, "token", "add", "--tenant", "amce", "--user", "ada", "--role", "user"), FAILED);
    assert_string_equal(self->out, "");
    assert_non_null(strstr(self->err, "tenant 'amce' does not exist"));
    assert_non_null(strstr(self->err, "`helio-broker tenant add amce --home SITE`"));
    assert_in_database(self, "select (select count(*) from helio.tokens) + (select count(*) from helio.tenants)", "0");
}

/*  Whose tokens these tests make. */
static void add_tenant(desk_t *self, const char *name)
{
    assert_int_equal(RUN(self, helio_command_tenant, "tenant", "add", name, "--home", "lulea"), 0);
}

static void token__is_accepted_for_its_user_until_it_expires(void **state)
{
    desk_t *self = *state;
    add_tenant(self, "acme");
    int64_t before_ms = helio_clock_wall_ms();
    assert_int_equal(RUN(self, helio_command_token, "token", "add", "--tenant", "acme", "--user", "ada", "--role",
                         "operator", "--ttl", "2d"),
                     0);
    int64_t after_ms = helio_clock_wall_ms();
    char text[sizeof self->out];
    (void)snprintf(text, sizeof text, "%.*s", (int)strcspn(self->out, "\n"), self->out);
    assert_string_equal(self->out + strlen(text), "\n"); /* one line: it is piped into files */
    assert_in_database(self,
                       "select tenant || ' ' || user_name || ' ' || role || ' ' || (expires_at - created_at) "
                       "from helio.tokens",
                       "acme ada operator 2 days");
    /* What a broker reads from the database at its start knows the token by what was printed, and by nothing
     * else. */
    char *id = helio_pg_value(self->database, "select token_id from helio.tokens");
    char *hex = helio_pg_value(self->database, "select encode (hash, 'hex') from helio.tokens");
    char hash[HELIO_TOKEN_HASH_SIZE];
    for (size_t i = 0; i < sizeof hash; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        hash[i] = (char)byte;
    }
    helio_token_table_t *table = helio_token_table_new();
    const int64_t day_ms = 86400000;
    helio_token_table_put(table, &(helio_row_token_t){.token_id = helio_text_of(id),
                                                      .hash = {hash, sizeof hash},
                                                      .tenant = HELIO_TEXT("acme"),
                                                      .user = HELIO_TEXT("ada"),
                                                      .role = HELIO_TEXT("operator"),
                                                      .created_ms = before_ms,
                                                      .expires_ms = before_ms + 2 * day_ms});
    assert_non_null(helio_token_table_check(table, helio_text_of(text), after_ms));
    assert_null(helio_token_table_check(table, helio_text_of(text), before_ms + 2 * day_ms + 1));
    text[strlen(text) - 1] ^= 1;
    assert_null(helio_token_table_check(table, helio_text_of(text), after_ms));
    helio_token_table_destroy(&table);
    free(id);
    free(hex);
}

static void token__lasts_ninety_days_by_default_and_ten_years_at_most(void **state)
{
    desk_t *self = *state;
    add_tenant(self, "acme");
    assert_int_equal(
        RUN(self, helio_command_token, "token", "add", "--tenant", "acme", "--user", "ada", "--role", "user"), 0);
    assert_int_equal(RUN(self, helio_command_token, "token", "add", "--tenant", "acme", "--user", "bob", "--role",
                         "admin", "--ttl", "3660d"),
                     0);
    assert_int_equal(RUN(self, helio_command_token, "token", "add", "--tenant", "acme", "--user", "eve", "--role",
                         "admin", "--ttl", "1s"),
                     0);
    assert_in_database(self,
                       "select string_agg (extract (epoch from expires_at - created_at)::bigint::text, ' ' "
                       "order by user_name) "
                       "from helio.tokens",
                       "7776000 316224000 1");
}

static void token__is_refused_to_a_disabled_user(void **state)
{
    desk_t *self = *state;
    add_tenant(self, "acme");
    add_tenant(self, "demo");
    helio_pg_exec(self->database,
                  "insert into helio.principals values ('user:acme/ada', 'user', 'acme', 'ada', now(), now())");
    assert_int_equal(
        RUN(self, helio_command_token, "token", "add", "--tenant", "acme", "--user", "ada", "--role", "user"), FAILED);
    assert_string_equal(self->out, "");
    assert_int_equal(
        RUN(self, helio_command_token, "token", "add", "--tenant", "demo", "--user", "ada", "--role", "user"), 0);
    assert_in_database(self, "select string_agg (tenant, ' ') from helio.tokens", "demo");
}

static void site__is_admitted_by_its_key(void **state)
{
    desk_t *self = *state;
    assert_int_equal(RUN(self, helio_command_site, "site", "add", "lulea", A_KEY), 0);
    assert_int_equal(RUN(self, helio_command_site, "site", "add", "lulea", A_KEY), 0);
    assert_in_database(self, "select string_agg (site || ' ' || public_key, ', ') from helio.site_keys",
                       "lulea " A_KEY);
    assert_in_database(self, "select count(*) from helio.audit", "1");
    assert_int_equal(RUN(self, helio_command_site, "site", "add", "virginia", A_KEY), FAILED); /* it is lulea's */
    assert_non_null(strstr(self->err, "in force for site lulea"));
    helio_pg_exec(self->database, "update helio.site_keys set revoked_at = '2026-03-01T14:00:00Z'");
    assert_int_equal(RUN(self, helio_command_site, "site", "add", "lulea", A_KEY), FAILED);
    assert_non_null(strstr(self->err, "revoked at 2026-03-01T14:00:00"));
    assert_int_equal(RUN(self, helio_command_site, "site", "add", "virginia", A_KEY), FAILED);
    assert_in_database(self, "select string_agg (site || ' ' || public_key, ', ') from helio.site_keys",
                       "lulea " A_KEY);
    assert_in_database(self, "select count(*) from helio.audit", "1");
}

static void restored__is_refused_while_a_broker_leads(void **state)
{
    desk_t *self = *state;
    helio_store_t *store =
        helio_store_new((helio_store_options_t){.conninfo = self->database, .commit_deadline_ms = 10000});
    helio_error_t err = {0};
    if (helio_store_open(store, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    assert_int_equal(RUN(self, helio_command_restored, "restored"), FAILED);
    helio_store_destroy(&store);
    /* The server lets go of the lock once it has noticed that the connection is gone. */
    int code = FAILED;
    for (int i = 0; i < 200 && code != 0; i++) {
        helio_pg_exec(self->database, "select pg_sleep (0.05)");
        code = RUN(self, helio_command_restored, "restored");
    }
    assert_int_equal(code, 0);
    assert_in_database(self, "select count(*) from helio.audit where action = 'database-restored'", "1");
}

#define ALONE(test) cmocka_unit_test_setup_teardown(test, desk_without_database, desk_end)
#define CASE(test) cmocka_unit_test_setup_teardown(test, desk_with_database, desk_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(commands__refuse_wrong_arguments_before_they_connect),
        ALONE(commands__without_a_database_fail_and_print_no_result),
        ALONE(commands__fail_without_their_settings),
        ALONE(keygen__creates_a_private_file_and_overwrites_none),
        ALONE(replay__fails_on_a_file_that_is_no_recording),
        ALONE(replay__tells_how_many_lives_and_whether_the_last_one_ended_by_itself),
        CASE(migrate__brings_an_empty_database_to_this_version_once),
        cmocka_unit_test(help__is_given_by_the_state_of_an_error),
        CASE(commands__of_a_login_without_rights_say_which_one_is_needed),
        CASE(tenant__is_added_once_and_its_home_can_change),
        CASE(token__of_an_unknown_tenant_is_refused_and_makes_no_tenant),
        CASE(token__is_accepted_for_its_user_until_it_expires),
        CASE(token__lasts_ninety_days_by_default_and_ten_years_at_most),
        CASE(token__is_refused_to_a_disabled_user),
        CASE(site__is_admitted_by_its_key),
        CASE(restored__is_refused_while_a_broker_leads),
    };
    return cmocka_run_group_tests(tests, pg_begin, pg_end);
}
