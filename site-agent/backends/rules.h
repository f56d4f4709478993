/*  rules.h -- how jobs run at this site, whatever starts them: as whom, with which secrets, PATH and bounds.
 * The keys `users`, `secrets`, `path`, `grace`, `retention`, `log_max` of a site file's `agent:` part.
 */
#ifndef HELIO_BACKENDS_RULES_H
#define HELIO_BACKENDS_RULES_H

#include "federation/model/site.h"
#include "federation/spec/spec.h"

typedef struct helio_user_rule {
    helio_text_t tenant; /* "*" = any */
    helio_text_t user;   /* "*" = any */
    helio_text_t unix_user;
    bool allow_root;
    helio_text_t account; /* Slurm account to charge; "" = the user's default there */
} helio_user_rule_t;

typedef struct helio_job_rules {
    struct {
        helio_user_rule_t *items;
        uint32_t count;
    } users;
    helio_text_t secrets; /* folder of mode 0700: <unix user>/<NAME>, one value a file; "" = none */
    helio_text_t path;    /* PATH of jobs */
    uint64_t grace_ms;    /* of jobs that say none */
    uint64_t retention_ms;
    uint64_t log_max_bytes;
} helio_job_rules_t;

/*  To be included in the agent's own table. */
extern const helio_spec_table_t helio_job_rules_table;

/*  NOT_FOUND: no line fits. Views of *ret_rule point into the rules. */
HELIO_MUST_CHECK helio_rc helio_job_rules_user(const helio_job_rules_t *rules, helio_text_t tenant,
                                               helio_text_t user, helio_user_rule_t *ret_rule);

/*  Which tenants have a line here, into the profile that the broker is told; not told where they are too many. */
void helio_job_rules_tell(const helio_job_rules_t *rules, helio_arena_t *arena, helio_site_profile_t *profile);

/*  A deep copy; everything of it lives in the arena. */
void helio_job_rules_copy(const helio_job_rules_t *from, helio_arena_t *arena, helio_job_rules_t *ret_rules);

#endif
