/*  figures.c -- the bounds of the core's histogram. */
#include "broker/model/figures.h"

const helio_bounds_t helio_broker_wait_bounds = {
    10, {1000, 10000, 60000, 300000, 900000, 3600000, 14400000, 43200000, 86400000, 259200000}};
