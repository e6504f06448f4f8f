import { hkdfSync, randomUUID } from "node:crypto";
import type { Request } from "express";
import type { Clock } from "#src/platform/clock.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import { CannotOpen, createKeyRing, type KeyRing } from "#src/platform/secrets/keyRing.ts";
import { Rejected } from "#streams/decider.ts";
import { bearerOf } from "../keys/authenticate.ts";
import { Reply } from "../reply.ts";
import type { SecretOnce } from "../route.ts";
import type { Idempotency } from "../serve.ts";
import { createSweep } from "../sweep.ts";
import { createAnswerRecords, type IdempotentPost, type StoredAnswer } from "./idempotencyRecords.ts";

const sweepEveryMs = 600_000;

/**
 * Idempotency-Key: the first POST under a key runs, as an operation that all its repetitions share; repetitions get its status and body. A
 * run without a final answer (401, 429, 5xx, a crash) is run again, under the same operation.
 */
export function createIdempotency(deps: {
  database: Pick<Database, "query">;
  clock: Clock;
  /** Hours for which an answer is kept. */
  hours: number;
  onError: (error: unknown) => void;
}): Idempotency {
  const records = createAnswerRecords(deps);
  const sweep = createSweep({ ...deps, statement: removeExpired, everyMs: sweepEveryMs });

  return async ({ admitted, idempotencyKey }, run) => {
    const { request, route, key } = admitted;
    const body = await admitted.body().catch(() => undefined);
    // The body is too large, was broken off, or there is no memory for it now: the run itself refuses the request, without effect.
    if (body === undefined) return run();
    sweep();
    const secret = route.options.secretAnswer ?? false;
    const post: IdempotentPost = {
      workspaceId: key.workspaceId,
      key: idempotencyKey,
      requestHash: body.hash,
      apiKeyId: key.id,
      owner: randomUUID(),
      secret,
    };
    const begun = await records.begin(post);
    if ("kept" in begun) return replay(post, begun.kept, request);
    const { operation } = begun;
    const reply = await run({ ...operation, secretOnce: secretOnceOf(post, operation.id, request) });
    crashPoint("http:effect-done");
    try {
      const finished = isKept(reply) ? await records.keep(post, keptOf(reply)) : await records.release(post);
      if (!finished) return replayAfterAll(post, request);
    } catch (error) {
      // The effect happened and the answer is known, so send it: a repetition finds the effect by its operation.
      deps.onError(error);
    }
    return reply;

    function keptOf({ content, status, headers }: Reply): Omit<StoredAnswer, "requestHash" | "operation"> {
      const bytes =
        "json" in content ? Buffer.from(JSON.stringify(content.json)) : (content as { bytes: Buffer }).bytes;
      const shown = "json" in content ? { "Content-Type": "application/json; charset=utf-8", ...headers } : headers;
      const answer = secret ? sealingFor(request, operation.id, "answer").seal(bytes) : bytes;
      return { status: status ?? 200, headers: shown, answer, sealed: secret };
    }
  };

  /** Stores the secret before the effect, so that a repetition after an interrupted run can return the same secret. */
  function secretOnceOf(post: IdempotentPost, operation: string, request: Request): SecretOnce {
    return async (draw) => {
      if (!post.secret)
        throw new Error(`${request.path} creates a secret, but its route does not declare secretAnswer`);
      const sealing = sealingFor(request, operation, "secret");
      const kept = await records.secretOf(post, operation, sealing.seal(Buffer.from(draw())));
      if (!kept) throw inFlight();
      return sealing.open(kept).toString("utf8");
    };
  }

  /** Returns the answer of another run, which took over because this run exceeded its time. */
  async function replayAfterAll(post: IdempotentPost, request: Request): Promise<Reply> {
    const kept = await records.find(post);
    if (!kept) throw inFlight();
    return replay(post, kept, request);
  }
}

const isKept = ({ status = 200, content }: Reply): boolean =>
  status < 500 && status !== 401 && status !== 429 && !("stream" in content);

function replay(post: IdempotentPost, kept: StoredAnswer, request: Request): Reply {
  if (!kept.requestHash.equals(post.requestHash)) throw mismatch("this key was already used for a different request");
  if (kept.status === null) {
    if (kept.othersSecret) throw mismatch("this key was already used by another API key");
    throw inFlight();
  }
  const bytes = kept.sealed ? opened(kept, request) : kept.answer;
  const headers = { ...kept.headers, "Idempotency-Replayed": "true" };
  // Parsing and serialising JSON of our own yields the same bytes.
  const content = isJson(kept.headers) ? { json: JSON.parse(bytes.toString("utf8")) } : { bytes };
  return new Reply(content, kept.status, headers);
}

const isJson = (headers: Record<string, string>): boolean => /^application\/json\b/.test(headers["Content-Type"] ?? "");

function opened({ answer, operation }: StoredAnswer, request: Request): Buffer {
  try {
    return sealingFor(request, operation, "answer").open(answer);
  } catch (error) {
    if (!(error instanceof CannotOpen)) throw error;
    throw mismatch(
      "the stored response contains a secret, and only the API key that made the request can get it again",
    );
  }
}

/**
 * Encrypts an answer with a secret, and the secret itself, with a key derived from the requesting API key: only its holder can decrypt
 * them.
 */
function sealingFor(request: Request, operation: string, field: "answer" | "secret") {
  const key = hkdfSync("sha256", bearerOf(request)!, operation, "countersign/idempotent-answer", 32);
  const ring: KeyRing = createKeyRing(`bearer:${Buffer.from(key).toString("base64")}`);
  const owner = { workspaceId: operation, field };
  return {
    seal: (plain: Buffer): Buffer => Buffer.from(ring.seal(plain.toString("utf8"), owner)),
    open: (sealed: Buffer): Buffer => Buffer.from(ring.open(sealed.toString("utf8"), owner)),
  };
}

const mismatch = (why: string): Rejected =>
  new Rejected("idempotency_mismatch", `Idempotency-Key: ${why}; use a new Idempotency-Key for a new request`);

const inFlight = (): Rejected =>
  new Rejected("idempotency_in_flight", "the first request with this Idempotency-Key is still running: retry shortly", {
    retryAfter: 1,
  });

const removeExpired = `
  delete from work.idempotency_keys where (workspace_id, key) in (
    select workspace_id, key from work.idempotency_keys where expires_at < now() - interval '1 hour'
    for update skip locked limit 10000
  )`;
