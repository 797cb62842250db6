// Racks on the floor of the hall, each in the colour of its worst cable: where to walk to.
import {type CellStates, type Layout, type Mark, SEVERITY, STATES} from "./model";
import {cellColour, css, palette} from "./palette";
import type {Surface} from "./surface";

export interface FloorJson { racks: string[]; x_m: number[]; y_m: number[]; rack_width_m: number; row_pitch_m: number }
/** *ends* has the two racks that each cell leads between. */
export interface Floor extends FloorJson { ends: Uint32Array }

const PAD = 10;
const DEPTH_M = 1.2; // of a rack
const MIN_PX = 4;
const MAX_PX = 46;
const MARK = 18;
const LABEL = 15;
const AISLE = 22;

export interface FloorPlan { width: number; height: number; x: number[]; y: number[]; wide: number; deep: number }

export function floorOf(json: FloorJson, data: Uint8Array): Floor {
  return {...json, ends: new Uint32Array(data.buffer, data.byteOffset, data.byteLength >> 2)};
}

export function planFloor(floor: Floor, width: number): FloorPlan {
  const across = Math.max(...floor.x_m) + floor.rack_width_m;
  const scale = Math.max(MIN_PX / floor.rack_width_m, Math.min(MAX_PX / floor.rack_width_m, (width - 2 * PAD) / across));
  const deep = Math.max(MIN_PX, DEPTH_M * scale * 0.6);
  const rows = [...new Set(floor.y_m)].sort((a, b) => a - b); // aisles are drawn narrower than they are
  const y = floor.y_m.map((at) => PAD + rows.indexOf(at) * (deep + Math.min(AISLE, deep)));
  return {
    width, height: Math.max(...y) + deep + 2 * PAD + 2 * LABEL,
    x: floor.x_m.map((x) => PAD + x * scale), y,
    wide: Math.max(MIN_PX - 1, floor.rack_width_m * scale - 1), deep,
  };
}

/** For each rack how many of its cables are in each state, and the highest load. */
export function rackCounts(floor: Floor, states: CellStates): {counts: number[]; load: number}[] {
  const found = floor.racks.map(() => ({counts: STATES.map(() => 0), load: 0}));
  for (let cell = 0; cell < states.numCells; cell += 1) {
    const one = floor.ends[2 * cell]!;
    const other = floor.ends[2 * cell + 1]!;
    for (const rack of one === other ? [one] : [one, other]) {
      found[rack]!.counts[states.state(cell)]! += 1;
      found[rack]!.load = Math.max(found[rack]!.load, states.load(cell));
    }
  }
  return found;
}

const worstOf = (counts: number[]) => counts.reduce((worst, count, state) => (count && SEVERITY[state]! > SEVERITY[worst]! ? state : worst), 0);

export function drawFloor(surface: Surface, floor: Floor, states: CellStates, marks: Mark[], plan: FloorPlan): void {
  const colours = palette();
  surface.rect(0, 0, plan.width, plan.height, colours.background);
  rackCounts(floor, states).forEach(({counts, load}, rack) => {
    surface.rect(plan.x[rack]!, plan.y[rack]!, plan.wide, plan.deep, css(cellColour(colours, worstOf(counts), load)));
    if (plan.wide >= 34) surface.text(plan.x[rack]! + 3, plan.y[rack]! + Math.min(plan.deep - 3, 13), floor.racks[rack]!, colours.text, 10);
  });
  const taken: {x: number; y: number; wide: number}[] = [];
  for (const mark of marks) {
    if (!mark.cells.length) continue;
    const racks = [...new Set([floor.ends[2 * mark.cells[0]!]!, floor.ends[2 * mark.cells[0]! + 1]!])];
    const wide = Math.max(MARK, plan.wide + 6);
    const deep = Math.max(MARK, plan.deep + 6);
    for (const rack of racks) {
      const left = plan.x[rack]! + plan.wide / 2 - wide / 2;
      const top = plan.y[rack]! + plan.deep / 2 - deep / 2;
      surface.frame(left, top, wide, deep, colours.text, 6, mark.state === "degraded");
      surface.frame(left, top, wide, deep, css(colours.states[STATES.indexOf(mark.state)]!), 3, mark.state === "degraded");
    }
    const label = `${mark.label} (${racks.map((rack) => floor.racks[rack]).join(" - ")})`;
    const long = 6.4 * label.length + 8;
    const x = Math.max(2, Math.min(plan.x[racks[0]!]!, plan.width - long));
    let y = plan.y[racks[0]!]! + plan.deep + 6;
    while (taken.some((one) => Math.abs(one.y - y) < LABEL && x < one.x + one.wide && one.x < x + long) && y + 2 * LABEL < plan.height) y += LABEL;
    taken.push({x, y, wide: long});
    surface.rect(x, y, long, LABEL, colours.background);
    surface.text(x + 4, y + 11, label, colours.text, 11, true);
  }
}

export function hitFloor(floor: Floor, plan: FloorPlan, px: number, py: number): number {
  return floor.racks.findIndex((_, rack) => px >= plan.x[rack]! && px < plan.x[rack]! + plan.wide + 1 && py >= plan.y[rack]! && py < plan.y[rack]! + plan.deep);
}

export function rackCells(floor: Floor, rack: number): number[] {
  const found: number[] = [];
  for (let cell = 0; cell < floor.ends.length / 2; cell += 1) if (floor.ends[2 * cell] === rack || floor.ends[2 * cell + 1] === rack) found.push(cell);
  return found;
}

export function rackSays(floor: Floor, states: CellStates, rack: number): string {
  const {counts} = rackCounts(floor, states)[rack]!;
  const bad = STATES.map((name, at) => (at && counts[at] ? `${counts[at]} ${name}` : "")).filter(Boolean);
  return `rack ${floor.racks[rack]}: ${counts.reduce((a, b) => a + b, 0)} cables end here, ${bad.join(", ") || "all up"}`;
}

export function floorCsv(floor: Floor, states: CellStates): Record<string, unknown>[] {
  return rackCounts(floor, states).map(({counts, load}, rack) => ({
    rack: floor.racks[rack], x_m: floor.x_m[rack], y_m: floor.y_m[rack], ...Object.fromEntries(STATES.map((name, at) => [name, counts[at]])), highest_load: load ? Number(((load - 1) / 254).toFixed(3)) : "",
  }));
}

/** The words of a picture of *layout* by racks, for those who do not see it. */
export const floorLabel = (layout: Layout, floor: Floor) => `Floor with ${floor.racks.length} racks and ${layout.numCells} cables; the table below says the same by group.`;
