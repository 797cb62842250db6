import type {Problem} from "../api";
import {html} from "../html";

export function Problems({problems, onOpen}: {problems: Problem[]; onOpen?: (problem: Problem) => void}) {
  if (!problems.length) return null;
  return html`<ul class="problems" aria-label="Problems">${problems.map((one) => html`<li>
    ${one.where.line > 0 && html`<button class="place" onClick=${() => onOpen?.(one)}>${one.where.line}:${one.where.column}</button>`}
    ${one.where.key && html`<code>${one.where.key}</code>`} ${one.what}${one.remedy && html`<span class="quiet">; ${one.remedy}</span>`}
  </li>`)}</ul>`;
}
