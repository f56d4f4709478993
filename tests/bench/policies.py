#!/usr/bin/env python3
"""Policies over nine sites with real traces, intensities and prices, at several loads: the tables of docs/results.md.

usage: policies.py HELIO_SIMULATE [--loads 0.5,0.7,0.9] [--out DIR] [--check] [--write FILE]
  --out DIR     keeps scenarios and results there (a temporary folder)
  --check       also judges each result with bounds.py and score.py, which share no code with the project: minutes
  --write FILE  puts the tables between the two comments of FILE; otherwise they are printed

HELIO_SCENARIOS names the folder of make.py, bounds.py and score.py; HELIO_DATA that of the traces and series.
"""
import argparse
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


def make(tools, out, load):
    """The folder of the scenario at that load; one that is there is kept."""
    folder = os.path.join(out, 'load-' + load, 'gpu9')
    if not os.path.exists(os.path.join(folder, 'scenario.json')):
        data = os.environ.get('HELIO_DATA')
        words = ['--data', data, '--facts', data] if data else []
        subprocess.run([os.path.join(tools, 'make.py'), 'gpu9', '--out', os.path.dirname(folder), '--load', load, *words],
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
        subprocess.run([os.path.join(tools, 'bounds.py'), folder, '--quick'], check=True, stdout=subprocess.DEVNULL)
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


def write(path, text):
    with open(path, encoding='utf-8') as file:
        page = file.read()
    found = re.compile(re.escape(BEGIN) + '.*?' + re.escape(END), re.S)
    if not found.search(page):
        sys.exit(f'policies.py: {path} has no lines {BEGIN} and {END}')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(found.sub(lambda _: f'{BEGIN}\n\n{text}\n{END}', page))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('simulate')
    parser.add_argument('--loads', default=','.join(TABLES), help='of ' + ', '.join(TABLES))
    parser.add_argument('--out')
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
    with tempfile.TemporaryDirectory() as temporary:
        out = os.path.realpath(options.out or temporary)
        text = '\n'.join(section(simulate, tools, out, load, options.check) for load in loads)
    if options.write:
        write(options.write, text)
    else:
        print(text)


if __name__ == '__main__':
    main()
