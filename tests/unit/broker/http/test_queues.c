/*  Queues, their rules, overflow groups and quotas: what an operator writes is what the core is asked, or a refusal
 *  that names the key and the remedy. */
#include "tests/unit/broker/http/server_testing.h"

#include "federation/policy/quota.h"

static client_t *asking;

static int up_held(void **state)
{
    (void)up(state);
    w->hold = true;
    return 0;
}

/*  What the core is asked by this request; answer () lets it go. */
static const void *asked(const char *method, const char *target, const char *body, uint32_t event)
{
    asking = client_up(w);
    client_ask(asking, method, target, w->operator_.text, JSON, body);
    world_await_held(w);
    if (w->held->event != event)
        fail_msg("%s %s: event %u, not %u", method, target, w->held->event, event);
    return w->held->payload;
}

static void answer(int status)
{
    world_reply(w);
    assert_true(client_reply(asking, &r));
    assert_int_equal(r.status, status);
    client_down(asking);
}

static void check_refused(const char *method, const char *target, const char *body, const char *text)
{
    ask(w, &r, method, target, w->operator_.text, JSON, body);
    if (r.status != 400 || !strstr(r.body, text))
        fail_msg("%s %s %s: %d, and not '%s': %s", method, target, body ? body : "", r.status, text, r.body);
}

#define assert_text(text, expected)                                          \
    do {                                                                     \
        if (!helio_text_is((text), (expected)))                              \
            fail_msg("'%.*s', not '%s'", HELIO_TEXT_ARGS(text), (expected)); \
    } while (0)

/* ---- queues -------------------------------------------------------------------------------------------- */

static void queue__what_is_given_reaches_the_core_and_nothing_else(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool has_priority, has_tier, has_limit;
        uint32_t priority, tier;
        uint64_t limit_ms;
    } rows[] = {
        {"{\"priority\": 0}", true, false, false, 0, 0, 0},
        {"{\"priority\": 1000000}", true, false, false, 1000000, 0, 0},
        {"{\"priority\": 1000001}", true, false, false, UINT32_MAX, 0, 0}, /* the core refuses it: it must not wrap */
        {"{\"priority\": 4294967297}", true, false, false, UINT32_MAX, 0, 0},
        {"{\"tier\": \"best-effort\"}", false, true, false, 0, HELIO_TIER_BEST_EFFORT, 0},
        {"{\"tier\": \"critical\"}", false, true, false, 0, HELIO_TIER_CRITICAL, 0},
        {"{\"time_limit_s\": 1}", false, false, true, 0, 0, 1000},
        {"{\"time_limit_s\": 4294967296}", false, false, true, 0, 0, UINT64_MAX},
        {"{\"priority\": 7, \"tier\": \"standard\", \"time_limit_s\": 60}", true, true, true, 7, HELIO_TIER_STANDARD,
         60000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const helio_ev_queue_t *event = asked("PUT", "/v1/queues/batch", rows[i].body, HELIO_BROKER_EV_QUEUE);
        assert_text(event->queue, "batch");
        assert_text(event->actor, "user:ops/ana");
        assert_int_equal(event->role, HELIO_ROLE_OPERATOR);
        assert_false(event->remove);
        assert_int_equal(event->priority_given, rows[i].has_priority);
        assert_int_equal(event->tier_given, rows[i].has_tier);
        assert_int_equal(event->time_limit_given, rows[i].has_limit);
        if (rows[i].has_priority)
            assert_int_equal(event->priority, rows[i].priority);
        if (rows[i].has_tier)
            assert_int_equal(event->tier, rows[i].tier);
        if (rows[i].has_limit)
            assert_true(event->time_limit_ms == rows[i].limit_ms);
        answer(200);
        assert_contains(r.body, "\"queue\":\"batch\"");
    }
}

static void queue__of_a_name_that_is_none_is_neither_made_nor_removed(void **state)
{
    (void)state;
    static const char *const names[] = {".hidden", "-dash",  "a%20b",
                                        "a%2Cb",   "%C3%A9", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" /* 33 */};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char target[160];
        (void)snprintf(target, sizeof target, "/v1/queues/%s", names[i]);
        check_refused("PUT", target, "{\"priority\": 1}", "\"NameInvalid\"");
        check_refused("DELETE", target, NULL, "\"NameInvalid\"");
        (void)snprintf(target, sizeof target, "/v1/queues/%s/rules", names[i]);
        check_refused("PUT", target, "{\"priority\": 1}", "\"NameInvalid\"");
        (void)snprintf(target, sizeof target, "/v1/overflows/%s", names[i]);
        check_refused("PUT", target, "{\"steps\": \"a\"}", "\"NameInvalid\"");
        check_refused("DELETE", target, NULL, "\"NameInvalid\"");
    }
    assert_int_equal(w->events, 0);
}

static void queue__command_that_sets_nothing_says_what_can_be_set(void **state)
{
    (void)state;
    check_refused("PUT", "/v1/queues/batch", "{}", "give one of priority, tier, time_limit_s");
    check_refused("PUT", "/v1/queues/batch", NULL, "give one of priority, tier, time_limit_s");
    check_refused("PUT", "/v1/queues/batch", "{\"tier\": \"Critical\"}",
                  "'Critical' is not one of best-effort, standard, critical");
    check_refused("PUT", "/v1/queues/batch", "{\"teir\": \"critical\"}", "did you mean 'tier'?");
    check_refused("PUT", "/v1/quotas/acme", "{}", "give one of guaranteed_gpus, burst_gpus, weight, budgets");
    check_refused("PUT", "/v1/quotas/acme", "{\"queue\": \"batch\"}", "\"NothingToSet\"");
    check_refused("PUT", "/v1/queues/batch/rules", "{}", "the key 'priority' is missing");
    check_refused("PUT", "/v1/overflows/out", "{}", "the key 'steps' is missing");
    assert_int_equal(w->events, 0);
}

static void queue__that_is_removed_is_named_to_the_core(void **state)
{
    (void)state;
    const helio_ev_queue_t *queue = asked("DELETE", "/v1/queues/batch", NULL, HELIO_BROKER_EV_QUEUE);
    assert_true(queue->remove);
    assert_text(queue->queue, "batch");
    assert_false(queue->priority_given || queue->tier_given || queue->time_limit_given);
    answer(200);
    const helio_ev_overflow_t *group = asked("DELETE", "/v1/overflows/out", NULL, HELIO_BROKER_EV_OVERFLOW);
    assert_true(group->remove);
    assert_text(group->name, "out");
    answer(200);
    assert_contains(r.body, "\"name\":\"out\"");
}

/* ---- rules --------------------------------------------------------------------------------------------- */

static void rule__hours_and_zone_are_told_apart_however_they_are_spaced(void **state)
{
    (void)state;
    static const struct {
        const char *written, *hours, *zone;
    } rows[] = {
        {"20:00-08:00", "20:00-08:00", ""},
        {"Mon..Fri 20:00-08:00", "Mon..Fri 20:00-08:00", ""},
        {"Mon..Fri 20:00-08:00 Europe/Berlin", "Mon..Fri 20:00-08:00", "Europe/Berlin"},
        {"Sat,Sun 00:00-24:00   America/New_York  ", "Sat,Sun 00:00-24:00", "America/New_York"},
        {"20:00-08:00 UTC", "20:00-08:00", ""}, /* as none */
        {"20:00-08:00 ", "20:00-08:00", ""},
        {"Europe/Berlin", "Europe/Berlin", ""}, /* one word is hours: the core says that it is none */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char body[256];
        (void)snprintf(body, sizeof body, "{\"schedule\": \"%s\", \"priority\": 9, \"region\": \"eu\"}",
                       rows[i].written);
        const helio_ev_queue_rule_t *event = asked("PUT", "/v1/queues/batch/rules", body, HELIO_BROKER_EV_QUEUE_RULE);
        assert_text(event->schedule, rows[i].hours);
        assert_text(event->zone, rows[i].zone);
        assert_text(event->region, "eu");
        assert_int_equal(event->priority, 9);
        assert_false(event->remove);
        /* The core opens no file: the zone comes with its data. */
        assert_int_equal(event->zone_data.size > 40 && memcmp(event->zone_data.data, "TZif", 4) == 0,
                         rows[i].zone[0] != 0);
        answer(200);
    }
}

static void rule__for_a_time_is_in_seconds_and_null_removes_it(void **state)
{
    (void)state;
    const helio_ev_queue_rule_t *event =
        asked("PUT", "/v1/queues/batch/rules", "{\"for_s\": 3600, \"priority\": 1000001}", HELIO_BROKER_EV_QUEUE_RULE);
    assert_true(event->for_ms == 3600000 && event->priority == UINT32_MAX && !event->remove && !event->schedule.size);
    answer(200);
    event = asked("PUT", "/v1/queues/batch/rules", "{\"for_s\": 9007199254740992, \"priority\": 0}",
                  HELIO_BROKER_EV_QUEUE_RULE);
    assert_true(event->for_ms == UINT64_MAX); /* too long stays too long */
    answer(200);
    event =
        asked("PUT", "/v1/queues/batch/rules", "{\"priority\": null, \"region\": \"eu\"}", HELIO_BROKER_EV_QUEUE_RULE);
    assert_true(event->remove);
    assert_text(event->region, "eu");
    answer(200);
}

static void rule__in_a_zone_that_the_broker_does_not_know_names_a_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *zone, *remedy;
    } rows[] = {
        {"Europe/Berln", "did you mean 'Europe/Berlin'?"},
        {"europe/berlin", "did you mean 'Europe/Berlin'?"},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "POSIX rules are not accepted; give a name such as Europe/Berlin"},
        {"Qqqqqqqqqqqqqqq", "give a name such as Europe/Berlin, or UTC"},
        {"Etc/../../../etc/passwd", "give a name such as Europe/Berlin, or UTC"},
        {"Europe//Berlin", "the broker does not know the time zone"},
        {"Europe/", "the broker does not know the time zone"},
        {"Europe", "the broker does not know the time zone"}, /* a folder of zones */
        {"posixrules\\u00e9", "the broker does not know the time zone"},
        {"tzdata.zi", "the broker does not know the time zone"}, /* a file beside the zones, that is none */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char body[256];
        (void)snprintf(body, sizeof body, "{\"schedule\": \"20:00-08:00 %s\", \"priority\": 1}", rows[i].zone);
        w->hold = false;
        check_refused("PUT", "/v1/queues/batch/rules", body, rows[i].remedy);
    }
    assert_int_equal(w->events, 0);
}

static void rule__of_hours_and_for_a_time_is_a_contradiction(void **state)
{
    (void)state;
    static const char target[] = "/v1/queues/batch/rules";
    check_refused("PUT", target, "{\"schedule\": \"20:00-08:00\", \"for_s\": 60, \"priority\": 1}",
                  "give either schedule or for_s");
    check_refused("PUT", target, "{\"schedule\": \"\", \"priority\": 1}", "must not be empty; give hours");
    check_refused("PUT", target, "{\"schedule\": \"20:00-08:00\\n\", \"priority\": 1}", "without control characters");
    check_refused("PUT", target, "{\"schedule\": \"20:00-08:00\", \"priority\": true}", "or null for no limit");
    assert_int_equal(w->events, 0);
}

/* ---- overflow groups, quotas --------------------------------------------------------------------------- */

static void overflow__group_reaches_the_core_as_it_was_written(void **state)
{
    (void)state;
    const helio_ev_overflow_t *event =
        asked("PUT", "/v1/overflows/out",
              "{\"steps\": \"home-*; eu-*,after=10m\", \"queue\": \"batch\", \"tenant\": \"acme\"}",
              HELIO_BROKER_EV_OVERFLOW);
    assert_text(event->name, "out");
    assert_text(event->steps, "home-*; eu-*,after=10m");
    assert_text(event->queue, "batch");
    assert_text(event->tenant, "acme");
    assert_text(event->actor, "user:ops/ana");
    assert_int_equal(event->role, HELIO_ROLE_OPERATOR);
    assert_false(event->remove);
    answer(200);
    event = asked("PUT", "/v1/overflows/out", "{\"steps\": \"a\"}", HELIO_BROKER_EV_OVERFLOW);
    assert_int_equal(event->queue.size + event->tenant.size, 0);
    answer(200);
}

static void quota__figures_reach_the_core_and_none_wraps(void **state)
{
    (void)state;
    static const struct {
        const char *target, *body, *tenant;
        bool guarantees, bursts, weighs;
        uint32_t guaranteed, burst, weight;
    } rows[] = {
        {"/v1/quotas/acme", "{\"guaranteed_gpus\": 0}", "acme", true, false, false, 0, 0, 0},
        {"/v1/quotas/*", "{\"guaranteed_gpus\": 8, \"burst_gpus\": 16}", "*", true, true, false, 8, 16, 0},
        {"/v1/quotas/%2A", "{\"burst_gpus\": null}", "*", false, true, false, 0, HELIO_QUOTA_UNLIMITED, 0},
        {"/v1/quotas/acme", "{\"weight\": 0.001}", "acme", false, false, true, 0, 0, 1},
        {"/v1/quotas/acme", "{\"weight\": 1000000000}", "acme", false, false, true, 0, 0, UINT32_MAX},
        {"/v1/quotas/acme", "{\"guaranteed_gpus\": 4294967296}", "acme", true, false, false, HELIO_QUOTA_GPUS_MAX + 1,
         0, 0},
        {"/v1/quotas/acme", "{\"burst_gpus\": 4294967295}", "acme", false, true, false, 0, HELIO_QUOTA_GPUS_MAX + 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const helio_ev_quota_t *event = asked("PUT", rows[i].target, rows[i].body, HELIO_BROKER_EV_QUOTA);
        assert_text(event->tenant, rows[i].tenant);
        assert_int_equal(event->guaranteed_given, rows[i].guarantees);
        assert_int_equal(event->burst_given, rows[i].bursts);
        assert_int_equal(event->weight_given, rows[i].weighs);
        if (rows[i].guarantees)
            assert_int_equal(event->guaranteed_gpus, rows[i].guaranteed);
        if (rows[i].bursts)
            assert_int_equal(event->burst_gpus, rows[i].burst);
        if (rows[i].weighs)
            assert_int_equal(event->weight_milli, rows[i].weight);
        answer(200);
    }
    w->hold = false;
    ask(w, &r, "PUT", "/v1/quotas/-acme", w->operator_.text, JSON, "{\"weight\": 1}");
    assert_int_equal(r.status, 404);
    assert_contains(r.body, "there is no tenant -acme");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up_held, down)
    const struct CMUnitTest tests[] = {
        TEST(queue__what_is_given_reaches_the_core_and_nothing_else),
        TEST(queue__of_a_name_that_is_none_is_neither_made_nor_removed),
        TEST(queue__command_that_sets_nothing_says_what_can_be_set),
        TEST(queue__that_is_removed_is_named_to_the_core),
        TEST(rule__hours_and_zone_are_told_apart_however_they_are_spaced),
        TEST(rule__for_a_time_is_in_seconds_and_null_removes_it),
        TEST(rule__in_a_zone_that_the_broker_does_not_know_names_a_remedy),
        TEST(rule__of_hours_and_for_a_time_is_a_contradiction),
        TEST(overflow__group_reaches_the_core_as_it_was_written),
        TEST(quota__figures_reach_the_core_and_none_wraps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
