import type { Clock } from "#src/platform/clock.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import { normalised, type PasswordHasher, type Passwords } from "./passwords.ts";

/** Maximum number of characters that are hashed: no password is longer, so longer input costs no more. */
const longestGiven = 1_024;

/** Stores password hashes in PostgreSQL. */
export function postgresPasswords(deps: {
  database: Pick<Database, "query">;
  hasher: PasswordHasher;
  clock: Pick<Clock, "now">;
}): Passwords {
  const { database, hasher, clock } = deps;
  /** Hash compared with if there is no user; computed once, when first needed. */
  let nobodys: Promise<string> | undefined;
  const hashOfNobody = () => {
    nobodys ??= hasher.hash("nobody has this password").catch((error) => {
      nobodys = undefined;
      throw error;
    });
    return nobodys;
  };

  return {
    async set(userId, password) {
      await database.query(put, [userId, await hasher.hash(normalised(password)), clock.now()]);
    },
    async matches(userId, password) {
      // Computed before the user is looked up, and for unknown users too, so that timing is the same for all.
      const standIn = await hashOfNobody();
      const { rows } = await database.query<{ hash: string }>(select, [userId]);
      const kept = rows[0]?.hash;
      const isTooLong = password.length > longestGiven;
      const isRight = await hasher.verify(kept ?? standIn, isTooLong ? "" : normalised(password));
      if (!isRight || kept === undefined || isTooLong) return false;
      if (hasher.isWeak(kept)) await database.query(renew, [userId, await hasher.hash(normalised(password)), kept]);
      return true;
    },
  };
}

const put = `
  insert into work.passwords (user_id, hash, set_at) values ($1, $2, $3)
  on conflict (user_id) do update set hash = excluded.hash, set_at = excluded.set_at`;

const select = "select hash from work.passwords where user_id = $1::uuid";

/** Replaces the hash, unless another password was set in between. */
const renew = "update work.passwords set hash = $2 where user_id = $1 and hash = $3";
