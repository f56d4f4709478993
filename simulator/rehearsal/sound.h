/*  sound.h -- whether the parts of a snapshot can be those of a broker. A snapshot comes out of a file, and the broker's
 *  core and the sites of a rehearsal take it for what a database holds: they check none of it. */
#ifndef HELIO_SIMULATOR_REHEARSAL_SOUND_H
#define HELIO_SIMULATOR_REHEARSAL_SOUND_H

#include "simulator/rehearsal/copy.h"

/*  The next part of the copy, which has all parts before it. HELIO_INVALID: a value out of its range, or a name, a job or
 *  a task that no earlier part has; the text names the part, the field, the value and the range. */
HELIO_MUST_CHECK helio_rc reh_sound_part(const reh_copy_t *copy, uint32_t kind, const void *record, helio_error_t *err);

#endif
