/*  doctor_sites.h -- what `doctor` says of the sites: which of them get no jobs, why, and what to do. */
#ifndef HELIO_CLIENT_DOCTOR_SITES_H
#define HELIO_CLIENT_DOCTOR_SITES_H

#include "client/commands/checkup.h"

/*  sees_keys: the token may list the keys of the sites. */
void helio_doctor_sites(helio_checkup_t *checkup, bool sees_keys);

#endif
