// Replay of a simulation: the same picture of the fabric, the same kind of slider as the past of a watch.
import {useEffect, useMemo, useRef, useState} from "preact/hooks";
import {get, raw} from "../api";
import {CellStates, type Layout, layoutOf, type LayoutJson, LOAD, type Measure} from "../fabric/model";
import {FabricView} from "../fabric/view";
import {html} from "../html";
import {query, setQuery} from "../route";
import {percent, seconds, si} from "../words";

interface ReplayJson { num_frames: number; times_s: number[]; every_s: number; quantities: string[]; most_queued_bytes: number; fabric: LayoutJson }

const FRAME_MS = 120;
const LEGENDS: Record<string, string> = {
  load: "from idle to the full rate: bytes of each frame, the busier direction",
  queue: "from none to the longest of the run: most that was seen waiting for the cable",
  paused: "from never to always: share of looks at which the sender was paused, or out of credit",
};

export function Replay({id}: {id: string}) {
  const [about, setAbout] = useState<ReplayJson | null>(null);
  const [frames, setFrames] = useState<{of: string; data: Uint8Array} | null>(null);
  const of = about?.quantities.find((one) => one === query.value.get("of")) ?? "load";
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    setAbout(null);
    setFrames(null);
    get<ReplayJson>(`/jobs/${id}/replay`).then(setAbout).catch(() => {}); // an engine may tell nothing over time
  }, [id]);
  useEffect(() => {
    if (about) raw(`/jobs/${id}/frames?of=${of}`).then((found) => setFrames({of, data: found.data})).catch(() => {});
  }, [about, of]);
  const layout: Layout | null = useMemo(() => about && layoutOf(about.fabric), [about]);
  const last = (about?.num_frames ?? 1) - 1;
  const at = Math.max(0, Math.min(last, Number(query.value.get("frame") ?? 0) || 0));
  const states = useMemo(() => {
    if (!layout || !frames) return null;
    const found = new CellStates(layout.numCells, undefined, measureOf(frames.of, about!.most_queued_bytes));
    for (let cell = 0; cell < layout.numCells; cell += 1) found.data[2 * cell + 1] = frames.data[at * layout.numCells + cell]!;
    return found;
  }, [layout, frames, at]);
  const mean = useMemo(() => (layout && frames ? means(frames.data, layout.numCells, last + 1) : []), [layout, frames]);
  const place = useRef(at);
  place.current = at;
  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => {
      if (place.current >= last) setPlaying(false);
      else setQuery({frame: String(place.current + 1)});
    }, FRAME_MS);
    return () => clearInterval(timer);
  }, [playing, last]);
  if (!about || !layout || !states) return null;
  const go = (to: number) => { setPlaying(false); setQuery({frame: String(Math.max(0, Math.min(last, to)))}); };
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches; // then frames are stepped through, none runs by itself
  return html`<section class="replay" aria-label="Replay"><h2>Replay</h2>
    <div class="bar">
      ${!still && html`<button class="primary" onClick=${() => { if (!playing && at >= last) setQuery({frame: "0"}); setPlaying(!playing); }}>${playing ? "Pause" : "Play"}</button>`}
      <button onClick=${() => go(at - 1)} disabled=${at === 0} aria-label="One frame back">◂</button>
      <button onClick=${() => go(at + 1)} disabled=${at === last} aria-label="One frame on">▸</button>
      <input type="range" min="0" max=${last} value=${at} aria-label="Time" aria-valuetext=${seconds(about.times_s[at])} onInput=${(event: Event) => go(Number((event.target as HTMLInputElement).value))} />
      <output class="moment">${seconds(about.times_s[at])} <span class="quiet">of ${seconds(about.times_s[last]! + about.every_s)}, ${seconds(about.every_s)} a frame, mean ${states.measure.name} ${states.measure.says(mean[at] ?? 0)}</span></output>
      ${about.quantities.length > 1 && html`<label>Show <select value=${of} onChange=${(event: Event) => setQuery({of: (event.target as HTMLSelectElement).value})}>${about.quantities.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>`}
    </div>
    <${FabricView} layout=${layout} states=${states} version=${at + 1} marks=${NO_MARKS} loads=${LEGENDS[states.measure.name]} onlyLoad />
  </section>`;
}

const NO_MARKS: never[] = [];

function measureOf(quantity: string, mostBytes: number): Measure {
  if (quantity === "queue") return {name: "queue", says: (share) => si(share * mostBytes, "B")};
  return quantity === "paused" ? {name: "paused", says: (share) => percent(share, 2)} : LOAD;
}

function means(frames: Uint8Array, cells: number, count: number): number[] {
  return Array.from({length: count}, (_, frame) => {
    let sum = 0;
    for (let cell = 0; cell < cells; cell += 1) sum += frames[frame * cells + cell]! - 1;
    return sum / Math.max(1, cells) / 254;
  });
}
