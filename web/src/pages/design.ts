// Design: edit a scenario, see problems as you type, the step and the comparison beside it.
import {useEffect, useMemo, useRef, useState} from "preact/hooks";
import {answer, ApiError, get, onEvent, post, type Problem, send} from "../api";
import {CellStates, layoutOf, type LayoutJson} from "../fabric/model";
import {FabricView} from "../fabric/view";
import {html} from "../html";
import {Breakdown} from "../parts/breakdown";
import {csv, download} from "../parts/download";
import type {Editor} from "../parts/editor";
import {EditorBox} from "../parts/editor-box";
import {Problems} from "../parts/problems";
import {Table} from "../parts/table";
import {go} from "../route";
import {percent, seconds, si, whole} from "../words";

const CHECK_MS = 60;
const COMPARE_MS = 400;
const DEFAULT = "llama-3.1-405b-16k";

export function DesignPage({name, operator}: {name: string; operator: boolean}) {
  const wanted = name || DEFAULT;
  const [names, setNames] = useState<{own: string[]; examples: string[]}>({own: [], examples: []});
  const [text, setText] = useState("");
  const [etag, setEtag] = useState("");
  const [saved, setSaved] = useState("");
  const [problems, setProblems] = useState<Problem[]>([]);
  const [step, setStep] = useState<any>(null);
  const [rest, setRest] = useState<any>(null);
  const [comparison, setComparison] = useState<any>(null);
  const [comparing, setComparing] = useState<{job: string; share: number | null} | null>(null);
  const [layout, setLayout] = useState<LayoutJson | null>(null);
  const [notice, setNotice] = useState("");
  const editor = useRef<Editor | null>(null);
  const words = useMemo(() => WORDS, []);

  useEffect(() => { get("/scenarios").then(setNames).catch(() => {}); }, [etag]);
  useEffect(() => {
    get(`/scenarios/${encodeURIComponent(wanted)}`).then((found) => {
      setText(found.text); setEtag(found.example ? "" : found.etag); setSaved(found.text); setRest(null); setNotice("");
    }).catch((error: Error) => setNotice(error.message));
  }, [wanted]);

  useEffect(() => {
    if (!text) return;
    const stop = new AbortController();
    const timer = setTimeout(() => { ask(text, stop.signal, setProblems, (found) => { setStep(found); if (found) setRest((old: any) => old ?? found); }, setNotice); }, CHECK_MS);
    const later = setTimeout(() => {
      answer("layout", {text}, stop.signal).then(setLayout).catch(() => {});
      post("/jobs", {kind: "compare", text, replaces: "design-compare"}, stop.signal).then((job) => setComparing({job: job.job, share: null})).catch(() => {});
    }, COMPARE_MS);
    return () => { stop.abort(); clearTimeout(timer); clearTimeout(later); };
  }, [text]);

  useEffect(() => onEvent("job", (job) => {
    if (job.job !== comparing?.job) return;
    if (job.state === "done") get(`/jobs/${job.job}/result`).then((found) => { setComparison(found); setComparing(null); }).catch(() => {});
    else if (["failed", "stopped"].includes(job.state)) setComparing(null);
    else setComparing({job: job.job, share: job.share});
  }), [comparing?.job]);
  useEffect(() => {
    if (!comparing) return;
    const timer = setInterval(async () => { // an event that came before the page knew the job's name
      const job = await get(`/jobs/${comparing.job}`).catch(() => null);
      if (job?.state === "done") { setComparison(await get(`/jobs/${comparing.job}/result`)); setComparing(null); }
    }, 1000);
    return () => clearInterval(timer);
  }, [comparing?.job]);

  const save = async () => {
    try {
      const target = etag ? wanted : prompt("Save as", wanted.replace(/[^\w.-]/g, "-")) ?? "";
      if (!target) return;
      const found = await send("PUT", `/scenarios/${encodeURIComponent(target)}`, {text}, {"If-Match": `"${target === wanted ? etag : ""}"`});
      setEtag(found.etag); setSaved(text); setNotice(`saved as ${target}`);
      if (target !== wanted) go(`/design/${encodeURIComponent(target)}`);
    } catch (error) { setNotice((error as Error).message); }
  };
  const start = async (kind: string, options: object = {}) => {
    try {
      const job = await post("/jobs", {kind, text, options});
      go(kind === "simulate" ? `/simulate/${job.job}` : `/jobs/${job.job}`);
    } catch (error) { setNotice((error as Error).message); }
  };
  const model = useMemo(() => layout && layoutOf(layout), [layout]);
  const states = useMemo(() => model && new CellStates(model.numCells), [model]);

  return html`<div class="design">
    <h1 class="hidden">Design</h1>
    <section class="text" aria-label="Scenario">
      <div class="bar">
        <label>Scenario <select value=${wanted} onChange=${(event: Event) => go(`/design/${encodeURIComponent((event.target as HTMLSelectElement).value)}`)}>
          ${names.own.length > 0 && html`<optgroup label="own">${names.own.map((one) => html`<option selected=${one === wanted}>${one}</option>`)}</optgroup>`}
          <optgroup label="examples">${names.examples.map((one) => html`<option selected=${one === wanted}>${one}</option>`)}</optgroup>
        </select></label>
        <span class="spring"></span>
        ${operator && html`<button onClick=${save} disabled=${text === saved && !!etag}>Save</button>`}
      </div>
      <${Sliders} text=${text} onChange=${setText} />
      <${EditorBox} text=${text} problems=${problems} words=${words} onChange=${setText} onReady=${(made: Editor) => { editor.current = made; }} />
      <${Problems} problems=${problems} onOpen=${(one: Problem) => editor.current?.goTo(one.where.line, one.where.column)} />
      ${notice && html`<p class="notice" role="status">${notice}</p>`}
    </section>
    <section class="answers" aria-label="Answers">
      ${step ? html`<${Step} step=${step} rest=${rest} />` : html`<p class="quiet">${problems.length ? "The step appears when the problems are gone." : "Computing the step..."}</p>`}
      <div class="bar">
        <h2>Technologies</h2>
        ${comparing && html`<progress value=${comparing.share ?? undefined} aria-label="Comparing"></progress>`}
        <span class="spring"></span>
        ${comparison && html`<button onClick=${() => download("compare.csv", csv(comparison.technologies.map(plainRow)), "text/csv")}>CSV</button>`}
        <button onClick=${() => start("plan")}>Plan</button>
        <button onClick=${() => start("simulate")}>Simulate</button>
        <button onClick=${() => start("goodput")}>Goodput</button>
        <button onClick=${() => start("whatif", {rank: "all"})}>What fails worst</button>
      </div>
      ${comparison && html`<${Comparison} found=${comparison} stale=${!!comparing} />`}
      ${model && states && html`<h2>Fabric <span class="quiet">${whole(model.numCells)} cables</span></h2><${FabricView} layout=${model} states=${states} version=${0} marks=${NO_MARKS} height=${360} />`}
    </section>
  </div>`;
}

const NO_MARKS: never[] = [];
const WORDS = ["name", "cluster", "nodes", "gpus", "node", "gpus_per_node", "fabric", "technology", "topology", "kind", "tiers", "oversubscription", "switch", "job", "model", "training", "sequence", "global_batch", "micro_batch", "precision", "recompute", "parallel", "tensor", "pipeline", "data", "context", "expert", "virtual", "software", "traffic", "infiniband-ndr", "rocev2-400g", "spectrum-x-400g", "uet-400g", "scheduled-400g", "iwarp-100g", "tcp-400g", "dgx-h100", "fat-tree", "rail-fat-tree", "rail-only", "multi-plane", "dragonfly-plus", "torus"];

async function ask(text: string, stop: AbortSignal, problems: (found: Problem[]) => void, step: (found: any) => void, notice: (text: string) => void) {
  try {
    const checked = await post("/check", {text}, stop);
    problems(checked.problems);
    if (!checked.ok) return step(null);
    step(await answer("predict", {text}, stop));
    notice("");
  } catch (error) {
    if ((error as Error).name === "AbortError") return;
    if (error instanceof ApiError && error.problems.length && error.status < 500) { problems(error.problems); step(null); }
    else notice((error as Error).message);
  }
}

function Step({step, rest}: {step: any; rest: any}) {
  const change = rest && rest.step_time_s ? step.step_time_s / rest.step_time_s - 1 : 0;
  return html`<div class="step">
    <div class="figures">
      <div><b>${seconds(step.step_time_s)}</b><span>step${step.interval ? ` (${seconds(step.interval.low)} to ${seconds(step.interval.high)})` : ""}</span></div>
      <div><b>${percent(step.mfu)}</b><span>MFU</span></div>
      <div><b>${percent(step.exposed_share, 2)}</b><span>waits for communication</span></div>
      <div><b>${si(step.tokens_per_s, "tok/s")}</b><span>tokens</span></div>
      <div><b>${si(step.memory_bytes?.total, "B")}</b><span>of ${si(step.memory_bytes?.capacity, "B")} memory</span></div>
      ${Math.abs(change) > 5e-4 && html`<div><b>${change > 0 ? "+" : ""}${percent(change, 2)}</b><span>against where you began</span></div>`}
    </div>
    <${Breakdown} parts=${step.breakdown_s} total=${step.step_time_s} />
    <p class=${step.validity.inside ? "inside" : "outside"}><b>${step.validity.inside ? "Inside the validated range." : "Outside the validated range."}</b> ${step.validity.doubts.slice(0, 2).join(" ")}</p>
    ${step.published && html`<p class="quiet">Published: ${step.published.step_time_s ? seconds(step.published.step_time_s) : ""} ${step.published.mfu ? `MFU ${percent(step.published.mfu, 2)}` : ""} (${step.published.source})</p>`}
  </div>`;
}

const plainRow = (one: any) => Object.fromEntries(Object.entries(one).filter(([, value]) => typeof value !== "object"));

function Comparison({found, stale}: {found: any; stale: boolean}) {
  const best = found.recommendation?.technology;
  return html`<div class=${stale ? "stale" : ""}>
    <${Table} label="Technologies" rows=${found.technologies} height=${300} rowKey=${(one: any) => one.technology} selected=${best} columns=${[
      {title: "technology", cell: (one: any) => one.technology},
      {title: "step", right: true, cell: (one: any) => seconds(one.step_time_s)},
      {title: "MFU", right: true, cell: (one: any) => percent(one.mfu)},
      {title: "USD / 1T tokens", right: true, cell: (one: any) => si(one.usd_per_trillion_tokens, "")},
      {title: "network", right: true, cell: (one: any) => si(one.network_capex_usd, "USD")},
      {title: "power", right: true, cell: (one: any) => si(one.network_power_w, "W")},
      {title: "goodput", right: true, cell: (one: any) => percent(one.goodput)},
    ]} />
    ${found.recommendation && html`<ul class="reasons">${[...found.recommendation.reasons.slice(0, 2), ...found.recommendation.doubts.slice(0, 1)].map((one: string) => html`<li>${one}</li>`)}</ul>`}
    ${(found.refused ?? []).map((one: any) => html`<p class="quiet">${one.technology}: ${one.reason ?? one.message}</p>`)}
  </div>`;
}

const SLIDERS: [string, RegExp][] = [
  ["nodes", /^(\s*nodes:\s*)(\d+)/m], ["GPUs", /^(\s*gpus:\s*)(\d+)/m], ["global batch", /^(\s*global_batch:\s*)(\d+)/m], ["sequence", /^(\s*sequence:\s*)(\d+)/m],
];

/** Numbers of the text that can be dragged, in powers of two around what was there. */
function Sliders({text, onChange}: {text: string; onChange: (text: string) => void}) {
  const rest = useRef<Record<string, number>>({});
  const found = SLIDERS.flatMap(([label, pattern]) => {
    const match = pattern.exec(text);
    return match ? [{label, pattern, value: Number(match[2])}] : [];
  });
  return html`<div class="sliders">${found.map(({label, pattern, value}) => {
    const base = (rest.current[label] ??= value);
    return html`<label>${label}
      <input type="range" min="-3" max="3" step="1" value=${Math.round(Math.log2(value / base))} aria-valuetext=${whole(value)}
        onInput=${(event: Event) => {
          const next = Math.max(1, Math.round(base * 2 ** Number((event.target as HTMLInputElement).value)));
          onChange(text.replace(pattern, (_: string, before: string) => `${before}${next}`));
        }} /><output>${whole(value)}</output></label>`;
  })}</div>`;
}
