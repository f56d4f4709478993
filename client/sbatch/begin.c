/*  begin.c -- the times of sbatch's --begin and --deadline. */
#include <string.h>

#include "client/sbatch/internal.h"
#include "federation/spec/value.h"

typedef struct scan {
    const char *at;
    struct tm now;
    struct tm when;
    bool has_date, has_year, has_time;
    int64_t wall_ms; /* of "now+…"; -1 = not given */
} scan_t;

static bool digits(scan_t *self, uint32_t most, int *ret_number)
{
    size_t size = strspn(self->at, "0123456789");
    uint64_t value;
    if (size == 0 || size > most || helio_u64_parse((helio_text_t){self->at, (uint32_t)size}, &value) != HELIO_OK)
        return false;
    self->at += size;
    *ret_number = (int)value;
    return true;
}

/*  Words end where letters do. */
static bool word(scan_t *self, const char *text)
{
    size_t size = strlen(text);
    char next = strlen(self->at) >= size ? self->at[size] : '\0';
    bool letter = (next | 0x20) >= 'a' && (next | 0x20) <= 'z' && next != 'T';
    if (strncasecmp(self->at, text, size) != 0 || letter)
        return false;
    self->at += size;
    return true;
}

/*  now, now+60, now+1hour */
static bool relative(scan_t *self, int64_t wall_ms)
{
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {{"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", 86400}, {"weeks", 604800}};
    int count = 0;
    int64_t scale = 1;
    while (*self->at == ' ')
        self->at++;
    if (*self->at == '+') {
        self->at++;
        while (*self->at == ' ')
            self->at++;
        if (!digits(self, 8, &count))
            return false;
        while (*self->at == ' ')
            self->at++;
        size_t size = strspn(self->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        for (size_t i = 0; size && i < sizeof units / sizeof units[0]; i++)
            if (size <= strlen(units[i].name) && strncasecmp(self->at, units[i].name, size) == 0) {
                scale = units[i].seconds;
                self->at += size;
                break;
            }
    }
    self->wall_ms = (wall_ms / 1000 + count * scale) * 1000;
    return *self->at == '\0';
}

static void at_hour(scan_t *self, int hour)
{
    self->when.tm_hour = hour;
    self->when.tm_min = self->when.tm_sec = 0;
    self->has_time = true;
}

static bool named(scan_t *self)
{
    static const struct {
        const char *name;
        int hour;
    } hours[] = {{"midnight", 0}, {"noon", 12}, {"fika", 15}, {"teatime", 16}};
    for (size_t i = 0; i < sizeof hours / sizeof hours[0]; i++)
        if (!self->has_time && word(self, hours[i].name)) {
            at_hour(self, hours[i].hour);
            return true;
        }
    bool today = !self->has_date && word(self, "today");
    bool tomorrow = !self->has_date && !today && word(self, "tomorrow");
    if (!today && !tomorrow)
        return false;
    self->when.tm_year = self->now.tm_year;
    self->when.tm_mon = self->now.tm_mon;
    self->when.tm_mday = self->now.tm_mday + tomorrow;
    self->has_date = self->has_year = true;
    return true;
}

/*  HH:MM[:SS] [AM|PM] */
static bool clock_time(scan_t *self)
{
    int hour, minute, second = 0;
    if (!digits(self, 2, &hour) || *self->at++ != ':' || !digits(self, 2, &minute))
        return false;
    if (*self->at == ':') {
        self->at++;
        if (!digits(self, 2, &second))
            return false;
    }
    const char *end = self->at;
    self->at += strspn(self->at, " ");
    bool pm = word(self, "pm"), am = !pm && word(self, "am");
    if (!am && !pm)
        self->at = end;
    if ((am || pm) && (hour < 1 || hour > 12))
        return false;
    if (am || pm)
        hour = hour % 12 + (pm ? 12 : 0);
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    at_hour(self, hour);
    self->when.tm_min = minute;
    self->when.tm_sec = second;
    return true;
}

static bool is_day(int month, int day)
{
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/*  YYYY-MM-DD, MM/DD[/YY], MMDDYY */
static bool date(scan_t *self)
{
    int year = -1, month, day;
    size_t size = strspn(self->at, "0123456789");
    const char *start = self->at;
    if (size == 4 && start[4] == '-') {
        if (!digits(self, 4, &year) || *self->at++ != '-' || !digits(self, 2, &month) || *self->at++ != '-' ||
            !digits(self, 2, &day))
            return false;
    } else if (size == 6) {
        month = (start[0] - '0') * 10 + start[1] - '0';
        day = (start[2] - '0') * 10 + start[3] - '0';
        year = 2000 + (start[4] - '0') * 10 + start[5] - '0';
        self->at += size;
    } else {
        char separator = start[size];
        if (!digits(self, 2, &month) || (separator != '/' && separator != '.') || !*++self->at ||
            !digits(self, 2, &day))
            return false;
        if (*self->at == separator) {
            self->at++;
            if (!digits(self, 4, &year))
                return false;
            year += year < 100 ? 2000 : 0;
        }
    }
    if (!is_day(month, day) || (year >= 0 && (year < 1970 || year > 9999)))
        return false;
    self->when.tm_year = year >= 0 ? year - 1900 : self->now.tm_year;
    self->when.tm_mon = month - 1;
    self->when.tm_mday = day;
    self->has_date = true;
    self->has_year = year >= 0;
    return true;
}

static bool part(scan_t *self)
{
    size_t size = strspn(self->at, "0123456789");
    if (size == 0)
        return named(self);
    if (size <= 2 && self->at[size] == ':')
        return !self->has_time && clock_time(self);
    return !self->has_date && date(self);
}

/*  Missing parts default to the next such time. */
static bool resolve(scan_t *self, const helio_sbatch_input_t *input, int64_t *ret_wall_ms)
{
    struct tm when = self->when;
    if (!self->has_date) {
        when.tm_year = self->now.tm_year;
        when.tm_mon = self->now.tm_mon;
        when.tm_mday = self->now.tm_mday;
    }
    when.tm_isdst = -1;
    struct tm later = when;
    if (!input->from_local(&when, ret_wall_ms))
        return false;
    if ((self->has_date && self->has_year) || *ret_wall_ms > input->wall_ms)
        return true;
    later.tm_mday += !self->has_date;
    later.tm_year += self->has_date;
    return input->from_local(&later, ret_wall_ms);
}

bool sbatch_begin(const helio_sbatch_input_t *input, const char *text, int64_t *ret_wall_ms)
{
    scan_t self = {.at = text, .wall_ms = -1};
    if (strlen(text) > 64 || !input->to_local(input->wall_ms, &self.now))
        return false;
    self.at += strspn(self.at, " ");
    if (word(&self, "now")) {
        if (!relative(&self, input->wall_ms))
            return false;
        *ret_wall_ms = self.wall_ms;
        return true;
    }
    while (*self.at) {
        if (!part(&self))
            return false;
        bool joined = *self.at && strchr("T-", *self.at) && self.has_date && !self.has_time && self.at[1];
        if (*self.at && *self.at != ' ' && !joined)
            return false;
        self.at += joined;
        self.at += strspn(self.at, " ");
    }
    return (self.has_date || self.has_time) && resolve(&self, input, ret_wall_ms);
}
