/*  report.h -- an experiment as one page: no script, and nothing is fetched from anywhere. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_REPORT_H
#define HELIO_SIMULATOR_EXPERIMENT_REPORT_H

#include "simulator/experiment/result.h"

/*  The results must have their hours (exp_world_t.detailed). command: the words that led to it. */
void exp_report(const exp_result_t *results, uint32_t count, const exp_world_t *world, const char *command,
                helio_buffer_t *out);

#endif
