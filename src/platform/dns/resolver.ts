/**
 * Result of a DNS look-up. `missing`: an authoritative answer that there is no such name or record. `temporary_failure`: no reliable
 * answer, so earlier results still hold.
 */
export type Lookup<T> =
  | { outcome: "found"; records: T[] }
  | { outcome: "missing" }
  | { outcome: "temporary_failure"; reason: string };

export type MailExchange = { exchange: string; priority: number };

/** Port for DNS. Names are ASCII, with or without a trailing dot; nothing here throws. */
export type Resolver = {
  /** Returns TXT records, each with its strings joined. */
  txt(name: string): Promise<Lookup<string>>;
  mx(name: string): Promise<Lookup<MailExchange>>;
  ns(name: string): Promise<Lookup<string>>;
  cname(name: string): Promise<Lookup<string>>;
  a(name: string): Promise<Lookup<string>>;
  aaaa(name: string): Promise<Lookup<string>>;
  /** Looks up a reverse name such as 1.2.0.192.in-addr.arpa. */
  ptr(name: string): Promise<Lookup<string>>;
};

/** Wraps a resolver with a deadline: a look-up not answered by then is a temporary failure. `remainingMs` is called at each look-up. */
export function withinTime(resolver: Resolver, remainingMs: () => number): Resolver {
  const limited =
    <T>(lookUp: (name: string) => Promise<Lookup<T>>) =>
    async (name: string): Promise<Lookup<T>> => {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<Lookup<T>>((resolve) => {
        const tooLate = () => resolve({ outcome: "temporary_failure", reason: "no answer in time" });
        timer = setTimeout(tooLate, Math.max(0, remainingMs()));
      });
      return Promise.race([lookUp(name), late]).finally(() => clearTimeout(timer));
    };
  return eachOf(resolver, limited);
}

/**
 * Wraps a resolver for one check: each question is asked once, and at most `most` questions in all. Further ones are temporary failures.
 */
export function askingOnce(resolver: Resolver, most: number): Resolver {
  let asked = 0;
  const remembered = <T>(lookUp: LookUp<T>): LookUp<T> => {
    const answers = new Map<string, Promise<Lookup<T>>>();
    return (name) => {
      const known = answers.get(name);
      if (known) return known;
      if (++asked > most) return Promise.resolve({ outcome: "temporary_failure", reason: "too many look-ups" });
      const answer = lookUp(name);
      answers.set(name, answer);
      return answer;
    };
  };
  return eachOf(resolver, remembered);
}

type LookUp<T> = (name: string) => Promise<Lookup<T>>;

/** Wraps each look-up of a resolver. */
export const eachOf = (resolver: Resolver, around: <T>(lookUp: LookUp<T>) => LookUp<T>): Resolver => ({
  txt: around(resolver.txt),
  mx: around(resolver.mx),
  ns: around(resolver.ns),
  cname: around(resolver.cname),
  a: around(resolver.a),
  aaaa: around(resolver.aaaa),
  ptr: around(resolver.ptr),
});
