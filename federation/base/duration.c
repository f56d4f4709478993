/*  duration.c -- formats lengths of time. */
#include "federation/base/duration.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

const helio_duration_unit_t helio_duration_units[HELIO_DURATION_UNITS] = {
    {"w", 604800000}, {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

void helio_duration_text(uint64_t ms, char ret_text[HELIO_DURATION_SIZE])
{
    size_t used = 0;
    /* Weeks are read but not written: "10d" is easier to compare than "1w3d". */
    for (size_t i = 1; i < HELIO_DURATION_UNITS; i++) {
        uint64_t value = ms / helio_duration_units[i].ms;
        ms %= helio_duration_units[i].ms;
        if (value == 0)
            continue;
        used += (size_t)snprintf(ret_text + used, HELIO_DURATION_SIZE - used, "%" PRIu64 "%s", value,
                                 helio_duration_units[i].name);
        assert(used < HELIO_DURATION_SIZE);
    }
    if (used == 0)
        (void)snprintf(ret_text, HELIO_DURATION_SIZE, "0s");
}

/*  "2h05m": the smaller unit has two digits, so that columns are easy to compare. */
static void two_units(uint64_t larger, const char *larger_name, uint64_t smaller, const char *smaller_name,
                      char ret_text[HELIO_DURATION_SIZE])
{
    (void)snprintf(ret_text, HELIO_DURATION_SIZE, "%" PRIu64 "%s%02" PRIu64 "%s", larger, larger_name, smaller,
                   smaller_name);
}

static void one_unit(uint64_t value, const char *name, char ret_text[HELIO_DURATION_SIZE])
{
    (void)snprintf(ret_text, HELIO_DURATION_SIZE, "%" PRIu64 "%s", value, name);
}

void helio_duration_text_up(uint64_t ms, char ret_text[HELIO_DURATION_SIZE])
{
    uint64_t minutes = ms / 60000 + (ms % 60000 > 0);
    if (minutes < 60)
        one_unit(minutes, "m", ret_text);
    else
        two_units(minutes / 60, "h", minutes % 60, "m", ret_text);
}

static uint64_t rounded_seconds(uint64_t ms)
{
    return ms / 1000 + (ms % 1000 >= 500);
}

void helio_duration_text_brief(uint64_t ms, char ret_text[HELIO_DURATION_SIZE])
{
    uint64_t s = rounded_seconds(ms);
    if (s < 60)
        one_unit(s, "s", ret_text);
    else if (s < 3600)
        one_unit(s / 60, "m", ret_text);
    else if (s < 86400)
        two_units(s / 3600, "h", s / 60 % 60, "m", ret_text);
    else
        two_units(s / 86400, "d", s / 3600 % 24, "h", ret_text);
}

void helio_duration_text_brief_seconds(uint64_t ms, char ret_text[HELIO_DURATION_SIZE])
{
    uint64_t s = rounded_seconds(ms);
    if (s > 60 && s < 3600 && s % 60)
        two_units(s / 60, "m", s % 60, "s", ret_text);
    else
        helio_duration_text_brief(ms, ret_text);
}
