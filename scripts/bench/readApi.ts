import { fork } from "node:child_process";
import { once } from "node:events";
import autocannon from "autocannon";
import type { Bench } from "./bench.ts";
import { figure, goal, progress, progressDone, round, spreadOf, spreadText } from "./measure.ts";
import { startScaled } from "./scaled.ts";

const connections = 10;

/**
 * The thread list and a draft over HTTP, with everything a request goes through, against an Express handler that does nothing but ask the
 * same question of the same tables and answer the rows: by turns, as fast as ten connections can ask.
 */
export const bench: Bench = {
  title: "read-api: thread list and draft, against a bare Express handler on the same tables",
  repetitions: 3,
  async run({ server, repetitions, seconds = 5, threads = 2_000 }) {
    const { instance, client, urls, workspaceId } = await startScaled(server, threads);
    const drafts = await client.ask("GET /v1/drafts?limit=1");
    const bare = await startBare(urls.ownerUrl, workspaceId);
    server.beforeEnd(async () => void bare.child.kill());
    const apiKey = client.apiKey;
    const rates = new Map<string, number[]>();
    for (let repetition = 0; repetition <= repetitions; repetition++) {
      for (const path of ["/v1/threads?limit=20", `/v1/drafts/${drafts.data[0].id}`]) {
        for (const [name, url] of [
          ["countersign", instance.url],
          ["bare", bare.url],
        ] as const) {
          progress(`round ${repetition} of ${repetitions}: ${path} of ${name}`);
          const rate = await requestsPerSecond(url + path, apiKey, repetition === 0 ? 2 : seconds);
          const key = `${name} ${path.split("/")[2]?.split("?")[0]}`;
          // The first round is for warming up.
          if (repetition > 0) rates.set(key, [...(rates.get(key) ?? []), rate]);
        }
      }
    }
    progressDone();
    const summary: Record<string, number> = {};
    for (const what of ["threads", "drafts"]) {
      const [ours, theirs] = [rates.get(`countersign ${what}`)!, rates.get(`bare ${what}`)!].map(spreadOf);
      console.log(
        `  ${what.padEnd(8)} countersign ${spreadText(ours!, "requests/s")}, bare ${spreadText(theirs!, "requests/s")}`,
      );
      const share = ours!.median / theirs!.median;
      goal(`${what}: share of the bare handler's rate`, share, { atLeast: 0.5 });
      summary[`${what}_per_s`] = round(ours!.median);
      summary[`bare_${what}_per_s`] = round(theirs!.median);
      summary[`${what}_share`] = Number(figure(share));
    }
    return summary;
  },
};

async function requestsPerSecond(url: string, apiKey: string, seconds: number): Promise<number> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const { requests, non2xx, errors } = await autocannon({ url, connections, duration: seconds, headers });
  if (non2xx + errors > 0) throw new Error(`${url}: ${non2xx} answers other than 2xx, ${errors} errors`);
  return requests.average;
}

async function startBare(ownerUrl: string, workspaceId: string) {
  const child = fork(new URL("./bareServer.ts", import.meta.url), [ownerUrl, workspaceId], {
    execArgv: ["--import", "tsx"],
  });
  const [url] = (await once(child, "message")) as [string];
  return { child, url };
}
