// Numbers and times as people read them; units always there.
const SI: [number, string][] = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

export function digits(value: number, count = 3): string {
  if (!isFinite(value)) return "-";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.max(0, Math.min(8, count - 1 - size)));
}

export function seconds(value: number | null | undefined): string {
  if (value == null) return "-";
  const size = Math.abs(value);
  if (size >= 86400) return `${digits(value / 86400)} d`;
  if (size >= 3600) return `${digits(value / 3600)} h`;
  if (size >= 1 || size === 0) return `${digits(value)} s`;
  if (size >= 1e-3) return `${digits(value * 1e3)} ms`;
  if (size >= 1e-6) return `${digits(value * 1e6)} us`;
  return `${digits(value * 1e9)} ns`;
}

export function si(value: number | null | undefined, unit: string): string {
  if (value == null) return "-";
  const [scale, letter] = SI.find(([one]) => Math.abs(value) >= one) ?? SI[SI.length - 1]!;
  return `${digits(value / scale)} ${letter}${unit}`;
}

export const percent = (share: number | null | undefined, count = 3) => (share == null ? "-" : `${digits(share * 100, count)} %`);
export const whole = (value: number | null | undefined) => (value == null ? "-" : Math.round(value).toLocaleString("en-US"));
export const usd = (value: number | null | undefined) => (value == null ? "-" : `${si(value, "")} USD`.replace(" M", " M").replace("  ", " "));

export function clock(time_s: number | null | undefined): string {
  if (time_s == null) return "-";
  return new Date(time_s * 1000).toISOString().replace("T", " ").slice(0, 19) + "Z";
}

export function ago(then_s: number | null | undefined, now_s: number): string {
  return then_s == null ? "never" : `${seconds(Math.max(0, Math.round(now_s - then_s)))} ago`;
}
