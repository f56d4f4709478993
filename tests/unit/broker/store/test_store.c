/*  test_store.c -- leadership, and the loss and return of the database. */
#include "tests/unit/broker/store/store_testing.h"

/* ---- leadership ---------------------------------------------------------------------------------------- */

static void store__one_broker_leads_and_the_next_has_a_higher_epoch(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *first = opened(conninfo);
    helio_store_t *second = helio_store_new((helio_store_options_t){.conninfo = conninfo});
    helio_error_t err = {.text = ""};
    assert_int_equal(helio_store_open(second, &err), HELIO_BUSY);
    helio_store_destroy(&first);
    while (helio_store_open(second, &err) == HELIO_BUSY) /* the server notices the closed socket in its own time */
        ;
    loaded_t all = load(second);
    const helio_row_federation_t *federation = the(&all, HELIO_BROKER_EV_LOAD_FEDERATION, 0);
    assert_int_equal(federation->broker_epoch, 2);
    assert_int_equal(federation->restored_ms, 0);
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&second);
}

/*  A leader that grants for a second, between those that grant for an hour and a minute. */
static void store__the_longest_lease_of_former_leaders_is_remembered(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    static const uint64_t grants[] = {3600000, 1000, 60000, 7200000, 5};
    static const uint64_t left[] = {0, 3600000, 3600000, 3600000, 7200000};
    for (size_t i = 0; i < sizeof grants / sizeof grants[0]; i++) {
        helio_store_t *store = helio_store_new((helio_store_options_t){.conninfo = conninfo, .lease_ms = grants[i]});
        helio_error_t err;
        while (helio_store_open(store, &err) == HELIO_BUSY)
            ;
        loaded_t all = load(store);
        const helio_row_federation_t *federation = the(&all, HELIO_BROKER_EV_LOAD_FEDERATION, 0);
        assert_true(federation->leases_left_ms <= left[i]);
        assert_true(federation->leases_left_ms + 60000 > left[i]); /* the test itself takes time */
        helio_arena_destroy(&all.arena);
        helio_store_destroy(&store);
    }
}

static void store__another_copy_of_the_database_begins_a_new_incarnation(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    static const char *const changes[] = {
        "select 1", "update helio.federation set timeline = timeline + 1",
        "update helio.federation set system_identifier = 1", "update helio.federation set home = '1/2'", /* of a dump */
        ("do $$ begin while not helio.declare_restored() loop perform pg_sleep(0.01); "
         "end loop; end $$")}; /* false while the session before still has its lock */
    helio_store_t *store = opened(conninfo);
    helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    static const struct {
        const char *name;
        uint32_t state;
    } sites[] = {{"gone", HELIO_SITE_STATE_LOST}, {"lost", HELIO_SITE_STATE_LOST}, {"lulea", HELIO_SITE_STATE_READY}};
    for (uint32_t i = 0; i < 3; i++) {
        helio_row_site_t site = {.site = helio_text_of(sites[i].name), .state = sites[i].state};
        append(store, HELIO_BROKER_FX_ROW_SITE, &site);
    }
    helio_error_t put = {.text = ""};
    helio_store_seal(store, mark);
    assert_int_equal(drive(store, 1, &put), HELIO_OK);
    helio_store_destroy(&store);
    helio_pg_exec(conninfo, "insert into helio.site_keys (public_key, site, created_at, revoked_at) "
                            "values ('k', 'lost', now(), null), ('l', 'gone', now(), now())");
    uint64_t before = 0;
    int64_t restored_ms = 0;
    for (uint64_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        helio_pg_exec(conninfo, changes[i]);
        store = helio_store_new((helio_store_options_t){.conninfo = conninfo});
        helio_error_t err;
        while (helio_store_open(store, &err) == HELIO_BUSY)
            ;
        loaded_t all = load(store);
        const helio_row_federation_t *federation = the(&all, HELIO_BROKER_EV_LOAD_FEDERATION, 0);
        assert_int_equal(federation->restored_ms > restored_ms, i > 0);
        assert_int_equal(helio_uuid_equal(federation->restored_job, job.job), i > 0);
        for (uint32_t s = 0; s < 3; s++) { /* by name; the one without a key in force cannot have come back */
            const helio_row_site_t *site = the(&all, HELIO_BROKER_EV_LOAD_SITE, s);
            assert_int_equal(site->unreconciled_ms > 0, i > 0 && !helio_text_is(site->site, "gone"));
        }
        restored_ms = federation->restored_ms;
        assert_true(i == 0 || federation->incarnation > before);
        before = federation->incarnation;
        assert_true(before > 1700000000); /* no two copies of one backup begin the same */
        assert_int_equal(helio_store_declare_restored(conninfo, &err), HELIO_BUSY); /* it leads */
        helio_arena_destroy(&all.arena);
        helio_store_destroy(&store);
    }
}

static void store__a_former_leader_commits_nothing(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_pg_exec(conninfo, "update helio.federation set broker_epoch = broker_epoch + 1, last_batch = 0");
    helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    helio_store_seal(store, mark);
    helio_error_t err = {.text = ""};
    assert_int_equal(drive(store, 1, &err), HELIO_FENCED);
    assert_int_equal(helio_store_committed(store), 0);
    helio_store_destroy(&store);
    assert_value(conninfo, "select count(*) from helio.jobs", "0");
}

/* ---- losing and finding the database ------------------------------------------------------------------- */

static void end_sessions(const char *conninfo)
{
    helio_pg_exec(conninfo, "select pg_terminate_backend(pid) from pg_stat_activity "
                            "where datname = current_database() and pid <> pg_backend_pid()");
}

static void store__a_lost_idle_connection_heals_by_itself(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    commit(store);
    end_sessions(conninfo);
    helio_error_t err = {.text = ""};
    int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    helio_store_figures_t figures = {0};
    while (figures.reconnects_total == 0 && helio_clock_boot_ms() < give_up_ms) {
        struct pollfd fd = {.fd = helio_store_fd(store),
                            .events = (short)(POLLIN | (helio_store_wants_write(store) ? POLLOUT : 0))};
        (void)poll(&fd, fd.fd >= 0, 20);
        assert_int_equal(helio_store_process(store, helio_clock_boot_ms(), &err), HELIO_OK);
        helio_store_figures(store, &figures);
    }
    assert_true(helio_store_connected(store));
    job = job_row(2);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    commit(store);
    assert_value(conninfo, "select count(*) from helio.jobs", "2");
    helio_store_destroy(&store);
}

/*  The answer to the commit is what gets lost: the batch is there, and must not be sent again. */
static void store__a_commit_whose_answer_was_lost_is_found_committed(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_transition_t transition = {.seq = 1, .key = {job_id(1), HELIO_NO_TASK}, .to = HELIO_JOB_OFFERED};
    append(store, HELIO_BROKER_FX_ROW_TRANSITION, &transition);
    helio_store_seal(store, mark);
    int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    for (char *count = NULL; helio_clock_boot_ms() < give_up_ms; free(count)) {
        count = helio_pg_value(conninfo, "select count(*) from helio.transitions");
        if (strcmp(count, "1") == 0) {
            free(count);
            break;
        }
    }
    /* Its deadline passes before the answer is read: the connection is dropped, the outcome asked for. */
    helio_error_t err = {.text = ""};
    assert_int_equal(helio_store_committed(store), 0);
    assert_int_equal(helio_store_process(store, helio_clock_boot_ms() + 3600000, &err), HELIO_OK);
    assert_false(helio_store_connected(store));
    assert_int_equal(helio_store_committed(store), 0);
    assert_false(helio_store_can_seal(store));
    /* Time went an hour ahead for that call: so does the retry. */
    int64_t shift = 3600000;
    while (helio_store_committed(store) < 1 && helio_clock_boot_ms() < give_up_ms) {
        struct pollfd fd = {.fd = helio_store_fd(store),
                            .events = (short)(POLLIN | (helio_store_wants_write(store) ? POLLOUT : 0))};
        (void)poll(&fd, fd.fd >= 0, 20);
        assert_int_equal(helio_store_process(store, helio_clock_boot_ms() + shift, &err), HELIO_OK);
    }
    assert_int_equal(helio_store_committed(store), 1);
    assert_value(conninfo, "select count(*) from helio.transitions", "1");
    helio_store_destroy(&store);
}

/*  A cancelled wait for the synchronous standby commits with a warning: no promise, so no word of it before a
 * standby (or the operator, who does without) confirms. */
static void store__a_commit_without_its_standby_is_not_reported(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_pg_exec(conninfo, "alter system set synchronous_standby_names = 'nobody'");
    helio_pg_exec(conninfo, "select pg_reload_conf()");
    helio_error_t err = {.text = ""};
    int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
    uint64_t batch = 0;
    while (helio_store_connected(store) && helio_clock_boot_ms() < give_up_ms) {
        if (helio_store_committed(store) == batch) { /* also when the setting took hold later than the last one */
            helio_row_job_t job = job_row((uint32_t)batch);
            append(store, HELIO_BROKER_FX_ROW_JOB, &job);
            batch = helio_store_open_batch(store);
            helio_store_seal(store, mark);
        }
        helio_pg_exec(conninfo, "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and "
                                "datname = current_database()");
        struct pollfd fd = {.fd = helio_store_fd(store), .events = POLLIN};
        (void)poll(&fd, 1, 20);
        assert_int_equal(helio_store_process(store, helio_clock_boot_ms(), &err), HELIO_OK);
    }
    assert_false(helio_store_connected(store));
    assert_non_null(strstr(helio_store_trouble(store), "standby"));
    assert_int_equal(helio_store_committed(store), batch - 1);
    char expected[24];
    (void)snprintf(expected, sizeof expected, "%" PRIu64, batch);
    assert_value(conninfo, "select count(*) from helio.jobs", expected); /* it is there all the same */
    helio_pg_exec(conninfo, "alter system reset synchronous_standby_names");
    helio_pg_exec(conninfo, "select pg_reload_conf()");
    assert_int_equal(drive(store, batch, &err), HELIO_OK);
    assert_value(conninfo, "select count(*) from helio.jobs", expected);
    helio_store_destroy(&store);
}

/*  kill -9 of the server with a batch in flight, at many moments: after the restart each is there exactly
 * once. */
static void store__a_crash_of_the_server_neither_loses_nor_doubles_a_batch(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    enum { ROUNDS = 6, JOBS = 2000 };
    helio_error_t err = {.text = ""};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < JOBS; i++) {
            helio_row_job_t job = job_row(round * JOBS + i);
            append(store, HELIO_BROKER_FX_ROW_JOB, &job);
        }
        uint64_t batch = helio_store_open_batch(store);
        helio_store_seal(store, mark);
        for (uint32_t turn = 0; turn < round * 3; turn++) { /* a little further each round */
            struct pollfd fd = {.fd = helio_store_fd(store),
                                .events = (short)(POLLIN | (helio_store_wants_write(store) ? POLLOUT : 0))};
            (void)poll(&fd, 1, 2);
            assert_int_equal(helio_store_process(store, helio_clock_boot_ms(), &err), HELIO_OK);
        }
        helio_pg_kill(*state);
        assert_int_equal(helio_store_process(store, helio_clock_boot_ms(), &err), HELIO_OK);
        helio_pg_start(*state);
        if (drive(store, batch, &err) != HELIO_OK)
            fail_msg("round %u: %s", round, err.text);
        /* Its connection may only now turn out to be gone. */
        int64_t give_up_ms = helio_clock_boot_ms() + PATIENCE_MS;
        do {
            struct pollfd fd = {.fd = helio_store_fd(store),
                                .events = (short)(POLLIN | (helio_store_wants_write(store) ? POLLOUT : 0))};
            (void)poll(&fd, fd.fd >= 0, 50);
            assert_int_equal(helio_store_process(store, helio_clock_boot_ms(), &err), HELIO_OK);
        } while (!helio_store_connected(store) && helio_clock_boot_ms() < give_up_ms);
    }
    assert_value(conninfo, "select count(*) from helio.jobs", "12000");
    assert_value(conninfo, "select last_batch from helio.federation", "6");
    helio_store_destroy(&store);
}

/*  Its disk is full: it lets us in, and refuses the batch each time. */
static void store__a_refused_batch_is_retried_less_and_less_often_with_its_reason(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_pg_exec(conninfo, "create function public.full_disk() returns trigger language plpgsql as "
                            "$$begin raise 'no space left on device' using errcode = '53100'; end$$");
    helio_pg_exec(conninfo, "create trigger full_disk before insert on helio.jobs for each row "
                            "execute function public.full_disk()");
    helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    uint64_t batch = helio_store_open_batch(store);
    helio_store_seal(store, mark);
    int64_t began_ms = helio_clock_boot_ms(), give_up_ms = began_ms + PATIENCE_MS;
    helio_error_t err = {.text = ""};
    helio_store_figures_t figures = {0};
    bool said = false;
    while (figures.reconnects_total < 6 && helio_clock_boot_ms() < give_up_ms) {
        struct pollfd fd = {.fd = helio_store_fd(store),
                            .events = (short)(POLLIN | (helio_store_wants_write(store) ? POLLOUT : 0))};
        (void)poll(&fd, fd.fd >= 0, 20);
        assert_int_equal(helio_store_process(store, helio_clock_boot_ms(), &err), HELIO_OK);
        said = said || strstr(helio_store_trouble(store), "no space left on device (53100)");
        helio_store_figures(store, &figures);
    }
    assert_int_equal(figures.reconnects_total, 6);
    assert_true(helio_clock_boot_ms() - began_ms >= 50 + 100 + 200 + 400 + 800);
    assert_true(said);
    helio_pg_exec(conninfo, "drop trigger full_disk on helio.jobs");
    assert_int_equal(drive(store, batch, &err), HELIO_OK);
    assert_value(conninfo, "select count(*) from helio.jobs", "1");
    helio_store_destroy(&store);
}

static void store__a_newer_leader_is_detected_when_reconnecting(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    end_sessions(conninfo);
    helio_pg_exec(conninfo, "update helio.federation set broker_epoch = broker_epoch + 1, last_batch = 0");
    helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    helio_store_seal(store, mark);
    helio_error_t err = {.text = ""};
    assert_int_equal(drive(store, 1, &err), HELIO_FENCED);
    assert_non_null(strstr(err.text, "newer broker"));
    helio_store_destroy(&store);
}

static void store__a_database_that_failed_over_ends_the_leader(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_pg_exec(conninfo, "update helio.federation set timeline = timeline - 1");
    end_sessions(conninfo);
    helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    helio_store_seal(store, mark);
    helio_error_t err = {.text = ""};
    assert_int_equal(drive(store, 1, &err), HELIO_FENCED);
    assert_non_null(strstr(err.text, "incarnation"));
    helio_store_destroy(&store);
}

/* ---- start and bootstrap ------------------------------------------------------------------------------- */

static void store__a_database_that_cannot_be_reached_is_unavailable(void **state)
{
    (void)state;
    helio_store_t *store = helio_store_new((helio_store_options_t){.conninfo = "host=/nonexistent password=hush"});
    helio_error_t err = {.text = ""};
    assert_int_equal(helio_store_open(store, &err), HELIO_UNAVAILABLE);
    assert_non_null(strstr(err.text, "/nonexistent"));
    assert_null(strstr(err.text, "hush"));
    helio_store_destroy(&store);
}

static void store__a_stored_job_that_no_longer_parses_names_itself(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    helio_row_job_t job = job_row(1);
    job.source = HELIO_TEXT("nonsense: [");
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    commit(store);
    loaded_t all = {.arena = helio_arena_new()};
    helio_error_t err = {.text = ""};
    char id[HELIO_ID_SIZE];
    helio_uuid_text(job.job, id);
    assert_int_equal(helio_store_load(store, collect, &all, &err), HELIO_INVALID);
    assert_non_null(strstr(err.text, id));
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

static void store__use_is_loaded_up_to_the_age_that_the_options_give(void **state)
{
    static const struct {
        int64_t usage_ms;
        const char *hours_ago;
    } cases[] = {{0, ""}, {INT64_C(5) * 3600000, "4 2 "}, {INT64_C(30) * 86400000, "200 4 2 "}};
    const char *conninfo = helio_pg_database(*state);
    helio_pg_exec(conninfo,
                  "insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, "
                  "fenced, tenant, site, queue) select '0199aaaa-0000-7000-8000-000000000001', -1, 1, "
                  "now() - h * interval '1 hour', h, 0, 0, 0, false, 'acme', 'lulea', 'standard' "
                  "from unnest(array [2, 4, 200]) h");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_store_t *store =
            helio_store_new((helio_store_options_t){.conninfo = conninfo, .usage_ms = cases[i].usage_ms});
        helio_error_t err = {.text = ""};
        assert_int_equal(helio_store_open(store, &err), HELIO_OK);
        loaded_t all = load(store);
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t hours = {0};
        const helio_row_usage_t *usage;
        for (uint32_t n = 0; (usage = nth(&all, HELIO_BROKER_EV_LOAD_USAGE, n)); n++)
            helio_buffer_printf(&hours, "%" PRIu64 " ", usage->gpu_ms);
        assert_true(helio_text_is(helio_buffer_view(&hours), cases[i].hours_ago));
        helio_arena_destroy(&all.arena);
        helio_store_destroy(&store);
    }
}

/*  Else a new leader finds jobs of a tenant that it does not know. */
static void store__the_first_token_of_a_tenant_makes_the_tenant(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_row_token_t token = {.token_id = HELIO_TEXT("t1"),
                               .hash = {hash_b, 32},
                               .tenant = HELIO_TEXT("acme"),
                               .user = HELIO_TEXT("ada"),
                               .role = HELIO_TEXT("user"),
                               .created_ms = 5000};
    assert_int_equal(helio_store_put_tenant(conninfo, "acme", "lulea", NULL, NULL), HELIO_OK);
    helio_store_t *store = opened(conninfo);
    append(store, HELIO_BROKER_FX_ROW_TOKEN, &token);
    token.token_id = HELIO_TEXT("t2");
    token.tenant = HELIO_TEXT("blue");
    append(store, HELIO_BROKER_FX_ROW_TOKEN, &token);
    commit(store);
    assert_value(conninfo,
                 "select string_agg(tenant || ' ' || coalesce(home_site, '-'), ', ' order by tenant) from "
                 "helio.tenants",
                 "acme lulea, blue -");
    helio_pg_exec(conninfo, "delete from helio.tenants where tenant = 'blue'"); /* as tokens once left it */
    loaded_t all = load(store);
    const helio_row_tenant_t *home = nth(&all, HELIO_BROKER_EV_LOAD_TENANT, 0);
    const helio_row_tenant_t *blue = nth(&all, HELIO_BROKER_EV_LOAD_TENANT, 1);
    assert_true(home && helio_text_is(home->tenant, "acme") && helio_text_is(home->home_site, "lulea"));
    assert_true(blue && helio_text_is(blue->tenant, "blue") && blue->home_site.size == 0);
    helio_arena_destroy(&all.arena);
    helio_store_destroy(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store__one_broker_leads_and_the_next_has_a_higher_epoch),
        cmocka_unit_test(store__the_longest_lease_of_former_leaders_is_remembered),
        cmocka_unit_test(store__another_copy_of_the_database_begins_a_new_incarnation),
        cmocka_unit_test(store__a_former_leader_commits_nothing),
        cmocka_unit_test(store__a_lost_idle_connection_heals_by_itself),
        cmocka_unit_test(store__a_commit_whose_answer_was_lost_is_found_committed),
        cmocka_unit_test(store__a_commit_without_its_standby_is_not_reported),
        cmocka_unit_test(store__a_crash_of_the_server_neither_loses_nor_doubles_a_batch),
        cmocka_unit_test(store__a_refused_batch_is_retried_less_and_less_often_with_its_reason),
        cmocka_unit_test(store__a_newer_leader_is_detected_when_reconnecting),
        cmocka_unit_test(store__a_database_that_failed_over_ends_the_leader),
        cmocka_unit_test(store__a_database_that_cannot_be_reached_is_unavailable),
        cmocka_unit_test(store__a_stored_job_that_no_longer_parses_names_itself),
        cmocka_unit_test(store__use_is_loaded_up_to_the_age_that_the_options_give),
        cmocka_unit_test(store__the_first_token_of_a_tenant_makes_the_tenant),
    };
    return cmocka_run_group_tests(tests, up, down);
}
