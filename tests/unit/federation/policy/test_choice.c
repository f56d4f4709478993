/*  test_choice.c -- what one pool of one site is rejected for, and what it would cost. */
#include "tests/unit/federation/policy/choice_testing.h"

static void assert_rejected(helio_rejection_t rejection)
{
    assert_string_equal(helio_rejection_name(judge().rejection), helio_rejection_name(rejection));
}

/* ---- rejections ---------------------------------------------------------------------------------------- */

static void judge__what_fits_is_accepted_with_its_plan(void **state)
{
    (void)state;
    pool.base_w = 500;
    site.pue = 1.2;
    helio_candidate_t c = judge();
    assert_int_equal(c.rejection, HELIO_REJECTION_NONE);
    assert_int_equal(c.gpus_per_node, 8);
    assert_int_equal(c.now.cost_micro_usd, 16000000);
    assert_int_equal(c.now.score_micro_usd, 16000000);
    assert_int_equal(c.now.energy_j, 17280000); /* 8 x 500 W x 3600 s x 1.2 */
    assert_int_equal(c.now.carbon_mg, 144000);  /* 4.8 kWh x 30 g */
}

static void judge__each_single_fault_has_its_rejection(void **state)
{
    (void)state;
    set_words(&want.sites, "us-*");
    assert_rejected(HELIO_REJECTION_SITE_PATTERN);
    begin(NULL);
    set_words(&want.regions, "US");
    assert_rejected(HELIO_REJECTION_RESIDENCY);
    begin(NULL);
    set_words(&want.backends, "local,kubernetes");
    assert_rejected(HELIO_REJECTION_BACKEND);
    begin(NULL);
    asks[0].model = HELIO_TEXT("B200");
    assert_rejected(HELIO_REJECTION_NO_SUCH_GPU);
    begin(NULL);
    asks[0].memory_bytes = (UINT64_C(80) << 30) + 1;
    assert_rejected(HELIO_REJECTION_NO_SUCH_GPU);
    begin(NULL);
    asks[0].mig = HELIO_TEXT("1g.10gb");
    assert_rejected(HELIO_REJECTION_NO_SUCH_GPU);
    begin(NULL);
    pool.gpus_per_node = 0; /* a CPU pool */
    assert_rejected(HELIO_REJECTION_NO_SUCH_GPU);
    begin(NULL);
    asks[0].count = 9;
    assert_rejected(HELIO_REJECTION_TOO_SMALL);
    begin(NULL);
    want.nodes = 3;
    assert_rejected(HELIO_REJECTION_TOO_SMALL);
    begin(NULL);
    want.nodes = 2;
    site.backend = HELIO_TEXT("exec"); /* its adapter starts no gangs */
    assert_rejected(HELIO_REJECTION_TOO_SMALL);
    helio_pool_option_t gangs = {HELIO_TEXT(HELIO_POOL_OPTION_GANGS), HELIO_TEXT("yes")};
    pool.options.items = &gangs;
    pool.options.count = 1;
    assert_rejected(HELIO_REJECTION_NONE); /* it says that it does */
    begin(NULL);
    want.cpus = 65;
    assert_rejected(HELIO_REJECTION_TOO_SMALL);
    begin(NULL);
    want.memory_bytes = (UINT64_C(512) << 30) + 1;
    assert_rejected(HELIO_REJECTION_TOO_SMALL);
    begin(NULL);
    want.interconnect = HELIO_INTERCONNECT_IB;
    assert_rejected(HELIO_REJECTION_NO_INTERCONNECT);
    begin(NULL);
    pool.sharing = HELIO_SHARING_MPS;
    assert_rejected(HELIO_REJECTION_NO_SHARING);
    begin(NULL);
    want.container = true;
    site.containers = false;
    assert_rejected(HELIO_REJECTION_NO_CONTAINER_RUNTIME);
    begin(NULL);
    want.lease = true;
    site.leases = false;
    assert_rejected(HELIO_REJECTION_NO_LEASES);
    begin(NULL);
    pool.spot = true;
    assert_rejected(HELIO_REJECTION_NO_SPOT);
    begin(NULL);
    now.extras.no_link = true;
    assert_rejected(HELIO_REJECTION_NO_LINK);
    begin(NULL);
    want.deadline_wall_ms = now.wall_ms + HOUR_MS - 1;
    assert_rejected(HELIO_REJECTION_DEADLINE);
    begin(NULL);
    want.max_cost_micro_usd = 15999999;
    assert_rejected(HELIO_REJECTION_COST_CAP);
    begin(NULL);
    want.max_carbon_mg_per_kwh = 29999;
    assert_rejected(HELIO_REJECTION_CARBON_CAP);
    begin(NULL);
    now.draining = true;
    assert_rejected(HELIO_REJECTION_DRAINING);
    begin(NULL);
    now.ready = false;
    assert_rejected(HELIO_REJECTION_SITE_SILENT);
}

/*  What a pool offers, what is asked for, and whether that fits: docs/policy.md has the table. */
static void judge__what_fits_where(void **state)
{
    (void)state;
    static const helio_text_t none = {0}, h100 = {"H100", 4}, small = {"1g.10gb", 7}, large = {"3g.40gb", 7};
    const struct {
        const char *gpu;
        helio_sharing_t offered;
        helio_text_t model, mig;
        uint64_t least_gb;
        helio_sharing_t tolerated;
        helio_rejection_t rejection;
    } rows[] = {
        /* whole GPUs, by name, by memory, any */
        {"H100", HELIO_SHARING_NONE, h100, none, 0, HELIO_SHARING_NONE, HELIO_REJECTION_NONE},
        {"H100", HELIO_SHARING_NONE, none, none, 80, HELIO_SHARING_NONE, HELIO_REJECTION_NONE},
        {"H100", HELIO_SHARING_NONE, none, none, 81, HELIO_SHARING_NONE, HELIO_REJECTION_NO_SUCH_GPU},
        {"H100", HELIO_SHARING_NONE, none, none, 0, HELIO_SHARING_TIMESLICE, HELIO_REJECTION_NONE},
        {"H100", HELIO_SHARING_NONE, h100, small, 0, HELIO_SHARING_MIG, HELIO_REJECTION_NO_SUCH_GPU},
        /* slices: who names one gets it; who names a model gets whole ones; any and by memory as they tolerate it */
        {"H100/1g.10gb", HELIO_SHARING_MIG, h100, small, 0, HELIO_SHARING_NONE, HELIO_REJECTION_NONE},
        {"H100/1g.10gb", HELIO_SHARING_MIG, h100, large, 0, HELIO_SHARING_NONE, HELIO_REJECTION_NO_SUCH_GPU},
        {"A100/1g.10gb", HELIO_SHARING_MIG, h100, small, 0, HELIO_SHARING_NONE, HELIO_REJECTION_NO_SUCH_GPU},
        {"H100/1g.10gb", HELIO_SHARING_MIG, h100, none, 0, HELIO_SHARING_MIG, HELIO_REJECTION_NO_SUCH_GPU},
        {"H100/1g.10gb", HELIO_SHARING_MIG, none, none, 10, HELIO_SHARING_NONE, HELIO_REJECTION_NO_SHARING},
        {"H100/1g.10gb", HELIO_SHARING_MIG, none, none, 10, HELIO_SHARING_MIG, HELIO_REJECTION_NONE},
        {"H100/1g.10gb", HELIO_SHARING_MIG, none, none, 10, HELIO_SHARING_MPS, HELIO_REJECTION_NONE},
        {"H100/1g.10gb", HELIO_SHARING_MIG, none, none, 90, HELIO_SHARING_MIG, HELIO_REJECTION_NO_SUCH_GPU},
        {"H100/1g.10gb", HELIO_SHARING_MIG, none, none, 0, HELIO_SHARING_NONE, HELIO_REJECTION_NO_SHARING},
        /* what is tolerated contains what is isolated better, and no more */
        {"H100", HELIO_SHARING_MPS, h100, none, 0, HELIO_SHARING_NONE, HELIO_REJECTION_NO_SHARING},
        {"H100", HELIO_SHARING_MPS, h100, none, 0, HELIO_SHARING_MIG, HELIO_REJECTION_NO_SHARING},
        {"H100", HELIO_SHARING_MPS, h100, none, 0, HELIO_SHARING_MPS, HELIO_REJECTION_NONE},
        {"H100", HELIO_SHARING_MPS, h100, none, 0, HELIO_SHARING_TIMESLICE, HELIO_REJECTION_NONE},
        {"H100", HELIO_SHARING_TIMESLICE, h100, none, 0, HELIO_SHARING_MPS, HELIO_REJECTION_NO_SHARING},
        {"H100", HELIO_SHARING_TIMESLICE, h100, none, 0, HELIO_SHARING_TIMESLICE, HELIO_REJECTION_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(NULL);
        pool.gpu = helio_text_of(rows[i].gpu);
        pool.sharing = rows[i].offered;
        asks[0] = (helio_gpu_ask_t){rows[i].model, 8, rows[i].least_gb << 30, rows[i].mig};
        want.sharing = rows[i].tolerated;
        helio_rejection_t found = judge().rejection;
        if (found != rows[i].rejection)
            fail_msg("row %zu: '%s' instead of '%s'", i, helio_rejection_name(found),
                     helio_rejection_name(rows[i].rejection));
    }
}

static void judge__an_excluded_slice_leaves_the_next_alternative(void **state)
{
    (void)state;
    pool.gpu = HELIO_TEXT("H100/1g.10gb");
    pool.sharing = HELIO_SHARING_MIG;
    asks[0] = (helio_gpu_ask_t){.count = 1}; /* any, and no sharing */
    asks[1] = (helio_gpu_ask_t){.model = HELIO_TEXT("H100"), .count = 2, .mig = HELIO_TEXT("1g.10gb")};
    want.gpus.count = 2;
    helio_candidate_t c = judge();
    assert_int_equal(c.rejection, HELIO_REJECTION_NONE);
    assert_int_equal(c.ask, 1);
    assert_int_equal(c.gpus_per_node, 2);
}

static void judge__an_interconnect_matches_itself_or_a_better_one(void **state)
{
    (void)state;
    for (uint32_t has = 0; has < HELIO_INTERCONNECT_COUNT; has++)
        for (uint32_t asked = 0; asked < HELIO_INTERCONNECT_COUNT; asked++) {
            pool.interconnect = has;
            want.interconnect = asked;
            assert_rejected(asked > has ? HELIO_REJECTION_NO_INTERCONNECT : HELIO_REJECTION_NONE);
        }
}

static void judge__a_backend_must_be_named_if_any_is(void **state)
{
    (void)state;
    set_words(&want.backends, "local,slurm");
    assert_rejected(HELIO_REJECTION_NONE);
    site.backend = HELIO_TEXT("local");
    assert_rejected(HELIO_REJECTION_NONE);
    site.backend = HELIO_TEXT("slur");
    assert_rejected(HELIO_REJECTION_BACKEND);
    site.backend = HELIO_TEXT("");
    assert_rejected(HELIO_REJECTION_BACKEND);
    want.backends.count = 0;
    assert_rejected(HELIO_REJECTION_NONE);
    set_words(&want.regions, "slurm"); /* both lists are that one word: where its data may be comes first */
    set_words(&want.backends, "slurm");
    assert_rejected(HELIO_REJECTION_RESIDENCY);
}

static void judge__every_limit_is_exact(void **state)
{
    (void)state;
    want.nodes = 2;
    want.cpus = 64;
    want.memory_bytes = UINT64_C(512) << 30;
    asks[0].memory_bytes = UINT64_C(80) << 30;
    want.interconnect = HELIO_INTERCONNECT_NVLINK;
    want.deadline_wall_ms = now.wall_ms + HOUR_MS;
    want.max_cost_micro_usd = 32000000;
    want.max_carbon_mg_per_kwh = 30000;
    assert_rejected(HELIO_REJECTION_NONE);
}

static void judge__an_unknown_intensity_meets_no_cap(void **state)
{
    (void)state;
    site.carbon_g_per_kwh = -1;
    assert_rejected(HELIO_REJECTION_NONE);
    assert_true(judge().now.energy_j > 0); /* as if it were coal: 1 g/Wh */
    assert_int_equal(judge().now.carbon_mg, judge().now.energy_j * 10 / 36);
    want.max_carbon_mg_per_kwh = UINT64_MAX;
    assert_rejected(HELIO_REJECTION_CARBON_CAP);
    site.carbon_g_per_kwh = 0;
    assert_rejected(HELIO_REJECTION_NONE);
}

static void judge__a_pool_that_does_not_declare_cpus_or_memory_is_not_bounded_by_them(void **state)
{
    (void)state;
    want.cpus = 4096;
    want.memory_bytes = UINT64_MAX;
    pool.cpus_per_node = 0;
    pool.memory_bytes_per_node = 0;
    assert_rejected(HELIO_REJECTION_NONE);
}

static void judge__an_elastic_pool_is_as_large_as_it_can_become(void **state)
{
    (void)state;
    want.nodes = 5;
    pool.max_nodes = 5;
    assert_rejected(HELIO_REJECTION_TOO_SMALL); /* nothing makes these nodes */
    pool.elastic = true;
    assert_rejected(HELIO_REJECTION_NONE);
}

static void judge__the_first_alternative_that_fits_is_named(void **state)
{
    (void)state;
    asks[0].model = HELIO_TEXT("B200");
    asks[1] = (helio_gpu_ask_t){.model = HELIO_TEXT("H100"), .count = 16};
    asks[2] = (helio_gpu_ask_t){.count = 4}; /* any model */
    want.gpus.count = 2;
    assert_rejected(HELIO_REJECTION_TOO_SMALL); /* the nearest miss, not the last */
    want.gpus.count = 3;
    helio_candidate_t c = judge();
    assert_int_equal(c.rejection, HELIO_REJECTION_NONE);
    assert_int_equal(c.ask, 2);
    assert_int_equal(c.gpus_per_node, 4);
}

static void judge__permanent_rejections_precede_temporary_ones(void **state)
{
    (void)state;
    now.ready = false;
    now.draining = true;
    want.max_cost_micro_usd = 1;
    asks[0].count = 9;
    assert_rejected(HELIO_REJECTION_TOO_SMALL);
    asks[0].count = 8;
    assert_rejected(HELIO_REJECTION_COST_CAP);
    want.max_cost_micro_usd = 0;
    assert_rejected(HELIO_REJECTION_DRAINING);
}

static void judge__a_cpu_job_fits_any_pool_and_costs_no_gpus(void **state)
{
    (void)state;
    want.gpus.count = 0;
    want.cpus = 2;
    helio_candidate_t c = judge();
    assert_int_equal(c.rejection, HELIO_REJECTION_NONE);
    assert_int_equal(c.gpus_per_node, 0);
    assert_int_equal(c.now.cost_micro_usd, 0);
}

static void judge__a_cheaper_site_never_loses_by_it(void **state)
{
    (void)state;
    helio_rng_t rng = {11};
    for (int round = 0; round < 20000; round++) {
        begin(NULL);
        asks[0].count = 1 + (uint32_t)helio_rng_below(&rng, 10);
        want.nodes = 1 + (uint32_t)helio_rng_below(&rng, 3);
        want.time_limit_ms = 1 + helio_rng_below(&rng, 100 * UINT64_C(3600000));
        want.max_cost_micro_usd = helio_rng_below(&rng, 2) ? helio_rng_below(&rng, 1000000000) : 0;
        pool.owned = helio_rng_below(&rng, 2);
        pool.base_w = 1000 * helio_rng_unit(&rng);
        pool.price_usd_per_gpu_h = 10 * helio_rng_unit(&rng);
        site.electricity_usd_per_kwh = helio_rng_unit(&rng) - 0.2; /* at times negative */
        site.pue = 1 + helio_rng_unit(&rng);
        helio_candidate_t dear = judge();
        if (helio_rng_below(&rng, 2))
            pool.price_usd_per_gpu_h *= helio_rng_unit(&rng);
        else
            site.electricity_usd_per_kwh -= helio_rng_unit(&rng);
        helio_candidate_t cheap = judge();
        assert_true(cheap.rejection == dear.rejection ||
                    (dear.rejection == HELIO_REJECTION_COST_CAP && cheap.rejection == HELIO_REJECTION_NONE));
        assert_true(cheap.now.score_micro_usd <= dear.now.score_micro_usd);
    }
}

/* ---- words --------------------------------------------------------------------------------------------- */

static void words__are_unique_and_closed(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < HELIO_REJECTION_COUNT; i++) {
        assert_true(helio_rejection_group((helio_rejection_t)i) < HELIO_REASON_COUNT);
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(helio_rejection_name((helio_rejection_t)i),
                                    helio_rejection_name((helio_rejection_t)k));
    }
    for (uint32_t i = 0; i < HELIO_REASON_COUNT; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(helio_reason_name((helio_reason_t)i), helio_reason_name((helio_reason_t)k));
    assert_string_equal(helio_rejection_name(HELIO_REJECTION_COUNT), "unknown");
    assert_string_equal(helio_reason_name(HELIO_REASON_COUNT), "unknown");
    assert_string_equal(helio_rejection_name(HELIO_REJECTION_NONE), "");
}

/*  Precedence is the order of the table: a mildest reason is found by comparing groups. */
static void words__the_table_ascends_from_what_never_fits_to_what_waits(void **state)
{
    (void)state;
    for (uint32_t i = 2; i < HELIO_REJECTION_COUNT; i++)
        assert_true(helio_rejection_group((helio_rejection_t)(i - 1)) <= helio_rejection_group((helio_rejection_t)i));
}

/* ---- requirements -------------------------------------------------------------------------------------- */

static void requirement__has_the_defaults_and_only_requirements(void **state)
{
    (void)state;
    helio_job_spec_t spec = {.name = HELIO_TEXT("a"), .queue = HELIO_TEXT("batch"), .image = HELIO_TEXT("alpine")};
    helio_requirement_t r = helio_requirement_of(&spec, HELIO_TEXT("acme"), HELIO_TEXT("north"), 7, 0);
    assert_int_equal(r.nodes, 1);
    assert_int_equal(r.cpus, 1); /* a CPU job has one, or none would bound it */
    assert_int_equal(r.time_limit_ms, 7);
    assert_true(r.container);
    assert_false(r.lease);
    spec.name = HELIO_TEXT("b");
    spec.run = HELIO_TEXT("true");
    helio_requirement_t other = helio_requirement_of(&spec, HELIO_TEXT("acme"), HELIO_TEXT("north"), 7, 0);
    assert_true(helio_record_equal(&helio_requirement_type, &r, &other));
    spec.backends.items = words;
    words[0].text = HELIO_TEXT("slurm");
    spec.backends.count = 1;
    other = helio_requirement_of(&spec, HELIO_TEXT("acme"), HELIO_TEXT("north"), 7, 0);
    assert_false(helio_record_equal(&helio_requirement_type, &r, &other)); /* another class */
    spec.on_site_loss = HELIO_SITE_LOSS_EAGER;
    assert_true(helio_requirement_of(&spec, HELIO_TEXT("acme"), HELIO_TEXT("north"), 7, 0).lease);
}

static void judge__a_name_that_the_pool_does_not_have_is_a_filter(void **state)
{
    (void)state;
    helio_pool_option_t options[] = {{HELIO_TEXT("partition"), HELIO_TEXT("main,urgent")},
                                     {HELIO_TEXT("constraint"), HELIO_TEXT("ib,rack1")},
                                     {HELIO_TEXT("tmp"), HELIO_TEXT("")}}; /* of which nothing is asked */
    static const struct {
        const char *partition, *constraint, *missing;
    } rows[] = {
        {"", "", ""},
        {"urgent", "", ""},
        {"gpu", "", "partition"},
        {"mai", "", "partition"},
        {"main,urgent", "", ""},
        {"gpu,urgent", "", ""}, /* Slurm takes the one that works */
        {"gpu,fat", "", "partition"},
        {"", "ib", ""},
        {"", "ib&rack1", ""},
        {"", "ib&rack2", "constraint"},
        {"", "rack1,rack2", "constraint"},
        {"", "rack2|rack1", ""},
        {"", "[rack2|rack1]", ""},
        {"", "rack2|rack3", "constraint"},
        {"", "rack1*2&ib", ""},
        {"", "ib&(rack1|rack2)", ""},
        {"", "!rack2", ""},
        {"", "&", ""},
        {"gpu", "rack2", "partition"},
        {"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,0,1,2,3,4", "", "partition"}, /* 31 names */
        {"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,0,1,2,3,4,5,6", "", ""},      /* too many to compare */
    };
    pool.options.items = options;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        print_message("row %zu\n", i);
        want.partition = helio_text_of(rows[i].partition);
        want.constraint = helio_text_of(rows[i].constraint);
        pool.options.count = 3;
        assert_true(helio_text_is(helio_choice_missing_name(&want, &pool).option, rows[i].missing));
        assert_int_equal(judge().rejection, rows[i].missing[0] ? HELIO_REJECTION_NO_SUCH_NAME : HELIO_REJECTION_NONE);
        pool.options.count = 0; /* not reported */
        assert_int_equal(judge().rejection, HELIO_REJECTION_NONE);
    }
}

static void judge__an_exclusive_job_takes_all_gpus_of_a_slurm_node(void **state)
{
    (void)state;
    asks[0].count = 1;
    want.whole_nodes = true;
    assert_int_equal(judge().gpus_per_node, 8);
    want.gpus.count = 0;
    assert_int_equal(judge().gpus_per_node, 8);
    want.gpus.count = 1;
    site.backend = HELIO_TEXT("local"); /* which knows nothing of Slurm's options */
    assert_int_equal(judge().gpus_per_node, 1);
}

static void requirement__has_what_counts_of_the_slurm_part(void **state)
{
    (void)state;
    helio_pair_t pairs[] = {{HELIO_TEXT("comment"), HELIO_TEXT("x")},
                            {HELIO_TEXT("partition"), HELIO_TEXT("gpu")},
                            {HELIO_TEXT("constraint"), HELIO_TEXT("ib")},
                            {HELIO_TEXT("qos"), HELIO_TEXT("high")},
                            {HELIO_TEXT("exclusive"), HELIO_TEXT("")}};
    helio_job_spec_t spec = {.slurm = {pairs, 5}};
    helio_requirement_t of = helio_requirement_of(&spec, HELIO_TEXT("acme"), HELIO_TEXT(""), HOUR_MS, 0);
    assert_true(helio_text_is(of.partition, "gpu"));
    assert_true(helio_text_is(of.constraint, "ib"));
    assert_true(of.whole_nodes);
    pairs[4].value = HELIO_TEXT("user");
    of = helio_requirement_of(&spec, HELIO_TEXT("acme"), HELIO_TEXT(""), HOUR_MS, 0);
    assert_false(of.whole_nodes);
}

static void requirement__is_printed_for_people(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    assert_true(helio_text_is(helio_requirement_text(&want, arena), "8×H100"));
    want.nodes = 2;
    asks[1] = (helio_gpu_ask_t){.count = 4};
    want.gpus.count = 2;
    assert_true(helio_text_is(helio_requirement_text(&want, arena), "8×H100 or 4×GPU on each of 2 nodes"));
    want.gpus.count = 0;
    want.nodes = 1;
    want.cpus = 16;
    assert_true(helio_text_is(helio_requirement_text(&want, arena), "16 CPU"));
    helio_arena_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(judge__what_fits_is_accepted_with_its_plan),
        CASE(judge__each_single_fault_has_its_rejection),
        CASE(judge__what_fits_where),
        CASE(judge__an_excluded_slice_leaves_the_next_alternative),
        CASE(judge__an_interconnect_matches_itself_or_a_better_one),
        CASE(judge__a_backend_must_be_named_if_any_is),
        CASE(judge__every_limit_is_exact),
        CASE(judge__an_unknown_intensity_meets_no_cap),
        CASE(judge__a_pool_that_does_not_declare_cpus_or_memory_is_not_bounded_by_them),
        CASE(judge__an_elastic_pool_is_as_large_as_it_can_become),
        CASE(judge__the_first_alternative_that_fits_is_named),
        CASE(judge__permanent_rejections_precede_temporary_ones),
        CASE(judge__a_cpu_job_fits_any_pool_and_costs_no_gpus),
        CASE(judge__a_cheaper_site_never_loses_by_it),
        CASE(words__are_unique_and_closed),
        CASE(words__the_table_ascends_from_what_never_fits_to_what_waits),
        CASE(requirement__has_the_defaults_and_only_requirements),
        CASE(judge__a_name_that_the_pool_does_not_have_is_a_filter),
        CASE(judge__an_exclusive_job_takes_all_gpus_of_a_slurm_node),
        CASE(requirement__has_what_counts_of_the_slurm_part),
        CASE(requirement__is_printed_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
