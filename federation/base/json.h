/*  json.h -- writes JSON into a buffer. The writer adds commas, quotes and escapes, so that no caller can forget one.
 *
 *      helio_json_writer_t json = helio_json_into (&buffer);
 *      helio_json_begin_object (&json, NULL);
 *      helio_json_put_string (&json, "id", id);
 *      helio_json_end (&json);                      {"id":"01k9…"}
 *
 *  `name` is the member's name inside an object, and NULL inside an array and for the outermost value. Assertions check
 *  that, and that every container is ended. Names are escaped like values. Output beyond the buffer's bound sets its
 *  `overflow`. jansson reads JSON.
 */
#ifndef HELIO_BASE_JSON_H
#define HELIO_BASE_JSON_H

#include "federation/base/memory.h"

enum { HELIO_JSON_DEPTH_MAX = 32 };

typedef struct helio_json_writer {
    helio_buffer_t *out;
    bool indented;
    uint32_t depth;  /* open containers */
    uint32_t filled; /* by depth, a bit: the container has an element */
    uint32_t arrays; /* by depth, a bit: the container is an array */
} helio_json_writer_t;

helio_json_writer_t helio_json_into(helio_buffer_t *out);
/*  For files that people read: one member per line, two spaces per level, arrays of plain values on one line. */
helio_json_writer_t helio_json_indented_into(helio_buffer_t *out);

void helio_json_begin_object(helio_json_writer_t *self, const char *name);
void helio_json_begin_array(helio_json_writer_t *self, const char *name);
void helio_json_end(helio_json_writer_t *self); /* the innermost object or array */

/*  Bytes that are not UTF-8 become U+FFFD. */
void helio_json_put_text(helio_json_writer_t *self, const char *name, helio_text_t value);
void helio_json_put_string(helio_json_writer_t *self, const char *name, const char *value);        /* NULL: "" */
void helio_json_put_text_or_null(helio_json_writer_t *self, const char *name, helio_text_t value); /* "" gives null */
void helio_json_put_time(helio_json_writer_t *self, const char *name, int64_t wall_ms); /* RFC 3339; 0 gives null */
void helio_json_put_u64(helio_json_writer_t *self, const char *name, uint64_t value);
void helio_json_put_i64(helio_json_writer_t *self, const char *name, int64_t value);
void helio_json_put_real(helio_json_writer_t *self, const char *name, double value); /* null when it is not finite */
void helio_json_put_bool(helio_json_writer_t *self, const char *name, bool value);
void helio_json_put_null(helio_json_writer_t *self, const char *name);

/*  Well-formed JSON from another source: a result of the database, a constant. */
void helio_json_put_raw(helio_json_writer_t *self, const char *name, helio_text_t json);
/*  The members of such an object, as members of the current object. */
void helio_json_put_members(helio_json_writer_t *self, helio_text_t object);

#endif
