// The fabric: cards or matrix, marks of causes, keyboard, a table for those who do not see it.
import {useEffect, useMemo, useRef, useState} from "preact/hooks";
import {html} from "../html";
import {Files, type Picture} from "../parts/picture";
import {query, setQuery} from "../route";
import {whole} from "../words";
import {drawCards, hitCards, planCards} from "./cards";
import {drawFloor, type Floor, floorCsv, floorLabel, hitFloor, planFloor, rackCells, rackSays} from "./floor";
import {drawMatrix, drawMatrixOn, hitMatrix, MatrixImage, NAME_PX, planMatrix, type View} from "./matrix";
import {type CellStates, cellName, type Layout, LOAD, type Mark, rowOf, SEVERITY, STATES} from "./model";
import {CanvasSurface} from "./surface";
import {css, palette, stateColour} from "./palette";

interface Props { layout: Layout; states: CellStates; version: number; marks: Mark[]; onMark?: (mark: Mark) => void; onCell?: (cell: number) => void; height?: number; loads?: string; onlyLoad?: boolean; floor?: Floor | null; floors?: boolean }

/** Own JavaScript of drawing, for the tests of budgets. */
export const drawTimes: number[] = [];

export function FabricView({layout, states, version, marks, onMark, onCell, height = 460, loads = "", onlyLoad = false, floor = null, floors = false}: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(320);
  const [hover, setHover] = useState("");
  const asked = query.value.get("view");
  // Cards draw states, not loads: where loads are all there is, the matrix comes first.
  const kind = asked === "matrix" || (onlyLoad && asked !== "cards") ? "matrix" : asked === "floor" && floor ? "floor" : "cards";
  const pod = Number(query.value.get("pod") ?? -1);
  // By keys: into a switch of a pod, then a cable. Kept with its pod, so that none is lost that follows a change of pods at once.
  const [kept, setKept] = useState<{pod: number; layout: Props["layout"] | null; row: number; cell: number}>({pod: -1, layout: null, row: -1, cell: -1});
  const deeper = kept.pod === pod && kept.layout === layout ? kept : {row: -1, cell: -1};
  const setDeeper = (into: {row: number; cell: number}) => setKept({pod, layout, ...into});
  const matrix = useRef<{plan: ReturnType<typeof planMatrix>; image: MatrixImage; view: View} | null>(null);
  const plan = useMemo(() => planCards(layout, width), [layout, width]);
  const ground = useMemo(() => floor && planFloor(floor, width), [floor, width]);

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(240, Math.floor(entry!.contentRect.width))));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    if (kind !== "matrix") { matrix.current = null; return; }
    const made = planMatrix(layout, width / height);
    const room = height - NAME_PX;
    const zoom = Math.min(width / made.width, room / made.height);
    matrix.current = {plan: made, image: new MatrixImage(made), view: {x: (width - made.width * zoom) / 2, y: NAME_PX + (room - made.height * zoom) / 2, zoom}};
  }, [kind, layout, width]);

  const draw = () => {
    const began = performance.now();
    const node = canvas.current;
    if (!node) return;
    const ratio = devicePixelRatio || 1;
    const tall = kind === "matrix" ? height : kind === "floor" ? Math.ceil(ground!.height) : plan.height;
    if (node.width !== Math.round(width * ratio) || node.height !== Math.round(tall * ratio)) {
      node.width = Math.round(width * ratio);
      node.height = Math.round(tall * ratio);
      node.style.width = `${width}px`;
      node.style.height = `${tall}px`;
    }
    if (kind === "matrix" && matrix.current) {
      drawMatrix(node, matrix.current.image, layout, marks, matrix.current.view, ratio);
    } else if (kind === "floor") {
      const context = node.getContext("2d")!;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      drawFloor(new CanvasSurface(context), floor!, states, marks, ground!);
    } else if (kind === "cards") {
      const context = node.getContext("2d")!;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      node.dataset.marks = JSON.stringify(drawCards(new CanvasSurface(context), layout, states, marks, plan, pod).map(({left, top, width: wide, height: high}) => [left, top, wide, high]));
    }
    drawTimes.push(performance.now() - began);
    if (drawTimes.length > 600) drawTimes.shift();
    (node as any).drawTimes = drawTimes;
    node.dataset.version = String(version);
  };
  const frame = useRef(0);
  const latest = useRef(draw);
  latest.current = draw;
  const soon = () => { frame.current ||= requestAnimationFrame(() => { frame.current = 0; latest.current(); }); }; // once a frame, however many moves
  const paint = () => { if (kind === "matrix" && matrix.current) matrix.current.image.paint(states); draw(); };
  useEffect(paint, [layout, states, version, marks, kind, width, pod, floor]);
  useEffect(() => {
    const again = () => paint();
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", again);
    addEventListener("netloom-theme", again);
    return () => { scheme.removeEventListener("change", again); removeEventListener("netloom-theme", again); };
  });

  const drag = useRef<{x: number; y: number; moved: boolean} | null>(null);
  const point = (event: PointerEvent | WheelEvent | MouseEvent) => {
    const place = canvas.current!.getBoundingClientRect();
    return [event.clientX - place.left, event.clientY - place.top] as const;
  };
  const onWheel = (event: WheelEvent) => {
    if (kind !== "matrix" || !matrix.current) return;
    event.preventDefault();
    zoomAt(matrix.current.view, ...point(event), Math.exp(-event.deltaY / 300));
    soon();
  };
  const onMove = (event: PointerEvent) => {
    const [x, y] = point(event);
    if (kind === "matrix" && matrix.current) {
      if (drag.current) {
        matrix.current.view.x += x - drag.current.x;
        matrix.current.view.y += y - drag.current.y;
        drag.current = {x, y, moved: true};
        soon();
        return;
      }
      const cell = hitMatrix(layout, matrix.current.plan, matrix.current.view, x, y);
      setHover(cell < 0 ? "" : cellSays(layout, states, cell));
    } else if (kind === "floor") {
      const rack = hitFloor(floor!, ground!, x, y);
      setHover(rack < 0 ? "" : rackSays(floor!, states, rack));
    } else {
      const hit = hitCards(layout, plan, x, y);
      const row = hit && hit.row >= 0 ? layout.rows[hit.row]! : null;
      setHover(row ? rowSays(states, row) : "");
    }
  };
  const onClick = (event: MouseEvent) => {
    if (drag.current?.moved) { drag.current = null; return; }
    drag.current = null;
    const [x, y] = point(event);
    open(kind === "matrix" && matrix.current
      ? [hitMatrix(layout, matrix.current.plan, matrix.current.view, x, y)]
      : kind === "floor" ? rackCells(floor!, hitFloor(floor!, ground!, x, y)) : rowCells(layout, hitCards(layout, plan, x, y)?.row ?? -1));
  };
  /** Open the case that cells belong to, else the worst of them. */
  const open = (cells: number[]) => {
    if (!cells.length || cells[0]! < 0) return;
    const set = new Set(cells);
    const mark = marks.find((one) => one.cells.some((cell) => set.has(cell)));
    if (mark && onMark) onMark(mark);
    else onCell?.(worstCell(states, cells));
  };
  const podRows = () => layout.rows.map((row, at) => ({row, at})).filter(({row}) => layout.blocks[row.block]!.pod === pod);
  const onKey = (event: KeyboardEvent) => {
    const side = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    const down = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (!side && !down && event.key !== "Enter") return;
    event.preventDefault();
    const rows = podRows();
    const {row, cell} = deeper;
    const found = layout.rows[row];
    if (event.key === "Enter") {
      if (cell >= 0) open([cell]);
      else if (found) open(rowCells(layout, row));
      else open(rows.flatMap(({at}) => rowCells(layout, at)));
    } else if (side && cell >= 0 && found) setDeeper({row, cell: found.first + ((cell - found.first + side + found.length) % found.length)});
    else if (side && found) setDeeper({row: rows[(rows.findIndex(({at}) => at === row) + side + rows.length) % rows.length]!.at, cell: -1});
    else if (side || pod < 0) setQuery({pod: String((Math.max(pod, -1) + (side ?? 1) + layout.pods.length) % layout.pods.length)});
    else if (down === 1 && !found && rows.length) setDeeper({row: worstRow(states, rows), cell: -1});
    else if (down === 1 && found && cell < 0) setDeeper({row, cell: worstCell(states, rowCells(layout, row))});
    else if (down === -1) setDeeper(cell >= 0 ? {row, cell: -1} : {row: -1, cell: -1});
  };
  const keyed = deeper.cell >= 0 ? cellSays(layout, states, deeper.cell) : deeper.row >= 0 && layout.rows[deeper.row] ? rowSays(states, layout.rows[deeper.row]!)
    : pod >= 0 && pod < layout.pods.length ? podSays(layout, states, pod) : "";
  const picture = (): Picture => {
    if (kind === "floor") return {name: "floor", width, height: Math.ceil(ground!.height), draw: (surface) => drawFloor(surface, floor!, states, marks, ground!), rows: () => floorCsv(floor!, states)};
    if (kind === "matrix" && matrix.current) {
      const {image, view} = matrix.current;
      return {name: "matrix", width, height, draw: (surface) => drawMatrixOn(surface, {width, height}, image, layout, marks, view), rows: () => fabricRows(layout, states)};
    }
    return {name: "fabric", width: plan.width, height: plan.height, draw: (surface) => { drawCards(surface, layout, states, marks, plan, -1); }, rows: () => fabricRows(layout, states)};
  };

  return html`<section class="fabric" aria-label="Fabric">
    <div class="bar">
      <div role="group" aria-label="View">
        <button aria-pressed=${kind === "cards"} onClick=${() => setQuery({view: "cards"})}>Cards <kbd>c</kbd></button>
        <button aria-pressed=${kind === "matrix"} onClick=${() => setQuery({view: "matrix"})}>Matrix <kbd>m</kbd></button>
        ${(floors || floor) && html`<button aria-pressed=${kind === "floor"} onClick=${() => setQuery({view: "floor"})}>Floor <kbd>f</kbd></button>`}
      </div>
      <${Legend} loads=${kind === "matrix" ? loads : ""} onlyLoad=${onlyLoad} measure=${states.measure.name} />
      <span class="spring"></span>
      <${Files} picture=${picture} />
    </div>
    <div class="canvas" ref=${box}>
      <canvas ref=${canvas} tabindex="0" role="img"
        aria-label=${kind === "floor" ? floorLabel(layout, floor!) : `Fabric of ${whole(layout.numCells)} cables in ${layout.pods.length} groups; the table below says the same. Left and right move between groups, down goes into switches and cables, Enter opens.`}
        onPointerDown=${(event: PointerEvent) => { const [x, y] = point(event); drag.current = {x, y, moved: false}; }}
        onPointerMove=${onMove} onPointerLeave=${() => { drag.current = null; }} onWheel=${onWheel} onClick=${onClick} onKeyDown=${onKey}></canvas>
    </div>
    <p class="hover" aria-live="polite">${hover || keyed || " "}</p>
    <${Twin} layout=${layout} states=${states} version=${version} />
  </section>`;
}

function zoomAt(view: View, x: number, y: number, factor: number): void {
  const zoom = Math.min(64, Math.max(0.05, view.zoom * factor));
  view.x = x - ((x - view.x) * zoom) / view.zoom;
  view.y = y - ((y - view.y) * zoom) / view.zoom;
  view.zoom = zoom;
}

const cellSays = (layout: Layout, states: CellStates, cell: number) => `${cellName(layout, cell)}: ${STATES[states.state(cell)]}, ${states.loadSays(cell)}`;
const rowSays = (states: CellStates, row: Layout["rows"][number]) => `${row.name}: worst of ${row.length} cables ${STATES[states.worst(row.first, row.length)]}, highest ${states.loadSays(row.first, row.length)}`;
const worstCell = (states: CellStates, cells: number[]) => cells.reduce((worst, cell) => (SEVERITY[states.state(cell)]! > SEVERITY[states.state(worst)]! ? cell : worst), cells[0]!);
const worstRow = (states: CellStates, rows: {row: Layout["rows"][number]; at: number}[]) =>
  rows.reduce((worst, one) => (SEVERITY[states.worst(one.row.first, one.row.length)]! > SEVERITY[states.worst(worst.row.first, worst.row.length)]! ? one : worst), rows[0]!).at;

function rowCells(layout: Layout, row: number): number[] {
  const found = layout.rows[row];
  return found ? Array.from({length: found.length}, (_, at) => found.first + at) : [];
}

export function Legend({loads, onlyLoad, measure = LOAD.name}: {loads: string; onlyLoad: boolean; measure?: string}) {
  const [low, high] = palette().up;
  return html`<span class="legend">${(onlyLoad ? [] : STATES).map((name) => html`<span class="key"><i class=${`look look-${name}`} style=${{background: stateColour(name)}}></i>${name}</span>`)}
    ${loads && html`<span class="key" title=${loads}>${measure} <i class="ramp" style=${{background: `linear-gradient(to right, ${css(low)}, ${css(high)})`}}></i> ${loads}</span>`}</span>`;
}

function podCounts(layout: Layout, states: CellStates, pod: number): number[] {
  const sum = STATES.map(() => 0);
  for (const block of layout.blocks) {
    if (block.pod !== pod) continue;
    const length = block.lines.reduce((all, row) => all + row.length, 0);
    states.counts(block.first, length).forEach((count, at) => { sum[at]! += count; });
  }
  return sum;
}

function podSays(layout: Layout, states: CellStates, pod: number): string {
  const counts = podCounts(layout, states, pod);
  const bad = STATES.map((name, at) => (at && counts[at] ? `${whole(counts[at])} ${name}` : "")).filter(Boolean);
  return `${layout.pods[pod]}: ${whole(counts.reduce((a, b) => a + b, 0))} cables, ${bad.join(", ") || "all up"}`;
}

/** The same in words: groups that are not all up, and their switches. */
function Twin({layout, states, version}: {layout: Layout; states: CellStates; version: number}) {
  const bad = useMemo(() => layout.pods.map((title, pod) => ({title, pod, counts: podCounts(layout, states, pod)})).filter(({counts}) => counts.some((count, at) => at > 0 && count > 0)), [layout, states, version]);
  return html`<div class="hidden"><table class="twin" data-bad=${bad.length}>
    <caption>Groups that are not all up: ${bad.length} of ${layout.pods.length}</caption>
    <thead><tr><th scope="col">group</th>${STATES.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${bad.slice(0, 50).map(({title, counts}) => html`<tr><th scope="row">${title}</th>${counts.map((count) => html`<td>${whole(count)}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

function fabricRows(layout: Layout, states: CellStates): Record<string, unknown>[] {
  return Array.from({length: states.numCells}, (_, cell) => {
    const row = rowOf(layout, cell);
    const block = layout.blocks[row.block]!;
    const load = states.load(cell);
    return {group: layout.pods[block.pod]!, switch: row.name, cable: cell - row.first, faces: block.faces, state: STATES[states.state(cell)], [states.measure.name]: load ? Number(((load - 1) / 254).toFixed(3)) : ""};
  });
}
