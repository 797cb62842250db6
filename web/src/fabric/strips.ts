// The time axis: the worst state by group and bin; drag or click to go back.
import {useEffect, useRef} from "preact/hooks";
import {html} from "../html";
import {clock} from "../words";
import {STATES} from "./model";
import {Files, type Picture} from "../parts/picture";
import {cellColour, css, palette} from "./palette";
import {CanvasSurface, type Surface} from "./surface";

export interface StripsJson { from_s: number; to_s: number; bins: number; rows: {title: string; worst: number[]}[] }

const ROW = 8;

const NAMES = 160; // px for the names of groups, in a file

function drawStrips(surface: Surface, strips: StripsJson, {width, height, at, left}: {width: number; height: number; at: number | null; left: number}): void {
  const colours = palette();
  const wide = width - left;
  strips.rows.slice(0, 64).forEach((row, line) => row.worst.forEach((state, bin) => {
    surface.rect(left + (bin * wide) / strips.bins, line * ROW, Math.max(1, wide / strips.bins), ROW - 1, css(cellColour(colours, state, 0)));
  }));
  if (at != null) surface.rect(left + ((at - strips.from_s) / (strips.to_s - strips.from_s)) * wide - 1, 0, 2, height, colours.text);
}

/** The strips as a picture for a file: with names and times, which the page has beside them. */
function stripsPicture(strips: StripsJson, at: number | null): Picture {
  const rows = strips.rows.slice(0, 64);
  const height = Math.max(24, rows.length * ROW);
  const width = 1000;
  const binS = (strips.to_s - strips.from_s) / strips.bins;
  return {
    name: "past", width, height: height + 20,
    draw: (surface) => {
      const colours = palette();
      surface.rect(0, 0, width, height + 20, colours.background);
      drawStrips(surface, strips, {width, height, at, left: NAMES});
      rows.forEach((row, line) => { if (line % 2 === 0 || rows.length < 12) surface.text(2, line * ROW + 7, row.title.slice(0, 26), colours.quiet, 8); });
      surface.text(NAMES, height + 14, clock(strips.from_s), colours.quiet, 11);
      surface.text(width - 130, height + 14, clock(strips.to_s), colours.quiet, 11);
    },
    rows: () => strips.rows.flatMap((row) => row.worst.map((state, bin) => ({group: row.title, from_s: Math.round(strips.from_s + bin * binS), state: STATES[state]}))),
  };
}

export function Strips({strips, at, onPick}: {strips: StripsJson; at: number | null; onPick: (time_s: number | null) => void}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const rows = strips.rows.slice(0, 64);
  useEffect(() => {
    const node = canvas.current!;
    const width = node.clientWidth || 800;
    const height = Math.max(24, rows.length * ROW);
    node.width = width;
    node.height = height;
    drawStrips(new CanvasSurface(node.getContext("2d")!), strips, {width, height, at, left: 0});
  });
  const pick = (event: MouseEvent) => {
    const place = canvas.current!.getBoundingClientRect();
    onPick(strips.from_s + ((event.clientX - place.left) / place.width) * (strips.to_s - strips.from_s));
  };
  const bad = rows.filter((row) => row.worst.some((state) => state > 1)).map((row) => row.title);
  return html`<figure class="strips">
    <figcaption class="bar"><b>Past</b><span class="quiet">${clock(strips.from_s)} to ${clock(strips.to_s)}, the worst of each group</span><span class="spring"></span><${Files} picture=${() => stripsPicture(strips, at)} /></figcaption>
    <canvas ref=${canvas} onClick=${pick} role="img" aria-label=${`State of ${rows.length} groups over time; trouble in ${bad.join(", ") || "none"}. States: ${STATES.join(", ")}.`}></canvas>
    <input type="range" min=${Math.floor(strips.from_s)} max=${Math.ceil(strips.to_s)} step="1" value=${at ?? Math.ceil(strips.to_s)} aria-label="Time" aria-valuetext=${at == null ? "now" : clock(at)}
      onInput=${(event: Event) => { const value = Number((event.target as HTMLInputElement).value); onPick(value >= strips.to_s ? null : value); }} />
  </figure>`;
}
