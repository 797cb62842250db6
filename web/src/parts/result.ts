// Any command's result: figures first, then its tables; the same keys as --json.
import {html} from "../html";
import {percent, seconds, si, whole} from "../words";
import {csv, download} from "./download";
import {Table} from "./table";

export function ResultView({kind, result}: {kind: string; result: any}) {
  const figures = Object.entries(result).filter(([, value]) => typeof value === "number" || typeof value === "string" || typeof value === "boolean");
  const tables = Object.entries(result).filter(([, value]) => Array.isArray(value) && value.length > 0 && typeof value[0] === "object") as [string, any[]][];
  const notes = Object.entries(result).filter(([, value]) => Array.isArray(value) && value.length > 0 && typeof value[0] === "string") as [string, string[]][];
  const groups = Object.entries(result).filter(([, value]) => value && typeof value === "object" && !Array.isArray(value)) as [string, any][];
  return html`<div class="result">
    <dl class="figures-list">${figures.map(([name, value]) => html`<div><dt>${titled(name)}</dt><dd>${shown(name, value)}</dd></div>`)}</dl>
    ${notes.map(([name, lines]) => html`<h2>${name.replaceAll("_", " ")}</h2><ul>${lines.slice(0, 20).map((line) => html`<li>${line}</li>`)}</ul>`)}
    ${tables.map(([name, rows]) => html`<div class="bar"><h2>${name.replaceAll("_", " ")}</h2><span class="spring"></span><button onClick=${() => download(`${kind}-${name}.csv`, csv(rows), "text/csv")}>CSV</button></div>
      <${Table} label=${name} rows=${rows} height=${340} rowKey=${(row: any) => String(rows.indexOf(row))} columns=${columnsOf(rows)} />`)}
    ${groups.map(([name, value]) => html`<details><summary>${titled(name)}</summary><pre>${JSON.stringify(value, null, 2).slice(0, 20000)}</pre></details>`)}
  </div>`;
}

function columnsOf(rows: any[]) {
  const names = [...new Set(rows.slice(0, 50).flatMap((row) => Object.keys(row)))].filter((name) => rows.slice(0, 50).some((row) => row[name] != null && typeof row[name] !== "object")).slice(0, 9);
  return names.map((name) => ({title: titled(name), right: typeof rows[0][name] === "number", cell: (row: any) => shown(name, row[name])}));
}

/** A key as a title: its unit stands behind the value. */
const titled = (name: string) => name.replace(/_(s|bps|bytes|usd|w)$/, "").replaceAll("_", " ");

/** A value by the unit that its key ends in. */
export function shown(name: string, value: unknown): string {
  if (value == null) return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return typeof value === "object" ? JSON.stringify(value).slice(0, 80) : String(value);
  if (/_s$|_time_s/.test(name) && !/_per_s$/.test(name)) return seconds(value);
  if (/_bytes$/.test(name)) return si(value, "B");
  if (/_bps$/.test(name)) return si(value, "b/s");
  if (/_usd$|usd_/.test(name)) return si(value, "USD");
  if (/_w$/.test(name)) return si(value, "W");
  if (/share$|^mfu$|^hfu$|goodput$|utilisation$/.test(name) && Math.abs(value) <= 1.5) return percent(value);
  return Number.isInteger(value) ? whole(value) : String(Number(value.toPrecision(4)));
}
