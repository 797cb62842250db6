// Pictures as files: PNG, SVG and CSV of the same thing, three buttons.
import {palette} from "../fabric/palette";
import {CanvasSurface, type Surface, SvgSurface} from "../fabric/surface";
import {html} from "../html";
import {csv, download, downloadPng} from "./download";

export interface Picture { name: string; width: number; height: number; draw: (surface: Surface) => void; rows: () => readonly Record<string, unknown>[] }

export function svgOf({width, height, draw}: Picture): string {
  const surface = new SvgSurface(width, height);
  draw(surface);
  return surface.toString();
}

function pngOf(picture: Picture): void {
  const canvas = document.createElement("canvas");
  const ratio = 2;
  canvas.width = picture.width * ratio;
  canvas.height = picture.height * ratio;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  picture.draw(new CanvasSurface(context));
  downloadPng(`${picture.name}.png`, canvas);
}

export function Files({picture}: {picture: () => Picture}) {
  return html`<span class="files" role="group" aria-label="Save as a file">
    <button onClick=${() => pngOf(picture())}>PNG</button>
    <button onClick=${() => { const one = picture(); download(`${one.name}.svg`, svgOf(one), "image/svg+xml"); }}>SVG</button>
    <button onClick=${() => { const one = picture(); download(`${one.name}.csv`, csv(one.rows()), "text/csv"); }}>CSV</button></span>`;
}

export interface Curve { label: string; values: (number | null)[]; colour: string; dash?: number[] }

const LEFT = 70;
const RIGHT = 12;
const TOP = 28;
const BOTTOM = 44;

/** Lines over an axis, drawn on any surface: what is saved of a chart. */
export function drawCurves(surface: Surface, size: {width: number; height: number}, about: {title: string; xLabel: string; yLabel: string; x: number[]; curves: Curve[]; held?: boolean; xSays: (value: number) => string}): void {
  const colours = palette();
  const {width, height} = size;
  const values = about.curves.flatMap((one) => one.values.filter((value): value is number => value != null));
  const [low, high] = spanOf(values);
  const [first, last] = spanOf(about.x);
  const px = (value: number) => LEFT + ((value - first) / (last - first)) * (width - LEFT - RIGHT);
  const py = (value: number) => height - BOTTOM - ((value - low) / (high - low)) * (height - TOP - BOTTOM);
  surface.rect(0, 0, width, height, colours.background);
  surface.text(LEFT, 16, about.title, colours.text, 12, true);
  for (let at = 0; at <= 4; at += 1) {
    const y = low + ((high - low) * at) / 4;
    const x = first + ((last - first) * at) / 4;
    surface.line([[LEFT, py(y)], [width - RIGHT, py(y)]], colours.line, 0.5);
    surface.text(4, py(y) + 4, String(Number(y.toPrecision(4))), colours.quiet, 10);
    surface.text(Math.min(px(x), width - 60), height - BOTTOM + 14, about.xSays(x), colours.quiet, 10);
  }
  surface.text(LEFT, height - 8, about.xLabel, colours.quiet, 11);
  surface.text(4, 16, about.yLabel.slice(0, 10), colours.quiet, 10);
  about.curves.forEach((one, row) => {
    let run: [number, number][] = [];
    const runs = [run];
    one.values.forEach((value, at) => {
      if (value == null) { run = []; runs.push(run); } else { if (about.held && run.length) run.push([px(about.x[at]!), run.at(-1)![1]]); run.push([px(about.x[at]!), py(value)]); }
    });
    for (const some of runs) if (some.length) surface.line(some.length > 1 ? some : [some[0]!, [some[0]![0] + 1, some[0]![1]]], one.colour, 1.5, one.dash);
    if (about.curves.length > 1) surface.text(LEFT + 90 * row, height - 24, one.label, one.colour, 11, true);
  });
}

function spanOf(values: number[]): [number, number] {
  const low = values.reduce((a, b) => Math.min(a, b), Infinity);
  const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!Number.isFinite(low)) return [0, 1];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}
