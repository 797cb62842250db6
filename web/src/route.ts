// The address says all of a view: page, part, time; back works, and a link opens the same view.
import {computed, signal} from "@preact/signals";

const place = signal(location.pathname + location.search);
addEventListener("popstate", () => { place.value = location.pathname + location.search; });

export const path = computed(() => place.value.split("?")[0]!.split("/").filter(Boolean).map(decodeURIComponent));
export const query = computed(() => new URLSearchParams(place.value.split("?")[1] ?? ""));

export function go(to: string, {replace = false} = {}): void {
  if (location.protocol === "about:") { place.value = to.startsWith("?") ? `/${to}` : to; return; } // inside a notebook: no address to change
  history[replace ? "replaceState" : "pushState"](null, "", to);
  place.value = location.pathname + location.search;
}

/** Change words of the address, keep the rest; null removes one. */
export function setQuery(changes: Record<string, string | null>, {replace = true} = {}): void {
  const next = new URLSearchParams(query.value);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "") next.delete(key);
    else next.set(key, value);
  }
  const text = next.toString();
  go(location.pathname + (text ? `?${text}` : ""), {replace});
}

/** Follow links of ours without loading the page again. */
export function followLinks(): void {
  addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a[href^='/']") as HTMLAnchorElement | null;
    if (!link || event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || link.download || link.target) return;
    if (link.getAttribute("href")!.startsWith("/api/")) return;
    event.preventDefault();
    go(link.getAttribute("href")!, {});
  });
}
