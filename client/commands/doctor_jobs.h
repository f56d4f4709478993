/*  doctor_jobs.h -- what `doctor` says of the jobs: how many are held, for which reasons, and what to do. */
#ifndef HELIO_CLIENT_DOCTOR_JOBS_H
#define HELIO_CLIENT_DOCTOR_JOBS_H

#include "client/commands/checkup.h"

void helio_doctor_jobs(const helio_checkup_t *checkup);

#endif
