// A result or a fabric inside a notebook: the page's own components, without a server.
import {render} from "preact";
import {CellStates, layoutOf, type LayoutJson} from "./fabric/model";
import {FabricView} from "./fabric/view";
import {html} from "./html";
import {Breakdown} from "./parts/breakdown";
import {ResultView} from "./parts/result";

interface Inline { command: string; result: any; fabric?: LayoutJson & {states: number[]} }

const NO_MARKS: never[] = [];

function Shown({command, result, fabric}: Inline) {
  const layout = fabric && layoutOf(fabric);
  const states = layout && new CellStates(layout.numCells, Uint8Array.from(fabric!.states.flatMap((state) => [state, 0])));
  const total = result?.step_time_s;
  return html`<main class="page">
    ${layout && html`<${FabricView} layout=${layout} states=${states} version=${1} marks=${NO_MARKS} height=${360} />`}
    ${total && result.breakdown_s && html`<${Breakdown} parts=${result.breakdown_s} total=${total} />`}
    ${result && html`<${ResultView} kind=${command} result=${result} />`}
  </main>`;
}

const told = JSON.parse(document.getElementById("netloom-data")!.textContent!) as Inline;
render(html`<${Shown} ...${told} />`, document.getElementById("netloom-page")!);
