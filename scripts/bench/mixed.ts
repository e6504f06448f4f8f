import { type Bench, byTheClock, progress } from "./bench.ts";
import { listKinds } from "./listKinds.ts";
import { searchKinds } from "./searchKinds.ts";
import { type BenchQuestion, measureFill } from "./workspace.ts";

const [listsPerSecond, searchesPerSecond, searchesAlone] = [38, 12, 50];
const seconds = 30;

/**
 * Lists and searches at a steady rate, all kinds in turns: latency from when each request was due. The rows of the mix have the CPU of lists
 * and searches together. Then each kind of search alone, at a higher rate.
 */
export const bench: Bench = {
  size: 2_000,
  unit: "threads in the workspace",
  async run(server, size) {
    const workspace = await measureFill(server, size);
    await workspace.database.number("vacuum analyze");
    const { client } = workspace;
    const ask = (of: readonly BenchQuestion[]) => (n: number) => client.ask(`GET ${of[n % of.length]!.path()}`);
    const lists = await listKinds(client);
    const searches = searchKinds(size);
    const askLists = (): Promise<number[]> => byTheClock(listsPerSecond, listsPerSecond * seconds, ask(lists));
    const askSearches = (): Promise<number[]> =>
      byTheClock(searchesPerSecond, searchesPerSecond * seconds, ask(searches));
    await byTheClock(listsPerSecond, listsPerSecond * 5, ask([...lists, ...searches]));
    const beside = async (measured: () => Promise<number[]>, other: () => Promise<number[]>): Promise<number[]> =>
      (await Promise.all([measured(), other()]))[0];
    const [ofLists, ofSearches] = [`lists, ${listsPerSecond} a second`, `searches, ${searchesPerSecond} a second`];
    await server.measure(`${ofLists}, beside ${searchesPerSecond} searches`, workspace, () =>
      beside(askLists, askSearches),
    );
    await server.measure(`${ofSearches}, beside ${listsPerSecond} lists`, workspace, () =>
      beside(askSearches, askLists),
    );
    for (const kind of searches) {
      const what = `${kind.what}, ${searchesAlone} a second`;
      const times = () => byTheClock(searchesAlone, searchesAlone * 10, ask([kind]));
      await server
        .measure(what, workspace, times)
        .catch((error) => progress(`${what}: does not hold, ${error.message}`));
    }
  },
};
