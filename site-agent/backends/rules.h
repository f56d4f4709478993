/*  rules.h -- how jobs run at this site with any backend: as which user, with which secrets, PATH and bounds. The keys
 *  `users`, `secrets`, `path`, `grace`, `retention`, `log_max`, `setuid_programs`, `containers` and those that begin with
 *  `container_`, of a site file's `agent:` part. */
#ifndef HELIO_BACKENDS_RULES_H
#define HELIO_BACKENDS_RULES_H

#include "federation/model/site.h"
#include "federation/spec/spec.h"
#include "site-agent/backends/containers.h"

typedef struct helio_user_rule {
    helio_text_t tenant; /* "*" = any */
    helio_text_t user;   /* "*" = any */
    helio_text_t unix_user;
    bool allow_root;
    helio_text_t account; /* Slurm account to charge; "" = the user's default there */
    bool shared;          /* jobs of several tenants may run as this user */
} helio_user_rule_t;

typedef struct helio_job_rules {
    struct {
        helio_user_rule_t *items;
        uint32_t count;
    } users;
    helio_text_t secrets; /* folder of mode 0700: <unix user>/<NAME>, one value in each file; "" = none */
    helio_text_t path;    /* PATH of jobs */
    uint64_t grace_ms;    /* of jobs that set none */
    uint64_t retention_ms;
    uint64_t log_max_bytes;
    helio_container_rules_t containers;
    bool setuid_programs; /* jobs may gain rights by the programs that they run; backend `local` */
} helio_job_rules_t;

/*  To be included in the agent's own table. */
extern const helio_spec_table_t helio_job_rules_table;

/*  Whether jobs of another tenant can run as the same user: those of another line, or of one for any tenant. They could
 *  read and change one another's files, and write one another's results. */
bool helio_job_rules_meet(const helio_job_rules_t *rules, const helio_user_rule_t *line);

/*  NOT_FOUND: no line matches; FORBIDDEN: jobs of several tenants would meet, and the line is not shared. Texts of
 *  *ret_rule are views into the rules. */
HELIO_MUST_CHECK helio_rc helio_job_rules_user(const helio_job_rules_t *rules, helio_text_t tenant, helio_text_t user,
                                               helio_user_rule_t *ret_rule);

/*  Puts the tenants that have a line here, and whose jobs are not refused, into the profile that the broker gets. If
 *  they are too many, the profile has none. */
void helio_job_rules_tell(const helio_job_rules_t *rules, helio_arena_t *arena, helio_site_profile_t *profile);

/*  A deep copy; everything lives in the arena. */
void helio_job_rules_copy(const helio_job_rules_t *from, helio_arena_t *arena, helio_job_rules_t *ret_rules);

#endif
