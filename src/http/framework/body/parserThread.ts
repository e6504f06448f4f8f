import { move, transferableSymbol, valueSymbol } from "piscina";
import { Rejected } from "#streams/decider.ts";
import { type DecodedFile, EncodedFile, type FilePath } from "./encodedFile.ts";
import { parseJson } from "./parseJson.ts";

type FileAt = {
  holder: Record<string, unknown>;
  name: string;
  encodedLength: number;
  decoded: DecodedFile | undefined;
};

/** The thread's answer: the body and its files separately, because class instances do not survive the transfer; or the refusal. */
export type Parsed =
  | { body: unknown; files: FileAt[] }
  | { refused: { message: string; details: Record<string, unknown> } };

/** Parses one body and transfers the bytes of its files to the caller. */
export function parseInThread({ blocks, files: paths }: { blocks: Uint8Array[]; files: FilePath[] }): unknown {
  const parsed = parse(blocks, paths);
  const files = "refused" in parsed ? [] : parsed.files;
  const buffers = files.flatMap(({ decoded }) => decoded?.bytes.buffer ?? []);
  return move({ [transferableSymbol]: buffers, [valueSymbol]: parsed } as never);
}

function parse(blocks: Uint8Array[], paths: FilePath[]): Parsed {
  try {
    const bytes = Buffer.concat(blocks);
    blocks.length = 0;
    const body = parseJson(bytes, paths);
    const files: FileAt[] = [];
    takeFiles(body, files);
    return { body, files };
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return { refused: { message: error.message, details: error.details } };
  }
}

/**
 * Moves files from the body to the list. `holder`: the body's object that had the file; valid in the caller, as both are cloned together.
 */
function takeFiles(value: unknown, files: FileAt[]): void {
  if (typeof value !== "object" || value === null) return;
  const holder = value as Record<string, unknown>;
  for (const [name, item] of Object.entries(holder)) {
    if (!(item instanceof EncodedFile)) takeFiles(item, files);
    else {
      files.push({ holder, name, encodedLength: item.encodedLength, decoded: item.decoded });
      holder[name] = null;
    }
  }
}
