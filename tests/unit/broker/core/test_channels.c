/*  test_channels.c -- who may open a channel to which job, how many, and what the audit has of them. */
#include "tests/unit/broker/core/life_testing.h"

enum { COMMANDS = 1 << HELIO_CHANNEL_KIND_COMMAND, PORTS = 1 << HELIO_CHANNEL_KIND_PORT, SINCE = 10 };

static helio_job_key_t running(uint32_t channels, uint32_t protocol)
{
    helio_job_key_t key = north_in_state(HELIO_JOB_RUNNING);
    north->channels = channels;
    rejoin(key, "local", protocol);
    harness_clear(h);
    return key;
}

static const helio_fx_reply_t *open_as(const char *tenant, helio_role_t role, helio_job_key_t key, uint64_t number)
{
    return harness_channel(h, tenant, role, key,
                           (helio_ev_channel_t){.channel = number, .word = HELIO_TEXT("nvidia-smi")});
}

static const helio_fx_reply_t *open_one(helio_job_key_t key, uint64_t number)
{
    return open_as("acme", HELIO_ROLE_USER, key, number);
}

static void assert_refused(const helio_fx_reply_t *reply, helio_rc rc, const char *says)
{
    assert_int_equal(reply->rc, rc);
    if (says && !harness_says(h, &reply->details, says))
        fail_msg("%s lacks %s", harness_details(h, &reply->details), says);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_CHANNEL), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
}

/*  The site hears of it after the commit of the audit's row: both are held by the same batch. */
static void channel__is_opened_with_an_audit_of_its_first_word(void **state)
{
    (void)state;
    helio_job_key_t key = running(COMMANDS, SINCE);
    const helio_fx_reply_t *reply = open_one(key, 7);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_true(harness_says(
        h, &reply->details,
        "\"ChannelOpened\",\"params\":{\"site\":\"north\",\"epoch\":1,\"limit_s\":28800.0,\"idle_s\":3600.0}"));
    const helio_fx_channel_t *fx = harness_take(h, HELIO_BROKER_FX_CHANNEL);
    assert_true(fx->peer == NORTH && fx->channel == 7 && helio_job_key_equal(fx->key, key) && fx->epoch == 1);
    assert_true(fx->limit_ms == 8 * 3600000 && fx->idle_ms == 3600000);
    assert_int_equal(helio_broker_effects[HELIO_BROKER_FX_CHANNEL].release, HELIO_RELEASE_HELD);
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(helio_text_is(audit->action, "channel-open") && helio_text_is(audit->actor, "user:acme/ada"));
    assert_true(helio_text_is(audit->detail, "command nvidia-smi, epoch 1 at north"));
    assert_int_equal(harness_figures(h).channels, 1);
    assert_int_equal(harness_figures(h).channels_total[HELIO_CHANNEL_KIND_COMMAND], 1);
}

static void channel__ends_with_what_went_through_it(void **state)
{
    (void)state;
    helio_job_key_t key = running(COMMANDS | PORTS, SINCE);
    const helio_ev_channel_t to_port = {.channel = 7, .kind = HELIO_CHANNEL_KIND_PORT, .port = 8888};
    assert_int_equal(harness_channel(h, "acme", HELIO_ROLE_USER, key, to_port)->rc, HELIO_OK);
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(helio_text_is(audit->detail, "port 8888, epoch 1 at north"));
    harness_advance(h, 4200);
    helio_ev_channel_ended_t ended = {.channel = 7, .exit_code = 3, .bytes_in = 5, .bytes_out = 70};
    harness_step(h, HELIO_BROKER_EV_CHANNEL_ENDED, &ended);
    audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(helio_text_is(audit->action, "channel-end") && helio_text_is(audit->actor, "user:acme/ada"));
    assert_true(helio_text_is(audit->detail, "epoch 1, 4 s, 5 bytes in, 70 out, exit code 3"));
    harness_step(h, HELIO_BROKER_EV_CHANNEL_ENDED, &ended); /* unknown by now */
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
    helio_broker_figures_t figures = harness_figures(h);
    assert_true(figures.channels == 0 && figures.channel_bytes_in_total == 5 && figures.channel_bytes_out_total == 70);
}

static void channel__to_a_job_of_another_user_is_for_operators(void **state)
{
    (void)state;
    helio_job_key_t key = running(COMMANDS, SINCE);
    const helio_ev_channel_t event = {
        .command = {.actor = HELIO_TEXT("user:acme/eve")}, .channel = 1, .word = HELIO_TEXT("id")};
    assert_refused(harness_channel(h, "acme", HELIO_ROLE_USER, key, event), HELIO_FORBIDDEN, "\"ChannelOfOthers\"");
    assert_int_equal(harness_channel(h, "acme", HELIO_ROLE_OPERATOR, key, event)->rc, HELIO_OK);
}

static void channel__to_a_job_of_another_tenant_is_refused_as_if_there_were_none(void **state)
{
    (void)state;
    helio_job_key_t key = running(COMMANDS, SINCE);
    assert_refused(open_as("other", HELIO_ROLE_USER, key, 1), HELIO_NOT_FOUND, NULL);
    assert_int_equal(open_as("other", HELIO_ROLE_OPERATOR, key, 2)->rc, HELIO_OK);
}

static void channel__needs_a_job_that_runs(void **state)
{
    (void)state;
    helio_job_key_t starting = any_in_state(HELIO_JOB_STARTING), stopping = any_in_state(HELIO_JOB_STOPPING);
    assert_refused(open_one(starting, 1), HELIO_CONFLICT, "\"ChannelNotRunning\"");
    assert_refused(open_one(stopping, 2), HELIO_CONFLICT, "\"state\":\"stopping\"");
    uint32_t tasks[] = {3, 4};
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.tasks = (helio_u32s_t){tasks, 2};
    helio_job_key_t array = harness_job(h, &spec);
    harness_clear(h);
    assert_refused(open_one(array, 3), HELIO_CONFLICT, "\"first\":3");
    assert_refused(open_as("other", HELIO_ROLE_USER, array, 4), HELIO_NOT_FOUND, NULL);
    assert_refused(open_one(harness_task(array, 3), 5), HELIO_CONFLICT, "\"state\":\"queued\"");
}

static void channel__needs_a_site_that_allows_it(void **state)
{
    (void)state;
    helio_job_key_t key = running(PORTS, SINCE);
    assert_refused(open_one(key, 1), HELIO_CONFLICT,
                   "\"ChannelForbidden\",\"params\":{\"site\":\"north\",\"what\":\"commands in jobs\"}");
    rejoin(key, "local", SINCE - 1);
    harness_clear(h);
    assert_refused(open_one(key, 1), HELIO_CONFLICT,
                   "\"ChannelAgentOld\",\"params\":{\"site\":\"north\",\"protocol\":9,\"least\":10}");
    harness_gone(h, NORTH);
    harness_clear(h);
    assert_refused(open_one(key, 1), HELIO_CONFLICT, "\"ChannelSiteAway\"");
}

static void channel__is_one_of_so_many(void **state)
{
    end(state);
    helio_broker_options_t options = helio_broker_options_default();
    options.channels_max = 3;
    options.channels_per_tenant_max = 2;
    h = harness_begin(&options);
    north = harness_site(h, "north");
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    helio_job_key_t key = running(COMMANDS, SINCE);
    assert_true(open_one(key, 1)->rc == HELIO_OK && open_one(key, 2)->rc == HELIO_OK);
    harness_clear(h);
    assert_refused(open_one(key, 3), HELIO_BUSY,
                   "\"ChannelsOfTenantMany\",\"params\":{\"tenant\":\"acme\",\"count\":2}");
    helio_ev_channel_ended_t ended = {.channel = 1};
    harness_step(h, HELIO_BROKER_EV_CHANNEL_ENDED, &ended);
    assert_int_equal(open_one(key, 4)->rc, HELIO_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(channel__is_opened_with_an_audit_of_its_first_word),
        CASE(channel__ends_with_what_went_through_it),
        CASE(channel__to_a_job_of_another_user_is_for_operators),
        CASE(channel__to_a_job_of_another_tenant_is_refused_as_if_there_were_none),
        CASE(channel__needs_a_job_that_runs),
        CASE(channel__needs_a_site_that_allows_it),
        CASE(channel__is_one_of_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
