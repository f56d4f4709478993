/*  signals.h -- the signals that a shim takes, and those that are meant for its job: inside an allocation, users send
 *  signals to the script (`scancel --batch --signal=USR1`), and Slurm gives them to the shim in its place. */
#ifndef HELIO_SHIM_SIGNALS_H
#define HELIO_SHIM_SIGNALS_H

#include "site-agent/shim/internal.h"

HELIO_MUST_CHECK helio_rc helio_shim_open_signals(int *ret_fd, helio_error_t *err);
/*  The agent, which kills by USR2, has written `stop` before. */
bool helio_shim_is_for_job(const helio_shim_t *self, uint32_t number);
/*  Obeys what is new in the file `signals`. The head of several ranks leaves that to them. */
void helio_shim_obey_signals(helio_shim_t *self);
/*  To the programs that lead it. */
void helio_shim_hand_on(const helio_shim_t *self, uint32_t number);

#endif
