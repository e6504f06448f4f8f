import { hash, verify } from "@node-rs/argon2";
import pLimit from "p-limit";
import { type PasswordHasher, TooManyHashes } from "./passwords.ts";

/** Memory in KiB, passes, lanes: OWASP's minimum for Argon2id. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Maximum number of hashes that one instance computes at once: each uses 19 MB. */
const mostAtOnce = 4;
/** Waiting hashes, at most: a second or two of work. */
const longestLine = 40;

/** Hashes with Argon2id. Throws TooManyHashes. */
export function argon2Hasher(options: Partial<typeof parameters> = {}): PasswordHasher {
  const inTurn = boundedLine({ mostAtOnce, longestLine });
  // The library's default algorithm is Argon2id.
  const chosen = { ...parameters, ...options };
  return {
    hash: (password) => inTurn(() => hash(password, chosen)),
    verify: (hashed, password) => inTurn(() => verify(hashed, password)),
    isWeak(hashed) {
      const [, memory, passes] = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=\d+\$/.exec(hashed) ?? [];
      return !(Number(memory) >= chosen.memoryCost && Number(passes) >= chosen.timeCost);
    },
  };
}

/** Runs `mostAtOnce` at once and queues up to `longestLine` more; throws TooManyHashes beyond that. */
export function boundedLine({ mostAtOnce, longestLine }: { mostAtOnce: number; longestLine: number }) {
  const inTurn = pLimit(mostAtOnce);
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (inTurn.pendingCount >= longestLine) throw new TooManyHashes("too many passwords are being checked");
    return inTurn(work);
  };
}
