// Requests to the broker that served this page. The token is in sessionStorage and in a header, never in an address.
const KEY = "heliostat.token";
const signedOut = new Set();

export class Problem extends Error {
  constructor(status, document) {
    super(document?.detail || document?.title || `the broker answered ${status}`);
    this.status = status;
    this.reason = document?.reason ?? "";
    this.diagnostic = document?.diagnostic ?? ""; // of a document: each error with its line and what helps
  }
}

export const token = () => sessionStorage.getItem(KEY) ?? "";
export const onSignedOut = (listener) => {
  signedOut.add(listener);
  return () => signedOut.delete(listener);
};

export function signOut(why = "") {
  sessionStorage.removeItem(KEY);
  for (const listener of signedOut) listener(why);
}

// The answer as it is, once its status is good. path: below /v1/.
export async function request(path, { method = "GET", body, text, headers = {}, signal, credential = token() } = {}) {
  const options = { method, signal, cache: "no-store", headers: { ...headers, Authorization: `Bearer ${credential}` } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  if (text !== undefined) {
    options.body = text;
    options.headers["Content-Type"] = "application/yaml";
  }
  const answer = await fetch(`../v1/${path}`, options);
  if (answer.ok) return answer;
  const problem = new Problem(answer.status, await answer.json().catch(() => null));
  if (answer.status === 401 && credential === token()) signOut("The broker no longer accepts this token.");
  throw problem;
}

export const get = async (path, options) => (await request(path, options)).json();
export const send = async (method, path, body) => (await request(path, { method, body })).json();

// Keeps the token only if the broker accepts it.
export async function signIn(text) {
  const who = await get("whoami", { credential: text });
  sessionStorage.setItem(KEY, text);
  return who;
}

export const query = (values) => {
  const filled = Object.entries(values).filter(([, value]) => value !== "" && value != null);
  return filled.length ? `?${new URLSearchParams(filled)}` : "";
};
