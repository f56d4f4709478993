/*  yaml.h -- a JSON value as YAML, for people and for programs that read it. Pure. */
#ifndef HELIO_CLIENT_YAML_H
#define HELIO_CLIENT_YAML_H

#include <jansson.h>

#include "federation/base/memory.h"

/*  Block style, in lines that each end with one. YAML 1.1 and 1.2 read it as the same value: text that looks like a number, a date
 *  or a truth value is quoted. Control characters, and those that turn the direction of writing, are escaped, other letters are
 *  not; libyaml's emitter can only escape both or neither. */
void helio_yaml_put(const json_t *value, helio_buffer_t *out);

#endif
