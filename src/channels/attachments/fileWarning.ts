import { shortLine } from "#src/html/visible.ts";
import { endingsOf, trickIn } from "./fileNames.ts";
import type { DetectedKind } from "./foundKind.ts";
import { type FileDanger, type FileKind, kindOfEnding, kindOfType, plainText, zipArchive } from "./kinds.ts";

/** The author's description of a file. */
export type DescribedFile = { name: string; declaredType: string };

/**
 * Returns warnings about a file, in sentences; null if there are none. `found`: the kind by its bytes; null if they were not read, so
 * that only its name and its declared type are compared.
 */
export function fileWarning(file: DescribedFile, found: DetectedKind | null): string | null {
  const endings = endingsOf(file.name);
  const byName = kindOfEnding(endings.last);
  const byType = kindOfType(file.declaredType);
  const sentences = [
    dangerIn([surely(found?.kind, byName), byName, found?.kind && byType?.danger === "archive" ? null : byType]),
    holdings(found),
    trickIn(file.name),
    twoEndings(endings, byName),
    found === null ? twoClaims({ endings, byName, byType }, file) : difference({ found, byName, byType }, file),
  ];
  return sentences.filter((sentence) => sentence !== undefined).join(" ") || null;
}

/** A ZIP archive of unknown content is not called an archive if its name says that it is a document. */
const surely = (found: FileKind | null | undefined, byName: FileKind | undefined): FileKind | null | undefined =>
  found === zipArchive && byName && fits(found, byName) ? byName : found;

const warnings: Record<FileDanger, string> = {
  program: "It is a program: it runs when it is opened.",
  script: "It is a script: its code can run when it is opened.",
  shortcut: "It is a shortcut: it can start a program, or open any address, when it is opened.",
  macros: "It can have macros: code that can run when it is opened.",
  oldOffice: "It is an Office file of the older kind, which can have macros: code that can run when it is opened.",
  page: "It opens in a browser, where it can run scripts and look like any web site.",
  diskImage: "It is a disk image, which can contain programs.",
  archive: "It is an archive, which can contain programs.",
};

/** Returns the worst danger among the kinds by bytes, name and declared type. */
function dangerIn(said: (FileKind | null | undefined)[]): string | undefined {
  const dangers = new Set(said.map((kind) => kind?.danger));
  const worst = (Object.keys(warnings) as FileDanger[]).find((danger) => dangers.has(danger));
  return worst && warnings[worst];
}

const holdings = (found: DetectedKind | null): string | undefined =>
  found && found.holds.length > 0
    ? `It contains files that can run code: ${found.holds.map((name) => `“${name}”`).join(", ")}.`
    : undefined;

/** Warns of two extensions, except of an archive: an archived text often has two, and what is opened is the archive. */
function twoEndings(
  { last, before }: { last: string; before: string },
  byName: FileKind | undefined,
): string | undefined {
  const misleads = byName?.danger !== undefined && byName.danger !== "archive" && kindOfEnding(before) !== undefined;
  return misleads && last !== before
    ? `Its name has two endings: only the last one, .${shortLine(last, 20)}, counts, and some programs hide it.`
    : undefined;
}

type Claims = { byName: FileKind | undefined; byType: FileKind | undefined };

function difference(
  { found, byName, byType }: Claims & { found: DetectedKind },
  file: DescribedFile,
): string | undefined {
  const { kind } = found;
  const claims = [
    !agrees(kind, byType) && `it is declared as ${shortLine(file.declaredType, 80)}`,
    !agrees(kind, byName) && `its name ends in .${shortLine(endingsOf(file.name).last, 20)}`,
  ].filter((claim) => claim !== false);
  if (claims.length === 0) return undefined;
  const looks = kind ? `Its bytes are those of another kind of file (${kind.name})` : "Its bytes do not look like it";
  return `${looks}: ${claims.join(", and ")}.`;
}

function twoClaims({ endings, byName, byType }: Claims & { endings: { last: string } }, file: DescribedFile) {
  const agree = !byName || !byType || fits(byName, byType) || fits(byType, byName) || (byName.isText && byType.isText);
  return agree
    ? undefined
    : `Its name ends in .${shortLine(endings.last, 20)}, but it is declared as ${shortLine(file.declaredType, 80)}.`;
}

/** True if bytes of this kind can be what is claimed. An unspecific claim is never wrong. */
function agrees(found: FileKind | null, claimed: FileKind | undefined): boolean {
  if (claimed === undefined) return true;
  if (found === null) return !claimed.isText && !claimed.isAlwaysKnown;
  return fits(found, claimed) || (found === plainText && claimed.isText === true);
}

/** True if a file of one kind can also be of the other. */
const fits = (kind: FileKind, other: FileKind): boolean =>
  kind === other ||
  other.endings.some((ending) => kind.endings.includes(ending)) ||
  other.types.some((type) => kind.types.includes(type));
