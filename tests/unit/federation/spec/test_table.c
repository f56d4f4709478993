/*  Tables of fields: what is derived from them agrees with what they read. */
#include "spec_testing.h"

#include <jansson.h>

#include "federation/spec/reader.h"
#include "tests/support/golden.h"

/*  ---- a table of every kind, as a daemon would have one ---- */

typedef struct inner {
    uint32_t port;
} inner_t;

typedef struct settings {
    helio_site_profile_t site;
    helio_text_t path;
    bool flag;
    uint32_t u32;
    uint64_t u64;
    int64_t i64;
    double f64;
    uint64_t wait_ms;
    uint64_t bytes;
    int64_t money;
    int64_t when;
    uint32_t goal;
    struct {
        helio_string_t *items;
        uint32_t count;
    } words;
    struct {
        helio_pair_t *items;
        uint32_t count;
    } pairs;
    struct {
        inner_t *items;
        uint32_t count;
    } list;
    inner_t group;
    bool group_set;
} settings_t;

#define AT(member) .offset = offsetof(settings_t, member)
static const helio_spec_field_t inner_fields[] = {{.key = "port",
                                                   .kind = HELIO_SPEC_U32,
                                                   .offset = offsetof(inner_t, port),
                                                   .least = 1,
                                                   .most = 65535,
                                                   .fallback = "7447",
                                                   .example = "80"}};
static const helio_spec_table_t inner_table = HELIO_SPEC_TABLE("inner", inner_t, inner_fields, NULL);
static const helio_spec_field_t agent_fields[] = {
    {.key = "path", .kind = HELIO_SPEC_PATH, AT(path), .fallback = "/var/lib/x", .example = "/x"},
    {.key = "flag", .kind = HELIO_SPEC_BOOL, AT(flag), .fallback = "true", .example = "false"},
    {.key = "u32", .kind = HELIO_SPEC_U32, AT(u32), .example = "4294967295"},
    {.key = "u64", .kind = HELIO_SPEC_U64, AT(u64), .example = "5"},
    {.key = "i64", .kind = HELIO_SPEC_I64, AT(i64), .example = "-5"},
    {.key = "f64", .kind = HELIO_SPEC_F64, AT(f64), .example = "-0.5"},
    {.key = "wait", .kind = HELIO_SPEC_DURATION, AT(wait_ms), .fallback = "15s", .example = "1m"},
    {.key = "bytes", .kind = HELIO_SPEC_BYTES, AT(bytes), .example = "1GiB"},
    {.key = "money", .kind = HELIO_SPEC_MONEY, AT(money), .example = "1 USD"},
    {.key = "when", .kind = HELIO_SPEC_TIME, AT(when), .example = "2026-11-22T07:00:00Z"},
    {.key = "goal",
     .kind = HELIO_SPEC_CHOICE,
     AT(goal),
     .words = HELIO_SPEC_ENUM(helio_goal, HELIO_GOAL),
     .example = "fast"},
    {.key = "words", .kind = HELIO_SPEC_STRINGS, AT(words), .most = 3, .example = "[a, b]"},
    {.key = "pairs", .kind = HELIO_SPEC_PAIRS, AT(pairs), .most = 3, .example = "{a: 1}"},
    {.key = "list", .kind = HELIO_SPEC_LIST, AT(list), .most = 3, .table = &inner_table, .example = "[{port: 1}, {}]"},
    {.key = "group",
     .kind = HELIO_SPEC_GROUP,
     AT(group),
     .table = &inner_table,
     .set_offset = offsetof(settings_t, group_set),
     .example = "{port: 5}"},
};
static const helio_spec_table_t agent_table = HELIO_SPEC_TABLE("agent", settings_t, agent_fields, NULL);
static const helio_spec_field_t file_fields[] = {
    {.kind = HELIO_SPEC_INCLUDE, AT(site), .table = &helio_spec_site_table},
    {.key = "agent", .kind = HELIO_SPEC_GROUP, .table = &agent_table, .example = "{flag: true}"},
    {.key = "other", .kind = HELIO_SPEC_SKIP, .example = "[{x: 1}]"},
};
static const helio_spec_table_t file_table = HELIO_SPEC_TABLE("settings", settings_t, file_fields, NULL);

static helio_rc read_settings(const char *yaml, helio_arena_t *arena, settings_t *ret_settings,
                              helio_diagnostic_t *ret_diagnostic)
{
    exact_t exact = exact_of("agent.yaml", yaml, strlen(yaml));
    helio_rc rc =
        helio_spec_read(&file_table, exact.source, HELIO_SPEC_SOURCE_MAX, arena, ret_settings, ret_diagnostic);
    free(exact.bytes);
    return rc;
}

static void table__a_daemon_reads_its_settings_beside_the_site(void **state)
{
    settings_t settings;
    helio_diagnostic_t diagnostic = {0};
    static const char yaml[] = "name: lulea\npue: 1.1\npools: [{name: p, gpu: H100, gpus_per_node: 8, nodes: 2}]\n"
                               "other: {anything: [1]}\n"
                               "agent: {u32: 4294967295, i64: -5, f64: -0.5, bytes: 1GiB, money: 1 USD, goal: green,\n"
                               "  words: [a], pairs: {a: 1}, list: [{port: 1}, {}], group: {}, u64: 7}\n";
    assert_int_equal(read_settings(yaml, *state, &settings, &diagnostic), HELIO_OK);
    assert_text(settings.site.name, "lulea");
    assert_true(settings.site.pue == 1.1);
    assert_int_equal(settings.site.pools.items[0].max_nodes, 2);
    assert_text(settings.path, "/var/lib/x");
    assert_true(settings.flag);
    assert_int_equal(settings.u32, UINT32_MAX);
    assert_int_equal(settings.u64, 7);
    assert_int_equal(settings.i64, -5);
    assert_true(settings.f64 == -0.5);
    assert_int_equal(settings.wait_ms, 15000);
    assert_int_equal(settings.bytes, 1 << 30);
    assert_int_equal(settings.money, 1000000);
    assert_int_equal(settings.goal, HELIO_GOAL_GREEN);
    assert_int_equal(settings.list.items[0].port, 1);
    assert_int_equal(settings.list.items[1].port, 7447);
    assert_true(settings.group_set);
    assert_int_equal(settings.group.port, 7447);
}

static void table__included_keys_are_known_and_checked(void **state)
{
    settings_t settings;
    helio_diagnostic_t diagnostic = {0};
    assert_int_equal(read_settings("agent: {}\n", *state, &settings, &diagnostic), HELIO_INVALID);
    assert_string_equal(diagnostic.message, "key 'name' is missing");
    assert_int_equal(read_settings("name: a\npools: [{name: p}, {name: p}]\n", *state, &settings, &diagnostic),
                     HELIO_INVALID);
    assert_int_equal(diagnostic.problem, HELIO_SPEC_CONTRADICTION_PROBLEM);
    assert_int_equal(read_settings("name: a\nbackend: slrum\n", *state, &settings, &diagnostic), HELIO_INVALID);
    assert_string_equal(diagnostic.hint, "did you mean 'slurm'?");
    assert_int_equal(read_settings("nmae: a\n", *state, &settings, &diagnostic), HELIO_INVALID);
    assert_string_equal(diagnostic.hint, "did you mean 'name'?");
    assert_int_equal(read_settings("name: a\nagent: {group: {port: 0}}\n", *state, &settings, &diagnostic),
                     HELIO_INVALID);
    assert_string_equal(diagnostic.path, "agent.group.port");
    assert_int_equal(read_settings("name: a\nagent: {flag: yes}\n", *state, &settings, &diagnostic), HELIO_INVALID);
    assert_string_equal(diagnostic.hint, "write true, without quotes");
}

static void table__defaults_are_those_of_an_empty_group(void **state)
{
    settings_t settings;
    memset(&settings, 0xa5, sizeof settings);
    helio_spec_defaults(&file_table, *state, &settings);
    assert_text(settings.path, "/var/lib/x");
    assert_int_equal(settings.wait_ms, 15000);
    assert_int_equal(settings.group.port, 7447);
    assert_int_equal(settings.u64, 0);
    assert_true(settings.site.carbon_g_per_kwh == -1);
    assert_text(settings.site.backend, "local");
}

/*  Defaults that were worked out once are no other ones, and what one document says is not the next one's. */
static void table__a_document_among_many_reads_as_it_does_alone(void **state)
{
    static const char *const yaml[] = {
        "name: a\nagent: {group: {port: 5}, goal: green, list: [{}, {port: 2}], flag: false, u64: 1}\n",
        "name: b\nagent: {list: [{}], u64: 2, path: /x, wait: 2s}\n",
        "name: c\nagent: {group: {}, u64: 3}\n",
    };
    settings_t defaults;
    helio_spec_defaults(&file_table, *state, &defaults);
    for (size_t i = 0; i < sizeof yaml / sizeof yaml[0]; i++) {
        settings_t alone = {0}, many = {0};
        helio_diagnostic_t diagnostic = {0};
        helio_spec_source_t source = {.text = helio_text_of(yaml[i])};
        assert_int_equal(read_settings(yaml[i], *state, &alone, &diagnostic), HELIO_OK);
        assert_int_equal(
            helio_spec_read_from(&file_table, &defaults, source, HELIO_SPEC_SOURCE_MAX, *state, &many, &diagnostic),
            HELIO_OK);
        assert_true(helio_text_equal(alone.site.name, many.site.name));
        assert_true(helio_text_equal(alone.site.backend, many.site.backend));
        assert_true(alone.site.carbon_g_per_kwh == many.site.carbon_g_per_kwh);
        assert_true(helio_text_equal(alone.path, many.path));
        assert_int_equal(alone.flag, many.flag);
        assert_int_equal(alone.goal, many.goal);
        assert_int_equal(alone.u64, many.u64);
        assert_int_equal(alone.wait_ms, many.wait_ms);
        assert_int_equal(alone.group.port, many.group.port);
        assert_int_equal(alone.group_set, many.group_set);
        assert_int_equal(alone.list.count, many.list.count);
        for (uint32_t k = 0; k < alone.list.count; k++)
            assert_int_equal(alone.list.items[k].port, many.list.items[k].port);
    }
}

static void site__a_pool_of_slices_is_read(void **state)
{
    static const char yaml[] =
        "name: a\npools: [{name: p, gpu: H100/1g.10gb, memory: 10GB, gpus_per_node: 56, nodes: 1, sharing: mig}]\n";
    helio_site_profile_t site;
    helio_diagnostic_t diagnostic = {0};
    exact_t exact = exact_of("site.yaml", yaml, strlen(yaml));
    assert_int_equal(helio_spec_parse_site(exact.source, *state, &site, &diagnostic), HELIO_OK);
    assert_text(helio_gpu_model(site.pools.items[0].gpu), "H100");
    assert_text(helio_gpu_slice(site.pools.items[0].gpu), "1g.10gb");
    assert_int_equal(helio_gpu_sevenths(site.pools.items[0].gpu), 1);
    assert_int_equal(helio_gpu_sevenths(HELIO_TEXT("H100")), 7);
    free(exact.bytes);
}

static void site__bad_pools_and_figures_are_refused(void **state)
{
    static const struct {
        const char *line;
        const char *message;
    } cases[] = {
        {"pue: 0.9", "pue: expected a number from 1 to 5"},
        {"lat: 91", "lat: expected a number from -90 to 90"},
        {"lon: -181", "lon: expected a number from -180 to 180"},
        {"pue: .nan", "pue: expected a number"},
        {"carbon_g_per_kwh: -2", "carbon_g_per_kwh: expected"},
        {"containers: yes", "containers: expected true or false"},
        {"region: a b", "region: expected a name"},
        {"timezone: 9", "timezone: expected"},
        {"window: []", "unknown key 'window'"},
        {"pools: [{name: p, gpu: H100}]", "needs 'gpus_per_node'"},
        {"pools: [{name: p, gpus_per_node: 8}]", "needs 'gpu'"},
        {"pools: [{name: p, nodes: 2, max_nodes: 1}]", "max_nodes 1 is less than nodes 2"},
        {"pools: [{nodes: 2}]", "key 'name' is missing in pools[0]"},
        {"pools: [{name: p, power: {idle_w: -1}}]", "pools[0].power.idle_w: expected a number from 0"},
        {"pools: [{name: p, power: {watts: 1}}]", "unknown key 'watts' in pools[0].power"},
        {"pools: [{name: p, price_usd_per_gpu_h: 2 USD}]", "price_usd_per_gpu_h: expected a number"},
        {"pools: [{name: p, provision: 5}]", "provision: expected a duration"},
        {"pools: [{name: p, gpu: H100/1g, gpus_per_node: 8, sharing: mig}]", "MIG slice"},
        {"pools: [{name: p, gpu: /1g.10gb, gpus_per_node: 8, sharing: mig}]", "MIG slice"},
        {"pools: [{name: p, gpu: H100/1g.10gb, gpus_per_node: 8}]", "needs 'sharing: mig'"},
        {"pools: [{name: p, spot: true, owned: false}]", "a spot pool needs 'interruptions_per_h'"},
        {"pools: [{name: p, spot: true, interruptions_per_h: 1}]", "a spot pool is rented, not owned"},
        {"pools: [{name: p, interruptions_per_h: 1}]", "only a spot pool has 'interruptions_per_h'"},
        {"pools: [{name: p, gpu: H100, gpus_per_node: 8, sharing: mig}]", "names the MIG profile"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char yaml[256];
        helio_site_profile_t site;
        helio_diagnostic_t diagnostic = {0};
        (void)snprintf(yaml, sizeof yaml, "name: a\n%s\n", cases[i].line);
        exact_t exact = exact_of("site.yaml", yaml, strlen(yaml));
        assert_int_equal(helio_spec_parse_site(exact.source, *state, &site, &diagnostic), HELIO_INVALID);
        if (!strstr(diagnostic.message, cases[i].message) || diagnostic.line != 2)
            fail_msg("%s: %u: %s", cases[i].line, diagnostic.line, diagnostic.message);
        free(exact.bytes);
    }
}

/*  ---- every field's own example ---- */

typedef struct wrap {
    const helio_spec_table_t *table;
    const char *before; /* the mapping that the field stands in */
    const char *after;
    const char *whole_before; /* further keys that the file needs */
    helio_arena_t *arena;
    uint32_t seen;
} wrap_t;

static bool try_example(const helio_spec_field_t *field, size_t base, void *context)
{
    wrap_t *self = context;
    char yaml[1024], before[256], after[64];
    (void)base;
    assert_non_null(field->example ? field->example : field->kind == HELIO_SPEC_SKIP ? "" : NULL);
    /* A required sibling or a partner may be needed: they are given first, unless the field is one of them.
     */
    const char *more = strcmp(field->key, self->whole_before) == 0 ? "" : self->whole_before;
    char extra[64] = "";
    if (*more)
        (void)snprintf(extra, sizeof extra, "%s: x, ", more);
    if (strcmp(field->key, "interconnect") == 0 && self->table == &helio_spec_job_table)
        (void)snprintf(extra + strlen(extra), sizeof extra - strlen(extra), "gpu: H100, ");
    if (strcmp(field->key, "carbon") == 0)
        (void)snprintf(extra, sizeof extra, "wait: 1 USD/gpu-h, ");
    if (strcmp(field->key, "wait") == 0)
        (void)snprintf(extra, sizeof extra, "carbon: 1 USD/t, ");
    if (strcmp(field->key, "gpu") == 0 && self->table == &helio_spec_site_table)
        (void)snprintf(extra + strlen(extra), sizeof extra - strlen(extra), "gpus_per_node: 1, ");
    if (strcmp(field->key, "gpus_per_node") == 0)
        (void)snprintf(extra + strlen(extra), sizeof extra - strlen(extra), "gpu: H100, ");
    bool of_array = strcmp(field->key, "after_task") == 0;
    (void)snprintf(yaml, sizeof yaml, "%s%s{%s%s: %s}%s", of_array ? "{array: 0-3, " : "", self->before + of_array,
                   extra, field->key, field->example, self->after);
    helio_diagnostic_t diagnostic = {0};
    void *target = helio_arena_alloc(self->arena, 1, self->table->size);
    helio_spec_source_t source = {helio_text_of(yaml), "example", 0};
    if (helio_spec_read(self->table, source, HELIO_SPEC_SOURCE_MAX, self->arena, target, &diagnostic) != HELIO_OK)
        fail_msg("%s\n%s\n%s", yaml, diagnostic.message, diagnostic.hint);
    self->seen++;
    if (field->kind == HELIO_SPEC_GROUP || field->kind == HELIO_SPEC_LIST) {
        bool list = field->kind == HELIO_SPEC_LIST;
        const char *top = self->before[0] ? "" : self->table == &helio_spec_site_table ? "name: s, " : "run: x, ";
        (void)snprintf(before, sizeof before, "%s{%s%s%s: %s", self->before, top,
                       self->before[0] && self->table == &helio_spec_site_table ? "name: p, " : "", field->key,
                       list ? "[" : "");
        (void)snprintf(after, sizeof after, "%s}%s", list ? "]" : "", self->after);
        const char *inner_more = !list ? "" : self->table == &helio_spec_site_table ? "name" : "uri";
        wrap_t inner = {self->table, before, after, inner_more, self->arena, 0};
        (void)helio_spec_each(field->table, 0, try_example, &inner);
        self->seen += inner.seen;
    }
    return true;
}

static void table__every_example_of_the_reference_is_accepted(void **state)
{
    wrap_t job = {&helio_spec_job_table, "", "", "run", *state, 0};
    (void)helio_spec_each(&helio_spec_job_table, 0, try_example, &job);
    assert_int_equal(job.seen, 50);
    wrap_t site = {&helio_spec_site_table, "", "", "name", *state, 0};
    (void)helio_spec_each(&helio_spec_site_table, 0, try_example, &site);
    assert_int_equal(site.seen, 33);
}

/*  ---- schema and pages ---- */

static json_t *schema_of(void (*write)(helio_buffer_t *out))
{
    helio_buffer_t out = {0};
    json_error_t error;
    write(&out);
    json_t *schema = json_loadb(out.data, out.size, JSON_REJECT_DUPLICATES, &error);
    if (!schema)
        fail_msg("%d:%d %s\n%s", error.line, error.column, error.text, out.data);
    helio_buffer_clear(&out);
    return schema;
}

static bool is_in_schema(const helio_spec_field_t *field, size_t base, void *context)
{
    json_t *schema = context, *property = json_object_get(json_object_get(schema, "properties"), field->key);
    (void)base;
    assert_non_null(property);
    if (field->kind == HELIO_SPEC_GROUP)
        (void)helio_spec_each(field->table, 0, is_in_schema, property);
    if (field->kind == HELIO_SPEC_LIST)
        (void)helio_spec_each(field->table, 0, is_in_schema, json_object_get(property, "items"));
    return true;
}

static void schema__has_every_key_and_refuses_others(void **state)
{
    json_t *job = schema_of(helio_spec_job_schema), *site = schema_of(helio_spec_site_schema);
    (void)state;
    assert_true(helio_spec_each(&helio_spec_job_table, 0, is_in_schema, job));
    assert_true(helio_spec_each(&helio_spec_site_table, 0, is_in_schema, site));
    assert_true(json_is_false(json_object_get(job, "additionalProperties")));
    assert_string_equal(json_string_value(json_array_get(json_object_get(job, "required"), 0)), "run");
    assert_int_equal(json_array_size(json_object_get(job, "required")), 1);
    json_t *nodes = json_object_get(json_object_get(job, "properties"), "nodes");
    assert_int_equal(json_integer_value(json_object_get(nodes, "minimum")), 1);
    assert_int_equal(json_integer_value(json_object_get(nodes, "maximum")), HELIO_JOB_NODES_MAX);
    assert_int_equal(json_integer_value(json_object_get(nodes, "default")), 1);
    json_decref(job);
    json_decref(site);
}

static void reference__the_pages_are_those_of_the_tables(void **state)
{
    helio_buffer_t out = {0};
    (void)state;
    helio_spec_job_reference(&out);
    golden_check("docs/reference/job.md", helio_buffer_view(&out));
    helio_buffer_reset(&out);
    helio_spec_site_reference(&out);
    golden_check("docs/reference/site.md", helio_buffer_view(&out));
    helio_buffer_reset(&out);
    helio_spec_job_schema(&out);
    golden_check("docs/reference/job.schema.json", helio_buffer_view(&out));
    helio_buffer_reset(&out);
    helio_spec_site_schema(&out);
    golden_check("docs/reference/site.schema.json", helio_buffer_view(&out));
    helio_buffer_clear(&out);
}

/*  ---- rendered errors and examples, as people see them ---- */

static void golden__errors_have_the_stored_form(void **state)
{
    static const struct {
        const char *name;
        const char *source;
    } cases[] = {
        {"unknown-key", "name: a\nrun: x\nplacement:\n  flexble: 12h\n"},
        {"unit-missing", "run: x\ntime: 90\n"},
        {"unknown-word", "run: x\nkind: trian\n"},
        {"out-of-range", "run: x\nnodes: 0\n"},
        {"wrong-type", "run: x\nenv: [A, B]\n"},
        {"duplicate-key", "run: x\ntime: 1h\nrun: y\n"},
        {"alias", "run: x\nenv: {A: *b}\n"},
        {"tab", "run: x\nplacement:\n\tgoal: green\n"},
        {"indentation", "run: x\nplacement:\n  goal: green\n   sites: [lulea]\n"},
        {"indentation-back", "run: x\nplacement:\n  goal: green\n sites: [lulea]\n"},
        {"run-list", "run:\n  - echo a\n  - echo b\n"},
        {"missing-key", "name: x\n"},
        {"contradiction", "run: x\nplacement: {goal: fast, prices: {carbon: 1 USD/t, wait: 1 USD/gpu-h}}\n"},
        {"long-line", "{run: x, name: abcdefghijklmnopqrstuvwxyz, queue: abcdefghijklmnopqrstuvwxyz, cpus: "
                      "12, memory: 64, "
                      "retries: 1}\n"},
        {"utf8", "run: x\n# \xc3\xa9t\xc3\xa9\nenv: {\"\xc3\xa9\": 1, B: 2}\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[128];
        helio_buffer_t out = {0};
        helio_diagnostic_t diagnostic = bad_job(cases[i].source, *state);
        helio_diagnostic_text(&diagnostic, false, &out);
        (void)snprintf(path, sizeof path, "tests/golden/spec/%s.txt", cases[i].name);
        golden_check(path, helio_buffer_view(&out));
        helio_buffer_clear(&out);
    }
}

/*  Enough for the texts of many errors, behind one another. */
static void judge(const char *yaml, helio_arena_t *arena, helio_diagnostics_t *ret_wrong)
{
    helio_job_spec_t job;
    helio_spec_source_t source = {.text = helio_text_of(yaml), .name = "job.yaml"};
    assert_int_equal(helio_spec_judge(&helio_spec_job_table, source, HELIO_JOB_SOURCE_MAX, arena, &job, ret_wrong),
                     HELIO_INVALID);
}

static void judge__all_wrong_values_are_reported_with_their_places(void **state)
{
    helio_diagnostics_t wrong;
    helio_buffer_t out = {0};
    judge("run: x\ntime: 90\ngpu: H100:8\nplacement:\n  goal: quick\n  flexible: soon\n  flexble: 1h\n"
          "  sites: [lulea, \"\", \"a b\"]\nenv: {\"A-B\": 1, C: [1]}\ndata:\n  - {uri: x}\n  - 7\n",
          *state, &wrong);
    helio_diagnostics_text(&wrong, false, &out);
    golden_check("tests/golden/spec/many.txt", helio_buffer_view(&out));
    helio_buffer_clear(&out);
}

static void judge__the_first_error_is_that_of_a_plain_reader(void **state)
{
    static const char *const bad[] = {"run: x\ntime: 90\nnodes: 0\n", "run: &a x\ntime: 90\n", "nodes: 0\n",
                                      "time: 90\nrum: x\n", "name: x\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        helio_diagnostic_t first = bad_job(bad[i], *state);
        helio_diagnostics_t wrong;
        judge(bad[i], *state, &wrong);
        assert_in_range(wrong.count, 1, 2);
        assert_int_equal(wrong.items[0].problem, first.problem);
        assert_int_equal(wrong.items[0].line, first.line);
        assert_string_equal(wrong.items[0].message, first.message);
    }
}

static void judge__consequences_of_an_error_are_not_reported(void **state)
{
    helio_diagnostics_t wrong;
    judge("rum: x\n", *state, &wrong); /* `run` is missing, but misspelt */
    assert_int_equal(wrong.count, 1);
    judge("run: x\nplacement: {goal: fats, prices: {carbon: 1 USD/t, wait: 1 USD/gpu-h}}\n", *state, &wrong);
    assert_int_equal(wrong.count, 1); /* no word of goal and prices beside each other */
    judge("nodes: 0\n", *state, &wrong);
    assert_int_equal(wrong.count, 2);
    assert_int_equal(wrong.items[1].problem, HELIO_SPEC_MISSING_PROBLEM);
}

static void judge__reports_a_bounded_number_of_errors_and_that_more_exist(void **state)
{
    helio_diagnostics_t wrong;
    helio_buffer_t yaml = {0}, out = {0};
    helio_buffer_text(&yaml, "run: x\nenv:\n");
    for (int i = 0; i < HELIO_DIAGNOSTICS_MAX; i++)
        helio_buffer_printf(&yaml, "  A%d: [1]\n", i);
    judge(helio_arena_text(*state, helio_buffer_view(&yaml)).data, *state, &wrong);
    assert_int_equal(wrong.count, HELIO_DIAGNOSTICS_MAX);
    assert_false(wrong.more);
    helio_buffer_text(&yaml, "  B: [1]\n  C: [1]\n");
    judge(helio_arena_text(*state, helio_buffer_view(&yaml)).data, *state, &wrong);
    assert_int_equal(wrong.count, HELIO_DIAGNOSTICS_MAX);
    assert_true(wrong.more);
    helio_diagnostics_text(&wrong, false, &out);
    assert_non_null(strstr(out.data, "\njob.yaml: more errors were found; only the first 20 are shown\n"));
    helio_buffer_clear(&yaml);
    helio_buffer_clear(&out);
}

static void golden__colour_only_adds_escapes(void **state)
{
    helio_diagnostic_t diagnostic = bad_job("run: x\ntime: 90\n", *state);
    helio_buffer_t plain = {0}, colour = {0}, stripped = {0}, brief = {0};
    helio_diagnostic_text(&diagnostic, false, &plain);
    helio_diagnostic_text(&diagnostic, true, &colour);
    helio_diagnostic_brief(&diagnostic, &brief);
    for (size_t i = 0; i < colour.size; i++) {
        if (colour.data[i] == '\033')
            while (colour.data[i] != 'm')
                i++;
        else
            helio_buffer_append(&stripped, &colour.data[i], 1);
    }
    assert_string_equal(stripped.data, plain.data);
    assert_true(colour.size > plain.size);
    assert_memory_equal(plain.data, brief.data, brief.size);
    assert_int_equal(plain.data[brief.size], '\n');
    helio_buffer_clear(&plain);
    helio_buffer_clear(&colour);
    helio_buffer_clear(&stripped);
    helio_buffer_clear(&brief);
}

static void examples__are_accepted(void **state)
{
    static const char *const names[] = {"hello", "gang", "array", "fail", "timeout", "cpu", "choose"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[1024], bytes[8192];
        helio_job_spec_t job;
        helio_diagnostic_t diagnostic = {0};
        (void)snprintf(path, sizeof path, "%s/examples/%s.yaml", HELIO_SOURCE_DIR, names[i]);
        FILE *in = fopen(path, "rb");
        if (!in)
            fail_msg("%s is missing", path);
        size_t size = fread(bytes, 1, sizeof bytes, in);
        (void)fclose(in);
        if (parse_job(bytes, size, *state, &job, &diagnostic) != HELIO_OK)
            fail_msg("%s:%u:%u %s", names[i], diagnostic.line, diagnostic.column, diagnostic.message);
        assert_text(job.name, names[i]);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)
    const struct CMUnitTest tests[] = {
        TEST(table__a_daemon_reads_its_settings_beside_the_site),
        TEST(table__included_keys_are_known_and_checked),
        TEST(table__defaults_are_those_of_an_empty_group),
        TEST(table__a_document_among_many_reads_as_it_does_alone),
        TEST(site__a_pool_of_slices_is_read),
        TEST(site__bad_pools_and_figures_are_refused),
        TEST(table__every_example_of_the_reference_is_accepted),
        TEST(schema__has_every_key_and_refuses_others),
        TEST(reference__the_pages_are_those_of_the_tables),
        TEST(golden__errors_have_the_stored_form),
        TEST(judge__all_wrong_values_are_reported_with_their_places),
        TEST(judge__the_first_error_is_that_of_a_plain_reader),
        TEST(judge__consequences_of_an_error_are_not_reported),
        TEST(judge__reports_a_bounded_number_of_errors_and_that_more_exist),
        TEST(golden__colour_only_adds_escapes),
        TEST(examples__are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
