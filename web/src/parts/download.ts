// What a picture or table shows, as a file.
export function download(name: string, data: BlobPart, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function csv(rows: readonly Record<string, unknown>[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const quoted = (value: unknown) => {
    let text = value == null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    if (/^[=+\-@\t\r]/.test(text) && typeof value !== "number") text = `'${text}`; // a spreadsheet would run it
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [names.join(","), ...rows.map((row) => names.map((name) => quoted(row[name])).join(","))].join("\r\n") + "\r\n";
}

export function downloadPng(name: string, canvas: HTMLCanvasElement): void {
  canvas.toBlob((blob) => blob && download(name, blob, "image/png"));
}
