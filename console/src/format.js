// Quantities as people read them. null and undefined are a dash everywhere.
const DASH = "–";
const known = (value) => value !== null && value !== undefined && !Number.isNaN(value);

export function number(value, digits = 0) {
  if (!known(value)) return DASH;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function money(value) {
  if (!known(value)) return DASH;
  const size = Math.abs(value);
  if (size > 0 && size < 0.00005) return `under ${value < 0 ? "−" : ""}$0.0001`;
  const digits = size === 0 || size >= 100 ? 0 : size >= 0.1 ? 2 : 4;
  return `${value < 0 ? "−" : ""}$${number(size, digits)}`;
}

const scaled = (value, steps) => {
  if (!known(value)) return DASH;
  const [size, unit, factor] = steps.find(([least]) => Math.abs(value) >= least) ?? steps.at(-1);
  const shown = value / factor;
  return `${number(shown, Math.abs(shown) >= 100 || shown === 0 ? 0 : Math.abs(shown) >= 10 ? 1 : 2)} ${unit}`;
};

export const carbon = (grams) =>
  scaled(grams, [
    [1e6, "t", 1e6],
    [1000, "kg", 1000],
    [0, "g", 1],
  ]);
export const energy = (kwh) =>
  scaled(kwh, [
    [1000, "MWh", 1000],
    [1, "kWh", 1],
    [0, "Wh", 0.001],
  ]);
export const power = (watts) =>
  scaled(watts, [
    [1e6, "MW", 1e6],
    [1000, "kW", 1000],
    [0, "W", 1],
  ]);
export const intensity = (value) => (known(value) ? `${number(value)} g/kWh` : DASH);
export const ratio = (part, whole) => (known(part) && whole > 0 ? `${number((100 * part) / whole)} %` : DASH);

export function duration(seconds) {
  if (!known(seconds)) return DASH;
  const total = Math.max(0, Math.round(seconds));
  const parts = [
    [Math.floor(total / 86400), "d"],
    [Math.floor(total / 3600) % 24, "h"],
    [Math.floor(total / 60) % 60, "m"],
    [total % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return "0s";
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(" ");
}

// Times are UTC with Z, as on the command line; the day is left out when it is that of `now`.
export function instant(text, now = Date.now()) {
  if (!text) return DASH;
  const iso = new Date(text).toISOString();
  const today = iso.slice(0, 10) === new Date(now).toISOString().slice(0, 10);
  return `${today ? "" : `${iso.slice(5, 10)} `}${iso.slice(11, 16)}Z`;
}

export function ago(text, now = Date.now()) {
  return text ? `${duration((now - new Date(text)) / 1000)} ago` : DASH;
}

// The last eight characters, as the command line shows ids; a task of an array keeps its index.
export function shortId(id) {
  const [job, task] = id.split(".");
  return job.slice(-8) + (task === undefined ? "" : `.${task}`);
}

export const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
