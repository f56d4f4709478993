#!/usr/bin/env python3
"""channels.py --build TREE: a user works in running jobs through a real broker and real agents: commands with their exit codes,
streams of bytes in both directions, terminals, shells over a broker that is killed, ports; and everything that is refused. A
follower serves the same."""
import argparse, base64, fcntl, hashlib, json, os, pty, re, select, shutil, signal, socket, struct, subprocess, sys, tempfile
import termios, threading, time, urllib.error, urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
from federation import Federation, LocalSite, check, free_port

MEGABYTES = 20
SECRET = "swordfish-4711"  # an argument that nothing may keep


class Open(LocalSite):
    nodes = 4


class Closed(LocalSite):
    def agent_keys(self, federation):
        return super().agent_keys(federation) + "  channels: {allow: [ports]}\n"


class Two(Federation):
    brokers = ("broker", "second")

    def dress(self, name, command):
        return [*command, "--record", self.path("recording")] if name == "broker" else command


class Test:
    def __init__(self, fed):
        self.f = fed

    def helio(self, *words, stdin=b"", env=None, seconds=60):
        return subprocess.run([self.f.tool("helio"), *words], input=stdin, env=env or self.f.env, capture_output=True,
                              timeout=seconds)

    def exec(self, *words, job=None, **rest):
        return self.helio("exec", job or self.job, "--", *words, **rest)

    def expect(self, done, code, out=None, err=None, what=""):
        good = done.returncode == code and (out is None or done.stdout == out) and (err is None or err in done.stderr.decode())
        check(good, f"{what or done.args}: exit {done.returncode}\n{done.stdout[:500]!r}\n{done.stderr.decode()[:2000]}")

    def run_job(self, site, script):
        job = self.f.submit_one(name="held", gpu="H100:1", time="1h", run=script, placement={"sites": [site]})
        self.f.wait_for(lambda: self.f.look_up(job) == "running", 30, "the job does not run")
        return job

    # ---- commands

    def commands(self):
        self.expect(self.exec("sh", "-c", "echo out; echo err >&2; exit 7"), 7, b"out\n", "err\n")
        self.expect(self.exec("sh", "-c", "kill -9 $$"), 137)
        self.expect(self.exec("true"), 0, b"")
        self.expect(self.exec("sh", "-c", 'echo "$HELIO_JOB_ID"'), 0, (self.job + "\n").encode())
        missing = self.exec("/no/such/program")
        check(missing.returncode in (125, 126, 127) and missing.stderr, f"a program that is missing: {missing}")
        self.expect(self.exec("cat", stdin=b"line\n"), 0, b"line\n", what="the end of standard input")
        self.expect(self.exec("sh", "-c", "exec cat >/dev/null; exit 0", stdin=b"x" * 1000), 0)
        self.expect(self.exec("echo", SECRET), 0, SECRET.encode() + b"\n")

    def bytes(self):
        data = os.urandom(MEGABYTES << 20)
        wanted = hashlib.sha256(data).hexdigest()
        began = time.monotonic()
        sent = self.exec("sha256sum", stdin=data)
        self.expect(sent, 0)
        check(sent.stdout.split()[0].decode() == wanted, "bytes were lost on their way into the job")
        middle = time.monotonic()
        path = self.f.path("data")
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, 0o644)
        got = self.exec("cat", path)
        self.expect(got, 0)
        check(hashlib.sha256(got.stdout).hexdigest() == wanted, "bytes were lost on their way out of the job")
        print(f"{MEGABYTES} MiB in {middle - began:.1f} s into the job, in {time.monotonic() - middle:.1f} s out of it")

    # ---- terminals

    def on_terminal(self, words, rows=33, columns=101):
        pid, fd = pty.fork()
        if pid == 0:
            os.environ.update(self.f.env, TERM="xterm")
            os.execv(self.f.tool("helio"), ["helio", *words])
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        return pid, fd

    def read_until(self, fd, text, seconds=20):
        said, deadline = b"", time.monotonic() + seconds
        while not re.search(text, said):
            ready = select.select([fd], [], [], max(0, deadline - time.monotonic()))[0]
            check(ready, f"the terminal does not say {text!r} but {said[-600:]!r}")
            try:
                piece = os.read(fd, 4096)
            except OSError:
                piece = b""
            check(piece, f"the terminal ended with {said[-600:]!r}")
            said += piece
        return said

    def leave(self, pid, fd, code):
        status = os.waitpid(pid, 0)[1]
        os.close(fd)
        check(os.waitstatus_to_exitcode(status) == code, f"the shell ended with {os.waitstatus_to_exitcode(status)}, not {code}")

    def shells(self):
        pid, fd = self.on_terminal(["shell", self.job])
        time.sleep(0.3)  # its size is set by now
        os.write(fd, b"stty size; echo up-$((40 + 2))\n")
        said = self.read_until(fd, b"up-42")
        check(re.search(rb"33 101", said), f"the size of the terminal: {said!r}")
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
        os.kill(pid, signal.SIGWINCH)
        os.write(fd, b"sleep 0.5; stty size\n")
        self.read_until(fd, b"20 60")
        os.write(fd, b"exit 5\n")
        self.leave(pid, fd, 5)
        pid, fd = self.on_terminal(["shell", self.job])
        os.write(fd, b"echo here-$((40 + 2))\n")
        self.read_until(fd, b"here-42")
        before = termios.tcgetattr(fd)
        check(not before[3] & termios.ECHO, "the terminal is not raw")
        os.write(fd, b"\r~.")
        self.read_until(fd, b"left ")
        check(termios.tcgetattr(fd)[3] & termios.ECHO, "the terminal stays raw")
        self.leave(pid, fd, 0)

    # ---- ports

    def ports(self):
        port = free_port()
        server = f"cd {self.f.records} && exec /usr/bin/python3 -m http.server {port} --bind 127.0.0.1"
        with open(os.path.join(self.f.records, "hello.txt"), "w") as file:
            file.write("hello from the job\n")
        job = self.run_job("north", server)
        outside = socket.create_server(("127.0.0.1", 0))  # of this machine, and of no job
        forward = subprocess.Popen([self.f.tool("helio"), "port-forward", job, f":{port}", f":{outside.getsockname()[1]}"],
                                   env=self.f.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines = [forward.stdout.readline() for _ in range(2)]
        check(re.match(rf"Forwarding 127.0.0.1:\d+ -> {job} port {port} at north\n", lines[0]), f"port-forward says {lines}")
        here, foreign = (int(re.search(r":(\d+) ->", line)[1]) for line in lines)

        def get(path="hello.txt"):
            with urllib.request.urlopen(f"http://127.0.0.1:{here}/{path}", timeout=20) as answer:
                return answer.read()

        self.f.wait_for(lambda: self.exec("/usr/bin/python3", "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}))",
                                          job=job).returncode == 0, 15, "the server in the job does not listen")
        check(get() == b"hello from the job\n", "the server in the job says something else")
        threads, got = [], []
        for _ in range(8):
            threads.append(threading.Thread(target=lambda: got.append(get())))
            threads[-1].start()
        for thread in threads:
            thread.join()
        check(got == [b"hello from the job\n"] * 8, f"eight connections at once got {got}")
        with socket.create_connection(("127.0.0.1", foreign), timeout=20) as client:
            check(client.recv(1) == b"", "a port that no process of the job has was reached")
        outside.setblocking(False)
        try:
            outside.accept()
            check(False, "a connection left the job's own ports")
        except BlockingIOError:
            pass
        forward.send_signal(signal.SIGINT)
        check(forward.wait(20) == 130, "Ctrl-C does not end port-forward")
        self.f.helio("cancel", job)

    # ---- refusals

    def ask(self, method, path, token, body=None):
        asked = urllib.request.Request(self.f.urls["broker"] + path, method=method, data=body and json.dumps(body).encode(),
                                       headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def refusals(self):
        self.f.helio("tenants", "set", "other")
        tokens = {name: self.f.helio("token", "add", "--tenant", tenant, "--user", name).stdout.split()[-1]
                  for name, tenant in (("bob", "demo"), ("eve", "other"))}
        eve = dict(self.f.env, HELIO_TOKEN=tokens["eve"])
        self.expect(self.exec("true", env=eve), 3, b"", what="a user of another tenant")
        bob = dict(self.f.env, HELIO_TOKEN=tokens["bob"])
        self.expect(self.exec("true", env=bob), 4, b"", "only tester and operators can enter it", what="another user of the tenant")
        status, opened = self.ask("POST", f"/v1/jobs/{self.job}/channels", self.f.env["HELIO_TOKEN"], {"command": ["cat"]})
        check(status == 201, f"opening by HTTP: {status} {opened}")
        channel = "/v1/channels/" + json.loads(opened)["channel"]
        for name in ("bob", "eve"):
            check(self.ask("GET", channel + "/output", tokens[name])[0] == 404, f"{name} reads a channel that is not theirs")
        check(self.ask("DELETE", channel, self.f.env["HELIO_TOKEN"])[0] == 200, "a channel is not closed")
        waiting = self.f.submit_one(name="never", gpu="H100:8", nodes=4, run="true",
                                    placement={"not_before": "2099-01-01T00:00:00Z"})
        self.expect(self.exec("true", job=waiting), 6, b"", "only a running job can be entered", what="a waiting job")
        self.f.helio("cancel", waiting)
        self.f.wait_for(lambda: self.f.look_up(waiting) == "cancelled", 20, "it is not cancelled")
        self.expect(self.exec("true", job=waiting), 6, b"", "it has already been cancelled", what="a job that is over")
        self.expect(self.exec("true", job=self.closed), 6, b"", "site south allows no commands in jobs", what="a site that forbids it")

    def revocation(self):
        """Whoever has lost the token has lost the command: it does not wait until its client has vanished."""
        token = self.f.helio("token", "add", "--tenant", "demo", "--user", "tester").stdout.split()[-1]
        env = dict(self.f.env, HELIO_TOKEN=token)
        with subprocess.Popen([self.f.tool("helio"), "exec", self.job, "--", "sh", "-c", "echo $$; exec sleep 600"], env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
            process = int(command.stdout.readline())
            check(os.path.exists(f"/proc/{process}"), "the command does not run")
            self.f.helio("token", "revoke", token.split("_")[1])
            self.f.wait_for(lambda: not os.path.exists(f"/proc/{process}"), 5, "the command outlives the token that opened it")
            check(command.wait(30) != 0, "the client does not say that it has lost the command")

    def trace(self):
        """The audit has the first words; no log, and no recording, has the others."""
        rows = self.f.sql("select action, detail from helio.audit where action like 'channel-%' order by 1, 2")
        text = json.dumps(rows)
        check("command echo, epoch 1 at north" in text and "exit code 7" in text and "login shell" in text, f"the audit: {text}")
        check("the token that opened it is not in force any more" in text, f"the audit does not say what a revoked token ended: {text}")
        check(SECRET not in text, "the audit has an argument")
        kept = [name for name in ("broker", "second", "north", "south") if SECRET in self.f.log(name)]
        kept += ["the recording"] if SECRET.encode() in open(self.f.path("recording"), "rb").read() else []
        check(not kept, f"an argument is kept in {kept}")
        check(self.f.metric("helio_channels_total") >= 10, "opened channels are not counted")

    # ---- brokers

    def many(self):
        """As many channels as a tenant may have, all of which wait for output: others are served, and one more is refused."""
        env = dict(self.f.env, HELIO_BROKER=self.f.urls["second"])
        open_before = self.f.metric("helio_channels")
        channels = [subprocess.Popen([self.f.tool("helio"), "exec", self.job, "--", "sh", "-c", "read line; echo got $line"],
                                     env=env if i % 2 else self.f.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                    for i in range(32)]
        self.f.wait_for(lambda: self.f.metric("helio_channels") == open_before + 32, 30, "32 channels are not open")
        self.expect(self.exec("true"), 1, b"", "tenant demo has 32 open channels", what="one channel too many")
        for broker in self.f.urls:
            began = time.monotonic()
            self.f.helio("--broker", self.f.urls[broker], "ls")
            check(time.monotonic() - began < 5, f"{broker} took {time.monotonic() - began:.1f} s for a list beside 32 channels")
        for i, channel in enumerate(channels):
            said, _ = channel.communicate(f"line {i}\n".encode(), timeout=30)
            check(said == f"got line {i}\n".encode() and channel.returncode == 0, f"channel {i} of 32 got {said!r}")
        self.f.wait_for(lambda: self.f.metric("helio_channels") == open_before, 30, "channels that ended are still counted")

    def follower(self):
        env = dict(self.f.env, HELIO_BROKER=self.f.urls["second"])
        self.f.wait_for(lambda: self.f.is_well("second", "any"), 30, "the second broker does not follow")
        self.expect(self.exec("sh", "-c", "cat; exit 4", stdin=b"through a follower\n", env=env), 4, b"through a follower\n")
        data = os.urandom(2 << 20)
        self.expect(self.exec("cat", stdin=data, env=env), 0, data, what="2 MiB through a follower and back")

    def takeover(self):
        """A broker that is killed takes its channels with it: the shell ends, its process too, and the job goes on."""
        self.f.env["HELIO_BROKER"] = ",".join(self.f.urls.values())
        pid, fd = self.on_terminal(["shell", self.job])
        os.write(fd, b"echo pid-$$-pid\n")
        shell = int(re.search(rb"pid-(\d+)-pid", self.read_until(fd, rb"pid-\d+-pid"))[1])
        self.f.kill("broker")
        said = self.read_until(fd, b"ended: ", 90)
        check(b"the channel to" in said, f"the shell says {said!r}")
        self.leave(pid, fd, 125)
        self.f.wait_for(lambda: not os.path.exists(f"/proc/{shell}"), 60, "the shell in the job goes on without its client")
        self.f.wait_for(lambda: self.exec("true").returncode == 0, 60, "the next leader opens no channels")
        check(self.f.look_up(self.job) == "running", "the job did not go on")

    def interactive(self):
        done = self.helio("run", "--interactive", "--gpu", "H100:1", "--time", "10m", "--", "sh", "-c", "cat; exit 3", stdin=b"hi\n")
        self.expect(done, 3, b"hi\n", "it is cancelled when you leave")
        job = re.search(r"submitted (\S+);", done.stderr.decode())[1]
        check(self.f.look_up(job) == "cancelled" and "cost $" in done.stderr.decode(), f"its end: {done.stderr.decode()}")
        done = self.helio("run", "--interactive", stdin=b"echo in $0; test -s $HELIO_OUTPUT_DIR/.entered; exit $(($? + 4))\n")
        self.expect(done, 4, None, "submitted", what="a shell in a job that holds nothing")
        check(done.stdout.startswith(b"in "), f"the shell says {done.stdout}")
        done = self.helio("srun", "--gres=gpu:1", "-t", "5", "sh", "-c", "exit 9")
        self.expect(done, 9)

    def run(self):
        self.job = self.run_job("north", "exec sleep 3600")
        self.closed = self.run_job("south", "exec sleep 3600")
        for part in (self.commands, self.bytes, self.shells, self.ports, self.refusals, self.revocation, self.follower,
                     self.many, self.interactive, self.trace, self.takeover):
            began = time.monotonic()
            part()
            print(f"{part.__name__}: {time.monotonic() - began:.1f} s", flush=True)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    folder = tempfile.mkdtemp(prefix="helio-channels-")
    fed = Two(args.parse_args().build, folder, [Open("north", 1.0), Closed("south", 2.0)])
    try:
        fed.up()
        Test(fed).run()
        print("commands, shells and ports reach into running jobs, and nothing else does")
    finally:
        fed.down()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
