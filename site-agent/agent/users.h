/*  users.h -- whether jobs of a line of `agent.users` can run as the account that it names. */
#ifndef HELIO_SITE_AGENT_AGENT_USERS_H
#define HELIO_SITE_AGENT_AGENT_USERS_H

#include "federation/base/error.h"
#include "federation/base/log.h"
#include "site-agent/agent/settings.h"

enum { HELIO_USER_CHECK_SIZE = 700 }; /* the names of a line, and the longest remedy */

/*  Looks the account up. ret_text: whose jobs run as which account and, if they cannot, why not and what to do. */
HELIO_MUST_CHECK helio_rc helio_user_check(const helio_job_rules_t *rules, const helio_user_rule_t *user,
                                           char ret_text[HELIO_USER_CHECK_SIZE]);
/*  Logs the lines whose jobs cannot run. The agent still starts: jobs of other lines can run. */
void helio_users_log(const helio_agent_settings_t *settings, helio_log_t *log);

#endif
