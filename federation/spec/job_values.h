/*  job_values.h -- the grammars specific to job files. Internal to federation/spec. */
#ifndef HELIO_SPEC_JOB_VALUES_H
#define HELIO_SPEC_JOB_VALUES_H

#include "federation/spec/reader.h"

enum { HELIO_SPEC_ARRAY_INDEX_MAX = 9999999 };

/*  H100 · H100:8 · H100/1g.10gb:1 · 80GB..:8 · any:2; a list is in order of preference, a mapping without
 *  preference. */
helio_rc helio_spec_read_gpu(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_job);
/*  5 · 1,3,7 · 0-99 · 0-15:4, joined by commas, with %AT_ONCE at the end. */
helio_rc helio_spec_read_array(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_job);

/*  Rules across fields. */
helio_rc helio_spec_check_job(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_job);
helio_rc helio_spec_check_placement(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_job);

#endif
