/*  variables.c -- the table of the client's environment variables. */
#include "client/invocation/variables.h"

#include <assert.h>

static const struct {
    const char *name, *doc;
} variables[] = {
#define HELIO_VARIABLE_ROW(id, name, doc) {name, doc},
    HELIO_VARIABLE_TABLE(HELIO_VARIABLE_ROW)
#undef HELIO_VARIABLE_ROW
};

const char *helio_variable_name(helio_variable_t variable)
{
    assert(variable < HELIO_VARIABLE_COUNT);
    return variables[variable].name;
}

const char *helio_variable_doc(helio_variable_t variable)
{
    assert(variable < HELIO_VARIABLE_COUNT);
    return variables[variable].doc;
}
