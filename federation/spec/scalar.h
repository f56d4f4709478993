/*  scalar.h -- reads one value by the kind of its field. Internal to federation/spec. */
#ifndef HELIO_SPEC_SCALAR_H
#define HELIO_SPEC_SCALAR_H

#include "federation/spec/reader.h"

enum { HELIO_SPEC_EXPECTED_SIZE = 224 };

/*  Describes the values of a field, for messages and the reference: "a whole number from 1 to 100". */
void helio_spec_expected(const helio_spec_field_t *field, char ret_text[HELIO_SPEC_EXPECTED_SIZE]);

/*  Reports "expected …, found …" with the field's example (or `hint`) as help. */
helio_rc helio_spec_expect(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                           helio_spec_problem_t problem, const char *hint);

/*  Kinds that are one scalar: TEXT to WORD. `target` points to the field. */
bool helio_spec_is_scalar(helio_spec_kind_t kind);
helio_rc helio_spec_scalar(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                           void *target);
/*  Reads a text by the field's rule, bound and character set; also entries of WORDS and names of PAIRS. */
helio_rc helio_spec_text(helio_spec_reader_t *self, const helio_spec_field_t *field, const helio_spec_node_t *node,
                         double most, helio_text_t *target);
/*  Sets the default without a range check: a default may be a value that a file must not use. Asserts that it is
 *  well-formed. */
void helio_spec_fallback(const helio_spec_field_t *field, helio_arena_t *arena, void *target);

#endif
