import { shortLine } from "#src/html/visible.ts";
import { endingsOf } from "./fileNames.ts";
import {
  diskImage,
  type FileKind,
  kindOfEnding,
  kindOfFound,
  macroFile,
  packedKind,
  plainZip,
  zipArchive,
} from "./kinds.ts";
import { libraryKind } from "./libraryKind.ts";
import { textKind } from "./textKind.ts";
import { zipNames } from "./zipNames.ts";

/** Bytes that are read of the beginning of a file and, if needed, of its end. */
export const inspectedBytes = 64 * 1024;

/** The parts of a file that are read. */
export type InspectedFile = { size: number; beginning: Buffer; end: Buffer };

/** Kind of a file by its bytes; null if unknown. `holds`: names of the first few contained files that can run code. */
export type DetectedKind = { kind: FileKind | null; holds: string[] };

/** Determines the kind of a file by its bytes, ignoring its name and its declared type. */
export async function foundKind(file: InspectedFile): Promise<DetectedKind> {
  if (isDiskImage(file)) return found(diskImage);
  const text = textKind(file.beginning);
  const known = await libraryKind(file.beginning);
  // The library takes two letters for a program or a picture; a real one is never all text.
  if (!known || (text && !inWords.has(known.ending))) return found(text ?? null);
  if (file.beginning.toString("latin1", 0, 4) !== "PK\x03\x04") return found(kindOfFound(known));
  return packed(kindOfFound(known), zipNames(file));
}

/** Kinds that can be all text and are recognised by their first words. */
const inWords = new Set(["pdf", "rtf", "ps", "eps", "ics", "vcf", "vtt", "reg", "pgp", "stl"]);

const found = (kind: FileKind | null): DetectedKind => ({ kind, holds: [] });

/** Many formats are ZIP archives: the names inside tell them apart. */
function packed(kind: FileKind, names: string[] | null): DetectedKind {
  if (names?.some((name) => /(^|\/)vbaproject\.bin$/i.test(name))) return found(macroFile);
  if (kind !== zipArchive || names === null) return found(kind);
  const inside = packedKind(names);
  if (inside) return found(inside);
  const running = names.filter((name) => kindOfEnding(endingsOf(name).last)?.danger !== undefined);
  return { kind: plainZip, holds: running.slice(0, 3).map((name) => shortLine(name, 60)) };
}

const signatures: [at: number, bytes: string][] = [
  [0, "vhdxfile"],
  [0, "conectix"],
  [0, "KDMV"],
  [0, "MSWIM\0\0\0"],
  [32_769, "CD001"],
  [32_769, "BEA01"],
];

const isDiskImage = ({ beginning, end }: InspectedFile): boolean =>
  signatures.some(([at, bytes]) => beginning.toString("latin1", at, at + bytes.length) === bytes) ||
  ["koly", "conectix"].some((bytes) => end.toString("latin1", end.length - 512).startsWith(bytes));
