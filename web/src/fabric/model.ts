// A fabric as blocks of cells, and the state of each cell; the page knows no topology.
import {percent} from "../words";

export interface BlockJson { pod: number; tier: string; faces: string; rows: string[]; columns: number | number[]; first: number }
export interface LayoutJson { num_cells: number; pods: string[]; blocks: BlockJson[] }

/** States as the server numbers them. */
export const STATES = ["up", "unknown", "slow", "degraded", "down", "drained"] as const;
export type StateName = (typeof STATES)[number];
/** How bad each is, so that the worst of many can be shown: a mean would hide one among thousands. */
export const SEVERITY = new Uint8Array([0, 1, 3, 4, 5, 2]);

export interface Row { block: number; name: string; first: number; length: number }

export interface Block extends Omit<BlockJson, "columns"> { width: number; lines: Row[] }

export interface Layout { numCells: number; pods: string[]; blocks: Block[]; rows: Row[] }

export function layoutOf(json: LayoutJson): Layout {
  const rows: Row[] = [];
  const blocks = json.blocks.map((one, block) => {
    let first = one.first;
    const lines = one.rows.map((name, at) => {
      const length = Array.isArray(one.columns) ? one.columns[at]! : one.columns;
      const row = {block, name, first, length};
      first += length;
      rows.push(row);
      return row;
    });
    return {...one, lines, width: Math.max(0, ...lines.map((line) => line.length))};
  });
  return {numCells: json.num_cells, pods: json.pods, blocks, rows};
}

/** The row that a cell stands in. */
export function rowOf(layout: Layout, cell: number): Row {
  let low = 0;
  let high = layout.rows.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (layout.rows[middle]!.first <= cell) low = middle;
    else high = middle - 1;
  }
  return layout.rows[low]!;
}

export function cellName(layout: Layout, cell: number): string {
  const row = rowOf(layout, cell);
  const block = layout.blocks[row.block]!;
  return `${row.name} cable ${cell - row.first + 1} of ${row.length} ${block.faces === "hosts" ? "to hosts" : "upwards"}`;
}

/** What the second byte of a cell measures, and how a share of its most is said. */
export interface Measure { name: string; says: (share: number) => string }
export const LOAD: Measure = {name: "load", says: (share) => percent(share, 2)};

/** Two bytes a cell: state, and a measure, as a rule the load. */
export class CellStates {
  readonly data: Uint8Array;
  constructor(readonly numCells: number, data?: Uint8Array, readonly measure: Measure = LOAD) {
    this.data = data && data.length >= 2 * numCells ? data : new Uint8Array(2 * numCells);
  }
  state(cell: number): number { return this.data[2 * cell]!; }
  /** 0 unknown, 1 none to 255 the most. */
  load(cell: number): number { return this.data[2 * cell + 1]!; }
  loadSays(cell: number, length = 1): string {
    const most = this.mostLoad(cell, length);
    return `${this.measure.name} ${most ? this.measure.says((most - 1) / 254) : "not known"}`;
  }
  worst(first: number, length: number): number {
    let worst = 0;
    for (let cell = first; cell < first + length; cell += 1) {
      const state = this.data[2 * cell]!;
      if (SEVERITY[state]! > SEVERITY[worst]!) worst = state;
    }
    return worst;
  }
  mostLoad(first: number, length: number): number {
    let most = 0;
    for (let cell = first; cell < first + length; cell += 1) most = Math.max(most, this.data[2 * cell + 1]!);
    return most;
  }
  counts(first = 0, length = this.numCells): number[] {
    const found = STATES.map(() => 0);
    for (let cell = first; cell < first + length; cell += 1) found[this.data[2 * cell]!]! += 1;
    return found;
  }
}

/** A cause on the picture: one mark, however many cells it has. */
export interface Mark { id: string; label: string; state: StateName; cells: number[] }
