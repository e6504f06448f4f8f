import { createHash, createHmac, randomUUID } from "node:crypto";
import { expect } from "chai";
import { CannotOpen } from "#src/platform/secrets/keyRing.ts";
import { openPosts, type Posts } from "#test/http/framework/idempotencySupport.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The thief has the whole log, every table and the key ring, but not the API key that asked. */
describe("an API key made under an Idempotency-Key, for a thief of the log, the tables and the key ring", () => {
  let posts: Posts;
  let key: string;
  let made: { id: string; key: string };
  before(async () => {
    posts = await openPosts();
    key = randomUUID();
    made = (await posts.post("/v1/api-keys", key, { json: { name: "target" } })).json;
  });
  after(() => posts.service.stop());

  const rows = async <R extends Record<string, unknown>>(sql: string, values: unknown[] = []): Promise<R[]> =>
    (await posts.service.database.query<R>(sql, values)).rows;

  it("an API key cannot be derived from the key ring and the operation", async () => {
    const [event] = await rows<{ operation: string; hash: string }>(
      "select metadata->>'operation' as operation, data->>'hash' as hash from es.events where stream_id = $1",
      [`apiKey-${made.id}`],
    );
    expect(event!.hash).to.equal(sha256(made.key));
    const operation = event!.operation.split("/")[0]!;
    for (const secret of posts.service.deps.keyRing.deriveKeys("api-keys")) {
      expect(sha256(`svc_live_${formerlyDerivedKey(secret, operation)}`)).not.to.equal(event!.hash);
    }
  });

  it("an API key is not stored in plain form in the log or in any table", async () => {
    const tables = await rows<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    );
    expect(tables.map(({ name }) => name)).to.include.members(["es.events", "work.idempotency_keys"]);
    const text = made.key.slice("svc_live_".length + 4);
    const forms = [text, Buffer.from(made.key).toString("hex"), Buffer.from(text).toString("hex")];
    for (const { name } of tables) {
      const found = await rows(`select 1 from ${name} t where t::text like any($1)`, [
        forms.map((form) => `%${form}%`),
      ]);
      expect(found, name).to.have.length(0);
    }
  });

  it("an API key in a kept answer is sealed under the asking key and cannot be opened with the key ring", async () => {
    const [record] = await rows<{ operation: string; secret: Buffer; answer: Buffer }>(
      "select operation, secret, answer from work.idempotency_keys where key = $1",
      [key],
    );
    const { keyRing } = posts.service.deps;
    for (const [field, sealed] of Object.entries({ secret: record!.secret, answer: record!.answer })) {
      const owner = { workspaceId: record!.operation, field };
      expect(() => keyRing.open(sealed.toString("utf8"), owner), field).to.throw(CannotOpen);
    }
  });

  it("each request for an API key draws another key", async () => {
    const others = await Promise.all(
      Array.from({ length: 5 }, () => posts.post("/v1/api-keys", randomUUID(), { json: { name: "other" } })),
    );
    expect(new Set([made.key, ...others.map(({ json }) => json.key)]).size).to.equal(6);
  });
});

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Derives a key as an earlier version of the service did: from blocks of an HMAC, evenly distributed over the alphabet. */
function formerlyDerivedKey(secret: Buffer, operation: string): string {
  let text = "";
  for (let block = 0; text.length < 32; block++) {
    for (const byte of createHmac("sha512", secret).update(`${operation} ${block}`).digest()) {
      if (byte < 256 - (256 % alphabet.length) && text.length < 32) text += alphabet[byte % alphabet.length];
    }
  }
  return text;
}
