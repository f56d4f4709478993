#!/usr/bin/env python3
"""clients/typescript: generated from docs/openapi.yaml, checked and compiled by tsc, and used by typescript.test.mjs on a real federation.
  tests/clients/typescript.py --build BUILD_DIR
Without npm's registry, or with a node that is too old, it is skipped."""
import argparse, http.server, os, shutil, subprocess, sys, tempfile, threading

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLIENT = os.path.join(TOP, "clients", "typescript")
sys.path[:0] = [os.path.join(TOP, "tests", "clients"), os.path.join(TOP, "tests", "faults")]
from federation import Federation, LocalSite, check, run  # noqa: E402
from lossy import Lossy  # noqa: E402


# What the types refuse, else tsc would complain of the comment: so they are more than `any`.
WRONG_USES = """import { Client } from "./client.js";
const client = new Client({ broker: "http://a" });
const job = await client.showJob("a");
""" + "".join(f"// @ts-expect-error\n{line}\n" for line in (
    "await client.submitJobs(1);", "job.stat;", 'await client.setQueue("q", { tier: "none" });', 'await client.revokeSiteKey("a", {});',
    'await client.listJobs({ state: ["none"] });', "export const code: number = job.exit_code;", "await client.curtailSite(\"a\", { to_percent: 5 });"))


class Controls(http.server.BaseHTTPRequestHandler):
    """POST /kill/NAME and /start/NAME of daemons, /lose/N answers of the lossy relay."""
    federation = lossy = None

    def do_POST(self):
        _, verb, name = self.path.split("/")
        if verb == "lose":
            self.lossy.lose = int(name)
        else:
            {"kill": self.federation.kill, "start": self.federation.start}[verb](name)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def skip(why):
    print(f"SKIPPED: the TypeScript client: {why}")
    raise SystemExit(77)


def compiled(folder):
    """The folder of the compiled client."""
    if not shutil.which("node") or not shutil.which("npm"):
        skip("node or npm is not installed (deploy/packages/node.txt)")
    if int(run("node", "-p", "process.versions.node.split('.')[0]")) < 20:
        skip("it needs node 20 or later")
    if subprocess.run(["/usr/bin/python3", "-c", "import yaml"], stderr=subprocess.DEVNULL).returncode:
        skip("python3-yaml is not installed (deploy/packages/clients.txt)")
    shutil.copytree(CLIENT, f"{folder}/clients/typescript", ignore=shutil.ignore_patterns("node_modules", "dist", "api.ts"))
    os.mkdir(f"{folder}/docs")
    shutil.copy(os.path.join(TOP, "docs", "openapi.yaml"), f"{folder}/docs")
    here = f"{folder}/clients/typescript"
    check('"resolved"' not in open(f"{here}/package-lock.json").read(), "clients/typescript/package-lock.json names a registry: .npmrc prevents that")
    ping = subprocess.run(["npm", "ping", "--fetch-retries", "1", "--fetch-timeout", "10000"], capture_output=True, text=True, cwd=here)
    if ping.returncode:
        skip("npm's registry is not reachable: " + (ping.stderr.splitlines() or [""])[-1])
    run("npm", "ci", "--no-progress", "--ignore-scripts", cwd=here)
    run("/usr/bin/python3", "generate.py", cwd=here)
    with open(f"{here}/src/wrong.ts", "w") as file:
        file.write(WRONG_USES)
    run("node", "node_modules/typescript/bin/tsc", cwd=here)
    return here


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    options = args.parse_args()
    folder = tempfile.mkdtemp(prefix="helio-typescript-")
    here = compiled(folder)
    print("it compiles, and its types refuse wrong uses")
    federation = Federation(options.build, folder, [LocalSite("north", 2.0), LocalSite("south", 3.0)])
    federation.judged = True
    try:
        federation.up()
        Controls.federation, Controls.lossy = federation, Lossy(federation.env["HELIO_BROKER"])
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Controls)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        env = dict(federation.env, HELIO_MODULE=f"{here}/dist/client.js", HELIO_URL=federation.env["HELIO_BROKER"], HELIO_LOSSY=Controls.lossy.url,
                   HELIO_CONTROLS=f"http://127.0.0.1:{server.server_port}")
        done = subprocess.run(["node", "--test", "--test-reporter=tap", os.path.join(TOP, "tests", "clients", "typescript.test.mjs")], env=env, text=True, stdout=subprocess.PIPE, timeout=240)
        cases = [line for line in done.stdout.splitlines() if line.lstrip().startswith(("ok ", "not ok "))]
        check(done.returncode == 0, f"{federation.last_words()}\n{done.stdout}")
        federation.judge()
        print(f"{len(cases)} cases on node {run('node', '--version').strip()}")
    finally:
        federation.down()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
