/*  loop.h -- the poll loop of one thread: file descriptors, timers and (through server.h and dialer.h) ZeroMQ sockets.
 *
 *  Thread: everything belongs to the thread that runs the loop, except helio_loop_stop. Handlers run to completion.
 *  They may add, change and destroy any source or timer, including their own, and must not block.
 *
 *  The loop is fair: a turn calls each ready source once, and ZeroMQ objects serve a bounded number of messages per
 *  call. The rest is served in the next turn (readiness is level-triggered). Due timers run before the sources of a
 *  turn. Time is CLOCK_BOOTTIME, so that intervals include the time while the machine is suspended.
 */
#ifndef HELIO_NET_LOOP_H
#define HELIO_NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "federation/base/error.h"

typedef struct helio_loop helio_loop_t;
typedef struct helio_source helio_source_t;
typedef struct helio_timer helio_timer_t;
typedef void helio_loop_fn(void *arg);

enum { HELIO_LOOP_IN = 1, HELIO_LOOP_OUT = 2, HELIO_LOOP_ERROR = 4 };

HELIO_MUST_CHECK helio_rc helio_loop_new(helio_loop_t **ret_loop, helio_error_t *err);
/*  All sources and timers must be destroyed first. Not from a handler. */
void helio_loop_destroy(helio_loop_t **self_p);

/*  Turns until stopped. HELIO_IO when polling itself fails. */
HELIO_MUST_CHECK helio_rc helio_loop_run(helio_loop_t *self, helio_error_t *err);
/*  One turn: waits at most timeout_ms (< 0 = until something is ready) and serves what is ready. It may wait less. */
HELIO_MUST_CHECK helio_rc helio_loop_turn(helio_loop_t *self, int64_t timeout_ms, helio_error_t *err);
/*  Makes helio_loop_run return after the current turn. Safe from any thread and any signal handler. Cleared when run
 *  returns. */
void helio_loop_stop(helio_loop_t *self);
/*  The time at which the handlers of this turn began (CLOCK_BOOTTIME, ms). Cheap. */
int64_t helio_loop_now_ms(const helio_loop_t *self);

/*  Watches fd (not owned) for HELIO_LOOP_IN, _OUT or both; 0 = only errors. Destroy the source before closing fd. */
helio_source_t *helio_source_new(helio_loop_t *loop, int fd, unsigned interest, helio_loop_fn *fn, void *arg);
void helio_source_destroy(helio_source_t **self_p);
void helio_source_interest(helio_source_t *self, unsigned interest);
/*  Inside its handler: what the descriptor is ready for, including HELIO_LOOP_ERROR. */
unsigned helio_source_ready(const helio_source_t *self);

/*  A timer is created disarmed and lives until it is destroyed; arming an armed timer moves it. */
helio_timer_t *helio_timer_new(helio_loop_t *loop, helio_loop_fn *fn, void *arg);
void helio_timer_destroy(helio_timer_t **self_p);
/*  Fires after delay_ms (<= 0: in the next turn), then every period_ms; 0 = once. Missed periods are skipped. */
void helio_timer_arm(helio_timer_t *self, int64_t delay_ms, int64_t period_ms);
/*  Fires once, when CLOCK_BOOTTIME reaches boot_ms. */
void helio_timer_arm_at(helio_timer_t *self, int64_t boot_ms);
void helio_timer_disarm(helio_timer_t *self);
bool helio_timer_is_armed(const helio_timer_t *self);

#endif
