import { Agent, request } from "undici";
import { readCosignerKey } from "#src/audit/cosignature.ts";
import { beginningOf } from "#src/platform/publicWeb/beginningOf.ts";
import type { NamedWitness, Witness } from "./witnesses.ts";

/** Answers are a size or some lines of signatures. */
const maxAnswerBytes = 16 * 1024;

export type HttpWitnesses = { all: readonly Witness[]; close(): Promise<void> };

/** Calls witnesses over HTTP. Follows no redirect, and reads no long answer. */
export function httpWitnesses(
  named: readonly NamedWitness[],
  { timeoutMs = 10_000 }: { timeoutMs?: number } = {},
): HttpWitnesses {
  const dispatcher = new Agent({ connect: { timeout: timeoutMs } });

  const witnessAt = ({ verifierKey, url }: NamedWitness): Witness => ({
    cosigner: readCosignerKey(verifierKey),
    async addCheckpoint(body) {
      const { statusCode: status, body: answer } = await request(`${url}/add-checkpoint`, {
        method: "POST",
        dispatcher,
        headers: { "content-type": "text/plain; charset=utf-8", "user-agent": "Countersign/1" },
        body,
        signal: AbortSignal.timeout(timeoutMs),
      });
      const { bytes, isWhole } = await beginningOf(answer, maxAnswerBytes);
      if (status === 429 || status >= 500) throw new Error(`it answered ${status}`);
      if (!isWhole) throw new Error(`its answer is longer than ${maxAnswerBytes} bytes`);
      return { status, text: bytes.toString() };
    },
  });
  return { all: named.map(witnessAt), close: () => dispatcher.destroy() };
}
