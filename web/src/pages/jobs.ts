// Jobs: what runs, ran, failed; who, when, how long; stop, again, result.
import {useEffect, useState} from "preact/hooks";
import {generation, get, onEvent, post, send} from "../api";
import {html} from "../html";
import {csv, download} from "../parts/download";
import {ResultView} from "../parts/result";
import {Table} from "../parts/table";
import {go} from "../route";
import {clock, percent, seconds} from "../words";

export interface Job { job: string; kind: string; options: object; about: string; state: string; by: string; asked_s: number; began_s: number | null; ended_s: number | null; share: number | null; message: string; partial: boolean }

export function JobsPage({job}: {job?: string}) {
  return job ? html`<${OneJob} id=${job} />` : html`<${AllJobs} />`;
}

function AllJobs() {
  const [jobs, setJobs] = useState<Job[]>([]);
  useEffect(() => { get("/jobs").then((found) => setJobs(found.jobs)).catch(() => {}); }, [generation.value]);
  useEffect(() => onEvent("job", (changed: Job) => setJobs((old) => {
    const at = old.findIndex((one) => one.job === changed.job);
    return at < 0 ? [changed, ...old] : old.map((one) => (one.job === changed.job ? changed : one));
  })), []);
  return html`<div class="page">
    <div class="bar"><h1>Jobs</h1><span class="spring"></span><button onClick=${() => download("jobs.csv", csv(jobs as any), "text/csv")}>CSV</button></div>
    <${Table} label="Jobs" rows=${jobs} height=${640} rowKey=${(one: Job) => one.job} onOpen=${(one: Job) => go(`/jobs/${one.job}`)}
      empty="No job has run yet. Start one from Design." columns=${[
      {title: "job", cell: (one: Job) => one.kind},
      {title: "about", cell: (one: Job) => one.about},
      {title: "state", cell: (one: Job) => html`<${State} job=${one} />`},
      {title: "by", cell: (one: Job) => one.by},
      {title: "asked", cell: (one: Job) => clock(one.asked_s)},
      {title: "took", right: true, cell: (one: Job) => (one.began_s && one.ended_s ? seconds(one.ended_s - one.began_s) : "")},
      {title: "says", cell: (one: Job) => one.message},
    ]} />
  </div>`;
}

export function State({job}: {job: Job}) {
  if (job.state === "running") return html`<progress value=${job.share ?? undefined} aria-label="running"></progress> ${job.share == null ? "running" : percent(job.share, 2)}`;
  return html`<span class=${`state state-${job.state}`}>${job.state}${job.partial ? ", partial" : ""}</span>`;
}

/** What is known of a job, given what was just told: an answer that was on its way while the job ended does not undo its end. */
function laterOf(known: Job | null, told: Job): Job {
  return known?.job === told.job && known.ended_s != null && told.ended_s == null ? known : told;
}

/** A job as it is now, and its result once there is one; both are asked for again when the server comes back. */
export function useJob(id: string): {job: Job | null; result: any; failed: string} {
  const [told, setTold] = useState<Job | null>(null);
  const [found, setFound] = useState<{id: string; result: any} | null>(null);
  const [failed, setFailed] = useState("");
  const job = told?.job === id ? told : null;
  const ended = job != null && (job.state === "done" || job.partial);
  useEffect(() => { setFailed(""); get<Job>(`/jobs/${id}`).then((one) => setTold((known) => laterOf(known, one))).catch((error: Error) => setFailed(error.message)); }, [id, generation.value]);
  useEffect(() => onEvent("job", (changed: Job) => { if (changed.job === id) setTold((known) => laterOf(known, changed)); }), [id]);
  useEffect(() => { if (ended) get(`/jobs/${id}/result`).then((result) => setFound({id, result})).catch((error: Error) => setFailed(error.message)); }, [id, ended, generation.value]);
  return {job, result: found?.id === id ? found.result : null, failed};
}

function OneJob({id}: {id: string}) {
  const {job, result, failed} = useJob(id);
  if (!job) return html`<div class="page"><h1>Job</h1><p class="quiet">${failed || "Loading..."}</p></div>`;
  return html`<div class="page">
    <${JobBar} job=${job} />
    ${job.message && html`<p class="notice">${job.message}</p>`}
    ${result && html`<${ResultView} kind=${job.kind} result=${result} />`}
  </div>`;
}

export function JobBar({job}: {job: Job}) {
  const again = async () => {
    const {text, options} = await get(`/jobs/${job.job}/scenario`);
    const next = await post("/jobs", {kind: job.kind, text, options});
    go(job.kind === "simulate" ? `/simulate/${next.job}` : `/jobs/${next.job}`);
  };
  const running = job.state === "running" || job.state === "waiting";
  return html`<div class="bar"><h1>${job.kind}</h1> ${job.about} <${State} job=${job} />
    <span class="quiet">${job.by}, ${clock(job.asked_s)}${job.began_s && job.ended_s ? `, took ${seconds(job.ended_s - job.began_s)}` : ""}</span>
    <span class="spring"></span>
    ${running && html`<button onClick=${() => send("DELETE", `/jobs/${job.job}`)}>Stop${job.kind === "simulate" ? ", keep results" : ""}</button>`}
    ${!running && html`<button onClick=${again}>Again</button>`}
    ${!running && html`<a class="button" href=${`/api/v1/jobs/${job.job}/result`} download=${`${job.kind}.json`}>JSON</a>`}
  </div>`;
}
