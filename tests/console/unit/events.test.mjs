import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser, follow } from "../../../console/src/events.js";

const stream = "retry: 2000\n: after 3\n\nid: 4\nevent: transition\ndata: {\"seq\":4}\n\n: heartbeat\n\nid: 5\nevent: resync\ndata: {\ndata: }\n\n";

test("events are the same however the bytes are cut", () => {
  const expected = [{ id: "4", event: "transition", data: '{"seq":4}' }, { id: "5", event: "resync", data: "{\n}" }];
  for (let size = 1; size <= stream.length; size++) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < stream.length; at += size) events.push(...parser.push(stream.slice(at, at + size)));
    assert.deepEqual(events, expected, `in pieces of ${size}`);
  }
});

test("lines may end with CR LF, and an event that is not complete is not taken", () => {
  const parser = new EventParser();
  assert.deepEqual(parser.push("id: 1\r\ndata: a\r\n\r\nid: 2\ndata: b\n"), [{ id: "1", event: "message", data: "a" }]);
});

// A stream that gives those texts and then ends, or fails.
const answerOf = (texts, fails) => ({
  body: new ReadableStream({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
      if (fails) controller.error(new TypeError("network"));
      else controller.close();
    },
  }),
});

test("a stream that ends is taken up after its last event", async () => {
  const end = new AbortController();
  const asked = [];
  const states = [];
  const request = async (path, { headers }) => {
    asked.push(headers["Last-Event-ID"]);
    if (asked.length === 3) end.abort();
    return answerOf(["id: 7\ndata: x\n\n"]);
  };
  const realTimeout = globalThis.setTimeout;
  globalThis.setTimeout = (call) => realTimeout(call, 0);
  try {
    await follow({ request, signal: end.signal, take: () => {}, tell: (state) => states.push(state) });
  } finally {
    globalThis.setTimeout = realTimeout;
  }
  assert.deepEqual(asked, [undefined, "7", "7"]);
  assert.deepEqual(states.slice(0, 4), ["live", "waiting", "live", "waiting"]);
});

test("a token that is refused ends the stream", async () => {
  let asked = 0;
  const request = async () => {
    asked++;
    throw Object.assign(new Error("refused"), { status: 401 });
  };
  await follow({ request, signal: new AbortController().signal, take: () => {}, tell: () => {} });
  assert.equal(asked, 1);
});
