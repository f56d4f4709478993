import assert from "node:assert/strict";
import { test } from "node:test";
import { insist, pause } from "../../../console/src/patience.js";

test("the pause grows to a bound and never exceeds it", () => {
  const pauses = [0, 1, 2, 3, 4, 5, 50].map((failures) => pause(failures, 1));
  for (let i = 1; i < pauses.length; i++) assert.ok(pauses[i] >= pauses[i - 1]);
  assert.equal(Math.max(...pauses), 15000);
  assert.ok(pause(0, 0) >= 250);
});

// insist, without its pauses; the outcomes are answers or errors.
async function asked(outcomes, end = new AbortController()) {
  let count = 0;
  const realTimeout = globalThis.setTimeout;
  globalThis.setTimeout = (call) => realTimeout(call, 0);
  try {
    const answer = await insist(async (signal) => {
      assert.equal(signal, end.signal);
      const outcome = outcomes[count++];
      if (count === outcomes.length) end.last?.();
      if (outcome instanceof Error) throw outcome;
      return outcome;
    }, end.signal);
    return { answer, count };
  } finally {
    globalThis.setTimeout = realTimeout;
  }
}
const refusal = (status) => Object.assign(new Error(`${status}`), { status });

test("what fails is asked again until there is an answer", async () => {
  const outcomes = [new TypeError("network"), refusal(503), refusal(504), { user: "ana" }];
  assert.deepEqual(await asked(outcomes), { answer: { user: "ana" }, count: 4 });
});

test("who is refused does not insist", async () => {
  for (const status of [401, 403])
    assert.deepEqual(await asked([refusal(503), refusal(status)]), { answer: null, count: 2 });
});

test("who has left does not insist", async () => {
  const end = new AbortController();
  end.last = () => end.abort();
  assert.deepEqual(await asked([refusal(503), refusal(503)], end), { answer: null, count: 2 });
});
