import { fileTypeFromBuffer } from "file-type";

/** Result of the library file-type: a usual extension in lower case, and a media type. */
export type LibraryKind = { ending: string; mediaType: string };

/** Detects a file's kind from its first bytes. Undefined if the library does not know the kind, or fails. */
export async function libraryKind(beginning: Buffer): Promise<LibraryKind | undefined> {
  // The library would decompress a stranger's data: these two bytes alone identify gzip.
  if (beginning[0] === 0x1f && beginning[1] === 0x8b) return { ending: "gz", mediaType: "application/gzip" };
  try {
    const found = await fileTypeFromBuffer(beginning);
    return found && { ending: found.ext, mediaType: found.mime };
  } catch {
    return undefined;
  }
}
