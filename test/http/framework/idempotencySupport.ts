import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { HttpAnswer } from "#test/support/asking.ts";
import { startStory } from "#test/support/story/story.ts";

export type Options = { json?: unknown; key?: string | null; headers?: Record<string, string> };
export type Posts = Awaited<ReturnType<typeof openPosts>>;

/** Starts a service with one customer's mail, and sends it POSTs with Idempotency-Keys. */
export async function openPosts() {
  const identity = { approvalChannel: { type: "email" as const, config: { to: "boss@example.com" } } };
  const { service, tenant } = await startStory({ NOTIFY_THROTTLE_SECONDS: "0" }, { identity });
  const mail = await tenant.mail();

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
    basis: mail.basis,
    post,
    cutOff,
    draft: () => tenant.draft(mail),
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
