/*  hooks.h -- what follows from a change in state/: the only place that names the rooms above it. */
#ifndef HELIO_BROKER_CORE_HOOKS_H
#define HELIO_BROKER_CORE_HOOKS_H

#include "broker/core/state/moments.h"

extern const core_moments_t core_hooks;

#endif
