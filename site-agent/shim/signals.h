/*  signals.h -- the signals that a shim takes, and those that are meant for its job: inside an allocation, users send
 *  signals to the script (`scancel --batch --signal=USR1`), and Slurm gives them to the shim in its place. */
#ifndef HELIO_SHIM_SIGNALS_H
#define HELIO_SHIM_SIGNALS_H

#include "site-agent/shim/internal.h"

HELIO_MUST_CHECK helio_rc helio_shim_open_signals(int *ret_fd, helio_error_t *err);
/*  The agent, which kills by USR2, has written `stop` before. */
bool helio_shim_is_for_job(const helio_shim_t *self, uint32_t number);
/*  To the attempt's programs, with `only_catchers` to those that wait for it; returns how many got it. Of a container those
 *  inside get it, and not the runtime: podman hands a signal on to a program that the same signal has just ended, fails,
 *  and ends with the job's last output unread. */
size_t helio_shim_signal_programs(const helio_shim_t *self, int number, bool only_catchers);
/*  Obeys what is new in the file `signals`. The head of several ranks leaves that to them. */
void helio_shim_obey_signals(helio_shim_t *self);
/*  To the programs that lead it. */
void helio_shim_hand_on(const helio_shim_t *self, uint32_t number);

#endif
