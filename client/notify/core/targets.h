/*  targets.h -- the keys of notify.yaml as one table, which the reader and the reference page use, and which events a
 *  target wants. Pure. */
#ifndef HELIO_CLIENT_NOTIFY_TARGETS_H
#define HELIO_CLIENT_NOTIFY_TARGETS_H

#include "federation/model/job.h"
#include "federation/spec/spec.h"

/*  name in files and in bodies, doc */
#define HELIO_NOTIFY_EVENT_TABLE(X)                                                                                                           \
    X(JOB_STARTED, "job_started", "A job runs.")                                                                                              \
    X(JOB_ENDED, "job_ended",                                                                                                                 \
      "A job ended, however it did. A target that also wants `job_failed` gets that instead where it applies.")                               \
    X(JOB_FAILED, "job_failed", "A job failed, reached its time limit, or was lost.")                                                         \
    X(JOB_HELD, "job_held",                                                                                                                   \
      "A job is held after failures that are not its own, so that somebody has to release it. What people hold on purpose is not sent.")      \
    X(DEADLINE_AT_RISK, "deadline_at_risk",                                                                                                   \
      "An open job with a deadline is expected to end after it, no site can meet it any more, or it has passed. Once for each job and risk.") \
    X(BUDGET_NEAR, "budget_near",                                                                                                             \
      "A budget is used up to 80 %, or to 100 %, counting what running jobs are expected to use. Once for each period and threshold.")

typedef enum helio_notify_event {
#define HELIO_NOTIFY_ENUMERATOR(name, word, doc) HELIO_NOTIFY_##name,
    HELIO_NOTIFY_EVENT_TABLE(HELIO_NOTIFY_ENUMERATOR)
#undef HELIO_NOTIFY_ENUMERATOR
        HELIO_NOTIFY_EVENT_COUNT,
    HELIO_NOTIFY_TEST = HELIO_NOTIFY_EVENT_COUNT /* of `helio notify --check`; files cannot name it */
} helio_notify_event_t;

const char *helio_notify_event_name(helio_notify_event_t event);

typedef enum helio_notify_format {
    HELIO_NOTIFY_JSON,
    HELIO_NOTIFY_SLACK,
    HELIO_NOTIFY_FORMAT_COUNT
} helio_notify_format_t;

enum { HELIO_NOTIFY_TARGETS_MAX = 64, HELIO_NOTIFY_KEEP_MAX = 100000 };

typedef struct helio_notify_list {
    helio_string_t *items;
    uint32_t count;
} helio_notify_list_t;

typedef struct helio_notify_target {
    helio_text_t name;
    helio_text_t url, url_file; /* one of the three */
    helio_notify_list_t command;
    helio_text_t secret_file;
    helio_text_t ca_file;
    helio_notify_list_t on;
    helio_notify_list_t tenants, users, queues, names; /* patterns; empty = all */
    uint32_t format;                                   /* helio_notify_format_t */
    uint64_t timeout_ms;
    uint64_t retry_for_ms;
    uint32_t keep;
    uint32_t events; /* a bit for each event of `on`; not in the file */
} helio_notify_target_t;

typedef struct helio_notify_settings {
    helio_text_t state;
    struct {
        helio_notify_target_t *items;
        uint32_t count;
    } targets;
} helio_notify_settings_t;

extern const helio_spec_table_t helio_notify_table;

/*  Fills in what follows from the keys; after reading. */
void helio_notify_settle(helio_notify_settings_t *self);

/*  docs/reference/notify.md; its example is a file that can be read. */
void helio_notify_page(helio_buffer_t *out);

/*  What a target looks at. An empty text is unknown, and only a target without patterns for it wants that. */
typedef struct helio_notify_subject {
    helio_text_t tenant, user, queue, name;
} helio_notify_subject_t;

/*  Whether a target wants the event of this subject, and under which name: of an end that is a failure, JOB_FAILED if the
 *  target names that. */
bool helio_notify_wants(const helio_notify_target_t *self, helio_notify_event_t event,
                        const helio_notify_subject_t *subject, helio_notify_event_t *ret_event);
/*  The same before the user of the job is known: false only if it cannot want it. */
bool helio_notify_might_want(const helio_notify_target_t *self, helio_notify_event_t event,
                             const helio_notify_subject_t *subject);
bool helio_notify_any_wants(const helio_notify_settings_t *self, helio_notify_event_t event);

#endif
