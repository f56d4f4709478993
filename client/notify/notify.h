/*  notify.h -- `helio notify`: tells targets what happens to jobs, deadlines and budgets, until it is ended.
 *
 *  What is in the store when this process ends, however it does, is delivered by the next one. Each message has the same
 *  id in every attempt.
 */
#ifndef HELIO_CLIENT_NOTIFY_NOTIFY_H
#define HELIO_CLIENT_NOTIFY_NOTIFY_H

#include "client/invocation/client.h"
#include "client/notify/config.h"

/*  id, name, letter, value, doc */
#define HELIO_NOTIFY_OPTIONS(X)                                                                        \
    X(CONFIG, "config", 'c', "FILE", "The file that says who is told what (docs/reference/notify.md)") \
    X(CHECK, "check", 0, NULL, "Check the file, send a test to each target, and exit")                 \
    X(HELP, "help", 'h', NULL, "Print this help")

typedef enum helio_notify_option {
#define HELIO_NOTIFY_OPTION_ENUMERATOR(id, ...) HELIO_NOTIFY_OPTION_##id,
    HELIO_NOTIFY_OPTIONS(HELIO_NOTIFY_OPTION_ENUMERATOR)
#undef HELIO_NOTIFY_OPTION_ENUMERATOR
        HELIO_NOTIFY_OPTION_COUNT
} helio_notify_option_t;

extern const helio_option_table_t helio_notify_options;

/*  Until SIGTERM or SIGINT. Returns the exit code. */
HELIO_MUST_CHECK int helio_notify_run(const helio_client_t *client, const helio_notify_config_t *config);
/*  Sends a test to each target and prints what came of it. */
HELIO_MUST_CHECK int helio_notify_check(const helio_client_t *client, const helio_notify_config_t *config);

#endif
