// Carbon intensity as colour: lightness falls as grams rise, so that the order shows without colour vision, too.
const MOST = 800; // g/kWh; above it the colour stays
const stops = [
  [0, 255, 244, 176],
  [0.25, 250, 190, 92],
  [0.5, 222, 110, 60],
  [0.75, 146, 45, 62],
  [1, 58, 12, 48],
];

export function rampColor(grams) {
  if (grams === null || grams === undefined) return null;
  const at = Math.min(1, Math.max(0, grams / MOST));
  const next = Math.max(
    1,
    stops.findIndex(([place]) => place >= at),
  );
  const [low, high] = [stops[next - 1], stops[next]];
  const share = (at - low[0]) / (high[0] - low[0]);
  return [1, 2, 3].map((i) => Math.round(low[i] + share * (high[i] - low[i])));
}

export const rgb = (color) => (color ? `rgb(${color.join(" ")})` : "var(--unknown)");

// Relative luminance, 0 to 1 (WCAG).
export function luminance(color) {
  const [r, g, b] = color.map((part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export const legend = [0, 200, 400, 600, 800];
