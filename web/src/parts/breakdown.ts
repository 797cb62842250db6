// Where the time of a step goes, as one bar.
import {html} from "../html";
import {palette} from "../fabric/palette";
import {percent, seconds} from "../words";
import {Files, type Picture} from "./picture";

const ORDER = ["compute", "bubble", "exposed_tensor", "exposed_context", "exposed_expert", "exposed_data", "exposed_pipeline", "optimizer"];

const FILLS = ["#7f93a8", "#c3cdd7", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#d55e00", "#56b4e9"]; // as style.css has them

export function Breakdown({parts, total}: {parts: Record<string, number>; total: number}) {
  const names = [...ORDER.filter((name) => name in parts), ...Object.keys(parts).filter((name) => !ORDER.includes(name))];
  const shown = names.filter((name) => (parts[name] ?? 0) > total * 5e-4);
  let x = 0;
  const picture = (): Picture => ({
    name: "breakdown", width: 800, height: 40 + 18 * shown.length,
    draw: (surface) => {
      const colours = palette();
      surface.rect(0, 0, 800, 40 + 18 * shown.length, colours.background);
      let left = 0;
      shown.forEach((name, row) => {
        const wide = (800 * parts[name]!) / total;
        surface.rect(left, 0, Math.max(wide - 1.5, 0.5), 28, FILLS[ORDER.indexOf(name)] ?? FILLS[0]!);
        surface.rect(4, 38 + 18 * row, 10, 10, FILLS[ORDER.indexOf(name)] ?? FILLS[0]!);
        surface.text(20, 47 + 18 * row, `${word(name)} ${seconds(parts[name]!)}, ${percent(parts[name]! / total, 2)}`, colours.text, 12);
        left += wide;
      });
    },
    rows: () => names.map((name) => ({part: name, seconds: parts[name], share: parts[name]! / total})),
  });
  return html`<figure class="breakdown">
    <svg viewBox="0 0 1000 36" preserveAspectRatio="none" role="img" aria-label=${shown.map((name) => `${word(name)} ${seconds(parts[name]!)}`).join(", ")}>
      ${shown.map((name) => {
        const width = (1000 * parts[name]!) / total;
        x += width;
        return html`<rect class=${`part-${ORDER.indexOf(name)}`} x=${x - width} y="0" width=${Math.max(width - 1.5, 0.5)} height="36"><title>${word(name)} ${seconds(parts[name]!)}</title></rect>`;
      })}
    </svg>
    <figcaption>${shown.map((name) => html`<span class="key"><i class=${`part-${ORDER.indexOf(name)}`}></i>${word(name)} <b>${seconds(parts[name]!)}</b> <span class="quiet">${percent(parts[name]! / total, 2)}</span></span>`)}<span class="spring"></span><${Files} picture=${picture} /></figcaption>
  </figure>`;
}

const word = (name: string) => name.replace("exposed_", "waits for ").replaceAll("_", " ");
