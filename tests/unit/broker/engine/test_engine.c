/*  test_engine.c -- the loop that owns core, store and gateway, with a real database. */
#include "tests/unit/broker/engine/engine_testing.h"

#include "broker/engine/internal.h"
#include "federation/policy/fair_share.h"

/* ---- tests --------------------------------------------------------------------------------------------- */

static void engine__an_answer_comes_after_the_commit(void **state)
{
    broker_t broker;
    prepare(&broker, fresh(state), next_port(state));
    start(&broker);
    await_ready(&broker);
    submission_t job;
    submit(&broker, &job, hello_job);
    await(&job.asked);
    assert_int_equal(job.asked.rc, HELIO_OK);
    assert_int_equal(count_of(broker.conninfo, "select count(*) from helio.jobs"), 1);
    finish(&job);
    stop(&broker);
    clean(&broker);
}

static void engine__a_job_goes_to_a_site_and_its_end_into_the_ledger(void **state)
{
    broker_t broker;
    prepare(&broker, fresh(state), next_port(state));
    site_t site;
    site_new(&site, "lulea");
    site_allow(&site, broker.conninfo);
    start(&broker);
    await_ready(&broker);
    site_dial(&site, &broker);
    site_open(&site);
    submission_t job;
    submit(&broker, &job, hello_job);
    await(&job.asked);
    assert_int_equal(job.asked.rc, HELIO_OK);
    SITE_UNTIL(&site, site.got[HELIO_MSG_ORDERS] > 0);
    /* The order is here, so its placement is durable. */
    assert_int_equal(count_of(broker.conninfo, "select count(*) from helio.placements"), 1);
    assert_true(helio_text_is(site.order.source, hello_job));
    site_report(&site, 1, HELIO_REPORT_KIND_ACCEPTED);
    site_report(&site, 2, HELIO_REPORT_KIND_STARTING);
    site_report(&site, 3, HELIO_REPORT_KIND_RUNNING);
    site_report(&site, 4, HELIO_REPORT_KIND_ENDED);
    SITE_UNTIL(&site, site.acknowledged == 4);
    assert_int_equal(count_of(broker.conninfo, "select count(*) from helio.attempts where completes"), 1);
    assert_true(broker.transitions >= 4);

    asked_t log = {.call = {.kind = HELIO_CALL_LOG_READ, .site = "lulea", .key = site.order.key, .epoch = 1}};
    site.log = "hello\n";
    post(&broker, &log);
    SITE_UNTIL(&site, answered_within(&log, 0));
    await(&log);
    assert_int_equal(log.rc, HELIO_OK);
    assert_string_equal(log.text, "hello\n");
    finish(&job);
    stop(&broker);
    site_destroy(&site);
    helio_replay_t replay = {0};
    helio_error_t err = {0};
    if (helio_replay_file(broker.record_path, &replay, &err) != HELIO_OK)
        fail_msg("replay: %s", err.text);
    assert_false(replay.unfinished);
    assert_int_equal(replay.figures.placements_total, 1);
    clean(&broker);
}

static void engine__sites_that_connect_and_jobs_that_they_refuse_are_logged(void **state)
{
    broker_t broker;
    char line[4096] = {0};
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    prepare(&broker, fresh(state), next_port(state));
    broker.log = helio_log_new(fds[1], HELIO_INFO, "helio-broker");
    site_t site;
    site_new(&site, "lulea");
    site_allow(&site, broker.conninfo);
    start(&broker);
    await_ready(&broker);
    site_dial(&site, &broker);
    site_open(&site);
    submission_t job;
    submit(&broker, &job, hello_job);
    await(&job.asked);
    SITE_UNTIL(&site, site.got[HELIO_MSG_ORDERS] > 0);
    site_report(&site, 1, HELIO_REPORT_KIND_REFUSED);
    SITE_UNTIL(&site, site.acknowledged == 1);
    finish(&job);
    stop(&broker);
    site_destroy(&site);
    assert_true(read(fds[0], line, sizeof line - 1) > 0);
    assert_non_null(strstr(line, " info site_connected site=\"lulea\" "));
    assert_non_null(strstr(line, " warn site_refused code="));
    assert_non_null(strstr(line, " site=\"lulea\" "));
    helio_log_destroy(&broker.log);
    (void)close(fds[0]);
    (void)close(fds[1]);
    clean(&broker);
}

static void engine__a_site_key_is_admitted_and_cut_off_while_it_runs(void **state)
{
    broker_t broker;
    prepare(&broker, fresh(state), next_port(state));
    site_t site;
    site_new(&site, "lulea");
    start(&broker);
    await_ready(&broker);
    site_dial(&site, &broker);
    helio_ev_site_key_t event = {.actor = HELIO_TEXT("user:root"),
                                 .key = {.public_key = helio_text_of(site.pair.public_key),
                                         .site = HELIO_TEXT("lulea"),
                                         .created_ms = helio_clock_wall_ms()}};
    asked_t allow = {.call = {.kind = HELIO_CALL_EVENT, .event = HELIO_BROKER_EV_SITE_KEY, .payload = &event}};
    post(&broker, &allow);
    await(&allow);
    assert_int_equal(allow.rc, HELIO_OK);
    site_open(&site);
    assert_int_equal(figures_of(&broker).core.sites_ready, 1);
    event.key.revoked_ms = helio_clock_wall_ms();
    asked_t revoke = {.call = {.kind = HELIO_CALL_EVENT, .event = HELIO_BROKER_EV_SITE_KEY, .payload = &event}};
    post(&broker, &revoke);
    await(&revoke);
    assert_int_equal(revoke.rc, HELIO_OK);
    uint64_t before = figures_of(&broker).frames_in_total;
    helio_msg_renew_t renew = {1};
    if (site.connected) { /* the live connection: not one frame more comes through */
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
        assert_int_equal(helio_wire_encode(HELIO_MSG_RENEW, &renew, &frame, NULL), HELIO_OK);
        helio_rc rc = helio_dialer_send(site.dialer, helio_buffer_view(&frame));
        (void)rc;
    }
    submission_t job; /* a round trip later the frame has surely been looked at */
    submit(&broker, &job, hello_job);
    await(&job.asked);
    assert_int_equal(helio_loop_turn(site.loop, 100, NULL), HELIO_OK);
    assert_int_equal(figures_of(&broker).frames_in_total, before);
    assert_int_equal(site.got[HELIO_MSG_RENEWED], 0);
    finish(&job);
    stop(&broker);
    site_destroy(&site);
    clean(&broker);
}

enum { AT_ONCE = 128 };

/*  What the moment is waits for no commit, and for no call that does, however many calls there are meanwhile. */
static void look(broker_t *broker)
{
    static helio_ev_desired_t which[AT_ONCE];
    static asked_t moments[AT_ONCE];
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        which[i] = (helio_ev_desired_t){.call = 0};
        moments[i] =
            (asked_t){.call = {.kind = HELIO_CALL_EVENT, .event = HELIO_BROKER_EV_DESIRED, .payload = &which[i]}};
        post(broker, &moments[i]);
    }
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        await(&moments[i]);
        assert_int_equal(moments[i].rc, HELIO_OK);
    }
}

static void engine__no_call_is_answered_until_the_database_is_back(void **state)
{
    broker_t broker;
    prepare(&broker, fresh(state), next_port(state));
    start(&broker);
    await_ready(&broker);
    helio_pg_kill(*state);
    submission_t job;
    submit(&broker, &job, hello_job);
    assert_false(answered_within(&job.asked, 500)); /* held: its commit cannot have happened */
    assert_false(figures_of(&broker).ready);
    for (uint32_t i = 0; i <= HELIO_ENGINE_CALLS_MAX / AT_ONCE; i++)
        look(&broker);
    assert_false(answered_within(&job.asked, 0));
    helio_pg_start(*state);
    await(&job.asked);
    assert_int_equal(job.asked.rc, HELIO_OK);
    assert_int_equal(count_of(broker.conninfo, "select count(*) from helio.jobs"), 1);
    finish(&job);
    stop(&broker);
    clean(&broker);
}

/*  The first submission is sent, and its outcome unknown until the batch is accepted. What comes later is not taken. */
static void engine__a_full_disk_of_the_database_refuses_what_is_not_sent_yet(void **state)
{
    broker_t broker;
    prepare(&broker, fresh(state), next_port(state));
    start(&broker);
    await_ready(&broker);
    helio_pg_exec(broker.conninfo, "create function public.full_disk() returns trigger language plpgsql as "
                                   "$$begin raise 'no space left on device' using errcode = '53100'; end$$");
    helio_pg_exec(broker.conninfo, "create trigger full_disk before insert on helio.jobs for each row "
                                   "execute function public.full_disk()");
    submission_t sent, later;
    submit(&broker, &sent, hello_job);
    assert_false(answered_within(&sent.asked, 500));
    int64_t asked_ms = helio_clock_boot_ms();
    submit(&broker, &later, hello_job);
    assert_true(answered_within(&later.asked, 1000));
    assert_true(helio_clock_boot_ms() - asked_ms < 1000);
    assert_int_equal(later.asked.rc, HELIO_UNAVAILABLE);
    finish(&later);
    assert_false(answered_within(&sent.asked, 0));
    helio_pg_exec(broker.conninfo, "drop trigger full_disk on helio.jobs");
    await(&sent.asked);
    assert_int_equal(sent.asked.rc, HELIO_OK);
    finish(&sent);
    submit(&broker, &later, hello_job);
    await(&later.asked);
    assert_int_equal(later.asked.rc, HELIO_OK);
    finish(&later);
    assert_int_equal(count_of(broker.conninfo, "select count(*) from helio.jobs"), 2);
    stop(&broker);
    clean(&broker);
}

static void engine__the_second_broker_waits_until_the_first_ends(void **state)
{
    const char *conninfo = fresh(state);
    broker_t first, second;
    uint16_t port = next_port(state);
    prepare(&first, conninfo, port);
    prepare(&second, conninfo, (uint16_t)(port + 1));
    start(&first);
    await_ready(&first);
    start(&second);
    submission_t job;
    submit(&second, &job, hello_job);
    await(&job.asked);
    assert_int_equal(job.asked.rc, HELIO_UNAVAILABLE);
    assert_int_equal(job.asked.code, HELIO_DETAIL_ANOTHER_LEADS);
    finish(&job);
    assert_false(figures_of(&second).leader);
    stop(&first);
    await_ready(&second);
    submit(&second, &job, hello_job);
    await(&job.asked);
    assert_int_equal(job.asked.rc, HELIO_OK);
    finish(&job);
    assert_true(figures_of(&second).broker_epoch >= 2);
    stop(&second);
    clean(&first);
    clean(&second);
}

static void engine__a_restart_knows_what_was_accepted(void **state)
{
    broker_t broker;
    prepare(&broker, fresh(state), next_port(state));
    helio_row_token_t token = {.token_id = HELIO_TEXT("t1"),
                               .hash = HELIO_TEXT("0123456789abcdef0123456789abcdef"),
                               .tenant = HELIO_TEXT("demo"),
                               .user = HELIO_TEXT("ada"),
                               .role = HELIO_TEXT("user"),
                               .created_ms = helio_clock_wall_ms(),
                               .expires_ms = helio_clock_wall_ms() + 3600000};
    assert_int_equal(helio_store_put_token(broker.conninfo, &token, NULL), HELIO_OK);
    start(&broker);
    await_ready(&broker);
    assert_int_equal(broker.tokens, 1);
    submission_t job;
    submit(&broker, &job, hello_job);
    await(&job.asked);
    finish(&job);
    stop(&broker);
    start(&broker);
    await_ready(&broker);
    assert_int_equal(figures_of(&broker).core.jobs[HELIO_JOB_QUEUED], 1);
    stop(&broker);
    helio_replay_t replay = {0};
    assert_int_equal(helio_replay_file(broker.record_path, &replay, NULL), HELIO_OK);
    assert_int_equal(replay.lives, 2);
    assert_int_equal(replay.figures.jobs[HELIO_JOB_QUEUED], 1);
    clean(&broker);
}

static bool is_recorded(const broker_t *broker, const char *text)
{
    char *bytes = NULL;
    size_t capacity = 0;
    FILE *file = fopen(broker->record_path, "re");
    assert_non_null(file);
    bool found = false;
    for (ssize_t size; !found && (size = getdelim(&bytes, &capacity, '\0', file)) > 0;)
        found = memmem(bytes, (size_t)size, text, strlen(text));
    free(bytes);
    (void)fclose(file);
    return found;
}

static void engine__a_new_leader_loads_the_use_that_shares_remember_and_no_older_one(void **state)
{
    broker_t broker;
    char sql[512];
    prepare(&broker, fresh(state), next_port(state));
    (void)snprintf(sql, sizeof sql,
                   "insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, "
                   "fenced, tenant, gpu_model, site, queue) select gen_random_uuid(), -1, 1, "
                   "now() - (%d + m) * interval '1 ms', 1, 0, 0, 0, false, 'acme', g, 'lulea', 'standard' "
                   "from (values (-3600000, 'remembered'), (3600000, 'forgotten')) v (m, g)",
                   HELIO_SHARE_MEMORY_MS);
    helio_pg_exec(broker.conninfo, sql);
    start(&broker);
    await_ready(&broker);
    stop(&broker);
    assert_true(is_recorded(&broker, "remembered"));
    assert_false(is_recorded(&broker, "forgotten"));
    clean(&broker);
}

static void engine__calls_are_answered_while_it_waits_for_its_database(void **state)
{
    broker_t broker;
    prepare(&broker, "host=127.0.0.1 port=1 dbname=helio connect_timeout=2", next_port(state));
    start(&broker);
    assert_false(figures_of(&broker).ready);
    submission_t job;
    submit(&broker, &job, hello_job);
    await(&job.asked);
    assert_int_equal(job.asked.rc, HELIO_UNAVAILABLE);
    assert_int_equal(job.asked.code, HELIO_DETAIL_DATABASE_UNREACHABLE);
    finish(&job);
    stop(&broker); /* also while it waits */
    clean(&broker);
}

static void engine__an_error_that_waiting_cannot_heal_ends_it_with_a_remedy(void **state)
{
    broker_t broker, other;
    uint16_t port = next_port(state);
    prepare(&broker, helio_pg_empty_database(*state), port);
    start(&broker);
    assert_int_equal(join(&broker), HELIO_VERSION);
    assert_non_null(strstr(broker.err.text, "migrate"));
    clean(&broker);

    prepare(&broker, fresh(state), port);
    prepare(&other, broker.conninfo, port);
    start(&broker);
    await_ready(&broker);
    start(&other);
    assert_int_equal(join(&other), HELIO_CONFLICT);
    assert_non_null(strstr(other.err.text, other.endpoint));
    stop(&broker);
    clean(&broker);
    assert_int_equal(unlink(other.key_path), 0);
    start(&other);
    assert_int_equal(join(&other), HELIO_NOT_FOUND);
    assert_non_null(strstr(other.err.text, other.key_path));
    clean(&other);
}

static void engine__stopping_answers_every_call_once(void **state)
{
    enum { COUNT = 200 };
    broker_t broker;
    prepare(&broker, fresh(state), next_port(state));
    start(&broker);
    await_ready(&broker);
    submission_t *jobs = helio_new(COUNT, sizeof *jobs);
    for (uint32_t i = 0; i < COUNT; i++)
        submit(&broker, &jobs[i], hello_job);
    helio_engine_stop(broker.engine);
    uint64_t stored = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        await(&jobs[i].asked);
        assert_true(jobs[i].asked.rc == HELIO_OK || jobs[i].asked.rc == HELIO_UNAVAILABLE);
        stored += jobs[i].asked.rc == HELIO_OK;
        finish(&jobs[i]);
    }
    assert_int_equal(join(&broker), HELIO_OK);
    assert_int_equal(count_of(broker.conninfo, "select count(*) from helio.jobs"), stored);
    free(jobs);
    clean(&broker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engine__an_answer_comes_after_the_commit),
        cmocka_unit_test(engine__a_job_goes_to_a_site_and_its_end_into_the_ledger),
        cmocka_unit_test(engine__sites_that_connect_and_jobs_that_they_refuse_are_logged),
        cmocka_unit_test(engine__a_site_key_is_admitted_and_cut_off_while_it_runs),
        cmocka_unit_test(engine__no_call_is_answered_until_the_database_is_back),
        cmocka_unit_test(engine__a_full_disk_of_the_database_refuses_what_is_not_sent_yet),
        cmocka_unit_test(engine__the_second_broker_waits_until_the_first_ends),
        cmocka_unit_test(engine__a_restart_knows_what_was_accepted),
        cmocka_unit_test(engine__a_new_leader_loads_the_use_that_shares_remember_and_no_older_one),
        cmocka_unit_test(engine__calls_are_answered_while_it_waits_for_its_database),
        cmocka_unit_test(engine__an_error_that_waiting_cannot_heal_ends_it_with_a_remedy),
        cmocka_unit_test(engine__stopping_answers_every_call_once),
    };
    return cmocka_run_group_tests(tests, up, down);
}
