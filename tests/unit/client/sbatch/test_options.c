/*  Directives, variables and words of the command line become keys of a job file. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/client/sbatch/sbatch_testing.h"

#define LAUNCH "slurm:\n  launch: batch\n"
#define PINNED "placement:\n  backends: [slurm]\n"
#define PINNED_LAUNCH LAUNCH "  chdir: /home/ana\n"

static const struct {
    const char *lines, *head;
} good[] = {
    {"", "name: train.sh\n" LAUNCH},
    /* names */
    {"#SBATCH -J x", "name: x\n" LAUNCH},
    {"#SBATCH -Jx", "name: x\n" LAUNCH},
    {"#SBATCH --job-name x", "name: x\n" LAUNCH},
    {"#SBATCH --job-name=x", "name: x\n" LAUNCH},
    {"#SBATCH --job-n=x", "name: x\n" LAUNCH},
    {"#SBATCH --job-name='a b/c  d'", "name: a-b-c-d\n" LAUNCH},
    {"#SBATCH --job-name='  '", "name: sbatch\n" LAUNCH},
    /* the header's rule */
    {"#SBATCH -J x\n\n# a comment\n#SBATCH -t 1", "name: x\ntime: 1m\n" LAUNCH},
    {"#SBATCH -J x\n#SBATCH -J y", "name: y\n" LAUNCH},
    {"  #SBATCH -J x\n##SBATCH -J y\n# SBATCH -J z", "name: train.sh\n" LAUNCH},
    {"true\n#SBATCH -J x --nonsense", "name: train.sh\n" LAUNCH},
    {"#SBATCH-J x", "name: x\n" LAUNCH},
    {"#SBATCH", "name: train.sh\n" LAUNCH},
    {"#SBATCH -J\n#SBATCH x", "name: x\n" LAUNCH},
    /* quotes, escapes, comments */
    {"#SBATCH -J \"x\"y # -J z", "name: xy\n" LAUNCH},
    {"#SBATCH --comment='a # b' -J x", "name: x\n" LAUNCH "  comment: \"a # b\"\n"},
    {"#SBATCH --comment=a#b -J x", "name: train.sh\n" LAUNCH "  comment: a\n"},
    {"#SBATCH --comment=a\\#b", "name: train.sh\n" LAUNCH "  comment: \"a#b\"\n"},
    {"#SBATCH --comment='a\\'b'", "name: train.sh\n" LAUNCH "  comment: \"a'b\"\n"},
    {"#SBATCH --comment=\"say \\\"hi\\\"\"", "name: train.sh\n" LAUNCH "  comment: \"say \\\"hi\\\"\"\n"},
    {"#SBATCH --comment=\"\" -J x", "name: x\n" LAUNCH "  comment: \"\"\n"},
    {"#SBATCH --comment='null'", "name: train.sh\n" LAUNCH "  comment: \"null\"\n"},
    /* nodes, tasks, CPUs */
    {"#SBATCH -c 3", "name: train.sh\ncpus: 3\n" LAUNCH "  cpus-per-task: 3\n"},
    {"#SBATCH -n 4 -c2", "name: train.sh\ncpus: 8\n" LAUNCH "  ntasks: 4\n  cpus-per-task: 2\n"},
    {"#SBATCH -n 4", "name: train.sh\ncpus: 4\n" LAUNCH "  ntasks: 4\n  cpus-per-task: 1\n"},
    {"#SBATCH -N1 --ntasks-per-node=3",
     "name: train.sh\ncpus: 3\n" LAUNCH "  ntasks-per-node: 3\n  cpus-per-task: 1\n"},
    {"#SBATCH -N1 --tasks-per-node=3", "name: train.sh\ncpus: 3\n" LAUNCH "  ntasks-per-node: 3\n  cpus-per-task: 1\n"},
    {"#SBATCH -d singleton", "name: train.sh\n" LAUNCH},
    {"#SBATCH -N2", "name: train.sh\nnodes: 2\n" PINNED PINNED_LAUNCH},
    {"#SBATCH -N2-4", "name: train.sh\nnodes: 2\n" PINNED PINNED_LAUNCH},
    {"#SBATCH -N 1k", "name: train.sh\nnodes: 1024\n" PINNED PINNED_LAUNCH},
    {"#SBATCH -n 5 --ntasks-per-node=2", "name: train.sh\nnodes: 3\ncpus: 2\n" PINNED PINNED_LAUNCH
                                         "  ntasks: 5\n  ntasks-per-node: 2\n  cpus-per-task: 1\n"},
    {"#SBATCH --mincpus=6", "name: train.sh\ncpus: 6\n" LAUNCH},
    /* GPUs */
    {"#SBATCH --gres=gpu", "name: train.sh\ngpu: any:1\n" LAUNCH},
    {"#SBATCH --gres=gpu:8", "name: train.sh\ngpu: any:8\n" LAUNCH},
    {"#SBATCH --gres=gpu:h100:8", "name: train.sh\ngpu: H100:8\n" LAUNCH},
    {"#SBATCH --gres=gpu:h100", "name: train.sh\ngpu: H100:1\n" LAUNCH},
    {"#SBATCH --gres=gres:gpu:2", "name: train.sh\ngpu: any:2\n" LAUNCH},
    {"#SBATCH --gres=none", "name: train.sh\n" LAUNCH},
    {"#SBATCH --gres=gpu:0", "name: train.sh\n" LAUNCH},
    {"#SBATCH --gres=gpu:rtx_2080-ti:2", "name: train.sh\ngpu: RTX_2080-TI:2\n" LAUNCH},
    {"#SBATCH --gres=gpu:nvidia_a100-sxm4-80gb:2", "name: train.sh\ngpu: A100:2\n" LAUNCH},
    {"#SBATCH -G 4", "name: train.sh\ngpu: any:4\n" LAUNCH},
    {"#SBATCH --gpus=a100:4 -N2", "name: train.sh\ngpu: A100:2\nnodes: 2\n" PINNED PINNED_LAUNCH},
    {"#SBATCH --gpus-per-node=a100:4", "name: train.sh\ngpu: A100:4\n" LAUNCH},
    {"#SBATCH --gpus=16 --gpus-per-node=8", "name: train.sh\ngpu: any:8\nnodes: 2\n" PINNED PINNED_LAUNCH},
    {"#SBATCH --gpus-per-task=2 -n 4", "name: train.sh\ngpu: any:8\ncpus: 4\nenv:\n  SLURM_GPUS_PER_TASK: 2\n" LAUNCH
                                       "  ntasks: 4\n  cpus-per-task: 1\n"},
    {"#SBATCH --gres=gpu:2 --gpus-per-node=2", "name: train.sh\ngpu: any:2\n" LAUNCH},
    {"#SBATCH --gpus=2 --cpus-per-gpu=4 --mem-per-gpu=1G",
     "name: train.sh\ngpu: any:2\ncpus: 8\nmemory: 2GiB\n" LAUNCH},
    {"#SBATCH --gpus=2 --ntasks-per-gpu=3", "name: train.sh\ngpu: any:2\ncpus: 6\n" LAUNCH},
    /* memory */
    {"#SBATCH --mem=4000", "name: train.sh\nmemory: 4000MiB\n" LAUNCH},
    {"#SBATCH --mem=64G", "name: train.sh\nmemory: 64GiB\n" LAUNCH},
    {"#SBATCH --mem=1t", "name: train.sh\nmemory: 1024GiB\n" LAUNCH},
    {"#SBATCH --mem=1500K", "name: train.sh\nmemory: 2MiB\n" LAUNCH},
    {"#SBATCH --mem=2GB", "name: train.sh\nmemory: 2GiB\n" LAUNCH},
    {"#SBATCH --mem=0", "name: train.sh\n" LAUNCH},
    {"#SBATCH --mem-per-cpu=2G -c 4", "name: train.sh\ncpus: 4\nmemory: 8GiB\n" LAUNCH "  cpus-per-task: 4\n"},
    {"#SBATCH --mem-per-cpu=2G", "name: train.sh\nmemory: 2GiB\n" LAUNCH},
    /* time */
    {"#SBATCH -t 90", "name: train.sh\ntime: 1h30m\n" LAUNCH},
    {"#SBATCH -t 0:30", "name: train.sh\ntime: 1m\n" LAUNCH},
    {"#SBATCH -t 10:01", "name: train.sh\ntime: 11m\n" LAUNCH},
    {"#SBATCH -t 1:02:03", "name: train.sh\ntime: 1h3m\n" LAUNCH},
    {"#SBATCH -t 2-0", "name: train.sh\ntime: 2d\n" LAUNCH},
    {"#SBATCH -t 1-", "name: train.sh\ntime: 1d\n" LAUNCH},
    {"#SBATCH -t 1-2:03", "name: train.sh\ntime: 1d2h3m\n" LAUNCH},
    {"#SBATCH -t 1-2:03:04", "name: train.sh\ntime: 1d2h4m\n" LAUNCH},
    {"#SBATCH -t UNLIMITED", "name: train.sh\n" LAUNCH},
    {"#SBATCH -t 0", "name: train.sh\n" LAUNCH},
    /* arrays */
    {"#SBATCH -a 0-15:4%2", "name: train.sh\narray: 0-15:4%2\n" LAUNCH},
    {"#SBATCH --array=[1,3,5-7]", "name: train.sh\narray: 1,3,5-7\n" LAUNCH},
    {"#SBATCH --array=1-3,2-6:2%0", "name: train.sh\narray: 1-3,4,6\n" LAUNCH},
    /* dependencies */
    {"#SBATCH -d afterok:01k9x2m4q8r7:01k9x2m4q8r8_3",
     "name: train.sh\ndepends:\n  after_ok: [01k9x2m4q8r7, 01k9x2m4q8r8.3]\n" LAUNCH},
    {"#SBATCH -d after:01k9x2m4q8r7:01k9x2m4q8r8_3",
     "name: train.sh\ndepends:\n  after_start: [01k9x2m4q8r7, 01k9x2m4q8r8.3]\n" LAUNCH},
    {"#SBATCH -a 0-3 -d aftercorr:01k9x2m4q8r7,AfterCorr:01k9x2m4q8r8",
     "name: train.sh\narray: 0-3\ndepends:\n  after_task: [01k9x2m4q8r7, 01k9x2m4q8r8]\n" LAUNCH},
    {"#SBATCH -d afterany:01k9x2m4q8r7,afternotok:01k9x2m4q8r8,AfterAny:01k9x2m4q8r9",
     "name: train.sh\ndepends:\n  after_any: [01k9x2m4q8r7, 01k9x2m4q8r9]\n  after_not_ok: "
     "[01k9x2m4q8r8]\n" LAUNCH},
    {"#SBATCH -d 01k9x2m4q8r7:01k9x2m4q8r8",
     "name: train.sh\ndepends:\n  after_any: [01k9x2m4q8r7, 01k9x2m4q8r8]\n" LAUNCH},
    /* signals */
    {"#SBATCH --signal=B:USR1@120", "name: train.sh\ncheckpoint:\n  signal: USR1\n  grace: 2m\n" LAUNCH},
    {"#SBATCH --signal=SIGTERM", "name: train.sh\ncheckpoint:\n  signal: TERM\n  grace: 1m\n" LAUNCH},
    {"#SBATCH --signal=USR1@7200", "name: train.sh\ncheckpoint:\n  signal: USR1\n  grace: 1h\n" LAUNCH},
    {"#SBATCH --signal=12@5", "name: train.sh\ncheckpoint:\n  signal: USR2\n  grace: 5s\n" LAUNCH},
    /* files */
    {"#SBATCH -o a-%j.out -e b-%j.err", "name: train.sh\n" LAUNCH "  output: a-%j.out\n  error: b-%j.err\n"},
    {"#SBATCH -o logs/a.out", "name: train.sh\n" LAUNCH "  output: a.out\n"},
    {"#SBATCH -o /scratch/a.out -e /dev/null",
     "name: train.sh\n" LAUNCH "  output: /scratch/a.out\n  error: /dev/null\n"},
    {"#SBATCH -o logs/a.out -D /data", "name: train.sh\n" LAUNCH "  chdir: /data\n  output: logs/a.out\n"},
    {"#SBATCH -D run1", "name: train.sh\n" LAUNCH "  chdir: /home/ana/run1\n"},
    {"#SBATCH -o logs/a.out --exclusive",
     "name: train.sh\n" PINNED PINNED_LAUNCH "  output: logs/a.out\n  exclusive: \"\"\n"},
    {"#SBATCH -i /dev/null", "name: train.sh\n" LAUNCH},
    /* what travels, and what pins */
    {"#SBATCH -p gpu -A nlp -q high --mail-type=END,FAIL --nice=5",
     "name: train.sh\n" LAUNCH "  account: nlp\n  mail-type: END,FAIL\n  nice: 5\n  partition: gpu\n  qos: high\n"},
    {"#SBATCH -C a100", "name: train.sh\n" PINNED PINNED_LAUNCH "  constraint: a100\n"},
    {"#SBATCH --exclusive --wckey=x", "name: train.sh\n" PINNED PINNED_LAUNCH "  exclusive: \"\"\n  wckey: x\n"},
    {"srun hostname", "name: train.sh\n" PINNED PINNED_LAUNCH},
    {"x=$(/usr/bin/srun -n1 hostname)", "name: train.sh\n" PINNED PINNED_LAUNCH},
    {"echo a # srun hostname\n# srun\nmy-srun; srun.sh; srun=1; $srun", "name: train.sh\n" LAUNCH},
    {"#SBATCH --requeue -v -k --propagate=NONE --gres-flags=enforce-binding", "name: train.sh\n" LAUNCH},
    {"#SBATCH -o x --open-mode=a", "name: train.sh\n" LAUNCH "  output: x\n  open-mode: append\n"},
    {"#HELIO placement: {backends: [slurm]}\n#SBATCH --tres-per-task=gpu:1 --segment",
     "name: train.sh\nplacement:\n  backends: [slurm]\n" PINNED_LAUNCH "  tres-per-task: gpu:1\n  segment: \"\"\n"},
    {"#SBATCH -M eu,us", "name: train.sh\nplacement:\n  sites: [\"eu\", \"us\"]\n" LAUNCH},
    {"#SBATCH --begin=2026-12-01", "name: train.sh\nplacement:\n  not_before: 2026-12-01T00:00:00Z\n" LAUNCH},
    {"#SBATCH --begin=now", "name: train.sh\n" LAUNCH},
    {"#SBATCH --deadline=2026-12-01T10:00", "name: train.sh\nplacement:\n  deadline: 2026-12-01T10:00:00Z\n" LAUNCH},
    /* #HELIO */
    {"#HELIO kind: eval", "name: train.sh\nkind: eval\n" LAUNCH},
    {"#HELIO\n#HELIO\tkind: eval\n#HELIOS kind: train", "name: train.sh\nkind: eval\n" LAUNCH},
    {"#SBATCH -t 5 -J a\n#HELIO time: 2h\n#HELIO name: b", "name: b\ntime: 2h\n" LAUNCH},
    {"#HELIO placement: {backends: slurm}\n#SBATCH --wckey=x",
     "name: train.sh\nplacement:\n  backends: slurm\n" PINNED_LAUNCH "  wckey: x\n"},
    {"#HELIO placement: {backends: [local], goal: green}\nsrun x",
     "name: train.sh\nplacement:\n  backends: [local]\n  goal: green\n" LAUNCH},
    {"#SBATCH -N2 --gpus=8\n#HELIO nodes: 4", "name: train.sh\ngpu: any:2\nnodes: 4\n" PINNED PINNED_LAUNCH},
    {"#HELIO gpu: {A100:8, H100:4}", "name: train.sh\ngpu: {A100:8: ~, H100:4: ~}\n" LAUNCH},
    {"#HELIO interconnect: nvlink\n#SBATCH --gres=gpu:2", "name: train.sh\ngpu: any:2\ninterconnect: nvlink\n" LAUNCH},
    {"#HELIO slurm: {partition: b, chdir: /x}\n#SBATCH -p a",
     "name: train.sh\n" LAUNCH "  partition: b\n  chdir: /x\n"},
    {"#HELIO env: {A: 1, B: 'x: y', C: true, D: \"1\"}",
     "name: train.sh\nenv:\n  A: 1\n  B: \"x: y\"\n  C: true\n  D: 1\n" LAUNCH},
    {"#HELIO max_placement: 1", NULL},
    {"#HELIO {\"kind\": \"eval\"}", "name: train.sh\nkind: eval\n" LAUNCH},
};

static void options__become_keys(void **state)
{
    uint32_t faults = 0;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        conversion_t c = convert_lines(good[i].lines, *state);
        bool same = good[i].head ? c.rc == HELIO_OK && strcmp(c.head, good[i].head) == 0 : c.rc != HELIO_OK;
        if (same)
            continue;
        faults++;
        print_error("%s\n--- %s%s\n--- expected\n%s\n", good[i].lines, c.rc == HELIO_OK ? "" : c.diagnostic.message,
                    c.head, good[i].head);
    }
    assert_int_equal(faults, 0);
}

static const struct {
    const char *lines;
    uint32_t line, column;
    const char *message, *hint;
} bad[] = {
    {"#SBATCH --nodez=3", 2, 9, "--nodez is not an option of sbatch; did you mean --nodes?", NULL},
    {"#SBATCH -J x -Z", 2, 14, "-Z is not an option", NULL},
    {"#SBATCH --broker=http://evil.example", 2, 9, "--broker is not an option of sbatch", NULL},
    {"#SBATCH --segment=4\nsrun x", 2, 9, "--segment is not an option of sbatch", "backends: [slurm]"},
    {"#HELIO placement: {backends: [slurm]}\n#SBATCH --broker=x", 3, 9, "--broker is not an option", NULL},
    {"#SBATCH --nice=-5", 2, 16, "begin with '-'", NULL},
    {"#HELIO placement: {backends: [slurm]}\n#SBATCH --mem4,=x", 3, 9, "--mem4, is not an option", NULL},
    {"#SBATCH --open-mode=x", 2, 21, "append or truncate", NULL},
    {"#SBATCH --no", 2, 9, "--no matches several", "full name"},
    {"#SBATCH --mem", 2, 9, "--mem needs a value", NULL},
    {"#SBATCH -J", 2, 9, "-J needs a value", NULL},
    {"#SBATCH --contiguous=yes", 2, 9, "--contiguous takes no value", NULL},
    {"#SBATCH -J a b", 2, 14, "'b' is neither", "quote"},
    {"#SBATCH --comment=\"a", 2, 19, "the quote \" is not closed", NULL},
    {"# c\n#SBATCH -J a --mem=lots", 3, 20, "--mem: must be a size", NULL},
    {"#SBATCH -t soon", 2, 12, "--time: 'soon' is not a time limit", "d-h:m"},
    {"#SBATCH -t 1:2:3:4", 2, 12, "is not a time limit", NULL},
    {"#SBATCH -t 1000-0", 2, 12, "at most 366 days", NULL},
    {"#SBATCH --time \"x\"", 2, 16, "--time: 'x' is not a time limit", NULL},
    {"#SBATCH --mem=1G --mem-per-cpu=1G", 2, 32, "--mem-per-cpu and --mem exclude each other", NULL},
    {"#SBATCH --mem-per-gpu=1G", 2, 23, "requires the number of GPUs", NULL},
    {"#SBATCH -n x", 2, 12, "--ntasks: must be a whole number", NULL},
    {"#SBATCH -n 0", 2, 12, "--ntasks: must be a whole number", NULL},
    {"#SBATCH -n 9999", 2, 12, "9999 CPUs on one node", "--nodes"},
    {"#SBATCH -N 4-2", 2, 12, "--nodes: must be", NULL},
    {"#SBATCH -N 20000", 2, 12, "20000 nodes", NULL},
    {"#SBATCH --gres=lustre:1", 2, 16, "only gpu is supported", "remove it"},
    {"#SBATCH --gres=gpu:a100:x", 2, 16, "gpu[:MODEL][:COUNT]", NULL},
    {"#SBATCH --gres=gpu:a100:1,gpu:v100:1", 2, 16, "two GPU models", "#HELIO gpu"},
    {"#SBATCH --gres=gpu:a100:1,gpu:1", 2, 16, "with and without", NULL},
    {"#SBATCH --gres=gpu:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1", 2, 16, "gpu[:MODEL][:COUNT]", NULL},
    {"#SBATCH --gpus=1.5", 2, 16, "one number of GPUs", NULL},
    {"#SBATCH --gres=gpu:65", 2, 16, "65 GPUs on one node", "--nodes"},
    {"#SBATCH --gpus=3 -N2", 2, 16, "cannot be divided", "--gpus-per-node"},
    {"#SBATCH --gpus-per-task=1", 2, 25, "requires the number of tasks", "--ntasks"},
    {"#SBATCH --gres=gpu:2\n#SBATCH --gpus-per-node=4", 3, 25, "requests 4 GPUs per node, --gres 2", NULL},
    {"#SBATCH --array=9-1", 2, 17, "is not a list of tasks", "0-99%10"},
    {"#SBATCH --array=0-99999", 2, 17, "at most 10000 tasks", NULL},
    {"#SBATCH --array=1-3%x", 2, 17, "is not a list of tasks", NULL},
    {"#SBATCH -d after:01k9x2m4q8r7+5", 2, 12, "minutes after a start", "--begin"},
    {"#SBATCH -d afterok:01k9x2m4q8r7?afterany:01k9x2m4q8r8", 2, 12, "'?'", "','"},
    {"#SBATCH -d aftercorr:01k9x2m4q8r7", 2, 12, "aftercorr is for the tasks of an array", "afterok"},
    {"#SBATCH -d afterend:01k9x2m4q8r7", 2, 12, "'afterend' is not supported", "aftercorr"},
    {"#SBATCH -d afterok", 2, 12, "a job id is missing", NULL},
    {"#SBATCH -d afterok:", 2, 12, "a job id is missing", NULL},
    {"#SBATCH -d afterok:1234", 2, 12, "'1234' is not a job id", "helio sbatch"},
    {"#SBATCH --signal=KILL@5", 2, 18, "is not a signal", "USR1"},
    {"#SBATCH --signal=USR1@x", 2, 18, "is not a signal", NULL},
    {"#SBATCH --begin=whenever", 2, 17, "--begin: 'whenever' is not a time", "now+1hour"},
    {"#SBATCH -i data.txt", 2, 12, "standard input of a job is /dev/null", "exec <FILE"},
    {"#SBATCH -H", 2, 9, "--hold is not supported", "--begin"},
    {"#SBATCH --uid=0", 2, 15, "--uid is not supported", "user table"},
    {"#SBATCH --export-file=x", 2, 23, "--export-file is not supported", "--export"},
    {"#SBATCH --wckey=x", 2, 17, "only at Slurm sites", "backends: [slurm]"},
    {"#SBATCH --export=1A", 2, 18, "the name of a variable", NULL},
    {"#SBATCH -M a/b", 2, 12, "the name of a site", NULL},
    {"#SBATCH --comment='a\tb'", 2, 9, "control characters", NULL},
    {"#SBATCH -N1\n#SBATCH hetjob", 3, 1, "heterogeneous", "separate jobs"},
    {"#HELIO placement: {gaol: green}", 2, 20, "unknown key 'gaol'", "goal"},
    {"# x\n\n#HELIO placement: {goal: green", 4, 1, "not valid YAML", NULL},
    {"#HELIO time: 90", 2, 14, "time:", NULL},
    {"#HELIO kind: eval\n#HELIO kind: train", 3, 8, "kind", NULL},
    {"#HELIO run: x", 2, 13, "it is the script itself", NULL},
    {"#HELIO kind: &a eval", 2, 14, "anchors", NULL},
    {"#HELIO interconnect: nvlink", 2, 22, "nvlink needs GPUs", NULL},
    {"#HELIO placement: {backends: [slrum]}", 2, 31, "one of local, slurm", NULL},
};

static void options__that_are_wrong_are_shown_in_the_script(void **state)
{
    uint32_t faults = 0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        conversion_t c = convert_lines(bad[i].lines, *state);
        const helio_diagnostic_t *d = &c.diagnostic;
        if (c.rc != HELIO_OK && d->line == bad[i].line && d->column == bad[i].column &&
            strstr(d->message, bad[i].message) && (!bad[i].hint || strstr(d->hint, bad[i].hint)) &&
            strcmp(d->source_name, "train.sh") == 0 && d->source_line[0] == '#')
            continue;
        faults++;
        print_error("%s\n--- rc %d, %u:%u %s (%s)\n    %s\n", bad[i].lines, c.rc, d->line, d->column, d->message,
                    d->hint, d->source_line);
    }
    assert_int_equal(faults, 0);
}

static void options__of_the_command_line_override_variables_and_those_the_script(void **state)
{
    static const char script[] = "#!/bin/sh\n#SBATCH -J script -p script -A script --mem=1G --exclusive\n";
    const char *const environment[] = {"SBATCH_JOB_NAME=variable", "SBATCH_PARTITION=variable", "SBATCH_QOS=",
                                       "SBATCH_MEM_PER_CPU=2G",    "SBATCH_REQUEUE=no",         NULL};
    conversion_t c = convert_with(script, WORDS("-J", "line"), environment, *state);
    assert_int_equal(c.rc, HELIO_OK);
    assert_string_equal(c.head, "name: line\nmemory: 2GiB\n" PINNED PINNED_LAUNCH
                                "  account: script\n  exclusive: \"\"\n  partition: variable\n");
}

static void options__that_are_wrong_outside_the_script_are_named(void **state)
{
    const char *const environment[] = {"SBATCH_GRES=lustre:1", NULL};
    conversion_t c = convert_with("#!/bin/sh\n", NULL, environment, *state);
    assert_int_equal(c.rc, HELIO_INVALID);
    assert_int_equal(c.diagnostic.line, 0);
    assert_string_equal(c.diagnostic.source_name, "SBATCH_GRES");
    c = convert_with("#!/bin/sh\n", WORDS("--gres=lustre:1"), NULL, *state);
    assert_string_equal(c.diagnostic.source_name, "command line");
    c = convert_with("#!/bin/sh\n", WORDS("--nodez=1"), NULL, *state);
    assert_non_null(strstr(c.diagnostic.message, "--nodes"));
    c = convert_with("#!/bin/sh\n", WORDS("--mem=1", "--mem-per-gpu=1"), NULL, *state);
    assert_int_equal(c.rc, HELIO_INVALID);
}

static void line__ends_at_the_script(void **state)
{
    helio_sbatch_words_t words;
    const char *const line[] = {"-vvJ", "a", "--gres", "gpu:1", "-k", "--nice", "-N1", "train.sh", "--mem", "-x"};
    assert_int_equal(helio_sbatch_words(line, 10, *state, &words, NULL), HELIO_OK);
    assert_int_equal(words.taken, 7);
    assert_string_equal(words.values[HELIO_SBATCH_JOB_NAME], "a");
    assert_string_equal(words.values[HELIO_SBATCH_GRES], "gpu:1");
    assert_string_equal(words.values[HELIO_SBATCH_NICE], "");
    assert_string_equal(words.values[HELIO_SBATCH_NODES], "1");
    assert_null(words.values[HELIO_SBATCH_MEM]);
    const char *const ended[] = {"-v", "--", "-v"};
    assert_int_equal(helio_sbatch_words(ended, 3, *state, &words, NULL), HELIO_OK);
    assert_int_equal(words.taken, 2);
    assert_int_equal(helio_sbatch_words(NULL, 0, *state, &words, NULL), HELIO_OK);
    assert_int_equal(words.taken, 0);
    const char *const client[] = {"--broker=x", "--token-file", "y", "--parsable"};
    assert_int_equal(helio_sbatch_words(client, 4, *state, &words, NULL), HELIO_OK);
    assert_string_equal(words.values[HELIO_SBATCH_BROKER], "x");
    assert_string_equal(words.values[HELIO_SBATCH_TOKEN_FILE], "y");
    assert_non_null(words.values[HELIO_SBATCH_PARSABLE]);
}

static void export__sends_only_named_variables_and_no_secret(void **state)
{
    const char *const environment[] = {
        "LR=1e-4", "TEXT=two\nlines: \"x\"", "HF_TOKEN=s3cret", "PATH=/bin", "EMPTY=", "HELIO_X=1", NULL};
    conversion_t c = convert_with(
        "#!/bin/sh\n", WORDS("--export=ALL,LR,TEXT,HF_TOKEN,OTHER='a,b',EMPTY,MISSING,HELIO_X,SLURM_X,API_KEY=given"),
        environment, *state);
    assert_int_equal(c.rc, HELIO_OK);
    assert_string_equal(c.head, "name: train.sh\nenv:\n  LR: 1e-4\n  TEXT: \"two\\nlines: \\\"x\\\"\"\n  OTHER: a,b\n"
                                "  EMPTY: \"\"\n  API_KEY: given\n" LAUNCH);
    assert_null(strstr(c.job.yaml.data, "s3cret"));
    assert_true(has_note(&c, "HF_TOKEN looks like a secret"));
    assert_true(has_note(&c, "MISSING is not set"));
    assert_true(has_note(&c, "--export=ALL"));
    assert_true(has_note(&c, "HELIO_X is left out"));
    const char *const none[] = {"--export=NONE", NULL}, *const nothing[] = {NULL};
    c = convert_with("#!/bin/sh\n", none, environment, *state);
    assert_string_equal(c.head, "name: train.sh\n" LAUNCH);
    assert_int_equal(c.job.note_count, 1);
    assert_true(has_note(&c, "the job starts in a new folder"));
    c = convert_with("#!/bin/sh\n", nothing, environment, *state);
    assert_string_equal(c.head, "name: train.sh\n" LAUNCH);
    assert_int_equal(c.job.note_count, 1);
    assert_true(has_note(&c, "the job starts in a new folder"));
}

static void notes__name_the_differences(void **state)
{
    static const struct {
        const char *lines, *note;
    } rows[] = {
        {"#SBATCH -N2", "pinned to Slurm sites (placement.backends: [slurm]): the job has more than one node"},
        {"srun x", "pinned to Slurm sites (placement.backends: [slurm]): the script calls srun"},
        {"#SBATCH -C x", "pinned to Slurm sites (placement.backends: [slurm]): --constraint"},
        {"#HELIO placement: {backends: [local, slurm]}\nsrun x", "allows other sites than Slurm's, but"},
        {"#SBATCH -p x -q y", "--partition, --qos: applied by Slurm sites only"},
        {"#SBATCH --gres-flags=x -k", "--gres-flags, --no-kill: no effect"},
        {"#SBATCH --no-requeue", "--no-requeue has no effect"},
        {"#SBATCH -N 1-2", "fixed number of nodes, and takes 1"},
        {"#SBATCH -n 2", "all tasks run on one node"},
        {"#SBATCH -o a/b", "written to 'b'"},
        {"#SBATCH --mem=0", "all memory of a node"},
        {"#SBATCH -t 0", "Heliostat has no unlimited jobs"},
        {"#SBATCH -J 'a b'", "named 'a-b'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        conversion_t c = convert_lines(rows[i].lines, *state);
        if (c.rc != HELIO_OK || !has_note(&c, rows[i].note))
            fail_msg("%s: %s", rows[i].lines, c.rc == HELIO_OK ? "no such note" : c.diagnostic.message);
    }
    conversion_t quiet = convert_lines("#SBATCH -J a -t 5 --gres=gpu:1 -c 4 --mem=1G --requeue -a 1-2", *state);
    assert_int_equal(quiet.job.note_count, 1);
    assert_true(has_note(&quiet, "the job starts in a new folder"));
    quiet = convert_lines("#SBATCH -D /data", *state);
    assert_int_equal(quiet.job.note_count, 0);
}

static void tool__options_are_passed_to_the_command(void **state)
{
    conversion_t c = convert_with("#!/bin/sh\n#SBATCH --parsable\n", WORDS("-W", "--test-only", "-Q"), NULL, *state);
    assert_true(c.job.parsable && c.job.wait && c.job.test_only && c.job.quiet);
    c = convert_with("#!/bin/sh\n", NULL, NULL, *state);
    assert_false(c.job.parsable || c.job.wait || c.job.test_only || c.job.quiet || c.job.pinned);
}

static void table__has_unique_names_and_letters(void **state)
{
    (void)state;
    for (uint32_t a = 0; a < HELIO_SBATCH_COUNT; a++)
        for (uint32_t b = 0; b < a; b++) {
            const helio_sbatch_option_t *x = helio_sbatch_option(a), *y = helio_sbatch_option(b);
            assert_string_not_equal(x->name, y->name);
            assert_true(!x->letter || x->letter != y->letter);
            assert_true(!x->variable || !y->variable || strcmp(x->variable, y->variable) != 0);
        }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(options__become_keys),
        CASE(options__that_are_wrong_are_shown_in_the_script),
        CASE(options__of_the_command_line_override_variables_and_those_the_script),
        CASE(options__that_are_wrong_outside_the_script_are_named),
        CASE(line__ends_at_the_script),
        CASE(export__sends_only_named_variables_and_no_secret),
        CASE(notes__name_the_differences),
        CASE(tool__options_are_passed_to_the_command),
        CASE(table__has_unique_names_and_letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
