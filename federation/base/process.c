/*  process.c -- what the kernel lets others see of this process. */
#include "federation/base/process.h"

#include <sys/prctl.h>

#ifdef __has_feature
#define HELIO_HAS_FEATURE(name) __has_feature(name)
#else
#define HELIO_HAS_FEATURE(name) 0
#endif

void helio_process_hide_memory(void)
{
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ && !HELIO_HAS_FEATURE(address_sanitizer) && \
    !HELIO_HAS_FEATURE(thread_sanitizer)
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* a kernel that refuses changes nothing else */
#endif
}
