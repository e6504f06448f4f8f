/**
 * What DNS says of a name. `missing`: there is no such name or no such record, said by a server that knows. `temporary_failure`: nobody
 * said anything that can be relied on, so whatever was known before still counts.
 */
export type Lookup<T> =
  | { outcome: "found"; records: T[] }
  | { outcome: "missing" }
  | { outcome: "temporary_failure"; reason: string };

export type MailExchange = { exchange: string; priority: number };

/** DNS, as a port. Names in ASCII, with or without the dot at the end; nothing here throws. */
export type Resolver = {
  /** Each record's strings joined. */
  txt(name: string): Promise<Lookup<string>>;
  mx(name: string): Promise<Lookup<MailExchange>>;
  ns(name: string): Promise<Lookup<string>>;
  cname(name: string): Promise<Lookup<string>>;
  a(name: string): Promise<Lookup<string>>;
  aaaa(name: string): Promise<Lookup<string>>;
  /** Of a reverse name such as 1.2.0.192.in-addr.arpa. */
  ptr(name: string): Promise<Lookup<string>>;
};

/** The same resolver with an end: a look-up that is not answered by then is a temporary failure. `remainingMs` is asked at each look-up. */
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

type LookUp<T> = (name: string) => Promise<Lookup<T>>;

/** The same resolver with something around each look-up. */
export const eachOf = (resolver: Resolver, around: <T>(lookUp: LookUp<T>) => LookUp<T>): Resolver => ({
  txt: around(resolver.txt),
  mx: around(resolver.mx),
  ns: around(resolver.ns),
  cname: around(resolver.cname),
  a: around(resolver.a),
  aaaa: around(resolver.aaaa),
  ptr: around(resolver.ptr),
});
