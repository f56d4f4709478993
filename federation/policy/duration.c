/*  duration.c -- keeps samples of runs by key, and predicts run times from them. */
#include "federation/base/char.h"
#include "federation/policy/duration.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "federation/policy/fair_share.h"

static const uint64_t RUN_MAX_MS = UINT64_C(366) * 86400000;
static const uint32_t WEIGHT_MAX = 1000000;
enum { AS_MEASURED = 1000 }; /* the weight of an A100 */

static const char *const words[] = {
#define X(name, word) word,
    HELIO_DURATION_BASIS_TABLE(X)
#undef X
};

const char *helio_duration_basis_name(uint32_t basis)
{
    return basis < HELIO_DURATION_BASIS_COUNT ? words[basis] : "unknown";
}

typedef struct past {
    char key[HELIO_DURATION_KEY_MAX];
    uint32_t key_size;
    uint32_t ends; /* the last 32, the latest in bit 0: 1 = it failed */
    uint32_t run_count;
    uint32_t run_next; /* position of the next run: a ring */
    uint64_t runs_ms[HELIO_DURATION_RUNS];
    uint64_t shares_ppm[HELIO_DURATION_RUNS]; /* of the time limit of the same run */
    uint64_t limits_ms[HELIO_DURATION_RUNS];
    uint64_t limit_ms;   /* of the last run */
    uint32_t same_limit; /* so many of the last runs had that limit */
    UT_hash_handle hh;
} past_t;

__extension__ typedef unsigned __int128 wide_t;

struct helio_durations {
    past_t *names, *others; /* ordered by their last end */
    helio_hash_key_t secret;
};

helio_durations_t *helio_durations_new(void)
{
    return helio_new(1, sizeof(helio_durations_t));
}

void helio_durations_secret(helio_durations_t *self, const helio_hash_key_t *secret)
{
    assert(!self->names && !self->others);
    self->secret = *secret;
}

static void drop_all(past_t **table)
{
    past_t *past, *next;
    HASH_ITER(hh, *table, past, next)
    {
        HASH_DEL(*table, past);
        free(past);
    }
}

void helio_durations_destroy(helio_durations_t **self_p)
{
    if (!*self_p)
        return;
    drop_all(&(*self_p)->names);
    drop_all(&(*self_p)->others);
    free(*self_p);
    *self_p = NULL;
}

uint32_t helio_durations_keys(const helio_durations_t *self)
{
    return HASH_COUNT(self->names) + HASH_COUNT(self->others);
}

/* ---- names --------------------------------------------------------------------------------------------- */

static bool is_joint(char c)
{
    return memchr("-_.:/[]() ,=", c, 12) != NULL;
}

static bool is_hex(char c)
{
    return helio_hex_digit(c) >= 0;
}

/*  The size of the word at `at` if it is a hexadecimal id, otherwise 0. */
static uint32_t id_size(helio_text_t name, uint32_t at)
{
    uint32_t i = at;
    bool counts = false;
    for (; i < name.size && is_hex(name.data[i]); i++)
        counts = counts || helio_is_digit(name.data[i]);
    return counts && i - at >= 8 && (i == name.size || is_joint(name.data[i])) ? i - at : 0;
}

uint32_t helio_duration_stem(helio_text_t name, char ret_stem[HELIO_DURATION_STEM_MAX])
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < name.size && size < HELIO_DURATION_STEM_MAX;) {
        bool begins = i == 0 || is_joint(name.data[i - 1]);
        uint32_t skip = begins ? id_size(name, i) : 0;
        while (!skip && i + skip < name.size && helio_is_digit(name.data[i + skip]))
            for (skip = 1; i + skip < name.size && helio_is_digit(name.data[i + skip]);)
                skip++;
        ret_stem[size++] = skip ? '#' : name.data[i];
        i += skip ? skip : 1;
    }
    while (size && (ret_stem[size - 1] == '#' || is_joint(ret_stem[size - 1])))
        size--;
    return size;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

typedef struct whose {
    char bytes[HELIO_DURATION_KEY_MAX];
    uint32_t size;
} whose_t;

/*  Each part is prefixed with its size, so that different keys cannot collide. */
static void put(whose_t *key, const char *data, uint32_t size)
{
    uint32_t left = (uint32_t)sizeof key->bytes - key->size - 1, most = size < 64 ? size : 64;
    most = most < left ? most : left;
    key->bytes[key->size++] = (char)most;
    if (most)
        memcpy(key->bytes + key->size, data, most);
    key->size += most;
}

static char bits_of(uint64_t value)
{
    return (char)(value ? 64 - __builtin_clzll(value) : 0);
}

/*  False: the runner has no key on that basis. */
static bool key_of(const helio_runner_t *runner, helio_duration_basis_t basis, whose_t *ret_key)
{
    whose_t *key = ret_key;
    char stem[HELIO_DURATION_STEM_MAX], kind = (char)(runner->kind & 0x7f);
    uint32_t stem_size = basis == HELIO_DURATION_BASIS_NAME ? helio_duration_stem(runner->name, stem) : 0;
    if (basis == HELIO_DURATION_BASIS_NAME && !stem_size)
        return false;
    key->size = 0;
    key->bytes[key->size++] = (char)basis;
    put(key, runner->tenant.data, runner->tenant.size < 32 ? runner->tenant.size : 32);
    if (basis == HELIO_DURATION_BASIS_KIND)
        put(key, &kind, 1);
    else
        put(key, runner->user.data, runner->user.size);
    char size[2] = {bits_of(runner->gpus), (char)(bits_of(runner->limit_ms / 1000) / 2)};
    if (stem_size)
        put(key, stem, stem_size);
    else
        put(key, size, sizeof size);
    return true;
}

static unsigned hash_of(const helio_durations_t *self, const whose_t *key)
{
    return (unsigned)helio_keyed_hash(&self->secret, key->bytes, key->size);
}

static past_t *find(const helio_durations_t *self, helio_duration_basis_t basis, const whose_t *key)
{
    past_t *table = basis == HELIO_DURATION_BASIS_NAME ? self->names : self->others, *past;
    HASH_FIND_BYHASHVALUE(hh, table, key->bytes, key->size, hash_of(self, key), past);
    return past;
}

/*  Moves the key to the end of its table's order. If the table is full, the first key is dropped. */
static past_t *take(helio_durations_t *self, helio_duration_basis_t basis, const whose_t *key)
{
    bool named = basis == HELIO_DURATION_BASIS_NAME;
    past_t **table = named ? &self->names : &self->others, *past = find(self, basis, key);
    uint32_t most = named ? HELIO_DURATION_NAMES : HELIO_DURATION_OTHERS;
    if (past) {
        HASH_DEL(*table, past);
    } else if (HASH_COUNT(*table) >= most) {
        past = *table;
        HASH_DEL(*table, past);
        memset(past, 0, sizeof *past);
    } else {
        past = helio_new(1, sizeof *past);
    }
    memcpy(past->key, key->bytes, key->size);
    past->key_size = key->size;
    HASH_ADD_BYHASHVALUE(hh, *table, key, past->key_size, hash_of(self, key), past);
    return past;
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

static const uint64_t WHOLE_PPM = 1000000;

/*  At least 1, so that a share can divide. */
static uint64_t share_ppm(uint64_t normal_ms, uint64_t limit_ms)
{
    uint64_t limit = limit_ms && limit_ms < RUN_MAX_MS ? limit_ms : RUN_MAX_MS, most = RUN_MAX_MS * WEIGHT_MAX / 1000;
    normal_ms = normal_ms < most ? normal_ms : most;
    uint64_t ppm = (uint64_t)((wide_t)normal_ms * WHOLE_PPM / limit);
    return ppm ? ppm : 1;
}

void helio_durations_note(helio_durations_t *self, const helio_runner_t *runner, uint64_t run_ms, uint32_t weight_milli,
                          bool whole)
{
    uint64_t bounded = run_ms < RUN_MAX_MS ? run_ms : RUN_MAX_MS;
    uint64_t normal = bounded * (weight_milli < WEIGHT_MAX ? weight_milli : WEIGHT_MAX) / 1000;
    for (uint32_t basis = HELIO_DURATION_BASIS_NAME; basis < HELIO_DURATION_BASIS_COUNT; basis++) {
        whose_t key;
        if (!key_of(runner, basis, &key))
            continue;
        past_t *past = take(self, basis, &key);
        past->ends = past->ends << 1 | !whole;
        if (!whole)
            continue;
        past->runs_ms[past->run_next] = normal ? normal : 1;
        past->shares_ppm[past->run_next] = share_ppm(normal, runner->limit_ms);
        past->limits_ms[past->run_next] = runner->limit_ms;
        past->same_limit = past->limit_ms == runner->limit_ms ? past->same_limit + 1 : 1;
        past->limit_ms = runner->limit_ms;
        past->run_next = (past->run_next + 1) % HELIO_DURATION_RUNS;
        past->run_count += past->run_count < HELIO_DURATION_RUNS;
    }
}

typedef struct weighed {
    uint64_t value; /* ms, or ppm of the limit */
    uint32_t weight;
} weighed_t;

typedef struct sample {
    weighed_t runs[HELIO_DURATION_RUNS]; /* ascending */
    uint32_t count, weight;
} sample_t;

static bool is_below_half(uint64_t a_ms, uint64_t b_ms)
{
    return (wide_t)a_ms * 2 < b_ms;
}

/*  Whether runs with that limit say how long a job with this one takes: neither limit is more than double the other. */
static bool is_comparable(uint64_t run_limit_ms, uint64_t limit_ms)
{
#ifdef HELIO_MUTANT_runs_of_any_limit_predict
    return true;
#endif
    return !limit_ms || (!is_below_half(run_limit_ms, limit_ms) && !is_below_half(limit_ms, run_limit_ms));
}

/*  limit_ms: of the job, if only runs with a comparable limit count; 0 = all of them. */
static void sample_sort(const past_t *past, const uint64_t values[HELIO_DURATION_RUNS], uint64_t limit_ms,
                        sample_t *ret_sample)
{
    /* 65536 * 2^(-age / 16) */
    static const uint32_t weights[HELIO_DURATION_RUNS] = {
        65536, 62757, 60097, 57549, 55109, 52773, 50535, 48393, 46341, 44376, 42495, 40693, 38968, 37316, 35734, 34219,
        32768, 31379, 30048, 28774, 27554, 26386, 25268, 24196, 23170, 22188, 21247, 20347, 19484, 18658, 17867, 17109};
    weighed_t *runs = ret_sample->runs;
    ret_sample->count = ret_sample->weight = 0;
    for (uint32_t age = 0; age < past->run_count; age++) {
        uint32_t run = (past->run_next + HELIO_DURATION_RUNS - 1 - age) % HELIO_DURATION_RUNS;
        if (!is_comparable(past->limits_ms[run], limit_ms))
            continue;
        uint64_t value = values[run];
        uint32_t at = ret_sample->count++;
        for (; at > 0 && runs[at - 1].value > value; at--)
            runs[at] = runs[at - 1];
        runs[at] = (weighed_t){value, weights[age]};
        ret_sample->weight += weights[age];
    }
}

static uint64_t quantile(const sample_t *sample, uint32_t percent)
{
    uint64_t below = 0, want = (uint64_t)sample->weight * percent;
    for (uint32_t i = 0; i < sample->count; i++) {
        below += (uint64_t)sample->runs[i].weight * 100;
        if (below >= want)
            return sample->runs[i].value;
    }
    return sample->runs[sample->count - 1].value;
}

/*  Whether the middle half of `a` lies closer together than that of `b`: by the quotient of its ends. */
static bool is_narrower(const sample_t *a, const sample_t *b)
{
    return (wide_t)quantile(a, 75) * quantile(b, 25) < (wide_t)quantile(b, 75) * quantile(a, 25);
}

/*  Whether the limit is among those of the runs: shares say nothing about limits far from all of them. */
static bool is_among_limits(const past_t *past, uint64_t limit_ms)
{
    bool above = false, below = false;
    for (uint32_t i = 0; i < past->run_count; i++) {
        above = above || !is_below_half(past->limits_ms[i], limit_ms);
        below = below || !is_below_half(limit_ms, past->limits_ms[i]);
    }
    return above && below;
}

/*  The runs of the key with a comparable limit, or, where its limits tell more than that, the shares of the runner's
 *  limit that all its runs used: users who know how long a job takes say so in its limit. */
static void sample_of(const past_t *past, const helio_runner_t *runner, uint32_t least, sample_t *ret_sample)
{
    sample_t shares, all;
    sample_sort(past, past->runs_ms, runner->limit_ms, ret_sample);
    if (past->same_limit >= past->run_count || !runner->limit_ms || !is_among_limits(past, runner->limit_ms))
        return; /* one limit says nothing */
    sample_sort(past, past->runs_ms, 0, &all);
    sample_sort(past, past->shares_ppm, 0, &shares);
    if (!is_narrower(&shares, ret_sample->count < least ? &all : ret_sample))
        return;
    for (uint32_t i = 0; i < shares.count; i++) {
        wide_t ms = (wide_t)shares.runs[i].value * runner->limit_ms / WHOLE_PPM;
        shares.runs[i].value = !ms ? 1 : ms < (wide_t)RUN_MAX_MS * WEIGHT_MAX ? (uint64_t)ms : RUN_MAX_MS * WEIGHT_MAX;
    }
    *ret_sample = shares;
}

/*  Workloads drift: fewer future runs stay below a sample quantile than its name says. On public traces 82 to 86 %
 *  stay below the 90th percentile of the sample, 88 to 92 % below the 95th (docs/policy.md). The 95th is therefore
 *  used as p90. */
enum { PERCENT_OF_P90 = 95 };

helio_duration_t helio_durations_expect(const helio_durations_t *self, const helio_runner_t *runner)
{
    for (uint32_t basis = HELIO_DURATION_BASIS_NAME; basis < HELIO_DURATION_BASIS_COUNT; basis++) {
        whose_t key;
        const past_t *past = key_of(runner, basis, &key) ? find(self, basis, &key) : NULL;
        uint32_t least = basis == HELIO_DURATION_BASIS_NAME ? HELIO_DURATION_RUNS_MIN : HELIO_DURATION_OTHERS_MIN;
        if (!past || past->run_count < least)
            continue;
        sample_t sample;
        sample_of(past, runner, least, &sample);
        if (sample.count < least)
            continue;
        return (helio_duration_t){
            .p50_ms = quantile(&sample, 50),
            .p75_ms = quantile(&sample, 75),
            .p90_ms = quantile(&sample, PERCENT_OF_P90),
            .basis = basis,
            .runs = sample.count,
            .failed = (uint32_t)__builtin_popcount(past->ends),
        };
    }
    return (helio_duration_t){0};
}

uint64_t helio_duration_bound_ms(uint32_t basis, uint64_t p90_ms)
{
#ifdef HELIO_MUTANT_caps_by_runs_of_others
    return p90_ms;
#endif
    return basis == HELIO_DURATION_BASIS_NAME ? p90_ms : 0;
}

/* ---- on a GPU model ----------------------------------------------------------------------------------------- */

uint32_t helio_duration_weight_milli(bool has_gpus, helio_text_t model)
{
    return has_gpus ? helio_gpu_weight_milli(model) : AS_MEASURED;
}

uint64_t helio_duration_at(uint64_t normal_ms, uint32_t weight_milli, uint64_t limit_ms)
{
    if (!normal_ms || !weight_milli || normal_ms > RUN_MAX_MS * WEIGHT_MAX / 1000)
        return limit_ms;
    uint64_t ms = normal_ms / weight_milli * 1000 + (normal_ms % weight_milli * 1000 + weight_milli - 1) / weight_milli;
    return ms < limit_ms ? ms : limit_ms;
}

uint64_t helio_duration_step(uint64_t normal_ms)
{
    static const uint64_t most = UINT64_C(1) << 48;
    if (!normal_ms)
        return 0;
    uint64_t low = 1, high = 1;
    for (uint32_t half = 1; high < normal_ms && high < most; half++) {
        low = high;
        high = half % 2 ? (UINT64_C(1) << half / 2) * 181 / 128 : UINT64_C(1) << half / 2;
    }
    return (wide_t)normal_ms * normal_ms <= (wide_t)low * high ? low : high;
}
