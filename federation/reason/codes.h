/*  codes.h -- the closed lists of reasons that programs branch on. Pure tables; page.c documents each name.
 *
 *  A waiting job has one pending reason. Each pool that was considered for it has a rejection, or none. A rejection
 *  belongs to the reason with which the job waits if no pool is better. Those two lists are in order of precedence. A
 *  name never changes its meaning. Causes are sent by number: append only.
 */
#ifndef HELIO_REASON_CODES_H
#define HELIO_REASON_CODES_H

#include "federation/base/memory.h"

/*  What a job waits for, or why a request is refused. */
/* clang-format off */
#define HELIO_REASON_TABLE(X)                     \
    X(NONE, "")                                   \
    X(INVALID, "Invalid")                         \
    X(FORBIDDEN, "Forbidden")                     \
    X(NEVER_FITS, "NeverFits")                    \
    X(GATED, "Gated")                             \
    X(POLICY_CAP, "PolicyCap")                    \
    X(WAITING_FOR_CAPACITY, "WaitingForCapacity") \
    X(WAITING_FOR_WINDOW, "WaitingForWindow")     \
    X(QUEUED, "Queued")
/* clang-format on */
#define HELIO_REASON_ENUMERATOR_(name, word) HELIO_REASON_##name,
typedef enum helio_reason { HELIO_REASON_TABLE(HELIO_REASON_ENUMERATOR_) HELIO_REASON_COUNT } helio_reason_t;

/*  Why a pool of a site is not a candidate. NAME, word, the reason that it belongs to. */
#define HELIO_REJECTION_TABLE(X)                                                                                    \
    X(NONE, "", QUEUED)                                                                                             \
    X(SITE_PATTERN, "SitePattern", NEVER_FITS) /* placement.sites excludes it */                                    \
    X(RESIDENCY, "Residency", NEVER_FITS)      /* placement.regions excludes it */                                  \
    X(BACKEND, "Backend", NEVER_FITS)          /* placement.backends lacks its kind */                              \
    X(NO_SUCH_GPU, "NoSuchGPU", NEVER_FITS)                                                                         \
    X(TOO_SMALL, "TooSmall", NEVER_FITS) /* could never hold it, even empty */                                      \
    X(NO_INTERCONNECT, "NoInterconnect", NEVER_FITS)                                                                \
    X(NO_SHARING, "NoSharing", NEVER_FITS)                                                                          \
    X(NO_CONTAINER_RUNTIME, "NoContainerRuntime", NEVER_FITS)                                                       \
    X(NO_LEASES, "NoLeases", NEVER_FITS)            /* cannot stop it below the agent */                            \
    X(NO_SPOT, "NoSpot", NEVER_FITS)                /* its nodes can be taken away, and the job does not consent */ \
    X(NO_USER_MAPPING, "NoUserMapping", NEVER_FITS) /* no Unix user for its tenant there */                         \
    X(NO_SUCH_NAME, "NoSuchName", NEVER_FITS)       /* no such partition or feature of its cluster */               \
    X(NO_LINK, "NoLink", NEVER_FITS)                /* no link leads its data there */                              \
    X(DEADLINE, "Deadline", POLICY_CAP)             /* nine of ten runs would not end before it */                  \
    X(COST_CAP, "CostCap", POLICY_CAP)              /* nine runs in ten would cost more */                          \
    X(CARBON_CAP, "CarbonCap", POLICY_CAP)          /* mean intensity of those hours, or it is unknown */           \
    X(QUOTA, "Quota", POLICY_CAP)                   /* set by the caller, which knows what the tenant holds */      \
    X(BUDGET, "Budget", POLICY_CAP)                 /* set by the caller, as above */                               \
    X(DRAINING, "Draining", WAITING_FOR_CAPACITY)                                                                   \
    X(SITE_SILENT, "SiteSilent", WAITING_FOR_CAPACITY)                                                              \
    X(NO_CAPACITY, "NoCapacity", WAITING_FOR_CAPACITY) /* fits, but not now */                                      \
    X(OVERFLOW, "Overflow", WAITING_FOR_CAPACITY)      /* set by the caller: an overflow group forbids it */        \
    X(CURTAILED, "Curtailed", WAITING_FOR_CAPACITY)    /* set by the caller: the site may use no more power */
#define HELIO_REJECTION_ENUMERATOR_(name, word, group) HELIO_REJECTION_##name,
typedef enum helio_rejection {
    HELIO_REJECTION_TABLE(HELIO_REJECTION_ENUMERATOR_) HELIO_REJECTION_COUNT
} helio_rejection_t;

/*  Why a site refused, lost or stopped an attempt, or makes it wait. NAME, name in texts, blame (below). An agent sends
 *  the cause beside its own explanation (what the system or the cluster reported), which is for people only. */
#define HELIO_CAUSE_TABLE(X)                                                                       \
    X(NONE, "", POOL) /* not reported, or a cause of a newer release */                            \
    X(NOT_READY, "NotReady", POOL)                                                                 \
    X(TOO_MANY, "TooMany", POOL)                                                                   \
    X(NO_SUCH_POOL, "NoSuchPool", POOL)                                                            \
    X(NO_CAPACITY, "NoCapacity", POOL)                                                             \
    X(STALE_EPOCH, "StaleEpoch", NOBODY)                                                           \
    X(NOT_HERE, "NotHere", NOBODY)                                                                 \
    X(FENCED, "Fenced", NOBODY)                                                                    \
    X(RULED, "Ruled", NOBODY)                                                                      \
    X(STOPPED, "Stopped", NOBODY)                                                                  \
    X(LEASE_EXPIRED, "LeaseExpired", NOBODY)                                                       \
    X(BAD_DOCUMENT, "BadDocument", POOL) /* the agent cannot read the job file: releases differ */ \
    X(BAD_OPTION, "BadOption", JOB)                                                                \
    X(NO_USER_MAPPING, "NoUserMapping", JOB)                                                       \
    X(MISSING_SECRET, "MissingSecret", JOB)                                                        \
    X(NO_CONTAINER_RUNTIME, "NoContainerRuntime", POOL)                                            \
    X(START_FAILED, "StartFailed", POOL)                                                           \
    X(SUBMIT_REFUSED, "SubmitRefused", JOB)                                                        \
    X(SUBMIT_FAILED, "SubmitFailed", POOL)                                                         \
    X(WAITS_IN_CLUSTER, "WaitsInCluster", NOBODY)                                                  \
    X(WITHDRAWN, "Withdrawn", JOB) /* withdrawn from a queue that did not move: nothing failed */  \
    X(SITE_SUSPENDED, "SiteSuspended", NOBODY)                                                     \
    X(SITE_CANCELLED, "SiteCancelled", JOB)                                                        \
    X(PREEMPTED, "Preempted", JOB) /* by the site's own scheduler */                               \
    X(NODE_FAILED, "NodeFailed", POOL)                                                             \
    X(OUT_OF_MEMORY, "OutOfMemory", JOB)                                                           \
    X(VANISHED, "Vanished", POOL)                                                                  \
    X(DOUBTED, "Doubted", JOB) /* the site's report of the run contradicts its own records */      \
    X(OPTION_NOT_ALLOWED, "OptionNotAllowed", JOB)
#define HELIO_CAUSE_ENUMERATOR_(name, word, blame) HELIO_CAUSE_##name,
typedef enum helio_cause { HELIO_CAUSE_TABLE(HELIO_CAUSE_ENUMERATOR_) HELIO_CAUSE_COUNT } helio_cause_t;

/*  What a quick end with that cause indicates: a fault of the pool, which then counts against other jobs as well; a
 *  fault of the job or its owner's settings; or neither. */
typedef enum helio_blame { HELIO_BLAME_POOL, HELIO_BLAME_JOB, HELIO_BLAME_NOBODY } helio_blame_t;

/*  The name that users and programs see; "unknown" for a value outside the list. Never NULL. */
const char *helio_reason_name(helio_reason_t reason);
const char *helio_rejection_name(helio_rejection_t rejection);
helio_reason_t helio_rejection_group(helio_rejection_t rejection);
const char *helio_cause_name(uint32_t cause); /* a cause that only a newer peer knows is "unknown" */
helio_blame_t helio_cause_blame(uint32_t cause);
/*  The cause whose name the text begins with, followed by its end or ": "; *ret_rest is the text after that. Peers of
 *  release 0.1 send only such texts. NONE: the text begins with no name of the list; *ret_rest is the whole text. */
helio_cause_t helio_cause_of_text(helio_text_t text, helio_text_t *ret_rest);
/*  Sets cause and explanation from the text if a record has neither: peers and journals before protocol version 4 have
 *  only the text. To be removed, with the functions before and after it, once the oldest supported version is 4. */
void helio_cause_derive(helio_text_t text, uint32_t *cause, helio_text_t *explanation);
/*  The inverse, for those peers: "StartFailed: cannot run helio-shim", in `into`, truncated to fit. The name is left
 *  out for NONE, for a cause outside the list, and for STOPPED with an explanation, since that explanation is the
 *  broker's own. */
helio_text_t helio_cause_text(uint32_t cause, helio_text_t explanation, char *into, size_t capacity);

#endif
