// What pictures draw on: a canvas, or an SVG text for export; the same few shapes.

export interface Surface {
  rect(x: number, y: number, width: number, height: number, colour: string): void;
  frame(x: number, y: number, width: number, height: number, colour: string, line: number, dashed?: boolean): void;
  text(x: number, y: number, text: string, colour: string, size: number, bold?: boolean): void;
  line(points: [number, number][], colour: string, width: number, dash?: number[]): void;
  /** A picture of pixels, scaled without smoothing. */
  image(pixels: HTMLCanvasElement, x: number, y: number, width: number, height: number): void;
}

const FONT = "system-ui, sans-serif";

export class CanvasSurface implements Surface {
  constructor(private readonly context: CanvasRenderingContext2D) {}
  rect(x: number, y: number, width: number, height: number, colour: string): void {
    this.context.fillStyle = colour;
    this.context.fillRect(x, y, width, height);
  }
  frame(x: number, y: number, width: number, height: number, colour: string, line: number, dashed = false): void {
    this.context.strokeStyle = colour;
    this.context.lineWidth = line;
    this.context.setLineDash(dashed ? [4, 3] : []);
    this.context.strokeRect(x, y, width, height);
  }
  text(x: number, y: number, text: string, colour: string, size: number, bold = false): void {
    this.context.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
    this.context.fillStyle = colour;
    this.context.fillText(text, x, y);
  }
  line(points: [number, number][], colour: string, width: number, dash: number[] = []): void {
    this.context.strokeStyle = colour;
    this.context.lineWidth = width;
    this.context.setLineDash(dash);
    this.context.beginPath();
    points.forEach(([x, y], at) => (at ? this.context.lineTo(x, y) : this.context.moveTo(x, y)));
    this.context.stroke();
    this.context.setLineDash([]);
  }
  image(pixels: HTMLCanvasElement, x: number, y: number, width: number, height: number): void {
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(pixels, x, y, width, height);
  }
}

const escaped = (text: string) => text.replace(/[<>&"']/g, (one) => `&#${one.charCodeAt(0)};`);

export class SvgSurface implements Surface {
  private readonly shapes: string[] = [];
  constructor(private readonly width: number, private readonly height: number) {}
  rect(x: number, y: number, width: number, height: number, colour: string): void {
    this.shapes.push(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${colour}"/>`);
  }
  frame(x: number, y: number, width: number, height: number, colour: string, line: number, dashed = false): void {
    this.shapes.push(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="none" stroke="${colour}" stroke-width="${line}"${dashed ? ' stroke-dasharray="4 3"' : ""}/>`);
  }
  text(x: number, y: number, text: string, colour: string, size: number, bold = false): void {
    this.shapes.push(`<text x="${x}" y="${y}" fill="${colour}" font-family="${FONT}" font-size="${size}"${bold ? ' font-weight="600"' : ""}>${escaped(text)}</text>`);
  }
  line(points: [number, number][], colour: string, width: number, dash: number[] = []): void {
    const path = points.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join(" ");
    this.shapes.push(`<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="${width}"${dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : ""}/>`);
  }
  image(pixels: HTMLCanvasElement, x: number, y: number, width: number, height: number): void {
    this.shapes.push(`<image x="${x}" y="${y}" width="${width}" height="${height}" style="image-rendering:pixelated" preserveAspectRatio="none" href="${pixels.toDataURL("image/png")}"/>`);
  }
  toString(): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}" width="${this.width}" height="${this.height}">${this.shapes.join("")}</svg>`;
  }
}
