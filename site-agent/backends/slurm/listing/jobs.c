/*  jobs.c -- the lists of squeue and sacct.
 *
 *  Columns that users write have a fixed width, so they can hold anything, line breaks included, without moving what
 *  follows. Each column has its end mark, and each entry must end where it should, or the whole list is rejected.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "site-agent/backends/slurm/listing/internal.h"

enum { ID_MAX = 64 };

/* ---- squeue -------------------------------------------------------------------------------------------- */

#define NAME_WIDTH 56 /* an attempt's name has at most 54 bytes */
#define TRES_WIDTH 40
#define REASON_WIDTH 40
#define QUOTED(token) #token
#define TEXT_OF(number) QUOTED(number)
#define WIDE(field, width) field ":" TEXT_OF(width) "|,"

const char helio_slurm_jobs_format[] = WIDE("Name", NAME_WIDTH) WIDE("tres-per-node", TRES_WIDTH)
    WIDE("tres-per-job", TRES_WIDTH) WIDE("tres-per-task", TRES_WIDTH)
        WIDE("Reason", REASON_WIDTH) "JobArrayID:|,State:|,NumNodes:|,NumTasks:|,StartTime:|,EndTime:|,"
                                     "Partition:|,tres-alloc:|,NodeList:|,SchedNodes:|,UserID:|";

enum { NAME, PER_NODE, PER_JOB, PER_TASK, REASON, WIDE_COLUMNS };
static const uint32_t widths[WIDE_COLUMNS] = {NAME_WIDTH, TRES_WIDTH, TRES_WIDTH, TRES_WIDTH, REASON_WIDTH};

enum { ID, STATE, NODES, TASKS, START, END, PARTITION, ALLOC, NODE_LIST, PLANNED, USER, FREE_COLUMNS };

/* The shortest entry; it bounds the number of entries of a text. */
enum { JOB_BYTES_MIN = NAME_WIDTH + 3 * TRES_WIDTH + REASON_WIDTH + WIDE_COLUMNS + FREE_COLUMNS + 1 };

typedef struct job_row {
    helio_text_t wide[WIDE_COLUMNS];
    bool full[WIDE_COLUMNS]; /* no blank at its end: it may have been cut */
    helio_text_t free[FREE_COLUMNS];
} job_row_t;

static bool cut_row(helio_text_t *rest, job_row_t *row)
{
    for (uint32_t c = 0; c < WIDE_COLUMNS; c++) {
        if (rest->size <= widths[c] || rest->data[widths[c]] != '|')
            return false;
        row->wide[c] = helio_slurm_trim((helio_text_t){rest->data, widths[c]});
        row->full[c] = row->wide[c].size == widths[c];
        *rest = helio_slurm_skip(*rest, widths[c] + 1);
    }
    helio_text_t line, over;
    if (!helio_slurm_line(rest, &line))
        return false;
    for (uint32_t c = 0; c < FREE_COLUMNS; c++)
        if (!helio_slurm_cut(&line, '|', &row->free[c]))
            return false;
    return !helio_slurm_cut(&line, '|', &over) && !over.size;
}

/*  "123", "123_4", "123+1", "123_[3-7%2]", "123_[1,3,...]" */
static bool is_job_id(helio_text_t id)
{
    if (!id.size || id.size > ID_MAX || !isdigit((unsigned char)id.data[0]))
        return false;
    for (uint32_t i = 0; i < id.size; i++)
        if (!isdigit((unsigned char)id.data[i]) && (id.data[i] == '\0' || !strchr("_+[]-,%.:", id.data[i])))
            return false;
    return true;
}

/*  The last item of a list of GRES that was cut off is incomplete. */
static helio_slurm_ask_t asked(const job_row_t *row, uint32_t column)
{
    helio_text_t text = helio_slurm_or_empty(row->wide[column]);
    if (row->full[column])
        while (text.size && text.data[--text.size] != ',')
            ;
    return helio_slurm_gpus_asked(text);
}

static uint32_t product(uint32_t a, uint32_t b)
{
    uint32_t value;
    return __builtin_mul_overflow(a, b, &value) ? UINT32_MAX : value;
}

/*  What Slurm computes for the whole job (only with slurmdbd) takes precedence over the request. */
static void read_gpus(const job_row_t *row, uint32_t tasks, helio_slurm_job_t *job)
{
    helio_slurm_ask_t node = asked(row, PER_NODE), whole = asked(row, PER_JOB), task = asked(row, PER_TASK);
    bool parts = node.parts || whole.parts || task.parts;
    uint32_t nodes = job->nodes ? job->nodes : 1;
    uint32_t said = parts ? 0 : helio_slurm_tres_count(row->free[ALLOC], "gres/gpu");
    job->gpus = said         ? said
                : node.gpus  ? product(node.gpus, nodes)
                : whole.gpus ? whole.gpus
                             : product(task.gpus, tasks);
    job->gpus_per_node = node.gpus ? node.gpus : nodes == 1 ? job->gpus : 0;
    job->gpu_type = node.gpus ? node.type : whole.gpus ? whole.type : task.type;
}

static bool read_job(helio_text_t *rest, helio_slurm_job_t *job)
{
    job_row_t row;
    uint32_t tasks = 0;
    if (!cut_row(rest, &row) || !is_job_id(row.free[ID]) || !row.free[STATE].size ||
        !helio_slurm_u32(row.free[NODES], &job->nodes) || !helio_slurm_u32(row.free[USER], &job->uid) ||
        !helio_slurm_time(row.free[START], &job->start_s) || !helio_slurm_time(row.free[END], &job->end_s))
        return false;
    if (!helio_slurm_u32(row.free[TASKS], &tasks) || tasks > INT32_MAX) /* NO_VAL and the like: not given */
        tasks = 0;
    job->id = row.free[ID];
    job->state = helio_slurm_state_of(row.free[STATE]);
    job->reason = helio_slurm_or_empty(row.wide[REASON]);
    job->partition = row.free[PARTITION];
    job->node_list = helio_slurm_or_empty(row.free[NODE_LIST]);
    job->planned = helio_slurm_or_empty(row.free[PLANNED]);
    job->name = row.wide[NAME];
    read_gpus(&row, tasks, job);
    return true;
}

helio_rc helio_slurm_read_jobs(helio_text_t text, helio_arena_t *arena, helio_slurm_jobs_t *ret_jobs,
                               helio_error_t *err)
{
    helio_slurm_jobs_t jobs = {0};
    uint32_t most = text.size / JOB_BYTES_MIN;
    if (text.size)
        jobs.items = helio_arena_alloc(arena, most + 1, sizeof *jobs.items);
    while (text.size) {
        helio_text_t from = text;
        if (jobs.count == most || !read_job(&text, &jobs.items[jobs.count]))
            return helio_slurm_refuse(err, "squeue's list", jobs.count + 1, from);
        jobs.count++;
    }
    *ret_jobs = jobs;
    return HELIO_OK;
}

/* ---- who submitted what -------------------------------------------------------------------------------- */

void helio_slurm_marks_format(uint32_t script_bytes, char *ret_format, size_t capacity)
{
    (void)snprintf(ret_format, capacity, "--Format=" WIDE("Name", NAME_WIDTH) "Command:%u|,UserID:|", script_bytes);
}

static bool read_mark(helio_text_t *rest, uint32_t script_bytes, helio_slurm_mark_t *mark)
{
    helio_text_t line, user;
    if (rest->size <= NAME_WIDTH + 1 + script_bytes || rest->data[NAME_WIDTH] != '|' ||
        rest->data[NAME_WIDTH + 1 + script_bytes] != '|')
        return false;
    mark->name = helio_slurm_trim((helio_text_t){rest->data, NAME_WIDTH});
    mark->script = helio_slurm_trim((helio_text_t){rest->data + NAME_WIDTH + 1, script_bytes});
    *rest = helio_slurm_skip(*rest, NAME_WIDTH + script_bytes + 2);
    return helio_slurm_line(rest, &line) && helio_slurm_cut(&line, '|', &user) && helio_slurm_u32(user, &mark->uid) &&
           !line.size;
}

helio_rc helio_slurm_read_marks(helio_text_t text, uint32_t script_bytes, helio_arena_t *arena,
                                helio_slurm_marks_t *ret_marks, helio_error_t *err)
{
    helio_slurm_marks_t marks = {0};
    uint32_t most = text.size / (NAME_WIDTH + script_bytes + 2);
    if (text.size)
        marks.items = helio_arena_alloc(arena, most + 1, sizeof *marks.items);
    while (text.size) {
        helio_text_t from = text;
        if (marks.count == most || !read_mark(&text, script_bytes, &marks.items[marks.count]))
            return helio_slurm_refuse(err, "squeue's list of scripts", marks.count + 1, from);
        marks.count++;
    }
    *ret_marks = marks;
    return HELIO_OK;
}

/* ---- sacct --------------------------------------------------------------------------------------------- */

const char helio_slurm_ends_format[] =
    "JobName%-56,JobID%-40,State%-32,ExitCode%-12,Submit%-20,Start%-20,End%-20,UID%-12";

enum { END_NAME, END_ID, END_STATE, END_EXIT, END_SUBMIT, END_START, END_END, END_USER, END_COLUMNS };
static const uint32_t end_widths[END_COLUMNS] = {56, 40, 32, 12, 20, 20, 20, 12};

/*  Each column is padded to its width and followed by one blank; the line ends after the last. */
static bool cut_end(helio_text_t *rest, helio_text_t columns[END_COLUMNS])
{
    for (uint32_t c = 0; c < END_COLUMNS; c++) {
        if (rest->size <= end_widths[c] || rest->data[end_widths[c]] != ' ')
            return false;
        columns[c] = helio_slurm_trim((helio_text_t){rest->data, end_widths[c]});
        *rest = helio_slurm_skip(*rest, end_widths[c] + 1);
    }
    helio_text_t line;
    return helio_slurm_line(rest, &line) && !helio_slurm_trim(line).size;
}

/*  "CANCELLED by 1000" */
static bool read_end_state(helio_text_t text, helio_slurm_end_t *end)
{
    helio_text_t word;
    uint32_t uid;
    end->cancelled_by = -1;
    if (helio_slurm_cut(&text, ' ', &word) && helio_slurm_starts(text, "by ") &&
        helio_slurm_u32(helio_slurm_skip(text, 3), &uid))
        end->cancelled_by = uid;
    if (!word.size)
        return false;
    end->state = helio_slurm_state_of(word);
    return true;
}

static bool read_end(helio_text_t *rest, helio_slurm_end_t *end)
{
    helio_text_t columns[END_COLUMNS];
    if (!cut_end(rest, columns) || !is_job_id(columns[END_ID]) || !read_end_state(columns[END_STATE], end))
        return false;
    if (!helio_slurm_u32(columns[END_USER], &end->uid))
        end->uid = UINT32_MAX; /* a user that no longer exists */
    end->id = columns[END_ID];
    end->name = columns[END_NAME];
    if (columns[END_EXIT].size && !helio_slurm_exit(columns[END_EXIT], &end->exit_code, &end->exit_signal))
        return false;
    return helio_slurm_time(columns[END_SUBMIT], &end->submit_s) &&
           helio_slurm_time(columns[END_START], &end->start_s) && helio_slurm_time(columns[END_END], &end->end_s);
}

helio_rc helio_slurm_read_ends(helio_text_t text, helio_arena_t *arena, helio_slurm_ends_t *ret_ends,
                               helio_error_t *err)
{
    helio_slurm_ends_t ends = {0};
    uint32_t bytes_min = END_COLUMNS + 1;
    for (uint32_t c = 0; c < END_COLUMNS; c++)
        bytes_min += end_widths[c];
    uint32_t most = text.size / bytes_min;
    if (text.size)
        ends.items = helio_arena_alloc(arena, most + 1, sizeof *ends.items);
    while (text.size) {
        helio_text_t from = text;
        if (ends.count == most || !read_end(&text, &ends.items[ends.count]))
            return helio_slurm_refuse(err, "sacct's list", ends.count + 1, from);
        ends.count++;
    }
    *ret_ends = ends;
    return HELIO_OK;
}
