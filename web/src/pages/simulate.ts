// Simulate: run, watch, stop; then what came of it.
import {useEffect, useState} from "preact/hooks";
import {get, post} from "../api";
import {html} from "../html";
import {Chart} from "../parts/chart";
import {ResultView} from "../parts/result";
import {go} from "../route";
import {percent, seconds, si, whole} from "../words";
import {JobBar, useJob} from "./jobs";
import {Replay} from "./replay";

export function SimulatePage({job}: {job?: string}) {
  return job ? html`<${Run} id=${job} />` : html`<${Start} />`;
}

function Start() {
  const [names, setNames] = useState<{own: string[]; examples: string[]}>({own: [], examples: []});
  const [name, setName] = useState("incast-rocev2");
  const [engine, setEngine] = useState("packet");
  const [said, setSaid] = useState("");
  useEffect(() => { get("/scenarios").then(setNames).catch(() => {}); }, []);
  const start = async () => {
    try {
      const {text} = await get(`/scenarios/${encodeURIComponent(name)}`);
      const job = await post("/jobs", {kind: "simulate", text, options: {engine}});
      go(`/simulate/${job.job}`);
    } catch (error) { setSaid((error as Error).message); }
  };
  return html`<div class="page"><h1>Simulate</h1>
    <p>Runs the traffic of a scenario on its network, packet by packet or as flows.</p>
    <div class="bar"><label>Scenario <select value=${name} onChange=${(event: Event) => setName((event.target as HTMLSelectElement).value)}>
      ${[...names.own, ...names.examples].map((one) => html`<option selected=${one === name}>${one}</option>`)}</select></label>
      <label>Engine <select value=${engine} onChange=${(event: Event) => setEngine((event.target as HTMLSelectElement).value)}><option>packet</option><option>flow</option></select></label>
      <button class="primary" onClick=${start}>Run</button></div>
    ${said && html`<p class="notice" role="alert">${said}</p>`}
  </div>`;
}

function Run({id}: {id: string}) {
  const {job, result, failed} = useJob(id);
  if (!job) return html`<div class="page"><h1>Simulate</h1><p class="quiet">${failed || "Loading..."}</p></div>`;
  return html`<div class="page"><${JobBar} job=${job} />
    ${job.message && html`<p class="notice">${job.message}</p>`}
    ${result && html`<${Outcome} result=${result} /><${Replay} id=${id} /><${Slowdowns} result=${result} /><details><summary>All numbers</summary><${ResultView} kind="simulate" result=${result} /></details>`}
  </div>`;
}

function Outcome({result}: {result: any}) {
  return html`<div class="figures">
    <div><b>${seconds(result.span_s)}</b><span>simulated</span></div>
    <div><b>${si(result.goodput_bps, "b/s")}</b><span>goodput</span></div>
    <div><b>${seconds(result.fct_s?.p99)}</b><span>p99 flow completion</span></div>
    <div><b>${result.slowdown ? Number(result.slowdown.p99).toFixed(2) : "-"}</b><span>p99 slowdown</span></div>
    <div><b>${whole(result.pauses ?? 0)}</b><span>pauses</span></div>
    <div><b>${whole(result.drops ?? 0)}</b><span>drops</span></div>
    <div><b>${whole(result.marks ?? 0)}</b><span>marks</span></div>
  </div>
  <h2>Busiest links</h2><ul class="bars">${(result.busiest_links ?? []).slice(0, 12).map((one: any) => html`<li><span>${one.link}</span><meter min="0" max="1" value=${one.utilisation} aria-label=${one.link}></meter><span>${percent(one.utilisation, 2)}</span></li>`)}</ul>`;
}

const QUANTILES = ["min", "p50", "p90", "p95", "p99", "max"];

function Slowdowns({result}: {result: any}) {
  const rows = (result.slowdown_by_size ?? []).filter((one: any) => one.flows);
  if (rows.length < 2) return null;
  return html`<${Chart} title="Slowdown by size" x=${rows.map((one: any) => Math.log10(one.up_to_bytes))} xLabel="log10 bytes" yLabel="slowdown"
    lines=${QUANTILES.filter((name) => name in rows[0]).map((name) => ({label: name, values: rows.map((one: any) => one[name])}))} />`;
}
