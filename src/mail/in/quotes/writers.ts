/** Verbs with which mail programs introduce a quotation, by language. */
const verbs = [
  ...["writes?", "wrote", "schrieb", "schreibt", "(?:a )?écrit", "escribió", "escribe", "escreveu", "escreve"],
  ...["ha scritto", "scrive", "schreef", "schrijft", "skrev", "skriver", "kirjoitti", "kirjoittaa", "pisze"],
  ...["napisał(?:a|\\(a\\))?", "napsala?", "píše", "napísala?", "(?:ezt )?írta", "a scris", "scrie", "(?:şunu )?yazdı"],
  ...["έγραψε", "γράφει", "(?:на)?писала?", "пишет", "пише", "написав", "написа", "va escriure", "כתבה?", "كتب"],
].join("|");
const verbsWithoutBlank = ["さん[はが]書きました", "の書き込み", "写道", "寫道", "님이 작성", "님이 씀"].join("|");
const introduces = new RegExp(
  `^\\s*(?:(?<first>\\S.{0,98}?)(?:\\s+(?:${verbs})|\\s*(?:${verbsWithoutBlank}))|(?:${verbs})\\s+(?<last>\\S.{0,98}?))\\s?[:：]\\s*$`,
  "iu",
);
const maxLength = 140;
/** Maximum number of names that are kept of one mail. */
export const mostWriters = 3;

/** Returns the name in a line that introduces a quotation by a name alone: "Acme Support writes:". Undefined for any other line. */
export function writerIn(line: string): string | undefined {
  if (line.length > maxLength) return undefined;
  const { first, last } = introduces.exec(line)?.groups ?? {};
  return first ?? last;
}

/** True for two spellings of one name. */
export const isSameName = (one: string, other: string): boolean => spelled(one) === spelled(other);

const spelled = (name: string): string =>
  name
    .normalize("NFKC")
    .replace(/["“”„«»\s]+/gu, " ")
    .trim()
    .toLowerCase();

/** Matches what has more than a name in it: an address, a day, a mark of a quotation. Such a line is an attribution whoever is named. */
const moreThanName = /^\s*>|@|\p{Nd}.*\p{Nd}.*\p{Nd}/u;

/** Returns the names in such lines right above quotations; one blank line may be between. */
export function writersIn(text: string): string[] {
  const names: string[] = [];
  for (const [, line = ""] of text.matchAll(/^(.{1,140}[:：][ \t]*)\r?\n(?:[ \t]*\r?\n)?(?=[ \t]{0,3}>)/gm)) {
    const name = writerIn(line);
    if (name === undefined || moreThanName.test(name) || names.some((known) => isSameName(known, name))) continue;
    names.push(name);
    if (names.length === mostWriters) break;
  }
  return names;
}
