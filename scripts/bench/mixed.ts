import { type Bench, type BenchServer, byTheClock, progress } from "./bench.ts";
import { listKinds } from "./listKinds.ts";
import { searchKinds } from "./searchKinds.ts";
import { type BenchQuestion, type MadeMail, measureFill } from "./workspace.ts";

const [listsPerSecond, searchesPerSecond, searchesAlone] = [38, 12, 50];
const [warmUpSeconds, mixSeconds, aloneSeconds] = [10, 120, 10];

/** Lists and searches in one workspace, all kinds in turns. */
export const bench: Bench = {
  size: 2_000,
  unit: "threads in the workspace",
  run: (server, size) => measureMix(server, { threads: size, workspaces: 1 }),
};

/** A kind of request; `ask` sends the n-th one. */
type Kind = { what: string; ask(n: number): Promise<unknown> };

/**
 * Lists and searches at a steady rate, all kinds and workspaces in turns: latency from when each request was due. Then each kind of search
 * alone, at a higher rate.
 */
export async function measureMix(server: BenchServer, mail: MadeMail): Promise<void> {
  const service = await measureFill(server, mail);
  await service.database.number("vacuum analyze");
  const { clients } = service;
  const questions: (readonly [BenchQuestion[], BenchQuestion[]])[] = [];
  for (const client of clients) {
    questions.push([await listKinds(client), searchKinds(mail.threads / mail.workspaces)]);
  }
  const kindsOf = (half: 0 | 1): Kind[] =>
    questions[0]![half].map(({ what }, kind) => ({
      what,
      ask: (n) => {
        const workspace = n % clients.length;
        return clients[workspace]!.ask(`GET ${questions[workspace]![half][kind]!.path()}`);
      },
    }));
  const [lists, searches] = [kindsOf(0), kindsOf(1)];
  const mix = (seconds: number): Promise<number[][][]> =>
    Promise.all([inTurns(lists, listsPerSecond, seconds), inTurns(searches, searchesPerSecond, seconds)]);
  await mix(warmUpSeconds);
  let times: number[][][] = [];
  const perSecond = listsPerSecond + searchesPerSecond;
  await server.measure(`a list or a search, ${perSecond} a second`, service, async () => {
    times = await mix(mixSeconds);
    return times.flat(2);
  });
  for (const [half, kinds] of [lists, searches].entries()) {
    for (const [kind, { what }] of kinds.entries()) server.record(`  ${what}`, times[half]![kind]!);
  }
  for (const { what, ask } of searches) {
    const row = `${what}, ${searchesAlone} a second`;
    const alone = () => byTheClock(searchesAlone, searchesAlone * aloneSeconds, ask);
    await server.measure(row, service, alone).catch((error) => progress(`${row}: does not hold, ${error.message}`));
  }
}

/** Asks all kinds in turns at a steady rate. Returns the milliseconds that each request took, by kind. */
async function inTurns(kinds: readonly Kind[], perSecond: number, seconds: number): Promise<number[][]> {
  const times = await byTheClock(perSecond, perSecond * seconds, (n) =>
    kinds[n % kinds.length]!.ask(Math.floor(n / kinds.length)),
  );
  return kinds.map((_, kind) => times.filter((_, n) => n % kinds.length === kind));
}
