/*  core_harness_rows.h -- the state of the core harness. Only core_harness*.c includes it. */
#ifndef HELIO_TESTS_SUPPORT_CORE_HARNESS_ROWS_H
#define HELIO_TESTS_SUPPORT_CORE_HARNESS_ROWS_H

#include <uthash.h>

#include "tests/support/core_harness.h"

enum { POOLS_MAX = 160 };

typedef struct said {
    uint32_t kind;
    bool taken;
    void *record;
} said_t;

/*  The rows of one job or task. */
typedef struct task {
    helio_job_key_t key;
    uint32_t state;
    uint32_t epoch; /* of the last placement */
    bool completed;
    bool written;
    helio_row_state_t row;
    uint32_t gpus; /* of the last placement */
    char gpu_model[65];
    UT_hash_handle hh;
} task_t;

typedef struct dataset {
    helio_row_data_t row;
    struct dataset *next;
} dataset_t;

typedef struct link {
    helio_row_link_t row;
    struct link *next;
} link_t;

typedef struct kept_curtailment {
    helio_row_curtailment_t row;
    struct kept_curtailment *next;
} kept_curtailment_t;

typedef struct kept_queue {
    helio_row_queue_t row;
    struct kept_queue *next;
} kept_queue_t;

typedef struct group {
    helio_row_overflow_t row;
    struct group *next;
} group_t;

typedef struct kept_tenant {
    helio_row_tenant_t row;
    struct kept_tenant *next;
} kept_tenant_t;

/*  The values of an edited job; one for each job. */
typedef struct edit {
    helio_row_edit_t row;
    struct edit *next;
} edit_t;

typedef struct rule {
    helio_row_queue_rule_t row;
    struct rule *next;
} rule_t;

typedef struct quota {
    helio_row_quota_t row;
    struct quota *next;
} quota_t;

typedef struct usage {
    helio_row_usage_t row;
    struct usage *next;
} usage_t;

typedef struct document {
    helio_ev_load_job_t load;
    helio_uuid_t job;
    UT_hash_handle hh;
    struct document *next;
} document_t;

typedef struct place {
    helio_row_site_t site;
    helio_row_pool_t pools[POOLS_MAX];
    uint32_t pool_count;
    uint64_t peer;
    uint64_t dispatch_seq;
    struct place *next;
} place_t;

typedef struct dependency {
    helio_row_dependency_t row;
    struct dependency *next;
} dependency_t;

/*  The actual values of hours, the newest series, and where jobs could have started first, as the tables keep them. */
typedef struct actual {
    helio_row_actual_t row;
    struct actual *next;
} actual_t;

typedef struct issue {
    helio_row_series_t row;
    struct issue *next;
} issue_t;

typedef struct least {
    helio_row_earliest_start_t row;
    helio_row_transfer_t transfer;
    struct least *next;
} earliest_start_t;

/*  Why the jobs of a class wait. */
typedef struct kept_class {
    helio_row_class_t row;
    struct kept_class *next;
} kept_class_t;

/*  A job that ended with its first attempt, in order of the ends. */
typedef struct run {
    helio_job_key_t key;
    uint64_t run_ms;
    char gpu_model[65];
    struct run *next;
} run_t;

/*  Rows of the ledger, the expected use of placements, budgets. */
typedef struct charged_row {
    helio_row_ledger_t row;
    struct charged_row *next, *next_of_job; /* the second chain: of one bucket */
} charged_row_t;

enum { CHARGED_BUCKETS = 4096 }; /* a power of two */

typedef struct expected_use_row {
    helio_row_expected_use_t row;
    helio_row_given_up_t given_up; /* if it was, and of its estimate */
    struct expected_use_row *next;
} expected_use_row_t;

typedef struct budget_row {
    helio_row_budget_t row;
    struct budget_row *next;
} budget_row_t;

typedef struct hold {
    helio_uuid_t job;
    helio_row_dependency_hold_t row;
    UT_hash_handle hh;
} dependency_hold_t;

/*  The arena of a harness. Tests use profiles and names of a harness also with the one that is rebuilt from it. */
typedef struct texts {
    helio_arena_t *arena;
    struct texts *former;
    uint32_t users;
} texts_t;

struct harness {
    uint32_t unchecked; /* steps of a large core since the last check */
    helio_broker_options_t options;
    helio_broker_core_t *core;
    helio_effects_t *effects;
    helio_arena_t *arena;
    texts_t *texts; /* that arena, and those of the harnesses that it was rebuilt from */
    int64_t now_ms, wall_ms;
    int64_t began_ms; /* when this leader last did */
    uint64_t calls;
    uint64_t report_seq;
    uint64_t summary_seq;
    helio_row_federation_t federation;
    said_t *said;
    uint32_t said_count, said_capacity;
    task_t *tasks;
    document_t *documents, **documents_end, *documents_by_job;
    dependency_t *dependencies, **dependencies_end;
    dependency_hold_t *dependency_holds;
    kept_queue_t *queues;
    rule_t *rules;
    group_t *groups;
    edit_t *edits;
    kept_tenant_t *tenants; /* as set; the newest row of each first */
    quota_t *quotas;
    dataset_t *datasets; /* the newest row of each first */
    link_t *links;
    kept_curtailment_t *curtailments;
    usage_t *usage;
    charged_row_t *charged, *charged_by_job[CHARGED_BUCKETS];
    expected_use_row_t *expected_use;
    budget_row_t *budgets;
    actual_t *actuals;
    issue_t *issues;
    earliest_start_t *earliest_starts;
    earliest_start_t *transfers; /* the newest first */
    run_t *runs, **runs_end;
    kept_class_t *classes;
    place_t *places;
    const helio_ev_submit_t *submitting;
};

/* core_harness.c */
harness_t *harness_new(const helio_broker_options_t *options);

/* core_harness_rows.c: what the tables hold */
/*  Keeps a committed row of a kind: asserts what is promised of it. */
void harness_keep(harness_t *self, uint32_t kind, const void *record);
void harness_keep_run(harness_t *self, helio_job_key_t key, uint64_t run_ms, const char *gpu_model);
void harness_keep_earliest_start(harness_t *self, const helio_row_earliest_start_t *row);
void harness_keep_transfer(harness_t *self, const helio_row_transfer_t *row);
void harness_put_document(harness_t *self, document_t *document);
helio_text_t harness_queue_of(const harness_t *self, const helio_row_job_t *job); /* as edited */
const helio_row_job_t *harness_document_of(const harness_t *self, helio_uuid_t job);
task_t *harness_task_get(harness_t *self, helio_job_key_t key);        /* or a new one */
task_t *harness_task_find(const harness_t *self, helio_job_key_t key); /* NULL = none */
place_t *harness_place_get(harness_t *self, helio_text_t name);        /* or a new one */
uint32_t harness_found(const harness_t *self, helio_job_key_t on); /* as the database would report it: helio_found_t */

/* core_harness_budgets.c */
void harness_keep_charged(harness_t *self, const helio_row_ledger_t *row);
bool harness_was_reversed(const harness_t *self, const helio_row_ledger_t *row);
bool harness_refuses(const harness_t *self, const helio_row_ledger_t *row);
void harness_load_estimates(harness_t *self, const harness_t *from);
void harness_keep_expected_use(harness_t *self, const helio_row_placement_t *row);
void harness_keep_budget(harness_t *self, const helio_row_budget_t *row);
void harness_load_budgets(harness_t *self, const harness_t *from);
void harness_load_expected_use(harness_t *self, const harness_t *from); /* after the states */

/* core_harness_callers.c */
const helio_fx_reply_t *harness_reply_of(harness_t *self, uint64_t call);

/* core_harness_load.c: tenants and queues; from: whose queues, NULL = the initial ones */
void harness_load_static(harness_t *self, const harness_t *from);

#endif
