/**
 * Makes a function that reads settings from a body and renames its fields; `names`: internal name by API field. Absent fields are omitted.
 */
export const settingsReader =
  <Settings extends object>(names: Readonly<Record<string, keyof Settings & string>>) =>
  (body: object): Partial<Settings> =>
    Object.fromEntries(
      Object.entries(body).flatMap(([field, value]) => {
        const name = names[field];
        return name === undefined || value === undefined ? [] : [[name, value]];
      }),
    ) as Partial<Settings>;
