/*  advice_text.h -- advice as JSON and as text for people. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_ADVICE_TEXT_H
#define HELIO_SIMULATOR_EXPERIMENT_ADVICE_TEXT_H

#include "federation/base/json.h"
#include "simulator/experiment/advice.h"
#include "simulator/experiment/asked.h"

/*  The key "advice" of a row. */
void exp_advice_put(helio_json_writer_t *json, const exp_advice_t *advice, const exp_result_t *row,
                    const exp_world_t *world);
/*  Below the table: for each row nodes and checkpoints, then the teams once. */
void exp_advice_print(const exp_result_t *results, uint32_t count, const exp_world_t *world, helio_buffer_t *out);

#endif
