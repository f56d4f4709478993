// Pages are parts of one document, named after `#`: the broker never sees which page is open.
import { useEffect, useState } from "preact/hooks";

// "#/sites/lulea?x=1" → {page: "sites", argument: "lulea", values: {x: "1"}}
export function parseHash(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page, argument = ""] = path.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { page: page || "map", argument, values: Object.fromEntries(new URLSearchParams(search)) };
}

export const link = (page, argument) => `#/${page}${argument ? `/${encodeURIComponent(argument)}` : ""}`;

export function usePlace() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const change = () => setHash(location.hash);
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  return parseHash(hash);
}

// Changes the values of the place without a new entry in the history.
export function setValues(values) {
  const filled = Object.entries(values).filter(([, value]) => value);
  const path = location.hash.split("?")[0] || "#/map";
  const search = new URLSearchParams(filled).toString();
  history.replaceState(null, "", search ? `${path}?${search}` : path);
  dispatchEvent(new HashChangeEvent("hashchange"));
}
