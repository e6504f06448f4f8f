import { createWriter } from "../support/zipfMail.ts";
import type { Bench } from "./bench.ts";
import { byTheClock } from "./byTheClock.ts";
import { explainLists } from "./explain.ts";
import { figure, goal, latency, progressDone, round } from "./measure.ts";
import { type Scaled, startScaled } from "./scaled.ts";

const perSecond = 50;

/** Questions of one kind: each call another one. The bound is on the 99th percentile, in milliseconds. */
type Kind = { name: string; atMost: number; path(): string };

/** Lists, search and single reads of a large workspace over HTTP, at a steady rate that does not wait for answers, all kinds in turns. */
export const bench: Bench = {
  title: `read-scale: a large workspace read ${perSecond} times a second`,
  repetitions: 1,
  async run({ server, seconds = 120, threads = 200_000 }) {
    const scaled = await startScaled(server, threads);
    console.log(`  read models made from nothing: ${figure(scaled.rate)} events/s`);
    await explainLists(scaled);
    const kinds = await kindsOf(scaled, threads);
    await ask(scaled, kinds, Math.min(10, seconds));
    const times = await ask(scaled, kinds, seconds);
    progressDone();
    const found = kinds.map(({ name, atMost }) => ({ name, atMost, ...latency(times.get(name) ?? []) }));
    for (const { name, atMost, p50, p99 } of found) goal(`${name}: p50 ${figure(p50)}, p99 ms`, p99, { atMost });
    return { ...scaled.made, threads, rebuild_events_per_s: round(scaled.rate), kinds: found };
  },
};

/** Lists are also read beyond their first pages, as far as a small workspace has any. */
async function kindsOf({ client, identityIds, made }: Scaled, threadCount: number): Promise<Kind[]> {
  const writer = createWriter(7);
  const vocabulary = createWriter(made.people * 5);
  const any = <T>(of: readonly T[]): T => of[Math.floor(writer.random() * of.length)] as T;
  const word = (from: number, to: number): string => vocabulary.word(from + Math.floor(writer.random() * (to - from)));
  const q = (text: string): string => `/v1/threads?q=${encodeURIComponent(text)}`;
  const day = (ago: number): string => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
  const [beyond, draftsBeyond] = [
    Math.floor(Math.min(500, threadCount / 2)),
    Math.floor(Math.min(100, made.drafts / 2)),
  ];
  const threads = (await client.ask(`GET /v1/threads?limit=100&offset=${beyond}`)).data as { id: string }[];
  const drafts = (await client.ask(`GET /v1/drafts?limit=100&offset=${draftsBeyond}`)).data as { id: string }[];
  const person = () => vocabulary.person(Math.floor(writer.random() * made.people));
  const list = (name: string, query: () => string): Kind => ({
    name,
    atMost: 50,
    path: () => `/v1/threads?${query()}`,
  });
  const found = (name: string, text: () => string): Kind => ({
    name: `q, ${name}`,
    atMost: 300,
    path: () => q(text()),
  });
  return [
    list("threads", () => "limit=20"),
    list("threads, offset", () => `offset=${Math.floor(writer.random() * beyond)}`),
    list("threads, identity_id", () => `identity_id=${any(identityIds)}`),
    list("threads, status", () => `status=${any(["open", "waiting", "draft_pending", "closed"])}`),
    list("threads, needs_review", () => `needs_review=${any(["true", "false"])}`),
    list("threads, priority", () => `priority=${any(["low", "normal", "high", "urgent"])}`),
    list("threads, sort=priority", () => "sort=priority"),
    list("threads, status and identity_id", () => `status=draft_pending&identity_id=${any(identityIds)}`),
    list("threads, from_date and to_date", () => {
      const ago = 7 + Math.floor(writer.random() * 350);
      return `from_date=${day(ago)}&to_date=${day(ago - 7)}`;
    }),
    list("threads, from_date", () => `from_date=${day(Math.floor(writer.random() * 360))}`),
    list("threads, contact address", () => `contact=${encodeURIComponent(person().address)}`),
    list("threads, contact name", () => `contact=${encodeURIComponent(person().name)}`),
    found("a frequent word", () => word(20, 300)),
    found("a seldom word", () => word(1_000, 20_000)),
    found("two words", () => `${word(20, 1_000)} ${word(20, 1_000)}`),
    found("a phrase", () => `"${word(0, 50)} ${word(0, 300)}"`),
    found("a part of a word", () => word(200, 20_000).slice(0, 5)),
    found("a number", () => `INV-${Math.floor(writer.random() * 9_000_000)}`),
    { name: "thread", atMost: 20, path: () => `/v1/threads/${any(threads).id}` },
    { name: "draft", atMost: 20, path: () => `/v1/drafts/${any(drafts).id}` },
    { name: "drafts", atMost: 50, path: () => "/v1/drafts" },
    { name: "drafts, status", atMost: 50, path: () => `/v1/drafts?status=${any(["pending", "sent"])}` },
    { name: "drafts, identity_id", atMost: 50, path: () => `/v1/drafts?identity_id=${any(identityIds)}` },
    { name: "contacts", atMost: 50, path: () => "/v1/contacts" },
    { name: "contacts, q", atMost: 50, path: () => `/v1/contacts?q=${encodeURIComponent(person().name.slice(4))}` },
    { name: "contacts, domain", atMost: 50, path: () => `/v1/contacts?domain=${person().address.split("@")[1]}` },
  ];
}

/** Asks for all kinds at the steady rate. */
const ask = ({ client }: Scaled, kinds: readonly Kind[], seconds: number): Promise<Map<string, number[]>> =>
  byTheClock(kinds, { perSecond, seconds, what: "requests" }, ({ path }) => client.ask(`GET ${path()}`));
