// The planet with day and night. Each site is a disc whose colour and number are its carbon intensity; the ring around
// it fills with the GPUs in use. Arcs lead from home to where jobs of the last hour went instead.
import { geoCircle, geoEqualEarth, geoGraticule10, geoPath } from "d3-geo";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { feature, mesh } from "topojson-client";
import { get } from "./api.js";
import { arcsOf } from "./arcs.js";
import { conditionWords } from "./condition.js";
import { intensity, number, plural } from "./format.js";
import { placeLabels, spread } from "./labels.js";
import { useResource } from "./live.js";
import { Notice, Title, Waiting } from "./parts.jsx";
import { awayAt, sitesAt, stepOf } from "./past.js";
import { legend, rampColor, rgb } from "./ramp.js";
import { link, parseHash, setValues } from "./router.js";
import { Scrubber, useHistory } from "./scrubber.jsx";
import { SitesTable, Swatch, useSites } from "./sites.jsx";
import { antipode, subsolarPoint } from "./sun.js";

const SIZE = { width: 1000, height: 486 };
const NIGHT = [
  [90, "dusk"],
  [84, "twilight"],
  [78, "dark"],
]; // degrees around the midnight point: the sun 0, 6 and 12 below
const projection = geoEqualEarth().fitExtent(
  [
    [2, 2],
    [SIZE.width - 2, SIZE.height - 2],
  ],
  { type: "Sphere" },
);
const path = geoPath(projection);

let world = null; // the outlines never change: they are read once
const useWorld = () => {
  const [shapes, setShapes] = useState(world);
  useEffect(() => {
    if (shapes) return;
    fetch("world.json")
      .then((answer) => answer.json())
      .then((topology) => {
        const { countries, land } = topology.objects;
        world = { land: path(feature(topology, land)), borders: path(mesh(topology, countries, (a, b) => a !== b)) };
        setShapes(world);
      })
      .catch(() => {});
  }, []);
  return shapes;
};

const useNow = (ms) => {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), ms);
    return () => clearInterval(timer);
  }, []);
  return now;
};

const Globe = ({ now }) => {
  const shapes = useWorld();
  const sun = subsolarPoint(now);
  const [x, y] = projection(sun);
  return (
    <g aria-hidden="true">
      <path class="sea" d={path({ type: "Sphere" })} />
      <path class="graticule" d={path(geoGraticule10())} />
      {shapes && <path class="land" d={shapes.land} />}
      {shapes && <path class="borders" d={shapes.borders} />}
      {NIGHT.map(([radius, name]) => (
        <path key={name} class={`night ${name}`} d={path(geoCircle().center(antipode(sun)).radius(radius)())} />
      ))}
      <g class="sun" transform={`translate(${x} ${y})`}>
        <circle r="9" class="glow" />
        <circle r="4.5" />
      </g>
    </g>
  );
};

// From the top clockwise; an arc of the whole circle cannot be drawn as one.
const ring = (share, r) => {
  const angle = 2 * Math.PI * Math.min(share, 0.9999);
  return `M0 ${-r}A${r} ${r} 0 ${angle > Math.PI ? 1 : 0} 1 ${r * Math.sin(angle)} ${-r * Math.cos(angle)}`;
};

// Where the ring may fill to: the share of a curtailed site's GPU power.
const limit = (percent, r) => {
  const angle = (2 * Math.PI * percent) / 100;
  const [x, y] = [Math.sin(angle), -Math.cos(angle)];
  return `M${(r - 4.5) * x} ${(r - 4.5) * y}L${(r + 4.5) * x} ${(r + 4.5) * y}`;
};

const words = (site) => {
  const gpus = `${number(site.gpus_free)} of ${plural(site.gpus_total, "GPU")} free`;
  const jobs = `${plural(site.jobs_running, "job")} running`;
  return `${site.site} ${intensity(site.carbon_g_per_kwh)}, ${gpus}, ${jobs}, ${conditionWords(site)}`;
};

const Site = ({ site, point, box }) => (
  <a href={link("sites", site.site)} class={`site ${site.state}${box.hidden ? " crowded" : ""}`} aria-label={words(site)}>
    {box.far && (
      <line
        class="lead"
        x1={point.x}
        y1={point.y}
        x2={box.x < point.x ? box.x + box.w : box.x}
        y2={box.y + box.h / 2}
      />
    )}
    <g transform={`translate(${point.x} ${point.y})`}>
      <circle class="halo" r={point.r + 1.5} />
      <circle class="disc" r={point.r - 4} fill={rgb(rampColor(site.carbon_g_per_kwh))} />
      <circle class="track" r={point.r - 1} />
      {site.gpus_total > 0 && (
        <path class="use" d={ring((site.gpus_total - site.gpus_free) / site.gpus_total, point.r - 1)} />
      )}
      {site.curtailed_to_percent !== null && <path class="limit" d={limit(site.curtailed_to_percent, point.r - 1)} />}
    </g>
    <text x={box.x} y={box.y + 13}>
      <tspan class="name">{site.site}</tspan>{" "}
      <tspan class="grams" dx="2">
        {number(site.carbon_g_per_kwh)}
      </tspan>
    </text>
  </a>
);

// Letters of the console's font are narrower than this on average.
const widthOf = (site) => 7.6 * (site.site.length + number(site.carbon_g_per_kwh).length) + 16;

// Labels stay where they are while the time is moved: the layout is that of now.
function useLayout(sites) {
  return useMemo(() => {
    const placed = sites.filter((site) => site.latitude !== null && site.longitude !== null);
    const points = spread(
      placed.map((site) => {
        const [x, y] = projection([site.longitude, site.latitude]);
        return { x, y, r: 8 + 6 * Math.min(1, Math.log10(1 + site.gpus_total) / 4) };
      }),
    );
    const boxes = placeLabels(
      points,
      placed.map((site) => ({ w: widthOf(site), h: 17 })),
      SIZE,
    );
    return placed.map((site, i) => ({ site, point: points[i], box: boxes[i] }));
  }, [sites]);
}

const Arcs = ({ arcs }) => (
  <g class="arcs" aria-hidden="true">
    {arcs.map(({ key, count, line }) => (
      <path key={key} d={path(line)} style={{ strokeWidth: `${1 + Math.min(3, Math.log2(count))}px` }} />
    ))}
  </g>
);

const Legend = ({ crowded, curtailed }) => (
  <div class="legend">
    <span>Carbon intensity, g/kWh</span>
    {legend.map((grams) => (
      <span key={grams}>
        <Swatch grams={grams} />
        {grams}
        {grams === 800 ? "+" : ""}
      </span>
    ))}
    <span>
      <svg class="sample" viewBox="-9 -9 18 18" aria-hidden="true">
        <circle class="track" r="7" />
        <path class="use" d={ring(0.6, 7)} />
      </svg>
      GPUs in use
    </span>
    {curtailed && (
      <span>
        <svg class="sample" viewBox="-9 -9 18 18" aria-hidden="true">
          <circle class="track" r="6" />
          <path class="limit" d={limit(60, 5)} />
        </svg>
        curtailed: the share of its GPU power that a site may use
      </span>
    )}
    <span>
      <svg class="sample" viewBox="0 0 18 18" aria-hidden="true">
        <path class="arc" d="M1 15Q9 -4 17 15" />
      </svg>
      jobs of the last hour, from home to site
    </span>
    {crowded && <span>Where it is crowded, names appear when their site is pointed at; the table has all.</span>}
  </div>
);

// The sites and arcs of now, or of a step of the history.
function useMoment(sites, jobs, from) {
  const [at, setAt] = useState(null);
  const [wanted, setWanted] = useState(Boolean(from));
  const { history, error } = useHistory(wanted);
  const step = history && at !== null ? Math.min(at, history.times.length - 1) : null;
  // The address has the time that is shown, once the slider rests: whoever gets it sees the same.
  const asked = useRef(from);
  useEffect(() => {
    if (!history || !asked.current) return;
    setAt(stepOf(history, asked.current));
    asked.current = "";
  }, [history]);
  useEffect(() => {
    if (asked.current) return undefined;
    const text = step === null ? "" : history.times[step];
    const timer = setTimeout(() => (parseHash(location.hash).values.at ?? "") === text || setValues({ at: text }), 400);
    return () => clearTimeout(timer);
  }, [step]);
  const minute = useNow(60000);
  const now = step === null ? minute : Date.parse(history.times[step]);
  const shown = useMemo(() => (step === null ? sites : sitesAt(sites, history, step)), [sites, history, step]);
  const arcs = useMemo(
    () => arcsOf(step === null ? jobs : awayAt(history, step), sites, step === null ? Date.now() : now),
    [jobs, sites, history, step],
  );
  return { shown, arcs, now, past: step !== null, scrubber: { history, error, at, setAt, want: () => setWanted(true) } };
}

// Where the map is wider than the screen it begins with the middle one of the sites.
function useMiddle(layout) {
  const world = useRef(null);
  const known = layout.length > 0;
  useEffect(() => {
    if (!known) return undefined;
    const across = layout.map(({ point }) => point.x).sort((a, b) => a - b);
    let shown = 0;
    const begin = () => {
      const { scrollWidth, clientWidth } = world.current;
      if (clientWidth === shown) return;
      shown = clientWidth;
      world.current.scrollLeft = (scrollWidth * across[Math.floor(across.length / 2)]) / SIZE.width - clientWidth / 2;
    };
    begin();
    addEventListener("resize", begin); // a phone that is turned
    return () => removeEventListener("resize", begin);
  }, [known]);
  return world;
}

const none = [];

export function MapPage({ values }) {
  const { data: sites, error } = useSites();
  const jobs = useResource("placed", (signal) => get("jobs?state=starting,running,succeeded&limit=500", { signal }), {
    every: 60000,
    on: (event) => event.to === "running",
  });
  const layout = useLayout(sites ?? none);
  const { shown, arcs, now, past, scrubber } = useMoment(sites ?? none, jobs.data?.jobs ?? none, values.at ?? "");
  const world = useMiddle(layout);
  const then = useMemo(() => new Map(shown.map((site) => [site.site, site])), [shown]);
  const free = shown.reduce((sum, site) => sum + site.gpus_free, 0);
  const total = shown.reduce((sum, site) => sum + site.gpus_total, 0);
  const away = arcs.reduce((sum, arc) => sum + arc.count, 0);
  return (
    <>
      <Title text="Map" />
      {sites && (
        <p class="summary">
          {plural(sites.length, "site")}, {number(free)} of {plural(total, "GPU")} free.{" "}
          {away > 0 && `${plural(away, "job")} of the ${past ? "hour before" : "last hour"} went away from home.`}
        </p>
      )}
      <Notice error={error} what="Sites" />
      <figure class="map">
        <div class="world" ref={world}>
          <svg
            viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
            role="group"
            aria-label="Sites on the map of the world, by carbon intensity"
          >
            <Globe now={now} />
            <Arcs arcs={arcs} />
            {layout.map((each) => (
              <Site key={each.site.site} {...each} site={then.get(each.site.site)} />
            ))}
          </svg>
        </div>
        <Scrubber {...scrubber} />
        <figcaption>
          <Legend
            crowded={layout.some(({ box }) => box.hidden)}
            curtailed={shown.some((site) => site.curtailed_to_percent !== null)}
          />
        </figcaption>
      </figure>
      <h2>The same as a table</h2>
      {sites ? (
        <SitesTable sites={shown} past={past} sort={{ id: "carbon", down: false }} />
      ) : (
        !error && <Waiting what="the sites" />
      )}
    </>
  );
}
