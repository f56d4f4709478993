// What a plan supposes of one site, in the words of /v1/plans and of `helio rehearse`: drain=SITE, curtail=SITE:SHARE:DURATION or price=SITE:FACTOR.
export const factors = [0, 0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10];
export const shares = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]; // of a site's power, in per cent
export const hours = [1, 2, 4, 8, 24];

const plain = { drain: false, factor: 1, percent: null, hours: null };

// {site, drain, factor, percent, hours} of the values of a place; percent null: it is not curtailed. null: nothing is supposed.
export function supposedOf({ drain, price, curtail }) {
  if (drain) return { ...plain, site: drain, drain: true };
  if (curtail) {
    const found = /^([^:]+):(\d{1,3}):(\d{1,3})h$/.exec(curtail);
    const [percent, long] = found ? [Number(found[2]), Number(found[3])] : [];
    return found && percent <= 100 && long >= 1 && long <= 168 ? { ...plain, site: found[1], percent, hours: long } : null;
  }
  const [site, text] = (price ?? "").split(":");
  const factor = Number(text);
  return site && text && factor >= 0 && factor <= 1000 ? { ...plain, site, factor } : null;
}

export const isCurtailed = (supposed) => supposed?.percent !== null && supposed?.percent !== undefined;
const isPriced = (supposed) => supposed && !supposed.drain && !isCurtailed(supposed);

export const valuesOf = (supposed) => ({
  drain: supposed?.drain ? supposed.site : "",
  curtail: isCurtailed(supposed) ? `${supposed.site}:${supposed.percent}:${supposed.hours}h` : "",
  price: isPriced(supposed) ? `${supposed.site}:${supposed.factor}` : "",
});

export const wordsOf = (supposed) => {
  const { site, drain, factor, percent, hours: long } = supposed;
  if (drain) return `with ${site} drained`;
  return isCurtailed(supposed) ? `with ${site} curtailed to ${percent} % for ${long} h` : `with ${site} at ${factor} times its price`;
};

// The same for the rehearsal, which runs all jobs on together.
export const commandOf = (supposed) => {
  const { site, drain, factor, percent, hours: long } = supposed;
  if (drain) return `helio drain ${site} --dry-run`;
  return isCurtailed(supposed) ? `helio curtail ${site} --to ${percent}% --for ${long}h --dry-run` : `helio rehearse --price ${site}:${factor}`;
};

// As one of these, of the same site.
export const kindOf = (supposed) => (supposed?.drain ? "drained" : isCurtailed(supposed) ? "curtailed" : "price");
export const ofKind = (kind, site) =>
  ({ drained: { ...plain, site, drain: true }, curtailed: { ...plain, site, percent: 60, hours: 2 }, price: { ...plain, site, factor: 1.5 } })[kind];
