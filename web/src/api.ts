// The server's API: envelopes, errors as they are, and events.
import {signal} from "@preact/signals";

export const API = "/api/v1";

export interface Where { file: string; line: number; column: number; key: string; option: string }
export interface Problem { where: Where; what: string; remedy: string }

/** An answer that is an error: the command line's error object. */
export class ApiError extends Error {
  constructor(readonly status: number, readonly kind: string, message: string, readonly problems: Problem[]) {
    super(message);
  }
}

async function answered(reply: Response): Promise<any> {
  const envelope = await reply.json().catch(() => ({}));
  if (reply.ok && "result" in envelope) return envelope.result;
  const error = envelope.error ?? {kind: "request", message: `the server answered ${reply.status}`, problems: []};
  throw new ApiError(reply.status, error.kind, error.message, error.problems);
}

export async function get<T = any>(path: string, stop?: AbortSignal): Promise<T> {
  return answered(await fetch(API + path, {signal: stop}));
}

export async function raw(path: string, stop?: AbortSignal): Promise<{data: Uint8Array; headers: Headers}> {
  const reply = await fetch(API + path, {signal: stop});
  if (!reply.ok) await answered(reply);
  return {data: new Uint8Array(await reply.arrayBuffer()), headers: reply.headers};
}

export async function send<T = any>(
  method: "POST" | "PUT" | "DELETE", path: string, body: unknown = {}, more: Record<string, string> = {}, stop?: AbortSignal,
): Promise<T> {
  const headers = {"Content-Type": "application/json", "X-Netloom-CSRF": "1", ...more};
  return answered(await fetch(API + path, {method, headers, body: method === "DELETE" ? undefined : JSON.stringify(body), signal: stop}));
}

export const post = <T = any>(path: string, body: unknown, stop?: AbortSignal) => send<T>("POST", path, body, {}, stop);

const AGAIN_MS = 1000;

/** Ask for a short answer; again while too many questions wait for theirs. */
export async function answer<T = any>(kind: string, body: unknown, stop: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await post<T>(`/answers/${kind}`, body, stop);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 429) throw error;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      stop.throwIfAborted();
    }
  }
}

/** Whether the server can be reached: pages say so in words when it cannot. */
export const connected = signal(true);
/** Grows when pages must fetch again what they show. */
export const generation = signal(0);

type Listener = (value: any) => void;
const listeners = new Map<string, Set<Listener>>();

/** Call *listener* for every event of a kind; returns how to end it. */
export function onEvent(kind: string, listener: Listener): () => void {
  const some = listeners.get(kind) ?? new Set();
  listeners.set(kind, some.add(listener));
  return () => some.delete(listener);
}

const KINDS = ["job", "live", "links", "case", "plan", "act", "hello", "reload"];

export function followEvents(): void {
  const source = new EventSource(`${API}/events`);
  let lost = false;
  source.onopen = () => {
    connected.value = true;
    if (lost) generation.value += 1;
    lost = false;
  };
  source.onerror = () => {
    connected.value = false;
    lost = true;
    if (source.readyState === EventSource.CLOSED) setTimeout(followEvents, 2000);
  };
  for (const kind of KINDS) {
    source.addEventListener(kind, (event) => {
      const value = JSON.parse((event as MessageEvent).data || "{}");
      if (kind === "reload") generation.value += 1;
      for (const listener of listeners.get(kind) ?? []) listener(value);
    });
  }
}
