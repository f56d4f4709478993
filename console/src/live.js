// What pages know of the broker: one stream of events for all of them, and resources that are read again when it moves.
import { useEffect, useRef, useState } from "preact/hooks";
import { request } from "./api.js";
import { follow } from "./events.js";

const listeners = new Set();

export function useEvents(listener) {
  const kept = useRef(listener);
  kept.current = listener;
  useEffect(() => {
    const call = (event) => kept.current(event);
    listeners.add(call);
    return () => listeners.delete(call);
  }, []);
}

// Runs the stream while the caller is mounted; returns "connecting", "live" or "waiting". After a gap in the stream the
// listeners get null: anything may have changed.
export function useStream() {
  const [state, setState] = useState("connecting");
  useEffect(() => {
    const end = new AbortController();
    let lost = false;
    const tell = (next) => {
      setState(next);
      if (next === "live" && lost) for (const listener of [...listeners]) listener(null);
      lost = next === "waiting";
    };
    const take = ({ event, data }) => {
      const value = event === "transition" ? JSON.parse(data) : null;
      for (const listener of [...listeners]) listener(value);
    };
    follow({ request, signal: end.signal, take, tell });
    return () => end.abort();
  }, []);
  return state;
}

const PAUSE_MS = 500; // events within it cause one read
const SHARE = 4; // of the time at least three quarters are left to the broker and to the reader

// load (signal) gives `data`. It is called again when `key` changes, after `every` ms, and after an event for which
// `on` is true. Old data stays beside an error.
export function useResource(key, load, { every = 0, on } = {}) {
  const [state, setState] = useState({ key, data: null, error: null });
  const reader = useRef(null);
  const current = useRef({});
  current.current = { load, on };
  useEffect(() => {
    reader.current = readAgain(
      () => current.current.load,
      every,
      (part) => setState((old) => ({ ...(old.key === key ? old : { data: null, error: null }), ...part, key })),
    );
    return () => reader.current.end();
  }, [key, every]);
  useEvents((event) => {
    if (!event || current.current.on?.(event)) reader.current.soon();
  });
  const stale = state.key !== key;
  return { data: stale ? null : state.data, error: stale ? null : state.error, reload: () => reader.current.now() };
}

function readAgain(load, every, tell) {
  const end = new AbortController();
  let timer = 0;
  let busy = false;
  let wanted = false;
  let rest = PAUSE_MS;
  const wait = (ms) => {
    clearTimeout(timer);
    timer = setTimeout(read, ms);
  };
  async function read() {
    busy = true;
    wanted = false;
    const began = performance.now();
    try {
      const data = await load()(end.signal);
      if (!end.signal.aborted) tell({ data, error: null });
    } catch (error) {
      if (!end.signal.aborted) tell({ error });
    }
    busy = false;
    const again = wanted && rest === 0;
    rest = Math.max(PAUSE_MS, SHARE * (performance.now() - began));
    if (!end.signal.aborted && (wanted || every)) wait(again ? 0 : wanted ? rest : every);
  }
  read();
  return {
    soon() {
      if (!busy && !wanted) wait(rest);
      wanted = true;
    },
    // For who has just changed something: without the rest.
    now() {
      rest = 0;
      if (busy) wanted = true;
      else wait(0);
    },
    end() {
      clearTimeout(timer);
      end.abort();
    },
  };
}
