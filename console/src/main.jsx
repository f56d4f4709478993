// The frame of all pages: who is signed in, the way from page to page, whether the stream of events is live.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, onSignedOut, signOut, token } from "./api.js";
import { JobPage } from "./job.jsx";
import { useStream } from "./live.js";
import { Login } from "./login.jsx";
import { MapPage } from "./map.jsx";
import { insist } from "./patience.js";
import { Waiting } from "./parts.jsx";
import { QueuePage } from "./queue.jsx";
import { link, usePlace } from "./router.js";
import { SitePage } from "./site.jsx";
import { SitesPage } from "./sites.jsx";
import { ThemeButton } from "./theme.jsx";

const tabs = [
  ["map", "Map"],
  ["sites", "Sites"],
  ["queue", "Queue"],
  ["savings", "Savings"],
  ["teams", "Teams"],
  ["whatif", "What if"],
];
const parents = { jobs: "queue" };

// A page of later.jsx. While the broker does not answer, the file is asked for again.
function Later({ page, ...rest }) {
  const [pages, setPages] = useState(null);
  useEffect(() => {
    const end = new AbortController();
    insist(() => import("./later.jsx"), end.signal).then((found) => end.signal.aborted || setPages(found));
    return () => end.abort();
  }, []);
  const Found = pages?.[page];
  return Found ? <Found {...rest} /> : <Waiting what="the page" />;
}

function Page({ place, who }) {
  const { page, argument, values } = place;
  if (page === "sites" && argument) return <SitePage key={argument} name={argument} who={who} />;
  if (page === "sites") return <SitesPage who={who} />;
  if (page === "queue") return <QueuePage values={values} />;
  if (page === "savings") return <Later page="SavingsPage" values={values} />;
  if (page === "teams") return <Later page="TeamsPage" who={who} />;
  if (page === "whatif") return <Later page="WhatIfPage" key={values.job} values={values} />;
  if (page === "jobs" && argument) return <JobPage key={argument} id={argument} />;
  return <MapPage values={values} />;
}

const streams = { connecting: "connecting", live: "live", waiting: "no connection, trying again" };

function Stream() {
  const state = useStream();
  return (
    <span class={`stream ${state}`} role="status">
      {streams[state]}
    </span>
  );
}

function Frame({ who }) {
  const place = usePlace();
  const skip = (event) => {
    event.preventDefault();
    document.querySelector("main h1")?.focus();
  };
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to content
      </a>
      <header>
        <a class="brand" href={link("map")}>
          <img src="icon.svg" alt="" width="24" height="24" />
          Heliostat
        </a>
        <nav aria-label="Pages">
          {tabs.map(([page, title]) => (
            <a
              key={page}
              href={link(page)}
              aria-current={(parents[place.page] ?? place.page) === page ? "page" : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
        <div class="session">
          <Stream />
          {who && (
            <span class="who">
              {who.user}
              <small>
                {who.tenant} · {who.role}
              </small>
            </span>
          )}
          <ThemeButton />
          <button type="button" onClick={() => signOut()}>
            Sign out
          </button>
        </div>
      </header>
      <main id="main">
        <Page place={place} who={who} />
      </main>
    </>
  );
}

function Console() {
  const [credential, setCredential] = useState(token());
  const [who, setWho] = useState(null);
  const [why, setWhy] = useState("");
  useEffect(
    () =>
      onSignedOut((text) => {
        setWhy(text);
        setWho(null);
        setCredential("");
      }),
    [],
  );
  useEffect(() => {
    if (!credential || who) return undefined;
    const end = new AbortController();
    insist((signal) => get("whoami", { signal }), end.signal).then((found) => {
      if (!end.signal.aborted) setWho(found);
    });
    return () => end.abort();
  }, [credential]);
  const enter = (found) => {
    setWho(found);
    setWhy("");
    setCredential(token());
  };
  return credential ? <Frame who={who} /> : <Login why={why} enter={enter} />;
}

render(<Console />, document.getElementById("console"));
