// Every cable as a pixel: an off-screen image, drawn scaled; marks on top. Nothing is drawn per cable while panning.
import type {CellStates, Layout, Mark} from "./model";
import {SEVERITY, STATES} from "./model";
import {css, palette, ramps} from "./palette";
import {CanvasSurface, type Surface} from "./surface";

const GAP = 4; // cells between panels
export const NAME_PX = 15; // above the first panels, for their names
const LETTER_PX = 6; // of a name, about
const MARK_PX = 18;
const MAX_SIDE = 4096;

export interface MatrixPlan { width: number; height: number; x: Int32Array; y: Int32Array; panels: {block: number; x: number; y: number; width: number; height: number}[]; scale: number }

/** Place panels side by side, pods in rows, so that the whole is about as wide as the screen. */
export function planMatrix(layout: Layout, aspect: number): MatrixPlan {
  const area = layout.blocks.reduce((sum, one) => sum + (one.width + GAP) * (one.lines.length + GAP), 0);
  const wide = Math.max(Math.max(0, ...layout.blocks.map((one) => one.width)), Math.ceil(Math.sqrt(area * aspect)));
  const x = new Int32Array(layout.numCells);
  const y = new Int32Array(layout.numCells);
  const panels: MatrixPlan["panels"] = [];
  let left = 0;
  let top = 0;
  let tallest = 0;
  let width = 1;
  layout.blocks.forEach((one, block) => {
    if (left > 0 && left + one.width > wide) { left = 0; top += tallest + GAP; tallest = 0; }
    panels.push({block, x: left, y: top, width: one.width, height: one.lines.length});
    one.lines.forEach((row, line) => {
      for (let at = 0; at < row.length; at += 1) { x[row.first + at] = left + at; y[row.first + at] = top + line; }
    });
    left += one.width + GAP;
    width = Math.max(width, left - GAP);
    tallest = Math.max(tallest, one.lines.length);
  });
  const height = Math.max(1, top + tallest);
  let scale = 1;
  while (Math.max(width, height) / scale > MAX_SIDE) scale *= 2; // levels by the worst of four, again and again
  return {width, height, x, y, panels, scale};
}

export class MatrixImage {
  readonly canvas = document.createElement("canvas");
  private readonly context: CanvasRenderingContext2D;
  private readonly image: ImageData;
  private readonly worst: Uint8Array;
  constructor(readonly plan: MatrixPlan) {
    this.canvas.width = Math.ceil(plan.width / plan.scale);
    this.canvas.height = Math.ceil(plan.height / plan.scale);
    this.context = this.canvas.getContext("2d")!;
    this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
    this.worst = new Uint8Array(this.canvas.width * this.canvas.height);
  }
  /** Paint all cells; where several fall on one pixel, the worst shows. */
  paint(states: CellStates): void {
    const {plan} = this;
    const ramp = ramps(palette());
    const pixels = new Uint32Array(this.image.data.buffer);
    pixels.fill(0);
    this.worst.fill(0);
    for (let cell = 0; cell < states.numCells; cell += 1) {
      const at = Math.floor(plan.y[cell]! / plan.scale) * this.canvas.width + Math.floor(plan.x[cell]! / plan.scale);
      const state = states.state(cell);
      const severity = SEVERITY[state]! + 1;
      if (severity < this.worst[at]!) continue;
      this.worst[at] = severity;
      pixels[at] = ramp[state]![states.load(cell)]!;
    }
    this.context.putImageData(this.image, 0, 0);
  }
}

export interface View { x: number; y: number; zoom: number }

export function drawMatrix(canvas: HTMLCanvasElement, image: MatrixImage, layout: Layout, marks: Mark[], view: View, ratio: number): void {
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawMatrixOn(new CanvasSurface(context), {width: canvas.width / ratio, height: canvas.height / ratio}, image, layout, marks, view);
}

/** The same on any surface: for a file the pixels of cables are a picture, marks and names are shapes. */
export function drawMatrixOn(surface: Surface, size: {width: number; height: number}, image: MatrixImage, layout: Layout, marks: Mark[], view: View): void {
  const colours = palette();
  const {plan} = image;
  surface.rect(0, 0, size.width, size.height, colours.background);
  const drawn = view.zoom * plan.scale;
  surface.image(image.canvas, view.x, view.y, image.canvas.width * drawn, image.canvas.height * drawn);
  if (view.zoom >= 3) {
    for (const panel of plan.panels) {
      const block = layout.blocks[panel.block]!;
      const room = Math.floor(((panel.width + GAP) * view.zoom) / LETTER_PX); // letters up to the next panel
      surface.text(view.x + panel.x * view.zoom, view.y + panel.y * view.zoom - 3, shortened(`${layout.pods[block.pod]} ${block.tier} ${block.faces}`, room), colours.quiet, 11);
    }
  }
  const taken: [number, number, number][] = [];
  for (const mark of marks) {
    if (!mark.cells.length) continue;
    const box = boundsOf(plan, mark.cells.slice(0, 64));
    const width = Math.max(MARK_PX, (box.right - box.left + 1) * view.zoom + 6);
    const height = Math.max(MARK_PX, (box.bottom - box.top + 1) * view.zoom + 6);
    const x = view.x + ((box.left + box.right + 1) / 2) * view.zoom;
    const y = view.y + ((box.top + box.bottom + 1) / 2) * view.zoom;
    for (const [colour, line] of [[colours.text, 6], [css(colours.states[STATES.indexOf(mark.state)]!), 3]] as const) {
      surface.frame(x - width / 2, y - height / 2, width, height, colour, line, mark.state === "degraded");
    }
    const wide = 7 * mark.label.length + 8;
    const left = Math.max(2, Math.min(x - 4, size.width - wide)); // a name at the edge stays whole
    let top = y - height / 2 - 18;
    while (taken.some(([x0, y0, w]) => Math.abs(y0 - top) < 16 && left < x0 + w && x0 < left + wide)) top -= 17;
    if (top < 0) top = y + height / 2 + 3;
    taken.push([left, top, wide]);
    surface.rect(left, top, wide, 16, colours.background);
    surface.text(left + 4, top + 12, mark.label, colours.text, 12, true);
  }
}

const shortened = (name: string, room: number) => (name.length <= room ? name : `${name.slice(0, Math.max(0, room - 2))}..`);

function boundsOf(plan: MatrixPlan, cells: number[]) {
  const first = cells[0]!;
  const block = plan.panels.find((one) => within(plan, one, first))!;
  const some = cells.filter((cell) => within(plan, block, cell));
  const xs = some.map((cell) => plan.x[cell]!);
  const ys = some.map((cell) => plan.y[cell]!);
  return {left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys)};
}

const within = (plan: MatrixPlan, panel: MatrixPlan["panels"][number], cell: number) =>
  plan.x[cell]! >= panel.x && plan.x[cell]! < panel.x + panel.width && plan.y[cell]! >= panel.y && plan.y[cell]! < panel.y + panel.height;

export function hitMatrix(layout: Layout, plan: MatrixPlan, view: View, px: number, py: number): number {
  const x = Math.floor((px - view.x) / view.zoom);
  const y = Math.floor((py - view.y) / view.zoom);
  const panel = plan.panels.find((one) => x >= one.x && x < one.x + one.width && y >= one.y && y < one.y + one.height);
  if (!panel) return -1;
  const row = layout.blocks[panel.block]!.lines[y - panel.y]!;
  return x - panel.x < row.length ? row.first + x - panel.x : -1;
}
