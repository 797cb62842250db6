// One cable of the live fabric: what is known of it, and the step if it or an end of it fails. Nothing is touched.
import {useEffect, useState} from "preact/hooks";
import {get} from "../api";
import {html} from "../html";
import {percent, seconds, si} from "../words";
import {shown} from "./result";

interface Forecast { step_s: number | null; why: string }
interface WhatIf { part: string; step_designed: Forecast | null; step_now: Forecast | null; if_failed: Forecast | null; if_drained: Forecast | null }
interface CellJson { cell: number; cable: string; parts: string[]; rate_bps: number; ports: {port: string; values: Record<string, number | null>}[] }

const AGAIN_MS = 700;

export function PartPanel({cell, part, onPart, onClose}: {cell: number; part: string; onPart: (part: string) => void; onClose: () => void}) {
  const [found, setFound] = useState<CellJson | null>(null);
  const [said, setSaid] = useState("");
  useEffect(() => { setFound(null); setSaid(""); get(`/live/cell/${cell}`).then(setFound).catch((error: Error) => setSaid(error.message)); }, [cell]);
  if (said) return html`<p class="notice" role="alert">${said}</p>`;
  if (!found) return html`<p class="quiet">Loading...</p>`;
  const chosen = found.parts.includes(part) ? part : found.parts[0]!;
  const metrics = [...new Set(found.ports.flatMap((one) => Object.keys(one.values)))].sort();
  return html`<section class="panel" aria-label="Part">
    <div class="bar"><h2>${found.cable}</h2><span class="quiet">${si(found.rate_bps, "b/s")}</span><span class="spring"></span><button onClick=${onClose} aria-label="Close">×</button></div>
    <div class="bar" role="group" aria-label="What if">What if ${found.parts.map((one) => html`<button aria-pressed=${one === chosen} onClick=${() => onPart(one)}>${one}</button>`)} fails or is drained:</div>
    <${Steps} part=${chosen} />
    ${metrics.length > 0 && html`<details><summary>Ports now</summary><table class="plain"><thead><tr><th scope="col">number</th>${found.ports.map((one) => html`<th scope="col" class="right">${one.port}</th>`)}</tr></thead>
      <tbody>${metrics.map((name) => html`<tr><th scope="row">${name.replaceAll("_", " ")}</th>${found.ports.map((one) => html`<td class="right">${shown(name, one.values[name])}</td>`)}</tr>`)}</tbody></table></details>`}
  </section>`;
}

function Steps({part}: {part: string}) {
  const [found, setFound] = useState<WhatIf | null>(null);
  const [said, setSaid] = useState("");
  useEffect(() => {
    let timer = 0;
    let over = false;
    setFound(null);
    setSaid("");
    const ask = () => get(`/live/whatif?part=${encodeURIComponent(part)}`).then((next: WhatIf) => {
      if (over) return;
      setFound(next);
      if (!(next.step_designed && next.step_now && next.if_failed && next.if_drained)) timer = window.setTimeout(ask, AGAIN_MS);
    }).catch((error: Error) => setSaid(error.message));
    ask();
    return () => { over = true; clearTimeout(timer); };
  }, [part]);
  if (said) return html`<p class="notice">${said}</p>`;
  const now = found?.step_now?.step_s ?? null;
  return html`<dl class="steps" aria-live="polite">
    <${OneStep} title="designed" found=${found?.step_designed} />
    <${OneStep} title="now" found=${found?.step_now} />
    <${OneStep} title="if it fails" found=${found?.if_failed} from=${now} />
    <${OneStep} title="if it is drained" found=${found?.if_drained} from=${now} />
  </dl>`;
}

export function OneStep({title, found, from = null}: {title: string; found: Forecast | null | undefined; from?: number | null}) {
  const change = found?.step_s != null && from ? found.step_s / from - 1 : null;
  return html`<div><dt>${title}</dt><dd>${!found ? html`<span class="quiet">computing</span>` : found.step_s == null ? html`<span class="alarm">${found.why}</span>` : html`<b>${seconds(found.step_s)}</b>`}
    ${change != null && Math.abs(change) >= 5e-4 ? html` <span class="quiet">${change > 0 ? "+" : ""}${percent(change, 2)}</span>` : ""}</dd></div>`;
}

interface NextJson { part: string; because: string; if_failed: Forecast | null }

/** What is kept ready: the parts whose next fault would hurt most. */
export function NextFaults({version}: {version: number}) {
  const [parts, setParts] = useState<NextJson[]>([]);
  useEffect(() => {
    let timer = 0;
    let over = false;
    const ask = () => get("/live/next").then((found) => {
      if (over) return;
      setParts(found.parts);
      if (found.parts.some((one: NextJson) => !one.if_failed)) timer = window.setTimeout(ask, 2 * AGAIN_MS);
    }).catch(() => {});
    ask();
    return () => { over = true; clearTimeout(timer); };
  }, [version]);
  if (!parts.length) return null;
  return html`<section aria-label="If it fails next"><h2>If it fails next</h2><table class="plain"><thead><tr><th scope="col">part</th><th scope="col">why it</th><th scope="col">step then</th></tr></thead>
    <tbody>${parts.map((one) => html`<tr><th scope="row">${one.part}</th><td class="quiet">${one.because}</td><td>${!one.if_failed ? html`<span class="quiet">computing</span>` : one.if_failed.step_s == null ? html`<span class="alarm">${one.if_failed.why}</span>` : seconds(one.if_failed.step_s)}</td></tr>`)}</tbody></table></section>`;
}
