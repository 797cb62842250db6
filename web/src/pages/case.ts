// One case: where, how sure, why, whom it hurts, what each remedy does; approve, verified, undo.
import {useEffect, useState} from "preact/hooks";
import {ApiError, generation, get, onEvent, post} from "../api";
import {html} from "../html";
import {Chart} from "../parts/chart";
import {clock, percent, seconds, whole} from "../words";
import {State, type Job} from "./jobs";
import {type CaseJson, followCaseKeys} from "./live";

interface PlanJson { fingerprint: string; title: string; by_request?: boolean; acts: string[]; requests?: string[]; verdict: string; why: string[]; step_before_s: number | null; step_after_s: number | null; capacity_away: number | null }
interface SeriesJson { part: string; metric: string; time_s: number[]; value: (number | null)[] }
interface Detail extends CaseJson { series: SeriesJson[]; step_designed_s: number | null; step_now_s: number | null; acts: ActJson[]; people: PeopleJson }
interface ActJson { number: number; time_s: number; what: string; phase: string; by: string; says: string[]; undoable: boolean }
interface PeopleJson { acknowledged_by: string; assigned_to: string; remedy: string; audit: {time_s: number; act: string; by: string; text: string}[] }
interface PlansJson { plans: PlanJson[]; looking: boolean; error: string }

export function CasePage({id, operator}: {id: string; operator: boolean}) {
  const [found, setFound] = useState<Detail | null>(null);
  const [plans, setPlans] = useState<PlansJson | null>(null);
  const [job, setJob] = useState<Job | null>(null);
  const [said, setSaid] = useState("");
  const load = () => {
    get(`/cases/${encodeURIComponent(id)}`).then(setFound).catch((error: Error) => setSaid(error.message));
    get(`/cases/${encodeURIComponent(id)}/plan`).then(setPlans).catch((error: Error) => setPlans({plans: [], looking: false, error: error.message}));
  };
  useEffect(load, [id, generation.value]);
  useEffect(() => {
    const ends = [onEvent("case", (one) => { if (one.case === id) load(); }), onEvent("plan", load), onEvent("act", load),
      onEvent("job", (one: Job) => { if (one.kind.startsWith("heal-")) { setJob((old) => (old?.job === one.job ? one : old)); load(); } })];
    return () => ends.forEach((end) => end());
  }, [id]);
  const [others, setOthers] = useState<CaseJson[]>([]);
  useEffect(() => { get("/live/cases").then((all) => setOthers(all.cases.filter((one: CaseJson) => one.closed_s == null))).catch(() => {}); }, [id, generation.value]);
  useEffect(() => followCaseKeys(others, id), [others, id]);
  const approve = async (plan: PlanJson) => {
    setSaid("");
    try { setJob(await post(`/cases/${encodeURIComponent(id)}/apply`, {fingerprint: plan.fingerprint})); } catch (error) {
      setSaid(error instanceof ApiError && error.status === 409 ? `${error.message}. Below is what a fresh look leads to.` : (error as Error).message);
      load();
    }
  };
  const undo = async (number: number) => {
    try { setJob(await post(`/acts/${number}/undo`, {})); } catch (error) { setSaid((error as Error).message); }
  };
  const isBusy = job != null && (job.state === "waiting" || job.state === "running");
  if (!found) return html`<div class="page"><h1>Case</h1><p class="quiet">${said || "Loading..."}</p></div>`;
  return html`<div class="page case">
    <div class="bar"><a href="/live">Live</a> <h1><i class=${`look look-${found.state}`}></i> ${found.part} <span>${found.kind}</span></h1>
      <b>${percent(found.confidence, 2)} sure</b><span class="quiet">since ${clock(found.opened_s)}${found.closed_s ? `, closed ${clock(found.closed_s)}` : ""}</span></div>
    ${said && html`<p class="notice" role="alert">${said}</p>`}
    <div class="split">
      <section aria-label="Evidence"><h2>Why</h2><ol>${found.evidence.map((one) => html`<li>${one}</li>`)}</ol>
        ${found.series.map((one) => html`<${Chart} key=${one.part + one.metric} title=${`${one.part} ${one.metric}`} x=${one.time_s} xLabel="time, UTC" yLabel=${one.metric.replaceAll("_", " ")} time held lines=${[{label: one.metric, values: one.value}]} height=${160} />`)}
      </section>
      <section aria-label="Remedies">
        <h2>Whom it hurts</h2>
        <p>${found.hurts.num_gpus ? `${whole(found.hurts.num_gpus)} GPUs hang on it` : "No GPU hangs on it alone; all that cross the fabric share what is left"}${found.step_now_s != null ? `; step ${seconds(found.step_now_s)}, designed ${seconds(found.step_designed_s)}` : ""}</p>
        <h2>Remedies</h2>
        ${plans == null || plans.looking ? html`<p class="quiet">Looking...</p>` : plans.plans.length === 0 && html`<p class="quiet">${plans.error || (found.closed_s ? "The case is closed." : "No remedy that netloom can carry out.")}</p>`}
        ${(plans?.plans ?? []).map((plan) => html`<${Plan} key=${plan.fingerprint + plan.title} plan=${plan} may=${operator && !isBusy} onApprove=${() => approve(plan)} />`)}
        ${job && html`<p role="status" class="heal-job"><${State} job=${job} /> ${job.message}</p>`}
        <${Acts} acts=${found.acts} may=${operator && !isBusy} onUndo=${undo} />
        <${People} id=${id} people=${found.people} open=${found.closed_s == null} operator=${operator} onDone=${load} onError=${setSaid} />
      </section>
    </div>
  </div>`;
}

function Plan({plan, may, onApprove}: {plan: PlanJson; may: boolean; onApprove: () => void}) {
  const verdict = plan.verdict === "refuse" ? html`<b class="alarm">Refused:</b>` : plan.verdict === "ask" ? html`<b>Needs approval:</b>` : html`<b class="ok">Allowed by policy.</b>`;
  return html`<article class="plan"><h3>${plan.title}${plan.by_request ? html` <span class="quiet">if you ask for it</span>` : ""}</h3>
    <ul>${plan.acts.map((one) => html`<li><code>${one}</code></li>`)}</ul>
    ${(plan.requests ?? []).length > 0 && html`<details><summary>${plan.requests!.length} requests, exactly</summary><pre>${plan.requests!.join("\n")}</pre></details>`}
    <p>Step ${seconds(plan.step_before_s)} to <b>${plan.step_after_s == null ? "none: the job stops" : seconds(plan.step_after_s)}</b>. ${plan.capacity_away != null ? html`Capacity away ${percent(plan.capacity_away, 2)}.` : ""}</p>
    <p>${verdict} ${plan.why.join("; ")}</p>
    <div class="bar">${plan.fingerprint && html`<code class="quiet">plan ${plan.fingerprint}</code>`}<span class="spring"></span>
      <button class="primary" disabled=${!may || plan.verdict === "refuse"} onClick=${onApprove}>Approve and apply</button></div></article>`;
}

/** What was done, each act with how far it is: begun, done, verified, undone. */
function Acts({acts, may, onUndo}: {acts: ActJson[]; may: boolean; onUndo: (number: number) => void}) {
  if (acts.length === 0) return null;
  return html`<h2>Done</h2><ul class="acts" aria-live="polite">${acts.map((one) => html`<li key=${one.number}>${clock(one.time_s)} ${one.what}: <b>${one.phase}</b> <span class="quiet">${one.by ? `by ${one.by}` : "by policy"}; ${one.says.join("; ")}</span>
    ${one.undoable && html` <button disabled=${!may} onClick=${() => onUndo(one.number)}>Undo</button>`}</li>`)}</ul>`;
}

/** Who has seen it, whose it is, what was said; and the same by a click. */
function People({id, people, open, operator, onDone, onError}: {id: string; people: PeopleJson; open: boolean; operator: boolean; onDone: () => void; onError: (text: string) => void}) {
  const [text, setText] = useState("");
  const [lasts, setLasts] = useState("2h");
  const say = async (what: string, body: Record<string, string>) => {
    try { await post(`/cases/${encodeURIComponent(id)}/${what}`, body); setText(""); onError(""); onDone(); } catch (error) { onError((error as Error).message); }
  };
  const words = text.trim();
  return html`<h2>People</h2>
    <p>${people.acknowledged_by ? `Seen by ${people.acknowledged_by}` : "Not acknowledged"}; ${people.assigned_to ? `with ${people.assigned_to}` : "with no one"}. <span class="quiet">${people.remedy}</span></p>
    <ul class="said">${people.audit.filter((one) => one.act !== "open").map((one) => html`<li>${clock(one.time_s)} <b>${one.by}</b> ${one.act} ${one.text}</li>`)}</ul>
    ${operator && html`<div class="bar"><label>Words, name or reason <input value=${text} maxlength="400" onInput=${(event: InputEvent) => setText((event.target as HTMLInputElement).value)} /></label>
      <button disabled=${!open} onClick=${() => say("ack", {text: words})}>Acknowledge</button>
      <button disabled=${!open || !words} onClick=${() => say("assign", {to: words})}>Assign</button>
      <button disabled=${!words} onClick=${() => say("comment", {text: words})}>Comment</button>
      <button disabled=${!open} onClick=${() => say("close", {text: words})}>Close</button></div>
    <div class="bar"><label>For <input value=${lasts} size="5" onInput=${(event: InputEvent) => setLasts((event.target as HTMLInputElement).value)} /></label>
      <button disabled=${!open || !words} onClick=${() => say("silence", {lasts, reason: words})}>Silence</button>
      <button disabled=${!words} onClick=${() => say("maintain", {lasts, reason: words})}>Maintenance</button></div>`}`;
}
