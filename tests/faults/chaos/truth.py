"""What truly ran, by the jobs' own words. Every rank of every run appends lines to a file of its job, outside of the product:
its start, a beat every half second, the signals that it got, its end, each with the wall clock and the clock since boot. All
machines of a campaign are namespaces of one kernel, so the clock since boot is one clock for all of them."""
import collections, glob, os

BEAT_S = 0.5

# site: as the job was told; place: the state folder that its agent keeps, which tells a site from its twin. began, last: the
# first and the last line, by the clock since boot; a run lives at least that long, and up to a beat longer.
Run = collections.namedtuple("Run", "key epoch rank pid site place gpus began last words")


def script(seconds, code=0, linger_s=0):
    """A job that runs that long, ends with that code, and goes on for a while after it was told to stop."""
    return f"""
key=$HELIO_JOB_ID${{HELIO_ARRAY_INDEX:+.$HELIO_ARRAY_INDEX}}
place=${{HELIO_OUTPUT_DIR%/state/*}}
note() {{
  read -r up _ </proc/uptime
  echo "$1 $HELIO_EPOCH $HELIO_NODE_RANK $$ $HELIO_SITE ${{place##*/}} $HELIO_GPUS $EPOCHREALTIME $up" >>"$TRUTH/$key"
}}
left={int(seconds / BEAT_S)} code={code}
trap 'if [ "$code" != 143 ]; then code=143 left={int(linger_s / BEAT_S)}; note told; fi' TERM
note start
while [ "$left" -gt 0 ]; do
  sleep {BEAT_S}
  left=$((left - 1))
  note beat
done
note end
exit "$code"
"""


def read(folder):
    """All runs. A last line that is not complete, because its writer was killed or the disk was full, is left out."""
    found = collections.defaultdict(list)
    for path in glob.glob(os.path.join(folder, "*")):
        with open(path, errors="replace") as file:
            for line in file:
                words = line.split()
                if line.endswith("\n") and len(words) == 9:
                    word, epoch, rank, pid, site, place, gpus, _, up = words
                    run = (os.path.basename(path), int(epoch), int(rank), int(pid), site, place, int(gpus))
                    found[run].append((word, float(up)))
    return [Run(*run, lines[0][1], lines[-1][1], tuple(word for word, _ in lines)) for run, lines in found.items()]


def of_jobs(runs):
    """key -> its runs, in the order of their starts."""
    jobs = collections.defaultdict(list)
    for run in sorted(runs, key=lambda run: run.began):
        jobs[run.key].append(run)
    return jobs
