// The frame of every page: where one is, who one is, whether the server answers; keys; theme.
import {signal} from "@preact/signals";
import {useEffect} from "preact/hooks";
import {connected, get} from "./api";
import {html} from "./html";
import {CasePage} from "./pages/case";
import {DesignPage} from "./pages/design";
import {JobsPage} from "./pages/jobs";
import {LivePage} from "./pages/live";
import {SimulatePage} from "./pages/simulate";
import {go, path, setQuery} from "./route";

const me = signal<{name: string; role: string} | null>(null);
const help = signal(false);

const PAGES: [string, string, string][] = [["design", "Design", "g d"], ["simulate", "Simulate", "g s"], ["live", "Live", "g l"], ["jobs", "Jobs", "g j"]];
const KEYS: [string, string][] = [
  ["g then d, s, l, j", "go to Design, Simulate, Live, Jobs"], ["c, m, f", "cards, matrix, floor"], ["n, p", "next case, last case"],
  ["left, right", "groups of the fabric, then switches, then cables"], ["down, up", "into what has the focus, out of it"], ["Enter", "open what has the focus"], ["/", "search parts"], ["t", "light or dark"], ["?", "these keys"],
];

export function Shell() {
  useEffect(() => {
    get("/me").then((found) => { me.value = found; }).catch(() => { me.value = null; });
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const [page = "design", second] = path.value;
  return html`
    <a class="skip" href="#main" onClick=${(event: Event) => { event.preventDefault(); document.getElementById("main")!.focus(); }}>Skip to the page</a>
    <header>
      <a class="brand" href="/">netloom</a>
      <nav aria-label="Pages">${PAGES.map(([name, title]) => html`<a href=${`/${name}`} aria-current=${page === name ? "page" : undefined}>${title}</a>`)}</nav>
      <span class="spring"></span>
      ${!connected.value && html`<strong class="alarm" role="alert">The server does not answer. What is shown is old.</strong>`}
      ${me.value && html`<span class="who">${me.value.name}${me.value.name !== me.value.role && html` <span class="quiet">${me.value.role}</span>`}</span>`}
      <button onClick=${toggleTheme} aria-label="Light or dark">◐</button>
      <button onClick=${() => { help.value = !help.value; }} aria-label="Keys" aria-expanded=${help.value}>?</button>
    </header>
    ${help.value && html`<aside class="help" aria-label="Keys"><dl>${KEYS.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl></aside>`}
    <main id="main" tabindex="-1">
      ${page === "jobs" ? html`<${JobsPage} job=${second} />`
        : page === "simulate" ? html`<${SimulatePage} job=${second} />`
        : page === "live" && second === "case" ? html`<${CasePage} id=${path.value[2] ?? ""} operator=${me.value?.role === "operator"} />`
        : page === "live" ? html`<${LivePage} />`
        : html`<${DesignPage} name=${second ?? ""} operator=${me.value?.role === "operator"} />`}
    </main>`;
}

let waiting = "";

function onKey(event: KeyboardEvent): void {
  const target = event.composedPath()[0] as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
  if (waiting === "g") {
    const to = {d: "design", s: "simulate", l: "live", j: "jobs"}[event.key];
    waiting = "";
    if (to) return go(`/${to}`);
  }
  if (event.key === "g") waiting = "g";
  else if (event.key === "c") setQuery({view: "cards"});
  else if (event.key === "m") setQuery({view: "matrix"});
  else if (event.key === "f") setQuery({view: "floor"});
  else if (event.key === "t") toggleTheme();
  else if (event.key === "?") help.value = !help.value;
  else if (event.key === "/") { const search = document.querySelector<HTMLInputElement>("input[type=search]"); if (search) { event.preventDefault(); search.focus(); } }
  else if (event.key === "n" || event.key === "p") dispatchEvent(new CustomEvent("netloom-case", {detail: event.key === "n" ? 1 : -1}));
}

function toggleTheme(): void {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  dispatchEvent(new Event("netloom-theme"));
}

