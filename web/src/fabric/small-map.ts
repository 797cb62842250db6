// The fabric at a glance: a box a group, tiers above one another, lines where tiers are cabled. A click leads to the group.
import {html} from "../html";
import {setQuery} from "../route";
import {type CellStates, type Layout, SEVERITY, STATES} from "./model";
import {cellColour, css, palette} from "./palette";

const WIDTH = 320;
const ROW = 46;
const BOX = 16;
const MAX_LINES = 400;

interface Spot { pod: number; x: number; y: number; wide: number; state: number }

export function SmallMap({layout, states}: {layout: Layout; states: CellStates; version: number}) {
  const rows = tiersOf(layout);
  if (rows.flat().length < 2) return null;
  const colours = palette();
  const spots: Spot[][] = rows.map((pods, line) => pods.map((pod, at) => ({
    pod, x: (WIDTH * (at + 0.5)) / pods.length, y: (rows.length - 1 - line) * ROW + BOX, wide: Math.max(2, Math.min(40, WIDTH / pods.length - 2)),
    state: layout.blocks.filter((one) => one.pod === pod).reduce((worst, one) => {
      const state = states.worst(one.first, one.lines.reduce((sum, row) => sum + row.length, 0));
      return SEVERITY[state]! > SEVERITY[worst]! ? state : worst;
    }, 0),
  })));
  const lines = spots.slice(1).flatMap((upper, line) => spots[line]!.flatMap((low) => upper.map((high) => ({low, high})))).slice(0, MAX_LINES);
  return html`<svg class="small-map" viewBox=${`0 0 ${WIDTH} ${rows.length * ROW}`} role="group" aria-label="Small map: groups, tier above tier">
    ${lines.map(({low, high}) => html`<line x1=${low.x} y1=${low.y} x2=${high.x} y2=${high.y} stroke=${colours.line} />`)}
    ${spots.flat().map(({pod, x, y, wide, state}) => html`<a href="#" role="button" aria-label=${`${layout.pods[pod]}: ${STATES[state]}`} onClick=${(event: Event) => { event.preventDefault(); event.stopPropagation(); setQuery({pod: String(pod)}); }}>
      <rect x=${x - wide / 2} y=${y - BOX / 2} width=${wide} height=${BOX} fill=${css(cellColour(colours, state, 0))} stroke=${state > 1 ? colours.text : "none"} stroke-width=${state === 4 ? 3 : 2} stroke-dasharray=${state === 3 ? "4 3" : undefined} /><title>${layout.pods[pod]}: ${STATES[state]}</title></a>`)}
  </svg>`;
}

/** Groups in the order of tiers, from hosts upwards. */
function tiersOf(layout: Layout): number[][] {
  const tierOf = new Map<number, string>();
  for (const one of layout.blocks) if (!tierOf.has(one.pod)) tierOf.set(one.pod, one.tier);
  const order = [...new Set(layout.blocks.map((one) => tierOf.get(one.pod)!))];
  return order.map((tier) => [...tierOf].filter(([, found]) => found === tier).map(([pod]) => pod));
}
