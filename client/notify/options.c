/*  options.c -- the options of `helio notify`. */
#include "client/notify/notify.h"

#define ROW(id, name, letter, value, doc) {name, letter, value, NULL, doc},

static const helio_option_t rows[] = {HELIO_NOTIFY_OPTIONS(ROW)};
const helio_option_table_t helio_notify_options = {.items = rows, .count = HELIO_NOTIFY_OPTION_COUNT};
