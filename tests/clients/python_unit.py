#!/usr/bin/env python3
"""clients/python/heliostat.py against a stand-in for a broker: what is repeated and what never is, time-outs, streams that break, settings."""
import contextlib, os, shutil, socket, subprocess, sys, tempfile, threading, time, unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.environ.get("HELIO_PYTHON_CLIENT", os.path.join(HERE, "..", "..", "clients", "python"))]
import heliostat  # noqa: E402
from double import Double, answer, chunks, cut, problem, short, silent, trickle  # noqa: E402

JOB = "01m8f4v4tne00807043q9gs2ww"


def job(state="running", epoch=1, **more):
    return {"id": JOB, "state": state, "epoch": epoch, "exit_code": 0 if state == "succeeded" else None, **more}


def stream(*events, **more):
    """The stream of /v1/events: (id, kind, data as text)."""
    return chunks(b"retry: 2000\n: after 0\n\n", *(f"id: {id}\nevent: {kind}\ndata: {data}\n\n".encode() for id, kind, data in events), kind="text/event-stream", **more)


class Case(unittest.TestCase):
    def setUp(self):
        self.double = Double()
        self.addCleanup(self.double.close)
        self.client = heliostat.Client(self.double.url, "hel_a_b", timeout=10.0, patience=10.0)
        self.hasty = heliostat.Client(self.double.url, "hel_a_b", timeout=10.0, patience=0.2)
        heliostat._FIRST_WAIT_S, heliostat._POLL_S = 0.02, 0.1


class Requests(Case):
    def test_a_read_is_repeated_until_it_is_answered(self):
        self.double.on("GET /v1/sites", cut, short, problem(503, "Unavailable"), problem(429, "Busy"), answer(200, [{"site": "north"}]))
        self.assertEqual(self.client.sites(), [{"site": "north"}])
        self.assertEqual(len(self.double.requests("GET /v1/sites")), 5)
        self.assertEqual(self.double.requests("GET /v1/sites")[0].headers["authorization"], "Bearer hel_a_b")

    def test_retry_after_is_waited_for(self):
        self.double.on("GET /v1/sites", problem(503, "Unavailable", retry_after=1), answer(200, []))
        began = time.monotonic()
        self.client.sites()
        self.assertGreaterEqual(time.monotonic() - began, 1.0)

    def test_a_broker_that_stays_away_is_given_up(self):
        self.double.on("GET /v1/sites", problem(503, "Unavailable", "NotLeader"))
        with self.assertRaises(heliostat.Unavailable) as caught:
            self.hasty.sites()
        self.assertEqual((caught.exception.status, caught.exception.code), (503, "NotLeader"))
        self.double.on("GET /v1/gpus", cut)
        with self.assertRaises(heliostat.Unreachable):
            self.hasty.gpus()

    def test_a_submission_whose_answer_is_lost_is_repeated_with_its_key(self):
        self.double.on("POST /v1/jobs", cut, short, answer(201, {"id": JOB, "existed": True, "jobs": [{"id": JOB, "existed": True}], "note": "look"}))
        done = self.client.submit({"run": "true"})
        self.assertEqual((done.id, done.existed, done.note), (JOB, (True,), "look"))
        seen = self.double.requests("POST /v1/jobs")
        self.assertEqual(len(seen), 3)
        self.assertEqual({request.headers["idempotency-key"] for request in seen}, {done.idempotency_key})
        self.assertEqual({request.body for request in seen}, {b'{"run": "true"}'})
        again = self.client.submit({"run": "true"})
        self.assertNotEqual(again.idempotency_key, done.idempotency_key)

    def test_what_is_sent_of_a_job_file(self):
        self.double.on("POST /v1/jobs", answer(201, {"jobs": [{"id": JOB, "existed": False}, {"id": "b", "existed": False}]}))
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.yaml", "a.json", "a.jsonl"):
                Path(folder, name).write_bytes(b"run: 'x'  # as it is\n")
            for source, kind, body in (("run: a\n---\nrun: b\n", "application/yaml", b"run: a\n---\nrun: b\n"),
                                       ([{"run": "a"}], "application/json", b'{"jobs": [{"run": "a"}]}'),
                                       (Path(folder, "a.yaml"), "application/yaml", b"run: 'x'  # as it is\n"),
                                       (Path(folder, "a.json"), "application/json", b"run: 'x'  # as it is\n"),
                                       (Path(folder, "a.jsonl"), "application/x-ndjson", b"run: 'x'  # as it is\n")):
                done = self.client.submit(source, idempotency_key="mine")
                last = self.double.requests("POST /v1/jobs")[-1]
                self.assertEqual((last.headers["content-type"], last.body, last.headers["idempotency-key"]), (kind, body, "mine"))
        with self.assertRaises(ValueError):
            done.id

    def test_what_acts_each_time_is_not_repeated(self):
        for call in (lambda: self.client.requeue(JOB), lambda: self.client.edit(JOB, priority=1), lambda: self.client.signal(JOB, "USR1")):
            self.double.seen.clear()
            for path in (f"POST /v1/jobs/{JOB}/requeue", f"PATCH /v1/jobs/{JOB}", f"POST /v1/jobs/{JOB}/signal"):
                self.double.on(path, cut, answer(200, {}))
            with self.assertRaises(heliostat.OutcomeUnknown):
                call()
            self.assertEqual(len(self.double.seen), 1)
        self.double.on(f"POST /v1/jobs/{JOB}/requeue", problem(503, "Unavailable"), answer(200, {}))
        with self.assertRaises(heliostat.Unavailable):
            self.client.requeue(JOB)
        self.double.on(f"POST /v1/jobs/{JOB}/requeue", problem(429, "Busy"), answer(202, {"status": "requeued"}))  # nothing was changed
        self.assertEqual(self.client.requeue(JOB), {"status": "requeued"})

    def test_what_was_not_sent_is_repeated(self):
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
            port = free.getsockname()[1]
        late = threading.Timer(0.3, lambda: setattr(self, "late", socket.create_server(("127.0.0.1", port))))
        late.start()
        client = heliostat.Client(f"http://127.0.0.1:{port}", "t", timeout=0.4, patience=5)
        with self.assertRaises(heliostat.OutcomeUnknown):  # it listens then, and never answers
            client.requeue(JOB)
        late.join()
        self.late.close()

    def test_time_out_of_silence_and_of_a_trickle(self):
        for behave in (silent, trickle):
            self.double.on("GET /v1/sites", behave)
            client = heliostat.Client(self.double.url, "t", timeout=0.3, patience=0.1)
            began = time.monotonic()
            with self.assertRaises(heliostat.TimedOut):
                client.sites()
            self.assertLess(time.monotonic() - began, 15)

    def test_another_broker_is_asked(self):
        other = Double()
        self.addCleanup(other.close)
        other.on("GET /v1/sites", answer(200, ["other"]))
        self.double.on("GET /v1/sites", problem(503, "Unavailable", retry_after=30))
        client = heliostat.Client([self.double.url, other.url], "t", timeout=10, patience=10)
        began = time.monotonic()
        self.assertEqual((client.sites(), client.sites()), (["other"], ["other"]))
        self.assertLess(time.monotonic() - began, 10)  # and not after the first one's Retry-After
        self.assertEqual(len(self.double.seen), 1)
        other.on("POST /v1/jobs", cut, answer(201, {"jobs": []}))
        self.double.on("POST /v1/jobs", answer(201, {"jobs": [{"id": JOB, "existed": False}]}))
        self.assertEqual(client.submit({"run": "true"}).id, JOB)

    def test_cancel_whose_answer_was_lost(self):
        self.double.on(f"DELETE /v1/jobs/{JOB}", cut, problem(409, "Conflict", "JobHasEnded"))
        self.double.on(f"GET /v1/jobs/{JOB}", answer(200, job("cancelled")))
        self.assertEqual(self.client.cancel(JOB, now=True)["status"], "cancelled")
        self.assertEqual(self.double.requests(f"DELETE /v1/jobs/{JOB}")[0].query, {"now": "1"})
        self.double.on(f"DELETE /v1/jobs/{JOB}", problem(409, "Conflict", "JobHasEnded"))
        with self.assertRaises(heliostat.Conflict) as caught:
            self.client.cancel(JOB)
        self.assertEqual(caught.exception.code, "JobHasEnded")

    def test_pages(self):
        self.double.on("GET /v1/jobs", answer(200, {"jobs": [job(), job()], "next": "abc"}), answer(200, {"jobs": [job()], "next": None}))
        self.assertEqual(len(list(self.client.jobs(state=["running", "queued"], page=2))), 3)
        first, second = self.double.requests("GET /v1/jobs")
        self.assertEqual(first.query, {"state": "running,queued", "limit": "2"})
        self.assertEqual(second.query, {"state": "running,queued", "limit": "2", "cursor": "abc"})
        self.double.seen.clear()
        self.double.on("GET /v1/jobs", answer(200, {"jobs": [job()], "next": "abc"}))
        next(self.client.jobs())
        self.assertEqual(len(self.double.seen), 1)  # a page is asked for when it is needed

    def test_a_redirect_is_not_followed(self):
        self.double.on("GET /v1/sites", answer(302, None, Location="/v1/gpus"))
        with self.assertRaises(heliostat.Problem):
            self.client.sites()
        self.assertEqual(len(self.double.seen), 1)


class Problems(Case):
    def test_kinds(self):
        for status, reason, kind in ((400, "Invalid", heliostat.Invalid), (401, "Unauthenticated", heliostat.Unauthenticated), (403, "Forbidden", heliostat.Forbidden),
                                     (404, "NotFound", heliostat.NotFound), (409, "Conflict", heliostat.Conflict), (409, "Ambiguous", heliostat.Ambiguous),
                                     (413, "TooBig", heliostat.TooBig), (415, "Invalid", heliostat.Invalid), (422, "NeverFits", heliostat.Infeasible),
                                     (500, "Internal", heliostat.Unavailable)):
            self.double.on("GET /v1/whoami", problem(status, reason, "Code", params={"remedy": "do this"}))
            with self.assertRaises(heliostat.Problem) as caught:
                self.client.whoami()
            found = caught.exception
            self.assertEqual((type(found), found.status, found.reason, found.code, found.detail, found.remedy), (kind, status, reason, "Code", "it is so", "do this"))
            self.assertIn("do this", str(found))

    def test_an_ambiguous_id(self):
        self.double.on("GET /v1/jobs/abcdef", problem(409, "Ambiguous", ambiguous=["abcdef1", "abcdef2"]))
        with self.assertRaises(heliostat.Ambiguous) as caught:
            self.client.job("abcdef")
        self.assertEqual(caught.exception.candidates, ["abcdef1", "abcdef2"])
        self.assertTrue(caught.exception.remedy)

    def test_errors_of_a_job_file(self):
        self.double.on("POST /v1/jobs", problem(400, "Invalid", "InputInvalid", hint="gpu: H100:8", errors=[{"message": "m", "code": "c", "line": 3}], diagnostic="^ here"))
        with self.assertRaises(heliostat.Invalid) as caught:
            self.client.submit("gpus: 8\n")
        self.assertEqual((caught.exception.errors[0]["line"], caught.exception.remedy, caught.exception.diagnostic), (3, "gpu: H100:8", "^ here"))

    def test_no_json(self):
        self.double.on("GET /v1/whoami", answer(500, b"<html>", "text/html"))
        with self.assertRaises(heliostat.Unavailable):
            self.client.whoami()


class Waits(Case):
    def wait(self, *jobs, **more):
        self.double.on(f"GET /v1/jobs/{JOB}", *(one if callable(one) else answer(200, one) for one in jobs))
        return self.client.wait(JOB, **more)

    def test_an_event_wakes_it_up(self):
        heliostat._POLL_BESIDE_STREAM_S = 60.0
        told = threading.Event()
        self.double.on("GET /v1/events", stream((5, "transition", f'{{"id": "{JOB}"}}'), hold=told))
        self.assertEqual(self.wait(job(), job("succeeded"), timeout=10)["state"], "succeeded")
        told.set()

    def test_without_a_stream_it_polls(self):
        self.double.on("GET /v1/events", problem(429, "Busy"))
        self.assertEqual(self.wait(job(), job(), job("failed"), timeout=10)["state"], "failed")

    def test_a_stream_that_breaks_goes_on_after_its_last_event(self):
        heliostat._POLL_BESIDE_STREAM_S = 60.0
        told = threading.Event()
        self.double.on("GET /v1/events", stream((7, "transition", f'{{"id": "{JOB}"}}'), end=False), stream((8, "resync", "{}"), hold=told))
        streams = lambda: self.double.requests("GET /v1/events")
        now = lambda connection, request: answer(200, job("succeeded" if len(streams()) > 1 else "running"))(connection, request)
        self.assertEqual(self.wait(now, timeout=10)["state"], "succeeded")
        told.set()
        self.assertEqual([request.headers.get("last-event-id") for request in streams()], [None, "7"])

    def test_a_broker_that_goes_away_meanwhile_is_waited_for(self):
        self.double.on("GET /v1/events", cut)
        self.assertEqual(self.wait(job(), *[cut] * 8, job("succeeded"), timeout=20)["state"], "succeeded")

    def test_time_out_and_check(self):
        self.double.on("GET /v1/events", cut)
        with self.assertRaises(heliostat.WaitTimeout):
            self.wait(job(), timeout=0.3)
        with self.assertRaises(heliostat.JobFailed) as caught:
            self.wait(job("timeout"), check=True)
        self.assertEqual(caught.exception.job["state"], "timeout")

    def test_a_job_that_there_is_not(self):
        self.double.on("GET /v1/events", cut)
        with self.assertRaises(heliostat.NotFound):
            self.wait(problem(404, "NotFound"))

    def test_several_in_the_order_of_their_ends(self):
        self.double.on("GET /v1/events", cut)
        for name, answers in (("aaaaaa", (job(), job(), job("succeeded"))), ("bbbbbb", (job("failed"),))):
            self.double.on(f"GET /v1/jobs/{name}", *(answer(200, one) for one in answers))
        self.assertEqual([asked for asked, _ in self.client.as_completed(["aaaaaa", "bbbbbb"])], ["bbbbbb", "aaaaaa"])
        self.assertEqual([one["state"] for one in self.client.wait_all(["aaaaaa", "bbbbbb"])], ["succeeded", "failed"])


class Streams(Case):
    def test_events_go_on_after_the_last_one(self):
        self.double.on("GET /v1/events", stream((3, "transition", '{"id": "a"}'), (4, "transition", '{"id": "b"}'), end=False), problem(503, "Unavailable"),
                       stream((9, "resync", '{"seq": 9}')))
        found = [event for _, event in zip(range(3), self.client.events(last_event_id="2"))]
        self.assertEqual([(event.id, event.kind) for event in found], [("3", "transition"), ("4", "transition"), ("9", "resync")])
        self.assertEqual([request.headers["last-event-id"] for request in self.double.requests("GET /v1/events")], ["2", "4", "4"])

    def logs(self, jobs, **epochs):
        """What the client reads, and (epoch, offset) of each connection. epochs: e1=[answers]"""
        self.double.on(f"GET /v1/jobs/{JOB}", *(answer(200, one) for one in jobs))
        self.double.on("GET /v1/events", cut)
        left = {int(name[1:]): list(answers) for name, answers in epochs.items()}
        self.double.on(f"GET /v1/jobs/{JOB}/logs", lambda connection, request: left[int(request.query["epoch"])].pop(0)(connection, request))
        said = b"".join(self.client.logs(JOB, follow=True))
        return said, [(request.query["epoch"], request.query["offset"]) for request in self.double.requests(f"GET /v1/jobs/{JOB}/logs")]

    def test_a_log_goes_on_at_the_byte_where_it_broke(self):
        said, asked = self.logs([job(), job("succeeded")], e1=[chunks(b"one\n", b"tw", end=False), cut, chunks(b"o\n", end=False), problem(503, "Unavailable"), chunks(b"end\n")])
        self.assertEqual(said, b"one\ntwo\nend\n")
        self.assertEqual(asked, [("1", "0"), ("1", "6"), ("1", "6"), ("1", "8"), ("1", "8")])

    def test_a_log_goes_across_attempts(self):
        said, asked = self.logs([job("queued", 0), job("running", 1), job("queued", 1), job("running", 3), job("succeeded", 3)],
                                e1=[chunks(b"first\n")], e2=[problem(404, "NotFound")], e3=[chunks(b"th", end=False), chunks(b"ird\n")])
        self.assertEqual(said, b"first\nthird\n")
        self.assertEqual(asked, [("1", "0"), ("2", "0"), ("3", "0"), ("3", "2")])

    def test_a_log_that_there_is_not(self):
        with self.assertRaises(heliostat.NotFound):
            self.logs([job("failed")], e1=[problem(404, "NotFound", "LogMissing")])
        said, _ = self.logs([job("cancelled", 0)])
        self.assertEqual(said, b"")

    def test_a_log_as_it_is(self):
        self.double.on(f"GET /v1/jobs/{JOB}/logs", chunks(b"ab", end=False, X_Helio_Log_Epoch="4"), chunks(b"c"))
        self.assertEqual(b"".join(self.client.logs(JOB)), b"abc")
        self.assertEqual([request.query for request in self.double.requests(f"GET /v1/jobs/{JOB}/logs")], [{"offset": "0"}, {"offset": "2", "epoch": "4"}])


class Tls(Case):
    def test_a_certificate_is_verified(self):
        if not shutil.which("openssl"):
            self.skipTest("there is no openssl here")
        import ssl
        with tempfile.TemporaryDirectory() as folder:
            key, pem = os.path.join(folder, "key"), os.path.join(folder, "pem")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", pem, "-days", "2", "-subj", "/CN=127.0.0.1",
                            "-addext", "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pem, key)
            plain = self.double.serve

            def serve(connection):
                with contextlib.suppress(OSError):
                    plain(context.wrap_socket(connection, server_side=True))
            self.double.serve = serve
            self.double.on("GET /v1/sites", answer(200, []))
            url = self.double.url.replace("http:", "https:")
            began = time.monotonic()
            with self.assertRaises(heliostat.Unreachable) as caught:
                heliostat.Client(url, "t", timeout=2, patience=30).sites()
            self.assertLess(time.monotonic() - began, 10)  # it is of no use to repeat that
            self.assertIn("certificate", str(caught.exception))
            self.assertEqual(self.double.seen, [])
            self.assertEqual(heliostat.Client(url, "t", ca_file=pem, timeout=2).sites(), [])
            with self.assertRaises(heliostat.SettingsError):
                heliostat.Client(url, "t", ca_file=key + "none")


class SettingsFiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.makedirs(os.path.join(self.folder, "config", "helio"))
        os.makedirs(os.path.join(self.folder, "here"))

    def write(self, name, text, mode=0o600):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)

    def load(self, context=None, **environ):
        return heliostat.load_settings(context, environ={"XDG_CONFIG_HOME": os.path.join(self.folder, "config"), **environ},
                                       directory=os.path.join(self.folder, "here"), system=os.path.join(self.folder, "system.yaml"))

    CONFIG = """# a comment
context: production
timeout: 1m30s
contexts:
  - name: production
    broker: https://one.example, "https://two.example/"   # two of them
    token_file: token-production
  - {name: test, broker: 'http://test.example:7480', token: hel_t_t, ca_file: ca.pem}
output: wide
"""

    def test_contexts_and_precedence(self):
        self.write("config/helio/config.yaml", self.CONFIG.replace('"https://two.example/"', "https://two.example/"))
        self.write("config/helio/token-production", "hel_p_p\n")
        self.write("system.yaml", "broker: http://system.example\ntoken_file: none\n", 0o644)
        found = self.load()
        self.assertEqual((found.brokers, found.token, found.timeout), (("https://one.example", "https://two.example"), "hel_p_p", 90.0))
        self.assertNotIn("hel_p_p", repr(found))
        found = self.load("test")
        self.assertEqual((found.brokers, found.token), (("http://test.example:7480",), "hel_t_t"))
        self.assertEqual(found.ca_file, os.path.join(self.folder, "config", "helio", "ca.pem"))
        self.assertEqual(self.load(HELIO_CONTEXT="test").token, "hel_t_t")
        found = self.load(HELIO_BROKER="http://a.example", HELIO_TOKEN="hel_e_e")
        self.assertEqual((found.brokers, found.token), (("http://a.example",), "hel_e_e"))
        with self.assertRaises(heliostat.SettingsError):
            self.load("none")

    def test_a_token_of_another_broker_is_withheld(self):
        self.write("config/helio/config.yaml", "broker: http://mine.example\ntoken: hel_m_m\n")
        self.write("here/.helio.yaml", "broker: http://theirs.example\n")
        self.assertEqual(self.load().token, "")
        self.assertEqual(self.load(HELIO_TOKEN="hel_e_e").token, "hel_e_e")
        self.write("here/.helio.yaml", "broker: http://mine.example/\n")
        self.assertEqual(self.load().token, "hel_m_m")

    def test_what_others_can_read_is_refused(self):
        self.write("config/helio/config.yaml", "broker: http://a.example\ntoken: hel_m_m\n", 0o644)
        with self.assertRaises(heliostat.SettingsError):
            self.load()
        self.write("config/helio/config.yaml", "broker: http://a.example\ntoken_file: token\n", 0o644)
        self.write("config/helio/token", "hel_m_m", 0o640)
        with self.assertRaises(heliostat.SettingsError):
            self.load()
        self.write("config/helio/token", "hel_m_m", 0o600)
        self.assertEqual(self.load().token, "hel_m_m")

    def test_what_is_not_understood_is_said_with_its_line(self):
        for text, line in (("broker\n", 1), ("\nbroker: [a]\n", 2), ("contexts: [{name: a}]\n", 1), ("a: b\n  c: d\n", 2), ("contexts:\n  - name: a\n      broker: b\n", 3),
                           ("broker: 'x\n", 1), ("contexts:\n  - {name: a\n", 2), ("broker: |\n  x\n", 1)):
            self.write("config/helio/config.yaml", text)
            with self.assertRaisesRegex(heliostat.SettingsError, f"config.yaml:{line}:"):
                self.load()
        for text in ("broker: ftp://a\n", "broker: http://a@b\n", "timeout: 5\nbroker: http://a\n", "broker: " + ", ".join(["http://a"] * 9) + "\n", "output: wide\n"):
            self.write("config/helio/config.yaml", text)
            with self.assertRaises(heliostat.SettingsError):
                self.load()

    def test_a_token_cannot_forge_headers(self):
        for token in ("a b", "a\r\nX: y", "ä", ""):
            with self.assertRaises(heliostat.SettingsError):
                heliostat.Client("http://a.example", token)


def wait_for(what, seconds=5):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


if __name__ == "__main__":
    unittest.main(verbosity=0)
