/*  summary.h -- what a job used, for those who followed it to its end. */
#ifndef HELIO_CLIENT_COMMANDS_SUMMARY_H
#define HELIO_CLIENT_COMMANDS_SUMMARY_H

#include <jansson.h>

#include "client/invocation/client.h"

/*  "ran 12m, cost $0.42, …" of the reply to a job that is over; nothing if it never ran. */
void helio_run_say_summary(const helio_client_t *client, const json_t *reply);

#endif
