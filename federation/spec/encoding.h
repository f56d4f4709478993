/*  encoding.h -- checks a source before a parser sees it. Internal to federation/spec. */
#ifndef HELIO_SPEC_ENCODING_H
#define HELIO_SPEC_ENCODING_H

#include "federation/spec/reader.h"

/*  Requires at most source_max bytes of UTF-8 without control characters; reports the first byte that is not. */
helio_rc helio_spec_check_bytes(helio_spec_reader_t *self, size_t source_max);

/*  Bytes of a well-formed UTF-8 character of YAML's printable set at `at`; 0 = not one. */
size_t helio_spec_printable_size(const unsigned char *at, const unsigned char *end);

/*  Skips printable ASCII characters that stand for themselves within double quotes: all except '"' and '\'. */
const char *helio_spec_skip_ordinary(const char *at, const char *end);

/*  JSON writes characters beyond U+FFFF as two escapes, which YAML does not support: in a JSON text \ud83d\ude00
 *  becomes a YAML escape of the same length, so that offsets stay valid. Returns `text` itself if nothing changes. */
helio_text_t helio_spec_join_surrogates(helio_text_t text, helio_arena_t *arena);

#endif
