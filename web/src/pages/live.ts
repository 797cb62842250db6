// Live: the fabric of a watch; every cable's state, cases, and the past below.
import {useEffect, useMemo, useRef, useState} from "preact/hooks";
import {generation, get, onEvent, raw} from "../api";
import {type Floor, type FloorJson, floorOf} from "../fabric/floor";
import {CellStates, layoutOf, type Layout, type Mark, type StateName, STATES} from "../fabric/model";
import {SmallMap} from "../fabric/small-map";
import {Strips, type StripsJson} from "../fabric/strips";
import {FabricView} from "../fabric/view";
import {html} from "../html";
import {csv, download} from "../parts/download";
import {NextFaults, PartPanel} from "../parts/part-panel";
import {Table} from "../parts/table";
import {go, query, setQuery} from "../route";
import {ago, clock, percent, seconds, whole} from "../words";

export interface CaseJson { case: string; part: string; kind: string; state: StateName; confidence: number; evidence: string[]; hurts: {num_gpus: number; step_share: number | null}; opened_s: number; seen_s: number; closed_s: number | null; cells: number[] }
export interface LiveJson { name: string; time_s: number; now_s: number; sequence: number; status: string; sources: {source: string; fresh: boolean; error: string}[]; step_s: number | null; step_predicted_s?: number | null; step_designed_s: number | null; num_cells: number }

const LOAD_MS = 700; // loads take more rows than states: they come after them
const LOADS = "from idle, or not known, to the full rate: bytes between the last two looks, the busier way";

/** Let n and p lead to the next and the last of *open* cases, from the one that is shown; returns how to end it. */
export function followCaseKeys(open: {case: string}[], shown: string): () => void {
  const move = (event: Event) => {
    if (!open.length) return;
    const by = (event as CustomEvent<number>).detail;
    const at = open.findIndex((one) => one.case === shown);
    go(`/live/case/${open[at < 0 ? (by > 0 ? 0 : open.length - 1) : (at + by + open.length) % open.length]!.case}`);
  };
  addEventListener("netloom-case", move);
  return () => removeEventListener("netloom-case", move);
}

export function LivePage() {
  const at = query.value.get("at");
  const cell = query.value.get("cell");
  const search = query.value.get("part") ?? "";
  const [live, setLive] = useState<LiveJson | null>(null);
  const [layout, setLayout] = useState<Layout | null>(null);
  const [states, setStates] = useState<CellStates | null>(null);
  const [version, setVersion] = useState(0);
  const [cases, setCases] = useState<CaseJson[]>([]);
  const [strips, setStrips] = useState<StripsJson | null>(null);
  const [floor, setFloor] = useState<Floor | null>(null);
  const [said, setSaid] = useState("");
  const busy = useRef(false);
  const missed = useRef(false);
  const suffix = at ? `?at=${at}` : "";

  useEffect(() => { get("/live/fabric").then((found) => setLayout(layoutOf(found))).catch((error: Error) => setSaid(error.message)); }, []);
  const onFloor = query.value.get("view") === "floor";
  useEffect(() => {
    if (!onFloor || floor) return;
    Promise.all([get<FloorJson>("/live/floor"), raw("/live/floor/cells")]).then(([about, ends]) => setFloor(floorOf(about, ends.data))).catch((error: Error) => setSaid(error.message));
  }, [onFloor]);
  const refresh = async () => {
    if (!layout) return;
    if (busy.current) { missed.current = true; return; }
    busy.current = true;
    try {
      const [now, found, open] = await Promise.all([get("/live"), raw(`/live/state${suffix}`), get(`/live/cases${suffix}`)]);
      setLive(now);
      setStates(new CellStates(layout.numCells, found.data));
      setCases(open.cases);
      setVersion((old) => old + 1);
      setSaid("");
      if (found.headers.get("Netloom-Load") === "later") setTimeout(() => again.current(), LOAD_MS);
    } catch (error) { setSaid((error as Error).message); } finally {
      busy.current = false;
      if (missed.current) { missed.current = false; again.current(); } // the newest is asked for, none between is
    }
  };
  const again = useRef(refresh);
  again.current = refresh;
  useEffect(() => { refresh(); }, [layout, at, generation.value]);
  useEffect(() => { get("/live/strips").then(setStrips).catch(() => {}); }, [generation.value, Math.floor((live?.time_s ?? 0) / 60)]);
  useEffect(() => {
    if (at) return;
    const ends = [onEvent("live", () => refresh()), onEvent("case", () => refresh())];
    return () => ends.forEach((end) => end());
  }, [layout, at]);
  useEffect(() => {
    const timer = setInterval(() => get("/live").then(setLive).catch(() => {}), 5000);
    return () => clearInterval(timer);
  }, []);

  const open = useMemo(() => cases.filter((one) => one.closed_s == null), [cases]);
  const marks: Mark[] = useMemo(() => open.map((one) => ({id: one.case, label: `${one.part.split(" (")[0]} ${one.kind}`, state: one.state, cells: one.cells})), [open]);
  useEffect(() => followCaseKeys(open, ""), [open]);
  const counts = states?.counts();
  const shown = search ? cases.filter((one) => `${one.part} ${one.kind}`.includes(search)) : cases;

  return html`<div class="page live">
    <h1 class="hidden">Live</h1>
    ${said && html`<p class="notice" role="alert">${said}</p>`}
    ${live && html`<div class="bar status" aria-live="polite">
      <b class=${open.length ? "alarm" : ""}>${open.length} open ${open.length === 1 ? "case" : "cases"}</b>
      ${counts && html`<span>${whole(counts[0])} of ${whole(states!.numCells)} cables up${STATES.map((name, one) => (one > 0 && counts[one] ? `, ${whole(counts[one])} ${name}` : ""))}</span>`}
      ${(live.step_s ?? live.step_predicted_s) != null && html`<span>step ${seconds(live.step_s ?? live.step_predicted_s)} <span class="quiet">(designed ${seconds(live.step_designed_s)})</span></span>`}
      ${live.status === "ok" ? html`<span>seen ${ago(live.time_s, live.now_s)}</span>` : html`<strong class="alarm" role="alert">The watch is ${live.status}: last seen ${ago(live.time_s, live.now_s)}. What is shown may be wrong.</strong>`}
      ${at && html`<strong class="past">Showing ${clock(Number(at))} <button onClick=${() => setQuery({at: null})}>Now</button></strong>`}
    </div>`}
    <div class="split">
      <div>
        ${layout && states && html`<${FabricView} layout=${layout} states=${states} version=${version} marks=${marks} loads=${LOADS} floor=${floor} floors onMark=${(mark: Mark) => go(`/live/case/${mark.id}`)} onCell=${(one: number) => setQuery({cell: String(one), what: null})} />`}
        ${cell && layout && Number(cell) < layout.numCells && html`<${PartPanel} cell=${Number(cell)} part=${query.value.get("what") ?? ""} onPart=${(part: string) => setQuery({what: part})} onClose=${() => setQuery({cell: null, what: null})} />`}
        ${strips && html`<${Strips} strips=${strips} at=${at ? Number(at) : null} onPick=${(time_s: number | null) => setQuery({at: time_s == null ? null : String(Math.round(time_s))})} />`}
      </div>
      <section aria-label="Cases">
        <div class="bar"><h2>Cases</h2><span class="spring"></span>
          <input type="search" placeholder="part or kind" aria-label="Search cases" value=${search} onInput=${(event: Event) => setQuery({part: (event.target as HTMLInputElement).value})} />
          <button onClick=${() => download("cases.csv", csv(cases as any), "text/csv")}>CSV</button></div>
        <${Table} label="Cases, the surest first" rows=${shown} height=${420} rowKey=${(one: CaseJson) => one.case} onOpen=${(one: CaseJson) => go(`/live/case/${one.case}`)}
          empty="No case. Nothing is known to be broken." columns=${[
          {title: "state", cell: (one: CaseJson) => (one.closed_s == null ? html`<b>open</b>` : html`<span class="quiet">closed</span>`)},
          {title: "part", cell: (one: CaseJson) => html`<i class=${`look look-${one.state}`}></i> <span title=${one.part}>${one.part.split(" (")[0]}</span>`},
          {title: "kind", cell: (one: CaseJson) => one.kind},
          {title: "sure", right: true, cell: (one: CaseJson) => percent(one.confidence, 2)},
          {title: "GPUs", right: true, cell: (one: CaseJson) => whole(one.hurts.num_gpus)},
          {title: "since", cell: (one: CaseJson) => clock(one.opened_s).slice(5, 16)},
        ]} />
        ${layout && states && html`<details class="map-box" open><summary>Map</summary><${SmallMap} layout=${layout} states=${states} version=${version} /></details>`}
        ${live && !at && html`<${NextFaults} version=${open.length} />`}
      </section>
    </div>
  </div>`;
}
