import type pg from "pg";
import { StatementTimedOut, Unavailable } from "#src/eventStore/eventStore.ts";
import { exchangeOn, NotRun } from "./exchange.ts";
import { prepared } from "./prepared.ts";
import { asUnavailable } from "./unavailable.ts";

/** A question that an index answers at once, by one workspace. */
export type LookUp = { workspace: string; text: string; values: readonly unknown[] | undefined };

type Options = {
  connect: () => Promise<pg.PoolClient>;
  /** One by itself. */
  alone: (lookUp: LookUp) => Promise<pg.QueryResult>;
};

type Waiting = {
  lookUp: LookUp;
  resolve: (answer: pg.QueryResult | Promise<pg.QueryResult>) => void;
  reject: (error: unknown) => void;
};

/** A message of more would keep its first waiting for its last. */
const mostTogether = 16;

const naming = "select set_config('countersign.workspace', $1, true)";

/**
 * Look-ups of one turn of the event loop go out as one message: a message costs more than what it brings. Each names its workspace before it is
 * asked, and sees no other. If one is refused, every question without an answer yet is asked alone: none fails because of another.
 */
export function joiningLookUps({ connect, alone }: Options): (lookUp: LookUp) => Promise<pg.QueryResult> {
  let waiting: Waiting[] = [];

  function send(): void {
    const all = waiting;
    waiting = [];
    for (let from = 0; from < all.length; from += mostTogether) void ask(all.slice(from, from + mostTogether));
  }

  async function ask(group: readonly Waiting[]): Promise<void> {
    const [only] = group;
    if (group.length === 1) return only!.resolve(alone(only!.lookUp));
    const answers = await askTogether(group.map(({ lookUp }) => lookUp)).catch((error) => group.map(() => error));
    for (const [index, { lookUp, resolve, reject }] of group.entries()) {
      const answer = answers[index];
      if (answer instanceof Error) reject(answer);
      else resolve(answer ?? alone(lookUp));
    }
  }

  /** Of each its answer, or why there is none; undefined where it is to be asked alone. Throws Unavailable where nobody can be asked. */
  async function askTogether(lookUps: readonly LookUp[]): Promise<(pg.QueryResult | Unavailable | undefined)[]> {
    const client = await connect();
    const exchange = exchangeOn(client, { asOne: true });
    const asked = [
      exchange({ text: "begin read only", values: [] }),
      ...lookUps.flatMap(({ workspace, text, values }) => [
        exchange(prepared(naming, [workspace])),
        exchange(prepared(text, values)),
      ]),
      exchange({ text: "commit", values: [] }),
    ];
    const answers = await Promise.allSettled(asked);
    const failed = answers.find(({ status }) => status === "rejected") as PromiseRejectedResult | undefined;
    // What failed may have been the connection, or what it remembers: nothing is asked of it again.
    client.release(failed !== undefined);
    const met = failed && asUnavailable(failed.reason);
    return lookUps.map((_, index) => {
      const answer = answers[2 + 2 * index]!;
      if (answer.status === "fulfilled") return answer.value;
      return met instanceof Unavailable && isFor(met, answer) ? met : undefined;
    });
  }

  return (lookUp) =>
    new Promise((resolve, reject) => {
      waiting.push({ lookUp, resolve, reject });
      if (waiting.length === 1) setImmediate(send);
    });
}

/** One that took too long has had its time, and those after it have not had theirs. Of a server that is away nobody is answered. */
const isFor = (met: Unavailable, { reason }: PromiseRejectedResult): boolean =>
  !(met instanceof StatementTimedOut && reason instanceof NotRun);
