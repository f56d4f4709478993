/*  test_queues.c -- queues that operators create, change and schedule: the scheduling order by site and time.
 *  2026-03-01 is a Sunday. */
#include "tests/support/core_harness.h"

#include <stdio.h>
#include <string.h>

#include "federation/energy/zone.h"

enum { EU = 1, US = 2, HOUR_MS = 3600000 };

static harness_t *h;
static helio_site_profile_t *eu, *us;

static void submit(const char *queue, uint32_t gpus, uint32_t count)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.queue = helio_text_of(queue);
    for (uint32_t i = 0; i < count; i++)
        (void)harness_job(h, &spec);
}

/*  One site in EU-XX, one in US-YY; the one in the EU is cheaper. */
static void make_sites(void)
{
    eu = harness_site(h, "eu");
    us = harness_site(h, "us");
    us->region = HELIO_TEXT("US-YY");
    (void)harness_pool(h, eu, "a", "H100", 1, 8, 1.0);
    (void)harness_pool(h, us, "a", "H100", 1, 8, 2.0);
}

static int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    assert_int_equal(harness_queue(h, "nightly", 100, HARNESS_AS_IS)->rc, HELIO_OK);
    make_sites();
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

/*  The sites of one round's placements, in order. */
static const char *placed(void)
{
    static char text[256];
    const helio_row_placement_t *row;
    text[0] = '\0';
    harness_tick(h);
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_PLACEMENT))) {
        size_t size = strlen(text);
        (void)snprintf(text + size, sizeof text - size, "%s%.*s", size ? " " : "", HELIO_TEXT_ARGS(row->site));
    }
    return text;
}

static uint64_t held(const char *queue)
{
    return harness_gpus(h, "acme", queue);
}

static void queue__is_created_changed_audited_and_removed(void **state)
{
    (void)state;
    harness_clear(h);
    const helio_fx_reply_t *reply = harness_queue(h, "urgent", 900, HELIO_TIER_CRITICAL);
    assert_string_equal(
        harness_details(h, &reply->details),
        "[{\"code\":\"QueueSet\",\"params\":{\"priority\":900,\"tier\":\"critical\",\"time_s\":86400.0}}]");
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(helio_text_is(audit->action, "queue-set") && helio_text_is(audit->object, "urgent"));
    reply = harness_queue(h, "urgent", 700, HARNESS_AS_IS); /* what is not given stays */
    assert_true(harness_says(h, &reply->details, "{\"priority\":700,\"tier\":\"critical\",\"time_s\":86400.0}"));
    submit("urgent", 1, 1);
    reply = harness_queue(h, "urgent", HARNESS_AS_IS, HARNESS_AS_IS);
    assert_int_equal(reply->rc, HELIO_CONFLICT);
    assert_true(harness_says(h, &reply->details, "\"QueueInUse\",\"params\":{\"queue\":\"urgent\",\"jobs\":1}"));
    assert_int_equal(harness_queue(h, "nightly", HARNESS_AS_IS, HARNESS_AS_IS)->rc, HELIO_OK);
    assert_int_equal(harness_queue(h, "nightly", HARNESS_AS_IS, HARNESS_AS_IS)->rc, HELIO_NOT_FOUND);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.queue = HELIO_TEXT("nightly");
    assert_int_equal(harness_submit(h, "acme", &spec)->rc, HELIO_INVALID);
    assert_int_equal(harness_queue(h, "nightly", 5, HARNESS_AS_IS)->rc, HELIO_OK);
    assert_int_equal(harness_submit(h, "acme", &spec)->rc, HELIO_OK);
}

static void queue__invalid_values_are_refused_and_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *queue, *region, *schedule;
        uint64_t for_ms;
        int64_t priority;
        helio_rc rc;
        const char *says;
    } rules[] = {
        {"nowhere", "", "", HOUR_MS, 900, HELIO_NOT_FOUND, "UnknownQueue"},
        {"nightly", "", "", 0, 900, HELIO_INVALID, "RuleTooLong"},
        {"nightly", "", "", UINT64_MAX, 900, HELIO_INVALID, "RuleTooLong"},
        {"nightly", "", "Mon..Fry 20:00-08:00", 0, 900, HELIO_INVALID,
         "\"InputInvalid\",\"params\":{\"field\":\"schedule\",\"problem\":\"at character 6"},
        {"nightly", "", "20:00-08:00", 0, HELIO_QUEUE_PRIORITY_MAX + 1, HELIO_INVALID,
         "\"OutOfRange\",\"params\":{\"field\":\"priority\""},
        {"nightly", "", "20:00-08:00", 0, -1, HELIO_NOT_FOUND, "\"UnknownRule\",\"params\":{\"queue\":\"nightly\"}"},
    };
    harness_clear(h);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const helio_fx_reply_t *reply =
            harness_rule(h, rules[i].queue, rules[i].region, rules[i].schedule, rules[i].for_ms, rules[i].priority);
        assert_int_equal(reply->rc, rules[i].rc);
        assert_true(harness_says(h, &reply->details, rules[i].says));
    }
    assert_int_equal(harness_queue(h, "late", HARNESS_AS_IS, HELIO_TIER_STANDARD)->rc, HELIO_INVALID);
    assert_int_equal(harness_queue(h, "late", HELIO_QUEUE_PRIORITY_MAX + 1, HARNESS_AS_IS)->rc, HELIO_INVALID);
    helio_ev_queue_t user = {.call = 4711, .queue = HELIO_TEXT("late"), .priority_given = true};
    harness_step(h, HELIO_BROKER_EV_QUEUE, &user);
    helio_ev_queue_rule_t zone = {.call = 4712,
                                  .role = HELIO_ROLE_OPERATOR,
                                  .queue = HELIO_TEXT("nightly"),
                                  .schedule = HELIO_TEXT("20:00-08:00"),
                                  .zone = HELIO_TEXT("Europe/Berlin"),
                                  .zone_data = HELIO_TEXT("TZif, or so it says")};
    harness_step(h, HELIO_BROKER_EV_QUEUE_RULE, &zone);
    uint32_t codes[2] = {0};
    for (const helio_fx_reply_t *reply; (reply = harness_take(h, HELIO_BROKER_FX_REPLY));) {
        if (reply->call == 4711 || reply->call == 4712)
            codes[reply->call - 4711] = reply->rc;
    }
    assert_int_equal(codes[0], HELIO_FORBIDDEN);
    assert_int_equal(codes[1], HELIO_INVALID);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_QUEUE), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_QUEUE_RULE), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
}

static void rounds(uint32_t standard, uint32_t nightly)
{
    harness_join(h, EU, eu);
    submit("standard", 8, standard);
    submit("nightly", 8, nightly);
    harness_tick(h);
}

static void rule__with_a_schedule_changes_the_scheduling_order(void **state)
{
    (void)state;
    assert_int_equal(harness_rule(h, "nightly", "", "Sun 20:00-08:00", 0, 900)->rc, HELIO_OK);
    rounds(1, 1); /* midnight: the day before, Saturday, has none */
    assert_int_equal(held("standard"), 8);
    harness_end(&h);
    begin(state);
    (void)harness_rule(h, "nightly", "", "Sun 20:00-08:00", 0, 900);
    harness_wait(h, 21 * HOUR_MS);
    rounds(1, 1);
    assert_int_equal(held("nightly"), 8);
    assert_int_equal(held("standard"), 0);
    harness_end(&h);
    begin(state);
    (void)harness_rule(h, "nightly", "", "Sun 20:00-08:00", 0, 900);
    harness_wait(h, 32 * HOUR_MS + 1);
    rounds(1, 1);
    assert_int_equal(held("standard"), 8);
}

static void rule__follows_the_local_time_of_its_zone(void **state)
{
    (void)state;
    static char bytes[HELIO_QUEUE_ZONE_DATA_MAX];
    FILE *file = fopen("/usr/share/zoneinfo/Asia/Tokyo", "r");
    if (!file) {
        print_message("SKIPPED: no time-zone data (Debian: tzdata)\n");
        skip();
    }
    uint32_t size = (uint32_t)fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    helio_ev_queue_rule_t event = {.role = HELIO_ROLE_OPERATOR,
                                   .queue = HELIO_TEXT("nightly"),
                                   .schedule = HELIO_TEXT("09:00-10:00"), /* from midnight UTC */
                                   .zone = HELIO_TEXT("Asia/Tokyo"),
                                   .zone_data = {bytes, size},
                                   .priority = 900};
    harness_step(h, HELIO_BROKER_EV_QUEUE_RULE, &event);
    const helio_row_queue_rule_t *row = harness_take(h, HELIO_BROKER_FX_ROW_QUEUE_RULE);
    assert_true(row->holds && row->zone_data.size == size);
    harness_wait(h, HOUR_MS);
    row = harness_take(h, HELIO_BROKER_FX_ROW_QUEUE_RULE);
    assert_false(row->holds);
    harness_t *next = harness_rebuild(h); /* the zone came with the row */
    harness_wait(next, 23 * HOUR_MS);
    row = harness_take(next, HELIO_BROKER_FX_ROW_QUEUE_RULE);
    assert_true(row && row->holds);
    harness_end(&next);
    static const struct {
        const char *zone;
        helio_detail_code_t warning;
    } zones[] = {{"Asia/Tokyo", HELIO_DETAIL_NONE},
                 {"Etc/GMT+5", HELIO_DETAIL_WARN_ZONE_SIGN},
                 {"Etc/GMT", HELIO_DETAIL_NONE},
                 {"EST5EDT", HELIO_DETAIL_WARN_ZONE_FIXED},
                 {"EST", HELIO_DETAIL_WARN_ZONE_FIXED},
                 {"Japan", HELIO_DETAIL_NONE},
                 {"GMT", HELIO_DETAIL_NONE}};
    for (size_t i = 0; i < sizeof zones / sizeof zones[0]; i++) {
        harness_clear(h);
        event.zone = helio_text_of(zones[i].zone);
        harness_step(h, HELIO_BROKER_EV_QUEUE_RULE, &event);
        const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
        assert_int_equal(reply->rc, HELIO_OK);
        assert_int_equal(reply->details.items.count, zones[i].warning ? 2 : 1);
        assert_true(!zones[i].warning || helio_details_find(&reply->details, zones[i].warning));
    }
}

static void rule__for_a_limited_time_ends_by_itself_and_can_be_removed(void **state)
{
    (void)state;
    (void)harness_rule(h, "nightly", "", "", 6 * HOUR_MS, 900);
    rounds(1, 1);
    assert_int_equal(held("nightly"), 8);
    harness_clear(h);
    harness_wait(h, 6 * HOUR_MS);
    const helio_row_queue_rule_t *row = harness_take(h, HELIO_BROKER_FX_ROW_QUEUE_RULE);
    assert_true(row->removed);
    (void)harness_rule(h, "nightly", "EU", "", HOUR_MS, 900);
    assert_int_equal(harness_rule(h, "nightly", "", "", 0, -1)->rc, HELIO_NOT_FOUND);
    assert_int_equal(harness_rule(h, "nightly", "EU", "", 0, -1)->rc, HELIO_OK);
}

static void rule__that_lasts_for_a_time_goes_before_one_with_hours_and_a_region_before_everywhere(void **state)
{
    (void)state;
    (void)harness_rule(h, "nightly", "EU", "00:00-24:00", 0, 900);
    (void)harness_rule(h, "nightly", "", "00:00-24:00", 0, 50);
    rounds(1, 1);
    assert_int_equal(held("nightly"), 8);
    harness_end(&h);
    begin(state);
    (void)harness_rule(h, "nightly", "EU", "00:00-24:00", 0, 900);
    (void)harness_rule(h, "nightly", "", "", HOUR_MS, 50);
    rounds(1, 1);
    assert_int_equal(held("standard"), 8);
}

/*  In the EU "nightly" goes first, in the US "standard": both sites have room for one. Priority orders turns
 * and does not choose sites: the first choice of both is the EU's. */
static void region__a_queue_is_first_where_its_priority_is_higher_only(void **state)
{
    (void)state;
    (void)harness_rule(h, "nightly", "EU", "00:00-24:00", 0, 900);
    submit("nightly", 8, 2);
    submit("standard", 8, 2);
    harness_join(h, EU, eu);
    harness_join(h, US, us);
    assert_string_equal(placed(), "eu us");
    assert_int_equal(held("nightly"), 8);
    assert_int_equal(held("standard"), 8);
}

static void region__a_class_without_capacity_at_a_level_is_asked_again_at_the_lower(void **state)
{
    (void)state;
    (void)harness_rule(h, "nightly", "EU", "00:00-24:00", 0, 900);
    submit("nightly", 4, 4);
    harness_join(h, EU, eu);
    harness_join(h, US, us);
    assert_string_equal(placed(), "eu eu us us");
    assert_int_equal(held("nightly"), 16);
}

static void region__a_level_that_no_class_wants_leaves_other_queues_their_order(void **state)
{
    (void)state;
    (void)harness_rule(h, "nightly", "US", "", HOUR_MS, 900);
    submit("nightly", 8, 1); /* wants the cheaper one, in the EU, where it is last */
    submit("standard", 8, 1);
    harness_join(h, EU, eu);
    harness_join(h, US, us);
    assert_string_equal(placed(), "eu us");
    assert_int_equal(held("nightly"), 8);
    assert_int_equal(held("standard"), 8);
}

/*  A gang keeps room only where its queue goes first. */
static void region__a_gang_reserves_before_others_only_where_its_queue_goes_first(void **state)
{
    (void)state;
    (void)harness_rule(h, "nightly", "EU", "00:00-24:00", 0, 900);
    (void)harness_quota(h, "acme", "express", HARNESS_AS_IS, 16, HARNESS_AS_IS);
    submit("express", 4, 4); /* both sites are full, for an hour */
    harness_join(h, EU, eu);
    harness_join(h, US, us);
    harness_tick(h);
    submit("standard", 8, 1);
    submit("nightly", 8, 1);
    harness_clear(h);
    harness_tick(h);
    const char *where[2] = {"", ""};
    for (const helio_row_class_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS));) {
        const helio_detail_t *reserved = harness_detail(row->details, HELIO_DETAIL_RESERVED_FOR_IT);
        where[helio_text_is(row->queue, "nightly")] = helio_detail_value(reserved, 0).text.data;
    }
    assert_string_equal(where[1], "eu");
    assert_string_equal(where[0], "us");
}

static void rules__survive_a_new_leader(void **state)
{
    (void)state;
    (void)harness_rule(h, "nightly", "EU", "", 6 * HOUR_MS, 900);
    (void)harness_rule(h, "nightly", "US", "00:00-24:00", 0, 30);
    (void)harness_quota(h, "*", "nightly", HARNESS_AS_IS, 8, HARNESS_AS_IS);
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    h = next;
    make_sites();
    submit("nightly", 8, 2);
    submit("standard", 8, 2);
    harness_join(h, EU, eu);
    harness_join(h, US, us);
    assert_string_equal(placed(), "eu us");
    assert_int_equal(held("nightly"), 8);
    assert_int_equal(held("standard"), 8);
}

static void each__tenant_has_the_queues_burst_unless_it_has_its_own(void **state)
{
    (void)state;
    assert_int_equal(harness_quota(h, "*", "", HARNESS_AS_IS, 4, HARNESS_AS_IS)->rc, HELIO_INVALID);
    assert_int_equal(harness_quota(h, "*", "express", 1, 4, HARNESS_AS_IS)->rc, HELIO_INVALID);
    assert_int_equal(harness_quota(h, "*", "express", HARNESS_AS_IS, 4, HARNESS_AS_IS)->rc, HELIO_OK);
    (void)harness_quota(h, "other", "express", HARNESS_AS_IS, 6, HARNESS_AS_IS);
    harness_join(h, EU, eu);
    harness_join(h, US, us);
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    spec.queue = HELIO_TEXT("express");
    for (int i = 0; i < 5; i++) {
        (void)harness_submit(h, "acme", &spec);
        (void)harness_submit(h, "other", &spec);
    }
    harness_tick(h);
    assert_int_equal(harness_gpus(h, "acme", "express"), 4);
    assert_int_equal(harness_gpus(h, "other", "express"), 6);
    (void)harness_quota(h, "*", "express", HARNESS_AS_IS, 8, HARNESS_AS_IS);
    harness_tick(h);
    assert_int_equal(harness_gpus(h, "acme", "express"), 8);
    assert_int_equal(harness_gpus(h, "other", "express"), 6);
    (void)harness_quota(h, "acme", "express", HARNESS_AS_IS, HELIO_QUOTA_UNLIMITED, HARNESS_AS_IS);
    harness_tick(h);
    assert_int_equal(harness_gpus(h, "acme", "express"), 10);
}

static void input_warning__a_region_without_sites_is_reported(void **state)
{
    (void)state;
    static const struct {
        const char *region, *says;
    } cases[] = {{"", ""},
                 {"EU", ""},
                 {"EV", "{\"code\":\"WarnRegion\",\"params\":{\"region\":\"EV\"}}"},
                 {"EU-XY", "{\"code\":\"WarnRegion\",\"params\":{\"region\":\"EU-XY\",\"suggestion\":\"EU-XX\"}}"}};
    assert_int_equal(harness_rule(h, "nightly", "XX", "", HOUR_MS, 900)->details.items.count,
                     1); /* no site is known yet */
    harness_join(h, EU, eu);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const helio_fx_reply_t *reply = harness_rule(h, "nightly", cases[i].region, "", HOUR_MS, 900);
        assert_int_equal(reply->rc, HELIO_OK);
        assert_int_equal(reply->details.items.count, cases[i].says[0] ? 2 : 1);
        assert_true(harness_says(h, &reply->details, cases[i].says));
    }
}

/*  Where an operator says nothing: in queues of its tier, those that an operator makes too, and with the next
 *  leader. */
static void each__tenant_has_a_bounded_part_of_critical_work(void **state)
{
    (void)state;
    (void)harness_pool(h, eu, "b", "H100", 4, 8, 1.0);
    harness_join(h, EU, eu);
    (void)harness_queue(h, "urgent", 1200, HELIO_TIER_CRITICAL);
    static const char *const queues[] = {"express", "urgent"};
    for (uint32_t i = 0; i < 2; i++) {
        helio_job_spec_t spec = harness_spec(h, "H100", 8);
        spec.queue = helio_text_of(queues[i]);
        for (uint32_t k = 0; k < 2; k++)
            (void)harness_submit(h, "acme", &spec);
        harness_tick(h);
        assert_int_equal(harness_gpus(h, "acme", queues[i]), HELIO_QUOTA_CRITICAL_GPUS);
    }
    const helio_row_class_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row;
    assert_non_null(last);
    assert_true(helio_text_is(last->reason, "PolicyCap"));
    assert_string_equal(harness_facts(h, last->details),
                        "QuotaInUse tenant=acme queue=urgent used_gpus=8 limit_gpus=8 needed_gpus=8; "
                        "QuotaRemedy tenant=acme queue=urgent");
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    h = next;
    make_sites();
    (void)harness_pool(h, eu, "b", "H100", 4, 8, 1.0);
    assert_int_equal(harness_quota(h, "acme", "express", 12, HARNESS_AS_IS, HARNESS_AS_IS)->rc, HELIO_INVALID);
    assert_int_equal(harness_quota(h, "acme", "express", HARNESS_AS_IS, 16, HARNESS_AS_IS)->rc, HELIO_OK);
    harness_join(h, EU, eu);
    harness_tick(h);
    assert_int_equal(harness_gpus(h, "acme", "express"), 16);
    assert_int_equal(harness_gpus(h, "acme", "urgent"), HELIO_QUOTA_CRITICAL_GPUS);
    (void)harness_queue(h, "urgent", 1200, HELIO_TIER_STANDARD); /* then nothing bounds it */
    harness_tick(h);
    assert_int_equal(harness_gpus(h, "acme", "urgent"), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(input_warning__a_region_without_sites_is_reported),
        TEST(each__tenant_has_a_bounded_part_of_critical_work),
        TEST(queue__is_created_changed_audited_and_removed),
        TEST(queue__invalid_values_are_refused_and_change_nothing),
        TEST(rule__with_a_schedule_changes_the_scheduling_order),
        TEST(rule__follows_the_local_time_of_its_zone),
        TEST(rule__for_a_limited_time_ends_by_itself_and_can_be_removed),
        TEST(rule__that_lasts_for_a_time_goes_before_one_with_hours_and_a_region_before_everywhere),
        TEST(region__a_queue_is_first_where_its_priority_is_higher_only),
        TEST(region__a_class_without_capacity_at_a_level_is_asked_again_at_the_lower),
        TEST(region__a_level_that_no_class_wants_leaves_other_queues_their_order),
        TEST(region__a_gang_reserves_before_others_only_where_its_queue_goes_first),
        TEST(rules__survive_a_new_leader),
        TEST(each__tenant_has_the_queues_burst_unless_it_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
