// What a plan supposes of one site, in the words of /v1/plans and of `helio rehearse`: drain=SITE or price=SITE:FACTOR.
export const factors = [0, 0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10];

// {site, drain, factor} of the values of a place; null: nothing is supposed.
export function supposedOf({ drain, price }) {
  if (drain) return { site: drain, drain: true, factor: 1 };
  const [site, text] = (price ?? "").split(":");
  const factor = Number(text);
  return site && text && factor >= 0 && factor <= 1000 ? { site, drain: false, factor } : null;
}

export const valuesOf = (supposed) => ({
  drain: supposed?.drain ? supposed.site : "",
  price: supposed && !supposed.drain ? `${supposed.site}:${supposed.factor}` : "",
});

export const wordsOf = ({ site, drain, factor }) =>
  drain ? `with ${site} drained` : `with ${site} at ${factor} times its price`;

// The same for the rehearsal, which runs all jobs on together.
export const commandOf = ({ site, drain, factor }) => drain ? `helio drain ${site} --dry-run` : `helio rehearse --price ${site}:${factor}`;
