import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { HttpAnswer } from "#test/support/asking.ts";
import { mail, startInProcess } from "#test/support/inProcess.ts";

export type Options = { json?: unknown; key?: string | null; headers?: Record<string, string> };
export type Posts = Awaited<ReturnType<typeof openPosts>>;

/** Starts a service with one customer's mail, and sends it POSTs with Idempotency-Keys. */
export async function openPosts() {
  const service = await startInProcess({ NOTIFY_THROTTLE_SECONDS: "0" });
  const tenant = await service.workspace();
  const identity = await service.identity(tenant.id, {
    approvalChannel: { type: "email", config: { to: "boss@example.com" } },
  });
  await service.deliver(identity.address, mail({ id: "q@customer.example" }));
  const thread = (await tenant.ask("GET /v1/threads")).json.data[0];
  const { messages } = (await tenant.ask(`GET /v1/threads/${thread.id}`)).json;
  const basis = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages[0].id };

  const post = (line: string, idempotencyKey: string, options: Options = {}): Promise<HttpAnswer> =>
    tenant.ask(`POST ${line}`, { ...options, headers: { ...options.headers, "Idempotency-Key": idempotencyKey } });

  /** Leaves the record as after a process that was killed before it stored its answer, with an expired lease. */
  const cutOff = (key: string) =>
    service.database.query(
      "update work.idempotency_keys set status = null, headers = null, answer = null, sealed = false, owned_until = now() where key = $1",
      [key],
    );

  async function typesWhere(column: string, value: string): Promise<string[]> {
    const { rows } = await service.database.query<{ type: string }>(
      `select type from es.events where ${column} = $1 order by position`,
      [value],
    );
    return rows.map(({ type }) => type);
  }

  return {
    service,
    tenant,
    identity,
    basis,
    post,
    cutOff,
    draft: async () => (await tenant.ask("POST /v1/drafts", { json: { ...basis, body_text: "Soon." } })).json,
    /** Returns the types of the draft's events. */
    eventsOf: (draftId: string) => typesWhere("stream_id", `draft-${draftId}`),
    /** Returns the types of all events that POSTs with this key caused. */
    async ofOperation(key: string): Promise<string[]> {
      const { rows } = await service.database.query<{ operation: string }>(
        "select operation from work.idempotency_keys where key = $1",
        [key],
      );
      return typesWhere("split_part(metadata->>'operation', '/', 1)", rows[0]!.operation);
    },
    /** Sends a POST, cuts its record off, and sends it again; returns both answers and the key. */
    async repeat(line: string, options: Options = {}): Promise<[HttpAnswer, HttpAnswer, string]> {
      const key = randomUUID();
      const first = await post(line, key, options);
      await cutOff(key);
      const again = await post(line, key, options);
      expect(replayed(again)).to.equal(null);
      same(again, await post(line, key, options));
      return [first, again, key];
    },
  };
}

export const replayed = (answer: HttpAnswer) => answer.headers.get("idempotency-replayed");

export function same(one: HttpAnswer, two: HttpAnswer): void {
  expect([two.status, two.text]).to.deep.equal([one.status, one.text]);
  expect(two.headers.get("etag")).to.equal(one.headers.get("etag"));
  expect(two.headers.get("content-type")).to.equal(one.headers.get("content-type"));
}
