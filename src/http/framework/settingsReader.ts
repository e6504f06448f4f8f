/** Reads from a body what it sets, under the names that has inside; `names`: ours by the wire's. What is not given is left out. */
export const settingsReader =
  <Settings extends object>(names: Readonly<Record<string, keyof Settings & string>>) =>
  (body: object): Partial<Settings> =>
    Object.fromEntries(
      Object.entries(body).flatMap(([field, value]) => {
        const name = names[field];
        return name === undefined || value === undefined ? [] : [[name, value]];
      }),
    ) as Partial<Settings>;
