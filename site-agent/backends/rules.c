/*  rules.c -- the keys of a site file that say how jobs run, and the Unix user of a tenant's user. */
#include "site-agent/backends/rules.h"

#include <stddef.h>

#define AT(member) .offset = offsetof(helio_job_rules_t, member)
#define USER(member) .offset = offsetof(helio_user_rule_t, member)

static const helio_spec_field_t user_fields[] = {
    {.key = "tenant",
     .kind = HELIO_SPEC_TEXT,
     USER(tenant),
     .most = 32,
     .fallback = "*",
     .example = "acme",
     .doc = "The tenant; `\"*\"`, in quotes, is any."},
    {.key = "user",
     .kind = HELIO_SPEC_TEXT,
     USER(user),
     .most = 64,
     .fallback = "*",
     .example = "ada",
     .doc = "The user within the tenant; `\"*\"`, in quotes, is any."},
    {.key = "unix",
     .kind = HELIO_SPEC_TEXT,
     USER(unix_user),
     .required = true,
     .most = 64,
     .example = "acme-batch",
     .doc = "The Unix user that such jobs run as. The first line that fits decides."},
    {.key = "allow_root",
     .kind = HELIO_SPEC_BOOL,
     USER(allow_root),
     .fallback = "false",
     .example = "false",
     .doc = "Needed where `unix` is root: jobs then own the machine."},
    {.key = "account",
     .kind = HELIO_SPEC_TEXT,
     USER(account),
     .most = 64,
     .example = "acme-gpu",
     .doc = "Slurm account that such jobs are charged to. Default: the Unix user's default account in Slurm."},
    {.key = "shared",
     .kind = HELIO_SPEC_BOOL,
     USER(shared),
     .fallback = "false",
     .example = "false",
     .doc = "Needed where jobs of several tenants run as this Unix user: such jobs can read, change and stop one "
            "another, and forge one another's results."},
};
static const helio_spec_table_t user_table = HELIO_SPEC_TABLE("users", helio_user_rule_t, user_fields, NULL);

static const helio_spec_field_t rules_fields[] = {
    {.key = "users",
     .kind = HELIO_SPEC_LIST,
     AT(users),
     .most = 10000,
     .table = &user_table,
     .example = "[{tenant: acme, user: \"*\", unix: acme-batch}]",
     .doc =
         "Maps tenants and users to Unix users of this site: one for each tenant, or more. The agent reports the tenants "
         "that have a line, and the broker sends only their jobs. A user without a matching line is refused with cause "
         "NoUserMapping."},
    {.key = "secrets",
     .kind = HELIO_SPEC_PATH,
     AT(secrets),
     .example = "/etc/heliostat/secrets",
     .doc = "Folder of mode 0700 with a folder for each Unix user; a secret is a file there, with the "
            "name that the job uses."},
    {.key = "path",
     .kind = HELIO_SPEC_TEXT,
     AT(path),
     .most = 4096,
     .fallback = "/usr/local/bin:/usr/bin:/bin",
     .example = "/opt/cuda/bin:/usr/local/bin:/usr/bin:/bin",
     .doc = "PATH of jobs; a job's own `env` overrides it."},
    {.key = "grace",
     .kind = HELIO_SPEC_DURATION,
     AT(grace_ms),
     .most = HELIO_JOB_GRACE_MAX_MS,
     .fallback = "30s",
     .example = "30s",
     .doc = "Time between the polite signal and KILL for jobs that name no `checkpoint.grace`."},
    {.key = "retention",
     .kind = HELIO_SPEC_DURATION,
     AT(retention_ms),
     .fallback = "7d",
     .example = "7d",
     .doc = "How long an attempt's log is kept after the broker acknowledged its end."},
    {.key = "log_max",
     .kind = HELIO_SPEC_BYTES,
     AT(log_max_bytes),
     .fallback = "1GB",
     .example = "1GB",
     .doc = "The largest output that is kept of one attempt. The rest is dropped, a line at the log's end says so, and "
            "the job goes on. `1GB`: more than people read, and a thousand such logs fit on a small disk."},
    {.kind = HELIO_SPEC_INCLUDE, AT(containers), .table = &helio_container_rules_table},
    {.key = "setuid_programs",
     .kind = HELIO_SPEC_BOOL,
     AT(setuid_programs),
     .fallback = "false",
     .example = "false",
     .doc = "Whether jobs of the backend `local` may gain rights by the programs that they run, as sudo and setuid "
            "installations of Apptainer do. Such a site removes NoNewPrivileges from the agent's unit, too."},
};
const helio_spec_table_t helio_job_rules_table = HELIO_SPEC_TABLE("rules", helio_job_rules_t, rules_fields, NULL);

static bool fits(helio_text_t pattern, helio_text_t text)
{
    return helio_text_is(pattern, "*") || (pattern.size && helio_text_equal(pattern, text));
}

bool helio_job_rules_meet(const helio_job_rules_t *rules, const helio_user_rule_t *line)
{
    if (helio_text_is(line->tenant, "*"))
        return true;
    for (uint32_t i = 0; i < rules->users.count; i++) {
        const helio_user_rule_t *other = &rules->users.items[i];
        if (helio_text_equal(other->unix_user, line->unix_user) && !helio_text_equal(other->tenant, line->tenant))
            return true;
    }
    return false;
}

helio_rc helio_job_rules_user(const helio_job_rules_t *rules, helio_text_t tenant, helio_text_t user,
                              helio_user_rule_t *ret_rule)
{
    for (uint32_t i = 0; i < rules->users.count; i++) {
        const helio_user_rule_t *line = &rules->users.items[i];
        if (fits(line->tenant, tenant) && fits(line->user, user)) {
            *ret_rule = *line;
            return line->shared || !helio_job_rules_meet(rules, line) ? HELIO_OK : HELIO_FORBIDDEN;
        }
    }
    return HELIO_NOT_FOUND;
}

static bool is_listed(const helio_site_profile_t *profile, helio_text_t tenant)
{
    for (uint32_t i = 0; i < profile->tenants.count; i++)
        if (helio_text_equal(profile->tenants.items[i].text, tenant))
            return true;
    return false;
}

void helio_job_rules_tell(const helio_job_rules_t *rules, helio_arena_t *arena, helio_site_profile_t *profile)
{
    profile->tenants.items = helio_arena_alloc(arena, HELIO_SITE_TENANTS_MAX, sizeof *profile->tenants.items);
    profile->tenants.count = 0;
    for (uint32_t i = 0; i < rules->users.count; i++) {
        const helio_user_rule_t *line = &rules->users.items[i];
        helio_text_t tenant = line->tenant;
        if (is_listed(profile, tenant) || (!line->shared && helio_job_rules_meet(rules, line)))
            continue;
        if (profile->tenants.count == HELIO_SITE_TENANTS_MAX) {
            profile->tenants.count = 0;
            profile->tenants_reported = false;
            return;
        }
        profile->tenants.items[profile->tenants.count++].text = tenant;
    }
    profile->tenants_reported = true;
    helio_site_tenants_sort(profile);
}

void helio_job_rules_copy(const helio_job_rules_t *from, helio_arena_t *arena, helio_job_rules_t *ret_rules)
{
    helio_job_rules_t rules = *from;
    rules.secrets = helio_arena_text(arena, from->secrets);
    rules.path = helio_arena_text(arena, from->path);
    helio_container_rules_copy(&from->containers, arena, &rules.containers);
    rules.users.items = helio_arena_alloc(arena, (size_t)from->users.count + 1, sizeof *from->users.items);
    for (uint32_t i = 0; i < from->users.count; i++) {
        const helio_user_rule_t *line = &from->users.items[i];
        rules.users.items[i] = (helio_user_rule_t){.tenant = helio_arena_text(arena, line->tenant),
                                                   .user = helio_arena_text(arena, line->user),
                                                   .unix_user = helio_arena_text(arena, line->unix_user),
                                                   .allow_root = line->allow_root,
                                                   .account = helio_arena_text(arena, line->account),
                                                   .shared = line->shared};
    }
    *ret_rules = rules;
}
