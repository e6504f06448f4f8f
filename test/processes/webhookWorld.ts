import type { Ask } from "#test/support/asking.ts";
import { until } from "#test/support/inProcess.ts";

/** Makes a webhook over HTTP. */
export async function webhook(
  ask: Ask,
  url: string,
  events: readonly string[],
): Promise<{ id: string; secret: string }> {
  const { status, json, text } = await ask("POST /v1/webhooks", { json: { url, events } });
  if (status !== 200) throw new Error(text);
  return json;
}

/** Returns all deliveries of a webhook. */
export async function deliveriesOf(ask: Ask, id: string): Promise<any[]> {
  const all: any[] = [];
  for (;;) {
    const { json } = await ask(`GET /v1/webhooks/${id}/deliveries?limit=100&offset=${all.length}`);
    all.push(...json.data);
    if (json.data.length === 0 || all.length >= json.total) return all;
  }
}

/** Waits until there are `count` deliveries and none is pending. */
export async function settled(
  ask: Ask,
  id: string,
  { count, timeoutMs = 90_000 }: { count: number; timeoutMs?: number },
): Promise<any[]> {
  let all: any[] = [];
  await until(async () => {
    all = await deliveriesOf(ask, id);
    return all.length >= count && all.every(({ status }) => status !== "pending");
  }, timeoutMs);
  return all;
}

/** Returns the sequence numbers received for each draft, in their order. */
export function bySubject(received: readonly { body: any }[]): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const { body } of received) {
    const { draft_id: draftId } = body.data;
    found.set(draftId, [...(found.get(draftId) ?? []), body.sequence]);
  }
  return found;
}

export const isRising = (numbers: readonly number[]): boolean =>
  numbers.every((number, index) => index === 0 || number > numbers[index - 1]!);
