/*  shell.h -- the state of the backend, for its own files. One thread.
 *
 *  The files, lowest first; each calls only those before it:
 *      access             who the agent is
 *      mirror             lists and watches
 *      table              the attempts, and their events
 *      watched            what the mirrors show
 *      create, end, lease what is asked of the cluster for one attempt
 *      look               what the cluster says of one
 *      output             what its pods write
 *      queue_line         who stands in line there
 *      queue              what Kueue still admits
 *      offer, doubt       what is free; what cannot be
 *      check              what an operator is told
 *      kubernetes         the backend
 */
#ifndef HELIO_BACKENDS_KUBERNETES_SHELL_H
#define HELIO_BACKENDS_KUBERNETES_SHELL_H

#include <uthash.h>

#include "site-agent/backends/command.h"
#include "site-agent/backends/kubernetes/api.h"
#include "site-agent/backends/kubernetes/fleet.h"
#include "site-agent/backends/kubernetes/kubernetes.h"
#include "site-agent/backends/kubernetes/line.h"
#include "site-agent/backends/kubernetes/manifest.h"
#include "site-agent/backends/kubernetes/mirror.h"
#include "site-agent/backends/kubernetes/quota.h"
#include "site-agent/backends/kubernetes/state.h"

#define HELIO_KUBE_BEGUN "heliostat/begun"
#define HELIO_KUBE_ACKNOWLEDGED "heliostat/acknowledged"

enum {
    HELIO_KUBE_PATH_SIZE = 1024,
    HELIO_KUBE_ASKED_MAX = 32, /* requests for attempts that are out at once */
    HELIO_KUBE_KILLS_MAX =
        16, /* of these, deletions of one attempt's pods: others' requests go on beside a large gang */
    HELIO_KUBE_FOLLOWED_MAX = 256, /* logs that are followed, a connection to the API each */
    HELIO_KUBE_READS_MAX = 32,     /* further logs that are read at once */
    HELIO_KUBE_READ_MS = 10000,    /* between two reads of one: a pod that is stopped is read again within its grace */
    HELIO_KUBE_AGAIN_MS = 1000,
    HELIO_KUBE_LOOK_MS = 10000, /* interval of checks of a waiting Job: quota and events are not watched */
    HELIO_KUBE_DENIED_MS = 60000,
    HELIO_KUBE_QUOTA_MS = 1000 /* after one of ours was admitted or ended, Kueue's figures have it */
};

typedef struct helio_kube helio_kube_t;
typedef struct helio_kube_output helio_kube_output_t;

typedef struct helio_kube_attempt {
    UT_hash_handle hh;
    helio_attempt_id_t id;
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_kube_t *backend;
    helio_arena_t *arena; /* of order and spec, while it is to be created */
    helio_order_t order;
    helio_job_spec_t spec;
    char pool[33]; /* "" = found without its order */
    uint32_t nodes, gpus_per_node, cpus_per_node;
    uint64_t memory_bytes_per_node, time_limit_ms;
    bool leased;                     /* its Job ends with the lease */
    int64_t lease_boot_ms;           /* the end of the lease as named last; 0 = never */
    uint64_t deadline_s;             /* as the Job has it; 0 = none */
    bool claimed;                    /* the core knows it: start or adopt was called */
    bool found;                      /* it was found in the cluster */
    bool create;                     /* it is to be created, unless it exists */
    bool posted;                     /* a create went out: whether it was carried out may be unknown */
    bool known;                      /* its Job was seen */
    bool begun, told, noted;         /* it has begun; STARTED was reported; the Job says so */
    bool service;                    /* a gang's Service exists */
    bool stop, kill;                 /* asked for */
    bool deleted, killed;            /* that was carried out */
    json_t *asked_to_end;            /* its pods whose deletion was asked for, by uid; NULL = none */
    bool given_up;                   /* `verdict` is told when nothing of it runs any more */
    bool over, forgotten;            /* its end was told; the broker knows of it */
    bool repeat;                     /* all that was told is to be told again */
    bool dirty, confirm;             /* look at it; ask the cluster first */
    uint32_t changes, changes_asked; /* shown by watches, ever and when the API was asked last */
    uint64_t deadline_asked_s;
    bool judged;
    bool limit_reached; /* the limit was enforced by its Job's deadline */
    uint32_t out;       /* requests */
    int64_t grace_ms;
    int64_t due_ms, look_ms, denied_ms;
    json_t *job, *pods; /* as seen last; pods by uid */
    json_t *workload;
    char creation[HELIO_KUBE_WHY_SIZE];
    int64_t image_since_ms, started_ms, ended_ms;
    int64_t admitted_ms; /* when its Job was first seen not to be suspended; 0 = not yet */
    uint32_t word;       /* told last; HELIO_BACKEND_REPORT_COUNT = none */
    char said[HELIO_KUBE_WHY_SIZE];
    helio_kube_verdict_t verdict; /* of its end */
    helio_kube_output_t *outputs;
} helio_kube_attempt_t;

/*  Who stands in line at the site's ClusterQueue, and the list that is being read. */
typedef struct helio_kube_reading {
    helio_kube_line_t *line, *coming; /* NULL = not known; being read */
    helio_buffer_t page;
    uint32_t pages;
    bool out, queues;    /* LocalQueues are being read, not Workloads */
    bool narrow, denied; /* of its own namespace only; other namespaces were denied before */
    int64_t due_ms, narrow_until_ms;
} helio_kube_reading_t;

struct helio_kube {
    helio_backend_t base;
    const helio_site_profile_t *site;
    const helio_job_rules_t *rules;
    const helio_kubernetes_settings_t *settings;
    helio_backend_sink_t sink;
    helio_arena_t *arena;
    helio_kube_access_t access, coming; /* in use; being made */
    helio_arena_t *access_arena, *coming_arena;
    helio_commands_t *commands; /* the credential plug-in */
    bool access_ready, refused; /* there is one; the API did not take it */
    int64_t access_due_ms, access_read_ms;
    int epoll; /* of the requests and of the commands */
    helio_kube_api_t *api;
    const char *space, *folder;
    const char **tolerated;
    uint32_t tolerated_count;
    char jobs_path[HELIO_KUBE_PATH_SIZE], pods_path[HELIO_KUBE_PATH_SIZE], own_pods_path[HELIO_KUBE_PATH_SIZE];
    helio_kube_mirror_t nodes, jobs, pods;
    helio_kube_fleet_t *fleet; /* what the mirrors of nodes and pods add up to */
    bool own_pods;             /* others' pods may not be listed */
    int64_t own_pods_until_ms;
    helio_kube_attempt_t *attempts;
    uint32_t asked;          /* requests for attempts */
    int64_t now_ms, wall_ms; /* CLOCK_BOOTTIME, CLOCK_REALTIME */
    int64_t server_ahead_ms; /* the API's time less CLOCK_BOOTTIME, at least; 0 = not known yet */
    int64_t failing_ms;      /* since when the API answers nothing; 0 = it answers */
    bool silent;
    int64_t silent_ms;
    int64_t excess_ms;          /* since when a list is beyond its bounds; 0 = none is */
    const char *excess_said[3]; /* of nodes, Jobs and pods */
    uint32_t absurd_said;       /* nodes */
    int64_t doubt_ms;
    bool beating;
    int64_t beat_ms;
    helio_kube_quota_t quota; /* what the site's queue has left */
    json_t *local_queue;      /* while its ClusterQueue is asked for */
    int64_t quota_ms;         /* when that was asked for which `quota` is made of */
    int64_t quota_asked_ms, quota_due_ms;
    bool quota_out, quota_tried, quota_denied;
    helio_kube_reading_t reading;
    bool offer; /* the capacity changed */
    int64_t offer_ms, sweep_ms, next_ms;
    bool surveying;
    int64_t survey_ms;
    bool hindrance_said;
    char trouble[HELIO_KUBE_WHY_SIZE]; /* the last bad answer */
    uint32_t followed, reads;          /* logs */
    helio_kube_output_t *unread;       /* logs that are due, in the order in which they became so */
};

/* access.c */
HELIO_MUST_CHECK helio_rc helio_kube_open_access(helio_kube_t *self, helio_error_t *err);
void helio_kube_close_access(helio_kube_t *self);
void helio_kube_serve_access(helio_kube_t *self);
int64_t helio_kube_access_next_ms(const helio_kube_t *self);

/* table.c */
helio_kube_attempt_t *helio_kube_find(helio_kube_t *self, helio_job_key_t key, uint32_t epoch);
helio_kube_attempt_t *helio_kube_named_attempt(helio_kube_t *self, helio_text_t name);
helio_kube_attempt_t *helio_kube_add(helio_kube_t *self, helio_job_key_t key, uint32_t epoch);
void helio_kube_remove(helio_kube_attempt_t *attempt);
void helio_kube_set_job(helio_kube_attempt_t *attempt, const json_t *job); /* NULL: it does not exist */
void helio_kube_set_pod(helio_kube_attempt_t *attempt, const json_t *pod, bool gone);
void helio_kube_say(helio_kube_attempt_t *attempt, const helio_kube_verdict_t *verdict);
void helio_kube_say_failed(helio_kube_attempt_t *attempt, helio_cause_t cause, const char *why);
void helio_kube_repeat(helio_kube_attempt_t *attempt); /* all that was told */
/*  Asks for an attempt: the reply gets it back, when no longer `out`. False: later. */
bool helio_kube_ask(helio_kube_attempt_t *attempt, const char *method, const char *path, helio_text_t body,
                    helio_kube_reply_fn *reply);
/*  The first thing that each reply does; false: no answer that says anything, and what was asked is due again. */
bool helio_kube_heard(helio_kube_attempt_t *attempt, const helio_kube_reply_t *reply);
void helio_kube_hear(void *backend, const helio_kube_reply_t *reply);
int64_t helio_kube_server_ms(const helio_kube_t *self); /* the API's time, now */
void helio_kube_object_path(const helio_kube_attempt_t *attempt, const char *kind, char ret_path[HELIO_KUBE_PATH_SIZE]);

/* watched.c */
void helio_kube_watch_all(helio_kube_t *self);

/* create.c */
void helio_kube_create(helio_kube_attempt_t *attempt);
void helio_kube_create_service(helio_kube_attempt_t *attempt);
/* end.c */
void helio_kube_delete(helio_kube_attempt_t *attempt);
void helio_kube_kill(helio_kube_attempt_t *attempt);
void helio_kube_acknowledge(helio_kube_attempt_t *attempt);
/* lease.c */
int64_t helio_kube_deadline_due_ms(const helio_kube_attempt_t *attempt); /* when its limit is over; INT64_MAX = never */
bool helio_kube_patch_due(const helio_kube_attempt_t *attempt);
void helio_kube_patch(helio_kube_attempt_t *attempt);
uint64_t helio_kube_lease_left_ms(const helio_kube_attempt_t *attempt); /* for a Job that begins now; 0 = over */
/* look.c */
void helio_kube_consider(helio_kube_attempt_t *attempt);
/* output.c */
void helio_kube_follow(helio_kube_attempt_t *attempt); /* its logs that are due are read in their turn */
void helio_kube_read_logs(helio_kube_t *self);
bool helio_kube_output_over(const helio_kube_attempt_t *attempt);
void helio_kube_output_drop(helio_kube_attempt_t *attempt);
helio_rc helio_kube_output_read(const helio_kube_t *self, const char *name, bool over, uint64_t offset, size_t max,
                                helio_buffer_t *out, uint64_t *ret_next, bool *ret_end, helio_error_t *err);
void helio_kube_output_sweep(helio_kube_t *self);
/* check.c */
void helio_kube_inquire(helio_kube_t *self, void (*line)(void *arg, const char *what, helio_rc rc, const char *detail),
                        void *arg);
/* queue_line.c */
void helio_kube_read_line(helio_kube_t *self, const json_t *local, const json_t *cluster); /* if that is due */
void helio_kube_forget_line(helio_kube_t *self); /* the queue is gone, or unreadable */
void helio_kube_clear_line(helio_kube_t *self);
/*  Adds who waits in the queue to a pool's figures, and how long whole nodes are to be waited for. */
void helio_kube_expect(const helio_kube_t *self, uint32_t pool, helio_arena_t *arena, helio_pool_capacity_t *capacity);
/* queue.c */
void helio_kube_serve_queue(helio_kube_t *self);
int64_t helio_kube_queue_next_ms(const helio_kube_t *self);
/*  GPUs that attempts of a pool will take of the quota, and that its figures do not contain yet. */
uint64_t helio_kube_queue_waiting(const helio_kube_t *self, helio_text_t pool);
/* doubt.c */
void helio_kube_serve_doubt(helio_kube_t *self);
/* offer.c */
int64_t helio_kube_offer_due_ms(const helio_kube_t *self);
void helio_kube_offer(helio_kube_t *self);

#endif
