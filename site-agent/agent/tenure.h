/*  tenure.h -- the time in which a process of the agent holds the state directory, and what it can prove of the
 *  process before it.
 *
 *  The lock file says who holds the lock, and where that file was then: in which boot of the machine, on which
 *  device, with which inode. A process that takes the lock of the same file in the same boot knows that the former
 *  holder is gone. A copy of the directory is another file, or on another machine, so it proves nothing; a holder that
 *  has ended says so itself, and that is true wherever it is read. A broker that awaits the agent of its former leader
 *  admits the process that proves its end (docs/decisions/0008-which-agent-comes-back.md has the cases).
 */
#ifndef HELIO_AGENT_TENURE_H
#define HELIO_AGENT_TENURE_H

#include "federation/base/id.h"

typedef struct helio_tenure {
    int fd;               /* holds the lock */
    helio_uuid_t process; /* new at each start: HELLO's boot_id */
    helio_uuid_t former;  /* the last process in session that is proved to have ended; nil = of none */
    bool in_session;      /* a broker has admitted this process */
} helio_tenure_t;

/*  Locks the directory (host.h) and writes this process into the lock file. If it cannot be written, the next process
 *  proves less, and waits longer. HELIO_IO also: the system gave no random bytes. */
HELIO_MUST_CHECK helio_rc helio_tenure_begin(const char *state_dir, int64_t wall_ms, helio_tenure_t *ret_tenure,
                                             helio_error_t *err);
/*  A broker has admitted this process: from now on it is the one whose end its successor must prove. */
void helio_tenure_admitted(helio_tenure_t *self);
/*  The process does nothing more for its site. Unlocks. */
void helio_tenure_end(helio_tenure_t *self);

#endif
