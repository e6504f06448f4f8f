import { postgresSessions } from "#src/accounts/postgresSessions.ts";
import { systemClock, systemIds } from "#src/clock.ts";
import { noStream } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { memberStream } from "#streams/member/events.ts";
import { userStream } from "#streams/user/events.ts";
import { createWriter } from "../support/zipfMail.ts";
import type { Bench } from "./bench.ts";
import { byTheClock } from "./byTheClock.ts";
import { cpuSeconds } from "./cpu.ts";
import { explainPages } from "./explain.ts";
import { figure, goal, latency, progressDone } from "./measure.ts";
import { type Scaled, startScaled } from "./scaled.ts";

const perSecond = 20;
/** Milliseconds, of the 99th percentile of each page. */
const atMost = 150;

type Kind = { name: string; path(): string };

/** Pages of the console as a signed-in person looks at them, at a steady rate that does not wait for answers, all kinds in turns. */
export const bench: Bench = {
  title: `console: pages of a large workspace, ${perSecond} a second`,
  repetitions: 1,
  async run({ server, seconds = 60, threads = 20_000 }) {
    const scaled = await startScaled(server, threads);
    await explainPages(scaled);
    const cookie = await signedIn(scaled);
    const kinds = await kindsOf(scaled);
    await look(scaled, { kinds, cookie, seconds: Math.min(10, seconds) });
    const costs = await oneByOne(scaled, { kinds, cookie });
    const times = await look(scaled, { kinds, cookie, seconds });
    progressDone();
    const found = kinds.map(({ name }) => ({ name, ...latency(times.get(name) ?? []) }));
    for (const { name, p50, p99 } of found) goal(`${name}: p50 ${figure(p50)}, p99 ms`, p99, { atMost });
    for (const [name, ms] of costs) console.log(`  ${name}: ${figure(ms)} ms of the service's CPU`);
    return { ...scaled.made, threads, kinds: found, cpu_ms: Object.fromEntries(costs) };
  },
};

/** The cookie of an owner of the workspace. */
async function signedIn({ urls, database, workspaceId }: Scaled): Promise<string> {
  const store = createPostgresEventStore({ connectionString: urls.serviceUrl });
  const [userId, memberId] = [systemIds.uuid(), systemIds.uuid()];
  const email = "owner@bench.example";
  const metadata = {
    ...{ workspaceId, actor: { kind: "operator" as const, id: "bench" } },
    ...{ correlationId: systemIds.uuid(), causationId: systemIds.uuid(), at: new Date().toISOString() },
  };
  const event = <T extends string, D>(type: T, data: D) => ({ id: systemIds.uuid(), type, data, metadata });
  await store.append(userStream(userId), noStream, [event("UserRegistered", { email, name: "Bench" })]);
  await store.append(memberStream(workspaceId), noStream, [
    event("MemberJoined", { memberId, userId, email, role: "owner" as const }),
  ]);
  await store.close();
  const sessions = postgresSessions({ database, clock: systemClock, ids: systemIds });
  return `countersign=${(await sessions.start({ userId, workspaceId, agent: "bench" })).token}`;
}

async function kindsOf({ client, identityIds, made }: Scaled): Promise<Kind[]> {
  const writer = createWriter(7);
  const vocabulary = createWriter(made.people * 5);
  const any = <T>(of: readonly T[]): T => of[Math.floor(writer.random() * of.length)] as T;
  const threads = (await client.ask("GET /v1/threads?limit=100")).data as { id: string }[];
  const drafts = (await client.ask("GET /v1/drafts?limit=100")).data as { id: string }[];
  return [
    { name: "/review", path: () => "/review" },
    { name: "/threads", path: () => "/threads" },
    { name: "/threads, identity", path: () => `/threads?identity_id=${any(identityIds)}` },
    { name: "/threads, priority", path: () => "/threads?sort=priority&status=open" },
    { name: "/threads, needs review", path: () => "/threads?needs_review=true" },
    {
      name: "/threads, search",
      path: () => `/threads?q=${encodeURIComponent(vocabulary.word(20 + Math.floor(writer.random() * 20_000)))}`,
    },
    { name: "/threads/:id", path: () => `/threads/${any(threads).id}` },
    { name: "/drafts/:id", path: () => `/drafts/${any(drafts).id}` },
  ];
}

const repeats = 20;

/** What each kind costs the service in milliseconds of CPU: on a shared machine that says more than a time. */
async function oneByOne(
  { instance }: Scaled,
  { kinds, cookie }: { kinds: readonly Kind[]; cookie: string },
): Promise<[string, number][]> {
  const costs: [string, number][] = [];
  for (const { name, path } of kinds) {
    const before = cpuSeconds(instance.child.pid as number);
    for (let n = 0; n < repeats; n++) await page(instance.url + path(), cookie);
    costs.push([name, ((cpuSeconds(instance.child.pid as number) - before) / repeats) * 1_000]);
  }
  return costs;
}

/** Looks at pages of all kinds at the steady rate. */
const look = (
  { instance }: Scaled,
  { kinds, cookie, seconds }: { kinds: readonly Kind[]; cookie: string; seconds: number },
): Promise<Map<string, number[]>> =>
  byTheClock(kinds, { perSecond, seconds, what: "pages" }, ({ path }) => page(instance.url + path(), cookie));

async function page(url: string, cookie: string): Promise<void> {
  const response = await fetch(url, { headers: { Accept: "text/html", Cookie: cookie }, redirect: "manual" });
  await response.text();
  if (response.status !== 200) throw new Error(`${url}: ${response.status}`);
}
