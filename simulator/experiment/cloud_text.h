/*  cloud_text.h -- what instances of providers cost and lose, as text: keys of a row, lines below the table, and a table of
 *  the page. Nothing of it is shown for a fleet whose nodes are always there; the keys are then null. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_CLOUD_TEXT_H
#define HELIO_SIMULATOR_EXPERIMENT_CLOUD_TEXT_H

#include "federation/base/json.h"
#include "simulator/experiment/result.h"

void exp_cloud_put(helio_json_writer_t *json, const exp_result_t *row, const exp_world_t *world);
void exp_cloud_print(const exp_result_t *results, uint32_t count, const exp_world_t *world, helio_buffer_t *out);
void exp_cloud_page(const exp_result_t *results, uint32_t count, const exp_world_t *world, helio_buffer_t *out);

#endif
