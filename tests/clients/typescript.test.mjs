// clients/typescript against a real federation and, for what one does only when something fails, a stand-in of a few lines.
// typescript.py starts the federation and says where it is: HELIO_MODULE, HELIO_URL, HELIO_TOKEN, HELIO_CONTROLS.
import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";

const { Client, OutcomeUnknown, Problem, Unreachable, WaitTimeout } = await import(process.env.HELIO_MODULE);
const { HELIO_URL: url, HELIO_TOKEN: token, HELIO_CONTROLS: controls } = process.env;
const client = new Client({ broker: url, token });
const doc = { name: "typescript", gpu: "H100:1", run: "echo one; echo two" };
const text = async (pieces) => {
  const found = [];
  for await (const piece of pieces) found.push(piece);
  return Buffer.concat(found).toString();
};
const command = async (word) => assert.equal((await fetch(`${controls}/${word}`, { method: "POST" })).status, 204);
const until = async (what) => {
  for (const end = Date.now() + 40000; !(await what()); ) {
    assert.ok(Date.now() < end, "it does not come true");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};

/** A stand-in: answers by their order, each a function of the request and the response. */
async function standIn(t, ...answers) {
  const seen = [];
  const server = http.createServer((request, response) => {
    seen.push(request);
    request.resume().on("end", () => (answers.length > 1 ? answers.shift() : answers[0])(request, response));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => (server.closeAllConnections(), server.close()));
  return { url: `http://127.0.0.1:${server.address().port}`, seen };
}
const cut = (request) => request.socket.destroy();
const say = (status, value, headers = {}) => (_, response) =>
  response.writeHead(status, { "Content-Type": status < 400 ? "application/json" : "application/problem+json", ...headers }).end(JSON.stringify(value));
const problem = (status, reason, headers) => say(status, { type: "about:blank", title: reason, status, reason, detail: "it is so", details: [] }, headers);

test("jobs from their submission to their end", async () => {
  const one = await client.submit(doc);
  const two = await client.submit("name: typescript\nrun: exit 3\n---\nname: typescript\nrun: 'true'\narray: 0-2\n");
  assert.equal((await client.wait(one.id)).state, "succeeded");
  assert.equal(await text(client.logs(one.id)), "one\ntwo\n");
  assert.equal(await text(client.logs(one.id, { follow: true, offset: 4 })), "two\n");
  assert.equal((await client.wait(two.jobs[0].id)).exit_code, 3);
  assert.deepEqual((await client.wait(two.jobs[1].id)).tasks, { succeeded: 3 });
  const listed = [];
  for await (const job of client.jobs({ name: "typescript", limit: 2, state: ["succeeded", "failed"] })) listed.push(job.id);
  assert.equal(listed.length, 5);
  assert.equal((await client.planJob(doc)).chosen, "north");
  assert.ok((await client.explainJob(one.id)).candidates.length);
  assert.deepEqual((await client.listSites()).map((site) => site.site).sort(), ["north", "south"]);
  assert.ok((await client.listQueues()).length && (await client.reportTotals({ days: 1 })).jobs_total);
  assert.match(await client.health(), /\S/);
});

test("commands and refusals", async () => {
  const { id } = await client.submit({ ...doc, placement: { not_before: "2040-01-01T00:00:00Z" } });
  await client.editJob(id, { priority: 5, deadline: null });
  await client.holdJob(id);
  assert.equal((await client.showJob(id)).state, "held");
  await client.releaseJob(id);
  await assert.rejects(client.wait(id, { timeoutMs: 200 }), WaitTimeout);
  await client.cancelJob(id, { now: "true" });
  assert.equal((await client.wait(id)).state, "cancelled");
  await assert.rejects(client.cancelJob(id), (error) => error instanceof Problem && error.status === 409 && error.code !== "" && error.detail !== "");
  await assert.rejects(client.showJob(id.slice(0, 6)), (error) => error.reason === "Ambiguous" && error.ambiguous.length > 1);
  await assert.rejects(client.submit("name: a\nrum: b\n"), (error) => error.status === 400 && error.body.errors[0].line === 2);
  await assert.rejects(new Client({ broker: url, token: "hel_a_b" }).whoami(), (error) => error.status === 401);
});

test("output and events across attempts and a broker that is killed", async () => {
  const { id } = await client.submit({ ...doc, run: "echo begin $HELIO_EPOCH; if [ $HELIO_EPOCH = 1 ]; then sleep 600; fi; sleep 4; echo end $HELIO_EPOCH" });
  let said = "";
  const stop = new AbortController();
  const seen = [];
  const reading = (async () => {
    for await (const piece of client.logs(id, { follow: true })) said += Buffer.from(piece).toString();
  })();
  const watching = (async () => {
    for await (const event of client.events({ lastEventId: "0", signal: stop.signal })) seen.push(event);
  })();
  const waiting = client.wait(id);
  await until(() => said.includes("begin 1"));
  await client.requeueJob(id);
  await until(() => said.includes("begin 2"));
  await command("kill/broker");
  await command("start/broker");
  assert.equal((await waiting).state, "succeeded");
  await reading;
  assert.equal(said, "begin 1\nbegin 2\nend 2\n");
  await until(() => seen.some((event) => event.data.id === id && event.data.to === "succeeded"));
  stop.abort();
  await assert.rejects(watching);
  const numbers = seen.map((event) => Number(event.id));
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b));
});

test("answers that are lost", async (t) => {
  const lossy = new Client({ broker: process.env.HELIO_LOSSY, token });
  await command("lose/2");
  const done = await lossy.submit({ ...doc, name: "lossy" });
  assert.equal(done.existed, true);
  const listed = [];
  for await (const job of client.jobs({ name: "lossy" })) listed.push(job.id);
  assert.deepEqual(listed, [done.id]);
  const { url: broker, seen } = await standIn(t, cut, say(202, { status: "requeued" }));
  await assert.rejects(new Client({ broker }).requeueJob("abcdef"), OutcomeUnknown);
  assert.equal(seen.length, 1);
});

test("what is repeated", async (t) => {
  const busy = await standIn(t, problem(429, "Busy"), say(202, { status: "requeued" }));
  assert.equal((await new Client({ broker: busy.url }).requeueJob("abcdef")).status, "requeued");
  const read = await standIn(t, cut, problem(503, "Unavailable", { "Retry-After": "1" }), say(200, []));
  const began = Date.now();
  assert.deepEqual(await new Client({ broker: read.url }).listSites(), []);
  assert.ok(Date.now() - began >= 1000);
  const away = await standIn(t, problem(503, "Unavailable", { "Retry-After": "30" }));
  const other = await standIn(t, say(200, ["other"]));
  assert.deepEqual(await new Client({ broker: [away.url, other.url] }).listSites(), ["other"]);
  const silent = await standIn(t, () => undefined);
  await assert.rejects(new Client({ broker: silent.url, timeoutMs: 200, patienceMs: 100 }).listSites(), Unreachable);
  const elsewhere = await standIn(t, (_, response) => response.writeHead(302, { Location: "/v1/gpus" }).end());
  await assert.rejects(new Client({ broker: elsewhere.url, patienceMs: 100 }).listSites());
  assert.ok(elsewhere.seen.every((request) => request.url === "/v1/sites"));
  assert.throws(() => new Client({ broker: "ftp://a" }));
});

test("a log goes on at the byte where it broke, and a wait without a stream polls", async (t) => {
  const job = (state) => say(200, { id: "abcdef", state, epoch: 1 });
  const part = (data, end) => (_, response) => (response.writeHead(200, { "X-Helio-Log-Epoch": "1" }), response.write(data, () => (end ? response.end() : setTimeout(() => response.destroy(), 50))));
  const parts = [part("one\ntw", false), part("o\n", true)];
  const states = [job("running"), job("running"), job("succeeded")];
  const { url: broker, seen } = await standIn(t, (request, response) => {
    const answers = request.url.includes("/logs") ? parts : request.url.startsWith("/v1/events") ? [problem(404, "NotFound")] : states;
    (answers.length > 1 ? answers.shift() : answers[0])(request, response);
  });
  assert.equal(await text(new Client({ broker }).logs("abcdef", { follow: true })), "one\ntwo\n");
  assert.deepEqual(seen.filter((request) => request.url.includes("/logs")).map((request) => new URL(request.url, broker).searchParams.get("offset")), ["0", "6"]);
});
