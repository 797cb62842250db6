// Pods as cards, a bar a switch, coloured by its worst cable: the first view.
import type {CellStates, Layout, Mark} from "./model";
import {cellColour, css, palette} from "./palette";
import type {Surface} from "./surface";
import {rowOf, STATES} from "./model";

const GAP = 12;
const PAD = 10;
const TITLE = 20;
const MIN_BAR = 5;
const MAX_BAR = 16;
const BAR_HEIGHT = 26;
const LABEL = 15;
const MARK = 18; // px at least, whatever the zoom

export interface Card { pod: number; x: number; y: number; width: number; height: number; blocks: {block: number; x: number; y: number; perLine: number}[] }
export interface CardsPlan { width: number; height: number; bar: number; cards: Card[] }

export function planCards(layout: Layout, width: number): CardsPlan {
  const wanted = layout.pods.map((_, pod) => layout.blocks.map((one, block) => ({one, block})).filter(({one}) => one.pod === pod));
  const most = Math.max(1, ...wanted.flat().map(({one}) => one.lines.length));
  const perLine = Math.max(8, Math.min(most, 64, Math.floor((width - 2 * PAD) / MIN_BAR)));
  const shown = wanted.filter((blocks) => blocks.length).length;
  const share = (width + GAP) / Math.min(Math.max(shown, 1), 4) - GAP; // up to four side by side, as wide as there is room
  const bar = Math.max(MIN_BAR, Math.min(MAX_BAR, Math.floor((share - 2 * PAD) / perLine)));
  const cardWidth = perLine * bar + 2 * PAD;
  const perRow = Math.max(1, Math.floor((width + GAP) / (cardWidth + GAP)));
  const cards: Card[] = [];
  let x = 0;
  let y = 0;
  let tallest = 0;
  wanted.forEach((blocks, pod) => {
    if (!blocks.length) return;
    if (cards.length && cards.length % perRow === 0) { x = 0; y += tallest + GAP; tallest = 0; }
    let inner = TITLE + PAD;
    const placed = blocks.map(({one, block}) => {
      const at = {block, x: PAD, y: inner, perLine};
      inner += Math.ceil(one.lines.length / perLine) * (BAR_HEIGHT + 2) + 4;
      return at;
    });
    const height = inner + PAD;
    cards.push({pod, x, y, width: cardWidth, height, blocks: placed});
    x += cardWidth + GAP;
    tallest = Math.max(tallest, height);
  });
  return {width, height: y + tallest + LABEL, bar, cards};
}

export function drawCards(surface: Surface, layout: Layout, states: CellStates, marks: Mark[], plan: CardsPlan, focus: number): Spot[] {
  const colours = palette();
  surface.rect(0, 0, plan.width, plan.height, colours.background);
  for (const card of plan.cards) {
    surface.rect(card.x, card.y, card.width, card.height, colours.card);
    surface.frame(card.x + 0.5, card.y + 0.5, card.width - 1, card.height - 1, card.pod === focus ? colours.text : colours.line, card.pod === focus ? 2 : 1);
    surface.text(card.x + PAD, card.y + TITLE - 4, layout.pods[card.pod]!, colours.text, 12, true);
    for (const {block, x, y, perLine} of card.blocks) {
      layout.blocks[block]!.lines.forEach((row, at) => {
        const left = card.x + x + (at % perLine) * plan.bar;
        const top = card.y + y + Math.floor(at / perLine) * (BAR_HEIGHT + 2);
        const state = states.worst(row.first, row.length);
        surface.rect(left, top, plan.bar - 1, BAR_HEIGHT, css(cellColour(colours, state, states.mostLoad(row.first, row.length))));
      });
    }
  }
  return drawMarks(surface, layout, marks, plan);
}

/** Where a mark was drawn. */
export interface Spot { left: number; top: number; width: number; height: number }

/** Rings first, then names that do not cover one another. */
function drawMarks(surface: Surface, layout: Layout, marks: Mark[], plan: CardsPlan): Spot[] {
  const colours = palette();
  const spots = marks.flatMap((mark) => {
    const spot = markSpot(layout, mark, plan);
    return spot ? [{mark, left: spot.x - Math.max(0, MARK - spot.width) / 2, top: spot.y - 3, width: Math.max(MARK, spot.width), height: BAR_HEIGHT + 6}] : [];
  });
  for (const {mark, left, top, width} of spots) {
    surface.frame(left, top, width, BAR_HEIGHT + 6, colours.text, 6, mark.state === "degraded"); // 3:1 against all, whatever hues one sees
    surface.frame(left, top, width, BAR_HEIGHT + 6, css(colours.states[STATES.indexOf(mark.state)]!), 3, mark.state === "degraded");
  }
  const taken: {x: number; y: number; wide: number}[] = [];
  for (const {mark, left, top} of spots) {
    const wide = 6.4 * mark.label.length + 8;
    const x = Math.max(2, Math.min(left, plan.width - wide));
    let y = top + BAR_HEIGHT + 8;
    while (taken.some((one) => Math.abs(one.y - y) < LABEL && x < one.x + one.wide && one.x < x + wide) && y + 2 * LABEL < plan.height) y += LABEL;
    taken.push({x, y, wide});
    surface.rect(x, y, wide, LABEL, colours.background);
    surface.text(x + 4, y + 11, mark.label, colours.text, 11, true);
  }
  return spots;
}

/** Where a mark's cells stand: the row that has most of them. */
function markSpot(layout: Layout, mark: Mark, plan: CardsPlan): {x: number; y: number; width: number} | null {
  if (!mark.cells.length) return null;
  const row = rowOf(layout, mark.cells[0]!);
  for (const card of plan.cards) {
    for (const {block, x, y, perLine} of card.blocks) {
      if (block !== row.block) continue;
      const at = layout.blocks[block]!.lines.indexOf(row);
      return {x: card.x + x + (at % perLine) * plan.bar, y: card.y + y + Math.floor(at / perLine) * (BAR_HEIGHT + 2), width: plan.bar - 1};
    }
  }
  return null;
}

/** The pod and the row under a point. */
export function hitCards(layout: Layout, plan: CardsPlan, px: number, py: number): {pod: number; row: number} | null {
  const card = plan.cards.find((one) => px >= one.x && px < one.x + one.width && py >= one.y && py < one.y + one.height);
  if (!card) return null;
  for (const {block, x, y, perLine} of card.blocks) {
    const column = Math.floor((px - card.x - x) / plan.bar);
    const line = Math.floor((py - card.y - y) / (BAR_HEIGHT + 2));
    const at = line * perLine + column;
    const lines = layout.blocks[block]!.lines;
    if (column >= 0 && column < perLine && line >= 0 && at >= 0 && at < lines.length) return {pod: card.pod, row: layout.rows.indexOf(lines[at]!)};
  }
  return {pod: card.pod, row: -1};
}
