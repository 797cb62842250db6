// A line chart over uPlot: labelled axes; what it shows as PNG, SVG and CSV.
import {useEffect, useRef} from "preact/hooks";
import uPlot from "uplot";
import {palette} from "../fabric/palette";
import {html} from "../html";
import {clock} from "../words";
import {drawCurves, Files, type Picture} from "./picture";

export interface Line { label: string; values: (number | null)[] }
/** *held*: a value holds until the next, as a watch writes them; it is drawn as steps, never as a slope. */
interface Props { title: string; x: number[]; xLabel: string; yLabel: string; lines: Line[]; time?: boolean; held?: boolean; height?: number }

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const DASHES: (number[] | undefined)[] = [undefined, [6, 4], [2, 3], [8, 3, 2, 3]];

export function Chart({title, x, xLabel, yLabel, lines, time = false, held = false, height = 220}: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  useEffect(() => {
    const colours = palette();
    const axis = {stroke: colours.quiet, grid: {stroke: colours.line, width: 0.5}, ticks: {stroke: colours.line}};
    plot.current = new uPlot({
      width: Math.max(260, box.current!.clientWidth), height,
      scales: {x: {time}},
      tzDate: (at: number) => uPlot.tzDate(new Date(at * 1e3), "Etc/UTC"),
      legend: {show: lines.length > 1},
      axes: [{...axis, label: xLabel, ...(time ? {space: 90, values: (_: uPlot, ticks: number[]) => ticks.map((at, one) => `${one ? "" : `${clock(at).slice(5, 10)} `}${clock(at).slice(11, 16)}`)} : {})}, {...axis, label: yLabel, size: 64}],
      series: [{label: xLabel}, ...lines.map((one, at) => ({label: one.label, stroke: COLOURS[at % COLOURS.length]!, dash: DASHES[at % DASHES.length], width: 1.5, ...(held ? {paths: uPlot.paths.stepped!({align: 1})} : {})}))],
    }, [x, ...lines.map((one) => one.values)] as uPlot.AlignedData, box.current!);
    return () => { plot.current?.destroy(); plot.current = null; };
  }, [lines.length, time, title]);
  useEffect(() => plot.current?.setData([x, ...lines.map((one) => one.values)] as uPlot.AlignedData), [x, lines]);
  const picture = (): Picture => ({
    name: title, width: 800, height: 300,
    draw: (surface) => drawCurves(surface, {width: 800, height: 300}, {
      title, xLabel, yLabel, x, held, xSays: time ? (at) => clock(at).slice(11, 19) : (at) => String(Number(at.toPrecision(4))),
      curves: lines.map((one, at) => ({...one, colour: COLOURS[at % COLOURS.length]!, dash: DASHES[at % DASHES.length]})),
    }),
    rows: () => x.map((at, row) => ({[xLabel]: at, ...Object.fromEntries(lines.map((one) => [one.label, one.values[row]]))})),
  });
  return html`<figure class="chart"><figcaption class="bar"><b>${title}</b><span class="spring"></span>
      <${Files} picture=${picture} /></figcaption>
    <div ref=${box} role="img" aria-label=${`${title}: ${yLabel} over ${xLabel}, ${x.length} points`}></div></figure>`;
}
