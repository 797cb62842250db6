// Colours of states (Okabe-Ito), by theme; healthy is grey-blue, load is its lightness.
import {STATES} from "./model";

type Rgb = [number, number, number];

export interface Palette { up: [Rgb, Rgb]; states: Rgb[]; background: string; card: string; text: string; quiet: string; line: string }

const LIGHT: Palette = {
  up: [[205, 214, 224], [96, 120, 150]],
  states: [[205, 214, 224], [170, 170, 170], [230, 159, 0], [204, 121, 167], [213, 94, 0], [0, 114, 178]],
  background: "#ffffff", card: "#f4f6f8", text: "#1b2733", quiet: "#5a6775", line: "#c9d2db",
};
const DARK: Palette = {
  up: [[58, 70, 84], [140, 165, 195]],
  states: [[58, 70, 84], [120, 120, 120], [240, 180, 40], [230, 150, 195], [255, 120, 40], [86, 180, 233]],
  background: "#12181f", card: "#1a222b", text: "#e6edf3", quiet: "#9aa7b4", line: "#33404d",
};

export function isDark(): boolean {
  const set = document.documentElement.dataset.theme;
  return set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
export const palette = (): Palette => (isDark() ? DARK : LIGHT);

export function cellColour(colours: Palette, state: number, load: number): Rgb {
  if (state !== 0) return colours.states[state] ?? colours.states[1]!;
  const share = Math.max(0, load - 1) / 254;
  const [low, high] = colours.up;
  return [0, 1, 2].map((at) => Math.round(low[at]! + (high[at]! - low[at]!) * share)) as Rgb;
}

/** The colour of every load of cables that are up; the page draws thousands of cells by it. */
export function ramps(colours: Palette): Uint32Array[] {
  return STATES.map((_, state) => Uint32Array.from({length: 256}, (_, load) => {
    const [r, g, b] = cellColour(colours, state, load);
    return (255 << 24) | (b << 16) | (g << 8) | r; // little-endian RGBA, as canvases have it
  }));
}

export const css = ([r, g, b]: Rgb) => `rgb(${r},${g},${b})`;
export const stateColour = (name: (typeof STATES)[number]) => css(palette().states[STATES.indexOf(name)]!);
