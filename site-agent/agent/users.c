/*  users.c -- the accounts that a site file names for jobs, as this host knows them. */
#include "site-agent/agent/users.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

helio_rc helio_user_check(const helio_job_rules_t *rules, const helio_user_rule_t *user,
                          char ret_text[HELIO_USER_CHECK_SIZE])
{
    char name[64], missing[160];
    (void)helio_text_copy(user->unix_user, name, sizeof name);
    const struct passwd *account = getpwnam(name);
    int head = snprintf(ret_text, HELIO_USER_CHECK_SIZE, "%.*s/%.*s as %s", HELIO_TEXT_ARGS(user->tenant),
                        HELIO_TEXT_ARGS(user->user), name);
    const char *fault = NULL;
    (void)snprintf(missing, sizeof missing,
                   ": the account does not exist; `useradd --system %s` adds it, or name another", name);
    if (!account)
        fault = missing;
    else if (account->pw_uid == 0 && !user->allow_root)
        fault = ": root is refused unless the entry says allow_root: true";
    else if (geteuid() != 0 && account->pw_uid != geteuid())
        fault = ": an agent that is not root can start jobs as its own account only";
    else if (!user->shared && helio_job_rules_meet(rules, user))
        fault = ": jobs of another tenant run as that account, too, and these are refused; name an account of their "
                "own, or say shared: true";
    if (fault)
        (void)snprintf(ret_text + head, (size_t)(HELIO_USER_CHECK_SIZE - head), "%s", fault);
    return fault ? HELIO_INVALID : HELIO_OK;
}

void helio_users_log(const helio_agent_settings_t *settings, helio_log_t *log)
{
    char text[HELIO_USER_CHECK_SIZE], quoted[HELIO_USER_CHECK_SIZE + 64];
    if (helio_text_is(settings->site.backend, "kubernetes")) /* jobs run there as their images say */
        return;
    for (uint32_t i = 0; i < settings->rules.users.count; i++)
        if (helio_user_check(&settings->rules, &settings->rules.users.items[i], text) != HELIO_OK)
            helio_log(log, HELIO_WARN, "user_unusable", "text=%s",
                      helio_log_quote(helio_text_of(text), quoted, sizeof quoted));
}
