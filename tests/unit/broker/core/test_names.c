/*  test_names.c -- words of `placement` that no known site answers to: in plans, refusals and notes. */
#include <stdio.h>
#include <string.h>

#include "tests/support/core_harness.h"

enum { LULEA = 1, OREGON = 2 };

static harness_t *h;
static helio_site_profile_t *lulea, *oregon;

static int begin(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    h = harness_begin(&options);
    lulea = harness_site(h, "lulea");
    lulea->region = HELIO_TEXT("EU-SE-1");
    lulea->backend = HELIO_TEXT("slurm");
    (void)harness_pool(h, lulea, "a", "H100", 4, 8, 2);
    oregon = harness_site(h, "oregon");
    oregon->region = HELIO_TEXT("US-OR");
    oregon->backend = HELIO_TEXT("local");
    (void)harness_pool(h, oregon, "a", "H100", 2, 8, 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static void join(void)
{
    harness_join(h, LULEA, lulea);
    harness_join(h, OREGON, oregon);
}

typedef const char *const words_t[5]; /* NULL-terminated */

static helio_job_spec_t spec_of(words_t sites, words_t regions, words_t backends)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    harness_strings(h, &spec.sites, sites);
    harness_strings(h, &spec.regions, regions);
    harness_strings(h, &spec.backends, backends);
    return spec;
}

static const helio_fx_reply_t *plan(const helio_job_spec_t *spec)
{
    helio_submission_t job = harness_submission(h, spec, "", "");
    helio_ev_submit_t event = {.call = 7, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&job, 1}};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_PLAN, &event);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_non_null(reply);
    assert_int_equal(reply->rc, HELIO_OK);
    return reply;
}

/*  In a plan and in the refusal of the submission. */
static void names__to_which_no_site_answers_are_the_reason_with_what_was_meant(void **state)
{
    (void)state;
    static const struct {
        words_t sites, regions, backends;
        const char *expected;
    } cases[] = {
        {{"luela"}, {0}, {0}, "NoSiteMatches path=placement.sites words=luela suggestion=lulea"},
        {{"LULEA"}, {0}, {0}, "NoSiteMatches path=placement.sites words=LULEA suggestion=lulea"},
        {{"luela", "oregn"}, {0}, {0}, "NoSiteMatches path=placement.sites words=luela, oregn suggestion=lulea"},
        {{"mars"}, {0}, {0}, "NoSiteMatches path=placement.sites words=mars"},
        {{"mars-*"}, {0}, {0}, "NoSiteMatches path=placement.sites words=mars-*"},
        {{"a", "b", "c", "d"}, {0}, {0}, "NoSiteMatches path=placement.sites words=a, b, c and 1 more"},
        {{"luela", "!oregon"}, {0}, {0}, "NoSiteMatches path=placement.sites words=luela suggestion=lulea"},
        {{0}, {"EU-SEE"}, {0}, "NoSiteMatches path=placement.regions words=EU-SEE suggestion=EU-SE"},
        {{0}, {"EU-SE-11"}, {0}, "NoSiteMatches path=placement.regions words=EU-SE-11 suggestion=EU-SE-1"},
        {{0}, {"EU-SE-1-2"}, {0}, "NoSiteMatches path=placement.regions words=EU-SE-1-2 suggestion=EU-SE-1"},
        {{0}, {0}, {"slrum"}, "NoSiteMatches path=placement.backends words=slrum suggestion=slurm"},
        {{0}, {0}, {"kubernetes"}, "NoSiteMatches path=placement.backends words=kubernetes"},
        {{"luela"},
         {"EUU"},
         {0},
         "NoSiteMatches path=placement.sites words=luela suggestion=lulea; NoSiteMatches path=placement.regions "
         "words=EUU suggestion=EU"},
        /* a list that names a site, and others that it has not */
        {{"lulea", "oregn"},
         {"US"},
         {0},
         "WarnPlacement path=placement.sites words=oregn suggestion=oregon; RejectedAt rejection=Residency sites=lulea; "
         "RejectedAt rejection=SitePattern sites=oregon"},
        /* known words that no site has together */
        {{"lulea"},
         {"US"},
         {0},
         "RejectedAt rejection=Residency sites=lulea; RejectedAt rejection=SitePattern sites=oregon"},
        /* words that exclude need no site */
        {{"!lulea", "!oregon", "!mars"}, {0}, {0}, "RejectedAt rejection=SitePattern sites=lulea, oregon"},
        {{0}, {"!EU", "!US", "!AP"}, {0}, "RejectedAt rejection=Residency sites=lulea, oregon"},
    };
    join();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_job_spec_t spec = spec_of(cases[i].sites, cases[i].regions, cases[i].backends);
        char refused[600];
        const helio_fx_reply_t *reply = plan(&spec);
        assert_true(helio_text_is(reply->plan.decision.reason, "NeverFits"));
        assert_string_equal(harness_facts(h, reply->plan.decision.details), cases[i].expected);
        assert_int_equal(reply->details.items.count, 0); /* no note that repeats the reason */
        (void)snprintf(refused, sizeof refused, "NeverRuns job=0; %s", cases[i].expected);
        reply = harness_submit(h, "acme", &spec);
        assert_int_equal(reply->rc, HELIO_INFEASIBLE);
        assert_string_equal(harness_facts(h, reply->details), refused);
    }
}

/*  A list that names a site is no reason to refuse, but one of its words may be a typing error. */
static void names__besides_one_that_is_known_are_a_note(void **state)
{
    (void)state;
    static const struct {
        words_t sites, regions, backends;
        const char *expected;
    } cases[] = {
        {{"lulea", "oregn"}, {0}, {0}, "WarnPlacement path=placement.sites words=oregn suggestion=oregon"},
        {{"*", "mars"}, {0}, {0}, "WarnPlacement path=placement.sites words=mars"},
        {{0}, {"EU", "USS"}, {0}, "WarnPlacement path=placement.regions words=USS suggestion=US"},
        {{0}, {0}, {"slurm", "locl"}, "WarnPlacement path=placement.backends words=locl suggestion=local"},
        {{"lulea", "oregn"},
         {"EU", "U S"},
         {0},
         "WarnPlacement path=placement.sites words=oregn suggestion=oregon; WarnPlacement path=placement.regions words=U S suggestion=US"},
        {{"lulea", "oregon"}, {"EU", "US-OR"}, {"slurm", "local"}, ""},
        {{"lu*"}, {"EU-*"}, {0}, ""},
        {{"!mars"}, {"!AP"}, {0}, ""},
        /* what excludes nothing is a note only where it looks like a mistake: the job would run where it must not */
        {{"!luela"}, {0}, {0}, "WarnPlacement path=placement.sites words=!luela suggestion=lulea"},
        {{"*", "!oregn"}, {0}, {0}, "WarnPlacement path=placement.sites words=!oregn suggestion=oregon"},
        {{0}, {"!EUU"}, {0}, "WarnPlacement path=placement.regions words=!EUU suggestion=EU"},
        {{"!lu*"}, {0}, {0}, ""},
        {{0}, {0}, {0}, ""},
    };
    join();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_job_spec_t spec = spec_of(cases[i].sites, cases[i].regions, cases[i].backends);
        const helio_fx_reply_t *reply = plan(&spec);
        assert_string_equal(harness_facts(h, reply->details), cases[i].expected);
        reply = harness_submit(h, "acme", &spec);
        assert_int_equal(reply->rc, HELIO_OK);
        assert_string_equal(harness_facts(h, reply->details), cases[i].expected);
    }
}

/*  How the request could run instead: by the name that was meant, or, if none is near, at other sites. */
static void names__that_look_misspelt_are_corrected_by_the_first_hint(void **state)
{
    (void)state;
    static const struct {
        words_t sites, regions, backends;
        const char *hints; /* all that change `placement` */
    } cases[] = {
        {{"luela"}, {0}, {0}, "TrySpelling word=luela suggestion=lulea path=placement.sites -> lulea"},
        {{"luela", "mars"}, {0}, {0}, "TrySpelling word=luela suggestion=lulea path=placement.sites -> lulea"},
        {{0}, {"EU-SEE"}, {0}, "TrySpelling word=EU-SEE suggestion=EU-SE path=placement.regions -> lulea"},
        {{0}, {0}, {"slrum"}, "TrySpelling word=slrum suggestion=slurm path=placement.backends -> lulea"},
        {{"oregn"},
         {"USS"},
         {0},
         "TrySpelling word=oregn suggestion=oregon path=placement.sites; TrySpelling word=USS suggestion=US "
         "path=placement.regions -> oregon"},
        {{"mars"}, {0}, {0}, "TrySites -> oregon"},
        {{"mars", "!oregn"}, {0}, {0}, "TrySites -> oregon"}, /* the correction alone helps nothing */
        {{"luela"}, {"US"}, {0}, "TrySites -> oregon"},       /* as here: lulea is elsewhere */
    };
    join();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_job_spec_t spec = spec_of(cases[i].sites, cases[i].regions, cases[i].backends);
        const helio_start_estimate_t *estimate = &plan(&spec)->start_estimate;
        char hints[512] = "";
        for (uint32_t k = 0; k < estimate->hints.count; k++) {
            const helio_hint_t *hint = &estimate->hints.items[k];
            helio_value_t site = helio_detail_value(&hint->effect.items.items[0], 0);
            if (hint->kind == HELIO_HINT_KIND_SITES)
                (void)snprintf(hints + strlen(hints), sizeof hints - strlen(hints), "%s%s -> %.*s",
                               hints[0] ? " | " : "", harness_facts(h, hint->change), HELIO_TEXT_ARGS(site.text));
        }
        if (strcmp(hints, cases[i].hints) != 0)
            fail_msg("case %zu: %s", i, hints);
    }
}

/*  Of queues and tenants, wherever one is named; the reader of the answer is an operator where it names tenants. */
static void names__of_unknown_queues_and_tenants_have_what_was_meant(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.queue = HELIO_TEXT("standrad");
    const helio_fx_reply_t *reply = harness_submit(h, "acme", &spec);
    assert_string_equal(harness_facts(h, reply->details), "UnknownQueue queue=standrad job=0 suggestion=standard");
    helio_submission_t job = harness_submission(h, &spec, "", "");
    helio_ev_submit_t event = {.call = 7, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&job, 1}};
    harness_step(h, HELIO_BROKER_EV_PLAN, &event);
    reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_string_equal(harness_facts(h, reply->details), "UnknownQueue queue=standrad job=0 suggestion=standard");
    reply = harness_overflow(h, "group", "standrad", "", "*");
    assert_string_equal(harness_facts(h, reply->details), "UnknownQueue queue=standrad job=0 suggestion=standard");
    reply = harness_overflow(h, "group", "", "amce", "*");
    assert_string_equal(harness_facts(h, reply->details), "UnknownTenant tenant=amce suggestion=acme");
    reply = harness_overflow(h, "group", "nothing-like-it", "", "*");
    assert_string_equal(harness_facts(h, reply->details), "UnknownQueue queue=nothing-like-it job=0");
    job.spec.queue = HELIO_TEXT("standard");
    event.tenant = HELIO_TEXT("amce"); /* a user is told of no other tenant */
    harness_step(h, HELIO_BROKER_EV_SUBMIT, &event);
    reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_string_equal(harness_facts(h, reply->details), "UnknownTenant tenant=amce");
}

/*  A name that a request creates is noted if it is almost another's, and not when it is set again. */
static void names__that_are_new_and_almost_others_are_noted(void **state)
{
    (void)state;
    join();
    helio_ev_tenant_t tenant = {.tenant = HELIO_TEXT("amce"), .weight_given = true, .weight_milli = 2000};
    const char *facts = harness_facts(h, harness_tenant(h, HELIO_ROLE_ADMIN, tenant)->details);
    assert_non_null(strstr(facts, "WarnNew name=amce suggestion=acme"));
    tenant.weight_milli = 3000;
    facts = harness_facts(h, harness_tenant(h, HELIO_ROLE_ADMIN, tenant)->details);
    assert_null(strstr(facts, "WarnNew"));
    tenant.tenant = HELIO_TEXT("zebra");
    facts = harness_facts(h, harness_tenant(h, HELIO_ROLE_ADMIN, tenant)->details);
    assert_null(strstr(facts, "WarnNew"));
    static const struct {
        const char *queue, *warned;
    } queues[] = {{"standrad", "WarnNew name=standrad suggestion=standard"}, {"standrad", ""}, {"weekly", ""}};
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        helio_ev_queue_t event = {.call = 7,
                                  .actor = HELIO_TEXT("ada"),
                                  .role = HELIO_ROLE_ADMIN,
                                  .queue = helio_text_of(queues[i].queue),
                                  .priority_given = true,
                                  .priority = 300};
        harness_step(h, HELIO_BROKER_EV_QUEUE, &event);
        facts = harness_facts(h, ((const helio_fx_reply_t *)harness_take(h, HELIO_BROKER_FX_REPLY))->details);
        const char *warned = strstr(facts, "Warn");
        assert_string_equal(warned ? warned : "", queues[i].warned);
    }
}

static void names__of_sites_in_the_catalogue_are_noted(void **state)
{
    (void)state;
    join();
    helio_string_t at[] = {{HELIO_TEXT("luela")}};
    helio_ev_data_t data = {.call = 7,
                            .actor = HELIO_TEXT("ada"),
                            .role = HELIO_ROLE_ADMIN,
                            .prefix = HELIO_TEXT("s3://a"),
                            .sites = {at, 1}};
    harness_step(h, HELIO_BROKER_EV_DATA, &data);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_non_null(strstr(harness_facts(h, reply->details), "WarnDataSite site=luela suggestion=lulea"));
    static const struct {
        const char *from, *to, *warned;
    } links[] = {{"lulea", "oregon", ""},
                 {"*", "*", ""},
                 {"luela", "*", "WarnSite site=luela suggestion=lulea"},
                 {"lulea", "oregn", "WarnSite site=oregn suggestion=oregon"}};
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        helio_ev_link_t event = {.call = 7,
                                 .actor = HELIO_TEXT("ada"),
                                 .role = HELIO_ROLE_ADMIN,
                                 .from = helio_text_of(links[i].from),
                                 .to = helio_text_of(links[i].to),
                                 .mbps = 1000};
        harness_step(h, HELIO_BROKER_EV_LINK, &event);
        reply = harness_take(h, HELIO_BROKER_FX_REPLY);
        const char *warned = strstr(harness_facts(h, reply->details), "Warn");
        assert_string_equal(warned ? warned : "", links[i].warned);
    }
}

static void names__of_an_unknown_site_in_a_command_have_what_was_meant(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {HELIO_BROKER_EV_DRAIN, HELIO_BROKER_EV_UNDRAIN, HELIO_BROKER_EV_ATTEST};
    join();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const helio_fx_reply_t *reply = harness_site_command(h, kinds[i], HELIO_ROLE_OPERATOR, "luela");
        assert_int_equal(reply->rc, HELIO_NOT_FOUND);
        assert_string_equal(harness_facts(h, reply->details), "UnknownSite site=luela suggestion=lulea");
        reply = harness_site_command(h, kinds[i], HELIO_ROLE_OPERATOR, "mars");
        assert_string_equal(harness_facts(h, reply->details), "UnknownSite site=mars");
    }
}

static void names__before_any_site_has_joined_are_taken_as_they_are(void **state)
{
    (void)state;
    helio_job_spec_t spec = spec_of((words_t){"luela"}, (words_t){"EUU"}, (words_t){"slrum"});
    assert_int_equal(plan(&spec)->details.items.count, 0);
    const helio_fx_reply_t *reply = harness_submit(h, "acme", &spec);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_int_equal(reply->details.items.count, 0);
}

/*  A thousand alike jobs get one note; the reply has room for it beside the others. */
static void names__of_many_jobs_are_noted_once(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    join();
    helio_job_spec_t good = spec_of((words_t){"lulea"}, (words_t){0}, (words_t){0}),
                     bad = spec_of((words_t){"lulea", "oregn"}, (words_t){0}, (words_t){0});
    good.on_better_site = HELIO_BETTER_SITE_CHECKPOINT;
    helio_submission_t jobs[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        jobs[i] = harness_submission(h, i ? &bad : &good, "", "");
    const helio_fx_reply_t *reply = harness_submit_all(h, "acme", jobs, COUNT);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_string_equal(
        harness_facts(h, reply->details),
        "NoCheckpoint jobs=1 submitted=100; WarnPlacement path=placement.sites words=oregn suggestion=oregon");
}

/*  Whatever is wrong with one job of several: the refusal says which one, and that none was stored. */
static void several__jobs_are_refused_with_the_number_of_one_and_nothing_stored(void **state)
{
    (void)state;
    join();
    helio_job_spec_t good = harness_spec(h, "H100", 1), never = harness_spec(h, "B200", 1), queue = good, late = good,
                     names = spec_of((words_t){"luela"}, (words_t){0}, (words_t){0}), again = good, after = good;
    queue.queue = HELIO_TEXT("none");
    late.deadline_wall_ms = harness_wall_ms(h) + 1000;
    const helio_job_spec_t *const bad[] = {&never, &queue, &late, &names, &again, &after};
    helio_job_key_t unknown = {.task = HELIO_NO_TASK};
    memset(unknown.job.bytes, 7, sizeof unknown.job.bytes);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        for (uint32_t number = 1; number <= 3; number++) {
            helio_submission_t jobs[3];
            for (uint32_t n = 0; n < 3; n++)
                jobs[n] = harness_submission(h, n + 1 == number ? bad[i] : &good, "", "");
            if (bad[i] == &after)
                jobs[number - 1] = harness_dependent(h, &after, &(harness_after_t){HELIO_AFTER_OK, unknown}, 1);
            if (bad[i] == &again) { /* its key is that of another document; of two, the later one is named */
                jobs[number - 1] = harness_submission(h, &again, "k", "one");
                jobs[number % 3] = harness_submission(h, &again, "k", "two");
            }
            uint32_t named = bad[i] == &again ? (number % 3 + 1 > number ? number % 3 + 1 : number) : number;
            char job[32];
            (void)snprintf(job, sizeof job, "\"job\":%u", named);
            harness_clear(h);
            const helio_fx_reply_t *reply = harness_submit_all(h, "acme", jobs, 3);
            assert_int_not_equal(reply->rc, HELIO_OK);
            if (!harness_says(h, &reply->details, job) ||
                !helio_details_find(&reply->details, HELIO_DETAIL_NOTHING_STORED))
                fail_msg("case %zu, job %u: %s", i, number, harness_details(h, &reply->details));
            assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_JOB), 0);
        }
}

/* ---- what operators write ---------------------------------------------------------------------------------- */

/*  Steps of an overflow group name sites; a region among them is pointed out as one. */
static void names__in_the_steps_of_an_overflow_group_are_checked_too(void **state)
{
    (void)state;
    static const struct {
        const char *steps, *expected; /* behind what was set */
    } cases[] = {
        {"lulea; oregon", ""},
        {"lu*; *", ""},
        {"luela; *", "WarnStepSite step=1 pattern=luela suggestion=lulea"},
        {"lulea; oregn", "WarnStepSite step=2 pattern=oregn suggestion=oregon"},
        {"EU; *", "WarnStepRegion step=1 pattern=EU"},
        {"EU-SE; *", "WarnStepRegion step=1 pattern=EU-SE"},
        {"*; lulea", "WarnStepEmpty step=2"}, /* the first one has all sites */
        {"lulea, !luela; *", "WarnStepSite step=1 pattern=luela suggestion=lulea"},
    };
    join();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const helio_fx_reply_t *reply = harness_overflow(h, "group", "standard", "acme", cases[i].steps);
        assert_int_equal(reply->rc, HELIO_OK);
        const char *facts = harness_facts(h, reply->details), *warned = strstr(facts, "Warn");
        if (strcmp(warned ? warned : "", cases[i].expected) != 0)
            fail_msg("%s: %s", cases[i].steps, facts);
    }
}

static void names__of_regions_in_the_rules_of_a_queue_are_checked_too(void **state)
{
    (void)state;
    static const struct {
        const char *region, *expected;
    } cases[] = {
        {"EU", ""},
        {"EU-SE", ""},
        {"EU-SE-1", ""},
        {"", ""},
        {"EU-SE-2", "WarnRegion region=EU-SE-2 suggestion=EU-SE-1"},
        {"EU-SEE", "WarnRegion region=EU-SEE suggestion=EU-SE"},
        {"AP-JP", "WarnRegion region=AP-JP"},
    };
    join();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const helio_fx_reply_t *reply = harness_rule(h, "batch", cases[i].region, "", 3600000, 700);
        assert_int_equal(reply->rc, HELIO_OK);
        const char *facts = harness_facts(h, reply->details), *warned = strstr(facts, "Warn");
        if (strcmp(warned ? warned : "", cases[i].expected) != 0)
            fail_msg("%s: %s", cases[i].region, facts);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(names__that_look_misspelt_are_corrected_by_the_first_hint),
        CASE(names__of_unknown_queues_and_tenants_have_what_was_meant),
        CASE(names__that_are_new_and_almost_others_are_noted),
        CASE(names__of_sites_in_the_catalogue_are_noted),
        CASE(names__to_which_no_site_answers_are_the_reason_with_what_was_meant),
        CASE(names__besides_one_that_is_known_are_a_note),
        CASE(names__of_an_unknown_site_in_a_command_have_what_was_meant),
        CASE(names__before_any_site_has_joined_are_taken_as_they_are),
        CASE(names__of_many_jobs_are_noted_once),
        CASE(names__in_the_steps_of_an_overflow_group_are_checked_too),
        CASE(names__of_regions_in_the_rules_of_a_queue_are_checked_too),
        CASE(several__jobs_are_refused_with_the_number_of_one_and_nothing_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
