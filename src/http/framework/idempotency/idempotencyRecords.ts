import type { Database } from "#src/platform/postgres/database.ts";
import type { Operation } from "../runRoute.ts";

type Begun = Pick<Operation, "id" | "repeated" | "begunAt">;

/** A POST under an Idempotency-Key, as stored in the table. */
export type IdempotentPost = {
  workspaceId: string;
  key: string;
  requestHash: Buffer;
  apiKeyId: string;
  /** Id of this run: a run that another one has replaced can record nothing. */
  owner: string;
  /** True if the answer contains a secret: only the same API key may then repeat an interrupted run. */
  secret: boolean;
};

/** The stored record of an operation. `status` null: no answer yet. */
export type StoredAnswer = {
  requestHash: Buffer;
  operation: string;
  status: number | null;
  headers: Record<string, string>;
  answer: Buffer;
  sealed: boolean;
  /** True if another API key made the interrupted run and its answer has a secret. */
  othersSecret?: boolean;
};

type Answer = Omit<StoredAnswer, "requestHash" | "operation" | "othersSecret">;

/** Milliseconds after which a run without an answer counts as interrupted. Longer than any POST takes. */
const runMs = 60_000;

export type AnswerRecords = {
  /** Registers this run as the one that may record the answer, or returns the record that prevents it. */
  begin(post: IdempotentPost): Promise<{ operation: Begun } | { kept: StoredAnswer }>;
  find(post: IdempotentPost): Promise<StoredAnswer | undefined>;
  /** Stores an encrypted secret unless the operation has one, and returns the stored one. Undefined if the operation has ended. */
  secretOf(post: IdempotentPost, operation: string, sealed: Buffer): Promise<Buffer | undefined>;
  /** Stores the answer of a run. Returns false if another run has taken over. */
  keep(post: IdempotentPost, answer: Answer): Promise<boolean>;
  /** Ends a run without a stored answer: the next request under the key then runs immediately. False if another run has taken over. */
  release(post: IdempotentPost): Promise<boolean>;
};

export function createAnswerRecords({
  database,
  hours,
}: {
  database: Pick<Database, "query">;
  hours: number;
}): AnswerRecords {
  async function find({ workspaceId, key, apiKeyId, secret }: IdempotentPost): Promise<StoredAnswer | undefined> {
    const { rows } = await database.query<StoredAnswer & { apiKeyId: string }>(findKept, [workspaceId, key]);
    const [kept] = rows;
    return kept && { ...kept, othersSecret: secret && kept.apiKeyId !== apiKeyId };
  }

  return {
    async begin(post) {
      const { workspaceId, key, requestHash, apiKeyId, owner, secret } = post;
      const values = [workspaceId, key, requestHash, apiKeyId, owner, runMs, hours, secret];
      for (;;) {
        const { rows } = await database.query<Begun>(beginRun, values);
        if (rows[0]) return { operation: rows[0] };
        const kept = await find(post);
        // The record expired and was removed between the two statements: begin again.
        if (kept) return { kept };
      }
    },
    find,
    async secretOf({ workspaceId, key }, operation, sealed) {
      const { rows } = await database.query<{ secret: Buffer }>(keepSecret, [workspaceId, key, operation, sealed]);
      return rows[0]?.secret;
    },
    async keep({ workspaceId, key, owner }, { status, headers, answer, sealed }) {
      const values = [workspaceId, key, owner, status, JSON.stringify(headers), answer, sealed];
      return (await database.query(keepAnswer, values)).rowCount === 1;
    },
    async release({ workspaceId, key, owner }) {
      return (await database.query(releaseRun, [workspaceId, key, owner])).rowCount === 1;
    },
  };
}

/** An expired record starts a new operation; an interrupted run keeps its operation. */
const beginRun = `
  insert into work.idempotency_keys as kept
    (workspace_id, key, request_hash, api_key_id, operation, owner, owned_until, expires_at, begun_at)
  values ($1, $2, $3, $4, gen_random_uuid(), $5,
    statement_timestamp() + $6 * interval '1 ms', statement_timestamp() + $7 * interval '1 hour', statement_timestamp())
  on conflict (workspace_id, key) do update set
    request_hash = excluded.request_hash,
    api_key_id = excluded.api_key_id,
    operation = case when kept.expires_at <= statement_timestamp() then excluded.operation else kept.operation end,
    secret = case when kept.expires_at <= statement_timestamp() then null else kept.secret end,
    repeated = kept.expires_at > statement_timestamp(),
    begun_at = case when kept.expires_at <= statement_timestamp() then excluded.begun_at else kept.begun_at end,
    owner = excluded.owner, owned_until = excluded.owned_until, expires_at = excluded.expires_at,
    status = null, headers = null, answer = null, sealed = false
  where kept.expires_at <= statement_timestamp()
    or (kept.status is null and kept.owned_until <= statement_timestamp()
      and kept.request_hash = excluded.request_hash and (kept.api_key_id = excluded.api_key_id or not $8::boolean))
  returning operation as id, repeated, begun_at as "begunAt"`;

const findKept = `
  select request_hash as "requestHash", operation, status, headers, answer, sealed, api_key_id as "apiKeyId"
  from work.idempotency_keys where workspace_id = $1 and key = $2`;

const keepSecret = `
  update work.idempotency_keys set secret = coalesce(secret, $4)
  where workspace_id = $1 and key = $2 and operation = $3 returning secret`;

const keepAnswer = `
  update work.idempotency_keys set status = $4, headers = $5, answer = $6, sealed = $7
  where workspace_id = $1 and key = $2 and owner = $3 and status is null`;

const releaseRun = `
  update work.idempotency_keys set owned_until = statement_timestamp()
  where workspace_id = $1 and key = $2 and owner = $3 and status is null`;
