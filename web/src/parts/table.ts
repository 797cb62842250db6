// A table of any length: only the rows in sight are in the page.
import {useEffect, useRef, useState} from "preact/hooks";
import {html} from "../html";

export interface Column<Row> {
  title: string;
  cell: (row: Row) => unknown;
  right?: boolean;
}

interface Props<Row> {
  label: string;
  rows: readonly Row[];
  columns: Column<Row>[];
  height?: number;
  rowKey: (row: Row) => string;
  onOpen?: (row: Row) => void;
  selected?: string;
  empty?: string;
}

const ROW_PX = 30;
const SPARE = 6;

export function Table<Row>({label, rows, columns, height = 360, rowKey, onOpen, selected, empty = "Nothing yet."}: Props<Row>) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useEffect(() => { if (box.current && top > rows.length * ROW_PX) setTop(0); }, [rows.length]);
  const first = Math.max(0, Math.floor(top / ROW_PX) - SPARE);
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW_PX) + SPARE);
  const shown = rows.slice(first, last);
  return html`<div class="table" ref=${box} style=${{maxHeight: `${height}px`}} tabindex="0" role="region" aria-label=${label}
      onScroll=${(event: Event) => setTop((event.target as HTMLElement).scrollTop)}>
    <table aria-rowcount=${rows.length + 1}>
      <thead><tr>${columns.map((one) => html`<th scope="col" class=${one.right ? "right" : ""}>${one.title}</th>`)}</tr></thead>
      <tbody>
        ${first > 0 && html`<tr aria-hidden="true"><td colspan=${columns.length} style=${{height: `${first * ROW_PX}px`, padding: 0}}></td></tr>`}
        ${shown.map((row, at) => html`<tr key=${rowKey(row)} aria-rowindex=${first + at + 2}
            class=${(onOpen ? "opens " : "") + (selected === rowKey(row) ? "selected" : "")}
            tabindex=${onOpen ? 0 : undefined}
            onClick=${onOpen && (() => onOpen(row))}
            onKeyDown=${onOpen && ((event: KeyboardEvent) => { if (event.key === "Enter") onOpen(row); })}>
          ${columns.map((one) => html`<td class=${one.right ? "right" : ""}>${one.cell(row)}</td>`)}
        </tr>`)}
        ${last < rows.length && html`<tr aria-hidden="true"><td colspan=${columns.length} style=${{height: `${(rows.length - last) * ROW_PX}px`, padding: 0}}></td></tr>`}
      </tbody>
    </table>
    ${rows.length === 0 && html`<p class="quiet">${empty}</p>`}
  </div>`;
}
