#!/usr/bin/env python3
"""Policies over nine sites with real traces, intensities and prices, at several loads: the tables of docs/results.md.

usage: policies.py HELIO_SIMULATE [--loads 0.5,0.7,0.9] [--starts 2023 [--days 7]] [--out DIR [--resume]] [--check] [--write FILE]
  --starts YEAR  the same jobs in each month of that year, from its first Monday on: mean, worst and best; one table a load
  --days N       days of jobs in each month (7)
  --out DIR      keeps scenarios and results there (a temporary folder)
  --resume       takes the results of months that DIR has already
  --check        also judges each result with bounds.py and score.py, which share no code with the project: minutes
  --write FILE   puts the tables between the two comments of FILE; otherwise they are printed

HELIO_SCENARIOS names the folder of make.py, bounds.py and score.py; HELIO_DATA that of the traces and series.
"""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

ALL = 'isolated,least-wait,static-rank,cheapest,greenest,balanced,follow-the-sun,clairvoyant-cheapest,clairvoyant-greenest'
PLAIN = 'isolated,least-wait,static-rank,cheapest,greenest'
MOVERS = 'least-wait,cheapest,greenest'  # least-wait never moves: it is what they are compared with
FILES = '--fleet fleet.yaml --jobs jobs.csv.gz --carbon carbon.csv.gz --price price.csv.gz --seed 1 --bound'
MOVES = '--checkpoint 1h'
# Each table of a load: what is special, its options, its policies. A full fleet takes longest, so it has fewer policies.
TABLES = {'0.5': [('', '', ALL), ('With checkpoints, so that jobs may move', MOVES, MOVERS)],
          '0.7': [('', '', ALL), ('With checkpoints, so that jobs may move', MOVES, MOVERS)],
          '0.9': [('', '', PLAIN), ('With checkpoints, so that jobs may move', MOVES, MOVERS)]}
GOALS = {'0.5': (37.5, 52), '0.7': (20, 32), '0.9': (6.2, 10)}  # % of carbon and of cost saved against least-wait
BEGIN, END = '<!-- figures: tests/bench/policies.py --write -->', '<!-- end of figures -->'
BEGIN_STARTS = '<!-- figures: tests/bench/policies.py --starts --write -->'  # the tables of the months end alike


def make(tools, out, load, *options):
    """The folder of the scenario at that load; one that is there is kept."""
    folder = os.path.join(out, '-'.join(['load', load, *(word for word in options if word[:2] != '--')]), 'gpu9')
    if not os.path.exists(os.path.join(folder, 'scenario.json')):
        data = os.environ.get('HELIO_DATA')
        words = ['--data', data, '--facts', data] if data else []
        subprocess.run([os.path.join(tools, 'make.py'), 'gpu9', '--out', os.path.dirname(folder), '--load', load, *options, *words],
                       check=True, stderr=subprocess.DEVNULL)
    return folder


def run(simulate, folder, words):
    """Rows of one run."""
    done = subprocess.run([simulate, *words.split(), '-o', 'json', '-q'], cwd=folder, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def check(tools, folder, rows):
    """Ends the program if a row cannot be true."""
    path = os.path.join(folder, 'result.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(rows, file)
    if not os.path.exists(os.path.join(folder, 'bounds.json')):
        subprocess.run([os.path.join(tools, 'bounds.py'), folder, '--quick'], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([os.path.join(tools, 'score.py'), folder, path, '--check'], check=True, stdout=sys.stderr)


def saved(base, value):
    return 100 * (1 - value / base)


def percent(ratio):
    return '–' if ratio is None else f'{100 * ratio:.0f} %'


def seconds(value):
    return f'{value:.0f} s' if value < 120 else f'{value / 60:.0f} min' if value < 7200 else f'{value / 3600:.1f} h'


def row_text(row, base):
    cells = [f"`{row['policy']}`", seconds(row['wait_mean_s']), seconds(row['wait_p95_s']), f"{row['slowdown_mean']:.3f}",
             f"{row['carbon_kg'] / 1000:.1f}", f"{saved(base['carbon_kg'], row['carbon_kg']):.1f} %", percent(row['carbon_reached_ratio']),
             f"{row['cost_usd'] / 1000:.1f}", f"{saved(base['cost_usd'], row['cost_usd']):.1f} %", percent(row['cost_reached_ratio']),
             f"{row['moves']:,}"]
    return '| ' + ' | '.join(cells) + ' |'


def table(rows):
    base = next(row for row in rows if row['policy'] == 'least-wait')
    lines = ['| policy | mean wait | p95 | slowdown | CO2e t | saved | of possible | kUSD | saved | of possible | moves |',
             '|---|---|---|---|---|---|---|---|---|---|---|']
    return '\n'.join(lines + [row_text(row, base) for row in rows])


def bounds_text(rows):
    base = next(row for row in rows if row['policy'] == 'least-wait')
    parts = []
    for what, key, least, same, unit in (('carbon', 'carbon_kg', 'carbon_lower_bound_kg', 'carbon_same_hours_kg', 't'),
                                         ('cost', 'cost_usd', 'cost_lower_bound_usd', 'cost_same_hours_usd', 'kUSD')):
        parts.append(f'{what}: {base[same] / 1000:.1f} {unit} by places alone ({saved(base[key], base[same]):.1f} % below `least-wait`), '
                     f'{base[least] / 1000:.1f} {unit} in any hours ({saved(base[key], base[least]):.1f} %)')
    return 'Bounds of ' + '; of '.join(parts) + '.'


def goals_text(load, rows):
    """Of the last table of the load: with moves, where it has them."""
    rows = {row['policy']: row for row in rows}
    base, texts = rows['least-wait'], []
    for what, policy, key, goal in zip(('carbon', 'cost'), ('greenest', 'cheapest'), ('carbon_kg', 'cost_usd'), GOALS[load]):
        value = saved(base[key], rows[policy][key])
        verdict = 'kept' if value >= goal else f'missed by {goal - value:.1f} points'
        texts.append(f'{what} {value:.1f} % with `{policy}`, goal {goal} %: {verdict}')
    return 'Goals: ' + '; '.join(texts) + '.'


def table_text(rows, title, words, policies):
    base = next(row for row in rows if row['policy'] == 'least-wait')
    lead = f'{title}: ' if title else ''
    return [f"{lead}{rows[0]['jobs']:,} jobs, utilisation {100 * base['utilization']:.0f} % under `least-wait`. {bounds_text(rows)}", '',
            '```', f"helio simulate {FILES}{' ' + words if words else ''} \\", f'    --policy {policies}', '```', '', table(rows), '']


def section(simulate, tools, out, load, checked):
    folder = make(tools, out, load)
    lines = [f"## {100 * float(load):.0f} % load", '', f'Scenario: `make.py gpu9 --out DIR --load {load}`, in `DIR/gpu9`.', '']
    for title, words, policies in TABLES[load]:
        rows = run(simulate, folder, f'{FILES} {words} --policy {policies}')
        if checked:
            check(tools, folder, rows)
        lines += table_text(rows, title, words, policies)
    return '\n'.join(lines + ([goals_text(load, rows), ''] if load in GOALS else []))


# ---- months ----

def first_monday(year, month):
    first = datetime.date(year, month, 1)
    return first + datetime.timedelta(days=-first.weekday() % 7)


def month_rows(simulate, tools, out, load, start, options):
    """{policy: row} of one month; of an earlier run if it may be."""
    folder = make(tools, out, load, '--start', str(start), '--days', str(options.days))
    path = os.path.join(folder, 'months.json')
    if options.resume and os.path.exists(path):
        with open(path, encoding='utf-8') as file:
            rows = json.load(file)
    else:
        rows = run(simulate, folder, f'{FILES} {MOVES} --policy {MOVERS}')
    if options.check:
        check(tools, folder, rows)
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(rows, file)
    print(f'{load} {start}: ' + ', '.join(f"{row['policy']} {row['wall_s']:.0f} s" for row in rows), file=sys.stderr, flush=True)
    return {row['policy']: row for row in rows}


WHATS = (('carbon', 'greenest', 'carbon_kg', 'carbon_reached_ratio'), ('cost', 'cheapest', 'cost_usd', 'cost_reached_ratio'))


def month_line(start, rows):
    base, cells = rows['least-wait'], [f'{start:%B}', f"{rows['least-wait']['slowdown_mean']:.3f}"]
    for _, policy, key, reached in WHATS:
        row = rows[policy]
        cells += [f'{saved(base[key], row[key]):.1f} %', percent(row[reached]), f"{row['slowdown_mean']:.3f}"]
    return '| ' + ' | '.join(cells) + ' |'


def months_text(load, months):
    """Mean, worst and best of what is saved, and in how many months the goal is kept."""
    parts = []
    for (what, policy, key, _), goal in zip(WHATS, GOALS[load]):
        values = {start: saved(rows['least-wait'][key], rows[policy][key]) for start, rows in months.items()}
        worst, best = min(values, key=values.get), max(values, key=values.get)
        kept = sum(value >= goal for value in values.values())
        parts.append(f'{what} with `{policy}`: mean {sum(values.values()) / len(values):.1f} %, worst {values[worst]:.1f} % ({worst:%B}), '
                     f'best {values[best]:.1f} % ({best:%B}); the goal of {goal} % is kept in {kept} of {len(values)} months')
    return 'Saved of ' + '.\nSaved of '.join(parts) + '.'


def months_section(simulate, tools, out, load, options):
    starts = [first_monday(options.starts, month) for month in range(1, 13)]
    months = {start: month_rows(simulate, tools, out, load, start, options) for start in starts}
    jobs = next(iter(months.values()))['least-wait']['jobs']
    head = ['| month | slowdown `least-wait` | carbon saved `greenest` | of possible | slowdown | cost saved `cheapest` | of possible | slowdown |',
            '|---|---|---|---|---|---|---|---|']
    lines = [f'## {100 * float(load):.0f} % load, each month of {options.starts}', '',
             f'The same {jobs:,} jobs of {options.days} days from the first Monday of each month on '
             f'(`make.py gpu9 --out DIR --load {load} --days {options.days} --start {starts[0]}` and so on):', '',
             '```', f'helio simulate {FILES} {MOVES} --policy {MOVERS}', '```', '', *head,
             *(month_line(start, rows) for start, rows in months.items()), '', months_text(load, months), '']
    return '\n'.join(lines)


# ---- the page ----

def write(path, begin, text):
    with open(path, encoding='utf-8') as file:
        page = file.read()
    found = re.compile(re.escape(begin) + '.*?' + re.escape(END), re.S)
    if not found.search(page):
        sys.exit(f'policies.py: {path} has no lines {begin} and {END}')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(found.sub(lambda _: f'{begin}\n\n{text}\n{END}', page))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('simulate')
    parser.add_argument('--loads', default=','.join(TABLES), help='of ' + ', '.join(TABLES))
    parser.add_argument('--starts', type=int)
    parser.add_argument('--days', type=int, default=7)
    parser.add_argument('--out')
    parser.add_argument('--resume', action='store_true')
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--write')
    options = parser.parse_args()
    tools = os.environ.get('HELIO_SCENARIOS')
    if not tools or not os.path.exists(os.path.join(tools, 'make.py')):
        sys.exit('policies.py: HELIO_SCENARIOS names no folder with make.py, bounds.py and score.py')
    loads, simulate = options.loads.split(','), os.path.realpath(options.simulate)
    for load in loads:
        if load not in TABLES:
            parser.error(f'--loads: {load} is none of {", ".join(TABLES)}')
    if options.resume and not options.out:
        parser.error('--resume needs the folder of the earlier run: --out')
    with tempfile.TemporaryDirectory() as temporary:
        out = os.path.realpath(options.out or temporary)
        if options.starts:
            text = '\n'.join(months_section(simulate, tools, out, load, options) for load in loads)
        else:
            text = '\n'.join(section(simulate, tools, out, load, options.check) for load in loads)
    if options.write:
        write(options.write, BEGIN_STARTS if options.starts else BEGIN, text)
    else:
        print(text)


if __name__ == '__main__':
    main()
